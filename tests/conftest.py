"""Settings for all tests."""

import os

import pytest
import torch
from hypothesis import settings

from mudy import models

torch.set_num_threads(1)  # small models gain nothing from more, and wait for each other on a busy machine
os.environ.setdefault("OMP_NUM_THREADS", "1")  # nor do the processes that tests start, beside a second worker
settings.register_profile("steady", deadline=None, derandomize=True, print_blob=False)
settings.load_profile("steady")


LONG = (  # files and folders
    "test_blocks",
    "web",
    "test_ray_engine",
    "server",
    "test_cancellation",
    "corpus",
    "test_real",
    "test_explain_command",
    "cli",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first, so that two workers end at about the same time."""
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    names = (item.path.stem, item.path.parent.name)
    return next((place for place, name in enumerate(LONG) if name in names), len(LONG))


@pytest.fixture(scope="session", autouse=True)
def embedded_models(request: pytest.FixtureRequest) -> None:
    """Fetch the models once, before the first test that needs a real one can be surprised by it."""
    if any(item.get_closest_marker("real") for item in request.session.items):
        for name in models.KNOWN:
            models.pull(name)
