"""Facts about the lock files: what is installed is pinned by version and hash."""

import re
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
LOCKS = sorted((ROOT / "lock").glob("*.txt"))


def pins(path: Path) -> dict[str, str]:
    """Names and versions of a file of requirements; of a package with several versions, the one for this Python."""
    lines = re.findall(r"^[a-z0-9][\w.-]*==[^\\\n]+", path.read_text(encoding="utf-8"), re.MULTILINE)
    wanted = [Requirement(line) for line in lines]
    here = [each for each in wanted if each.marker is None or each.marker.evaluate()]
    return {each.name: str(each.specifier).removeprefix("==") for each in (*wanted, *here)}


def needed(requirement: str, seen: set[tuple[str, str]]) -> Iterator[str]:
    """The names of all distributions that a requirement brings into this environment, its own included."""
    wanted = Requirement(requirement)
    name = canonicalize_name(wanted.name)
    yield name
    for extra in ("", *wanted.extras):
        if (name, extra) not in seen:
            seen.add((name, extra))
            for more in distribution(name).requires or ():
                marker = Requirement(more).marker
                if marker is None or marker.evaluate({"extra": extra}):
                    yield from needed(more, seen)


def test_every_distribution_that_the_development_environment_installs_is_pinned_at_its_version() -> None:
    names = sorted(set(needed("mudy[dev]", set())) - {"mudy"})
    assert len(names) > 100
    for file in ("constraints.txt", "lock/dev.txt"):
        pinned = pins(ROOT / file)
        assert [name for name in names if name not in pinned] == []
        assert [name for name in names if Version(distribution(name).version).public != pinned[name]] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_line_of_a_lock_file_is_a_version_or_a_hash(lock: Path) -> None:
    blocks = re.findall(r"^[^\s#].*\n(?:[ \t].*\n)*", lock.read_text(encoding="utf-8"), re.MULTILINE)
    assert blocks
    for block in blocks:
        first, *rest = block.splitlines()
        assert re.match(r"[a-z0-9][\w.-]*==[\w.+!-]+( ; [^\\]+)? \\$", first), first
        assert rest
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in rest), first


@pytest.mark.parametrize("file", [*LOCKS, ROOT / "constraints.txt"], ids=lambda path: path.name)
def test_no_lock_file_names_an_index_or_a_path(file: Path) -> None:
    assert not re.search(r"://|--index|--find-links|--extra-index|@ ", file.read_text(encoding="utf-8"))


def test_all_lock_files_agree_on_the_versions() -> None:
    dev, cuda = pins(ROOT / "lock" / "dev.txt"), pins(ROOT / "lock" / "cuda.txt")
    assert pins(ROOT / "constraints.txt") == dev
    assert pins(ROOT / "lock" / "run.txt").items() < dev.items()
    assert pins(ROOT / "lock" / "pip.txt").items() < dev.items()
    assert pins(ROOT / "lock" / "cpu.txt") == {"torch": dev["torch"] + "+cpu"}
    assert not cuda.keys() & dev.keys()
