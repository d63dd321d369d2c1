"""A run: the keyphrases of one method for every document of some data sets. Resumable after an interruption.

Each finished document is one line of a journal next to the output; when all are done the output itself is written
atomically. Nothing is computed twice, and documents of different settings are never mixed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from mudy._support.storage import (
    atomic_output,
    dump_json,
    flush_to_disk,
    open_to_append,
    output_lock,
    real_path,
    unwritable,
)
from mudy.errors import InputError
from mudy.evaluation.measures import DEPTHS, F1, MACRO, MICRO, Outcome, P, R
from mudy.evaluation.probabilities import Calibration, run_calibration
from mudy.extraction.run_identity import differences
from mudy.methods import method_class

_RUN_FORMAT = 1  # of the file
GoldKind = Literal["all", "present", "absent"]


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """One document: what was found, best first, and what should have been."""

    data: str  # name of its data set
    id: str
    hash: str  # of its text and gold
    gold: tuple[str, ...]
    present: tuple[bool, ...]  # for each gold phrase, whether it occurs in the text that was read
    phrases: tuple[str, ...]
    scores: tuple[float, ...]
    occurrences: int  # of all candidates together
    reached: int  # gold phrases that are among the candidates, by their stems
    words: int  # that were read
    seconds: float  # tagging and scoring
    cpu_seconds: float
    error: str | None = None  # why nothing was found
    dropped: int = 0  # phrases that a language model wrote and that do not occur in the text
    places: tuple[Mapping[str, float], ...] = ()  # every occurrence: "phrase" (index), "start", "end", "score", parts
    language: str = "en"  # phrases are compared by its stems

    def outcome(self, gold: GoldKind = "all") -> Outcome | None:
        """For the measures; None where no such gold is left."""
        kept = [g for g, is_present in zip(self.gold, self.present, strict=True) if _wanted(gold, is_present)]
        return Outcome(self.id, self.phrases, kept, self.occurrences, self.language) if kept else None

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> JudgedDocument:
        lists = {name: tuple(row.get(name, ())) for name in ("gold", "present", "phrases", "scores", "places")}
        return cls(**{**row, **lists})

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, ()) or name in _ALWAYS}


_ALWAYS = {"phrases", "scores", "gold", "present"}


def _wanted(gold: GoldKind, is_present: bool) -> bool:
    return gold == "all" or is_present == (gold == "present")


@dataclass(frozen=True)
class Run:
    """What was requested, what was used, and every document."""

    asked: Mapping[str, Any]  # method, model, settings ...: what decides the result
    used: Mapping[str, Any]  # every setting in force, and the versions of what computed
    documents: tuple[JudgedDocument, ...]
    machine: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The data sets, in order."""
        return list(dict.fromkeys(document.data for document in self.documents))

    def of(self, data: str) -> list[JudgedDocument]:
        return [document for document in self.documents if document.data == data]

    def outcomes(self, data: str, gold: GoldKind = "all") -> list[Outcome]:
        return [outcome for document in self.of(data) if (outcome := document.outcome(gold))]

    @property
    def title(self) -> str:
        """Method, model and settings in a few words."""
        words = [str(self.asked["method"]), str(self.asked.get("model") or "")]
        words += [str(self.asked.get("speed") or "")]
        words += [f"{name}={value}" for name, value in (self.asked.get("settings") or {}).items()]
        return " ".join(filter(None, words))

    @property
    def calibrations(self) -> list[Calibration]:
        """How far the probabilities can be trusted, for each data set; none where scores are not probabilities."""
        if not method_class(self.asked["method"]).calibrated:
            return []
        calibrations = (run_calibration(name, self.of(name)) for name in self.names)
        return [calibration for calibration in calibrations if calibration]

    def _totals(self) -> dict[str, Any]:
        totals = {name: _totals(self.of(name)) for name in self.names}
        for calibration in self.calibrations:
            totals[calibration.name]["calibration"] = calibration.to_dict()
        return totals

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": _RUN_FORMAT,
            "asked": dict(self.asked),
            "used": dict(self.used),
            "machine": dict(self.machine),
            "totals": self._totals(),
            "documents": [document.to_dict() for document in self.documents],
        }

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """A run that was written before."""
        try:
            row = json.loads(Path(path).read_text(encoding="utf-8"))
            if not isinstance(row, dict) or row.get("format") != _RUN_FORMAT:
                raise InputError(f"{path}: not a run of `mudy evaluate` in a format that this version reads.")
            documents = tuple(JudgedDocument.from_dict(document) for document in row["documents"])
            return cls(row["asked"], row["used"], documents, row.get("machine", {}))
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from error
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path}: not a run of `mudy evaluate` ({type(error).__name__}: {error}).") from error


def _totals(documents: Sequence[JudgedDocument]) -> dict[str, Any]:
    """The totals of one data set: measures in per cent with 95 % intervals, the ceiling, the cost."""
    outcomes = [outcome for document in documents if (outcome := document.outcome())]
    measured = {
        averaging.name: {
            str(m): asdict(m.interval(outcomes, averaging)) for k in DEPTHS for m in (P @ k, R @ k, F1 @ k)
        }
        for averaging in (MICRO, MACRO)
    }
    return {
        "documents": len(documents),
        "without_candidates": sum(not document.occurrences for document in documents),
        "errors": sum(document.error is not None for document in documents),
        "ceiling": ceiling(documents),
        "seconds": sum(document.seconds for document in documents) / len(documents),
        "cpu_seconds": sum(document.cpu_seconds for document in documents) / len(documents),
        **measured,
    }


def ceiling(documents: Sequence[JudgedDocument]) -> float:
    """The share of gold phrases that are among the candidates, in per cent: no ranking can reach a higher recall."""
    return 100 * sum(document.reached for document in documents) / sum(len(document.gold) for document in documents)


# -- Files ------------------------------------------------------------------------------------------------------------


class RunFile:
    """The output of a run and its journal."""

    def __init__(self, path: str | Path) -> None:
        self.name = Path(path)
        self.path = real_path(path)
        self.journal = self.path.with_name(f"{self.path.name}.journal")
        self._stream: IO[bytes] | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs away from the output."""
        with output_lock(self.name):
            try:
                yield
            finally:
                self.close()

    def found(self, asked: Mapping[str, Any]) -> Run | None:
        """The documents in the output and its journal; InputError if they were requested with other settings."""
        done = self._done()
        for run in done:
            self.refuse(differences(run.asked, asked), "requested")
        if not done:
            return None
        if len(done) == 2:
            self.refuse(differences(done[0].used, done[1].used), "computed")
        documents = {(d.data, d.id): d for run in done for d in run.documents}
        return Run(done[0].asked, done[0].used, tuple(documents.values()), done[0].machine)

    def _done(self) -> list[Run]:
        """The runs in the output and in its journal; InputError if one of them is a file of another kind."""
        output = Run.load(self.path) if self.path.exists() else None
        return [run for run in (output, self._journalled()) if run]

    def refuse(self, changes: Sequence[str], how: str) -> None:
        if changes:
            raise InputError(
                f"{self.name} holds a run that was {how} differently ({'; '.join(changes)}). Name another "
                f"--output, or pass --restart to discard that run."
            )

    def forget(self) -> None:
        """Delete the output and its journal if they are a run; other files of these names are refused, and stay."""
        self._done()
        for path in (self.path, self.journal):
            path.unlink(missing_ok=True)

    def begin(self, run: Run) -> None:
        """Open the journal for more documents."""
        fresh = self._journalled() is None
        head = {"format": _RUN_FORMAT, "asked": run.asked, "used": run.used, "machine": run.machine}
        try:
            if fresh:
                with atomic_output(self.journal) as unfinished:
                    unfinished.write_bytes(_line(head))
            self._stream = open_to_append(self.journal)
            self._cut_half_line()
        except OSError as error:
            raise unwritable(self.journal, error) from error

    def add(self, document: JudgedDocument) -> None:
        """Add a document; it is on the disk when this returns."""
        assert self._stream is not None
        try:
            self._stream.write(_line(document.to_dict()))
            flush_to_disk(self._stream)
        except OSError as error:
            raise unwritable(self.journal, error) from error

    def finish(self, run: Run) -> None:
        """Write the output atomically, and delete the journal."""
        self.close()
        with atomic_output(self.path) as unfinished:
            unfinished.write_text(dump_json(run.to_dict(), indent=1, allow_nan=True) + "\n", encoding="utf-8")
        self.journal.unlink(missing_ok=True)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _journalled(self) -> Run | None:
        """The run in the journal, without lines that were cut off or damaged: their documents are computed again."""
        if not self.journal.exists():
            return None
        first, *lines = self.journal.read_bytes().split(b"\n")
        if not lines and _JOURNAL_START.startswith(first[: len(_JOURNAL_START)]):
            return None  # cut off before its head was whole
        head = parsed_line(first) or {}
        if head.get("format") != _RUN_FORMAT or not isinstance(head.get("asked"), dict) or "used" not in head:
            raise InputError(f"{self.journal}: not a journal that this version of mudy wrote. Name another --output.")
        documents = filter(None, map(_judged, lines))
        return Run(head["asked"], head["used"], tuple(documents), head.get("machine", {}))

    def _cut_half_line(self) -> None:
        content = self.journal.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self.journal, whole)


_JOURNAL_START = b'{"format": '  # what a journal begins with


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"


def _judged(line: bytes) -> JudgedDocument | None:
    """The document of a line, if the line is whole."""
    try:
        return JudgedDocument.from_dict(parsed_line(line) or {})
    except TypeError:
        return None


def parsed_line(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None for a line that was cut off."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
