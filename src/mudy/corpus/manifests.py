"""Manifests: what a run of `mudy corpus` was asked for, by which its files are known to be ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mudy._support.storage import atomic_output
from mudy.errors import InputError

MANIFEST_NAME = "manifest.json"
_MADE_BY = "mudy corpus"
_FORMAT = 2  # 1 hashed samples of the input, and listed no sizes
_FORMAT_1_ENTRIES = {
    "input",
    "columns",
    "extractor",
    "options",
    "model",
    "version",
}  # entries of format 1, which names no maker

Manifest = dict[str, Any]


def read_manifest(path: Path) -> Manifest | None:
    """A manifest of ours, in this format or an earlier one; None for whatever else has its name, or for nothing."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        ours = (
            manifest["made_by"] == _MADE_BY
            if manifest["format"] != 1
            else manifest["asked"].keys() == _FORMAT_1_ENTRIES
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return manifest if ours and isinstance(manifest["asked"], dict) else None


def read_summary(path: Path) -> Manifest | None:
    """A manifest of ours that says what came of a run."""
    manifest = read_manifest(path)
    found = manifest.get("found") if manifest is not None else None
    good = isinstance(found, dict) and all(isinstance(found.get(name), int) for name in ("rows", "failed", "parts"))
    return manifest if good else None


def check_format(path: Path, manifest: Manifest) -> None:
    """InputError if a run was written by a version that does otherwise."""
    number = manifest["format"]
    if number != _FORMAT:
        age, restart = ("an earlier", ", or pass --restart to begin anew") if number == 1 else ("another", "")
        raise InputError(
            f"{path} belongs to {age} version of mudy (format {number}, here {_FORMAT}), which this one cannot "
            f"continue. Use that version, name another output{restart}."
        )


def write_manifest(path: Path, asked: Manifest, **more: Any) -> None:
    with atomic_output(path) as unfinished:
        manifest = {"format": _FORMAT, "made_by": _MADE_BY, "asked": asked, **more}
        unfinished.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
