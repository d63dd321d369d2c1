"""Settings for all tests."""

import torch

torch.set_num_threads(1)  # small models gain nothing from more, and wait for each other on a busy machine
