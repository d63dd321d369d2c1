"""The commands that serve: over HTTP, with a page for people, and to assistants over the Model Context Protocol."""

from typing import Any

import click

from mudy._support.extras import from_extra
from mudy._support.validation import options_of
from mudy.cli.main import Screen, cli
from mudy.cli.parameters import COUNT, on_machine, with_method, with_options
from mudy.engines import Compute
from mudy.extraction.options import Setup
from mudy.methods import Style, check_settings, model_fields
from mudy.server.config import Config

SECONDS: dict[str, Any] = {"type": click.FloatRange(0, min_open=True), "metavar": "SECONDS"}


@cli.command("serve", context_settings={"default_map": {"speed": "fast"}})
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="0 for any free port.")
@with_method
@with_options(Setup, "model", "encoder", "language", "history")
@click.option("--workers", **COUNT, default=Config.workers, help="Worker processes; each loads its own model.")
@click.option("--queue", **COUNT, default=Config.queue, help="Requests that may wait; further ones are refused (503).")
@click.option("--max-body", **COUNT, default=Config.max_body, metavar="BYTES", help="Largest request body.")
@click.option("--max-characters", **COUNT, default=Config.max_characters, help="Longest text.")
@click.option("--max-texts", **COUNT, default=Config.max_texts, help="Most texts per request.")
@click.option("--timeout", **SECONDS, default=Config.timeout, help="For a request, including its wait in the queue.")
@click.option("--body-timeout", **SECONDS, default=Config.body_timeout, help="For a request's head, and for its body.")
@click.option("--grace", **SECONDS, default=Config.grace, help="To finish accepted requests at shutdown.")
@click.option(
    "--api-key",
    envvar="MUDY_API_KEY",
    show_envvar=True,
    help="Required for all but the page and health. As an option, it is visible to other users of this machine.",
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="Accept this Host header too, as of a proxy.")
@click.option("--insecure", is_flag=True, help="Allow other machines to connect without a key.")
@on_machine
def serve_command(
    host: str,
    port: int,
    api_key: str | None,
    allow_host: tuple[str, ...],
    insecure: bool,
    method: str,
    style: Style | None,
    **others: Any,
) -> None:
    """Serve keyphrases over HTTP, with a page at / that shows where and why.

    --speed defaults to fast for every method, because people wait for the page and requests wait for each other.
    `mudy extract` defaults to exact for all methods but mudyplus, so their scores differ slightly.

    --method and --style are used for requests that name none. The model is loaded at startup and is the only language
    model; the encoder is loaded when it is first needed. Logs go to standard error, one JSON object per line, without
    texts. SIGTERM or Ctrl-C stops the service after pending requests are answered; a second one stops it at once.
    """
    with from_extra("server", "mudy serve"):
        from mudy.server import launcher
    if "chat" in model_fields(method):
        raise click.BadParameter(f"{method} needs a chat model, which is not served.", param_hint="'--method'")
    if style is not None:
        check_settings(method, {"style": style})
    if api_key is not None and not (api_key.isascii() and api_key.isprintable() and api_key and " " not in api_key):
        raise click.BadParameter("a key consists of ASCII characters without spaces.", param_hint="'--api-key'")
    try:
        local = launcher.is_loopback(host)
    except UnicodeError as error:  # of a label that is empty or too long
        raise click.BadParameter(f"{host!r} is not a host name or address.", param_hint="'--host'") from error
    if not local and api_key is None and not insecure:
        ways = "Set MUDY_API_KEY or --api-key, listen on 127.0.0.1, or pass --insecure."
        raise click.UsageError(f"{host} can be reached from other machines, and there is no key. {ways}")
    compute = Compute(**{name: others.pop(name) for name in options_of(Compute)})
    names = {"localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host, *allow_host}
    hosts = frozenset(map(str.lower, names)) if allow_host or (local and api_key is None) else None
    try:
        listening = launcher.listen(host, port)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]
        raise click.ClickException(f"Cannot listen on {host}, port {port}: {reason}. Choose another --port.") from error
    with Screen(quiet=True) as screen:
        config = Config(method, style, compute=compute, api_key=api_key, hosts=hosts, report=screen.report, **others)
        launcher.run_service(config, listening, host)


@cli.command("mcp")
@with_method
@with_options(Setup, "model", "encoder", "language", "history")
@click.option("--folder", "folders", multiple=True, metavar="FOLDER", help="Let it read documents here; repeatable.")
@on_machine
def mcp_command(folders: tuple[str, ...], **settings: Any) -> None:
    """Serve an assistant that speaks MCP, over standard input and output.

    Its tools extract keyphrases, explain a phrase and list the methods; all are read-only. With --folder it can
    also read documents there: plain text, PDF, HTML and Word, but no hidden files and nothing outside. Models are
    loaded with the first text.
    """
    from mudy.integrations.mcp import LocalBackend, OpenFolders, keyphrase_server

    keyphrase_server(LocalBackend(settings), OpenFolders.of(folders)).run("stdio")
