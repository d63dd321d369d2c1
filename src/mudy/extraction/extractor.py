"""The one door: text in, keyphrases out."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import asdict, replace
from functools import cached_property
from threading import Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mudy._support.loading import loading
from mudy._support.progress import with_bar
from mudy._support.validation import TopN, checked, phrases, seen, several
from mudy.candidates import MAX_PHRASE_WORDS, CandidateKind
from mudy.engines.compute import Compute, Speed
from mudy.errors import InputError, LanguageWarning, SettingError
from mudy.extraction.explanation import Explained, Explanation, gold_places
from mudy.extraction.keyphrase_list import keyphrase_list
from mudy.extraction.model_loader import DEFAULT_ENCODER, MULTILINGUAL_ENCODER, ModelLoader
from mudy.extraction.options import DEFAULT_OPTIONS, Options
from mudy.extraction.outcomes import Outcome, outcomes, text_items
from mudy.extraction.preparation import PreparedText, with_candidates
from mudy.extraction.protocols import ProtocolName, ReadingProtocol, reading_protocol
from mudy.extraction.results import Result, on_pages
from mudy.extraction.scoring import coverage, score_texts
from mudy.methods import checked_settings, method_class, model_fields, shared_speed
from mudy.methods.method import Architecture, ScoredCandidates
from mudy.reading.document import Document, first_words
from mudy.reading.languages import AUTO, mismatch
from mudy.reading.languages.segmenters import ADVICE, segmenter_advice

if TYPE_CHECKING:
    from spacy.language import Language

    from mudy.extraction.near_concepts import LabelVectors
    from mudy.methods.method import Method
    from mudy.models import Report
    from mudy.reading.tagging import TextReader
    from mudy.vocabularies import Vocabulary

DEFAULT_METHOD = "mudyplus"
DEFAULT_MODEL = "gemma3-270m"


class Extractor(ModelLoader):
    """Finds the keyphrases of texts.

    `method` and `model` are names (`mudy methods`, `mudy models`), `model` also a local folder or hub id. Further
    keyword arguments are settings of the method, under its paper's symbols; unknown ones raise. Models are loaded on
    first use. `endpoint` is the address of a server that speaks OpenAI's chat completions, for a method that writes
    phrases; `model` is then a name that this server knows, and OPENAI_API_KEY its key.

        >>> Extractor(lambda_=0.5).extract("...").as_tuples()
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        model: str = DEFAULT_MODEL,
        *,
        preset: str | None = None,
        language: str | Language | TextReader = AUTO,
        protocol: ProtocolName | None = None,
        max_words: int | None = None,
        encoder: str = DEFAULT_ENCODER,
        endpoint: str | None = None,
        device: str | None = None,
        dtype: str | None = None,
        threads: int | None = None,
        batch_tokens: int | None = None,
        speed: Speed | None = None,
        report: Report | None = None,
        **settings: Any,
    ) -> None:
        compute = Compute(device, dtype, threads, batch_tokens, speed)
        super().__init__(model, encoder, language, endpoint, compute, report)
        self.protocol: ProtocolName | None = checked("protocol", protocol, ProtocolName | None)
        self.max_words: int | None = checked("max_words", max_words, int | None, least=1)
        self._choose(method, preset, settings)
        if speed == "quick" and shared_speed(method, speed) != speed:
            raise SettingError(f"{method} has no speed 'quick': it asks a language model. Use 'fast', or mudyplus.")
        if endpoint is not None and "chat" not in model_fields(method):
            raise SettingError(f"An endpoint was given, but {method} does not write phrases. Use method='empirical'.")

    def __repr__(self) -> str:
        usual = {"method": self.method, "model": self.model, "language": AUTO, "encoder": DEFAULT_ENCODER}
        given = {name: value for name, value in self.arguments().items() if value not in (None, usual.get(name))}
        shown = "".join(f", {name}={value!r}" for name, value in given.items())
        return f"Extractor({self.method!r}, {self.model!r}{shown})"

    def arguments(self) -> dict[str, Any]:
        """The arguments that make an extractor like this one."""
        return {
            "method": self.method,
            "model": self.model,
            "preset": self.preset,
            "language": self.language,
            "protocol": self.protocol,
            "max_words": self.max_words,
            "encoder": self.encoder_name,
            "endpoint": self.endpoint,
            **asdict(self.compute),
            **self.settings,
        }

    def _choose(self, method: str, preset: str | None, settings: dict[str, Any]) -> None:
        checked("method", method, str)
        with loading() if settings else nullcontext():  # to know a method's settings is to import it
            self.settings = checked_settings(method, settings)
        self.method, self.preset = method, checked("preset", preset, str | None)

    def using(self, method: str, preset: str | None = None, **settings: Any) -> Extractor:
        """Another method, or other settings of this one, with the tagger and the models of this extractor."""
        made = copy.copy(self)
        speed = self.speed
        for cached in ("scorer", "model_used"):
            vars(made).pop(cached, None)
        made._choose(method, preset, settings)
        made.compute = replace(self.compute, speed=shared_speed(method, speed))  # the models are loaded for it
        return made

    def towards(self, seeds: Iterable[str] = (), query: str | None = None) -> Extractor:
        """The same extractor, its ranking turned towards phrases or a question; only some methods can."""
        wishes = {"seeds": tuple(phrases("seeds", seeds)), "query": checked("query", query, str | None)}
        given = {name: value for name, value in wishes.items() if value}
        return self.using(self.method, self.preset, **{**self.settings, **given}) if given else self

    def extract(
        self,
        text: str | Document,
        top_n: TopN = 10,
        *,
        seeds: Iterable[str] = (),
        query: str | None = None,
        candidates: CandidateKind | Iterable[str] | None = None,
        stop_phrases: Iterable[str] = (),
        max_candidate_words: int | None = MAX_PHRASE_WORDS,
        merge: bool = True,
        diversity: float = 0.0,
        min_score: float | None = None,
        distinct: bool | None = None,
        vocabulary: Vocabulary | Iterable[Any] | None = None,
        boost: float | None = None,
        near: float | None = None,
        language: str | None = None,
        source: str | None = None,
        pages: Sequence[int] = (),
    ) -> Result:
        """The keyphrases of one text, best first; or of a document, that is, a text that `read` has read already.

        `top_n` is a number, a share of the text's words such as 0.02, "auto" for as many as the text deserves, or None
        for all. `candidates` replaces the phrases that are ranked: "nouns" for noun phrases as long as possible,
        "nested" for phrases inside them too, or a list of your own, of which an empty one gives an empty result; those
        that do not stand in the text are named in `Result.not_found`. `stop_phrases` are never returned. `merge` joins
        inflections: singular and plural. `distinct` leaves out phrases that say what one before them says; None leaves
        that to the method. `diversity` above 0 keeps phrases that share words apart. `min_score` leaves out phrases
        that score less. What a model wrote but cannot be returned is in `Result.dropped`. `language` is that of this
        text, None: the extractor's. `pages` are the offsets at which pages begin; every occurrence then has its page.

        `vocabulary` finds the concepts of a `Vocabulary` (or of a list of labels) and nothing else; each keyphrase has
        its `concept`. With `boost` other phrases are returned too, and those of the vocabulary gain so much over them.
        `near` gives phrases without a concept the nearest one in meaning, from this similarity on, marked as such.
        `seeds` are phrases, and `query` is a question, towards which the ranking is turned (MUDY+).
        """
        options = Options(
            top_n,
            candidates,
            stop_phrases,
            max_candidate_words,
            merge,
            diversity,
            min_score,
            distinct,
            vocabulary,
            boost,
            near,
            language,
            source,
            pages,
        )
        extractor = self.towards(seeds, query)
        if isinstance(text, str) and text.strip():
            extractor.load_meanwhile()
        (result,) = extractor.finish([extractor.prepare(text, options)])
        _warn(result.warnings)
        return result

    def explain(
        self,
        text: str | Document,
        methods: Iterable[str] | None = None,
        *,
        gold: Iterable[str] = (),
        top_n: TopN = None,
        seeds: Iterable[str] = (),
        query: str | None = None,
        source: str | None = None,
        **options: Any,
    ) -> Explanation:
        """Every phrase of one text with every occurrence and what its score was made of; by several methods, if asked.

        `methods` are names; None stands for this extractor's own. This one's method keeps its settings, the others have
        their defaults. `gold` are phrases known to be right, to be marked where they stand. Options are those of
        `extract`, but all phrases are given unless `top_n` says otherwise.
        """
        wanted = DEFAULT_OPTIONS.changed({"top_n": top_n, "source": source, **options})
        names = [self.method] if methods is None else list(dict.fromkeys(phrases("methods", methods)))
        gold = phrases("gold", gold)
        extractors = [self._sharing(name).towards(seeds, query) for name in names]
        document = text if isinstance(text, Document) else self.read(text, wanted.language)
        _warn(_warnings(document))
        explained = [extractor.explained(extractor.prepare(document, wanted)) for extractor in extractors]
        return Explanation(document.text, tuple(explained), gold_places(document, gold), source)

    def _sharing(self, method: str) -> Extractor:
        """Another method with its defaults on these models; the own one as it is."""
        return self if method == self.method else self.using(method)

    def explained(self, text: PreparedText) -> Explained:
        """One text by this extractor's method."""
        scorer = self.scorer if text.candidates else None  # loaded before the clock starts
        start = perf_counter()
        (result,) = self.finish([text])
        seconds = perf_counter() - start
        return Explained.of(result, scorer, text.options, seconds)

    def extract_many(
        self,
        texts: Iterable[str | Document],
        top_n: TopN = 10,
        *,
        candidates: CandidateKind | Iterable[str] | Iterable[Iterable[str] | None] | None = None,
        seeds: Iterable[str] = (),
        query: str | None = None,
        progress: bool = False,
        workers: int = 1,
        **options: Any,
    ) -> Iterator[Result]:
        """The keyphrases of many texts, one result each, in order, as they are found.

        `candidates` is one list for all texts (an empty one gives empty results), or one list (or None) for each.
        `progress` draws a bar on standard error. Other options are those of `extract`. Where the method can, short
        texts are computed together, so up to 64 of them are taken before the first result comes; that changes no
        result. Nor do `workers`, the number of processes that compute: each loads the models, and a few batches are
        taken ahead for each.
        """
        wanted = DEFAULT_OPTIONS.changed({"top_n": top_n, **options})
        several("texts", texts, "texts")
        tracked = with_bar(texts) if checked("progress", progress, bool) else texts
        extractor = self.towards(seeds, query)
        items = text_items(tracked, candidates, wanted)
        return _results(outcomes(extractor, items, workers=checked("workers", workers, int, least=1)))

    def prepare(self, text: str | Document, options: Options = DEFAULT_OPTIONS, **changes: Any) -> PreparedText:
        """Read a text and find its candidates, as `extract` does before it asks the method.

        `changes` are options of `extract` that differ from `options`: those of one text among many.
        """
        options = options.changed(changes)
        document = text if isinstance(text, Document) else self.read(text, options.language)
        kind: Any = options.candidates if isinstance(options.candidates, str) else self._kind.candidate_kind
        return with_candidates(document, options, kind, self._reading)

    def finish(self, prepared: Sequence[PreparedText]) -> list[Result]:
        """Score and rank texts that were prepared, together where the method can; no result depends on the others."""
        if not any(text.candidates for text in prepared):  # no model is loaded for them
            return [self._result(text, ScoredCandidates((), ())) for text in prepared]
        scored = score_texts(self.scorer, prepared)
        return [self._result(text, candidates) for text, candidates in zip(prepared, scored, strict=True)]

    def _result(self, text: PreparedText, scored: ScoredCandidates) -> Result:
        document, options = text.document, text.options
        keyphrases = keyphrase_list(text, scored, self._kind, self._label_vectors)
        return Result(
            document.text,
            on_pages(keyphrases, () if self.protocol else options.pages),  # a protocol's cleaning moves the text
            coverage(document, scored),
            self.method,
            self._model_for(document),
            options.source,
            text.missing,
            scored.dropped,
            document.language if document.words else None,
            document.read_by or None,
            _warnings(document),
        )

    def _model_for(self, document: Document) -> str | None:
        """The model that was asked about one text: in place of the usual encoder, that for other languages."""
        foreign = document.language != "en" and "multilingual" in model_fields(self.method)
        return MULTILINGUAL_ENCODER if foreign and self.model_used == DEFAULT_ENCODER else self.model_used

    def _label_vectors(self, vocabulary: Vocabulary) -> LabelVectors:
        """The vectors of a vocabulary's labels, encoded on first use."""
        from mudy.extraction.near_concepts import LabelVectors

        kept: LabelVectors | None = self._loaded.get("labels")
        if kept is None or kept.vocabulary != vocabulary:
            kept = self._loaded["labels"] = LabelVectors(self.encoder(), vocabulary)  # those of one at a time
        return kept

    def read(self, text: str, language: str | None = None) -> Document:
        """The document that a text becomes: cut to `max_words`, or cleaned as the protocol asks.

        `language` is that of this text; None: the extractor's.
        """
        if not isinstance(text, str):
            raise InputError(f"A text must be a str, not {seen(text)}. Decode bytes, or read the file first.")
        protocol = self._reading
        text, omitted = first_words(text, self.max_words) if protocol is None else protocol.read(text, self.max_words)
        if not text.strip():
            return Document(text, (), (), omitted_words=omitted)
        return self.document(text, omitted, self.language if language is None else language)

    @property
    def _reading(self) -> ReadingProtocol | None:
        return None if self.protocol is None else reading_protocol(self.protocol)

    @property
    def dtype(self) -> str | None:
        """The precision asked for; None leaves it to the machine."""
        return self.compute.dtype

    @property
    def speed(self) -> Speed:
        """How much is computed, and how exactly: as asked for, else as the method has it."""
        return self.compute.speed or self._kind.default_speed

    @property
    def _kind(self) -> type[Method]:
        return method_class(self.method)

    @cached_property
    def model_used(self) -> str | None:
        """The name of the model that the method asks, if it asks one."""
        needed = model_fields(self.method)
        if self.speed == "quick":
            needed -= {"backbone"}
        return self.model if needed & {"backbone", "chat"} else self.encoder_name if "encoder" in needed else None

    @cached_property
    def scorer(self) -> Method:
        """The method with its models, loaded now if they were not yet."""
        with loading():
            kind = method_class(self.method)
            quicker = kind.speeds.get(self.speed, {})
            made: Method = kind.build(self, self.preset, {**quicker, **self.settings})
        return made

    def model_names(self, *, fetch: bool = True) -> list[str]:
        """The models that the method asks. A language model may be fetched to know: settings may depend on it."""
        from mudy import models

        def architecture() -> Architecture:
            return Architecture(*models.architecture(self.model, fetch=fetch))

        settings = {**self._kind.speeds.get(self.speed, {}), **self.settings}
        needed = self._kind.needed(self._kind.chosen_settings(self.preset, settings, architecture), architecture)
        names = [self.model] if needed & {"backbone", "chat"} and self.endpoint is None else []
        return names + ([self.encoder_name] if "encoder" in needed else [])

    def fetch(self) -> None:
        """Fetch the method's models, unless they are here."""
        self.locate(self.model_names())

    def load_meanwhile(self) -> None:
        """Load the tagger now, and beside it, in a thread, the method's models if they are here.

        What cannot be loaded there is tried again, and told of, when it is used.
        """
        if not self.loaded and self.endpoint is None:
            Thread(target=self._load_if_here, name="mudy-models").start()
        self.load_tagger()

    def _load_if_here(self) -> None:
        from mudy import models

        with suppress(Exception):
            names = self.model_names(fetch=False)
            if all(name in models.KNOWN and models.locate(name, fetch=False, check="sizes") for name in names):
                self.load()

    def load(self) -> None:
        """Load the method's models now, unless they are in memory; otherwise they are loaded on first use."""
        self.scorer  # noqa: B018 (a property that loads)


def _results(computed: Generator[Outcome[int], None, None]) -> Iterator[Result]:
    with closing(computed):
        for outcome in computed:
            _warn(outcome.value.warnings)
            yield outcome.value


def _warnings(document: Document) -> tuple[str, ...]:
    """What a caller should be told about how a text was read."""
    return tuple(message for message in (mismatch(document), segmenter_advice(document)) if message is not None)


_GIVEN: set[str] = set()  # advice that was given in this process


def _warn(messages: Iterable[str]) -> None:
    """Warn where extract, explain or extract_many was called; of a missing segmenter once per process."""
    for message in messages:
        if message not in _GIVEN:
            warnings.warn(message, LanguageWarning, stacklevel=3)
        if message in ADVICE.values():
            _GIVEN.add(message)
