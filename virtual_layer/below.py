"""MPI below Python: signs that a program calls MPI from C or Fortran, past mpi4py, where calls cannot be recorded.

=================  ====================================================================================================
sign               what shows it
=================  ====================================================================================================
a linked object    a loaded object imports functions of MPI from another one: petsc4py, h5py with MPI, GPAW, user code
a lookup           ``ctypes`` looked up a function of MPI in any library
a handle           ``MPI._addressof`` or ``MPI._handleof`` of a communicator, window or file: only C code needs them
=================  ====================================================================================================

An object may be linked and never call MPI. Not detected: a library that was closed again, and functions that cffi or
numba look up in the MPI library themselves, unless they ask mpi4py for a handle, as numba-mpi does.

Functions are patched rather than audited by a hook: with an audit hook ``id`` takes three times as long and
``copy.deepcopy`` twice as long, and that would count in the bursts.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable
from functools import wraps
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from typing import Any

from virtual_layer.elf import MPI_FUNCTION, loaded_objects, mpi_symbols

#: Names by which an MPI library, or a tool in front of one, is recognised: it defines at least one of them.
_ENTRIES = frozenset({"MPI_Init", "PMPI_Init", "mpi_init_", "mpi_init_f08_"})
#: Functions that only query the library, at any time. mpi4py itself looks some of them up by ctypes.
_HARMLESS = frozenset({
    "MPI_Initialized", "MPI_Finalized", "MPI_Get_version", "MPI_Get_library_version", "MPI_Abi_get_version",
})  # fmt: skip
#: Parts of MPI libraries that define none of these: bindings for C++, Cray's layer for GPUs, components of Open MPI.
_PARTS = re.compile(r"libmpi(ch)?_?cxx\b.*|libmpi_gtl_.*|mca_\w+\.so")
#: Number of objects that a message names one by one.
_NAMED = 3
_GIVEN = ("_addressof", "_handleof")


def calls_mpi(path: str) -> bool:
    """Return whether an object can call MPI and belongs neither to mpi4py nor to the MPI library."""
    file = Path(path)
    if file.parent.name == "mpi4py" or _PARTS.fullmatch(file.name):
        return False
    symbols = mpi_symbols(path)
    return bool(symbols.wanted - _HARMLESS) and not symbols.defined & _ENTRIES


class Objects:
    """The loaded objects that can call MPI; each file is examined once.

    Attributes:
        found: Their paths at the last look.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self._seen: set[str] = set()

    def look(self) -> None:
        """Find the objects loaded since the last look."""
        loaded = loaded_objects()
        self.found += [path for path in sorted(loaded - self._seen, key=_known_first) if calls_mpi(path)]
        self._seen |= loaded


def _known_first(path: str) -> tuple[bool, str]:
    """Sort Python's extension modules, which users know by name, before the libraries that these are linked to."""
    return not path.endswith(tuple(EXTENSION_SUFFIXES[:-1])), path


def name_objects(paths: Iterable[str]) -> str:
    """Name a few objects and count the rest."""
    return name_some([Path(path).name for path in paths])


def name_some(names: list[str]) -> str:
    """Name the first few and count the rest."""
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


class Signs:
    """The signs so far that this program calls MPI below Python.

    Attributes:
        objects: Loaded objects.
        looked_up: Functions that ``ctypes`` was asked for, in order.
        given: Functions of mpi4py that have given out handles, in order.
    """

    def __init__(self) -> None:
        self.objects = Objects()
        self.looked_up: dict[str, None] = {}
        self.given: dict[str, None] = {}

    def watch(self) -> None:
        """Note lookups from now on."""
        on_lookup(self.looked_up.setdefault)

    def watch_handles(self, mpi: Any) -> None:
        """Note handles that mpi4py gives out from now on."""
        for name in _GIVEN:
            if hasattr(mpi, name):
                setattr(mpi, name, on_handle(mpi, name, self.given.setdefault))

    def note(self) -> str:
        """Return a warning to readers of the recording, or ``""`` if there are no signs."""
        shown = self.shown()
        if not shown:
            return ""
        return (
            "MPI may be called from C or Fortran, past mpi4py: such calls are not recorded, and the CPU time in them "
            f"counts as computation ({shown})"
        )

    def shown(self) -> str:
        """Return the signs in words, or ``""``."""
        self.objects.look()
        shown = []
        if self.objects.found:
            objects = name_objects(self.objects.found)
            shown.append(f"{objects} {'is' if len(self.objects.found) == 1 else 'are'} linked to MPI")
        if self.looked_up:
            shown.append(f"ctypes looked up {name_some([*self.looked_up])}")
        if self.given:
            shown.append(f"MPI.{name_some([*self.given])} gave handles to C")
        return "; ".join(shown)


def on_lookup(then: Callable[[str], object]) -> None:
    """Call a function with the name of each MPI function that ``ctypes`` is asked for, before ``ctypes`` answers."""
    plain = ctypes.CDLL.__getitem__

    @wraps(plain)
    def look_up(library: ctypes.CDLL, name: Any) -> Any:
        if isinstance(name, str) and MPI_FUNCTION.fullmatch(name) and name not in _HARMLESS:
            then(name)
        return plain(library, name)

    ctypes.CDLL.__getitem__ = look_up  # type: ignore[method-assign]


def on_load(then: Callable[[], object]) -> None:
    """Call a function after an extension module or a library of ``ctypes`` was loaded, before the program calls it."""
    create, opened = ExtensionFileLoader.create_module, ctypes.CDLL.__init__

    @wraps(create)
    def create_module(*args: Any, **kwargs: Any) -> Any:
        module = create(*args, **kwargs)
        then()
        return module

    @wraps(opened)
    def open_library(*args: Any, **kwargs: Any) -> None:
        opened(*args, **kwargs)
        then()

    ExtensionFileLoader.create_module = create_module  # type: ignore[method-assign]
    ctypes.CDLL.__init__ = open_library  # type: ignore[method-assign]


def on_handle(mpi: Any, name: str, then: Callable[[str], object]) -> Callable[[Any], Any]:
    """Return a wrapper of an mpi4py function that gives out handles; it calls ``then`` with the function's name."""
    plain = getattr(mpi, name)
    telling = (mpi.Comm, mpi.Win, mpi.File)

    @wraps(plain)
    def give(handle: Any) -> Any:
        if isinstance(handle, telling):
            then(name)
        return plain(handle)

    return give
