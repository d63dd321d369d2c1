"""The command for notes: keyphrases as tags in the front matter of Markdown files."""

import difflib
import warnings
from collections.abc import Iterable, Sequence
from glob import has_magic
from itertools import takewhile
from pathlib import Path
from typing import Any

import click

from mudy._support.storage import check_replaceable, real_path, rewrite
from mudy._support.validation import TopN
from mudy.cli import parameters
from mudy.cli.main import Screen, cli, made_extractor, printable
from mudy.errors import InputError, VocabularyWarning
from mudy.extraction.examples.front_matter import Note, NoteFile, is_within, read_note, visible_notes
from mudy.extraction.options import Options, Setup
from mudy.extraction.outcomes import FATAL, Item, error_message, outcomes
from mudy.extraction.results import Keyphrase, Result
from mudy.reading.candidates.vocabularies import Concept, Vocabulary
from mudy.reading.formats import is_pattern, matching_files

BOOST = 2.0  # of tags that other notes have
_EXAMPLES = """
\b
Examples:
  mudy tag notes/ --dry-run
  mudy tag "notes/**/*.md" --top-n 3
  mudy tag notes/ --vocabulary terms.csv --boost 4
  mudy tag notes/inbox --history notes/
"""


@cli.command("tag", epilog=_EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="NOTES...")
@parameters.declared_option(Options, "top_n", default="5", help="Tags per note, including existing ones.")
@click.option("--dry-run", is_flag=True, help="Print what would change, as a diff, and change no note.")
@click.option("--key", default="tags", metavar="NAME", help="The key of the front matter.")
@click.option("--keep-spaces", is_flag=True, help="Write flood wall, not flood-wall: Obsidian allows no spaces.")
@click.option("--vocabulary", metavar="FILE", help="More known tags, as for `mudy extract`.")
@click.option(
    "--boost",
    type=click.FloatRange(0),
    help=f"How much known tags (those of all given notes) gain over new ones.  [default: {BOOST:g}; 0 with --history]",
)
@click.option("--only-known", is_flag=True, help="Write no new tags: only those of other notes and the vocabulary.")
@parameters.with_method
@parameters.with_options(Setup, "model", "encoder", "language", "examples", "history")
@parameters.with_options(Options, "min_score")
@parameters.with_settings
@parameters.on_machine
@parameters.with_quiet
def tag_command(
    names: tuple[str, ...],
    top_n: TopN,
    dry_run: bool,
    key: str,
    keep_spaces: bool,
    vocabulary: str | None,
    boost: float | None,
    only_known: bool,
    min_score: float | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Write keyphrases into the front matter of Markdown files, as tags.

    NOTES are files, folders or patterns. Existing tags stay, and tags of other notes are preferred to new ones, so that
    a folder keeps a consistent vocabulary. With --history, which may be the same folder, tags of similar notes are
    written too, even if a note does not name them; vectors of the notes are kept there in .mudy-history.npz.

    Nothing else in a file changes, not a byte. A file that cannot be edited safely (front matter other than YAML,
    read-only, linked, changed in the meantime) is reported and left alone, and the exit code is then 1.
    """
    setup = parameters.given_setup(given)
    vocabulary_given = parameters.vocabulary_option(vocabulary, given["language"], None)
    with Screen(quiet) as screen:
        files = _files(names)
        notes: list[NoteFile] = []  # that can be read and tagged
        for path, folder in files:
            try:
                notes.append(read_note(path, key, folder))
            except InputError as error:
                screen.error(f"{path}: {error}")
        known = known_tags(notes, key, vocabulary_given)
        if only_known and known is None:
            raise click.UsageError("--only-known, but no note has a tag, and there is no --vocabulary.")
        usual = BOOST if given["history"] is None else 0.0
        boost_given = None if only_known or known is None else usual if boost is None else boost
        options = Options(top_n, min_score=min_score, vocabulary=known, boost=boost_given)
        screen.show("Loading")
        extractor = made_extractor(screen, **setup)
        failed, changed = len(files) - len(notes), 0
        items = [Item(note, note.note.text, options.changed({"source": str(note.path)})) for note in notes]
        for number, outcome in enumerate(outcomes(extractor, items)):
            screen.show("Tagging", number, len(notes), detail=str(outcome.key.path))
            try:
                change = tag_note(outcome.key, outcome.value, key, top_n, keep_spaces, dry_run)
            except FATAL:
                raise
            except Exception as error:  # of whatever kind: the other notes are still tagged
                failed += 1
                screen.error(f"{outcome.key.path}: {error_message(error)}")
                continue
            changed += bool(change)
            with screen.paused():
                click.echo(change, nl=False)
        verb = "would change" if dry_run else "changed"
        screen.warning(f"{changed:,} of {len(files):,} notes {verb}.")
    if failed:
        click.get_current_context().exit(1)


def _files(names: Sequence[str]) -> list[tuple[Path, Path]]:
    """The files named by the arguments, each once, and the folder that links must not lead out of.

    A folder stands for its Markdown files, without hidden ones; of a pattern the part without wildcards is the folder.
    """
    files: dict[Path, tuple[Path, Path]] = {}
    for name in names:
        folder = Path(name)
        if folder.is_dir():
            paths = visible_notes(folder)
        else:
            paths, named = [Path(path) for path in matching_files(name)], Path(name).expanduser()
            plain = takewhile(lambda part: not has_magic(part), named.parts)
            folder = Path(*plain) if is_pattern(name) else named.parent
            if not paths:
                raise InputError(f"{name}: no file matches this pattern.")
        for path in paths:
            place = real_path(path)
            files.setdefault(place if is_within(place, folder) else path, (path, folder))
    return list(files.values())


def known_tags(notes: Iterable[NoteFile], key: str, vocabulary: Vocabulary | None) -> Vocabulary | None:
    """The tags of all notes and the labels of a vocabulary; None if there are neither."""
    tags = {tag.casefold(): tag for note in notes for tag in note.note.tags(key)}
    concepts = list(vocabulary.concepts) if vocabulary is not None else []
    concepts += [Concept(f"tag {tag}", tag) for tag in tags.values()]
    if not concepts:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VocabularyWarning)
        return Vocabulary.of(concepts)


def tag_note(file: NoteFile, result: Result, key: str, top_n: TopN, spaces: bool, dry_run: bool) -> str:
    """Add keyphrases to a note, and return the change: the new tags, or a diff in a dry run, which writes nothing.

    InputError if the file changed since it was read, or must not be replaced.
    """
    total = top_n if top_n is None or isinstance(top_n, int) else len(result)
    content = file.note.with_tags([tag_of(keyphrase, spaces) for keyphrase in result], key, total)
    if content == file.note.content:
        return ""
    if dry_run:
        check_replaceable(file.place)
        before, after = (text.splitlines(keepends=True) for text in (file.note.content, content))
        lines = difflib.unified_diff(before, after, str(file.path), str(file.path), n=2)
        return "".join(printable(line.rstrip("\r\n")) + "\n" for line in lines)
    rewrite(file.place, file.data, content.encode())
    added = Note.of(content).tags(key)[len(file.note.tags(key)) :]
    return printable(f"{file.path}: {', '.join(added)}") + "\n"


def tag_of(keyphrase: Keyphrase, spaces: bool = False) -> str:
    """A keyphrase as a tag: a known one in its existing form, a new one in lower case except for acronyms.

    A slash becomes a hyphen: in Obsidian and other tools it would put one tag under another.
    """
    if keyphrase.concept is not None:
        return keyphrase.concept.label
    text = "-".join(part.strip() for part in keyphrase.text.split("/") if part.strip())
    words = [word if len(word) > 1 and word.isupper() else word.lower() for word in text.split()]
    return (" " if spaces else "-").join(words)
