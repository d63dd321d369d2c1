"""How far probabilities can be trusted, in words and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mudy.cli.formats import text_table

if TYPE_CHECKING:
    from mudy.evaluation.probabilities import Calibration


def brier_line(own: Calibration, subject: str) -> str:
    return (
        f"Brier score of {subject}: {own.brier:.4f} ({own.brier_of_mean:.4f} if all phrases had the same probability)\n"
    )


def drawn_reliability(own: Calibration, terminal: bool) -> str:
    """For each range of probability, how often its phrases are right."""
    head = ["Probability", "Mean", "Right", "Phrases"]
    rows = [
        [name, f"{mean:.3f}", f"{right:.3f}", f"{count:,}"] for name, (mean, right, count) in own.reliability.items()
    ]
    return text_table(head, rows, {*head[1:]}, terminal)
