"""What decides the results of a run: method, settings, models by the content of their files, and versions.

A run that is resumed must have the same identity, else results of different settings would be mixed.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mudy import models
from mudy._support.storage import file_sha256
from mudy.extraction.extractor import Extractor
from mudy.methods import method_class, model_fields


def requested_settings(extractor: Extractor) -> dict[str, Any]:
    """What an extractor was asked to do, in JSON's types, without what only decides speed. Nothing is loaded for it."""
    needed = model_fields(extractor.method)
    requested = {
        "method": extractor.method,
        "model": extractor.model_used,
        **({"encoder": extractor.encoder_name} if {"backbone", "encoder"} <= needed else {}),
        **({"endpoint": extractor.endpoint} if extractor.endpoint else {}),
        **({"speed": extractor.speed} if extractor.speed != "exact" else {}),
        "preset": extractor.preset,
        **({"style": extractor.style} if extractor.style else {}),
        "settings": {name: extractor.settings[name] for name in sorted(extractor.settings) if name != "style"},
        "protocol": extractor.protocol,
        "max_words": extractor.max_words,
        "language": extractor.language if isinstance(extractor.language, str) else extractor.tagger.name,
        "dtype": extractor.compute.dtype,
        **({} if extractor.history is None else {"history": extractor.history.fingerprint}),
    }
    return json_values(requested)


def model_fingerprints(extractor: Extractor, *, fetch: bool = True, with_encoder: bool = False) -> dict[str, str]:
    """The models that an extractor's method asks, each by its name, with a fingerprint of all bytes of its files.

    A model that is not here yet is fetched first, or ModelUnavailable raised. What a server computes has none. A file
    of weights that the settings name counts as a model. `with_encoder`: one is asked whatever the method needs.
    """
    names = extractor.model_names(fetch=fetch)
    names += [extractor.encoder_name] if with_encoder and extractor.encoder_name not in names else []
    here = [name for name in names if fetch or models.locate(name, fetch=False, check="sizes")]
    signatures = {name: models.signature(name) for name in here}
    speeds = method_class(extractor.method).speeds.get(extractor.speed, {})
    weights = {**speeds, **extractor.settings}.get("weights")  # the method has read it: it is there
    return {**signatures, weights: file_sha256(Path(weights))} if isinstance(weights, str) else signatures


def json_values(value: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping as it comes back from JSON; what JSON cannot hold is replaced by its repr."""
    values: dict[str, Any] = json.loads(json.dumps(value, default=repr))
    return values


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What changed, in words, entry by entry; after both went through JSON."""
    first, second = _flat(json_values(before)), _flat(json_values(now))
    names: Iterable[str] = dict.fromkeys([*first, *second])
    return [
        f"{name} was {first.get(name)!r}, now {second.get(name)!r}"
        for name in names
        if first.get(name) != second.get(name)
    ]


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for name, entry in value.items():
        entries |= _flat(entry, f"{prefix}{name}.") if isinstance(entry, dict) else {f"{prefix}{name}": entry}
    return entries
