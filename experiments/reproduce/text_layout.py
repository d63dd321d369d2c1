"""Texts with coloured spans -> one PNG: words placed in lines, texts side by side, a colour bar below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from experiments.reproduce.figures import DPI, new_figure, to_png

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and what is to be coloured in it: start, end, heat from 0 to 1 or none, and whether it is set off."""

    text: str
    spans: tuple[tuple[int, int, float | None, bool], ...]


_SIZE, _LINE, _WIDTH, _MARGIN = 9.0, 0.19, 5.6, 0.25  # points; inches: between lines, of a column, around it
_SCALE = 2.4  # inches, the bar of all colours
_SEAM = 0.005  # inches by which neighbours of one colour overlap, so that no line shows between them
_MISSING = "□"  # in place of what the font cannot draw
_COOLEST, _HOTTEST = 0.03, 0.72  # of the colour map, so that black letters can be read everywhere


def draw_passages(texts: Mapping[str, Passage]) -> bytes:
    """Texts side by side, every span in the colour of its heat."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.colors import LinearSegmentedColormap

    heat = LinearSegmentedColormap.from_list(
        "heat", colormaps["YlOrRd"]([_COOLEST + (_HOTTEST - _COOLEST) * i / 63 for i in range(64)])
    )
    renderer = RendererAgg(10, 10, DPI)  # type: ignore[no-untyped-call]
    columns = [_lines(passage, renderer) for passage in texts.values()]
    longest = max(map(len, columns))
    height = 2 * _MARGIN + 0.95 + _LINE * (longest + 1)
    width = _MARGIN + (_WIDTH + _MARGIN) * len(columns)
    figure = new_figure(width, height, layout=None)
    for index, (title, lines) in enumerate(zip(texts, columns, strict=True)):
        left = _MARGIN + index * (_WIDTH + _MARGIN)
        figure.text(left / width, 1 - _MARGIN / height, title, fontsize=12, fontweight="bold", va="top")
        for number, line in enumerate(lines):
            y = 1 - (_MARGIN + 0.45 + _LINE * number) / height
            for piece in line:
                _draw(figure, piece, left, y, width, height, heat)
    _scale(figure, width, height, heat)
    return to_png(figure)


def _scale(figure: Figure, width: float, height: float, heat: Any) -> None:
    """Below the texts: all colours in a bar, what its ends stand for beside it, and what it measures under it."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    left, right = (width - _SCALE) / 2, (width + _SCALE) / 2
    bar = figure.add_axes((left / width, 0.46 / height, _SCALE / width, 0.13 / height))
    figure.colorbar(ScalarMappable(Normalize(0, 1), heat), cax=bar, orientation="horizontal", ticks=[])
    for x, side, text in ((left - 0.08, "right", "lowest"), (right + 0.08, "left", "highest")):
        figure.text(x / width, 0.525 / height, text, fontsize=8, ha=side, va="center")
    figure.text(0.5, 0.36 / height, "rank of the score among all occurrences", fontsize=8, ha="center", va="top")


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    x: float  # inches from the left of its column
    width: float
    heat: float | None
    set_off: bool


def _lines(passage: Passage, renderer: Any) -> list[list[_Piece]]:
    """The words of a text, placed in lines, with an empty one for a line break; a coloured phrase may go over a line's
    end.
    """
    known = _glyphs()
    text = "".join(c if ord(c) in known or c.isspace() else _MISSING for c in passage.text)
    marks: list[tuple[float | None, bool]] = [(None, False)] * len(text)
    for start, end, heat, set_off in passage.spans:
        marks[start:end] = [(heat, set_off)] * (end - start)
    lines: list[list[_Piece]] = [[]]
    x = 0.0
    for word in _words(text, marks):
        width = sum(_width(text, mark[1], renderer) for text, mark in word if text.strip() or mark[0] is not None)
        if x + width > _WIDTH and lines[-1]:
            if not lines[-1][-1].text.strip():
                lines[-1].pop()  # no colour behind the last word
            lines.append([])
            x = 0.0
        for text, mark in word:
            if "\n" in text:  # a paragraph ends
                lines += [[], []]
                x = 0.0
                continue
            wide = _width(text, mark[1], renderer)
            if text.strip() or lines[-1]:
                lines[-1].append(_Piece(text, x, wide, *mark))
                x += wide
    return lines


def _words(text: str, marks: Sequence[tuple[float | None, bool]]) -> list[list[tuple[str, tuple[float | None, bool]]]]:
    """Words with the space behind them, each in pieces of one colour."""
    words: list[list[tuple[str, tuple[float | None, bool]]]] = [[]]
    for position, character in enumerate(text):
        word, mark = words[-1], marks[position]
        if word and word[-1][1] == mark and word[-1][0].isspace() == character.isspace():
            word[-1] = (word[-1][0] + character, mark)
        elif word and word[-1][0].isspace() and not character.isspace():
            words.append([(character, mark)])
        else:
            word.append((character, mark))
    return words


@cache
def _glyphs() -> frozenset[int]:
    """The characters that the font can draw in each of its two styles."""
    from matplotlib.font_manager import findfont, get_font

    plain, set_off = (get_font(findfont(_font(style))).get_charmap() for style in (False, True))
    return frozenset(plain) & frozenset(set_off)


def _font(set_off: bool) -> Any:
    from matplotlib.font_manager import FontProperties

    return FontProperties(
        size=_SIZE,
        weight="bold" if set_off else "normal",
        style="italic" if set_off else "normal",
        family="DejaVu Sans",
    )


def _width(text: str, set_off: bool, renderer: Any) -> float:
    """In inches; a space at the end counts."""
    bounded = renderer.get_text_width_height_descent(f"|{text}|", _font(set_off), False)[0]
    edges = renderer.get_text_width_height_descent("||", _font(set_off), False)[0]
    return float(bounded - edges) / DPI


def _draw(figure: Figure, piece: _Piece, left: float, y: float, width: float, height: float, heat: Any) -> None:
    from matplotlib.patches import Rectangle

    x = (left + piece.x) / width
    if piece.heat is not None:
        box = Rectangle(
            (x, y - 0.045 / height),
            (piece.width + _SEAM) / width,
            0.165 / height,
            color=heat(piece.heat),
            linewidth=0,
            antialiased=False,
        )
        figure.add_artist(box)
    if piece.text.strip():
        shown = piece.text.replace("$", r"\$")  # no formula
        figure.text(x, y, shown, fontproperties=_font(piece.set_off), va="baseline", color="black")
