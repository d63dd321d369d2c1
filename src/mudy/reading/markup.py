"""What in a text is no prose: mark-up, code, citations, addresses, files, versions. No phrase may hold any of it.

Every expression here looks at a bounded stretch of the text, so that the time grows with its length alone.
"""

import re
from collections.abc import Iterator

from mudy.reading.document import Span

IN_WORD = re.compile(
    r"://|^www\.|\w@\w"  # addresses
    r"|[{}<>\\|=^]|^@\w|&\w{1,8};"  # mark-up, formulas
    r"|\w_\w|\w\(\)|::|->"  # code
    r"|^v?\d{1,4}(?:\.\d{1,6}){2}|^v\d{1,4}\.\d|^\d{4}-\d\d-\d\d|^\d{1,2}/\d{1,2}/\d{2,4}$"  # versions, dates
)
_FENCED = r"```[^`]{0,20000}```"
_TAG = r"</?[A-Za-z][A-Za-z0-9]{0,20}(?:\s[^<>]{0,300})?/?>"
_COMMAND = r"\\[A-Za-z]{1,30}\*?"  # of LaTeX
_KEYS = (  # of LaTeX, with what they refer to
    r"\\(?:cite[a-z]{0,6}|[a-z]{0,8}ref|label|begin|end|usepackage|documentclass|bibliography|input|include|url)\*?"
    r"(?:\[[^\[\]\n]{0,100}\]){0,2}\{[^{}\n]{0,200}\}"
)
_BIBTEX = r"@[A-Za-z]{2,20}\{[^\s,{}]{0,100}|\b[A-Za-z]{2,20}\s{0,20}=\s{0,3}[{\"]"  # the entry's kind and key; fields
_NAME = r"[A-Z][\w'’.-]{1,30}"
_CITED = rf"{_NAME}(?:,? (?:and |& )?{_NAME}){{0,3}}(?: et al\.?)?, ?(?:19|20)\d\d[a-z]?"
_CITATION = rf"[(\[](?:e\.g\.,? |cf\. |see )?{_CITED}(?:; ?{_CITED}){{0,9}}[)\]]"
_ET_AL = rf"\b{_NAME},? et al\b\.?"
_OPTION = r"(?<![\w-])--[a-z][a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,6}(?:=[^\s,;]{1,60})?(?![\w-])"
_PATH = r"(?<![\w/.~:])(?:~|\.{1,2})?/[\w.+-]{1,60}(?:/[\w.+*-]{1,60}){1,20}/?"
_FILE = (  # not those in which names of programs and settings end: node.js, pyproject.toml
    r"(?<![\w./-])[\w.-]{1,60}\.(?:txt|html?|json|exe|dll|zip|tar|gz|xz|deb|rpm|csv|tsv|xml|png|"
    r"jpe?g|gif|svg|pdf|log|bak)(?![\w-]|\.\w)"
)
NO_PROSE = re.compile("|".join((_FENCED, _TAG, _KEYS, _COMMAND, _BIBTEX, _CITATION, _ET_AL, _OPTION, _PATH, _FILE)))


def no_prose(text: str) -> Iterator[Span]:
    """Where mark-up, code and citations stand, in text order."""
    for match in NO_PROSE.finditer(text):
        tag = match[0].startswith("<") and " " in match[0]
        if not tag or "=" in match[0]:  # else: x <y and z> w
            yield Span(*match.span())
