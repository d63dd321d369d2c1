"""F1 of other packages as they come, on whole texts of data sets, counted as ours is.

pip install -r benchmarks/requirements.txt
python -m experiments.packages DATA --sets duc2001 nus semeval2017 inspec --limit 60

The second command prints a line for each data set and package.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.peers import other_packages
from mudy.evaluation.datasets import Record, load
from mudy.evaluation.measures import DEPTHS, F1, Predictions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of data sets")
    parser.add_argument("--sets", nargs="+", required=True, metavar="NAME")
    parser.add_argument("--limit", type=int, help="documents of each data set")
    parser.add_argument("--package", action="append", metavar="NAME", help="only this one; may be repeated")
    arguments = parser.parse_args()
    packages = {
        name: find for name, find in other_packages().items() if not arguments.package or name in arguments.package
    }
    for dataset in arguments.sets:
        documents = load(arguments.data / f"{dataset}.jsonl", limit=arguments.limit).documents
        for name, find in packages.items():
            found = [
                Predictions(record.id, [phrase.lower() for phrase in find(whole_text(record))], lower_gold(record))
                for record in documents
            ]
            print(f"{dataset}, {name}: " + "/".join(f"{(F1 @ depth)(found):.1f}" for depth in DEPTHS), flush=True)


def whole_text(record: Record) -> str:
    """Title and text, the title once."""
    return record.text if not record.title or record.text.startswith(record.title) else f"{record.title}\n{record.text}"


def lower_gold(record: Record) -> list[str]:
    return [phrase.lower() for phrase in record.keyphrases]


if __name__ == "__main__":
    main()
