"""A real browser: Debian's Chromium, or whichever is installed. Without one these tests are skipped, and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

_NAMES = ("chromium", "chromium-browser", "google-chrome")
#: Seconds after which what a page should show is missing; long, as others use this computer, too.
PATIENCE = 20.0


@dataclass
class Opened:
    """A page in a browser.

    Attributes:
        page: The page.
        errors: What its console says is wrong.
        asked: The addresses that it asks for.
    """

    page: Page
    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(1000 * PATIENCE)
        self.page.on("console", self._take)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._note)

    def _take(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.errors.append(message.text)

    def _note(self, request: Request) -> None:
        self.asked.append(request.url)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser; while it is there, an event loop runs, so other modules' tests must not find it."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser is installed: none of {', '.join(_NAMES)} is there (apt-get install chromium)")
    # As root Chromium runs without its sandbox or not at all; the pages are our own.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with api.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=[*options, "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Return an empty page."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    yield Opened(context.new_page())
    context.close()
