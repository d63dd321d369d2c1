"""Models from a folder, by the family their configuration names."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from mudy import Extractor, ModelUnavailable
from mudy.engines import Compute
from mudy.engines.torch import Machine
from mudy.engines.torch.transformer import Seq2SeqBackbone
from mudy.methods.mudy import Mudy
from mudy.reading.candidates import candidates
from tests import small
from tests.taggers import english


@pytest.mark.parametrize("family", ["t5", "gemma2"])
def test_a_local_folder_is_a_model(family: str, tmp_path: Path) -> None:
    backbone = small.t5() if family == "t5" else small.decoder(family)
    backbone.model.save_pretrained(tmp_path)
    backbone.tokenizer.save_pretrained(tmp_path)
    own: dict[str, Any] = {} if family == "t5" else {"mixture": False}
    made = Extractor("mudy", model=str(tmp_path), language=english(), sam_layers=(1,), **own)
    result = made.extract(small.TEXT, 3)
    assert (made.scorer.backbone.sink_token is None) == (family == "t5")  # type: ignore[attr-defined]
    expected = Mudy(backbone, sam_layers=(1,), **own).score(made.read(small.TEXT), candidates(made.read(small.TEXT)))
    assert result.keyphrases[0].score == pytest.approx(max(s.score for s in expected), abs=1e-4)


def test_a_random_model_of_t5_bases_size_runs_the_whole_path() -> None:
    torch.manual_seed(0)
    base = transformers.T5Config(
        vocab_size=32128,
        d_model=768,
        d_kv=64,
        d_ff=3072,
        num_layers=12,
        num_heads=12,
        n_positions=512,
        decoder_start_token_id=0,
    )
    with torch.device("meta"):
        empty = transformers.T5ForConditionalGeneration(base)
    model = empty.to_empty(device="cpu")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.05, 0.05)
    backbone = Seq2SeqBackbone(model, small.tokenizer("t5"), Machine.of(Compute("cpu", threads=2)), "random-t5-base")
    method = Mudy(backbone, **Mudy.presets["t5-duc2001"])
    assert method.layers == (9,)
    document = english().document(small.TEXT)
    found = candidates(document)
    scored = method.score(document, found)
    assert len(scored) == sum(len(c.occurrences) for c in found)
    assert all(s.score < 0 and s.parts["G"] > 0 for s in scored)


def test_a_folder_with_a_broken_model_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        Extractor("mudy", model=str(tmp_path), language=english()).extract(small.TEXT)
