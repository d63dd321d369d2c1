"""Stop words of each language, and the words that only look like them."""

from functools import cache
from importlib import import_module

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
ACRONYMS = frozenset({"IT", "WHO", "US"})  # tagged as pronouns, which in capitals they seldom are
_PRONOUNS = """
anybody anyone anything everybody everyone everything nobody none nothing somebody someone something one ones others
oneself
"""
PRONOUNS = frozenset(_PRONOUNS.split())  # of English, tagged as nouns

LISTED_UNDER = {"no": "nb", "bs": "hr", "gl": "pt", "oc": "ca"}  # languages that share a list with a near one
_CHINESE_CONTENT = "保险 反应 任务 应用 处理 个人 人民 先生 中小 产生 传说 经济 安全 社会 城市 技术 教育 环境"
_PORTUGUESE_CONTENT = "sistema grupo estado governo apoio conselho corrente direita nível poder povo área"
_ITALIAN_CONTENT = "casa città consiglio futuro governo gruppo lavoro ministro mondo nazionale paese persone"
CONTENT_WORDS = {  # that spaCy's lists hold, though texts are about them
    "zh": frozenset(_CHINESE_CONTENT.split()),
    "es": frozenset({"acuerdo", "estado", "estados"}),
    "it": frozenset(_ITALIAN_CONTENT.split()),
    "pt": frozenset(_PORTUGUESE_CONTENT.split()),
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
    if language == "en":
        return ENGLISH_STOP_WORDS
    if language == "vi":
        return VIETNAMESE_STOP_WORDS
    try:
        listed = import_module(f"spacy.lang.{LISTED_UNDER.get(language, language)}.stop_words").STOP_WORDS
    except ImportError:
        return frozenset()
    return frozenset(listed) - CONTENT_WORDS.get(language, frozenset())
