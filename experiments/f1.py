"""F1@5/10/15 of one method and model on a data set, micro as published, with its cost and the candidates' ceiling.

    python experiments/f1.py duc2001.jsonl --method mudy --model gemma3-270m --limit 50

The data set is JSON lines with "text" and "keyphrases". By default texts are read as PromptRank reads them (lower case,
512 words); --whole reads all of each text as it stands. Further NAME=VALUE words are settings of the method.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from mudy import Extractor
from mudy.evaluation.measures import F1, Outcome
from mudy.interfaces.options import settings
from mudy.stems import stems

MEASURES = [F1 @ 5, F1 @ 10, F1 @ 15]


def main() -> None:
    asked = arguments()
    extractor = Extractor(
        asked.method,
        asked.model,
        protocol=None if asked.whole else "promptrank",
        threads=asked.threads,
        dtype=asked.dtype,
        **settings(asked.method, asked.settings),
    )
    rows = [json.loads(line) for line in Path(asked.data).read_text(encoding="utf-8").splitlines()[: asked.limit]]
    outcomes: list[Outcome] = []
    in_reach = gold_phrases = 0
    assert extractor.scorer, "loaded before the clock starts"
    cpu, wall = time.process_time(), time.perf_counter()
    for number, row in enumerate(rows, start=1):
        gold = [phrase.lower() for phrase in row["keyphrases"]]
        result = extractor.extract(row["text"], None, merge=asked.merge)
        phrases = [k.text.lower() for k in result.keyphrases]
        occurrences = sum(len(p.occurrences) for p in result.keyphrases)
        outcomes.append(Outcome(str(number), phrases, gold, occurrences))
        reach = {stems(form.lower()) for p in result.keyphrases for form in (p.text, *p.variants)}
        in_reach += sum(stems(phrase) in reach for phrase in gold)
        gold_phrases += len(gold)
        print(f"\r{number} of {len(rows)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    cpu, wall = (time.process_time() - cpu) / len(rows), (time.perf_counter() - wall) / len(rows)
    print(
        f"{Path(asked.data).stem}\t{len(rows)} documents\t{asked.method}\t{asked.model}\t{' '.join(asked.settings)}\t"
        f"F1@5/10/15 {'/'.join(f'{measure(outcomes):.2f}' for measure in MEASURES)}\t"
        f"ceiling {100 * in_reach / gold_phrases:.1f} %\t{cpu:.2f} CPU-s, {wall:.2f} s a document"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--method", default="mudy")
    parser.add_argument("--model", default="gemma3-270m")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--whole", action="store_true", help="read each text whole and as it stands")
    parser.add_argument("--merge", action="store_true", help="merge variants, which the published measure does not")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--dtype")
    return parser.parse_intermixed_args()


if __name__ == "__main__":
    main()
