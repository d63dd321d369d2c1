"""Extractors whose models torch computes: on a CPU the light engine computes them for everyone else."""

from __future__ import annotations

from mudy import Extractor


def torch_extractor(method: str, model: str) -> Extractor:
    """A method in float32 by torch, on one thread unless torch is told otherwise."""
    from mudy.engines.torch.machine import Machine
    from mudy.engines.torch.torch_encoder import TorchEncoder
    from mudy.engines.torch.transformer import CausalBackbone
    from mudy.models import locate

    machine, extractor = Machine.of("cpu", threads=1), Extractor(method, model, speed="exact", threads=1)
    backbone = CausalBackbone.load(locate(model), machine, model)
    encoder = TorchEncoder.load(locate(extractor.encoder_name), machine, extractor.encoder_name)
    vars(extractor).update(backbone=lambda: backbone, encoder=lambda: encoder)
    return extractor
