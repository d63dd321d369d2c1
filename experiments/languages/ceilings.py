"""How much of the gold is among the candidates, with a tagger and without one; no model is asked.

    python -m experiments.languages.ceilings DATA

DATA is a folder with the development sets. The taggers are those that are here (`mudy languages pull fr es`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.languages.other_languages import SETS, WORDS
from mudy.evaluation.datasets import Dataset, load
from mudy.reading.candidates import candidates, nested_candidates
from mudy.reading.candidates.stemming import stems_of
from mudy.reading.document import first_words
from mudy.reading.languages.taggers import tagger_is_here
from mudy.reading.tagging import TextReader, reader_of
from mudy.reading.untagged import UntaggedReader

KINDS = {"nested": nested_candidates, "maximal": candidates}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of data sets")
    folder = parser.parse_args().data
    print("| set | texts | read by | nested | candidates | maximal | candidates |\n|---|---:|---|---:|---:|---:|---:|")
    for name, code in SETS.items():
        data = load(folder / f"{name}.jsonl")
        for reader in [UntaggedReader(code), *([reader_of(code)] if tagger_is_here(code) else [])]:
            print(row(data, reader), flush=True)


def row(data: Dataset, reader: TextReader) -> str:
    """The share of gold among the candidates in per cent, and how many candidates a text has, for each kind."""
    gold = 0
    reached, found = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    for record in data.documents:
        document = reader.document(*first_words(record.text, WORDS))
        wanted = [stems_of(phrase.lower(), reader.language) for phrase in record.keyphrases]
        gold += len(wanted)
        for kind, find in KINDS.items():
            forms = {stems_of(candidate.phrase, reader.language) for candidate in find(document)}
            reached[kind] += sum(phrase in forms for phrase in wanted)
            found[kind] += len(forms)
    texts = len(data.documents)
    cells = " | ".join(f"{100 * reached[kind] / gold:.1f} | {found[kind] / texts:.0f}" for kind in KINDS)
    return f"| {data.name} | {texts} | {reader.name} | {cells} |"


if __name__ == "__main__":
    main()
