"""The commands that list what there is: models and languages (also to pull and remove them), methods, completions."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from mudy import models
from mudy._support.storage import dump_json
from mudy.cli.main import Screen, cli, text_table
from mudy.cli.parameters import KNOWN_MODEL, Decorator, with_format, with_quiet
from mudy.errors import MudyError
from mudy.methods import METHODS, description, settings_of
from mudy.reading.languages.taggers import pull_tagger, remove_tagger, tagger_statuses


def add_cache_commands(group: click.Group, things: str, argument: Decorator, cache: Callable[[], Any]) -> None:
    """Add `pull` and `remove`; `cache` gives the functions that do so."""

    @group.command("pull", help=f"Fetch {things} into the cache, and print the path of each.")
    @argument
    @click.option("--force", is_flag=True, help="Fetch even what is in the cache.")
    @with_quiet
    @click.pass_context
    def pull_command(ctx: click.Context, names: tuple[str, ...], force: bool, quiet: bool) -> None:
        pull, _ = cache()
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
            ctx.exit(1)

    @group.command("remove", help=f"Delete {things} from the cache.")
    @argument
    def remove_command(names: tuple[str, ...]) -> None:
        _, remove = cache()
        for name in names:
            click.echo(f"Removed {name}." if remove(name) else f"{name} was not in the cache.", err=True)


@cli.group("models", invoke_without_command=True)
@with_format
@click.pass_context
def models_command(ctx: click.Context, form: str) -> None:
    """List the known models, or pull, verify and remove them.

    A model counts as cached only if all of its bytes are unchanged since it was pulled.
    """
    if ctx.invoked_subcommand is not None:
        return
    fields = ("name", "kind", "description", "parameters", "download_bytes", "disk_bytes", "licence", "author")
    listed = [
        {field: getattr(model, field) for field in fields}
        | {"packages": [package.requirement for package in model.packages]}
        | {"cached": model.cached, "path": str(model.path)}
        for model in models.status("all")
    ]
    click.echo(dump_json(listed, indent=2) if form == "json" else _model_table(listed))


def _model_table(listed: list[dict[str, Any]]) -> str:
    rows = []
    for model in listed:
        sizes = [f"{model[name] / 1e6:,.0f} MB" for name in ("download_bytes", "disk_bytes")]
        cached = "yes" if model["cached"] else "damaged" if Path(model["path"]).exists() else "no"
        first = [model["name"], model["kind"], f"{model['parameters'] / 1e6:.0f} M"]
        rows.append([*first, *sizes, model["licence"], cached])
    head = ("Name", "Kind", "Size", "Download", "On disk", "Licence", "Cached")
    about = "\n".join("{name}: {description}; from the Python package {packages[0]}".format(**m) for m in listed)
    return (
        f"{text_table(head, rows, {'Size', 'Download', 'On disk'})}\n{about}\n\n"
        f"Kept in {models.home() / 'models'}/NAME; set MUDY_HOME to keep them elsewhere.\n"
        "Local folders and ids on the Hugging Face hub are accepted as models too."
    )


@models_command.command("verify")
@click.argument("names", nargs=-1, type=KNOWN_MODEL, metavar="[NAME]...")
@click.pass_context
def verify_model_command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Hash every file of cached models; exit code 1 if one is damaged."""
    wanted = names or [model.name for model in models.status() if model.path.exists()]
    if not wanted:
        click.echo("No model is in the cache.", err=True)
    problems = {name: models.verify(name) for name in wanted}
    for name, problem in problems.items():
        click.echo(f"{name}\t{problem or 'good'}")
    if any(problems.values()):
        click.echo("To repair: mudy models pull --force NAME", err=True)
        ctx.exit(1)


_MODEL_NAMES = click.argument("names", nargs=-1, required=True, type=KNOWN_MODEL, metavar="NAME...")
add_cache_commands(models_command, "models", _MODEL_NAMES, lambda: (models.pull, models.remove))


@cli.group("languages", invoke_without_command=True)
@with_format
@click.pass_context
def languages_command(ctx: click.Context, form: str) -> None:
    """List the languages that have a checked tagger, or pull and remove taggers."""
    if ctx.invoked_subcommand is not None:
        return
    taggers = [asdict(tagger) | {"path": tagger.path and str(tagger.path)} for tagger in tagger_statuses()]
    if form == "json":
        click.echo(dump_json(taggers, indent=2))
        return
    shown = [tagger | {"download_bytes": f"{tagger['download_bytes'] / 1e6:,.0f} MB"} for tagger in taggers]
    head = ("Code", "Language", "Package", "Version", "Licence", "Download", "State")
    click.echo(text_table(head, [list(tagger.values())[:-1] for tagger in shown], {"Download"}))
    click.echo("A text is read by the tagger of its language if that is installed or pulled: mudy languages pull CODE")
    click.echo("Texts in other languages are split at stop words, or by a segmenter (extra `languages`).")


_CODES = click.argument("names", nargs=-1, required=True, metavar="CODE...")
add_cache_commands(languages_command, "taggers", _CODES, lambda: (pull_tagger, remove_tagger))


@cli.command("methods")
@click.argument("names", nargs=-1, type=click.Choice(list(METHODS)), metavar="[NAME]...")
@with_format
def methods_command(names: tuple[str, ...], form: str) -> None:
    """List the methods; with names, describe all of their settings."""
    described = (description(name) | {"settings": settings_of(name)} for name in names or METHODS)  # tuples as they are
    if form == "json":
        click.echo(dump_json(list(described), indent=2))
    elif names:
        click.echo("\n".join(map(_explained, described)))
        click.echo("These are the defaults; models for which other values were measured to be better use those.")
    else:
        widest = max(map(len, METHODS))
        for method in described:
            click.echo(f"{method['name']:{widest}}  {method['description']}")
        click.echo("\nTo describe the settings of a method: mudy methods NAME")


def _explained(method: dict[str, Any]) -> str:
    typed = {name: f"--set {name}={_as_typed(default)}" for name, default in method["settings"].items()}
    widest = max(map(len, typed.values()))
    lines = [f"{method['name']}: {method['description']}"]
    if method["presets"]:
        lines.append(f"  --preset {'|'.join(method['presets'])}")
    lines += [f"  {setting:{widest}}  {method['descriptions'][name]}" for name, setting in typed.items()]
    return "\n".join(lines) + "\n"


def _as_typed(value: Any) -> str:
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


@cli.command("completion", epilog=_COMPLETION_SETUP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print a shell script that completes commands, options and names."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "mudy", "_MUDY_COMPLETE").source())
