"""A corpus's view: its phrases over all documents, and rows whose scores are weighed by how rare phrases are.

Both are made of the finished output, so that they are right after any number of interruptions, and can be asked for
when the run is done. Each file is whole or absent.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mudy._support.storage import atomic_output, dump_json, real_path, same_file
from mudy._support.validation import checked
from mudy.corpus.columns import OURS
from mudy.corpus.row_writers import RowWriter
from mudy.corpus.table_rows import arrow_parquet
from mudy.corpus.term_counts import Term, TermCounts
from mudy.corpus.written_rows import is_whole, written_rows
from mudy.errors import InputError, SettingError

BLOCK = 5_000  # terms or rows written at once
_LONGEST_HEAD = 1 << 26  # characters of a first line
_TEXTS = ("phrase", "first_seen", "concept_id", "concept_label")  # columns of a summary that are no numbers


@dataclass(frozen=True, slots=True)
class Views:
    """The files that are asked for beside the output."""

    summary: Path | None = None  # of all phrases
    weighed: Path | None = None  # rows with weighed scores

    @classmethod
    def of(cls, summary: Any, tfidf: Any, output: Path, form: RowWriter) -> Views:
        """What is asked for, by the names of the files; those that cannot be written raise."""
        names = {"summary": summary, "tfidf": tfidf}
        paths = {name: _path(name, value) for name, value in names.items()}
        views = cls(paths["summary"], paths["tfidf"])
        if views.summary is not None and views.summary.suffix.lower() not in _WRITERS:
            raise SettingError(f"summary is {views.summary}, but must end in one of {', '.join(_WRITERS)}.")
        if views.weighed is not None and (not is_whole(form.ending) or views.weighed.suffix.lower() != form.ending):
            raise SettingError(
                f"tfidf is {views.weighed}, but must end like the output, in .jsonl or .parquet: CSV does not hold all "
                "of a row."
            )
        for path in views.paths:
            if same_file(path, output) or views.paths.count(path) > 1:
                raise SettingError(f"{path} is named twice; the output and what is made of it are different files.")
            if path.is_dir() or not real_path(path).parent.is_dir():
                raise InputError(f"{path}: it is a folder, or its folder does not exist; a file is needed.")
        if any(path.suffix.lower() == ".parquet" for path in views.paths):
            arrow_parquet()  # or the extra is missing
        views._check_existing()
        return views

    def _check_existing(self) -> None:
        """A file of that name must be what an earlier run wrote there, or empty."""
        for path, columns in ((self.summary, Term._fields), (self.weighed, OURS)):
            if path is None or not path.exists() or not path.stat().st_size:
                continue
            if columns_of(path)[: len(columns)] != columns:
                raise InputError(f"{path} exists, but not from `mudy corpus`. Name another file.")

    @property
    def paths(self) -> list[Path]:
        return [path for path in (self.summary, self.weighed) if path is not None]

    def owns(self, path: Path) -> bool:
        """Whether a file is one of these, which are never input."""
        return any(real_path(path) == real_path(own) for own in self.paths)

    def write(self, files: Sequence[Path], form: RowWriter) -> None:
        """Count the phrases of an output's files, and write what is asked for."""
        if not self.paths:
            return
        with TermCounts.of(written_rows(files, form.ending), real_path(self.paths[0]).parent) as counts:
            if self.summary is not None:
                with atomic_output(real_path(self.summary)) as unfinished:
                    _WRITERS[self.summary.suffix.lower()](unfinished, counts.terms())
            if self.weighed is not None:
                rows = (weighed(row, counts) for row in written_rows(files, form.ending))
                with atomic_output(real_path(self.weighed)) as unfinished:
                    _write_rows(unfinished, rows, form)


def columns_of(path: Path) -> tuple[str, ...]:
    """The columns of a table that we may have written; none where it cannot be one."""
    try:
        if path.suffix.lower() == ".parquet":
            return tuple(arrow_parquet().read_schema(path).names)
        with path.open(encoding="utf-8-sig", newline="") as stream:
            line = stream.readline(_LONGEST_HEAD)
        if path.suffix.lower() == ".jsonl":
            return tuple(json.loads(line))
        return tuple(line.rstrip("\n").split("\t" if path.suffix.lower() == ".tsv" else ","))
    except (OSError, ValueError, TypeError):
        return ()


def _path(name: str, value: Any) -> Path | None:
    return None if value is None else Path(checked(name, str(value) if isinstance(value, Path) else value, str))


# -- Rows -------------------------------------------------------------------------------------------------------------


def weighed(row: Mapping[str, Any], counts: TermCounts) -> dict[str, Any]:
    """A row whose keyphrases are ranked by score and rarity: a positive score times idf, a negative one through it."""
    scored = [{**phrase, "score": _weighed(phrase["score"], counts.idf(phrase))} for phrase in row["keyphrases"]]
    ordered = sorted(scored, key=lambda phrase: -phrase["score"])  # of equals the one before
    return {**row, "keyphrases": [{**phrase, "rank": rank} for rank, phrase in enumerate(ordered, start=1)]}


def _weighed(score: float, idf: float) -> float:
    return score * idf if score >= 0 else score / idf


def _write_rows(path: Path, rows: Iterator[Mapping[str, Any]], form: RowWriter) -> None:
    """Write rows a block at a time, and join the blocks."""
    with TemporaryDirectory(prefix=".mudy-rows-", dir=path.parent) as folder:
        parts: list[Path] = []
        while block := list(islice(rows, BLOCK)):
            parts.append(Path(folder) / f"{len(parts)}{form.ending}")
            form.write(parts[-1], block)
        form.join(path, parts)


# -- Summaries --------------------------------------------------------------------------------------------------------


def _write_json(path: Path, terms: Iterable[Term]) -> None:
    with path.open("wb") as stream:
        for term in terms:
            stream.write(dump_json(term._asdict()).encode() + b"\n")


def _write_csv(path: Path, terms: Iterable[Term], delimiter: str = ",") -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        table = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        table.writerow(Term._fields)
        table.writerows(terms)


def _write_tsv(path: Path, terms: Iterable[Term]) -> None:
    _write_csv(path, terms, "\t")


def _write_parquet(path: Path, terms: Iterator[Term]) -> None:
    import pyarrow as pa

    numbers = {"documents": pa.int64()}
    schema = pa.schema(
        [(name, pa.string() if name in _TEXTS else numbers.get(name, pa.float64())) for name in Term._fields]
    )
    with arrow_parquet().ParquetWriter(path, schema, compression="zstd") as writer:
        while block := list(islice(terms, BLOCK)):
            writer.write_table(pa.Table.from_pylist([term._asdict() for term in block], schema=schema))


_WRITERS: Mapping[str, Callable[[Path, Iterator[Term]], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".jsonl": _write_json,
}
