"""Make docs/page.png, the README's picture: `python -m docs.picture` in the root, with the extras [dev] and [server].

The page is the real one, and so is its answer; the fonts are those of the machine.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.browser import launched, visiting
from tests.served import serving

HERE = Path(__file__).parent
TEXT = HERE.parent / "examples" / "floodplain.txt"
PHRASE = "Hydrologists"  # the card that is open


def main() -> None:
    with (
        TemporaryDirectory() as folder,
        serving(Path(folder), "--method", "mudyplus") as served,
        launched() as browser,
        visiting(browser, f"{served.address}/#method=mudyplus&compare=mudy", height=860) as visit,
    ):
        page = visit.page
        page.wait_for_selector("html[data-ready]")
        page.fill("#text", TEXT.read_text())
        page.click("#run")
        page.wait_for_selector("#view[data-ready]", state="attached", timeout=120_000)
        page.locator(".mv-panel").last.get_by_text(PHRASE, exact=True).first.hover()
        page.wait_for_selector(".mv-card:visible")
        page.wait_for_timeout(300)  # until rows have come to rest
        page.screenshot(path=HERE / "page.png")


if __name__ == "__main__":
    main()
