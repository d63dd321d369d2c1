"""A model's tokeniser without transformers: tokenizer.json, called as transformers' fast tokenisers are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mudy.engines.light import read_settings
from mudy.errors import ModelUnavailable, UnsupportedModel
from mudy.models.cache import is_cached
from mudy.models.token_table import TOKEN_TABLE, TokenTable


class LightTokenizer:
    """Cuts texts into tokens, and knows where in the text each stands."""

    def __init__(self, folder: Path) -> None:
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise UnsupportedModel(f"{folder} holds no tokenizer.json, which is needed for character offsets.")
        try:
            self._inner = _quick(folder) or _package(path)
        except Exception as error:  # the package raises nothing narrower
            raise ModelUnavailable(f"{path} cannot be read: {error}.") from error
        self._settings = read_settings(folder)

    def __call__(
        self,
        text: str | Sequence[str],
        *,
        add_special_tokens: bool = True,
        return_offsets_mapping: bool = True,  # noqa: ARG002 (always given)
        verbose: bool = True,  # noqa: ARG002 (as transformers has it)
    ) -> dict[str, Any]:
        """Token ids and the characters of each; of one text, or of each of several."""
        if isinstance(text, str):
            encoded = self._inner.encode(text, add_special_tokens=add_special_tokens)
            return {"input_ids": encoded.ids, "offset_mapping": encoded.offsets}
        every = [self._inner.encode(one, add_special_tokens=add_special_tokens) for one in text]  # on one thread
        return {"input_ids": [each.ids for each in every], "offset_mapping": [each.offsets for each in every]}

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self._inner.id_to_token(token) or "" for token in ids]

    def single_characters(self) -> list[int]:
        """The tokens that are one character, in their order."""
        if hasattr(self._inner, "single_characters"):
            return list(self._inner.single_characters())
        return sorted(token for text, token in self._inner.get_vocab().items() if len(text) == 1)

    def num_special_tokens_to_add(self) -> int:
        return int(self._inner.num_special_tokens_to_add(False))

    @property
    def mask_token_id(self) -> int | None:
        token = self._settings.get("mask_token")
        token = token.get("content") if isinstance(token, dict) else token
        return None if token is None else self._inner.token_to_id(token)


def _quick(folder: Path) -> Any:
    """A tokeniser of our own that starts in a tenth of the time, where a pull wrote a table of the tokens."""
    path = folder / TOKEN_TABLE
    if not (is_cached(folder) and path.is_file()):
        return None
    from mudy.engines.light.byte_pairs import BytePairTokenizer

    return BytePairTokenizer(TokenTable.load(path))


def _package(path: Path) -> Any:
    """The tokeniser of the `tokenizers` package."""
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(path))
    found.no_truncation()
    found.no_padding()
    return found
