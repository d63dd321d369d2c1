"""Explanations written by hand and made by small models: for pictures, pages and reports."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mudy.extraction.explanation import Explained, Explanation, Gold
from mudy.extraction.results import Coverage, Keyphrase, Result, ScoredOccurrence
from mudy.reading.document import Span
from tests import small

Scores = Mapping[str, float | Sequence[float]]  # of phrases; of each of their places, in the order of the text

# All that wants to be more than text: markup, comments, a turn of the writing direction, characters beyond 16 bits.
HOSTILE = (
    "Radar 😀 maps <script>alert(1)</script> and ice roads.\n"
    '"><img src=x onerror=alert(1)> is no ice road, and </script> ends no radar map.\n\n'
    "<!-- nor does \u202ea comment\u202c hide the ferry crew. \u2067Ice\u2069 & radar &amp; 👩‍👩‍👧 crews\r\n\tmeet."
)


def occurrences(text: str, phrase: str) -> list[Span]:
    spans, start = [], text.find(phrase)
    while start >= 0:
        spans.append(Span(start, start + len(phrase)))
        start = text.find(phrase, start + 1)
    return spans


def result(text: str, scores: Scores, method: str = "mudy", model: str | None = "small", **options: Any) -> Result:
    """What a method would say that gave these scores."""
    found = []
    for phrase, given in scores.items():
        spans = occurrences(text, phrase)
        each = [given] * len(spans) if isinstance(given, (int, float)) else list(given)
        places = [ScoredOccurrence(s.start, s.end, v, {"p": 2 * v, "G": 1.5}) for s, v in zip(spans, each, strict=True)]
        found.append((phrase, sorted(places, key=lambda place: -place.score)))
    found.sort(key=lambda pair: -pair[1][0].score)
    phrases = tuple(
        Keyphrase(rank, phrase, places[0].score, (), tuple(places)) for rank, (phrase, places) in enumerate(found, 1)
    )
    return Result(text, phrases, Coverage(len(text.split()), len(text.split()), 1), method, model, **options)


def explanation(
    text: str, *methods: Scores, names: Sequence[str] = ("mudy", "promptrank"), gold: Sequence[str] = (), **options: Any
) -> Explanation:
    made = [Explained(result(text, scores, name), {}, (), 0.5) for name, scores in zip(names, methods, strict=False)]
    right = tuple(Gold(phrase, tuple(occurrences(text, phrase))) for phrase in gold)
    return Explanation(text, tuple(made), right, **options)


def hostile(**options: Any) -> Explanation:
    """A text that attacks, with phrases in the middle of its markup."""
    first: Scores = {
        "ice road": (-1.0, -2.5),
        "script": -2.0,
        "<!-- nor": -3.0,
        "onerror=alert(1)": -4.0,
        "😀 maps": -1.5,
    }
    second: Scores = {"ice road": (-3.0, -2.0), "script": -1.0, "Ice\u2069 & radar": -0.5, "👩‍👩‍👧 crews": -6.0}
    return explanation(HOSTILE, first, second, gold=("ice roads", "</script>", "<b>absent</b>"), **options)


def saved(folder: Path, family: str) -> Path:
    """A small random model as a folder to be loaded by its path."""
    made: Any = {"t5": small.t5, "bert": small.bert}.get(family, lambda: small.decoder(family))()
    made.model.save_pretrained(folder)
    made.tokenizer.save_pretrained(folder)
    return folder
