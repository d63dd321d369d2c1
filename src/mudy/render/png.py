"""An explanation as a picture for papers: the text under each method side by side, in the colours of its heat."""

from __future__ import annotations

import re
from pathlib import PurePath

from mudy.extraction.explanation import Explained, Explanation
from mudy.reading.document import Span
from mudy.render.excerpts import beginning
from mudy.render.figures import require_matplotlib
from mudy.render.text_layout import Passage, draw_passages
from mudy.render.text_pieces import coloured_pieces, within

PAGE_CHARACTERS = 5000  # characters that fit a page
LINES = re.compile(r"\s+")


def picture(explanation: Explanation) -> bytes:
    """A PNG; of a text longer than a page its beginning, which the picture says."""
    require_matplotlib()
    part = beginning(explanation.text, PAGE_CHARACTERS)
    note = left_out(explanation)
    labels = {f"{_label(method)}{note and f' ({note})'}": method for method in explanation.methods}
    return draw_passages({label: _passage(explanation, method, part) for label, method in labels.items()})


def left_out(explanation: Explanation) -> str:
    """How much of a text a picture shows, in words; nothing where it is all."""
    part = beginning(explanation.text, PAGE_CHARACTERS)
    if part.end == len(explanation.text):
        return ""
    return f"first {len(part.of(explanation.text).split()):,} of {len(explanation.text.split()):,} words"


def _label(method: Explained) -> str:
    """The method and its model, of a folder or a hub's id the last part."""
    model = f", {PurePath(method.result.model).name}" if method.result.model else ""
    return (method.result.method + model).replace("$", r"\$")  # no formula


def _passage(explanation: Explanation, method: Explained, part: Span) -> Passage:
    cut = within(coloured_pieces(explanation, method.result), part)
    spans = [(p.span.start, p.span.end, p.place.heat if p.place else None, p.gold) for p in cut if p.place or p.gold]
    return Passage(LINES.sub(_space, part.of(explanation.text)), tuple(spans))


def _space(match: re.Match[str]) -> str:
    """As much white space: a break where a paragraph ends, else none, for which fonts have no shape."""
    return ("\n" if match[0].count("\n") > 1 else " ").ljust(len(match[0]))
