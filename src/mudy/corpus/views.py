"""The whole corpus at a glance: its phrases over all documents, and rows with scores weighted by how rare phrases are.

Both are made from the complete output, so they are right after any number of interruptions, and can be asked for after
the run. Each file is whole or absent. Phrases are counted in a temporary SQLite database, so memory does not grow with
them. Singular and plural count as one phrase, and so do phrases of one concept.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from math import log
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, get_type_hints

from mudy._support.storage import atomic_output, encode_text, real_path, same_file
from mudy._support.validation import checked
from mudy.corpus.row import OURS
from mudy.corpus.row_readers import arrow
from mudy.corpus.row_writers import WRITERS, JsonLinesWriter, Row, RowWriter, write_csv
from mudy.errors import InputError, SettingError
from mudy.extraction.ranking import variant_key

BLOCK = 5_000  # terms or rows written at once
_LONGEST_HEAD = 1 << 26  # characters of a first line
_ENDINGS = tuple(form.ending for form in WRITERS.values())


@dataclass(frozen=True, slots=True)
class Views:
    """Files that are made from the output."""

    summary: Path | None = None  # all phrases
    weighted: Path | None = None  # rows with weighted scores

    @classmethod
    def of(cls, summary: Any, tfidf: Any, output: Path, form: RowWriter) -> Views:
        """The files with these names; raises if one cannot be written."""
        views = cls(_path("summary", summary), _path("tfidf", tfidf))
        if views.summary is not None and views.summary.suffix.lower() not in _ENDINGS:
            raise SettingError(f"summary is {views.summary}, but must end in one of {', '.join(_ENDINGS)}.")
        if views.weighted is not None and not (form.complete and views.weighted.suffix.lower() == form.ending):
            raise SettingError(
                f"tfidf is {views.weighted}, but must end like the output, in .jsonl or .parquet: CSV does not hold "
                "all of a row."
            )
        for path in views.paths:
            if same_file(path, output) or views.paths.count(path) > 1:
                raise SettingError(f"{path} is named twice; the output and what is made of it are different files.")
            if path.is_dir() or not real_path(path).parent.is_dir():
                raise InputError(f"{path}: it is a folder, or its folder does not exist; a file is needed.")
            if path.suffix.lower() == ".parquet":
                arrow()  # MissingExtra where it is not installed
            columns = Term._fields if path == views.summary else OURS
            if path.exists() and path.stat().st_size and not _starts_with(path, columns):
                raise InputError(f"{path} exists, but not from `mudy corpus`. Name another file.")
        return views

    @property
    def paths(self) -> list[Path]:
        return [path for path in (self.summary, self.weighted) if path is not None]

    def owns(self, path: Path) -> bool:
        """Whether a file is one of these, which are never input."""
        return any(real_path(path) == real_path(view) for view in self.paths)

    def write(self, files: Sequence[Path], form: RowWriter) -> None:
        """Count the phrases of an output's files, and write the views."""
        if not self.paths:
            return
        with TermCounts.of(_rows(files, form), real_path(self.paths[0]).parent) as counts:
            if self.summary is not None:
                with atomic_output(real_path(self.summary)) as unfinished:
                    _write_terms(unfinished, counts.terms(), self.summary.suffix.lower())
            if self.weighted is not None:
                rows = (weighted(row, counts) for row in _rows(files, form))
                with atomic_output(real_path(self.weighted)) as unfinished:
                    _write_rows(unfinished, rows, form)


def _path(name: str, value: Any) -> Path | None:
    return None if value is None else Path(checked(name, str(value) if isinstance(value, Path) else value, str))


def _starts_with(path: Path, columns: tuple[str, ...]) -> bool:
    """Whether these are the first columns of a table; false where the file is not one."""
    try:
        if path.suffix.lower() == ".parquet":
            names = arrow().parquet.read_schema(path).names
        else:
            with path.open(encoding="utf-8-sig", newline="") as stream:
                line = stream.readline(_LONGEST_HEAD)
            delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
            names = json.loads(line) if path.suffix.lower() == ".jsonl" else line.rstrip("\n").split(delimiter)
        return tuple(names)[: len(columns)] == columns
    except (OSError, ValueError, TypeError):
        return False


def _rows(files: Sequence[Path], form: RowWriter) -> Iterator[Row]:
    return chain.from_iterable(map(form.read, files))


def weighted(row: Row, counts: TermCounts) -> dict[str, Any]:
    """A row whose keyphrases are ranked by score and rarity."""
    scored = [{**phrase, "score": _weighted(phrase["score"], counts.idf(phrase))} for phrase in row["keyphrases"]]
    ordered = sorted(scored, key=lambda phrase: -phrase["score"])  # equal scores keep their order
    return {**row, "keyphrases": [{**phrase, "rank": rank} for rank, phrase in enumerate(ordered, start=1)]}


def _weighted(score: float, idf: float) -> float:
    """Rare phrases gain: a positive score is multiplied by idf, a negative one divided by it."""
    return score * idf if score >= 0 else score / idf


def _write_rows(path: Path, rows: Iterator[Row], form: RowWriter) -> None:
    """Write rows one block at a time, and join the blocks."""
    with TemporaryDirectory(prefix=".mudy-rows-", dir=path.parent) as folder:
        parts: list[Path] = []
        while block := list(islice(rows, BLOCK)):
            parts.append(Path(folder) / f"{len(parts)}{form.ending}")
            form.write(parts[-1], block)
        form.join(path, parts)


def _write_terms(path: Path, terms: Iterator[Term], ending: str) -> None:
    rows = (term._asdict() for term in terms)
    if ending == ".jsonl":
        JsonLinesWriter().write(path, rows)
    elif ending == ".parquet":
        _write_parquet(path, rows)
    else:
        write_csv(path, Term._fields, rows, "\t" if ending == ".tsv" else ",")


def _write_parquet(path: Path, rows: Iterator[Row]) -> None:
    pa = arrow()
    types = {int: pa.int64(), float: pa.float64()}
    schema = pa.schema([(name, types.get(hint, pa.string())) for name, hint in get_type_hints(Term).items()])
    with pa.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while block := list(islice(rows, BLOCK)):
            writer.write_table(pa.Table.from_pylist(block, schema=schema))


# -- Counts -----------------------------------------------------------------------------------------------------------

AT_ONCE = 20_000  # keyphrases added to the database at once
_SCHEMA = """
PRAGMA cache_size = -32000; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;
CREATE TABLE terms (
    key TEXT PRIMARY KEY, documents INTEGER, total REAL, best REAL, row INTEGER, first TEXT, concept TEXT, label TEXT
) WITHOUT ROWID;
CREATE TABLE forms (key TEXT, form TEXT, count INTEGER, row INTEGER, PRIMARY KEY (key, form)) WITHOUT ROWID;
"""
_ADD_TERM = """
INSERT INTO terms VALUES (?, 1, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
    documents = documents + 1, total = total + excluded.total, best = max(best, excluded.best)
"""
_ADD_FORM = "INSERT INTO forms VALUES (?, ?, 1, ?) ON CONFLICT (key, form) DO UPDATE SET count = count + 1"
_ALL = """
SELECT (SELECT form FROM forms WHERE forms.key = terms.key ORDER BY count DESC, row LIMIT 1),
    documents, total / documents, best, first, concept, label
FROM terms ORDER BY documents DESC, total / documents DESC, row, key
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

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._new: list[tuple[Any, ...]] = []  # key, row, form, score, id, and the concept's id and label
        self._rows = self.documents = 0

    @classmethod
    @contextmanager
    def of(cls, rows: Iterable[Row], folder: Path) -> Iterator[TermCounts]:
        """Count the keyphrases of rows, in a temporary file in a folder."""
        with (
            TemporaryDirectory(prefix=".mudy-terms-", dir=folder) as place,
            closing(sqlite3.connect(Path(place) / "terms", isolation_level=None)) as database,
        ):
            database.executescript(_SCHEMA)
            counts = cls(database)
            for row in rows:
                counts._add(row)
            counts._flush()
            yield counts

    def _add(self, row: Row) -> None:
        self._rows += 1
        self.documents += row["error"] is None
        best: dict[str, Mapping[str, Any]] = {}
        for phrase in row["keyphrases"]:  # without merging, a phrase may occur in several forms
            key = term_key(phrase)
            if key not in best or phrase["score"] > best[key]["score"]:
                best[key] = phrase
        for key, phrase in best.items():
            concept = phrase.get("concept") or {}
            texts = (phrase["text"], str(row["id"]), concept.get("id"), concept.get("label"))
            form, name, *labels = (None if text is None else _plain(text) for text in texts)
            self._new.append((key, self._rows, form, phrase["score"], name, *labels))
        if len(self._new) >= AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._new.sort(key=itemgetter(0, 1))  # by key: neighbours in the database are written together
        self._database.execute("BEGIN")
        self._database.executemany(
            _ADD_TERM, ((key, score, score, row, *names) for key, row, _, score, *names in self._new)
        )
        self._database.executemany(_ADD_FORM, ((key, form, row) for key, row, form, *_ in self._new))
        self._database.execute("COMMIT")
        self._new.clear()

    def terms(self) -> Iterator[Term]:
        """All phrases, the most frequent first."""
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
    """The same for all phrases that count as one."""
    concept = phrase.get("concept")
    return _plain(f"c {concept['id']}" if concept else f"s {' '.join(variant_key(phrase['text']))}")


def _plain(text: str) -> str:
    """A text that UTF-8 can hold."""
    return encode_text(text).decode()
