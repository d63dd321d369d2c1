"""Facts about the files of a release: image, workflows, extras, recipe, registries, citation, version, changelog."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from mudy.cli.main import cli
from mudy.reading.languages import SEGMENTERS
from tools.recipe import RECIPE, needed, written

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, with their arguments."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, " ".join(rest.split())) for name, _, rest in (line.partition(" ") for line in lines)]


def of_the_image() -> list[tuple[str, str]]:
    """The instructions of the last stage, which is the image."""
    found = instructions()
    last = max(place for place, (name, _) in enumerate(found) if name == "FROM")
    return found[last:]


def test_the_image_runs_as_a_user_without_rights() -> None:
    names = [name for name, _ in of_the_image()]
    users = [argument for name, argument in of_the_image() if name == "USER"]
    assert len(users) == 1
    assert users[0].isdigit()
    assert int(users[0]) > 0
    assert names.index("USER") < names.index("CMD")
    assert f"--uid {users[0]}" in " ".join(argument for name, argument in of_the_image() if name == "RUN")


def test_the_image_has_its_models_inside_and_asks_no_network() -> None:
    built = " ".join(argument for name, argument in instructions() if name == "RUN")
    assert "mudy models pull gemma3-270m minilm-l6 && mudy extract" in built  # which also writes the 8-bit weights
    image = dict(word.split("=", 1) for name, line in of_the_image() if name == "ENV" for word in shlex.split(line))
    assert image["MUDY_OFFLINE"] == "1"
    copied = [argument.split()[1:] for name, argument in of_the_image() if name == "COPY"]
    assert [image["MUDY_HOME"], image["MUDY_HOME"]] in copied


def test_the_image_is_installed_by_hash() -> None:
    installs = [line for name, line in instructions() if name == "RUN" and "--requirement" in line]
    assert installs == ["pip install --require-hashes --no-deps --requirement lock/run.txt"]


def test_the_image_tells_its_health_where_it_listens() -> None:
    (health,) = (argument for name, argument in of_the_image() if name == "HEALTHCHECK")
    (command,) = (argument for name, argument in of_the_image() if name == "CMD")
    (port,) = (argument for name, argument in of_the_image() if name == "EXPOSE")
    assert f"http://127.0.0.1:{port}/healthz" in health
    assert f'"--host", "0.0.0.0", "--port", "{port}"' in command


def test_everything_that_is_copied_into_the_image_exists_and_is_not_ignored() -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copies = [shlex.split(line)[:-1] for name, line in instructions() if name == "COPY" and "--from" not in line]
    sources = [source for copied in copies for source in copied]
    assert sorted(sources) == sorted(allowed)
    assert [source for source in sources if not (ROOT / source).exists()] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_commit(path: Path) -> None:
    used = re.findall(r"uses: *(\S+) *(.*)", path.read_text(encoding="utf-8"))
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action)
        assert re.fullmatch(r"# v\d+\.\d+\.\d+", comment)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_job_ends_in_time_and_may_only_read_unless_it_says_so(path: Path) -> None:
    workflow = parsed(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        assert set(job.get("permissions", {}).items()) <= {("id-token", "write")}


def test_publishing_needs_no_token_and_waits_for_the_build() -> None:
    workflow = parsed(ROOT / ".github" / "workflows" / "release.yml")
    publish = workflow["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML reads `on` as true


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_an_issue_form_has_fields_with_labels_and_unique_ids(path: Path) -> None:
    form = parsed(path)
    assert {"name", "description", "labels", "body"} == form.keys()
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    assert all(field["type"] in ("checkboxes", "input", "textarea") for field in form["body"])
    assert all(field["attributes"]["label"] for field in form["body"])
    assert any(field.get("validations", {}).get("required") for field in form["body"])


EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]


def named_extras(file: Path) -> set[str]:
    """The extras that a module tells users to install."""
    calls = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    named = [call for call in calls if getattr(call.func, "id", "") in ("from_extra", "missing_extra")]
    return {call.args[0].value for call in named if isinstance(call.args[0], ast.Constant)}  # type: ignore[misc]


def brought_by(extra: str) -> set[str]:
    """An extra with those that it brings."""
    others = [re.fullmatch(r"mudy\[(.+)\]", requirement) for requirement in EXTRAS[extra]]
    return {extra}.union(*(brought_by(name) for match in others if match for name in match[1].split(",")))


def test_every_extra_that_an_error_names_exists_and_all_has_those_of_commands() -> None:
    package = ROOT / "src" / "mudy"
    modules = {file: named_extras(file) for file in package.rglob("*.py")}
    tools = {file.stem for file in (package / "integrations").glob("*.py")}
    for_tools = {file for file in modules if file.parent.name == "integrations" and file.stem not in cli.commands}
    assert set().union(*modules.values(), SEGMENTERS) <= EXTRAS.keys()
    of_commands = set(SEGMENTERS).union(*(extras for file, extras in modules.items() if file not in for_tools))
    assert {"corpus", "mcp", "readers", "server", "torch", "zh"} <= of_commands
    assert of_commands <= brought_by("all")
    assert not brought_by("all") & (tools - cli.commands.keys() | {"dev", "docs", "integrations"})


def test_the_mcp_registry_is_told_of_a_command_and_the_package_names_its_entry() -> None:
    entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"io\.github\.[\w-]+/mudy", entry["name"])
    assert (ROOT / "README.md").read_text(encoding="utf-8").endswith(f"<!-- mcp-name: {entry['name']} -->\n")
    assert len(entry["description"]) <= 100  # the registry's limit
    (package,) = entry["packages"]
    assert (package["identifier"], package["version"]) == (PROJECT["project"]["name"], entry["version"])
    command, *options = package["packageArguments"]
    known = {name for parameter in cli.commands[command["value"]].params for name in parameter.opts}
    assert {option["name"] for option in options} <= known
    (extras,) = re.findall(r"mudy\[(.+)\]", package["runtimeArguments"][0]["value"])
    assert set(extras.split(",")) <= EXTRAS.keys()


@pytest.mark.skipif(shutil.which("bash") is None or sys.platform != "linux", reason="bash and GNU sed are needed")
def test_the_readme_on_the_index_has_absolute_links_and_the_version_stays_the_tags(repository: Path) -> None:
    (step,) = (
        step["run"]
        for step in parsed(ROOT / ".github" / "workflows" / "release.yml")["jobs"]["build"]["steps"]
        if "links absolute" in step.get("name", "")
    )
    git(repository, "init")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "a")
    git(repository, "tag", "v1.2.3")
    environment = {**os.environ, "GITHUB_REPOSITORY": "a/mudy", "GITHUB_REF_NAME": "v1.2.3"}
    subprocess.run(["bash", "-e", "-c", step], cwd=repository, env=environment, check=True)
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert "](https://raw.githubusercontent.com/a/mudy/v1.2.3/docs/keyphrases.png)" in readme
    assert "](https://github.com/a/mudy/blob/v1.2.3/docs/quickstart.md)" in readme
    assert [link for link in re.findall(r"\]\(([^)]+)\)", readme) if not link.startswith("https://")] == []
    assert version_of(repository) == "1.2.3"
    shutil.rmtree(repository / ".git")


def test_the_entry_of_the_mcp_registry_has_the_newest_version_of_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)[0]
    assert json.loads((ROOT / "server.json").read_text(encoding="utf-8"))["version"] == newest


def test_a_space_is_configured_as_its_app_listens_and_installs_extras_that_exist() -> None:
    _, front, _ = (ROOT / "space" / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    settings = yaml.safe_load(front)
    assert settings["sdk"] == "docker"
    assert f'"PORT", "{settings["app_port"]}"' in (ROOT / "space" / "app.py").read_text(encoding="utf-8")
    assert len(settings["short_description"]) <= 60  # the limit of Spaces
    (extras,) = re.findall(r"^mudy\[(.+)\]", (ROOT / "space" / "requirements.txt").read_text(encoding="utf-8"))
    assert set(extras.split(",")) <= EXTRAS.keys()


def test_the_recipe_needs_what_the_package_needs() -> None:
    recipe = RECIPE.read_text(encoding="utf-8")
    assert written(recipe) == recipe, "run python -m tools.recipe"
    assert set(needed()) < set(parsed(RECIPE)["requirements"]["run"])
    host = {line.split()[0] for line in parsed(RECIPE)["requirements"]["host"]}
    assert {re.split(r"[>=]", line)[0] for line in PROJECT["build-system"]["requires"]} < host


def test_the_recipe_has_the_commands_of_the_package() -> None:
    assert parsed(RECIPE)["build"]["python"]["entry_points"] == [
        f"{name} = {target}" for name, target in PROJECT["project"]["scripts"].items()
    ]


def test_the_citation_names_the_software_and_the_paper() -> None:
    citation = parsed(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == PROJECT["project"]["license"]
    assert [author["name"] for author in citation["authors"]] == [a["name"] for a in PROJECT["project"]["authors"]]
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Kang", "Yoon"]
    assert paper["year"] == 2026


def test_the_changelog_is_in_the_usual_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.startswith("# Changelog\n")
    versions = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", version) for version in versions[1:])
    kinds = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert kinds


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repository that takes its version as ours does."""
    pytest.importorskip("hatch_vcs")
    if shutil.which("git") is None:
        pytest.skip("git is needed")
    folder = tmp_path_factory.mktemp("repository")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "src" / "mudy").mkdir(parents=True)
    (folder / "src" / "mudy" / "__init__.py").touch()
    return folder


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def version_of(folder: Path, **environment: str) -> str:
    """The version that a build would have."""
    code = "from hatchling.metadata.core import ProjectMetadata; from hatchling.plugin.manager import PluginManager; "
    code += "print(ProjectMetadata('.', PluginManager()).version)"
    own = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_image_has_the_version_that_it_is_given_and_one_if_it_is_given_none(repository: Path) -> None:
    (variable,) = re.findall(r'(\w+)="\$VERSION"', (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    (default,) = (argument.partition("=")[2] for name, argument in instructions() if name == "ARG")
    assert version_of(repository, **{variable: "0.2.0"}) == "0.2.0"
    assert version_of(repository, **{variable: default}) == default


def test_the_version_is_that_of_the_tag_and_there_is_one_without_tags_and_without_git(repository: Path) -> None:
    assert version_of(repository) == "0.1.0.dev0"
    git(repository, "init", "--quiet")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "one")
    assert re.fullmatch(r"0\.1\.(0\.)?dev\d+\+g[0-9a-f]+", version_of(repository))
    git(repository, "tag", "v1.2.0")
    assert version_of(repository) == "1.2.0"
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "two")
    assert re.fullmatch(r"1\.2\.1\.dev1\+g[0-9a-f]+", version_of(repository))
