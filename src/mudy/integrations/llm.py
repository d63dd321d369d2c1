"""A tool for Simon Willison's `llm`, found by its entry point: `llm -T extract_keyphrases "..."`."""

from collections.abc import Callable
from typing import Any

import llm

from mudy.integrations.extraction import results_of


@llm.hookimpl  # type: ignore[untyped-decorator]
def register_tools(register: Callable[..., Any]) -> None:
    register(extract_keyphrases)


def extract_keyphrases(text: str, top_n: int = 10) -> list[dict[str, Any]]:
    """The keyphrases of a text, best first, each with its score and character offsets (start, end)."""
    (result,) = results_of([text], {"top_n": top_n})
    return [
        {"text": k.text, "score": round(k.score, 4), "start": best.start, "end": best.end}
        for k in result
        for best in k.occurrences[:1]
    ]
