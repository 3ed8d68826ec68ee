"""Links between the site's pages and files of the repository, valid in both places.

A page links to any file by its path in the repository, so that the link works where the repository is read. What is
linked and does not lie among the pages becomes part of the site under its own path: Markdown as a page, a folder as a
page that shows its files, all else as a file.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "pages"
_FENCE = re.compile(r"^ *(`{3,}|~{3,})", re.MULTILINE)
#: The target of ``[text](target)`` or ``![text](target)``; targets with spaces are none.
_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=(?: \"[^\"]*\")?\))")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#|/")
_SHOWN = {".py": "python", ".yaml": "yaml", ".csv": "text", ".txt": "text", ".json": "json", ".sh": "sh"}
_MOST_SHOWN = 20_000


def prose(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the text in pieces, each with whether it is prose and not a fenced block."""
    fence = ""
    piece: list[str] = []
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if found and not fence:
            yield True, "".join(piece)
            fence, piece = found[1], [line]
        elif found and fence and found[1].startswith(fence):
            yield False, "".join([*piece, line])
            fence, piece = "", []
        else:
            piece.append(line)
    yield not fence, "".join(piece)


def targets(text: str) -> Iterator[str]:
    """Yield what a Markdown text links to within the repository, with anchors."""
    for is_prose, piece in prose(text):
        if is_prose:
            yield from (found[1] for found in _LINK.finditer(piece) if not _ELSEWHERE.match(found[1]))


def site_uri(path: Path) -> str:
    """Return where a file or folder of the repository stands on the site, as a source path of MkDocs."""
    if path.is_relative_to(PAGES):
        return path.relative_to(PAGES).as_posix()
    if path == ROOT / "README.md":
        return "index.md"
    uri = path.relative_to(ROOT).as_posix()
    return f"{uri}/README.md" if path.is_dir() else uri


def linked(pages: list[Path]) -> list[Path]:
    """Return files and folders outside the pages that these link to, directly or by way of each other."""
    found: dict[Path, None] = {}
    queue = list(pages)
    while queue:
        page = queue.pop()
        for target in targets(page.read_text(encoding="utf-8")):
            path = Path(os.path.normpath(page.parent / target.partition("#")[0]))
            if path in found or path.is_relative_to(PAGES) or path == ROOT / "README.md" or not path.exists():
                continue  # what does not exist MkDocs tells
            found[path] = None
            readme = path / "README.md" if path.is_dir() else path
            if readme.suffix == ".md" and readme.exists():
                queue.append(readme)
    return sorted(found)


def rewritten(text: str, page: Path, uri: str) -> str:
    """Return a page's text with the links that its place on the site needs.

    Args:
        text: the page as it stands in the repository.
        page: its path there; links are relative to its folder.
        uri: its source path on the site.
    """

    def moved(found: re.Match[str]) -> str:
        target, mark, anchor = found[1].partition("#")
        path = Path(os.path.normpath(page.parent / target))
        if _ELSEWHERE.match(found[1]) or not path.exists() or not path.is_relative_to(ROOT):
            return found[1]
        return posixpath.relpath(site_uri(path), posixpath.dirname(uri) or ".") + mark + anchor

    return _in_prose(text, lambda piece: _LINK.sub(moved, piece))


def _in_prose(text: str, change: Callable[[str], str]) -> str:
    return "".join(change(piece) if is_prose else piece for is_prose, piece in prose(text))


def folder_page(folder: Path) -> str:
    """Return a page that shows a folder's text files, the smallest form of an example."""
    parts = [f"# {folder.relative_to(ROOT).as_posix()}\n"]
    for path in sorted(folder.iterdir()):
        language = _SHOWN.get(path.suffix)
        if language and path.stat().st_size <= _MOST_SHOWN:
            parts.append(f"## {path.name}\n\n````{language}\n{path.read_text(encoding='utf-8').rstrip()}\n````\n")
    return "\n".join(parts)
