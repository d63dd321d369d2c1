"""A report is one page that shows the very text and asks nothing of the network."""

import json
import re
from base64 import b64decode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

from hypothesis import given

from mudy import Extractor
from mudy.extraction.render import html
from tests import explained, small
from tests.taggers import ODD, english

ICE = "River ice is thin. The ice road closes in spring. Old maps fail."


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
    assert len(page.of("script")) == 2  # the data, and all modules in one
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
    assert '<mark class="heat-7" title="1. score -1.000, p -2.000, G 1.500">River ice</mark> is thin.' in page
    assert '" title="2. score -2.000, p -4.000, G 1.500">The <em class="gold"><strong>ice road</strong></em>' in page
    assert ' title="3.' not in page
    assert "<p>1 more phrase scored lower.</p>" in page


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
        assert not re.search(r"url\(|(?<!/\*\* )@import|https?://(?!www\.w3\.org/)", text)


def test_numbers_in_a_report_have_six_digits_and_scores_all_so_that_no_rank_changes() -> None:
    found = explained.explanation(ICE, {"River ice": -1 / 3})
    data = html.data(found, None)
    (phrase,) = data["methods"][0]["keyphrases"]
    assert (phrase["score"], phrase["occurrences"][0]["score"]) == (-1 / 3, -1 / 3)
    assert phrase["occurrences"][0]["p"] == -0.666667
    assert data["top_n"] == 1
    assert html.data(found, 15)["top_n"] == 15
    assert list(data) == ["text", "source", "gold", "methods", "top_n", "descriptions"]


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


def test_the_script_of_a_report_has_every_module_of_the_view_and_nothing_of_the_page() -> None:
    web = files("mudy").joinpath("server", "web", "view")
    assert {path.name for path in web.iterdir()} - {"types.js"} == {Path(path).name for path in html._SCRIPTS[:-1]}


def test_a_notebook_has_no_script_no_sheet_and_letters_on_every_ground() -> None:
    fragment = explained.hostile()._repr_html_()
    page = Page(fragment)
    assert page.open == []
    assert {"script", "style", "link", "img", "html", "body"}.isdisjoint(tag for tag, _ in page.tags)
    assert all("class" not in attributes and "id" not in attributes for _, attributes in page.tags)
    for mark in page.of("mark"):
        assert mark["style"] in html.COLOURS
    assert page.everything.count(explained.HOSTILE) == 2


def test_a_notebook_shows_of_a_long_text_the_passages_with_its_phrases() -> None:
    text = " ".join(f"Sentence {i} is dull." for i in range(400)) + " Here radar shines. It ends."
    fragment = html.fragment(explained.explanation(text, {"radar": -1.0}))
    assert ">...\nHere <mark" in fragment
    assert fragment.count("dull") == 0
    assert fragment.rstrip().endswith("shines.\n...</div></div>")
