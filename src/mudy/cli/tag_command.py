"""The command for notes: keyphrases as tags in the front matter of Markdown files."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from glob import has_magic
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mudy._support.storage import check_replaceable, real_path, rewrite
from mudy._support.validation import TopN
from mudy.cli.console import Screen
from mudy.cli.formats import printable
from mudy.cli.parameters import SET, TOP_N, on_machine, settings, vocabulary_option, with_options
from mudy.errors import InputError, MudyError, VocabularyWarning
from mudy.extraction.options import Options, Setup
from mudy.reading.formats import is_pattern, matching_files
from mudy.vocabularies import Concept, Vocabulary

if TYPE_CHECKING:
    from mudy.cli.front_matter import Note
    from mudy.extraction.results import Keyphrase, Result

BOOST = 2.0  # of tags that other notes have
_ENDINGS = (".md", ".markdown", ".mdown")
_EXAMPLES = """
\b
Examples:
  mudy tag notes/ --dry-run
  mudy tag "notes/**/*.md" --top-n 3
  mudy tag notes/ --vocabulary terms.csv --boost 4
"""


@click.command("tag", epilog=_EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="NOTES...")
@click.option("-n", "--top-n", **TOP_N, default="5", show_default=True, help="Tags per note, including existing ones.")
@click.option("--dry-run", is_flag=True, help="Print what would change, as a diff, and write nothing.")
@click.option("--key", default="tags", show_default=True, metavar="NAME", help="The key of the front matter.")
@click.option("--keep-spaces", is_flag=True, help="Write flood wall, not flood-wall: Obsidian allows no spaces.")
@click.option("--vocabulary", metavar="FILE", help="More known tags, as for `mudy extract`.")
@click.option(
    "--boost",
    type=click.FloatRange(0),
    default=BOOST,
    show_default=True,
    help="What known tags, those of all notes given, gain over new ones; see `mudy extract`.",
)
@click.option("--only-known", is_flag=True, help="Write no new tags: only those of other notes and the vocabulary.")
@with_options(Setup, "method", "model", "encoder", "language")
@with_options(Options, "min_score")
@click.option("--set", "pairs", **SET)
@on_machine
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary; errors are still shown.")
def tag_command(
    names: tuple[str, ...],
    top_n: TopN,
    dry_run: bool,
    key: str,
    keep_spaces: bool,
    vocabulary: str | None,
    boost: float,
    only_known: bool,
    method: str,
    min_score: float | None,
    pairs: tuple[str, ...],
    quiet: bool,
    **machine_and_model: Any,
) -> None:
    """Write keyphrases into the front matter of Markdown files, as tags.

    NOTES are files, folders or patterns. Existing tags stay, and tags of other notes are preferred to new ones, so that
    a folder keeps a consistent vocabulary. Nothing else in a file changes, not a byte. A file that cannot be edited
    safely (front matter other than YAML, read-only, hard links, a link out of the folder, changed in the meantime) is
    reported and left alone, and the exit code is then 1. Each file is replaced atomically.
    """
    given = vocabulary_option(vocabulary, machine_and_model["language"], None)
    from mudy.extraction.extractor import Extractor
    from mudy.extraction.outcomes import Item, error_message, outcomes

    with Screen(quiet) as screen:
        files = _files(names)
        notes, failed = _notes(screen, files, key)
        known = known_tags(notes, key, given)
        if only_known and known is None:
            raise click.UsageError("--only-known, but no note has a tag, and there is no --vocabulary.")
        options = Options(
            top_n, min_score=min_score, vocabulary=known, boost=None if only_known or known is None else boost
        )
        screen.show("Loading")
        extractor = Extractor(method, **machine_and_model, **settings(method, pairs), report=screen.report)
        changed = 0
        items = [Item(note, note.note.text, options) for note in notes]
        for number, outcome in enumerate(outcomes(extractor, items)):
            note = outcome.key
            screen.show("Tagging", number, len(notes), detail=str(note.path))
            if isinstance(outcome.result, Exception):
                failed += 1
                screen.error(f"{note.path}: {error_message(outcome.result)}")
                continue
            try:
                content = _tagged(note.note, outcome.result, key, keep_spaces, top_n)
                if content == note.note.content:
                    continue
                check_replaceable(note.place) if dry_run else write_note(note, content)
                changed += 1
                with screen.paused():
                    click.echo(_diff(note, content) if dry_run else _added(note, content, key), nl=not dry_run)
            except MudyError as error:
                failed += 1
                screen.error(f"{note.path}: {error}")
        verb = "would change" if dry_run else "changed"
        screen.warning(f"{changed:,} of {len(files):,} notes {verb}.")
    if failed:
        click.get_current_context().exit(1)


# -- Reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note, and the bytes it was read from."""

    path: Path  # as it was named
    place: Path  # where that leads
    data: bytes
    note: Note


def _files(names: Sequence[str]) -> list[tuple[Path, Path]]:
    """The files named by the arguments, each once, and the folder that links must not lead out of.

    A folder stands for its Markdown files, without hidden ones.
    """
    files: dict[Path, tuple[Path, Path]] = {}
    for name in names:
        folder = Path(name)
        if folder.is_dir():
            inner = (path for path in sorted(folder.rglob("*")) if path.suffix.lower() in _ENDINGS and path.is_file())
            paths = [path for path in inner if not _is_hidden(path.relative_to(folder))]
        else:
            paths, folder = [Path(path) for path in matching_files(name)], _folder(name)
            if not paths:
                raise InputError(f"{name}: no file matches this pattern.")
        for path in paths:
            place = real_path(path)
            files.setdefault(place if _is_within(place, folder) else path, (path, folder))
    return list(files.values())


def _folder(name: str) -> Path:
    """The folder of a file; of a pattern the part of it without wildcards."""
    path = Path(name).expanduser()
    return Path(*takewhile(lambda part: not has_magic(part), path.parts)) if is_pattern(name) else path.parent


def _is_within(place: Path, folder: Path) -> bool:
    return place.is_relative_to(real_path(folder))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _notes(screen: Screen, paths: Iterable[tuple[Path, Path]], key: str) -> tuple[list[NoteFile], int]:
    """The notes that can be read and tagged, and how many cannot."""
    notes, failed = [], 0
    for path, folder in paths:
        try:
            notes.append(read_note(path, key, folder))
        except InputError as error:
            failed += 1
            screen.error(f"{path}: {error}")
    return notes, failed


def read_note(path: Path, key: str, folder: Path) -> NoteFile:
    """InputError for a file that is not Markdown in UTF-8, has unreadable tags, or is a link out of the folder."""
    from mudy.cli.front_matter import Note

    place = real_path(path)
    if not _is_within(place, folder):
        raise InputError(f"is a link to {place}, outside the folder given. Name that file to tag it.")
    if not {path.suffix.lower(), place.suffix.lower()} <= set(_ENDINGS):
        raise InputError(f"is not a Markdown file ({', '.join(_ENDINGS)}).")
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


def known_tags(notes: Iterable[NoteFile], key: str, vocabulary: Vocabulary | None) -> Vocabulary | None:
    """The tags of all notes and the labels of a vocabulary; None if there are neither."""
    tags = {tag.casefold(): tag for note in notes for tag in note.note.tags(key)}
    concepts = [
        *(vocabulary.concepts if vocabulary is not None else ()),
        *(Concept(f"tag {t}", t) for t in tags.values()),
    ]
    if not concepts:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VocabularyWarning)
        return Vocabulary.of(concepts)


# -- Tags -------------------------------------------------------------------------------------------------------------


def _tagged(note: Note, result: Result, key: str, spaces: bool, top_n: TopN) -> str:
    """The content of a note with its tags."""
    total = top_n if top_n is None or isinstance(top_n, int) else len(result)
    return note.with_tags([tag_of(keyphrase, spaces) for keyphrase in result], key, total)


def tag_of(keyphrase: Keyphrase, spaces: bool = False) -> str:
    """A keyphrase as a tag: a known one in its existing form, a new one in lower case except for acronyms.

    A slash becomes a hyphen: in Obsidian and other tools it would put one tag under another.
    """
    if keyphrase.concept is not None:
        return keyphrase.concept.label
    text = "-".join(part.strip() for part in keyphrase.text.split("/") if part.strip())
    words = [word if len(word) > 1 and word.isupper() else word.lower() for word in text.split()]
    return (" " if spaces else "-").join(words)


def write_note(file: NoteFile, content: str) -> None:
    """Replace a file in one step; InputError if it changed since it was read, or must not be replaced."""
    rewrite(file.place, file.data, content.encode())


def _diff(file: NoteFile, content: str) -> str:
    before, after = (text.splitlines(keepends=True) for text in (file.note.content, content))
    lines = difflib.unified_diff(before, after, str(file.path), str(file.path), n=2)
    return "".join(printable(line.rstrip("\r\n")) + "\n" for line in lines)


def _added(file: NoteFile, content: str, key: str) -> str:
    from mudy.cli.front_matter import Note

    before, after = file.note.tags(key), Note.of(content).tags(key)
    return printable(f"{file.path}: {', '.join(after[len(before) :])}")
