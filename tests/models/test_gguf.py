"""Converted weights: equal to those of transformers' own loader, and of use."""

from pathlib import Path

import numpy as np
import pytest

from mudy import models
from mudy.models import gguf

# Conversion


@pytest.mark.parametrize("architecture", ["llama", "gemma3"])
def test_conversion_gives_the_weights_and_settings_that_transformers_own_loader_gives(
    architecture: str, tmp_path: Path
) -> None:
    pytest.importorskip("accelerate")
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    write_tiny_gguf(tmp_path / "tiny.gguf", architecture)
    (tmp_path / "ours").mkdir()
    gguf.convert(tmp_path / "tiny.gguf", tmp_path / "ours")
    ours = AutoModelForCausalLM.from_pretrained(tmp_path / "ours")
    theirs = AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file="tiny.gguf", dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    own, reference = ours.state_dict(), theirs.state_dict()
    assert own.keys() == reference.keys()
    assert all(torch.equal(own[name], reference[name]) for name in reference)
    names = {"_name_or_path", "_model_name_or_path", "quantization_config", "dtype", "architectures"}
    settings = [
        {k: v for k, v in m.config.to_dict().items() if k not in names and v is not None} for m in (ours, theirs)
    ]
    assert settings[0] == settings[1]


def write_tiny_gguf(path: Path, architecture: str) -> None:
    """A seeded model of six layers, half of its matrices quantised."""
    from gguf import GGMLQuantizationType, GGUFWriter
    from gguf.quants import quantize

    heads, size, inner, tokens = 4, 64, 96, ["t", "0", "t0", *(f"w{i}" for i in range(37))]
    head = 16 if architecture == "llama" else 256
    rng = np.random.default_rng(0)
    writer = GGUFWriter(path, architecture)
    writer.add_block_count(6)
    writer.add_context_length(128)
    writer.add_embedding_length(size)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(50_000.0)
    writer.add_vocab_size(len(tokens))
    if architecture == "llama":
        writer.add_rope_dimension_count(head)
    else:
        writer.add_key_length(head)
        writer.add_value_length(head)
        writer.add_sliding_window(16)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * 40)
    writer.add_token_merges(["t 0"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(3)
    matrices = {"attn_q": (heads * head, size), "attn_k": (2 * head, size), "attn_v": (2 * head, size)}
    matrices |= {"attn_output": (size, heads * head), "ffn_down": (size, inner)}
    matrices |= {"ffn_gate": (inner, size), "ffn_up": (inner, size)}
    norms = {"attn_norm": size, "ffn_norm": size}
    if architecture == "gemma3":
        norms |= {"attn_q_norm": head, "attn_k_norm": head, "post_attention_norm": size, "post_ffw_norm": size}
    kinds = [GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_1]
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (len(tokens), size), "output_norm.weight": (size,)}
    for layer in range(6):
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in matrices.items()}
        shapes |= {f"blk.{layer}.{name}.weight": (width,) for name, width in norms.items()}
    for number, (name, shape) in enumerate(shapes.items()):
        values = rng.normal(size=shape).astype(np.float32)
        if len(shape) == 2:
            kind = kinds[number % 2]
            writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.real
@pytest.mark.parametrize("name", ["smollm2-135m", "gemma3-270m"])
def test_a_converted_decoder_continues_a_sentence_sensibly(name: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = models.locate(name)
    reader = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        logits = model(**reader("The capital of France is", return_tensors="pt")).logits
    assert reader.decode(logits[0, -1].topk(3).indices).split(" ").count("Paris") == 1


@pytest.mark.real
def test_the_encoder_loads_and_puts_similar_sentences_near_each_other(pulled: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = pulled / "models" / "minilm-l6"
    reader, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    texts = ["A dog runs in the park.", "A puppy is running outside.", "Interest rates rose again."]
    with torch.no_grad():
        mean = [model(**reader(text, return_tensors="pt")).last_hidden_state[0].mean(0) for text in texts]
    near, far = (torch.cosine_similarity(mean[0], other, dim=0) for other in mean[1:])
    assert near > 0.5 > far
