"""Texts in languages without a tagger: their words, sentences, phrases and places, with the base install alone."""

import json
import pickle
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simplemma import lemmatize

from mudy import Extractor
from mudy.extraction.ranking import variant_key
from mudy.reading.candidates import candidates, nested_candidates
from mudy.reading.document import Document
from mudy.reading.languages import ADVICE, detection_of
from mudy.reading.languages.verbs import lemmatizer
from mudy.reading.tagging import reader_of
from mudy.reading.untagged import UntaggedReader
from tests.taggers import TEXTS

pytestmark = pytest.mark.filterwarnings("ignore:.* was read without a segmenter:mudy.LanguageWarning")

OWN = [json.loads(line) for line in Path("experiments/languages/texts.jsonl").read_text(encoding="utf-8").splitlines()]
FIRST: dict[str, dict[str, Any]] = {}
for row in OWN:
    FIRST.setdefault(row["language"], row)


@pytest.fixture(autouse=True)
def _light(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a plain install: no segmenter, and no tagger but the English one."""
    monkeypatch.setattr("mudy.reading.untagged.SEGMENTERS", {})
    monkeypatch.setattr("mudy.reading.tagging.tagger_is_here", lambda _: False)


def words(code: str, text: str) -> list[str]:
    return [word.span.of(text) for word in UntaggedReader(code).document(text).words]


def phrases(code: str, text: str) -> set[str]:
    return {candidate.phrase for candidate in nested_candidates(UntaggedReader(code).document(text))}


# -- Twenty languages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", FIRST)
def test_the_language_is_found_and_said(code: str) -> None:
    result = Extractor("yake").extract(FIRST[code]["text"])
    assert result.language == code
    assert result.read_by
    assert result.warnings == ((ADVICE[code],) if code in ADVICE else ())


@pytest.mark.parametrize("code", FIRST)
def test_the_subject_is_among_the_candidates_in_a_language_without_a_tagger(code: str) -> None:
    row = FIRST[code]
    found = {variant_key(phrase, code) for phrase in phrases(code, row["text"])}
    assert any(variant_key(subject, code) in found for subject in row["subjects"])


@pytest.mark.parametrize("row", OWN, ids=lambda row: row["language"])
def test_every_phrase_stands_in_the_text_at_its_places(row: dict[str, Any]) -> None:
    for keyphrase in Extractor("yake").extract(row["text"], None, candidates="nested"):
        for place in keyphrase.occurrences:
            assert " ".join(row["text"][place.start : place.end].split()) in (keyphrase.text, *keyphrase.variants)


@pytest.mark.real
@pytest.mark.parametrize("code", FIRST)
def test_mudyplus_names_a_subject_among_its_first_ten(code: str) -> None:
    row = FIRST[code]
    result = _quick().extract(row["text"], 10)
    shown = [form for k in result for form in (k.text, *k.variants)]
    named = {variant_key(form, code) for form in shown}
    assert any(variant_key(subject, code) in named for subject in row["subjects"]), shown


@pytest.mark.real
def test_the_result_names_the_encoder_that_was_asked() -> None:
    assert _quick().extract(FIRST["de"]["text"]).model == "use-multilingual"


_EXTRACTORS: list[Extractor] = []


def _quick() -> Extractor:
    if not _EXTRACTORS:
        _EXTRACTORS.append(Extractor(speed="quick"))
    return _EXTRACTORS[0]


# -- Words and sentences ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "text", "count"),
    [
        ("de", "Dr. Müller kommt, z. B. heute. Morgen nicht.", 2),
        ("pl", "J. Kowalski czyta. Potem śpi.", 2),
        ("ar", "كيف حالك؟ أنا بخير.", 2),
        ("hi", "यह नदी है। वह पहाड़ है।", 2),
        ("zh", "今天下雨。明天晴天！后天呢？", 3),
        ("ja", "雨が降る。明日は晴れる。", 2),
    ],
)
def test_sentences_end_at_the_marks_of_the_language(code: str, text: str, count: int) -> None:
    assert len(UntaggedReader(code).document(text).sentences) == count


def test_stop_words_elided_articles_and_numbers_bound_a_phrase() -> None:
    assert phrases("fr", "L'eau sur la rivière et 25 bateaux") == {"eau", "rivière", "bateaux"}
    assert "tasa de interés" in phrases("es", "Sube la tasa de interés hoy.")
    assert "wiederaufbau" in phrases("de", "Der Wiederaufbau der Stadt")


@pytest.mark.parametrize(
    ("code", "text", "phrase"),
    [
        ("es", "El internet de las cosas crece.", "internet de las cosas"),
        ("fr", "On défend la liberté de la presse.", "liberté de la presse"),
    ],
)
def test_an_article_may_stand_after_what_joins_two_nouns(code: str, text: str, phrase: str) -> None:
    assert phrase in phrases(code, text)


@pytest.mark.parametrize(
    ("code", "text", "found", "left_out"),
    [
        ("es", "Los sistemas embebidos ejecutan programas.", "sistemas embebidos", "ejecutan"),  # a participle
        ("fr", "Le navire transporte du gaz liquéfié.", "gaz liquéfié", "transporte"),
        ("pt", "Ontem o chefe de Estado falou.", "chefe de estado", "falou"),  # a capital inside a sentence
        ("pt", "Os operários retomam a luta sindical.", "luta sindical", "retomam"),  # after an article
    ],
)
def test_a_verb_is_told_by_where_it_stands(code: str, text: str, found: str, left_out: str) -> None:
    assert found in phrases(code, text)
    assert left_out not in phrases(code, text)


def test_japanese_words_are_bounded_by_hiragana_and_cut_where_a_part_comes_back() -> None:
    text = "機械学習と深層学習を学ぶ。学習は続く。"
    assert {"機械学習", "深層学習", "学習"} <= phrases("ja", text)


def test_chinese_function_words_bound_words_and_latin_words_stay_whole() -> None:
    assert {"人工智能", "bert模型"} <= phrases("zh", "我们用BERT模型研究人工智能。人工智能发展很快。")


def test_a_space_ends_a_phrase_in_thai_but_not_beside_latin_letters() -> None:
    assert "ชาวนา ภัยแล้ง" not in phrases("th", "ชาวนา ภัยแล้ง")
    assert "โมเดล BERT".lower() in phrases("th", "โมเดล BERT")


@pytest.mark.parametrize(
    ("code", "text", "verb"),
    [
        ("ar", "يدرس المهندسون الطاقة الشمسية", "يدرس"),
        ("ru", "Жители просят построить очистные сооружения.", "построить"),
        ("tr", "Belediye eski binaları yıkacak.", "yıkacak"),
    ],
)
def test_verbs_are_told_by_their_form(code: str, text: str, verb: str) -> None:
    assert not any(verb in phrase for phrase in phrases(code, text))


def test_korean_particles_are_no_part_of_a_phrase() -> None:
    assert "발효 식품" in phrases("ko", "발효 식품에는 유산균이 많다.")
    assert "기계 학습" in phrases("ko", "기계 학습은 의료 영상 분석에 쓰인다.")


def test_no_thai_word_is_cut_inside_a_character_with_its_vowels() -> None:
    text = "ข้าวหอมมะลิและข้าวหอมมะลิที่ปลูก ข้าวเหนียว"
    for word in words("th", text):
        assert word[0] not in "ะัาำิีึืฺุู็่้๊๋์ํ"


@pytest.mark.parametrize("code", ["de", "fr", "ar", "hi", "zh", "ja", "ko", "th", "km"])
@given(text=TEXTS)
def test_any_text_is_read_and_every_word_stands_where_it_says(code: str, text: str) -> None:
    document = UntaggedReader(code).document(text)
    spans = [word.span for word in document.words]
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(span.of(text).strip() for span in spans)
    for candidate in [*nested_candidates(document), *candidates(document)]:
        for occurrence in candidate.occurrences:
            assert " ".join(occurrence.span.of(text).split()).lower() == candidate.phrase


@given(st.text(alphabet="机器学习人工智能的是。，A ", max_size=200))
def test_time_and_places_hold_for_texts_of_few_characters(text: str) -> None:
    document = UntaggedReader("zh").document(text)
    assert all(word.span.of(text).strip() for word in document.words)


def test_an_infinitive_that_is_its_own_dictionary_form_is_no_phrase() -> None:
    found = phrases("pl", "Rachunki za prąd mogą wzrosnąć w zimie.")
    assert "prąd" in found
    assert not any("wzrosnąć" in phrase for phrase in found)


def test_extractors_of_a_process_share_the_english_tagger() -> None:
    assert Extractor("yake").tagger is Extractor("textrank").tagger


def test_packed_dictionaries_give_the_lemmas_that_unpacked_ones_give() -> None:
    for word in ("remplace", "pompes", "chaleur", "installaient", "économies", "vingt", "xyz"):
        assert lemmatizer().lemmatize(word, "fr") == lemmatize(word, "fr")


def test_the_reader_of_a_language_is_pickled() -> None:
    reader = pickle.loads(pickle.dumps(UntaggedReader("pl")))
    assert reader.document("Żubry wracają.").language == "pl"


def test_a_code_without_a_tagger_is_read_without_one() -> None:
    assert isinstance(reader_of("de"), UntaggedReader)
    assert reader_of("en").tagged


# -- Scripts, mixtures, doubt -----------------------------------------------------------------------------------------


def test_full_width_letters_are_one_with_plain_ones() -> None:
    result = Extractor("yake", language="ja").extract("ＡＩ研究が進む。AI研究は続く。")
    (merged,) = (k for k in result if "研究" in k.text and len(k.occurrences) == 2)
    assert {merged.text, *merged.variants} == {"ＡＩ研究", "AI研究"}


def test_right_to_left_text_with_english_words_keeps_its_places() -> None:
    text = "تستخدم الشركة تقنية machine learning في تحليل الصور. تقنية machine learning مفيدة."
    result = Extractor("yake").extract(text, None, candidates="nested")
    assert result.language == "ar"
    assert "machine learning" in result
    assert all(text[o.start : o.end] in (k.text, *k.variants) for k in result for o in k.occurrences)


def test_code_switching_is_read_by_the_language_of_most_of_it() -> None:
    german = "Die Abteilung hat das neue Release gestern deployed, und der Build ist leider wieder rot geworden. " * 4
    assert Extractor("yake").extract(german + "The meeting is at noon.").language == "de"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Deep neural networks for acoustic modeling", "en"),
        ("Sauerkraut", "en"),
        ("Die Katze schläft auf dem Sofa.", "de"),
        ("Глубокое обучение", "ru"),
        ("深度学习", "zh"),
        ("ディープラーニング", "ja"),
        ("सौर ऊर्जा", "hi"),
        ("42 + 17 = 59", "en"),
        ("", "en"),
    ],
)
def test_a_text_that_is_not_sure_is_read_by_its_script_or_as_english(text: str, language: str) -> None:
    assert detection_of(text).likely == language


def test_a_language_that_is_given_overrides() -> None:
    extractor = Extractor("yake")
    text = "Die Wärmepumpe ersetzt die Gasheizung."
    with pytest.warns(UserWarning, match="German"):
        assert extractor.extract(text * 4, language="en").language == "en"
    assert extractor.extract("Gasheizung", language="de").language == "de"


def test_languages_are_found_one_text_at_a_time() -> None:
    texts = [FIRST[code]["text"] for code in ("de", "zh", "ar")]
    random.Random(0).shuffle(texts)
    found: Iterator[Any] = Extractor("yake").extract_many(texts)
    assert [result.language for result in found] == [detection_of(text).sure for text in texts]


def test_an_untagged_document_says_so() -> None:
    document: Document = UntaggedReader("de").document("Die Brücke.")
    assert not document.tagged
    assert document.read_by == "stop words of German"
