"""How rows are written and read back: JSON lines, Parquet with typed keyphrases, or CSV with one line per keyphrase."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from mudy._support.storage import dump_json
from mudy.corpus.rows import BATCH_ROWS, LONGEST_CELL, OURS, arrow, carried
from mudy.errors import SettingError

BLOCK = 5_000  # rows of a table written at once

Row = Mapping[str, Any]


class JsonLinesWriter:
    """One object per line."""

    ending = ".jsonl"
    complete = True  # whether rows that are read back can be written again

    def write(self, path: Path, rows: Iterable[Row]) -> None:
        with path.open("wb") as stream:
            for row in rows:
                stream.write(dump_json(row, allow_nan=True, default=str).encode() + b"\n")

    def join(self, path: Path, parts: Sequence[Path]) -> None:
        with path.open("wb") as stream:
            for part in parts:
                with part.open("rb") as rows:
                    shutil.copyfileobj(rows, stream, 1 << 20)

    def read(self, path: Path) -> Iterator[Row]:
        with path.open("rb") as stream:
            yield from map(json.loads, stream)


# -- Parquet ----------------------------------------------------------------------------------------------------------

_TEXT, _NUMBER, _COUNT, _SMALL = "string", "double", "int64", "int32"
_SPAN = {"start": _COUNT, "end": _COUNT}
_OCCURRENCE = {**_SPAN, "page": _SMALL, "score": _NUMBER}  # its other entries are the parts of the score
_CONCEPT = {"id": _TEXT, "label": _TEXT, "match": _TEXT, "similarity": _NUMBER}
_OCCURRENCES = [{**_OCCURRENCE, "parts": (_TEXT, _NUMBER)}]
_PHRASE = {"rank": _SMALL, "text": _TEXT, "score": _NUMBER, "variants": [_TEXT], "source": _TEXT, "concept": _CONCEPT}
_MODEL = {"model": _TEXT, "share": _NUMBER, "spans": [_SPAN]}
_COVERAGE = {"words": _COUNT, "words_read": _COUNT, "share": _NUMBER, "sections": _SMALL, "models": [_MODEL]}
_TYPES = {
    "id": _TEXT,
    "keyphrases": [_PHRASE | {"occurrences": _OCCURRENCES}],
    "coverage": _COVERAGE,
    "seconds": _NUMBER,
    "warning": _TEXT,
    "error": _TEXT,
}


def _arrow_type(kind: Any) -> Any:
    """A type of Arrow: a struct for a dict, a list for a list, a map for a pair, else by its name."""
    pa = arrow()
    match kind:
        case dict():
            return pa.struct([(name, _arrow_type(field)) for name, field in kind.items()])
        case [item]:
            return pa.list_(_arrow_type(item))
        case (key, item):
            return pa.map_(_arrow_type(key), _arrow_type(item))
    return pa.type_for_alias(kind)


class ParquetRowWriter:
    """Keyphrases as a list of structs; columns carried through as texts, other values as JSON."""

    ending = ".parquet"
    complete = True

    def __init__(self) -> None:
        self._schema = arrow().schema([(name, _arrow_type(kind)) for name, kind in _TYPES.items()])

    def write(self, path: Path, rows: Sequence[Row]) -> None:
        pa, kept = arrow(), _kept(rows)
        schema = pa.schema([*self._schema, *(pa.field(name, pa.string()) for name in kept.values())])
        table = pa.Table.from_pylist([_typed(row, kept) for row in rows], schema=schema)
        pa.parquet.write_table(table, path, compression="zstd")

    def join(self, path: Path, parts: Sequence[Path]) -> None:
        pa = arrow()
        schema = pa.unify_schemas([pa.parquet.read_schema(part) for part in parts] or [self._schema])
        with pa.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for part in parts:
                table = pa.parquet.read_table(part)
                writer.write_table(pa.concat_tables([schema.empty_table(), table], promote_options="default"))

    def read(self, path: Path) -> Iterator[Row]:
        with arrow().parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                for row in batch.to_pylist():
                    for occurrence in (entry for phrase in row["keyphrases"] for entry in phrase["occurrences"]):
                        occurrence.update(occurrence.pop("parts"))
                    yield row


def _typed(row: Row, kept: Mapping[str, str]) -> dict[str, Any]:
    keyphrases = [
        {**phrase, "concept": _concept(phrase), "occurrences": [_occurrence(entry) for entry in phrase["occurrences"]]}
        for phrase in row["keyphrases"]
    ]
    texts = {name: _text(row[name]) for name in ("id", "warning", "error")}
    ours = {"coverage": row["coverage"], "seconds": row["seconds"], "keyphrases": keyphrases, **texts}
    return {**ours, **_columns(row, kept)}


def _occurrence(entry: Mapping[str, Any]) -> dict[str, Any]:
    parts = [(name, float(value)) for name, value in entry.items() if name not in _OCCURRENCE]
    return {**{name: entry.get(name) for name in _OCCURRENCE}, "parts": parts}


def _concept(phrase: Mapping[str, Any]) -> dict[str, Any] | None:
    """The concept of a keyphrase, in texts that UTF-8 can hold."""
    concept = phrase.get("concept")
    if concept is None:
        return None
    return {name: _text(value) if isinstance(value, str) else value for name, value in concept.items()}


# -- CSV --------------------------------------------------------------------------------------------------------------

_CSV_COLUMNS = (
    *("id", "rank", "keyphrase", "score", "variants", "start", "end", "page", "occurrences"),
    *("concept_id", "concept_label", "concept_match", "concept_similarity", "warning", "error"),
)


class CsvWriter:
    """One line per keyphrase, best first, with its best occurrence; a text without keyphrases has one line too.

    UTF-8 with a byte-order mark, by which spreadsheets recognise it.
    """

    complete = False

    def __init__(self, ending: str = ".csv", delimiter: str = ",") -> None:
        self.ending, self.delimiter = ending, delimiter

    def write(self, path: Path, rows: Sequence[Row]) -> None:
        kept = {name: carried(column, _CSV_COLUMNS) for name, column in _kept(rows).items()}
        lines = ({**line, **_columns(row, kept)} for row in rows for line in _flat(row))
        write_csv(path, [*_CSV_COLUMNS, *kept.values()], lines, self.delimiter)

    def join(self, path: Path, parts: Sequence[Path]) -> None:
        columns = dict.fromkeys(_CSV_COLUMNS)
        for part in parts:
            with part.open(encoding="utf-8-sig", newline="") as stream:
                columns |= dict.fromkeys(next(csv.reader(stream, delimiter=self.delimiter)))
        write_csv(path, list(columns), chain.from_iterable(map(self._lines, parts)), self.delimiter)

    def _lines(self, path: Path) -> Iterator[dict[str, str]]:
        csv.field_size_limit(LONGEST_CELL)
        with path.open(encoding="utf-8-sig", newline="") as stream:
            yield from csv.DictReader(stream, delimiter=self.delimiter)

    def read(self, path: Path) -> Iterator[Row]:
        """Ids, keyphrases and errors: the best keyphrase of a text, or a line without any, begins its row."""
        row: dict[str, Any] | None = None
        for line in self._lines(path):
            if line["rank"] in ("", "1"):
                if row is not None:
                    yield row
                row = {"id": line["id"], "keyphrases": [], "error": line["error"] or None}
            if row is not None and line["rank"]:
                name = line["concept_id"]
                concept = {"id": name, "label": line["concept_label"]} if name else None
                row["keyphrases"].append({"text": line["keyphrase"], "score": float(line["score"]), "concept": concept})
        if row is not None:
            yield row


def write_csv(path: Path, columns: Sequence[str], lines: Iterable[Row], delimiter: str) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        table = csv.DictWriter(stream, columns, delimiter=delimiter, lineterminator="\n")
        table.writeheader()
        table.writerows(lines)


def write_parquet(path: Path, rows: Iterator[Row], schema: Any) -> None:
    """Write rows one block at a time, so that memory does not grow with them."""
    pa = arrow()
    with pa.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while block := list(islice(rows, BLOCK)):
            writer.write_table(pa.Table.from_pylist(block, schema=schema))


def write_table(path: Path, items: Iterable[NamedTuple], kind: type[NamedTuple], ending: str) -> None:
    """Write named tuples of a kind as JSON lines, Parquet or CSV."""
    rows = (item._asdict() for item in items)
    if ending == ".jsonl":
        JsonLinesWriter().write(path, rows)
    elif ending == ".parquet":
        pa = arrow()
        types = {int: pa.int64(), float: pa.float64()}
        columns = [(name, types.get(hint, pa.string())) for name, hint in get_type_hints(kind).items()]
        write_parquet(path, rows, pa.schema(columns))
    else:
        write_csv(path, kind._fields, rows, "\t" if ending == ".tsv" else ",")


def _flat(row: Row) -> Iterator[dict[str, Any]]:
    """One line for each keyphrase of a row, or one for none."""
    shared = {name: _text(row[name]) for name in ("id", "warning", "error")}
    for phrase in row["keyphrases"]:
        best: Row = next(iter(phrase["occurrences"]), {})  # none of a tag of similar texts
        yield {
            **shared,
            "rank": phrase["rank"],
            "keyphrase": _text(phrase["text"]),
            "score": phrase["score"],
            "variants": _text("; ".join(phrase["variants"])),
            **{name: best.get(name) for name in ("start", "end", "page")},
            "occurrences": len(phrase["occurrences"]),
            **{f"concept_{name}": value for name, value in (_concept(phrase) or {}).items()},
        }
    if not row["keyphrases"]:
        yield shared


def _kept(rows: Sequence[Row]) -> dict[str, str]:
    """Columns that rows carry through, and their names in UTF-8, which has no lone surrogates."""
    names = dict.fromkeys(name for row in rows for name in row if name not in OURS)
    return {name: name.encode(errors="backslashreplace").decode() for name in names}


def _columns(row: Row, kept: Mapping[str, str]) -> dict[str, str | None]:
    return {column: _text(row.get(name)) for name, column in kept.items()}


def _text(value: Any) -> str | None:
    """A value as a column of texts holds it."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode(errors="replace").decode()


RowWriter = JsonLinesWriter | ParquetRowWriter | CsvWriter  # a file format for rows
WRITERS: Mapping[str, Callable[[], RowWriter]] = {
    "jsonl": JsonLinesWriter,
    "parquet": ParquetRowWriter,
    "csv": CsvWriter,
    "tsv": lambda: CsvWriter(".tsv", "\t"),
}


def writer_for(output: Path, name: str | None) -> RowWriter:
    """The format with a name, or that of the output's ending; a folder needs a name."""
    ending = output.suffix.lower().removeprefix(".")
    if name is None and ending not in WRITERS:
        endings = ", ".join(f".{known}" for known in WRITERS)
        raise SettingError(f"{output} ends in none of {endings}; for a folder of parts, pass --format.")
    if name is not None and ending in WRITERS and name != ending:
        raise SettingError(f"{output} does not end in .{name}, but --format is {name}.")
    return WRITERS[name or ending]()
