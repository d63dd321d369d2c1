"""The command that answers an assistant over the Model Context Protocol."""

from __future__ import annotations

from typing import Any

import click

from mudy.cli.parameters import LANGUAGE, METHOD, on_machine, with_models
from mudy.extraction.extractor import DEFAULT_METHOD


@click.command("mcp")
@click.option("-m", "--method", **METHOD, default=DEFAULT_METHOD, show_default=True, help="Where a call names none.")
@with_models
@click.option("--language", **LANGUAGE)
@click.option(
    "--folder",
    "folders",
    multiple=True,
    metavar="FOLDER",
    help="Let the assistant read the documents in this folder; may be repeated.  [default: none]",
)
@on_machine
def mcp_command(folders: tuple[str, ...], **settings: Any) -> None:
    """Answer an assistant that speaks MCP, over standard input and output.

    Its tools extract keyphrases, explain a phrase and list the methods; all of them only read. With --folder it can
    also read documents there: plain text, PDF, HTML and Word, but no hidden files and nothing outside. Models are
    loaded when the first text comes.
    """
    from mudy.integrations import mcp

    mcp.run_stdio(settings, folders)
