"""Which files an assistant may read."""

import os
from pathlib import Path

import pytest

from mudy import InputError, SettingError
from mudy.integrations.mcp import MOST_BYTES, OpenFolders
from tests.integrations.texts import EXAMPLES

FILES = ("open/a.txt", "open/deeper/b.md", "open/.hidden.txt", "open/.git/c.txt", "open/key.pem", "secret/s.txt")
NOT_OPEN = ("../secret/s.txt", "/etc/passwd", "~/.ssh/id_rsa", ".hidden.txt", ".git/c.txt")
NO_FILES = ("deeper", "", ".", "a.txt\0", "x" * 5000)


@pytest.fixture
def opened(tmp_path: Path) -> OpenFolders:
    """A folder with documents, beside one with a secret."""
    for folder in ("open/deeper", "open/.git", "secret"):
        (tmp_path / folder).mkdir(parents=True)
    for file in (
        "open/a.txt",
        "open/deeper/b.md",
        "open/.hidden.txt",
        "open/.git/c.txt",
        "open/key.pem",
        "secret/s.txt",
    ):
        (tmp_path / file).write_text(f"This is {file}.")
    return OpenFolders.of([str(tmp_path / "open")])


@pytest.mark.parametrize("name", ["a.txt", "deeper/b.md", "deeper/../a.txt", "./a.txt"])
def test_documents_inside_are_read(opened: OpenFolders, name: str) -> None:
    assert opened.read(name).text.startswith("This is open/")


def test_an_absolute_path_inside_is_read(opened: OpenFolders) -> None:
    assert opened.read(str(opened.folders[0] / "a.txt")).text == "This is open/a.txt."


@pytest.mark.parametrize(
    "name",
    [
        "../secret/s.txt",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        ".hidden.txt",
        ".git/c.txt",
        "deeper",
        "",
        ".",
        "a.txt\0",
        "x" * 5000,
    ],
)
def test_nothing_else_is_and_an_absent_file_is_told_by_the_same_words(opened: OpenFolders, name: str) -> None:
    with pytest.raises(InputError, match="There is no document"):
        opened.read(name)
    with pytest.raises(InputError, match="There is no document"):
        opened.read("absent.txt")


def test_an_absolute_path_outside_is_not_read(opened: OpenFolders) -> None:
    with pytest.raises(InputError, match="There is no document"):
        opened.read(str(opened.folders[0].parent / "secret" / "s.txt"))


def test_files_that_are_no_documents_are_not_read(opened: OpenFolders) -> None:
    with pytest.raises(InputError, match=r"is not a supported document. Supported: \.txt"):
        opened.read("key.pem")


def test_links_are_read_inside_and_refused_where_they_lead_outside(opened: OpenFolders) -> None:
    (folder,) = opened.folders
    (folder / "inside.txt").symlink_to(folder / "a.txt")
    (folder / "outside.txt").symlink_to(folder.parent / "secret" / "s.txt")
    (folder / "out").symlink_to(folder.parent / "secret")
    (folder / "loop.txt").symlink_to(folder / "loop.txt")
    (folder / "shown.txt").symlink_to(folder / ".hidden.txt")
    assert opened.read("inside.txt").text == "This is open/a.txt."
    for name in ("outside.txt", "out/s.txt", "loop.txt", "shown.txt"):
        with pytest.raises(InputError, match="There is no document"):
            opened.read(name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_named_pipe_is_not_waited_for(opened: OpenFolders) -> None:
    os.mkfifo(opened.folders[0] / "pipe.txt")
    with pytest.raises(InputError, match="There is no document"):
        opened.read("pipe.txt")


def test_a_file_that_is_too_large_is_refused(opened: OpenFolders) -> None:
    with (opened.folders[0] / "large.txt").open("wb") as stream:
        stream.truncate(MOST_BYTES + 1)
    with pytest.raises(InputError, match="100,000,001 bytes"):
        opened.read("large.txt")


def test_a_damaged_file_is_named(opened: OpenFolders) -> None:
    (opened.folders[0] / "bad.txt").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match=r"'bad.txt' is not UTF-8"):
        opened.read("bad.txt")


def test_a_pdf_is_read_with_its_pages() -> None:
    reading = OpenFolders.of([str(EXAMPLES)]).read("paper.pdf")
    assert reading.text
    assert reading.pages[0] == 0


def test_what_is_no_folder_cannot_be_opened() -> None:
    with pytest.raises(SettingError, match="is not a folder"):
        OpenFolders.of([str(EXAMPLES / "paper.pdf")])


def test_without_folders_nothing_is_read() -> None:
    with pytest.raises(InputError, match="No file can be read"):
        OpenFolders(()).read(str(EXAMPLES / "floodplain.txt"))
