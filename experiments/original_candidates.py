"""Statistical and graph methods with the candidates of their own packages: why our shared ones give other F1.

    python -m experiments.original_candidates duc2001.jsonl

Four columns for each method: the noun phrases that all our methods share; the same where hyphenated words are cut, as
spaCy cuts them; with these cut, the candidates of the published package: runs of nouns and adjectives that may end in
an adjective (pke), or n-grams of up to three words between stop words (YAKE); and these in whole texts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from experiments.reproduce.paper import TABLE2
from mudy import Extractor
from mudy.evaluation.datasets import load
from mudy.evaluation.measures import F1, Predictions
from mudy.extraction.promptrank_protocol import promptrank_candidates
from mudy.extraction.ranking import PhraseNames, rank
from mudy.methods.graphs import is_word
from mudy.methods.yake import is_ordinary
from mudy.reading.candidates import Candidate, Occurrence, grouped
from mudy.reading.document import Document, Span, Word
from mudy.reading.languages import stop_words

METHODS = ("yake", "textrank", "singlerank", "topicrank", "multipartiterank")
Finder = Callable[[Document], list[Candidate]]


def main(path: str) -> None:
    data = load(path)
    first = Extractor("yake", protocol="promptrank")
    gold = [[phrase.lower() for phrase in record.keyphrases] for record in data.documents]
    texts = [data.promptrank_text(record)[0] for record in data.documents]
    plain, cut = ([first.tagger.document(change(text)) for text in texts] for change in (str, without_hyphens))
    whole = [data.promptrank_text(record, max_words=sys.maxsize)[0] for record in data.documents]
    long = [first.tagger.document(without_hyphens(text)) for text in whole]
    print(f"{data.name}, {len(gold)} documents, F1@5/10/15")
    print("| method | shared candidates | hyphens cut | the package's candidates | and whole texts | the paper |")
    print("|---|---|---|---|---|---|")
    for name in METHODS:
        own = n_grams if name == "yake" else runs
        columns = [(plain, promptrank_candidates), (cut, promptrank_candidates), (cut, own), (long, own)]
        found = [f1(predictions(name, documents, gold, finder)) for documents, finder in columns]
        print(f"| {name} | {' | '.join(found)} | {'/'.join(map(str, TABLE2[name].get(data.name, '–')))} |")


def predictions(
    name: str, documents: Sequence[Document], gold: Sequence[list[str]], finder: Finder
) -> Iterator[Predictions]:
    scorer = Extractor(name).scorer
    for number, (document, wanted) in enumerate(zip(documents, gold, strict=True)):
        candidates = finder(document)
        ranked = rank(document.text, candidates, scorer.score(document, candidates), names=PhraseNames(merge=False))
        phrases = [keyphrase.text.lower() for keyphrase in ranked]  # "decision - making", as older packages print it
        yield Predictions(str(number), phrases, wanted, sum(len(candidate.occurrences) for candidate in candidates))


def without_hyphens(text: str) -> str:
    return re.sub(r"(?<=\w)-(?=\w)", " - ", text)


def f1(found: Iterator[Predictions]) -> str:
    kept = list(found)
    return "/".join(f"{(F1 @ k)(kept):.2f}" for k in (5, 10, 15))


def runs(document: Document) -> list[Candidate]:
    """Longest runs of nouns and adjectives within a sentence."""

    def kind(word: Word) -> tuple[bool, int]:
        return word.tag.startswith(("NN", "JJ")), word.sentence

    held = (list(words) for (noun, _), words in groupby(document.words, kind) if noun)
    return grouped(phrase(document, words) for words in held)


def n_grams(document: Document) -> list[Candidate]:
    """One to three ordinary words between marks that neither begin nor end with a stop word or a short one."""
    stops = stop_words("en")

    def text(word: Word) -> str:
        return word.span.of(document.text).lower()

    def kind(word: Word) -> tuple[bool, int]:
        return is_word(text(word)), word.sentence

    def fine(words: Sequence[Word]) -> bool:
        forms = [text(word) for word in words]
        edges = (forms[0], forms[-1])
        return all(map(is_ordinary, forms)) and not any(form in stops or len(form) < 3 for form in edges)

    blocks = [list(words) for (word, _), words in groupby(document.words, kind) if word]
    found = (b[i : i + n] for b in blocks for i in range(len(b)) for n in (1, 2, 3) if i + n <= len(b))
    return grouped(phrase(document, words) for words in found if fine(words))


def phrase(document: Document, words: Sequence[Word]) -> tuple[str, Occurrence]:
    span = Span(words[0].span.start, words[-1].span.end)
    return " ".join(word.span.of(document.text) for word in words).lower(), Occurrence(span, words[0].sentence)


if __name__ == "__main__":
    main(sys.argv[1])
