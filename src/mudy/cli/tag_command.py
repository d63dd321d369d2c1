"""The command for notes: keyphrases as tags in the front matter of Markdown files."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mudy.cli import validate
from mudy.cli.console import Screen
from mudy.cli.formats import printable
from mudy.cli.parameters import METHOD, MIN_SCORE, SET, TOP_N, on_machine, settings, with_models
from mudy.errors import InputError, MudyError, VocabularyWarning
from mudy.extractor import DEFAULT_METHOD
from mudy.languages.names import AUTO
from mudy.options import Options
from mudy.readers.file_arguments import matching_files
from mudy.storage import atomic_output
from mudy.validation import TopN
from mudy.vocabularies import Concept, Vocabulary

if TYPE_CHECKING:
    from mudy.front_matter import Note
    from mudy.results import Keyphrase, Result

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
@click.option(
    "-n", "--top-n", **TOP_N, default="5", show_default=True, help="How many tags, with those that are there."
)
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
@click.option("-m", "--method", **METHOD, default=DEFAULT_METHOD, show_default=True, help="See `mudy methods`.")
@with_models
@click.option("--min-score", **MIN_SCORE)
@click.option("--language", default=AUTO, show_default=True, help="As for `mudy extract`.")
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

    NOTES are files, folders or patterns. Tags that a note has stay, and those that other notes have go before new ones,
    so that a folder keeps to its own words. Nothing else of a file changes, not a byte; a file whose front matter
    cannot be read is named and left alone, and the exit code is then 1. Each file is replaced in one step.
    """
    given = validate.vocabulary_option(vocabulary, machine_and_model["language"], None)
    from mudy.extractor import Extractor

    with Screen(quiet) as screen:
        notes, failed = _notes(screen, list(_files(names)), key)
        known = known_tags(notes, key, given)
        if only_known and known is None:
            raise click.UsageError("--only-known, but no note has a tag, and there is no --vocabulary.")
        options = Options(
            top_n, min_score=min_score, vocabulary=known, boost=None if only_known or known is None else boost
        )
        screen.show("Loading")
        extractor = Extractor(method, **machine_and_model, **settings(method, pairs), report=screen.report)
        changed = 0
        for number, (note, outcome) in enumerate(zip(notes, _outcomes(extractor, notes, options), strict=True)):
            screen.show("Tagging", number, len(notes), detail=str(note.path))
            try:
                changed += _tagged(note, outcome, key, keep_spaces, dry_run, screen)
            except MudyError as error:
                failed += 1
                screen.error(f"{note.path}: {error}")
        verb = "would change" if dry_run else "changed"
        screen.warning(f"{changed:,} of {len(notes) + failed:,} notes {verb}.")
    if failed:
        click.get_current_context().exit(1)


# -- Reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note, and the bytes that it was read from."""

    path: Path
    data: bytes
    note: Note


def _files(names: Sequence[str]) -> Iterator[Path]:
    """The files that arguments stand for, each once; of folders the Markdown files, but for hidden ones."""
    found: dict[Path, None] = {}
    for name in names:
        folder = Path(name)
        if folder.is_dir():
            inner = (path for path in sorted(folder.rglob("*")) if path.suffix.lower() in _ENDINGS and path.is_file())
            found.update(dict.fromkeys(path for path in inner if not _is_hidden(path.relative_to(folder))))
        else:
            paths = [Path(path) for path in matching_files(name)]
            if not paths:
                raise InputError(f"{name}: no file matches this pattern.")
            found.update(dict.fromkeys(paths))
    return iter(found)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _notes(screen: Screen, paths: Sequence[Path], key: str) -> tuple[list[NoteFile], int]:
    """The notes that can be read and tagged, and how many cannot."""
    notes, failed = [], 0
    for path in paths:
        try:
            notes.append(read_note(path, key))
        except InputError as error:
            failed += 1
            screen.error(f"{path}: {error}")
    return notes, failed


def read_note(path: Path, key: str) -> NoteFile:
    """InputError for what is no Markdown in UTF-8, or has tags that cannot be read."""
    from mudy.front_matter import Note

    if path.suffix.lower() not in _ENDINGS:
        raise InputError(f"is no Markdown file ({', '.join(_ENDINGS)}).")
    try:
        data = path.read_bytes()
        note = Note.of(data.decode())
    except UnicodeDecodeError:
        raise InputError("is not UTF-8; it is left as it is.") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error}).") from None
    note.tags(key)
    return NoteFile(path, data, note)


def known_tags(notes: Iterable[NoteFile], key: str, vocabulary: Vocabulary | None) -> Vocabulary | None:
    """The tags of all notes, and a vocabulary's labels; None where there are neither."""
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


def _outcomes(extractor: Any, notes: Sequence[NoteFile], options: Options) -> Iterator[Result | Exception]:
    from mudy.many_texts import AskedText, local_outcomes

    return local_outcomes(extractor, (AskedText(note.note.text, options) for note in notes))


def _tagged(file: NoteFile, outcome: Result | Exception, key: str, spaces: bool, dry_run: bool, screen: Screen) -> bool:
    """Add the tags of one note; whether that changes it."""
    if isinstance(outcome, Exception):
        raise (
            outcome if isinstance(outcome, MudyError) else InputError(f"unexpected {type(outcome).__name__}: {outcome}")
        )
    content = file.note.with_tags([tag_of(keyphrase, spaces) for keyphrase in outcome], key)
    if content == file.note.content:
        return False
    with screen.paused():
        click.echo(_diff(file, content) if dry_run else _added(file, content, key), nl=not dry_run)
    if not dry_run:
        write_note(file, content)
    return True


def tag_of(keyphrase: Keyphrase, spaces: bool = False) -> str:
    """A keyphrase as a tag: a known one as it is written elsewhere, a new one in lower case but for acronyms."""
    if keyphrase.concept is not None:
        return keyphrase.concept.label
    words = [word if len(word) > 1 and word.isupper() else word.lower() for word in keyphrase.text.split()]
    return (" " if spaces else "-").join(words)


def write_note(file: NoteFile, content: str) -> None:
    """Replace a file in one step; InputError if it changed since it was read."""
    if file.path.read_bytes() != file.data:
        raise InputError("changed while it was read; it is left as it is.")
    with atomic_output(file.path) as unfinished:
        unfinished.write_bytes(content.encode())


def _diff(file: NoteFile, content: str) -> str:
    before, after = (text.splitlines(keepends=True) for text in (file.note.content, content))
    lines = difflib.unified_diff(before, after, str(file.path), str(file.path), n=2)
    return "".join(printable(line.rstrip("\r\n")) + "\n" for line in lines)


def _added(file: NoteFile, content: str, key: str) -> str:
    from mudy.front_matter import Note

    before, after = file.note.tags(key), Note.of(content).tags(key)
    return printable(f"{file.path}: {', '.join(after[len(before) :])}")
