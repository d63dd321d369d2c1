"""KeyBERT's calls, answered by MUDY: `from mudy.integrations.keybert import KeyBERT`. KeyBERT need not be installed.

The shapes are KeyBERT's: a list of (phrase, score) for one text, a list of such lists for several. Every phrase occurs
verbatim in its text. Options of KeyBERT that have no meaning here raise, and say what to use instead.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, groupby
from math import comb
from operator import itemgetter
from typing import Any

from mudy._support.validation import checked, phrases, seen, several
from mudy.errors import InputError, SettingError
from mudy.extraction.options import DEFAULT_METHOD
from mudy.extraction.render.text_pieces import sanitized
from mudy.extraction.results import Keyphrase, Result
from mudy.integrations.extraction import check_plain_settings, results_of, shared_extractor
from mudy.reading.candidates import MAX_PHRASE_WORDS
from mudy.reading.document import Document

DIGITS = 4  # of a score, as KeyBERT rounds it
ENCODERS = {"all-MiniLM-L6-v2": "minilm-l6", "sentence-transformers/all-MiniLM-L6-v2": "minilm-l6"}
INSTEAD = {  # options of KeyBERT without a meaning here, and what to use
    "min_df": "each text is ranked by itself. Pass candidates=[...] to keep to certain phrases",
    "doc_embeddings": "texts are read by MUDY's own models. Leave it out",
    "word_embeddings": "phrases are scored by MUDY's own models. Leave it out",
    "threshold": "use mudy.Extractor().extract(text, min_score=0.3) to leave out unlikely phrases",
    "llm": "use KeyLLM with mudy.integrations.keyllm.KeyphraseLLM, or mudy.Extractor(method='empirical')",
}
MOST_COMBINATIONS = 200_000  # that max-sum compares: any top_n out of KeyBERT's 20 candidates, in a second
HIGHLIGHT = "black on #FFFF00"  # KeyBERT's

CandidateLists = list[Sequence[str] | None]  # of each text; None: its noun phrases


class KeyBERT:
    """Keyphrases by KeyBERT's calls.

    `model` is the sentence encoder, as in KeyBERT: a name of `mudy models`, a folder or an id on the hub. Further
    `settings` are those of `Extractor` and `extract`, such as method="yake" or speed="quick".
    """

    def __init__(self, model: str = "all-MiniLM-L6-v2", llm: Any = None, **settings: Any) -> None:
        _refuse_unused(llm=llm)
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
        seed_keywords: Iterable[str] | Iterable[Iterable[str]] | None = None,
        doc_embeddings: Any = None,
        word_embeddings: Any = None,
        threshold: float | None = None,
    ) -> Any:
        """The keyphrases of one text, or of each of several.

        Two defaults differ from KeyBERT's. `keyphrase_ngram_range` is None: phrases of one to six words, each as long
        as it is in the text; (1, 1) gives single words. `stop_words` are words that no phrase may hold; those of a
        language need not be named, since phrases neither begin nor end with them.

        A `vectorizer` is fitted to the texts, and those of its n-grams that occur verbatim in a text are ranked; it
        replaces `candidates`, `keyphrase_ngram_range` and `stop_words`. `use_maxsum` chooses those `top_n` of the best
        `nr_candidates` phrases whose vectors are the least alike. `highlight` prints each text with its keyphrases
        marked. `seed_keywords` turn the ranking towards them (MUDY+): one list for all texts, or one per text.
        """
        _refuse_unused(
            min_df=min_df, doc_embeddings=doc_embeddings, word_embeddings=word_embeddings, threshold=threshold
        )
        if use_maxsum:
            _check_max_sum(top_n, nr_candidates, use_mmr)
        texts = [docs] if isinstance(docs, str) else list(several("docs", docs, "texts"))
        wanted = {"top_n": nr_candidates if use_maxsum else top_n, "diversity": diversity if use_mmr else 0.0}
        settings = {**self.settings, **wanted}
        seeds = _seeds_of_each(settings.get("seeds", ()) if seed_keywords is None else seed_keywords, len(texts))
        documents: Sequence[str | Document] = texts
        named = stop_words is None or stop_words == "english"  # phrases have no stop words of a language at their ends
        words = frozenset[str]() if named else frozenset(map(str.lower, phrases("stop_words", stop_words)))
        candidate_lists: CandidateLists = [None] * len(texts)
        if vectorizer is not None:
            candidate_lists = _ngrams_of_each(vectorizer, texts)
        elif candidates is not None:
            candidate_lists = [phrases("candidates", candidates)] * len(texts)
        elif keyphrase_ngram_range is not None or words:
            documents, candidate_lists = self._within(texts, _lengths(keyphrase_ngram_range), words)
        results: list[Result] = []
        for own_seeds, group in groupby(zip(seeds, documents, candidate_lists, strict=True), key=itemgetter(0)):
            _, of_group, lists = zip(*group, strict=True)  # texts with the same seeds are computed together
            results += results_of(of_group, {**settings, "seeds": own_seeds, "candidates": lists})
        keywords = []
        for result in results:
            keyphrases = self._least_alike(result, top_n) if use_maxsum else result.keyphrases
            if highlight:
                _print_highlighted(result.text, keyphrases)
            keywords.append([(keyphrase.text, round(keyphrase.score, DIGITS)) for keyphrase in keyphrases])
        return keywords[0] if len(keywords) == 1 else keywords

    def extract_embeddings(self, *arguments: Any, **options: Any) -> None:  # noqa: ARG002 (as KeyBERT's is called)
        """Not supported."""
        raise SettingError("extract_embeddings has no meaning here: texts and phrases are read by MUDY's own models.")

    def _within(
        self, texts: Sequence[str], lengths: tuple[int, int], stop_words: frozenset[str]
    ) -> tuple[list[Document], CandidateLists]:
        """Texts, each tagged once, and their phrases of certain lengths and without certain words."""
        shared = shared_extractor(self.settings)
        least, most = lengths
        documents: list[Document] = []
        candidate_lists: CandidateLists = []
        for text in texts:
            with shared.turn:
                prepared = shared.extractor.prepare(text, max_candidate_words=most)
            documents.append(prepared.document)
            names = (candidate.phrase for candidate in prepared.candidates)
            candidate_lists.append([p for p in names if len(p.split()) >= least and stop_words.isdisjoint(p.split())])
        return documents, candidate_lists

    def _least_alike(self, result: Result, top_n: int) -> Sequence[Keyphrase]:
        """Max-sum distance: of all ways to choose, the one whose phrases have the smallest cosines to each other."""
        keyphrases = result.keyphrases
        if len(keyphrases) <= top_n:
            return keyphrases
        shared = shared_extractor(self.settings)
        with shared.turn:
            multilingual = None if result.language == "en" else shared.extractor.loader.multilingual()
            vectors = (multilingual or shared.extractor.loader.encoder()).embed([k.text.lower() for k in keyphrases])
        similarity: list[list[float]] = (vectors @ vectors.T).tolist()  # cosines: vectors have length 1

        def alike(chosen: tuple[int, ...]) -> float:
            return sum(similarity[i][j] for i, j in combinations(chosen, 2))

        return [keyphrases[i] for i in min(combinations(range(len(keyphrases)), top_n), key=alike)]


def _print_highlighted(text: str, keyphrases: Iterable[Keyphrase]) -> None:
    from rich.console import Console
    from rich.text import Text

    marked = Text(sanitized(text))
    for keyphrase in keyphrases:
        for occurrence in keyphrase.occurrences:
            marked.stylize(HIGHLIGHT, occurrence.start, occurrence.end)
    Console().print(marked)


def _check_max_sum(top_n: Any, nr_candidates: Any, use_mmr: bool) -> None:
    if use_mmr:
        raise SettingError("use_mmr and use_maxsum are two ways to choose phrases. Leave out one of them.")
    checked("top_n", top_n, int, least=1)
    checked("nr_candidates", nr_candidates, int, least=1)
    if nr_candidates < top_n:
        raise SettingError(f"nr_candidates is {nr_candidates}, but must be at least top_n, which is {top_n}.")
    if comb(nr_candidates, top_n) > MOST_COMBINATIONS:
        raise SettingError(
            f"use_maxsum compares all {comb(nr_candidates, top_n):,} ways to choose {top_n} of {nr_candidates} "
            f"phrases, but at most {MOST_COMBINATIONS:,} are compared. Lower nr_candidates, or pass use_mmr=True."
        )


def _seeds_of_each(given: Any, texts: int) -> list[tuple[str, ...]]:
    listed = list(several("seed_keywords", given, "phrases"))
    if not listed or any(isinstance(item, str) for item in listed):
        return [tuple(phrases("seed_keywords", listed))] * texts
    if len(listed) != texts:
        raise InputError(f"seed_keywords has {len(listed)} lists, but there are {texts} texts. Give one list per text.")
    return [tuple(phrases("seed_keywords", seeds)) for seeds in listed]


def _ngrams_of_each(vectorizer: Any, texts: Sequence[str]) -> CandidateLists:
    """The n-grams of each text, by a vectorizer that is fitted to all of them, as KeyBERT does."""
    if not all(hasattr(vectorizer, name) for name in ("fit", "transform", "get_feature_names_out")):
        raise SettingError(f"vectorizer is {seen(vectorizer)}, but must be one such as scikit-learn's CountVectorizer.")
    if not any(texts):
        return [()] * len(texts)
    vectorizer.fit(texts)
    names = vectorizer.get_feature_names_out()
    counts = vectorizer.transform(texts)  # (texts, n-grams)
    return [[str(names[i]) for i in counts[row].nonzero()[-1]] for row in range(len(texts))]


def _refuse_unused(**options: Any) -> None:
    for name, value in options.items():
        default = name == "min_df" and isinstance(value, int | float) and value == 1
        if value is not None and not default:
            raise SettingError(f"{name} has no meaning here: {INSTEAD[name]}.")


def _lengths(given: tuple[int, int] | None) -> tuple[int, int]:
    least, most = (1, MAX_PHRASE_WORDS) if given is None else given
    if not 1 <= least <= most:
        raise SettingError(f"keyphrase_ngram_range is {given!r}, but must be two numbers from 1 up, the smaller first.")
    return least, most
