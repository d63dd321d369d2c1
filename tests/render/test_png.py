"""A picture for papers."""

import sys
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from mudy import MissingExtra
from mudy.render import figures, png, text_layout
from tests import explained

ICE = "River ice is thin. The ice road closes in spring. Old maps fail."


def size(picture: bytes) -> tuple[int, int]:
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")


def test_paragraphs_are_kept_apart_in_a_picture_and_lines_are_not() -> None:
    apart, wrapped, run_on = (
        explained.explanation(ICE.replace(". ", f".{gap}"), {"River ice": -1.0}) for gap in ("\n\n", "\n", " ")
    )
    assert size(png.picture(apart))[1] > size(png.picture(run_on))[1]
    assert size(png.picture(wrapped)) == size(png.picture(run_on))


def test_a_picture_of_two_methods_is_twice_as_wide_and_a_long_text_makes_it_no_longer_than_a_page() -> None:
    one = explained.explanation(ICE, {"River ice": -1.0}, gold=["thin"])
    two = explained.explanation(ICE, {"River ice": -1.0}, {"ice road": -1.0})
    assert size(png.picture(two))[0] > 1.8 * size(png.picture(one))[0]
    text = "Word by word it goes on. " * 400
    page, long = (explained.explanation(t, {"Word": -1.0}) for t in (text[: png.PAGE_CHARACTERS], text))
    assert png.left_out(page) == ""
    assert png.left_out(long) == "first 1,200 of 2,400 words"
    assert size(png.picture(long))[1] <= size(png.picture(page))[1] + 1


def test_the_cut_is_said_in_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, text_layout.Passage] = {}
    monkeypatch.setattr(png, "draw_passages", lambda texts: seen.update(texts) or b"")
    text = "Word by word it goes on. " * 400
    found = explained.explanation(text, {"Word": -1.0}, gold=["goes"], source="$x$")
    result = replace(found.methods[0].result, model="folder/of$/a $model$")
    png.picture(replace(found, methods=(replace(found.methods[0], result=result),)))
    ((label, passage),) = seen.items()
    assert label == r"mudy, a \$model\$ (first 1,200 of 2,400 words)"
    assert passage.text == text[:4999]
    assert (0, 4, 0.0, False) in passage.spans
    assert (16, 20, None, True) in passage.spans


@pytest.mark.parametrize("methods", [1, 3])
def test_no_words_of_a_pictures_legend_overlap(methods: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.text import Text

    monkeypatch.setattr(text_layout, "to_png", lambda figure: figure)
    passage = text_layout.Passage("River ice.", ((0, 9, 1.0, False),))
    figure: Any = text_layout.draw_passages({str(number): passage for number in range(methods)})
    figure.draw_without_rendering()
    boxes = [t.get_window_extent() for t in figure.findobj(Text) if t.get_text().strip()]
    legend = [box for box in boxes if box.y1 < 0.8 * figures.DPI]
    assert len(legend) == 3
    assert not any(one.overlaps(other) for one, other in combinations(legend, 2))


def test_a_picture_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r'pip install "matplotlib'):
        png.picture(explained.explanation(ICE, {"River ice": -1.0}))


def test_a_hostile_text_can_be_drawn() -> None:
    assert size(png.picture(explained.hostile()))[1] > 200
