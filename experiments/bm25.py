"""Whether keyphrases help BM25: as a weighted field, and as terms for query expansion by feedback.

pip install bm25s
mudy corpus COLLECTION/docs.jsonl quick.jsonl --speed quick --top-n 15
mudy corpus COLLECTION/docs.jsonl yake.jsonl --method yake --top-n 15
python -m experiments.bm25 COLLECTION quick.jsonl yake.jsonl

COLLECTION is as for experiments.search. Texts and queries are stemmed, without stop words. *Field*: the words of a
document's ten keyphrases are indexed again, 1 to 4 times. *Feedback*: the ten most frequent words in the keyphrases of
the first five documents are added to the query, whose own words count 1 to 8 times; for comparison, the ten words of
these documents' texts with the highest tf-idf. Either number is chosen, or nothing is added, on one half of the
queries for the other.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from pathlib import Path
from statistics import mean

import numpy as np

from experiments.search import cross_fitted, ndcg, paired, read_relevant, read_texts
from mudy.reading.candidates.stemming import stems_of

FIELD_WEIGHTS = (1, 2, 4)
QUERY_WEIGHTS = (1, 2, 4, 8)
FEEDBACK, ADDED, TOP = 5, 10, 10  # documents, words, keyphrases per document
Search = Callable[[Sequence[str]], list[str]]  # words of a query -> ids of all documents, best first


def average_precision(ranking: Sequence[str], relevant: Iterable[str]) -> float:
    wanted = set(relevant)
    ranks = [rank for rank, name in enumerate(ranking, start=1) if name in wanted]
    return sum(hits / rank for hits, rank in enumerate(ranks, start=1)) / len(wanted)


def recall(ranking: Sequence[str], relevant: Iterable[str], depth: int = 100) -> float:
    wanted = set(relevant)
    return len(wanted.intersection(ranking[:depth])) / len(wanted)


MEASURES = {"nDCG@10": ndcg, "MAP": average_precision, "R@100": recall}


def words(text: str) -> list[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    kept = (word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in ENGLISH_STOP_WORDS)
    return [stem for word in kept for stem in stems_of(word, "en")]


def search_in(documents: Mapping[str, Sequence[str]]) -> Search:
    """BM25 by bm25s (Lucene's form, k1 1.5, b 0.75)."""
    import bm25s

    names, index = list(documents), bm25s.BM25()
    index.index([list(own) for own in documents.values()], show_progress=False)
    vocabulary = {word for own in documents.values() for word in own}

    def search(query: Sequence[str]) -> list[str]:
        known = [word for word in query if word in vocabulary]
        scores = np.sum([index.get_scores([word]) for word in known], axis=0) if known else np.zeros(len(names))
        return [names[i] for i in np.argsort(-scores, kind="stable")]

    return search


def expanded(query: Sequence[str], terms: Iterable[Counter[str]], weight: int) -> list[str]:
    """The query's words, repeated, and the most frequent words of the feedback."""
    total: Counter[str] = sum(terms, Counter())
    added = sorted(total, key=lambda word: (-total[word], word))[:ADDED]
    return [*query] * weight + added


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("keyphrases", type=Path, nargs="+", help="JSON lines of `mudy corpus`, one file per method")
    arguments = parser.parse_args()
    texts = {name: words(text) for name, text in read_texts(arguments.collection / "docs.jsonl").items()}
    relevant = read_relevant(arguments.collection / "qrels.tsv")
    queries = read_texts(arguments.collection / "queries.jsonl").items()
    asked = [(words(text), relevant[name]) for name, text in queries if relevant[name]]
    plain = search_in(texts)
    first = [plain(query) for query, _ in asked]

    def measured(rankings: Sequence[Sequence[str]]) -> dict[str, list[float]]:
        return {
            name: [measure(ranking, wanted) for ranking, (_, wanted) in zip(rankings, asked, strict=True)]
            for name, measure in MEASURES.items()
        }

    before = measured(first)
    print(f"{len(asked)} queries; BM25: " + ", ".join(f"{name} {mean(v):.4f}" for name, v in before.items()))

    def report(label: str, by_weight: Mapping[int, Mapping[str, list[float]]]) -> None:
        for name, base in before.items():
            fitted = cross_fitted({0.0: base, **{float(w): values[name] for w, values in by_weight.items()}})
            each = ", ".join(f"{w}: {mean(values[name]):.4f}" for w, values in by_weight.items())
            print(f"{label}, {name}: {mean(fitted):.4f}, {paired(base, fitted)} (by weight {each})", flush=True)

    def feedback(terms: Mapping[str, Counter[str]]) -> dict[int, dict[str, list[float]]]:
        own = [[terms[name] for name in ranking[:FEEDBACK]] for ranking in first]
        return {
            w: measured([plain(expanded(query, given, w)) for (query, _), given in zip(asked, own, strict=True)])
            for w in QUERY_WEIGHTS
        }

    having = Counter(word for own in texts.values() for word in set(own))
    rare = {word: log(len(texts) / count) for word, count in having.items()}
    tf_idf = {
        name: Counter({word: count * rare[word] for word, count in Counter(own).items()}) for name, own in texts.items()
    }
    report("feedback, words of the texts", feedback(tf_idf))
    for path in arguments.keyphrases:
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        phrases = {row["id"]: words(" ; ".join(k["text"] for k in row["keyphrases"][:TOP])) for row in rows}
        fields = {
            w: search_in({name: [*own, *phrases[name] * w] for name, own in texts.items()}) for w in FIELD_WEIGHTS
        }
        report(
            f"field, {path.stem}",
            {w: measured([search(query) for query, _ in asked]) for w, search in fields.items()},
        )
        report(f"feedback, {path.stem}", feedback({name: Counter(own) for name, own in phrases.items()}))


if __name__ == "__main__":
    main()
