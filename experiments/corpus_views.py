"""What the views of a corpus cost: CPU-seconds, memory and file sizes for synthetic rows with keyphrases.

python -m experiments.corpus_views --documents 10000

The rows are made up: 200 topics of 150 phrases each, twelve keyphrases per document, most of them of one topic, phrases
of a topic by Zipf's law, texts of about 190 words, dates over ten years. Nothing is extracted.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from mudy.corpus.checkpoint import Parts
from mudy.corpus.rows import InputRow, JsonLinesWriter, RowPosition
from mudy.corpus.views import Views

TOPICS, PHRASES, KEYPHRASES = 200, 150, 12
VIEWS = {"summary": "terms.jsonl", "graph": "graph.parquet", "trends": "trends.csv", "explore": "explorer.html"}


def rows(count: int) -> Iterator[tuple[dict[str, Any], InputRow]]:
    """Rows of an output, each with its input."""
    chance = Random(0)
    weights = [1 / rank for rank in range(1, PHRASES + 1)]
    for number in range(count):
        topic, other = chance.randrange(TOPICS), chance.randrange(TOPICS)
        drawn = chance.choices(range(PHRASES), weights, k=KEYPHRASES)
        chosen = dict.fromkeys(
            f"term{topic if index < 9 else other}x phrase{rank}y" for index, rank in enumerate(drawn)
        )
        text, keyphrases = "", []
        for rank, phrase in enumerate(chosen, start=1):
            text += " ".join(f"word{chance.randrange(900)}" for _ in range(14)) + " "
            place = {"start": len(text), "end": len(text) + len(phrase), "score": 1 / rank}
            keyphrases.append({"text": phrase, "score": 1 / rank, "occurrences": [place]})
            text += phrase + ". "
        day = f"{2015 + number * 10 // count}-{1 + number % 12:02}-01"
        row = {"id": f"d{number}", "keyphrases": keyphrases, "error": None}
        yield row, InputRow(RowPosition(0, number), f"d{number}", text, kept={"date": day})


def measure(name: str, count: int) -> None:
    """Write one view, and print what it took."""
    with TemporaryDirectory() as folder:
        output, path = Path(folder) / "out.jsonl", Path(folder) / VIEWS[name]
        JsonLinesWriter().write(output, (row for row, _ in rows(count)))
        views = Views.of({name: path}, output, JsonLinesWriter(), "date")
        before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        views.write(Parts(output, JsonLinesWriter()), lambda: (entry for _, entry in rows(count)))
        seconds, peak = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = path.stat().st_size / 1e6
        about = f", {_edges(path)}" if name == "graph" else ""
    print(
        f"{name}: {seconds:.1f} CPU-s, at most {peak / 1024:.0f} MB (before {before / 1024:.0f}), {size:.1f} MB{about}"
    )


def _edges(path: Path) -> str:
    from pyarrow import parquet

    kinds = parquet.read_table(path, columns=["kind"])["kind"].to_pylist()
    return f"{kinds.count('node'):,} nodes, {kinds.count('edge'):,} edges"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--view", choices=VIEWS, help="only this one, in this process")
    arguments = parser.parse_args()
    if arguments.view:
        measure(arguments.view, arguments.documents)
        return
    for name in VIEWS:  # each in a process of its own, whose memory is then its own
        command = [sys.executable, "-m", "experiments.corpus_views", "--view", name]
        subprocess.run([*command, "--documents", str(arguments.documents)], check=True)


if __name__ == "__main__":
    main()
