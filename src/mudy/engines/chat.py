"""What a chat model is: one that is told what to do, reads a text, and writes an answer. Importing this is light."""

from __future__ import annotations

from typing import Protocol


class Chat(Protocol):
    """A model that follows instructions, here or behind an address."""

    @property
    def name(self) -> str: ...

    @property
    def room(self) -> int | None:
        """How many tokens a prompt and its answer may take together; None where nobody can tell."""

    def length(self, system: str, user: str) -> int:
        """How many tokens of that room a prompt takes; asked only where there is a room."""

    def write(self, system: str, user: str, max_new_tokens: int) -> str:
        """The answer to a user's turn under a system's instruction; empty where the model declines."""


def no_template(name: str) -> str:
    """A sentence for a model that was never taught to take turns."""
    return (
        f"{name} has no chat template, so it cannot be told what to write. Use a model that was tuned to follow "
        f"instructions: smollm2-135m, one by hub id or local folder, or one behind an endpoint."
    )
