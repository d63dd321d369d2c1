"""The one door: text in, keyphrases out."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from itertools import chain, repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from mudy import candidates as noun_phrases
from mudy.batching import BATCH_TEXTS, BATCH_WORDS, batch_size, batches, score_each
from mudy.candidates import MAX_WORDS, Candidate
from mudy.errors import InputError, LanguageWarning, SettingError, UnsupportedModel
from mudy.explanation import Explained, Explanation, gold_places
from mudy.languages import mismatch
from mudy.loading import loading
from mudy.methods import checked_settings, method_class, model_fields, settings_in_use
from mudy.methods.method import BatchMethod, GenerativeMethod, ScoredCandidates
from mudy.preparation import PhraseFilter, PreparedText
from mudy.protocols import ProtocolName, reading_protocol
from mudy.ranking import how_many, rank
from mudy.results import Coverage, Result, on_pages
from mudy.tagging import Tagger
from mudy.text import Document, first_words, squeeze
from mudy.validation import checked, known_names, page_starts, phrases, seen, several

if TYPE_CHECKING:
    from spacy.language import Language

    from mudy.backbones.backbone import Backbone
    from mudy.backbones.chat import Chat
    from mudy.backbones.compute import Machine
    from mudy.backbones.encoder import SentenceEncoder
    from mudy.methods.method import Method
    from mudy.models import Report

GATHERED_TEXTS, GATHERED_WORDS = BATCH_TEXTS, BATCH_WORDS  # until all use the new names
Task: TypeAlias = PreparedText
DEFAULT_METHOD = "mudy"
DEFAULT_MODEL = "gemma3-270m"
DEFAULT_ENCODER = "minilm-l6"
Speed = Literal["exact", "fast"]
Precision = Literal["float32", "bfloat16", "float16"]
OPTIONS = ("candidates", "stop_phrases", "max_candidate_words", "merge", "diversity", "source", "pages")  # of `extract`
T = TypeVar("T")


class Extractor:
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
        language: str | Language | Tagger = "en",
        protocol: ProtocolName | None = None,
        max_words: int | None = None,
        encoder: str = DEFAULT_ENCODER,
        endpoint: str | None = None,
        device: str | None = None,
        dtype: str | None = None,
        threads: int | None = None,
        batch_tokens: int | None = None,
        speed: Speed = "exact",
        report: Report | None = None,
        **settings: Any,
    ) -> None:
        self.model: str = checked("model", model, str)
        self.encoder_name: str = checked("encoder", encoder, str)
        self.language = checked_language(language)
        self.protocol: ProtocolName | None = checked("protocol", protocol, ProtocolName | None)
        self.max_words: int | None = checked("max_words", max_words, int | None, least=1)
        self.endpoint: str | None = checked("endpoint", endpoint, str | None)
        self.speed: Speed = checked("speed", speed, Speed)
        self._report = checked("report", report, Callable | None)
        self._choose(method, preset, settings)
        if endpoint is not None and "chat" not in model_fields(method):
            raise SettingError(f"An endpoint was given, but {method} does not write phrases. Use method='empirical'.")
        self._machine: dict[str, Any] = {
            "device": checked("device", device, str | None),
            "dtype": checked("dtype", dtype, Precision | None),
            "threads": checked("threads", threads, int | None, least=1),
            "batch_tokens": checked("batch_tokens", batch_tokens, int | None, least=1),
            "speed": speed,
        }
        self._loaded: dict[str, Any] = {}  # tagger and models, shared with those that `using` makes

    def __repr__(self) -> str:
        machine = {name: value for name, value in self._machine.items() if name not in ("speed", "watch")}
        given = {
            "preset": self.preset,
            "language": None if self.language == "en" else self.language,
            "protocol": self.protocol,
            "max_words": self.max_words,
            "encoder": None if self.encoder_name == DEFAULT_ENCODER else self.encoder_name,
            "endpoint": self.endpoint,
            **machine,
            "speed": None if self.speed == "exact" else self.speed,
            **self.settings,
        }
        shown = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
        return f"Extractor({self.method!r}, {self.model!r}{shown})"

    def _choose(self, method: str, preset: str | None, settings: dict[str, Any]) -> None:
        checked("method", method, str)
        with loading() if settings else nullcontext():  # to know a method's settings is to import it
            self.settings = checked_settings(method, settings)
        self.method, self.preset = method, checked("preset", preset, str | None)

    def using(self, method: str, preset: str | None = None, **settings: Any) -> Extractor:
        """Another method, or other settings of this one, with the tagger and the models of this extractor."""
        made = copy.copy(self)
        for cached in ("scorer", "model_used"):
            vars(made).pop(cached, None)
        made._choose(method, preset, settings)
        return made

    def extract(
        self,
        text: str | Document,
        top_n: int | float | None = 10,
        *,
        candidates: Iterable[str] | None = None,
        stop_phrases: Iterable[str] = (),
        max_candidate_words: int | None = MAX_WORDS,
        merge: bool = True,
        diversity: float = 0.0,
        source: str | None = None,
        pages: Sequence[int] = (),
    ) -> Result:
        """The keyphrases of one text, best first; or of a document, that is, a text that `read` has read already.

        `top_n` is a number, a share of the text's words such as 0.02, or None for all. `candidates` replaces the noun
        phrases found by the tagger; those that do not stand in the text are named in `Result.not_found`. `stop_phrases`
        are never returned. `merge` joins forms with equal stems; `diversity` above 0 keeps phrases that share words
        apart. What a model wrote but cannot be returned is in `Result.dropped`. `pages` are the offsets at which pages
        begin; every occurrence then has its page.
        """
        task = self.prepare(text, top_n, candidates, stop_phrases, max_candidate_words, merge, diversity, source, pages)
        (result,) = self.finish([task])
        _warn(result.warnings)
        return result

    def explain(
        self,
        text: str | Document,
        methods: Iterable[str] | None = None,
        *,
        gold: Iterable[str] = (),
        top_n: int | float | None = None,
        source: str | None = None,
        **options: Any,
    ) -> Explanation:
        """Every phrase of one text with every occurrence and what its score was made of; by several methods, if asked.

        `methods` are names; None stands for this extractor's own. This one's method keeps its settings, the others have
        their defaults. `gold` are phrases known to be right, to be marked where they stand. Options are those of
        `extract`, but all phrases are given unless `top_n` says otherwise.
        """
        known_names("option", options, OPTIONS)
        names = [self.method] if methods is None else list(dict.fromkeys(phrases("methods", methods)))
        gold = phrases("gold", gold)
        makers = [self._sharing(name) for name in names]
        document = text if isinstance(text, Document) else self.read(text)
        _warn(notes(document))
        found = [maker.explained(maker.prepare(document, top_n, source=source, **options)) for maker in makers]
        return Explanation(document.text, tuple(found), gold_places(document, gold), source)

    def _sharing(self, method: str) -> Extractor:
        """Another method with its defaults on these models; the own one as it is."""
        return self if method == self.method else self.using(method)

    def explained(self, task: PreparedText) -> Explained:
        """One text by this extractor's method."""
        scorer = self.scorer if task.candidates else None  # loaded before the clock starts
        start = perf_counter()
        (result,) = self.finish([task])
        seconds = perf_counter() - start
        return Explained(result, settings_in_use(scorer), scorer.rescorable if scorer else (), seconds)

    def extract_many(
        self,
        texts: Iterable[str],
        top_n: int | float | None = 10,
        *,
        candidates: Iterable[str] | Iterable[Iterable[str] | None] | None = None,
        progress: bool = False,
        **options: Any,
    ) -> Iterator[Result]:
        """The keyphrases of many texts, one result each, in order, as they are found.

        `candidates` is one list for all texts, or one list (or None) for each. `progress` draws a bar on standard
        error. Other options are those of `extract`. Where the method can, short texts are computed together, so up to
        64 of them are taken before the first result comes; that changes no result.
        """
        known_names("option", options, OPTIONS)
        several("texts", texts, "texts")
        lists = _each(None if candidates is None else several("candidates", candidates, "phrases"))
        tracked = _tracked(texts) if checked("progress", progress, bool) else texts
        return self._results(self._tasks(tracked, lists, top_n, options))

    def _results(self, prepared: Iterator[PreparedText]) -> Iterator[Result]:
        for batch in batches(prepared, lambda text: text.words, batch_size(self.method)):
            for outcome in score_each(self, batch):
                if isinstance(outcome, Exception):
                    raise outcome
                _warn(outcome.warnings)
                yield outcome

    def _tasks(
        self,
        texts: Iterable[str],
        lists: Iterator[Iterable[str] | None],
        top_n: int | float | None,
        options: Mapping[str, Any],
    ) -> Iterator[PreparedText]:
        for number, text in enumerate(texts):
            try:
                own = next(lists)
            except StopIteration:
                raise InputError(
                    f"There are more than {number} texts, but only {number} lists of candidates."
                ) from None
            yield self.prepare(text, top_n, own, **options)

    def prepare(
        self,
        text: str | Document,
        top_n: int | float | None,
        candidates: Iterable[str] | None = None,
        stop_phrases: Iterable[str] = (),
        max_candidate_words: int | None = MAX_WORDS,
        merge: bool = True,
        diversity: float = 0.0,
        source: str | None = None,
        pages: Sequence[int] = (),
    ) -> PreparedText:
        """Read a text and find its candidates, as `extract` does before it asks the method."""
        document = text if isinstance(text, Document) else self.read(text)
        wanted = how_many(top_n, len(document.text.split()))
        merge, diversity = checked("merge", merge, bool), checked("diversity", diversity, float, least=0, most=1)
        max_candidate_words = checked("max_candidate_words", max_candidate_words, int | None, least=1)
        candidates = None if candidates is None else phrases("candidates", candidates)
        stop_phrases = phrases("stop_phrases", stop_phrases)
        source, pages = checked("source", source, str | None), page_starts(pages)
        found, missing = self._candidates(document, candidates, stop_phrases, max_candidate_words)
        others = None if candidates is not None else self._others(stop_phrases, max_candidate_words)
        ranking = {"merge": merge, "top_n": wanted, "diversity": diversity}
        known = () if self.protocol else pages  # a protocol's cleaning moves the text
        return PreparedText(document, tuple(found), tuple(missing), others, ranking, source, known)

    def finish(self, tasks: Sequence[PreparedText]) -> list[Result]:
        """Score and rank texts that were prepared, together where the method can; no result depends on the others."""
        return [
            Result(
                task.document.text,
                on_pages(rank(task.document.text, choice.candidates, choice.scores, **task.ranking), task.pages),
                coverage(task.document, choice),
                self.method,
                self.model_used,
                task.source,
                task.missing,
                choice.dropped,
                task.document.detected,
                notes(task.document),
            )
            for task, choice in zip(tasks, self._choices(tasks), strict=True)
        ]

    def read(self, text: str) -> Document:
        """The document that a text becomes: cut to `max_words`, or cleaned as the protocol asks."""
        if not isinstance(text, str):
            raise InputError(f"A text must be a str, not {seen(text)}. Decode bytes, or read the file first.")
        if self.protocol is not None:
            text, omitted = reading_protocol(self.protocol).read(text, self.max_words)
        else:
            text, omitted = first_words(text, self.max_words)
        return self.tagger.document(text, omitted) if text.strip() else Document(text, (), (), omitted_words=omitted)

    def _candidates(
        self, document: Document, own: Iterable[str] | None, stop_phrases: Iterable[str], max_words: int | None
    ) -> tuple[list[Candidate], Sequence[str]]:
        missing: Sequence[str] = ()
        if own is not None:
            found, missing = noun_phrases.given(document, own)
        elif self.protocol is not None:
            found = reading_protocol(self.protocol).candidates(document)
        else:
            return noun_phrases.candidates(document, max_words=max_words, stop_phrases=stop_phrases), ()
        excluded = {squeeze(phrase).lower() for phrase in stop_phrases}
        return [candidate for candidate in found if candidate.phrase not in excluded], missing

    def _others(self, stop_phrases: Iterable[str], max_words: int | None) -> PhraseFilter:
        """Which phrases a method may return beside the candidates; under a protocol they may have any length."""
        return PhraseFilter(
            frozenset(squeeze(phrase).lower() for phrase in stop_phrases), None if self.protocol else max_words
        )

    def _choices(self, tasks: Sequence[PreparedText]) -> list[ScoredCandidates]:
        """Candidates with their scores; several texts together where the method can, and no model for none at all."""
        full = [task for task in tasks if task.candidates]
        if len(full) > 1 and isinstance(self.scorer, BatchMethod):
            scores = iter(self.scorer.score_many([(task.document, task.candidates) for task in full]))
            return [ScoredCandidates(task.candidates, tuple(next(scores)) if task.candidates else ()) for task in tasks]
        return [self._choice(task) if task.candidates else ScoredCandidates((), ()) for task in tasks]

    def _choice(self, task: PreparedText) -> ScoredCandidates:
        """One text's candidates; from a method that writes, those chosen, and such others as are allowed."""
        if isinstance(self.scorer, GenerativeMethod):
            given, others = set(task.candidates), task.others
            choice = self.scorer.choose(task.document, task.candidates)
            return choice.only(lambda c: c in given or (others is not None and others(c)))
        return ScoredCandidates(task.candidates, tuple(self.scorer.score(task.document, task.candidates)))

    @property
    def tagger(self) -> Tagger:
        language = self.language
        return (
            language if isinstance(language, Tagger) else self._once("tagger", lambda: Tagger(language, self._report))
        )

    @property
    def loaded(self) -> set[str]:
        """What is in memory: "tagger", "backbone", "encoder", "chat"."""
        return set(self._loaded)

    def _once(self, name: str, load: Callable[[], T]) -> T:
        """What was loaded under a name, loaded now if it was not yet."""
        if name not in self._loaded:
            with loading():
                self._loaded[name] = load()
        found: T = self._loaded[name]
        return found

    @property
    def dtype(self) -> str | None:
        """The precision asked for; None leaves it to the machine."""
        asked: str | None = self._machine["dtype"]
        return asked

    @cached_property
    def model_used(self) -> str | None:
        """The name of the model that the method asks, if it asks one."""
        needed = model_fields(self.method)
        return self.model if needed & {"backbone", "chat"} else self.encoder_name if "encoder" in needed else None

    @cached_property
    def scorer(self) -> Method:
        """The method with its models, loaded now if they were not yet."""
        with loading():
            kind = method_class(self.method)
            quicker = kind.speeds.get(self.speed, {})
            made: Method = kind.build(self, self.preset, {**quicker, **self.settings})
        return made

    def load_tagger(self) -> None:
        """Load the tagger now, unless it is in memory."""
        self.tagger  # noqa: B018 (a property that loads)

    def load(self) -> None:
        """Load the method's models now, unless they are in memory; otherwise they are loaded on first use."""
        self.scorer  # noqa: B018 (a property that loads)

    def backbone(self) -> Backbone:
        """The language model, fetched if need be, and loaded."""
        from mudy import backbones, models

        machine = self._at_hand()
        return self._once(
            "backbone", lambda: backbones.load(models.locate(self.model, report=self._report), machine, self.model)
        )

    def encoder(self) -> SentenceEncoder:
        """The sentence encoder, fetched if need be, and loaded."""
        from mudy import backbones, models

        machine, name = self._at_hand(), self.encoder_name
        return self._once(
            "encoder", lambda: backbones.load_encoder(models.locate(name, report=self._report), machine, name)
        )

    def chat(self) -> Chat:
        """The model that writes: behind the endpoint, if there is one, else fetched if need be, and loaded."""
        if self.endpoint is not None:
            from mudy.backbones.endpoint import Endpoint

            return Endpoint.of(self.endpoint, self.model)
        from mudy import backbones, models
        from mudy.backbones.chat import no_template

        known = models.KNOWN.get(self.model)
        if known is not None and not known.chat_template:
            raise UnsupportedModel(no_template(self.model))  # before it is fetched for nothing
        machine, template = self._at_hand(), known.chat_template if known else ""
        return self._once(
            "chat",
            lambda: backbones.load_chat(models.locate(self.model, report=self._report), machine, self.model, template),
        )

    def _at_hand(self) -> Machine:
        from mudy.backbones.compute import Machine

        return Machine.of(**self._machine)


def notes(document: Document) -> tuple[str, ...]:
    """What a caller should be told about how a text was read."""
    other_language = mismatch(document)
    return () if other_language is None else (other_language,)


def _warn(messages: Iterable[str]) -> None:
    for message in messages:
        warnings.warn(message, LanguageWarning, stacklevel=3)  # where extract, explain or extract_many was called


def checked_language(language: Any) -> str | Language | Tagger:
    """A language's name, a tagger, or a spaCy pipeline."""
    if isinstance(language, str | Tagger) or (callable(language) and hasattr(language, "pipe_names")):
        return language
    raise SettingError(
        f"language is {seen(language)}, but must be a code such as 'en', the name or path of a spaCy package, or a "
        "pipeline that spaCy has loaded."
    )


def coverage(document: Document, choice: ScoredCandidates) -> Coverage:
    """How much of a text was read; a text without candidates counts as read in one go."""
    words = len(document.text.split())
    read = max(0, words - document.skipped_words - choice.unread_words)
    return Coverage(read, words + document.omitted_words, max(1, len({score.section for score in choice.scores})))


def _each(candidates: Any) -> Iterator[Iterable[str] | None]:
    """One list of candidates for each text: always the same one, or the next of many."""
    if candidates is None:
        return repeat(None)
    given = iter(candidates)
    first = next(given, None)
    if isinstance(first, str):
        return repeat([first, *given])
    return chain([first], given)


def _tracked(texts: Iterable[str]) -> Iterable[str]:
    from rich.console import Console
    from rich.progress import track

    total = len(texts) if isinstance(texts, Sequence) else None
    return track(texts, "Extracting", total=total, console=Console(stderr=True))
