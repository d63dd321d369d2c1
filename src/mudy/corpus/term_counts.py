"""The phrases of a corpus, counted in a temporary SQLite database, so that memory does not grow with them.

Singular and plural count as one phrase, and so do phrases of one concept. With `places`, the occurrences of all
keyphrases are kept too; the most frequent phrases are then nodes, numbered from 0.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from math import log
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

from mudy.corpus.rows import Row
from mudy.extraction.ranking import variant_key

AT_ONCE = 20_000  # keyphrases added to the database at once
EXAMPLES = 3  # documents named for each phrase
MOST_NODES = 20_000  # phrases of a graph
CHUNK = 2_000  # characters within which phrases share a chunk: an abstract is one
_MOST_CHUNKS = 1_000_000  # of a document

_SCHEMA = """
PRAGMA cache_size = -32000; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;
CREATE TABLE terms (
    key TEXT PRIMARY KEY, documents INTEGER, total REAL, best REAL, row INTEGER, first TEXT, concept TEXT, label TEXT,
    examples TEXT
) WITHOUT ROWID;
CREATE TABLE forms (key TEXT, form TEXT, count INTEGER, row INTEGER, PRIMARY KEY (key, form)) WITHOUT ROWID;
CREATE TABLE documents (row INTEGER PRIMARY KEY, name TEXT, day TEXT);
CREATE TABLE places (key TEXT, row INTEGER, start INTEGER, end INTEGER, score REAL);
"""
_ADD_TERM = f"""
INSERT INTO terms VALUES (?1, 1, ?2, ?2, ?3, ?4, ?5, ?6, ?4) ON CONFLICT (key) DO UPDATE SET
    documents = documents + 1, total = total + excluded.total, best = max(best, excluded.best),
    examples = iif(documents < {EXAMPLES}, examples || '; ' || excluded.first, examples)
"""
_ADD_FORM = "INSERT INTO forms VALUES (?, ?, 1, ?) ON CONFLICT (key, form) DO UPDATE SET count = count + 1"
ORDER = "ORDER BY documents DESC, total / documents DESC, row, key"
FORM = "(SELECT form FROM forms WHERE forms.key = terms.key ORDER BY count DESC, row LIMIT 1)"
_ALL = f"SELECT {FORM}, documents, total / documents, best, first, concept, label FROM terms {ORDER}"
_NODES = f"""
CREATE TABLE nodes (node INTEGER PRIMARY KEY, key TEXT UNIQUE);
INSERT INTO nodes SELECT ROW_NUMBER() OVER ({ORDER}) - 1, key FROM terms {ORDER} LIMIT {MOST_NODES};
CREATE TABLE members (
    chunk INTEGER, node INTEGER, row INTEGER, start INTEGER, end INTEGER, score REAL, PRIMARY KEY (chunk, node)
) WITHOUT ROWID;
INSERT OR IGNORE INTO members
    SELECT row * {_MOST_CHUNKS} + min(start / {CHUNK}, {_MOST_CHUNKS - 1}), node, row, start, end, score
    FROM places JOIN nodes USING (key) ORDER BY 1, 2, score DESC, start;
CREATE INDEX of_node ON members (node, chunk);
"""


class Term(NamedTuple):
    """A phrase of a corpus."""

    phrase: str  # in its most frequent form
    documents: int  # that have it among their keyphrases
    share: float  # of the documents without an error
    idf: float
    mean_score: float
    best_score: float
    first_seen: str  # the id of the first document that has it
    concept_id: str | None
    concept_label: str | None


class TermCounts:
    """The counts of all phrases of a corpus."""

    def __init__(self, database: sqlite3.Connection, places: bool) -> None:
        self.database, self._with_places = database, places
        self._new: list[tuple[Any, ...]] = []  # key, row, form, score, id, and the concept's id and label
        self._new_places: list[tuple[Any, ...]] = []
        self._new_documents: list[tuple[Any, ...]] = []
        self._rows = self.documents = 0

    @classmethod
    @contextmanager
    def of(
        cls, rows: Iterable[Row], folder: Path, *, days: Iterable[str | None] | None = None, places: bool = False
    ) -> Iterator[Self]:
        """Count the keyphrases of rows, in a temporary file in a folder; `days` are the dates of the rows."""
        with (
            TemporaryDirectory(prefix=".mudy-terms-", dir=folder) as place,
            closing(sqlite3.connect(Path(place) / "terms", isolation_level=None)) as database,
        ):
            database.executescript(_SCHEMA)
            counts = cls(database, places)
            dated = ((row, None) for row in rows) if days is None else zip(rows, days, strict=True)
            for row, day in dated:
                counts._add(row, day)
            counts._flush()
            if places:
                database.executescript(_NODES)
            yield counts

    def _add(self, row: Row, day: str | None) -> None:
        self._rows += 1
        self.documents += row["error"] is None
        best: dict[str, Mapping[str, Any]] = {}
        for phrase in row["keyphrases"]:  # without merging, a phrase may occur in several forms
            key = term_key(phrase)
            if key not in best or phrase["score"] > best[key]["score"]:
                best[key] = phrase
            if self._with_places:
                self._new_places += [(key, self._rows, o["start"], o["end"], o["score"]) for o in phrase["occurrences"]]
        name = _plain(str(row["id"]))
        for key, phrase in best.items():
            concept = phrase.get("concept") or {}
            texts = (phrase["text"], concept.get("id"), concept.get("label"))
            form, *labels = (None if text is None else _plain(text) for text in texts)
            self._new.append((key, self._rows, form, phrase["score"], name, *labels))
        if self._with_places and row["error"] is None:
            self._new_documents.append((self._rows, name, day))
        if len(self._new) + len(self._new_places) + len(self._new_documents) >= AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._new.sort(key=itemgetter(0, 1))  # by key: neighbours in the database are written together
        self.database.execute("BEGIN")
        self.database.executemany(_ADD_TERM, ((key, score, row, *names) for key, row, _, score, *names in self._new))
        self.database.executemany(_ADD_FORM, ((key, form, row) for key, row, form, *_ in self._new))
        self.database.executemany("INSERT INTO places VALUES (?, ?, ?, ?, ?)", self._new_places)
        self.database.executemany("INSERT INTO documents VALUES (?, ?, ?)", self._new_documents)
        self.database.execute("COMMIT")
        for added in (self._new, self._new_places, self._new_documents):
            added.clear()

    def terms(self) -> Iterator[Term]:
        """All phrases, the most frequent first; the first ones are the nodes, in their order."""
        for phrase, documents, mean, best, first, concept, label in self.database.execute(_ALL):
            share = documents / max(1, self.documents)
            yield Term(phrase, documents, share, self._idf(documents), mean, best, first, concept, label)

    def nodes(self) -> list[Term]:
        return list(islice(self.terms(), MOST_NODES))

    def by_key(self) -> Iterator[tuple[str, str, int]]:
        """Keys in order, each with its phrase and the number of its documents."""
        yield from self.database.execute(f"SELECT key, {FORM}, documents FROM terms ORDER BY key")

    def idf(self, phrase: Mapping[str, Any]) -> float:
        """How rare a keyphrase is."""
        query = "SELECT documents FROM terms WHERE key = ?"
        (documents,) = self.database.execute(query, (term_key(phrase),)).fetchone()
        return self._idf(documents)

    def _idf(self, documents: int) -> float:
        """log((1 + all) / (1 + those that have it)) + 1, as scikit-learn smooths it: never below 1."""
        return log((1 + self.documents) / (1 + documents)) + 1


def term_key(phrase: Mapping[str, Any]) -> str:
    """The same for all phrases that count as one."""
    concept = phrase.get("concept")
    return _plain(f"c {concept['id']}" if concept else f"s {' '.join(variant_key(phrase['text']))}")


def _plain(text: str) -> str:
    """A text that UTF-8 can hold."""
    return text.encode(errors="replace").decode()
