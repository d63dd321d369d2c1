"""How long until the first keyphrase, from a cold process on a warm disk?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import MODELS, WARM
from benchmarks.measure import say
from benchmarks.report import Figures, Question
from experiments.reproduce.markdown import markdown_table

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "floodplain.txt"
HEAVY = ("torch", "transformers", "spacy", "numpy", "scipy", "nltk", "sklearn", "sentence_transformers", "rich")

# What runs in the fresh process. `step` keeps the wall and CPU-seconds since the step before.
CLOCK = """
import json, sys, time
steps, last = {}, [time.perf_counter(), time.process_time()]
steps["python"] = [time.time() - STARTED, last[1]]
def step(name):
    now = [time.perf_counter(), time.process_time()]
    steps[name] = [now[0] - last[0], now[1] - last[1]]
    last[:] = now
"""
IMPORT = "import {module}\nstep('import')\n"
OURS = """
from mudy import Extractor
step("import")
extractor = Extractor(**{options!r})
extractor.tagger
step("tagger")
extractor.scorer
step("model")
found = extractor.extract({text!r}).as_tuples()
step("keyphrases")
assert found
"""
KEYBERT = """
from keybert import KeyBERT
step("import")
from benchmarks.peers import minilm
step("benchmark")
extractor = KeyBERT(minilm())
step("model")
found = extractor.extract_keywords({text!r}, keyphrase_ngram_range=(1, 3))
step("keyphrases")
assert found
"""
REPORT = """
names = sorted(name for name in sys.modules if "." not in name)
print(json.dumps({"steps": steps, "modules": names, "count": len(sys.modules)}))
"""
SPEEDS = ("quick", "fast", "exact")  # of MUDY+
NAMES = {
    "python": "python itself",
    "import": "import",
    "tagger": "spaCy and its tagger",
    "model": "the models",
    "keyphrases": "keyphrases",
}


def scenarios(models: Sequence[str]) -> dict[str, str]:
    """What is started, and the program that does it."""
    found = {f"import {module}": IMPORT.format(module=module) for module in ("mudy", "keybert")}
    for words, text in (("short text", WARM), ("examples/floodplain.txt", EXAMPLE.read_text(encoding="utf-8"))):
        for model in models:
            for speed in SPEEDS:
                found[f"mudy, {model}, {speed}, {words}"] = OURS.format(
                    options={"model": model, "speed": speed}, text=text
                )
        found[f"KeyBERT (1, 3), minilm-l6, {words}"] = KEYBERT.format(text=text)
    return found


def measure(asked: Namespace) -> Figures:
    repeats, programs = asked.repeats, scenarios(asked.models)
    if asked.quick:
        repeats, programs = 1, scenarios(asked.models[-1:])
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for turn in range(repeats + 1):  # the first one warms the disk's cache
        for name, program in programs.items():
            say(f"startup: {name}, round {turn}")
            run = started(program)
            if turn:
                runs[name].append(run)
    return {"repeats": repeats, "runs": {name: summary(found) for name, found in runs.items()}}


def started(program: str) -> dict[str, Any]:
    """The steps of one fresh process; python itself counts from before it was started."""
    clock = CLOCK.replace("STARTED", str(time.time()))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(ROOT)])}
    command = [sys.executable, "-P", "-c", clock + program + REPORT]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    found["steps"].pop("benchmark", None)  # our own imports are no part of what a user waits for
    return found


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Medians of every step, and what was imported."""
    steps = {
        name: {
            "wall": median(run["steps"][name][0] for run in runs),
            "cpu": median(run["steps"][name][1] for run in runs),
        }
        for name in runs[0]["steps"]
    }
    return {
        "steps": steps,
        "wall": median(sum(wall for wall, _ in run["steps"].values()) for run in runs),
        "cpu": median(sum(cpu for _, cpu in run["steps"].values()) for run in runs),
        "modules": runs[0]["count"],
        "heavy": [name for name in HEAVY if name in runs[0]["modules"]],
    }


# -- Telling ----------------------------------------------------------------------------------------------------------


def answer(figures: Figures) -> str:
    runs = figures["runs"]
    imports = ", ".join(
        f"`{name}` takes {runs[name]['steps']['import']['wall']:.2f} s" for name in runs if _alone(name)
    )
    firsts = ", ".join(
        f"{name.removesuffix(', short text')} {runs[name]['wall']:.1f}" for name in runs if "short" in name
    )
    return f"{imports}. From an empty process to the keyphrases of a short text, in wall seconds: {firsts}."


def _alone(name: str) -> bool:
    return name.startswith("import ")


HOW = """Fresh processes, medians of {repeats} in turns, after one round that is not counted, so that files come from
memory. Threads as each has them. The end of a process is not counted."""

WHY = """KeyBERT imports torch and the library of its model at once, so these are in its import."""


def tell(figures: Figures) -> str:
    alone = {name: run for name, run in figures["runs"].items() if _alone(name)}
    whole = {name: run for name, run in figures["runs"].items() if not _alone(name)}
    return "\n\n".join(
        [
            HOW.format(repeats=figures["repeats"]),
            imports_table(alone),
            "Seconds to the first keyphrases, and the wall seconds and share of each step:",
            steps_table(whole),
            WHY,
        ]
    )


def imports_table(runs: Mapping[str, Any]) -> str:
    rows = []
    for name, run in runs.items():
        step, heavy = run["steps"]["import"], ", ".join(run["heavy"]) or "none of the heavy ones"
        rows.append([f"`{name}`", f"{step['wall']:.3f}", f"{step['cpu']:.3f}", f"{run['modules']:,}", heavy])
    return markdown_table(["", "wall s", "CPU-s", "modules", "among them"], rows)


def steps_table(runs: Mapping[str, Any]) -> str:
    rows = [
        [name, f"{run['wall']:.2f}", f"{run['cpu']:.2f}", *(cell(run, step) for step in NAMES)]
        for name, run in runs.items()
    ]
    return markdown_table(["", "wall s", "CPU-s", *NAMES.values()], rows)


def cell(run: Mapping[str, Any], step: str) -> str:
    """Seconds of a step and its share of the whole."""
    if step not in run["steps"]:
        return ""
    wall = run["steps"][step]["wall"]
    return f"{wall:.2f} ({wall / run['wall']:.0%})"


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--models", nargs="+", default=MODELS[:1])
    parser.add_argument("--repeats", type=int, default=2)


QUESTION = Question(
    name="startup",
    title="How long until the first keyphrase?",
    measure=measure,
    answer=answer,
    tell=tell,
    options=options,
)

if __name__ == "__main__":
    QUESTION.main()
