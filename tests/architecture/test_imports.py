"""Imports in the source files, including those for type checkers and those within functions."""

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("clue", "virtual_layer", "benchmarks")


def files_of(*packages: str) -> dict[str, Path]:
    """Return the files of packages by module name."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in packages
        for path in (ROOT / package).rglob("*.py")
    }


#: Fields of a node that hold statements, handlers or cases. Most nodes are expressions, which import nothing, and which
#: `ast.walk` would take seconds to visit.
_WITHIN = ("body", "orelse", "finalbody", "handlers", "cases")


def imported(source: str) -> Iterator[str]:
    """Yield every imported dotted name: modules, and names that are imported from them."""
    nodes: list[ast.AST] = [ast.parse(source)]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, "imports are absolute"
            yield from (f"{node.module}.{each.name}" for each in node.names)
        nodes += [inner for name in _WITHIN for inner in getattr(node, name, ())]


def module_of(name: str, modules: dict[str, Path]) -> str:
    """Return the module of these that a name belongs to, or ``""``."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return the nodes of a cycle, with the first repeated at the end, or nothing if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_files_import_each_other_in_a_circle() -> None:
    """No file imports itself indirectly, so each can be read after those that it needs."""
    files = files_of(*PACKAGES)
    graph = {
        name: {module_of(each, files) for each in imported(path.read_text())} - {name, ""}
        for name, path in files.items()
    }
    assert circle(graph) == []
    assert "clue.errors" in circle(graph | {"clue.errors": {"clue.cli.simulate"}})


def test_the_virtual_layer_imports_of_other_packages_mpi4py_alone() -> None:
    """The virtual layer runs inside the user's program, so it imports only clue, mpi4py and the standard library.

    Other packages would cost time there, and might have another version.
    """
    packages = {
        name.partition(".")[0] for path in files_of("virtual_layer").values() for name in imported(path.read_text())
    }
    assert packages - sys.stdlib_module_names == {"clue", "virtual_layer", "mpi4py"}


@pytest.mark.parametrize("package", sorted(name for name, path in files_of("clue").items() if path.stem == "__init__"))
def test_packages_have_what_they_list(package: str) -> None:
    """All names in a package's ``__all__`` exist, also those that are loaded on first use."""
    module = import_module(package)
    assert [name for name in getattr(module, "__all__", ()) if not hasattr(module, name)] == []
