"""Loading: a process that is not ours is left alone; in our own the collector rests meanwhile."""

import gc
import json
import subprocess
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from mudy import Extractor, ModelUnavailable, SettingError
from mudy._support.this_process import give_back, loading
from tests.taggers import english


class Ring:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process of our own, with a collector as Python starts with."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    monkeypatch.setattr("mudy._support.this_process._owned", True)
    yield
    gc.set_threshold(*before)


def test_nothing_is_collected_while_loading() -> None:
    with loading():
        ring = weakref.ref(Ring())
        kept = [[i] for i in range(100_000)]
        assert ring() is not None
        gc.enable()  # as spaCy's readers do
        kept += [[i] for i in range(100_000)]
        assert ring() is not None
    gc.collect()
    assert ring() is None
    assert kept


def test_what_was_loaded_is_old_and_does_not_set_off_a_collection() -> None:
    gc.collect()
    with loading():
        kept = [[i] for i in range(100_000)]
    assert gc.get_count()[0] < 700
    assert len(gc.get_objects(generation=0)) < 10_000
    assert kept


def test_an_error_leaves_the_collector_as_it_was() -> None:
    with pytest.raises(RuntimeError), loading():
        raise RuntimeError
    assert gc.get_threshold() == (700, 10, 10)
    with pytest.raises(SettingError):
        _ = Extractor("mudy", language="xx").tagger
    with pytest.raises(ModelUnavailable):
        _ = Extractor("mudy", model="./missing", language=english()).scorer
    assert gc.get_threshold() == (700, 10, 10)


def test_a_collector_at_rest_stays_at_rest() -> None:
    gc.set_threshold(0)
    with loading():
        pass
    assert gc.get_threshold()[0] == 0


def test_threads_that_load_at_once_leave_the_collector_as_it_was() -> None:
    together = Barrier(4)

    def load(_: int) -> None:
        together.wait()
        for _ in range(50):
            with loading():
                pass

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(load, range(4)))
    assert gc.get_threshold() == (700, 10, 10)


def test_memory_can_be_given_back_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    give_back()
    monkeypatch.setattr("sys.platform", "darwin")
    give_back()


HOST = """
import gc, json, os, sys, warnings
from pathlib import Path

def state():
    return [dict(os.environ), gc.get_threshold(), gc.get_freeze_count(), list(map(str, warnings.filters)),
            torch.get_num_threads(), list(map(str, sys.meta_path)), gc.isenabled()]

import spacy, torch, transformers
transformers.LlamaForCausalLM, transformers.PreTrainedTokenizerFast  # libraries change what they change by themselves
os.environ["MUDY_HOME"] = sys.argv[1]
before = state()
import mudy
from mudy import Extractor
from tests.engines.light import saved
from tests.taggers import english
folder = str(saved.decoder_folder(Path(sys.argv[1]) / "model", "llama"))
text = "River ice is thin. The ice road closes in early spring, and a radar map guides trucks over the ice."
for dtype in (None, "bfloat16"):  # the light engine, and torch
    made = Extractor("mudy", folder, language=english(), dtype=dtype, threads=2, mixture=False, sam_layers=(1,))
    assert made.extract(text).keyphrases
after = state()
names = ["environment", "thresholds", "frozen", "warnings", "torch threads", "imports", "collector"]
print(json.dumps([name for name, one, other in zip(names, before, after) if one != other]))
"""


def test_a_process_that_is_not_ours_is_left_as_it_was(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-c", HOST, str(tmp_path)], cwd=root, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == []
