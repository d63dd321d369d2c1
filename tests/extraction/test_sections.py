"""The sections of a document, and a list for each."""

from itertools import pairwise

import pytest

from mudy import Extractor, Result
from mudy.extraction.concepts import LabelVectors
from mudy.extraction.sections import SHORT, section_lists, sections_of
from mudy.methods.method import ScoredCandidates, same_at_each
from mudy.methods.mudyplus import MudyPlus
from mudy.reading.candidates.vocabularies import Vocabulary
from mudy.reading.document import Document, squeeze
from tests.taggers import english

PROSE = "The ferry crosses the river in spring, and the captain waits for a train. "  # 14 words


def document_of(text: str) -> Document:
    return Extractor("yake", language=english()).read(text)


def headings_of(text: str) -> list[str | None]:
    sections = sections_of(document_of(text))
    assert (sections[0].span.start, sections[-1].span.end) == (0, len(text))
    assert all(before.span.end == after.span.start for before, after in pairwise(sections))
    return [section.heading for section in sections]


def test_each_heading_begins_a_section_and_the_opening_is_under_the_title() -> None:
    text = f"# Rivers\n\n{PROSE * 9}\n\n## Ice\n\n{PROSE * 9}\n\n## Fish and\tbirds\n\n{PROSE * 9}\n"
    assert headings_of(text) == ["Rivers", "Ice", "Fish and birds"]


def test_short_sections_join_others() -> None:
    long, short = PROSE * 9, PROSE
    opening = f"# Rivers\n\n{short}\n\n## Ice\n\n{long}\n\n## Fish\n\n{long}\n"
    assert headings_of(opening) == ["Ice", "Fish"]
    before = f"# Rivers\n\n{long}\n\n## Ice\n\n{long}\n\n## Fish\n\n{short}\n\n## Birds\n\n{long}\n\n## End\n\n{short}"
    assert headings_of(before) == ["Rivers", "Ice", "Birds"]
    parts = f"# Rivers\n\n{long}\n\n## Ice\n\n### Drift\n\n{long}\n\n### Pack\n\n{long}\n\n## Fish\n\n{long}"
    assert headings_of(parts) == ["Rivers", "Ice", "Pack", "Fish"]


def test_a_long_document_is_cut_at_its_higher_headings() -> None:
    chapter = "".join(f"### Part {number}\n\n{PROSE * 9}\n\n" for number in range(10))
    text = "# Rivers\n\n" + "".join(f"## Chapter {letter}\n\n{PROSE * 9}\n\n{chapter}" for letter in "ABCD")
    assert headings_of(text) == [f"Chapter {letter}" for letter in "ABCD"]


def test_a_document_without_headings_is_cut_into_even_parts_of_whole_sentences() -> None:
    text = PROSE * 170  # 2,380 words
    spans = [section.span for section in sections_of(document_of(text))]
    assert headings_of(text) == [None, None, None]
    assert all(span.of(text).startswith("The ferry") for span in spans)
    assert [round(len(span.of(text).split()), -2) for span in spans] == [800, 800, 800]


@pytest.mark.parametrize("text", ["", " \n", "Ice.", "# Ice", "# Ice\n\n## Fish", PROSE, f"# Ice\n\n{PROSE}\n\n# Fish"])
def test_a_short_text_is_one_section(text: str) -> None:
    assert len(headings_of(text)) == 1 if text else sections_of(document_of(text)) == []


def test_scripts_without_spaces_are_cut_too() -> None:
    text = "渡船在春天过河。" * 400
    document = Extractor("yake", language="zh").read(text)
    assert len(sections_of(document)) > 1


# -- Their keyphrases -------------------------------------------------------------------------------------------------

REPORT = (
    f"# Rivers\n\n{'The ferry crosses the river. ' * 25}\n\n"
    f"## Ice\n\n{'The ice road closes near the ferry. ' * 18}\n\n"
    f"## Stone\n\n{'A stone wall hides the ferry. ' * 20}\n"
)


def no_vectors(vocabulary: Vocabulary) -> LabelVectors:
    raise AssertionError(vocabulary)


def result_of(text: str, method: str = "yake", **options: object) -> Result:
    return Extractor(method, language=english()).extract(text, per_section=True, **options)  # type: ignore[arg-type]


def test_what_a_document_names_everywhere_does_not_lead_each_section() -> None:
    """The odds of a phrase are multiplied by the share of its occurrences in the section."""
    prepared = Extractor("yake", language=english()).prepare(REPORT, candidates=["ferry", "ice road", "stone wall"])
    scored = ScoredCandidates.of(prepared.candidates, same_at_each(prepared.candidates, [0.6, 0.5, 0.5]))
    lists = section_lists(prepared, scored, MudyPlus, no_vectors)  # the scores are probabilities
    assert [[k.text for k in section.keyphrases] for section in lists] == [
        ["ferry"],
        ["ice road", "ferry"],
        ["stone wall", "ferry"],
    ]
    share = 18 / 63
    assert lists[1].keyphrases[0].score == 0.5
    assert lists[1].keyphrases[1].score == pytest.approx(1.5 * share / (1 + 1.5 * share))


def test_the_occurrences_of_a_section_are_in_it_and_those_of_all_sections_are_those_of_the_text() -> None:
    result = result_of(REPORT, top_n=None)
    places = set()
    for section in result.sections:
        assert [k.rank for k in section.keyphrases] == list(range(1, len(section.keyphrases) + 1))
        assert [k.score for k in section.keyphrases] == sorted((k.score for k in section.keyphrases), reverse=True)
        for keyphrase in section.keyphrases:
            forms = {squeeze(REPORT[o.start : o.end]) for o in keyphrase.occurrences}
            assert forms == {keyphrase.text, *keyphrase.variants}
            assert all(section.start <= o.start < section.end for o in keyphrase.occurrences)
            places |= {(o.start, o.end) for o in keyphrase.occurrences}
    assert places <= {(o.start, o.end) for keyphrase in result for o in keyphrase.occurrences}


def test_what_occurs_in_one_section_alone_keeps_its_score() -> None:
    result = result_of(REPORT, top_n=None)
    scores = {keyphrase.text: keyphrase.score for keyphrase in result}
    _, ice, _ = result.sections
    alone = {keyphrase.text: keyphrase.score for keyphrase in ice.keyphrases}
    assert alone["ice road"] == scores["ice road"]
    assert alone["ferry"] < scores["ferry"]
    (ferry,) = [keyphrase for keyphrase in ice.keyphrases if keyphrase.text == "ferry"]
    assert ferry.occurrences[0].parts["section"] < 0


def test_the_list_of_the_text_is_the_same_with_and_without_sections() -> None:
    with_sections = result_of(REPORT)
    without = Extractor("yake", language=english()).extract(REPORT)
    assert with_sections.keyphrases == without.keyphrases
    assert without.sections == ()
    assert "sections" not in without.to_dict()


def test_sections_are_part_of_the_json_and_have_pages() -> None:
    result = result_of(REPORT, pages=[0, 800])
    (first, *_, last) = result.to_dict()["sections"]
    assert list(first) == ["heading", "start", "end", "keyphrases"]
    assert (first["heading"], first["start"], last["end"]) == ("Rivers", 0, len(REPORT))
    assert {o["page"] for k in first["keyphrases"] for o in k["occurrences"]} == {1}
    assert "Rivers" in repr(result.sections[0])


def test_a_text_without_words_has_no_phrases_in_its_sections() -> None:
    assert result_of("").sections == ()
    assert all(section.keyphrases == () for section in result_of("...").sections)


def test_an_acronym_counts_for_its_long_form_in_every_section() -> None:
    text = (
        f"# Ships\n\n{'The ferry crosses the river. ' * 25}\nThe radar image (RI) is new.\n\n"
        f"## Ice\n\n{'The ice road closes near the RI. ' * 18}\n"
    )
    assert SHORT <= 18 * 7
    ships, ice = result_of(text, top_n=None).sections
    (image,) = [keyphrase for keyphrase in ships.keyphrases if "RI" in keyphrase.variants]
    assert image.occurrences[0].parts["section"] < -1
    assert "RI" in [keyphrase.text for keyphrase in ice.keyphrases]
