"""Grammars: what words, by their parts of speech, make a phrase in each language; and what is never part of one."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from mudy.reading.document import CONTENT, MODIFIER, Span

MAX_PHRASE_WORDS = 6  # the lowest limit that lost no gold keyphrase in any of 11 data sets (60 documents of each)


@dataclass(frozen=True, slots=True)
class Grammar:
    """Phrases as regular expressions over one letter per word.

    N is a noun, A an adjective, P a word of `joins` ("de"), D a word of `articles` ("la"), and x anything else. English
    also has G for a gerund, E for another participle, C for a number, and a for an adjective of `which_or_how_many`.
    """

    phrase: str  # a noun phrase of maximal length
    letters: Mapping[str, str]  # tag -> letter
    inner: str = "[AN]*N"  # a phrase inside a run
    run: str | None = None  # the words among which nested phrases are searched; None: a noun phrase
    joins: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    joined_runs: bool = False  # whether two runs with a join between them are a nested phrase

    @property
    def nouns(self) -> frozenset[str]:
        return frozenset(tag for tag, letter in self.letters.items() if letter == "N")

    def letter(self, word: str, tag: str) -> str:
        """The letter of a word; `tag` is empty for a stop word."""
        if not any(map(str.isalnum, word)) or IN_WORD.search(word):
            return "x"  # never part of a phrase, whatever the tag
        lower = word.lower()
        if lower in self.joins:
            return "P"
        if lower in self.articles:
            return "D"
        return self.letters.get(tag, "x")


class EnglishGrammar(Grammar):
    """Participles must look like some, numbers are digits, and "several" is no part of a nested phrase."""

    def letter(self, word: str, tag: str) -> str:
        letter, lower = super().letter(word, tag), word.lower()
        if lower in WHICH_OR_HOW_MANY and letter in "AGE" and not word.isupper():
            return "a" if letter == "A" else "x"
        if letter in "GE" and not lower.endswith(("ing", "ed", "en")):
            return "x"
        return "x" if letter == "C" and not _NUMBER.fullmatch(lower) else letter  # "two", "million"


def _tags(**letters: str) -> dict[str, str]:
    return {tag: letter for letter, tags in letters.items() for tag in tags.split()}


UNIVERSAL_TAGS = _tags(N="NOUN PROPN", A="ADJ")
ADJECTIVES_AND_NOUNS = "(?<![AN])[AN]*N"  # tried once for a row of words, not again from each of them
_NUMBER = re.compile(r"\d[\d.,]*")
_WHICH_OR_HOW_MANY = """
many several various different certain other such same own much few more most less least able due
using based including according regarding concerning considering following given called used
"""
WHICH_OR_HOW_MANY = frozenset(_WHICH_OR_HOW_MANY.split())  # tagged as adjectives or participles
ACRONYMS = frozenset({"IT", "WHO", "US"})  # tagged as pronouns, which in capitals they seldom are
_PRONOUNS = """
anybody anyone anything everybody everyone everything nobody none nothing somebody someone something one ones others
oneself
"""
PRONOUNS = frozenset(_PRONOUNS.split())  # of English, tagged as nouns


def _romance(joins: str) -> Grammar:
    """Adjectives on either side of the noun, and one noun phrase joined to another by a bare "de".

    Share of gold among the candidates, on 60 texts of French news and 60 of Spanish science: 62.5 and 51.0 per cent.
    Never joining gives 65.0 and 41.0, joining repeatedly 62.4 and 52.4, also by "de la" 60.9 and 49.5.
    """
    part = "A*N[AN]*"
    phrase = f"{part}(?:P{part})?"
    return Grammar(f"(?<!A){phrase}", UNIVERSAL_TAGS, inner=phrase, joins=frozenset(joins.split()))


ROMANCE = {  # languages that hardly ever put a noun right after another, by what joins the two
    "fr": _romance("de d' d’ du des"),
    "es": _romance("de del"),
    "pt": _romance("de do da dos das"),
    "it": _romance("di d' d’ del dello della dell' dell’ dei degli delle"),
    "ca": _romance("de d' d’ del dels"),
    "ro": _romance("de"),
}
ARTICLES = {  # after a join: "internet de las cosas"; elsewhere they are one word with it
    "fr": frozenset({"la", "l'", "l’"}),
    "es": frozenset({"el", "la", "los", "las"}),
    "ca": frozenset({"la", "les", "l'", "l’"}),
}
UNIVERSAL = Grammar(ADJECTIVES_AND_NOUNS, UNIVERSAL_TAGS)
GRAMMARS: Mapping[str, Grammar] = {
    "en": EnglishGrammar(
        "(?<![AaN])[AaN]*N",  # <NN.*|JJ>*<NN.*>
        _tags(N="NN NNS NNP NNPS", A="JJ", G="VBG", E="VBN VBD", C="CD"),  # taggers confuse VBN and VBD
        inner="C?[ANGE]*N|[AN]+G",  # "sliding mode", "1990 census", "data sharing"
        run="(?<![ANGEC])[ANGEC]*[NG]",
        joins=frozenset({"of"}),
        joined_runs=True,
    ),
    **ROMANCE,
    "zh": Grammar(  # a verb may end a phrase that has a noun: "machine learn" is how Chinese says machine learning
        "(?<![AN])[AN]*NA?", UNIVERSAL_TAGS | {"VERB": "A"}, inner="[AN]*NA?"
    ),
}


@cache
def grammar_of(language: str, tagged: bool) -> Grammar:
    """The grammar of a language; without parts of speech, a phrase is all that stands between stop words and marks."""
    if tagged:
        return GRAMMARS.get(language, UNIVERSAL)
    if language in ROMANCE:
        joins, articles = ROMANCE[language].joins, ARTICLES.get(language, frozenset())
        inner = "N{1,4}|N{1,2}PD?N{1,2}"
        return Grammar("N+(?:PD?N+)*", _tags(N=CONTENT), inner=inner, joins=joins, articles=articles)
    longest = MAX_PHRASE_WORDS if language == "vi" else 4  # Vietnamese has a space after every syllable
    return Grammar(ADJECTIVES_AND_NOUNS, _tags(N=CONTENT, A=MODIFIER), inner=f"[AN]{{0,{longest - 1}}}N")


# -- No prose: mark-up, code, citations, addresses, files, versions ---------------------------------------------------

# Every expression here looks at a bounded stretch of the text, so that the time grows with its length alone.

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
