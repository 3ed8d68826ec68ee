"""The substitution table covers the catalogue of calls, so no call communicates outside the virtual layer."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any
from unittest.mock import MagicMock

import pytest
from mpi4py import MPI

from virtual_layer.catalogue import CALLS
from virtual_layer.substitutes.table import MODULES

#: Calls of the catalogue that concern one process alone, or objects that only refused calls can make.
LOCAL = {
    "": "Attach_buffer Detach_buffer Flush_buffer Iflush_buffer",
    "Comm": "Attach_buffer Detach_buffer Flush_buffer Iflush_buffer free",  # free calls Free
    "Session": "Init Finalize Attach_buffer Detach_buffer Flush_buffer Iflush_buffer",
    "Grequest": "Start Complete complete",  # the program completes them itself
    "Win": "Attach Detach free",
}
NAMES = [name for module in MODULES for table in ("CALLS", "QUERIES") for name in getattr(module, table, {})]


def test_every_call_has_one_substitute() -> None:
    """No two modules substitute the same call."""
    assert [name for name, times in Counter(NAMES).items() if times > 1] == []


def test_every_call_of_the_catalogue_is_substituted_or_local() -> None:
    """Every call of the catalogue is substituted, local, or of a file, which only one process can open."""
    local = {(of, name) for of, names in LOCAL.items() for name in names.split()}
    left = {(call.type, call.name) for call in CALLS if call.name and call.type != "File"} - {*NAMES} - local
    assert left == set()


@pytest.mark.parametrize("name", NAMES, ids=".".join)
def test_arguments_have_mpi4pys_names(name: tuple[str, str]) -> None:
    """A program may pass any argument by its name."""
    found = list(functions_of(made(name)))
    parameters = [inspect.signature(each).parameters for each in found]
    takes = {parameter for each in parameters for parameter in each} - {"self", "cls", "layer", "comm"}
    if takes - {"args", "kwargs", "_args", "_kwargs", "original", "parent"}:  # others pass on whatever they get
        assert set(names_of(*name)) <= takes | {"comm"}


@pytest.mark.parametrize("name", NAMES, ids=".".join)
def test_arguments_that_mpi4py_has_defaults_for_may_be_left_out(name: tuple[str, str]) -> None:
    """A program may leave out what it may leave out without clue."""
    substitute = made(name)
    if isinstance(substitute, FunctionType):
        takes = inspect.signature(substitute).parameters.values()
        needed = {each.name for each in takes if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD}
        assert needed & optional_of(*name) == set()


def made(name: tuple[str, str]) -> Any:
    """Return the substitute of a call, made for a layer that does nothing."""
    make = next(table[name] for module in MODULES for table in tables(module) if name in table)
    return make(MagicMock(), lambda *_args, **_kwargs: None)


def tables(module: Any) -> list[dict[tuple[str, str], Any]]:
    """Return the tables of a module."""
    return [getattr(module, table, {}) for table in ("CALLS", "QUERIES")]


def names_of(of: str, name: str) -> list[str]:
    """Return the names of a call's arguments as mpi4py documents them; none for an attribute or a missing call."""
    return [each.arg for each in documented(of, name).args if each.arg not in {"self", "cls"}]


def optional_of(of: str, name: str) -> set[str]:
    """Return the names of a call's arguments that mpi4py has defaults for: the last ones."""
    names = names_of(of, name)
    return {*names[len(names) - len(documented(of, name).defaults) :]}


def documented(of: str, name: str) -> ast.arguments:
    """Return the arguments of a call as mpi4py documents them; none for an attribute or a missing call."""
    call = getattr(getattr(MPI, of, None) if of else MPI, name, None)
    text = str(call.__doc__).partition("\n")[0] if callable(call) else ""
    signature = text[text.find("(") : text.rfind(" ->")] if " ->" in text else ""
    (defined,) = ast.parse(f"def call{signature or '()'}: pass").body
    assert isinstance(defined, ast.FunctionDef)
    return defined.args


def functions_of(found: Callable[..., Any]) -> Iterator[FunctionType]:
    """Yield a substitute and the functions that it calls, as far as they are its variables."""
    if isinstance(found, FunctionType) and "substitutes" in found.__code__.co_filename:
        yield found
        for cell in found.__closure__ or ():
            yield from functions_of(cell.cell_contents)


def test_names_of_arguments_are_documented() -> None:
    """The names are found for calls with arguments, so the test above compares something."""
    assert names_of("Comm", "isend") == ["obj", "dest", "tag"]
    assert names_of("Request", "Waitany") == ["requests", "status"]
    assert sum(bool(names_of(*name)) for name in NAMES) > 200
