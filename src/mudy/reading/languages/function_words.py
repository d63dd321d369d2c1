"""Frequent function words of languages in Latin script: what tells a short text's language beside its letters.

No list holds abbreviations or letters that stand for something else in English texts ("et al.", "3 d", "u.s.").
"""

import re

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


def function_words(text: str) -> dict[str, int]:
    """How many different function words of each language a text holds."""
    words = {word.lower() for word in WORD.findall(text)}
    return {code: len(words & listed) for code, listed in FUNCTION_WORDS.items()}
