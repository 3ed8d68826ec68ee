"""The site in a real browser, read from a folder: its search needs neither a server nor a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import Opened
from tests.docs.pages import SITE

pytestmark = pytest.mark.long
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


def test_a_worker_runs_in_a_page_that_is_a_file(opened: Opened, tmp_path: Path) -> None:
    """Messages sent before and after its script is loaded are answered in order."""
    (tmp_path / "shim.js").write_text((SITE / "iframe-worker.js").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "worker.js").write_text("addEventListener('message', async ({ data }) => postMessage(data + 1));")
    (tmp_path / "page.html").write_text(
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>page</title><script src='shim.js'></script>"
        "</head><body><p></p><script>const [worker, shown] = [new Worker('worker.js'), document.querySelector('p')];"
        "worker.addEventListener('message', ({ data }) => {"
        " shown.textContent += `${data};`; if (data < 4) worker.postMessage(data); });"
        "worker.postMessage(1);</script></body></html>"
    )
    opened.page.goto((tmp_path / "page.html").as_uri())
    expect(opened.page.locator("p")).to_have_text("2;3;4;")
    assert opened.errors == []


def test_the_site_loads_its_worker_from_itself() -> None:
    """The plugin offline would load one from the network, unless there is one of this name."""
    settings = (SITE.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert "polyfills: [iframe-worker.js]" in settings and (SITE / "iframe-worker.js").is_file()
