"""What blocks of the pages run in: a copy of the clone, and small models under the names of the real ones."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from mudy.models import KNOWN
from mudy.models.cache import KEEP_FLOAT32, write_model_manifest
from tests import small
from tools.doc_blocks import ROOT

# Whose blocks run in the plain install, which is all that they tell the reader to have.
FIRST_PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("quickstart", "notes", "your-corpus", "your-keyphrases")),
)
needs_shell = pytest.mark.skipif(
    shutil.which("bash") is None or shutil.which("curl") is None, reason="bash and curl are needed"
)


def small_models(home: Path) -> None:
    """Small random models where the embedded ones would be."""
    made: dict[str, Any] = {
        "gemma3-270m": small.decoder("gemma3"),
        "smollm2-135m": small.decoder("llama"),
        "minilm-l6": small.bert(),
    }
    for name, known in made.items():
        folder = home / "models" / name
        known.model.save_pretrained(folder)
        known.tokenizer.save_pretrained(folder)
        write_model_manifest(KNOWN[name], folder)
        (folder / KEEP_FLOAT32).touch()  # no block can fetch it again


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone holds that blocks need."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.fixture(scope="module")
def small_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    small_models(home)
    return home
