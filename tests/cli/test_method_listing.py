"""`mudy methods`: one line a method, and every setting of a method explained."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mudy.cli import parameters
from mudy.cli.main import cli
from mudy.methods import METHODS, descriptions_of, settings_of


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["methods", *arguments])


@pytest.mark.parametrize("method", METHODS)
def test_every_setting_of_every_method_is_explained_in_one_line(method: str) -> None:
    explained = descriptions_of(method)
    assert explained.keys() == settings_of(method).keys()
    for description in explained.values():
        assert 10 < len(description) <= 115
        assert description.endswith(".")
        assert "\n" not in description


def test_without_a_name_each_method_has_one_line_with_its_title() -> None:
    lines = run().stdout.splitlines()
    assert [line.split()[0] for line in lines[: len(METHODS)]] == list(METHODS)
    assert all(len(line.split()) > 3 for line in lines[: len(METHODS)])
    assert not any("--set" in line for line in lines)
    assert "mudy methods NAME" in lines[-1]


@pytest.mark.parametrize("method", METHODS)
def test_with_a_name_every_setting_can_be_typed_back_and_is_explained(method: str) -> None:
    shown = run(method)
    assert shown.exit_code == 0
    pairs = [line.removeprefix("  --set ").split()[0] for line in shown.stdout.splitlines() if "--set" in line]
    assert parameters.settings(method, pairs) == settings_of(method)
    assert all(description in shown.stdout for description in descriptions_of(method).values())


def test_an_unknown_method_is_a_usage_error_that_names_the_known_ones() -> None:
    shown = run("nosuch")
    assert shown.exit_code == 2
    assert "mudy" in shown.stderr


def test_methods_as_json_hold_settings_with_their_descriptions() -> None:
    listed: list[dict[str, Any]] = json.loads(run("--format", "json").stdout)
    assert [method["name"] for method in listed] == list(METHODS)
    assert all(method["descriptions"].keys() == method["settings"].keys() for method in listed)
    assert [method["name"] for method in json.loads(run("yake", "--format", "json").stdout)] == ["yake"]


def test_the_service_explains_every_setting() -> None:
    listing = pytest.importorskip("mudy.server.response_schemas", reason="the server extra is not installed")
    schemas = pytest.importorskip("mudy.server.request_schemas")
    for method in listing.method_list().methods:
        assert method.descriptions == descriptions_of(method.name)
    for method in schemas.served_methods():
        shapes = schemas.settings_schema(method)["properties"]
        assert {name: shape["description"] for name, shape in shapes.items()} == descriptions_of(method)
