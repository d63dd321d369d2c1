"""What a command is told to read and to write: checked, with clear words, before any work is done."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import click

from mudy._support.storage import same_file
from mudy.candidates import MAX_PHRASE_WORDS, CandidateKind
from mudy.cli import formats, sources
from mudy.errors import InputError, SettingError, VocabularyWarning
from mudy.extraction.options import Options
from mudy.reading.languages import AUTO
from mudy.vocabularies import Vocabulary


def text_sources(files: tuple[str, ...], text: str | None) -> list[sources.Source]:
    """Where texts come from: a text that was given itself, files, or else standard input."""
    if text is not None:
        if files:
            raise click.UsageError("--text and FILES cannot be given together.")
        return [sources.Source("--text", text=text)]
    if not files:
        if sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError("No input: give files, or - to type a text, or --text, or pipe a text in.")
        files = (sources.STDIN,)
    if files.count(sources.STDIN) > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    return list(sources.sources(files))


def check_output(target: formats.Output, files: Iterable[str | None]) -> None:
    """The output can be written, and is none of the files that are read, through whatever links."""
    target.check()
    if target.path is None or not target.path.is_file():
        return
    for name in filter(None, files):
        if _is_input(name, target.path):
            raise click.UsageError(f"{target.option} {target.path} is also an input ({name}); it would be overwritten.")


def _is_input(name: str, output: Path) -> bool:
    if name != sources.STDIN:
        return same_file(name, output)
    try:
        return os.path.samestat(os.fstat(sys.stdin.fileno()), output.stat())
    except (OSError, ValueError, AttributeError):  # it is closed, or no file at all
        return False


PHRASE_FILES = ("candidates", "stop_phrases", "vocabulary")  # the options that may name a file of phrases


def options(given: dict[str, Any], encoding: str | None = None) -> Options:
    """What is asked of each text; candidates, stop phrases and a vocabulary are read from their files.

    All of it is taken out of what a command was given; what is left names the machine and the models.
    """
    candidates, stop_phrases, vocabulary = (given.pop(name) for name in PHRASE_FILES)
    max_words = given.pop("max_candidate_words")
    kind = candidates if candidates in get_args(CandidateKind) else None
    if max_words and (kind != candidates or given["protocol"]):
        raise click.UsageError("--max-candidate-words has no effect on --candidates or under a --protocol.")
    ranked: Any = kind or phrases_option("--candidates", candidates, encoding)
    return Options(
        candidates=ranked,
        stop_phrases=phrases_option("--stop-phrases", stop_phrases, encoding) or (),
        max_candidate_words=max_words or MAX_PHRASE_WORDS,
        merge=not given.pop("no_merge"),
        vocabulary=vocabulary_option(vocabulary, given["language"], encoding),
        top_n=given.pop("top_n", None),
        **{name: given.pop(name) for name in ("diversity", "min_score", "distinct", "boost", "near") if name in given},
    )


def vocabulary_option(path: str | None, language: str, encoding: str | None) -> Vocabulary | None:
    """The vocabulary of a file, in the language of the texts; its notes are for the command to show."""
    if path is None:
        return None
    code = "en" if language == AUTO else language.partition("_")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VocabularyWarning)
        try:
            return Vocabulary.load(path, language=code if code.isalpha() else "en", encoding=encoding)
        except (InputError, SettingError) as error:
            raise click.BadParameter(str(error), param_hint="'--vocabulary'") from error


def phrases_option(option: str, path: str | None, encoding: str | None) -> list[str] | None:
    """The phrases of a file that an option names, if it names one."""
    if path is None:
        return None
    try:
        return sources.phrases_in(path, encoding)
    except InputError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint=f"'{option}'") from error
