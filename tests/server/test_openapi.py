"""The service against its own OpenAPI document, by schemathesis."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import jsonschema_rs
import pytest
import schemathesis
import schemathesis.specs.openapi.schemas  # now: CPython 3.11 may fail to compile it while threads of Ray compile too
import schemathesis.specs.openapi.serialization
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

from mudy.methods import setting_types, settings_of
from mudy.server.app import create_app
from mudy.server.config import Config
from mudy.server.request_schemas import served_methods as methods
from tests import small
from tests.served import PATIENCE, Served, save_small_encoder, save_small_model, serving
from tests.server.clients import KEY

EXAMPLES = 15
CONFIG = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 404, 405, 413, 415, 422]
"""


@pytest.fixture(scope="module")
def small_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    model = save_small_model(tmp_path_factory.mktemp("model"))
    encoder = save_small_encoder(tmp_path_factory.mktemp("encoder"))
    options = ("--model", model, "--encoder", encoder, "--max-characters", "2000", "--max-texts", "4")
    with serving(tmp_path_factory.mktemp("served"), *options) as service:
        yield service


def no_faults(small_service: Served) -> None:
    """No fault was hidden by an answer."""
    assert not [line for line in small_service.log if line["level"] == "error"]


@pytest.mark.slow
def test_examples_edges_and_random_requests_are_answered_as_told(small_service: Served, tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{small_service.address}/openapi.json"]
    # Settings have types in the document but no ranges, which are the methods' own matter and the model's, so that not
    # all of what it allows can be accepted. The next test, which leaves them out, knows better.
    options = ["--exclude-checks", "positive_data_acceptance", "--max-examples", str(EXAMPLES), "--seed", "1"]
    options += ["--request-timeout", str(PATIENCE)]  # the first text in Chinese loads a dictionary
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, timeout=5 * PATIENCE)
    assert done.returncode == 0, done.stdout[:5000]
    no_faults(small_service)


def leave_out_what_depends_on_other_fields(body: dict[str, Any]) -> None:
    """A schema cannot say that "auto", the range of `min_score` and styles belong to some methods only.

    Nor that pages and blocks are within the text, in order.
    """
    for name in ("settings", "style", "min_score", "pages", "blocks"):
        body.pop(name, None)
    if body.get("top_n") == "auto":
        del body["top_n"]
    if body.get("vocabulary"):
        body.pop("candidates", None)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/extract", "/v1/explain"])
def test_what_is_valid_is_accepted(path: str, small_service: Served) -> None:
    schema = schemathesis.openapi.from_url(f"{small_service.address}/openapi.json")

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(case=schema[path]["POST"].as_strategy(generation_mode=GenerationMode.POSITIVE))
    def answered(case: Any) -> None:
        leave_out_what_depends_on_other_fields(case.body)
        case.call_and_validate()

    answered()
    no_faults(small_service)


WHOLE = (-1, 0, 1, 2, 64, 100, 4096, 10**6, 10**12)
NUMBERS = (-1.0, 0.0, 1e-300, 1e-12, 0.5, 1.0, 50.0, 1e6, 1e12)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a setting's type, most of them at its edges."""
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return st.one_of(*map(values, arguments))
    if get_origin(kind) is Literal:
        return st.sampled_from(arguments)
    if get_origin(kind) is tuple and arguments[-1] is Ellipsis:
        return st.lists(values(arguments[0]), max_size=5)
    if get_origin(kind) is tuple:
        return st.tuples(*map(values, arguments)).map(list)
    known: dict[Any, st.SearchStrategy[Any]] = {NoneType: st.none(), bool: st.booleans(), int: st.sampled_from(WHOLE)}
    return known.get(kind, st.sampled_from(NUMBERS))


@st.composite
def requests_with_settings(draw: st.DrawFn) -> dict[str, Any]:
    """A request with a few settings of a method, each of the right type."""
    method = draw(st.sampled_from(methods()))
    kinds = setting_types(method)
    names = draw(st.lists(st.sampled_from(list(settings_of(method))), min_size=1, max_size=3, unique=True))
    return {"text": small.TEXT, "method": method, "settings": {name: draw(values(kinds[name])) for name in names}}


@pytest.mark.slow
def test_settings_of_any_value_are_answered_or_refused(small_service: Served) -> None:
    with small_service.client() as client:

        @settings(max_examples=3 * EXAMPLES)
        @given(body=requests_with_settings())
        def answered(body: dict[str, Any]) -> None:
            assert client.post("/v1/extract", json=body).status_code in (200, 422)

        answered()
    no_faults(small_service)


COMPONENTS = {
    "Coverage", "Done", "ExplainRequest", "ExplainedMethod", "Explanation", "ExtractRequest", "Extracted", "FailedLine",
    "FileText", "GoldPhrase", "Health", "Keyphrase", "Limits", "MethodInfo", "Methods", "ModelInfo", "Models",
    "Occurrence", "Place", "ProblemDetails", "ProblemError", "Result", "ServiceInfo", "Waiting", "Working",
}  # fmt: skip


def test_components_have_the_names_that_clients_know() -> None:
    document = create_app(Config()).openapi()
    components = document["components"]["schemas"]
    assert components.keys() >= COMPONENTS
    assert [components[name]["title"] for name in COMPONENTS] == list(COMPONENTS)
    assert not [name for name in components if name.endswith("Schema")]
    references = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert references <= components.keys()


def test_the_document_names_the_limits_and_the_key() -> None:
    document = create_app(Config(max_texts=7, max_characters=99, api_key=KEY)).openapi()
    texts = document["components"]["schemas"]["ExtractRequest"]["properties"]["texts"]
    assert (texts["maxItems"], texts["items"]["maxLength"]) == (7, 99)
    assert document["security"] == [{"key": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []
    assert KEY not in json.dumps(document)


def test_without_a_key_the_document_has_an_optional_one_for_generated_clients() -> None:
    document = create_app(Config()).openapi()
    assert document["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
    assert document["security"] == [{"key": []}, {}]


def subschemas(value: Any) -> Iterator[dict[str, Any]]:
    """All objects of a document that have a type."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        yield value
    for entry in inner:
        yield from subschemas(entry)


def test_every_array_names_the_type_of_its_items() -> None:
    document = create_app(Config()).openapi()
    assert not [schema for schema in subschemas(document) if schema["type"] == "array" and "items" not in schema]


@pytest.mark.parametrize("name", ["ExtractRequest", "ExplainRequest"])
def test_a_request_is_one_class_for_client_generators(name: str) -> None:
    """They turn a union into `Any` or into several classes, and refuse a default beside a union of objects."""
    schema = create_app(Config()).openapi()["components"]["schemas"][name]
    assert schema["type"] == "object"
    assert not schema.keys() & {"oneOf", "anyOf", "allOf"}
    assert "default" not in schema["properties"]["settings"] or "anyOf" not in schema["properties"]["settings"]


def test_exactly_one_of_text_and_texts_is_valid() -> None:
    document = create_app(Config()).openapi()
    schema = {"$ref": "#/components/schemas/ExtractRequest", "components": document["components"]}
    validator = jsonschema_rs.Draft202012Validator(schema)
    bodies = [{}, {"text": "a"}, {"texts": ["a"]}, {"text": "a", "texts": ["a"]}]
    assert [validator.is_valid(body) for body in bodies] == [False, True, True, False]
