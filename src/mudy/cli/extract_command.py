"""The command `mudy extract`: a failure stays with its input, and the others are still written."""

import csv
import io
import os
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

import click

from mudy._support.callbacks import reported_to
from mudy._support.storage import atomic_write, dump_json, same_file
from mudy.cli import main, parameters
from mudy.cli.main import Output, Screen, cli, first_names, first_phrases, made_extractor, printable, text_table
from mudy.cli.parameters import Source, text_sources
from mudy.engines import may_have_gpu
from mudy.errors import InputError, MissingExtra, MudyError
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import Options, Setup
from mudy.extraction.outcomes import FATAL, Item, Outcome, error_message, outcomes
from mudy.extraction.results import Keyphrase, Result, keyphrase_row, number_of
from mudy.methods import is_batched
from mudy.reading.formats import is_pattern

_Numbered = tuple[int, Source]  # an input and its number
MANY = 50  # inputs, from which on worker processes are worth their start

OUTPUT_FORMATS = ("table", "json", "jsonl", "csv")
CSV_COLUMNS = ("source", "rank", "text", "score", "variants", "start", "end", "page", "occurrences")
CONCEPT_COLUMNS = ("concept_id", "concept_label", "concept_match", "concept_similarity")


@cli.command("extract")
@click.argument("files", nargs=-1, metavar="[FILES|-]...")
@click.option("--text", help="Extract from this text instead of files.")
@parameters.with_method
@parameters.with_options(Setup, without=["method"])
@parameters.with_options(Options)
@parameters.with_focus
@parameters.with_settings
@click.option("-f", "--format", "form", type=click.Choice(OUTPUT_FORMATS), default="table")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@click.option("--save-text", metavar="FOLDER", help="Save the texts that offsets refer to here, as NAME.txt.")
@parameters.with_encoding
@click.option("--workers", **parameters.COUNT, help=f"Worker processes.  [default: 1; one per CPU from {MANY} inputs]")
@parameters.on_machine
@parameters.with_quiet
def extract_command(
    files: tuple[str, ...],
    text: str | None,
    form: str,
    output: str | None,
    save_text: str | None,
    encoding: str | None,
    workers: int | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Print the keyphrases of texts.

    FILES are text files, patterns such as "docs/*.txt" (with ** for nested folders), or - for standard input, which is
    also read when no file is given. Mark-up, mail, notebooks and office files are read too, and with the extra
    `readers` PDF and HTML.

    An input that fails is named on standard error and left out; the exit code is then 1. JSON is an object for one
    input, and a list for several or for a pattern; with jsonl each object is written as soon as it is ready. Offsets
    count characters (Unicode code points) of the file, without a byte-order mark.
    """
    inputs = text_sources(files, text)
    target = Output(None if output == "-" else output, streaming=form == "jsonl")
    read = [source.name for source in inputs if source.text is None] + [given[name] for name in parameters.PHRASE_FILES]
    target.check(read)
    texts = Texts(save_text, read) if save_text is not None else None
    options = parameters.given_options(given, encoding)
    if options.per_section and form == "csv":
        raise click.UsageError("--per-section has no effect on csv; use --format table, json or jsonl.")
    several = len(inputs) > 1 or any(map(is_pattern, files))
    concepts = options.concepts is not None or given["history"] is not None
    written_as = ResultFormat(form, several, target.terminal, concepts=concepts)
    arguments = parameters.given_setup(given)
    with Screen(quiet) as screen:
        run = ExtractRun(screen, written_as, target, options, texts, len(inputs))
        with target:
            run.run(arguments, inputs, encoding, workers)
        run.warn()
    if run.failed:
        click.get_current_context().exit(1)


@dataclass
class ExtractRun:
    screen: Screen
    form: "ResultFormat"
    target: Output
    options: Options
    texts: "Texts | None"  # where the texts that offsets refer to are kept
    total: int  # inputs
    failed: int = 0
    _at_work: Sequence[Item[_Numbered]] = ()
    _missing: list[set[str]] = field(default_factory=list)
    _dropped: list[str] = field(default_factory=list)
    _warnings: dict[str, list[str]] = field(default_factory=dict)  # each with the inputs that it is about

    def run(self, given: dict[str, Any], sources: Sequence[Source], encoding: str | None, workers: int | None) -> None:
        warn_of_vocabulary(self.screen, self.options)
        self.screen.show(f"Loading {given['model']}")
        extractor = made_extractor(self.screen, **given)
        items = self._items(sources, encoding)
        workers = workers or default_workers(extractor, self.total)
        computed = outcomes(extractor, items, workers=workers if self.total > 1 else 1, began=self._begin)
        with closing(computed), reported_to(self._show):
            for outcome in computed:
                self._finish(outcome)
        self._write(self.form.end())

    def _items(self, sources: Sequence[Source], encoding: str | None) -> Iterator[Item[_Numbered]]:
        for numbered in enumerate(sources):
            _, source = numbered
            try:
                reading = source.read(encoding)
            except (InputError, MissingExtra) as error:
                yield Item(numbered, error)
            else:
                placed = {"source": source.label, "pages": reading.pages, "blocks": reading.blocks}
                yield Item(numbered, reading.text, self.options.changed(placed))

    def _finish(self, outcome: Outcome[_Numbered]) -> None:
        """Write a result; its warnings are kept for the end."""
        _, source = outcome.key
        try:
            result = outcome.value
            written = self.form.one(result)
            if self.texts is not None:
                self.texts.keep(source, result.text)
        except FATAL:
            raise
        except Exception as error:  # of whatever kind: the other inputs are still written
            self.failed += 1
            if main.debugging() and not isinstance(error, MudyError):
                traceback.print_exception(error)
            self.screen.error(f"{source.shown_name}: {error_message(error)}")
            return
        if self.options.candidates is not None:
            self._missing.append(set(result.not_found))
        self._dropped += result.dropped
        for warning in result.warnings:
            self._warnings.setdefault(warning, []).append(source.shown_name)
        self._write(written)

    def _write(self, text: str) -> None:
        with self.screen.paused() if self.target.terminal else nullcontext():
            self.target.write(text)

    def _begin(self, items: Sequence[Item[_Numbered]]) -> None:
        self._at_work = items
        self._show()

    def _show(self, share: float = 0.0) -> None:
        if not self._at_work:  # the models are being loaded
            return
        (done, first), (last, _) = self._at_work[0].key, self._at_work[-1].key
        amount = f"{done:,} of {self.total:,}" if self.total > 1 else f"{share:.0%}"
        more = f" and {len(self._at_work) - 1:,} more" if len(self._at_work) > 1 else ""
        thousandths = round(1000 * (done + share * (last + 1 - done)))
        self.screen.show("Extracting", thousandths, 1000 * self.total, amount=amount, detail=first.name + more)

    def warn(self) -> None:
        """Print every warning once, with its inputs, and phrases that occur in none of the texts."""
        for warning, names in self._warnings.items():
            self.screen.warning(f"{first_names(names)}: {warning}")
        if self.options.phrases == ():
            self.screen.warning("the file of --candidates contains no phrases, so there are no keyphrases")
        nowhere = set.intersection(*self._missing) if self._missing else set()
        if absent := [phrase for phrase in self.options.candidates or () if phrase in nowhere]:
            where = "the text" if len(self._missing) == 1 else "any of the texts"
            self.screen.warning(f"candidates not found in {where}: {first_phrases(absent)}")
        if self._dropped:
            count, phrases = number_of(len(self._dropped), "phrase"), first_phrases(self._dropped)
            self.screen.warning(f"{count} of the model not in the text, or excluded: {phrases}")


def default_workers(extractor: Extractor, inputs: int) -> int:
    """One per CPU for many inputs: one text on several threads leaves them idle while it is tagged and ranked."""
    from mudy._support.onnx import default_threads

    compute = extractor.compute
    alone = compute.threads or compute.device not in (None, "cpu") or may_have_gpu() or extractor.history is not None
    return 1 if inputs < MANY or alone or not is_batched(extractor.method) else default_threads()


def warn_of_vocabulary(screen: Screen, options: Options) -> None:
    for note in options.concepts.notes if options.concepts is not None else ():
        screen.warning(f"vocabulary: {note}")


@dataclass
class ResultFormat:
    """Results as text, in one of OUTPUT_FORMATS; JSON is written at the end, so that it is whole or absent."""

    name: str
    several: bool  # more than one result may come
    terminal: bool  # a person looks on
    concepts: bool = False  # CSV has columns for them
    _begun: bool = False
    _results: list[dict[str, Any]] = field(default_factory=list)  # for JSON

    def one(self, result: Result) -> str:
        forms = {"table": self._table, "json": self._json, "jsonl": self._json_line, "csv": self._csv}
        written = forms[self.name](result)
        self._begun = True
        return written

    def end(self) -> str:
        if not self._results:
            return ""
        return dump_json(self._results if self.several else self._results[0], indent=2) + "\n"

    def _json_line(self, result: Result) -> str:
        return dump_json(result.to_dict()) + "\n"

    def _json(self, result: Result) -> str:
        self._json_line(result)  # what cannot be written fails here, alone
        self._results.append(result.to_dict())
        return ""

    def _csv(self, result: Result) -> str:
        """One row per keyphrase, at its best occurrence."""
        lines = io.StringIO()
        columns = CSV_COLUMNS + CONCEPT_COLUMNS if self.concepts else CSV_COLUMNS
        rows = csv.DictWriter(lines, columns, extrasaction="ignore", lineterminator="\n")
        if not self._begun:
            rows.writeheader()
        for keyphrase in result.keyphrases:
            variants = ";".join(keyphrase.variants)
            rows.writerow({"source": result.source, **keyphrase_row(keyphrase), "variants": variants})
        return lines.getvalue()

    def _table(self, result: Result) -> str:
        phrases = result.keyphrases
        columns = {
            "#": [str(phrase.rank) for phrase in phrases],
            "Keyphrase": [phrase.text for phrase in phrases],
            "Score": [f"{phrase.score:.4f}" for phrase in phrases],
            "Count": [str(len(phrase.occurrences)) for phrase in phrases],
            "Also as": ["; ".join(phrase.variants) for phrase in phrases],
            "Concept": [_concept(phrase) for phrase in phrases],
        }
        filled = {name: cells for name, cells in columns.items() if any(cells)}
        parts = ["\n"] if self._begun else []
        if self.several:
            parts.append(f"{printable(result.source or '')}\n")
        table = text_table([*filled], zip(*filled.values(), strict=True), {"#", "Score", "Count"}, self.terminal)
        parts.append(table if phrases else "No keyphrases.\n")
        if not result.coverage.complete:
            parts.append(f"{result.coverage}.\n")
        if len(result.sections) > 1:
            rows = [
                (section.heading or f"Part {number}", "; ".join(phrase.text for phrase in section.keyphrases))
                for number, section in enumerate(result.sections, start=1)
            ]
            parts.append("\n" + text_table(["Section", "Keyphrases"], rows, set(), self.terminal))
        return "".join(parts)


def _concept(keyphrase: Keyphrase) -> str:
    """A concept for people: its label and id; a near one, or one that does not occur in the text, says so."""
    concept = keyphrase.concept
    if concept is None:
        return ""
    name = concept.label if concept.id == concept.label else f"{concept.label} ({concept.id})"
    if keyphrase.source == "history":
        return f"history: {name}"
    return name if concept.similarity is None else f"near {name}, {concept.similarity:.2f}"


class Texts:
    """A folder of texts, each under the name of what it was read from; none is written over a file that is read.

    The folder is made at once, so that one that cannot be made is reported before the work.
    """

    def __init__(self, folder: str, read: Iterable[str | None] = ()) -> None:
        self.folder = Path(folder)
        self._taken: set[str] = set()
        self._read = [name for name in read if name]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.UsageError(f"--save-text {self.folder}: {error.strerror or error}.") from error
        if not os.access(self.folder, os.W_OK):
            raise click.UsageError(f"--save-text {self.folder} may not be written (permission denied).")

    def keep(self, source: Source, text: str) -> None:
        """Write a text; line ends stay as they are, so that offsets count in it."""
        base = {"-": "stdin", "--text": "text"}.get(source.name, Path(source.name).name)
        names = chain([f"{base}.txt"], (f"{base}-{number}.txt" for number in count(2)))
        free = (self.folder / name for name in names if name.casefold() not in self._taken)
        path = next(p for p in free if not (p.exists() and any(same_file(p, other) for other in self._read)))
        self._taken.add(path.name.casefold())  # Windows and macOS take A.txt for a.txt
        with main.writing(path), atomic_write(path) as unfinished:
            unfinished.write_bytes(text.encode(errors="replace"))
