"""What tests of the page share: how to fill it in, and what it should show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mudy.extraction.explanation import heat
from tests.served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

EXAMPLE = (Path(__file__).parents[1] / "examples" / "floodplain.txt").read_text()


TEXT = "\n\n".join(EXAMPLE.split("\n\n")[:4])  # a title and three paragraphs: long enough for lambda to count


SHORT = "A family of beavers built three dams.\nThe river fills the ponds behind the dams; salmon grow in the ponds."


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
    return page.locator(".mv-ranking").nth(ranking).locator(".mv-phrase").all_text_contents()


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
      if (mark) found.push([at, at + [...child.data].length, mark.className, mark.segment.owner.from]);
      at += [...child.data].length;
    } else walk(child, child.classList?.contains('mv-occurrence') ? child : mark);
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
    """The classes that every place should have, by our own scale; only the top phrases are coloured."""
    steps = [min(7, int(share * 8)) for share in heat([place["score"] for place in places(method)])]
    ranks = [(k["rank"], index == 0) for k in method["keyphrases"] for index, _ in enumerate(k["occurrences"])]
    found = {}
    for place, step, (rank, best) in zip(places(method), steps, ranks, strict=True):
        colour = f" heat-{step} is-top{' is-best' if best else ''}" if rank <= top_n else ""
        found[place["start"], place["end"]] = f"mv-occurrence{colour}"
    return found


def notice(page: Page) -> str:
    page.wait_for_selector("#notice:not([hidden])")
    return page.locator("#notice").text_content() or ""


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


def answer(page: Page, methods: list[dict[str, Any]]) -> None:
    """Let the service answer with these methods, whatever it is asked."""
    body = json.dumps({"source": None, "gold": [], "methods": methods})
    page.route("**/v1/explain", lambda route: route.fulfill(status=200, content_type="application/json", body=body))
