"""The commands that list what there is: models and languages (also to pull and remove them), methods, completions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from mudy._support.storage import dump_json
from mudy.cli import formats
from mudy.cli.console import Screen
from mudy.cli.parameters import KNOWN_MODEL
from mudy.errors import MudyError
from mudy.methods import METHODS

# -- models -----------------------------------------------------------------------------------------------------------


@click.group("models", invoke_without_command=True)
@click.option("-f", "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.pass_context
def models_command(ctx: click.Context, form: str) -> None:
    """List the known models, or pull, verify and remove them.

    A model counts as cached only if all of its bytes are as they were when it was pulled.
    """
    if ctx.invoked_subcommand is None:
        click.echo(_models_as_json() if form == "json" else _models_as_table(), nl=False)


def _models_as_json() -> str:
    from mudy import models

    rows = [
        {
            "name": model.name,
            "kind": model.kind,
            "description": model.description,
            "parameters": models.KNOWN[model.name].parameters,
            "download_bytes": model.download_bytes,
            "disk_bytes": model.disk_bytes,
            "licence": model.licence,
            "author": models.KNOWN[model.name].author,
            "packages": [package.requirement for package in model.packages],
            "cached": model.cached,
            "path": str(model.path),
        }
        for model in models.status("quick hash")
    ]
    return dump_json(rows, indent=2) + "\n"


def _models_as_table() -> str:
    from mudy import models

    known = models.status("quick hash")
    rows = [
        (
            m.name,
            m.kind,
            f"{models.KNOWN[m.name].parameters / 1e6:.0f} M",
            f"{m.download_bytes / 1e6:,.0f} MB",
            f"{m.disk_bytes / 1e6:,.0f} MB",
            m.licence,
            "yes" if m.cached else "damaged" if m.path.exists() else "no",
        )
        for m in known
    ]
    head = ("Name", "Kind", "Size", "Download", "On disk", "Licence", "Cached")
    right = {"Size", "Download", "On disk"}
    about = [f"{m.name}: {m.description}; from the Python package {m.packages[0].requirement}" for m in known]
    return (
        formats.text_table(head, rows, right, sys.stdout.isatty())
        + "\n"
        + "".join(f"{line}\n" for line in about)
        + f"\nKept in {models.home() / 'models'}/NAME; MUDY_HOME moves them.\n"
        + "Local folders and ids on the Hugging Face hub are accepted as models too.\n"
    )


@models_command.command("pull")
@click.argument("names", nargs=-1, required=True, **KNOWN_MODEL, metavar="NAME...")
@click.option("--force", is_flag=True, help="Fetch even what is in the cache.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def pull_model_command(names: tuple[str, ...], force: bool, quiet: bool) -> None:
    """Fetch models into the cache; prints where each one is."""
    from mudy import models

    _pull(models.pull, names, force, quiet)


def _pull(pull: Callable[..., Any], names: Sequence[str], force: bool, quiet: bool) -> None:
    """Fetch all that can be fetched; exit code 1 if something cannot."""
    failed = False
    with Screen(quiet) as screen:
        for name in names:
            try:
                path = pull(name, force=force, report=screen.report)
            except MudyError as error:
                failed = True
                screen.error(str(error))
            else:
                with screen.paused():
                    click.echo(f"{name}\t{path}")
    if failed:
        click.get_current_context().exit(1)


@models_command.command("verify")
@click.argument("names", nargs=-1, **KNOWN_MODEL, metavar="[NAME]...")
@click.pass_context
def verify_model_command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Hash every file of cached models; exit code 1 if one is damaged."""
    from mudy import models

    wanted = names or [model.name for model in models.status() if model.path.exists()]
    if not wanted:
        click.echo("No model is in the cache.", err=True)
    failed = False
    for name in wanted:
        problem = models.verify(name)
        failed = failed or problem is not None
        click.echo(f"{name}\t{problem or 'good'}")
    if failed:
        click.echo("To repair: mudy models pull --force NAME", err=True)
        ctx.exit(1)


@models_command.command("remove")
@click.argument("names", nargs=-1, required=True, **KNOWN_MODEL, metavar="NAME...")
def remove_model_command(names: tuple[str, ...]) -> None:
    """Delete models from the cache."""
    from mudy import models

    for name in names:
        click.echo(f"Removed {name}." if models.remove(name) else f"{name} was not in the cache.", err=True)


# -- languages --------------------------------------------------------------------------------------------------------


@click.group("languages", invoke_without_command=True)
@click.option("-f", "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.pass_context
def languages_command(ctx: click.Context, form: str) -> None:
    """List the languages that have a checked tagger, or pull and remove taggers."""
    if ctx.invoked_subcommand is None:
        click.echo(_languages_as_json() if form == "json" else _languages_as_table(), nl=False)


def _languages_as_json() -> str:
    from mudy.reading import languages

    fields = ("code", "name", "package", "version", "licence", "download_bytes", "state")
    rows = [
        {field: getattr(tagger, field) for field in fields} | {"path": tagger.path and str(tagger.path)}
        for tagger in languages.tagger_statuses()
    ]
    return dump_json(rows, indent=2) + "\n"


def _languages_as_table() -> str:
    from mudy.reading import languages

    rows = [
        (t.code, t.name, t.package, t.version, t.licence, f"{t.download_bytes / 1e6:,.0f} MB", t.state)
        for t in languages.tagger_statuses()
    ]
    head = ("Code", "Language", "Package", "Version", "Licence", "Download", "State")
    return (
        formats.text_table(head, rows, {"Download"}, sys.stdout.isatty())
        + "\nA text is read by the tagger of its language where it is installed or was pulled, by `mudy languages pull "
        "CODE`.\nTexts in other languages are read by stop words, or by a segmenter (extra `languages`).\n"
    )


@languages_command.command("pull")
@click.argument("codes", nargs=-1, required=True, metavar="CODE...")
@click.option("--force", is_flag=True, help="Fetch even what is in the cache.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def pull_tagger_command(codes: tuple[str, ...], force: bool, quiet: bool) -> None:
    """Fetch the taggers of languages into the cache; prints where each one is."""
    from mudy.reading import languages

    _pull(languages.pull_tagger, codes, force, quiet)


@languages_command.command("remove")
@click.argument("codes", nargs=-1, required=True, metavar="CODE...")
def remove_tagger_command(codes: tuple[str, ...]) -> None:
    """Delete the taggers of languages from the cache."""
    from mudy.reading import languages

    for code in codes:
        click.echo(f"Removed {code}." if languages.remove_tagger(code) else f"{code} was not in the cache.", err=True)


# -- methods and completion -------------------------------------------------------------------------------------------


@click.command("methods")
@click.argument("names", nargs=-1, type=click.Choice(list(METHODS)), metavar="[NAME]...")
@click.option("-f", "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def methods_command(names: tuple[str, ...], form: str) -> None:
    """List the methods; with names, explain every setting of these."""
    described = map(_described, names or METHODS)
    if form == "json":
        click.echo(dump_json(list(described), indent=2))
    elif names:
        click.echo("\n".join(map(_explained, described)))
        click.echo("Shown are the defaults; for models on which others were measured to be better, those are used.")
    else:
        widest = max(map(len, METHODS))
        for method in described:
            click.echo(f"{method['name']:{widest}}  {method['description']}")
        click.echo("\nThe settings of a method, each explained: mudy methods NAME")


def _described(name: str) -> dict[str, Any]:
    from mudy.methods import description, settings_of

    return description(name) | {"settings": settings_of(name)}  # with tuples as they are typed


def _explained(method: dict[str, Any]) -> str:
    """A method with its presets and, one per line, its settings."""
    typed = {name: f"--set {name}={_as_typed(default)}" for name, default in method["settings"].items()}
    widest = max(map(len, typed.values()))
    lines = [f"{method['name']}: {method['description']}"]
    if method["presets"]:
        lines.append(f"  --preset {'|'.join(method['presets'])}")
    lines += [f"  {setting:{widest}}  {method['descriptions'][name]}" for name, setting in typed.items()]
    return "\n".join(lines) + "\n"


def _as_typed(value: Any) -> str:
    """A default as one would type it after --set."""
    if isinstance(value, tuple):
        return ",".join(map(_as_typed, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


_COMPLETION_SETUP = """
\b
Set it up:
  bash  echo 'eval "$(mudy completion bash)"' >> ~/.bashrc
  zsh   echo 'eval "$(mudy completion zsh)"' >> ~/.zshrc
  fish  mudy completion fish > ~/.config/fish/completions/mudy.fish
"""


@click.command("completion", epilog=_COMPLETION_SETUP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and names."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "mudy", "_MUDY_COMPLETE").source())
