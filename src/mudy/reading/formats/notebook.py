"""Jupyter notebooks: Markdown cells as text, code cells as code, without their outputs."""

import json

from mudy.errors import InputError
from mudy.reading.formats.markdown import add_markdown
from mudy.reading.formats.reading import Limits, Reading, TextBuilder


def read_notebook(data: bytes, limits: Limits) -> Reading:
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is a broken notebook: not JSON ({error})") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise InputError("is a broken notebook, or one of before 2014: its JSON is not an object with cells")
    builder = TextBuilder(limits)
    for cell in filter(lambda cell: isinstance(cell, dict), cells):
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if cell.get("cell_type") == "code":
            builder.add(text, "code")
        else:
            add_markdown(builder, text)
    return builder.reading("a notebook")
