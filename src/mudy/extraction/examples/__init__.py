"""Texts with the keyphrases that somebody gave them, from the user's files or from Python.

Nothing is downloaded. A reader of a format yields every row as its file, its line, and a function that makes the record
or raises InputError: a bad row becomes a `Problem`, and the good ones are kept.
"""

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from mudy._support.validation import checked, phrases, seen, several
from mudy.errors import InputError, SettingError, unknown
from mudy.reading.document import Block, squeeze

LEAST, MOST = 3, 200  # examples that weights are adapted to
_QUOTED_PROBLEMS = 3  # problems quoted where nothing is usable


@dataclass(frozen=True, slots=True)
class Record:
    """One document. Gold phrases are as in the source: in its order and case, with its duplicates."""

    id: str
    title: str | None
    text: str
    keyphrases: tuple[str, ...]
    blocks: tuple[Block, ...] | None = None  # of a file that was read; None: they are detected in the text


Row = tuple[Path, int | None, Callable[[], Record]]  # its file and line (from 1; None for a whole file), and the record


@dataclass(frozen=True, slots=True)
class Problem:
    """A row or file that was left out, and why."""

    file: Path
    line: int | None  # from 1; None for the whole file
    reason: str

    def __str__(self) -> str:
        return f"{self.file}{f':{self.line}' if self.line is not None else ''}: {self.reason}"


Loaded = tuple[str, list[Record], list[Problem]]  # the format, the documents, and the rows that could not be read


def load_records(path: str | Path, form: str | None = None, limit: int | None = None) -> Loaded:
    """The documents in a file or folder; `form` is detected from the contents by default.

    `limit` stops after that many good documents. Raises InputError where nothing is usable.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"path is {seen(path)}, but must be the path of a file or folder.")
    path = Path(path)
    limit = checked("limit", limit, int | None, least=1)
    form = checked("form", form, str | None)
    if form is not None and form not in DATASET_FORMATS:
        raise SettingError(unknown("format of data sets", form, DATASET_FORMATS))
    if not os.path.exists(path):  # noqa: PTH110 (raises nothing, however long the name is)
        raise InputError(f"{path}: no such file or folder.")
    try:
        chosen = form or recognised(path)
        if chosen is None:
            known = ", ".join(DATASET_FORMATS)
            raise InputError(
                f"{path}: not a data set in a known format. Each row needs `text` and `keyphrases`, or name a format: "
                f"{known}."
            )
        documents, problems = _records(DATASET_FORMATS[chosen](path), limit)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from error
    if not documents:
        reasons = "; ".join(map(str, problems[:_QUOTED_PROBLEMS])) or "it is empty"
        raise InputError(f"{path}: read as {chosen}, it holds no usable document: {reasons}.")
    return chosen, documents, problems


def _records(rows: Iterable[Row], limit: int | None) -> tuple[list[Record], list[Problem]]:
    """The first good documents, each id once, and the problems on the way to them."""
    documents: dict[str, Record] = {}
    problems: list[Problem] = []
    for file, line, make in rows:
        try:
            record = make()
            if record.id in documents:
                raise InputError(f"the id {record.id!r} occurred before")
        except InputError as error:
            problems.append(Problem(file, line, str(error)))
            continue
        documents[record.id] = record
        if len(documents) == limit:
            break
    return list(documents.values()), problems


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts with keyphrases that show what is wanted, and what was wrong with others."""

    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: Any) -> "Examples":
        """Those of a file or folder, or of pairs of a text and its keyphrases; InputError for fewer than LEAST."""
        if isinstance(value, Examples):
            return value
        records, notes = _loaded(value) if isinstance(value, str | Path) else (_pairs(value), [])
        joined = _joined(records)
        if len(joined) < len(records):
            notes.append(f"texts given more than once, phrases joined: {len(records) - len(joined):,}")
        if len(joined) < LEAST:
            number = "1 example was given" if len(joined) == 1 else f"{len(joined)} examples were given"
            problems = f" ({notes[0]})" if notes else ""
            raise InputError(f"{number}{problems}, but at least {LEAST} different texts with phrases are needed.")
        if len(joined) > MOST:
            notes.append(f"{MOST} of the {len(joined):,} examples are used, evenly spaced; `mudy fit` uses all")
            joined = [joined[place * len(joined) // MOST] for place in range(MOST)]
        return cls(tuple(joined), tuple(notes))

    def __repr__(self) -> str:
        return f"<{len(self.records)} examples>"


def _loaded(path: str | Path) -> tuple[Sequence[Record], list[str]]:
    _, records, problems = load_records(path)
    quoted = "; ".join(map(str, problems[:_QUOTED_PROBLEMS]))
    return records, [f"rows that could not be used: {len(problems):,} ({quoted})"] if problems else []


def _pairs(value: Any) -> list[Record]:
    records = []
    for number, pair in enumerate(several("examples", value, "pairs of a text and its phrases")):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InputError(f"examples[{number}] is {seen(pair)}, but must be a pair of a text and its phrases.")
        text, listed = pair
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"examples[{number}]: the text is {seen(text)}, but must be a str that is not blank.")
        gold = tuple(phrase.strip() for phrase in phrases(f"examples[{number}]", listed) if phrase.strip())
        if not gold:
            raise InputError(f"examples[{number}] has no phrases. Leave it out, or add the phrases of its text.")
        records.append(Record(str(number), None, text, gold))
    return records


def _joined(records: Iterable[Record]) -> list[Record]:
    """Each text once, with the phrases of all records that have it."""
    texts: dict[str, Record] = {}
    for record in records:
        known = texts.setdefault(record.text, record)
        both = tuple(dict.fromkeys((*known.keyphrases, *record.keyphrases)))
        texts[record.text] = replace(known, keyphrases=both)
    return list(texts.values())


# -- Formats: which are known, how one is detected, and how each is read ----------------------------------------------

_INSPECTED_LINES = 100  # lines of a file from which its format is detected
ABSTRACTS = ("abstract", "question", "body")  # what the releases call the text, the gold, and a paper's remainder
KEYWORDS = ("keywords", "keyword", "tags", "keyphrases")
FULL_TEXTS = ("fulltext", "full_text")
NEEDED = {  # by rows of our format, and what others call it
    "text": (*ABSTRACTS, *FULL_TEXTS, "content", "document", "abstractnote"),
    "keyphrases": (*KEYWORDS[:-1], "keyphrase", "labels", "label", "gold", "phrases", "manualtags"),
}
NOT_UTF8 = "cannot be decoded as UTF-8"


def bad(reason: str) -> NoReturn:
    raise InputError(reason)


def recognised(path: Path) -> str | None:
    """The format of a file or folder, detected from its contents; None where it is unknown."""
    if path.is_dir():
        endings = {".key": "semeval2017", ".md": "notes"}
        return next((form for ending, form in endings.items() if files_in(path, ending)), None)
    if form := {".bib": "bibtex", ".xlsx": "table", ".tsv": "table"}.get(path.suffix.lower()):
        return form
    forms = (_form_of_line(line, path) for _, line in islice(_lines(path), _INSPECTED_LINES) if line is not None)
    return next(filter(None, forms), None)


def _form_of_line(line: str, path: Path) -> str | None:
    row = _json_object(line)
    if isinstance(row, str):
        columns = next(csv.reader([line]), [])
        return "wikihow" if {"text", "label"} <= set(columns) else "table" if path.suffix.lower() == ".csv" else None
    if "text" in row and "keyphrases" in row:
        return "mudy"
    if _first(row, ABSTRACTS + FULL_TEXTS) is None or _first(row, KEYWORDS) is None:
        return None
    named = set_name(path.name) or set_name(path.absolute().parent.name)
    return named if named in PAPERS else "papers"


def _read_json_lines(path: Path, make: Callable[[dict[str, Any], int], Record]) -> Iterator[Row]:
    if path.is_dir():
        raise InputError(f"{path}: this format needs a file, not a folder.")
    for number, row in json_rows(path):
        yield path, number, partial(bad, row) if isinstance(row, str) else partial(make, row, number)


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The number of each line that is not blank, and its object, or what is wrong with it."""
    for number, line in _lines(path):
        if line is None or line.strip():
            yield number, NOT_UTF8 if line is None else _json_object(line)


def _json_object(line: str) -> dict[str, Any] | str:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:
        return f"not JSON that can be read: {error}"
    return row if isinstance(row, dict) else f"a JSON object is needed, not {_kind(row)}"


def record_of(row: Mapping[str, Any], number: int) -> Record:
    """A row of our format; without an id it has its number."""
    text = _optional_text(row, ("text",))
    if not text or not text.strip():
        bad(f"its text is {'missing' if text is None else 'empty'}")
    return Record(_id(row, ("id",), number), _optional_text(row, ("title",)), text, _gold(row, ("keyphrases",)))


def _paper(row: dict[str, Any], number: int, *, whole: bool, between: str) -> Record:
    """A row of the OpenNMT-kpg kind. Published runs read the abstract, and for some sets the full text after it."""
    parts = [_optional_text(row, ABSTRACTS), _optional_text(row, FULL_TEXTS) if whole else None]
    text = " ".join(part for part in parts if part and part.strip())
    if not text:
        bad(f"a text is needed under {' or '.join(ABSTRACTS + (FULL_TEXTS if whole else ()))}")
    name = _id(row, ("id", "name"), number)
    return Record(name, _optional_text(row, ("title",)), text, _gold(row, KEYWORDS, between))


def _lines(path: Path) -> Iterator[tuple[int, str | None]]:
    """Number and text of each line, None for one that is not UTF-8; a byte-order mark is removed."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                yield number, None


def _read_pairs(path: Path) -> Iterator[Row]:
    """Files of text (.txt) and of gold (.key, one phrase per line) that share their names, in one folder or in two."""
    if not path.is_dir():
        raise InputError(f"{path}: a folder with *.txt and *.key is needed.")
    gold: dict[str, Path] = {}
    for file in files_in(path, ".key"):
        gold.setdefault(file.stem, file)
    texts = files_in(path, ".txt")
    for file in texts:
        yield file, None, partial(_pair, file, gold.get(file.stem))
    for name in sorted(gold.keys() - {file.stem for file in texts}):
        yield gold[name], None, partial(bad, f"there is no {name}.txt for it")


def _pair(file: Path, key: Path | None) -> Record:
    if key is None:
        bad("there is no gold for it")
    gold = decoded(key).replace("\r\n", "\n").split("\n")
    return record_of({"id": file.stem, "text": decoded(file).strip(), "keyphrases": gold}, 0)


def files_in(folder: Path, suffix: str = "") -> list[Path]:
    """The files in a folder and its subfolders, in order, without hidden ones (editors leave copies there)."""
    files = (file for file in folder.rglob(f"*{suffix}") if file.is_file())
    return sorted(f for f in files if not any(part.startswith(".") for part in f.relative_to(folder).parts))


def decoded(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file.name} cannot be read ({error.strerror or error})") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{file.name} {NOT_UTF8} in line {line}") from None


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _id(row: Mapping[str, Any], names: Iterable[str], number: int) -> str:
    name = _first(row, names)
    name = number if name is None else name
    if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
        bad(f"an id is needed, not {_kind(name)}" if name != "" else "its id is empty")
    return str(name)


def _optional_text(row: Mapping[str, Any], names: Iterable[str]) -> str | None:
    for name in names:
        value = row.get(name)
        if isinstance(value, str):
            return value
        if value is not None:
            bad(f"its {name} must be a text, not {_kind(value)}")
    return None


def _gold(row: Mapping[str, Any], names: tuple[str, ...], between: str = ";") -> tuple[str, ...]:
    """The gold phrases of a list, or of one text with one of the characters `between` them; blank ones are dropped."""
    given = _first(row, names)
    if given is None:
        bad(f"its gold ({' or '.join(names)}) is missing")
    phrases = re.split(f"[{between}]", given) if isinstance(given, str) else given
    if not isinstance(phrases, list | tuple):
        bad(f"its gold must be a list of phrases, not {_kind(given)}")
    for phrase in phrases:
        if not isinstance(phrase, str):
            bad(f"its gold holds {_kind(phrase)} among the phrases")
    return tuple(squeezed for phrase in phrases if (squeezed := squeeze(phrase))) or bad("its gold is empty")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


Reader = Callable[[Path], Iterator[Row]]


def _papers(*, whole: bool, between: str = ";") -> Reader:
    """JSON lines with title, abstract, fulltext and keywords; `whole`: the full text is read after the abstract."""
    return partial(_read_json_lines, make=partial(_paper, whole=whole, between=between))


def _read_export(path: Path, form: str) -> Iterator[Row]:
    from mudy.extraction.examples.exports import EXPORTS

    return EXPORTS[form](path)


PAPERS: Mapping[str, Reader] = {
    "nus": _papers(whole=True),
    "krapivin": _papers(whole=True),
    "semeval2010": _papers(whole=False),
    "kp20k": _papers(whole=False),
    "kptimes": _papers(whole=False, between=";,"),  # the abstract is the article; a comma: variants
    "stackexchange": _papers(whole=False),
}
PUBLISHED: Mapping[str, Reader] = {
    "semeval2017": _read_pairs,  # docsutf8, keys
    "wikihow": partial(_read_export, form="wikihow"),
    **PAPERS,
}
DATASET_FORMATS: Mapping[str, Reader] = {
    "mudy": partial(_read_json_lines, make=record_of),
    **PUBLISHED,
    "papers": _papers(whole=True),
    **{name: partial(_read_export, form=name) for name in ("table", "bibtex", "notes")},
}
SETS = ("duc2001", "inspec", *PUBLISHED)  # known by name; the first two are read in any of the formats


def set_name(name: str) -> str | None:
    """The published data set that a name begins with: "SemEval-2017_es" belongs to semeval2017, "nusantara" to none."""
    plain = re.sub(r"[\s_-](?=\d)", "", name.lower())
    return next((known for known in SETS if re.match(rf"{known}(?![a-z0-9])", plain)), None)
