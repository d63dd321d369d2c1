"""A run: the keyphrases of one method for every document of some data sets. Resumable after an interruption.

Each finished document is one line of a journal next to the output; when all are done the output itself is written
atomically. Nothing is computed twice, and documents of different settings are never mixed.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from mudy._support.storage import atomic_output, dump_json, flush_to_disk, open_to_append, real_path, unwritable
from mudy.errors import InputError
from mudy.evaluation.measures import AVERAGINGS, DEPTHS, F1, Calibration, P, Predictions, R, have_stems_of
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

    def predictions(self, gold: GoldKind = "all") -> Predictions | None:
        """For the measures; None where no such gold is left."""
        wanted = {"all": (True, False), "present": (True,), "absent": (False,)}[gold]
        kept = [phrase for phrase, is_present in zip(self.gold, self.present, strict=True) if is_present in wanted]
        return Predictions(self.id, self.phrases, kept, self.occurrences, self.language) if kept else None

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        lists = {name: tuple(row.get(name, ())) for name in ("gold", "present", "phrases", "scores", "places")}
        return cls(**{**row, **lists})

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value or name not in ("error", "places")}


@dataclass(frozen=True)
class Run:
    asked: Mapping[str, Any]  # method, model, settings ...: what decides the result
    used: Mapping[str, Any]  # every setting in force, and the versions of what computed
    documents: tuple[JudgedDocument, ...]
    machine: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(document.data for document in self.documents))

    def by_key(self) -> dict[tuple[str, str], JudgedDocument]:
        return {(document.data, document.id): document for document in self.documents}

    def of(self, data: str) -> list[JudgedDocument]:
        return [document for document in self.documents if document.data == data]

    def predictions(self, data: str, gold: GoldKind = "all") -> list[Predictions]:
        return [predictions for document in self.of(data) if (predictions := document.predictions(gold))]

    @property
    def title(self) -> str:
        words = [self.asked["method"], self.asked.get("model"), self.asked.get("speed")]
        words += [f"style={self.asked['style']}"] if self.asked.get("style") else []
        words += [f"{name}={value}" for name, value in (self.asked.get("settings") or {}).items()]
        return " ".join(str(word) for word in words if word)

    @property
    def calibrations(self) -> list[Calibration]:
        """How far the probabilities can be trusted, for each data set; none where scores are not probabilities."""
        if not method_class(self.asked["method"]).calibrated:
            return []
        calibrations = (run_calibration(name, self.of(name)) for name in self.names)
        return [calibration for calibration in calibrations if calibration]

    def head(self) -> dict[str, Any]:
        return {"format": _RUN_FORMAT, "asked": self.asked, "used": self.used, "machine": self.machine}

    def to_dict(self) -> dict[str, Any]:
        totals = {name: _totals(self.of(name)) for name in self.names}
        for calibration in self.calibrations:
            totals[calibration.name]["calibration"] = calibration.to_dict()
        return {**self.head(), "totals": totals, "documents": [document.to_dict() for document in self.documents]}

    @classmethod
    def from_dict(cls, row: Any) -> Self:
        if row["format"] != _RUN_FORMAT:
            raise ValueError(f"format {row['format']!r}, not {_RUN_FORMAT}")
        documents = tuple(JudgedDocument.from_dict(document) for document in row["documents"])
        return cls(dict(row["asked"]), dict(row["used"]), documents, row.get("machine", {}))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from error
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}: not a run of `mudy evaluate` that this version reads ({type(error).__name__}: {error})."
            ) from error


def run_calibration(name: str, documents: Sequence[JudgedDocument]) -> Calibration | None:
    """Over all phrases of a run's documents, each document weighing the same; None where nothing was found."""
    telling = [document for document in documents if document.phrases]
    if not telling:
        return None
    chances = [np.array(document.scores, dtype=np.float64) for document in telling]
    hits = [np.array(have_stems_of(document.phrases, document.gold, document.language)) for document in telling]
    return Calibration.of(name, chances, hits, [1 / len(telling) / len(numbers) for numbers in chances])


def _totals(documents: Sequence[JudgedDocument]) -> dict[str, Any]:
    predictions = [predicted for document in documents if (predicted := document.predictions())]
    measured = {
        name: {str(m): asdict(m.interval(predictions, averaging)) for k in DEPTHS for m in (P @ k, R @ k, F1 @ k)}
        for name, averaging in AVERAGINGS.items()
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


class RunFile:
    def __init__(self, path: str | Path) -> None:
        self.name = Path(path)
        self.path = real_path(path)
        self.journal = self.path.with_name(f"{self.path.name}.journal")

    def found(self, asked: Mapping[str, Any]) -> Run | None:
        """The run in the journal or else in the output; InputError if it was requested with other settings."""
        run = next(iter(self._runs()), None)
        if run is not None:
            self.refuse(differences(run.asked, asked), "requested")
        return run

    def _runs(self) -> list[Run]:
        """What the journal and the output hold; a journal begins with all documents of the output."""
        readers = {self.journal: _journalled, self.path: Run.load}
        return [read(path) for path, read in readers.items() if path.exists()]

    def refuse(self, changes: Sequence[str], how: str) -> None:
        if changes:
            raise InputError(
                f"{self.name} holds a run that was {how} differently ({'; '.join(changes)}). Name another "
                f"--output, or pass --restart to discard that run."
            )

    def forget(self) -> None:
        """Delete the output and its journal if they are a run; other files of these names are refused, and stay."""
        self._runs()
        for path in (self.path, self.journal):
            path.unlink(missing_ok=True)

    def begin(self, run: Run) -> None:
        lines = [run.head(), *(document.to_dict() for document in run.documents)]
        with atomic_output(self.journal) as unfinished:
            unfinished.write_bytes(b"".join(map(_line, lines)))

    def add(self, document: JudgedDocument) -> None:
        """Add a document to the journal; it is on the disk when this returns."""
        try:
            with open_to_append(self.journal) as stream:
                stream.write(_line(document.to_dict()))
                flush_to_disk(stream)
        except OSError as error:
            raise unwritable(self.journal, error) from error

    def finish(self, run: Run) -> None:
        with atomic_output(self.path) as unfinished:
            unfinished.write_text(dump_json(run.to_dict(), indent=1, allow_nan=True) + "\n", encoding="utf-8")
        self.journal.unlink(missing_ok=True)


def _journalled(journal: Path) -> Run:
    """The run in a journal, without lines that were cut off or damaged: their documents are computed again."""
    first, *lines = journal.read_bytes().split(b"\n")
    try:
        run = Run.from_dict({**json.loads(first), "documents": ()})
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{journal}: not a journal that this version of mudy wrote ({error}). Name another --output."
        ) from error
    documents = []
    for line in lines:
        with suppress(ValueError, TypeError, AttributeError):
            documents.append(JudgedDocument.from_dict(json.loads(line)))
    return replace(run, documents=tuple(documents))


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"
