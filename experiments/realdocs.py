"""Methods and packages on documents as people have them, judged by readers' gold.

python -m experiments.realdocs FOLDER --systems mudyplus mudyplus:quick yake experiments.entries:keybert_1_3

FOLDER has `files` and `gold.jsonl`, as experiments/documents has. A system is a method of MUDY, with its speed after
a colon if it is not the default, or a function as for `mudy evaluate --suite`; both are given the text that MUDY
reads from the file. Figures per document, without any of its words, are kept in realdocs.json, from which
realdocs.md is written; systems that are already there are not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from experiments.documents import TOP, Figures, load_gold
from experiments.reproduce.markdown import markdown_table
from mudy import Extractor
from mudy._support.storage import dump_json
from mudy.evaluation.datasets import Record
from mudy.evaluation.suite import named_function
from mudy.methods import METHODS

HERE = Path(__file__).parent
Row = Sequence[str | float]  # genre, language, found, right and junk of one document
System = Callable[[Record], Sequence[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--systems", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--output", type=Path, default=HERE / "realdocs.json", help="the page is written beside it")
    arguments = parser.parse_args()
    kept: dict[str, list[Row]] = json.loads(arguments.output.read_text("utf-8")) if arguments.output.exists() else {}
    golds = load_gold(arguments.folder)
    for name in arguments.systems:
        if name in kept:
            continue
        system, start, rows = system_of(name), time.process_time(), []
        for gold in golds:
            figures = gold.figures(system(gold.record()))
            rows.append((gold.genre, gold.language, *(round(value, 2) for value in figures)))
        kept[name] = sorted(rows)
        arguments.output.write_text(dump_json(kept).replace("]], ", "]],\n") + "\n", encoding="utf-8")
        arguments.output.with_suffix(".md").write_text(page(kept), encoding="utf-8")
        print(f"{name}: {time.process_time() - start:.0f} CPU-seconds", file=sys.stderr, flush=True)


def system_of(name: str) -> System:
    """The system of a name, which returns the phrases of a document."""
    method, _, speed = name.partition(":")
    if method not in METHODS:
        function = named_function(name)
        return lambda record: function(record.text)
    extractor = Extractor(method, threads=1, **({"speed": speed} if speed else {}))
    return lambda record: [
        keyphrase.text for keyphrase in extractor.extract(record.text, top_n=TOP, blocks=record.blocks)
    ]


def mean(rows: Iterable[Row]) -> Figures:
    return Figures.mean(Figures(*map(float, row[2:])) for row in rows)


def page(kept: Mapping[str, Sequence[Row]]) -> str:
    """The tables of all systems, best first."""
    english = {name: [row for row in rows if row[1] == "en"] for name, rows in kept.items()}
    names = sorted(english, key=lambda name: (-mean(english[name]).f, name))
    others = {name: [row for row in kept[name] if row[1] != "en"] for name in names}
    counts = {genre: sum(row[0] == genre for row in english[names[0]]) for genre, *_ in english[names[0]]}
    overall = [
        [name, *(f"{value:.1f}" for value in (own.found, own.right, own.f, own.junk)), f"{mean(others[name]).f:.1f}"]
        for name in names
        for own in [mean(english[name])]
    ]
    by_genre = [
        [genre, str(count), *(f"{mean(row for row in english[name] if row[0] == genre).f:.0f}" for name in names)]
        for genre, count in sorted(counts.items())
    ]
    text = (HERE / "realdocs.template.md").read_text(encoding="utf-8")
    for place, table in {
        "table": markdown_table(["system", "found", "right", "F", "junk %", "F, other languages"], overall),
        "by genre": markdown_table(["genre", "documents", *names], by_genre),
    }.items():
        text = text.replace(f"<!-- {place} -->", table)
    return text


if __name__ == "__main__":
    main()
