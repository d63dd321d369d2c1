"""The weights of the evidence, read from a small file: which evidence counts, and how much."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

from mudy.errors import SettingError
from mudy.methods.mudyplus.evidence_table import CHEAP, CONTEXT, EVIDENCE

VERSION = 1  # raise it when a kind of evidence changes its meaning: weights of another version are refused
SUMS = ("quick", "full")


@dataclass(frozen=True, slots=True)
class Sum:
    """log-odds = intercept + the weighted sum of evidence, and of what is the same for all phrases of a text."""

    evidence: Mapping[str, float]
    context: Mapping[str, float]
    intercept: float


@dataclass(frozen=True, slots=True)
class Weights:
    """Two sums: `quick` without a language model, `full` with one."""

    quick: Sum
    full: Sum
    fitted_on: Mapping[str, int]  # data set -> texts

    @classmethod
    def of(cls, row: Any, source: str) -> Weights:
        """From what a weights file holds; SettingError where it is not one that this version can use."""
        if not isinstance(row, dict) or "version" not in row:
            raise SettingError(f"{source}: not a file of weights, as `mudy fit` writes them.")
        if row["version"] != VERSION:
            raise SettingError(
                f"{source}: weights of version {row['version']!r}, but this release uses version {VERSION}. "
                "Fit them anew with `mudy fit`."
            )
        missing = [name for name in (*SUMS, "fitted_on") if not isinstance(row.get(name), dict)]
        if missing:
            raise SettingError(f"{source}: the weights lack {missing[0]!r}.")
        known = {"quick": CHEAP, "full": EVIDENCE}
        sums = {name: _sum(row[name], known[name], f"{source}: {name}") for name in SUMS}
        return cls(sums["quick"], sums["full"], dict(row["fitted_on"]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "fitted_on": dict(self.fitted_on),
            **{
                name: {
                    "intercept": round(own.intercept, 4),
                    "context": {key: round(value, 4) for key, value in own.context.items()},
                    "evidence": {key: round(value, 4) for key, value in own.evidence.items()},
                }
                for name, own in zip(SUMS, (self.quick, self.full), strict=True)
            },
        }


def _sum(row: Mapping[str, Any], known: tuple[str, ...], source: str) -> Sum:
    evidence, context = (_numbers(row.get(part, {}), f"{source}: {part}") for part in ("evidence", "context"))
    for name in [*(n for n in evidence if n not in known), *(n for n in context if n not in CONTEXT)]:
        raise SettingError(f"{source}: unknown evidence {name!r}. Known are {', '.join((*known, *CONTEXT))}.")
    if not evidence:
        raise SettingError(f"{source}: no evidence has a weight.")
    (intercept,) = _numbers({"intercept": row.get("intercept", 0.0)}, source).values()
    return Sum(evidence, context, intercept)


def _numbers(row: Any, source: str) -> dict[str, float]:
    if not isinstance(row, dict):
        raise SettingError(f"{source}: must be names with numbers, not {row!r}.")
    for name, value in row.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise SettingError(f"{source}: the weight of {name!r} is {value!r}, but must be a number.")
    return {name: float(value) for name, value in row.items()}


def load(path: str | Path | None = None) -> Weights:
    """The weights in a file; those shipped, if none is named."""
    return shipped() if path is None else _read(Path(path))


@cache
def shipped() -> Weights:
    """The weights fitted on the development halves of public data sets."""
    text = (files("mudy.methods.mudyplus") / "weights.json").read_text(encoding="utf-8")
    return Weights.of(json.loads(text), "weights.json")


def _read(path: Path) -> Weights:
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path}: the weights cannot be read ({error.strerror or error}).") from error
    except ValueError as error:
        raise SettingError(f"{path}: not a file of weights: {error}.") from error
    return Weights.of(row, str(path))
