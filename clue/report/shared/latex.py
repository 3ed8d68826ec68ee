r"""Tables for papers: a ``tabular`` with the rules of booktabs, with all text escaped.

The file is to be included: ``\input{ranking.tex}`` within a ``table``. Notes and warnings stand above
it as comments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clue.printable import printable
from clue.report.shared.cells import cells_of

if TYPE_CHECKING:
    from rich.table import Table

#: Characters that LaTeX interprets or replaces, and their escapes.
_ESCAPES = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "–": "--", "×": r"$\times$", "→": r"$\rightarrow$", "µ": r"$\mu$", "…": r"\dots{}",
    "[": "{[}", "]": "{]}",
})  # fmt: skip


def latex_text(title: str, table: Table | None, beside: Mapping[str, Sequence[str]]) -> str:
    """Return a table as LaTeX.

    Args:
        title: The title.
        table: The table, or ``None`` if there is nothing to show.
        beside: Lines that belong to the table, by their heading.
    """
    told = (f"{heading}: {each}" for heading, lines in beside.items() for each in lines)
    remarks = [title, "needs \\usepackage{booktabs}", *told]
    return "".join(f"% {printable(each)}\n" for each in remarks) + ("" if table is None else _tabular(table))


def _tabular(table: Table) -> str:
    cells = cells_of(table)
    sections = ["".join(map(_row, section)) for section in cells.sections]
    # Space separates sections if any has several lines.
    between = "\\addlinespace\n" if any(len(section) > 1 for section in cells.sections) else ""
    return (
        f"\\begin{{tabular}}{{{''.join('r' if right else 'l' for right in cells.right)}}}\n"
        f"\\toprule\n{_row(cells.columns)}\\midrule\n{between.join(sections)}\\bottomrule\n\\end{{tabular}}\n"
    )


def _row(texts: Sequence[str]) -> str:
    return f"{' & '.join(map(_cell, texts))} \\\\\n"


def _cell(text: str) -> str:
    """Return a cell; leading blanks become an indent, as the line belongs to the one above."""
    return "\\quad " * text.startswith(" ") + escaped(text.lstrip())


def escaped(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    return text.translate(_ESCAPES)
