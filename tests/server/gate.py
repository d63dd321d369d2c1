"""Jobs and extractors for tests of the queue: one extractor waits at a gate, the other has a small model."""

import asyncio
import json
from collections.abc import Callable
from threading import Event
from typing import Any, cast

from starlette.types import Message

from mudy import Extractor, InputError
from mudy._support.callbacks import check
from mudy.engines import Compute
from mudy.engines.torch import Machine
from mudy.engines.torch.transformer import Seq2SeqBackbone
from mudy.extraction.options import Options
from mudy.extraction.outcomes import BATCH_WORDS, Item
from mudy.extraction.ranking import PreparedText
from mudy.extraction.results import Coverage, Result
from mudy.reading.document import Document
from mudy.server.queue import LANE_WORDS, ExtractionJob, QueuedText, RequestQueue
from mudy.server.scorer import ExtractorKey, LocalScorer
from tests import small
from tests.served import PATIENCE
from tests.taggers import english

SHORT = small.TEXT
MEDIUM = " ".join([small.TEXT] * (BATCH_WORDS // 30))
LONG = " ".join([small.TEXT] * (LANE_WORDS[-1] // 30))
MUDY, YAKE = ExtractorKey("mudy"), ExtractorKey("yake")


def job(*texts: str, key: ExtractorKey = MUDY, **given: Any) -> ExtractionJob:
    """A job whose answer names its texts as they were computed."""
    queued = [QueuedText(key, Item(i, text, Options(top_n=3)), f"texts.{i}") for i, text in enumerate(texts)]
    return ExtractionJob(queued, lambda done: "+".join(found.value.text for found in done.in_order).encode(), **given)


def local_scorers(load: Callable[[], Extractor]) -> Callable[[], list[LocalScorer]]:
    """What a queue loads: one scorer in this process, with the extractor that `load` makes."""
    return lambda: [LocalScorer(load())]


async def staying() -> Message:
    """Nothing more comes from a client that keeps its connection open."""
    await asyncio.Event().wait()
    raise AssertionError


def answer(of: ExtractionJob) -> str:
    return of.answer.result(PATIENCE).decode()


class Gate:
    """An extractor that computes nothing, records its batches, and waits at a gate like a slow model."""

    method = "mudy"
    scorer = object()
    loaded: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.open, self.at_work = Event(), Event()
        self.open.set()
        self.holds: Callable[[list[str]], bool] = lambda texts: True  # noqa: ARG005
        self.fails: Callable[[list[str]], BaseException | None] = lambda texts: None  # noqa: ARG005

    def load(self) -> Extractor:
        return cast(Extractor, self)

    def load_tagger(self) -> None:
        """There is none."""

    load_meanwhile = load_tagger

    def using(self, *_: Any, **__: Any) -> "Gate":
        return self

    def extract(self, text: str) -> None:
        """The warm-up."""

    def prepare(self, text: str | Document, _: Options) -> PreparedText:
        assert isinstance(text, str)
        if text.startswith("unreadable"):
            raise InputError("This text cannot be read.")
        return PreparedText(Document(text, (), ()))

    def finish(self, tasks: list[PreparedText]) -> list[Result]:
        texts = [task.document.text for task in tasks]
        self.batches.append(texts)
        self.at_work.set()
        while self.holds(texts) and not self.open.wait(0.005):
            check()
        if (error := self.fails(texts)) is not None:
            raise error
        return [Result(text, (), Coverage(1, 1, 1), "mudy", None) for text in texts]


def held(gate: Gate, queue: RequestQueue) -> ExtractionJob:
    """A job that is being computed and will be until the gate opens."""
    gate.open.clear()
    gate.at_work.clear()
    first = queue.admit(job("held"))
    assert gate.at_work.wait(PATIENCE)
    return first


def extractor() -> Extractor:
    """MUDY on a small random T5."""
    made = Extractor("mudy", "small", language=english())
    known = small.t5()
    made.loader.in_memory["backbone"] = Seq2SeqBackbone(
        known.model, known.tokenizer, Machine.of(Compute("cpu")), "small"
    )
    return made


def written(done: ExtractionJob) -> bytes:
    return json.dumps([found.value.to_dict() for found in done.in_order]).encode()


def asking(*texts: str, method: str = "mudy") -> ExtractionJob:
    key, options = ExtractorKey(method), Options(top_n=5)
    return ExtractionJob([QueuedText(key, Item(i, text, options)) for i, text in enumerate(texts)], written)
