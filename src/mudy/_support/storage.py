"""Files on the disk: atomic writes, exclusive locks, content that always encodes, and outputs that are no inputs."""

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from mudy.errors import InputError

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # Windows has none


def real_path(path: str | Path) -> Path:
    """Where a path leads to, through all links; of an output that does not exist yet, where it will be."""
    return Path(os.path.realpath(Path(path).expanduser()))


def unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written ({error.strerror or error}).")


@contextmanager
def exclusive_lock(file: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold a lock file. If another process holds it, call `waiting` and wait; without `waiting`, TimeoutError."""
    from filelock import FileLock, Timeout

    lock = FileLock(file)
    try:
        held = lock.acquire(timeout=0)
    except Timeout:
        if waiting is None:
            raise
        waiting()
        held = lock.acquire()
    with held:
        yield


@contextmanager
def output_lock(path: Path) -> Iterator[None]:
    """Keep other runs away from an output, by whatever links they reach it."""
    place = real_path(path)
    if not place.parent.is_dir():
        raise InputError(f"{path}: the folder {place.parent} does not exist.")
    file = lock_path(place)
    if file.is_symlink() or (file.is_file() and file.stat().st_size):
        raise InputError(
            f"{path}: {file} is in the way: it is a link or not empty, so it is not our lock. Name another output."
        )
    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive_lock(file))
        except TimeoutError:
            raise InputError(f"{path}: another run is writing to it; wait for it, or name another output.") from None
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            yield
        finally:
            with suppress(OSError):
                file.unlink()


def lock_path(place: Path) -> Path:
    """The lock of an output: hidden, and under a name that no other program uses (as poetry.lock would be)."""
    return place.with_name(f".{place.name}.mudy-lock")


def new_file(beside: Path) -> Path:
    """An empty file beside another, under a name that nobody can have linked elsewhere; as private as the other one."""
    state = _state(beside)
    mode = 0o666 if state is None else stat.S_IMODE(state.st_mode) | stat.S_IRUSR | stat.S_IWUSR
    path = beside.with_name(f".mudy-{secrets.token_hex(8)}.part")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, mode))
    return path


def is_leftover(path: Path) -> bool:
    """Whether a file is what a killed process did not finish, by its name."""
    return path.name.startswith(".") and path.suffix == ".part"


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A file beside `path`, which takes its name and permissions when all is on the disk; after an error it is gone.

    A link in the place of `path` is replaced, not followed: a name that the user gave goes through `real_path` first.
    """
    unfinished = new_file(path)
    try:
        yield unfinished
        _sync(unfinished)
        if (state := _state(path)) is not None:
            unfinished.chmod(stat.S_IMODE(state.st_mode))
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_output(path: Path) -> Iterator[Path]:
    """`atomic_write` where an OSError is the user's concern: it becomes an InputError."""
    try:
        with atomic_write(path) as unfinished:
            yield unfinished
    except OSError as error:
        raise unwritable(path, error) from error


def rewrite(path: Path, before: bytes, after: bytes) -> None:
    """Replace a file's content in one step, if it is still `before`, else InputError; owner and permissions stay."""
    try:
        state = check_replaceable(path)
        with atomic_write(path) as unfinished:
            unfinished.write_bytes(after)
            _give_owner(unfinished, state)
            shutil.copystat(path, unfinished)  # permissions, access lists, attributes, and times,
            os.utime(unfinished)  # which are now
            _sync(unfinished)
            check_replaceable(path)
            if path.read_bytes() != before:
                raise InputError("was changed by another program meanwhile; it is left as it is.")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error}); it is left as it is.") from error


def check_replaceable(path: Path) -> os.stat_result:
    """The state of a file; InputError for one that must not be replaced: read-only, or with other names."""
    try:
        state = path.lstat()
    except OSError as error:
        raise InputError(f"is gone or out of reach ({error.strerror or error}).") from None
    if not stat.S_ISREG(state.st_mode):
        raise InputError("is no regular file; it is left as it is.")
    if not state.st_mode & 0o222 or not os.access(path, os.W_OK):  # root may write to anything
        raise InputError("is read-only; it is left as it is.")
    if (names := state.st_nlink) > 1:
        raise InputError(f"has {names} names (hard links), of which only one would change; it is left as it is.")
    return state


def _give_owner(path: Path, state: os.stat_result) -> None:
    now = path.stat()
    if (now.st_uid, now.st_gid) != (state.st_uid, state.st_gid):
        try:
            os.chown(path, state.st_uid, state.st_gid)
        except PermissionError:
            raise InputError("belongs to another user or group, whom it would be taken from; it is left.") from None


def open_to_append(path: Path) -> IO[bytes]:
    """A file under a name of ours, at its end; OSError for a link, which could lead to any file."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINKS | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o666), "ab")


def _state(path: Path) -> os.stat_result | None:
    """Of a regular file; None for anything else, a link too, and for nothing."""
    try:
        state = path.lstat()
    except OSError:
        return None
    return state if stat.S_ISREG(state.st_mode) else None


def _sync(path: Path) -> None:
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def flush_to_disk(stream: IO[Any]) -> None:
    """What was written to a stream is on the disk when this returns."""
    stream.flush()
    os.fsync(stream.fileno())


def dump_json(
    value: Any, *, indent: int | None = None, allow_nan: bool = False, default: Callable[[Any], Any] | None = None
) -> str:
    """JSON that UTF-8 can hold: escaped only where a text has a lone surrogate."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=allow_nan, default=default)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, allow_nan=allow_nan, default=default)
    return text


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two paths lead to one file, through symbolic or hard links."""
    if real_path(one) == real_path(other):
        return True
    try:
        return Path(one).samefile(other)
    except OSError:  # one of them does not exist
        return False


def refuse_inputs(output: str | Path, inputs: Iterable[str | Path]) -> None:
    """InputError if an output is one of the inputs, or lies in a folder that is one."""
    for name in inputs:
        if same_file(output, name):
            raise InputError(f"{output} is an input too ({name}), and would be overwritten. Name another output.")
        if Path(name).is_dir() and real_path(output).is_relative_to(real_path(name)):
            raise InputError(f"{output} lies in the folder {name}, which is an input. Name another output.")
