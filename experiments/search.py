"""Whether keyphrases help search: nDCG@10 on a test collection, with and without them.

mudy corpus COLLECTION/docs.jsonl keyphrases.jsonl --speed quick --top-n 15
python -m experiments.search COLLECTION keyphrases.jsonl --dense langchain

COLLECTION holds docs.jsonl and queries.jsonl (rows with `id` and `text`) and qrels.tsv (query, document, grade; above 0
is relevant), as the Cranfield collection can be written. Full-text search is SQLite's FTS5 with a column of
keyphrases; its weight is chosen on one half of the queries for the other. `--dense` searches with the encoder
minilm-l6: in LangChain's InMemoryVectorStore with keyphrases before the text, or in LlamaIndex's VectorStoreIndex with
keyphrases in the metadata, which it encodes before the text.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log2
from pathlib import Path
from random import Random
from statistics import mean

DEPTH = 10
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)  # of the column of keyphrases; that of the text is 1
SAMPLES = 10_000

Texts = Mapping[str, str]  # by id
Search = Callable[[str], list[str]]  # a query -> ids of documents, best first


def ndcg(ranking: Sequence[str], relevant: Iterable[str], depth: int = DEPTH) -> float:
    """Normalized discounted cumulative gain of a ranking; every relevant document gains 1."""
    wanted = set(relevant)
    gain = sum(1 / log2(rank + 1) for rank, name in enumerate(ranking[:depth], start=1) if name in wanted)
    best = sum(1 / log2(rank + 1) for rank in range(1, min(depth, len(wanted)) + 1))
    return gain / best if best else 0.0


def full_text_index(texts: Texts, keyphrases: Mapping[str, Sequence[str]]) -> sqlite3.Connection:
    """Texts and their keyphrases in a table of FTS5."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE pages USING fts5(id UNINDEXED, body, keyphrases, tokenize = 'porter')")
    rows = ((name, text, "; ".join(keyphrases.get(name, ()))) for name, text in texts.items())
    database.executemany("INSERT INTO pages VALUES (?, ?, ?)", rows)
    return database


def full_text_search(database: sqlite3.Connection, weight: float) -> Search:
    """Search by BM25 over both columns; a document needs one word of the query."""
    order = f"SELECT id FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 0, 1, {float(weight)}), id LIMIT {DEPTH}"

    def search(query: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query.lower()))
        return [name for (name,) in database.execute(order, (words,))] if words else []

    return search


def minilm() -> Callable[[str], list[float]]:
    """The encoder minilm-l6: a text -> its vector."""
    from mudy import engines, models
    from mudy.engines import Compute

    encoder = engines.load_encoder(models.locate("minilm-l6"), Compute(threads=1), "minilm-l6")
    return lambda text: encoder.embed([text])[0].tolist()


def langchain_search(texts: Texts, keyphrases: Mapping[str, Sequence[str]]) -> Search:
    """LangChain's store in memory, with keyphrases before the text."""
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    encode = minilm()

    class MiniLM(Embeddings):  # type: ignore[misc]  # not followed by mypy
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return list(map(encode, texts))

        def embed_query(self, text: str) -> list[float]:
            return encode(text)

    store = InMemoryVectorStore(MiniLM())
    joined = {name: "; ".join(keyphrases.get(name, ())) for name in texts}
    contents = {name: f"Keywords: {joined[name]}\n{text}" if joined[name] else text for name, text in texts.items()}
    store.add_documents([Document(id=name, page_content=content) for name, content in contents.items()])
    retriever = store.as_retriever(search_kwargs={"k": DEPTH})
    return lambda query: [document.id for document in retriever.invoke(query)]


def llama_index_search(texts: Texts, keyphrases: Mapping[str, Sequence[str]]) -> Search:
    """LlamaIndex's index of vectors, with keyphrases where KeyphraseExtractor puts them."""
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.schema import TextNode

    encode = minilm()

    class MiniLM(BaseEmbedding):  # type: ignore[misc]  # not followed by mypy
        def _get_text_embedding(self, text: str) -> list[float]:
            return encode(text)

        def _get_query_embedding(self, query: str) -> list[float]:
            return encode(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return encode(query)

    nodes = [
        TextNode(id_=name, text=text, metadata={"excerpt_keywords": ", ".join(keyphrases[name])} if keyphrases else {})
        for name, text in texts.items()
    ]
    retriever = VectorStoreIndex(nodes, embed_model=MiniLM()).as_retriever(similarity_top_k=DEPTH)
    return lambda query: [found.node.node_id for found in retriever.retrieve(query)]


DENSE = {"langchain": langchain_search, "llama_index": llama_index_search}


def cross_fitted(by_weight: Mapping[float, Sequence[float]]) -> list[float]:
    """The measure of every query with the weight that is best on the other half of the queries."""
    count = len(by_weight[0.0])
    measured = [0.0] * count
    for half in (0, 1):
        others = range(1 - half, count, 2)
        chosen = max(by_weight, key=lambda weight: mean(by_weight[weight][i] for i in others))
        for index in range(half, count, 2):
            measured[index] = by_weight[chosen][index]
    return measured


def paired(before: Sequence[float], after: Sequence[float]) -> str:
    """The mean difference with its 95 % interval by bootstrap, and p by random signs."""
    differences = [b - a for a, b in zip(before, after, strict=True)]
    chance = Random(0)
    means = sorted(mean(chance.choices(differences, k=len(differences))) for _ in range(SAMPLES // 10))
    observed = abs(mean(differences))
    nonzero = [abs(d) for d in differences if d]
    flips = sum(
        abs(sum(d if chance.random() < 0.5 else -d for d in nonzero)) / len(differences) >= observed - 1e-12
        for _ in range(SAMPLES // 10)
    )
    low, high = means[int(0.025 * len(means))], means[int(0.975 * len(means))]
    return f"{mean(differences):+.4f} [{low:+.4f}, {high:+.4f}], p {(flips + 1) / (SAMPLES // 10 + 1):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("keyphrases", type=Path, help="JSON lines of `mudy corpus`")
    parser.add_argument("--top-n", type=int, default=10, help="keyphrases of a document")
    parser.add_argument("--dense", choices=DENSE, help="search with an encoder too, in this library")
    arguments = parser.parse_args()
    texts, queries = (read_texts(arguments.collection / name) for name in ("docs.jsonl", "queries.jsonl"))
    relevant = read_relevant(arguments.collection / "qrels.tsv")
    rows = map(json.loads, arguments.keyphrases.read_text(encoding="utf-8").splitlines())
    phrases = {row["id"]: [k["text"] for k in row["keyphrases"][: arguments.top_n]] for row in rows}

    def measured(search: Search) -> list[float]:
        return [ndcg(search(text), relevant[name]) for name, text in queries.items() if relevant[name]]

    database = full_text_index(texts, phrases)
    by_weight = {weight: measured(full_text_search(database, weight)) for weight in WEIGHTS}
    by_weight[0.0] = measured(full_text_search(full_text_index(texts, {}), 0.0))  # BM25 counts all words of a row
    print(
        f"FTS5, {len(by_weight[0.0])} queries: "
        + ", ".join(f"weight {w:g} {mean(v):.4f}" for w, v in by_weight.items())
    )
    fitted = cross_fitted(by_weight)
    print(
        f"FTS5, weight of the other half: {mean(fitted):.4f}, against none: {paired(by_weight[0.0], fitted)}",
        flush=True,
    )
    if arguments.dense:
        before, after = (measured(DENSE[arguments.dense](texts, given)) for given in ({}, phrases))
        means = f"{mean(before):.4f} without, {mean(after):.4f} with keyphrases"
        print(f"{arguments.dense}: {means}: {paired(before, after)}", flush=True)


def read_relevant(path: Path) -> dict[str, set[str]]:
    """The relevant documents of each query."""
    relevant = defaultdict(set)
    for line in path.read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant[query].add(document)
    return relevant


def read_texts(path: Path) -> dict[str, str]:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {str(row["id"]): row["text"] for row in rows}


if __name__ == "__main__":
    main()
