"""Every regular expression of the package takes time in proportion to its text, whatever the text.

The expressions are found in the source, and each is given long texts made of its own characters over and over, which is
what makes one slow that tries the same characters again from every place.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from itertools import product
from pathlib import Path
from re import _parser as parser
from typing import Any, NamedTuple

import pytest

import mudy
from mudy.reading.candidates.grammar import GRAMMARS, UNIVERSAL
from mudy.reading.candidates.stemming import UNSPACED
from tests import growth

ROOT = Path(mudy.__file__).parent
ANCHORED = {"match", "fullmatch"}  # these begin at one place; all others try every place
USES = {"search", "sub", "subn", "split", "findall", "finditer", *ANCHORED}
LENGTH = 16_000  # a linear expression needs a hundredth of growth.TINY for it

# Expressions that never see a long text: in which module, and the longest text that they see.
SHORT = {
    ("mudy.methods.empirical", "_BRACKETS"): 300,  # _LONGEST
    ("mudy.methods.empirical", "_LABEL"): 300,
    ("mudy.methods.empirical", "_BOLD"): 300,
    ("mudy.methods.empirical", "_REMARK"): 300,
}
# Calls whose expression is made while the program runs, each with expressions as they come out.
MADE = {
    ("mudy.evaluation.datasets", r'\s*'): r"r\s*i\s*v\s*e\s*r(?!\w)",  # a title, letter by letter
    ("mudy._support.extras", r"{re.escape(extra)}"): r"""extra == ['"]corpus['"]""",
    ("mudy.extraction.examples", r"known"): r"semeval2017(?![a-z0-9])",
    ("mudy.extraction.examples", r"between"): r"[;,\n]",
    ("mudy.evaluation.measures", r"UNSPACED"): f"({UNSPACED})",
    ("mudy.reading.candidates", r"grammar_of(document.language, document.tagged).phrase"): UNIVERSAL.phrase,
    ("mudy.reading.candidates", r"grammar.run or grammar.phrase"): UNIVERSAL.phrase,
    ("mudy.reading.candidates", r"grammar.inner"): r"[AN]{0,3}N",
    ("mudy.engines.torch.transformer", r"marks"): r"<\|user\|>|</s>|<s>",
    ("mudy.engines.tokens", r"self._added"): r"[<]",
    ("mudy.engines.tokens", r"{joint}"): r"▁*(?:(?:[a]▁+)|[^▁])+|▁+",
    ("mudy.engines.endpoint", r"parameter"): r"\bmax_tokens\b",
}  # fmt: skip


class Expression(NamedTuple):
    """A regular expression, and how it is used."""

    where: str
    pattern: "re.Pattern[str]"
    use: str
    longest: int = 4 * LENGTH


# -- Finding them -----------------------------------------------------------------------------------------------------


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        if "import re\n" in (source := path.read_text()):
            name = ".".join(("mudy", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
            yield name, ast.parse(source)


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Calls with an expression, and how it is used; one that a function compiles may be used in any way."""
    functions = (node for node in tree.body if not isinstance(node, ast.Assign | ast.AnnAssign))
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile")) if id(node) in inside:
                yield node, "search"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=use)) if use in USES:
                yield node, use


@cache
def expressions() -> tuple[Expression, ...]:
    found: list[Expression] = []
    for module, tree in modules():
        found += _called(module, tree)
        found += _kept(module, tree)
    for grammar in (*GRAMMARS.values(), UNIVERSAL):
        found.append(Expression("mudy.reading.candidates grammar", re.compile(grammar.phrase), "finditer"))
    return tuple(found)


def _called(module: str, tree: ast.Module) -> Iterator[Expression]:
    """Those that are written in a call: re.sub(r"...", ...)."""
    for call, use in calls(tree):
        pattern = _written(module, call.args[0])
        if isinstance(pattern, str):
            yield Expression(f"{module}:{call.lineno}", re.compile(pattern, _flags(call)), use)


def _written(module: str, node: ast.expr) -> object:
    """The expression of a call; None if it is made while the program runs and not known here."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and hasattr(import_module(module), node.id):
        return getattr(import_module(module), node.id)
    source = ast.unparse(node)
    return next((made for (where, part), made in MADE.items() if where == module and part in source), None)


def _flags(call: ast.Call) -> re.RegexFlag:
    names = re.findall(r"re\.([A-Z]+)\b", ast.unparse(call))
    return re.RegexFlag(sum(getattr(re, name) for name in names))


def _kept(module: str, tree: ast.Module) -> Iterator[Expression]:
    """Those that a module keeps under a name: NAME = re.compile(r"...")."""
    values = vars(import_module(module))
    for name, pattern in values.items():
        if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
            uses = _uses(name, tree)
            longest = SHORT.get((module, name), 4 * LENGTH)
            for use in sorted(uses or {"search"}):
                yield Expression(f"{module}.{name}", pattern, use, longest)


def _uses(name: str, tree: ast.Module) -> set[str]:
    """How a kept expression is used, also where its method is passed on by name."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    return {node.attr for node in nodes if node.value.id == name and node.attr in USES}  # type: ignore[attr-defined]


# -- Texts that are hard for them -------------------------------------------------------------------------------------


CATEGORIES = {
    "CATEGORY_SPACE": " \n",
    "CATEGORY_WORD": "a0",
    "CATEGORY_DIGIT": "0",
    "CATEGORY_NOT_SPACE": "a.",
    "CATEGORY_NOT_WORD": " .",
}


def pieces(pattern: "re.Pattern[str]") -> list[str]:
    """Characters and words that an expression speaks of, and one that it likely does not."""
    found: dict[str, None] = {}
    literal = ""
    for kind, value in _parts(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)):
        if kind == "LITERAL":
            literal += chr(value)
            found[chr(value)] = None
            continue
        if len(literal) > 1:
            found[literal] = None
        literal = ""
        for character in (*CATEGORIES.get(str(value), ""), *(map(chr, value) if kind == "RANGE" else ())):
            found[character] = None
    if len(literal) > 1:
        found[literal] = None
    singles = [piece for piece in found if len(piece) == 1]
    return [*singles[:10], *(piece for piece in found if len(piece) > 1), "a"]


def _parts(parsed: Any) -> Iterator[tuple[str, Any]]:
    """What an expression is made of, in order, however deep."""
    for part in parsed:
        if isinstance(part, tuple) and len(part) == 2 and type(part[0]).__name__ == "_NamedIntConstant":
            kind, value = str(part[0]), part[1]
            yield kind, value
            if kind not in ("LITERAL", "NOT_LITERAL", "RANGE", "CATEGORY"):
                yield from _parts(value if isinstance(value, list | tuple) or hasattr(value, "data") else ())
        elif isinstance(part, list | tuple) or hasattr(part, "data"):
            yield from _parts(part)


def texts(pattern: "re.Pattern[str]") -> Iterator[Callable[[int], str]]:
    """Long texts: one or two pieces over and over, after one piece, and before a character that fits nothing."""
    some = pieces(pattern)
    for repeated in sorted({*some, *(one + other for one, other in product(some[:8], repeat=2))}):
        for first, last in (("", "\x01"), (some[0], "\x01"), ("", "")):
            yield lambda length, r=repeated, f=first, e=last: f + (r * length)[:length] + e  # type: ignore[misc]


# -- Measuring them ---------------------------------------------------------------------------------------------------


def use(expression: Expression, text: str) -> None:
    if expression.use in ANCHORED:
        getattr(expression.pattern, expression.use)(text)
    else:
        for _ in expression.pattern.finditer(text):
            pass


def is_linear(expression: Expression, text: Callable[[int], str]) -> bool:
    return growth.is_linear(partial(use, expression), text, min(LENGTH, expression.longest))


def test_expressions_are_found() -> None:
    assert len(expressions()) > 40
    assert {"mudy.reading.formats.pdf.CUT_WORD", "mudy.reading.tagging.UNREADABLE"} <= {e.where for e in expressions()}


def test_expressions_made_while_the_program_runs_are_named_here() -> None:
    unknown = [
        f"{module}:{call.lineno}"
        for module, tree in modules()
        for call, _ in calls(tree)
        if _written(module, call.args[0]) is None
    ]
    assert not unknown, "add what they look like to MADE"


def test_the_measure_tells_a_square_from_a_line() -> None:
    slow = Expression("here", re.compile(r"(\w+)-\n"), "sub")
    assert not is_linear(slow, lambda length: "a" * (length // 4))
    assert is_linear(Expression("here", re.compile(r"\w+"), "sub"), lambda length: "a" * length)


def test_the_expression_that_once_mended_cut_words_was_slow() -> None:
    cut = Expression("once", re.compile(r"(\w+)(?:[-\u2010\u00ad]\n|[\ufffe\x02])(?=[a-zà-ÿ])(\w+)"), "sub")
    assert not is_linear(cut, lambda length: "a" * (length // 4))


@pytest.mark.parametrize(
    ("quick", "plain"),
    [(UNIVERSAL.phrase, "[AN]*N"), (GRAMMARS["fr"].phrase, "A*N[AN]*(?:PA*N[AN]*)?")],
)
def test_a_grammar_finds_what_it_would_find_from_every_word(quick: str, plain: str) -> None:
    for letters in map("".join, product("ANPx", repeat=7)):
        assert [m.span() for m in re.finditer(quick, letters)] == [m.span() for m in re.finditer(plain, letters)]


@pytest.mark.parametrize("expression", expressions(), ids=lambda e: f"{e.where}-{e.use}")
def test_an_expression_takes_time_in_proportion_to_its_text(expression: Expression) -> None:
    slow = [repr(text(12)) for text in texts(expression.pattern) if not is_linear(expression, text)]
    assert not slow, f"{expression.where} {expression.pattern.pattern!r} is slow for texts such as {slow[:3]}"
