"""Source code: its comments and docstrings are text, the rest is code."""

import re
from textwrap import dedent

from mudy.reading.formats import TextBuilder

_STRING = r"\"(?:[^\"\\\n]|\\.){0,2000}\"|'(?:[^'\\\n]|\\.){0,2000}'"
_DOCSTRING = r"(?:(?<=\n)|^)[ \t]{0,40}[rRuUbB]{0,2}(?P<docstring>\"\"\"|''')"
_TOKEN = re.compile(rf"{_DOCSTRING}|(?P<string>{_STRING})|(?P<block>/\*)|(?P<line>(?://|#|--|;;)[^\n]{{0,2000}})")
_CLOSING = {'"""': '"""', "'''": "'''", "/*": "*/"}
_MARKS = re.compile(r"^[ \t]*(?:/{2,3}!?|#{1,3}!?|--|;{2,4}|\*(?!/))[ \t]?", re.MULTILINE)
_LICENCE = re.compile(r"copyright|licen[sc]e|all rights reserved|spdx-", re.I)
_MARK_SHARE = 0.6  # of letters and spaces in a comment; less is code that was commented out


def read_source(builder: TextBuilder, text: str) -> None:
    text = text.replace("\r\n", "\n")
    comment: list[str] = []  # line comments in a row
    end = 0

    def add_code(code: str) -> None:
        if code.strip():
            _add_comment(builder, "\n".join(comment))
            comment.clear()
            builder.add(code, "code")

    code_from = 0
    while match := _TOKEN.search(text, end):
        end = match.end()
        if match["string"]:
            continue
        add_code(text[code_from : match.start()])
        if match["line"]:
            comment.append(match["line"])
        else:
            closing = _CLOSING[match["docstring"] or match["block"]]
            closed = text.find(closing, end)
            closed = len(text) if closed < 0 else closed
            _add_comment(builder, text[end:closed])
            end = closed + len(closing)
        code_from = end
    add_code(text[code_from:])
    _add_comment(builder, "\n".join(comment))


def _add_comment(builder: TextBuilder, comment: str) -> None:
    for paragraph in re.split(r"\n[ \t]*\n", dedent(_MARKS.sub("", comment))):
        letters = sum(character.isalpha() or character.isspace() for character in paragraph)
        prose = letters > _MARK_SHARE * len(paragraph)
        builder.add(paragraph, "boilerplate" if _LICENCE.search(paragraph) else "prose" if prose else "code")
