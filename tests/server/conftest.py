"""The queue with a gate, and running services for all tests of this folder."""

from collections.abc import Iterator

import httpx
import pytest

from mudy import Extractor
from mudy.server.config import Config
from mudy.server.queue import RequestQueue
from tests.served import Served, save_small_encoder, save_small_model, serving, until
from tests.server.clients import KEY
from tests.server.gate import Gate, local_scorers


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def queue(gate: Gate) -> Iterator[RequestQueue]:
    requests = RequestQueue(local_scorers(gate.load), Config(queue=4, timeout=60))
    requests.start()
    until(lambda: requests.ready)
    yield requests
    gate.open.set()
    requests.stop()
    until(requests.join)


@pytest.fixture(scope="package")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="package")
def served(model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One service for most of these tests, with low limits. No test may end it."""
    encoder = save_small_encoder(tmp_path_factory.mktemp("encoder"))
    limits = ("--queue=2", "--max-body=100000", "--max-characters=50000", "--max-texts=5", "--body-timeout=2")
    with serving(tmp_path_factory.mktemp("served"), "--model", model, "--encoder", encoder, *limits) as service:
        yield service


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as found:
        yield found


@pytest.fixture(scope="package")
def guarded(model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with a key. No test may end it."""
    folder, secret = tmp_path_factory.mktemp("guarded"), {"MUDY_API_KEY": KEY}
    with serving(folder, "--model", model, environment=secret) as service:
        yield service


@pytest.fixture(scope="package")
def library(model: str) -> Extractor:
    return Extractor("mudy", model=model, speed="fast")
