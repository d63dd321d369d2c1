"""The formats of data sets: which are known, how one is detected, and how each is read.

A bad row becomes a `DatasetProblem` with its file and line, and the good ones are kept.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from mudy.errors import InputError
from mudy.evaluation.record import DatasetProblem, Record, RecordOrProblem, set_name
from mudy.reading.document import squeeze

_INSPECTED_LINES = 100  # lines of a file from which its form is told
ABSTRACTS = ("abstract", "question", "body")  # what the releases call the text, the gold, and a paper's remainder
KEYWORDS = ("keywords", "keyword", "tags", "keyphrases")
FULL_TEXTS = ("fulltext", "full_text")
_NEEDED = {  # by rows of our form, and what others call it
    "text": (*ABSTRACTS, *FULL_TEXTS, "content", "document"),
    "keyphrases": (*KEYWORDS[:-1], "keyphrase", "labels", "label", "gold"),
}
PAPER_IDS = ("id", "name")

LocatedRow = tuple[Path, int | None, RecordOrProblem]  # a row, and where it stands


@dataclass(frozen=True, slots=True)
class DatasetFormat:
    """A format of data sets on disk."""

    description: str
    read: Callable[[Path], Iterator[LocatedRow]]


class _Bad(Exception):
    """Why a row cannot be used."""


def _made(file: Path, line: int | None, make: Callable[..., Record], *arguments: Any) -> LocatedRow:
    try:
        return file, line, make(*arguments)
    except _Bad as error:
        return file, line, DatasetProblem(file, line, str(error))


def recognised(path: Path) -> str | None:
    """The form of a file or folder, told from its contents; None where it is like none of them."""
    if path.is_dir():
        if (path / "annotations.txt").is_file():
            return "duc2001"
        return "inspec" if _files(path, ".abstr") else "semeval2017" if _files(path, ".key") else None
    for _, line in islice(_lines(path), _INSPECTED_LINES):
        if form := _form_of_line(line, path):
            return form
    return None


def _form_of_line(line: str | None, path: Path) -> str | None:
    if line is None:
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        columns = next(csv.reader([line]), [])
        return "wikihow" if {"text", "label"} <= set(columns) else None
    if not isinstance(row, dict):
        return None
    if "text" in row and "keyphrases" in row:
        return "mudy"
    if _first(row, ABSTRACTS + FULL_TEXTS) is None or _first(row, KEYWORDS) is None:
        return None
    named = set_name(path.name) or set_name(path.absolute().parent.name)
    return named if named in PAPERS else "papers"


def advice(path: Path) -> str:
    """What to change so that a file or folder of no known form is read."""
    keys = _first_keys(path)
    if not keys & {*_NEEDED, *(name for names in _NEEDED.values() for name in names)}:
        ours, *published = DATASET_FORMATS
        described = f"{ours} ({DATASET_FORMATS[ours].description})"
        return f"Known forms: {', '.join([described, *published])}. Name one if it was not recognised."
    changes = []
    for name, others in _NEEDED.items():
        if name not in keys:
            other = next((other for other in others if other in keys), None)
            changes.append(f"rename `{other}` to `{name}`" if other else f"add `{name}`")
    return f"In each row, {' and '.join(changes)}."


def _first_keys(path: Path) -> set[str]:
    """The keys of the first object in a file of JSON lines; none where there is no object."""
    for _, line in islice(_lines(path), _INSPECTED_LINES) if path.is_file() else ():
        with suppress(_Bad):
            return set(_json_object(line or ""))
    return set()


# -- JSON lines and CSV -----------------------------------------------------------------------------------------------


def _read_json_lines(path: Path, make: Callable[[dict[str, Any], int], Record]) -> Iterator[LocatedRow]:
    _needs_file(path)
    for number, line in _lines(path):
        if line is None:
            yield path, number, DatasetProblem(path, number, "cannot be decoded as UTF-8")
        elif line.strip():
            yield _made(path, number, _json_record, make, line, number)


def _json_record(make: Callable[[dict[str, Any], int], Record], line: str, number: int) -> Record:
    return make(_json_object(line), number)


def _json_object(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise _Bad(f"is no JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise _Bad(f"is no JSON that can be read: {error}") from None
    if not isinstance(row, dict):
        raise _Bad(f"a JSON object is needed, not {_kind(row)}")
    return row


def _ours(row: dict[str, Any], _: int) -> Record:
    return Record(_id(row), _optional_text(row, ("title",)), _text(row, ("text",)), _gold(row, ("keyphrases",)))


def _paper(row: dict[str, Any], number: int, *, whole: bool, between: str) -> Record:
    """A row of the OpenNMT-kpg kind. Published runs read the abstract, and for some sets the full text after it."""
    name = _id(row, PAPER_IDS) if _first(row, PAPER_IDS) is not None else str(number)
    parts = [_optional_text(row, ABSTRACTS), _optional_text(row, FULL_TEXTS) if whole else None]
    text = " ".join(part for part in parts if part and part.strip())
    if not text:
        raise _Bad(f"a text is needed under {' or '.join(ABSTRACTS + (FULL_TEXTS if whole else ()))}")
    return Record(name, _optional_text(row, ("title",)), text, _gold(row, KEYWORDS, between))


def _read_wikihow(path: Path) -> Iterator[LocatedRow]:
    _needs_file(path)
    # Bytes that are no UTF-8 come in as lone surrogates, so that one bad row does not end the reading.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        rows = csv.reader(file)
        columns = next(rows, [])
        if missing := {"text", "label"} - set(columns):
            raise InputError(f"{path}: the CSV has no column {' and '.join(sorted(missing))} in its first line.")
        number, end = 0, rows.line_num
        while True:
            start, number = end + 1, number + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                end = rows.line_num
                yield path, start, DatasetProblem(path, start, f"is no CSV: {error}")
                continue
            end = rows.line_num
            if cells:
                yield _made(path, start, _wikihow, columns, cells, number)


def _wikihow(columns: list[str], cells: list[str], number: int) -> Record:
    if any("\udc80" <= character <= "\udcff" for cell in cells for character in cell):
        raise _Bad("cannot be decoded as UTF-8")
    if len(cells) != len(columns):
        raise _Bad(f"has {len(cells)} columns, but {len(columns)} are needed")
    row: dict[str, Any] = dict(zip(columns, cells, strict=True))
    try:
        row["label"] = ast.literal_eval(row["label"].strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise _Bad("its label is no list in the notation of Python") from None
    name = _id(row) if row.get("id") else str(number)
    return Record(name, _optional_text(row, ("title",)) or None, _text(row, ("text",)), _gold(row, ("label",)))


def _lines(path: Path) -> Iterator[tuple[int, str | None]]:
    """Number and text of each line, None for one that is no UTF-8; a byte-order mark is taken off."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                yield number, None


# -- Folders ----------------------------------------------------------------------------------------------------------


def _read_duc2001(path: Path) -> Iterator[LocatedRow]:
    """Files that hold <TEXT>...</TEXT>, and `annotations.txt` with lines `docid@phrase;phrase;...;`."""
    annotations = path / "annotations.txt"
    if not annotations.is_file():
        raise InputError(f"{path}: a DUC2001 folder holds annotations.txt, which is missing.")
    gold: dict[str, tuple[int, str]] = {}  # line and phrases of each document
    for number, line in _lines(annotations):
        name, at, phrases = (line or "").partition("@")
        if line is None:
            yield annotations, number, DatasetProblem(annotations, number, "cannot be decoded as UTF-8")
        elif line.strip() and not at:
            yield annotations, number, DatasetProblem(annotations, number, "is not of the form docid@phrase;phrase;")
        elif name.strip() in gold:
            yield annotations, number, DatasetProblem(annotations, number, f"the id {name.strip()!r} was there before")
        elif at:
            gold[name.strip()] = number, phrases
    without_file = set(gold)
    for file in _files(path, ""):
        if file != annotations:
            name = file.name if file.name in gold else file.name.removesuffix(".txt")
            without_file.discard(name)
            yield _made(file, None, _duc_record, name, file, gold[name][1] if name in gold else None)
    for name in sorted(without_file):
        yield annotations, gold[name][0], DatasetProblem(annotations, gold[name][0], f"there is no file for {name!r}")


def _duc_record(name: str, file: Path, phrases: str | None) -> Record:
    if phrases is None:
        raise _Bad("annotations.txt has no line for it")
    source = _whole(file)
    found = _element(source, "TEXT")
    if found is None:
        raise _Bad("it has no <TEXT>...</TEXT>")
    heading = next((h for tag in ("HEADLINE", "HEAD", "HL", "H3") if (h := _element(source, tag))), None)
    row = {"text": _untagged(found).strip(), "gold": phrases}
    title = squeeze(_untagged(heading)) if heading else None
    return Record(name, title or None, _text(row, ("text",)), _gold(row, ("gold",)))


def _element(source: str, tag: str) -> str | None:
    """What stands in the first element of a name; published runs read no second one."""
    _, _, rest = source.partition(f"<{tag}>")
    inside, end, _ = rest.partition(f"</{tag}>")
    return inside if end else None


def _untagged(text: str) -> str:
    """Mark-up of paragraphs and the like made blank."""
    return re.sub(r"</?[A-Za-z][^<>\n]*>", " ", text)


def _read_pairs(path: Path, texts: str, keys: str, separator: str, titled: bool) -> Iterator[LocatedRow]:
    """Files of text and files of gold that share their names, in one folder or in two."""
    if not path.is_dir():
        raise InputError(f"{path}: a folder with *{texts} and *{keys} is needed.")
    gold: dict[str, Path] = {}
    for file in _files(path, keys):
        gold.setdefault(file.stem, file)
    seen: set[str] = set()
    for file in _files(path, texts):
        seen.add(file.stem)
        yield _made(file, None, _pair, file, gold.get(file.stem), separator, titled)
    for name in sorted(gold.keys() - seen):
        yield gold[name], None, DatasetProblem(gold[name], None, f"there is no {name}{texts} for it")


def _pair(file: Path, key: Path | None, separator: str, titled: bool) -> Record:
    if key is None:
        raise _Bad("there is no gold for it")
    text = _whole(file)
    row = {"text": text.strip(), "gold": _whole(key).replace("\r\n", "\n").split(separator)}
    title = squeeze(text.strip().split("\n")[0]) if titled else None
    return Record(file.stem, title, _text(row, ("text",)), _gold(row, ("gold",)))


def _files(folder: Path, suffix: str) -> list[Path]:
    """The files of a folder and the folders in it, in order, without hidden ones (editors leave copies there)."""
    found = (file for file in folder.rglob(f"*{suffix}") if file.is_file())
    return sorted(f for f in found if not any(part.startswith(".") for part in f.relative_to(folder).parts))


def _whole(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise _Bad(f"{file.name} cannot be read ({error.strerror or error})") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _Bad(f"{file.name} cannot be decoded as UTF-8 in line {line}") from None


def _needs_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path}: a file is needed for this form, not a folder.")


# -- Fields -----------------------------------------------------------------------------------------------------------


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _id(row: Mapping[str, Any], names: Iterable[str] = ("id",)) -> str:
    name = _first(row, names)
    if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
        raise _Bad(f"an id is needed, not {_kind(name)}" if name != "" else "its id is empty")
    return str(name)


def _optional_text(row: Mapping[str, Any], names: Iterable[str]) -> str | None:
    for name in names:
        value = row.get(name)
        if value is not None and not isinstance(value, str):
            raise _Bad(f"its {name} must be a text, not {_kind(value)}")
        if value is not None:
            return value
    return None


def _text(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    text = _optional_text(row, names)
    if text is None or not text.strip():
        raise _Bad(f"its {names[0]} is {'missing' if text is None else 'empty'}")
    return text


def _gold(row: Mapping[str, Any], names: tuple[str, ...], between: str = ";") -> tuple[str, ...]:
    """Phrases in a list, or in one text with marks of `between` between them; blank ones are none."""
    given = _first(row, names)
    if given is None:
        raise _Bad(f"its gold ({' or '.join(names)}) is missing")
    phrases = re.split(f"[{between}]", given) if isinstance(given, str) else given
    if not isinstance(phrases, list | tuple):
        raise _Bad(f"its gold must be a list of phrases, not {_kind(given)}")
    for phrase in phrases:
        if not isinstance(phrase, str):
            raise _Bad(f"its gold holds {_kind(phrase)} among the phrases")
    kept = tuple(squeezed for phrase in phrases if (squeezed := squeeze(phrase)))
    if not kept:
        raise _Bad("its gold is empty")
    return kept


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


def _paper_form(description: str, whole: bool, between: str = ";") -> DatasetFormat:
    return DatasetFormat(
        f"JSON lines with title, abstract, fulltext, keywords; {description}",
        lambda path: _read_json_lines(path, lambda row, number: _paper(row, number, whole=whole, between=between)),
    )


PAPERS: Mapping[str, DatasetFormat] = {
    "nus": _paper_form("abstract and full text are read", True),
    "krapivin": _paper_form("abstract and full text are read", True),
    "semeval2010": _paper_form("the abstract is read", False),
    "kp20k": _paper_form("the abstract is read", False),
    "kptimes": _paper_form("the abstract, which is the article, is read", False, ";,"),  # a comma parts variants
    "stackexchange": _paper_form("the abstract or question is read", False),
    "papers": _paper_form("all of it is read", True),
}
DATASET_FORMATS: Mapping[str, DatasetFormat] = {
    "mudy": DatasetFormat("JSON lines with id, title, text, keyphrases", lambda path: _read_json_lines(path, _ours)),
    "duc2001": DatasetFormat("a folder of files with <TEXT>, and annotations.txt", _read_duc2001),
    "semeval2017": DatasetFormat(
        "docsutf8/*.txt and keys/*.key", lambda path: _read_pairs(path, ".txt", ".key", "\n", titled=False)
    ),
    "inspec": DatasetFormat(
        "*.abstr and *.uncontr", lambda path: _read_pairs(path, ".abstr", ".uncontr", ";", titled=True)
    ),
    "wikihow": DatasetFormat("a CSV with the columns title, text, label", _read_wikihow),
    **PAPERS,
}
