"""What was read of a text."""

from dataclasses import replace

import pytest

from mudy.extraction.results import Coverage, merged_spans
from mudy.methods.method import ScoredCandidates
from mudy.reading.document import Span
from tests.tagged import tagged


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], []),
        ([(0, 3)], [(0, 3)]),
        ([(4, 8), (0, 3)], [(0, 8)]),  # a space between them
        ([(0, 8), (2, 3)], [(0, 8)]),
        ([(0, 3), (9, 12)], [(0, 3), (9, 12)]),
        ([(0, 13)], [(0, 15)]),  # only marks follow
        ([(4, 8)], [(4, 8)]),
    ],
)
def test_spans_with_nothing_to_read_between_them_are_merged(
    spans: list[tuple[int, int]], expected: list[tuple[int, int]]
) -> None:
    assert merged_spans("ice road maps .", [Span(*span) for span in spans]) == tuple(Span(*span) for span in expected)


def test_a_models_share_is_that_of_the_whole_text_also_where_words_were_omitted() -> None:
    document = tagged("ice road maps help")
    scored = ScoredCandidates((), (), read={"encoder": [Span(0, 8)]})
    (half,) = Coverage.of(document, scored).models
    assert (half.share, half.spans) == (8 / 18, (Span(0, 8),))
    (quarter,) = Coverage.of(replace(document, omitted_words=4), scored).models
    assert quarter.share == 4 / 18
