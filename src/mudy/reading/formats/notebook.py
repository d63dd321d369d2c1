"""Jupyter notebooks: Markdown cells as text, code cells as code, without their outputs."""

import json
from typing import Any

from mudy.errors import InputError
from mudy.reading.formats.markdown import add_markdown
from mudy.reading.formats.reading import Limits, Reading, TextBuilder


def read_notebook(data: bytes, limits: Limits) -> Reading:
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is a broken notebook: not JSON ({error})") from None
    builder = TextBuilder(limits)
    for cell in _cells(notebook):
        source = cell.get("source", cell.get("input", ""))
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if cell.get("cell_type") == "code":
            builder.add(text, "code")
        elif cell.get("cell_type") == "heading":  # of the third version of the format
            builder.add(text, "heading", int(cell.get("level", 1)))
        else:
            add_markdown(builder, text)
    return builder.reading("a notebook")


def _cells(notebook: Any) -> list[dict[str, Any]]:
    if not isinstance(notebook, dict):
        raise InputError("is a broken notebook: its JSON is not an object")
    sheets = [notebook, *(notebook.get("worksheets") or ())]
    return [cell for sheet in sheets for cell in sheet.get("cells") or () if isinstance(cell, dict)]
