"""Many inputs through one extractor: a failure stays with its input, and the others are still written."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mudy._support.progress import reported_to
from mudy.cli.console import Screen
from mudy.cli.formats import Format, Output, Texts
from mudy.cli.sources import Source
from mudy.errors import InputError, MissingExtra, MudyError
from mudy.extraction.batching import FATAL, batch_size, batches, score_each
from mudy.extraction.options import Options
from mudy.extraction.preparation import PreparedText
from mudy.reading.formats.reading import Reading

if TYPE_CHECKING:
    from mudy.extraction.extractor import Extractor
    from mudy.extraction.results import Result

T = TypeVar("T")
_NAMED = 5  # phrases named in a warning


@dataclass(frozen=True)
class Item:
    """One input that was read, and its number."""

    source: Source
    number: int
    prepared: PreparedText


@dataclass
class ExtractRun:
    """One run of `mudy extract`."""

    screen: Screen
    form: Format
    target: Output
    extractor: dict[str, Any]  # arguments of Extractor
    options: Options
    texts: Texts | None = None  # where the texts that offsets refer to are kept
    workers: int = 1
    debug: bool = False
    _made: Extractor | None = None
    _model_loaded: bool = False
    _total: int = 0  # inputs
    _failed: int = 0
    _missing: list[set[str]] = field(default_factory=list)
    _dropped: list[str] = field(default_factory=list)
    _warnings: dict[str, list[str]] = field(default_factory=dict)  # each with the inputs that it is about

    def run(self, sources: Sequence[Source], encoding: str | None) -> int:
        """Extract from all inputs, short texts together, and return the number that failed."""
        self._total = len(sources)
        warn_of_vocabulary(self.screen, self.options)
        try:
            if self.workers > 1 and len(sources) > 1:
                self._extract_by_workers(sources, encoding)
            else:
                self._extract_here(sources, encoding)
            self._write(self.form.end())
            self.target.close()
        except BaseException:
            self.target.discard()
            raise
        self._warn_of_results()
        self._warn_of_missing()
        self._warn_of_dropped()
        return self._failed

    # -- Reading ------------------------------------------------------------------------------------------------------

    def _items(self, sources: Sequence[Source], encoding: str | None) -> Iterator[Item]:
        """The inputs that can be read, with their candidates."""
        for number, source in enumerate(sources):
            reading = self._read(source, encoding)
            if reading is None:
                continue
            extractor = self._loaded(reading.text)  # what fails here fails for all
            prepared = self._tried(source, partial(self._prepared, extractor, source, reading))
            if prepared is not None:
                yield Item(source, number, prepared)

    def _read(self, source: Source, encoding: str | None) -> Reading | None:
        try:
            return source.read(encoding)
        except (InputError, MissingExtra) as error:
            self._fail(source, error)
            return None

    def _loaded(self, text: str) -> Extractor:
        """The extractor and, for a text that is not blank, its tagger."""
        extractor = self._extractor()
        if text.strip():
            extractor.load_meanwhile()
        return extractor

    def _extractor(self) -> Extractor:
        if self._made is None:
            from mudy.extraction.extractor import Extractor

            self.screen.show(f"Loading {self.extractor['model']}")
            self._made = Extractor(**self.extractor, report=self.screen.report)
        return self._made

    def _prepared(self, extractor: Extractor, source: Source, reading: Reading) -> PreparedText:
        return extractor.prepare(reading.text, self.options, source=source.label, pages=reading.pages)

    # -- Several processes --------------------------------------------------------------------------------------------

    def _extract_by_workers(self, sources: Sequence[Source], encoding: str | None) -> None:
        """Read here, compute there, and write each result in its turn."""
        from mudy.extraction.many_texts import AskedText, outcomes

        read: deque[tuple[int, Source]] = deque()  # without a result so far

        def asked() -> Iterator[AskedText]:
            for number, source in enumerate(sources):
                if (reading := self._read(source, encoding)) is not None:
                    read.append((number, source))
                    own = {"source": source.label, "pages": reading.pages}
                    yield AskedText(reading.text, self.options.changed(own))

        with closing(outcomes(self._extractor(), asked(), self.workers)) as found:
            for outcome in found:
                number, source = read.popleft()
                self._finish(source, outcome)
                self._show_number(number + 1, source)

    # -- Scoring ------------------------------------------------------------------------------------------------------

    def _extract_here(self, sources: Sequence[Source], encoding: str | None) -> None:
        most = batch_size(self.extractor["method"]) if len(sources) > 1 else 1
        for batch in batches(self._items(sources, encoding), lambda item: item.prepared.words, most):
            self._extract(batch)

    def _extract(self, batch: Sequence[Item]) -> None:
        """Score a batch, and write each result as it is found."""
        assert self._made is not None
        prepared = [item.prepared for item in batch]
        if not self._model_loaded and any(text.candidates for text in prepared):
            self.screen.show(f"Loading {self.extractor['model']}")
            self._made.load()
            self._model_loaded = True
        show = partial(self._show, batch)
        show()
        with reported_to(show):
            for item, outcome in zip(batch, score_each(self._made, prepared), strict=True):
                self._finish(item.source, outcome)

    def _finish(self, source: Source, outcome: Result | Exception) -> None:
        """Write a result, or say why there is none."""
        if isinstance(outcome, Exception):
            self._fail(source, outcome)
        else:
            written = self._tried(source, partial(self._formatted, source, outcome))
            self._write(written or "")

    def _formatted(self, source: Source, result: Result) -> str:
        """A result as it is written; what is to be warned of is kept for the end."""
        written = self.form.one(result)
        if self.texts is not None:
            self.texts.keep(source, result.text)
        if self.options.candidates is not None:
            self._missing.append(set(result.not_found))
        self._dropped += result.dropped
        for warning in result.warnings:
            self._warnings.setdefault(warning, []).append(source.name)
        return written

    def _tried(self, source: Source, act: Callable[[], T]) -> T | None:
        """The value for one input; None, with a message, where it fails."""
        try:
            return act()
        except FATAL:
            raise
        except Exception as error:  # of whatever kind: it must not take the other inputs with it
            self._fail(source, error)
            return None

    def _fail(self, source: Source, error: Exception) -> None:
        """Count an input that failed, and say why."""
        self._failed += 1
        reason = str(error)
        if not isinstance(error, MudyError):
            reason = f"unexpected {type(error).__name__}: {error}"
            if self.debug:
                traceback.print_exception(error)
        self.screen.error(f"{source.name or repr(source.name)}: {reason}")

    # -- Writing ------------------------------------------------------------------------------------------------------

    def _write(self, text: str) -> None:
        if self.target.terminal:
            with self.screen.paused():
                self.target.write(text)
        else:
            self.target.write(text)

    def _show(self, batch: Sequence[Item], share: float = 0.0) -> None:
        """How many inputs are done, and which share of those at work."""
        done, at_work = batch[0].number, batch[-1].number + 1 - batch[0].number
        amount = f"{done:,} of {self._total:,}" if self._total > 1 else f"{share:.0%}"
        more = f" and {len(batch) - 1:,} more" if len(batch) > 1 else ""
        thousandths = round(1000 * (done + share * at_work))
        self.screen.show(
            "Extracting", thousandths, 1000 * self._total, amount=amount, detail=batch[0].source.name + more
        )

    def _show_number(self, done: int, source: Source) -> None:
        amount = f"{done:,} of {self._total:,}"
        self.screen.show("Extracting", 1000 * done, 1000 * self._total, amount=amount, detail=source.name)

    def _warn_of_results(self) -> None:
        """Every warning once, with the inputs that it is about."""
        for warning, names in self._warnings.items():
            self.screen.warning(f"{first_names([name or repr(name) for name in names])}: {warning}")

    def _warn_of_missing(self) -> None:
        """Name the candidates that stand in none of the texts."""
        if self.options.phrases == ():
            self.screen.warning("the file of --candidates holds no phrases, so there are no keyphrases")
        if not self._missing:
            return
        nowhere = set.intersection(*self._missing)
        names = [repr(shorten(p, 60)) for p in self.options.candidates or () if p in nowhere]
        if names:
            where = "the text" if len(self._missing) == 1 else "any of the texts"
            self.screen.warning(f"candidates not found in {where}: {first_names(names)}")

    def _warn_of_dropped(self) -> None:
        """Count the phrases that a model wrote in vain, and name a few."""
        if self._dropped:
            count = "1 phrase" if len(self._dropped) == 1 else f"{len(self._dropped):,} phrases"
            names = [repr(shorten(phrase, 60)) for phrase in self._dropped]
            self.screen.warning(f"{count} of the model not in the text, or not to be returned: {first_names(names)}")


def warn_of_vocabulary(screen: Screen, options: Options) -> None:
    """Say what was left out of a vocabulary, and what is ambiguous in it."""
    for note in options.concepts.notes if options.concepts is not None else ():
        screen.warning(f"vocabulary: {note}")


def first_names(names: Sequence[str]) -> str:
    """The first few of many names."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
