"""reStructuredText: its text without mark-up, targets, comments and most directives; unknown directives are text."""

import re
from collections.abc import Sequence
from textwrap import dedent

from mudy.reading.formats import TextBuilder
from mudy.reading.structure import UNDERLINE

_CODE_DIRECTIVES = """
parsed-literal doctest testcode testoutput ipython math prompt console productionlist plot
graphviz digraph graph mermaid uml jupyter-execute
"""
_DROPPED_DIRECTIVES = """
toctree contents image include literalinclude raw index highlight meta default-role role tabularcolumns currentmodule
module py:module autosummary sectnum target-notes bibliography
"""
_SIGNATURE_DIRECTIVES = "function method class attribute data exception option envvar describe confval cmdoption"
_CODE, _DROPPED = frozenset(_CODE_DIRECTIVES.split()), frozenset(_DROPPED_DIRECTIVES.split())
_SIGNATURES = frozenset(_SIGNATURE_DIRECTIVES.split())
_DEEPEST = 20  # directives within directives
_EXPLICIT = re.compile(r"\.\.(?:\s|$)")
_DIRECTIVE = re.compile(r"\.\. (?:\|[^|]{1,60}\| )?([A-Za-z][\w:.+-]{0,60})::(.*)")
_FOOTNOTE = re.compile(r"\.\. \[[\w#*][^\[\]]{0,60}\](.*)")
_FIELD = re.compile(r":[^:`\s][^:`]{0,60}:(?: (.*))?")
_ITEM = re.compile(r"(?:[-*+•]|\(?(?:\d{1,3}|#|[a-zA-Z])[.)])\s+(.*)")
_TABLE = re.compile(r"\+[-=+]{3,}\+|={2,}(?: +={2,})+")
_HEADER = re.compile(r"[A-Z][A-Za-z-]{1,30}: ?(.*)")
_ROLE = re.compile(r":[A-Za-z][\w:+.-]{0,60}:`([^`]{1,1000})`|`([^`]{1,1000})`_{0,2}")
_TARGET = re.compile(r"\s{0,9}<[^<>]{1,500}>$")
_MARKS = re.compile(r"``([^`]{1,1000})``|\*\*(\S[^*]{0,1000})\*\*|\*(\S[^*]{0,1000})\*|\|(\w[^|]{0,100})\|_{0,2}")
_REFERENCE = re.compile(r"\s?\[[#\w*-]{1,60}\]_|(?<=\w)__?(?=[\s.,;:!?)'\"]|$)")


def read_rst(builder: TextBuilder, text: str) -> None:
    _Blocks(builder).add(_without_preamble(builder, text.expandtabs(8).splitlines()))


def inline(text: str) -> str:
    """A paragraph without mark-up; roles and links stand for their text."""
    text = _MARKS.sub(lambda match: (match[1] and f"``{match[1]}``") or next(filter(None, match.groups())), text)
    text = _ROLE.sub(lambda match: _name(match[1]) if match[1] else _TARGET.sub("", match[2]), text.replace("``", "`"))
    return _REFERENCE.sub("", text).replace("\\", "")


def _name(text: str) -> str:
    """What a role shows: its text without a target, without the mark that shortens or hides it."""
    shown = _TARGET.sub("", text)
    return shown.lstrip("!").rpartition(".")[2] if shown.startswith("~") else shown.lstrip("!")


def _without_preamble(builder: TextBuilder, lines: list[str]) -> list[str]:
    """The lines after a header like that of mail, as proposals have it; its title is the title."""
    end = next((n for n, line in enumerate(lines) if not line.strip()), 0)
    headers = [_HEADER.fullmatch(line) for line in lines[:end] if not line.startswith(" ")]
    if len(headers) < 3 or not all(headers):
        return lines
    builder.add(next((m[1] for m in headers if m and m[0].startswith("Title:")), ""), "title")
    return lines[end:]


class _Blocks:
    """Adds the blocks of lines; those in blocks that are indented, without their indentation."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._levels: dict[str, int] = {}  # of headings, by their style
        self._depth = 0  # of blocks within blocks

    def add(self, lines: Sequence[str]) -> None:
        place, literal = 0, False  # literal: an indented block is code, after ::
        while place < len(lines):
            line, end = lines[place], _indented_until(lines, place + 1)
            if not line.strip():
                place += 1
                continue
            if line.startswith(" "):
                self._add_indented(lines[place:end], literal)
            elif _EXPLICIT.match(line):
                self._add_explicit(line, lines[place + 1 : end])
            elif heading := _heading(lines, place):
                title, style, end = heading
                level = self._levels.setdefault(style, len(self._levels) + 1)
                self._builder.add(inline(title), "heading", min(level, 6))
            elif _TABLE.match(line):
                end = self._add_table(lines, place)
            elif match := _ITEM.match(line) or _FIELD.fullmatch(line):
                self._add_item(match, lines[place + 1 : end])
            elif not UNDERLINE.fullmatch(line):
                below = range(place + 1, len(lines))
                end = next((n for n in below if lines[n].startswith((" ", ".. ")) or not lines[n].strip()), len(lines))
                text = "\n".join(lines[place:end])
                self._builder.add(*((text, "code") if line.startswith(">>> ") else (inline(text).replace("::", ":"),)))
            else:
                end = place + 1
            literal = lines[end - 1].endswith("::") and not line.startswith("..")
            place = end

    def _add_indented(self, lines: Sequence[str], literal: bool = False) -> None:
        text = dedent("\n".join(lines))
        if literal or self._depth == _DEEPEST:
            self._builder.add(text, "code" if literal else "prose")
        else:
            self._depth += 1
            self.add(text.split("\n"))
            self._depth -= 1

    def _add_explicit(self, line: str, body: Sequence[str]) -> None:
        """Add what follows two dots: a directive or a footnote; targets and comments are left out."""
        if footnote := _FOOTNOTE.fullmatch(line):
            self._add_indented([f" {footnote[1].strip()}", *body])
            return
        directive = _DIRECTIVE.fullmatch(line)
        if directive is None or directive[1] in _DROPPED:
            return
        options = next((n for n, text in enumerate(body) if not _FIELD.fullmatch(text.strip())), len(body))
        content, argument = dedent("\n".join(body[options:])), directive[2].strip()
        if directive[1] in _CODE or "code" in directive[1]:
            self._builder.add(content, "code")
            return
        if ":" in directive[1] or directive[1] in _SIGNATURES:
            self._builder.add(inline(argument), "code")
            argument = ""
        self._add_indented([argument, *content.split("\n")])

    def _add_item(self, match: re.Match[str], body: Sequence[str]) -> None:
        """Add an item of a list: its first paragraph, then what else it holds; or a field, without its name."""
        end = next((n for n, line in enumerate(body) if not line.strip()), len(body))
        text = " ".join((match[1] or "", *(line.strip() for line in body[:end])))
        self._builder.add(inline(text), "list" if match.re is _ITEM else "boilerplate")
        self._add_indented(body[end:], text.endswith("::"))

    def _add_table(self, lines: Sequence[str], place: int) -> int:
        while place < len(lines) and (lines[place].strip() or not _TABLE.match(lines[place - 1])):
            cells = re.split(r" {2,}| ?\| ?", lines[place].strip("+=-| "))
            self._builder.add(" | ".join(inline(cell) for cell in cells if cell.strip("+=- ")), "table")
            place += 1
        return place


def _indented_until(lines: Sequence[str], place: int) -> int:
    end = place
    while place < len(lines) and (not lines[place].strip() or lines[place].startswith(" ")):
        place += 1
        end = place if lines[place - 1].strip() else end
    return end


def _heading(lines: Sequence[str], place: int) -> tuple[str, str, int] | None:
    """The title, the style and the end of a heading: a line with marks below it, or above and below."""
    overline, line, below = lines[place], *(*lines[place + 1 : place + 3], "", "")[:2]
    if (match := UNDERLINE.fullmatch(overline)) and overline == below and line.strip():
        return line.strip(), match[1] + "+", place + 3
    match = UNDERLINE.fullmatch(line)
    if match and " " not in line and not UNDERLINE.fullmatch(overline) and len(line) >= 0.8 * len(overline):
        return overline.strip(), match[1], place + 2
    return None
