"""The tagger and the models of an extractor, each fetched and loaded when it is first needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from mudy._support.loading import loading
from mudy._support.validation import checked, seen
from mudy.engines.compute import Compute, Speed
from mudy.errors import SettingError, UnsupportedModel
from mudy.reading.document import Document
from mudy.reading.languages import AUTO, detection_of
from mudy.reading.tagging import TextReader, reader_of

if TYPE_CHECKING:
    from spacy.language import Language

    from mudy.engines.backbone import Backbone
    from mudy.engines.chat import Chat
    from mudy.engines.encoder import SentenceEncoder
    from mudy.engines.universal_encoder import UniversalEncoder
    from mudy.models import Report

T = TypeVar("T")
DEFAULT_ENCODER = "minilm-l6"
MULTILINGUAL_ENCODER = "use-multilingual"  # for texts in other languages, unless an encoder is chosen


class ModelLoader:
    """What an extractor loads: which models, where they compute, and who is told of a download."""

    def __init__(
        self,
        model: str,
        encoder: str,
        language: str | Language | TextReader,
        endpoint: str | None,
        compute: Compute,
        report: Report | None,
    ) -> None:
        self.model: str = checked("model", model, str)
        self.encoder_name: str = checked("encoder", encoder, str)
        self.language = _checked_language(language)
        self.endpoint: str | None = checked("endpoint", endpoint, str | None)
        self.compute = compute
        self._report = checked("report", report, Callable | None)
        self._loaded: dict[str, Any] = {}  # tagger and models, shared with copies of this one
        self._locks: defaultdict[str, RLock] = defaultdict(RLock)  # one for each, likewise

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds: what was asked for. Models are loaded again where it arrives, and nobody is told."""
        left = {"_loaded", "_locks", "_report"}
        left |= {name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)}
        return {name: value for name, value in vars(self).items() if name not in left}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _loaded={}, _locks=defaultdict(RLock), _report=None)

    def __copy__(self) -> Self:
        """A copy shares the tagger and the models."""
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        return made

    @property
    def speed(self) -> Speed:
        """How exactly to compute."""
        return self.compute.speed or "exact"

    @property
    def loaded(self) -> set[str]:
        """What is in memory: "tagger", "backbone", "encoder", "chat"."""
        return set(self._loaded) & {"tagger", "backbone", "encoder", "chat"}

    @property
    def tagger(self) -> TextReader:
        """What reads texts of the language that was given; of English, if it is looked for."""
        return self.reader("en" if self.language == AUTO else self.language)

    def reader(self, language: str | Language | TextReader) -> TextReader:
        """What reads texts of a language: its tagger where there is one, else its stop words or segmenter."""
        if isinstance(language, TextReader):
            return language
        name = f"tagger {language}" if isinstance(language, str) and language != "en" else "tagger"
        return self._once(name, lambda: reader_of(language, self._report))

    def document(self, text: str, omitted_words: int, language: str | Language | TextReader) -> Document:
        """A text, read by the rules of a language, or, for "auto", of its own."""
        if language != AUTO:
            return self.reader(language).document(text, omitted_words)
        detection = detection_of(text)
        return self.reader(detection.likely).document(text, omitted_words, detection)

    def load_tagger(self) -> None:
        """Load the tagger now, unless it is in memory."""
        self.tagger  # noqa: B018 (a property that loads)

    def locate(self, names: Iterable[str]) -> None:
        """Fetch some models, unless they are here."""
        from mudy import models

        for name in names:
            models.locate(name, report=self._report)

    def backbone(self) -> Backbone:
        """The language model, fetched if need be, and loaded."""
        from mudy import engines

        def load() -> Backbone:
            path = self._located(self.model)
            return engines.load_backbone(path, self._compute_at_speed(), self.model, self._report)

        return self._once("backbone", load)

    def encoder(self) -> SentenceEncoder:
        """The sentence encoder, fetched if need be, and loaded."""
        from mudy import engines

        def load() -> SentenceEncoder:
            path = self._located(self.encoder_name)
            return engines.load_encoder(path, self._compute_at_speed(), self.encoder_name, self._report)

        return self._once("encoder", load)

    def multilingual(self) -> UniversalEncoder | None:
        """The encoder for other languages than English; None if the caller chose an encoder for all."""
        if self.encoder_name != DEFAULT_ENCODER:
            return None
        from mudy import models
        from mudy.engines.universal_encoder import UniversalEncoder

        def load() -> UniversalEncoder:
            path = models.locate(MULTILINGUAL_ENCODER, report=self._report)
            return UniversalEncoder.load(path, MULTILINGUAL_ENCODER, self.compute.threads)

        return self._once("multilingual", load)

    def chat(self) -> Chat:
        """The model that writes: behind the endpoint, if there is one, else fetched if need be, and loaded."""
        if self.endpoint is not None:
            from mudy.engines.endpoint import Endpoint

            return Endpoint.of(self.endpoint, self.model)
        from mudy import engines, models
        from mudy.engines.chat import no_template

        known = models.KNOWN.get(self.model)
        if known is not None and not known.chat_template:
            raise UnsupportedModel(no_template(self.model))  # before it is fetched for nothing

        def load() -> Chat:
            path = models.locate(self.model, report=self._report)
            return engines.load_chat(path, self.compute, self.model, known.chat_template if known else "")

        return self._once("chat", load)

    def _once(self, name: str, load: Callable[[], T]) -> T:
        """What was loaded under a name, loaded now if it was not yet."""
        with self._locks[name]:
            if name not in self._loaded:
                with loading():
                    self._loaded[name] = load()
        value: T = self._loaded[name]
        return value

    def _located(self, name: str) -> str:
        """The folder of a model, fetched if need be; its weights are looked at if they are those to be used."""
        from mudy import engines, models

        path = models.locate(name, report=self._report, check="all but weights")
        if engines.reads_source(path, self._compute_at_speed()):
            models.locate(name, report=self._report)
        return path

    def _compute_at_speed(self) -> Compute:
        """What is asked of the machine, with the method's own speed where none is asked for."""
        return replace(self.compute, speed=self.speed)


def _checked_language(language: Any) -> str | Language | TextReader:
    """A language's name, a tagger, or a spaCy pipeline."""
    if isinstance(language, str | TextReader) or (callable(language) and hasattr(language, "pipe_names")):
        return language
    raise SettingError(
        f"language is {seen(language)}, but must be 'auto', a code such as 'en', the name or path of a spaCy "
        "package, or a pipeline that spaCy has loaded."
    )
