"""`mudy tag`: keyphrases of notes as tags in their front matter."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mudy._support.storage import rewrite
from mudy.cli.tag_command import tag_of
from mudy.errors import InputError
from mudy.extraction.examples.front_matter import Note, read_note
from mudy.extraction.outcomes import outcomes
from mudy.extraction.results import Keyphrase
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
    os.mkfifo(notes / "pipe.md")
    assert "pipe.md: is not a regular file" in run("tag", notes / "pipe.md", *YAKE).stderr
    assert run("tag", notes / "plain.md", *YAKE, "--only-known").exit_code == 2


def test_a_note_that_changed_meanwhile_is_not_overwritten(notes: Path) -> None:
    path = notes / "plain.md"
    read = read_note(path, "tags", notes)
    path.write_text("Something else.\n")
    with pytest.raises(InputError, match="changed by another"):
        rewrite(read.place, read.data, b"x")
    assert path.read_text() == "Something else.\n"


def test_permissions_and_links_stay(notes: Path) -> None:
    path = notes / "plain.md"
    path.chmod(0o640)
    (notes / "link.md").symlink_to(path)
    run("tag", notes / "link.md", *YAKE, "-n", "1")
    assert (notes / "link.md").is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert tags(path) == ["flood-wall"]


# -- Notes that must not be replaced ----------------------------------------------------------------------------------


def at_the_last_moment(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Act as another program when the new content of the first note is on the disk, and before it takes its name."""
    actions, fsync = [action], os.fsync

    def acting(descriptor: int) -> None:
        fsync(descriptor)
        if actions:
            actions.pop()()

    monkeypatch.setattr(os, "fsync", acting)


def test_a_save_by_an_editor_right_before_the_rename_is_kept(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = notes / "old.md"
    at_the_last_moment(monkeypatch, lambda: path.write_text("Saved.\n"))
    result = run("tag", notes, *YAKE, "-n", "2")
    assert result.exit_code == 1
    assert "old.md: was changed by another program" in result.stderr
    assert path.read_text() == "Saved.\n"
    assert "flood-wall" in tags(notes / "plain.md")
    assert sorted(path.name for path in notes.iterdir()) == [".trash", "old.md", "plain.md", "table.csv"]


@pytest.mark.parametrize("moment", ["before", "last"])
def test_a_note_that_is_deleted_meanwhile_is_named_and_the_run_goes_on(
    notes: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    path = notes / "old.md"
    if moment == "last":
        at_the_last_moment(monkeypatch, path.unlink)
    else:
        monkeypatch.setattr("mudy.cli.tag_command.outcomes", _after(path.unlink, outcomes))
    result = run("tag", notes, *YAKE, "-n", "2")
    assert result.exit_code == 1
    assert "old.md: is gone" in result.stderr
    assert "old.md" not in result.stdout
    assert not path.exists()
    assert "flood-wall" in tags(notes / "plain.md")


def _after(action: Callable[[], object], function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        action()
        return function(*arguments)

    return call


def test_a_link_put_in_the_place_of_a_note_meanwhile_is_not_followed(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, private = notes / "old.md", notes / ".private"
    private.write_bytes(path.read_bytes())

    def swap() -> None:
        path.unlink()
        path.symlink_to(private)

    at_the_last_moment(monkeypatch, swap)
    before = private.read_bytes()
    assert "regular file" in run("tag", path, *YAKE).stderr
    assert (private.read_bytes(), path.is_symlink()) == (before, True)


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
def test_a_read_only_note_and_one_with_hard_links_are_left_alone(notes: Path, dry_run: tuple[str, ...]) -> None:
    (notes / "plain.md").chmod(0o444)
    (notes / "second.txt").hardlink_to(notes / "old.md")
    before = {path: (path.read_bytes(), path.stat().st_ino) for path in notes.glob("[a-z]*.*")}
    result = run("tag", notes, *YAKE, "-n", "2", *dry_run)
    assert result.exit_code == 1
    assert "plain.md: is read-only" in result.stderr
    assert "old.md: has 2 names (hard links)" in result.stderr
    assert "0 of 2 notes" in result.stderr
    assert result.stdout == ""
    assert {path: (path.read_bytes(), path.stat().st_ino) for path in notes.glob("[a-z]*.*")} == before


def test_a_read_only_note_that_needs_no_tags_is_no_error_and_lends_its_own(notes: Path) -> None:
    (notes / "other.md").write_text("---\ntags: [Harbour]\n---\nShips.\n")
    (notes / "other.md").chmod(0o444)
    result = run("tag", notes / "plain.md", notes / "other.md", *YAKE, "-n", "1", "--boost", "50")
    assert result.exit_code == 0, result.stderr
    assert tags(notes / "plain.md") == ["Harbour"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_a_note_stays_with_its_owner(notes: Path) -> None:
    path = notes / "plain.md"
    os.chown(path, 12345, 54321)
    assert run("tag", path, *YAKE).exit_code == 0
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_a_note_that_cannot_stay_with_its_owner_is_left_alone(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    path = notes / "plain.md"
    real = Path.stat
    monkeypatch.setattr(os, "chown", refuse)
    monkeypatch.setattr(Path, "stat", lambda self, **more: _foreign(real(self, **more), self.suffix == ".part"))
    result = run("tag", path, *YAKE)
    assert "plain.md: belongs to another user" in result.stderr
    assert path.read_text() == BODY
    assert result.stdout == ""


def _foreign(state: os.stat_result, foreign: bool) -> os.stat_result:
    values = list(state)
    values[4] += foreign  # the user's number
    return os.stat_result(values)


def test_a_write_that_fails_is_not_reported_as_done(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("tag", notes, *YAKE, "-n", "2")
    assert result.stdout == ""
    assert "plain.md: cannot be written (No space left" in result.stderr
    assert "0 of 2 notes changed" in result.stderr


# -- Links ------------------------------------------------------------------------------------------------------------


def test_links_that_came_with_a_folder_lead_to_no_other_file(
    notes: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As in a repository that somebody else has made."""
    outside = tmp_path_factory.mktemp("home")
    for name in (".bashrc", "diary.md"):
        (outside / name).write_text("private\n")
    for name in (".plain.md.part", ".old.md.part", "rc.md"):
        (notes / name).symlink_to(outside / ".bashrc")
    (notes / "diary.md").symlink_to(outside / "diary.md")
    (notes / "sub").symlink_to(outside)
    (notes / ".mine.part").write_text("mine")
    for names in ([notes], [notes / "**" / "*.md"], sorted(notes.glob("*.md"))):
        result = run("tag", *names, *YAKE, "-n", "2")
        assert result.exit_code == 1
        assert "diary.md: is a link to" in result.stderr
        assert {path.name: path.read_text() for path in outside.iterdir()} == dict.fromkeys(
            (".bashrc", "diary.md"), "private\n"
        )
    assert "flood-wall" in tags(notes / "plain.md")
    assert (notes / ".plain.md.part").is_symlink()
    assert (notes / ".mine.part").read_text() == "mine"


def test_a_link_to_a_file_that_is_no_note_is_refused(notes: Path) -> None:
    (notes / "table.md").symlink_to(notes / "table.csv")
    assert "table.md: is not a Markdown file" in run("tag", notes, *YAKE).stderr
    assert (notes / "table.csv").read_text() == "a,b\n"


def test_a_note_that_a_link_in_its_folder_leads_to_is_tagged_once(notes: Path) -> None:
    (notes / "again.md").symlink_to("plain.md")
    result = run("tag", notes, *YAKE, "-n", "2")
    assert result.exit_code == 0, result.stderr
    assert "2 of 2 notes changed" in result.stderr
    assert (notes / "again.md").is_symlink()


# -- Tags -------------------------------------------------------------------------------------------------------------


def test_top_n_counts_the_tags_that_a_note_has(notes: Path) -> None:
    (notes / "old.md").write_text(f"---\ntags: [mine, yours]\n---\n{BODY}")
    run("tag", notes / "old.md", *YAKE, "-n", "5")
    assert len(tags(notes / "old.md")) == 5
    assert tags(notes / "old.md")[:2] == ["mine", "yours"]
    run("tag", notes / "old.md", *YAKE, "-n", "1")
    assert len(tags(notes / "old.md")) == 5


@pytest.mark.parametrize(
    ("phrase", "tag"),
    [("HTTP/1.1", "HTTP-1.1"), ("TCP / IP stack", "TCP-IP-stack"), ("Input/output", "input-output"), ("a//b/", "a-b")],
)
def test_a_slash_in_a_new_tag_becomes_a_hyphen(phrase: str, tag: str) -> None:
    assert tag_of(Keyphrase(1, phrase, 1.0, (), ())) == tag


def test_front_matter_of_other_kinds_is_left_alone_while_others_go_on(notes: Path) -> None:
    others = {
        "hugo.md": f"+++\ntitle = 'x'\n+++\n{BODY}",
        "json.md": f'{{\n  "title": "x"\n}}\n\n{BODY}',
        "comment.md": f"--- # c\ntitle: x\n---\n{BODY}",
        "blank.md": f"\n---\ntitle: x\n---\n{BODY}",
    }
    for name, content in others.items():
        (notes / name).write_text(content)
    result = run("tag", notes, *YAKE, "-n", "2")
    assert result.exit_code == 1
    assert all(f"{name}: its f" in result.stderr or f"{name}: it has space" in result.stderr for name in others)
    assert {name: (notes / name).read_text() for name in others} == others
    assert "flood-wall" in tags(notes / "plain.md")
