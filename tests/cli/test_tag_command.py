"""`mudy tag`: keyphrases of notes as tags in their front matter."""

from pathlib import Path

import pytest

from mudy.cli.tag_command import read_note, write_note
from mudy.errors import InputError
from mudy.front_matter import Note
from tests.command_line import run

BODY = "The flood wall held. Engineers built the flood wall of stone, and the flood wall saved the harbour town.\n"
YAKE = ("-m", "yake")


def tags(path: Path) -> list[str]:
    return Note.of(path.read_bytes().decode()).tags()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "plain.md").write_text(BODY)
    (tmp_path / "old.md").write_text(f"---\ntitle: Old\ntags: [engineer] # mine\n---\n{BODY}")
    hidden = tmp_path / ".trash"
    hidden.mkdir()
    (hidden / "gone.md").write_text(BODY)
    (tmp_path / "table.csv").write_text("a,b\n")
    return tmp_path


def test_tags_are_written_and_everything_else_stays(notes: Path) -> None:
    result = run("tag", notes, *YAKE, "-n", "2")
    assert result.exit_code == 0, result.stderr
    assert "flood-wall" in tags(notes / "plain.md")
    assert (notes / "plain.md").read_text().endswith(f"---\n{BODY}")
    old = (notes / "old.md").read_text()
    assert old.startswith("---\ntitle: Old\ntags: [engineer, ")
    assert old.endswith(f"] # mine\n---\n{BODY}")
    assert (notes / ".trash" / "gone.md").read_text() == BODY
    assert sorted(path.name for path in notes.iterdir()) == [".trash", "old.md", "plain.md", "table.csv"]


def test_a_second_time_changes_nothing(notes: Path) -> None:
    run("tag", notes, *YAKE, "-n", "2")
    before = {path: path.read_bytes() for path in notes.glob("*.md")}
    result = run("tag", notes, *YAKE, "-n", "2")
    assert {path: path.read_bytes() for path in notes.glob("*.md")} == before
    assert "0 of 2 notes changed" in result.stderr


def test_a_dry_run_prints_a_diff_and_writes_nothing(notes: Path) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in notes.glob("*.md")}
    result = run("tag", notes, *YAKE, "-n", "2", "--dry-run")
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in notes.glob("*.md")} == before
    assert "-tags: [engineer] # mine\n+tags: [engineer, " in result.stdout
    assert "2 of 2 notes would change" in result.stderr


def test_tags_of_other_notes_go_before_new_ones(notes: Path) -> None:
    (notes / "other.md").write_text("---\ntags: [Harbour]\n---\nShips.\n")
    run("tag", notes / "plain.md", notes / "other.md", *YAKE, "-n", "1", "--boost", "50")
    assert tags(notes / "plain.md") == ["Harbour"]
    run("tag", notes / "old.md", notes / "other.md", *YAKE, "-n", "3", "--only-known")
    assert tags(notes / "old.md") == ["engineer", "Harbour"]


def test_labels_of_a_vocabulary_are_tags(notes: Path) -> None:
    (notes / "terms.csv").write_text("id,label,alternatives\n1,Flood protection,flood wall\n")
    run("tag", notes / "plain.md", *YAKE, "--vocabulary", notes / "terms.csv", "--only-known")
    assert tags(notes / "plain.md") == ["Flood protection"]


def test_spaces_are_kept_where_that_is_asked_for(notes: Path) -> None:
    run("tag", notes / "plain.md", *YAKE, "-n", "1", "--keep-spaces", "--key", "keywords")
    assert Note.of((notes / "plain.md").read_text()).tags("keywords") == ["flood wall"]


def test_a_note_that_cannot_be_edited_is_named_and_left_alone(notes: Path) -> None:
    bad = {"broken.md": b"---\na: b: c\n---\nx\n", "latin.md": "Überfluß\n".encode("latin-1"), "open.md": b"---\nx\n"}
    for name, data in bad.items():
        (notes / name).write_bytes(data)
    result = run("tag", notes, *YAKE, "-n", "2")
    assert result.exit_code == 1
    assert all(name in result.stderr for name in bad)
    assert {name: (notes / name).read_bytes() for name in bad} == bad
    assert "flood-wall" in tags(notes / "plain.md")


def test_a_note_without_text_gets_no_tags(tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_text("")
    assert run("tag", tmp_path, *YAKE).exit_code == 0
    assert (tmp_path / "empty.md").read_text() == ""


def test_what_is_no_note_is_refused(notes: Path) -> None:
    assert run("tag", notes / "table.csv", *YAKE).exit_code == 1
    assert (notes / "table.csv").read_text() == "a,b\n"
    assert run("tag", notes / "*.none", *YAKE).exit_code == 1
    assert run("tag", notes / "plain.md", *YAKE, "--only-known").exit_code == 2


def test_a_note_that_changed_meanwhile_is_not_overwritten(notes: Path) -> None:
    path = notes / "plain.md"
    read = read_note(path, "tags")
    path.write_text("Something else.\n")
    with pytest.raises(InputError, match="changed while"):
        write_note(read, "x")
    assert path.read_text() == "Something else.\n"


def test_permissions_and_links_stay(notes: Path) -> None:
    path = notes / "plain.md"
    path.chmod(0o640)
    (notes / "link.md").symlink_to(path)
    run("tag", notes / "link.md", *YAKE, "-n", "1")
    assert (notes / "link.md").is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert tags(path) == ["flood-wall"]
