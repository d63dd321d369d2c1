"""A text cut where phrases begin and end, and the colours of its pieces."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mudy.extraction.render import html, terminal
from mudy.extraction.render.text_pieces import STEPS, Mark, Piece, coloured_pieces, marks, pieces, within
from mudy.reading.document import Span
from tests import explained

ICE = "River ice is thin. The ice road closes in spring. Old maps fail."


def test_a_text_is_cut_where_phrases_begin_and_end() -> None:
    found = explained.explanation(ICE, {"River ice": -1.0, "ice road": -2.0}, gold=["The ice"])
    cut = coloured_pieces(found, found.methods[0].result)
    shown = [(p.span.of(ICE), p.mark and p.mark.phrase.text, p.gold) for p in cut]
    assert shown == [
        ("River ice", "River ice", False),
        (" is thin. ", None, False),
        ("The ", None, True),
        ("ice", "ice road", True),
        (" road", "ice road", False),
        (" closes in spring. Old maps fail.", None, False),
    ]


def test_of_phrases_that_overlap_the_hottest_is_on_top_and_what_looks_alike_is_one_piece() -> None:
    text = "a very large neural language model"
    scores = {"very large neural language model": -3.0, "large neural": -1.0, "neural language": -2.0}
    cut = pieces(len(text), marks(explained.result(text, scores)))
    assert [(p.span.of(text), p.mark and p.mark.phrase.rank) for p in cut] == [
        ("a ", None),
        ("very ", 3),
        ("large neural", 1),
        (" language", 2),
        (" model", 3),
    ]
    hot = {"very large neural language model": -1.0, "large neural": -2.0, "neural language": -3.0}
    whole = pieces(len(text), marks(explained.result(text, hot)))
    assert [p.span.of(text) for p in whole] == ["a ", "very large neural language model"]


SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(0, 9)), max_size=12)


@given(SPANS, SPANS)
def test_pieces_agree_with_a_loop_over_every_character(found: list[tuple[int, int, int]], gold: Any) -> None:
    length = 45
    all_marks = [mark(start, start + width, rank, heat / 9) for rank, (start, width, heat) in enumerate(found, 1)]
    right = [Span(start, start + width) for start, width, _ in gold]
    cut = pieces(length, all_marks, right)
    assert [piece.span.start for piece in cut[1:]] == [piece.span.end for piece in cut[:-1]]
    assert (cut[0].span.start, cut[-1].span.end) == (0, length)
    assert all((a.mark, a.gold) != (b.mark, b.gold) for a, b in pairwise(cut))
    for position in range(length):
        here = [m for m in all_marks if m.span.start <= position < m.span.end]
        top = min(here, key=lambda m: (-m.heat, m.phrase.rank), default=None)
        piece = next(p for p in cut if p.span.start <= position < p.span.end)
        assert piece.mark is top
        assert piece.gold == any(span.start <= position < span.end for span in right)


def mark(start: int, end: int, rank: int, heat: float) -> Mark:
    (made,) = explained.result("x" * end, {"x" * end: 0.0}).keyphrases
    occurrence = replace(made.occurrences[0], start=start, end=end)
    return Mark(replace(made, rank=rank, occurrences=(occurrence,)), occurrence, heat)


def test_an_empty_text_has_no_pieces_and_a_part_of_a_text_has_its_own() -> None:
    assert pieces(0, []) == []
    cut = [Piece(Span(0, 5), None, False), Piece(Span(5, 9), None, True)]
    assert [p.span for p in within(cut, Span(2, 7))] == [Span(2, 5), Span(5, 7)]
    assert within(cut, Span(5, 5)) == []


def test_heat_falls_into_eight_steps() -> None:
    steps = [mark(0, 1, 1, heat).step for heat in (0, 0.124, 0.125, 0.5, 0.874, 0.875, 1)]
    assert steps == [0, 0, 1, 4, 6, 7, 7]
    assert len(terminal.COLOURS) == len(html.COLOURS) == STEPS


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_letters_can_be_read_on_every_colour() -> None:
    for index in terminal.COLOURS:
        assert contrast(terminal_colour(index), "#000000") > 4.5  # WCAG 2.2, AA
    for ground, letters in (("#ffffff", "#222222"), ("#111111", "#dddddd")):  # notebooks, light and dark
        for style in html.COLOURS:
            assert contrast(*worn(style, ground, letters)) > 4.5


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def worn(style: str, ground: str, letters: str) -> tuple[str, str]:
    """The colours that a style gives on a ground."""
    back, front = (rule.partition(":")[2] for rule in style.split(";"))
    if veil := re.fullmatch(r"rgba\(240,98,42,(.+)\)", back):
        share, under = float(veil[1]), (int(ground[i : i + 2], 16) for i in (1, 3, 5))
        mixed = (round(share * over + (1 - share) * below) for over, below in zip((240, 98, 42), under, strict=True))
        back = "#" + "".join(f"{value:02x}" for value in mixed)
    return back, letters if front == "inherit" else front


def terminal_colour(index: int) -> str:
    """One of the 256 colours: a cube of six steps, then greys."""
    if index >= 232:
        return "#" + f"{8 + 10 * (index - 232):02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    red, green, blue = (levels[(index - 16) // 6**power % 6] for power in (2, 1, 0))
    return f"#{red:02x}{green:02x}{blue:02x}"
