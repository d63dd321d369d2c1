"""Evidence that is kept between fits."""

from mudy._support.storage import dump_json
from mudy.evaluation.evidence_cache import _read


def test_a_text_with_a_line_separator_is_found_again() -> None:
    row = {"hash": "1", "text": "flood\u2028wall"}
    assert _read(dump_json(row) + "\n" + '{"hash": "2", "te') == {"1": row}
