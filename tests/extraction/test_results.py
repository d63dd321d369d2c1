"""Results as objects: short in a notebook, a sequence of keyphrases, and ready for JSON and pandas."""

import json
import sys
from pathlib import Path

import pytest

from mudy import Coverage, Extractor, Keyphrase, MissingExtra, Result, ScoredOccurrence, TextWarning
from mudy.corpus.rows import InputRow, OutputRow, RowPosition
from mudy.extraction.explanation import Explanation
from mudy.extraction.results import ModelCoverage
from mudy.reading.document import Span

TEXT = (Path(__file__).parents[2] / "examples" / "floodplain.txt").read_text()
EMPTY = Result("", (), Coverage(0, 0, 1), "yake", None)


@pytest.fixture(scope="module")
def result() -> Result:
    return Extractor("yake").extract(TEXT, top_n=5)


def test_the_repr_of_a_result_is_one_short_line_without_the_text(result: Result) -> None:
    shown = repr(result)
    assert len(shown) < 200
    assert "\n" not in shown
    assert "5 keyphrases by yake" in shown
    assert "619 of 619 words read" in shown
    assert all(repr(keyphrase.text) in shown for keyphrase in result[:3])
    assert repr(EMPTY) == "<Result: 0 keyphrases by yake, 0 of 0 words read>"


def test_coverage_says_what_each_model_read_and_never_rounds_up() -> None:
    encoder = ModelCoverage("encoder", 0.3297, (Span(0, 1151),))
    assert str(Coverage(619, 619, 1, (encoder,))) == "619 of 619 words read (encoder: first 32 %)"
    pieces = ModelCoverage("language_model", 0.999, (Span(0, 9), Span(20, 29)))
    assert str(Coverage(619, 619, 1, (pieces,))) == "619 of 619 words read (language model: 99 %)"
    little = ModelCoverage("encoder", 0.004, (Span(0, 9),))
    assert str(Coverage(300, 619, 1, (little,))) == "300 of 619 words read (encoder: less than 1 %)"
    assert encoder.to_dict() == {"model": "encoder", "share": 0.3297, "spans": [{"start": 0, "end": 1151}]}


def test_coverage_is_complete_where_every_model_read_all() -> None:
    whole, part = ModelCoverage("encoder", 1.0, (Span(0, 9),)), ModelCoverage("language_model", 0.5, (Span(0, 5),))
    assert Coverage(9, 9, 1, (whole,)).complete
    assert not Coverage(9, 9, 1, (whole, part)).complete
    assert not Coverage(8, 9, 1, (whole,)).complete
    assert str(Coverage(9, 9, 1, (whole,))) == "9 of 9 words read"


def test_the_reprs_of_keyphrases_and_occurrences_are_short(result: Result) -> None:
    occurrence = ScoredOccurrence(3, 8, -1.23456789, {"p": -1.5, "G": 2.0}, page=2)
    assert repr(occurrence) == "ScoredOccurrence(3, 8, page=2, score=-1.235)"
    long = Keyphrase(1, "flood " * 100, 0.5, (), (occurrence,))
    assert len(repr(long)) < 120
    assert repr(Keyphrase(1, "flood", 0.5, ("floods",), (occurrence,) * 2)) == (
        "Keyphrase(1, 'flood', score=0.5, 2 occurrences)"
    )
    assert len(repr(list(result))) < 500


def test_the_repr_of_an_explanation_is_short(result: Result) -> None:
    explanation = Explanation.of(result)
    assert repr(explanation) == "<Explanation: 619 words, 5 keyphrases by yake>"
    assert len(repr(explanation.methods[0])) < 250


def test_the_repr_of_an_extractor_names_its_method_its_model_and_what_was_set() -> None:
    assert repr(Extractor()) == "Extractor('mudyplus', 'gemma3-270m')"
    assert repr(Extractor("yake", window=2, threads=1, speed="fast")) == (
        "Extractor('yake', 'gemma3-270m', threads=1, speed='fast', window=2)"
    )


def test_a_result_is_a_sequence_of_its_keyphrases(result: Result) -> None:
    assert len(result) == 5
    assert list(result) == list(result.keyphrases)
    assert result[0] is result.keyphrases[0]
    assert result[-1].rank == 5
    assert [keyphrase.rank for keyphrase in result[1:3]] == [2, 3]
    with pytest.raises(IndexError):
        result[5]


def test_a_phrase_is_in_a_result_in_any_casing_or_variant(result: Result) -> None:
    best = result[0]
    assert best.text.upper() in result
    assert best in result
    assert all(variant in result for keyphrase in result for variant in keyphrase.variants)
    assert "submarine" not in result
    assert None not in result


def test_a_row_without_keyphrases_is_a_result_and_no_failure() -> None:
    assert not EMPTY
    written = OutputRow.of(InputRow(RowPosition(0, 0), "a"), EMPTY, 0.1).values
    assert (written["coverage"], written["error"]) == (EMPTY.to_dict()["coverage"], None)


def test_a_result_as_json_is_its_dict_also_where_a_text_holds_half_an_emoji(result: Result) -> None:
    assert json.loads(result.to_json()) == result.to_dict()
    assert result.to_json(indent=2).startswith('{\n  "source"')
    odd = Result(
        "\ud83d", (Keyphrase(1, "\ud83d", 1.0, (), (ScoredOccurrence(0, 1, 1.0),)),), EMPTY.coverage, "yake", None
    )
    odd.to_json().encode()
    assert json.loads(odd.to_json()) == odd.to_dict()
    accented = Result("é", (Keyphrase(1, "é", 1.0, (), (ScoredOccurrence(0, 1, 1.0),)),), EMPTY.coverage, "yake", None)
    assert "é" in accented.to_json()


def test_a_table_has_a_row_for_each_keyphrase_and_the_parts_of_its_score_if_asked_for() -> None:
    pytest.importorskip("pandas")
    places = (ScoredOccurrence(3, 8, -1.2, {"p": -1.5, "G": 2.0}, 2), ScoredOccurrence(20, 25, -1.4, {"p": -1.6}, 3))
    keyphrases = (Keyphrase(1, "flood", -1.2, ("Flood",), places),)
    result = Result("", keyphrases, EMPTY.coverage, "mudy", "m")
    plain = {
        "rank": 1, "text": "flood", "score": -1.2, "variants": ["Flood"], "start": 3, "end": 8, "occurrences": 2,
        "page": 2,
    }  # fmt: skip
    assert result.to_pandas().to_dict("records") == [plain]
    assert result.to_pandas(parts=True).to_dict("records") == [{**plain, "p": -1.5, "G": 2.0}]
    assert list(EMPTY.to_pandas().columns)[:3] == ["rank", "text", "score"]
    assert len(EMPTY.to_pandas()) == 0


def test_a_table_without_pandas_says_what_to_install(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="pip install pandas"):
        result.to_pandas()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_all_libraries_hold_the_same_rows(result: Result, library: str) -> None:
    for parts in (False, True):
        polars, arrow = result.to_polars(parts=parts), result.to_arrow(parts=parts)
        rows = polars.to_dicts() if library == "polars" else arrow.to_pylist()
        assert rows == result.to_pandas(parts=parts).to_dict("records")


def test_an_empty_table_has_the_types_of_a_full_one(result: Result) -> None:
    names = ["rank", "text", "score", "variants", "start", "end", "occurrences"]
    assert EMPTY.to_arrow().schema == result.to_arrow().select(names).schema
    assert EMPTY.to_polars().schema == result.to_polars().select(names).schema


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_table_without_its_library_says_what_to_install(
    result: Result, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=f"pip install {library}"):
        result.to_polars() if library == "polars" else result.to_arrow()


def test_a_log_is_warned_of_and_has_a_result() -> None:
    log = "".join(
        f"2026-03-0{n % 9 + 1} 10:00:{n:02} backup job of volume {n} failed on server alpha\n" for n in range(40)
    )
    with pytest.warns(TextWarning, match="looks like a log"):
        result = Extractor("yake").extract(log)
    assert result.keyphrases
    assert any("looks like a log" in message for message in result.warnings)
