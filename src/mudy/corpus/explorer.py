"""A page to explore a corpus: its phrases with trends and neighbours, and its texts. One file, no server, no network.

Its size is bounded: at most MOST_PHRASES phrases, MOST_TEXTS texts and CHARACTERS characters of texts. A text that is
longer than its share is shown by the sentences around its keyphrases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from mudy.corpus.graph import MARK, Graph
from mudy.corpus.row import InputRow
from mudy.corpus.trends import Trends, day_of
from mudy.extraction.render import html
from mudy.extraction.render.text_pieces import passages
from mudy.reading.document import Span

MOST_PHRASES = 5_000
MOST_TEXTS = 10_000
CHARACTERS = 16_000_000
_LEAST_SHARE = 400  # characters of a text
_GAP = "\n…\n"
_VIEW = ("words", "elements", "theme", "segments")
_SCRIPTS = (*(f"server/web/view/{name}.js" for name in _VIEW), "server/web/explorer.js")
STYLE_SHEETS = (*html.STYLE_SHEETS, "extraction/render/explorer.css")
_PLACES = """
SELECT row, node, start, end, score FROM places JOIN nodes USING (key) JOIN documents USING (row)
WHERE node < ? ORDER BY row, start, end, node
"""

Place = tuple[int, int, int, int, float]  # row, node, start, end, score


def explorer(name: str, graph: Graph, trends: Trends | None, inputs: Iterable[InputRow]) -> str:
    """The page; `inputs` are the rows of the input, whose texts it shows."""
    total = graph.counts.documents
    shown = {
        "documents": total,
        "periods": trends.periods if trends else [],
        "totals": trends.totals if trends else [],
        "phrases": [_phrase(graph, node, trends) for node in range(min(MOST_PHRASES, len(graph.nodes)))],
        "edges": [(e.source, e.target, round(e.npmi, 3), e.chunks) for e in graph.edges if e.target < MOST_PHRASES],
        "texts": list(islice(_texts(graph, inputs, trends is not None), MOST_TEXTS)),
    }
    about = f"{total:,} documents, {len(graph.nodes):,} phrases, {len(graph.edges):,} edges"
    main = "<noscript>This page needs scripts, which are part of it.</noscript>"
    return html.page(f"{name}: phrases", name, about, main, shown, _SCRIPTS, STYLE_SHEETS, MARK)


def _phrase(graph: Graph, number: int, trends: Trends | None) -> tuple[Any, ...]:
    """Phrase, documents, mean score and community; with trends, also z and q (or null), and counts by period."""
    node = graph.nodes[number]
    facts = (node.phrase, node.documents, round(node.mean_score, 4), node.community)
    if trends is None:
        return facts
    z, _, q = trends.tested.get(number, (None, None, None))
    tested = (None, None) if z is None or q is None else (round(z, 2), float(f"{q:.2g}"))
    return (*facts, *tested, trends.counts.get(number, []))


def _texts(graph: Graph, inputs: Iterable[InputRow], dated: bool) -> Iterator[tuple[Any, ...]]:
    """Id, date, text and places (node, start and end in turn) of all documents without an error."""
    places = groupby(graph.counts.database.execute(_PLACES, (MOST_PHRASES,)), key=itemgetter(0))
    ids = graph.counts.database.execute("SELECT row, name FROM documents ORDER BY row")
    share = max(_LEAST_SHARE, CHARACTERS // max(1, min(MOST_TEXTS, graph.counts.documents)))
    row, here = next(places, (0, iter(())))
    names = dict(ids.fetchmany(MOST_TEXTS))
    for number, entry in enumerate(inputs, start=1):
        if number in names:
            found: list[Place] = list(here) if row == number else []
            text, spans = _cut(entry.text, found, share)
            day = day_of(next(iter(entry.kept.values()), None)) if dated else None
            yield names[number], day, text, [value for span in spans for value in span]
            if row == number:
                row, here = next(places, (0, iter(())))


def _cut(text: str, places: list[Place], share: int) -> tuple[str, list[tuple[int, int, int]]]:
    """A text with its places; of a long one, the sentences around as many of the best places as fit."""
    if len(text) <= share:
        return text, [(node, start, end) for _, node, start, end, _ in places]
    best = [Span(start, end) for _, _, start, end, _ in sorted(places, key=lambda place: (-place[-1], place[2]))]
    kept = [Span(0, len(text[:share].rsplit(None, 1)[0]))]
    for count in range(1, len(best) + 1):
        wanted = passages(text, best[:count])
        if sum(span.end - span.start for span in wanted) > share:
            break
        kept = wanted
    spans, offset = [], len(_GAP) if kept[0].start else 0
    for passage in kept:
        inside = (place for place in places if passage.start <= place[2] and place[3] <= passage.end)
        spans += [
            (node, start - passage.start + offset, end - passage.start + offset) for _, node, start, end, _ in inside
        ]
        offset += passage.end - passage.start + len(_GAP)
    shown = _GAP.join(text[passage.start : passage.end] for passage in kept)
    return f"{_GAP if kept[0].start else ''}{shown}{_GAP if kept[-1].end < len(text) else ''}", spans
