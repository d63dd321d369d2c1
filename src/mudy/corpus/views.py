"""Files made from the complete output: the phrases of the whole corpus, weighted rows, a graph, trends and an explorer.

They are right after any number of interruptions, and can be asked for after the run. Each file is whole or absent. All
share one pass over the rows, which counts phrases in a temporary database, so memory does not grow with them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from mudy._support.extras import from_extra
from mudy._support.storage import atomic_output, real_path, same_file
from mudy._support.validation import checked
from mudy.corpus.checkpoint import Parts
from mudy.corpus.graph import GRAPH_WRITERS, MARK, Graph
from mudy.corpus.rows import BLOCK, OURS, WRITERS, InputRow, Row, RowWriter, arrow, carried, write_table
from mudy.corpus.term_counts import Term, TermCounts
from mudy.corpus.trends import Period, Trend, Trends, day_of, draw
from mudy.errors import InputError, SettingError
from mudy.extraction.render import html
from mudy.extraction.render.text_pieces import passages
from mudy.reading.document import Span

_LONGEST_HEAD = 1 << 26  # characters of a first line
_MARKED = 4_000  # bytes at the start of a file that is no table, among which its mark is
_TABLES = tuple(f".{name}" for name in WRITERS)
_ENDINGS: Mapping[str, tuple[str, ...]] = {
    "summary": _TABLES,
    "tfidf": _TABLES,
    "graph": tuple(GRAPH_WRITERS),
    "trends": (*_TABLES, ".png"),
    "explore": (".html",),
}
_COLUMNS: Mapping[str, tuple[str, ...]] = {  # the first ones of a table
    "summary": Term._fields,
    "tfidf": OURS,
    "graph": ("kind", "phrase", "source", "target"),
    "trends": Trend._fields,
}


@dataclass(frozen=True, slots=True)
class Views:
    """Files that are made from the output, by name: summary, tfidf, graph, trends, explore."""

    files: Mapping[str, Path]
    time_column: str | None = None
    period: Period | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any], output: Path, form: RowWriter, time: Any = None, period: Any = None) -> Self:
        """The files with these names; raises if one cannot be written."""
        texts = {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}
        files = {name: Path(checked(name, value, str)) for name, value in texts.items() if value is not None}
        if checked("time_column", time, str | None) is None and ("trends" in files or period is not None):
            raise SettingError("Trends need dates: name their column with --time-column.")
        for name, path in files.items():
            _check_ending(name, path, form)
            if same_file(path, output) or list(files.values()).count(path) > 1:
                raise SettingError(f"{path} is named twice; the output and what is made of it are different files.")
            if path.is_dir() or not real_path(path).parent.is_dir():
                raise InputError(f"{path}: it is a folder, or its folder does not exist; a file is needed.")
            if path.suffix.lower() == ".parquet":
                arrow()  # MissingExtra where it is not installed
            if path.suffix.lower() == ".png":
                with from_extra("plots", "A picture"):
                    import matplotlib.figure  # noqa: F401
            if path.exists() and path.stat().st_size and not _is_ours(path, name):
                raise InputError(f"{path} exists, but not from `mudy corpus`. Name another file.")
        return cls(files, time, checked("period", period, Period | None))

    def owns(self, path: Path) -> bool:
        """Whether a file is one of these, which are never input."""
        return any(real_path(path) == real_path(view) for view in self.files.values())

    def write(
        self, parts: Parts, inputs: Callable[[], Iterable[InputRow]], warn: Callable[[str], None] | None = None
    ) -> None:
        """Count the phrases of a finished output, and write the views; `inputs` reads the rows of the input again."""
        if not self.files:
            return
        folder = real_path(next(iter(self.files.values()))).parent
        places = bool({"graph", "trends", "explore"} & self.files.keys())
        days: Iterator[str | None] | None = None
        if self.time_column is not None:
            column = carried(self.time_column)
            days = (day_of(row.kept.get(column)) for row in inputs())
        with TermCounts.of(parts.rows(), folder, days=days, places=places) as counts:
            (undated,) = counts.database.execute("SELECT count(*) FROM documents WHERE day IS NULL").fetchone()
            if days is not None and warn is not None and undated:
                warn(f"{undated:,} of {counts.documents:,} documents have no readable date and are not in the trends.")
            trends = Trends.of(counts, self.period) if days is not None and places else None
            graph = Graph.of(counts) if {"graph", "explore"} & self.files.keys() else None
            for name, path in self.files.items():
                with atomic_output(real_path(path)) as unfinished:
                    match name, path.suffix.lower():
                        case "summary", ending:
                            write_table(unfinished, counts.terms(), Term, ending)
                        case "tfidf", _:
                            _write_rows(unfinished, (weighted(row, counts) for row in parts.rows()), parts.form)
                        case "graph", ending if graph is not None:
                            GRAPH_WRITERS[ending](unfinished, graph)
                        case "trends", ".png" if trends is not None:
                            draw(unfinished, trends, counts, MARK)
                        case "trends", ending if trends is not None:
                            write_table(unfinished, trends.rows(counts), Trend, ending)
                        case "explore", _ if graph is not None:
                            unfinished.write_text(explorer(path.stem, graph, trends, inputs()), "utf-8")


def _check_ending(name: str, path: Path, form: RowWriter) -> None:
    """SettingError for a file that does not end as its view does, or needs more than the output holds."""
    if name == "tfidf" and not (form.complete and path.suffix.lower() == form.ending):
        raise SettingError(
            f"tfidf is {path}, but must end like the output, in .jsonl or .parquet: CSV does not hold all of a row."
        )
    if path.suffix.lower() not in _ENDINGS[name]:
        raise SettingError(f"{name} is {path}, but must end in one of {', '.join(_ENDINGS[name])}.")
    if name != "summary" and not form.complete:
        raise SettingError(f"{name} needs an output in .jsonl or .parquet: CSV does not hold all occurrences.")


def _is_ours(path: Path, name: str) -> bool:
    """Whether an existing file is such a view, which may be replaced: by its first columns, or by our mark."""
    ending, columns = path.suffix.lower(), _COLUMNS.get(name, ())
    try:
        if ending not in _TABLES:
            with path.open("rb") as stream:
                return MARK.encode() in stream.read(_MARKED)
        if ending == ".parquet":
            names = arrow().parquet.read_schema(path).names
        else:
            with path.open(encoding="utf-8-sig", newline="") as table:
                line = table.readline(_LONGEST_HEAD)
            delimiter = "\t" if ending == ".tsv" else ","
            names = json.loads(line) if ending == ".jsonl" else line.rstrip("\n").split(delimiter)
        return tuple(names)[: len(columns)] == columns
    except (OSError, ValueError, TypeError):
        return False


def weighted(row: Row, counts: TermCounts) -> dict[str, Any]:
    """A row whose keyphrases are ranked by score and rarity."""
    scored = [{**phrase, "score": _weighted(phrase["score"], counts.idf(phrase))} for phrase in row["keyphrases"]]
    ordered = sorted(scored, key=lambda phrase: -phrase["score"])  # equal scores keep their order
    return {**row, "keyphrases": [{**phrase, "rank": rank} for rank, phrase in enumerate(ordered, start=1)]}


def _weighted(score: float, idf: float) -> float:
    """Rare phrases gain: a positive score is multiplied by idf, a negative one divided by it."""
    return score * idf if score >= 0 else score / idf


def _write_rows(path: Path, rows: Iterator[Row], form: RowWriter) -> None:
    """Write rows one block at a time, and join the blocks."""
    with TemporaryDirectory(prefix=".mudy-rows-", dir=path.parent) as folder:
        parts: list[Path] = []
        while block := list(islice(rows, BLOCK)):
            parts.append(Path(folder) / f"{len(parts)}{form.ending}")
            form.write(parts[-1], block)
        form.join(path, parts)


# -- The explorer: phrases with trends and neighbours, and their texts, in one file without a server or a network -----

# Its size is bounded: at most MOST_PHRASES phrases, MOST_TEXTS texts and CHARACTERS characters of texts. A text that is
# longer than its share is shown by the sentences around its keyphrases.

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
        shift = offset - passage.start
        spans += [(node, start + shift, end + shift) for _, node, start, end, _ in inside]
        offset += passage.end - passage.start + len(_GAP)
    shown = _GAP.join(text[passage.start : passage.end] for passage in kept)
    return f"{_GAP if kept[0].start else ''}{shown}{_GAP if kept[-1].end < len(text) else ''}", spans
