"""The graph of a corpus: what a plain loop counts, sparse, the same every time, and read by networkx."""

import json
import random
import tracemalloc
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from pyarrow import parquet

from mudy import InputError, SettingError
from mudy.corpus import graph as graphs
from mudy.corpus import term_counts
from mudy.corpus.graph import CHANCE, DEGREE, Graph, communities
from mudy.corpus.statistics import log_likelihood, npmi
from mudy.corpus.term_counts import CHUNK, TermCounts
from tests.corpora import jsonl, run, texts

TOPICS = ["river flood wall", "bread dough oven", "violin string bow"]


def row(number: int, phrases: dict[str, list[int]]) -> dict[str, Any]:
    """A row of an output with phrases at offsets."""
    keyphrases = [
        {
            "text": text,
            "score": 1 / rank,
            "occurrences": [{"start": start, "end": start + len(text), "score": 1 / rank} for start in starts],
        }
        for rank, (text, starts) in enumerate(phrases.items(), start=1)
    ]
    return {"id": f"d{number}", "error": None, "keyphrases": keyphrases}


def topical(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows whose phrases come from one of three topics, and now and then from any."""
    chance = random.Random(seed)
    words = [topic.split() for topic in TOPICS]
    rows = []
    for number in range(count):
        chosen = [*words[number % 3], *chance.sample([w for topic in words for w in topic], 1)]
        kept = [word for word in dict.fromkeys(chosen) if chance.random() < 0.8]
        rows.append(row(number, {word: [20 * i] for i, word in enumerate(kept)}))
    return rows


def node_link(path: Path) -> Any:
    return nx.node_link_graph(json.loads(path.read_text(encoding="utf-8")))


def test_edges_are_those_that_a_plain_loop_finds(tmp_path: Path) -> None:
    rows = topical(300)
    with TermCounts.of(rows, tmp_path, places=True) as counts:
        graph = Graph.of(counts)
        edges = {
            frozenset((graph.nodes[e.source].phrase, graph.nodes[e.target].phrase)): (
                e.chunks,
                e.npmi,
                e.log_likelihood,
            )
            for e in graph.edges
        }
    documents = [{phrase["text"] for phrase in one["keyphrases"]} for one in rows]
    sizes = Counter(phrase for document in documents for phrase in document)
    pairs = Counter(frozenset(pair) for document in documents for pair in combinations(document, 2))
    total = sum(bool(document) for document in documents)
    expected = {}
    for pair, both in pairs.items():
        table = (both, *(sizes[phrase] for phrase in sorted(pair)), total)
        if both > 1 and log_likelihood(*table) > CHANCE:
            expected[pair] = pytest.approx((both, npmi(*table), log_likelihood(*table)))
    assert edges == expected
    assert len(edges) == 9  # within the three topics, and no other


def test_communities_are_the_topics(tmp_path: Path) -> None:
    with TermCounts.of(topical(300), tmp_path, places=True) as counts:
        graph = Graph.of(counts)
    groups = defaultdict(set)
    for node in graph.nodes:
        groups[node.community].add(node.phrase)
    assert sorted(map(sorted, groups.values())) == sorted(sorted(topic.split()) for topic in TOPICS)


def test_communities_of_a_ring_of_cliques_are_the_cliques_in_any_order_of_edges() -> None:
    """As networkx's own example: each clique of five is linked to the next by one edge."""
    ring = nx.ring_of_cliques(8, 5)
    edges = [(a, b, 1.0) for a, b in ring.edges]
    groups = communities(edges)
    assert sorted(Counter(groups.values()).values()) == [5] * 8
    assert all(groups[a] == groups[b] for a, b in ring.edges if a // 5 == b // 5)
    random.Random(1).shuffle(edges)
    assert communities(edges) == groups


def test_modularity_is_near_that_of_networkx() -> None:
    club = nx.karate_club_graph()
    groups = communities((a, b, 1.0) for a, b in club.edges)
    parts = defaultdict(set)
    for node, group in groups.items():
        parts[group].add(node)
    assert nx.community.modularity(club, parts.values(), weight=None) > 0.4  # 0.42 is the best there is


def test_phrases_that_overlap_or_stand_in_other_chunks_are_no_pair(tmp_path: Path) -> None:
    overlapping = [row(n, {"river ice": [0], "ice road": [6], "ferry": [40]}) for n in range(5)]
    distant = [row(n, {"violin": [0], "bow": [CHUNK + 1]}) for n in range(5, 10)]
    apart = [row(n, {f"other {n}": [0]}) for n in range(10, 30)]
    with TermCounts.of([*overlapping, *distant, *apart], tmp_path, places=True) as counts:
        graph = Graph.of(counts)
        pairs = {frozenset((graph.nodes[e.source].phrase, graph.nodes[e.target].phrase)) for e in graph.edges}
    assert pairs == {frozenset(("river ice", "ferry")), frozenset(("ice road", "ferry"))}


def test_no_node_brings_more_than_its_strongest_edges(tmp_path: Path) -> None:
    hub = [
        row(n, {"hub": [0], f"leaf {n % 40}": [10], f"twin {n % 40}": [30], "common": [50]} if n < 160 else {"x": [0]})
        for n in range(400)
    ]
    with TermCounts.of(hub, tmp_path, places=True) as counts:
        graph = Graph.of(counts)
    assert len(graph.edges) <= DEGREE * len(graph.nodes)
    names = [node.phrase for node in graph.nodes]
    leaves = [e for e in graph.edges if names[e.source].startswith("leaf") and names[e.target].startswith("twin")]
    assert (
        len(leaves)
        + sum(names[e.source].startswith("twin") and names[e.target].startswith("leaf") for e in graph.edges)
        == 40
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts(80, longest=40))]
    return jsonl(tmp_path_factory.mktemp("corpus") / "in.jsonl", [*rows, {"id": "bad", "text": None}])


@pytest.fixture(scope="module")
def made(source: Path) -> Path:
    """A folder with the graph of one run in all formats."""
    for ending in ("json", "graphml", "parquet"):
        run(source, source.parent / "out.jsonl", graph=source.parent / f"graph.{ending}")
    return source.parent


def test_every_place_holds_its_phrase(source: Path, made: Path) -> None:
    inputs = {entry["id"]: entry["text"] for entry in map(json.loads, source.read_text().splitlines())}
    graph = node_link(made / "graph.json")
    assert graph.number_of_edges() > 5
    for phrase, data in graph.nodes(data=True):
        assert data["places"]
        for place in data["places"]:
            words = inputs[place["document"]][place["start"] : place["end"]]
            assert words.split()[0][:3].lower() == phrase.split()[0][:3].lower()
    for source_name, target, data in graph.edges(data=True):
        ends = {source_name[:3].lower(), target[:3].lower()}
        for place in data["places"]:
            text = inputs[place["document"]]
            shown = (text[place["start"] : place["end"]], text[place["target_start"] : place["target_end"]])
            assert {words[:3].lower() for words in shown} == ends


def test_all_formats_hold_the_same_graph(made: Path) -> None:
    plain, xml = node_link(made / "graph.json"), nx.read_graphml(made / "graph.graphml")
    table = parquet.read_table(made / "graph.parquet").to_pylist()
    nodes = [entry for entry in table if entry["kind"] == "node"]
    edges = [entry for entry in table if entry["kind"] == "edge"]
    assert {n["phrase"]: (n["documents"], n["mean_score"], n["community"]) for n in nodes} == {
        name: (data["documents"], data["mean_score"], data["community"]) for name, data in plain.nodes(data=True)
    }
    assert {(e["source"], e["target"], e["chunks"], e["npmi"]) for e in edges} == {
        (a, b, data["chunks"], data["npmi"]) for a, b, data in plain.edges(data=True)
    }
    some = next(iter(plain.edges))
    assert json.loads(xml.edges[some]["places"]) == plain.edges[some]["places"]
    assert nx.utils.graphs_equal(_without_places(plain), _without_places(xml))


def _without_places(graph: Any) -> Any:
    for _, data in graph.nodes(data=True):
        data.pop("places")
        if data.get("community") is None:
            data.pop("community", None)
    for _, _, data in graph.edges(data=True):
        data.pop("places")
    graph.graph.clear()
    return nx.Graph(graph)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_the_same_rows_give_the_same_bytes(source: Path, made: Path, tmp_path: Path, ending: str) -> None:
    run(source, tmp_path / f"out.{ending}", part_rows=7, graph=tmp_path / "graph.json")
    assert (tmp_path / "graph.json").read_bytes() == (made / "graph.json").read_bytes()


def test_phrases_with_marks_of_xml_survive_graphml(tmp_path: Path) -> None:
    rows = [row(n, {'<a> & "b"\x0b': [0], "c]]>": [40]} if n < 5 else {"x": [0]}) for n in range(30)]
    with TermCounts.of(rows, tmp_path, places=True) as counts:
        graphs.GRAPH_WRITERS[".graphml"](tmp_path / "g.graphml", Graph.of(counts))
    (edge,) = nx.read_graphml(tmp_path / "g.graphml").edges
    assert set(edge) == {'<a> & "b"\ufffd', "c]]>"}


def test_a_graph_is_replaced_but_no_other_file_is(source: Path, made: Path) -> None:
    (made / "mine.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match="not from `mudy corpus`"):
        run(source, made / "out.jsonl", graph=made / "mine.json")
    for ending in ("json", "graphml", "parquet"):
        run(source, made / "out.jsonl", graph=made / f"graph.{ending}")


def test_an_output_without_all_occurrences_is_refused_before_the_run(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"an output in \.jsonl or \.parquet"):
        run(source, tmp_path / "out.csv", graph=tmp_path / "graph.json")
    with pytest.raises(SettingError, match=r"one of \.parquet, \.graphml, \.json"):
        run(source, tmp_path / "out.jsonl", graph=tmp_path / "graph.gexf")
    assert not (tmp_path / "out.csv").exists()


def test_memory_does_not_grow_with_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_counts, "AT_ONCE", 500)
    some = topical(30)

    def peak(count: int) -> int:
        rows = (some[n % 30] | {"id": str(n)} for n in range(count))
        tracemalloc.start()
        try:
            with TermCounts.of(rows, tmp_path, places=True) as counts:
                Graph.of(counts)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(300)
    assert peak(3_000) < 1.5 * peak(600)
