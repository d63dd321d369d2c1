"""The page, in a real browser, with the real service behind it."""

from __future__ import annotations

import csv
import json
import math
import random
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fpdf import FPDF

from mudy import readers
from mudy.explanation import heat
from mudy.methods.mudy import final_score
from mudy.ranking import rounded
from tests.browser import Visit, launched, visiting
from tests.served import Served, save_small_model, serving, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.real

EXAMPLE = (Path(__file__).parents[1] / "examples" / "floodplain.txt").read_text()
TEXT = "\n\n".join(EXAMPLE.split("\n\n")[:4])  # a title and three paragraphs: long enough for lambda to count
SHORT = "A family of beavers built three dams.\nThe river fills the ponds behind the dams; salmon grow in the ponds."
HOSTILE = (
    '<script>alert(1)</script> met "><img src=x onerror=alert(2)> near the 🏞️ river park.\n'
    "The \u202eriver park\u202c drew 🦫🦫 beaver families; the river park paid 𝕏 tickets &amp; maps.\n\n"
    "נהר גדול meets the river park, and 東京の公園 lies beside the \u2067beaver families\u2069 there."
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served"), "--model", "smollm2-135m") as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Visit]:
    with visiting(browser, served.address) as found:
        ready(found.page)
        yield found


def ready(page: Page) -> None:
    page.wait_for_selector("html[data-ready]")


def put(page: Page, text: str) -> None:
    """As a paste does, without the time that Playwright takes to type 200 KB."""
    page.evaluate(
        """text => { const field = document.getElementById('text'); field.value = text;
        field.dispatchEvent(new Event('input', {bubbles: true})); }""",
        text,
    )


def find(page: Page, text: str) -> None:
    put(page, text)
    page.click("#run")
    finished(page)


def finished(page: Page) -> None:
    page.wait_for_selector("#view[data-ready]", state="attached")
    page.wait_for_selector("#progress", state="hidden")


def slide(page: Page, name: str, value: float, *, release: bool = True) -> None:
    page.evaluate(
        """([name, value, release]) => { const slider = document.getElementById(name); slider.value = value;
        for (const kind of release ? ['input', 'change'] : ['input']) slider.dispatchEvent(new Event(kind)); }""",
        [name, value, release],
    )


def rows(page: Page, ranking: int = 0) -> list[str]:
    """The phrases of a ranking, best first."""
    return page.locator(".mv-rank").nth(ranking).locator(".mv-phrase").all_text_contents()


def asked(served: Served, text: str, *methods: str, **options: Any) -> dict[str, Any]:
    """What the service says when it is asked without the page."""
    with served.client() as client:
        answer = client.post("/v1/explain", json={"text": text, "methods": methods, **options})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def saved(page: Page, button: str) -> str:
    with page.expect_download() as download:
        page.click(button)
    return Path(download.value.path()).read_text(encoding="utf-8-sig")


MARKS = """panel => {
  const found = []; let at = 0;
  const walk = (node, mark) => { for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) {
      if (mark) found.push([at, at + [...child.data].length, mark.className, mark.segment.spot.from]);
      at += [...child.data].length;
    } else walk(child, child.classList?.contains('mv-o') ? child : mark);
  } };
  walk(panel, null);
  const joined = new Map();  // an occurrence that gold or another one cuts has several pieces
  for (const [from, to, name, spot] of found) joined.set(spot, [joined.get(spot)?.[0] ?? from, to, name]);
  return [...joined.values()];
}"""


def marks(page: Page, panel: int = 0) -> dict[tuple[int, int], str]:
    """Where a text is coloured, in code points, and how."""
    found = page.locator(".mv-text").nth(panel).evaluate(MARKS)
    return {(start, end): name for start, end, name in found}


def places(method: dict[str, Any]) -> list[dict[str, Any]]:
    return [place for keyphrase in method["keyphrases"] for place in keyphrase["occurrences"]]


def colours(method: dict[str, Any], top_n: int) -> dict[tuple[int, int], str]:
    """The classes that every place should have, by our own scale."""
    steps = [min(7, int(share * 8)) for share in heat([place["score"] for place in places(method)])]
    ranks = [(k["rank"], index == 0) for k in method["keyphrases"] for index, _ in enumerate(k["occurrences"])]
    found = {}
    for place, step, (rank, best) in zip(places(method), steps, ranks, strict=True):
        top = f" is-top{' is-best' if best else ''}" if rank <= top_n else ""
        found[place["start"], place["end"]] = f"mv-o heat-{step}{top}"
    return found


# --- Finding, comparing, moving --------------------------------------------------------------------------------------


def test_a_text_becomes_a_ranking_and_coloured_places_as_the_service_gives_them(visit: Visit, served: Served) -> None:
    page = visit.page
    find(page, TEXT)
    (expected,) = asked(served, TEXT, "mudy")["methods"]
    assert rows(page) == [keyphrase["text"] for keyphrase in expected["keyphrases"][:10]]
    assert page.locator(".mv-text").evaluate("text => text.textContent") == TEXT
    assert marks(page) == colours(expected, 10)


def test_two_methods_stand_side_by_side_line_by_line(visit: Visit, served: Served) -> None:
    page = visit.page
    page.select_option("#compare", "promptrank")
    find(page, TEXT)
    expected = asked(served, TEXT, "promptrank", "mudy")["methods"]
    for index, method in enumerate(expected):
        assert rows(page, index) == [keyphrase["text"] for keyphrase in method["keyphrases"][:10]]
        assert marks(page, index) == colours(method, 10)
    tops = "text => [...text.querySelectorAll('.mv-o')].map(o => Math.round(o.getBoundingClientRect().top))"
    left, right = (page.locator(".mv-text").nth(index).evaluate(tops) for index in (0, 1))
    assert left == right
    ranks = [{k["text"]: k["rank"] for k in method["keyphrases"]} for method in expected]
    phrase = next(text for text in rows(page, 1) if text in ranks[0] and ranks[0][text] != ranks[1][text])
    page.locator(".mv-rank").nth(1).get_by_text(phrase, exact=True).click()
    said = page.locator(".mv-change").first.text_content() or ""
    here, there = (int(rank) for rank in re.findall(r"(\d+)(?:st|nd|rd|th)", said))
    assert (here, there) == (ranks[1][phrase], ranks[0][phrase])
    assert said.endswith(f"{there - here} higher" if here < there else f"{here - there} lower")


def test_comparing_asks_only_for_what_is_not_known_yet(visit: Visit) -> None:
    page = visit.page
    find(page, SHORT)
    with page.expect_request("**/v1/explain") as request:
        page.select_option("#compare", "textrank")
    assert (request.value.post_data_json or {})["methods"] == ["textrank"]
    page.wait_for_selector(".mv-panel >> nth=1")
    finished(page)
    page.select_option("#compare", "")
    page.wait_for_selector(".mv-panel >> nth=1", state="detached")


def test_lambda_moves_the_ranking_exactly_as_a_new_run_would(visit: Visit, served: Served) -> None:
    page = visit.page
    find(page, TEXT)
    before = rows(page)
    page.evaluate(
        "() => { window.asked = 0; const old = fetch; window.fetch = (...a) => { asked += 1; return old(...a); }; }"
    )
    for value in (0.0, 4.75):
        slide(page, "lambda", value)
        (expected,) = asked(served, TEXT, "mudy", settings={"mudy": {"lambda_": value}})["methods"]
        assert rows(page) == [keyphrase["text"] for keyphrase in expected["keyphrases"][:10]] != before
        assert marks(page) == colours(expected, 10)
        slide(page, "top", 40)
        (found,) = json.loads(saved(page, "#json"))["methods"]
        slide(page, "top", 10)
        for own, other in zip(found["keyphrases"], expected["keyphrases"], strict=False):
            assert (own["rank"], own["text"], own["variants"]) == (other["rank"], other["text"], other["variants"])
            assert own["occurrences"] == [pytest.approx(place, rel=1e-12) for place in other["occurrences"]]
        assert found["settings"] == expected["settings"]
    assert page.evaluate("asked") == 0
    assert {"↑", "↓"} & {text[0] for text in page.locator(".mv-moved").all_text_contents() if text}
    page.click("#reset")
    assert rows(page) == before
    assert not any(page.locator(".mv-moved").all_text_contents())


def test_kappa_asks_the_model_again_when_it_is_let_go(visit: Visit, served: Served) -> None:
    page = visit.page
    find(page, SHORT)
    slide(page, "kappa", 0.9, release=False)
    with page.expect_response("**/v1/explain") as response:
        slide(page, "kappa", 0.9)
    assert (response.value.request.post_data_json or {})["settings"] == {"mudy": {"kappa": 0.9}}
    page.wait_for_selector("#progress", state="hidden")
    expected = asked(served, SHORT, "mudy", settings={"mudy": {"kappa": 0.9}})["methods"][0]
    page.wait_for_function(
        "text => document.querySelector('.mv-phrase').textContent === text", arg=expected["keyphrases"][0]["text"]
    )
    assert (
        json.loads(saved(page, "#json"))["methods"][0]["keyphrases"][0]["score"] == expected["keyphrases"][0]["score"]
    )


def test_top_n_lengthens_the_ranking_and_the_underlines(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    find(page, TEXT)
    for n in (1, 3, 25):
        slide(page, "top", n)
        assert len(rows(page)) == n
        assert page.locator(".mv-text .is-best").count() == n
    assert "top=25" in page.url


def test_gold_phrases_are_bold_and_slanted_where_they_stand(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    page.click("summary")
    page.fill("#gold", "flood wall\ncoral reef\n")
    find(page, TEXT)
    gold = page.locator(".mv-text em.gold")
    assert set(gold.all_text_contents()) == {"flood walls"}
    assert gold.first.evaluate("e => [getComputedStyle(e).fontStyle, getComputedStyle(e).fontWeight]") == [
        "italic",
        "700",
    ]
    assert "coral reef" in (page.locator(".mv-legend").text_content() or "")
    assert page.locator(".mv-rank em.gold").all_text_contents() == ["flood walls"]


# --- By keyboard -----------------------------------------------------------------------------------------------------


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"))


def described(element: Locator, words: str) -> None:
    from playwright.sync_api import expect

    expect(element).to_have_accessible_description(re.compile(words))


def tab_to(page: Page, selector: str) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"Tab does not reach {selector}")


def test_all_of_it_works_without_a_mouse(visit: Visit) -> None:
    page = visit.page
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the text"
    page.keyboard.press("Enter")
    tab_to(page, "#text")
    page.keyboard.insert_text(SHORT)
    page.keyboard.press("Control+Enter")
    finished(page)
    tab_to(page, ".mv-row")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    for _ in range(rows(page).index("dams")):
        page.keyboard.press("ArrowDown")
    row = focused(page)
    page.keyboard.press("Enter")
    assert re.fullmatch(r"dams, rank \d+, score −[\d.]+, occurrence 1 of 2", focused(page))
    card = page.locator(".mv-card")
    assert card.get_attribute("role") == "dialog"
    page.keyboard.press("n")
    assert focused(page).endswith("occurrence 2 of 2")
    page.keyboard.press("p")
    assert focused(page).endswith("occurrence 1 of 2")
    page.keyboard.press("Tab")
    assert focused(page) == "Close"
    page.keyboard.press("Escape")
    assert not card.is_visible()
    assert focused(page) == row
    tab_to(page, ".mv-o")
    page.keyboard.press("Home")
    walked = [focused(page)]
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        walked.append(focused(page))
    assert len({label.partition(",")[0] for label in walked}) == 4
    assert card.get_attribute("role") == "tooltip"
    described(page.locator(":focus"), "likelihood of the phrase")
    page.keyboard.press("Escape")
    assert not card.is_visible()
    page.keyboard.press("End")
    assert focused(page).startswith("ponds, rank ")
    page.keyboard.press("Home")
    assert focused(page).startswith("family, rank ")


def test_the_focus_can_be_seen_everywhere(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    find(page, SHORT)
    page.focus("#theme")
    seen = set()
    for _ in range(25):
        page.keyboard.press("Tab")
        name, style, width = page.evaluate(
            """() => { const e = document.activeElement, s = getComputedStyle(e);
            return [e.id || e.className || e.tagName, s.outlineStyle, parseFloat(s.outlineWidth)]; }"""
        )
        if name != "BODY":
            seen.add(name)
            assert (style, width >= 2) == ("solid", True), name
    assert {"method", "top", "run", "edit", "csv"} <= seen


# --- Walking ---------------------------------------------------------------------------------------------------------


def test_a_phrase_in_the_ranking_leads_through_its_places(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    find(page, TEXT * 6)
    row = page.locator(".mv-row").first
    count = int(re.findall(r"(\d+) places", row.get_attribute("aria-label") or "")[0])
    assert count >= 6
    row.click()
    seen = []
    for number in range(1, count + 1):
        assert page.locator(".mv-walk").text_content() == f"place {number} of {count}‹›"
        active = page.locator(".mv-o.is-active").first
        assert in_sight(active, page.locator(".mv-card"))
        seen.append(active.evaluate("e => e.segment.spot.from"))
        assert page.locator(".mv-o.is-kin").count() >= count
        page.click("[aria-label='Next place']")
    assert seen == sorted(set(seen))
    assert (page.locator(".mv-walk").text_content() or "").startswith("place 1 of")


def in_sight(words: Locator, card: Locator) -> bool:
    """Whether the words and their card are on the screen, and the card does not lie over the words."""
    return bool(
        words.evaluate(
            """(words, card) => { const a = words.getClientRects()[0], b = card.getBoundingClientRect();
            const whole = box => box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
            const apart = a.bottom <= b.top || b.bottom <= a.top || a.right <= b.left || b.right <= a.left;
            const seen = words.contains(document.elementFromPoint(a.left + 2, a.top + a.height / 2));
            return whole(a) && whole(b) && apart && seen; }""",
            card.element_handle(),
        )
    )


def test_the_card_is_never_cut_off(visit: Visit) -> None:
    page = visit.page
    page.select_option("#compare", "promptrank")
    find(page, TEXT)
    card = page.locator(".mv-card")
    boxes = page.evaluate(
        """[...document.querySelectorAll('.mv-text .mv-o')].map(e => e.getClientRects()[0])
        .filter(r => r.top > 170 && r.bottom < innerHeight - 4).map(r => [r.left + 3, r.top + r.height / 2])"""
    )
    assert len(boxes) > 40
    for x, y in boxes[:: len(boxes) // 12]:
        page.mouse.move(5, 5)
        page.wait_for_timeout(200)
        page.mouse.move(x, y)
        card.wait_for(state="visible")
        assert in_sight(page.locator(".mv-o.is-active").first, card)


# --- When something is wrong -----------------------------------------------------------------------------------------


def notice(page: Page) -> str:
    page.wait_for_selector("#notice:not([hidden])")
    return page.locator("#notice").text_content() or ""


def test_a_text_that_is_too_long_is_told_before_it_is_sent(visit: Visit) -> None:
    page = visit.page
    put(page, "word " * 70_000)
    page.click("#run")
    assert "350,000 characters; this service takes 300,000" in notice(page)
    assert "is-over" in (page.locator("#meter").get_attribute("class") or "")
    find(page, SHORT)
    assert page.locator("#notice").is_hidden()


def test_no_text_at_all_is_told_kindly(visit: Visit) -> None:
    visit.page.click("#run")
    assert "no text yet" in notice(visit.page)


def test_a_text_without_phrases_says_so(visit: Visit) -> None:
    find(visit.page, "...")
    assert "No phrases were found" in (visit.page.locator(".mv-list").text_content() or "")


def test_a_busy_service_says_when_to_come_back(visit: Visit) -> None:
    page = visit.page
    problem = {"type": "/problems/queue-full", "title": "Too many requests wait", "status": 503, "detail": "Later."}
    page.route(
        "**/v1/explain",
        lambda route: route.fulfill(
            status=503,
            headers={"Retry-After": "7", "Content-Type": "application/problem+json"},
            body=json.dumps(problem),
        ),
    )
    put(page, SHORT)
    page.click("#run")
    assert "Too many requests wait" in notice(page)
    assert "Try again in 7 seconds" in notice(page)
    assert visit.failed_requests()
    page.unroute("**/v1/explain")
    page.get_by_role("button", name="Try again").click()
    finished(page)
    assert page.locator("#notice").is_hidden()


def test_a_key_is_asked_for_and_a_service_that_stops_is_missed(browser: Browser, tmp_path: Path) -> None:
    model = save_small_model(tmp_path / "model")
    with (
        serving(tmp_path, "--model", model, "--method", "yake", "--api-key", "open-sesame") as guarded,
        visiting(browser, guarded.address) as visit,
    ):
        page = visit.page
        for key in ("wrong", "open-sesame"):
            page.wait_for_selector("#key-dialog[open]")
            page.fill("#key", key)
            page.keyboard.press("Enter")
        ready(page)
        find(page, SHORT)
        assert page.evaluate("[sessionStorage.length, JSON.stringify(localStorage).includes('sesame')]") == [
            1,
            False,
        ]
        assert "sesame" not in page.url
        assert all("401" in told for told in visit.failed_requests())
        guarded.process.send_signal(signal.SIGTERM)
        guarded.ended()
        page.click("#edit")
        page.fill("#text", SHORT + " And more.")
        page.click("#run")
        assert "does not answer" in notice(page)
        assert page.input_value("#text").endswith("And more.")
        assert visit.failed_requests()


def test_a_run_can_be_cancelled(visit: Visit, served: Served) -> None:
    page, gone = visit.page, {"reason": "client-gone"}
    before = served.metric("mudy_cancelled_total", gone)
    put(page, EXAMPLE * 20)
    page.click("#run")
    page.wait_for_function("() => /Working · [1-9]/.test(document.getElementById('progress-said').textContent)")
    page.click("#cancel")
    assert page.locator("#progress").is_hidden()
    assert page.locator("#notice").is_hidden()
    until(lambda: served.metric("mudy_cancelled_total", gone) == before + 1, served)  # it has let go of the long one
    find(page, SHORT)


# --- Strange and long texts ------------------------------------------------------------------------------------------


def test_markup_and_marks_of_direction_are_just_text(visit: Visit, served: Served) -> None:
    page = visit.page
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.select_option("#method", "yake")
    page.select_option("#compare", "textrank")
    find(page, HOSTILE)
    expected = asked(served, HOSTILE, "textrank", "yake")["methods"]
    for index, method in enumerate(expected):
        text = page.locator(".mv-text").nth(index)
        assert text.evaluate("text => text.textContent") == HOSTILE
        assert text.locator("script, img").count() == 0
        assert sorted(marks(page, index)) == sorted((place["start"], place["end"]) for place in places(method))
        forms = page.locator(".mv-text").nth(index).locator(".mv-o").all_text_contents()
        assert forms.count("river park") >= 3
        assert rows(page, index) == [keyphrase["text"] for keyphrase in method["keyphrases"][:10]]
    for row in page.locator(".mv-rank").last.locator(".mv-row").all():
        row.click()
    assert dialogs == []
    bidi = page.evaluate(
        "['.mv-text', '.mv-block', '.mv-phrase'].map(s => getComputedStyle(document.querySelector(s)).unicodeBidi)"
    )
    assert bidi == ["isolate", "plaintext", "isolate"]


def test_places_that_overlap_are_all_reached(visit: Visit) -> None:
    page = visit.page
    text = "old flood walls held"
    spans = {"flood": (4, 9, 3.0), "old flood": (0, 9, 2.0), "flood walls": (4, 15, 1.0), "held": (16, 20, 0.5)}
    keyphrases = [
        {"rank": i, "text": phrase, "score": s, "variants": [], "occurrences": [{"start": a, "end": b, "score": s}]}
        for i, (phrase, (a, b, s)) in enumerate(spans.items(), start=1)
    ]
    answer(
        page, [{"method": "yake", "model": None, "keyphrases": keyphrases, "settings": {}, "free": [], "seconds": 1}]
    )
    find(page, text)
    assert page.locator(".mv-text .mv-o").all_text_contents() == ["old ", "flood", " walls", "held"]
    for phrase, (start, end, _) in spans.items():
        page.click(f".mv-row[title='{phrase}']")
        assert page.locator(".mv-card-phrase").text_content() == phrase
        assert "".join(page.locator(".mv-o.is-active").all_text_contents()) == text[start:end]
    page.locator(".mv-row").first.click()
    assert "Also here: old flood (2nd), flood walls (3rd)" in (page.locator(".mv-also").text_content() or "")


def answer(page: Page, methods: list[dict[str, Any]]) -> None:
    """Let the service answer with these methods, whatever it is asked."""
    body = json.dumps({"source": None, "gold": [], "methods": methods})
    page.route("**/v1/explain", lambda route: route.fulfill(status=200, content_type="application/json", body=body))


@pytest.mark.parametrize("between", ["\n\n", " "], ids=["paragraphs", "one-line"])
def test_200_kb_stay_usable(visit: Visit, between: str) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    page.select_option("#compare", "textrank")
    paragraphs = [line for line in EXAMPLE.splitlines() if line]
    chosen = random.Random(5).choices(paragraphs, k=480)
    text = between.join(chosen)[:200_000]
    assert len(text) > 190_000
    page.evaluate(
        """() => { const old = MudyView.mount; MudyView.mount = (...all) => { const begun = performance.now();
        const view = old(...all); const after = () => { window.painted = performance.now() - begun; };
        requestAnimationFrame(() => setTimeout(after)); return view; }; }"""
    )
    find(page, text)
    assert page.evaluate("painted") < 3000  # 0.3 s on an idle machine
    assert page.locator(".mv-text .mv-o").count() > 15_000
    spent = page.evaluate(
        """async () => { const spent = {}; const clock = async (name, act) => { const begun = performance.now(); act();
        await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
        spent[name] = performance.now() - begun; };
        const slider = document.getElementById('top');
        await clock('top', () => { slider.value = 30; slider.dispatchEvent(new Event('input')); });
        await clock('row', () => document.querySelector('.mv-row').click());
        await clock('next', () => document.querySelector('[aria-label="Next place"]').click());
        await clock('last', () => document.querySelector('[aria-label="Previous place"]').click());
        const end = new KeyboardEvent('keydown', {key: 'End', bubbles: true});
        await clock('end', () => document.activeElement.dispatchEvent(end));
        return spent; }"""
    )
    assert max(spent.values()) < 1500, spent  # 0.07 s on an idle machine
    assert page.evaluate("document.activeElement.getBoundingClientRect().top < innerHeight")
    assert page.locator(".mv-text").first.evaluate("text => text.textContent") == text


# --- Taking it away --------------------------------------------------------------------------------------------------


def test_settings_are_in_the_address_and_the_text_is_not(browser: Browser, served: Served) -> None:
    with visiting(browser, f"{served.address}/#method=mudy&compare=promptrank&top=7&lambda=0.6&kappa=0.4") as visit:
        page = visit.page
        for _ in range(2):
            ready(page)
            assert page.input_value("#method") == "mudy"
            assert page.input_value("#compare") == "promptrank"
            assert [page.input_value(f"#{name}") for name in ("top", "lambda", "kappa")] == ["7", "0.6", "0.4"]
            find(page, SHORT)
            assert "eaver" not in page.url
            page.reload()
        ready(page)
        page.select_option("#compare", "")
        slide(page, "top", 12)
        page.reload()
        ready(page)
        assert page.input_value("#compare") == ""
        assert page.input_value("#top") == "12"
        assert "compare" not in page.url


def test_json_and_csv_hold_what_is_shown(visit: Visit, served: Served) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    page.select_option("#compare", "textrank")
    find(page, TEXT)
    slide(page, "top", 4)
    expected = asked(served, TEXT, "textrank", "yake", top_n=4)
    found = json.loads(saved(page, "#json"))
    for method in (*found["methods"], *expected["methods"]):
        del method["seconds"]
    assert found == expected
    table = list(csv.DictReader(saved(page, "#csv").splitlines()))
    keyphrases = [(method["method"], keyphrase) for method in expected["methods"] for keyphrase in method["keyphrases"]]
    assert [(row["method"], row["phrase"], float(row["score"])) for row in table] == [
        (method, keyphrase["text"], keyphrase["score"]) for method, keyphrase in keyphrases
    ]
    assert [(int(row["start"]), int(row["end"])) for row in table] == [
        (keyphrase["occurrences"][0]["start"], keyphrase["occurrences"][0]["end"]) for _, keyphrase in keyphrases
    ]


def test_a_spreadsheet_is_given_no_formula(visit: Visit) -> None:
    page = visit.page
    forms = ["=HYPERLINK(1)", "+1", "-2", "@x", 'say "so", then', "plain"]
    text = " ".join(forms)
    keyphrases = [
        {
            "rank": rank,
            "text": form,
            "score": -0.5,
            "variants": [],
            "occurrences": [{"start": 0, "end": 1, "score": -0.5}],
        }
        for rank, form in enumerate(forms, start=1)
    ]
    answer(
        page, [{"method": "yake", "model": None, "keyphrases": keyphrases, "settings": {}, "free": [], "seconds": 1}]
    )
    find(page, text)
    table = list(csv.DictReader(saved(page, "#csv").splitlines()))
    assert [row["phrase"] for row in table] == ["'=HYPERLINK(1)", "'+1", "'-2", "'@x", 'say "so", then', "plain"]
    assert {row["score"] for row in table} == {"-0.5"}


HTML = (
    b"<title>no</title><h1>Beaver dams</h1><script>1</script><p>slow the\n river<br>here</p><img src=http://x.test/a>"
)


def opens(page: Page, path: Path, expected: str) -> None:
    """A file that is chosen becomes the text."""
    page.set_input_files("#file", path)
    page.wait_for_function("text => document.getElementById('text').value === text", arg=expected)


def test_files_are_read_by_the_page_or_by_the_service(visit: Visit, tmp_path: Path) -> None:
    page, made = visit.page, FPDF()
    made.set_font("Helvetica", size=12)
    made.add_page()
    made.multi_cell(0, 6, "River gauges measure the flood.")
    for name, content, expected in (
        ("a.txt", "Größe 🦫".encode(), "Größe 🦫"),
        ("b.md", "Größe".encode("cp1252"), "Größe"),
        ("c.html", HTML, readers.read(HTML, "c.html").text),
        ("d.pdf", bytes(made.output()), "River gauges measure the flood."),
    ):
        (tmp_path / name).write_bytes(content)
        opens(page, tmp_path / name, expected)
    (tmp_path / "e.xyz").write_bytes(b"\0\1")
    page.set_input_files("#file", tmp_path / "e.xyz")
    assert "e.xyz is not a kind of file" in notice(page)


def test_a_web_page_is_read_without_a_reader_too(visit: Visit, served: Served, tmp_path: Path) -> None:
    page = visit.page
    info = httpx.get(f"{served.address}/v1/service").json() | {"readers": [".txt", ".md"]}
    page.route("**/v1/service", lambda route: route.fulfill(json=info))
    page.reload()
    page.wait_for_selector("html[data-ready]")
    (tmp_path / "c.html").write_bytes(HTML)
    opens(page, tmp_path / "c.html", "Beaver dams\n\nslow the river\nhere")


# --- For every eye ---------------------------------------------------------------------------------------------------


def test_every_control_has_a_name(visit: Visit) -> None:
    page = visit.page
    page.select_option("#compare", "promptrank")
    find(page, SHORT)
    page.locator(".mv-row:visible").first.click()
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, input:not([aria-hidden]), select, textarea, [role]')]
        .filter(e => !e.matches('[role=status], [role=alert]'))
        .filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim()
          || e.labels?.length)).map(e => e.outerHTML)"""
    )
    assert nameless == []
    landmarks = page.evaluate(
        "['header', 'main', 'h1', '[role=status]', '[role=alert]'].map(s => document.querySelectorAll(s).length)"
    )
    assert landmarks[1:] == [1, 1, 1, 1]


CONTRASTS = """() => {
  const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const light = colour => { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m);
    return (x + 0.05) / (y + 0.05); };
  const style = getComputedStyle(document.documentElement), found = {};
  for (const name of ['quiet', 'mark', 'ink'])
    found[name] = contrast(style.getPropertyValue(`--${name}`), style.getPropertyValue('--paper'));
  for (let step = 0; step < 8; step++) {
    const probe = document.createElement('span'); probe.className = `mv-o heat-${step}`;
    document.querySelector('.mv-text').append(probe);
    const own = getComputedStyle(probe); found[step] = contrast(own.color, own.getPropertyValue('--heat'));
    found[`order ${step}`] = light(own.getPropertyValue('--heat')); probe.remove();
  }
  return found; }"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_stand_out_from_every_colour_of_the_scale(browser: Browser, served: Served, dark: bool) -> None:
    with visiting(browser, f"{served.address}/#method=yake", dark=dark) as visit:
        page = visit.page
        ready(page)
        find(page, SHORT)
        found = page.evaluate(CONTRASTS)
        ladder = [found.pop(f"order {step}") for step in range(8)]
        assert min(found.values()) >= 4.5, found
        assert ladder == sorted(ladder, reverse=not dark)
        page.click("#theme")
        page.click("#theme" if not dark else "h1")
        assert page.evaluate("document.documentElement.dataset.theme") == ("light" if dark else "dark")
        other = page.evaluate(CONTRASTS)
        assert min(value for name, value in other.items() if not name.startswith("order")) >= 4.5
        assert other != found


@pytest.mark.parametrize("width", [320, 390, 800])
def test_nothing_needs_sideways_scrolling(browser: Browser, served: Served, width: int) -> None:
    def fits() -> bool:
        return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))

    with visiting(browser, f"{served.address}/#compare=promptrank", width=width, height=844) as visit:
        page = visit.page
        ready(page)
        assert fits()
        find(page, SHORT + " " + "W" * 300)
        assert fits()
        page.locator(".mv-row:visible").first.click()
        page.wait_for_selector(".mv-card:visible")
        assert fits()
        assert in_sight(page.locator(".mv-o.is-active").first, page.locator(".mv-card"))
        if width < 720:
            page.keyboard.press("Escape")
            assert page.locator(".mv-panel:visible h3").text_content() == "MUDY"
            page.get_by_role("button", name="PromptRank", exact=True).click()
            assert page.locator(".mv-panel:visible h3").text_content() == "PromptRank"
        page.click("#edit")
        put(page, "word " * 70_000)
        page.click("#run")
        assert notice(page)
        assert fits()


def test_on_paper_both_methods_are_there_and_no_controls(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    page.select_option("#compare", "textrank")
    find(page, SHORT)
    page.emulate_media(media="print")
    assert [page.locator(".mv-panel").nth(index).is_visible() for index in (0, 1)] == [True, True]
    assert [page.locator(name).is_visible() for name in ("#bar", ".actions", "#theme")] == [False, False, False]


# --- The numbers ------------------------------------------------------------------------------------------------------


def test_javascript_rounds_and_colours_as_python_does(visit: Visit) -> None:
    dice = random.Random(7)
    numbers = [dice.uniform(-9, 9) * 10 ** dice.randint(-6, 6) for _ in range(3000)]
    ties = [sign * n / 2**k for sign in (-1, 1) for k in (1, 5, 9) for n in range(100_001, 160_001, 997)]
    numbers += [*ties, 0.0, -0.0, 1.03125, -1.03125, 100005.0, 100015.0, 1e-300]
    assert visit.page.evaluate("all => all.map(MudyView.rounded)", numbers) == [rounded(number) for number in numbers]
    for scores in (numbers, ties[:50] * 3, [1.0], []):
        assert visit.page.evaluate("all => MudyView.heat(all)", scores) == heat(scores)


@pytest.mark.parametrize("outside", [False, True])
def test_javascript_recombines_the_parts_as_the_method_does(visit: Visit, outside: bool) -> None:
    dice = random.Random(11)
    settings = {"lambda_": 2.0, "lambda_outside": outside, "recurrence": 0.5}
    for _ in range(50):
        place = {
            "p": dice.uniform(-9, -0.1),
            "AS": dice.uniform(0, 2.5),
            "lambda": dice.uniform(0.1, 2.0),
            "m": dice.randint(1, 9),
        }
        value = dice.uniform(0, 5)
        found = visit.page.evaluate(
            "([place, settings, value]) => MudyView.recombined(place, settings, value)", [place, settings, value]
        )
        weight = place["lambda"] * value / 2.0
        expected = final_score(place["p"], place["AS"], weight, outside=outside) / (1 + 0.5 * math.log(place["m"]))
        assert found == pytest.approx(expected, rel=1e-14)
