"""Finite verbs, told by their dictionary form: a phrase without a tagger would take them in, "heat pump replaces".

A word is a verb where simplemma's dictionary gives an infinitive for it. Dictionaries are loaded with the first text of
their language (0.1 to 1 second; Polish 3). Languages that are not listed have no verbs told.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
TURKISH = re.compile(r"\w{2,}(?:[ıiuü]yor|m[ıiuü]ş|[ae]ca[kğ]|ece[kğ]|[dt][ıiuü]ğ[ıiuü]\w*)\w{0,3}")


@lru_cache(maxsize=1 << 16)
def is_verb(word: str, language: str) -> bool:
    """Whether a word of a text is a verb; in German only words in lower case can be one."""
    if language == "tr":
        return TURKISH.fullmatch(word.lower()) is not None
    if language not in INFINITIVES or (language == "de" and word[:1].isupper()):
        return False
    from simplemma import lemmatize

    lower = word.lower()
    lemma = lemmatize(lower, language).lower()
    if not lemma.endswith(INFINITIVES[language]):
        return False
    if language == "de":
        return True
    return lemma not in (lower, lower.removesuffix("s"), lower.removesuffix("es"))  # solar, solares
