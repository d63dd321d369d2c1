"""The output of a run on its way: parts, each whole or absent, and a journal of where they end.

OUTPUT.parts/manifest.json     what was asked for
OUTPUT.parts/journal.jsonl     where each part ends in the input; a line is there before its part is
OUTPUT.parts/part-000000.jsonl
OUTPUT.manifest.json           what was asked for and what came of it, when all is done
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mudy.corpus.forms import Form
from mudy.corpus.rows import START, Done, Place
from mudy.errors import InputError
from mudy.resuming import differences, unwritable, whole

FORMAT = 1  # of manifest and journal


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a run is."""

    parts: int = 0
    rows: int = 0
    failed: int = 0
    after: Place = START  # where the next row is looked for

    def after_rows(self, rows: Sequence[Done]) -> Reached:
        """So far, were these rows a part."""
        last = rows[-1].place
        return Reached(
            self.parts + 1,
            self.rows + len(rows),
            self.failed + sum(row.error is not None for row in rows),
            Place(last.file, last.row + 1),
        )


class Parts:
    """What is on the disk of one run."""

    def __init__(self, output: Path, form: Form) -> None:
        self.output, self.form = output, form
        self.single = form.ending == output.suffix.lower()  # else the parts themselves are what was asked for
        self.folder = output.with_name(f"{output.name}.parts") if self.single else output
        self.summary = output.with_name(f"{output.name}.manifest.json") if self.single else output / "done.json"
        self._manifest, self._journal = self.folder / "manifest.json", self.folder / "journal.jsonl"

    def finished(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """What came of the run, if it was done before in the same words."""
        if not self.summary.exists() or (self.single and not self.output.exists()):
            return None
        before = _loaded(self.summary)
        self._refuse(differences(before["asked"], asked))
        if self.single:
            shutil.rmtree(self.folder, ignore_errors=True)  # which a kill may have left
        found: dict[str, Any] = before["found"]
        return found

    def begin(self, asked: dict[str, Any]) -> Reached:
        """Open the folder, and say how far an earlier run of the same words has come."""
        if self._manifest.exists():
            self._refuse(differences(_loaded(self._manifest)["asked"], asked))
            return self._reached()
        if self.output.is_file() or (self.folder.is_dir() and any(self.folder.iterdir())):
            raise InputError(f"{self.output} exists, but not from `mudy corpus`. Name another, or pass --restart.")
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(self.folder, error) from error
        with whole(self._manifest) as beside:
            beside.write_text(json.dumps({"format": FORMAT, "asked": asked}, indent=1) + "\n", encoding="utf-8")
        return Reached()

    def _refuse(self, changes: Sequence[str]) -> None:
        if changes:
            raise InputError(
                f"{self.output} belongs to a run that was asked for otherwise ({'; '.join(changes[:5])}). Name another "
                "output, or pass --restart to throw it away."
            )

    def _reached(self) -> Reached:
        """The last line of the journal whose part, with all before it, is there."""
        reached = Reached()
        for line in self._journal.read_bytes().splitlines() if self._journal.exists() else ():
            try:
                entry = json.loads(line)
            except ValueError:
                break  # cut off by a kill
            if not self.part(entry["parts"] - 1).exists():
                break
            reached = Reached(**{**entry, "after": Place(**entry["after"])})
        return reached

    def part(self, index: int) -> Path:
        return self.folder / f"part-{index:06}{self.form.ending}"

    def add(self, rows: Sequence[Done], before: Reached) -> Reached:
        """One part more; it is on the disk when this returns."""
        reached = before.after_rows(rows)
        with whole(self.part(before.parts)) as beside:
            self.form.write(beside, [row.to_dict() for row in rows])
            self._note(reached)
        return reached

    def _note(self, reached: Reached) -> None:
        with self._journal.open("ab") as stream:
            if stream.tell():
                stream.write(b"\n" if not self._ends_with_line() else b"")
            stream.write(json.dumps(asdict(reached)).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

    def _ends_with_line(self) -> bool:
        with self._journal.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            return stream.read(1) == b"\n"

    def finish(self, asked: dict[str, Any], reached: Reached) -> None:
        """Join the parts, say what came of the run, and clean up."""
        if self.single:
            with whole(self.output) as beside:
                self.form.join(beside, [self.part(index) for index in range(reached.parts)])
                self._sum_up(asked, reached)
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self._sum_up(asked, reached)

    def _sum_up(self, asked: dict[str, Any], reached: Reached) -> None:
        found = {"rows": reached.rows, "failed": reached.failed, "parts": reached.parts}
        with whole(self.summary) as beside:
            beside.write_text(json.dumps({"format": FORMAT, "asked": asked, "found": found}, indent=1) + "\n")

    def forget(self) -> None:
        """Throw away what was done before."""
        if not self.single and self.folder.is_dir() and any(self.folder.iterdir()) and not self._manifest.exists():
            raise InputError(f"{self.folder} is not a folder of `mudy corpus`, so it is not thrown away.")
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in (self.output, self.summary):
            if path.is_file():
                path.unlink()


def _loaded(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] == FORMAT:
            return found
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{path}: not a manifest that this version reads; pass --restart to throw the run away.")
