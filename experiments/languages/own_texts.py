"""Forty short texts of our own in twenty languages: which of the subjects, written before any run, are named.
Run: python -m experiments.languages.own_texts [--speed quick] > experiments/languages/own_texts.md
"""

import argparse
import json
from pathlib import Path

from mudy import Extractor
from mudy.extraction.ranking import variant_key
from mudy.reading.languages import name_of

TEXTS = Path(__file__).parent / "texts.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--speed", default=None)
    extractor = Extractor(speed=parser.parse_args().speed)
    print("| language | read by | first five phrases | subjects named | of |\n|---|---|---|---|---:|")
    first, named_in_all, subjects_in_all = 0, 0, 0
    rows = [json.loads(line) for line in TEXTS.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        result = extractor.extract(row["text"], 5)
        code = row["language"]
        found = {variant_key(form, code) for k in result for form in (k.text, *k.variants)}
        named = [subject for subject in row["subjects"] if variant_key(subject, code) in found]
        first += bool(named)
        named_in_all, subjects_in_all = named_in_all + len(named), subjects_in_all + len(row["subjects"])
        phrases = " · ".join(k.text for k in result)
        shown = ", ".join(named) or "none"
        print(f"| {name_of(code)} | {result.read_by} | {phrases} | {shown} | {len(row['subjects'])} |", flush=True)
    print(f"\nA subject is named in {first} of {len(rows)} texts, {named_in_all} of {subjects_in_all} subjects.")


if __name__ == "__main__":
    main()
