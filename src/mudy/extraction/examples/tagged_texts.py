"""Texts with tags: a folder of Markdown notes, or a file of rows. What cannot be read is named and left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mudy._support.storage import real_path
from mudy.errors import InputError, SettingError
from mudy.extraction.examples.exports import table_rows
from mudy.extraction.examples.front_matter import Note
from mudy.extraction.examples.record_formats import files_in, json_rows

NOTE_ENDINGS = (".md", ".markdown", ".mdown")
_ROW_ENDINGS = (".jsonl", ".csv", ".tsv")
KEYS = ("tags", "keywords", "keyphrases")  # fields that hold tags; the first one that is there counts


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text, and the tags that somebody gave it."""

    text: str
    tags: tuple[str, ...]
    path: Path | None = None  # of the note, through all links


def tagged_texts(path: Path) -> tuple[list[TaggedText], list[str]]:
    """The texts of a folder or file that have tags, and for each that cannot be read a sentence that names it."""
    entries = _notes(path) if path.is_dir() else _rows(path)
    texts: list[TaggedText] = []
    problems: list[str] = []
    for entry in entries:
        if isinstance(entry, str):
            problems.append(entry)
        elif entry.tags and entry.text.strip():
            texts.append(entry)
    return texts, problems


def check_history(path: Path) -> None:
    """SettingError for what is neither a folder nor a file of rows."""
    if path.is_dir() or (path.is_file() and path.suffix.lower() in _ROW_ENDINGS):
        return
    wrong = "is not such a file" if path.exists() else "does not exist"
    needed = f"a folder of notes or a file ({', '.join(_ROW_ENDINGS)})"
    raise SettingError(f"history is {path}, which {wrong}; {needed} is needed.")


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note, and the bytes it was read from."""

    path: Path  # as it was named
    place: Path  # where that leads
    data: bytes
    note: Note


def visible_notes(folder: Path) -> list[Path]:
    """The Markdown files of a folder, without hidden ones."""
    return [path for path in files_in(folder) if path.suffix.lower() in NOTE_ENDINGS]


def is_within(place: Path, folder: Path) -> bool:
    return place.is_relative_to(real_path(folder))


def read_note(path: Path, key: str, folder: Path) -> NoteFile:
    """InputError for a file that is not Markdown in UTF-8, has unreadable tags, or is a link out of the folder."""
    place = real_path(path)
    if not is_within(place, folder):
        raise InputError(f"is a link to {place}, outside the folder given. Name that file to tag it.")
    if not {path.suffix.lower(), place.suffix.lower()} <= set(NOTE_ENDINGS):
        raise InputError(f"is not a Markdown file ({', '.join(NOTE_ENDINGS)}).")
    if place.exists() and not place.is_file():
        raise InputError("is not a regular file.")
    try:
        data = place.read_bytes()
        note = Note.of(data.decode())
    except UnicodeDecodeError:
        raise InputError("is not UTF-8; it is left as it is.") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error}).") from None
    note.tags(key)
    return NoteFile(path, place, data, note)


def _notes(folder: Path) -> Iterator[TaggedText | str]:
    for path in visible_notes(folder):
        try:
            file = read_note(path, KEYS[0], folder)
            tags = next((tags for key in KEYS if (tags := file.note.tags(key))), [])
        except InputError as error:
            yield f"{path}: {error}"
        else:
            yield TaggedText(file.note.text, plain_tags(tags), file.place)


def plain_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags without white space around them and the # that some tools write, each in its first spelling."""
    spellings: dict[str, str] = {}
    for tag in tags:
        plain = " ".join(tag.split()).lstrip("#")
        spellings.setdefault(plain.casefold(), plain)
    return tuple(filter(None, spellings.values()))


def _rows(path: Path) -> Iterator[TaggedText | str]:
    """The rows of a file with a column or field `text`, and `tags` as a list or separated by ; | or commas."""
    rows: Iterator[tuple[int, dict[str, Any] | str]]
    rows = json_rows(path) if path.suffix.lower() == ".jsonl" else table_rows(path)
    try:
        for line, row in rows:
            key = next((key for key in KEYS if key in row), None)
            if isinstance(row, dict) and key is not None and isinstance(row.get("text"), str):
                tags = row[key] if isinstance(row[key], str | list) else []
                if isinstance(tags, str):
                    tags = tags.split(next((mark for mark in ";|" if mark in tags), ","))
                yield TaggedText(row["text"], plain_tags(tag for tag in tags if isinstance(tag, str)))
            else:
                yield f"{path}:{line}: {row if isinstance(row, str) else 'has no `text` and `tags`'}."
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from None
