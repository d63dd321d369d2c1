"""ES modules -> one classic script, for a report that is a single file and opens from any folder.

Each module becomes a function that returns its exports, in the order in which they need each other. Only the forms of
`import` and `export` that the scripts of this project use are known; anything else raises.
"""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath

_NAMES = r"\s*[\w$]+(?:\s*,\s*[\w$]+)*\s*,?\s*"
_IMPORT = re.compile(rf'^import \{{(?P<names>{_NAMES})\}} from "(?P<path>\.{{1,2}}/[\w./-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|class|function)\b\*? ?(?P<name>[\w$]+))", re.MULTILINE)
_EMPTY_EXPORT = re.compile(r"^export \{\};\n", re.MULTILINE)
_OTHER = re.compile(r"^[ \t]*(?:import|export)\b.*", re.MULTILINE)


def bundle(folder: Traversable, entry: str) -> str:
    """The script `entry` of a folder with all that it imports; it leaves no name behind."""
    modules: dict[str, str] = {}  # by path, after those that they import
    _add(folder, entry, modules, ())
    return '(() => {\n"use strict";\nconst modules = {};\n' + "".join(modules.values()) + "})();\n"


def _add(folder: Traversable, path: str, modules: dict[str, str], importing: tuple[str, ...]) -> None:
    if path in modules:
        return
    if path in importing:
        raise ValueError(f"Modules import each other in a circle: {' -> '.join((*importing, path))}")
    source = folder.joinpath(*path.split("/")).read_text(encoding="utf-8")
    for match in _IMPORT.finditer(source):
        _add(folder, _resolved(path, match["path"]), modules, (*importing, path))
    modules[path] = _as_function(path, source)


def _resolved(path: str, imported: str) -> str:
    return normpath(join(dirname(path), imported))


def _as_function(path: str, source: str) -> str:
    def constants(match: re.Match[str]) -> str:
        return f'const {{{match["names"]}}} = modules["{_resolved(path, match["path"])}"];\n'

    exports = [match["name"] for match in _EXPORT.finditer(source)]
    body = _IMPORT.sub(constants, source)
    body = _EMPTY_EXPORT.sub("", _EXPORT.sub("", body))
    if unknown := _OTHER.search(body):
        raise ValueError(f"{path} has an import or export that a report cannot hold: {unknown[0].strip()}")
    return f'modules["{path}"] = (() => {{\n{body}return {{{", ".join(exports)}}};\n}})();\n'
