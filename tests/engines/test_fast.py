"""Memory and work: documents are shared by their prompts, and batches bound what is held at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from mudy import Extractor, SettingError
from mudy.engines.interfaces import Question, TextRange
from mudy.engines.torch import Machine, transformer
from mudy.engines.torch.transformer import CausalBackbone
from mudy.methods.mudy import Mudy
from mudy.reading.candidates import Candidate, candidates
from mudy.reading.document import Document, Span
from tests import small
from tests.taggers import english

SHARP: dict[str, Any] = {"unit": 6.0, "sam_layers": (1,), "k_attn": 3, "mixture": False}


def read() -> tuple[Document, list[Candidate]]:
    document = english().document(small.TEXT)
    return document, candidates(document)


def scores(family: str, **settings: Any) -> list[dict[str, float]]:
    document, found = read()
    made = Mudy(small.decoder(family), **{**SHARP, **settings}).score(document, found)
    return [{"score": score.score, **score.parts} for score in made]


# --- Memory ------------------------------------------------------------------------------------------------------


class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every tensor that is made, in bytes of its own memory."""

    def __init__(self, seen: Callable[[Tensor, int], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(tensor, Tensor):
                self.seen(tensor, tensor.untyped_storage().nbytes())
        return made


@contextmanager
def watching(seen: Callable[[Tensor, int], None]) -> Iterator[None]:
    """Outside of inference mode, where torch would not say."""
    before = Machine.at_work

    @contextmanager
    def at_work(self: Machine) -> Iterator[None]:  # noqa: ARG001
        with torch.no_grad():
            yield

    Machine.at_work = at_work  # type: ignore[method-assign]
    try:
        with Watch(seen):
            yield
    finally:
        Machine.at_work = before  # type: ignore[method-assign]


def asked(family: str, phrases: int, batch_tokens: int = 64) -> tuple[CausalBackbone, Question]:
    backbone = small.decoder(family, batch_tokens)
    text = " ".join([small.TEXT] * 8)
    (encoding,) = backbone.encode([TextRange(text, Span(0, len(text)))])
    return backbone, Question(encoding, [f"ice road {number}" for number in range(phrases)])


def copies(family: str) -> list[int]:
    """Sizes of tensors with the document's keys in them, in units of one copy of all key heads."""
    backbone, question = asked(family, 40)
    keys = question.encoding.cache.layers[1].keys[0]
    found = []

    def seen(tensor: Tensor, size: int) -> None:
        if {keys.shape[1], keys.shape[2]} <= set(tensor.shape[-2:]):
            found.append(size // keys.untyped_storage().nbytes())

    with watching(seen):
        backbone.log_likelihood([question])
    return found


@pytest.mark.parametrize("family", small.DECODERS)
def test_the_documents_keys_are_copied_for_no_candidate(family: str) -> None:
    assert max(copies(family), default=0) <= 1


def test_a_copy_for_each_candidate_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    einsum = torch.einsum

    def wasteful(equation: str, first: Tensor, second: Tensor) -> Tensor:
        if equation == "pkgrw,ktw->pkgrt":
            equation, second = "pkgrw,pktw->pkgrt", second.expand(len(first), *second.shape).contiguous()
        return einsum(equation, first, second)

    monkeypatch.setattr(torch, "einsum", wasteful)
    assert max(copies("llama")) > 1


@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_memory_grows_with_the_batch_and_not_with_the_candidates(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformer, "STATES", 16)  # a block of logits is large beside so small a model

    def largest(phrases: int, batch_tokens: int = 64) -> int:
        backbone, question = asked(family, phrases, batch_tokens)
        sizes: list[int] = []
        with watching(lambda _, size: sizes.append(size)):
            backbone.log_likelihood([question])
        return max(sizes)

    few, many = largest(30), largest(300)
    assert many <= 1.05 * few
    assert largest(300, 1024) > 2 * many  # so it is the budget that holds it down


# --- Less work ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_phrases_that_lead_are_weighted_and_others_are_not(family: str) -> None:
    weighted, plain = scores(family), scores(family, weighting=False)
    assert scores(family, leaders=99) == [pytest.approx({**each, "weighted": 1}, abs=1e-4) for each in weighted]
    some = scores(family, leaders=2)
    kinds = [
        (each["p"] == pytest.approx(a["p"], abs=1e-4), each["p"] == pytest.approx(b["p"], abs=1e-4))
        for each, a, b in zip(some, weighted, plain, strict=True)
    ]
    assert all(any(kind) for kind in kinds)
    assert all(kind[0] if each["weighted"] else kind[1] for each, kind in zip(some, kinds, strict=True))
    assert sum(as_weighted and not as_plain for as_weighted, as_plain in kinds) >= 2
    assert sum(as_plain and not as_weighted for as_weighted, as_plain in kinds) >= 2
    best = {round(each["score"], 6) for each in plain}
    leading = [each["score"] for each, (as_weighted, _) in zip(plain, kinds, strict=True) if as_weighted]
    assert round(max(leading), 6) == max(best)


@pytest.mark.parametrize("family", [*small.DECODERS, "t5"])
def test_attention_can_be_observed_while_the_text_is_read(family: str) -> None:
    document, found = read()
    backbone = small.t5() if family == "t5" else small.decoder(family)
    mudy = Mudy(backbone, **{**SHARP, "one_reading": True, "attention": "G"})
    calls: list[Sequence[TextRange]] = []
    alone = backbone.received_attention
    try:
        backbone.received_attention = lambda ranges, layers: calls.append(ranges) or alone(ranges, layers)  # type: ignore[method-assign, func-returns-value]
        once = mudy.score(document, found)
        assert not calls
        twice = replace(mudy, one_reading=False).score(document, found)
        assert calls
    finally:
        del backbone.received_attention
    for a, b in zip(once, twice, strict=True):
        assert a.parts["p"] == pytest.approx(b.parts["p"], abs=1e-5)
        assert a.parts["G"] > 0
    (encoding,) = backbone.encode([TextRange(document.text, Span(0, len(document.text)))], (1,))
    assert encoding.received is not None
    assert len(encoding.received.sums) == len(encoding.tokens)
    assert float(encoding.received.sums.sum()) == pytest.approx(len(encoding.tokens), rel=1e-4)


def test_fast_sets_what_the_caller_does_not() -> None:
    made = Extractor("mudy", speed="fast", leaders=3, language=english())
    made.loader.in_memory["backbone"] = small.decoder("gemma3")
    scorer: Any = made.scorer
    assert (scorer.leaders, scorer.one_reading) == (3, True)
    with pytest.raises(SettingError, match="fast"):
        Extractor("mudy", speed="quick")
