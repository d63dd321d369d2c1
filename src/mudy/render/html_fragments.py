"""Text and lists -> HTML in which every character of a text only shows. The report and the notebook share it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from itertools import groupby
from operator import attrgetter

from mudy.extraction.explanation import Explanation
from mudy.extraction.results import Result
from mudy.render.ranking_table import HIDDEN, Ranked, number
from mudy.render.text_pieces import Piece, Place

UNSHOWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # what HTML cannot hold, or has no shape for
GOLD = '<em class="gold"><strong>', "</strong></em>"

Attributes = Mapping[str, str]


def escaped(text: str) -> str:
    """A text for any place of a page, character for character; what HTML cannot hold is a replacement character."""
    return UNSHOWN.sub("\ufffd", escape(text)).replace("\r", "&#13;")  # the parser would make it a line feed


def coloured_text(
    text: str, cut: Iterable[Piece], attributes: Callable[[Place], str], gold: tuple[str, str] = GOLD
) -> str:
    """Pieces of a text: each place in a <mark> with the attributes it is given, gold between two tags."""
    written = []
    for place, run in groupby(cut, key=attrgetter("place")):
        letters = "".join(_piece(text, piece, gold) for piece in run)
        written.append(letters if place is None else f"<mark {attributes(place)}>{letters}</mark>")
    return "".join(written)


def _piece(text: str, piece: Piece, gold: tuple[str, str]) -> str:
    letters = escaped(piece.span.of(text))
    return f"{gold[0]}{letters}{gold[1]}" if piece.gold else letters


def parts(place: Place) -> str:
    """What a pointer that rests on an occurrence is told."""
    names = {name: value for name, value in place.occurrence.parts.items() if name not in HIDDEN}
    numbers = {"score": place.occurrence.score, **names}
    plain = ", p without weighting" if place.occurrence.parts.get("weighted") == 0 else ""
    return f"{place.phrase.rank}. " + ", ".join(f"{name} {number(value)}" for name, value in numbers.items()) + plain


def phrase_table(
    listed: Ranked, caption: str, gold: tuple[str, str] = GOLD, styles: Attributes | None = None, hidden: str = ""
) -> str:
    """A ranked list; `styles` are attributes of a tag by its name, `hidden` those of the caption."""
    given = {tag: f" {attributes}" for tag, attributes in (styles or {}).items()}
    open_ = {tag: f"<{tag}{given.get(tag, '')}" for tag in ("table", "th", "td")}
    head = "".join(f'{open_["th"]} scope="col">{escaped(name)}</th>' for name in listed.head)
    lines = [f"{open_['table']}><caption{hidden}>{caption}</caption><thead><tr>{head}</tr></thead><tbody>"]
    for row in listed.rows:
        cells = [escaped(cell) for cell in row.cells]
        cells[1] = f"<bdi>{gold[0]}{cells[1]}{gold[1]}</bdi>" if row.gold else f"<bdi>{cells[1]}</bdi>"
        lines.append("<tr>" + "".join(f"{open_['td']}>{cell}</td>" for cell in cells) + "</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def notes(explanation: Explanation, result: Result, listed: Ranked) -> list[str]:
    """What is to be known beside a list, a sentence each."""
    said = []
    if listed.left:
        said.append(f"{listed.left:,} more phrase{' is' if listed.left == 1 else 's are'} coloured in the text.")
    if not result.coverage.complete:
        said.append(f"{result.coverage}.")
    absent = [f"<bdi>{escaped(phrase.text)}</bdi>" for phrase in explanation.gold if not phrase.spans]
    if absent:
        said.append(f"Gold, but not in the text: {'; '.join(absent)}.")
    return said
