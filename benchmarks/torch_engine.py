"""Extractors whose models torch computes: on a CPU the light engine computes them for everyone else."""

from __future__ import annotations

from mudy import Extractor


def torch_extractor(method: str, model: str) -> Extractor:
    """A method in float32 by torch, on one thread unless torch is told otherwise."""
    from mudy.engines import Compute
    from mudy.engines.torch import Machine
    from mudy.engines.torch.transformer import CausalBackbone, TorchEncoder
    from mudy.models import locate

    machine, extractor = Machine.of(Compute("cpu", threads=1)), Extractor(method, model, speed="exact", threads=1)
    backbone = CausalBackbone.load(locate(model), machine, model)
    encoder = TorchEncoder.load(locate(extractor.encoder_name), machine, extractor.encoder_name)
    vars(extractor).update(backbone=lambda: backbone, encoder=lambda: encoder)
    return extractor
