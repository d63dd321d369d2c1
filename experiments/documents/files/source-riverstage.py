# Copyright the riverstage authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
"""Rating curves: from the stage of a river to its discharge.

A gauging station records the *stage*, the height of the water above a datum. What people want is the *discharge*,
the volume that flows past in a second. The two are linked by a rating curve, which is fitted to a few dozen
gaugings: occasions on which somebody measured the discharge with a current meter or an acoustic profiler.

This module fits rating curves of the power-law form

    Q = a * (h - h0) ** b

where ``h`` is the stage, ``h0`` the stage of zero flow (the cease-to-flow level), and ``a`` and ``b`` describe the
shape of the channel. A river that leaves its bed needs more than one segment: below bankfull the channel controls
the flow, above it the flood plain does. Segments meet at *breakpoints*, where the curve is continuous.

Typical use::

    gaugings = read_gaugings("station17.csv")
    curve = fit(gaugings, breakpoints=[2.35])
    discharge = curve.discharge(stage=1.82)

Extrapolation beyond the highest gauging is allowed, because floods do not wait for hydrologists, but every result
says so in ``Estimate.extrapolated``.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


class RatingError(ValueError):
    """A rating curve cannot be fitted or applied."""


@dataclass(frozen=True)
class Gauging:
    """One measurement of discharge, with the stage at which it was made."""

    stage: float
    """Height of the water above the datum of the station, in metres."""
    discharge: float
    """Measured discharge, in cubic metres per second."""
    uncertainty: float = 0.05
    """Relative standard uncertainty of the discharge: about 5 % for a current meter, 8 % and more in floods."""


@dataclass(frozen=True)
class Segment:
    """A power law that is valid from ``lower`` up to the next breakpoint."""

    lower: float
    a: float
    b: float
    h0: float

    def discharge(self, stage: float) -> float:
        """Discharge at a stage; zero below the cease-to-flow level."""
        return 0.0 if stage <= self.h0 else self.a * (stage - self.h0) ** self.b


@dataclass(frozen=True)
class Estimate:
    """A discharge read from a rating curve."""

    discharge: float
    extrapolated: bool


class RatingCurve:
    """A rating curve of one or more segments."""

    def __init__(self, segments: list[Segment], highest: float) -> None:
        self.segments = segments
        self.highest = highest

    def discharge(self, stage: float) -> Estimate:
        """The discharge at a stage.

        The segment is chosen by the stage alone. Hysteresis is ignored: during the rise of a flood the same stage
        carries more water than during its fall, since the water surface is steeper. On flat rivers this loop rating
        can amount to 15 per cent; correct for it with :func:`jones`.
        """
        segment = max((s for s in self.segments if s.lower <= stage), key=lambda s: s.lower, default=self.segments[0])
        return Estimate(segment.discharge(stage), extrapolated=stage > self.highest)


def read_gaugings(path: str | Path) -> list[Gauging]:
    """Read gaugings from a CSV file with the columns ``stage``, ``discharge`` and, optionally, ``uncertainty``.

    Gaugings made under ice or with weed in the channel (column ``flag`` not empty) are left out, since backwater
    raises the stage without raising the discharge.
    """
    with Path(path).open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if not row.get("flag")]
    return [Gauging(float(r["stage"]), float(r["discharge"]), float(r.get("uncertainty") or 0.05)) for r in rows]


def fit(gaugings: list[Gauging], breakpoints: list[float] | None = None, h0: float | None = None) -> RatingCurve:
    """Fit a rating curve by weighted least squares in logarithms.

    In logarithms the power law is a straight line, and relative errors become absolute ones, so that a flood of
    400 m³/s does not outweigh all low flows. The weight of a gauging is the inverse of its squared uncertainty.

    The cease-to-flow level ``h0`` cannot be found by linear regression. If it is not given, it is searched for on a
    grid between the lowest stage and one metre below it; the value with the smallest residual is used. A survey of
    the river bed is always better than this search.
    """
    if len(gaugings) < 6:
        raise RatingError(f"At least six gaugings are needed, not {len(gaugings)}.")
    lowest, highest = (f(g.stage for g in gaugings) for f in (min, max))
    grid = [h0] if h0 is not None else [lowest - 0.01 - step / 100 for step in range(100)]
    bounds = [lowest, *(breakpoints or []), math.inf]
    segments = []
    for lower, upper in pairwise(bounds):
        inside = [g for g in gaugings if lower <= g.stage <= upper]
        if len(inside) < 3:
            raise RatingError(f"Fewer than three gaugings between {lower} m and {upper} m: move the breakpoint.")
        segments.append(min((_line(inside, lower, level) for level in grid), key=lambda pair: pair[0])[1])
    return RatingCurve(segments, highest)


def _line(gaugings: list[Gauging], lower: float, h0: float) -> tuple[float, Segment]:
    """Weighted regression of log discharge on log depth, and its residual sum of squares."""
    points = [(math.log(g.stage - h0), math.log(g.discharge), g.uncertainty**-2) for g in gaugings]
    total = sum(w for _, _, w in points)
    mean_x = sum(w * x for x, _, w in points) / total
    mean_y = sum(w * y for _, y, w in points) / total
    spread = sum(w * (x - mean_x) ** 2 for x, _, w in points)
    slope = sum(w * (x - mean_x) * (y - mean_y) for x, y, w in points) / spread
    intercept = mean_y - slope * mean_x
    residual = sum(w * (y - intercept - slope * x) ** 2 for x, y, w in points)
    return residual, Segment(lower, math.exp(intercept), slope, h0)


def jones(discharge: float, rise: float, slope: float, celerity: float) -> float:
    """Jones's correction for unsteady flow.

    ``rise`` is the rate of change of the stage in metres per second, ``slope`` the slope of the river bed and
    ``celerity`` the speed of the flood wave. On the rising limb the corrected discharge is larger than that of the
    rating curve.
    """
    return discharge * math.sqrt(max(0.0, 1 + rise / (slope * celerity)))


if __name__ == "__main__":
    import sys

    print(fit(read_gaugings(sys.argv[1])).discharge(float(sys.argv[2])))  # TODO: a proper command line
