"""Our own byte-pair encoding: as the `tokenizers` package cuts, from the tokens alone."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mudy import models
from mudy.engines.tokens import SPACE, BytePairTokenizer, LightTokenizer, TokenTable
from mudy.models.cache import TOKEN_TABLE
from mudy.models.gguf import gemma_tokenizer, write_token_table

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
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
TOKENS = ["<pad>", "<bos>", *BYTES, "\n", "\n\n", "<b>", *WORDS, *"river>< b", SPACE, "é"]
TOKENS = [token for token in dict.fromkeys(TOKENS) if token != " "]
ADDED = ("<bos>", "\n", "\n\n", "<b>")


@cache
def package() -> Any:
    """A tokeniser made as Gemma's is made."""
    from tokenizers import AddedToken
    from tokenizers.processors import TemplateProcessing

    made = gemma_tokenizer(TOKENS)
    made.model.unk_token = None
    made.add_special_tokens([AddedToken("<bos>", normalized=False)])
    made.add_tokens([AddedToken(token, normalized=False) for token in ADDED[1:]])
    bos = made.token_to_id("<bos>")
    made.post_processor = TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", bos)])
    return made


@cache
def token_table() -> TokenTable:
    """The same tokens in a file."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows deletes no file that is mapped
        path = Path(folder) / TOKEN_TABLE
        write_token_table(path, TOKENS, [TOKENS.index(token) for token in ADDED], [TOKENS.index("<bos>")])
        return TokenTable(path)


@cache
def ours() -> BytePairTokenizer:
    return BytePairTokenizer(token_table())


pieces = st.sampled_from(
    ["river", "ri", " ", "  ", SPACE, "> <", ">", "<", "<b>", "<bos>", "\n", "\n\n\n", "é", "氷", "🚚", "b"]
)


@given(st.lists(pieces | st.characters(exclude_categories=["Cs"]), max_size=12).map("".join), st.booleans())
def test_every_text_is_cut_as_the_package_cuts_it(text: str, special: bool) -> None:
    expected = package().encode(text, add_special_tokens=special)
    found = ours().encode(text, add_special_tokens=special)
    assert found.ids == expected.ids
    assert found.offsets == [tuple(pair) for pair in expected.offsets]


def test_every_token_has_its_number_and_nothing_else_has_one() -> None:
    table = token_table()
    tokens = [table.token(number) for number in range(len(table))]
    assert tokens == TOKENS
    assert [table.number(token) for token in tokens] == list(range(len(tokens)))
    assert [table.number(text) for text in ("", "rivers", "\ud800", "氷")] == [None] * 4
    assert table.characters == [number for number, token in enumerate(tokens) if len(token) == 1]


def test_a_table_outside_the_cache_is_not_trusted(tmp_path: Path) -> None:
    package().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / TOKEN_TABLE).write_bytes(b"of another tokeniser")
    expected = package().encode("a river").ids
    assert LightTokenizer(tmp_path)("a river")["input_ids"] == expected


@pytest.mark.real
def test_a_pull_writes_the_tokens_of_gemmas_tokeniser() -> None:
    folder = models.pull("gemma3-270m")
    table, content = TokenTable(folder / TOKEN_TABLE), json.loads((folder / "tokenizer.json").read_text())
    assert {table.token(number): number for number in range(len(table))} == content["model"]["vocab"]
    assert table.added == sorted(token["id"] for token in content["added_tokens"])
    assert table.prefix == content["post_processor"]["special_tokens"]["<bos>"]["ids"]
