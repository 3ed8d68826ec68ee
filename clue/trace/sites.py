"""Call sites: the place in the program that an op comes from, as the path of calls to it.

A site is the call path of an MPI call through the program and installed packages: frames of Python's own modules, of
mpi4py and of the recorder are left out. The ``site`` of an op is an index into the head's sites; site 0 is the unknown
one, for ops that no line of the program made or whose site was not recorded. This module uses only the standard
library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, overload

from clue.trace.form import Within

#: Most sites of a trace, the unknown one included: the column of their numbers has 16 bits.
MOST_SITES = 1 << 16
#: Most frames of all sites together.
MOST_FRAMES = 1 << 20
#: Number of frames of the longest path, before any are left out: in a deep recursion, the innermost are kept.
DEEPEST = 64

_File = Annotated[str, Within(0, 2**12)]
_Number = Annotated[int, Within(0, 2**31 - 1)]


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in a function of the program.

    Attributes:
        file: Its file, relative to the program's folder if it is inside; of an installed package, to the folder of
            all packages.
        function: Qualified name of the function (the plain name in Python 3.10), ``"<module>"`` outside any function.
        line: Line number.
        at: Position within the function, by which calls on one line differ: an offset into its bytecode, or 0.
        loops: Line numbers of the loops around it within the function, outermost first: for, while, comprehension.
        branches: The branches around it within the function, outermost first: line number of each ``if``, and 0 for the
            branch where its condition holds, 1 for the other.
    """

    file: _File
    function: _File
    line: _Number
    at: _Number
    loops: tuple[_Number, ...] = ()
    branches: tuple[tuple[_Number, ...], ...] = ()

    @property
    def name(self) -> str:
        """File and line, ``"cg.py:72"``."""
        return f"{PurePath(self.file).name}:{self.line}"


@dataclass(frozen=True, slots=True)
class Site:
    """A call path.

    Attributes:
        frames: Its frames, outermost first; none at the unknown site.
    """

    frames: tuple[Frame, ...] = ()

    @property
    def name(self) -> str:
        """File and line of the innermost frame, such as ``"cg.py:72"``; ``""`` if unknown."""
        return self.frames[-1].name if self.frames else ""

    @property
    def function(self) -> str:
        """The function of the innermost frame; ``""`` if unknown."""
        return self.frames[-1].function if self.frames else ""

    @property
    def callers(self) -> tuple[str, ...]:
        """File and line of the callers, the innermost first."""
        return tuple(each.name for each in self.frames[-2::-1])


UNKNOWN = Site()


@dataclass(frozen=True, slots=True)
class Sites(Sequence[Site]):
    """The sites of a trace, or of a rank, which share their frames.

    Attributes:
        frames: All frames.
        paths: For each site, the numbers of its frames, outermost first; the first site is the unknown one.
    """

    frames: tuple[Frame, ...] = ()
    paths: tuple[tuple[_Number, ...], ...] = ((),)

    @classmethod
    def of(cls, sites: Iterable[Site]) -> Sites:
        """Return these sites; the first must be the unknown one."""
        numbers: dict[Frame, int] = {}
        paths = tuple(tuple(numbers.setdefault(each, len(numbers)) for each in site.frames) for site in sites)
        return cls(tuple(numbers), paths)

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, index: int) -> Site: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Site]: ...

    def __getitem__(self, index: int | slice) -> Site | Sequence[Site]:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(*index.indices(len(self))))
        return Site(tuple(self.frames[each] for each in self.paths[index]))

    def fault(self) -> str:
        """Describe the first fault; ``""`` if there is none."""
        if self.paths[:1] != ((),) or len(set(self.paths)) < len(self.paths) or len(self.paths) > MOST_SITES:
            return f"paths of sites must be at most {MOST_SITES} different ones, the first of them empty, got others"
        if len(set(self.frames)) < len(self.frames):
            return "frames of sites must be different ones, got one twice"
        if any(len(each) != 2 for frame in self.frames for each in frame.branches):
            return "branches of frames must be pairs of a line and which, got others"
        if sum(map(len, self.paths)) > MOST_FRAMES:
            return f"paths of sites must have at most {MOST_FRAMES} frames together, got more"
        bad = [each for path in self.paths for each in path if each >= len(self.frames)]
        if bad:
            return f"paths of sites must be of its {len(self.frames)} frames, got number {bad[0]}"
        return ""
