"""LaTeX: its text without commands, formulas, citations and the preamble."""

import re

from mudy.reading.document import BlockKind
from mudy.reading.formats import TextBuilder, without

_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_CODE = ("verbatim", "lstlisting", "minted", "Verbatim", "alltt", "Schunk", "Sinput", "Soutput", "tikzpicture")
_FORMULAS = ("equation", "align", "eqnarray", "gather", "multline", "displaymath", "math", "alignat", "flalign")
_COMMENT = re.compile(r"(?<!\\)%.*")
_INLINE = re.compile(r"(?<!\\)\$([^$]{1,500})\$")
_DROPPED = re.compile(  # with what they refer to
    r"\\(?:cite\w{0,12}|\w{0,8}ref|label|usepackage|documentclass|bibliography(?:style)?|input|include(?:graphics)?|"
    r"vspace|hspace|setlength|newcommand|renewcommand|pagestyle|thispagestyle|bibitem|index|author|date|thanks|hypersetup)"
    r"\*?(?:\[[^\[\]\n]{0,200}\]){0,3}(?:\{[^{}]{0,500}\}){0,2}"
)
_BLOCK = re.compile(
    r"\\(?P<heading>title|part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\[\]]{0,200}\])?"
    r"\{(?P<title>(?:[^{}]|\{[^{}]{0,200}\}){0,500})\}|\\begin\{(?P<open>\w{1,40}\*?)\}|\\(?P<item>item)\b(?:\[([^\[\]]{0,200})\])?"
    r"|\\end\{\w{1,40}\*?\}|\n\s*\n"
)
_ARGUMENTS = re.compile(r"\\[A-Za-z@]{1,40}\*?(?:\[[^\[\]\n]{0,200}\]){0,2}")
_SIGNS = str.maketrans({"~": " ", "{": "", "}": "", "\\": " "})


def read_latex(builder: TextBuilder, text: str) -> None:
    text = _COMMENT.sub("", text)
    preamble, begun, body = text.partition("\\begin{document}")
    if begun and (title := re.search(r"\\title\*?\{((?:[^{}]|\{[^{}]{0,200}\}){0,500})\}", preamble)):
        builder.add(_plain(title[1]), "title")
    text = (body if begun else text).partition("\\end{document}")[0]
    end = 0
    kind: BlockKind = "prose"
    while match := _BLOCK.search(text, end):
        builder.add(_plain(text[end : match.start()]), kind)
        kind, end = ("list" if match["item"] else "prose"), match.end()
        environment = (match["open"] or "").rstrip("*")
        if match["heading"]:
            level = _LEVELS.get(match["heading"], 0)
            builder.add(_plain(match["title"]), "heading" if level else "title", level)
        elif environment in _CODE or environment in _FORMULAS or environment in ("tabular", "thebibliography"):
            closing = f"\\end{{{match['open']}}}"
            closed = text.find(closing, end)
            inside = text[end : closed if closed >= 0 else len(text)]
            if environment in _CODE:
                builder.add(inside, "code")
            end = end + len(inside) + (len(closing) if closed >= 0 else 0)
    builder.add(_plain(text[end:]), kind)


def _plain(text: str) -> str:
    """A paragraph without commands; a formula of plain letters stays."""
    text = without(without(text, "$$", "$$"), "\\[", "\\]")
    text = _INLINE.sub(lambda match: match[1] if re.fullmatch(r"[\w\s(),.+-]{1,40}", match[1]) else "", text)
    text = _ARGUMENTS.sub("", _DROPPED.sub("", text)).replace("``", '"').replace("''", '"').translate(_SIGNS)
    return " ".join(text.split())
