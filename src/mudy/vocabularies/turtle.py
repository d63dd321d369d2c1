"""Turtle and N-Triples -> statements (W3C Recommendation, RDF 1.1 Turtle), as far as vocabularies use them.

All of the grammar is read. What labels do not need is read over: datatypes are dropped, and lists are not linked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urljoin

from mudy.cancellation import cancellable
from mudy.errors import InputError
from mudy.vocabularies.triples import RDF, Triple

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+|\#[^\r\n]*)
  | <(?P<iri>[^<>"{}|^`\x00-\x20]*)>
  | (?P<long>"{3}(?:[^"\\]|\\.|"{1,2}(?!"))*"{3}|'{3}(?:[^'\\]|\\.|'{1,2}(?!'))*'{3})
  | (?P<short>"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')
  | @(?P<at>[A-Za-z]+(?:-[A-Za-z0-9]+)*)
  | (?P<blank>_:\w(?:[\w\-]|\.(?=[\w\-.]))*)
  | (?P<name>(?:[^\W\d_][\w\-]*(?:\.[\w\-]+)*)?:(?:[\w\-:%]|\\.|\.(?=[\w\-:%\\.]))*)
  | (?P<number>[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<word>[A-Za-z]+)
  | (?P<mark>\^\^|[.;,()\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_DEEPEST = 100  # blank nodes and lists within one another


class TurtleToken(NamedTuple):
    kind: str
    text: str
    start: int


class TurtleReader:
    """One walk through a file."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._read_tokens()
        self._token = next(self._tokens)
        self._prefixes: dict[str, str] = {}
        self._base = ""
        self._blank_nodes = 0
        self._found: list[Triple] = []

    def triples(self) -> Iterator[Triple]:
        """Every statement; InputError names the line of what cannot be read."""
        while self._token.kind != "end":
            if not self._directive():
                self._statement()
            yield from self._found
            self._found.clear()

    # -- Tokens -------------------------------------------------------------------------------------------------------

    def _read_tokens(self) -> Iterator[TurtleToken]:
        position = 0
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            if match is None:
                raise self._unreadable(position)
            kind = match.lastgroup or ""
            if kind != "space":
                yield TurtleToken(kind, match[kind], position)
            position = match.end()
        yield TurtleToken("end", "", position)

    def _next(self) -> TurtleToken:
        token, self._token = self._token, next(self._tokens, self._token)
        return token

    def _take(self, mark: str) -> bool:
        if self._token.kind == "mark" and self._token.text == mark:
            self._next()
            return True
        return False

    def _need(self, mark: str) -> None:
        if not self._take(mark):
            raise self._unreadable(self._token.start, f"{mark!r} is needed")

    def _unreadable(self, position: int, why: str = "this is no Turtle") -> InputError:
        line = self._text.count("\n", 0, position) + 1
        return InputError(f"line {line}: {why}, not {self._text[position : position + 20]!r}.")

    # -- Statements ---------------------------------------------------------------------------------------------------

    def _directive(self) -> bool:
        """@prefix and @base, or PREFIX and BASE, which have no full stop."""
        kind, text, _ = self._token
        name = text.lower()
        if kind not in ("at", "word") or name not in ("prefix", "base"):
            return False
        self._next()
        if name == "prefix":
            prefix = self._next()
            if prefix.kind != "name" or not prefix.text.endswith(":"):
                raise self._unreadable(prefix.start, "a prefix is needed")
            self._prefixes[prefix.text] = self._iri()
        else:
            self._base = self._iri()
        if kind == "at":
            self._need(".")
        return True

    def _iri(self) -> str:
        token = self._next()
        if token.kind != "iri":
            raise self._unreadable(token.start, "an address in < > is needed")
        return self._resolved(token.text)

    def _resolved(self, iri: str) -> str:
        plain = unescaped(iri) if "\\" in iri else iri
        return urljoin(self._base, plain) if self._base and ":" not in plain.split("/")[0] else plain

    def _statement(self) -> None:
        if self._token.text == "[" and self._token.kind == "mark":
            subject, _, _ = self._value(0)
            if not self._take("."):
                self._properties(subject, 0)
                self._need(".")
            return
        subject, _, literal = self._value(0)
        if literal:
            raise self._unreadable(self._token.start, "a subject cannot be a text")
        self._properties(subject, 0)
        self._need(".")

    def _properties(self, subject: str, depth: int) -> None:
        """What is said of a subject: predicate value, value ; predicate value ..."""
        while True:
            predicate = self._predicate()
            while True:
                self._found.append(Triple(subject, predicate, *self._value(depth)))
                if not self._take(","):
                    break
            if not self._take(";"):
                return
            while self._take(";"):
                pass
            if self._token.kind == "end" or (self._token.kind == "mark" and self._token.text in ".]"):
                return

    def _predicate(self) -> str:
        if self._token.kind == "word" and self._token.text == "a":
            self._next()
            return f"{RDF}type"
        value, _, literal = self._value(0)
        if literal:
            raise self._unreadable(self._token.start, "a predicate cannot be a text")
        return value

    def _value(self, depth: int) -> tuple[str, str, bool]:
        """A resource or a literal: its text, its language, and whether it is one."""
        token = self._next()
        match token.kind:
            case "iri":
                return self._resolved(token.text), "", False
            case "name":
                return self._expanded(token), "", False
            case "blank":
                return token.text, "", False
            case "long" | "short":
                quotes = 3 if token.kind == "long" else 1
                return self._literal(token.text[quotes:-quotes])
            case "number":
                return token.text, "", True
            case "word" if token.text in ("true", "false"):
                return token.text, "", True
            case "mark" if token.text in "[(":
                return self._nested(token, depth + 1), "", False
        raise self._unreadable(token.start, "a resource or a text is needed")

    def _literal(self, text: str) -> tuple[str, str, bool]:
        language = ""
        if self._token.kind == "at":
            language = self._next().text.lower()
        elif self._take("^^"):
            self._value(0)
        return (unescaped(text) if "\\" in text else text), language, True

    def _expanded(self, token: TurtleToken) -> str:
        prefix, _, local = token.text.partition(":")
        if f"{prefix}:" not in self._prefixes:
            raise self._unreadable(token.start, f"the prefix {prefix + ':'!r} is not declared")
        return self._prefixes[f"{prefix}:"] + re.sub(r"\\(.)", r"\1", local)

    def _nested(self, token: TurtleToken, depth: int) -> str:
        """A blank node with its properties, or a list, whose items are read."""
        if depth > _DEEPEST:
            raise self._unreadable(token.start, f"more than {_DEEPEST} levels are too deep")
        self._blank_nodes += 1
        node = f"_:[{self._blank_nodes}]"
        if token.text == "(":
            while not self._take(")"):
                self._value(depth)
        elif not self._take("]"):
            self._properties(node, depth)
            self._need("]")
        return node


def turtle_triples(text: str) -> Iterator[Triple]:
    return cancellable(TurtleReader(text).triples(), every=1024)


def unescaped(text: str) -> str:
    """The characters that escapes stand for."""

    def character(match: re.Match[str]) -> str:
        if number := match[1] or match[2]:
            code = int(number, 16)
            return chr(code) if code <= 0x10FFFF else "\ufffd"
        return _ESCAPED.get(match[3], match[3])

    return _ESCAPE.sub(character, text)
