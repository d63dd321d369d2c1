"""Finite verbs, told by their dictionary form: a phrase without a tagger would take them in, "heat pump replaces".

Simplemma's dictionary is loaded with the first text of its language (0.1 to 1.6 seconds).
"""

import re
from functools import cache, lru_cache
from typing import Any

KEPT = 32  # dictionaries in memory at most
INFINITIVES = {  # endings
    "ca": ("ar", "er", "ir", "re"),
    "cs": ("at", "et", "it", "ít", "át", "out"),
    "de": ("en", "ern", "eln"),
    "el": ("ω",),
    "es": ("ar", "er", "ir", "arse", "erse", "irse"),
    "fr": ("er", "ir", "re"),
    "hi": ("ना",),
    "it": ("are", "ere", "ire", "rre", "arsi", "ersi", "irsi"),
    "nl": ("en", "aan", "ien", "oen"),
    "pl": ("ć", "ć się"),
    "pt": ("ar", "er", "ir", "or"),
    "ru": ("ть", "ться", "ти", "тись", "чь"),
    "sk": ("ať", "iť", "ieť", "núť", "ovať"),
    "uk": ("ти", "тися"),
}
BEFORE_NOUNS = {  # articles and prepositions, after which no finite verb stands: "la lucha", "chefe de Estado"
    code: frozenset(words.split())
    for code, words in {
        "ca": "el la els les l' un una de del dels d' al als en amb",
        "es": "el la los las un una unos unas de del al en con sin este esta estos estas ese esa su sus",
        "fr": "le la les l' l’ un une des du de d' d’ au aux ce cette ces son sa ses leur leurs en sans",
        "it": "il lo la i gli le l' l’ un uno una un' di del dello della dei degli delle dell' al alla nel nella con",
        "nl": "de het een van met voor deze dit",
        "pt": "o a os as um uma uns umas de do da dos das no na nos nas ao aos à às em com sem este esta seu sua",
        "pl": "w z na do od dla po przy bez",
        "ru": "в на с из от до для о об при без по",
        "uk": "в у на з із від до для про при без по",
        "cs": "v z na do od pro po při bez",
        "sk": "v z na do od pre po pri bez",
        "el": "ο η το οι τα του της των τον την τους τις στο στη στην στα ένα μια",
    }.items()
}
PARTICIPLES = {  # that follow a noun as adjectives do: "sistemas embebidos", "gaz liquéfié"
    "ca": re.compile(r"\w+(?:at|ada|ats|ades|it|ida|its|ides)"),
    "es": re.compile(r"\w+[ai]d[oa]s?"),
    "fr": re.compile(r"\w+(?:é|ée|és|ées|i|ie|is|ies|u|ue|us|ues)"),
    "it": re.compile(r"\w+[aiu]t[oaie]"),
    "pt": re.compile(r"\w+[ai]d[oa]s?"),
}


def is_verb_here(word: str, language: str, before: str, after_noun: bool, opening: bool) -> bool:
    """Whether a word is a verb where it stands; `after_noun`: the word before may be part of a phrase."""
    if not is_verb(word, language):
        return False
    name = word[:1].isupper() and not opening
    participle = after_noun and language in PARTICIPLES and PARTICIPLES[language].fullmatch(word.lower()) is not None
    return not (name or participle or before.lower() in BEFORE_NOUNS.get(language, ()))


SURE_FORMS = {  # of verbs, told by their form alone
    "ar": re.compile(r"[وفس]?ي[\u0621-\u064a]{3,}"),  # "he, they ..."
    "pl": re.compile(r"\w+(?:ować|ywać|iwać|nąć)"),
    "ru": re.compile(r"\w{2,}(?:ить|ять|ться|овать|евать|ывать|ивать|лся|лась|лись)"),
    "tr": re.compile(r"\w{2,}(?:[ıiuü]yor|m[ıiuü]ş|[ae]ca[kğ]|ece[kğ]|[dt][ıiuü]ğ[ıiuü]\w*)\w{0,3}"),
    "uk": re.compile(r"\w{2,}(?:увати|ювати|тися|вся|лася|лися)"),
}


@lru_cache(maxsize=1 << 16)
def is_verb(word: str, language: str) -> bool:
    """Whether a word of a text is a verb; in German only words in lower case can be one."""
    if language in SURE_FORMS and SURE_FORMS[language].fullmatch(word.lower()):
        return True
    if language not in INFINITIVES or (language == "de" and word[:1].isupper()):
        return False
    lower = word.lower()
    lemma = lemmatizer().lemmatize(lower, language).lower()
    if not lemma.endswith(INFINITIVES[language]):
        return False
    if language == "de":
        return True
    return lemma not in (lower, lower.removesuffix("s"), lower.removesuffix("es"))  # solar, solares


@cache
def lemmatizer() -> Any:
    """Simplemma: its dictionaries, and its rules for words that they do not hold."""
    from simplemma import Lemmatizer
    from simplemma.strategies import DefaultStrategy

    return Lemmatizer(lemmatization_strategy=DefaultStrategy(dictionary_factory=dictionaries()))


@cache
def dictionaries() -> Any:
    """Simplemma's dictionaries, read in packed form: Polish takes 60 MB so and 410 unpacked, in half the time."""
    from simplemma.strategies import StreamDictionaryFactory

    return StreamDictionaryFactory(cache_max_size=KEPT)
