"""What pictures of an explanation show, and that no text can be more in them than text."""

import io
import json
import re
import subprocess
import sys
from base64 import b64decode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from mudy import Extractor, MissingExtra
from mudy.explanation import Explanation
from mudy.render import colours, figures, html_report, notebook, png, terminal, text_layout
from mudy.render.excerpts import GAP, beginning, passages, shown
from mudy.render.ranking_table import change, number, ranked
from mudy.render.sanitize import sanitized
from mudy.render.text_pieces import Piece, Place, coloured_pieces, pieces, places, within
from mudy.results import Coverage
from mudy.text import Span
from tests import explained, small
from tests.taggers import ODD, TEXTS, english

ICE = "River ice is thin. The ice road closes in spring. Old maps fail."


# -- Pieces -----------------------------------------------------------------------------------------------------------


def test_a_text_is_cut_where_phrases_begin_and_end() -> None:
    found = explained.explanation(ICE, {"River ice": -1.0, "ice road": -2.0}, gold=["The ice"])
    cut = coloured_pieces(found, found.methods[0].result)
    shown = [(p.span.of(ICE), p.place and p.place.phrase.text, p.gold) for p in cut]
    assert shown == [
        ("River ice", "River ice", False),
        (" is thin. ", None, False),
        ("The ", None, True),
        ("ice", "ice road", True),
        (" road", "ice road", False),
        (" closes in spring. Old maps fail.", None, False),
    ]


def test_of_phrases_that_overlap_the_hottest_is_on_top_and_what_looks_alike_is_one_piece() -> None:
    text = "a very large neural language model"
    scores = {"very large neural language model": -3.0, "large neural": -1.0, "neural language": -2.0}
    cut = pieces(len(text), places(explained.result(text, scores)))
    assert [(p.span.of(text), p.place and p.place.phrase.rank) for p in cut] == [
        ("a ", None),
        ("very ", 3),
        ("large neural", 1),
        (" language", 2),
        (" model", 3),
    ]
    hot = {"very large neural language model": -1.0, "large neural": -2.0, "neural language": -3.0}
    whole = pieces(len(text), places(explained.result(text, hot)))
    assert [p.span.of(text) for p in whole] == ["a ", "very large neural language model"]


SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(0, 9)), max_size=12)


@given(SPANS, SPANS)
def test_pieces_agree_with_a_loop_over_every_character(found: list[tuple[int, int, int]], gold: Any) -> None:
    length = 45
    marks = [place(start, start + width, rank, heat / 9) for rank, (start, width, heat) in enumerate(found, 1)]
    right = [Span(start, start + width) for start, width, _ in gold]
    cut = pieces(length, marks, right)
    assert [piece.span.start for piece in cut[1:]] == [piece.span.end for piece in cut[:-1]]
    assert (cut[0].span.start, cut[-1].span.end) == (0, length)
    assert all((a.place, a.gold) != (b.place, b.gold) for a, b in pairwise(cut))
    for position in range(length):
        here = [m for m in marks if m.span.start <= position < m.span.end]
        top = min(here, key=lambda m: (-m.heat, m.phrase.rank), default=None)
        piece = next(p for p in cut if p.span.start <= position < p.span.end)
        assert piece.place is top
        assert piece.gold == any(span.start <= position < span.end for span in right)


def place(start: int, end: int, rank: int, heat: float) -> Place:
    (made,) = explained.result("x" * end, {"x" * end: 0.0}).keyphrases
    occurrence = replace(made.occurrences[0], start=start, end=end)
    return Place(replace(made, rank=rank, occurrences=(occurrence,)), occurrence, heat)


def test_an_empty_text_has_no_pieces_and_a_part_of_a_text_has_its_own() -> None:
    assert pieces(0, []) == []
    cut = [Piece(Span(0, 5), None, False), Piece(Span(5, 9), None, True)]
    assert [p.span for p in within(cut, Span(2, 7))] == [Span(2, 5), Span(5, 7)]
    assert within(cut, Span(5, 5)) == []


def test_heat_falls_into_eight_steps() -> None:
    assert [colours.step(heat) for heat in (0, 0.124, 0.125, 0.5, 0.874, 0.875, 1)] == [0, 0, 1, 4, 6, 7, 7]
    assert len(colours.TERMINAL) == len(colours.NOTEBOOK) == colours.STEPS


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_letters_can_be_read_on_every_colour() -> None:
    for index in colours.TERMINAL:
        assert contrast(terminal_colour(index), "#000000") > 4.5  # WCAG 2.2, AA
    for ground, letters in (("#ffffff", "#222222"), ("#111111", "#dddddd")):  # notebooks, light and dark
        for style in colours.NOTEBOOK:
            assert contrast(*worn(style, ground, letters)) > 4.5


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def worn(style: str, ground: str, letters: str) -> tuple[str, str]:
    """The colours that a style gives on a ground."""
    back, front = (rule.partition(":")[2] for rule in style.split(";"))
    if veil := re.fullmatch(r"rgba\(240,98,42,(.+)\)", back):
        share, under = float(veil[1]), (int(ground[i : i + 2], 16) for i in (1, 3, 5))
        mixed = (round(share * over + (1 - share) * below) for over, below in zip((240, 98, 42), under, strict=True))
        back = "#" + "".join(f"{value:02x}" for value in mixed)
    return back, letters if front == "inherit" else front


def terminal_colour(index: int) -> str:
    """One of the 256 colours: a cube of six steps, then greys."""
    if index >= 232:
        return "#" + f"{8 + 10 * (index - 232):02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    red, green, blue = (levels[(index - 16) // 6**power % 6] for power in (2, 1, 0))
    return f"#{red:02x}{green:02x}{blue:02x}"


# -- Passages ---------------------------------------------------------------------------------------------------------


def found_in(text: str, *phrases: str) -> list[str]:
    spans = [span for phrase in phrases for span in explained.occurrences(text, phrase)]
    return [span.of(text) for span in passages(text, spans)]


def test_a_passage_is_the_sentence_that_holds_a_phrase() -> None:
    text = (
        'It rained. "The ice road closed." Nobody came.\n\nA title\n\nThe ferry, e.g. ours, crossed! 冰很薄。路很长。完'
    )
    assert found_in(text, "ice road") == ['"The ice road closed."']
    assert found_in(text, "title") == ["A title"]
    assert found_in(text, "路") == ["路很长。"]
    assert found_in(text, "rained", "Nobody") == ["It rained.", "Nobody came."]
    assert found_in(text, "rained", "road") == ['It rained. "The ice road closed."']  # neighbours are one
    assert found_in(text, 'closed." Nobody') == ['"The ice road closed." Nobody came.']


def test_where_no_sentence_ends_a_passage_ends_between_words() -> None:
    text = "word " * 400 + "radar " + "word " * 400
    (found,) = found_in(text, "radar")
    assert len(found) < 700
    assert set(found.split()) == {"word", "radar"}
    assert found == found.strip()
    (unbroken,) = found_in("x" * 2000 + "radar" + "x" * 2000, "radar")
    assert unbroken == "x" * 300 + "radar" + "x" * 300


@given(TEXTS, st.lists(st.tuples(st.integers(0, 400), st.integers(1, 20)), max_size=8))
def test_passages_hold_what_was_asked_for_in_order_without_overlap(text: str, asked: list[tuple[int, int]]) -> None:
    spans = [Span(start, min(start + width, len(text))) for start, width in asked if start < len(text)]
    found = passages(text, spans)
    assert all(any(p.start <= s.start and s.end <= p.end for p in found) for s in spans)
    assert all(0 <= p.start < p.end <= len(text) for p in found)
    assert all(a.end <= b.start and text[a.end : b.start].strip() for a, b in pairwise(found))


def test_a_short_text_is_shown_whole_and_of_a_long_one_the_best_places_of_the_best_phrases() -> None:
    text = " ".join(f"Sentence {i} is dull." for i in range(200)) + " Here radar shines. And ice melts. Radar? radar."
    result = explained.result(text, {"radar": (-1.0, -5.0), "ice": -2.0, "Sentence 7 ": -9.0})
    assert shown(text, [result], 2, len(text)) == [Span(0, len(text))]
    assert [s.of(text) for s in shown(text, [result], 2, 1000)] == ["Here radar shines. And ice melts."]
    assert [s.of(text) for s in shown(text, [result], 1, 1000)] == ["Here radar shines."]
    assert len(shown(text, [result], None, 1000)) == 2
    assert shown(text, [replace(result, keyphrases=())], 2, 1000) == [Span(0, 0)]


@given(TEXTS, st.integers(1, 200))
def test_the_beginning_of_a_text_is_no_longer_than_its_limit(text: str, longest: int) -> None:
    part = beginning(text, longest)
    assert part.start == 0
    assert part.end == len(text) if len(text) <= longest else part.end <= longest


def test_sentences_of_a_huge_text_without_any_are_found_at_once() -> None:
    text = "\n" * 200_000 + "x " * 200_000
    assert len(GAP.findall(text)) == 1
    assert beginning(text, 5000).end <= 5000


# -- Lists ------------------------------------------------------------------------------------------------------------


def test_a_list_gives_parts_places_and_the_rank_under_the_other_method() -> None:
    first = {"ice road": -1.0, "River ice": -2.0, "maps": -3.0}
    second = {"maps": -0.001, "ice road": -2.0, "spring": -3.0}
    found = explained.explanation(ICE, first, second, gold=["maps", "absent"])
    one, other = ranked(found, 0, 2), ranked(found, 1, None)
    assert one.head == ("#", "Keyphrase", "Score", "p", "G", "Places", "promptrank")
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


# -- The terminal -----------------------------------------------------------------------------------------------------


def drawn(found: Explanation, width: int = 100, top_n: int | None = 15, whole: bool = False, **console: Any) -> str:
    screen = Console(file=io.StringIO(), width=width, **console)
    with screen.capture() as capture:
        screen.print(terminal.drawing(found, screen, top_n, whole))
    return capture.get()


COLOURS: dict[str, Any] = {"force_terminal": True, "color_system": "256", "no_color": False}


def test_in_colour_every_place_has_the_ground_of_its_heat_and_gold_is_bold_italic() -> None:
    found = explained.explanation(ICE, {"River ice": -1.0, "ice road": -2.0, "maps": -3.0}, gold=["River ice"])
    written = drawn(found, top_n=2, **COLOURS)
    hot, cold, middle = (colours.TERMINAL[i] for i in (7, 0, 4))
    assert f"\x1b[1;3;4;38;5;16;48;5;{hot}mRiver ice\x1b[0m" in written
    assert f"\x1b[4;38;5;16;48;5;{middle}mice road\x1b[0m" in written
    assert f"Old \x1b[38;5;16;48;5;{cold}mmaps\x1b[0m fail." in written  # beyond the list, so not underlined
    assert "1 more" in written


def test_without_colour_phrases_of_the_list_have_brackets_and_ranks_and_gold_has_stars() -> None:
    found = explained.explanation(ICE, {"River ice": -1.0, "The ice road": -2.0, "maps": -3.0}, gold=["ice"])
    written = drawn(found, top_n=2)
    assert "\x1b" not in written
    assert "[River *ice*]¹ is thin. [The *ice* road]² closes in spring. Old maps fail." in written
    assert "\n1  River ice" in written
    assert "[phrase]⁷ stands at rank 7" in written


def test_no_color_leaves_bold_italics_and_uses_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    found = explained.explanation(ICE, {"River ice": -1.0}, gold=["maps"])
    written = drawn(found, force_terminal=True, color_system="truecolor")
    assert "[River ice]¹ is thin." in written
    assert "Old \x1b[1;3mmaps\x1b[0m fail." in written
    assert "48;5" not in written


def test_methods_stand_one_after_another_or_side_by_side_where_there_is_room() -> None:
    found = explained.explanation(ICE, {"River ice": -1.0}, {"ice road": -1.0})
    assert all("mudy" not in line or "promptrank" not in line for line in heads(drawn(found, 120)))
    assert any("mudy" in line and "promptrank" in line for line in heads(drawn(found, 170)))


def heads(written: str) -> list[str]:
    return [line for line in written.splitlines() if " phrases at " in line]


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
    assert "mudy: 5 of 12 words were read." in written
    assert "Not in the text: glacier." in written


def test_an_explanation_without_phrases_can_be_drawn() -> None:
    empty = Extractor("yake", language=english()).explain("")
    for width in (40, 100, 200):
        assert "0 phrases at 0 places" in drawn(empty, width)
    assert "<mark" not in empty.to_html()
    assert "<mark" not in empty._repr_html_()


# -- The report -------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """A page as a browser without scripts reads it."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: dict[str, list[str]] = {}  # what stands in elements of a class or an id
        self.everything = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag in ("meta", "img", "link", "br"):
            return
        self.open.append(tag)
        name = found.get("id") or (found.get("class") or "").split(" ")[0]
        if name in ("report-text", "mudy-data"):
            self.text.setdefault(name, []).append("")
            self.open[-1] = f"{tag} {name}"

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> ends nothing"
        assert self.open.pop().split()[0] == tag

    def handle_data(self, data: str) -> None:
        self.everything += data
        for name, found in self.text.items():
            if any(tag.endswith(f" {name}") for tag in self.open):
                found[-1] += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_a_report_shows_the_very_text_whatever_it_holds() -> None:
    page = Page(explained.hostile().to_html())
    assert page.open == []
    assert page.text["report-text"] == [explained.HOSTILE] * 2
    assert json.loads(page.text["mudy-data"][0])["text"] == explained.HOSTILE
    assert page.of("img") == []
    assert len(page.of("script")) == 3
    assert all(not name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_the_data_of_a_report_ends_no_tag_and_begins_no_comment() -> None:
    page = explained.hostile(source="</title><script>alert(2)</script>").to_html()
    data = page[page.index('id="mudy-data">') :].split("</script>")[0]
    assert "<" not in data.removeprefix('id="mudy-data">')
    assert "alert(2)</script>" not in page
    assert "<title>&lt;/title&gt;" in page


@given(ODD)
def test_any_text_makes_a_page_that_parses_to_it(text: str) -> None:
    """But for what HTML cannot hold."""
    found = explained.explanation(text, {}, gold=[text[:3]] if text[:3] else [])
    written = found.to_html()
    written.encode()
    page = Page(written)
    kept = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]", "\ufffd", text)
    assert page.text["report-text"] == [kept]
    inside = json.loads(page.text["mudy-data"][0])["text"]
    assert inside == re.sub("[\ud800-\udfff]", "\ufffd", text)


def test_marks_have_the_class_of_their_heat_and_gold_is_emphasised() -> None:
    found = explained.explanation(ICE, {"River ice": -1.0, "The ice road": -2.0, "maps": -3.0}, gold=["ice road"])
    page = found.to_html(top_n=2)
    assert '<mark class="heat-7 is-top" title="1. score -1.000, p -2.000, G 1.500">River ice</mark> is thin.' in page
    assert (
        'is-top" title="2. score -2.000, p -4.000, G 1.500">The <em class="gold"><strong>ice road</strong></em>' in page
    )
    assert '<mark class="heat-0" title="3.' in page
    assert "<p>1 more phrase is coloured in the text.</p>" in page


def test_a_report_asks_nothing_of_the_network_and_runs_its_own_scripts_only() -> None:
    page = explained.hostile().to_html()
    (policy,) = (m["content"] for m in Page(page).of("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    inline = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", page, re.DOTALL)
    assert {b64decode(each) for each in allowed} == {sha256(text.encode()).digest() for text in inline}
    assert len(inline) == 4
    assert {"style", "src", "href"}.isdisjoint(name for _, attributes in Page(page).tags for name in attributes)
    for text in inline:
        assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/)", text)


def test_numbers_in_a_report_have_six_digits_and_scores_all_so_that_no_rank_changes() -> None:
    found = explained.explanation(ICE, {"River ice": -1 / 3})
    data = html_report.data(found, None)
    (phrase,) = data["methods"][0]["keyphrases"]
    assert (phrase["score"], phrase["occurrences"][0]["score"]) == (-1 / 3, -1 / 3)
    assert phrase["occurrences"][0]["p"] == -0.666667
    assert data["top_n"] == 1
    assert html_report.data(found, 15)["top_n"] == 15
    assert list(data) == ["text", "source", "gold", "methods", "top_n"]


def test_a_page_that_cannot_be_read_aloud_wrongly_has_headings_captions_and_scopes() -> None:
    page = Page(explained.hostile(source="ice.txt").to_html())
    assert [tag for tag, _ in page.tags if tag in ("h1", "h2", "h3")] == ["h1", "h2", "h2"]
    assert len(page.of("caption")) == len(page.of("table")) == 2
    assert {cell.get("scope") for cell in page.of("th")} == {"col"}
    assert page.of("html") == [{"lang": "en"}]


def test_a_result_has_a_page_and_a_fragment_of_its_own() -> None:
    result = Extractor("yake", language=english()).extract(small.TEXT, 4)
    page, fragment = Page(result.to_html()), result._repr_html_()
    assert len({mark["title"] for mark in page.of("mark")}) >= 4
    assert page.text["report-text"] == [small.TEXT]
    assert all(keyphrase.text in fragment for keyphrase in result.keyphrases)


def test_the_files_of_a_report_are_in_the_package() -> None:
    for folder, name in (("web", "palette.css"), ("web", "view.css"), ("render", "report.css")):
        assert html_report._style(folder, name)


# -- The notebook -----------------------------------------------------------------------------------------------------


def test_a_notebook_has_no_script_no_sheet_and_letters_on_every_ground() -> None:
    fragment = explained.hostile()._repr_html_()
    page = Page(fragment)
    assert page.open == []
    assert {"script", "style", "link", "img", "html", "body"}.isdisjoint(tag for tag, _ in page.tags)
    assert all("class" not in attributes and "id" not in attributes for _, attributes in page.tags)
    for mark in page.of("mark"):
        assert mark["style"] in colours.NOTEBOOK
    assert page.everything.count(explained.HOSTILE) == 2


def test_a_notebook_shows_of_a_long_text_the_passages_with_its_phrases() -> None:
    text = " ".join(f"Sentence {i} is dull." for i in range(400)) + " Here radar shines. It ends."
    fragment = notebook.fragment(explained.explanation(text, {"radar": -1.0}))
    assert ">...\nHere <mark" in fragment
    assert fragment.count("dull") == 0
    assert fragment.rstrip().endswith("shines.\n...</div></div>")


# -- The picture ------------------------------------------------------------------------------------------------------


def size(picture: bytes) -> tuple[int, int]:
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")


def test_paragraphs_are_kept_apart_in_a_picture_and_lines_are_not() -> None:
    apart, wrapped, run_on = (
        explained.explanation(ICE.replace(". ", f".{gap}"), {"River ice": -1.0}) for gap in ("\n\n", "\n", " ")
    )
    assert size(png.picture(apart))[1] > size(png.picture(run_on))[1]
    assert size(png.picture(wrapped)) == size(png.picture(run_on))


def test_a_picture_of_two_methods_is_twice_as_wide_and_a_long_text_makes_it_no_longer_than_a_page() -> None:
    one = explained.explanation(ICE, {"River ice": -1.0}, gold=["thin"])
    two = explained.explanation(ICE, {"River ice": -1.0}, {"ice road": -1.0})
    assert size(png.picture(two))[0] > 1.8 * size(png.picture(one))[0]
    text = "Word by word it goes on. " * 400
    page, long = (explained.explanation(t, {"Word": -1.0}) for t in (text[: png.PAGE_CHARACTERS], text))
    assert png.left_out(page) == ""
    assert png.left_out(long) == "first 1,200 of 2,400 words"
    assert size(png.picture(long))[1] <= size(png.picture(page))[1] + 1


def test_the_cut_is_said_in_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, text_layout.Passage] = {}
    monkeypatch.setattr(png, "draw_passages", lambda texts: seen.update(texts) or b"")
    text = "Word by word it goes on. " * 400
    found = explained.explanation(text, {"Word": -1.0}, gold=["goes"], source="$x$")
    result = replace(found.methods[0].result, model="folder/of$/a $model$")
    png.picture(replace(found, methods=(replace(found.methods[0], result=result),)))
    ((label, passage),) = seen.items()
    assert label == r"mudy, a \$model\$ (first 1,200 of 2,400 words)"
    assert passage.text == text[:4999]
    assert (0, 4, 0.0, False) in passage.spans
    assert (16, 20, None, True) in passage.spans


@pytest.mark.parametrize("methods", [1, 3])
def test_no_words_of_a_pictures_legend_overlap(methods: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.text import Text

    monkeypatch.setattr(text_layout, "to_png", lambda figure: figure)
    passage = text_layout.Passage("River ice.", ((0, 9, 1.0, False),))
    figure: Any = text_layout.draw_passages({str(number): passage for number in range(methods)})
    figure.draw_without_rendering()
    boxes = [t.get_window_extent() for t in figure.findobj(Text) if t.get_text().strip()]
    legend = [box for box in boxes if box.y1 < 0.8 * figures.DPI]
    assert len(legend) == 3
    assert not any(one.overlaps(other) for one, other in combinations(legend, 2))


def test_a_picture_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r'pip install "mudy\[plots\]"'):
        png.picture(explained.explanation(ICE, {"River ice": -1.0}))


def test_a_hostile_text_can_be_drawn() -> None:
    assert size(png.picture(explained.hostile()))[1] > 200


# -- All --------------------------------------------------------------------------------------------------------------


def test_importing_the_package_imports_no_picture() -> None:
    code = "import sys, mudy; sys.exit(any(n.startswith(('mudy.render', 'rich')) for n in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent).returncode == 0
