"""Small models on the disk."""

from pathlib import Path

import pytest

from tests.engines.light import saved


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Converted weights of small models go into a cache of their own."""
    if request.node.get_closest_marker("real") is None:
        monkeypatch.setenv("MUDY_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="session", params=saved.DECODERS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved.decoder_folder(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved.encoder_folder(tmp_path_factory.mktemp("bert"))
