"""What a page asks its reader to type: files, commands, programs, and the reasons why some are not tested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "pages"
#: Pages whose commands are run.
PAGES = sorted([ROOT / "README.md", *SITE.rglob("*.md"), *(ROOT / "examples").rglob("*.md")])

_FENCE = re.compile(r"(?P<fence>`{3,})(?P<language>[a-z]*)(?: title=\"(?P<title>[^\"]+)\")?\s*$")
_MARK = re.compile(r"<!-- (?P<kind>not run|command|file): (?P<text>.*) -->\s*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page that a reader types or saves.

    Attributes:
        line: Its line in the page, from 1.
        language: The language of its fence, or ``setup`` for commands in a comment that prepare for the page.
        text: Its content.
        title: The name of the file that it shows, if it shows one.
        not_run: The reason why no test runs it; empty if a test does.
    """

    line: int
    language: str
    text: str
    title: str = ""
    not_run: str = ""

    def commands(self) -> list[str]:
        """Return the commands of a block, with continued lines joined and without comments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line for line in map(str.strip, lines) if line and not line.startswith("#")]


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in order, and with them the files of other pages that it names.

    Two comments are meant for tests: ``<!-- not run: REASON -->`` before a block, and ``<!-- setup`` with a command on
    each line up to ``-->``. ``<!-- file: NAME from PAGE -->`` stands for the block with that title in another page.
    """
    lines = page.read_text(encoding="utf-8").splitlines()
    reason, i = "", 0
    while i < len(lines):
        start = i + 1
        if lines[i].strip() == "<!-- setup":
            end = next(j for j in range(i, len(lines)) if lines[j].strip() == "-->")
            yield Block(start, "setup", "\n".join(lines[i + 1 : end]))
            i = end
        elif (mark := _MARK.match(lines[i])) and mark["kind"] == "file":
            name, _, other = mark["text"].partition(" from ")
            yield next(block for block in blocks(page.parent / other) if block.title == name)
        elif mark:
            reason = (
                mark["text"] if mark["kind"] == "not run" else ".ci/run runs it, as it stands, in a fresh environment"
            )
        elif fence := _FENCE.match(lines[i]):
            end = next(j for j in range(i + 1, len(lines)) if lines[j].rstrip() == fence["fence"])
            yield Block(start, fence["language"], "\n".join(lines[i + 1 : end]), fence["title"] or "", reason)
            reason, i = "", end
        elif lines[i].strip():
            reason = ""
        i += 1


def prose(page: Path) -> str:
    """Return a page without its fenced blocks and comments."""
    text = re.sub(r"(?ms)^(`{3,})[^\n]*\n.*?^\1$", "", page.read_text(encoding="utf-8"))
    return re.sub(r"(?s)<!--.*?-->", "", text)
