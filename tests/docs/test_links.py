"""Links between files of the repository lead to a file and a heading that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from docs.site.links import folder_page, linked, prose, rewritten, targets
from docs.site.tables import labelled
from tests.docs.pages import PAGES, ROOT, SITE

FILES = sorted(
    {
        *PAGES,
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(p for f in ("benchmarks", "machines", "scenarios") for p in (ROOT / f).rglob("*.md")),
    }
)
#: Created when the site is built.
GENERATED = re.compile(r"reference/|figures/")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, formed like those of GitHub and MkDocs."""
    found: set[str] = set()
    for is_prose, piece in prose(page.read_text(encoding="utf-8")):
        for heading in re.findall(r"(?m)^#+ (.+)$", piece) if is_prose else ():
            words = re.sub(r"[^\w\s-]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()).strip()
            found.add(re.sub(r"\s+", "-", words))
    return frozenset(found)


@pytest.mark.parametrize("page", FILES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page: Path) -> None:
    """Relative links are checked, and web addresses are not."""
    text = page.read_text(encoding="utf-8")
    for target in targets(text):
        path, _, anchor = target.partition("#")
        if page.is_relative_to(SITE) and GENERATED.search(path):
            continue  # checked by mkdocs build --strict
        there = (page.parent / path).resolve()
        assert there.exists(), f"{page.relative_to(ROOT)}: {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page.relative_to(ROOT)}: {target}"
    for anchor in re.findall(r"\]\(#([^)]+)\)", text):
        assert anchor in anchors(page), f"{page.relative_to(ROOT)}: #{anchor}"


def test_links_are_rewritten_for_the_site() -> None:
    """Links to pages, other files and folders are rewritten; code, web addresses and missing targets stay."""
    page = SITE / "how-to" / "models.md"
    text = "[a](../limits.md#memory) [b](../../../machines/README.md) [c](../../../README.md) ![d](https://x.y/z.png)\n"
    assert rewritten(text, page, "how-to/models.md") == (
        "[a](../limits.md#memory) [b](../machines/README.md) [c](../index.md) ![d](https://x.y/z.png)\n"
    )
    code = "```text\n[b](../../../machines/README.md)\n```\n"
    assert rewritten(code, page, "how-to/models.md") == code
    assert rewritten("[x](nowhere.md)\n", page, "how-to/models.md") == "[x](nowhere.md)\n"
    folder = rewritten("[x](../examples/record-small)\n", SITE.parent / "x.md", "x.md")
    assert folder == "[x](examples/record-small/README.md)\n"


def test_what_pages_link_to_becomes_part_of_the_site() -> None:
    """Linked files of the repository join the site, also indirectly, but not pages or the README again."""
    found = linked(sorted(SITE.rglob("*.md")))
    assert ROOT / "machines" / "README.md" in found
    assert not any(path.is_relative_to(SITE) or path == ROOT / "README.md" for path in found)
    assert "## wide.yaml" in folder_page(ROOT / "examples" / "record-small")


def test_cells_know_the_headings_of_their_columns() -> None:
    """Each cell has the heading of its column, and a cell beyond the last heading has an empty one."""
    table = "<table><tr><th>a &lt; <code>b</code></th></tr><tr><td>1</td><td>2</td></tr></table>"
    cells = '<td data-label="a &lt; b">1</td><td data-label="">2</td>'
    assert labelled(table) == f"<table><tr><th>a &lt; <code>b</code></th></tr><tr>{cells}</tr></table>"


def test_the_navigation_has_every_page() -> None:
    """All pages are in the navigation except single decisions, which are there by their folder."""
    navigation = (SITE.parent / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    missing = [
        uri
        for uri in (page.relative_to(SITE).as_posix() for page in SITE.rglob("*.md"))
        if not re.search(rf"[ :-] {re.escape(uri)}$", navigation, re.MULTILINE) and not re.match(r"decisions/\d", uri)
    ]
    assert not missing
