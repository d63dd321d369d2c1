"""A spaCy component: `nlp.add_pipe("mudy")`, then `doc._.keyphrases`, `doc.spans["mudy"]` and `doc._.phrases`.

The component uses the Doc's tags and sentences, so it comes after a tagger. Keyphrases are stored in the Doc under the
component's name, as plain values that can be sent between processes and saved. With several components in a pipeline
`doc._.keyphrases` and `doc._.phrases` are those of the first; `doc._.keyphrases_of(name)` are those of any.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from spacy.lang.en import English
from spacy.lang.zh import Chinese
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch, raise_error

from mudy.errors import InputError, SettingError
from mudy.extraction.options import DEFAULT_METHOD
from mudy.extraction.results import Keyphrase, Result, ScoredOccurrence
from mudy.integrations.extraction import check_plain_settings, results_of
from mudy.reading.tagging import document_of_doc

NAME = "mudy"  # of the factory, and of the entry in doc.user_data
LABEL = "KEYPHRASE"
ErrorHandler = Callable[[str, Any, list[Doc], Exception], None]


@dataclass(frozen=True)
class RankedPhrase:
    """A keyphrase with the names that pytextrank gives to its parts."""

    text: str
    chunks: list[Span]  # every occurrence
    count: int
    rank: float  # the score: higher is better


class KeyphraseComponent:
    """Adds the keyphrases to each Doc. It holds only its settings, so it can be pickled."""

    def __init__(self, settings: dict[str, Any], name: str = NAME) -> None:
        for option in ("language", "max_words", "protocol"):
            if option in settings:
                raise SettingError(f"{option} has no effect in a spaCy pipeline: the Doc has been read already.")
        check_plain_settings(settings)
        self.settings = settings
        self.name = name
        self.error_handler: ErrorHandler = raise_error

    def __call__(self, doc: Doc) -> Doc:
        (result,) = results_of([document_of_doc(doc)], self.settings)
        return self._stored(doc, result)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """The same Docs with their keyphrases; short ones are computed together.

        A Doc that fails goes to the error handler, which raises unless another was set, and is left out.
        """
        for docs in minibatch(stream, batch_size):
            try:
                results = list(results_of(map(document_of_doc, docs), self.settings))
            except Exception:
                yield from self._one_by_one(docs)
            else:
                yield from map(self._stored, docs, results)

    def set_error_handler(self, error_handler: ErrorHandler) -> None:
        """Called by `nlp.set_error_handler`, with the function that receives the Docs that fail."""
        self.error_handler = error_handler

    def get_error_handler(self) -> ErrorHandler:
        return self.error_handler

    def _one_by_one(self, docs: Iterable[Doc]) -> Iterator[Doc]:
        for doc in docs:
            try:
                self(doc)
            except Exception as error:
                self.error_handler(self.name, self, [doc], error)
            else:
                yield doc

    def _stored(self, doc: Doc, result: Result) -> Doc:
        """The Doc with a result under the component's name: plain values in its user data, a span per occurrence."""
        keyphrases = [keyphrase.to_dict() for keyphrase in result]
        doc.user_data[NAME] = {**doc.user_data.get(NAME, {}), self.name: keyphrases}
        doc.spans[self.name] = [span for keyphrase in result for span in _spans(doc, keyphrase)]
        return doc


def create_component(
    nlp: Language,  # noqa: ARG001 (what spaCy passes to a factory)
    name: str,
    method: str,
    speed: str | None,
    top_n: int | float | Literal["auto"] | None,
    settings: dict[str, Any],
) -> KeyphraseComponent:
    """What `nlp.add_pipe("mudy", config={...})` makes; `settings` are further ones of `Extractor` and `extract`."""
    return KeyphraseComponent({"method": method, "speed": speed, "top_n": top_n, **settings}, name)


def _spans(doc: Doc, keyphrase: Keyphrase) -> list[Span]:
    return [doc.char_span(o.start, o.end, LABEL, alignment_mode="expand") for o in keyphrase.occurrences]


def _keyphrases(doc: Doc) -> list[Keyphrase]:
    """Those of the first component; none if no component has processed the Doc."""
    return [_keyphrase(**values) for values in next(iter(doc.user_data.get(NAME, {}).values()), [])]


def _keyphrases_of(doc: Doc, name: str) -> list[Keyphrase]:
    components = doc.user_data.get(NAME, {})
    if name not in components:
        known = ", ".join(map(repr, components)) or "none"
        raise InputError(f"The Doc has no keyphrases of a component {name!r}. It has those of: {known}.")
    return [_keyphrase(**values) for values in components[name]]


def _keyphrase(rank: int, text: str, score: float, variants: list[str], occurrences: list[Any], **_: Any) -> Keyphrase:
    """The inverse of `Keyphrase.to_dict`, without its concept."""

    def occurrence(start: int, end: int, score: float, **parts: float) -> ScoredOccurrence:
        return ScoredOccurrence(start, end, score, parts)

    return Keyphrase(rank, text, score, tuple(variants), tuple(occurrence(**values) for values in occurrences))


def _phrases(doc: Doc) -> list[RankedPhrase]:
    return [RankedPhrase(k.text, _spans(doc, k), len(k.occurrences), k.score) for k in _keyphrases(doc)]


# The extensions of Doc, and the factory with what `nlp.analyze_pipes` shows.
Doc.set_extension("keyphrases", getter=_keyphrases, force=True)
Doc.set_extension("keyphrases_of", method=_keyphrases_of, force=True)
_ASSIGNED = ["doc._.keyphrases", "doc._.keyphrases_of", "doc.spans", "doc.user_data"]
if not Doc.has_extension("phrases"):  # pytextrank's own, where that is in use
    Doc.set_extension("phrases", getter=_phrases)
    _ASSIGNED.append("doc._.phrases")
_DEFAULTS: dict[str, Any] = {"method": DEFAULT_METHOD, "speed": None, "top_n": 10, "settings": {}}
for _language, _tags in ((Language, "token.pos"), (English, "token.tag"), (Chinese, "token.tag")):
    _language.factory(NAME, default_config=_DEFAULTS, requires=[_tags], assigns=_ASSIGNED, func=create_component)
