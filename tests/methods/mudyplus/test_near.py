"""Seeds and queries turn the ranking of MUDY+, and of no other method."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mudy import Extractor, InputError, SettingError
from mudy.methods.mudy import Mudy
from mudy.methods.mudyplus.near import content_words, seed_similarity, similarity, vectors_alone
from mudy.methods.promptrank import PromptRank
from mudy.reading.untagged import UntaggedReader
from tests import small
from tests.command_line import run as mudy
from tests.taggers import english

TEXT = Path("examples/floodplain.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def extractor() -> Extractor:
    made = Extractor(speed="quick", language=english())
    made.loader.in_memory["encoder"] = small.bert()
    return made


def log_odds(score: float) -> float:
    return float(np.log(score / (1 - score)))


def test_seed_similarity_is_the_best_cosine_less_the_mean() -> None:
    phrases = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    half = np.sqrt(0.5)
    assert np.allclose(seed_similarity(phrases, phrases[:1]), np.array([1, 0, half]) - (1 + half) / 3)
    assert np.allclose(seed_similarity(phrases, phrases[:2]), np.array([1, 1, half]) - (2 + half) / 3)


def test_no_seeds_change_nothing(extractor: Extractor) -> None:
    assert extractor.extract(TEXT, seeds=[], query=None) == extractor.extract(TEXT)


def test_a_seed_is_a_contribution_of_its_weight_times_the_centred_cosine(extractor: Extractor) -> None:
    (explained,) = extractor.explain(TEXT, seeds=["river gauge"], distinct=False, merge=False).methods
    assert explained.settings["seeds"] == ["river gauge"]
    phrases = [k.text.lower() for k in explained.result]
    added = np.array([k.occurrences[0].parts["seeds"] for k in explained.result])
    vectors = vectors_alone(small.bert(), ["river gauge", *phrases])
    cosines = vectors[1:] @ vectors[0] / np.linalg.norm(vectors[1:], axis=1) / np.linalg.norm(vectors[0])
    assert np.allclose(added - added[0], 8.0 * (cosines - cosines[0]), atol=1e-4)


def test_seeds_of_another_language_are_compared_by_the_multilingual_encoder() -> None:
    class Constant:
        def embed(self, texts: Sequence[str]) -> Any:
            return np.array([[1.0, 3.0 * ("ville" in text)] for text in texts], dtype=np.float32)

        def end_of_window(self, text: str) -> int:
            return len(text)

    made = Extractor(speed="quick", language=UntaggedReader("fr"))
    made.loader.in_memory.update({"encoder": small.bert(), "multilingual": Constant()})
    result = made.extract("La rivière inonde la ville. Le pont traverse la rivière.", 3, seeds=["ville"])
    assert result.keyphrases[0].text == "ville"
    assert made.extract("La rivière inonde la ville. Le pont traverse la rivière.", 3).keyphrases[0].text == "rivière"


def test_a_score_is_still_the_sum_of_its_contributions(extractor: Extractor) -> None:
    for keyphrase in extractor.extract(TEXT, 10, seeds=["ice"], query="What does the council pay?"):
        for occurrence in keyphrase.occurrences:
            assert {"seeds", "query"} <= occurrence.parts.keys()
            assert sum(occurrence.parts.values()) == pytest.approx(log_odds(occurrence.score), abs=1e-4)


def test_extract_explain_and_many_agree_and_the_extractor_stays_as_it_is(extractor: Extractor) -> None:
    before = extractor.extract(TEXT)
    turned = extractor.extract(TEXT, None, query="Who pays for the gauges?")
    (explained,) = extractor.explain(TEXT, query="Who pays for the gauges?").methods
    (many,) = extractor.extract_many([TEXT], None, query="Who pays for the gauges?")
    assert turned == explained.result == many
    assert extractor.extract(TEXT) == before


@pytest.mark.parametrize("method", ["yake", "textrank", "embedrank"])
def test_a_method_that_takes_no_seeds_says_which_one_does(method: str) -> None:
    made = Extractor(method, language=english())
    with pytest.raises(SettingError, match=f"{method} takes no seeds: only mudyplus"):
        made.extract(TEXT, seeds=["ice"])
    with pytest.raises(SettingError, match=f"{method} takes no query: only mudyplus"):
        made.extract(TEXT, query="what?")
    with pytest.raises(SettingError, match="takes no seeds"):
        Extractor(method, seeds=("ice",))


@pytest.mark.parametrize("wish", [{"seeds": "ice"}, {"seeds": [5]}, {"seeds": [" "]}, {"query": 5}])
def test_wishes_of_the_wrong_type_are_refused(extractor: Extractor, wish: dict[str, Any]) -> None:
    with pytest.raises((InputError, SettingError)):
        extractor.extract(TEXT, **wish)


def test_the_words_of_a_question_are_those_that_are_no_stop_words() -> None:
    assert content_words("What about the costs of it?", "en") == ["costs"]
    assert content_words("What is it?", "en") == []


def test_a_blank_text_and_one_phrase_can_be_asked(extractor: Extractor) -> None:
    assert len(extractor.extract("", seeds=["ice"])) == 0
    assert len(extractor.extract("Ice.", seeds=["ice"], query="what is it?")) == 1


def test_the_command_line_refuses_seeds_for_other_methods() -> None:
    result = mudy("extract", "examples/floodplain.txt", "-m", "yake", "--seed", "ice")
    assert result.exit_code == 2
    assert "only mudyplus" in result.stderr


@pytest.mark.parametrize("template", ["no place", "{} after", "before {}", "two {} of {} them"])
@pytest.mark.parametrize("method", [PromptRank, Mudy])
def test_a_template_needs_one_place_with_words_around_it(template: str, method: type[PromptRank] | type[Mudy]) -> None:
    with pytest.raises(SettingError, match="template"):
        method(small.decoder("llama"), template=template)


def test_a_template_is_what_the_language_model_is_asked_with() -> None:
    assert PromptRank(small.decoder("llama"), template="Topics: {}.").backbone.template == " Topics: {}."
    assert PromptRank(small.t5(), template="Topics: {} .").backbone.template == "Topics: {} ."
    assert PromptRank(small.decoder("llama")).backbone.template == small.decoder("llama").template


# -- Similarity to the text --------------------------------------------------------------------------------------------


def test_cosines_are_standardised() -> None:
    values = similarity(np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([3.0, 0.0]))
    assert values[0] > values[2] > values[1]
    np.testing.assert_allclose([values.mean(), values.std()], [0, 1], atol=1e-12)


def test_one_phrase_equal_phrases_and_empty_vectors_are_in_the_middle() -> None:
    one = np.array([[1.0, 2.0]])
    assert similarity(one, np.array([1.0, 0.0])).tolist() == [0.0]
    assert similarity(np.repeat(one, 3, axis=0), np.array([1.0, 0.0])).tolist() == [0.0] * 3
    assert similarity(np.zeros((2, 2)), np.zeros(2)).tolist() == [0.0, 0.0]
