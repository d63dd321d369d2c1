"""Write docs/llms.txt, the site's pages for assistants: `python -m tools.llms` in the root.

Every page of the nav in mkdocs.yml with its title and its first sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SNIPPET = re.compile(r'^--8<-- "([^":]+)"$', re.MULTILINE)
PARAGRAPH = re.compile(r"^# .+\n\n((?:[^\n]+\n)+)", re.MULTILINE)
SENTENCE = re.compile(r"(.+?[.:])(?:\s|$)")


def config() -> dict[str, Any]:
    """mkdocs.yml; tags of other programs are left as texts."""
    loaded = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The sections of the nav, each with the titles and files of its pages."""
    for entry in config()["nav"]:
        ((title, pages),) = entry.items()
        if isinstance(pages, str):
            yield "Overview", [(title, pages)]
        else:
            yield title, [next(iter(page.items())) for page in pages]


def first_sentence(page: str) -> str:
    """What a page is about: the first sentence below its title."""
    text = (DOCS / page).read_text(encoding="utf-8")
    text = SNIPPET.sub(lambda match: (ROOT / match[1]).read_text(encoding="utf-8"), text)
    paragraph = PARAGRAPH.search(text)
    assert paragraph is not None, f"docs/{page} has no paragraph below its title"
    words = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", " ".join(paragraph[1].split()))
    sentence = SENTENCE.match(words)
    return (sentence[1] if sentence else words).rstrip(":")


def llms() -> str:
    """The text of llms.txt."""
    lines = [f"# {config()['site_name']}", "", f"> {config()['site_description']}"]
    for title, pages in sections():
        lines += ["", f"## {title}", ""]
        lines += [f"- [{name}]({Path(page).with_suffix('.html')}): {first_sentence(page)}" for name, page in pages]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (DOCS / "llms.txt").write_text(llms(), encoding="utf-8")
