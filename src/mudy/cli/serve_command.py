"""The commands that serve: over HTTP, with a page for people, and to assistants over the Model Context Protocol."""

from __future__ import annotations

from typing import Any

import click

from mudy._support.extras import from_extra
from mudy._support.validation import options_of
from mudy.cli.console import Screen
from mudy.cli.parameters import on_machine, with_options
from mudy.engines.compute import Compute
from mudy.extraction.options import Setup
from mudy.methods import model_fields
from mudy.server.config import Config

SECONDS: dict[str, Any] = {"type": click.FloatRange(0, min_open=True), "metavar": "SECONDS", "show_default": True}
COUNT: dict[str, Any] = {"type": click.IntRange(1), "show_default": True}


@click.command("serve", context_settings={"default_map": {"speed": "fast"}})
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 for any free one.")
@with_options(Setup, "method", "model", "encoder", "language")
@click.option("--workers", **COUNT, default=Config.workers, help="Worker processes; each loads its own model.")
@click.option("--queue", **COUNT, default=Config.queue, help="Requests that may wait; further ones are refused (503).")
@click.option("--max-body", **COUNT, default=Config.max_body, metavar="BYTES", help="The largest body of a request.")
@click.option("--max-characters", **COUNT, default=Config.max_characters, help="The longest text.")
@click.option("--max-texts", **COUNT, default=Config.max_texts, help="The most texts in a request.")
@click.option("--timeout", **SECONDS, default=Config.timeout, help="For a request, including its wait in the queue.")
@click.option(
    "--body-timeout",
    **SECONDS,
    default=Config.body_timeout,
    help="For the head of a request to arrive, and as long for its body.",
)
@click.option("--grace", **SECONDS, default=Config.grace, help="To finish admitted requests at shutdown.")
@click.option(
    "--api-key",
    envvar="MUDY_API_KEY",
    show_envvar=True,
    help="Needed for all but the page and health. Others on this machine can see it if it is given as an option.",
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another name in Host headers, as of a proxy.")
@click.option("--insecure", is_flag=True, help="Allow to listen beyond this machine without a key.")
@on_machine
def serve_command(
    host: str,
    port: int,
    api_key: str | None,
    allow_host: tuple[str, ...],
    insecure: bool,
    method: str,
    **others: Any,
) -> None:
    """Serve keyphrases over HTTP, with a page at / that shows where and why.

    --speed is fast here for every method unless you say otherwise: people wait for the page, and requests for one
    another. `mudy extract` is exact for all methods but mudyplus, so their scores differ a little.

    --method is used where a request names none. Its model is loaded at the start, and stays the only language model;
    the encoder is loaded when it is first needed. Logs go to standard error, one JSON object per line, without texts.
    SIGTERM or Ctrl-C ends the service when requests under way are answered; a second one ends it at once.
    """
    with from_extra("server", "mudy serve"):
        from mudy.server import launcher
    if "chat" in model_fields(method):
        raise click.BadParameter(f"{method} needs a chat model, which is not served.", param_hint="'--method'")
    _check_key(api_key)
    try:
        local = launcher.is_loopback(host)
    except UnicodeError as error:  # of a label that is empty or too long
        raise click.BadParameter(f"{host!r} is no name or address of a machine.", param_hint="'--host'") from error
    if not local and api_key is None and not insecure:
        raise click.UsageError(
            f"{host} can be reached from other machines, and there is no key. Give one as MUDY_API_KEY or --api-key, "
            "listen on 127.0.0.1, or say --insecure."
        )
    compute = Compute(**{name: others.pop(name) for name in options_of(Compute)})
    hosts = _hosts(host, allow_host) if allow_host or (local and api_key is None) else None
    try:
        listening = launcher.listen(host, port)
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.ClickException(f"Cannot listen on {host}, port {port}: {reason}. Choose another --port.") from error
    with Screen(quiet=True) as screen:
        launcher.run_service(
            Config(method=method, compute=compute, api_key=api_key, hosts=hosts, report=screen.report, **others),
            listening,
            host,
        )


def _check_key(key: str | None) -> None:
    if key is not None and not (key.isascii() and key.isprintable() and key.strip() and " " not in key):
        raise click.BadParameter("a key consists of ASCII characters without spaces.", param_hint="'--api-key'")


def _hosts(host: str, more: tuple[str, ...]) -> frozenset[str]:
    """The names by which a service may be called."""
    own = f"[{host}]" if ":" in host else host
    return frozenset({"localhost", "127.0.0.1", "[::1]", *(name.lower() for name in (own, *more))})


@click.command("mcp")
@with_options(Setup, "method", "model", "encoder", "language")
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
