"""How rows are written: JSON lines, Parquet with typed keyphrases, or CSV with one line for each keyphrase."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

from mudy._support.storage import dump_json, encode_text
from mudy.corpus.columns import OURS, carried
from mudy.corpus.table_rows import arrow_parquet
from mudy.errors import SettingError

_OCCURRENCE_FIELDS = ("start", "end", "page", "score")  # of an occurrence; its other entries are the parts of the score
_CSV_COLUMNS = (
    "id",
    "rank",
    "keyphrase",
    "score",
    "variants",
    "start",
    "end",
    "page",
    "occurrences",
    "concept_id",
    "concept_label",
    "concept_match",
    "concept_similarity",
    "warning",
    "error",
)  # of CSV


class RowWriter(Protocol):
    """A way to write rows."""

    ending: str

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None: ...

    def join(self, path: Path, parts: Sequence[Path]) -> None: ...


class JsonLinesWriter:
    """One object a line."""

    ending = ".jsonl"

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        with path.open("wb") as stream:
            for row in rows:
                stream.write(dump_json(row, allow_nan=True, default=str).encode() + b"\n")

    def join(self, path: Path, parts: Sequence[Path]) -> None:
        with path.open("wb") as stream:
            for part in parts:
                with part.open("rb") as rows:
                    shutil.copyfileobj(rows, stream, 1 << 20)


class ParquetRowWriter:
    """Keyphrases as a list of structs; columns carried through as texts, those that are none as JSON."""

    ending = ".parquet"

    def __init__(self) -> None:
        arrow_parquet()  # or the extra is missing

    @cached_property
    def _types(self) -> Any:
        import pyarrow as pa

        occurrence = pa.struct(
            [
                ("start", pa.int64()),
                ("end", pa.int64()),
                ("page", pa.int32()),
                ("score", pa.float64()),
                ("parts", pa.map_(pa.string(), pa.float64())),
            ]
        )
        concept = pa.struct(
            [("id", pa.string()), ("label", pa.string()), ("match", pa.string()), ("similarity", pa.float64())]
        )
        keyphrase = pa.struct(
            [
                ("rank", pa.int32()),
                ("text", pa.string()),
                ("score", pa.float64()),
                ("variants", pa.list_(pa.string())),
                ("concept", concept),
                ("occurrences", pa.list_(occurrence)),
            ]
        )
        span = pa.struct([("start", pa.int64()), ("end", pa.int64())])
        model = pa.struct([("model", pa.string()), ("share", pa.float64()), ("spans", pa.list_(span))])
        coverage = pa.struct(
            [
                ("words", pa.int64()),
                ("words_read", pa.int64()),
                ("share", pa.float64()),
                ("sections", pa.int32()),
                ("models", pa.list_(model)),
            ]
        )
        return [
            ("id", pa.string()),
            ("keyphrases", pa.list_(keyphrase)),
            ("coverage", coverage),
            ("seconds", pa.float64()),
            ("warning", pa.string()),
            ("error", pa.string()),
        ]

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        import pyarrow as pa

        kept = _kept(rows)
        schema = pa.schema([*self._types, *((name, pa.string()) for name in kept.values())])
        table = pa.Table.from_pylist([self._typed(row, kept) for row in rows], schema=schema)
        arrow_parquet().write_table(table, path, compression="zstd")

    def _typed(self, row: Mapping[str, Any], kept: Mapping[str, str]) -> dict[str, Any]:
        keyphrases = [
            {
                **phrase,
                "concept": _concept(phrase),
                "occurrences": [_occurrence(occurrence) for occurrence in phrase["occurrences"]],
            }
            for phrase in row["keyphrases"]
        ]
        texts = {name: _text(row[name]) for name in ("id", "warning", "error")}
        ours = {"coverage": row["coverage"], "seconds": row["seconds"], "keyphrases": keyphrases, **texts}
        return {**ours, **_columns(row, kept)}

    def join(self, path: Path, parts: Sequence[Path]) -> None:
        import pyarrow as pa

        parquet = arrow_parquet()
        schema = pa.unify_schemas([parquet.read_schema(part) for part in parts]) if parts else pa.schema(self._types)
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for part in parts:
                table = parquet.read_table(part)
                for name in schema.names:
                    if name not in table.column_names:
                        table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
                writer.write_table(table.select(schema.names))


def _occurrence(entry: Mapping[str, Any]) -> dict[str, Any]:
    parts = [(name, float(value)) for name, value in entry.items() if name not in _OCCURRENCE_FIELDS]
    return {**{name: entry.get(name) for name in _OCCURRENCE_FIELDS}, "parts": parts}


def _concept(phrase: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a vocabulary says of a keyphrase, in texts that UTF-8 can hold."""
    concept = phrase.get("concept")
    if concept is None:
        return None
    return {name: _text(value) if isinstance(value, str) else value for name, value in concept.items()}


class CsvWriter:
    """One line a keyphrase, best first, at its best occurrence; a text without any has one line of its own.

    UTF-8 with a byte-order mark, by which spreadsheets know it.
    """

    ending = ".csv"
    delimiter: ClassVar[str] = ","

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        kept = {name: carried(column, _CSV_COLUMNS) for name, column in _kept(rows).items()}
        lines = ({**line, **_columns(row, kept)} for row in rows for line in _flat(row))
        self._written(path, list(kept.values()), lines)

    def join(self, path: Path, parts: Sequence[Path]) -> None:
        heads = [next(self._lines(part)) for part in parts]
        kept = dict.fromkeys(name for head in heads for name in head[len(_CSV_COLUMNS) :])
        self._written(path, list(kept), (line for part in parts for line in self._read(part)))

    def _written(self, path: Path, kept: Sequence[str], lines: Iterator[Mapping[str, Any]]) -> None:
        with path.open("w", encoding="utf-8-sig", newline="") as stream:
            table = csv.DictWriter(stream, [*_CSV_COLUMNS, *kept], delimiter=self.delimiter, lineterminator="\n")
            table.writeheader()
            table.writerows(lines)

    def _read(self, part: Path) -> Iterator[Mapping[str, str]]:
        lines = self._lines(part)
        head = next(lines)
        return (dict(zip(head, cells, strict=True)) for cells in lines)

    def _lines(self, part: Path) -> Iterator[list[str]]:
        with part.open(encoding="utf-8-sig", newline="") as stream:
            yield from csv.reader(stream, delimiter=self.delimiter)


class TsvWriter(CsvWriter):
    """CSV with tabs."""

    ending = ".tsv"
    delimiter = "\t"


def _flat(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One line for each keyphrase of a row, or one for none."""
    shared = {name: _text(row[name]) for name in ("id", "warning", "error")}
    for phrase in row["keyphrases"]:
        best = phrase["occurrences"][0]
        yield {
            **shared,
            "rank": phrase["rank"],
            "keyphrase": _text(phrase["text"]),
            "score": phrase["score"],
            "variants": _text("; ".join(phrase["variants"])),
            "start": best["start"],
            "end": best["end"],
            "page": best.get("page"),
            "occurrences": len(phrase["occurrences"]),
            **{f"concept_{name}": value for name, value in (_concept(phrase) or {}).items()},
        }
    if not row["keyphrases"]:
        yield shared


def _kept(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Columns that rows carry through, and what a form of UTF-8 calls them: no lone surrogate has a place in it."""
    names = dict.fromkeys(name for row in rows for name in row if name not in OURS)
    return {name: name.encode(errors="backslashreplace").decode() for name in names}


def _columns(row: Mapping[str, Any], kept: Mapping[str, str]) -> dict[str, str | None]:
    return {column: _text(row.get(name)) for name, column in kept.items()}


def _text(value: Any) -> str | None:
    """A value as a column of texts holds it."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return encode_text(text).decode()


WRITERS: Mapping[str, type[RowWriter]] = {
    "jsonl": JsonLinesWriter,
    "parquet": ParquetRowWriter,
    "csv": CsvWriter,
    "tsv": TsvWriter,
}


def writer_for(output: Path, name: str | None) -> RowWriter:
    """The form asked for by name, or by the output's ending; a folder needs a name."""
    endings = {form.ending: form for form in WRITERS.values()}
    by_ending = endings.get(output.suffix.lower())
    if name is None and by_ending is None:
        known = ", ".join(endings)
        raise SettingError(f"{output} ends in none of {known}; for a folder of parts, pass --format.")
    if name is not None and by_ending is not None and WRITERS[name] is not by_ending:
        raise SettingError(f"{output} does not end in {WRITERS[name].ending}, but --format is {name}.")
    return (WRITERS[name] if name is not None else by_ending or JsonLinesWriter)()
