"""Weights of MUDY+ from data sets with gold keyphrases, with figures of what they are worth.

>>> fitted = fit_weights(Extractor(style="terms"), [load("mine.jsonl")])
>>> Path("mine.json").write_text(json.dumps(fitted.weights.to_dict()))
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mudy._support.storage import atomic_write, dump_json, open_to_append
from mudy.errors import InputError, SettingError
from mudy.evaluation.datasets import Dataset
from mudy.evaluation.experiment import hash_of, read_record, refuse_equal_names
from mudy.evaluation.measures import DEPTHS, Calibration
from mudy.extraction.adaptation import Adaptation, f1, prior_of, ranked
from mudy.extraction.extractor import Extractor
from mudy.extraction.run_identity import differences, json_values, model_fingerprints, requested_settings
from mudy.methods.mudyplus.cascade import MudyPlus
from mudy.methods.mudyplus.evidence import CHEAP, EVIDENCE, Numbers, Table
from mudy.methods.mudyplus.fit_texts import ASKED, Fits, FitSum, FitText, fit_parts, from_prior, only
from mudy.methods.mudyplus.fitting import PULL, text_shares
from mudy.methods.mudyplus.near import ALIKE, directions_hash
from mudy.methods.mudyplus.weights import VERSION, Weights, load_weights
from mudy.reading.candidates import Candidate, Occurrence
from mudy.reading.document import Span

_HEAD = "made-with.json"
_PLAIN = ("id", "text", "language", "words")  # fields of a text that are JSON's
MEAN = "mean"  # of all data sets
FitProgress = Callable[[str, int, int], None]  # what is being done, texts done, of how many
WeightsOf = Callable[[FitText], Weights]
F1Values = tuple[float, ...]  # one for each of DEPTHS


def fit_weights(
    extractor: Extractor,
    datasets: Sequence[Dataset],
    *,
    cache: str | Path | None = None,
    progress: FitProgress | None = None,
) -> FittedWeights:
    """Adapt the weights of an extractor's MUDY+ to data sets.

    Without a language model (speed "quick") the weights have no sum `full`, and speeds that need it refuse them.
    Figures on texts left out come from weights fitted on the other data sets or, where there is one, on its other
    texts. `cache` is a folder that keeps evidence: what it holds is not computed again.
    """
    method = extractor.scorer
    if not isinstance(method, MudyPlus):
        raise SettingError(f"Weights are fitted for mudyplus; {extractor.method} has none.")
    refuse_equal_names(datasets)
    texts = gather(extractor, datasets, cache, progress or (lambda *_: None))
    prior = prior_of(method, texts)
    asked = {name: value for name, value in fit_settings(extractor).items() if value not in (None, {})}
    options = {**asked, "adapted_from": prior.source, "pull": PULL}
    return fit_on_texts(texts, prior, method.asks, from_prior(prior, texts), options)


def fit_on_texts(
    texts: Sequence[FitText], before: Weights, leaders: int, fit_sum: FitSum, options: Mapping[str, Any] | None = None
) -> FittedWeights:
    """Weights fitted on texts, and on all parts of them but one, with the texts that they are judged on."""
    fits = fit_parts(texts, leaders, fit_sum)
    weights = replace(fits.weights, options=dict(options or {}))
    empty = [text for text in texts if not text.candidates]
    return FittedWeights(fits.texts, leaders, weights, fits.without, empty, before)


# -- What the weights are worth ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FittedWeights(Fits):
    """Fitted weights with their texts, and how good they are on these texts and on texts that were left out."""

    empty: Sequence[FitText]  # texts without candidates: nothing is found in them
    before: Weights  # those that the extractor had

    @cached_property
    def adaptation(self) -> Adaptation:
        """What the texts changed in the weights before, and whether that helps texts left out."""
        return Adaptation.of(self, self.before)

    @property
    def sums(self) -> tuple[str, ...]:
        return ("quick",) if self.weights.full is None else ("quick", "full")

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """For each sum: every data set, and their mean if there are several."""
        figures: list[Figure] = []
        for name in self.sums:
            rows = [self._figure(dataset, name) for dataset in self.weights.fitted_on]
            figures += rows if len(rows) == 1 else [*rows, _mean_figure(rows)]
        return tuple(figures)

    @cached_property
    def calibrations(self) -> tuple[Calibration, ...]:
        """How far the probabilities of texts left out can be trusted, for each sum."""
        hits = [text.hits for text in self.texts]
        shares = text_shares([replace(text, weight=1.0).sample(CHEAP) for text in self.texts], per_phrase=True)
        chances = {name: self.chances(self.texts, name, self.weights_without) for name in self.sums}
        return tuple(Calibration.of(name, chances[name], hits, shares) for name in self.sums)

    def weights_without(self, text: FitText) -> Weights:
        """The weights fitted without a text's part."""
        return self.without.get(text.part, self.weights)  # of a text without candidates it does not matter

    def of(self, dataset: str) -> list[FitText]:
        """All texts of a data set."""
        return [text for text in (*self.texts, *self.empty) if text.dataset == dataset]

    def chances(self, texts: Sequence[FitText], name: str, weights_of: WeightsOf) -> list[Numbers]:
        """The probabilities of the candidates of each text."""
        return [text.chances(only(name, weights_of(text)), self.leaders) for text in texts]

    def _figure(self, dataset: str, name: str) -> Figure:
        """Micro F1 in per cent, ranked and counted as `mudy evaluate` does."""
        texts, values = self.of(dataset), []
        for weights_of in (lambda _: self.before, lambda _: self.weights, self.weights_without):
            chances = self.chances(texts, name, weights_of)
            lists = [ranked(text, numbers, max(DEPTHS)) for text, numbers in zip(texts, chances, strict=True)]
            values.append(tuple(f1(texts, lists, depth) for depth in DEPTHS))
        return Figure(dataset, len(texts), name, *values)

    def to_dict(self) -> dict[str, Any]:
        return {
            "weights": self.adaptation.weights.to_dict(),
            "left_out": self.left_out,
            "adaptation": self.adaptation.to_dict(),
            "figures": [asdict(figure) for figure in self.figures],
            "calibration": {calibration.name: calibration.to_dict() for calibration in self.calibrations},
        }


@dataclass(frozen=True)
class Figure:
    """F1 at 5, 10 and 15 on a data set, by one sum with three sets of weights."""

    dataset: str
    documents: int
    sum: str  # "quick" or "full"
    before: F1Values  # the weights that the extractor had
    fitted: F1Values  # on these very texts
    left_out: F1Values  # fitted on others


def _mean_figure(figures: Sequence[Figure]) -> Figure:
    """The mean over data sets, each weighing the same."""
    columns = [
        tuple(float(np.mean(values)) for values in zip(*rows, strict=True))
        for rows in zip(*((figure.before, figure.fitted, figure.left_out) for figure in figures), strict=True)
    ]
    return Figure(MEAN, sum(figure.documents for figure in figures), figures[0].sum, *columns)


# -- Evidence, kept in a folder: one file per data set, one line per text, so that an interrupted run can go on -------


def gather(
    extractor: Extractor, datasets: Sequence[Dataset], cache: str | Path | None, show: FitProgress
) -> list[FitText]:
    """Every text with its evidence, from the cache where it holds it; InputError if that holds other evidence."""
    method, texts = extractor.scorer, []
    assert isinstance(method, MudyPlus)
    folder = None if cache is None else _checked_cache(Path(cache), extractor)
    for data in datasets:
        file = folder / f"{data.name}.jsonl" if folder else None
        known = _texts(data.name, file) if file and file.exists() else {}
        for done, record in enumerate(data.documents):
            show(f"Reading {data.name}", done, len(data.documents))
            key = hash_of(record)
            text = known.get(key)
            if text is None:
                prepared = extractor.prepare(read_record(extractor, data, record))
                about = data.name, record.id
                text = FitText.of(method, prepared.document, prepared.candidates, record.keyphrases, *about)
                if file:
                    with open_to_append(file) as stream:
                        stream.write(dump_json({"hash": key, **_line(text)}).encode() + b"\n")
            texts.append(text)
    return texts


def _checked_cache(folder: Path, extractor: Extractor) -> Path:
    """The folder, which is created if missing."""
    head, now = folder / _HEAD, _made_with(extractor)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not head.exists():
            with atomic_write(head) as unfinished:
                unfinished.write_text(dump_json(now, indent=1) + "\n", encoding="utf-8")
        changes = differences(json.loads(head.read_text(encoding="utf-8")), now)
    except OSError as error:
        raise InputError(f"{folder}: cannot be used as a cache ({error.strerror or error}).") from error
    except ValueError as error:
        raise InputError(f"{head}: not written by `mudy fit` ({error}). Name another folder.") from error
    if changes:
        raise InputError(
            f"{folder}: its evidence was computed in another way ({'; '.join(changes)}). Name another folder."
        )
    return folder


def _made_with(extractor: Extractor) -> dict[str, Any]:
    """Everything that the evidence depends on."""
    method = extractor.scorer
    assert isinstance(method, MudyPlus)
    return json_values(
        {
            "evidence": VERSION,
            "columns": EVIDENCE,
            "asked": ASKED,
            "weights": [repr(load_weights(method.weights, method.style, language)) for language in ("en", "other")],
            "directions": directions_hash(),
            "alike": ALIKE,
            **fit_settings(extractor),
            "models": model_fingerprints(extractor),
        }
    )


def fit_settings(extractor: Extractor) -> dict[str, Any]:
    """What a fit was asked to do. Its weights belong to no style."""
    return {name: value for name, value in requested_settings(extractor).items() if name != "style"}


def _line(text: FitText) -> dict[str, Any]:
    return {
        **{name: getattr(text, name) for name in _PLAIN},
        "gold": text.gold,
        "asked": text.asked,
        "states": None if text.states is None else [*text.states.shape, b64encode(text.states.tobytes()).decode()],
        "alike": text.alike,
        "candidates": [
            [candidate.phrase, *([o.span.start, o.span.end, o.sentence] for o in candidate.occurrences)]
            for candidate in text.candidates
        ],
        "columns": {name: column.tolist() for name, column in text.table.columns.items()},
        "context": dict(text.table.context),
        "plainness": text.table.plainness,
    }


def _texts(dataset: str, file: Path) -> dict[str, FitText]:
    """The texts of a data set that are in the cache, by the hash of their records; one that was cut off is not."""
    texts = {}
    for line in file.read_bytes().split(b"\n"):
        with suppress(ValueError):
            row = json.loads(line)
            texts[row["hash"]] = _text(dataset, row)
    return texts


def _text(dataset: str, line: Mapping[str, Any]) -> FitText:
    candidates = tuple(
        Candidate(phrase, tuple(Occurrence(Span(start, end), sentence) for start, end, sentence in places))
        for phrase, *places in line["candidates"]
    )
    columns = {name: np.array(column, dtype=np.float64) for name, column in line["columns"].items()}
    table = Table(columns, line["context"], line["plainness"])
    lists: dict[str, Any] = {"candidates": candidates, "gold": tuple(line["gold"]), "asked": tuple(line["asked"])}
    lists["alike"] = tuple((first, second, excess) for first, second, excess in line["alike"])
    if line["states"] is not None:
        *shape, states = line["states"]
        lists["states"] = np.frombuffer(b64decode(states), np.float16).reshape(shape)
    return FitText(dataset=dataset, table=table, **lists, **{name: line[name] for name in _PLAIN})
