"""The gold of documents that come in packages, and taking documents out of packages."""

import bz2
import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from experiments.documents.packages.__main__ import GOLD, Download, Key, fetch

FIELDS = ["id", "file", "genre", "language", "words", "source", "licence", "package", "sha256", "main", "good", "junk"]
OWN = GOLD.parents[1] / "gold.jsonl"

ROWS: list[dict[str, Any]] = [json.loads(line) for line in GOLD.read_text("utf-8").splitlines()]
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["id"]))


def test_documents_are_sorted_and_occur_once() -> None:
    ids = [row["id"] for row in ROWS]
    assert ids == sorted(set(ids))
    assert len({row["file"] for row in ROWS}) == len({row["sha256"] for row in ROWS}) == len(ROWS)
    assert not set(ids) & {json.loads(line)["id"] for line in OWN.read_text("utf-8").splitlines()}


@every_row
def test_rows_are_complete_and_pin_their_source(row: dict[str, Any]) -> None:
    assert list(row) == FIELDS
    assert Path(row["file"]).name == row["file"]
    assert all(row[field] for field in FIELDS)
    assert {"registry", "name", "version", "path"} <= set(row["package"])
    assert set(row["package"]) <= {"registry", "name", "version", "path", "lines", "template", "encoding"}
    assert row["package"]["registry"] in {"debian", "pypi", "npm"}
    assert re.fullmatch(r"[0-9a-f]{64}", row["sha256"])


@every_row
def test_a_name_stands_for_one_subject_only(row: dict[str, Any]) -> None:
    assert 4 <= len(row["main"]) <= 8
    subjects = [{name.casefold() for name in subject} for subject in row["main"] + row["good"]]
    assert sum(map(len, subjects)) == len(set().union(*subjects))


def row_of(file: str, content: bytes, **package: Any) -> dict[str, Any]:
    package = {"registry": "npm", "name": "kettle", "version": "1.0", **package}
    return {"id": file, "file": file, "package": package, "sha256": hashlib.sha256(content).hexdigest()}


def tar_of(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def zip_of(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def serving(file: str, content: bytes) -> Download:
    """A download of one package."""

    def download(_: Key, folder: Path) -> None:
        (folder / file).write_bytes(content)

    return download


def unavailable(package: Key, _: Path) -> None:
    raise LookupError(f"no {package[1]} {package[2]}")


def test_a_file_of_an_npm_package_is_fetched_once(tmp_path: Path) -> None:
    row = row_of("tea.md", b"# Tea\n", path="package/README.md")
    package = tar_of({"package/README.md": b"# Tea\n", "package/example.zip": zip_of({"a": b"a"})})
    assert fetch([row], tmp_path, serving("kettle-1.0.tgz", package)) == 1
    assert (tmp_path / "files" / "tea.md").read_bytes() == b"# Tea\n"
    assert [json.loads(line) for line in (tmp_path / "gold.jsonl").read_text("utf-8").splitlines()] == [row]
    assert fetch([row], tmp_path, unavailable) == 1


@pytest.mark.parametrize(
    ("file", "pack", "path"),
    [("kettle-1.0.tar.gz", tar_of, "kettle-1.0/tea.txt"), ("kettle-1.0-py3-none-any.whl", zip_of, "kettle/tea.txt")],
)
def test_files_of_sources_and_wheels_are_fetched(tmp_path: Path, file: str, pack: Any, path: str) -> None:
    packages = []

    def download(package: Key, folder: Path) -> None:
        packages.append(package)
        (folder / file).write_bytes(pack({path: b"Tea"}))

    assert fetch([row_of("tea.txt", b"Tea", registry="pypi", path=path)], tmp_path, download) == 1
    assert packages == [("pypi", "kettle", "1.0", file.endswith(".gz"))]


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_compressed_files_of_a_debian_package_are_unpacked(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(
        "Package: kettle\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@example.org>\nDescription: tea\n"
    )
    (tree / "tea.txt.gz").write_bytes(gzip.compress(b"Tea"))
    (tree / "tea.bz2").write_bytes(bz2.compress(b"More tea"))
    subprocess.run(["dpkg-deb", "--build", tree, tmp_path / "kettle.deb"], check=True, capture_output=True)
    rows = [
        row_of("tea.txt", b"Tea", registry="debian", path="tea.txt.gz"),
        row_of("more.txt", b"More tea", registry="debian", path="tea.bz2"),
    ]
    assert fetch(rows, tmp_path / "out", serving("kettle.deb", (tmp_path / "kettle.deb").read_bytes())) == 2


@pytest.mark.parametrize(
    ("content", "package"),
    [
        (b"b\nc\n", {"path": "lines.txt", "lines": [[2, 3]]}),
        (b"a\nc\n", {"path": "lines.txt", "lines": [[1, 1], [3, 3]]}),
        (b"# Tea\n\nHot.\n", {"path": "data.json", "template": "# {data[0][title]}\n\n{data[0][text]}\n"}),
        (b"Hot,\nstrong", {"path": "in.zip!data.csv", "template": "{data[0][text]}"}),
        (b"Hot", {"path": "data.tab", "template": "{data[0][text]}"}),
        ("茶\n".encode(), {"path": "ja.txt", "encoding": "euc-jp"}),
    ],
)
def test_parts_of_files_are_taken_as_the_row_says(tmp_path: Path, content: bytes, package: dict[str, Any]) -> None:
    files = {
        "lines.txt": b"a\nb\nc\n",
        "data.json": b'[{"title": "Tea", "text": "Hot."}]',
        "in.zip": zip_of({"data.csv": b'title,text\nTea,"Hot,\nstrong"\n'}),
        "data.tab": b"title\ttext\nTea\tHot\n",
        "ja.txt": "茶\r\n".encode("euc-jp"),
    }
    assert fetch([row_of("tea.txt", content, **package)], tmp_path, serving("kettle.tgz", tar_of(files))) == 1


def test_what_is_missing_is_said_and_the_rest_fetched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        row_of("tea.txt", b"Tea", path="tea.txt"),
        row_of("new.txt", b"Old", path="new.txt"),
        row_of("gone.txt", b"Gone", path="gone.txt"),
    ]
    assert fetch(rows, tmp_path / "a", serving("kettle.tgz", tar_of({"tea.txt": b"Tea", "new.txt": b"New"}))) == 1
    output = capsys.readouterr().out
    assert "new.txt: the text differs" in output
    assert "gone.txt: not in the package" in output
    assert fetch(rows, tmp_path / "b", unavailable) == 0
    assert "unavailable: no kettle 1.0" in capsys.readouterr().out
