"""Markdown notes, and the tags in their YAML front matter, added without touching anything else.

The parser only locates the tags; the text is edited there, and all other characters stay as they are: order, comments,
quotes, line ends, a byte-order mark. Afterwards the parser must read the same keys as before, and the new tags.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from mudy._support.storage import real_path
from mudy.errors import InputError
from mudy.extraction.examples import files_in
from mudy.extraction.ranking import variant_key

_FENCE = re.compile(r"---[ \t]*(\r\n|\n|\r)")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_FIRST_KEY = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*[ \t]*[\w\"'][\w\"' ./-]{0,40}:\s")
_BLANK = re.compile(r"[\s\ufeff\u200b]*")
_OTHER_FORMS = {  # of front matter, by how they begin
    "TOML (+++)": re.compile(r"\+\+\+"),
    "JSON": re.compile(r"\{\s*[\"}]|;;;"),
    "a title without a fence (MultiMarkdown, Pelican)": re.compile(
        r"title[ \t]*:(?:[ \t]|$)", re.IGNORECASE | re.MULTILINE
    ),
    "Logseq's (key:: value)": re.compile(r"[\w-]+::[ \t]"),
    "pandoc's (% title)": re.compile(r"%[ \t]"),
}
_PLAIN = re.compile(r"[^\W\d_][\w/-]*(?: [\w/-]+)*")
_MARK = "\ufeff"
NOTE_ENDINGS = (".md", ".markdown", ".mdown")


@dataclass(frozen=True, slots=True)
class Note:
    content: str  # all of it, a byte-order mark too
    start: int  # of the YAML
    end: int  # of the YAML; equal to `start` where there is none
    body: int  # where the text begins
    newline: str
    has_front_matter: bool

    @classmethod
    def of(cls, content: str) -> Self:
        """InputError for front matter that is not closed, or is not YAML between lines ---."""
        begin = len(_MARK) if content.startswith(_MARK) else 0
        opening = _FENCE.match(content, begin)
        if opening is None:
            _refuse_other_forms(content, begin)
            newline = re.search(r"\r\n|\n|\r", content)
            return cls(content, begin, begin, begin, newline[0] if newline else "\n", False)
        closing = _END.search(content, opening.end())
        if closing is None:
            raise InputError("the front matter begins with --- but is not closed. Close it with a line ---")
        return cls(content, opening.end(), closing.start(), closing.end(), opening[1], True)

    @property
    def text(self) -> str:
        return self.content[self.body :]

    @property
    def yaml(self) -> str:
        return self.content[self.start : self.end]

    def tags(self, key: str = "tags") -> list[str]:
        tags = _Tags.of(self.yaml, key)
        return [] if tags is None else tags.values

    def with_tags(self, new: Sequence[str], key: str = "tags", total: int | None = None) -> str:
        """The file with new tags added until it has `total`; existing tags stay, and no variant of one is added."""
        tags = _Tags.of(self.yaml, key)
        existing = [] if tags is None else tags.values
        known = {variant_key(tag) for tag in existing}
        unknown: dict[tuple[str, ...], str] = {}
        for tag in new:
            unknown.setdefault(variant_key(tag), tag)
        added = [tag for variant, tag in unknown.items() if variant not in known]
        added = added if total is None else added[: max(0, total - len(existing))]
        if not added:
            return self.content
        edited = self._new_key(key, added) if tags is None else tags.with_more(self.yaml, added, self.newline)
        read = _Tags.of(edited, key)
        only_tags_changed = _other_keys(self.yaml, key) == _other_keys(edited, key)
        if read is None or read.values != [*existing, *added] or not only_tags_changed:
            raise InputError(f"{key!r} cannot be edited without changing something else. Write it as a plain list.")
        if self.has_front_matter:
            return self.content[: self.start] + edited + self.content[self.end :]
        fence = f"---{self.newline}"
        return self.content[: self.start] + fence + edited + fence + self.content[self.start :]

    def _new_key(self, key: str, tags: Sequence[str]) -> str:
        """The YAML with a list at its end, indented like the other keys."""
        root = _root(self.yaml)
        if root is not None and root.flow_style:
            raise InputError("the front matter is in braces { }, which is not supported. Write one key per line.")
        indent = " " * (root.start_mark.column if root is not None else 0)
        lines = [f"{indent}{key}:", *(f"{indent}  - {scalar(tag)}" for tag in tags)]
        return self.yaml + "".join(f"{line}{self.newline}" for line in lines)


@dataclass(frozen=True, slots=True)
class _Tags:
    node: Any  # of the value, as the parser gives it
    values: list[str]

    @classmethod
    def of(cls, text: str, key: str) -> Self | None:
        """None where there is no such key."""
        root = _root(text)
        nodes = [value for name, value in root.value if _is_key(name, key)] if root is not None else []
        if len(nodes) > 1:
            raise InputError(f"the front matter has the key {key!r} twice. Leave one of them.")
        if not nodes and root is not None and any(name.tag == "tag:yaml.org,2002:merge" for name, _ in root.value):
            raise InputError(f"keys are merged in (<<), and a new list {key!r} might replace one. Write the tags out.")
        return cls(nodes[0], _values(nodes[0], key)) if nodes else None

    def with_more(self, text: str, tags: Sequence[str], newline: str) -> str:
        node, start, end = self.node, self.node.start_mark.index, self.node.end_mark.index
        written = ", ".join(map(scalar, tags))
        if isinstance(node, yaml.SequenceNode) and node.flow_style:
            place = node.value[-1].end_mark.index if node.value else start + 1
            return text[:place] + (f", {written}" if node.value else written) + text[place:]
        if isinstance(node, yaml.SequenceNode):
            place = _end_of_line(text, node.value[-1].end_mark.index)
            dash = " " * node.start_mark.column + "- "
            lines = "".join(f"{dash}{scalar(tag)}{newline}" for tag in tags)
            return text[:place] + ("" if text[:place].endswith(("\r", "\n")) else newline) + lines + text[place:]
        if not self.values:  # a key without a value, or null
            space = "" if text[start - 1 : start] == " " else " "
            return f"{text[:start]}{space}[{written}]{text[end:]}"
        if "," in node.value:  # "a, b": one text, which note-taking tools read as two tags
            if odd := [tag for tag in tags if not _PLAIN.fullmatch(tag)]:
                raise InputError(
                    f"the tags are one text with commas, which cannot hold {odd[0]!r}. Write them as a list."
                )
            place = end - (node.style in ("'", '"'))
            return f"{text[:place]}, {', '.join(tags)}{text[place:]}"
        return f"{text[:start]}[{text[start:end]}, {written}]{text[end:]}"


def _values(node: Any, key: str) -> list[str]:
    if isinstance(node, yaml.ScalarNode):
        if node.tag == "tag:yaml.org,2002:null":
            return []
        if node.style in ("|", ">") or (" " in node.value.strip() and "," not in node.value):
            raise InputError(f"{key!r} is the text {node.value[:60]!r}: one tag or several? Write it as a list.")
        return [tag for tag in map(str.strip, node.value.split(",")) if tag]
    if isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in node.value):
        return [item.value for item in node.value if item.value]
    raise InputError(f"{key!r} in the front matter is not a list of tags. Write it as a list of texts.")


def _root(text: str) -> Any:
    """The front matter as a mapping; None if it is empty. InputError for anything else."""
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise InputError(f"the front matter is not YAML ({' '.join(str(error).split())[:200]}).") from None
    except RecursionError:
        raise InputError("the front matter is nested too deeply.") from None
    if root is None or isinstance(root, yaml.MappingNode):
        return root
    raise InputError("the front matter has no keys. Is the first --- a horizontal rule? Put a blank line above.")


def _refuse_other_forms(content: str, begin: int) -> None:
    """InputError for other kinds of front matter, which YAML above them would turn into text."""
    first = _BLANK.match(content).end()  # type: ignore[union-attr]  # it matches nothing too
    for name, form in _OTHER_FORMS.items():
        if form.match(content, first):
            raise InputError(f"its front matter is {name}, which is not supported. Write it as YAML between lines ---")
    line = content[first : _end_of_line(content, first)].rstrip("\r\n")
    closing = _END.search(content, first + len(line)) if line.startswith("---") else None
    if closing is not None and line.strip(" \t-"):
        raise InputError(f"its first line is {line[:60]!r}. Write --- alone, so that all tools see front matter.")
    if closing is not None and first > begin and _FIRST_KEY.match(content, first + len(line)):
        raise InputError("it has space above its front matter. Delete it, or write a horizontal rule as ***")


def _is_key(node: Any, key: str) -> bool:
    return isinstance(node, yaml.ScalarNode) and bool(node.value.casefold() == key.casefold())


def _other_keys(text: str, key: str) -> str:
    """The front matter without one key, as the parser reads it. Aliases are not expanded, so nothing can grow."""
    root = _root(text)
    kept = [pair for pair in root.value if not _is_key(pair[0], key)] if root is not None else []
    return str(yaml.serialize(yaml.MappingNode("tag:yaml.org,2002:map", kept), Dumper=yaml.SafeDumper))


def scalar(tag: str) -> str:
    """A tag as YAML that is read as this text: plain where that is certain, else in double quotes."""
    if _PLAIN.fullmatch(tag) and yaml.SafeLoader("").resolve(yaml.ScalarNode, tag, (True, False)).endswith(":str"):
        return tag
    quoted = json.dumps(tag, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def _end_of_line(text: str, index: int) -> int:
    match = re.compile(r"\r\n|\n|\r").search(text, index)
    return match.end() if match else len(text)


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note, and the bytes it was read from."""

    path: Path  # as it was named
    place: Path  # where that leads
    data: bytes
    note: Note


def visible_notes(folder: Path) -> list[Path]:
    """The Markdown files of a folder, without hidden ones."""
    return [path for path in files_in(folder) if path.suffix.lower() in NOTE_ENDINGS]


def is_within(place: Path, folder: Path) -> bool:
    return place.is_relative_to(real_path(folder))


def read_note(path: Path, key: str, folder: Path) -> NoteFile:
    """InputError for a file that is not Markdown in UTF-8, has unreadable tags, or is a link out of the folder."""
    place = real_path(path)
    if not is_within(place, folder):
        raise InputError(f"is a link to {place}, outside the folder given. Name that file to tag it.")
    if not {path.suffix.lower(), place.suffix.lower()} <= set(NOTE_ENDINGS):
        raise InputError(f"is not a Markdown file ({', '.join(NOTE_ENDINGS)}).")
    if place.exists() and not place.is_file():
        raise InputError("is not a regular file.")
    try:
        data = place.read_bytes()
        note = Note.of(data.decode())
    except UnicodeDecodeError:
        raise InputError("is not UTF-8; it is left as it is.") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error}).") from None
    note.tags(key)
    return NoteFile(path, place, data, note)
