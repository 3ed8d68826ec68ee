"""What MkDocs calls while it builds the site (``hooks:`` in mkdocs.yml)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.site import figures, reference
from docs.site.links import PAGES, ROOT, folder_page, linked, rewritten, site_uri
from docs.site.tables import labelled

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
#: By source path on the site: where a page stands in the repository.
_homes: dict[str, Path] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the parts of the navigation that are listed by folder (``FOLDER/*``)."""
    made = sorted(reference.pages())
    config.nav = _filled(config.nav, made)
    return config


def _filled(nav: object, made: list[str]) -> object:
    if isinstance(nav, str) and nav.endswith("/*"):
        folder = nav.removesuffix("*")
        here = sorted(path.relative_to(PAGES).as_posix() for path in (PAGES / folder).glob("*.md"))
        return [uri for uri in [*here, *made] if uri.startswith(folder) and not uri.endswith("index.md")]
    if isinstance(nav, list):
        filled = [_filled(each, made) for each in nav]
        return [one for each in filled for one in (each if isinstance(each, list) else [each])]
    if isinstance(nav, dict):
        return {title: _filled(each, made) for title, each in nav.items()}
    return nav


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made here, and what the pages link to elsewhere in the repository."""
    for uri, text in {**reference.pages(), **figures.drawn()}.items():
        files.append(File.generated(config, uri, content=text))
    for path in linked(sorted(PAGES.rglob("*.md"))):
        uri = site_uri(path)
        if path.is_dir() and not (path / "README.md").exists():
            files.append(File.generated(config, uri, content=folder_page(path)))
        elif files.get_file_from_path(uri) is None:
            page = path / "README.md" if path.is_dir() else path
            _homes[uri] = page
            files.append(File.generated(config, uri, abs_src_path=str(page)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Let links lead to the site's pages."""
    uri = page.file.src_uri
    home = _homes.get(uri, PAGES / uri)
    return rewritten(markdown, home, uri) if home.is_relative_to(ROOT) and home.exists() else markdown


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Turn formulas into MathML, which browsers show by themselves, and label the cells of tables."""
    html = _INLINE.sub(lambda found: convert(_unescaped(found[1])), html)
    html = _BLOCK.sub(
        lambda found: f'<div class="formula">{convert(_unescaped(found[1]), display="block")}</div>', html
    )
    return labelled(html)


def _unescaped(formula: str) -> str:
    return formula.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()
