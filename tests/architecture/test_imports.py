"""Imports as they stand in the files, those for type checkers and those within functions included."""

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
    """Return the files of packages by the names of their modules."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in packages
        for path in (ROOT / package).rglob("*.py")
    }


def imported(source: str) -> Iterator[str]:
    """Yield every name that a source imports, dotted: modules, and what is taken out of them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, "imports are absolute"
            yield from (f"{node.module}.{each.name}" for each in node.names)


def module_of(name: str, modules: dict[str, Path]) -> str:
    """Return the module of ours that a name is in or is; ``""`` if it is in none."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return the nodes of a circle, the first once more at its end; nothing if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_files_import_each_other_in_a_circle() -> None:
    """No file needs, however indirectly, one that needs it: so each can be read after those below it."""
    files = files_of(*PACKAGES)
    graph = {
        name: {module_of(each, files) for each in imported(path.read_text())} - {name, ""}
        for name, path in files.items()
    }
    assert circle(graph) == []
    assert "clue.errors" in circle(graph | {"clue.errors": {"clue.cli.simulate"}})


def test_the_virtual_layer_imports_of_other_packages_mpi4py_alone() -> None:
    """It runs inside the user's program: what it imported there would cost time, and might be of another version."""
    packages = {
        name.partition(".")[0] for path in files_of("virtual_layer").values() for name in imported(path.read_text())
    }
    assert packages - sys.stdlib_module_names == {"clue", "virtual_layer", "mpi4py"}


@pytest.mark.parametrize("package", sorted(name for name, path in files_of("clue").items() if path.stem == "__init__"))
def test_packages_have_what_they_list(package: str) -> None:
    """Names that a package loads on first use are where it says: no type checker follows that."""
    module = import_module(package)
    assert [name for name in getattr(module, "__all__", ()) if not hasattr(module, name)] == []
