"""How rows are written: JSON lines, or Parquet with typed keyphrases."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from mudy.corpus.inputs import OURS, arrow_parquet
from mudy.errors import SettingError

FIXED = ("start", "end", "page", "score")  # of an occurrence; its other entries are the parts of the score


class Form(Protocol):
    """A way to write rows."""

    ending: str

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None: ...

    def join(self, path: Path, parts: Sequence[Path]) -> None: ...


class JsonLines:
    """One object a line."""

    ending = ".jsonl"

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        with path.open("wb") as stream:
            for row in rows:
                stream.write(_line(row))

    def join(self, path: Path, parts: Sequence[Path]) -> None:
        with path.open("wb") as stream:
            for part in parts:
                with part.open("rb") as rows:
                    shutil.copyfileobj(rows, stream, 1 << 20)


def _line(row: Mapping[str, Any]) -> bytes:
    """JSON in UTF-8; escaped where a text holds what UTF-8 cannot."""
    try:
        return json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row, default=str).encode() + b"\n"


class Parquet:
    """Keyphrases as a list of structs; columns carried through as texts, those that are none as JSON."""

    ending = ".parquet"

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
        keyphrase = pa.struct(
            [
                ("rank", pa.int32()),
                ("text", pa.string()),
                ("score", pa.float64()),
                ("variants", pa.list_(pa.string())),
                ("occurrences", pa.list_(occurrence)),
            ]
        )
        coverage = pa.struct(
            [("words", pa.int64()), ("words_read", pa.int64()), ("share", pa.float64()), ("sections", pa.int32())]
        )
        return [
            ("id", pa.string()),
            ("keyphrases", pa.list_(keyphrase)),
            ("coverage", coverage),
            ("seconds", pa.float64()),
            ("error", pa.string()),
        ]

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        import pyarrow as pa

        kept = list(dict.fromkeys(name for row in rows for name in row if name not in OURS))
        schema = pa.schema([*self._types, *((name, pa.string()) for name in kept)])
        table = pa.Table.from_pylist([self._typed(row, kept) for row in rows], schema=schema)
        arrow_parquet().write_table(table, path, compression="zstd")

    def _typed(self, row: Mapping[str, Any], kept: Sequence[str]) -> dict[str, Any]:
        keyphrases = [
            {**phrase, "occurrences": [_occurrence(each) for each in phrase["occurrences"]]}
            for phrase in row["keyphrases"]
        ]
        texts = {name: _text(row.get(name)) for name in ("id", "error", *kept)}
        return {**row, "keyphrases": keyphrases, **texts}

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
    parts = [(name, float(value)) for name, value in entry.items() if name not in FIXED]
    return {**{name: entry.get(name) for name in FIXED}, "parts": parts}


def _text(value: Any) -> str | None:
    """A value as a column of texts holds it."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode(errors="replace").decode()  # a lone surrogate has no place in UTF-8


FORMS: Mapping[str, type[Form]] = {"jsonl": JsonLines, "parquet": Parquet}


def form_of(output: Path, name: str | None) -> Form:
    """The form asked for by name, or by the output's ending; a folder needs a name."""
    endings = {form.ending: form for form in FORMS.values()}
    by_ending = endings.get(output.suffix.lower())
    if name is None and by_ending is None:
        raise SettingError(f"{output} ends neither in .jsonl nor in .parquet; for a folder of parts, pass --format.")
    if name is not None and by_ending is not None and FORMS[name] is not by_ending:
        raise SettingError(f"{output} does not end in {FORMS[name].ending}, but --format is {name}.")
    return (FORMS[name] if name is not None else by_ending or JsonLines)()
