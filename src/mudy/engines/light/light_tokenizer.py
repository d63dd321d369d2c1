"""A model's tokeniser without transformers: tokenizer.json, called as transformers' fast tokenisers are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mudy.errors import ModelUnavailable, UnsupportedModel

_LARGE = 1 << 22  # bytes of tokenizer.json from which it is worth the while to keep its tokens alone


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
        self._settings = _settings(folder / "tokenizer_config.json")

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
        return self._special("mask_token")

    @property
    def pad_token_id(self) -> int | None:
        return self._special("pad_token")

    def _special(self, role: str) -> int | None:
        token = self._settings.get(role)
        token = token.get("content") if isinstance(token, dict) else token
        return None if token is None else self._inner.token_to_id(token)


def _quick(folder: Path) -> Any:
    """A tokeniser of our own that starts in a tenth of the time, where the vocabulary is so large that it matters."""
    if (folder / "tokenizer.json").stat().st_size < _LARGE:
        return None
    from mudy.engines.light.byte_pairs import BytePairTokenizer, token_table

    table = token_table(folder)
    return None if table is None else BytePairTokenizer(table)


def _package(path: Path) -> Any:
    """The tokeniser of the `tokenizers` package."""
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(path))
    found.no_truncation()
    found.no_padding()
    return found


def _settings(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{path} cannot be read: {error}.") from error
    return found
