"""An explanation in a terminal: nothing in a text acts on it."""

import io
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from rich.console import Console

from mudy import Extractor
from mudy.extraction.explanation import Explanation
from mudy.extraction.render import terminal
from mudy.extraction.render.text_pieces import sanitized
from mudy.extraction.results import Coverage
from tests import explained
from tests.taggers import ODD, english

ICE = "River ice is thin. The ice road closes in spring. Old maps fail."


def drawn(found: Explanation, width: int = 100, top_n: int | None = 15, whole: bool = False, **console: Any) -> str:
    screen = Console(file=io.StringIO(), width=width, **console)
    with screen.capture() as capture:
        screen.print(terminal.drawing(found, screen, top_n, whole))
    return capture.get()


COLOURS: dict[str, Any] = {"force_terminal": True, "color_system": "256", "no_color": False}


def test_in_colour_every_place_has_the_ground_of_its_heat_and_gold_is_bold_italic() -> None:
    found = explained.explanation(ICE, {"River ice": -1.0, "ice road": -2.0, "maps": -3.0}, gold=["River ice"])
    written = drawn(found, top_n=2, **COLOURS)
    hot, middle = (terminal.COLOURS[i] for i in (7, 4))
    assert f"\x1b[1;3;38;5;16;48;5;{hot}mRiver ice\x1b[0m" in written
    assert f"\x1b[38;5;16;48;5;{middle}mice road\x1b[0m" in written
    assert "Old maps fail." in written  # beyond the list
    assert "1 more" in written


def test_without_colour_phrases_of_the_list_have_brackets_and_ranks_and_gold_has_stars() -> None:
    found = explained.explanation(ICE, {"River ice": -1.0, "The ice road": -2.0, "maps": -3.0}, gold=["ice"])
    written = drawn(found, top_n=2)
    assert "\x1b" not in written
    assert "[River *ice*]¹ is thin. [The *ice* road]² closes in spring. Old maps fail." in written
    assert "\n1  River ice" in written
    assert "[phrase]⁷ is number 7" in written


def test_no_color_leaves_bold_italics_and_uses_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    found = explained.explanation(ICE, {"River ice": -1.0}, gold=["maps"])
    written = drawn(found, force_terminal=True, color_system="truecolor")
    assert "[River ice]¹ is thin." in written
    assert "Old \x1b[1;3mmaps\x1b[0m fail." in written
    assert "48;5" not in written


def test_methods_stand_one_after_another() -> None:
    found = explained.explanation(ICE, {"River ice": -1.0}, {"ice road": -1.0})
    heads = [line.split()[0] for line in drawn(found, 170).splitlines() if " occurrences" in line]
    assert heads == [method.result.method for method in found.methods]


def test_nothing_in_a_text_acts_on_the_terminal() -> None:
    evil = "Radar\x1b[31m maps\x07 and \u202eice\u202c\x9b1m roads.\r\nA\ttab\rhere, a\u00a0gap, 👩‍👩‍👧 and \ud800."
    found = explained.explanation(
        evil, {"Radar\x1b[31m maps": -1.0, "ice": -2.0}, gold=["maps\x07"], source="a\x1b[2J\nb"
    )
    written = drawn(found)
    assert not set(written) & set("\x1b\x07\x9b\u202e\u202c\r\ud800")
    assert "[Radar\ufffd[31m *maps*]¹*\ufffd* and \ufffd[ice]²\ufffd\ufffd1m roads." in written
    assert "a\ufffd[2J b" in written
    assert "👩‍👩‍👧" in written
    assert "A       tab\nhere, a gap" in written
    loud = drawn(found, **COLOURS)
    assert not re.sub(r"\x1b\[[\d;]*m", "", loud).count("\x1b")


@given(ODD)
def test_a_plain_text_has_as_many_characters_and_none_that_acts(text: str) -> None:
    found = sanitized(text)
    assert len(found) == len(text)
    assert all(c.isprintable() or c in "\n\t\u200c\u200d" for c in found)
    assert sanitized(found) == found


def test_of_a_long_text_passages_are_shown_unless_the_whole_is_asked_for() -> None:
    text = " ".join(f"Sentence {i} is dull." for i in range(400)) + " Here radar shines. " + "It ends. " * 5
    found = explained.explanation(text, {"radar": -1.0})
    written = drawn(found)
    assert "...\nHere [radar]¹ shines.\n...\n" in written
    assert "dull" not in written
    assert "--whole" in written
    assert drawn(found, whole=True).count("dull") == 400


def test_what_was_not_read_and_gold_that_is_absent_are_said() -> None:
    found = explained.explanation(ICE, {"River ice": -1.0}, gold=["glacier"])
    half = replace(found.methods[0].result, coverage=Coverage(5, 12, 1))
    written = drawn(replace(found, methods=(replace(found.methods[0], result=half),)))
    assert "mudy: 5 of 12 words read." in written
    assert "Not in the text: glacier." in written


def test_an_explanation_without_phrases_can_be_drawn() -> None:
    empty = Extractor("yake", language=english()).explain("")
    for width in (40, 100, 200):
        assert "0 phrases, 0 occurrences" in drawn(empty, width)
    assert "<mark" not in empty.to_html()
    assert "<mark" not in empty._repr_html_()


def test_importing_the_package_imports_no_picture() -> None:
    code = "import sys, mudy; sys.exit(any(n.startswith(('mudy.extraction.render', 'rich')) for n in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent).returncode == 0


# -- Narrow terminals -------------------------------------------------------------------------------------------------

PARTS = {f"{kind}_{what}": spread for kind, what, spread in [("own", "frequency", 3.0), ("plain", "similarity", 0.1)]}
PARTS |= {"base": 0.0, "generic": 2.0, **{f"further_evidence_{i}": 1 + i / 100 for i in range(14)}}


def with_parts(names: tuple[str, ...] = ("mudy",)) -> Explanation:
    """Scores of many parts, some of which tell the phrases apart more than others."""
    found = explained.explanation(
        ICE, *[{"River ice": -1.0, "The ice road": -2.0, "maps": -3.0}] * len(names), names=names
    )
    methods = []
    for method in found.methods:
        phrases = tuple(
            replace(
                p, occurrences=tuple(replace(o, parts={n: s * p.rank for n, s in PARTS.items()}) for o in p.occurrences)
            )
            for p in method.result.keyphrases
        )
        methods.append(replace(method, result=replace(method.result, keyphrases=phrases)))
    return replace(found, methods=tuple(methods))


@pytest.mark.parametrize("width", [60, 80, 120, 151, 152, 200, 300])
@pytest.mark.parametrize("names", [("mudy",), ("mudy", "promptrank")])
def test_no_number_of_the_list_is_cut_at_any_width(width: int, names: tuple[str, ...]) -> None:
    written = drawn(with_parts(names), width)
    assert "…" not in written
    assert max(map(len, written.splitlines())) <= width
    assert written.count("-1.000") == written.count("-3.000") == len(names)


def test_a_narrow_list_shows_the_most_telling_parts_and_names_the_others() -> None:
    written = drawn(with_parts(), 80)
    head, first = (next(line for line in written.splitlines() if start in line) for start in ("Keyphrase", " -1.000"))
    assert head.split()[:5] == ["#", "Keyphrase", "Score", "frequency", "generic"]
    assert first.split()[:6] == ["1", "River", "ice", "-1.000", "3.00", "2.00"]
    assert " ".join(written.split()).count("plain_similarity, base; --json and --html show them.") == 1


def test_a_list_with_room_for_all_parts_hides_none() -> None:
    assert "No room" not in drawn(with_parts(), 400)
