"""Words of unspaced scripts without any dictionary: bounded by function words, script and what comes back in the text.

Japanese writes function words in hiragana, Chinese has a few dozen characters for them, Thai some dozen short words;
Korean puts particles at the end of words. What stands between them is a compound as often as a word, so a compound is
cut where one of its parts stands elsewhere too: "machine|learning" beside "learning". No word is cut inside a
character with its accents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

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
COMPOUND = 3  # characters; a Chinese compound that is longer is cut in twos
LONGEST_PART = 12  # clusters of a part that may come back
FEWEST_TIMES = 2  # that it must

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

Cut = tuple[int, int, str | None]


def plain_words(code: str, text: str) -> Iterator[Cut]:
    """The words of a text in an unspaced script; those that are never part of a phrase are tagged ""."""
    stretches: list[tuple[int, int, str | None]] = []
    for match in _PLAIN.finditer(text):
        kind = match.lastgroup
        if kind in ("han", "other") and code in FUNCTION_WORDS:
            stretches.extend(_between_function_words(match[0], match.start(), FUNCTION_WORDS[code]))
        else:
            stretches.append((match.start(), match.end(), "" if kind in ("kana", "mark") else None))
    returning = _returning([text[start:end] for start, end, tag in stretches if tag is None])
    for start, end, tag in stretches:
        if tag is None and not text[start].isascii():
            yield from _cut_compound(text[start:end], start, returning, twos=code == "zh")
        else:
            yield start, end, tag


def _between_function_words(run: str, offset: int, words: frozenset[str]) -> Iterator[Cut]:
    """A run of characters, cut at the longest function words in it."""
    longest = max(map(len, words))
    position = held = 0
    clusters = {match.start() for match in _CLUSTER.finditer(run)} | {len(run)}
    while position < len(run):
        size = next(
            (n for n in range(longest, 0, -1) if run[position : position + n] in words and position + n in clusters), 0
        )
        if size == 0 or position not in clusters:
            position += 1
            continue
        if held < position:
            yield offset + held, offset + position, None
        yield offset + position, offset + position + size, ""
        position += size
        held = position
    if held < len(run):
        yield offset + held, offset + len(run), None


def _edges(stretch: str) -> list[int]:
    """Where a stretch may be cut: between characters with all their marks."""
    return [match.start() for match in _CLUSTER.finditer(stretch)] + [len(stretch)]


def _returning(stretches: list[str]) -> frozenset[str]:
    """Parts of two clusters or more that come back, and not only inside one longer part."""
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


def _cut_compound(run: str, offset: int, returning: frozenset[str], *, twos: bool) -> Iterator[Cut]:
    """A stretch, cut around the longest parts that come back; what is left of a long one in twos, where words are."""
    edges = _edges(run)
    place = held = 0  # indices of edges
    while place < len(edges) - 1:
        ends = range(min(len(edges) - 1, place + LONGEST_PART), place + 1, -1)
        end = next((end for end in ends if run[edges[place] : edges[end]] in returning), None)
        if end is None:
            place += 1
            continue
        yield from _rest(run[edges[held] : edges[place]], offset + edges[held], twos)
        yield offset + edges[place], offset + edges[end], None
        place = held = end
    yield from _rest(run[edges[held] :], offset + edges[held], twos)


def _rest(run: str, offset: int, twos: bool) -> Iterator[Cut]:
    if not run:
        return
    size = 2 if twos and len(run) > COMPOUND else len(run)
    starts = list(range(0, len(run), size))
    if len(starts) > 1 and len(run) % size:
        starts.pop()  # an odd character goes with the two before it
    for start, end in zip(starts, [*starts[1:], len(run)], strict=True):
        yield offset + start, offset + end, None


# -- Korean -----------------------------------------------------------------------------------------------------------

_PARTICLES = (
    "에서는 에서도 에는 에도 으로는 으로도 이라는 이라고 에게서 으로써 으로서 까지 부터 에서 에게 으로 이나 이며 이다 "
    "라는 라고 처럼 보다 만큼 마다 조차 들은 들이 들을 들의 하는 하고 하여 해서 했다 한다 된다 되고 되는 "
    "됐다 이란 란 은 는 이 가 을 를 의 에 와 과 도 로 만 나 며"
)
PARTICLES = tuple(sorted(_PARTICLES.split(), key=len, reverse=True))
_HANGUL_WORD = re.compile(rf"(?P<word>[\uac00-\ud7af]+)|(?P<letters>{_LETTERS}|{_HAN}+)|(?P<mark>\S)")
VERB_ENDINGS = ("다", "요", "까", "고", "며", "면", "서", "게", "지", "는", "던")  # of predicates: no part of a phrase


def korean_words(text: str) -> Iterator[Cut]:
    """Korean words, the particle at the end of each as a word of its own; predicates are never part of a phrase."""
    for match in _HANGUL_WORD.finditer(text):
        word, start = match[0], match.start()
        if match.lastgroup != "word":
            yield start, match.end(), "" if match.lastgroup == "mark" else None
            continue
        particle = next((p for p in PARTICLES if word.endswith(p) and len(word) - len(p) >= 2), "")
        noun = word.removesuffix(particle) if particle else word
        predicate = not particle and len(word) >= 2 and word.endswith(VERB_ENDINGS)
        yield start, start + len(noun), "" if predicate else None
        if particle:
            yield start + len(noun), match.end(), ""
