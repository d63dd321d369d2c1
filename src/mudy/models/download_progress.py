"""How a long step tells its caller that it moves; this room itself prints nothing."""

from typing import Protocol


class Report(Protocol):
    """Called with a step in words, how much of it is done, and out of how much (None: not known)."""

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """One sign of life; `step` stays the same while `done` grows."""


def silent(step: str, done: int, total: int | None) -> None:
    """A report to nobody."""
