"""Settings for all tests."""

import torch
from hypothesis import settings

torch.set_num_threads(1)  # small models gain nothing from more, and wait for each other on a busy machine
settings.register_profile("steady", deadline=None, derandomize=True, print_blob=False)
settings.load_profile("steady")
