"""Figures -> charts, in the style of our other figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.reproduce.figures import new_figure, to_png
from experiments.reproduce.plots import COLOURS, GREY, MARKERS, png_with_legend, style_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

# -- Growth -----------------------------------------------------------------------------------------------------------


def growth(models: Mapping[str, Mapping[str, Sequence[Mapping[str, float]]]]) -> bytes:
    """Time and memory against length, both logarithmic; time against the number of occurrences."""
    figure = new_figure(12.5, 4.2)
    time, memory, crowd = figure.subplots(1, 3)
    for index, (name, found) in enumerate(models.items()):
        style: dict[str, Any] = {"color": COLOURS[index], "marker": MARKERS[index], "linewidth": 1.6, "markersize": 5}
        rows, counted = found["lengths"], found["phrases"]
        words = [row["words"] for row in rows]
        time.plot(words, [row["cpu"] for row in rows], label=name, **style)
        memory.plot(words, [row["memory_gb"] for row in rows], **style)
        crowd.plot([row["occurrences"] for row in counted], [row["cpu"] for row in counted], **style)
    time.set_yscale("log")
    time.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    for axis in (time, memory):
        axis.set_xscale("log")
        axis.set_xlabel("words", fontsize=11)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    for axis in (memory, crowd):
        axis.set_ylim(bottom=0)
    crowd.set_xlim(left=0)
    crowd.set_xlabel("occurrences, at one length", fontsize=11)
    for axis, title in ((time, "CPU-seconds"), (memory, "peak memory, GB"), (crowd, "CPU-seconds")):
        axis.set_title(title, fontsize=12)
        style_axis(axis)
    return png_with_legend(figure, [time, memory, crowd])


# -- Cost and quality -------------------------------------------------------------------------------------------------

MARK = 10  # pixels from the middle of a mark to its edge


@dataclass(frozen=True, slots=True)
class Point:
    """One system: what it is called, what it costs, how good it is, and whose it is."""

    label: str
    cost: float
    quality: float
    group: str


def scatter(points: Sequence[Point], *, xlabel: str, ylabel: str) -> bytes:
    """Quality against cost, cost on a logarithmic scale; a colour and a mark for each group, a name at each point."""
    figure = new_figure(11, 7.5, layout=None)
    axis = figure.add_axes((0.07, 0.14, 0.9, 0.83))
    groups = list(dict.fromkeys(point.group for point in points))
    axis.set_xscale("log")
    for index, group in enumerate(groups):
        mine = [point for point in points if point.group == group]
        axis.scatter(
            [p.cost for p in mine],
            [p.quality for p in mine],
            color=COLOURS[index],
            marker=MARKERS[index],
            s=52,
            label=group,
            zorder=3,
        )
    axis.margins(x=0.14, y=0.12)
    axis.set_ylim(bottom=max(0.0, axis.get_ylim()[0]))
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_xlabel(xlabel, fontsize=11)
    axis.set_ylabel(ylabel, fontsize=11)
    style_axis(axis)
    figure.legend(loc="lower center", ncols=len(groups), frameon=False, fontsize=10)
    colours = {group: COLOURS[index] for index, group in enumerate(groups)}
    _label(axis, points, colours)
    return to_png(figure)


def _label(axis: Axes, points: Sequence[Point], colours: Mapping[str, str]) -> None:
    """Names beside their points, each in the nearest place that is free; a line leads to one that lies apart."""
    from matplotlib.transforms import Bbox

    renderer: Any = axis.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    where = axis.transData.transform([(point.cost, point.quality) for point in points])
    taken = [Bbox.from_bounds(x - MARK, y - MARK, 2 * MARK, 2 * MARK) for x, y in where]
    inside = axis.get_window_extent(renderer)
    for point, (x, y) in sorted(zip(points, where, strict=True), key=lambda pair: -pair[1][1]):
        text = axis.text(x, y, point.label, fontsize=8.5, color=colours[point.group], transform=None, zorder=4)
        size = text.get_window_extent(renderer)
        box = next(box for box in _places(x, y, size.width, size.height) if _free(box, taken, inside))
        text.set_position((box.x0, box.y0 + size.height * 0.2))
        taken.append(box)
        _lead(axis, (x, y), box)


def _places(x: float, y: float, width: float, height: float) -> Iterator[Bbox]:
    """Boxes around a point, nearer ones first: right, left, above and below, then farther out; at last anywhere."""
    from matplotlib.transforms import Bbox

    for gap in range(MARK + 3, 240, 6):
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)):
            left = x + dx * gap if dx > 0 else x - gap - width if dx < 0 else x - width / 2
            low = y + dy * gap if dy > 0 else y - gap - height if dy < 0 else y - height / 2
            yield Bbox.from_bounds(left, low, width, height)
    yield Bbox.from_bounds(x + MARK, y, width, height)


def _free(box: Bbox, taken: Sequence[Bbox], inside: Bbox) -> bool:
    fits = inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
    return fits and not any(box.overlaps(other) for other in taken)


def _lead(axis: Axes, point: tuple[float, float], box: Bbox) -> None:
    """A thin line from a point to its name, where they do not touch."""
    x, y = point
    end = (min(max(x, box.x0), box.x1), min(max(y, box.y0), box.y1))
    if abs(end[0] - x) + abs(end[1] - y) > 2 * MARK:
        (start, stop) = axis.transData.inverted().transform([(x, y), end])
        axis.plot(
            [start[0], stop[0]], [start[1], stop[1]], color=GREY, linewidth=0.6, zorder=2, scalex=False, scaley=False
        )
