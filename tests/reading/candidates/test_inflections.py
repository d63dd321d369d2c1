"""Inflections are taken off words, and derivations are not."""

import subprocess
import sys

import pytest

from mudy.reading.candidates.stemming import base_form

INFLECTIONS = {
    "da": ["sø søer søen"],
    "de": [
        "Wärmepumpe Wärmepumpen WÄRMEPUMPE",
        "Krankenhaus Krankenhäuser Krankenhauses",
        "Grundwassermodell Grundwassermodelle Grundwassermodells",  # not in the dictionary
    ],
    "en": [
        "lake lakes Lake's",
        "box boxes",
        "bus buses",
        "city cities",
        "house houses",
        "movie movies",
        "virus viruses",
        "analysis analyses",
        "API APIs",
        "GPU GPUs",
        "lens lenses",
        "use uses",
    ],
    "es": ["nación naciones", "lago lagos"],
    "fi": ["järvi järvet"],
    "fr": ["énergie énergies", "national nationaux nationale", "téléphone téléphones", "donnée données"],
    "it": ["lago laghi", "colata colate", "lavica laviche"],
    "ja": ["ＡＩ AI"],
    "nl": ["huis huizen"],
    "no": ["sjø sjøer"],
    "pl": ["książka książki"],
    "pt": ["eleição eleições", "municipal municipais"],
    "ru": ["город города городов"],
    "tr": ["şehir şehirler"],
    "uk": ["озеро озера"],
}
DERIVATIONS = {
    "de": ["Arbeit Arbeiter", "Wohnung wohnen", "Dokument Dokumentation"],
    "en": [
        "option optional",
        "document documentation",
        "generation generator",
        "respect respectability",
        "training trained",
        "news new",
        "GPS GP",
        "AIDS aid",
        "1990s 1990",
    ],
    "es": ["generación generador", "opción opcional", "documento documentación"],
    "fr": ["génération générateur", "compétitif compétitivité", "économie économique"],
    "id": ["makan makanan"],
    "it": ["generazione generatore"],
    "pt": ["operador operação"],
    "ru": ["генерация генератор"],
}


def each(words: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    return [(language, forms.split()) for language, groups in words.items() for forms in groups]


@pytest.mark.parametrize(("language", "forms"), each(INFLECTIONS))
def test_inflections_have_one_base_form(language: str, forms: list[str]) -> None:
    assert len({base_form(form, language) for form in forms}) == 1


@pytest.mark.parametrize(("language", "words"), each(DERIVATIONS))
def test_derivations_have_base_forms_of_their_own(language: str, words: list[str]) -> None:
    assert len({base_form(word, language) for word in words}) == len(words)


def test_no_dictionary_is_imported_for_english() -> None:
    asked = "from mudy.reading.candidates.stemming import base_form; base_form('networks', 'en')"
    code = f"import sys; {asked}; print({{'simplemma', 'snowballstemmer'}} & {{*sys.modules}})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
