import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from mudy.errors import InputError, SettingError
from mudy.reading.candidates import Candidate, candidates, given
from mudy.reading.document import Document, Span, Word, squeeze
from mudy.reading.languages import ENGLISH_STOP_WORDS, stop_words
from tests.growth import is_linear
from tests.taggers import TEXTS, english


def tagged(text: str, language: str = "en") -> Document:
    """A document of one sentence, written as word/tag word/tag."""
    pairs = [pair.rsplit("/", 1) for pair in text.split()]
    plain = " ".join(word for word, _ in pairs)
    words, start = [], 0
    for word, tag in pairs:
        words.append(Word(Span(start, start + len(word)), tag, 0))
        start += len(word) + 1
    return Document(plain, (Span(0, len(plain)),), tuple(words), language)


def phrases(found: list[Candidate]) -> list[str]:
    return [candidate.phrase for candidate in found]


def places(document: Document, found: list[Candidate]) -> dict[str, list[str]]:
    return {c.phrase: [o.span.of(document.text) for o in c.occurrences] for c in found}


def test_a_candidate_is_the_longest_run_of_nouns_and_adjectives_that_ends_in_a_noun() -> None:
    document = tagged("deep/JJ neural/JJ networks/NNS learn/VBP deep/JJ useful/JJR features/NNS quick/JJ")
    assert phrases(candidates(document)) == ["deep neural networks", "features"]


def test_a_phrase_keeps_every_occurrence_in_its_own_case() -> None:
    document = english().document("Neural networks learn.\n\nPeople like NEURAL\nNETWORKS and neural networks.")
    assert places(document, candidates(document))["neural networks"] == [
        "Neural networks",
        "NEURAL\nNETWORKS",
        "neural networks",
    ]


def test_no_phrase_reaches_across_sentences_or_control_characters() -> None:
    document = english().document("About neural networks\n\nMachine translation\n\ndeep\x00learning")
    assert {"neural networks", "machine translation"} <= set(phrases(candidates(document)))
    assert not any("\x00" in phrase or "networks machine" in phrase for phrase in phrases(candidates(document)))


def test_a_stop_word_breaks_a_phrase() -> None:
    assert phrases(candidates(tagged("own/JJ network/NN same/NN model/NN"))) == ["network", "model"]


def test_an_acronym_in_a_text_of_mixed_case_is_no_stop_word() -> None:
    assert "it department" in phrases(candidates(tagged("our/PRP$ IT/PRP department/NN")))
    assert "am radio" in phrases(candidates(tagged("an/DT AM/NN radio/NN")))
    assert phrases(candidates(tagged("IT/NN WORKS/NN"))) == ["works"]


def test_punctuation_addresses_numbers_and_single_letters_are_no_phrases() -> None:
    document = tagged("%/NN rate/NN =/NNP 42/NN x/VB a/NN ,/, x/NN ,/, http://a.b/NN me@home.org/NN 3D/NN")
    assert phrases(candidates(document)) == ["rate", "3d"]


def test_one_character_is_enough_in_chinese() -> None:
    assert phrases(candidates(tagged("茶/NOUN 好/VERB", "zh"))) == ["茶"]


def test_quotes_and_mark_up_at_the_edges_are_dropped() -> None:
    document = tagged("'deep/JJ learning'/NN is/VBZ *bold*/NN ''/NN")
    assert places(document, candidates(document)) == {"deep learning": ["deep learning"], "bold": ["bold"]}


def test_phrases_over_the_limit_are_left_out() -> None:
    document = tagged("a1/NN b2/NN c3/NN is/VBZ d4/NN e5/NN")
    assert phrases(candidates(document, max_words=2)) == ["d4 e5"]
    assert phrases(candidates(document, max_words=None)) == ["a1 b2 c3", "d4 e5"]
    with pytest.raises(SettingError, match="max_words=0"):
        candidates(document, max_words=0)


def test_stop_phrases_are_left_out_whole_and_in_any_case() -> None:
    document = tagged("Deep/JJ learning/NN beats/VBZ learning/NN and/CC rules/NNS")
    assert phrases(candidates(document, stop_phrases=["LEARNING", "Rules "])) == ["deep learning"]
    assert phrases(candidates(document, stop_phrases=["deep\nlearning"])) == ["learning", "rules"]
    with pytest.raises(InputError, match="list"):
        candidates(document, stop_phrases="learning")


def test_adjectives_follow_nouns_and_de_joins_them_in_romance_languages() -> None:
    french = tagged("un/DET réseau/NOUN neuronal/ADJ profond/ADJ de/ADP traitement/NOUN de/ADP texte/NOUN", "fr")
    assert phrases(candidates(french)) == ["réseau neuronal profond de traitement", "texte"]
    german = tagged("ein/DET tiefes/ADJ Netz/NOUN groß/ADJ", "de")
    assert phrases(candidates(german)) == ["tiefes netz"]


def test_stop_words_are_nltks_in_english_and_spacys_elsewhere() -> None:
    assert stop_words("en") == ENGLISH_STOP_WORDS
    assert len(ENGLISH_STOP_WORDS) == 179
    assert "und" in stop_words("de")
    assert stop_words("no such language") == frozenset()


def test_a_text_of_nothing_but_adjectives_takes_linear_time() -> None:
    assert is_linear(candidates, lambda size: tagged("big/JJ " * size), 10_000)
    assert candidates(tagged("big/JJ " * 50_000)) == []


@settings(max_examples=150, deadline=None)
@drawn(TEXTS)
def test_every_occurrence_reads_as_its_phrase_inside_its_sentence(text: str) -> None:
    document = english().document(text)
    found = candidates(document, max_words=None)
    assert found == candidates(document, max_words=None)
    assert len({c.phrase for c in found}) == len(found)
    firsts = [c.occurrences[0].span for c in found]
    assert firsts == sorted(firsts)
    for candidate in found:
        spans = [o.span for o in candidate.occurrences]
        assert spans == sorted(set(spans))
        for occurrence in candidate.occurrences:
            assert squeeze(occurrence.span.of(text)).lower() == candidate.phrase
            sentence = document.sentences[occurrence.sentence]
            assert sentence.start <= occurrence.span.start < occurrence.span.end <= sentence.end
            occurrence.span.of(text).encode()  # no lone surrogate gets into a phrase


# -- The caller's own --------------------------------------------------------------------------------


def plain(text: str) -> Document:
    return Document(text, (Span(0, len(text)),), ())


@pytest.mark.parametrize(
    ("phrase", "text", "seen"),
    [
        ("Deep Learning", "deep learning, DEEP\n LEARNING and deep-learning", ["deep learning", "DEEP\n LEARNING"]),
        ("C++", "C++, (c++) and C.", ["C++", "c++"]),
        ("C", "C++ C# C, c.", ["C", "c"]),
        ("5G", "15G 5G 5Gs", ["5G"]),
        (".NET", ".NET and ASP.NET", [".NET"]),
        ("AT&T", "At&t's AT&T", ["At&t", "AT&T"]),
        ("art", "start art's smart ART", ["art", "ART"]),
        ("U.S.", "the U.S. and u.s.", ["U.S.", "u.s."]),
        ("学习", "深度学习和机器学习", ["学习", "学习"]),
        ("대학교", "대학교에서", ["대학교"]),
        ("GPT模型", "用GPT模型吧", ["GPT模型"]),
        ("e", "e\u0301 e", ["e"]),
        ("οδός", "ΟΔΌΣ", ["ΟΔΌΣ"]),
    ],
)
def test_a_given_phrase_is_found_as_whole_words_in_any_case(phrase: str, text: str, seen: list[str]) -> None:
    found, missing = given(plain(text), [phrase])
    assert places(plain(text), found) == {squeeze(phrase).lower(): seen}
    assert missing == ()


def test_given_phrases_may_overlap_and_those_not_found_are_returned_apart() -> None:
    document = plain("Deep neural networks")
    found, missing = given(document, ["neural networks", "Absent One", "NEURAL", "deep neural", "absent one", "Neural"])
    assert places(document, found) == {
        "deep neural": ["Deep neural"],
        "neural": ["neural"],
        "neural networks": ["neural networks"],
    }
    assert missing == ("Absent One",)


def test_a_given_phrase_at_the_end_of_the_text_is_found_once_beside_a_longer_one_that_starts_alike() -> None:
    document = plain("neural")
    found, missing = given(document, ["neural", "neural networks", "neural-net"])
    assert places(document, found) == {"neural": ["neural"]}
    assert missing == ("neural networks", "neural-net")


def test_a_given_phrase_lies_in_the_sentence_of_its_start() -> None:
    document = english().document("We like tea. We like coffee and tea.")
    (tea,), _ = given(document, ["tea"])
    assert [occurrence.sentence for occurrence in tea.occurrences] == [0, 1]


@pytest.mark.parametrize("bad", [[""], [" \n"], [3], [None], "text"])
def test_given_phrases_that_are_empty_or_no_text_are_refused(bad: list[str]) -> None:
    with pytest.raises(InputError):
        given(plain("text"), bad)


def test_ten_thousand_given_phrases_are_found_in_linear_time() -> None:
    def made(size: int) -> tuple[Document, list[str]]:
        """A text that holds the first half of the phrases."""
        return plain(" ".join(f"the word{i} of" for i in range(size // 2))), [f"the word{i}" for i in range(size)]

    assert is_linear(lambda both: given(*both), made, 10_000)
    found, missing = given(*made(10_000))
    assert (len(found), len(missing)) == (5000, 5000)


@settings(max_examples=100, deadline=None)
@drawn(TEXTS, st.lists(TEXTS, max_size=3))
def test_every_given_phrase_is_either_found_or_missing(text: str, wanted: list[str]) -> None:
    wanted = [phrase for phrase in [*wanted, text[:9]] if phrase.strip()]
    found, missing = given(plain(text), wanted)
    for candidate in found:
        for occurrence in candidate.occurrences:
            assert squeeze(occurrence.span.of(text)).casefold() == candidate.phrase.casefold()
    keys = {squeeze(phrase).casefold() for phrase in wanted}
    assert {c.phrase.casefold() for c in found} | {squeeze(p).casefold() for p in missing} == {
        key.lower().casefold() for key in keys
    }
