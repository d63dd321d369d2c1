"""Words of scripts that put no spaces between them: by a segmenter where one is installed, else by plain rules.

Extras bring the segmenters: `mudy[zh]` jieba, `mudy[ja]` SudachiPy, `mudy[th]` PyThaiNLP, `mudy[ko]` Kiwi. They are
imported when a text in their language is first read. Without one, function words and changes of script bound the
words, and a stretch between them is cut where a part of it comes back elsewhere in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import Any, NamedTuple

from mudy.reading.document import UNSPACED_LANGUAGES, Document
from mudy.reading.languages.names import name_of
from mudy.reading.languages.unspaced import korean_words, plain_words


class Morpheme(NamedTuple):
    """A word or mark as a segmenter gives it."""

    start: int
    end: int
    tag: str | None = None  # Universal POS, where the segmenter knows it; "" for what is never part of a phrase


@dataclass(frozen=True)
class Segmenter:
    """A way to cut a text into words."""

    name: str
    cut: Callable[[str], Iterator[tuple[int, int, str | None]]]
    tags: bool  # whether it knows parts of speech
    spaced: bool = False  # whether the script puts spaces between most words

    def morphemes(self, text: str) -> Iterator[Morpheme]:
        for start, end, tag in self.cut(text):
            if text[start:end].strip():
                yield Morpheme(start, end, tag)


PACKAGES = {"zh": "jieba", "ja": "SudachiPy", "th": "pythainlp", "ko": "kiwipiepy"}
PLAIN, PLAIN_KOREAN = "characters", "words without particles"  # ways to cut without one of these
ADVICE = {
    code: f"{name_of(code)} was read without a segmenter, so phrases may begin or end inside a word; install the extra "
    f"mudy[{code}], which brings {package}."
    for code, package in PACKAGES.items()
}


def segmenter_of(code: str) -> Segmenter | None:
    """The segmenter for a language; None where spaces part words."""
    package = PACKAGES.get(code)
    number = None if package is None else _version(package)
    if package is not None and number is not None:
        return Segmenter(f"{package} {number}", partial(_CUTS[code], _Loaded(code)), code != "th", code == "ko")
    if code == "ko":
        return Segmenter(PLAIN_KOREAN, korean_words, tags=False, spaced=True)
    if code in UNSPACED_LANGUAGES:
        return Segmenter(PLAIN, partial(plain_words, code), tags=False)
    return None


def segmenter_advice(document: Document) -> str | None:
    """The extra to install for a text that was read without the segmenter of its language."""
    return ADVICE.get(document.language) if document.read_by in (PLAIN, PLAIN_KOREAN) else None


def _version(package: str) -> str | None:
    try:
        found = version(package)
        if package == "SudachiPy":
            version("sudachidict-core")
    except PackageNotFoundError:
        return None
    return found


# -- Segmenters that are installed ------------------------------------------------------------------------------------


class _Loaded:
    """A segmenter that is loaded when it is first asked, and asked by one thread at a time."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._made: Any = None
        self.lock = Lock()

    @property
    def made(self) -> Any:
        if self._made is None:
            self._made = _LOADERS[self._code]()
        return self._made


def _load_jieba() -> Any:
    import logging
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own imports
        import jieba
        import jieba.posseg

    jieba.setLogLevel(logging.ERROR)
    return jieba.posseg.POSTokenizer(jieba.Tokenizer())


def _load_sudachi() -> Any:
    from sudachipy import dictionary

    made = dictionary.Dictionary(dict="core")
    return made.tokenizer() if hasattr(made, "tokenizer") else made.create()  # `create` until version 0.6


def _load_thai() -> Any:
    from pythainlp.tokenize import Tokenizer

    return Tokenizer(engine="newmm", keep_whitespace=True)


def _load_kiwi() -> Any:
    from kiwipiepy import Kiwi

    return Kiwi(num_workers=1)


_LOADERS: Mapping[str, Callable[[], Any]] = {
    "zh": _load_jieba,
    "ja": _load_sudachi,
    "th": _load_thai,
    "ko": _load_kiwi,
}

CHINESE_TAGS = {"n": "NOUN", "j": "NOUN", "l": "NOUN", "i": "NOUN", "g": "NOUN", "e": "PROPN", "x": ""}
CHINESE_NOUNS = frozenset({"vn", "an", "eng"})  # verbs and adjectives used as nouns; words in Latin letters


def _chinese(loaded: _Loaded, text: str) -> Iterator[tuple[int, int, str | None]]:
    with loaded.lock:
        pairs = [(pair.word, pair.flag) for pair in loaded.made.cut(text)]
    for (start, end), flag in _placed(text, pairs):
        if flag in CHINESE_NOUNS:
            yield start, end, "NOUN"
        elif end - start > 1 and flag in ("a", "b", "v"):
            yield start, end, "VERB" if flag == "v" else "ADJ"
        else:
            yield start, end, CHINESE_TAGS.get(flag[:1], "X")


def _placed(text: str, pairs: list[tuple[str, Any]]) -> Iterator[tuple[tuple[int, int], Any]]:
    """Words that follow one another, each with its place."""
    position = 0
    for word, more in pairs:
        start = text.find(word, position)
        if start >= 0 and word:
            yield (start, start + len(word)), more
            position = start + len(word)


JAPANESE_TAGS = {"名詞": "NOUN", "接尾辞": "NOUN", "接頭辞": "ADJ", "形状詞": "ADJ"}
JAPANESE_EXCLUDED = ("数詞", "助動詞語幹", "非自立可能", "副詞可能")  # numbers, "thing", "when"


def _japanese(loaded: _Loaded, text: str) -> Iterator[tuple[int, int, str | None]]:
    from sudachipy import SplitMode

    with loaded.lock:
        found = [(m.begin(), m.end(), m.part_of_speech()) for m in loaded.made.tokenize(text, SplitMode.B)]
    for start, end, parts in found:
        excluded = any(part in JAPANESE_EXCLUDED for part in parts[1:3])
        yield start, end, "X" if excluded else JAPANESE_TAGS.get(parts[0], "" if parts[0] == "補助記号" else "X")


def _thai(loaded: _Loaded, text: str) -> Iterator[tuple[int, int, str | None]]:
    with loaded.lock:
        words = loaded.made.word_tokenize(text)
    for (start, end), _ in _placed(text, [(word, None) for word in words]):
        yield start, end, None


KOREAN_TAGS = {"NNG": "NOUN", "NNP": "PROPN", "SL": "PROPN", "XR": "NOUN", "XSN": "NOUN", "SH": "NOUN"}


def _korean(loaded: _Loaded, text: str) -> Iterator[tuple[int, int, str | None]]:
    with loaded.lock:
        found = [(token.start, token.end, token.tag) for token in loaded.made.tokenize(text)]
    reached = 0
    for start, end, tag in found:
        if start >= reached and end > start:  # two morphemes may share one syllable
            yield start, end, KOREAN_TAGS.get(tag, "" if tag.startswith("S") else "X")
            reached = end


_CUTS: Mapping[str, Callable[..., Iterator[tuple[int, int, str | None]]]] = {
    "zh": _chinese,
    "ja": _japanese,
    "th": _thai,
    "ko": _korean,
}
