"""Settings for all tests."""

import pytest
import torch
from hypothesis import settings

from mudy import models

torch.set_num_threads(1)  # small models gain nothing from more, and wait for each other on a busy machine
settings.register_profile("steady", deadline=None, derandomize=True, print_blob=False)
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def embedded_models(request: pytest.FixtureRequest) -> None:
    """Fetch the models once, before the first test that needs a real one can be surprised by it."""
    if any(item.get_closest_marker("real") for item in request.session.items):
        for name in models.KNOWN:
            models.pull(name)
