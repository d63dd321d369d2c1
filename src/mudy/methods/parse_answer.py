"""What a model wrote -> phrases, in order; and where they stand in a text.

Models are asked for `Keyphrases: a; b; c` and write numbered lists, JSON, bold type, apologies and afterthoughts. Not
all that is no phrase is recognised as such here: it does not occur in the text, and is dropped for that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from mudy.reading.candidates import Candidate, given
from mudy.reading.document import Document, squeeze

MARKER = "Keyphrases: "
_MARKER = re.compile(r"key[\s-]?(?:phrases|words|phrase candidates)[\s\"'*_]{0,6}:[*_]*", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*```.*$", re.MULTILINE)
_REFUSAL = re.compile(
    r"\W*(?:(?:i am|i['’]?m|we are|we['’]re)\s+(?:\w+\s+)?(?:sorry|unable|not able)\b|sorry\s*[,.!]|unfortunately\b|"
    r"(?:i|we)\s+(?:can['’]?t|can\s?not|could not|couldn['’]t|won['’]t|apologi[sz]e)\b|as an ai\b|(?:none|n/a)\W*$)",
    re.IGNORECASE,
)
_SEMICOLONS, _COMMAS = (re.compile(rf"(?:[{marks}]\s*(?:and\s+)?|\n)") for marks in (";；", ",，、"))
_BULLET = re.compile(r"\s*(?:\(?\d{1,3}[.):]|[-*•‣◦·–—])\s+")
_LABEL = re.compile(r"^\s*(?:key[\s-]?)?(?:phrase|word)\s?\d{0,3}\s?:\s*", re.IGNORECASE)
_BOLD = re.compile(r"\s*(\*\*|__)(.+?)\1")
_REMARK = re.compile(r"\s[-–—]\s|:\s")  # between a phrase in a list and what is said about it
_BRACKETS = re.compile(r"\s*\([^()]*\)\W*$")  # an abbreviation or a remark after a phrase
_LONGEST = 300  # characters; what is longer is prose, and not worth the search for its phrase
_EDGES = " \t\r\n\"'`´‘’‚“”„«»*_[]{}"

# Marks that a model may write in another form than the text; one for one, so that offsets hold.
_FORMS = str.maketrans(dict.fromkeys("‘’ʼ", "'") | dict.fromkeys("“”„", '"') | dict.fromkeys("‐‑‒–—−", "-"))

# -- What was written -------------------------------------------------------------------------------------------------


def parse_phrases(answer: str) -> list[str]:
    """The phrases of an answer in the order of writing, each once whatever its case; a refusal has none.

    They follow the last marker, where there is one. A JSON list of strings is read as such; else semicolons part them,
    else lines where one is numbered or has a bullet, else commas and lines.
    """
    text = _FENCE.sub("", answer.rpartition("</think>")[2])  # of models that think aloud
    answers = [part for part in _MARKER.split(text) if part.strip()]
    if not answers or _REFUSAL.match(answers[-1]):
        return []
    phrases: dict[str, str] = {}
    for piece in _parted(answers[-1]):
        phrase = _cleaned(piece)
        if any(map(str.isalnum, phrase)) and not phrase.endswith(":"):  # which ends a heading
            phrases.setdefault(comparison_key(phrase), phrase)
    return list(phrases.values())


def _parted(text: str) -> Sequence[str]:
    if listed := _strings(text[text.find("[") : text.rfind("]") + 1]):
        return listed
    if ";" in text or "；" in text:
        return _SEMICOLONS.split(text)
    lines = text.splitlines()
    return lines if any(map(_BULLET.match, lines)) else _COMMAS.split(text)


def _strings(text: str) -> list[str]:
    """The strings of a JSON list; none where it is no list."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def _cleaned(piece: str) -> str:
    """A phrase without its number or bullet, quotes, mark-up, trailing dots, and what is said about it."""
    if len(piece) > _LONGEST:
        return squeeze(piece)
    bullet = _BULLET.match(piece)
    piece = _LABEL.sub("", piece[bullet.end() :] if bullet else piece, count=1)
    bold = _BOLD.match(piece)
    if bold:
        piece = bold[2]
    elif bullet:
        piece = _REMARK.split(piece, maxsplit=1)[0]
    return squeeze(_BRACKETS.sub("", piece.strip(_EDGES)).rstrip(" .…,").strip(_EDGES))


# -- Where it stands --------------------------------------------------------------------------------------------------


def comparison_key(phrase: str) -> str:
    """What two spellings of one phrase have in common: neither case, white space, forms of marks nor trailing dots."""
    return squeeze(phrase.translate(_FORMS)).casefold().rstrip(" .")


def standing(
    document: Document, candidates: Sequence[Candidate], written: Sequence[str], strict: bool
) -> tuple[list[Candidate], list[str]]:
    """Written phrases as candidates with their places, in order; and those that are dropped.

    A phrase that is a candidate has its places. Any other has every place where it stands as whole words; `strict`
    drops it, and so it is with a phrase that does not occur in the text.
    """
    known = {comparison_key(candidate.phrase): candidate for candidate in reversed(candidates)}
    if not strict:
        known = _found(document, [phrase for phrase in written if comparison_key(phrase) not in known]) | known
    chosen = [known[comparison_key(phrase)] for phrase in written if comparison_key(phrase) in known]
    return chosen, [phrase for phrase in written if comparison_key(phrase) not in known]


def _found(document: Document, written: Sequence[str]) -> dict[str, Candidate]:
    same = replace(document, text=document.text.translate(_FORMS))
    found, _ = given(same, [phrase.translate(_FORMS) for phrase in written])
    as_written = ((c, squeeze(c.occurrences[0].span.of(document.text)).lower()) for c in found)
    return {comparison_key(c.phrase): replace(c, phrase=phrase) for c, phrase in as_written}
