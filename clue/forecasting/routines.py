"""Routines that can be measured: shipped ones by name, and the user's own functions ``MODULE:FUNCTION``."""

from __future__ import annotations

import difflib
import itertools
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from clue.errors import UsageError
from clue.files import is_file
from clue.forecasting.shipped import TERMS
from clue.forecasting.worker import version_of
from clue.units import is_count

_SPECIFICATION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
#: Maximum degree of the terms, products of sizes, of a user's own routine.
DEGREE = 3
#: Largest accepted size.
LARGEST_SIZE = 2**40
#: Largest number of sizes of a routine: their products, the terms of its times, grow with the third power.
MOST_SIZES = 8


@dataclass(frozen=True, slots=True)
class Routine:
    """A routine as it is installed on a computer.

    Attributes:
        name: Name of a shipped routine, or ``MODULE:FUNCTION``.
        parameters: Names of its sizes.
        library: Its library, with the version.
    """

    name: str
    parameters: tuple[str, ...]
    library: str

    @property
    def terms(self) -> tuple[str, ...]:
        """Terms of its times."""
        return TERMS.get(self.name) or products(self.parameters)

    def sizes(self, given: Mapping[str, int]) -> tuple[int, ...]:
        """Return sizes in the order of the parameters.

        Raises:
            UsageError: If one is missing, unknown, or not a whole number of at least 1.
        """
        for name in [*self.parameters, *given]:
            if name not in given or name not in self.parameters:
                raise UsageError(
                    f"{self.name}: sizes must be {', '.join(self.parameters)}, got {', '.join(given) or 'none'}"
                )
        return tuple(check_size(f"{self.name}: {name}", given[name]) for name in self.parameters)


def check_size(place: str, size: int) -> int:
    """Return one size, which may be a whole number of numpy's.

    Raises:
        UsageError: If it is not a whole number of at least 1, or too large for any memory.
    """
    if isinstance(size, bool) or not is_count(size) or size > LARGEST_SIZE:
        raise UsageError(f"{place} must be a whole number from 1 to {LARGEST_SIZE:,}, got {size!r}")
    return int(size)


def specification(name: str) -> str:
    """Return the function that a name stands for, as ``MODULE:FUNCTION``.

    Raises:
        UsageError: If there is no such function.
    """
    if name in TERMS:
        return f"clue.forecasting.shipped:{name}"
    if _SPECIFICATION.fullmatch(name):
        return name
    near = difflib.get_close_matches(name, TERMS, 1)
    hint = f": did you mean {near[0]}?" if near else ""
    raise UsageError(f"routine must be one of {', '.join(TERMS)}, or MODULE:FUNCTION, got {name!r}{hint}")


def version_here(name: str) -> str | None:
    """Return the version that the text of a user's module has here, as its measurements state it; ``None``: no text.

    The module is not imported; as where it is measured, the current folder is searched first.
    """
    module, path, file = name.partition(":")[0], [str(Path.cwd()), *sys.path], Path()
    for part in module.split("."):
        # By its own name: for a dotted one, the import system asks a namespace package that is not imported.
        found = PathFinder.find_spec(part, path)
        if found is None:
            return None
        path, file = list(found.submodule_search_locations or ()), Path(found.origin or "")
    return version_of(module, file.read_bytes()) if is_file(file) else None


def products(parameters: Iterable[str]) -> tuple[str, ...]:
    """Return all products of sizes up to the third degree, as terms."""
    names = tuple(parameters)
    found = ["1"]
    for degree in range(1, DEGREE + 1):
        for chosen in itertools.combinations_with_replacement(names, degree):
            powers = {name: chosen.count(name) for name in chosen}
            found.append(" ".join(name if power == 1 else f"{name}^{power}" for name, power in powers.items()))
    return tuple(found)
