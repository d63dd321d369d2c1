"""Files that an assistant may read: documents inside folders that the user has opened, and nothing else."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mudy.errors import InputError, SettingError
from mudy.reading import formats as readers
from mudy.reading.formats import Reading

MOST_BYTES = 100_000_000  # of one file
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class OpenFolders:
    """Folders whose documents may be read: no hidden files, no links that lead outside, no other kinds of files."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        folders = []
        for name in names:
            folder = Path(name).expanduser()
            if not folder.is_dir():
                raise SettingError(f"{name!r} is not a folder, so no documents can be read from it.")
            folders.append(folder.resolve())
        return cls(tuple(folders))

    def read(self, name: str) -> Reading:
        """The text of a document; a path that is not absolute is looked for in each folder."""
        path = self._located(name)
        if path.suffix.lower() not in readers.endings():
            raise InputError(f"{name!r} is not a supported document. Supported: {', '.join(readers.endings())}.")
        try:
            return readers.read(_bytes(path), path.name)
        except InputError as error:
            raise InputError(f"{name!r} {error}") from None

    def _located(self, name: str) -> Path:
        """The file with all links resolved; a file outside the folders gives the same error as a missing one."""
        for folder in self.folders:
            try:
                path = (folder / name).resolve(strict=True)
            except (OSError, ValueError, RuntimeError):  # missing, a NUL character, a loop of links
                continue
            for opened in self.folders:
                inside = path.relative_to(opened).parts if path.is_relative_to(opened) else (".",)
                if path.is_file() and not any(part.startswith(".") for part in inside):  # hidden, or outside
                    return path
        if not self.folders:
            raise InputError("No file can be read. Start the server with --folder FOLDER, or send the text.")
        opened_names = ", ".join(map(str, self.folders))
        raise InputError(f"There is no document {name!r} in the folders that may be read: {opened_names}.")


def _bytes(path: Path) -> bytes:
    """The bytes of a regular file that is not too large; a link put in its place meanwhile is not followed."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror or error})") from None
    with os.fdopen(descriptor, "rb") as stream:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise InputError("is not a regular file")
        if state.st_size > MOST_BYTES:
            raise InputError(f"has {state.st_size:,} bytes, but at most {MOST_BYTES:,} are read")
        return stream.read(MOST_BYTES)
