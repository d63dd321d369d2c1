"""A real browser: Debian's chromium, driven by Playwright. Without either, tests are skipped and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.served import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

QUIET = (  # a browser that asks for nothing but the pages it is sent to
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
OWN = {"data", "blob", "about", "file"}  # addresses that leave no machine


@dataclass
class Visit:
    """A page, with all that it complained of and every other host that it asked."""

    page: Page
    home: str | None  # the one host that it may ask
    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on("console", self._told)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self._asked(request.url))

    def _told(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _asked(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in OWN and parts.netloc != self.home:
            self.strangers.append(address)

    def failed_requests(self) -> list[str]:
        """What the browser itself says of answers that are errors; from here on it is forgotten."""
        told = [error for error in self.errors if error.startswith("Failed to load resource")]
        self.errors = [error for error in self.errors if error not in told]
        return told


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser, or a skipped test."""
    path = os.environ.get("MUDY_CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium here; install Debian's, or name one in MUDY_CHROMIUM")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visiting(
    browser: Browser, address: str, *, width: int = 1280, height: int = 800, dark: bool = False, **options: Any
) -> Iterator[Visit]:
    """Open a page in a window of its own, which must complain of nothing and ask no other host until the visit ends."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
    )
    context.set_default_timeout(1000 * PATIENCE)
    try:
        visit = Visit(context.new_page(), urlsplit(address).netloc or None)
        visit.watch()
        visit.page.goto(address)
        yield visit
        assert visit.errors == []
        assert visit.strangers == []
    finally:
        context.close()
