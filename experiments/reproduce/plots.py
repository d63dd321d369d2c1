"""Numbers -> charts (PNG): curves, bars, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from experiments.reproduce.figures import new_figure, to_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito's
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#555555"
PANEL, NARROW = (4.6, 3.4), (3.4, 2.9)  # inches; the latter where there are three or four in a row
ACROSS = 4  # panels at most


def curves(
    panels: Mapping[str, Mapping[str, Sequence[float]]], grid: Sequence[float], *, xlabel: str, ylabel: str
) -> bytes:
    """Lines over a grid: a panel for each model, a line for each data set."""
    figure, axes = _panels(list(panels), share=True)
    for axis, lines in zip(axes, panels.values(), strict=True):
        for name, values in lines.items():
            index = _colour_index(panels, name)
            axis.plot(
                grid, values, color=COLOURS[index], marker=MARKERS[index], label=name, linewidth=1.6, markersize=5
            )
        axis.set_xlabel(xlabel, fontsize=11)
    axes[0].set_ylim(bottom=0)  # of all, once every line is there
    axes[0].set_ylabel(ylabel, fontsize=11)
    return png_with_legend(figure, axes)


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
    return png_with_legend(figure, axes)


def times(totals: Mapping[str, float], stacked: Mapping[str, Mapping[str, float]]) -> bytes:
    """Seconds a document: all methods, on a logarithmic scale; and those that prompt, by step."""
    figure = new_figure(11.5, 1.6 + 0.3 * max(len(totals), 2 * len(stacked), 4))
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
        style_axis(axis)
        axis.grid(visible=False, axis="y")
        axis.tick_params(axis="y", labelsize=9)
    if stacked:
        figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=3, frameon=False, fontsize=9)
    return to_png(figure)


# -- Shared parts -----------------------------------------------------------------------------------------------------


def _panels(titles: Sequence[str], *, share: bool) -> tuple[Figure, list[Axes]]:
    across = min(ACROSS, len(titles))
    down = ceil(len(titles) / across)
    width, height = PANEL if across < 3 else NARROW
    figure = new_figure(width * across, height * down + 0.5)
    grid = figure.subplots(down, across, squeeze=False, sharey=share)
    axes = [axis for row in grid for axis in row]
    for axis in axes[len(titles) :]:
        axis.set_axis_off()
    for axis, title in zip(axes, titles, strict=False):
        axis.set_title(title, fontsize=12)
        style_axis(axis)
    return figure, axes[: len(titles)]


def style_axis(axis: Axes) -> None:
    """Grey grid, no frame above and on the right."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(visible=True, color="#DDDDDD", linewidth=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=9, colors=GREY, labelcolor="black")


def _colour_index(panels: Mapping[str, Mapping[str, Any]], name: str) -> int:
    """Which colour a line has: the same in every panel."""
    return list(dict.fromkeys(line for lines in panels.values() for line in lines)).index(name) % len(COLOURS)


def png_with_legend(figure: Figure, axes: Sequence[Axes]) -> bytes:
    """The picture, with one legend below all panels."""
    named = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=min(4, len(named)), frameon=False, fontsize=10
    )
    return to_png(figure)
