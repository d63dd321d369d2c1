"""Text -> Document without a tagger: words by spaCy's tokenizer, or by a segmenter where words have no spaces.

Words that may be part of a phrase get the tag CONTENT, or Universal POS tags if the segmenter knows these. Segmenters
come with extras (`mudy[zh]`, `ja`, `th`, `ko`); without one, simple rules find the words.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

from mudy._support.callbacks import check
from mudy.reading.document import CONTENT, MODIFIER, UNSPACED_LANGUAGES
from mudy.reading.languages import (
    ALL_FUNCTION_WORDS,
    ANY_LANGUAGE,
    PLAIN,
    PLAIN_KOREAN,
    SEGMENTERS,
    UNDETERMINED,
    installed_version,
    name_of,
    stop_words,
)
from mudy.reading.languages.verbs import is_verb_here
from mudy.reading.tagging import TextReader, Token

CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages that write every noun with a capital
SPACY_CODES = {"no": "nb", "bs": "hr", UNDETERMINED: ANY_LANGUAGE}  # languages with another code in spaCy
INITIAL = re.compile(r"[^\W\d_]")  # the J of "J. Smith"
ELIDED = re.compile(r"[^\W\d_]{1,5}['’]")  # l', dell', qu'
ABBREVIATION = re.compile(r"[^\W\d_]\.?|[^\W\d_]{2,4}\.|(?:[^\W\d_]{1,2}\.){2,4}")  # J., Dr., z.B.; a letter
CASED = "\u0590"  # alphabets before it write words, those after it also syllables
ENDS = frozenset(".!?…。！？｡।॥؟۔።։") | {"...", "?!", "!!", "．"}


class Morpheme(NamedTuple):
    start: int
    end: int
    tag: str | None = None  # Universal POS, where the segmenter knows it; "" for what is never part of a phrase


Cut = Callable[[str], Iterable[Morpheme]]


class Segmenter(NamedTuple):
    name: str
    cut: Cut
    tags: bool  # whether it knows parts of speech
    spaced: bool = False  # whether the script puts spaces between most words


class UntaggedReader(TextReader):
    """Reads texts of a language without a tagger, also in threads; "und" stands for any in Latin script."""

    def __init__(self, code: str) -> None:
        self.language = code
        self.name, self._cut, self.tagged, self._spaced = segmenter_of(code)

    def __reduce__(self) -> tuple[type["UntaggedReader"], tuple[str]]:
        return UntaggedReader, (self.language,)

    def _tokens(self, piece: str, offset: int) -> list[Token]:
        check()
        language, morphemes = self.language, [m for m in self._cut(piece) if piece[m.start : m.end].strip()]
        tokens: list[Token] = []
        before, tag = "", ""
        for (start, end, known), opening in zip(morphemes, _opening(piece, morphemes), strict=True):
            form = piece[start:end]
            if known is not None:
                tag = known
            elif is_content(form, language) and not is_verb_here(form, language, before, tag == CONTENT, opening):
                tag = MODIFIER if language in CAPITAL_NOUNS and form.islower() else CONTENT
            else:
                tag = ""
            before = form
            tokens.append(Token(offset + start, offset + end, tag, opening))
        return tokens


def is_content(form: str, language: str) -> bool:
    """Whether a word may be part of a phrase: it has letters, and is not a stop word, article or single letter."""
    if not any(map(str.isalpha, form)) or ELIDED.fullmatch(form) or (ABBREVIATION.fullmatch(form) and form[0] < CASED):
        return False
    stops = ALL_FUNCTION_WORDS if language == UNDETERMINED else stop_words(language)
    return form.lower() not in stops or (form.isupper() and len(form) > 1)


def _opening(text: str, morphemes: Sequence[Morpheme]) -> Iterator[bool]:
    """Whether each word opens a sentence: after an end mark, unless that belongs to an initial or an abbreviation."""
    ended, before = True, ""
    for morpheme in morphemes:
        form = text[morpheme.start : morpheme.end]
        if form in ENDS:
            ended = ended or not (form == "." and INITIAL.fullmatch(before) and before.isupper())
            yield False
        else:
            opens = ended and not form[:1].islower()
            yield opens
            ended = ended and not opens and not any(map(str.isalnum, form))
        before = form


@lru_cache(maxsize=4)
def spacy_words(code: str) -> Callable[[str], list[Morpheme]]:
    """SpaCy's tokenizer for a language, with the lock for its memory; shared by all readers."""
    import spacy

    try:
        nlp = spacy.blank(SPACY_CODES.get(code, code))
    except ImportError:  # spaCy does not know the language, or needs a package for it that is not installed
        nlp = spacy.blank(ANY_LANGUAGE)
    lock = Lock()

    def words(piece: str) -> list[Morpheme]:
        with lock, nlp.memory_zone():
            spans = [(t.idx, t.idx + len(t)) for t in nlp(piece) if not t.is_space]
        return [word for start, end in spans for word in _without_mark(piece, start, end)]

    return words


def _without_mark(text: str, start: int, end: int) -> tuple[Morpheme, ...]:
    """A word, and the full stop that the rules of another language left on it: "etwas." among Arabic words."""
    word, mark = text[start : end - 1], text[end - 1]
    if len(word) > 2 and mark in ENDS and word.isalpha() and not word.isupper():
        return Morpheme(start, end - 1), Morpheme(end - 1, end)
    return (Morpheme(start, end),)


def segmenter_of(code: str) -> Segmenter:
    """The segmenter for a language; spaCy's tokenizer where spaces separate words."""
    package = SEGMENTERS.get(code)
    number = None if package is None else _version(package)
    if number is not None:
        return Segmenter(f"{package} {number}", _lazily(_LOADERS[code]), code != "th", code == "ko")
    if code == "ko":
        return Segmenter(PLAIN_KOREAN, korean_words, tags=False, spaced=True)
    if code in UNSPACED_LANGUAGES:
        return Segmenter(PLAIN, partial(plain_words, code), tags=False)
    known = "several languages" if code == UNDETERMINED else name_of(code)
    return Segmenter(f"stop words of {known}", spacy_words(code), tags=False, spaced=True)


def _version(package: str) -> str | None:
    complete = package != "SudachiPy" or installed_version("sudachidict-core") is not None
    return installed_version(package) if complete else None


# -- Segmenters of the extras -----------------------------------------------------------------------------------------

CHINESE_TAGS = {"n": "NOUN", "j": "NOUN", "l": "NOUN", "i": "NOUN", "g": "NOUN", "e": "PROPN", "x": ""}
CHINESE_NOUNS = frozenset({"vn", "an", "eng"})  # verbs and adjectives used as nouns; words in Latin letters
JAPANESE_TAGS = {"名詞": "NOUN", "接尾辞": "NOUN", "接頭辞": "ADJ", "形状詞": "ADJ", "補助記号": ""}
JAPANESE_EXCLUDED = frozenset({"数詞", "助動詞語幹", "非自立可能", "副詞可能"})  # numbers, "thing", "when"
KOREAN_TAGS = {"NNG": "NOUN", "NNP": "PROPN", "SL": "PROPN", "XR": "NOUN", "XSN": "NOUN", "SH": "NOUN"}


def _lazily(load: Callable[[], Cut]) -> Cut:
    """A segmenter that is loaded on first use, and called by one thread at a time."""
    loaded, lock = cache(load), Lock()

    def cut(text: str) -> list[Morpheme]:
        with lock:
            return list(loaded()(text))

    return cut


def _load_jieba() -> Cut:
    import logging
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from its imports
        import jieba
        import jieba.posseg

    jieba.setLogLevel(logging.ERROR)
    tokenizer = jieba.posseg.POSTokenizer(jieba.Tokenizer())

    def tag(word: str, flag: str) -> str:
        if flag in CHINESE_NOUNS:
            return "NOUN"
        if len(word) > 1 and flag in ("a", "b", "v"):
            return "VERB" if flag == "v" else "ADJ"
        return CHINESE_TAGS.get(flag[:1], "X")

    return lambda text: _located(text, ((pair.word, tag(pair.word, pair.flag)) for pair in tokenizer.cut(text)))


def _load_sudachi() -> Cut:
    from sudachipy import SplitMode, dictionary

    loaded = dictionary.Dictionary(dict="core")
    tokenizer = loaded.tokenizer() if hasattr(loaded, "tokenizer") else loaded.create()  # `create` until version 0.6

    def cut(text: str) -> Iterator[Morpheme]:
        for token in tokenizer.tokenize(text, SplitMode.B):
            first, *others = token.part_of_speech()[:3]
            tag = "X" if JAPANESE_EXCLUDED.intersection(others) else JAPANESE_TAGS.get(first, "X")
            yield Morpheme(token.begin(), token.end(), tag)

    return cut


def _load_thai() -> Cut:
    from pythainlp.tokenize import Tokenizer

    tokenizer = Tokenizer(engine="newmm", keep_whitespace=True)
    return lambda text: _located(text, ((word, None) for word in tokenizer.word_tokenize(text)))


def _load_kiwi() -> Cut:
    from kiwipiepy import Kiwi

    kiwi = Kiwi(num_workers=1)

    def cut(text: str) -> Iterator[Morpheme]:
        reached = 0
        for token in kiwi.tokenize(text):
            if token.start >= reached and token.end > token.start:  # two morphemes may share one syllable
                yield Morpheme(token.start, token.end, KOREAN_TAGS.get(token.tag, "" if token.tag[0] == "S" else "X"))
                reached = token.end

    return cut


def _located(text: str, words: Iterable[tuple[str, str | None]]) -> Iterator[Morpheme]:
    position = 0
    for word, tag in words:
        start = text.find(word, position)
        if start >= 0 and word:
            position = start + len(word)
            yield Morpheme(start, position, tag)


_LOADERS: Mapping[str, Callable[[], Cut]] = {"zh": _load_jieba, "ja": _load_sudachi, "th": _load_thai, "ko": _load_kiwi}

# -- Words without a segmenter ----------------------------------------------------------------------------------------

# Function words, the script and recurring parts bound the words. What is left between them is often a compound, so it
# is split where one of its parts also occurs elsewhere: "machine|learning" where the text also has "learning".

_CHINESE = (
    "的 了 着 是 在 与 及 或 而 且 但 也 都 就 还 又 很 更 最 太 没 被 把 让 给 从 到 这 那 哪 该 此 各 每 "
    "某 我 你 您 他 她 它 们 谁 吗 呢 吧 啊 并 则 却 只 才 已 曾 等 其 之 所 个 些 将 這 們 個 與 還 會 讓 "
    "給 沒 卻 並 將 來 為 於 對 從 一个 一個 一种 一種 一些 一项 一項 一次 两个 兩個 许多 許多 不同 不断 "
    "不斷 不仅 不僅 非常 十分 特别 特別 可以 可能 能够 能夠 已经 已經 通过 通過 进行 進行 由于 由於 因为 "
    "因為 因此 所以 但是 如果 虽然 雖然 以及 以上 以下 之间 之間 为了 為了 成为 成為 作为 作為 包括 需要 "
    "应该 應該 必须 必須 越来越 越來越 正在 目前 今天 其中 同时 同時 当时 當時 之后 之後 以后 以後 以前 帮助 "
    "幫助 提高 使用 利用 用于 用於 开始 開始 认为 認為 表示 显示 顯示 发现 發現 减少 減少 增加 变得 變得 "
    "例如 比如 比 对于 對於 关于 關於 根据 根據 随着 隨著 如何 什么 什麼 怎么 怎麼 和 不 有 会 由 为 对 于 "
    "里 裡 多"
)
_THAI = (
    "และ หรือ แต่ ที่ ซึ่ง อัน ของ ใน บน จาก ถึง เพื่อ โดย ด้วย กับ แก่ แด่ ต่อ ตาม เป็น คือ อยู่ มี ได้ ให้ "
    "ไป มา แล้ว จะ กำลัง เคย ควร ต้อง ไม่ มิ นี้ นั้น โน้น เหล่านี้ เหล่านั้น ก็ จึง เมื่อ หาก ถ้า เพราะ ว่า "
    "เช่น ทุก แต่ละ บาง หลาย มาก น้อย กว่า ที่สุด เขา เธอ เรา ฉัน มัน พวก ขึ้น ลง เข้า ออก ยัง อีก แค่ เพียง "
    "ระหว่าง ก่อน หลัง สามารถ ช่วย ทำให้ ใช้ รวมถึง ทั้ง นอกจาก สำหรับ เกี่ยวกับ ผ่าน ทำ"
)
FUNCTION_WORDS = {"zh": frozenset(_CHINESE.split()), "th": frozenset(_THAI.split())}
HIRAGANA = "\u3041-\u309f"
COMPOUND = 3  # characters; a longer Chinese compound is split into pairs
LONGEST_PART = 12  # clusters of a recurring part
FEWEST_TIMES = 2  # that a recurring part occurs

_ALPHABET = (
    r"[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
_LETTERS = rf"{_ALPHABET}+(?:[-.'’+]{_ALPHABET}+)*[+#]*"  # words and numbers of other scripts: BERT, GPT-4, C++
_HAN = "[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_KATAKANA = "[\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f]"
_PLAIN = re.compile(
    rf"(?P<letters>{_LETTERS})|(?P<kana>[{HIRAGANA}]+)|(?P<katakana>{_KATAKANA}+)|(?P<han>{_HAN}+)"
    r"|(?P<other>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)|(?P<mark>\S)"
)
_CLUSTER = re.compile(  # a Thai or Lao consonant with the vowels around it; elsewhere a character with its marks
    r"[\u0e40-\u0e44\u0ec0-\u0ec4]?[^\u0e40-\u0e44\u0ec0-\u0ec4]"
    r"[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3]*|.",
    re.DOTALL,
)


def plain_words(code: str, text: str) -> Iterator[Morpheme]:
    """The words of a text in an unspaced script; words that are never part of a phrase have the tag ""."""
    stretches: list[Morpheme] = []
    for match in _PLAIN.finditer(text):
        kind = match.lastgroup
        if kind in ("han", "other") and code in FUNCTION_WORDS:
            longest = max(map(len, FUNCTION_WORDS[code]))
            for start, end, function_word in _split(match[0], FUNCTION_WORDS[code], 1, longest):
                offset = match.start()
                stretches.append(Morpheme(offset + start, offset + end, "" if function_word else None))
        else:
            stretches.append(Morpheme(match.start(), match.end(), "" if kind in ("kana", "mark") else None))
    recurring = _recurring([text[start:end] for start, end, tag in stretches if tag is None])
    for start, end, tag in stretches:
        if tag is None and not text[start].isascii():
            yield from _cut_compound(text[start:end], start, recurring, twos=code == "zh")
        else:
            yield Morpheme(start, end, tag)


def _split(run: str, known: frozenset[str], fewest: int, most: int) -> Iterator[tuple[int, int, bool]]:
    """A run of characters, split around the longest known parts of so many clusters; and whether each is known."""
    edges = _edges(run)
    position = held = 0  # indices of edges
    while position < len(edges) - 1:
        ends = range(min(len(edges) - 1, position + most), position + fewest - 1, -1)
        end = next((end for end in ends if run[edges[position] : edges[end]] in known), None)
        if end is None:
            position += 1
            continue
        if held < position:
            yield edges[held], edges[position], False
        yield edges[position], edges[end], True
        position = held = end
    if held < len(edges) - 1:
        yield edges[held], len(run), False


def _edges(stretch: str) -> list[int]:
    """Where a stretch may be split: between characters with all their marks."""
    return [match.start() for match in _CLUSTER.finditer(stretch)] + [len(stretch)]


def _recurring(stretches: list[str]) -> frozenset[str]:
    """Parts of two clusters or more that recur, and not only inside one longer part."""
    counts: Counter[str] = Counter()
    inside: dict[str, set[str]] = {}  # part -> those that are longer by one cluster
    for stretch in stretches:
        edges = _edges(stretch)
        for i in range(len(edges)):
            for j in range(i + 2, min(len(edges), i + LONGEST_PART + 1)):
                part = stretch[edges[i] : edges[j]]
                counts[part] += 1
                for shorter in (stretch[edges[i + 1] : edges[j]], stretch[edges[i] : edges[j - 1]]):
                    inside.setdefault(shorter, set()).add(part)
    return frozenset(
        part
        for part, count in counts.items()
        if count >= FEWEST_TIMES and all(counts[longer] < count for longer in inside.get(part, ()))
    )


def _cut_compound(run: str, offset: int, recurring: frozenset[str], *, twos: bool) -> Iterator[Morpheme]:
    """Split a stretch around the longest recurring parts, and with `twos` the rest of a long one into pairs."""
    for start, end, recurs in _split(run, recurring, 2, LONGEST_PART):
        size = 2 if twos and not recurs and end - start > COMPOUND else end - start
        starts = range(start, end - (end - start) % size, size)  # an odd character joins the pair before it
        for first, after in pairwise((*starts, end)):
            yield Morpheme(offset + first, offset + after)


# -- Korean -----------------------------------------------------------------------------------------------------------

_PARTICLES = (
    "에서는 에서도 에는 에도 으로는 으로도 이라는 이라고 에게서 으로써 으로서 까지 부터 에서 에게 으로 이나 이며 이다 "
    "라는 라고 처럼 보다 만큼 마다 조차 들은 들이 들을 들의 하는 하고 하여 해서 했다 한다 된다 되고 되는 "
    "됐다 이란 란 은 는 이 가 을 를 의 에 와 과 도 로 만 나 며"
)
PARTICLES = tuple(sorted(_PARTICLES.split(), key=len, reverse=True))
_HANGUL_WORD = re.compile(rf"(?P<word>[\uac00-\ud7af]+)|(?P<letters>{_LETTERS}|{_HAN}+)|(?P<mark>\S)")
VERB_ENDINGS = ("다", "요", "까", "고", "며", "면", "서", "게", "지", "는", "던")  # of predicates: no part of a phrase


def korean_words(text: str) -> Iterator[Morpheme]:
    """Korean words, with the final particle as a separate word; predicates are never part of a phrase."""
    for match in _HANGUL_WORD.finditer(text):
        word, start = match[0], match.start()
        if match.lastgroup != "word":
            yield Morpheme(start, match.end(), "" if match.lastgroup == "mark" else None)
            continue
        particle = next((p for p in PARTICLES if word.endswith(p) and len(word) - len(p) >= 2), "")
        noun = word.removesuffix(particle) if particle else word
        predicate = not particle and len(word) >= 2 and word.endswith(VERB_ENDINGS)
        yield Morpheme(start, start + len(noun), "" if predicate else None)
        if particle:
            yield Morpheme(start + len(noun), match.end(), "")
