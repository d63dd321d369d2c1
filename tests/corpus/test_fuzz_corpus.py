"""Tables with damaged bytes: never a crash, and never fewer rows than lines without an error that says so.

`MUDY_FUZZ_EXAMPLES=20000 pytest tests/corpus/test_fuzz_corpus.py` tries more of them; a failure names its seed.
"""

import csv
import gzip
import io
import os
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
import zstandard
from pyarrow import parquet

from mudy.corpus import Columns
from mudy.corpus.row_sources import File
from mudy.corpus.rows import InputRow
from tests.corpora import json_lines, texts

EXAMPLES = int(os.environ.get("MUDY_FUZZ_EXAMPLES", "150"))  # of each kind
ODD = [b"\0", b"\n", b"\r", b"\r\n", b'"', b'""', b",", b"\t", b"\xff", b"\xed\xa0\x80", b"{", b"[" * 3000, b"\\u0000"]


def jsonl(some: list[str]) -> bytes:
    return json_lines(some)


def delimited(some: list[str], delimiter: str = ",") -> bytes:
    stream = io.StringIO(newline="")
    table = csv.writer(stream, delimiter=delimiter)
    table.writerows([["id", "text"], *([str(i), f'{text} "so",\nit ends'] for i, text in enumerate(some))])
    return stream.getvalue().encode()


def frames(data: bytes) -> bytes:
    half = len(data) // 2
    return zstandard.compress(data[:half]) + zstandard.compress(data[half:])


def arrow(some: list[str]) -> bytes:
    stream = io.BytesIO()
    table = pyarrow.table({"id": list(range(len(some))), "text": some, "more": [[1.5]] * len(some)})
    parquet.write_table(table, stream, row_group_size=7)
    return stream.getvalue()


KINDS: dict[str, Callable[[list[str]], bytes]] = {
    "a.jsonl": jsonl,
    "a.jsonl.gz": lambda some: gzip.compress(jsonl(some)),
    "a.jsonl.zst": lambda some: frames(jsonl(some)),
    "a.csv": delimited,
    "a.tsv": lambda some: delimited(some, "\t"),
    "a.csv.gz": lambda some: gzip.compress(delimited(some)),
    "a.csv.zst": lambda some: frames(delimited(some)),
    "a.parquet": arrow,
}


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, left out, put in, doubled, or cut off."""
    for _ in range(chance.choice((1, 1, 2, 5))):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((0, 1, 4, 50, 500)))
        piece = chance.choice([
            b"",
            chance.choice(ODD),
            bytes(byte ^ (1 << chance.randrange(8)) for byte in data[start:end]),
            data[start:end] * 2,
            chance.randbytes(end - start),
        ])  # fmt: skip
        data = data[:start] + piece + (data[end:] if chance.random() < 0.9 else b"")
    return data


def plain(name: str, data: bytes) -> bytes | None:
    """The bytes that a file holds, unpacked as a whole; None where that cannot be."""
    if not data and name.endswith((".gz", ".zst")):
        return None
    try:
        if name.endswith(".gz"):
            return gzip.decompress(data)
        if name.endswith(".zst"):
            return whole_frames(data)
    except Exception:  # of whatever kind: it is broken
        return None
    return data


def whole_frames(data: bytes) -> bytes | None:
    unpacked = b""
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        unpacked += frame.decompress(data)
        if not frame.eof:
            return None
        data = frame.unused_data
    return unpacked


def counted(name: str, data: bytes) -> int | None:
    """How many rows a file holds; None where it cannot be read to its end."""
    if name.endswith(".parquet"):
        return int(parquet.ParquetFile(io.BytesIO(data)).metadata.num_rows)
    content = plain(name, data)
    if content is None:
        return None
    if ".jsonl" in name:
        return sum(bool(line.strip()) for line in content.split(b"\n"))
    if b'"' in content:  # a cell may hold line ends, so that only a reader can count
        text = io.StringIO(content.decode("utf-8-sig", errors="surrogateescape"), newline="")
        lines = csv.reader(text, delimiter="\t" if ".tsv" in name else ",", strict=True)
        return max(0, sum(bool(cells) for cells in lines) - 1)
    return max(0, sum(bool(line) for line in content.replace(b"\r", b"\n").split(b"\n")) - 1)


@pytest.mark.parametrize("name", KINDS)
def test_damaged_bytes_lose_no_row_in_silence(tmp_path: Path, name: str) -> None:
    data = KINDS[name](texts(25, longest=20))
    path = tmp_path / name
    for seed in range(EXAMPLES):
        mutant = damaged(data, random.Random(f"{name} {seed}"))
        path.write_bytes(mutant)
        found = list(File(str(path)).rows(0, Columns(keep=None)))
        assert all(isinstance(row, InputRow) and (row.problem is None or not row.text) for row in found), seed
        if ".jsonl" in name and plain(name, mutant) is not None:
            assert len(found) == counted(name, mutant), seed
        if not any(row.problem for row in found):
            assert len(found) == counted(name, mutant), seed


CUT = {name: made for name, made in KINDS.items() if name.endswith((".gz", ".parquet"))}
CUT["a.jsonl.zst"] = lambda some: zstandard.compress(jsonl(some))  # one frame: between two, a file may end
CUT["a.csv.zst"] = lambda some: zstandard.compress(delimited(some))


@pytest.mark.parametrize("name", CUT)
def test_a_file_cut_off_anywhere_says_so(tmp_path: Path, name: str) -> None:
    data = CUT[name](texts(25, longest=20))
    path, chance = tmp_path / name, random.Random(name)
    for length in {chance.randrange(len(data)) for _ in range(EXAMPLES)}:
        path.write_bytes(data[:length])
        assert list(File(str(path)).rows(0, Columns()))[-1].problem, length


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_gone_on_with_from_any_row(tmp_path: Path, name: str) -> None:
    data = KINDS[name](texts(25, longest=20))
    path = tmp_path / name
    for seed in range(EXAMPLES // 5):
        chance = random.Random(f"resumed {name} {seed}")
        path.write_bytes(damaged(data, chance))
        found = list(File(str(path)).rows(0, Columns()))
        skip = chance.randrange(len(found) + 1)
        assert list(File(str(path)).rows(0, Columns(), skip)) == found[skip:], seed
