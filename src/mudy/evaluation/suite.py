"""The suite: a frozen protocol for comparing any function of a text that returns phrases.

>>> documents = suite_documents(load("inspec.jsonl"))
>>> outcomes = [outcome(key, record, function(record.text), embed) for key, record in documents.items()]
>>> measured(outcomes)["F1@10"]

A change to anything that a result depends on needs a new VERSION; results of different versions are never compared.
"""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

from mudy._support.storage import atomic_output, dump_json
from mudy._support.validation import phrases as checked_phrases
from mudy.errors import SettingError
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.measures import DEPTHS, F1, MACRO, MAP, Depth, PhraseVectors, Predictions, nDCG, semantic_kinds
from mudy.reading.candidates.stemming import stems_of
from mudy.reading.document import first_words

VERSION = 1
WORDS = 512  # of a text that are read
KEPT = 50  # phrases per document
ENCODER = "minilm-l6"  # of SemF1
MEASURES = (*(F1 @ k for k in DEPTHS), F1 @ Depth.GOLD, F1 @ Depth.RETURNED, MAP @ 10, nDCG @ 10)
SEMANTIC = "SemF1@10"
FAITHFUL, DIVERSE = "faithful@10", "diverse@10"  # aspects of KPEval
_DEPTH = 10
_SHINGLE = 5  # words
_ALIKE = 0.5  # share of the shorter text's shingles that near-duplicates have in common


@cache
def register() -> Mapping[str, Sequence[str]]:
    """The suite's data sets: the hashes of their documents, in order."""
    sets: dict[str, list[str]] = json.loads(Path(__file__).with_name("suite.json").read_text(encoding="utf-8"))
    return sets


def content_hash(record: Record) -> str:
    """The hash of a document, the same for all copies that differ only in case, spacing and punctuation."""
    letters = "".join(filter(str.isalnum, _with_title(record).casefold()))
    content = json.dumps([letters, sorted({stems_of(phrase, "en") for phrase in record.keyphrases})])
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def set_hash(hashes: Iterable[str]) -> str:
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()[:16]


def suite_documents(dataset: Dataset) -> dict[str, Record]:
    """The documents of a data set that are in the suite, by their hashes; all of them, if none are.

    Each as the suite reads it: the title, once, and the text; its first words, unchanged.
    """
    known = {content_hash(record): record for record in dataset.documents}
    wanted = register().get(suite_name(known) or "", known)
    return {key: _as_read(known[key]) for key in wanted if key in known}


def suite_name(hashes: Iterable[str]) -> str | None:
    """The data set of the suite that has most of these documents; None if it has none of them."""
    shared = {name: len({*hashes} & {*own}) for name, own in register().items()}
    name = max(shared, key=shared.__getitem__)
    return name if shared[name] else None


def _as_read(record: Record) -> Record:
    return replace(record, title=None, text=first_words(_with_title(record), WORDS)[0], blocks=None)


def _with_title(record: Record) -> str:
    title = (record.title or "").strip()
    return record.text if record.text.lstrip().casefold().startswith(title.casefold()) else f"{title}\n{record.text}"


def near_duplicates(datasets: Sequence[Dataset]) -> list[tuple[str, str, str, str, float]]:
    """Documents of two data sets that share half of their sequences of five words: sets, ids and the share."""
    shingles = {(data.name, record.id): _shingles(record.text) for data in datasets for record in data.documents}
    having = defaultdict(list)
    for key, own in shingles.items():
        for shingle in own:
            having[shingle].append(key)
    shared = Counter(pair for keys in having.values() for pair in combinations(keys, 2) if pair[0][0] != pair[1][0])
    shares = {pair: count / min(len(shingles[key]) for key in pair) for pair, count in shared.items()}
    return [(*a, *b, share) for (a, b), share in shares.items() if share >= _ALIKE]


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = text.casefold().split()
    return {tuple(words[start : start + _SHINGLE]) for start in range(max(1, len(words) - _SHINGLE + 1))}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method achieved on one document, without any of its words."""

    hash: str
    gold: int  # keyphrases
    returned: int  # phrases, at most KEPT
    hits: Sequence[int]  # the ranks, from 1, of the phrases that are gold
    semantic: float  # SEMANTIC
    faithful: float | None = None  # FAITHFUL; in results from before it was measured, and without phrases, None
    diverse: float | None = None  # DIVERSE; the same, and None for a single phrase

    def predictions(self) -> Predictions:
        """Stand-ins that have the same hits at the same ranks."""
        hit = {rank: f"gold{number}" for number, rank in enumerate(self.hits)}
        phrases = [hit.get(rank, f"other{rank}") for rank in range(1, self.returned + 1)]
        return Predictions(self.hash, phrases, [f"gold{number}" for number in range(self.gold)])


def outcome(key: str, record: Record, phrases: Sequence[str], embed: Callable[[Sequence[str]], Any]) -> Outcome:
    """Phrases with equal stems are one, among the gold and among the predictions, for every measure."""
    gold, phrases = _distinct(record.keyphrases), _distinct(phrases)[:KEPT]
    predictions = Predictions(key, phrases, gold)
    name, _, depth = SEMANTIC.partition("@")
    semantic = (semantic_kinds(PhraseVectors(embed))[name] @ int(depth)).of(predictions, MACRO)
    hits, first = predictions.hit_ranks(Depth.RETURNED), phrases[:_DEPTH]
    aspects = round(semantic, 2), faithfulness(first, record.text), diversity(first)
    return Outcome(key, len(gold), len(phrases), hits, *aspects)


def faithfulness(phrases: Sequence[str], text: str) -> float | None:
    """The share of phrases whose words follow one another in the text, in per cent; case and punctuation aside."""
    words = f" {_words(text)} "
    return _share([f" {_words(phrase)} " in words for phrase in phrases])


def diversity(phrases: Sequence[str]) -> float | None:
    """The share of pairs of phrases that have no stem in common, in per cent."""
    stems = [{*stems_of(phrase, "en")} for phrase in phrases]
    return _share([one.isdisjoint(other) for one, other in combinations(stems, 2)])


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _share(facts: Sequence[bool]) -> float | None:
    return round(100 * sum(facts) / len(facts), 2) if facts else None


def _distinct(phrases: Iterable[str]) -> list[str]:
    distinct: dict[tuple[str, ...], str] = {}
    for phrase in map(str.lower, phrases):
        distinct.setdefault(stems_of(phrase, "en"), phrase)
    return list(distinct.values())


def measured(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Every measure that is known, in per cent, the mean over documents."""
    documents = [one.predictions() for one in outcomes]
    values = {str(measure): measure(documents, MACRO) for measure in MEASURES}
    aspects = {
        SEMANTIC: [one.semantic for one in outcomes],
        FAITHFUL: [one.faithful for one in outcomes if one.faithful is not None],
        DIVERSE: [one.diverse for one in outcomes if one.diverse is not None],
    }
    return values | {name: sum(known) / len(known) for name, known in aspects.items() if known}


@dataclass(frozen=True)
class SuiteResult:
    """A row of the leaderboard."""

    name: str
    method: Mapping[str, Any]  # what was run: method, model, settings and versions, or the function
    cpu_seconds: float  # per document
    sets: Mapping[str, Sequence[Outcome]]

    def save(self, path: str | Path) -> None:
        """Write the result as JSON, one document per line."""
        sets = {
            name: {"hash": set_hash(one.hash for one in outcomes), "documents": [*map(astuple, outcomes)]}
            for name, outcomes in self.sets.items()
        }
        about = {"suite": VERSION, "name": self.name, "method": self.method, "cpu_seconds": self.cpu_seconds}
        with atomic_output(Path(path)) as unfinished:
            text = dump_json({**about, "sets": sets}).replace('], ["', '],\n["')
            unfinished.write_text(f"{text}\n", encoding="utf-8")


def named_function(name: str) -> Callable[[str], Sequence[str]]:
    """The function "package.module:function", whose results are checked to be lists of phrases."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise SettingError(f"{name!r} names no function; write it as module:function, such as mymodule:keyphrases.")
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise SettingError(f"{name}: {error}. The module must be installed or in the current folder.") from error
    if not callable(function):
        raise SettingError(f"{name} is not a function.")
    return lambda text: checked_phrases(f"What {name} returns", function(text))
