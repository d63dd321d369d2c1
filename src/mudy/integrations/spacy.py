"""A spaCy component: `nlp.add_pipe("mudy")`, then `doc._.keyphrases`, `doc.spans["mudy"]` and `doc._.phrases`.

The Doc's own tags and sentences are used, so the component comes after a tagger. What it finds is kept in a Doc as
plain values, which travel between processes and to disk.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from spacy.language import Language
from spacy.tokens import Doc, Span

from mudy.errors import SettingError
from mudy.extractor import DEFAULT_METHOD
from mudy.integrations.extraction import check_plain_settings, results_of
from mudy.results import Keyphrase, Result, ScoredOccurrence
from mudy.tagging import document_of_doc
from mudy.text import Document

NAME = "mudy"  # of the factory, of the group in doc.spans, and of the entry in doc.user_data
LABEL = "KEYPHRASE"
OF_READING = ("language", "max_words", "protocol")  # settings without effect: a Doc has been read already


@dataclass(frozen=True)
class RankedPhrase:
    """A keyphrase with the names that pytextrank gives to its parts."""

    text: str
    chunks: list[Span]  # every occurrence
    count: int
    rank: float  # the score: higher is better


class KeyphraseComponent:
    """Adds the keyphrases to each Doc. It holds its settings alone, so it can be pickled."""

    def __init__(self, settings: dict[str, Any]) -> None:
        for name in OF_READING:
            if name in settings:
                raise SettingError(f"{name} has no effect in a spaCy pipeline: the Doc has been read already.")
        check_plain_settings(settings)
        self.settings = settings

    def __call__(self, doc: Doc) -> Doc:
        (result,) = results_of([document_of_doc(doc)], self.settings)
        return _stored(doc, result)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:  # noqa: ARG002 (batches are ours)
        """The same Docs with their keyphrases; short ones are computed together."""
        waiting: deque[Doc] = deque()

        def documents() -> Iterator[Document]:
            for doc in stream:
                waiting.append(doc)
                yield document_of_doc(doc)

        for result in results_of(documents(), self.settings):
            yield _stored(waiting.popleft(), result)


@Language.factory(  # type: ignore[untyped-decorator]
    NAME,
    default_config={"method": DEFAULT_METHOD, "speed": None, "top_n": 10, "settings": {}},
    requires=["token.tag"],
    assigns=["doc._.keyphrases", "doc._.phrases", "doc.spans"],
)
def create_component(
    nlp: Language,  # noqa: ARG001 (what spaCy passes to a factory)
    name: str,  # noqa: ARG001
    method: str,
    speed: str | None,
    top_n: int | float | Literal["auto"] | None,
    settings: dict[str, Any],
) -> KeyphraseComponent:
    """What `nlp.add_pipe("mudy", config={...})` makes; `settings` are further ones of `Extractor` and `extract`."""
    return KeyphraseComponent({"method": method, "speed": speed, "top_n": top_n, **settings})


def _stored(doc: Doc, result: Result) -> Doc:
    """The Doc with a result: plain values in its user data, and a span for each occurrence."""
    doc.user_data[NAME] = [keyphrase.to_dict() for keyphrase in result]
    doc.spans[NAME] = [span for keyphrase in result for span in _spans(doc, keyphrase)]
    return doc


def _spans(doc: Doc, keyphrase: Keyphrase) -> list[Span]:
    return [doc.char_span(o.start, o.end, LABEL, alignment_mode="expand") for o in keyphrase.occurrences]


def _keyphrases(doc: Doc) -> list[Keyphrase]:
    return [_keyphrase(values) for values in doc.user_data.get(NAME, [])]


def _keyphrase(values: dict[str, Any]) -> Keyphrase:
    """What `Keyphrase.to_dict` was made of."""
    occurrences = tuple(_occurrence(dict(place)) for place in values["occurrences"])
    return Keyphrase(values["rank"], values["text"], values["score"], tuple(values["variants"]), occurrences)


def _occurrence(values: dict[str, Any]) -> ScoredOccurrence:
    return ScoredOccurrence(values.pop("start"), values.pop("end"), values.pop("score"), values)


def _phrases(doc: Doc) -> list[RankedPhrase]:
    return [RankedPhrase(k.text, _spans(doc, k), len(k.occurrences), k.score) for k in _keyphrases(doc)]


Doc.set_extension("keyphrases", getter=_keyphrases, force=True)
if not Doc.has_extension("phrases"):  # pytextrank's own, where that is in use
    Doc.set_extension("phrases", getter=_phrases)
