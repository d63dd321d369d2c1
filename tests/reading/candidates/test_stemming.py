"""Stems by the rules of the language: forms of one word meet, and English keeps Porter's."""

import subprocess
import sys

import pytest

from mudy.extraction.ranking import stem_key
from mudy.reading.candidates.stemming import stem, stem_of, stem_parts


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("de", ["Wärmepumpe", "Wärmepumpen", "WÄRMEPUMPE"]),
        ("de", ["Krankenhaus", "Krankenhäuser", "Krankenhauses"]),
        ("fr", ["énergie renouvelable", "énergies renouvelables"]),
        ("fr", ["réseau national", "réseaux nationaux"]),
        ("es", ["nación", "naciones"]),
        ("pt", ["eleição municipal", "eleições municipais"]),
        ("it", ["lago", "laghi"]),
        ("it", ["colata lavica", "colate laviche"]),
        ("nl", ["huis", "huizen"]),
        ("pl", ["książka", "książki"]),
        ("ru", ["город", "города", "городов"]),
        ("tr", ["şehir", "şehirler"]),
        ("ja", ["ＡＩ", "AI"]),
    ],
)
def test_forms_of_one_word_have_the_same_stem(language: str, forms: list[str]) -> None:
    assert len({stem_key(form, language) for form in forms}) == 1


@pytest.mark.parametrize("word", ["networks", "Learning", "ponies", "sky", "naïve"])
def test_english_has_porters_stems(word: str) -> None:
    assert stem_of(word, "en") == stem(word)


def test_no_other_language_has_porters_stems() -> None:
    assert stem("relational") != "relational"
    assert stem_of("relational", "zh") == "relational"
    assert stem_of("Häuser", "de") != stem("Häuser")


def test_a_phrase_without_spaces_stands_inside_a_longer_one_by_its_pairs_of_characters() -> None:
    assert stem_parts("机器学习", "zh") < stem_parts("机器学习算法", "zh")
    assert not stem_parts("学机器", "zh") <= stem_parts("机器学习", "zh")
    assert stem_parts("BERT模型", "zh") == {"bert", "模型"}


def test_snowball_is_not_imported_for_english() -> None:
    asked = "from mudy.reading.candidates.stemming import stem_of; stem_of('networks', 'en')"
    code = f"import sys; {asked}; print('snowballstemmer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
