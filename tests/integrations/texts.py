"""Texts for all integrations, and how one of them is cut up for a tool that takes several."""

from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = (EXAMPLES / "floodplain.txt").read_text(encoding="utf-8")
PARAGRAPHS = [paragraph for paragraph in TEXT.split("\n\n") if len(paragraph.split()) > 30]
