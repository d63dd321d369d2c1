"""The one door: text in, keyphrases out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from copy import copy
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

from mudy import models
from mudy._support.this_process import loading
from mudy._support.validation import TopN, checked, options_of, phrases, seen, several
from mudy.engines import Compute, Precision, Speed
from mudy.errors import ExampleWarning, InputError, LanguageWarning, SettingError, TextWarning
from mudy.extraction.concepts import LabelVectors
from mudy.extraction.examples import Examples
from mudy.extraction.explanation import Explained, Explanation, gold_places
from mudy.extraction.model_loader import MULTILINGUAL_ENCODER, ModelLoader
from mudy.extraction.options import (
    DEFAULT_ENCODER,
    DEFAULT_METHOD,
    DEFAULT_MODEL,
    DEFAULT_OPTIONS,
    HISTORY_STYLE,
    OptionArguments,
    Options,
    ProtocolName,
    RankingFocus,
    Setup,
)
from mudy.extraction.outcomes import Outcome, candidates_of_each, outcomes, text_items
from mudy.extraction.promptrank_protocol import promptrank_text
from mudy.extraction.ranking import PreparedText, keyphrase_list, score_texts, with_candidates
from mudy.extraction.results import Coverage, Result, on_pages
from mudy.extraction.sections import section_lists
from mudy.methods import (
    Style,
    check_settings,
    checked_settings,
    has_styles,
    method_class,
    model_fields,
    settings_of,
    shared_speed,
)
from mudy.methods.method import Architecture, Method, ScoredCandidates
from mudy.reading.candidates import CandidateKind
from mudy.reading.candidates.vocabularies import Vocabulary
from mudy.reading.document import Block, Document, first_words
from mudy.reading.languages import ADVICE, AUTO, mismatch, segmenter_advice
from mudy.reading.structure import LOG, NUMBERS, blocks_of, cut_to, unusual
from mudy.reading.tagging import TextReader

if TYPE_CHECKING:
    from spacy.language import Language

    from mudy.extraction.adaptation import Adaptation
    from mudy.extraction.history import History


class Extractor:
    """Finds the keyphrases of texts.

    `method` and `model` are names (`mudy methods`, `mudy models`), `model` also a local folder or hub id. Further
    keyword arguments are settings of the method, under its paper's symbols; unknown ones raise. `style` is the kind of
    keyphrases that MUDY+ finds: "subjects" (default), "terms", "keywords" or "tags". Models are loaded on first use.
    `history` is a folder of Markdown notes with tags, or a .jsonl or .csv file with `text` and `tags`: the tags of
    similar texts are suggested too, marked by their `source`; the style is then "tags" unless another is given.
    `endpoint` is the address of a server that speaks OpenAI's chat completions, for a method that writes
    phrases; `model` is then a name that this server knows, and OPENAI_API_KEY its key.
    `examples` are pairs of a text and the keyphrases that you want for it, or a file of them, at least three: the
    weights of the style are adapted to them now, which loads the models, and `adaptation` says what changed.

        >>> Extractor(lambda_=0.5).extract("...").as_tuples()
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        model: str = DEFAULT_MODEL,
        *,
        style: Style | None = None,
        preset: str | None = None,
        language: str | Language | TextReader = AUTO,
        protocol: ProtocolName | None = None,
        max_words: int | None = None,
        history: str | Path | None = None,
        encoder: str = DEFAULT_ENCODER,
        endpoint: str | None = None,
        examples: Examples | str | Path | Iterable[tuple[str, Iterable[str]]] | None = None,
        device: str | None = None,
        dtype: Precision | None = None,
        threads: int | None = None,
        batch_tokens: int | None = None,
        speed: Speed | None = None,
        report: models.Report | None = None,
        **settings: Any,
    ) -> None:
        given = Setup(method, model, encoder, endpoint, preset, language, protocol, max_words, examples, history)  # type: ignore[arg-type]  # a path becomes a str
        setup = replace(given, examples=None)
        compute = Compute(device, dtype, threads, batch_tokens, speed)
        if setup.history is not None and not method_class(method).calibrated:
            raise SettingError(f"history needs probabilities, but {method} gives scores. Use mudyplus.")
        settings |= RankingFocus(style).settings()
        self.adaptation: Adaptation | None = None
        self._configure(ModelLoader(setup, compute, checked("report", report, Callable | None)), settings)
        if speed == "quick" and shared_speed(method, speed) != speed:
            raise SettingError(f"{method} has no speed 'quick': it asks a language model. Use 'fast', or mudyplus.")
        if endpoint is not None and "chat" not in model_fields(method):
            raise SettingError(f"An endpoint was given, but {method} does not write phrases. Use method='empirical'.")
        if not isinstance(given.examples, Examples):
            return
        check_settings(method, {} if has_styles(method) else {"examples": given.examples})
        from mudy.extraction.adaptation import adapt

        self.adaptation = adapt(copy(self), given.examples)
        if self.adaptation.notes or not self.adaptation.helps:
            warnings.warn(str(self.adaptation), ExampleWarning, stacklevel=2)
        if self.adaptation.helps:
            others = {name: value for name, value in self.settings.items() if name != "style"}
            self._configure(self.loader, {**others, "weights": self.adaptation.weights})

    def _configure(self, loader: ModelLoader, settings: dict[str, Any]) -> None:
        weighted = settings.get("weights") is not None
        if loader.setup.history is not None and not weighted and has_styles(loader.setup.method):
            settings = {"style": HISTORY_STYLE, **settings}
        with loading() if settings else nullcontext():  # the settings of a method are known when it is imported
            self.settings = checked_settings(loader.setup.method, settings)
        self.loader, setup = loader, loader.setup
        self.method, self.model, self.encoder_name = setup.method, setup.model, setup.encoder
        self.preset, self.protocol, self.max_words = setup.preset, setup.protocol, setup.max_words
        self.endpoint: str | None = setup.endpoint
        self.language: str | Language | TextReader = setup.language

    def __repr__(self) -> str:
        defaults = {"language": AUTO, "encoder": DEFAULT_ENCODER, "method": self.method, "model": self.model}
        given = {name: value for name, value in self.arguments().items() if value not in (None, defaults.get(name))}
        shown = "".join(f", {name}={value!r}" for name, value in given.items())
        return f"Extractor({self.method!r}, {self.model!r}{shown})"

    def __getstate__(self) -> dict[str, Any]:
        """A pickle holds no models: they are loaded again where it arrives. A copy shares those of the loader."""
        state = vars(self).copy()  # in one step: another thread may load the scorer meanwhile
        state.pop("scorer", None)
        return state

    def arguments(self) -> dict[str, Any]:
        """The arguments that make an extractor like this one."""
        setup = {name: getattr(self.loader.setup, name) for name in options_of(Setup)}
        return {**setup, **asdict(self.compute), **self.settings}

    def using(self, method: str, preset: str | None = None, **settings: Any) -> Extractor:
        """Another method, or other settings of this one, with the tagger and the models of this extractor."""
        setup = replace(self.loader.setup, method=method, preset=preset)
        if setup.history is not None and not method_class(method).calibrated:
            setup = replace(setup, history=None)
        compute = replace(self.compute, speed=shared_speed(method, self.speed))  # the models are loaded for it
        made = copy(self)
        made._configure(replace(self.loader, setup=setup, compute=compute), settings)
        made.adaptation = self.adaptation if settings.get("weights") == self.settings.get("weights") else None
        return made

    def towards(self, seeds: Iterable[str] = (), query: str | None = None, style: Style | None = None) -> Extractor:
        """The same extractor, its ranking turned towards phrases, a question or a style; only some methods can."""
        return self._with(RankingFocus(style, seeds, query).settings())

    def _with(self, settings: dict[str, Any]) -> Extractor:
        return self.using(self.method, self.preset, **{**self.settings, **settings}) if settings else self

    def extract(
        self,
        text: str | Document,
        top_n: TopN = 10,
        *,
        seeds: Iterable[str] = (),
        query: str | None = None,
        style: Style | None = None,
        **options: Unpack[OptionArguments],
    ) -> Result:
        """The keyphrases of one text, best first; or of a document, that is, a text that `read` has read already.

        `top_n` is a number, a share of the text's words such as 0.02, "auto" for as many as the text deserves, or None
        for all. `candidates` replaces the phrases that are ranked: "nouns" for noun phrases as long as possible,
        "nested" for phrases inside them too, or a list of your own; an empty list gives an empty result, and phrases
        that do not occur in the text are listed in `Result.not_found`. `max_candidate_words` limits the length of
        phrases. `stop_phrases` are never returned. `merge` (default True) joins inflections: singular and plural.
        `distinct` leaves out phrases that repeat what an earlier one says; None leaves that to the method. `diversity`
        above 0 keeps phrases that share words apart. `min_score` leaves out phrases that score less. What a model wrote
        but cannot be returned is in `Result.dropped`. `language` is that of this text; None: the extractor's. `source`
        is copied to the result. `pages` are the offsets at which pages begin; every occurrence then has its page.
        `blocks` are what a reader of files found in the text: headings, code and so on; None: they are detected.
        `per_section` also lists the best phrases of each section in `Result.sections`.

        `vocabulary` finds the concepts of a `Vocabulary` (or of a list of labels) and nothing else; each keyphrase has
        its `concept`. With `boost` other phrases are returned too, and those of the vocabulary gain so much over them.
        `near` gives phrases without a concept the nearest one in meaning, from this similarity on, marked as such.
        `seeds` are phrases, and `query` is a question, towards which the ranking is turned (MUDY+). `style` replaces
        the style of the extractor for this text.
        """
        wanted = DEFAULT_OPTIONS.changed({"top_n": top_n, **options})
        extractor = self.towards(seeds, query, style)
        if isinstance(text, str) and text.strip():
            extractor.load_meanwhile()
        (result,) = extractor.finish([extractor.prepare(text, wanted)])
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
        style: Style | None = None,
        **options: Unpack[OptionArguments],
    ) -> Explanation:
        """Every phrase of one text with every occurrence and what its score was made of; by several methods, if asked.

        `methods` are names; None stands for this extractor's own. This one's method keeps its settings, the others have
        their defaults; a `style` is for those that have styles. `gold` are phrases known to be right, marked where they
        occur. Options are those of `extract`, but all phrases are given unless `top_n` says otherwise.
        """
        wanted = DEFAULT_OPTIONS.changed({"top_n": top_n, **options})
        names = [self.method] if methods is None else list(dict.fromkeys(phrases("methods", methods)))
        gold = phrases("gold", gold)
        focus = RankingFocus(style, seeds, query).settings_of_each(names)
        extractors = [(self if name == self.method else self.using(name))._with(focus[name]) for name in names]
        document = text if isinstance(text, Document) else self.read(text, wanted.language, wanted.blocks)
        _warn(_warnings(document))
        explained = [extractor.explained(extractor.prepare(document, wanted)) for extractor in extractors]
        return Explanation(document.text, tuple(explained), gold_places(document, gold), wanted.source)

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
        style: Style | None = None,
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
        extractor = self.towards(seeds, query, style)
        if checked("progress", progress, bool):
            from rich.console import Console
            from rich.progress import track

            total = len(texts) if isinstance(texts, Sequence) else None
            texts = track(texts, "Extracting", total=total, console=Console(stderr=True))
        items = text_items(texts, candidates_of_each(candidates), wanted)
        return _results(outcomes(extractor, items, workers=checked("workers", workers, int, least=1)))

    def prepare(self, text: str | Document, options: Options = DEFAULT_OPTIONS, **changes: Any) -> PreparedText:
        """Read a text and find its candidates, as `extract` does before it asks the method.

        `changes` are options of `extract` that differ from `options`: those of one text among many.
        """
        options = options.changed(changes)
        if self.history is not None:
            options = self.history.applied(options)
        document = text if isinstance(text, Document) else self.read(text, options.language, options.blocks)
        kind: Any = options.candidates if isinstance(options.candidates, str) else self._kind.candidate_kind
        return with_candidates(document, options, kind, self.protocol)

    def finish(self, prepared: Sequence[PreparedText]) -> list[Result]:
        """Score and rank texts that were prepared, together where the method can; no result depends on the others."""
        scored = [ScoredCandidates((), ())] * len(prepared)
        if any(text.candidates for text in prepared):  # else no model is loaded
            scored = score_texts(self.scorer, prepared)
        return [self._result(text, candidates) for text, candidates in zip(prepared, scored, strict=True)]

    def _result(self, text: PreparedText, scored: ScoredCandidates) -> Result:
        document, options = text.document, text.options
        votes = {} if self.history is None else self.history.votes(document, options)
        keyphrases = keyphrase_list(text, scored, self._kind, self._label_vectors, votes)
        foreign = document.language != "en" and "multilingual" in model_fields(self.method)
        return Result(
            document.text,
            on_pages(keyphrases, () if self.protocol else options.pages),  # a protocol's cleaning moves the text
            Coverage.of(document, scored),
            self.method,
            MULTILINGUAL_ENCODER if foreign and self.model_used == DEFAULT_ENCODER else self.model_used,
            options.source,
            text.missing,
            scored.dropped,
            document.language if document.words else None,
            document.read_by or None,
            _warnings(document),
            section_lists(text, scored, self._kind, self._label_vectors) if options.per_section else (),
        )

    def _label_vectors(self, vocabulary: Vocabulary) -> LabelVectors:
        """The vectors of a vocabulary's labels, encoded on first use."""
        kept: LabelVectors | None = self.loader.in_memory.get("labels")
        if kept is None or kept.vocabulary != vocabulary:
            kept = LabelVectors(self.loader.encoder(), vocabulary)
            self.loader.in_memory["labels"] = kept  # those of one vocabulary at a time
        return kept

    def read(self, text: str, language: str | None = None, blocks: Sequence[Block] | None = None) -> Document:
        """The document that a text becomes: cut to `max_words`, or cleaned as the protocol asks.

        `language` is that of this text; None: the extractor's. `blocks` are its headings, code and so on, as a reader
        of files found them; None: they are detected.
        """
        if not isinstance(text, str):
            raise InputError(f"A text must be a str, not {seen(text)}. Decode bytes, or read the file first.")
        if self.protocol is None:
            text, omitted = first_words(text, self.max_words)
        else:
            text, omitted = promptrank_text(text.lower(), self.max_words)
        if not text.strip():
            return Document(text, (), (), omitted_words=omitted)
        blocks = () if self.protocol is not None else blocks_of(text) if blocks is None else cut_to(len(text), blocks)
        return self.loader.document(text, omitted, self.language if language is None else language, blocks)

    @property
    def compute(self) -> Compute:
        """Where and how to compute, as asked for."""
        return self.loader.compute

    @property
    def speed(self) -> Speed:
        """How much is computed, and how exactly: as asked for, else the default of the method."""
        return self.loader.speed

    @property
    def style(self) -> Style | None:
        """The style of the keyphrases; None for a method without styles, or with weights from a file."""
        settings = settings_of(self.method) | self.settings
        style: Style | None = settings.get("style")
        return style if settings.get("weights") is None else None

    @property
    def history(self) -> History | None:
        """The tagged texts whose tags are suggested."""
        return self.loader.history()

    @property
    def loaded(self) -> set[str]:
        """What is in memory: "tagger", "backbone", "encoder", "chat"."""
        return self.loader.loaded

    @property
    def tagger(self) -> TextReader:
        """What reads texts in the language that was given; in English, if the language is detected."""
        return self.loader.tagger

    @property
    def _kind(self) -> type[Method]:
        return method_class(self.method)

    @property
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
            quicker = self._kind.speeds.get(self.speed, {})
            made: Method = self._kind.build(self.loader, self.preset, {**quicker, **self.settings})
        return made

    def model_names(self, *, fetch: bool = True) -> list[str]:
        """The models that the method asks. A language model may be fetched to know: settings may depend on it."""

        def architecture() -> Architecture:
            return Architecture(*models.architecture(self.model, fetch=fetch))

        settings = {**self._kind.speeds.get(self.speed, {}), **self.settings}
        needed = self._kind.needed(self._kind.chosen_settings(self.preset, settings, architecture), architecture)
        names = [self.model] if needed & {"backbone", "chat"} and self.endpoint is None else []
        return names + ([self.encoder_name] if "encoder" in needed else [])

    def fetch(self) -> None:
        """Fetch the method's models, unless they are here; and encode the history, so that no other process has to."""
        for name in self.model_names():
            self.loader.located(name)
        if self.history is not None:
            self.history.load()

    def load_meanwhile(self) -> None:
        """Load the tagger now, and beside it, in a thread, the method's models if they are here.

        What cannot be loaded there is tried again, and told of, when it is used.
        """

        def load_if_here() -> None:
            with suppress(Exception):
                names = self.model_names(fetch=False)
                if all(name in models.KNOWN and models.locate(name, fetch=False, check="sizes") for name in names):
                    self.load()

        if not self.loaded and self.endpoint is None:
            Thread(target=load_if_here, name="mudy-models").start()
        self.load_tagger()

    def load_tagger(self) -> None:
        """Load the tagger now, unless it is in memory."""
        self.tagger  # noqa: B018 (a property that loads)

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
    messages = (mismatch(document), segmenter_advice(document), unusual(document.text))
    return tuple(message for message in messages if message is not None)


_GIVEN: set[str] = set()  # advice that was given in this process


def _warn(messages: Iterable[str]) -> None:
    """Warn where extract, explain or extract_many was called; of a missing segmenter once per process."""
    for message in messages:
        if message not in _GIVEN:
            kind = TextWarning if message in (LOG, NUMBERS) else LanguageWarning
            warnings.warn(message, kind, stacklevel=3)
        if message in ADVICE.values():
            _GIVEN.add(message)
