"""Answers -> a report: a JSON and a Markdown file for each question, and one README.md made of all of them.

folder/results/NAME.json    figures, command, machine
folder/results/NAME.md      the section, and its charts as PNG beside it
folder/README.md            every section that is there
"""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import QUESTIONS
from benchmarks.machine import described, machine
from experiments.reproduce.markdown import bullets
from mudy.reading.document import squeeze

HERE = Path(__file__).parent
QUICK = HERE.parent / "build" / "benchmarks"  # where a smoke run goes: it must not pass for a measurement
Figures = dict[str, Any]  # in JSON's types


@dataclass(frozen=True)
class Question:
    """What is asked, how it is measured, and how the figures are told."""

    name: str
    title: str
    measure: Callable[[Namespace], Figures]
    answer: Callable[[Figures], str]  # in a sentence or two
    tell: Callable[[Figures], str]  # tables, and how they were made, in Markdown
    options: Callable[[ArgumentParser], None] = lambda parser: None  # noqa: ARG005
    draw: Callable[[Figures], Mapping[str, bytes]] = lambda figures: {}  # noqa: ARG005 (file name -> PNG)
    variant: Callable[[Namespace], str] = lambda asked: ""  # noqa: ARG005 (tells two sections of one question apart)

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """Measure, and write the section and the report."""
        parser = ArgumentParser(f"python -m benchmarks.{self.name}", description=self.title)
        common(parser)
        self.options(parser)
        given = sys.argv[1:] if arguments is None else list(arguments)
        asked = parser.parse_args(given)
        folder, busy = folder_of(asked), os.getloadavg()[0]
        figures = self.measure(asked)
        name = f"{self.name}-{variant}" if (variant := self.variant(asked)) else self.name
        origin = {"command": command(self.name, given), "quick": asked.quick, "load_before": busy, "machine": machine()}
        save(folder, name, {**origin, "figures": figures})
        write(folder, name)
        readme(folder)


def common(parser: ArgumentParser) -> None:
    """Options of all questions."""
    parser.add_argument("--quick", action="store_true", help="a smoke run: few texts, few repeats")
    parser.add_argument("--output", type=Path, help="folder of the report")


def folder_of(asked: Namespace) -> Path:
    return asked.output or (QUICK if asked.quick else HERE)


def command(name: str, arguments: Sequence[str]) -> str:
    """The command as anyone may repeat it: folders are theirs."""
    words = ["python", "-m", f"benchmarks.{name}"]
    for before, word in zip(["", *arguments], arguments, strict=False):
        words.append("DIR" if before in ("--data", "--output") else word)
    return " ".join(words)


# -- Files ------------------------------------------------------------------------------------------------------------


def save(folder: Path, name: str, answer: Mapping[str, Any]) -> None:
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    (results / f"{name}.json").write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


def forget(folder: Path) -> None:
    """Remove the sections of an earlier run, and their charts."""
    for path in sorted((folder / "results").glob("*")):
        if path.suffix in (".json", ".md", ".png"):
            path.unlink()


def write(folder: Path, name: str) -> None:
    """The section of a question, with its charts, from its figures."""
    results, question = folder / "results", asked_by(name)
    answer = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
    figures = answer["figures"]
    for file, png in question.draw(figures).items():
        (results / file).write_bytes(png)
    warning = ["**A smoke run: these numbers mean nothing.**"] if answer["quick"] else []
    load = f"Processes that were waiting for the machine before it began: {answer['load_before']:.1f} (load average)."
    parts = [f"## {heading(name)}", *warning, squeeze(question.answer(figures)), f"    {answer['command']}", load]
    (results / f"{name}.md").write_text("\n\n".join([*parts, question.tell(figures)]) + "\n", encoding="utf-8")


def asked_by(name: str) -> Question:
    """The question that a section answers: "peers-public-data" is one of "peers"."""
    found: Question = import_module(f"benchmarks.{name.partition('-')[0]}").QUESTION
    return found


def heading(name: str) -> str:
    """Its title, and what tells it from other sections of the same question."""
    variant = name.partition("-")[2].replace("-", " ")
    return f"{asked_by(name).title} ({variant})" if variant else asked_by(name).title


def readme(folder: Path) -> None:
    """One page of all sections that are there."""
    names = sections(folder)
    answers = {name: json.loads((folder / "results" / f"{name}.json").read_text(encoding="utf-8")) for name in names}
    told = [(folder / "results" / f"{name}.md").read_text(encoding="utf-8").strip() for name in names]
    short = [f"**{heading(name)}** {asked_by(name).answer(answers[name]['figures'])}" for name in names]
    page = [OPENING, "## In short", bullets(short), "## The machine", *machines(answers), *map(_from_above, told)]
    (folder / "README.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


OPENING = """# Benchmarks

Made by `make bench` (`python -m benchmarks`), one question a file; each section stands under the command that made it.
CPU-seconds are those of all threads of a process. What is compared was measured in one run, in turns, so that a slow
minute of the machine falls on all alike. Figures are medians, or ratios of what was measured together, unless a line
says otherwise. The numbers behind the tables are in `results/*.json`; the texts and their gold keyphrases, written
for this purpose by a language model, in `texts/`: they tell cost, and of quality little."""


def sections(folder: Path) -> list[str]:
    """The answers that are there, in the order of the questions."""
    there = sorted(path.stem for path in (folder / "results").glob("*.json"))
    return [name for question in QUESTIONS for name in there if name.partition("-")[0] == question]


def machines(answers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What was measured where: once, where all sections come from one machine with the same versions."""
    where: dict[str, list[str]] = {}
    for name, answer in answers.items():
        where.setdefault(bullets(described(answer["machine"])), []).append(name)
    return [text if len(where) == 1 else f"{', '.join(names)}:\n\n{text}" for text, names in where.items()]


def _from_above(section: str) -> str:
    """A section's charts as seen from the folder above."""
    return re.sub(r"(!\[[^]]*\]\()", r"\1results/", section)
