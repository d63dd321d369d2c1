"""Checkpoints of a run: parts of its output, each complete or absent, and a journal of where they end.

OUTPUT.parts/manifest.json        what was asked for
OUTPUT.parts/progress.journal     each part with its size, and where it ends in the input; the line comes first
OUTPUT.parts/part-000000.jsonl
OUTPUT.manifest.json              what was asked for and what came of it, when all is done

Only files that manifest and journal list are ever deleted or overwritten.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mudy._support.storage import (
    atomic_output,
    flush_to_disk,
    is_leftover,
    lock_path,
    open_to_append,
    real_path,
    same_file,
    unwritable,
)
from mudy.corpus import manifests
from mudy.corpus.input_hashes import Known
from mudy.corpus.manifests import Manifest
from mudy.corpus.row import START, OutputRow, RowPosition
from mudy.corpus.row_writers import WRITERS, RowWriter
from mudy.errors import InputError
from mudy.extraction.run_identity import differences

_JOURNALS = ("progress.journal", "journal.jsonl")  # the second of format 1
_PART = re.compile(r"part-([0-9]{6,9})(\.[a-z]+)")
_SHOWN_CHANGES = 5  # changes named in a message


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a run has come."""

    parts: int = 0
    rows: int = 0
    failed: int = 0
    after: RowPosition = START  # where the next row is looked for

    def after_rows(self, rows: Sequence[OutputRow]) -> Reached:
        """So far, were these rows a part."""
        last = rows[-1].place
        return Reached(
            self.parts + 1,
            self.rows + len(rows),
            self.failed + sum(row.error is not None for row in rows),
            RowPosition(last.file, last.row + 1),
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the journal: a part, and how far the run is with it."""

    part: str
    size: int
    reached: Reached

    @classmethod
    def of(cls, line: bytes) -> Entry | None:
        """None for a line that was cut off, or is damaged."""
        try:
            entry = json.loads(line)
            number, ending = _part(entry["part"])
            reached = Reached(**{**entry["reached"], "after": RowPosition(**entry["reached"]["after"])})
        except (ValueError, KeyError, TypeError):
            return None
        good = ending in _ENDINGS and number == reached.parts - 1
        return cls(entry["part"], entry["size"], reached) if good else None


_ENDINGS = frozenset(form.ending for form in WRITERS.values())


def _part(name: str) -> tuple[int, str]:
    """Number and ending of a part; ValueError for a name of another kind."""
    if not (found := _PART.fullmatch(name)):
        raise ValueError(name)
    return int(found[1]), found[2]


class Parts:
    """The files of one run."""

    def __init__(self, output: Path, form: RowWriter) -> None:
        self.name, self.form = output, form
        self.output = real_path(output)
        self.single = form.ending == output.suffix.lower()  # else the parts themselves are what was asked for
        self.folder = self.output.with_name(f"{self.output.name}.parts") if self.single else self.output
        self.summary = (
            self.output.with_name(f"{self.output.name}.manifest.json") if self.single else self.output / "done.json"
        )
        self._manifest, self._journal = self.folder / manifests.MANIFEST_NAME, self.folder / _JOURNALS[0]

    def owns(self, path: Path) -> bool:
        """Whether the run writes to a path; through links too."""
        place = real_path(path)
        files = (self.output, self.summary, lock_path(self.output))
        return place in files or place.is_relative_to(self.folder) or same_file(path, self.output)

    # -- What is there before a run -----------------------------------------------------------------------------------

    def check(self) -> None:
        """InputError if something that is not ours stands where the run would write."""
        if self.summary.exists() and manifests.read_summary(self.summary) is None:
            self._in_the_way(self.summary)
        if self.folder.exists() and manifests.read_manifest(self._manifest) is None and not _is_empty(self.folder):
            self._in_the_way(self.folder)
        if self.single:
            self._check_output()

    def _check_output(self) -> None:
        """A file of the output's name must be what a summary says that we wrote, or empty."""
        size, summary = _size(self.output), manifests.read_summary(self.summary)
        ours = self.output.is_file() and summary is not None and summary["found"].get("bytes", size) == size
        if self.output.exists() and not ours and not (self.output.is_file() and size == 0):
            self._in_the_way(self.output)

    def _in_the_way(self, path: Path) -> None:
        raise InputError(f"{path} exists, but not from `mudy corpus`, or it has changed since. Name another output.")

    def known(self) -> Known:
        """Fingerprints of inputs, as an earlier run has taken them."""
        for path in (self._manifest, self.summary):
            if (manifest := manifests.read_manifest(path)) is not None:
                return {entry["name"]: entry for entry in manifest.get("inputs", ())}
        return {}

    def finished(self, asked: Manifest) -> dict[str, Any] | None:
        """What came of the run, if it was done before in the same words."""
        summary = manifests.read_summary(self.summary)
        if summary is None or (self.single and not self.output.exists()):
            return None
        manifests.check_format(self.name, summary)
        self._refuse(differences(summary["asked"], asked))
        found: dict[str, Any] = summary["found"]
        if not self.single and any(_size(self.folder / name) != size for name, size in found.get("files", {}).items()):
            return None
        if self.single:
            self._clean_up()  # what a kill may have left
        return found

    def _refuse(self, changes: Sequence[str]) -> None:
        if changes:
            raise InputError(
                f"{self.name} belongs to a run with other settings ({'; '.join(changes[:_SHOWN_CHANGES])}). Name "
                "another output, or pass --restart to discard that run."
            )

    # -- A run --------------------------------------------------------------------------------------------------------

    def begin(self, asked: Manifest, inputs: Sequence[Mapping[str, Any]]) -> Reached:
        """Open the folder, and say how far an earlier run of the same words has come."""
        manifest = manifests.read_manifest(self._manifest)
        if manifest is not None and manifest["asked"]:  # not of a run that was thrown away
            manifests.check_format(self.name, manifest)
            self._refuse(differences(manifest["asked"], asked))
        reached = self._go_on() if self.folder.is_dir() else Reached()
        try:
            self.folder.mkdir(exist_ok=True)
            self.summary.unlink(missing_ok=True)  # ours, and not true any more
        except OSError as error:
            raise unwritable(self.folder, error) from error
        manifests.write_manifest(self._manifest, asked, inputs=inputs)
        return reached

    def _go_on(self) -> Reached:
        """How far the parts reach that are there, whole and without a gap. What lies behind them is deleted."""
        good: list[Entry] = []
        for entry in self._chain():
            if _size(self.folder / entry.part) != entry.size:
                break
            good.append(entry)
        kept = {entry.part for entry in good}
        listed = {entry.part for entry in self._entries()}
        for path in sorted(self.folder.glob("part-*")):
            if path.name in listed - kept:
                path.unlink()
            elif path.name not in kept:
                raise InputError(f"{path} is no part of this run; move it away, or name another output.")
        if self._journal.exists():
            with atomic_output(self._journal) as unfinished:
                unfinished.write_bytes(b"".join(map(_line, good)))
        return good[-1].reached if good else Reached()

    def _entries(self) -> Iterator[Entry]:
        """The lines of the journal; one that was torn, by a kill or a full disk, hides none of those after it."""
        lines = self._journal.read_bytes().splitlines() if self._journal.exists() else []
        return (entry for line in lines if (entry := Entry.of(line)) is not None)

    def _chain(self) -> list[Entry]:
        """One entry a part, from the first on: a later line about a part stands for all before it about that part."""
        chain: list[Entry] = []
        for entry in self._entries():
            number = entry.reached.parts - 1
            if number <= len(chain) and entry.part == self.part(number).name:
                chain[number:] = [entry]
        return chain

    def part(self, index: int) -> Path:
        return self.folder / f"part-{index:06}{self.form.ending}"

    def add(self, rows: Sequence[OutputRow], before: Reached) -> Reached:
        """One part more; it is on the disk when this returns."""
        reached = before.after_rows(rows)
        part = self.part(before.parts)
        with atomic_output(part) as unfinished:
            self.form.write(unfinished, [row.to_dict() for row in rows])
            self._note(Entry(part.name, unfinished.stat().st_size, reached))
        return reached

    def _note(self, entry: Entry) -> None:
        with open_to_append(self._journal) as stream:
            if stream.tell():
                stream.write(b"\n" if not self._ends_with_line() else b"")
            stream.write(_line(entry))
            flush_to_disk(stream)

    def _ends_with_line(self) -> bool:
        with self._journal.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            return stream.read(1) == b"\n"

    # -- The end ------------------------------------------------------------------------------------------------------

    def finish(self, asked: Manifest, inputs: Sequence[Mapping[str, Any]], reached: Reached) -> None:
        """Join the parts, say what came of the run, and clean up."""
        parts = [self.part(index) for index in range(reached.parts)]
        found = {"rows": reached.rows, "failed": reached.failed, "parts": reached.parts}
        if not self.single:
            files = {part.name: part.stat().st_size for part in parts}
            manifests.write_manifest(self.summary, asked, inputs=inputs, found={**found, "files": files})
            return
        self._check_output()
        with atomic_output(self.output) as unfinished:
            self.form.join(unfinished, parts)
            size = unfinished.stat().st_size
            manifests.write_manifest(self.summary, asked, inputs=inputs, found={**found, "bytes": size})
        self._clean_up()

    def written(self) -> list[Path]:
        """The files that hold the rows of a finished run, in their order."""
        if self.single:
            return [self.output]
        summary = manifests.read_summary(self.summary)
        return [self.part(index) for index in range(0 if summary is None else summary["found"]["parts"])]

    def _clean_up(self) -> None:
        """Delete the parts of a run and what says so, but nothing else that lies in their folder."""
        if manifests.read_manifest(self._manifest) is None:
            return
        self._delete_parts()
        self._manifest.unlink(missing_ok=True)  # last: without it, nothing else is known to be ours
        with suppress(OSError):  # it is not empty: something else lies in it
            self.folder.rmdir()

    def _delete_parts(self) -> None:
        """Delete what the journal lists, and the journal."""
        for name in (*self._listed(), *_JOURNALS):
            (self.folder / name).unlink(missing_ok=True)

    def _listed(self) -> set[str]:
        """The parts that the journal lists, or that of format 1."""
        listed = {entry.part for entry in self._entries()}
        old = self.folder / _JOURNALS[1]
        for line in old.read_bytes().splitlines() if old.exists() else ():
            with suppress(ValueError, KeyError, TypeError):
                number = int(json.loads(line)["parts"]) - 1
                listed |= {f"part-{number:06}{ending}" for ending in (".jsonl", ".parquet")}
        return {name for name in listed if _PART.fullmatch(name)}

    def forget(self) -> None:
        """Throw away what an earlier run has done: what its manifest, its journal and its summary list."""
        for path in (self._manifest, self.summary):
            if (manifest := manifests.read_manifest(path)) is not None and manifest["format"] != 1:
                manifests.check_format(self.name, manifest)
        if (summary := manifests.read_summary(self.summary)) is not None:
            for name in summary["found"].get("files", {}):
                if _PART.fullmatch(name):
                    (self.folder / name).unlink(missing_ok=True)
            if self.single:
                self.output.unlink(missing_ok=True)
            self.summary.unlink()
        if self.single:
            self._clean_up()
        elif manifests.read_manifest(self._manifest) is not None:
            self._delete_parts()
            manifests.write_manifest(self._manifest, {})  # still ours, whatever else lies in it


def _line(entry: Entry) -> bytes:
    return json.dumps(asdict(entry)).encode() + b"\n"


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and all(map(is_leftover, folder.iterdir()))


def _size(path: Path) -> int | None:
    """A file's size; None where there is no file."""
    try:
        return path.stat().st_size
    except OSError:
        return None
