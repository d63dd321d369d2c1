"""The language of a text: by its script, by English function words, else by py3langid.

A text is looked at in a few excerpts, so that a long one costs no more than a short one, and an abstract or a
quotation in another language does not decide. The detector's model (0.6 s to load) is loaded only for excerpts that
neither script nor function words settle: never for most English texts.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

from mudy.languages.names import name_of
from mudy.text import Document

EXCERPTS, EXCERPT = 8, 400  # how many excerpts of a long text, and how many characters each has
FEWEST_LETTERS = 30  # fewer cannot be told apart, but for the scripts below
FEWEST_CHARACTERS = 4  # of those scripts
_SURE = 0.8  # probability; at 40 to 2000 characters, no English text of 11 data sets was taken for another language
_SURE_LATIN = 0.95  # terms of medicine and biology look Latin
AGREEING = 0.75  # share of the excerpts that must agree
HALF = 0.5  # share of the excerpts, and probability, that are enough to read a text by
FEWEST_GUESSED = 10  # letters of a text that the model may guess at

NOISE = re.compile(r"www\.|[<>{}\\=_|#/@\d]")  # in a word: an address, mark-up, code, a number
ENGLISH_WORDS = frozenset({"the", "of", "and", "to", "that", "with", "this", "from", "which", "have", "by", "their"})
ENGLISH_SHARE = 0.1  # of all words; in English prose these are a fifth, in other languages hardly any

SCRIPTS = {  # languages that their script gives away; Japanese first, since it also uses Chinese characters
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\u1100-\u11ff\uac00-\ud7af]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "zh": re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
}
MAIN_LANGUAGES = {  # where nothing else tells: the language with most readers of a script
    "ru": re.compile("[\u0400-\u04ff]"),
    "ar": re.compile("[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "el": re.compile("[\u0370-\u03ff\u1f00-\u1fff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "bn": re.compile("[\u0980-\u09ff]"),
    "ta": re.compile("[\u0b80-\u0bff]"),
    "te": re.compile("[\u0c00-\u0c7f]"),
    "hy": re.compile("[\u0530-\u058f]"),
    "ka": re.compile("[\u10a0-\u10ff]"),
    **SCRIPTS,
    "km": re.compile("[\u1780-\u17ff]"),
    "my": re.compile("[\u1000-\u109f]"),
    "lo": re.compile("[\u0e80-\u0eff]"),
}
KANA_SHARE = 0.1  # of the characters of a Japanese text, at least
NO_LANGUAGE, ANY_LANGUAGE = "zxx", "xx"  # the detector's code for no language at all, spaCy's for several
SAME = {"pcm": "en", "nb": "no", "nn": "no", "yue": "zh", "wuu": "zh", "arz": "ar", "ary": "ar", "uzs": "uz"}


@dataclass(frozen=True, slots=True)
class Detection:
    """The language of a text, as an ISO 639 code."""

    sure: str | None  # None: too short, mixed, a list of names, code
    likely: str  # by whose rules to read it; English where nothing speaks for another


def detect(text: str) -> str | None:
    """The code of the language that a text is surely in, or None: too short, mixed, a list of names, code."""
    return detection_of(text).sure


def detection_of(text: str) -> Detection:
    """The language that a text is surely in, and the one to read it by.

    A text that is not surely in one language is read as half of its excerpts are; else by the language that mostly
    uses its script; else, if it is short and has letters beyond ASCII, by the model's best guess.
    """
    excerpts = _excerpts(text)
    known = [_by_script(excerpt) or _english(_prose(excerpt)) for excerpt in excerpts]
    found = _agreed(known)
    if found is None:
        known = [code or _by_model(_prose(excerpt)) for code, excerpt in zip(known, excerpts, strict=True)]
        found = _agreed(known)
    return Detection(found, found or _agreed(known, HALF) or _likely(text))


def _likely(text: str) -> str:
    start = text[: EXCERPTS * EXCERPT]
    letters = [character for character in start if character.isalpha()]
    for code, script in MAIN_LANGUAGES.items():
        if len(script.findall(start)) > len(letters) / 2:
            return code
    short = FEWEST_GUESSED <= len(letters) < FEWEST_LETTERS and not start.isascii()
    return (_by_model(_prose(start), FEWEST_GUESSED, HALF) if short else None) or "en"


def mismatch(document: Document) -> str | None:
    """What to tell about a text that is surely in another language than the rules by which it was read."""
    rules, code = document.language, document.detected
    if code is None or rules == ANY_LANGUAGE or SAME.get(rules, rules) == code:
        return None
    return (
        f"The text seems to be in {name_of(code)}, but was read by the rules of {name_of(rules)}; "
        f"set the language to {code!r} or 'auto'."
    )


def _excerpts(text: str) -> list[str]:
    """The whole of a short text, else pieces spread evenly over a long one."""
    if len(text) <= EXCERPTS * EXCERPT:
        pieces = [text[start : start + EXCERPT] for start in range(0, len(text), EXCERPT)]
    else:
        step = (len(text) - EXCERPT) / (EXCERPTS - 1)
        pieces = [text[round(i * step) : round(i * step) + EXCERPT] for i in range(EXCERPTS)]
    if len(pieces) > 1 and len(pieces[-1]) < EXCERPT / 2:
        pieces[-2:] = [pieces[-2] + pieces[-1]]
    return pieces


def _prose(text: str) -> str:
    return " ".join(word for word in text.split() if not NOISE.search(word))


def _agreed(codes: list[str | None], share: float = AGREEING) -> str | None:
    """The language of nearly all excerpts, or of a share of them; of two the earlier one."""
    code, count = Counter(codes).most_common(1)[0] if codes else (None, 0)
    return code if count >= share * len(codes) else None


def _by_script(text: str) -> str | None:
    letters = sum(map(str.isalpha, text))
    counts = {code: len(script.findall(text)) for code, script in SCRIPTS.items()}
    east = sum(counts.values())
    if east < max(FEWEST_CHARACTERS, letters / 2):
        return None
    if counts["ja"] >= KANA_SHARE * (counts["ja"] + counts["zh"]) > 0:
        return "ja"
    return max(counts, key=lambda code: counts[code])


def _english(text: str) -> str | None:
    words = re.findall(r"[^\W\d_]+", text.lower())
    share = sum(word in ENGLISH_WORDS for word in words) / max(1, len(words))
    return "en" if len(words) >= 8 and share >= ENGLISH_SHARE else None


def _by_model(text: str, fewest_letters: int = FEWEST_LETTERS, sure: float = _SURE) -> str | None:
    if sum(map(str.isalpha, text)) < fewest_letters:
        return None
    probabilities: Counter[str] = Counter()
    for code, probability in _detector().rank(text):
        probabilities[SAME.get(code, code)] += probability
    ((code, probability),) = probabilities.most_common(1)
    enough = _SURE_LATIN if code == "la" else sure
    return code if code != NO_LANGUAGE and probability >= enough else None


@cache
def _detector() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
