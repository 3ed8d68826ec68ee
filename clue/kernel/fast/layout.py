"""The data passed to the engine: the structures of layout.hpp, parsed from there; and its status codes."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_HEADER = Path(__file__).with_name("layout.hpp").read_text("utf-8")
_STRUCTURE = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^    (?:const )?(\w+)(\*?) (\w+);", re.MULTILINE)
#: Type, ``"*"`` of an array, and name of each field, by structure.
_DESCRIBED = {name: _FIELD.findall(body) for name, body in _STRUCTURE.findall(_HEADER)}


class Status(IntEnum):
    """The status codes that functions of the library return."""

    FINE = 0
    NO_MEMORY = 1
    STOPPED = 2
    DEADLOCK = 3
    TOO_MANY = 4
    NO_SUCH_MODEL = 5


class Handed(ctypes.Structure):
    """A structure of numbers and of arrays that live as long as it does."""

    _kinds: dict[str, np.dtype[Any]]

    def __init__(self, **values: int | npt.NDArray[Any] | None) -> None:
        super().__init__()
        self.kept: list[npt.NDArray[Any]] = []
        for name, value in values.items():
            self.give(name, value)

    def give(self, name: str, value: int | npt.NDArray[Any] | None) -> None:
        """Set a number, or pass a contiguous array."""
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous and value.dtype == self._kinds[name], name
            self.kept.append(value)
            value = value.ctypes.data
        setattr(self, name, value)

    def give_rows(self, names: Iterable[str], table: npt.NDArray[Any]) -> None:
        """Pass each row of a contiguous table as an array; only the table is asked for its address, which is slow."""
        assert table.flags.c_contiguous
        self.kept.append(table)
        address, step = table.ctypes.data, table.strides[0]
        for row, name in enumerate(names):
            assert table.dtype == self._kinds[name], name
            setattr(self, name, address + row * step)


def _fields(structure: str, **nested: type[ctypes.Structure]) -> list[tuple[str, Any]]:
    kinds = {"int64_t": ctypes.c_int64, **nested}
    return [(name, ctypes.c_void_p if array else kinds[kind]) for kind, array, name in _DESCRIBED[structure]]


def _kinds(structure: str) -> dict[str, np.dtype[Any]]:
    """Return the element type of each array, without those that C++ allocates for itself."""
    plain = {"Stop": "int64", "double": "float64"}
    entries = {name: plain.get(kind, kind.removesuffix("_t")) for kind, array, name in _DESCRIBED[structure] if array}
    return {name: np.dtype(kind) for name, kind in entries.items() if kind not in _DESCRIBED}


class ProgramLayout(Handed):
    """``clue::Program``."""

    _fields_, _kinds = _fields("Program"), _kinds("Program")


class LoopsLayout(Handed):
    """``clue::Loops``."""

    _fields_, _kinds = _fields("Loops"), _kinds("Loops")


class CollectivesLayout(Handed):
    """``clue::Collectives``."""

    _fields_, _kinds = _fields("Collectives"), _kinds("Collectives")


class MachineLayout(Handed):
    """``clue::Machine``.

    Attributes:
        work: Approximate number of ops and messages of collectives in a replay on it.
    """

    work: int = 0
    _fields_, _kinds = _fields("Machine", Collectives=CollectivesLayout), _kinds("Machine")


class OutcomeLayout(Handed):
    """``clue::Outcome``."""

    _fields_, _kinds = _fields("Outcome"), _kinds("Outcome")


def assertions() -> str:
    """Return C++ assertions for the compiler: every field has the same offset as here, and there are no others."""
    facts: dict[str, int] = {}
    for layout in (ProgramLayout, LoopsLayout, CollectivesLayout, MachineLayout, OutcomeLayout):
        structure = layout.__name__.removesuffix("Layout")
        facts |= {f"offsetof({structure}, {name})": getattr(layout, name).offset for name, _ in layout._fields_}
        facts[f"sizeof({structure})"] = ctypes.sizeof(layout)
    return " ".join(f'static_assert({what} == {number}, "{what}");' for what, number in facts.items())
