"""Checkpoints of a run: parts of its output, each complete or absent, and a journal of where they end.

OUTPUT.parts/manifest.json        the inputs and settings of the run
OUTPUT.parts/progress.journal     one line per part: its size, and where it ends in the input
OUTPUT.parts/part-000000.jsonl    takes its name after its line is on the disk
OUTPUT.manifest.json              inputs, settings and number of rows, once the run is complete

Only files that manifest and journal list are ever deleted or overwritten.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

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
from mudy.corpus.rows import OutputRow, Row, RowPosition, RowWriter
from mudy.errors import InputError
from mudy.extraction.run_identity import differences

MANIFEST_NAME = "manifest.json"
_MARK = {"format": 2, "made_by": "mudy corpus"}  # by which a manifest is known to be ours
_PART = re.compile(r"part-[0-9]{6,9}\.(jsonl|parquet|csv|tsv)")
_SHOWN_CHANGES = 5  # changes named in a message

Manifest = dict[str, Any]


def read_manifest(path: Path) -> Manifest | None:
    """A manifest that `mudy corpus` wrote; None for any other file, or for none."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        return manifest if manifest.items() >= _MARK.items() and isinstance(manifest["asked"], dict) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def read_summary(path: Path) -> Manifest | None:
    """The manifest of a complete run."""
    manifest = read_manifest(path) or {}
    totals = manifest.get("found")
    good = isinstance(totals, dict) and all(isinstance(totals.get(name), int) for name in ("rows", "failed", "parts"))
    return manifest if good else None


def write_manifest(path: Path, asked: Manifest, **more: Any) -> None:
    with atomic_output(path) as unfinished:
        unfinished.write_text(json.dumps({**_MARK, "asked": asked, **more}, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a run has come with a part: one line of the journal."""

    parts: int = 0
    rows: int = 0
    failed: int = 0
    file: int = 0  # the file that holds the next row,
    row: int = 0  # and how many of its rows come before that one
    part: str = ""  # the name of the part
    size: int = 0  # its bytes

    @property
    def after(self) -> RowPosition:
        return RowPosition(self.file, self.row)

    def after_rows(self, rows: Sequence[OutputRow], part: str = "", size: int = 0) -> Self:
        """The same after one more part with these rows."""
        last = rows[-1].place
        failed = self.failed + sum(row.values["error"] is not None for row in rows)
        return type(self)(self.parts + 1, self.rows + len(rows), failed, last.file, last.row + 1, part, size)

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


class Parts:
    """The files of one run."""

    def __init__(self, output: Path, form: RowWriter) -> None:
        self.name, self.form = output, form
        self.output = real_path(output)
        self.single = form.ending == output.suffix.lower()  # else the output is the folder of parts
        self.folder, self.summary = self.output, self.output / "done.json"
        if self.single:
            self.folder = self.output.with_name(f"{self.output.name}.parts")
            self.summary = self.output.with_name(f"{self.output.name}.manifest.json")
        self._manifest, self._journal = self.folder / MANIFEST_NAME, self.folder / "progress.journal"

    def owns(self, path: Path) -> bool:
        """Whether the run writes to a path, also through links."""
        place = real_path(path)
        files = (self.output, self.summary, lock_path(self.output))
        return place in files or place.is_relative_to(self.folder) or same_file(path, self.output)

    def part(self, index: int) -> Path:
        return self.folder / f"part-{index:06}{self.form.ending}"

    def check(self) -> None:
        """InputError if a file that is not ours has a name that the run would use."""
        if self.summary.exists() and read_summary(self.summary) is None:
            raise _in_the_way(self.summary)
        free = self.folder.is_dir() and all(map(is_leftover, self.folder.iterdir()))
        if self.folder.exists() and not free and read_manifest(self._manifest) is None:
            raise _in_the_way(self.folder)
        if self.single:
            self._check_output()

    def _check_output(self) -> None:
        """An existing output must have the size that the summary of its run says, or be empty."""
        summary, size = read_summary(self.summary), _size(self.output)
        sizes = {0, summary["found"].get("bytes", size)} if summary is not None else {0}
        if self.output.exists() and not (self.output.is_file() and size in sizes):
            raise _in_the_way(self.output)

    def finished(self, asked: Manifest) -> dict[str, Any] | None:
        """The numbers of a complete run with the same settings, if there is one."""
        summary = read_summary(self.summary)
        if summary is None or (self.single and not self.output.exists()):
            return None
        self._refuse_changes(summary, asked)
        totals: dict[str, Any] = summary["found"]
        if self.single:
            self._clean_up()  # what a kill may have left
        elif any(_size(self.folder / name) != size for name, size in totals.get("files", {}).items()):
            return None
        return totals

    def _refuse_changes(self, manifest: Manifest, asked: Manifest) -> None:
        if changes := differences(manifest["asked"], asked):
            raise InputError(
                f"{self.name} belongs to a run with other settings ({'; '.join(changes[:_SHOWN_CHANGES])}). Name "
                "another output, or pass --restart to discard that run."
            )

    def discard(self) -> None:
        """Delete an earlier run: the files that its summary, its manifest and its journal list."""
        if (summary := read_summary(self.summary)) is not None:
            self._delete(summary["found"].get("files", ()))
            if self.single:
                self.output.unlink(missing_ok=True)
            self.summary.unlink()
        if self.single:
            self._clean_up()
        elif read_manifest(self._manifest) is not None:
            self._delete_parts()
            write_manifest(self._manifest, {})  # the folder stays ours, even if other files lie in it

    def begin(self, asked: Manifest) -> Reached:
        """Create the folder, and return how far an earlier run with the same settings has come."""
        manifest = read_manifest(self._manifest)
        if manifest is not None and manifest["asked"]:  # empty after a run was discarded
            self._refuse_changes(manifest, asked)
        reached = self._resume() if self.folder.is_dir() else Reached()
        try:
            self.folder.mkdir(exist_ok=True)
            self.summary.unlink(missing_ok=True)  # ours, and no longer true
        except OSError as error:
            raise unwritable(self.folder, error) from error
        write_manifest(self._manifest, asked)
        return reached

    def _resume(self) -> Reached:
        """How far the parts go that are whole and without a gap; listed parts after them are deleted."""
        listed = self._journal_entries()
        kept: list[Reached] = []
        for entry in listed:
            part = self.part(len(kept))
            if (entry.part, entry.parts, entry.size) == (part.name, len(kept) + 1, _size(part)):
                kept.append(entry)
        names, kept_names = ({entry.part for entry in entries} for entries in (listed, kept))
        for path in sorted(self.folder.glob("part-*")):
            if path.name not in names:
                raise InputError(f"{path} is not part of this run; move it away, or name another output.")
            if path.name not in kept_names:
                path.unlink()
        if self._journal.exists():
            with atomic_output(self._journal) as unfinished:
                unfinished.write_bytes(b"".join(entry.line() for entry in kept))
        return kept[-1] if kept else Reached()

    def _journal_entries(self) -> list[Reached]:
        entries: list[Reached] = []
        for line in self._journal.read_bytes().splitlines() if self._journal.exists() else ():
            with suppress(ValueError, TypeError):  # a line that a kill or a full disk has cut off
                entry = Reached(**json.loads(line))
                entries += [entry] if _PART.fullmatch(entry.part) else []
        return entries

    def add(self, rows: Sequence[OutputRow], before: Reached) -> Reached:
        """Write one more part; it is on the disk when this returns."""
        part = self.part(before.parts)
        with atomic_output(part) as unfinished:
            self.form.write(unfinished, [row.values for row in rows])
            reached = before.after_rows(rows, part.name, unfinished.stat().st_size)
            with open_to_append(self._journal) as stream:
                stream.write(reached.line())
                flush_to_disk(stream)
        return reached

    def finish(self, asked: Manifest, reached: Reached) -> None:
        """Join the parts, write the summary, and delete what is no longer needed."""
        parts = [self.part(index) for index in range(reached.parts)]
        totals = {"rows": reached.rows, "failed": reached.failed, "parts": reached.parts}
        if not self.single:
            files = {part.name: part.stat().st_size for part in parts}
            write_manifest(self.summary, asked, found={**totals, "files": files})
            return
        self._check_output()
        with atomic_output(self.output) as unfinished:
            self.form.join(unfinished, parts)
            size = unfinished.stat().st_size
            write_manifest(self.summary, asked, found={**totals, "bytes": size})
        self._clean_up()

    def rows(self) -> Iterator[Row]:
        """The rows of the finished output, as far as its format holds them."""
        if self.single:
            return self.form.read(self.output)
        summary = read_summary(self.summary)
        count = 0 if summary is None else summary["found"]["parts"]
        return chain.from_iterable(self.form.read(self.part(index)) for index in range(count))

    def _clean_up(self) -> None:
        """Delete the parts, the journal and the manifest; the folder only if nothing else lies in it."""
        if read_manifest(self._manifest) is not None:
            self._delete_parts()
            self._manifest.unlink(missing_ok=True)  # last: without it, nothing else is known to be ours
            with suppress(OSError):
                self.folder.rmdir()

    def _delete_parts(self) -> None:
        self._delete(entry.part for entry in self._journal_entries())
        self._journal.unlink(missing_ok=True)

    def _delete(self, names: Iterable[str]) -> None:
        for name in filter(_PART.fullmatch, names):
            (self.folder / name).unlink(missing_ok=True)


def _in_the_way(path: Path) -> InputError:
    return InputError(f"{path} exists, but not from `mudy corpus`, or it has changed since. Name another output.")


def _size(path: Path) -> int | None:
    """The size of a file; None where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return None
