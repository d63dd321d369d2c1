"""Subtitles (SubRip, WebVTT): what is said, without numbers and times; a sentence begins a line."""

import re

from mudy.reading.formats import TextBuilder

_TIMES = re.compile(r"\s*[\d:]{5,9}[,.]\d{1,3}\s*-->\s*[\d:]{5,9}[,.]\d{1,3}.*")
_TAG = re.compile(r"</?[a-z][^<>]{0,100}>|\{\\[^{}]{1,50}\}")


def read_subtitles(builder: TextBuilder, text: str) -> None:
    said: list[str] = []
    for cue in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        lines = cue.strip().split("\n")
        times = next((number for number, line in enumerate(lines[:2]) if _TIMES.fullmatch(line)), None)
        if times is not None:  # else it is a header, a note or a style
            words = " ".join(_TAG.sub("", line).strip() for line in lines[times + 1 :])
            ended = not said or said[-1].endswith((".", "!", "?", ")", "]"))
            said.append(f"\n{words}" if ended else words)
    builder.add(" ".join(said).replace(" \n", "\n"))
