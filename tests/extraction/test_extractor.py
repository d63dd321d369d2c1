"""The one door: options, order, odd texts, and the same answer every time."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from mudy import CandidateTooLong, Extractor, InputError, Result, SettingError
from mudy.methods.mudy import Mudy
from mudy.reading.document import squeeze
from tests import small
from tests.taggers import TEXTS, english

SETTINGS: dict[str, Any] = {"mixture": False, "unit": 6.0, "sam_layers": (1,), "k_attn": 3}


def extractor(batch_tokens: int = 512, **options: Any) -> Extractor:
    """An extractor on a small random model, made without a cache or a hub."""
    made = Extractor(**{"method": "mudy", "language": english(), **options})
    made.__dict__["scorer"] = Mudy(small.decoder("gemma3", batch_tokens), **SETTINGS)
    return made


def check(result: Result) -> None:
    """What holds for every result."""
    assert [k.rank for k in result.keyphrases] == list(range(1, len(result.keyphrases) + 1))
    assert [k.score for k in result.keyphrases] == sorted((k.score for k in result.keyphrases), reverse=True)
    for keyphrase in result.keyphrases:
        forms = {squeeze(result.text[o.start : o.end]) for o in keyphrase.occurrences}
        assert forms == {keyphrase.text, *keyphrase.variants}
        assert keyphrase.score == keyphrase.occurrences[0].score


@pytest.mark.filterwarnings("ignore::mudy.LanguageWarning")
@settings(max_examples=60)
@given(TEXTS)
def test_any_text_gives_phrases_that_stand_where_they_are_said_to(text: str) -> None:
    result = extractor().extract(text, None)
    assert result.text == text
    check(result)


@settings(max_examples=15)
@given(TEXTS)
def test_the_ranking_depends_on_neither_the_batch_size_nor_the_company(text: str) -> None:
    alone = extractor(batch_tokens=1).extract(text, None)
    _, among = extractor(batch_tokens=4096).extract_many([small.TEXT, text], None)
    assert [k.text for k in alone.keyphrases] == [k.text for k in among.keyphrases]


@pytest.mark.parametrize("text", ["", " \n\t ", "...", "!?", "😀", "the of and", "\x00", "\ud800", "42", "run"])
def test_a_text_without_candidates_gives_an_empty_result(text: str) -> None:
    result = Extractor("mudy", language=english()).extract(text)  # no model is loaded for it
    assert result.keyphrases == ()
    assert result.as_tuples() == []
    assert result.coverage.sections == 1


def test_several_texts_come_back_in_order_with_empty_ones_in_their_place() -> None:
    results = list(extractor().extract_many([small.TEXT, "", "A radar map."], 1))
    assert [len(r.keyphrases) for r in results] == [1, 0, 1]
    assert results[0] == extractor().extract(small.TEXT, 1)


def test_many_texts_are_read_as_they_are_asked_for_and_short_ones_some_ahead() -> None:
    read = []

    def texts(long: int) -> Iterator[str]:
        for number in range(200):
            read.append(number)
            yield " ".join([small.TEXT] * long)

    results = extractor().extract_many(texts(50), 1)
    assert read == []
    next(results)
    assert read == [0]  # a long text is computed alone
    read.clear()
    next(extractor().extract_many(texts(1), 1))
    assert 10 < len(read) <= 64
    read.clear()
    next(Extractor("yake", language=english()).extract_many(texts(1), 1))
    assert read == [0]  # nothing is gained by company


def test_texts_computed_together_score_as_each_alone() -> None:
    texts = [small.TEXT, "A radar map.", "", "The old ferry crosses river ice. " * 3]
    for together, text in zip(extractor().extract_many(texts, None), texts, strict=True):
        alone = extractor().extract(text, None)
        assert [k.text for k in together.keyphrases] == [k.text for k in alone.keyphrases]
        for a, b in zip(together.keyphrases, alone.keyphrases, strict=True):
            assert a.score == pytest.approx(b.score, abs=1e-4)
            assert a.occurrences[0].parts == pytest.approx(b.occurrences[0].parts, abs=1e-4)


def test_a_text_that_fails_costs_no_other_its_result() -> None:
    long = "river " * 600
    for bad, lists in ((5, None), (long, [None, [long], None])):  # no text at all; a candidate without end
        results = extractor().extract_many([small.TEXT, bad, small.TEXT], candidates=lists)  # type: ignore[list-item]
        assert next(results).keyphrases
        with pytest.raises(InputError):
            next(results)


def test_own_candidates_are_found_in_any_case_and_missing_ones_are_named() -> None:
    result = extractor().extract(small.TEXT, candidates=["RADAR MAP", "ice", "submarine"])
    assert {k.text for k in result.keyphrases} == {"radar map", "ice"}
    assert result.not_found == ("submarine",)
    assert result.to_dict()["not_found"] == ["submarine"]


def test_each_text_may_have_its_own_candidates() -> None:
    many = extractor().extract_many([small.TEXT] * 3, candidates=[["ferry"], None, ["ice road"]])
    first, second, third = ([k.text for k in r.keyphrases] for r in many)
    assert (first, third) == (["ferry"], ["ice road"])
    assert len(second) > 3
    shared = extractor().extract_many([small.TEXT] * 2, candidates=["ferry"])
    assert [[k.text for k in r.keyphrases] for r in shared] == [["ferry"], ["ferry"]]


def test_no_candidates_give_no_keyphrases_for_one_text_and_for_many() -> None:
    assert extractor().extract(small.TEXT, candidates=[]).keyphrases == ()
    kinds: list[Any] = [[], (), iter([]), [[], []]]
    for none in kinds:
        assert [r.keyphrases for r in extractor().extract_many([small.TEXT] * 2, candidates=none)] == [(), ()]


def test_a_missing_value_among_texts_is_named_by_its_position() -> None:
    column: Any = [small.TEXT, float("nan")]
    with pytest.raises(InputError, match=r"texts\[1\] is nan"):
        list(extractor().extract_many(column))


def test_fewer_lists_of_candidates_than_texts_are_refused() -> None:
    results = extractor().extract_many([small.TEXT] * 2, candidates=[["ferry"]])
    assert next(results).keyphrases
    with pytest.raises(InputError, match="only 1 lists"):
        next(results)


def test_a_candidate_too_long_for_the_prompt_is_refused() -> None:
    text = "river " * 600
    with pytest.raises(CandidateTooLong, match="shorten"):
        extractor().extract(text, candidates=[text])


def test_stop_phrases_are_never_returned() -> None:
    everything = {k.text for k in extractor().extract(small.TEXT, None).keyphrases}
    fewer = {k.text for k in extractor().extract(small.TEXT, None, stop_phrases=["RADAR MAP"]).keyphrases}
    assert everything - fewer == {"radar map"}


def test_a_limit_of_words_is_reported_and_keeps_offsets() -> None:
    result = extractor(max_words=10).extract(small.TEXT)
    assert small.TEXT.startswith(result.text)
    assert result.coverage.words_read == 10
    assert result.coverage.words == len(small.TEXT.split())
    assert 0 < result.coverage.share < 1
    check(result)


def test_a_long_text_is_read_whole_in_sections() -> None:
    made = extractor()
    made.__dict__["scorer"] = Mudy(small.decoder("gemma3"), **SETTINGS, section_tokens=64)
    result = made.extract(" ".join([small.TEXT] * 8), None)
    assert result.coverage.share == 1.0
    assert result.coverage.sections > 3
    places = {o.start for k in result.keyphrases for o in k.occurrences if k.text == "radar map"}
    assert len(places) == 16
    check(result)


def test_promptranks_protocol_lower_cases_and_cuts() -> None:
    result = extractor(protocol="promptrank").extract("The Radar Map. " * 300)
    assert result.text == " ".join(["the radar map."] * 300).rsplit(" ", 900 - 512)[0]
    assert result.coverage.words == 900
    assert result.keyphrases[0].text == "radar map"


def test_results_are_ready_for_json() -> None:
    found = extractor().extract(small.TEXT, 2, source="a.txt").to_dict()
    assert list(found) == ["source", "method", "model", "language", "read_by", "coverage", "keyphrases"]
    assert list(found["keyphrases"][0]) == ["rank", "text", "score", "variants", "occurrences"]
    occurrence = found["keyphrases"][0]["occurrences"][0]
    assert {"start", "end", "score", "p", "G", "L", "AS", "lambda", "m"} == set(occurrence)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "mudi"}, "Did you mean 'mudy'"),
        ({"lamda": 1.0}, "Did you mean 'lambda_'"),
        ({"method": "promptrank", "kappa": 1.0}, "setting of promptrank"),
        ({"protocol": "other"}, "promptrank"),
        ({"max_words": 0}, "max_words"),
    ],
)
def test_unknown_names_and_values_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Extractor(**{"method": "mudy", **options})


@pytest.mark.parametrize("options", [{"device": "abacus"}, {"dtype": "int3"}, {"threads": 0}, {"batch_tokens": -1}])
def test_a_machine_that_is_not_there_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=next(iter(options))):
        _ = Extractor(**{"method": "mudy", **options}).scorer


def test_a_layer_that_is_not_there_is_refused() -> None:
    made = extractor()
    made.__dict__["scorer"] = Mudy(small.decoder("gemma3"), mixture=False, sam_layers=(99,))
    with pytest.raises(SettingError, match="layers 0 to 3"):
        made.extract(small.TEXT)


@pytest.mark.parametrize("text", [None, 5, b"bytes", ["a", "b"]])
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(InputError, match="must be a str"):
        extractor().extract(text)


def test_one_text_given_as_many_is_refused() -> None:
    with pytest.raises(InputError, match="list of texts"):
        next(extractor().extract_many("one text"))


def test_importing_the_package_is_light() -> None:
    heavy = "{'torch', 'spacy', 'transformers', 'nltk', 'numpy'}"
    code = f"import sys, mudy; mudy.Extractor(); print(*({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_an_extractor_that_was_used_can_be_pickled_and_loads_again_on_the_other_side() -> None:
    text = "Beavers slow the river. The river floods the meadow, and beavers dam the river."
    used = Extractor("yake", language="en", max_words=50, report=lambda *_: None)
    expected = used.extract(text)
    assert used.loaded == {"tagger"}
    code = (
        "import pickle, sys; e = pickle.load(sys.stdin.buffer); print(e, e.loaded, e.extract(sys.argv[1]).as_tuples())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, text], input=pickle.dumps(used), capture_output=True, check=True
    )
    assert found.stdout.decode().strip() == f"{used} set() {expected.as_tuples()}"


def test_a_pickle_keeps_what_was_asked_for_and_leaves_models_behind() -> None:
    used = extractor(batch_tokens=64, threads=1)
    used.extract("The river Esk floods the meadow.")
    again = pickle.loads(pickle.dumps(used))
    assert again.arguments() | {"language": None} == used.arguments() | {"language": None}
    assert "scorer" not in vars(again)
    assert used.using("mudy", k_attn=2).loader.in_memory is used.loader.in_memory  # a copy in this process shares them


def test_an_acronym_is_merged_with_what_it_stands_for_unless_merging_is_off() -> None:
    made = Extractor("yake", language=english())
    text = "The radar image (RI) shows ice. An RI is small, and the RI is cheap."
    (image,) = [k for k in made.extract(text, None) if k.text == "radar image"]
    assert image.variants == ("RI",)
    assert {text[o.start : o.end] for o in image.occurrences} == {"radar image", "RI"}
    assert {"RI", "radar image"} <= {k.text for k in made.extract(text, None, merge=False)}
