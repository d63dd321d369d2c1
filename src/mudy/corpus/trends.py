"""Change over time: which phrases rise and fall over the periods of a corpus, and how far that is from chance."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

from mudy.corpus.statistics import false_discovery_rates, log_likelihood, p_value, signed_root, trend
from mudy.corpus.term_counts import TermCounts
from mudy.errors import InputError

Period = Literal["year", "quarter", "month", "week", "day"]
LEAST = 5  # documents of a phrase whose trend is tested
_ENOUGH = 4  # periods, else shorter ones are taken
_MOST_YEARS = 500  # from the first date to the last
_DRAWN = 10  # phrases of each kind in a picture
_PRECISION = {4: 1, 7: 3, 10: 5}  # how many kinds of periods a date of so many characters tells apart
_DAY = re.compile(r"\s*(\d{4})(?:[-/.]?(\d{2})(?:[-/.]?(\d{2}))?)?(?!\d)")
_LABELS: Mapping[Period, Callable[[date], str]] = {
    "year": lambda day: f"{day:%Y}",
    "quarter": lambda day: f"{day:%Y}-Q{(day.month + 2) // 3}",
    "month": lambda day: f"{day:%Y-%m}",
    "week": lambda day: "{}-W{:02}".format(*day.isocalendar()[:2]),
    "day": lambda day: f"{day:%Y-%m-%d}",
}

_DAYS = "SELECT min(day), max(day), min(length(day)) FROM documents WHERE day IS NOT NULL"
_TOTALS = "SELECT period(day), count(*) FROM documents WHERE day IS NOT NULL GROUP BY 1"
_COUNTS = """
SELECT node, period(day), count(DISTINCT row) FROM members JOIN documents USING (row)
WHERE day IS NOT NULL GROUP BY 1, 2
"""


class Trend(NamedTuple):
    """A phrase in a period."""

    phrase: str
    trend: float  # z over all periods: positive if the phrase rises
    p_value: float
    q_value: float  # the share of false discoveries among all phrases with at most this p
    period: str
    documents: int  # of the period that have the phrase
    total: int  # documents of the period
    share: float
    deviation: float  # z of the period against all others


@dataclass(frozen=True)
class Trends:
    """The documents of every period, in all and by phrase."""

    periods: list[str]
    totals: list[int]
    counts: Mapping[int, list[int]]  # by node
    tested: Mapping[int, tuple[float, float, float]]  # z, p and q by node, of those in enough documents

    @classmethod
    def of(cls, counts: TermCounts, period: Period | None) -> Self:
        """The trends of counts that were made with places and days."""
        first, last, precision = counts.database.execute(_DAYS).fetchone()
        if first is None:
            raise InputError("No row has a date such as 2024, 2024-03 or 2024-03-05 in the time column.")
        kind, labels = _periods(first, last, _PRECISION[precision], period)
        counts.database.create_function("period", 1, lambda day: _LABELS[kind](_date(day)), deterministic=True)
        numbers = {name: number for number, name in enumerate(labels)}
        totals = [0] * len(labels)
        for name, size in counts.database.execute(_TOTALS):
            totals[numbers[name]] = size
        series: dict[int, list[int]] = defaultdict(lambda: [0] * len(labels))
        for node, name, size in counts.database.execute(_COUNTS):
            series[node][numbers[name]] = size
        nodes = [node for node in sorted(series) if sum(series[node]) >= LEAST]
        steepness = [trend(series[node], totals) for node in nodes]
        p_values = [p_value(z) for z in steepness]
        results = zip(steepness, p_values, false_discovery_rates(p_values), strict=True)
        return cls(labels, totals, series, dict(zip(nodes, results, strict=True)))

    def rows(self, counts: TermCounts) -> Iterator[Trend]:
        """One row per phrase and period: the steepest rise first, the steepest fall last."""
        phrases = [term.phrase for term in counts.nodes()]
        for node in self.steepest():
            size = sum(self.counts[node])
            for period, count, total in zip(self.periods, self.counts[node], self.totals, strict=True):
                surprise = log_likelihood(count, size, total, sum(self.totals)) if total else 0.0
                share, deviation = count / total if total else 0.0, round(signed_root(surprise), 4)
                yield Trend(phrases[node], *self.tested[node], period, count, total, share, deviation)

    def steepest(self) -> list[int]:
        """The nodes that were tested, from the steepest rise to the steepest fall."""
        return sorted(self.tested, key=lambda node: (-self.tested[node][0], node))


def day_of(value: Any) -> str | None:
    """A value of a time column as 2024, 2024-03 or 2024-03-05; None if it is no such date."""
    text = value.isoformat() if isinstance(value, date) else str(value)  # a datetime is a date
    match = _DAY.match(text)
    if match is None or isinstance(value, bool):
        return None
    try:
        date(*(int(part or 1) for part in match.groups()))
    except ValueError:
        return None
    return "-".join(part for part in match.groups() if part)


def _date(day: str) -> date:
    return date(*(int(part) for part in [*day.split("-"), "1", "1"][:3]))


def _periods(first: str, last: str, kinds: int, wanted: Period | None) -> tuple[Period, list[str]]:
    """All periods from the first to the last day, also empty ones; unless wanted, the longest that are enough."""
    allowed: tuple[Period, ...] = get_args(Period)[:kinds]
    if wanted is not None and wanted not in allowed:
        raise InputError(f"The periods cannot be as short as a {wanted}: some dates say only the {allowed[-1]}.")
    start, end = _date(first), _date(last)
    if end.year - start.year > _MOST_YEARS:
        raise InputError(f"The dates reach from {first} to {last}: correct those that are wrong.")
    days = [start + timedelta(number) for number in range((end - start).days + 1)]
    found = {kind: list(dict.fromkeys(map(_LABELS[kind], days))) for kind in allowed}
    longest: Period = next((kind for kind in allowed if len(found[kind]) >= _ENOUGH), allowed[-1])
    chosen = longest if wanted is None else wanted
    return chosen, found[chosen]


def draw(path: Path, trends: Trends, counts: TermCounts, mark: str) -> None:
    """A PNG with the steepest rises on the left and falls on the right: shares per period, and q."""
    from matplotlib.figure import Figure

    phrases = [term.phrase for term in counts.nodes()]
    order = trends.steepest()
    rising = [node for node in order if trends.tested[node][0] > 0][:_DRAWN]
    falling = [node for node in reversed(order) if trends.tested[node][0] < 0][:_DRAWN]
    figure = Figure((9, 1 + 0.5 * max(len(rising), len(falling), 1)), dpi=150, layout="constrained")
    axes = figure.subplots(max(len(rising), len(falling), 1), 2, squeeze=False, sharex=True)
    for column, (title, nodes) in enumerate((("Rising", rising), ("Falling", falling))):
        axes[0][column].set_title(title, loc="left", fontsize=10)
        for line, axis in enumerate(axes[:, column]):
            axis.set_axis_off()
            if line < len(nodes):
                _draw_series(axis, trends, nodes[line], phrases[nodes[line]])
    figure.supxlabel(f"Share of documents, {trends.periods[0]} to {trends.periods[-1]}", fontsize=8)
    figure.savefig(path, format="png", metadata={"Software": mark})


def _draw_series(axis: Any, trends: Trends, node: int, phrase: str) -> None:
    shares = [count / total if total else 0.0 for count, total in zip(trends.counts[node], trends.totals, strict=True)]
    times = range(len(shares))
    axis.fill_between(times, shares, color="#f4cea4")
    axis.plot(times, shares, color="#b5391a", linewidth=1)
    axis.set_ylim(0, max(shares) * 1.05)
    text = phrase.replace("$", r"\$")  # no formula
    q_value = trends.tested[node][2]
    axis.text(-0.02, 0.5, text, transform=axis.transAxes, ha="right", va="center", fontsize=8)
    axis.text(1.02, 0.5, f"q {q_value:.2g}", transform=axis.transAxes, ha="left", va="center", fontsize=7)
