"""The list beside a text: parts, places, and ranks under other methods."""

from dataclasses import replace

from mudy.extraction.explanation import Explanation
from mudy.extraction.render.text_pieces import change, number, ranked
from tests import explained

ICE = "River ice is thin. The ice road closes in spring. Old maps fail."


def test_a_list_gives_parts_places_and_the_rank_under_the_other_method() -> None:
    first = {"ice road": -1.0, "River ice": -2.0, "maps": -3.0}
    second = {"maps": -0.001, "ice road": -2.0, "spring": -3.0}
    found = explained.explanation(ICE, first, second, gold=["maps", "absent"])
    one, other = ranked(found, 0, 2), ranked(found, 1, None)
    assert one.head == ("#", "Keyphrase", "Score", "p", "G", "Count", "promptrank")
    assert [row.cells for row in one.rows] == [
        ("1", "ice road", "-1.000", "-2.00", "1.50", "1", "2 ▲1"),
        ("2", "River ice", "-2.000", "-4.00", "1.50", "1", "–"),
    ]
    assert (one.left, other.left) == (1, 0)
    assert [(row.cells[1], row.cells[-1], row.gold) for row in other.rows] == [
        ("maps", "3 ▲2", True),
        ("ice road", "1 ▼1", False),
        ("spring", "–", False),
    ]


def test_a_phrase_is_known_under_another_method_by_its_places_whatever_its_form() -> None:
    text = "Maps help. Old maps fail."
    merged = explained.result(text, {"maps": -1.0, "Maps": -2.0})
    best, rest = merged.keyphrases
    one = replace(
        merged, keyphrases=(replace(best, variants=("Maps",), occurrences=best.occurrences + rest.occurrences),)
    )
    other = explained.result(text, {"Old maps": -1.0, "Maps": -2.0}, "yake")
    both = Explanation(text, tuple(Explanation.of(result).methods[0] for result in (one, other)))
    assert ranked(both, 0, None).rows[0].cells[-1] == "2 ▲1"


def test_changes_and_numbers_are_short() -> None:
    assert [change(3, before) for before in (None, 3, 12, 1)] == ["–", "3 =", "12 ▲9", "1 ▼2"]
    assert [number(value) for value in (-0.75228, 0.0, 12345.6, 0.00001)] == ["-0.752", "0.000", "1.2e+04", "1.0e-05"]
