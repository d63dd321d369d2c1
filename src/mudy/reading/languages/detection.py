"""The language of a text: by its script, by English function words, else by py3langid and all function words.

A text is looked at in a few excerpts, so that a long one costs no more than a short one, and an abstract or a
quotation in another language does not decide. The detector's model (0.6 s to load) is loaded only for excerpts that
neither script nor function words settle: never for most English texts.

A short text in a Romance language looks to the model as if it were in any of several; its function words decide
between them. Where even those leave a doubt, the text is read by the likeliest language or by no one's rules, and
the result says so.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from mudy.reading.document import Document
from mudy.reading.languages.function_words import function_words
from mudy.reading.languages.names import LANGUAGE_NAMES, UNDETERMINED, name_of

EXCERPTS, EXCERPT = 8, 400  # how many excerpts of a long text, and how many characters each has
FEWEST_LETTERS = 30  # fewer cannot be told apart, but for the scripts below
FEWEST_CHARACTERS = 4  # of those scripts
_SURE = 0.8  # probability; at 40 to 2000 characters, no English text of 11 data sets was taken for another language
_SURE_LATIN = 0.95  # terms of medicine and biology look Latin
AGREEING = 0.75  # share of the excerpts that must agree
HALF = 0.5  # share of the excerpts, and probability, that are enough to read a text by
HARDLY = 0.05  # probability of English, below which
FEWEST_FUNCTION_WORDS = 2  # of another language, more than English ones, are enough not to read a text as English
FEWEST_GUESSED = 10  # letters of a text that the model may guess at
FUNCTION_WORD_ODDS = 2.0  # by which each function word of a language raises its probability
LATIN_LETTER = re.compile("[\u00aa-\u024f\u1e00-\u1eff]")  # beyond ASCII

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
_SAME = "pcm en, nb no, nn no, yue zh, wuu zh, arz ar, ary ar, uzs uz, an es, ext es"
SAME: dict[str, str] = dict(pair.split() for pair in _SAME.split(","))  # codes that stand for a larger language


@dataclass(frozen=True, slots=True)
class Detection:
    """The language of a text, as an ISO 639 code."""

    sure: str | None  # None: too short, mixed, a list of names, code
    likely: str  # by whose rules to read it; English where nothing speaks for another, "und" where several may be

    @property
    def guessed(self) -> bool:
        """Whether the text is read by other rules than those of English without being surely in that language."""
        return self.likely not in ("en", self.sure)


def detect(text: str) -> str | None:
    """The code of the language that a text is surely in, or None: too short, mixed, a list of names, code."""
    return detection_of(text).sure


def detection_of(text: str) -> Detection:
    """The language that a text is surely in, and the one to read it by.

    A text that is not surely in one language is read as half of its excerpts are; else by the language that mostly
    uses its script; else, if its letters or function words are not those of English, by the model's best guess.
    """
    excerpts = _excerpts(text)
    known = [_by_script(excerpt) or _english(_prose(excerpt)) for excerpt in excerpts]
    found = _agreed(known)
    if found is None:
        known = [code or _by_model(_prose(excerpt)) for code, excerpt in zip(known, excerpts, strict=True)]
        found = _agreed(known)
    likely = found or _agreed(known, HALF) or _likely(text)
    return Detection(found, likely if likely in LANGUAGE_NAMES else UNDETERMINED)


def _likely(text: str) -> str:
    start = text[: EXCERPTS * EXCERPT]
    letters = [character for character in start if character.isalpha()]
    for code, script in MAIN_LANGUAGES.items():
        if len(script.findall(start)) > len(letters) / 2:
            return code
    return _guess(_prose(start)) if len(letters) >= FEWEST_GUESSED else "en"


def _guess(prose: str) -> str:
    """The likeliest language, if letters or function words, and not the model alone, speak against English."""
    counts = function_words(prose)
    others = max(counts.values()) - counts["en"]
    if others <= 0 and not LATIN_LETTER.search(prose):
        return "en"
    probabilities = _weighed(_probabilities(prose), prose)
    code = max(probabilities, key=probabilities.__getitem__)
    if code == NO_LANGUAGE:
        return "en"
    if probabilities[code] >= (HALF if others > 0 else _SURE):  # names have such letters in English too
        return code
    return UNDETERMINED if others >= FEWEST_FUNCTION_WORDS and probabilities["en"] < HARDLY else "en"


def mismatch(document: Document) -> str | None:
    """What to tell about a text that is, or may be, in another language than the rules by which it was read."""
    rules, code = document.language, document.detected
    if document.guessed:
        how = "by language-neutral rules" if rules == UNDETERMINED else f"as {name_of(rules)}"
        return f"The language of the text is uncertain; it was read {how}. Set the language if you know it."
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


def _by_model(prose: str) -> str | None:
    """The language that the model is sure of, by itself or with the function words of the text."""
    if sum(map(str.isalpha, prose)) < FEWEST_LETTERS:
        return None
    probabilities = _probabilities(prose)
    return _sure_one(probabilities) or _sure_one(_weighed(probabilities, prose))


def _sure_one(probabilities: Mapping[str, float]) -> str | None:
    code = max(probabilities, key=probabilities.__getitem__)
    enough = _SURE_LATIN if code == "la" else _SURE
    return code if code != NO_LANGUAGE and probabilities[code] >= enough else None


def _probabilities(prose: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for code, probability in _detector().rank(prose):
        found[SAME.get(code, code)] += probability
    return found


def _weighed(probabilities: Counter[str], prose: str) -> Counter[str]:
    """Probabilities, raised by the function words of each language.

    Not where the likeliest language has none listed, as Galician: those of a near one would take its place.
    """
    counts = function_words(prose)
    if max(probabilities, key=probabilities.__getitem__) not in counts:
        return probabilities
    odds = {code: p * FUNCTION_WORD_ODDS ** counts.get(code, 0) for code, p in probabilities.items()}
    return Counter({code: value / sum(odds.values()) for code, value in odds.items()})


@cache
def _detector() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
