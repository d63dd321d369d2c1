"""Work can be stopped: it asks often, leaves nothing behind, and no step in between grows with its input."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mudy import Extractor
from mudy._support import callbacks
from mudy.extraction.explanation import gold_places
from mudy.methods import METHODS, model_fields
from mudy.reading.candidates import candidates, given
from mudy.reading.document import Document, Span
from mudy.reading.tagging import Token, _openings
from tests import small
from tests.explained import saved
from tests.taggers import english

WITHOUT_MODEL = [name for name in METHODS if not model_fields(name)]
MANY_STEPS = 300_000  # calls of functions: what it takes to tag one piece of a text, a third of a second or so


class Stopped(Exception):
    """What a callback raises."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {family: saved(tmp_path_factory.mktemp(family), family) for family in ("llama", "t5", "bert")}


def extractor(models: dict[str, Path], family: str, method: str) -> Extractor:
    own: dict[str, Any] = {"mixture": False, "sam_layers": (1,), "k_attn": 3} if method == "mudy" else {}
    return Extractor(
        method, str(models[family]), encoder=str(models["bert"]), language=english(), batch_tokens=64, **own
    )


@contextmanager
def steps_between_checks() -> Iterator[list[int]]:
    """How many functions were called before each check, and after the last one."""
    steps = [0]

    def count(frame: object, event: str, arg: object) -> None:  # noqa: ARG001
        if event in ("call", "c_call"):
            steps[-1] += 1

    with callbacks.checked_by(lambda: steps.append(0)):
        sys.setprofile(count)
        try:
            yield steps
        finally:
            sys.setprofile(None)


# -- Stopping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "method"),
    [
        *(("llama", method) for method in METHODS if "chat" not in model_fields(method)),
        *(("t5", method) for method in ("mudy", "promptrank", "samrank")),
    ],
)
def test_work_ends_where_a_check_raises_and_leaves_nothing_behind(
    models: dict[str, Path], family: str, method: str
) -> None:
    seen, most = 0, 10**9

    def callback() -> None:
        nonlocal seen
        seen += 1
        if seen > most:
            raise Stopped

    made = extractor(models, family, method)
    expected = made.extract(small.TEXT, None)
    with callbacks.checked_by(callback):
        assert made.extract(small.TEXT, None) == expected
        checks, seen = seen, 0
        for allowed in {0, checks // 2, checks - 1}:
            seen, most = 0, allowed
            with pytest.raises(Stopped):
                made.extract(small.TEXT, None)
            assert seen == allowed + 1  # nothing was computed after it
    assert made.extract(small.TEXT, None) == expected
    assert seen <= checks  # whoever has left is not asked any more


def test_each_caller_is_asked_for_its_own_work_alone() -> None:
    asked: list[str] = []
    with callbacks.checked_by(lambda: asked.append("outer")):
        with callbacks.checked_by(lambda: asked.append("inner")):
            callbacks.check()
        callbacks.check()
    callbacks.check()
    assert asked == ["inner", "outer"]


# -- How often it is asked --------------------------------------------------------------------------------------------


def paragraphs(count: int) -> str:
    """Prose in which most phrases are new."""
    return "\n\n".join(
        f"River number{i} freezes in winter{i}. The ice road{i} closes, and ferry boat{i} crosses."
        for i in range(count)
    )


@pytest.fixture(scope="module")
def long_document() -> Document:
    return english().document(paragraphs(1500))


def test_reading_a_long_text_is_checked_often() -> None:
    english().document("A river.")
    with steps_between_checks() as steps:
        english().document(paragraphs(1500))
    assert max(steps) < MANY_STEPS


@pytest.mark.parametrize(
    ("method", "diversity"),
    [
        *((method, 0.0) for method in WITHOUT_MODEL),
        ("yake", 0.5),  # one code for all
        pytest.param("multipartiterank", 0.5, marks=pytest.mark.slow),
    ],
)
def test_a_long_text_is_checked_often(method: str, diversity: float, long_document: Document) -> None:
    made = Extractor(method, language=english())
    made.extract(long_document.text[:100])
    with steps_between_checks() as steps:
        made.extract(long_document, None, diversity=diversity)
    assert max(steps) < MANY_STEPS


@pytest.mark.parametrize("text", ["RIVER, " * 3000, "( " * 3000, "A RIVER. " * 2000, "a river\n" * 2000])
def test_no_part_of_a_text_is_read_again_and_again(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in characters that are cut out of the text, which no profile of calls would show."""
    cut, plain = 0, Span.of

    def counting(span: Span, whole: str) -> str:
        nonlocal cut
        cut += span.end - span.start
        return plain(span, whole)

    document = english().document(text)
    monkeypatch.setattr(Span, "of", counting)
    candidates(document)
    assert cut < 10 * len(text)


def test_a_run_of_opening_marks_is_walked_once() -> None:
    tokens = [Token(2 * i, 2 * i + 1, "-LRB-", True) for i in range(2000)]
    with steps_between_checks() as steps:
        assert list(_openings("( " * 2000, tokens)) == [0] * 2000
    assert sum(steps) < 20 * len(tokens)


def nested(count: int) -> list[str]:
    """Phrases that begin alike and never occur in the text."""
    return ["a " * length + "b" for length in range(1, count)]


LOOKUPS: dict[str, Callable[[Document, list[str]], object]] = {"candidates": given, "gold": gold_places}


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_looking_up_phrases_is_linear_in_the_text_and_the_phrases(lookup: str) -> None:
    text, phrases = "a " * 20_000, nested(100)
    document = english().document(text) if lookup == "gold" else Document(text, (Span(0, len(text)),), ())
    with steps_between_checks() as steps:
        LOOKUPS[lookup](document, phrases)
    assert sum(steps) < 40 * (len(text) + sum(map(len, phrases)))
    assert max(steps) < MANY_STEPS


def test_counting_phrases_for_yake_is_linear_in_the_text_and_the_phrases() -> None:
    text = "aa " * 5_000 + ". " + " . ".join("aa " * length for length in range(1, 100))
    made = Extractor("yake", language=english())
    document = english().document(text)
    made.extract("A river.")
    with steps_between_checks() as steps:
        made.extract(document, None, candidates=["aa " * length + "." for length in range(1, 100)])
    assert sum(steps) < 100 * len(text)
    assert max(steps) < MANY_STEPS
