"""A real browser: Debian's Chromium or another installed one; without any, these tests are skipped."""

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
#: Seconds to wait for the contents of a page; long, as others use this computer as well.
PATIENCE = 20.0


@dataclass
class Opened:
    """A page in a browser.

    Attributes:
        page: The page.
        errors: Errors and warnings on its console.
        asked: Addresses that it requested.
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
    """Return a browser; its event loop runs meanwhile, so tests of other modules must not see it."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser is installed: none of {', '.join(_NAMES)} is there (apt-get install chromium)")
    # As root, Chromium runs only without its sandbox; the pages are our own.
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
