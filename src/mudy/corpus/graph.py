"""A graph of concepts: phrases that share chunks more often than chance, each with the places that show it.

Nodes are the most frequent phrases. Of the pairs that share at least two chunks without overlapping there, an edge
needs G² above CHANCE, and must be among the DEGREE strongest of one of its phrases, so there are at most DEGREE edges
per node. Communities are found by moving nodes and then groups of them while modularity rises (Blondel et al., 2008),
in the order of the nodes: the same input gives the same graph.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappush, heappushpop
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self
from xml.sax.saxutils import escape, quoteattr

from mudy._support.storage import dump_json
from mudy.corpus.rows import arrow, write_parquet
from mudy.corpus.statistics import log_likelihood, npmi
from mudy.corpus.term_counts import TermCounts

DEGREE = 10  # edges that a node may bring
CHANCE = 10.83  # G² of p = 0.001
PLACES = 20  # of a node or an edge, the best-scored first
MARK = "made by mudy corpus"  # by which a file is known to be ours
_ROUNDS = 20  # of moves, in case two of them undo each other
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

_PAIRS = """
SELECT a.node, b.node, count(*) FROM members a JOIN members b
ON a.chunk = b.chunk AND a.node < b.node AND (a.end <= b.start OR b.end <= a.start) GROUP BY 1, 2 HAVING count(*) > 1
"""
_NODE_PLACES = """
SELECT name AS document, start, end FROM members JOIN documents USING (row)
WHERE node = ? ORDER BY score DESC, chunk LIMIT ?
"""
_EDGE_PLACES = """
SELECT name AS document, a.start, a.end, b.start AS target_start, b.end AS target_end
FROM members a JOIN members b ON a.chunk = b.chunk AND (a.end <= b.start OR b.end <= a.start)
JOIN documents ON documents.row = a.row
WHERE a.node = ? AND b.node = ? ORDER BY a.score + b.score DESC, a.chunk LIMIT ?
"""


class Node(NamedTuple):
    """A phrase."""

    phrase: str
    documents: int
    mean_score: float
    community: int | None = None  # 0 is the largest; None without edges


class Edge(NamedTuple):
    """Two phrases, by the numbers of their nodes."""

    source: int
    target: int
    chunks: int  # that have both
    npmi: float
    log_likelihood: float


@dataclass(frozen=True)
class Graph:
    """Nodes and edges; places are looked up in the counts."""

    nodes: list[Node]
    edges: list[Edge]  # by source and target
    counts: TermCounts

    @classmethod
    def of(cls, counts: TermCounts) -> Self:
        """The graph of counts that were made with places."""
        edges = _strongest(_associated(counts))
        groups = communities((edge.source, edge.target, edge.npmi) for edge in edges)
        terms = counts.nodes()
        names = _distinct((term.phrase, term.concept_id) for term in terms)
        nodes = [
            Node(name, term.documents, term.mean_score, groups.get(number))
            for number, (name, term) in enumerate(zip(names, terms, strict=True))
        ]
        return cls(nodes, edges, counts)

    def _places(self, query: str, *nodes: int) -> list[dict[str, Any]]:
        cursor = self.counts.database.execute(query, (*nodes, PLACES))
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def node_rows(self) -> Iterator[dict[str, Any]]:
        for number, node in enumerate(self.nodes):
            yield {**node._asdict(), "places": self._places(_NODE_PLACES, number)}

    def edge_rows(self) -> Iterator[dict[str, Any]]:
        for edge in self.edges:
            ends = {"source": self.nodes[edge.source].phrase, "target": self.nodes[edge.target].phrase}
            yield {**edge._asdict(), **ends, "places": self._places(_EDGE_PLACES, edge.source, edge.target)}


def _distinct(phrases: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    """Phrases as names of nodes; one that two concepts share is followed by the concept's id."""
    taken: set[str] = set()
    for phrase, concept in phrases:
        name = f"{phrase} ({concept})" if phrase in taken else phrase
        taken.add(name)
        yield name


def _associated(counts: TermCounts) -> Iterator[Edge]:
    """Pairs that share chunks more often than chance."""
    sizes = dict(counts.database.execute("SELECT node, count(*) FROM members GROUP BY node"))
    (total,) = counts.database.execute("SELECT count(DISTINCT chunk) FROM members").fetchone()
    for source, target, both in counts.database.execute(_PAIRS):
        table = (both, sizes[source], sizes[target], total)
        if (surprise := log_likelihood(*table)) > CHANCE:
            yield Edge(source, target, both, npmi(*table), surprise)


def _strongest(edges: Iterable[Edge]) -> list[Edge]:
    """Edges that are among the strongest of one of their nodes."""
    kept: dict[int, list[tuple[float, int, int, Edge]]] = defaultdict(list)
    for edge in edges:
        for node in edge[:2]:
            entry = (edge.log_likelihood, -edge.source, -edge.target, edge)
            push = heappush if len(kept[node]) < DEGREE else heappushpop
            push(kept[node], entry)
    return sorted({entry[-1] for heap in kept.values() for entry in heap})


Neighbours = Mapping[int, Mapping[int, float]]  # weights; those of a node with itself count twice


def communities(edges: Iterable[tuple[int, int, float]]) -> dict[int, int]:
    """The community of every node that has an edge, numbered by size, the largest 0."""
    graph: dict[int, dict[int, float]] = defaultdict(dict)
    for source, target, weight in edges:
        graph[source][target] = graph[target][source] = weight
    groups = {node: node for node in sorted(graph)}
    level: Neighbours = graph
    while len(set((moved := _moved(level)).values())) < len(level):
        groups = {node: moved[group] for node, group in groups.items()}
        level = _merged(level, moved)
    sizes = Counter(groups.values())
    order = {group: number for number, group in enumerate(sorted(sizes, key=lambda group: (-sizes[group], group)))}
    return {node: order[group] for node, group in groups.items()}


def _moved(graph: Neighbours) -> dict[int, int]:
    """Each node in the group of neighbours where it adds most to modularity, until none wants to move."""
    degrees = {node: sum(neighbours.values()) for node, neighbours in graph.items()}
    total = sum(degrees.values())
    groups, weights = {node: node for node in graph}, dict(degrees)
    for _ in range(_ROUNDS):
        changed = False
        for node in sorted(graph):
            links: dict[int, float] = defaultdict(float)
            for neighbour, weight in graph[node].items():
                links[groups[neighbour]] += weight if neighbour != node else 0.0
            home = groups[node]
            weights[home] -= degrees[node]
            gains = {group: link - weights[group] * degrees[node] / total for group, link in sorted(links.items())}
            best = max(gains, key=gains.__getitem__, default=home)
            groups[node] = best if gains.get(best, 0.0) > gains.get(home, 0.0) + 1e-12 else home
            weights[groups[node]] += degrees[node]
            changed |= groups[node] != home
        if not changed:
            break
    return groups


def _merged(graph: Neighbours, groups: Mapping[int, int]) -> Neighbours:
    """The graph of groups: weights between them are summed."""
    merged: dict[int, dict[int, float]] = {group: defaultdict(float) for group in sorted(set(groups.values()))}
    for node, neighbours in graph.items():
        for neighbour, weight in neighbours.items():
            merged[groups[node]][groups[neighbour]] += weight
    return merged


def _write_json(path: Path, graph: Graph) -> None:
    """The node-link form of networkx and D3."""
    nodes = ({"id": row.pop("phrase"), **row} for row in graph.node_rows())
    with path.open("w", encoding="utf-8") as stream:
        stream.write(f'{{"directed":false,"multigraph":false,"graph":{json.dumps({"made_by": MARK})}')
        for name, rows in (("nodes", nodes), ("edges", graph.edge_rows())):
            stream.write(f',\n"{name}":[')
            for index, row in enumerate(rows):
                stream.write(f"{',' if index else ''}\n{dump_json(row)}")
            stream.write("]")
        stream.write("}\n")


_GRAPHML_TYPES = {"documents": "int", "mean_score": "double", "community": "int", "places": "string"}
_GRAPHML_EDGE_TYPES = {"chunks": "int", "npmi": "double", "log_likelihood": "double", "places": "string"}


def _write_graphml(path: Path, graph: Graph) -> None:
    """GraphML, as Gephi, Cytoscape, yEd and networkx read it; places are JSON."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write(f"<?xml version='1.0' encoding='utf-8'?>\n<!-- {MARK} -->\n")
        stream.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for kind, types in (("node", _GRAPHML_TYPES), ("edge", _GRAPHML_EDGE_TYPES)):
            for name, form in types.items():
                stream.write(f'<key id="{kind}_{name}" for="{kind}" attr.name="{name}" attr.type="{form}"/>\n')
        stream.write('<graph edgedefault="undirected">\n')
        for row in graph.node_rows():
            stream.write(f"<node id={quoteattr(_xml(row['phrase']))}>{_data('node', row, _GRAPHML_TYPES)}</node>\n")
        for row in graph.edge_rows():
            ends = f"source={quoteattr(_xml(row['source']))} target={quoteattr(_xml(row['target']))}"
            stream.write(f"<edge {ends}>{_data('edge', row, _GRAPHML_EDGE_TYPES)}</edge>\n")
        stream.write("</graph>\n</graphml>\n")


def _xml(text: str) -> str:
    """A text with nothing that XML does not allow."""
    return _NOT_XML.sub("\ufffd", text)


def _data(kind: str, row: Mapping[str, Any], names: Iterable[str]) -> str:
    values = ((name, row[name]) for name in names if row[name] is not None)
    texts = ((name, dump_json(value) if isinstance(value, list) else str(value)) for name, value in values)
    return "".join(f'<data key="{kind}_{name}">{escape(_xml(text))}</data>' for name, text in texts)


def _write_parquet(path: Path, graph: Graph) -> None:
    """One table: nodes first, then edges, told apart by `kind`."""
    pa = arrow()
    numbers = {"documents": pa.int64(), "chunks": pa.int64(), "community": pa.int64()}
    scores = dict.fromkeys(("mean_score", "npmi", "log_likelihood"), pa.float64())
    offsets = dict.fromkeys(("start", "end", "target_start", "target_end"), pa.int64())
    place = pa.struct([("document", pa.string()), *offsets.items()])
    texts = dict.fromkeys(("kind", "phrase", "source", "target"), pa.string())
    schema = pa.schema([*texts.items(), *numbers.items(), *scores.items(), ("places", pa.list_(place))])
    schema = schema.with_metadata({"made_by": MARK})
    nodes = ({"kind": "node", **row} for row in graph.node_rows())
    edges = ({"kind": "edge", **row} for row in graph.edge_rows())
    write_parquet(path, chain(nodes, edges), schema)


GRAPH_WRITERS: Mapping[str, Callable[[Path, Graph], None]] = {
    ".parquet": _write_parquet,
    ".graphml": _write_graphml,
    ".json": _write_json,
}
