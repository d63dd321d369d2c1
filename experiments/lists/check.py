"""How lists read: ten phrases of each text by several methods, held against subjects written down before.

    python -m experiments.lists.check mudyplus mudy embedrank yake                     # methods of this project
    python -m experiments.lists.check mudyplus keybert-package yake-package --page experiments/lists/README.md

`keybert-package` and `yake-package` are the packages of these names (benchmarks/requirements.txt), KeyBERT with n-grams
of up to three words. The texts are our own; judge and writer were one person, who saw no list before.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from experiments.lists.readability import JudgedText, Readability, readability
from mudy import Extractor

HERE = Path(__file__).parent
TOP = 10
SHOWN = 5  # texts whose lists stand side by side on the page
Lists = Callable[[str], list[str]]


def keybert_package() -> Lists:
    """KeyBERT with phrases of one to three words, on the same sentence encoder as ours."""
    from keybert import KeyBERT
    from sentence_transformers import SentenceTransformer

    from mudy.models import locate

    model = KeyBERT(SentenceTransformer(str(locate("minilm-l6"))))
    return lambda text: [phrase for phrase, _ in model.extract_keywords(text, keyphrase_ngram_range=(1, 3), top_n=TOP)]


def yake_package() -> Lists:
    """YAKE's reference package with its defaults."""
    from yake import KeywordExtractor

    model = KeywordExtractor(top=TOP)
    return lambda text: [phrase for phrase, _ in model.extract_keywords(text)]


PACKAGES = {"keybert-package": keybert_package, "yake-package": yake_package}


def ours(name: str) -> Lists:
    """A method of this project with its defaults; `mudyplus:quick` names a speed."""
    method, _, speed = name.partition(":")
    extractor = Extractor(method=method, **({"speed": speed} if speed else {}))
    return lambda text: [keyphrase.text for keyphrase in extractor.extract(text, top_n=TOP)]


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def row(name: str, total: Readability) -> str:
    cells = (
        f"{total.main_covered} of {total.main_subjects}",
        f"{total.covered} of {total.subjects}",
        share(total.generic, total.phrases),
        share(total.not_subjects, total.phrases),
        share(total.overlapping, total.pairs),
        share(total.repeated_tokens, total.tokens),
    )
    return f"| {name} | {' | '.join(cells)} |"


def table(totals: dict[str, Readability]) -> Iterator[str]:
    yield "| method | main subjects | subjects | generic % | not subjects % | overlapping pairs % | repeated tokens % |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    yield from (row(name, total) for name, total in totals.items())


def side_by_side(judged: JudgedText, lists: dict[str, list[str]]) -> Iterator[str]:
    yield f"\n### {judged.id}\n\nSubjects: {', '.join(subject.name for subject in judged.subjects)}.\n"
    yield f"| {' | '.join(lists)} |"
    yield "|" + "---|" * len(lists)
    for place in range(TOP):
        yield f"| {' | '.join(phrases[place] if place < len(phrases) else '' for phrases in lists.values())} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="+", metavar="METHOD[:SPEED]")
    parser.add_argument("--page", type=Path, help="write the table and some lists side by side to this Markdown file")
    parser.add_argument("--all", action="store_true", help="print the lists of every text")
    arguments = parser.parse_args()
    texts = JudgedText.load(HERE / "subjects.jsonl")
    lists = {}
    for name in arguments.methods:
        extract = PACKAGES[name]() if name in PACKAGES else ours(name)
        lists[name] = {text.id: extract((HERE / "texts" / f"{text.id}.txt").read_text()) for text in texts}
    totals = {
        name: sum((readability(found[text.id], text) for text in texts), Readability()) for name, found in lists.items()
    }
    shown = texts if arguments.all else texts[:: max(1, len(texts) // SHOWN)][:SHOWN]
    pages = [line for text in shown for line in side_by_side(text, {name: lists[name][text.id] for name in lists})]
    output = "\n".join([*table(totals), *pages]) + "\n"
    print(output)
    if arguments.page:
        command = f"python -m experiments.lists.check {' '.join(arguments.methods)} --page {arguments.page}"
        head = f"# Lists side by side\n\nThirty texts of our own, ten phrases each (`{command}`).\n"
        about = (
            "Subjects were written down before any list was seen, by the person who wrote the texts. *Main subjects* "
            "are the first five of a text; a phrase covers a subject if it has the stems of one of its names. A pair "
            "overlaps if one phrase is made of words of the other. `yake-package` is YAKE as it comes, "
            "`keybert-package` KeyBERT with n-grams of up to three words.\n"
        )
        arguments.page.write_text("\n".join([head, about, output]), encoding="utf-8")


if __name__ == "__main__":
    main()
