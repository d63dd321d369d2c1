"""Numbers -> pictures (PNG). matplotlib is imported when a picture is drawn, without its global state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING, Any

from mudy.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito's
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#555555"
PANEL, NARROW = (4.6, 3.4), (3.4, 2.9)  # inches; the latter where there are three or four in a row
ACROSS = 4  # panels at most


def check() -> None:
    """Raise, before any work is done, where nothing can be drawn."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingExtra('Figures need matplotlib, which is not installed: pip install "mudy[plots]"') from error


def curves(
    panels: Mapping[str, Mapping[str, Sequence[float]]], grid: Sequence[float], *, xlabel: str, ylabel: str
) -> bytes:
    """Lines over a grid: a panel for each model, a line for each data set."""
    figure, axes = _panels(list(panels), share=True)
    for axis, lines in zip(axes, panels.values(), strict=True):
        for name, values in lines.items():
            index = _place(panels, name)
            axis.plot(
                grid, values, color=COLOURS[index], marker=MARKERS[index], label=name, linewidth=1.6, markersize=5
            )
        axis.set_xlabel(xlabel, fontsize=11)
    axes[0].set_ylim(bottom=0)  # of all, once every line is there
    axes[0].set_ylabel(ylabel, fontsize=11)
    return _finished(figure, axes)


def bars(
    panels: Mapping[str, Mapping[str, Sequence[float]]], ticks: Sequence[str], *, xlabel: str, ylabel: str
) -> bytes:
    """Groups of bars: a panel for each data set, a colour for each method."""
    figure, axes = _panels(list(panels), share=True)
    for axis, groups in zip(axes, panels.values(), strict=True):
        width = 0.8 / len(groups)
        for index, (name, values) in enumerate(groups.items()):
            places = [i + (index - (len(groups) - 1) / 2) * width for i in range(len(values))]
            axis.bar(places, values, width, color=COLOURS[index], label=name, edgecolor="white", linewidth=0.5)
        axis.set_xticks(range(len(ticks)), ticks)
        axis.grid(visible=False, axis="x")
        axis.set_xlabel(xlabel, fontsize=11)
    for axis in axes[::ACROSS]:
        axis.set_ylabel(ylabel, fontsize=11)
    return _finished(figure, axes)


def times(totals: Mapping[str, float], stacked: Mapping[str, Mapping[str, float]]) -> bytes:
    """Seconds a document: all methods, on a logarithmic scale; and those that prompt, by step."""
    figure = _figure(11.5, 1.6 + 0.3 * max(len(totals), 2 * len(stacked), 4))
    left, right = figure.subplots(1, 2, width_ratios=[1, 1])
    names = list(totals)
    left.barh(names, [max(totals[name], 1e-3) for name in names], color=COLOURS[0], height=0.65)
    left.set_xscale("log")
    for index, name in enumerate(names):
        text = f"{totals[name]:.2f}"
        left.annotate(
            text, (max(totals[name], 1e-3), index), (3, 0), textcoords="offset points", va="center", fontsize=8
        )
    left.margins(x=0.15)
    left.set_title("All methods, logarithmic scale", fontsize=11)
    begin = dict.fromkeys(stacked, 0.0)
    steps = list(dict.fromkeys(step for parts in stacked.values() for step in parts))
    for step, colour in zip(steps, COLOURS, strict=False):
        values = [stacked[name][step] for name in stacked]
        right.barh(list(stacked), values, left=list(begin.values()), color=colour, label=step, height=0.55)
        begin = {name: begin[name] + stacked[name][step] for name in stacked}
    right.set_title("By step", fontsize=11)
    for axis in (left, right):
        axis.invert_yaxis()
        axis.set_xlabel("CPU-seconds a document", fontsize=10)
        _plain(axis)
        axis.grid(visible=False, axis="y")
        axis.tick_params(axis="y", labelsize=9)
    if stacked:
        figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=3, frameon=False, fontsize=9)
    return _png(figure)


# -- Text that is coloured --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and what is to be coloured in it: start, end, heat from 0 to 1 or none, and whether it is set off."""

    text: str
    spans: tuple[tuple[int, int, float | None, bool], ...]


SIZE, LINE, WIDTH, MARGIN = 9.0, 0.19, 5.6, 0.25  # points; inches: between lines, of a column, around it
SCALE = 2.4  # inches, the bar of all colours
SEAM = 0.005  # inches by which neighbours of one colour overlap, so that no line shows between them
MISSING = "□"  # in place of what the font cannot draw
COOLEST, HOTTEST = 0.03, 0.72  # of the colour map, so that black letters can be read everywhere


def passages(texts: Mapping[str, Passage]) -> bytes:
    """Texts side by side, every span in the colour of its heat."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.colors import LinearSegmentedColormap

    heat = LinearSegmentedColormap.from_list(
        "heat", colormaps["YlOrRd"]([COOLEST + (HOTTEST - COOLEST) * i / 63 for i in range(64)])
    )
    renderer = RendererAgg(10, 10, DPI)  # type: ignore[no-untyped-call]
    columns = [_lines(passage, renderer) for passage in texts.values()]
    longest = max(map(len, columns))
    height = 2 * MARGIN + 0.95 + LINE * (longest + 1)
    width = MARGIN + (WIDTH + MARGIN) * len(columns)
    figure = _figure(width, height, layout=None)
    for index, (title, lines) in enumerate(zip(texts, columns, strict=True)):
        left = MARGIN + index * (WIDTH + MARGIN)
        figure.text(left / width, 1 - MARGIN / height, title, fontsize=12, fontweight="bold", va="top")
        for number, line in enumerate(lines):
            y = 1 - (MARGIN + 0.45 + LINE * number) / height
            for piece in line:
                _draw(figure, piece, left, y, width, height, heat)
    _scale(figure, width, height, heat)
    return _png(figure)


def _scale(figure: Figure, width: float, height: float, heat: Any) -> None:
    """Below the texts: all colours in a bar, what its ends stand for beside it, and what it measures under it."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    left, right = (width - SCALE) / 2, (width + SCALE) / 2
    bar = figure.add_axes((left / width, 0.46 / height, SCALE / width, 0.13 / height))
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
    text = "".join(c if ord(c) in known or c.isspace() else MISSING for c in passage.text)
    marks: list[tuple[float | None, bool]] = [(None, False)] * len(text)
    for start, end, heat, set_off in passage.spans:
        marks[start:end] = [(heat, set_off)] * (end - start)
    lines: list[list[_Piece]] = [[]]
    x = 0.0
    for word in _words(text, marks):
        width = sum(_width(text, mark[1], renderer) for text, mark in word if text.strip() or mark[0] is not None)
        if x + width > WIDTH and lines[-1]:
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
        size=SIZE, weight="bold" if set_off else "normal", style="italic" if set_off else "normal", family="DejaVu Sans"
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
            (piece.width + SEAM) / width,
            0.165 / height,
            color=heat(piece.heat),
            linewidth=0,
            antialiased=False,
        )
        figure.add_artist(box)
    if piece.text.strip():
        shown = piece.text.replace("$", r"\$")  # no formula
        figure.text(x, y, shown, fontproperties=_font(piece.set_off), va="baseline", color="black")


# -- What all share ---------------------------------------------------------------------------------------------------


def _figure(width: float, height: float, layout: Any = "constrained") -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure((width, height), dpi=DPI, layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _panels(titles: Sequence[str], *, share: bool) -> tuple[Figure, list[Axes]]:
    across = min(ACROSS, len(titles))
    down = ceil(len(titles) / across)
    width, height = PANEL if across < 3 else NARROW
    figure = _figure(width * across, height * down + 0.5)
    grid = figure.subplots(down, across, squeeze=False, sharey=share)
    axes = [axis for row in grid for axis in row]
    for axis in axes[len(titles) :]:
        axis.set_axis_off()
    for axis, title in zip(axes, titles, strict=False):
        axis.set_title(title, fontsize=12)
        _plain(axis)
    return figure, axes[: len(titles)]


def _plain(axis: Axes) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(visible=True, color="#DDDDDD", linewidth=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=9, colors=GREY, labelcolor="black")


def _place(panels: Mapping[str, Mapping[str, Any]], name: str) -> int:
    """Which colour a line has: the same in every panel."""
    return list(dict.fromkeys(line for lines in panels.values() for line in lines)).index(name) % len(COLOURS)


def _finished(figure: Figure, axes: Sequence[Axes]) -> bytes:
    """With one legend below all panels."""
    named = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=min(4, len(named)), frameon=False, fontsize=10
    )
    return _png(figure)


def _png(figure: Figure) -> bytes:
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=DPI)
    return stream.getvalue()
