"""Many inputs through one extractor: a failure stays with its input, and the others are still written."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from mudy._support.progress import reported_to
from mudy.cli.console import Screen
from mudy.cli.formats import Format, Output, Texts
from mudy.cli.sources import Source
from mudy.errors import InputError, MissingExtra, MudyError
from mudy.extraction.options import Options
from mudy.extraction.outcomes import FATAL, Item, Outcome, error_message, outcomes
from mudy.extraction.results import Result

_NAMED = 5  # phrases named in a warning
_Numbered = tuple[int, Source]  # an input and its number


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
    _total: int = 0  # inputs
    _failed: int = 0
    _at_work: Sequence[Item[_Numbered]] = ()
    _missing: list[set[str]] = field(default_factory=list)
    _dropped: list[str] = field(default_factory=list)
    _warnings: dict[str, list[str]] = field(default_factory=dict)  # each with the inputs that it is about

    def run(self, sources: Sequence[Source], encoding: str | None) -> int:
        """Extract from all inputs, short texts together, and return the number that failed."""
        from mudy.extraction.extractor import Extractor

        self._total = len(sources)
        warn_of_vocabulary(self.screen, self.options)
        self.screen.show(f"Loading {self.extractor['model']}")
        items, workers = self._items(sources, encoding), self.workers if len(sources) > 1 else 1
        try:
            extractor = Extractor(**self.extractor, report=self.screen.report)
            computed = outcomes(extractor, items, workers=workers, began=self._begin)
            with closing(computed), reported_to(self._show):
                for outcome in computed:
                    self._finish(outcome)
            self._write(self.form.end())
            self.target.close()
        except BaseException:
            self.target.discard()
            raise
        self._warn_of_results()
        self._warn_of_missing()
        self._warn_of_dropped()
        return self._failed

    def _items(self, sources: Sequence[Source], encoding: str | None) -> Iterator[Item[_Numbered]]:
        """The texts of all inputs, or why they cannot be read."""
        for numbered in enumerate(sources):
            _, source = numbered
            try:
                reading = source.read(encoding)
            except (InputError, MissingExtra) as error:
                yield Item(numbered, error)
            else:
                options = self.options.changed({"source": source.label, "pages": reading.pages})
                yield Item(numbered, reading.text, options)

    def _finish(self, outcome: Outcome[_Numbered]) -> None:
        """Write a result, or say why there is none."""
        _, source = outcome.key
        try:
            written = self._formatted(source, outcome.value)
        except FATAL:
            raise
        except Exception as error:  # of whatever kind: the other inputs are still written
            self._fail(source, error)
        else:
            self._write(written)

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

    def _fail(self, source: Source, error: Exception) -> None:
        """Count an input that failed, and say why."""
        self._failed += 1
        if self.debug and not isinstance(error, MudyError):
            traceback.print_exception(error)
        self.screen.error(f"{source.name or repr(source.name)}: {error_message(error)}")

    # -- Writing ------------------------------------------------------------------------------------------------------

    def _write(self, text: str) -> None:
        if self.target.terminal:
            with self.screen.paused():
                self.target.write(text)
        else:
            self.target.write(text)

    def _begin(self, items: Sequence[Item[_Numbered]]) -> None:
        self._at_work = items
        self._show()

    def _show(self, share: float = 0.0) -> None:
        """Show how many inputs are done, and how much of those at work."""
        if not self._at_work:  # the models are being loaded
            return
        (done, first), (last, _) = self._at_work[0].key, self._at_work[-1].key
        amount = f"{done:,} of {self._total:,}" if self._total > 1 else f"{share:.0%}"
        more = f" and {len(self._at_work) - 1:,} more" if len(self._at_work) > 1 else ""
        thousandths = round(1000 * (done + share * (last + 1 - done)))
        self.screen.show("Extracting", thousandths, 1000 * self._total, amount=amount, detail=first.name + more)

    def _warn_of_results(self) -> None:
        """Every warning once, with the inputs that it is about."""
        for warning, names in self._warnings.items():
            self.screen.warning(f"{first_names([name or repr(name) for name in names])}: {warning}")

    def _warn_of_missing(self) -> None:
        """Name the candidates that occur in none of the texts."""
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
