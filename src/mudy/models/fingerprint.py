"""What tells the bytes of one model from those of another: a hash of all of them, fast enough for every start.

XXH3 reads about 9 GB a second. It finds damage and other weights under an old name; it is no proof against someone who
forges a file on purpose, which is what the sha256 of pinned packages is for.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

_CHUNK_BYTES = 1 << 20


def quick_hash(path: Path) -> str:
    """XXH3 (128 bits) of a file's content.

    Read, not mapped into memory: a mapped file that another process cuts short would end this one.
    """
    from xxhash import xxh3_128

    digest, buffer = xxh3_128(), memoryview(bytearray(_CHUNK_BYTES))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
    return str(digest.hexdigest())


def combined_hash(hashes: Mapping[str, str]) -> str:
    """One hash of a model from the names and hashes of its files, whatever their order."""
    from xxhash import xxh3_128_hexdigest

    lines = "".join(f"{name}\0{hashes[name]}\n" for name in sorted(hashes))
    return str(xxh3_128_hexdigest(lines.encode("utf-8", "surrogatepass")))


def files_of(folder: Path) -> Iterator[str]:
    """The files of a model's folder, by their paths in it; hidden ones such as .git, and our own manifest, are none."""
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in inside.parts)
        if not hidden and inside.as_posix() != "manifest.json" and path.is_file():
            yield inside.as_posix()


def folder_fingerprint(folder: Path) -> str:
    """One hash of all bytes in a model's folder: weights, settings and tokenizer."""
    return combined_hash({name: quick_hash(folder / name) for name in files_of(folder)})
