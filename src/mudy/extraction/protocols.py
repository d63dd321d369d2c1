"""Reading protocols: how texts are read for comparison with published numbers. An extractor is given one by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from mudy.candidates import Candidate
    from mudy.reading.document import Document

ProtocolName = Literal["promptrank"]
# Where each protocol is; imported on first use.
_LOCATIONS: dict[ProtocolName, str] = {"promptrank": "mudy.evaluation.promptrank_protocol:PROTOCOL"}


class ReadingProtocol(Protocol):
    """How a text is cleaned, and what its candidates are."""

    def read(self, text: str, max_words: int | None = None) -> tuple[str, int]:
        """The cleaned text, and how many words were cut off; None for `max_words` is the protocol's own limit."""

    def candidates(self, document: Document) -> list[Candidate]:
        """The candidates of a document that was read this way."""


def reading_protocol(name: ProtocolName) -> ReadingProtocol:
    """The protocol of a name."""
    module, _, attribute = _LOCATIONS[name].partition(":")
    protocol: ReadingProtocol = getattr(import_module(module), attribute)
    return protocol
