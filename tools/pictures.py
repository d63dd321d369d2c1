"""Make the pictures of the README and the site: `python -m tools.pictures` in the root, with the extra [dev].

    docs/page.png         the service's page, with two methods
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

from tests.browser import launched, visiting
from tests.served import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TEXT = ROOT / "examples" / "floodplain.txt"
PHRASE = "Hydrologists"  # the card that is open: of the method that is compared, whose card is small


def page(browser: Browser, name: str, options: tuple[str, ...], compare: str, card: bool, **size: Any) -> None:
    """The service's page with the answer for the text."""
    with (
        TemporaryDirectory() as folder,
        serving(Path(folder), "--method", "mudyplus", *options) as served,
        visiting(browser, f"{served.address}/#method=mudyplus{compare}", **size) as visit,
    ):
        shown = visit.page
        shown.wait_for_selector("html[data-ready]")
        shown.fill("#text", TEXT.read_text(encoding="utf-8"))
        shown.click("#run")
        shown.wait_for_selector("#view[data-ready]", state="attached", timeout=120_000)
        if card:
            shown.locator(".mv-panel").first.get_by_text(PHRASE, exact=True).first.hover()
            shown.wait_for_selector(".mv-card:visible")
        else:
            shown.locator("#view").scroll_into_view_if_needed()
        shown.wait_for_timeout(300)  # until rows have come to rest
        shown.screenshot(path=DOCS / name)


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
        explorer(browser)
        with visiting(browser, (DOCS / "floodplain.html").as_uri(), height=860) as visit:
            visit.page.wait_for_timeout(500)
            visit.page.screenshot(path=DOCS / "report.png")
        page(browser, "page-phone.png", ("--speed", "quick"), "", card=False, width=390, height=800)
        page(browser, "page.png", (), "&compare=mudy", card=True, height=860)


if __name__ == "__main__":
    main()
