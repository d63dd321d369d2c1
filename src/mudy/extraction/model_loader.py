"""The tagger and the models of an extractor, each fetched and loaded when it is first needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from mudy import engines, models
from mudy._support.this_process import loading
from mudy.engines import Compute, Speed
from mudy.errors import UnsupportedModel
from mudy.extraction.options import DEFAULT_ENCODER, Setup
from mudy.methods import method_class
from mudy.reading.document import Block, Document
from mudy.reading.languages import AUTO, detection_of
from mudy.reading.structure import prose_of
from mudy.reading.tagging import TextReader, reader_of

if TYPE_CHECKING:
    from spacy.language import Language

    from mudy.engines.interfaces import Backbone, SentenceEncoder
    from mudy.engines.light.encoders import UniversalEncoder
    from mudy.extraction.history import History

T = TypeVar("T")
MULTILINGUAL_ENCODER = "use-multilingual"  # for texts in other languages, unless an encoder is chosen


@dataclass(frozen=True, eq=False)
class ModelLoader:
    """Loads what an extractor needs. Those made from another by `dataclasses.replace` share what is in memory."""

    setup: Setup
    compute: Compute
    report: models.Report | None = None  # told about downloads
    in_memory: dict[str, Any] = field(default_factory=dict)
    locks: defaultdict[str, RLock] = field(default_factory=lambda: defaultdict(RLock))  # one per entry of `in_memory`

    def __getstate__(self) -> dict[str, Any]:
        """A pickle says what to load. Models are loaded again where it arrives, without reports."""
        return vars(self) | {"report": None, "in_memory": {}, "locks": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, locks=defaultdict(RLock))

    @property
    def speed(self) -> Speed:
        """How much is computed, and how exactly: as asked for, else the default of the method."""
        return self.compute.speed or method_class(self.setup.method).default_speed

    @property
    def loaded(self) -> set[str]:
        """What is in memory: "tagger", "backbone", "encoder", "chat"."""
        return set(self.in_memory) & {"tagger", "backbone", "encoder", "chat"}

    @property
    def tagger(self) -> TextReader:
        """What reads texts in the language that was given; in English, if the language is detected."""
        return self.reader("en" if self.setup.language == AUTO else self.setup.language)

    def reader(self, language: str | Language | TextReader) -> TextReader:
        """What reads texts in a language: its tagger where there is one, else its stop words or segmenter."""
        if isinstance(language, TextReader):
            return language
        name = f"tagger {language}" if isinstance(language, str) and language != "en" else "tagger"
        return self._once(name, lambda: reader_of(language, self.report))

    def document(
        self, text: str, omitted_words: int, language: str | Language | TextReader, blocks: tuple[Block, ...] = ()
    ) -> Document:
        """A text, read by the rules of a language; for "auto", of the language that its prose is detected to be in."""
        if language != AUTO:
            return self.reader(language).document(text, omitted_words, blocks=blocks)
        detection = detection_of(prose_of(text, blocks))
        return self.reader(detection.likely).document(text, omitted_words, detection, blocks)

    def backbone(self) -> Backbone:
        """The language model, fetched if necessary, and loaded."""
        return self._once("backbone", lambda: self._loaded(engines.load_backbone, self.setup.model))

    def encoder(self) -> SentenceEncoder:
        """The sentence encoder, fetched if necessary, and loaded."""
        return self._once("encoder", lambda: self._loaded(engines.load_encoder, self.setup.encoder))

    def multilingual(self) -> UniversalEncoder | None:
        """The encoder for other languages than English; None if the caller chose an encoder for all."""
        if self.setup.encoder != DEFAULT_ENCODER:
            return None

        def load() -> UniversalEncoder:
            from mudy.engines.light.encoders import UniversalEncoder

            path = models.locate(MULTILINGUAL_ENCODER, report=self.report)
            return UniversalEncoder.load(path, MULTILINGUAL_ENCODER, self.compute.threads)

        return self._once("multilingual", load)

    def encoder_for(self, language: str) -> SentenceEncoder | UniversalEncoder:
        """The encoder that reads texts in a language."""
        return self.encoder() if language == "en" else self.multilingual() or self.encoder()

    def encoder_identity(self, name: str) -> str:
        """What decides the vectors of an encoder: its files and its arithmetic."""
        exact = self.speed == "exact"
        return sha256(f"{models.signature(name)} {exact} {self.compute.dtype}".encode()).hexdigest()[:16]

    def history(self) -> History | None:
        """The tagged texts, read if necessary; None without any."""
        if self.setup.history is None:
            return None
        from mudy.extraction.history import History

        path = self.setup.history
        return self._once("history", lambda: History(path, self))

    def chat(self) -> engines.Chat:
        """The model that writes: behind the endpoint, if there is one, else fetched if necessary, and loaded."""
        if self.setup.endpoint is not None:
            from mudy.engines.endpoint import Endpoint

            return Endpoint(self.setup.endpoint, self.setup.model)
        known = models.KNOWN.get(self.setup.model)
        if known is not None and not known.chat_template:
            raise UnsupportedModel(engines.no_template(self.setup.model))  # before it is fetched for nothing

        def load() -> engines.Chat:
            path = self.located(self.setup.model)
            return engines.load_chat(path, self.compute, self.setup.model, known.chat_template if known else "")

        return self._once("chat", load)

    def _once(self, name: str, load: Callable[[], T]) -> T:
        """What was loaded under a name, loaded now if it was not yet."""
        with self.locks[name]:
            if name not in self.in_memory:
                with loading():
                    self.in_memory[name] = load()
        value: T = self.in_memory[name]
        return value

    def located(self, name: str) -> str:
        """The folder of a model, fetched if necessary; its weights are checked when they are read."""
        return models.locate(name, report=self.report, check="all but weights")

    def _loaded(self, load: Callable[[str, Compute, str, models.Report | None], T], name: str) -> T:
        return load(self.located(name), replace(self.compute, speed=self.speed), name, self.report)
