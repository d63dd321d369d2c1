"""The hidden states of an encoder, a window of text at a time: what the embedding methods ask of BERT and its kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from mudy.backbones.batches import in_order
from mudy.backbones.encoder import SentenceEncoder
from mudy.backbones.tokens import Tokens, tokenise
from mudy.backbones.transformer import padded, presence
from mudy.cancellation import check
from mudy.errors import UnsupportedModel
from mudy.text import Span

OFFSET_FAMILIES = frozenset({"roberta", "xlm-roberta", "mpnet"})  # whose positions count on from the padding token's id
_SPARE = 2  # tokens kept free, since a window cut out of a text may begin with a piece more than it had there


def positions(encoder: SentenceEncoder) -> int:
    """How many tokens an encoder reads at once, special ones too."""
    config = encoder.model.config
    offset = int(config.pad_token_id or 0) + 1 if config.model_type in OFFSET_FAMILIES else 0
    return int(config.max_position_embeddings) - offset


def room(encoder: SentenceEncoder) -> int:
    """How many tokens of text fit into one reading."""
    return max(1, positions(encoder) - int(encoder.tokenizer.num_special_tokens_to_add()) - _SPARE)


def token_ends(encoder: SentenceEncoder, text: str) -> list[int]:
    """Where each token of a text ends, in characters: for planning windows."""
    return tokenise(encoder.tokenizer, text, Span(0, len(text)), special=False).ends


def read_span(encoder: SentenceEncoder, text: str, span: Span) -> Tokens:
    """A stretch of text as tokens, with the special ones, cut where the encoder ends."""
    tokens, longest = tokenise(encoder.tokenizer, text, span), positions(encoder)
    return Tokens(tokens.ids[:longest], tokens.starts[:longest], tokens.ends[:longest], tokens.first)


def read_alone(encoder: SentenceEncoder, phrase: str) -> list[int]:
    """A phrase as token ids, with the special ones."""
    return read_span(encoder, phrase, Span(0, len(phrase))).ids


def mask_token(encoder: SentenceEncoder) -> int:
    """The token that stands for a hidden one."""
    token = encoder.tokenizer.mask_token_id
    if token is None:
        raise UnsupportedModel(f"{encoder.name} has no mask token; an encoder trained with one (BERT) is needed.")
    return int(token)


def states(
    encoder: SentenceEncoder,
    rows: Sequence[Sequence[int]],
    layer: int = -1,
    pool: Callable[[Tensor], Tensor] = lambda state: state,
) -> list[Tensor]:
    """What `pool` makes of the (tokens, width) states of each row of token ids, read alone; -1 is the last layer."""

    def work(batch: list[int]) -> list[Tensor]:
        check()
        some = [rows[i] for i in batch]
        ids = padded(some, int(encoder.tokenizer.pad_token_id or 0), encoder.machine.device)
        mask = presence([len(row) for row in some], ids).long()
        output = encoder.model(input_ids=ids, attention_mask=mask, output_hidden_states=layer != -1)
        found = output.last_hidden_state if layer == -1 else output.hidden_states[layer]  # (batch, tokens, width)
        return [pool(state[: len(row)]).float().cpu() for state, row in zip(found, some, strict=True)]

    with encoder.machine.at_work():
        return in_order([len(row) for row in rows], encoder.machine.batch_tokens, work)
