"""Converted tokenizers: merges, offsets and first tokens."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mudy import models
from mudy.models import gguf as tokenizer


def test_merges_come_earlier_token_first_and_longer_left_half_first() -> None:
    vocabulary = {token: index for index, token in enumerate(["a", "b", "ab", "ba", "aba"])}
    assert list(tokenizer.merges(vocabulary)) == [("a", "b"), ("b", "a"), ("ab", "a"), ("a", "ba")]


@pytest.mark.parametrize("tokens", [["a", "b", "ab"], ["a", " ", "a "], ["#version", ":", "#version:"]])
def test_merges_are_written_short_where_they_can_be_and_mean_the_same(tokens: list[str]) -> None:
    from tokenizers import Tokenizer, models

    made = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=[(tokens[0], tokens[1])]))
    written = tokenizer.short(made.to_str())
    assert Tokenizer.from_str(written).to_str() == made.to_str()
    assert json.loads(written)["model"]["merges"] == (["a b"] if tokens[1] == "b" else [tokens[:2]])


TEXTS = [
    "Keyphrase extraction in 2024: 3.14 or 1,000,000?",
    "Café naïve Ångström 这是关键词提取 😀👩‍👩‍👧 한국어",
    "def f(x):\n    return x ** 2\n\n\n\tif x:\t\tpass\r\n",
    "  two  spaces   three    12  345 ",
]


@pytest.fixture(scope="module", params=["gemma3-270m", "smollm2-135m"])
def reader(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A converted tokenizer, from the user's own cache."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(models.pull(request.param))  # type: ignore[no-any-return]


@pytest.mark.real
@pytest.mark.parametrize("text", TEXTS)
def test_a_converted_tokenizer_gives_the_text_back_and_its_offsets_cover_it(reader: Any, text: str) -> None:
    encoding = reader(text, add_special_tokens=False, return_offsets_mapping=True)
    assert reader.decode(encoding["input_ids"]) == text
    reached = 0
    for start, end in encoding["offset_mapping"]:
        assert start <= reached <= len(text)
        reached = max(reached, end)
    assert reached == len(text)


@pytest.mark.real
def test_gemma_gets_its_bos_token_and_smollm2_none(reader: Any) -> None:
    bare = reader("hello world", add_special_tokens=False)["input_ids"]
    gemma = reader.bos_token == "<bos>"
    assert reader("hello world")["input_ids"] == ([2, *bare] if gemma else bare)
    assert reader.bos_token_id == (2 if gemma else 1)
    assert reader.eos_token_id == (1 if gemma else 2)
    assert reader.pad_token_id == (0 if gemma else 2)


@pytest.mark.real
def test_smollm2_reads_each_digit_by_itself() -> None:
    from transformers import AutoTokenizer

    reader = AutoTokenizer.from_pretrained(models.pull("smollm2-135m"))
    assert reader.tokenize("in  1984") == ["in", "ĠĠ", "1", "9", "8", "4"]
