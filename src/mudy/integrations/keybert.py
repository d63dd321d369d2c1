"""KeyBERT's calls, answered by MUDY: `from mudy.integrations.keybert import KeyBERT`. KeyBERT need not be installed.

The shapes are KeyBERT's: a list of (phrase, score) for one text, a list of such lists for several. Every phrase stands
in its text, as it is written there. Options of KeyBERT that have no meaning here raise, and say what to use instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mudy.candidates import MAX_PHRASE_WORDS
from mudy.errors import SettingError
from mudy.extractor import DEFAULT_METHOD
from mudy.integrations.extraction import check_plain_settings, results_of, shared_extractor
from mudy.results import Result
from mudy.text import Document
from mudy.validation import phrases, seen, several

DIGITS = 4  # of a score, as KeyBERT rounds it
ENCODERS = {"all-MiniLM-L6-v2": "minilm-l6", "sentence-transformers/all-MiniLM-L6-v2": "minilm-l6"}
INSTEAD = {  # options of KeyBERT without a meaning here, and what to use
    "min_df": "each text is ranked by itself. Pass candidates=[...] to keep to certain phrases",
    "use_maxsum": "use use_mmr=True with diversity",
    "nr_candidates": "use use_mmr=True with diversity",
    "vectorizer": "noun phrases of the text are ranked. Use candidates or keyphrase_ngram_range",
    "highlight": "use mudy.Extractor().extract(text).to_html(), or show that result in a notebook",
    "doc_embeddings": "texts are read by MUDY's own models. Leave it out",
    "word_embeddings": "phrases are scored by MUDY's own models. Leave it out",
    "threshold": "use mudy.Extractor().extract(text, min_score=0.3) to leave out unlikely phrases",
    "llm": "use KeyLLM with mudy.integrations.keyllm.KeyphraseLLM, or mudy.Extractor(method='empirical')",
}
UNUSED_DEFAULTS: dict[str, Any] = {"min_df": 1, "use_maxsum": False, "nr_candidates": 20, "highlight": False}


class KeyBERT:
    """Keyphrases by KeyBERT's calls.

    `model` is the sentence encoder, as in KeyBERT: a name of `mudy models`, a folder or an id on the hub. Further
    `settings` are those of `Extractor` and `extract`, such as method="yake" or speed="quick".
    """

    def __init__(self, model: str = "all-MiniLM-L6-v2", llm: Any = None, **settings: Any) -> None:
        _refuse_unused({"llm": llm})
        if not isinstance(model, str):
            raise SettingError(f"model is {seen(model)}, but must be the name or folder of a sentence encoder.")
        self.settings = {"method": DEFAULT_METHOD, "encoder": ENCODERS.get(model, model), **settings}
        check_plain_settings(self.settings)

    def extract_keywords(
        self,
        docs: str | Sequence[str],
        candidates: Iterable[str] | None = None,
        keyphrase_ngram_range: tuple[int, int] | None = None,
        stop_words: str | Iterable[str] | None = "english",
        top_n: int = 5,
        min_df: int = 1,
        use_maxsum: bool = False,
        use_mmr: bool = False,
        diversity: float = 0.5,
        nr_candidates: int = 20,
        vectorizer: Any = None,
        highlight: bool = False,
        seed_keywords: Iterable[str] | None = None,
        doc_embeddings: Any = None,
        word_embeddings: Any = None,
        threshold: float | None = None,
    ) -> Any:
        """The keyphrases of one text, or of each of several.

        Two defaults differ from KeyBERT's. `keyphrase_ngram_range` is None: phrases of one to six words, each as long
        as it is in the text; (1, 1) gives single words. `stop_words` are words that no phrase may hold; those of a
        language need not be named, since phrases neither begin nor end with them. `seed_keywords` turn the ranking of
        all texts towards them; MUDY+ can do that.
        """
        unused = {
            "min_df": min_df,
            "use_maxsum": use_maxsum,
            "nr_candidates": nr_candidates,
            "vectorizer": vectorizer,
            "highlight": highlight,
            "doc_embeddings": doc_embeddings,
            "word_embeddings": word_embeddings,
            "threshold": threshold,
        }
        _refuse_unused(unused)
        texts = [docs] if isinstance(docs, str) else list(several("docs", docs, "texts"))
        wanted = {"top_n": top_n, "diversity": diversity if use_mmr else 0.0}
        chosen = None if candidates is None else phrases("candidates", candidates)
        seeds = {} if seed_keywords is None else {"seeds": phrases("seed_keywords", seed_keywords)}
        settings = {**self.settings, **wanted, **seeds, "candidates": chosen}
        words = _stop_words(stop_words)
        if chosen is None and (keyphrase_ngram_range is not None or words):
            results = self._within(texts, _lengths(keyphrase_ngram_range), words, settings)
        else:
            results = list(results_of(texts, settings))
        pairs = [[(phrase, round(score, DIGITS)) for phrase, score in result.as_tuples()] for result in results]
        return pairs[0] if len(pairs) == 1 else pairs

    def extract_embeddings(self, *arguments: Any, **options: Any) -> None:  # noqa: ARG002 (as KeyBERT's is called)
        """Not to be had."""
        raise SettingError("extract_embeddings has no meaning here: texts and phrases are read by MUDY's own models.")

    def _within(
        self, texts: Sequence[str], lengths: tuple[int, int], stop_words: frozenset[str], settings: dict[str, Any]
    ) -> list[Result]:
        """Results of phrases of certain lengths and without certain words; each text is tagged once."""
        shared = shared_extractor(settings)
        least, most = lengths
        documents: list[Document] = []
        candidates: list[list[str]] = []
        for text in texts:
            with shared.turn:
                prepared = shared.extractor.prepare(text, max_candidate_words=most)
            documents.append(prepared.document)
            found = (candidate.phrase for candidate in prepared.candidates)
            candidates.append([p for p in found if len(p.split()) >= least and stop_words.isdisjoint(p.split())])
        return list(results_of(documents, {**settings, "candidates": candidates}))


def _refuse_unused(options: dict[str, Any]) -> None:
    for name, value in options.items():
        plain = isinstance(value, int | float)  # an array cannot be compared with a default
        if value is not None and not (plain and value == UNUSED_DEFAULTS.get(name)):
            raise SettingError(f"{name} has no meaning here: {INSTEAD[name]}.")


def _lengths(given: tuple[int, int] | None) -> tuple[int, int]:
    """The fewest and the most words of a phrase."""
    least, most = (1, MAX_PHRASE_WORDS) if given is None else given
    if not 1 <= least <= most:
        raise SettingError(f"keyphrase_ngram_range is {given!r}, but must be two numbers from 1 up that do not fall.")
    return least, most


def _stop_words(given: str | Iterable[str] | None) -> frozenset[str]:
    """Words that no phrase may hold, in lower case; none for the name of a language."""
    if given is None or given == "english":
        return frozenset()
    return frozenset(word.lower() for word in phrases("stop_words", given))
