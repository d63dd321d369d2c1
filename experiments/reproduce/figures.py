"""Empty figures and PNG bytes. matplotlib is imported when a picture is drawn, without its global state."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from mudy._support.extras import from_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150


def require_matplotlib() -> None:
    """Raise MissingExtra, before any work is done, where nothing can be drawn."""
    with from_extra("plots", "A picture"):
        import matplotlib.figure  # noqa: F401


def new_figure(width: float, height: float, layout: Any = "constrained") -> Figure:
    """An empty figure; width and height in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure((width, height), dpi=DPI, layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def to_png(figure: Figure) -> bytes:
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=DPI)
    return stream.getvalue()
