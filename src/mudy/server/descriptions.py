"""What there is: methods, models, and the service itself."""

from __future__ import annotations

from typing import Literal

from mudy import __version__, models
from mudy.methods import METHODS, description, model_fields
from mudy.reading import formats as readers
from mudy.reading.languages import LANGUAGE_NAMES
from mudy.server import response_schemas as schemas
from mudy.server.config import Config
from mudy.server.setting_schemas import served_methods


def service(config: Config) -> schemas.ServiceInfoSchema:
    limits = schemas.LimitsSchema(
        body_bytes=config.max_body,
        characters=config.max_characters,
        texts=config.max_texts,
        seconds=config.timeout,
    )
    return schemas.ServiceInfoSchema(
        version=__version__,
        model=config.model,
        encoder=config.encoder,
        speed=config.speed,
        default_method=config.method,
        limits=limits,
        readers=list(readers.endings()),
        languages=sorted(LANGUAGE_NAMES),
    )


def methods() -> schemas.MethodsSchema:
    return schemas.MethodsSchema(methods=[_method(name) for name in METHODS])


def _method(name: str) -> schemas.MethodInfoSchema:
    described = description(name)
    return schemas.MethodInfoSchema(
        **described, summary=described["description"], asks=_asks(name), available=name in served_methods()
    )


def _asks(name: str) -> Literal["backbone", "encoder", "chat"] | None:
    needed = model_fields(name)
    return "backbone" if "backbone" in needed else "encoder" if "encoder" in needed else "chat" if needed else None


def known_models(config: Config, loaded: frozenset[str]) -> schemas.ModelsSchema:
    """The known models, after those that are served under a name of their own."""
    served = {config.model: "backbone" in loaded, config.encoder: "encoder" in loaded}
    own = [
        schemas.ModelInfoSchema(
            name=name, kind=kind, description="Named by whoever runs this service.",
            parameters=None, licence=None, cached=True, loaded=served[name],
        )
        for name, kind in ((config.model, "backbone"), (config.encoder, "encoder"))
        if name not in models.KNOWN
    ]  # fmt: skip
    known = [
        schemas.ModelInfoSchema(
            name=model.name, kind=model.kind, description=model.description,
            parameters=models.KNOWN[model.name].parameters, licence=model.licence,
            cached=model.cached, loaded=served.get(model.name, False),
        )
        for model in models.status()
    ]  # fmt: skip
    return schemas.ModelsSchema(models=own + known)
