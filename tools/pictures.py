"""Make the pictures of the README and the site: `python -m tools.pictures` in the root, with the extra [dev].

    docs/keyphrases.png   a text with its keyphrases, and their list
    docs/page.png         the service's page, with the card of a phrase
    docs/page-phone.png   the same on a phone
    docs/floodplain.html  a report
    docs/report.png       how a browser shows it
    docs/explorer.png     the explorer of a corpus

Pages and answers are real; the fonts are those of the machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mudy import Extractor
from tests.browser import launched, visiting
from tests.served import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TEXT = ROOT / "examples" / "floodplain.txt"
PHRASE = "flood"  # whose card is open


def page(browser: Browser, name: str, options: tuple[str, ...], card: bool, **size: Any) -> None:
    """The service's page with the answer for the text."""
    with (
        TemporaryDirectory() as folder,
        serving(Path(folder), "--method", "mudyplus", *options) as served,
        visiting(browser, f"{served.address}/#method=mudyplus", **size) as visit,
    ):
        shown = visit.page
        shown.wait_for_selector("html[data-ready]")
        shown.fill("#text", TEXT.read_text(encoding="utf-8"))
        shown.click("#run")
        shown.wait_for_selector("#view[data-ready]", state="attached", timeout=120_000)
        if card:
            shown.locator(".mv-text").get_by_text(PHRASE, exact=True).first.hover()
            shown.wait_for_selector(".mv-card:visible")
        else:
            shown.locator("#view").scroll_into_view_if_needed()
            shown.mouse.move(0, 0)  # so that no row is marked
        shown.wait_for_timeout(300)  # until rows have come to rest
        shown.screenshot(path=DOCS / name)


def keyphrases(browser: Browser) -> None:
    """The result of the README's Python: text and list, without what stands above them in a report."""
    (number,) = re.findall(r"extract\(text, top_n=(\d+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    result = Extractor().extract((ROOT / "examples" / "report.txt").read_text(encoding="utf-8"), int(number))
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        report.write_text(result.to_html(), encoding="utf-8")
        with visiting(browser, report.as_uri(), width=1000, height=1200, device_scale_factor=2) as visit:
            shown = visit.page
            shown.wait_for_selector(".mv-list")
            shown.evaluate("document.querySelector('.mv-head').remove()")
            layout = shown.locator(".mv-layout").bounding_box()
            assert layout is not None
            top, height = layout["y"] + 8, layout["height"] + 8  # without the rule above
            shown.screenshot(path=DOCS / "keyphrases.png", clip={"x": 0, "y": top, "width": 985, "height": height})


def explained() -> None:
    """The report, by the command that the gallery shows."""
    gallery = (DOCS / "gallery.md").read_text(encoding="utf-8")
    for command in re.findall(r"^mudy explain .* --html .*$", gallery, re.MULTILINE):
        subprocess.run(f"{sys.executable} -m {command}", shell=True, cwd=ROOT, check=True)
    (ROOT / "floodplain.html").replace(DOCS / "floodplain.html")


def explorer(browser: Browser) -> None:
    """The explorer of the tickets, by the command that its page shows."""
    shown = (DOCS / "trends-and-comparison.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^mudy corpus .* --explore .*$", shown, re.MULTILINE)
    with TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        subprocess.run(f"{sys.executable} -m {command}", shell=True, cwd=folder, check=True)
        with visiting(browser, (Path(folder) / "tickets.html").as_uri() + "#2") as visit:
            visit.page.wait_for_selector("html[data-ready]")
            visit.page.screenshot(path=DOCS / "explorer.png")


def main() -> None:
    explained()
    with launched() as browser:
        keyphrases(browser)
        explorer(browser)
        with visiting(browser, (DOCS / "floodplain.html").as_uri(), height=860) as visit:
            visit.page.wait_for_timeout(500)
            visit.page.screenshot(path=DOCS / "report.png")
        page(browser, "page-phone.png", ("--speed", "quick"), card=False, width=390, height=800)
        page(browser, "page.png", (), card=True, height=940)


if __name__ == "__main__":
    main()
