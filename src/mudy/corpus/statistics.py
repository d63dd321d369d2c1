"""Statistics of counts: how far they are from chance, and which of many tests to believe."""

from collections.abc import Sequence
from math import erfc, inf, log, sqrt

Z95 = 1.959964  # of a two-sided interval of 95 %


def log_likelihood(both: int, one: int, other: int, total: int) -> float:
    """G² of Dunning (1993): how surprising it is that two events meet `both` times; negative if they avoid each other.

    `one` and `other` count each event, `total` all trials. Its square root is about a normal z if it is chance.
    """
    observed = (both, one - both, other - both, total - one - other + both)
    expected = (one * other, one * (total - other), (total - one) * other, (total - one) * (total - other))
    parts = (seen * log(seen * total / chance) for seen, chance in zip(observed, expected, strict=True) if seen)
    value = max(0.0, 2 * sum(parts))
    return value if both * total >= one * other else -value


def npmi(both: int, one: int, other: int, total: int) -> float:
    """Normalized pointwise mutual information (Bouma, 2009): 1 if two events always meet, 0 by chance, -1 if never."""
    if both == 0:
        return -1.0
    return min(1.0, log(both * total / (one * other)) / -log(both / total)) if both < total else 1.0


def p_value(z: float) -> float:
    """The two-sided p of a normal z."""
    return erfc(abs(z) / sqrt(2))


def signed_root(g2: float) -> float:
    """A signed G² as a z."""
    return sqrt(g2) if g2 >= 0 else -sqrt(-g2)


def trend(counts: Sequence[int], totals: Sequence[int]) -> float:
    """The z of Cochran and Armitage: whether the share counts / totals rises or falls over equally spaced periods."""
    total = sum(totals)
    share = sum(counts) / total
    centre = sum(time * size for time, size in enumerate(totals)) / total
    spread = sum(size * (time - centre) ** 2 for time, size in enumerate(totals))
    variance = share * (1 - share) * spread
    shift = sum((time - centre) * count for time, count in enumerate(counts))
    return shift / sqrt(variance) if variance > 0 else 0.0


def false_discovery_rates(p_values: Sequence[float]) -> list[float]:
    """The q of each of many tests (Benjamini and Hochberg, 1995)."""
    q_values, lowest = [0.0] * len(p_values), inf
    order = sorted(range(len(p_values)), key=p_values.__getitem__, reverse=True)
    for rank, index in zip(range(len(order), 0, -1), order, strict=True):
        lowest = min(lowest, p_values[index] * len(order) / rank)
        q_values[index] = lowest
    return q_values


def share_difference(one: int, size: int, other: int, other_size: int) -> tuple[float, float]:
    """The 95 % interval of one / size - other / other_size, by Newcombe's method 10 (1998)."""
    share, other_share = one / size, other / other_size
    low, high = _wilson(one, size)
    other_low, other_high = _wilson(other, other_size)
    difference = share - other_share
    below = sqrt((share - low) ** 2 + (other_high - other_share) ** 2)
    above = sqrt((high - share) ** 2 + (other_share - other_low) ** 2)
    return difference - below, difference + above


def _wilson(count: int, size: int) -> tuple[float, float]:
    share, z2 = count / size, Z95**2
    centre = (share + z2 / (2 * size)) / (1 + z2 / size)
    reach = Z95 * sqrt(share * (1 - share) / size + z2 / (4 * size**2)) / (1 + z2 / size)
    return centre - reach, centre + reach
