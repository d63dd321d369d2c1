"""The weights of the evidence, read from a small file: which evidence counts, and how much."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from mudy._support.storage import atomic_output, dump_json, real_path
from mudy._support.validation import seen
from mudy.errors import SettingError
from mudy.methods import DEFAULT_STYLE, STYLES, Style
from mudy.methods.mudyplus.evidence import CHEAP, CONTEXT, EVIDENCE, Numbers, Table

VERSION = 4  # raise it when a kind of evidence changes its meaning: weights of another version are refused
KNEE = -0.6  # log-odds: a probability of 0.35
MOST = 1 - 1e-6  # the highest probability of a phrase
_DIGITS = 4  # after the point, of a weight in a file
_LARGEST = 1_000_000  # weight; those that were fitted are below 10


@dataclass(frozen=True, slots=True)
class Bend:
    """Above a knee, log-odds grow more slowly or faster; a bend keeps their order.

    The weights are fitted on some kinds of texts, and others differ. On texts left out of the fit, probabilities up to
    about a third are accurate; higher ones are too high on data sets, and too low on documents.
    """

    knee: float = KNEE
    slope: float = 1.0  # above 0, so that the order stays; 1: no bend

    def bent(self, sums: Numbers) -> Numbers:
        """Log-odds of sums."""
        return np.asarray(sums - (1 - self.slope) * np.maximum(0.0, sums - self.knee))


def expit(values: Numbers) -> Numbers:
    """Log-odds -> probability, without overflow."""
    found: Numbers = 0.5 * (1 + np.tanh(values / 2))
    return found


def probabilities(log_odds: Numbers) -> Numbers:
    """Those of phrases: never quite 0 or 1."""
    return np.clip(expit(log_odds), 1 - MOST, MOST)


NO_BEND = Bend()


@dataclass(frozen=True, slots=True)
class Sum:
    """log-odds = intercept + the weighted sum of evidence, and of what is the same for all phrases of a text."""

    evidence: Mapping[str, float]
    context: Mapping[str, float]
    intercept: float
    calibration: Bend = NO_BEND
    repeats: float = 0.0  # subtracted, times how near a phrase is in meaning to one that ranks higher

    def totals(self, table: Table) -> Numbers:
        """The weighted sum of the evidence for each phrase."""
        return np.asarray(table.rows(list(self.evidence)) @ np.array(list(self.evidence.values())))

    def base(self, table: Table) -> float:
        """What is the same for all phrases of a text."""
        return self.intercept + sum(weight * table.context[name] for name, weight in self.context.items())

    def log_odds(self, table: Table) -> Numbers:
        """Those of each phrase."""
        return np.asarray(self.totals(table) + self.base(table))

    def contributions(self, table: Table, row: int) -> dict[str, float]:
        """What each kind of evidence adds to the log-odds of one phrase."""
        added = {name: weight * float(table.columns[name][row]) for name, weight in self.evidence.items()}
        return {"base": self.base(table), **added}

    def to_dict(self) -> dict[str, Any]:
        return {
            "calibration": asdict(self.calibration),
            "intercept": round(self.intercept, _DIGITS),
            **({"repeats": round(self.repeats, _DIGITS)} if self.repeats else {}),
            "context": {name: round(weight, _DIGITS) for name, weight in self.context.items()},
            "evidence": {name: round(weight, _DIGITS) for name, weight in self.evidence.items()},
        }


@dataclass(frozen=True, slots=True, repr=False)
class Weights:
    """Two sums: `quick` without a language model, `full` with one; None if they were fitted without."""

    quick: Sum
    full: Sum | None
    fitted_on: Mapping[str, int]  # data set -> texts
    options: Mapping[str, Any] = field(default_factory=dict)  # how they were fitted
    source: str = field(default="weights", compare=False)  # where they were read, for messages

    @classmethod
    def of(cls, row: Any, source: str) -> Weights:
        """From the content of a file; SettingError if it is not a weights file of this version."""
        if not isinstance(row, dict) or "version" not in row:
            raise SettingError(f"{source}: not a file of weights, as `mudy fit` writes them.")
        if row["version"] != VERSION:
            raise SettingError(
                f"{source}: weights of version {seen(row['version'])}, but this release uses version {VERSION}. "
                "Fit new ones with `mudy fit`."
            )
        without_model = "full" in row and row["full"] is None
        for name in ("quick", "fitted_on") if without_model else ("quick", "full", "fitted_on"):
            if not isinstance(row.get(name), dict):
                raise SettingError(f"{source}: the weights lack {name!r}.")
        quick = _sum(row["quick"], CHEAP, f"{source}: quick")
        full = None if without_model else _sum(row["full"], EVIDENCE, f"{source}: full")
        options = row.get("options") or {}
        if not isinstance(options, dict):
            raise SettingError(f"{source}: options are {seen(options)}, but must be names with values.")
        return cls(quick, full, dict(row["fitted_on"]), dict(options), source)

    @property
    def with_model(self) -> Sum:
        """The sum `full`; SettingError if there is none."""
        if self.full is None:
            raise SettingError(
                f"{self.source}: fitted without a language model, so its evidence has no weights. "
                "Use speed 'quick', or fit new ones without --speed quick."
            )
        return self.full

    def __repr__(self) -> str:
        """Short, and different for different weights: runs with other weights are not resumed."""
        return f"Weights({self.source!r}, {hashlib.sha256(dump_json(self.to_dict()).encode()).hexdigest()[:12]!r})"

    def __hash__(self) -> int:
        return hash(frozenset(self.quick.evidence.items()))

    def save(self, path: str | Path) -> None:
        """Write them to a file, which settings and the command line accept as `weights`."""
        with atomic_output(real_path(Path(path))) as unfinished:
            unfinished.write_text(dump_json(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "fitted_on": dict(self.fitted_on),
            **({"options": dict(self.options)} if self.options else {}),
            "quick": self.quick.to_dict(),
            "full": None if self.full is None else self.full.to_dict(),
        }


def _sum(row: Mapping[str, Any], known: tuple[str, ...], source: str) -> Sum:
    evidence, context = (_numbers(row.get(part, {}), f"{source}: {part}") for part in ("evidence", "context"))
    for name in [*(n for n in evidence if n not in known), *(n for n in context if n not in CONTEXT)]:
        raise SettingError(f"{source}: unknown evidence {name!r}. Known are {', '.join((*known, *CONTEXT))}.")
    if not evidence:
        raise SettingError(f"{source}: no evidence has a weight.")
    given = _numbers({name: row.get(name, 0.0) for name in ("intercept", "repeats")}, source)
    if given["repeats"] < 0:
        raise SettingError(f"{source}: the weight of 'repeats' is {given['repeats']}, but must be 0 or more.")
    bend = _calibration(row.get("calibration", {}), f"{source}: calibration")
    return Sum(evidence, context, given["intercept"], bend, given["repeats"])


def _calibration(row: Any, source: str) -> Bend:
    given = _numbers(row, source)
    if unknown := [name for name in given if name not in ("knee", "slope")]:
        raise SettingError(f"{source}: unknown number {unknown[0]!r}. Known are knee, slope.")
    found = Bend(**given)
    if found.slope <= 0:
        raise SettingError(f"{source}: the slope is {found.slope}, but must be above 0.")
    return found


def _numbers(row: Any, source: str) -> dict[str, float]:
    if not isinstance(row, dict):
        raise SettingError(f"{source}: must be names with numbers, not {seen(row)}.")
    for name, value in row.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
            raise SettingError(
                f"{source}: the weight of {name!r} is {seen(value)}, but must be a number from {-_LARGEST:,} to "
                f"{_LARGEST:,}."
            )
    return {name: float(value) for name, value in row.items()}


def load_weights(
    weights: str | Path | Weights | None = None, style: Style = DEFAULT_STYLE, language: str = "en"
) -> Weights:
    """The weights in a file, or the built-in ones of a style for English or for other languages."""
    if weights is not None:
        return weights if isinstance(weights, Weights) else _read(Path(weights))
    if language == "en":
        return _built_in(style)
    return _built_in("subjects_other_languages" if style == "subjects" else "other_languages")


def built_in_styles(language: str = "en") -> tuple[Weights, ...]:
    """The weights of all styles in a language, each once."""
    return tuple({weights.source: weights for weights in (load_weights(None, s, language) for s in STYLES)}.values())


@cache
def _built_in(name: str) -> Weights:
    file = files("mudy.methods.mudyplus") / "fitted" / f"{name}.json"
    return Weights.of(json.loads(file.read_text(encoding="utf-8")), file.name)


def _read(path: Path) -> Weights:
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path}: the weights cannot be read ({error.strerror or error}).") from error
    except ValueError as error:
        raise SettingError(f"{path}: not a file of weights: {error}.") from error
    return Weights.of(row, str(path))
