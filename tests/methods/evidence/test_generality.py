from typing import Any

import numpy as np
import pytest

from mudy.methods.mudyplus.evidence.generality import COMMON, ENOUGH, RARE, UNKNOWN, everyday, generic, word_ranks
from tests.methods.evidence.made import by_phrase, places

RANKS = {"people": 500, "time": 300, "ice": 4000, "floodplain": 20000}


def tokenizer(words: list[str], *, add_special_tokens: bool) -> dict[str, Any]:
    assert not add_special_tokens
    return {"input_ids": [[RANKS[word]] if word in RANKS else [7, 8] for word in words]}


def test_an_everyday_word_is_seen_until_the_text_repeats_it() -> None:
    phrases, found, _ = places(
        "people cross/VBP ice . time goes/VBZ . time goes/VBZ . time goes/VBZ . old/JJ people . moraine ."
    )
    values = by_phrase(phrases, generic(found, phrases, tokenizer))
    assert values["old people"] == values["moraine"] == 0
    assert 0 < values["time"] < values["people"] <= 1
    assert 0 < values["ice"] < values["people"]
    phrases, found, _ = places("time . " * ENOUGH)
    assert by_phrase(phrases, generic(found, phrases, tokenizer))["time"] == pytest.approx(0)


def test_ranks_between_common_and_rare() -> None:
    values = everyday(np.array([1.0, COMMON, 5000.0, RARE, UNKNOWN]))
    assert values[0] == values[1] == 1
    assert 0 < values[2] < 1
    assert values[3] == values[4] == 0


def test_a_word_cut_into_pieces_is_rare() -> None:
    assert word_ranks(tokenizer, ["Time", "moraine"]).tolist() == [300, UNKNOWN]
    assert len(word_ranks(tokenizer, [])) == 0
