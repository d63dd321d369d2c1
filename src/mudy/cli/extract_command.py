"""The command `mudy extract`: a failure stays with its input, and the others are still written."""

import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from mudy._support.callbacks import reported_to
from mudy.cli import formats, parameters
from mudy.cli.console import Screen, debugging, first_names, first_phrases, made_extractor
from mudy.cli.sources import Source, text_sources
from mudy.engines import may_have_gpu
from mudy.errors import InputError, MissingExtra, MudyError
from mudy.extraction.options import Options, Setup
from mudy.extraction.outcomes import FATAL, Item, Outcome, error_message, outcomes
from mudy.extraction.results import number_of
from mudy.methods import is_batched
from mudy.reading.formats import is_pattern

if TYPE_CHECKING:
    from mudy.extraction.extractor import Extractor

_Numbered = tuple[int, Source]  # an input and its number
MANY = 50  # inputs, from which on worker processes are worth their start


@click.command("extract")
@click.argument("files", nargs=-1, metavar="[FILES|-]...")
@click.option("--text", help="Extract from this text instead of files.")
@parameters.with_method
@parameters.with_options(Setup, without=["method"])
@parameters.with_options(Options)
@parameters.with_focus
@parameters.with_settings
@click.option("-f", "--format", "form", type=click.Choice(formats.OUTPUT_FORMATS), default="table")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@click.option("--save-text", metavar="FOLDER", help="Save the texts that offsets refer to here, as NAME.txt.")
@parameters.with_encoding
@click.option("--workers", **parameters.COUNT, help=f"Worker processes.  [default: 1; one per CPU from {MANY} inputs]")
@parameters.on_machine
@parameters.with_quiet
def extract_command(
    files: tuple[str, ...],
    text: str | None,
    method: str,
    pairs: tuple[str, ...],
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
    target = formats.Output(None if output == "-" else output, streaming=form == "jsonl")
    read = [source.name for source in inputs if source.text is None] + [given[name] for name in parameters.PHRASE_FILES]
    target.check(read)
    texts = formats.Texts(save_text, read) if save_text is not None else None
    options, focus = parameters.given_options(given, encoding)
    if options.per_section and form == "csv":
        raise click.UsageError("--per-section has no effect on csv; use --format table, json or jsonl.")
    several = len(inputs) > 1 or any(map(is_pattern, files))
    concepts = options.concepts is not None or given["history"] is not None
    written_as = formats.ResultFormat(form, several, target.terminal, concepts=concepts)
    arguments = {"method": method, **given, **parameters.settings(method, pairs, focus.settings())}
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
    form: formats.ResultFormat
    target: formats.Output
    options: Options
    texts: formats.Texts | None  # where the texts that offsets refer to are kept
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
            if debugging() and not isinstance(error, MudyError):
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


def default_workers(extractor: "Extractor", inputs: int) -> int:
    """One per CPU for many inputs: one text on several threads leaves them idle while it is tagged and ranked."""
    from mudy._support.onnx import default_threads

    compute = extractor.compute
    alone = compute.threads or compute.device not in (None, "cpu") or may_have_gpu() or extractor.history is not None
    return 1 if inputs < MANY or alone or not is_batched(extractor.method) else default_threads()


def warn_of_vocabulary(screen: Screen, options: Options) -> None:
    for note in options.concepts.notes if options.concepts is not None else ():
        screen.warning(f"vocabulary: {note}")
