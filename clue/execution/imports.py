"""Imports shared by ranks: done before ranks are forked, they cost time and memory only once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from clue.files import LONGEST_TEXT, read_bytes

#: Large packages that many programs use and whose import has no side effects.
PACKAGES = frozenset({"numpy", "scipy", "pandas", "sympy", "networkx"})
#: Packages that libraries import although programs do not.
_ALWAYS = ("numpy",)


def shared_imports(command: Sequence[str]) -> tuple[str, ...]:
    """Return the modules of known packages that a program's file imports; none if the file cannot be read."""
    program = Path(command[0]) if command else None
    if program is None or not program.is_file():
        return _ALWAYS
    try:
        tree = ast.parse(read_bytes(program, most=LONGEST_TEXT))
    except (SyntaxError, ValueError, OSError):
        return _ALWAYS
    found = (name for node in ast.walk(tree) for name in _modules(node) if name.split(".")[0] in PACKAGES)
    return tuple(dict.fromkeys([*_ALWAYS, *found]))


def _modules(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module
        # A name imported from a package may be a submodule; if it is not, its import fails and is ignored.
        yield from (f"{node.module}.{each.name}" for each in node.names if each.name != "*")
