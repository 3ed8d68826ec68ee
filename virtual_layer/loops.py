"""Finds the loops and branches around a place in a function, by its source."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from types import CodeType
from typing import Any

#: A span of source: first line and column, last line and column; columns may be unknown.
_Span = tuple[tuple[int, float], tuple[int, float]]
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
#: Python's names for the functions that it makes from expressions.
_NAMES = {
    ast.Lambda: "<lambda>",
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}


class Loops:
    """Loops and branches, by the source of each file."""

    def __init__(self, began: int) -> None:
        """Begin.

        Args:
            began: When the program began, ns since 1970: source written later is not what was run.
        """
        self._began = began
        self._scopes: dict[str, dict[tuple[str, int], list[ast.AST]]] = {}

    def around(self, code: CodeType, file: str, at: int, line: int) -> tuple[int, ...]:
        """Return the lines of the loops around a position in a function, outermost first; empty without the source."""
        span = _span(code, at, line)
        return tuple(
            node.lineno for node in self._nodes(code, file, span) if any(_holds(each, span) for each in _repeated(node))
        )

    def branches(self, code: CodeType, file: str, at: int, line: int) -> tuple[tuple[int, int], ...]:
        """Return the line of each ``if`` around a position in a function, outermost first, and its branch."""
        span = _span(code, at, line)
        return tuple(
            (node.lineno, which)
            for node in self._nodes(code, file, span)
            if isinstance(node, ast.If)
            for which, branch in enumerate((node.body, node.orelse))
            if any(_holds(each, span) for each in branch)
        )

    def _nodes(self, code: CodeType, file: str, span: _Span) -> Iterator[Any]:
        """Yield the nodes of a function around a span, outermost first; none without the source."""
        if file not in self._scopes:
            self._scopes[file] = _scopes(file, self._began)
        first = 0 if code.co_name == "<module>" else code.co_firstlineno
        scopes = self._scopes[file].get((code.co_name, first), [])
        node: Any = next((each for each in scopes if isinstance(each, ast.Module) or _holds(each, span)), None)
        # A function within this one has its own loops, even if both are on one line. Since Python 3.11, columns
        # distinguish them.
        others = () if hasattr(code, "co_positions") else _FUNCTIONS + _COMPREHENSIONS
        while node is not None:
            yield node
            # Nodes without a place of their own, such as the case of a match, contain nodes with one.
            node = next((each for each in _placed(node) if _holds(each, span) and not isinstance(each, others)), None)


def _scopes(file: str, began: int) -> dict[tuple[str, int], list[ast.AST]]:
    """Return the functions of a file by name and first line."""
    found: dict[tuple[str, int], list[ast.AST]] = {}
    try:
        if os.stat(file).st_ctime_ns >= began:  # noqa: PTH116
            return found
        with open(file, "rb") as source:  # noqa: PTH123
            tree = ast.parse(source.read())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            found["<module>", 0] = [node]
        elif isinstance(node, _FUNCTIONS + _COMPREHENSIONS):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(each.lineno for each in decorators)])
            # Of several functions on one line, the innermost comes last, and counts.
            found.setdefault((_NAMES.get(type(node)) or node.name, first), []).insert(0, node)  # type: ignore[union-attr]
    return found


def _span(code: CodeType, at: int, line: int) -> _Span:
    """Return the span of source of an instruction: since Python 3.11 to the column."""
    if hasattr(code, "co_positions"):
        for index, (first, last, begin, end) in enumerate(code.co_positions()):
            if index == at // 2 and None not in (first, last, begin, end):
                return (first, begin), (last, end)
    return (line, float("nan")), (line, float("nan"))


def _holds(node: Any, span: _Span) -> bool:
    """Tell whether a span lies within a node; where its columns are unknown, lines decide."""
    (first, begin), (last, end) = span
    if not node.lineno <= first <= last <= node.end_lineno:
        return False
    return not (first == node.lineno and begin < node.col_offset) and not (
        last == node.end_lineno and end > node.end_col_offset
    )


def _repeated(node: ast.AST) -> list[ast.AST]:
    """Return the repeated parts of a loop; none for other nodes."""
    if isinstance(node, ast.For | ast.AsyncFor):
        return [node.target, *node.body]
    if isinstance(node, ast.While):
        return [node.test, *node.body]
    if isinstance(node, _COMPREHENSIONS):
        first, *others = node.generators
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return [
            *parts,
            first.target,
            *first.ifs,
            *(part for each in others for part in (each.target, each.iter, *each.ifs)),
        ]
    return []


def _placed(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if hasattr(child, "lineno"):
            yield child
        else:
            yield from _placed(child)
