"""The MPI functions that objects loaded into this process use or define, by their tables of dynamic symbols.

The tables are parsed here because this code runs inside the user's program, which should not get packages that it did
not ask for. The list of needed libraries in an object's header says less: compilers such as Cray's link everything to
MPI, whether it is used or not.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct, error, iter_unpack, unpack_from
from typing import Any, NamedTuple

#: Names of MPI functions in C and Fortran, with those of the profiling interface.
MPI_FUNCTION = re.compile(r"P?MPI_[A-Z]\w*|p?mpi_[a-z]\w*_")
_MAGIC, _DYNAMIC_SYMBOLS, _UNDEFINED = b"\x7fELF\x02", 11, 0
_SECTION, _SYMBOL = "IIQQQQIIQQ", "IBBHQQ"


class Symbols(NamedTuple):
    """Names of MPI's functions in one object.

    Attributes:
        wanted: Names that it takes from other objects.
        defined: Names that it defines itself.
    """

    wanted: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()


class _Loaded(ctypes.Structure):
    """The beginning of the dynamic linker's record of an object."""

    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


_EACH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Loaded), ctypes.c_size_t, ctypes.c_void_p)
# PyDLL keeps Python's lock: otherwise this thread and one that loads an object could wait for each other for ever.
_iterate = ctypes.PyDLL(None).dl_iterate_phdr


def loaded_objects() -> set[str]:
    """Return the files of the objects that the dynamic linker has loaded; takes a tenth of a millisecond."""
    names: set[str] = set()

    def take(loaded: Any, _size: int, _data: Any) -> int:
        names.add(os.fsdecode(loaded.contents.name or b""))
        return 0

    _iterate(_EACH(take), None)
    return {name for name in names if name.startswith("/")}


def mpi_symbols(path: str) -> Symbols:
    """Return the names of MPI's functions in an object; none if it is gone, or not a 64-bit ELF file."""
    # A damaged file cannot have been loaded as an object, so an unreadable file is something else.
    with (
        suppress(OSError, ValueError, IndexError, error),
        Path(path).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        if data[: len(_MAGIC)] == _MAGIC:
            found = set(_symbols(data))
            return Symbols(*(frozenset(name for name, here in found if here is own) for own in (False, True)))
    return Symbols()


def _symbols(data: mmap.mmap) -> Iterator[tuple[str, bool]]:
    """Yield names of MPI's functions, each with whether the object defines it."""
    order = "<" if data[5] == 1 else ">"
    (start,), (size, count) = unpack_from(f"{order}Q", data, 0x28), unpack_from(f"{order}HH", data, 0x3A)
    section = Struct(order + _SECTION)
    sections = [section.unpack_from(data, start + size * index) for index in range(count)]
    for _, kind, _, _, offset, length, link, _, _, _ in sections:
        if kind == _DYNAMIC_SYMBOLS:
            names = data[sections[link][4] : sections[link][4] + sections[link][5]]
            if b"MPI_" in names or b"mpi_" in names:
                yield from _named(names, order, data[offset : offset + length])


def _named(names: bytes, order: str, symbols: bytes) -> Iterator[tuple[str, bool]]:
    for at, _, _, home, _, _ in iter_unpack(order + _SYMBOL, symbols):
        name = names[at : names.index(b"\0", at)].decode(errors="replace")
        if MPI_FUNCTION.fullmatch(name):
            yield name, home != _UNDEFINED
