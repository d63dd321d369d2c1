"""What every method must do, whatever its paper: one test module for all of them, a new one included."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, get_args

import pytest

from mudy import Extractor, SettingError
from mudy.engines.interfaces import SentenceEncoder
from mudy.engines.torch.transformer import CausalBackbone
from mudy.extraction.ranking import PreparedText, rank, score_texts
from mudy.methods import METHODS, check_settings, descriptions_of, method_class, model_fields, settings_of
from mudy.methods.method import Method, ModelField, OccurrenceScore, ScoredCandidates
from mudy.methods.mudyplus import MudyPlus
from mudy.reading.candidates import Candidate, candidates, given
from mudy.reading.document import Document, squeeze
from tests import small
from tests.tagged import tagged
from tests.taggers import english

every_method = pytest.mark.parametrize("name", METHODS)

LONG = " ".join(
    [small.TEXT, "A crew of old trucks waits in river ice. Its radar fails, and the ferry road is thin."] * 4
)
ODD = {
    "accents": "Café Zürich serves naïve Straße maps. ΟΔΟΣ signs and İstanbul roads fail. Кошка reads 深度学习 maps.",
    "combining": "Cafe\u0301 maps guide nai\u0308ve trucks. The e\u0301tude of the cafe\u0301 map is thin.",
    "emoji": "👩‍👩‍👧 family maps 🗺️ guide 🇪🇺 trucks 😀😀. The radar 😀 map fails 🚚.",
    "line ends": "River ice\r\nis thin.\r\n\r\nThe ice\r\nroad closes.\rA radar\tmap\t\tguides trucks.",
    "blanks": "\u00a0River\u00a0ice is thin.\u2028The \u200bice\u200b road\u3000closes.\x00 A radar  map \n\n fails.",
    "long word": f"The {'ice' * 120} road is thin. A {'x' * 900} map guides trucks over river ice.",
    "surrogate": "A radar map \ud800 guides trucks. The \udfff ice road closes.",
}


# -- Methods with small models ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScriptedChat:
    """Answers with the candidates that its prompt lists, the last one first."""

    name: str = "scripted"
    room: int | None = None

    def length(self, system: str, user: str) -> int:
        return len(system.split()) + len(user.split())

    def write(self, system: str, user: str, max_new_tokens: int) -> str:  # noqa: ARG002
        _, _, listed = user.rpartition("andidates: ")
        return "Keyphrases: " + "; ".join(reversed([phrase.strip() for phrase in listed.split(";")]))


@dataclass(frozen=True)
class SmallModels:
    """The models that a method may ask for, small and random."""

    batch_tokens: int = 512

    def backbone(self) -> CausalBackbone:
        return small.decoder("gemma3", self.batch_tokens)

    def encoder(self) -> SentenceEncoder:
        return small.bert(self.batch_tokens)

    def chat(self) -> ScriptedChat:
        return ScriptedChat()

    def multilingual(self) -> None:
        return None


def built(name: str, batch_tokens: int = 512, **settings: Any) -> Method:
    made: Method = method_class(name).build(SmallModels(batch_tokens), None, settings)
    return made


def extractor(name: str) -> Extractor:
    made = Extractor(name, language=english())
    made.__dict__["scorer"] = built(name)
    return made


@cache
def document(text: str = small.TEXT) -> Document:
    return english().document(text)


def own(text: Document, *phrases: str) -> list[Candidate]:
    return given(text, phrases)[0]


def at_first(method: Method, text: Document, found: Sequence[Candidate]) -> dict[str, float]:
    """The score of each phrase where it stands first."""
    scores = sorted(method.score(text, found), key=lambda score: score.occurrence.span, reverse=True)
    return {found[score.candidate].phrase: score.score for score in scores}


def check(scores: Sequence[OccurrenceScore], text: Document, found: Sequence[Candidate]) -> None:
    """What holds for the scores of any text: each occurrence has one, a number, at the place where it stands."""
    for score in scores:
        candidate = found[score.candidate]
        assert score.candidate >= 0
        assert score.occurrence in candidate.occurrences
        assert squeeze(score.occurrence.span.of(text.text)).casefold() == candidate.phrase.casefold()
        assert all(map(math.isfinite, (score.score, *score.parts.values())))
        assert score.section >= 0
    places = [(score.candidate, score.occurrence.span) for score in scores]
    assert sorted(places) == sorted((i, o.span) for i, c in enumerate(found) for o in c.occurrences)


# -- Higher is better -------------------------------------------------------------------------------------------------


def what_comes_often_and_early_beats_what_comes_once_and_late(name: str) -> None:
    text = tagged(
        "radar map guides/VBZ trucks . radar stations draw/VBP the/DT radar map . the/DT paper map shows/VBZ ice . "
        "trucks trust/VBP the/DT radar map of/IN ice . the/DT radar map helps/VBZ . a/DT late/JJ crossing waits/VBZ ."
    )
    scores = at_first(built(name), text, candidates(text))
    assert scores["radar map"] > scores["late crossing"]


def what_comes_often_beats_a_phrase_of_the_same_words_that_comes_once(name: str) -> None:
    text = tagged(
        "ice road opens/VBZ . the/DT ice road closes/VBZ . an/DT ice road waits/VBZ . a/DT road ice waits/VBZ ."
    )
    method = built(name)
    assert isinstance(method, MudyPlus)
    scores = at_first(replace(method, backbone=None), text, candidates(text))  # a random language model says anything
    assert scores["ice road"] > scores["road ice"]


def what_says_all_that_the_text_says_is_most_like_it(name: str) -> None:
    text = document("river ice road")
    scores = at_first(built(name), text, own(text, "ice", "river ice", "river ice road"))
    assert max(scores, key=lambda phrase: scores[phrase]) == "river ice road"


def what_takes_all_of_the_text_away_leaves_least_of_it(name: str) -> None:
    text = document("river ice road map")
    scores = at_first(built(name), text, own(text, "ice", "map", "river ice road map"))
    assert max(scores, key=lambda phrase: scores[phrase]) == "river ice road map"
    assert min(scores.values()) > 0


def the_likelier_phrase_and_the_earlier_place_come_first(name: str) -> None:
    text = document(LONG)
    found = candidates(text)
    likelihoods = [score.parts["p"] for score in built(name).score(text, found)]
    plain = built(name, position_penalty=False).score(text, found)
    assert max(likelihoods) < 0  # logarithms of probabilities
    assert sorted(plain, key=lambda s: s.score) == sorted(plain, key=lambda s: s.parts["p"])
    repeated = max(found, key=lambda candidate: len(candidate.occurrences))
    scores = [s.score for s in built(name).score(text, [repeated])]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 3


def the_likelier_phrase_and_the_one_looked_at_more_come_first(name: str) -> None:
    scores = built(name).score(document(), candidates(document()))
    assert max(score.parts["p"] for score in scores) < 0
    better = [
        (a, b)
        for a in scores
        for b in scores
        if a.parts["p"] >= b.parts["p"] and a.parts["AS"] > b.parts["AS"] and min(a.parts["AS"], b.parts["AS"]) >= 0
    ]
    assert len(better) > 3
    assert all(a.score > b.score for a, b in better)


def what_is_written_first_comes_first(name: str) -> None:
    text = document()
    found = candidates(text)
    scores = at_first(built(name), text, found)
    assert sorted(scores, key=lambda phrase: -scores[phrase]) == [candidate.phrase for candidate in reversed(found)]


BETTER: dict[str, Callable[[str], None]] = {
    "mudy": the_likelier_phrase_and_the_one_looked_at_more_come_first,
    "mudyplus": what_comes_often_beats_a_phrase_of_the_same_words_that_comes_once,
    "promptrank": the_likelier_phrase_and_the_earlier_place_come_first,
    "textrank": what_comes_often_and_early_beats_what_comes_once_and_late,
    "singlerank": what_comes_often_and_early_beats_what_comes_once_and_late,
    "topicrank": what_comes_often_and_early_beats_what_comes_once_and_late,
    "multipartiterank": what_comes_often_and_early_beats_what_comes_once_and_late,
    "yake": what_comes_often_and_early_beats_what_comes_once_and_late,
    "embedrank": what_says_all_that_the_text_says_is_most_like_it,
    "jointgl": what_comes_often_and_early_beats_what_comes_once_and_late,
    "mderank": what_takes_all_of_the_text_away_leaves_least_of_it,
    "samrank": what_comes_often_and_early_beats_what_comes_once_and_late,
    "attentionseeker": what_comes_often_and_early_beats_what_comes_once_and_late,
    "empirical": what_is_written_first_comes_first,
}


@every_method
def test_higher_is_better(name: str) -> None:
    assert name in BETTER, f"{name} needs a fact that a score of the wrong sign would break"
    BETTER[name](name)


# -- Scores -----------------------------------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("text", [small.TEXT, LONG])
def test_every_occurrence_is_scored_where_it_stands(name: str, text: str) -> None:
    found = candidates(document(text))
    assert len(found) > 5
    check(built(name).score(document(text), found), document(text), found)


@every_method
def test_the_same_text_has_the_same_scores_every_time(name: str) -> None:
    found = candidates(document(LONG))
    method = built(name)
    first = method.score(document(LONG), found)
    assert method.score(document(LONG), found) == first
    assert built(name).score(document(LONG), found) == first


@every_method
def test_the_size_of_a_batch_changes_nothing(name: str) -> None:
    text = document(LONG)
    found = candidates(text)
    small_batches, large_batches = (built(name, batch_tokens).score(text, found) for batch_tokens in (64, 4096))
    values = [score.score for score in large_batches]
    assert [s.score for s in small_batches] == pytest.approx(values, rel=1e-4, abs=1e-4 * max(map(abs, values)))
    first, second = (rank(text.text, found, scores) for scores in (small_batches, large_batches))
    assert [keyphrase.text for keyphrase in first] == [keyphrase.text for keyphrase in second]


@every_method
@pytest.mark.parametrize("text", ["A radar map guides trucks.", "radar map", "Ice"])
def test_one_candidate_is_scored_even_where_it_is_all_there_is(name: str, text: str) -> None:
    phrase = "ice" if text == "Ice" else "radar map"
    found = own(document(text), phrase)
    (score,) = built(name).score(document(text), found)
    check([score], document(text), found)
    (keyphrase,) = extractor(name).extract(text, candidates=[phrase]).keyphrases
    assert keyphrase.text.lower() == phrase


@every_method
@pytest.mark.parametrize("text", ["", " \n\t ", "\r\n", "the of and .", small.TEXT])
def test_without_candidates_there_are_no_scores(name: str, text: str) -> None:
    assert score_texts(built(name), [PreparedText(document(text))] * 2) == [ScoredCandidates((), ())] * 2


@every_method
@pytest.mark.parametrize("text", ["", " \n\t ", "\r\n"])
def test_an_empty_text_has_an_empty_result(name: str, text: str) -> None:
    result = extractor(name).extract(text)
    assert result.keyphrases == ()
    assert result.text == text
    assert result.method == name


@every_method
@pytest.mark.parametrize("kind", ODD)
def test_phrases_of_odd_texts_stand_where_they_are_said_to(name: str, kind: str) -> None:
    text = document(ODD[kind])
    found = candidates(text)
    assert found
    check(built(name).score(text, found), text, found)
    for keyphrase in extractor(name).extract(ODD[kind], None).keyphrases:
        for occurrence in keyphrase.occurrences:
            form = squeeze(ODD[kind][occurrence.start : occurrence.end])
            assert form in (keyphrase.text, *keyphrase.variants)


# -- Coverage ---------------------------------------------------------------------------------------------------------


@every_method
def test_coverage_names_the_models_that_read_the_text(name: str) -> None:
    readers = {"backbone": "language_model", "chat": "language_model", "encoder": "encoder"}
    expected = {readers[field] for field in model_fields(name) & readers.keys()}
    if name == "mudy":
        expected.discard("encoder")  # it reads sentences around phrases, not the text
    coverage = extractor(name).extract(LONG).coverage
    assert {model.model for model in coverage.models} == expected
    for model in coverage.models:
        assert 0 < model.share <= 1
        assert all(0 <= span.start < span.end <= len(LONG) for span in model.spans)


# -- Settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "setting", "value", "needed"),
    [
        ("textrank", "damping", 1.0, "0 or more and less than 1"),
        ("mudy", "leaders", 0, "1 or more, or None"),
        ("mudy", "sigma_related", (0.1, 0.0), "above 0"),
        ("mderank", "layer", -3, "-2 or more and at most -1"),
        ("jointgl", "beta", 1.5, "0 or more and at most 1"),
    ],
)
def test_a_setting_outside_its_limits_is_refused_with_what_is_needed(
    name: str, setting: str, value: Any, needed: str
) -> None:
    with pytest.raises(SettingError) as refused:
        built(name, **{setting: value})
    assert str(refused.value) == f"{setting} is {value!r}, but must be {needed}."


@pytest.mark.parametrize(("name", "setting"), [("mudy", "attention"), ("mudy", "rule"), ("empirical", "prompting")])
def test_a_value_that_is_no_choice_is_refused_before_a_model_is_loaded(name: str, setting: str) -> None:
    choices: dict[str, Any] = {setting: "H"}
    with pytest.raises(SettingError, match=f"{setting} is 'H' .*, but must be '"):
        Extractor(name, **choices)


@every_method
def test_an_unknown_setting_raises(name: str) -> None:
    with pytest.raises(SettingError, match="Unknown setting"):
        Extractor(name, no_such_setting=1)
    with pytest.raises(SettingError, match="preset"):
        method_class(name).build(SmallModels(), "no such preset", {})


@every_method
def test_the_defaults_are_valid_settings(name: str) -> None:
    defaults = settings_of(name)
    check_settings(name, defaults)
    assert built(name, **defaults) == built(name)


@every_method
def test_a_method_asks_for_no_other_models_than_its_fields_name(name: str) -> None:
    asked = set()

    class Watched(SmallModels):
        def __getattribute__(self, model: str) -> Any:
            asked.add(model)
            return super().__getattribute__(model)

    method_class(name).build(Watched(), None, {})
    assert asked & set(get_args(ModelField)) == model_fields(name)


# -- What a method says of itself -------------------------------------------------------------------------------------


@every_method
def test_a_method_describes_itself_in_full(name: str) -> None:
    kind: Any = method_class(name)
    fields = [field.name for field in dataclasses.fields(kind)]
    assert kind.title.replace("-", "").replace("+", "plus").lower() == name
    assert kind.citation
    assert kind.summary()
    assert set(kind.needs) == set(fields) & set(get_args(ModelField))
    assert all(descriptions_of(name).values())
    given_settings = [*kind.presets.values(), *kind.speeds.values(), dict.fromkeys(kind.rescorable)]
    assert all(set(settings) <= set(settings_of(name)) for settings in given_settings)


@every_method
@pytest.mark.parametrize("speed", ["exact", "fast"])
def test_a_score_is_made_of_the_parts_that_its_method_names(name: str, speed: str) -> None:
    text, kind = document(), method_class(name)
    found = candidates(text)
    scores = built(name, **kind.speeds.get(speed, {})).score(text, found)
    names = {part.name for part in kind.parts}
    assert all(set(score.parts) <= names for score in scores)
    assert all(part.words for part in kind.parts)


def test_titles_are_those_of_the_papers() -> None:
    titles = [method_class(name).title for name in METHODS]
    assert len(set(titles)) == len(titles)
    assert {"MUDY", "Attention-Seeker", "YAKE"} <= set(titles)
