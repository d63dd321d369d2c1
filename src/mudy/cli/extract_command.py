"""Many inputs through one extractor: a failure stays with its input, and the others are still written."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mudy.cli.console import Screen
from mudy.cli.formats import Format, Output, Texts
from mudy.cli.sources import Source
from mudy.errors import EndpointRefused, InputError, MissingExtra, MudyError, SettingError
from mudy.progress import reported_to
from mudy.readers.reading import Reading

if TYPE_CHECKING:
    from mudy.extractor import Extractor, Task

T = TypeVar("T")
NAMED = 5  # phrases named in a warning


@dataclass
class Job:
    """One run of `mudy extract`."""

    screen: Screen
    form: Format
    target: Output
    extractor: dict[str, Any]  # arguments of Extractor
    options: dict[str, Any]  # and of its extract
    texts: Texts | None = None  # where the texts that offsets refer to are kept
    debug: bool = False
    _made: Extractor | None = None
    _missing: list[set[str]] = field(default_factory=list)
    _dropped: list[str] = field(default_factory=list)
    _warnings: dict[str, list[str]] = field(default_factory=dict)  # each with the inputs that it is about

    def run(self, sources: Sequence[Source], encoding: str | None) -> int:
        """Extract from all, and give the number that failed."""
        failed = 0
        try:
            for done, source in enumerate(sources):
                reading = self._read(source, encoding)
                if reading is None:
                    failed += 1
                    continue
                extractor = self._loaded(reading.text)  # what fails here fails for all
                show = partial(self._show, source, done, len(sources))
                task = self._tried(source, partial(self._prepared, extractor, source, reading))
                if task is not None:
                    self._load_model(extractor, task)  # and what fails here
                    show()
                    with reported_to(show):
                        found = self._tried(source, partial(self._finished, extractor, source, task))
                if task is None or found is None:
                    failed += 1
                    continue
                self._write(found)
            self._write(self.form.end())
            self.target.close()
        except BaseException:
            self.target.discard()
            raise
        self._warn_of_results()
        self._warn_of_missing()
        self._warn_of_dropped()
        return failed

    def _read(self, source: Source, encoding: str | None) -> Reading | None:
        try:
            return source.read(encoding)
        except (InputError, MissingExtra) as error:
            self._fail(source, str(error))
            return None

    def _loaded(self, text: str) -> Extractor:
        """The extractor and, for a text that is not blank, its tagger."""
        if self._made is None:
            from mudy.extractor import Extractor

            self.screen.show(f"Loading {self.extractor['model']}")
            self._made = Extractor(**self.extractor, report=self.screen.report)
        if text.strip():
            assert self._made.tagger
        return self._made

    def _load_model(self, extractor: Extractor, task: Task) -> None:
        """Load the model for a text that has candidates."""
        if task.candidates and "scorer" not in vars(extractor):
            self.screen.show(f"Loading {self.extractor['model']}")
            assert extractor.scorer

    def _prepared(self, extractor: Extractor, source: Source, reading: Reading) -> Task:
        return extractor.prepare(reading.text, source=source.label, pages=reading.pages, **self.options)

    def _finished(self, extractor: Extractor, source: Source, task: Task) -> str:
        """The result of a text as it is written."""
        (result,) = extractor.finish([task])
        written = self.form.one(result)
        if self.texts is not None:
            self.texts.keep(source, result.text)
        if self.options["candidates"] is not None:
            self._missing.append(set(result.not_found))
        self._dropped += result.dropped
        for warning in result.warnings:
            self._warnings.setdefault(warning, []).append(source.name)
        return written

    def _tried(self, source: Source, act: Callable[[], T]) -> T | None:
        """What comes of one input; None, and told, where it fails."""
        try:
            return act()
        except (SettingError, EndpointRefused):
            raise  # it would be the same for all
        except MudyError as error:
            self._fail(source, str(error))
            return None
        except Exception as error:  # of whatever kind: it must not take the other inputs with it
            if self.debug:
                traceback.print_exception(error)
            self._fail(source, f"unexpected {type(error).__name__}: {error}")
            return None

    def _fail(self, source: Source, reason: str) -> None:
        self.screen.error(f"{source.name or repr(source.name)}: {reason}")

    def _write(self, text: str) -> None:
        if self.target.terminal:
            with self.screen.paused():
                self.target.write(text)
        else:
            self.target.write(text)

    def _show(self, source: Source, done: int, total: int, share: float = 0.0) -> None:
        """How many texts are done, and which share of the one at work."""
        amount = f"{done:,} of {total:,}" if total > 1 else f"{share:.0%}"
        self.screen.show("Extracting", round(1000 * (done + share)), 1000 * total, amount=amount, detail=source.name)

    def _warn_of_results(self) -> None:
        """Every warning once, with the inputs that it is about."""
        for warning, names in self._warnings.items():
            self.screen.warning(f"{some([name or repr(name) for name in names])}: {warning}")

    def _warn_of_missing(self) -> None:
        """Name the candidates that stand in none of the texts."""
        if not self._missing:
            return
        nowhere = set.intersection(*self._missing)
        names = [repr(shorten(p, 60)) for p in self.options["candidates"] if p in nowhere]
        if names:
            where = "the text" if len(self._missing) == 1 else "any of the texts"
            self.screen.warning(f"candidates not found in {where}: {some(names)}")

    def _warn_of_dropped(self) -> None:
        """Count the phrases that a model wrote in vain, and name a few."""
        if self._dropped:
            count = "1 phrase" if len(self._dropped) == 1 else f"{len(self._dropped):,} phrases"
            names = [repr(shorten(phrase, 60)) for phrase in self._dropped]
            self.screen.warning(f"{count} of the model not in the text, or not to be returned: {some(names)}")


def some(names: Sequence[str]) -> str:
    """The first few of many names."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
