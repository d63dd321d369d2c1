"""The phrases of a whole corpus, counted on the disk: memory does not grow with them.

Singular and plural are one phrase, and so are phrases of one concept. Counts are kept in a temporary database of
SQLite, to which those of some thousand phrases are added at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from mudy._support.storage import encode_text
from mudy.extraction.ranking import variant_key

AT_ONCE = 20_000  # phrases whose counts are in memory
_CACHE = -32_000  # KiB of the database in memory
_SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;
CREATE TABLE terms (
    key TEXT PRIMARY KEY, documents INTEGER, total REAL, best REAL, row INTEGER, first TEXT, concept TEXT, label TEXT
) WITHOUT ROWID;
CREATE TABLE forms (key TEXT, form TEXT, count INTEGER, row INTEGER, PRIMARY KEY (key, form)) WITHOUT ROWID;
"""
_ADD_TERM = """
INSERT INTO terms VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
    documents = documents + excluded.documents, total = total + excluded.total, best = max(best, excluded.best)
"""
_ADD_FORM = "INSERT INTO forms VALUES (?, ?, ?, ?) ON CONFLICT (key, form) DO UPDATE SET count = count + excluded.count"
_ALL = """
SELECT (SELECT form FROM forms WHERE forms.key = terms.key ORDER BY count DESC, row LIMIT 1),
    documents, total / documents, best, first, concept, label
FROM terms ORDER BY documents DESC, total / documents DESC, row, key
"""


class Term(NamedTuple):
    """A phrase of a corpus."""

    phrase: str  # in its most usual form
    documents: int  # that have it among their keyphrases
    share: float  # of the documents without an error
    idf: float
    mean_score: float
    best_score: float
    first_seen: str  # the id of the first document that has it
    concept_id: str | None
    concept_label: str | None


@dataclass
class _Counted:
    """What was counted of one phrase since the last time that counts were written."""

    row: int
    first: str
    concept: Mapping[str, Any] | None
    documents: int = 0
    total: float = 0.0
    best: float = float("-inf")
    forms: dict[str, tuple[int, int]] = field(default_factory=dict)  # form -> how often, and in which row first


class TermCounts:
    """The counts of all phrases of a corpus."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._new: dict[str, _Counted] = {}
        self._rows = self.documents = 0

    @classmethod
    @contextmanager
    def of(cls, rows: Iterable[Mapping[str, Any]], folder: Path) -> Iterator[TermCounts]:
        """Count the keyphrases of rows, in a temporary file below a folder."""
        with (
            TemporaryDirectory(prefix=".mudy-terms-", dir=folder) as place,
            closing(sqlite3.connect(Path(place) / "terms", isolation_level=None)) as database,
        ):
            database.executescript(f"PRAGMA cache_size = {_CACHE};{_SCHEMA}")
            counts = cls(database)
            for row in rows:
                counts._add(row)
            counts._flush()
            yield counts

    def _add(self, row: Mapping[str, Any]) -> None:
        self._rows += 1
        self.documents += row["error"] is None
        best: dict[str, Mapping[str, Any]] = {}
        for phrase in row["keyphrases"]:  # without merging, forms of one phrase may be several
            key = term_key(phrase)
            if key not in best or phrase["score"] > best[key]["score"]:
                best[key] = phrase
        for key, phrase in best.items():
            self._count(key, phrase, str(row["id"]))
        if len(self._new) >= AT_ONCE:
            self._flush()

    def _count(self, key: str, phrase: Mapping[str, Any], name: str) -> None:
        counted = self._new.setdefault(key, _Counted(self._rows, _plain(name), phrase.get("concept")))
        form = _plain(phrase["text"])
        count, row = counted.forms.get(form, (0, self._rows))
        counted.forms[form] = count + 1, row
        counted.documents += 1
        counted.total += phrase["score"]
        counted.best = max(counted.best, phrase["score"])

    def _flush(self) -> None:
        terms, forms = [], []
        for key, own in sorted(self._new.items()):
            concept = own.concept or {}
            names = [None if concept.get(name) is None else _plain(concept[name]) for name in ("id", "label")]
            terms.append((key, own.documents, own.total, own.best, own.row, own.first, *names))
            forms += [(key, form, count, row) for form, (count, row) in own.forms.items()]
        self._database.execute("BEGIN")
        self._database.executemany(_ADD_TERM, terms)
        self._database.executemany(_ADD_FORM, forms)
        self._database.execute("COMMIT")
        self._new.clear()

    def terms(self) -> Iterator[Term]:
        """All phrases, those of most documents first."""
        for phrase, documents, mean, best, first, concept, label in self._database.execute(_ALL):
            share = documents / max(1, self.documents)
            yield Term(phrase, documents, share, self._idf(documents), mean, best, first, concept, label)

    def idf(self, phrase: Mapping[str, Any]) -> float:
        """How rare a keyphrase is."""
        return self._idf_of_key(term_key(phrase))

    @lru_cache(maxsize=1 << 16)  # noqa: B019 (the counts end with their context)
    def _idf_of_key(self, key: str) -> float:
        (documents,) = self._database.execute("SELECT documents FROM terms WHERE key = ?", (key,)).fetchone()
        return self._idf(documents)

    def _idf(self, documents: int) -> float:
        """log((1 + all) / (1 + those that have it)) + 1, as scikit-learn smooths it: never below 1."""
        return log((1 + self.documents) / (1 + documents)) + 1


def term_key(phrase: Mapping[str, Any]) -> str:
    """What phrases that count as one have in common."""
    concept = phrase.get("concept")
    return _plain(f"c {concept['id']}" if concept else f"s {' '.join(variant_key(phrase['text']))}")


def _plain(text: str) -> str:
    """A text that UTF-8 can hold."""
    return encode_text(text).decode()
