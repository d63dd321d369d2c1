"""Words by the segmenters of the extras, and without them."""

import json
import warnings
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path

import pytest

from mudy import Extractor, LanguageWarning
from mudy.reading import untagged
from mudy.reading.candidates import nested_candidates
from mudy.reading.document import Document
from mudy.reading.languages import SEGMENTERS
from mudy.reading.untagged import UntaggedReader, segmenter_of

OWN = [json.loads(line) for line in Path("experiments/languages/texts.jsonl").read_text(encoding="utf-8").splitlines()]
CASES = {  # text, phrases that must be found, and phrases that must not
    "zh": (
        "我们用深度学习研究医学影像。医生认为这个方法非常可靠。",
        {"深度学习", "医学影像"},
        {"我们", "认为", "非常"},
    ),
    "ja": ("東京大学の研究者は機械学習で地震を予測した。", {"東京大学", "機械学習", "地震"}, {"予測した", "の"}),
    "th": ("เกษตรกรปลูกข้าวหอมมะลิในภาคอีสาน", {"เกษตรกร"}, {"ใน"}),
    "ko": ("연구진은 기계 학습으로 지진을 예측하였다.", {"기계 학습", "지진"}, {"예측하였다", "지진을"}),
}


def read(code: str, text: str) -> Document:
    """By the segmenter, where its extra is installed; else the test is skipped."""
    try:
        version(SEGMENTERS[code])
    except PackageNotFoundError:
        pytest.skip(f"mudy[{code}] is not installed")
    return UntaggedReader(code).document(text)


@pytest.mark.parametrize("code", SEGMENTERS)
def test_the_segmenter_of_an_extra_is_used_and_named(code: str) -> None:
    document = read(code, CASES[code][0])
    assert document.read_by.startswith(SEGMENTERS[code])
    segmenter = segmenter_of(code)
    assert document.tagged == segmenter.tags


@pytest.mark.parametrize("code", SEGMENTERS)
def test_phrases_are_made_of_the_words_of_the_segmenter(code: str) -> None:
    text, wanted, unwanted = CASES[code]
    found = {candidate.phrase for candidate in nested_candidates(read(code, text))}
    assert wanted <= found
    assert not unwanted & found


@pytest.mark.parametrize("row", [row for row in OWN if row["language"] in SEGMENTERS], ids=lambda row: row["language"])
def test_words_of_a_segmenter_stand_in_order_where_they_say(row: dict[str, str]) -> None:
    document = read(row["language"], row["text"])
    spans = [word.span for word in document.words]
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(span.of(row["text"]).strip() for span in spans)


@pytest.mark.parametrize("row", [row for row in OWN if row["language"] in SEGMENTERS], ids=lambda row: row["language"])
def test_a_text_read_by_a_segmenter_names_its_subjects(row: dict[str, str]) -> None:
    document = read(row["language"], row["text"])
    result = Extractor("yake").extract(document, None, candidates="nested")
    shown = {form for keyphrase in result for form in (keyphrase.text, *keyphrase.variants)}
    assert any(subject in shown for subject in row["subjects"]), shown


@pytest.mark.parametrize("code", SEGMENTERS)
def test_a_missing_segmenter_is_warned_of_once_per_process_and_named_in_every_result(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untagged, "_version", lambda _: None)
    monkeypatch.setattr("mudy.extraction.extractor._GIVEN", set())
    text = next(row["text"] for row in OWN if row["language"] == code)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [Extractor("yake").extract(text), *Extractor("yake").extract_many([text, text])]
    assert [warning.category for warning in caught] == [LanguageWarning]
    assert f"mudy[{code}]" in str(caught[0].message)
    assert {result.warnings for result in results} == {(str(caught[0].message),)}
