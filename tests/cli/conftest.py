"""A current folder with texts for commands."""

from pathlib import Path

import pytest

from tests.command_line import TRADE, VISION


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two texts in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vision.txt").write_text(VISION, encoding="utf-8")
    (tmp_path / "trade.txt").write_text(TRADE, encoding="utf-8")
    (tmp_path / "empty.txt").touch()
    return tmp_path
