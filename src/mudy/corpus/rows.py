"""Rows of a corpus: what goes in, what comes out, and how it is written and read back.

Output is JSON lines, Parquet with typed keyphrases, or CSV with one line per keyphrase.
"""

import csv
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, Self, get_type_hints

from mudy._support.extras import from_extra
from mudy._support.storage import dump_json
from mudy.errors import InputError, SettingError
from mudy.extraction.outcomes import error_message
from mudy.extraction.results import Result
from mudy.reading.document import Block

OURS = ("id", "keyphrases", "coverage", "seconds", "warning", "error")  # columns of the output
HEAD_ROWS = 1000  # of a file, whose columns are looked at before a run
_SHOWN_COLUMNS = 12  # columns named in a message
BATCH_ROWS = 64  # of a Parquet file, read at once
LONGEST_CELL = 1 << 26  # characters; a quote that is never closed must not fill the memory
BLOCK = 5_000  # rows of a table written at once

Row = Mapping[str, Any]  # its columns by name


@dataclass(frozen=True, slots=True)
class RowPosition:
    """Where a row stands: in which file, and how many rows of that file come before it."""

    file: int
    row: int


@dataclass(frozen=True, slots=True)
class InputRow:
    """One text of a corpus, or why there is none."""

    place: RowPosition
    id: str
    text: str = ""
    problem: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)  # columns to carry through
    pages: tuple[int, ...] = ()
    blocks: tuple[Block, ...] | None = None


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One row of the output: keyphrases, or an error."""

    place: RowPosition
    values: Mapping[str, Any]  # as they are written

    @classmethod
    def of(cls, row: InputRow, result: Result | Exception, seconds: float) -> Self:
        """A row with the same columns whether it went well or not."""
        error = error_message(result) if isinstance(result, Exception) else None
        values: Mapping[str, Any] = {} if isinstance(result, Exception) else result.to_dict()
        ours = {
            "id": row.id,
            "keyphrases": values.get("keyphrases", []),
            "coverage": values.get("coverage"),
            "seconds": round(seconds, 4),
            "warning": " ".join(values.get("warnings", ())) or None,
            "error": error,
        }
        return cls(row.place, {**ours, **row.kept})


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold what."""

    text: str = "text"
    id: str = "id"
    keep: tuple[str, ...] | None = ()  # to be carried through; None: all others

    def row(self, place: RowPosition, name: str, values: Row | str) -> InputRow:
        """A row from its columns."""
        if isinstance(values, str):
            return InputRow(place, name, problem=values)
        label, text, kept = values.get(self.id), values.get(self.text), self._kept(values)
        row_id = name if label is None else str(label)
        if isinstance(text, str):
            return InputRow(place, row_id, text, kept=kept)
        if self.text in values:
            problem = f"column {self.text!r} is {'null' if text is None else type(text).__name__}, not a text"
        else:
            problem = f"has no column {self.text!r}, but {named(values)}"
        return InputRow(place, row_id, problem=problem, kept=kept)

    def _kept(self, values: Row) -> dict[str, Any]:
        wanted = [name for name in values if name not in (self.text, self.id)] if self.keep is None else self.keep
        return {carried(name): values.get(name) for name in wanted}

    def of(self, names: Iterable[str]) -> list[str]:
        """Those of a table's columns that are to be read; InputError if two of them have one name."""
        wanted = Counter(name for name in names if self.keep is None or name in (self.text, self.id, *self.keep))
        if twice := [name for name, number in wanted.items() if number > 1]:
            raise InputError(f"there are two columns {twice[0]!r}, so it is not clear which is meant")
        return list(wanted)

    @property
    def required(self) -> dict[str, str]:
        """Columns that must be there, and the option that names each; a table need not have the usual `id`."""
        others = {self.id: "--id-column"} if self.id != "id" else {}
        return {self.text: "--text-column", **others, **dict.fromkeys(self.keep or (), "--keep")}

    def check(self, heads: Iterable[tuple[str, Iterator[Row | str]]], keep_option: str = "--keep") -> None:
        """SettingError for a column that no row has, in the first rows of the files; an option names those to keep."""
        seen: dict[str, None] = {}
        files = []
        for file, rows in heads:
            usable = [values for values in islice(rows, HEAD_ROWS) if not isinstance(values, str)]
            seen.update(dict.fromkeys(name for values in usable for name in values))
            files += [file] if usable else []
            if seen.keys() >= self.required.keys():
                return
        if seen:
            missing = next(name for name in self.required if name not in seen)
            option = keep_option if missing in (self.keep or ()) else self.required[missing]
            nearest = get_close_matches(missing.lower(), seen, n=1, cutoff=0.5)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            where = files[0] + (f" and {len(files) - 1} more" if len(files) > 1 else "")
            raise SettingError(
                f"There is no column {missing!r} in {where}, but {named(seen)}.{hint} Name the right one with {option}."
            )


def named(columns: Iterable[str]) -> str:
    """The first columns of many, in words."""
    names = list(columns)
    more = f" and {len(names) - _SHOWN_COLUMNS:,} more" if len(names) > _SHOWN_COLUMNS else ""
    return (", ".join(map(repr, names[:_SHOWN_COLUMNS])) or "none at all") + more


def carried(name: str, ours: Sequence[str] = OURS) -> str:
    """What a column of the input is called in the output: one that is called like ours is set apart, and keeps apart.

    "error" becomes "input_error", and "input_error" therefore "input_input_error".
    """
    return f"input_{name}" if re.sub("^(input_)+", "", name) in ours else name


def arrow() -> Any:
    """The package pyarrow, with pyarrow.parquet; MissingExtra where it is not installed."""
    with from_extra("corpus", "This format"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow


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
