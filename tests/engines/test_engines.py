"""Which engine computes a model, and what is said where torch is needed but not installed."""

import importlib.util
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from mudy import Extractor, engines
from mudy.engines import Compute, may_have_gpu
from mudy.engines.light.backbone import LightDecoder
from mudy.engines.torch.transformer import CausalBackbone
from mudy.errors import MissingExtra, UnsupportedModel
from tests import small
from tests.engines.light import saved

BARE = """
import sys
from importlib.machinery import PathFinder

class Base(PathFinder):
    \"\"\"As if only the base install were here.\"\"\"

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        more = ("torch", "transformers", "huggingface_hub", "safetensors", "scipy")
        return None if name.partition(".")[0] in more else super().find_spec(name, path, target)

sys.meta_path = [Base if finder is PathFinder else finder for finder in sys.meta_path]
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {kind: saved.decoder_folder(tmp_path_factory.mktemp(kind), kind) for kind in ("gemma3", "qwen3")}
    t5 = saved.save(tmp_path_factory.mktemp("t5"), small.t5().model, small.tokenizer("t5"))
    return {**made, "t5": t5, "bert": saved.encoder_folder(tmp_path_factory.mktemp("bert"))}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("real") is None:
        monkeypatch.setenv("MUDY_HOME", str(tmp_path / "home"))


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> Any:
        return None if name in ("torch", "transformers") else importlib.util.find_spec(name)

    monkeypatch.setattr(engines, "find_spec", find_spec)


def test_a_model_that_the_light_engine_knows_is_computed_by_it(folders: dict[str, Path]) -> None:
    for compute in (Compute(), Compute("cpu"), Compute(dtype="float32"), Compute(speed="fast")):
        assert isinstance(engines.load_backbone(str(folders["gemma3"]), compute, "small"), LightDecoder)


@pytest.mark.parametrize(("kind", "compute"), [("qwen3", Compute()), ("gemma3", Compute(dtype="bfloat16"))])
def test_the_rest_is_computed_by_torch(folders: dict[str, Path], kind: str, compute: Compute) -> None:
    assert isinstance(engines.load_backbone(str(folders[kind]), compute, "small"), CausalBackbone)


@pytest.mark.usefixtures("no_torch")
def test_without_torch_the_same_engine_is_chosen(folders: dict[str, Path]) -> None:
    assert isinstance(engines.load_backbone(str(folders["gemma3"]), Compute(), "small"), LightDecoder)
    assert engines.load_encoder(str(folders["bert"]), Compute(), "small").width == 32


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize(
    ("kind", "compute", "seen"),
    [
        ("t5", Compute(), r"small \(of the family 't5'\) needs torch"),
        ("qwen3", Compute(), "'qwen3'"),
        ("gemma3", Compute("cuda"), "device='cuda' needs"),
        ("gemma3", Compute(dtype="float16"), "dtype='float16' needs"),
    ],
)
def test_what_needs_torch_says_so_in_one_sentence(
    folders: dict[str, Path], kind: str, compute: Compute, seen: str
) -> None:
    with pytest.raises(MissingExtra, match=rf'{seen}.*pip install "torch>=\S+ "transformers\S+"$'):
        engines.load_backbone(str(folders[kind]), compute, "small")


@pytest.mark.usefixtures("no_torch")
def test_a_model_that_writes_needs_torch(folders: dict[str, Path]) -> None:
    with pytest.raises(MissingExtra, match=r'a model that writes needs torch.*pip install "torch'):
        engines.load_chat(str(folders["gemma3"]), Compute(), "small")


@pytest.mark.usefixtures("no_torch")
def test_a_family_that_nobody_reads_is_not_blamed_on_torch(folders: dict[str, Path]) -> None:
    with pytest.raises(UnsupportedModel, match="'bert'; a language model"):
        engines.load_backbone(str(folders["bert"]), Compute(), "small")


def test_a_gpu_is_taken_by_torch_where_it_is_installed(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mudy.engines.may_have_gpu", lambda: True)
    monkeypatch.setattr("mudy.engines.torch.best_device", lambda: "cuda")
    assert not engines.computes_lightly(str(folders["gemma3"]), Compute())
    assert engines.computes_lightly(str(folders["gemma3"]), Compute("cpu"))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /dev")
def test_a_gpu_is_seen_by_its_device_file(tmp_path: Path) -> None:
    (tmp_path / "nvidiactl").touch()
    assert not may_have_gpu(tmp_path)
    (tmp_path / "nvidia0").touch()
    assert may_have_gpu(tmp_path)


def told(script: str, *arguments: str) -> Any:
    """What a process without torch prints as JSON."""
    code = BARE + textwrap.dedent(script)
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


EXTRACT = """
import json
from mudy import Extractor
from mudy.methods import METHODS
text, model, encoder = sys.argv[1:]
found = {}
for method in METHODS:
    if method != "empirical":
        given = {"model": model, "encoder": encoder, "threads": 1}
        found[method] = Extractor(method, **given).extract(text).as_tuples()
print(json.dumps(found))
"""


@pytest.mark.slow
def test_every_method_that_writes_no_phrases_ranks_the_same_without_torch(folders: dict[str, Path]) -> None:
    model, encoder = str(folders["gemma3"]), str(folders["bert"])
    without = told(EXTRACT, small.TEXT, model, encoder)
    assert len(without) > 10
    for method, found in without.items():
        here = Extractor(method, model, encoder=encoder, threads=1).extract(small.TEXT).as_tuples()
        assert found == [[phrase, pytest.approx(score, rel=1e-6)] for phrase, score in here], method
