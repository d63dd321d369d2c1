"""Small, random, seeded models and tokenisers, built in memory: for equations, never for quality."""

from functools import cache
from string import ascii_lowercase
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from mudy.engines import Compute
from mudy.engines.torch import Machine
from mudy.engines.torch.transformer import CausalBackbone, Seq2SeqBackbone, TorchEncoder

TEXT = (
    "River ice is thin. The ice road closes in early spring. A radar map guides trucks over the ice. Old maps fail. "
    "Then a ferry crosses, and its crew reads the radar map too."
)
POSITIONS = 128  # how many tokens the encoder reads at once
DECODERS = ("llama", "gemma2", "gemma3", "qwen2", "qwen3")


@cache
def tokenizer(kind: str) -> Any:
    """A byte-pair tokeniser trained on a few words: byte-level with BOS, or with SentencePiece's marks and an EOS."""
    inner = Tokenizer(models.BPE(unk_token="<unk>"))
    special = ["<pad>", "</s>", "<unk>", "<s>"]
    corpus = [TEXT, "Text: Answer: This text mainly talks about. Book: This book mainly talks about ."]
    if kind == "t5":
        inner.pre_tokenizer = pre_tokenizers.Metaspace()
        inner.decoder = decoders.Metaspace()
        inner.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
        alphabet = ["\u2581", *map(chr, range(33, 127))]
    else:
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.decoder = decoders.ByteLevel()
        inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 3)])
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def config(kind: str) -> Any:
    shape = {
        "vocab_size": 420,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 4096,
        "initializer_range": 0.2,  # strong enough that attention has opinions
        "pad_token_id": 0,
        "bos_token_id": 3,
        "eos_token_id": 1,
    }
    sliding = {"sliding_window": 24, "layer_types": ["sliding_attention", "full_attention"] * 2}
    if kind == "llama":
        return transformers.LlamaConfig(**shape)
    if kind == "gemma2":
        caps = {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 5.0, "query_pre_attn_scalar": 8}
        return transformers.Gemma2Config(**shape, **sliding, **caps)
    if kind == "gemma3":
        return transformers.Gemma3TextConfig(**shape, **sliding, query_pre_attn_scalar=8)
    if kind == "qwen2":
        return transformers.Qwen2Config(**{k: v for k, v in shape.items() if k != "head_dim"})
    return transformers.Qwen3Config(**shape)


@cache
def decoder(kind: str, batch_tokens: int = 512) -> CausalBackbone:
    torch.manual_seed(7)
    model = transformers.AutoModelForCausalLM.from_config(config(kind))
    return CausalBackbone(
        model, tokenizer("decoder"), Machine.of(Compute("cpu", batch_tokens=batch_tokens)), f"small-{kind}"
    )


@cache
def t5(batch_tokens: int = 512) -> Seq2SeqBackbone:
    torch.manual_seed(7)
    shape = transformers.T5Config(
        vocab_size=420,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=3,
        num_decoder_layers=4,
        num_heads=4,
        initializer_factor=1.0,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    model = transformers.T5ForConditionalGeneration(shape)
    return Seq2SeqBackbone(model, tokenizer("t5"), Machine.of(Compute("cpu", batch_tokens=batch_tokens)), "small-t5")


@cache
def wordpieces(mask: str | None = "[MASK]") -> Any:
    """The encoder's tokeniser: a few words, and letters for all others, in lower case, between [CLS] and [SEP]."""
    words = ["ice", "radar", "map", "road", "river", "the", "crew", "##ck", "##ea", "##es"]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *".,", *ascii_lowercase]
    pieces += [f"##{letter}" for letter in ascii_lowercase]
    inner = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", mask_token=mask)


@cache
def bert(batch_tokens: int = 512, mask: str | None = "[MASK]") -> TorchEncoder:
    torch.manual_seed(7)
    shape = transformers.BertConfig(
        vocab_size=90,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        max_position_embeddings=POSITIONS,
        initializer_range=0.2,
    )
    machine = Machine.of(Compute("cpu", batch_tokens=batch_tokens))
    return TorchEncoder(transformers.BertModel(shape), wordpieces(mask), machine, "small-bert")
