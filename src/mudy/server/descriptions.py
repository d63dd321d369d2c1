"""What there is: methods, models, and the service itself."""

from __future__ import annotations

import sys
from typing import Any, Literal

from mudy import __version__, models, readers
from mudy.extractor import Extractor
from mudy.methods import METHODS, descriptions_of, method_class, model_fields, settings_of, title_of
from mudy.server import schemas
from mudy.server.config import Config


def service(config: Config) -> schemas.ServiceInfo:
    limits = schemas.Limits(
        body_bytes=config.max_body,
        characters=config.max_characters,
        texts=config.max_texts,
        seconds=config.timeout,
    )
    return schemas.ServiceInfo(
        version=__version__,
        model=config.model,
        encoder=config.encoder,
        speed=config.speed,
        default_method=config.method,
        limits=limits,
        readers=list(readers.endings()),
    )


def methods() -> schemas.Methods:
    return schemas.Methods(methods=[_method(name) for name in METHODS])


def _method(name: str) -> schemas.MethodInfo:
    kind = method_class(name)
    return schemas.MethodInfo(
        name=name,
        description=title_of(name),
        asks=_asks(name),
        available=name in schemas.served(),
        settings={setting: _plain(default) for setting, default in settings_of(name).items()},
        descriptions=descriptions_of(name),
        presets=list(getattr(sys.modules[kind.__module__], "PRESETS", ())),
    )


def _asks(name: str) -> Literal["backbone", "encoder", "chat"] | None:
    needed = model_fields(name)
    return "backbone" if "backbone" in needed else "encoder" if "encoder" in needed else "chat" if needed else None


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def known_models(config: Config, extractor: Extractor | None) -> schemas.Models:
    """The known models, after those that are served under a name of their own."""
    loaded = set() if extractor is None else extractor.loaded
    served = {config.model: "backbone" in loaded, config.encoder: "encoder" in loaded}
    own = [
        schemas.ModelInfo(
            name=name, kind=kind, description="Named by whoever runs this service.",
            parameters=None, licence=None, cached=True, loaded=served[name],
        )
        for name, kind in ((config.model, "backbone"), (config.encoder, "encoder"))
        if name not in models.KNOWN
    ]  # fmt: skip
    known = [
        schemas.ModelInfo(
            name=model.name, kind=model.kind, description=model.description,
            parameters=models.KNOWN[model.name].parameters, licence=model.licence,
            cached=model.cached, loaded=served.get(model.name, False),
        )
        for model in models.status()
    ]  # fmt: skip
    return schemas.Models(models=own + known)
