"""Tags are added to front matter, and nothing else changes."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mudy import InputError
from mudy.extraction.examples.front_matter import Note, scalar

NEW = ["flood-wall", "b", "yes"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# Hi\n", '---\ntags:\n  - flood-wall\n  - b\n  - "yes"\n---\n# Hi\n'),
        ("", '---\ntags:\n  - flood-wall\n  - b\n  - "yes"\n---\n'),
        ("\ufeff# Hi\r\n", '\ufeff---\r\ntags:\r\n  - flood-wall\r\n  - b\r\n  - "yes"\r\n---\r\n# Hi\r\n'),
        ("---\n---\nx", '---\ntags:\n  - flood-wall\n  - b\n  - "yes"\n---\nx'),
        ("---\ntitle:  'a' # c\n---\nx", "---\ntitle:  'a' # c\ntags:\n  - flood-wall\n  - b\n  - \"yes\"\n---\nx"),
        ("---\n# c\n  a: |+\n    x\n\n---\n",
         '---\n# c\n  a: |+\n    x\n\n  tags:\n    - flood-wall\n    - b\n    - "yes"\n---\n'),
        ("---\r\ntags: [a, b]\r\nz: 1\r\n---\r\n", '---\r\ntags: [a, b, flood-wall, "yes"]\r\nz: 1\r\n---\r\n'),
        ("---\ntags: [\n  a,\n  b, # c\n]\n---\n", '---\ntags: [\n  a,\n  b, flood-wall, "yes", # c\n]\n---\n'),
        ("---\ntags: []\n---\n", '---\ntags: [flood-wall, b, "yes"]\n---\n'),
        ("---\ntags:\n- a\n- b # c\n# d\nz: 1\n---\n",
         '---\ntags:\n- a\n- b # c\n- flood-wall\n- "yes"\n# d\nz: 1\n---\n'),
        ("---\nz: 1\ntags:\n    - 'b'\n...\n", '---\nz: 1\ntags:\n    - \'b\'\n    - flood-wall\n    - "yes"\n...\n'),
        ("---\ntags:\nz: 1\n---\n", '---\ntags: [flood-wall, b, "yes"]\nz: 1\n---\n'),
        ("---\ntags: ~ # none\n---\n", '---\ntags: [flood-wall, b, "yes"] # none\n---\n'),
        ("---\ntags: one\n---\n", '---\ntags: [one, flood-wall, b, "yes"]\n---\n'),
        ("---\ntags: 'a, b'\n---\n", "---\ntags: 'a, b, flood-wall, yes'\n---\n"),
        ("---\ntags: a, b # c\n---\n", "---\ntags: a, b, flood-wall, yes # c\n---\n"),
    ],
)  # fmt: skip
def test_tags_join_those_that_are_there_in_their_form(before: str, after: str) -> None:
    assert Note.of(before).with_tags(NEW) == after


@pytest.mark.parametrize(
    "content",
    [
        "---- a dash\n",
        "-----\nText\n---\n",
        "--- An author\n",
        "\n---\n\nSome text, with a rule above and below.\n\nNote: this.\n\n---\n",
        "\n\n# Heading\n",
        "{{< shortcode >}}\n",
        "{% raw %}\n",
        "{: .lead}\n",
        "+ one\n+ two\n",
        "Titles: none\n",
        "%20\n",
    ],
)
def test_text_that_only_resembles_front_matter_gets_a_block_above_it(content: str) -> None:
    assert Note.of(content).with_tags(["b"]) == f"---\ntags:\n  - b\n---\n{content}"


@pytest.mark.parametrize("key", ["Tags", "TAGS", "'tags'"])
def test_a_key_in_capitals_is_the_key(key: str) -> None:
    assert Note.of(f"---\n{key}: [a]\n---\n").with_tags(["b"]) == f"---\n{key}: [a, b]\n---\n"


def test_tags_of_the_note_itself_stand_above_those_merged_in() -> None:
    before = "---\nd: &d {tags: [x]}\n<<: *d\ntags: [a]\n---\n"
    assert Note.of(before).with_tags(["b"]) == before.replace("[a]", "[a, b]")


def test_a_merge_that_grows_is_not_followed() -> None:
    lines = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60))
    assert Note.of(f"---\n{lines}---\n").with_tags(["b"]).endswith("tags:\n  - b\n---\n")


@pytest.mark.parametrize(("total", "tags"), [(1, "x, y"), (2, "x, y"), (4, "x, y, a, b"), (None, "x, y, a, b, c")])
def test_a_total_counts_the_tags_that_are_there_and_removes_none(total: int | None, tags: str) -> None:
    note = Note.of("---\ntags: [x, y]\n---\n")
    assert note.with_tags(["a", "X", "A", "b", "c"], total=total) == f"---\ntags: [{tags}]\n---\n"


@pytest.mark.parametrize("existing", ["flood wall", "Flood-Walls", "flood-wall"])
def test_a_tag_that_is_there_in_another_form_is_not_added(existing: str) -> None:
    content = f"---\ntags: [{existing}]\n---\nx"
    assert Note.of(content).with_tags(["flood-wall"]) == content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("---\ntitle: x\n", "is not closed"),
        ("---\na: b: c\n---\n", "not YAML"),
        ("---\n\ttags: x\n---\n", "not YAML"),
        ("---\nSome text between lines.\n---\n", "has no keys"),
        ("---\n- a\n---\n", "has no keys"),
        ("---\n{a: 1}\n---\n", "braces"),
        ("---\ntags: [a]\ntags: [b]\n---\n", "twice"),
        ("---\ntags: a b\n---\n", "one tag or several"),
        ("---\ntags: {a: 1}\n---\n", "not a list of tags"),
        ("---\ntags:\n  - [a]\n---\n", "not a list of tags"),
        ("---\ntags: &x [a]\no: *x\n---\n", "cannot be edited"),
        ("---\na: &x [q]\ntags: *x\n---\n", "cannot be edited"),
        ("---\na: \x00\n---\n", "not YAML"),
        ("+++\ntitle = 'x'\n+++\nText", "TOML"),
        ("\ufeff\n+++\r\ntitle = 'x'\r\n+++\r\n", "TOML"),
        ('{\n  "title": "x"\n}\n\nText', "JSON"),
        ("{}\nText", "JSON"),
        (";;;\n{}\n;;;\nText", "JSON"),
        ("---toml\ntitle = 'x'\n---\nText", "first line is '---toml'"),
        ("--- # comment\ntitle: x\n---\nText", "first line is '--- # comment'"),
        ("---\u00a0\ntitle: x\n---\nText", "first line is"),
        ("\n--- # comment\ntitle: x\n---\nText", "first line is"),
        ("---\ntitle: x\n--- # comment\nText", "is not closed"),
        ("\n---\ntitle: x\n---\nText", "space above"),
        (" ---\ntitle: x\n---\nText", "space above"),
        ("\ufeff\r\n \r\n---\r\n# c\r\n\r\ntitle: x\r\n---\r\nText", "space above"),
        ("\ufeff\ufeff---\ntitle: x\n---\nText", "space above"),
        ("\n---\ntitle: a: b\n---\nText", "space above"),
        ("Title: My post\nDate: 2024-01-01\n\nText", "MultiMarkdown"),
        ("title:: x\ntype:: y\n\nText", "MultiMarkdown|Logseq"),
        ("% A title\n% An author\n\nText", "pandoc"),
        ("---\nd: &d\n  tags: [a]\n<<: *d\n---\n", "merged in"),
        ("---\nd: &d {Tags: [a]}\ne: &e {<<: *d}\n<<: [*e]\n---\n", "merged in"),
        ("---\nTags: [a]\ntags: [b]\n---\n", "twice"),
        ("---\n" + "a: [" * 3_000 + "\n---\n", "not YAML|nested too deeply"),
    ],
)
def test_front_matter_that_cannot_be_edited_safely_is_refused(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Note.of(content).with_tags(NEW)


def test_aliases_that_would_grow_are_not_expanded() -> None:
    lines = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    assert Note.of(f"---\n{lines}---\n").with_tags(["b"]) == f"---\n{lines}tags:\n  - b\n---\n"


@settings(max_examples=300, deadline=None)
@given(
    st.text(min_size=1, max_size=20).filter(
        lambda tag: tag.strip() and not any(0xD800 <= ord(c) <= 0xDFFF for c in tag)
    )
)
def test_a_tag_is_read_back_as_it_was_written(tag: str) -> None:
    assert yaml.safe_load(f"- {scalar(tag)}") == [tag]
    assert yaml.safe_load(f"[{scalar(tag)}]") == [tag]


KEYS = st.sampled_from(
    ["title: x", "date: 2024-01-01", "# comment", "", "list:\n  - 1\n  - two", "text: |\n  a\n  b", "n: ~"]
)
TAGS = st.sampled_from(
    ["", "tags:", "tags: []", "tags: [a, 'b']", "tags:\n- a", "tags:\n  - a\n  - b", "tags: a", "tags: a, b"]
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(KEYS, max_size=4, unique=True),
    TAGS,
    st.integers(0, 4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
    st.text(alphabet="ab -#\n", max_size=20),
)
def test_everything_but_the_tags_stays(keys: list[str], tags: str, at: int, newline: str, mark: str, body: str) -> None:
    lines = [*keys[:at], *([tags] if tags else []), *keys[at:]]
    content = mark + "\n".join(["---", *lines, "---", body]).replace("\n", newline)
    note = Note.of(content)
    edited = note.with_tags(["new-tag"])
    again = Note.of(edited)
    assert again.text == note.text
    assert again.tags() == [*note.tags(), "new-tag"]
    before, after = (yaml.safe_load(each.yaml) or {} for each in (note, again))
    assert {k: v for k, v in after.items() if k != "tags"} == {k: v for k, v in before.items() if k != "tags"}
    assert edited.startswith(mark)
    assert ("\r" in edited) == (newline == "\r\n")
    place = content.find("tags:") if tags else note.end
    kept = content[place + len(tags.replace("\n", newline)) :] if tags else content[note.end :]
    assert edited.startswith(content[:place])
    assert edited.endswith(kept)
    assert again.with_tags(["new-tag"]) == edited
