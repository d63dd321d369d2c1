"""Random command lines: each ends with 0, 1 or 2 and words of ours, and writes nowhere but in its folder.

MUDY_FUZZ_EXAMPLES sets how many are tried, MUDY_FUZZ_SEED where to begin.
"""

from __future__ import annotations

import functools
import os
import random
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from mudy.cli.main import cli

EXAMPLES = int(os.environ.get("MUDY_FUZZ_EXAMPLES", "200"))
SEED = int(os.environ.get("MUDY_FUZZ_SEED", "1"))
WITHOUT_MODEL = ("yake", "textrank", "singlerank", "topicrank", "multipartiterank")
FILES = {
    "a.txt": b"Deep learning has changed computer vision. Neural networks learn features of images.\n",
    "empty.txt": b"",
    "latin.txt": "Caf\xe9 au lait".encode("latin-1"),
    "bytes.bin": bytes(range(256)),
    "fake.pdf": b"%PDF-1.4\nnot one",
    "fake.docx": b"PK\x03\x04not one",
    "page.html": b"<html><body><p>Sea ice drifts with the wind.</p></body></html>",
    "rows.jsonl": b'{"id": "1", "text": "Sea ice drifts.", "keyphrases": ["sea ice"]}\nnot json\n',
    "rows.csv": b"id,text\n1,Radar maps of ice\n2,\n",
    "phrases.txt": b"# a list\nsea ice\ncomputer vision\n",
    "run.json": b'{"asked": {}, "documents": []}',
}
PLACES = ("missing.txt", "folder", "new.json", "new.jsonl", "new.parquet", "new.csv", "*.txt", "**/*", "-", ".")
ODD = ("", " ", "~", "~nosuch", "a/b", "...", "x" * 300, "\udcff", "é", "日本", "--", "-x", "--nosuch", "=", "2%")
WORDS = (*FILES, *PLACES, *ODD)
NUMBERS = ("0", "1", "2", "-1", "3.5", "1e9", "nan", "inf", "9" * 20, "0x10", "1_0", "٣", "", "one")
SETTINGS = ("window=1", "window=-1", "window=x", "damping=nan", "nosuch=1", "=", "window", "yake.window=2")
NAMES = ("en", "EN", "xx", "fr", "nosuch", "gemma3-270m", "someone/nosuch", *WITHOUT_MODEL, "mudy")


def all_commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in sorted(group.commands.items()):
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from all_commands(command, (*path, name))


COMMANDS = list(all_commands(cli))


def value_of(option: click.Parameter, random_: random.Random) -> str:
    """Something that may or may not be a value of an option."""
    pools: list[tuple[str, ...]] = [WORDS]
    if isinstance(option.type, click.Choice):
        pools += [tuple(map(str, option.type.choices))] * 6
    elif isinstance(option.type, click.types.IntParamType | click.types.FloatParamType) or option.name == "top_n":
        pools += [NUMBERS] * 4
    elif option.name == "pairs":
        pools += [SETTINGS] * 4
    elif option.name in ("method", "methods"):
        return random_.choice(WITHOUT_MODEL)
    else:
        pools += [NAMES, tuple(FILES), tuple(FILES)]
    return random_.choice(random_.choice(pools))


def command_line(random_: random.Random) -> list[str]:
    path, command = random_.choice(COMMANDS)
    words = list(path)
    for option in command.params:
        always = option.name in ("method", "methods")
        if isinstance(option, click.Argument):
            words += [value_of(option, random_) for _ in range(random_.choice((0, 1, 1, 2)))]
        elif always or random_.random() < 0.15:
            words.append(random_.choice(option.opts))
            if not getattr(option, "is_flag", False):
                words.append(value_of(option, random_))
    if random_.random() < 0.1:
        words.insert(random_.randrange(len(words) + 1), random_.choice(WORDS))
    return words


class Watch:
    """An audit hook that notes every write outside a folder; it cannot be taken off, so it is switched off."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.outside: list[str] = []
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        writes = event in ("os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.truncate", "os.symlink", "os.link")
        if event == "open":
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            writes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        if writes and isinstance(arguments[0], str | bytes | os.PathLike):
            place = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100 (no look at the disk inside a hook)
            if not place.startswith((self.folder, "/dev/")):
                self.outside.append(f"{event} {place}")


@functools.cache
def watch() -> Watch:
    return Watch()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with odd files; no model can be had, one tagger serves all, and nothing listens."""
    import spacy

    from mudy.server import launcher

    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUDY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MUDY_OFFLINE", "1")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(spacy, "load", functools.cache(spacy.load))
    monkeypatch.setattr(launcher, "listen", lambda *_: None)
    monkeypatch.setattr(launcher, "run_service", lambda *_: None)
    return tmp_path


def test_random_command_lines_end_in_words_of_ours_and_write_nowhere_else(folder: Path) -> None:
    problems = []
    for seed in range(SEED, SEED + EXAMPLES):
        words = command_line(random.Random(seed))
        watch().outside.clear()
        watch().folder = str(folder)
        try:
            done = CliRunner().invoke(cli, words, input=b"Sea ice drifts with the wind.\n")
        finally:
            watch().folder = None
        ended = done.exception is None or isinstance(done.exception, SystemExit)
        good = ended and done.exit_code in (0, 1, 2) and not watch().outside
        if not good or re.search(r"Traceback|unexpected \w*(Error|Exception)", done.output):
            told = f"{done.exit_code} {done.exception!r} {done.output[-300:]} {watch().outside}"
            problems.append(f"MUDY_FUZZ_SEED={seed} MUDY_FUZZ_EXAMPLES=1: {words}: {told}")
    assert not problems, "\n\n".join(problems)


def test_the_same_seed_gives_the_same_command_line() -> None:
    assert command_line(random.Random(7)) == command_line(random.Random(7))
    assert shlex.join(command_line(random.Random(8)))
