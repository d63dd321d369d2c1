"""Many inputs through one extractor: a failure stays with its input, and the others are still written."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mudy.errors import EndpointRefused, InputError, MissingExtra, MudyError, SettingError
from mudy.interfaces.reading import Source
from mudy.interfaces.screen import Screen
from mudy.interfaces.writing import Format, Output, Texts
from mudy.readers.base import Reading

if TYPE_CHECKING:
    from mudy.extractor import Extractor

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
                self._show(source, done, len(sources))
                found = self._extracted(extractor, source, reading)
                if found is None:
                    failed += 1
                    continue
                self._write(found)
            self._write(self.form.end())
            self.target.close()
        except BaseException:
            self.target.discard()
            raise
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
        """The extractor, its tagger, and, for a text that is not blank, its model."""
        if self._made is None:
            from mudy.extractor import Extractor

            self.screen.show(f"Loading {self.extractor['model']}")
            self._made = Extractor(**self.extractor, report=self.screen.report)
        assert self._made.tagger
        if text.strip() and "scorer" not in vars(self._made):
            self.screen.show(f"Loading {self.extractor['model']}")
            assert self._made.scorer
        return self._made

    def _extracted(self, extractor: Extractor, source: Source, reading: Reading) -> str | None:
        try:
            result = extractor.extract(reading.text, source=source.label, pages=reading.pages, **self.options)
            written = self.form.one(result)
            if self.texts is not None:
                self.texts.keep(source, result.text)
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
        if self.options["candidates"] is not None:
            self._missing.append(set(result.not_found))
        self._dropped += result.dropped
        return written

    def _fail(self, source: Source, reason: str) -> None:
        self.screen.error(f"{source.name or repr(source.name)}: {reason}")

    def _write(self, text: str) -> None:
        if self.target.terminal:
            with self.screen.paused():
                self.target.write(text)
        else:
            self.target.write(text)

    def _show(self, source: Source, done: int, total: int) -> None:
        if total > 1:
            self.screen.show("Extracting", done, total, amount=f"{done:,} of {total:,}", detail=source.name)
        else:
            self.screen.show("Extracting", detail=source.name)

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
