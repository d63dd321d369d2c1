"""Facts about optional packages: a missing one is named with a command that installs it here."""

import shutil
import sys
from pathlib import Path

import pytest

from mudy import MissingExtra
from mudy._support import extras
from mudy._support.extras import from_extra, install_command

REQUIRES = [
    "numpy>=2",
    "pyarrow>=15; extra == 'corpus'",
    "zstandard>=0.22 ; extra == 'corpus'",
    "mudy[corpus]; extra == 'ray'",
    'ray[data]>=2.40; extra == "ray"',
    "keybert; extra == 'keybert'",
]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "requires", lambda _: REQUIRES)
    monkeypatch.setattr(shutil, "which", lambda _: str(Path(sys.executable).with_name("pip")))


@pytest.mark.usefixtures("installed")
def test_a_missing_package_is_named_with_the_packages_of_its_extra() -> None:
    wanted = (
        r'^Parquet needs absent_tool, which is not installed\. Install it: pip install "pyarrow>=15" "zstandard>=0.22"$'
    )
    with pytest.raises(MissingExtra, match=wanted), from_extra("corpus", "Parquet"):
        import absent_tool.parquet  # type: ignore[import-not-found]  # noqa: F401


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("keybert", "pip install keybert"),
        ("ray", 'pip install "pyarrow>=15" "zstandard>=0.22" "ray[data]>=2.40"'),
        ("corpus", 'pip install "pyarrow>=15" "zstandard>=0.22"'),
    ],
)
def test_the_command_names_packages_and_needs_no_index_that_holds_mudy(extra: str, command: str) -> None:
    assert install_command(extra) == command


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("pip", [None, "/usr/bin/pip"])
def test_where_the_shells_pip_is_that_of_another_python_the_command_names_this_one(
    pip: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: pip)
    monkeypatch.setattr(sys, "executable", "/home/a user/.venv/bin/python")
    assert install_command("keybert") == '"/home/a user/.venv/bin/python" -m pip install keybert'


def test_an_error_that_names_its_command_stays_as_it_is() -> None:
    with pytest.raises(MissingExtra, match=r"^as it is$"), from_extra("corpus"):
        raise MissingExtra("as it is")
