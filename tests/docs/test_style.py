"""Facts about the pages' English: they are short, their sentences too, and the worst habits of style stay out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.doc_blocks import ROOT

WORDS = 900  # of a page, as `wc -w` counts
SENTENCE = 40  # words at most
GENERATED = {"leaderboard.md", "changes.md"}  # their tables and entries grow
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in GENERATED]
HABITS = [
    r"(can ?not|not to) be had",
    r"goes? on from (here|there)",
    r"\b(begin|made|make) anew\b",
    r"speaks? for a phrase",
    r"was said where",
    r"in any company",
    r"a document at a time",
    r"\brows? a (keyphrase|document|text)\b",
    r"\bstands? in the text\b",
]
ASIDE = re.compile(r"^```.*?^```$|^(?:[|#]| {4}|:::)[^\n]*$|<!--.*?-->", re.MULTILINE | re.DOTALL)


def sentences(text: str) -> list[str]:
    """The sentences of a page, without code, tables and headings; an item of a list is a paragraph of its own."""
    plain = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", ASIDE.sub("", text))
    plain = re.sub(r"`[^`]*`|\([^()]*\)", "_", plain)  # code counts as one word, an aside in parentheses too
    paragraphs = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", plain, flags=re.MULTILINE)
    return [sentence for text in paragraphs for sentence in re.split(r"(?<=[.?!:;])\s", " ".join(text.split()))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_short_and_in_plain_english(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) <= WORDS
    assert [sentence for sentence in sentences(text) if len(sentence.split()) > SENTENCE] == []
    assert [found[0] for habit in HABITS for found in re.finditer(habit, text, re.IGNORECASE)] == []


def test_a_long_sentence_is_seen_in_prose_and_not_in_code() -> None:
    long = "word " * 60
    assert max(len(sentence.split()) for sentence in sentences(f"# T\n\n{long}\n")) == 60
    assert max(len(sentence.split()) for sentence in sentences(f"```sh\n{long}\n```\n\nShort `{long}`.\n")) == 2
