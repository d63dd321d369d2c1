"""Our own byte-pair encoding: as the `tokenizers` package cuts, from the tokens alone."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mudy.engines.light import byte_pairs
from mudy.engines.light.byte_pairs import BYTES, SPACE, BytePairTokenizer, TokenTable, implied, packed, token_table
from mudy.engines.light.conversion import converted_path
from mudy.models.gguf import gemma_tokenizer

WORDS = [
    "ri",
    "iv",
    "er",
    "riv",
    "river",
    f"{SPACE}ri",
    f"{SPACE}river",
    SPACE * 2,
    SPACE * 3,
    f">{SPACE}<",
    "ve",
    "rive",
]
TOKENS = ["<pad>", "<bos>", *BYTES, "\n", "\n\n", "<b>", *WORDS, *"river>< b", SPACE, "é"]
TOKENS = [token for token in TOKENS if token != " "]


@cache
def package() -> Any:
    """A tokeniser made as Gemma's is made."""
    from tokenizers import AddedToken
    from tokenizers.processors import TemplateProcessing

    made = gemma_tokenizer(list(dict.fromkeys(TOKENS)))
    made.model.unk_token = None
    made.add_special_tokens([AddedToken("<bos>", normalized=False)])
    made.add_tokens([AddedToken(token, normalized=False) for token in ("\n", "\n\n", "<b>")])
    bos = made.token_to_id("<bos>")
    made.post_processor = TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", bos)])
    return made


@cache
def ours() -> BytePairTokenizer:
    listed = implied(json.loads(package().to_str()))
    assert listed is not None
    return BytePairTokenizer(TokenTable(*packed(listed)))


pieces = st.sampled_from(
    ["river", "ri", " ", "  ", SPACE, "> <", ">", "<", "<b>", "<bos>", "\n", "\n\n\n", "é", "氷", "🚚", "b"]
)


@given(st.lists(pieces | st.characters(exclude_categories=["Cs"]), max_size=12).map("".join), st.booleans())
def test_every_text_is_cut_as_the_package_cuts_it(text: str, special: bool) -> None:
    expected = package().encode(text, add_special_tokens=special)
    found = ours().encode(text, add_special_tokens=special)
    assert found.ids == expected.ids
    assert found.offsets == [tuple(pair) for pair in expected.offsets]


@pytest.mark.parametrize(
    ("where", "key", "value"),
    [
        ("model", "merges", []),
        ("model", "byte_fallback", False),
        ("model", "type", "WordPiece"),
        ("", "normalizer", None),
        ("", "pre_tokenizer", None),
        ("", "post_processor", {"type": "ByteLevel"}),
    ],
)
def test_a_tokeniser_that_says_more_is_left_to_the_package(where: str, key: str, value: Any) -> None:
    content = json.loads(package().to_str())
    (content[where] if where else content)[key] = value
    assert implied(content) is None


@pytest.mark.parametrize("damage", [b"", b"{}", b"cut"])
def test_the_table_is_kept_and_made_again_when_damaged(tmp_path: Path, damage: bytes) -> None:
    package().save(str(tmp_path / "tokenizer.json"))
    made = tokens_of(token_table(tmp_path))
    path = converted_path(tmp_path).with_suffix(".table")
    whole = path.read_bytes()
    assert tokens_of(token_table(tmp_path)) == made == list(dict.fromkeys(TOKENS))
    path.write_bytes(whole[:-5] if damage == b"cut" else damage)
    assert tokens_of(token_table(tmp_path)) == made
    assert path.read_bytes() == whole


def tokens_of(table: TokenTable | None) -> list[str]:
    assert table is not None
    return [table.token(number) for number in range(len(table))]


def test_every_token_has_its_number_and_nothing_else_has_one(tmp_path: Path) -> None:
    package().save(str(tmp_path / "tokenizer.json"))
    table = token_table(tmp_path)
    assert table is not None
    tokens = tokens_of(table)
    assert [table.number(token) for token in tokens] == list(range(len(tokens)))
    assert [table.number(text) for text in ("", "rivers", "\ud800", "氷")] == [None] * 4
    assert table.characters == [number for number, token in enumerate(tokens) if len(token) == 1]


def test_that_there_is_no_table_is_kept_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.loads(package().to_str())
    (tmp_path / "tokenizer.json").write_text(json.dumps({**content, "normalizer": None}))
    assert token_table(tmp_path) is None
    monkeypatch.setattr(byte_pairs, "implied", None)
    assert token_table(tmp_path) is None


def test_a_cache_that_cannot_be_written_only_costs_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MUDY_HOME", str(tmp_path / "file"))
    assert token_table(tmp_path) is not None
