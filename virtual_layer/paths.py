"""Call paths: the place in the program from which each MPI call is made (:mod:`clue.trace.sites`).

Functions of the program and of installed packages count; those of mpi4py, of clue and of the standard library do not.
A path is looked up frame by frame, from the call outwards, in a tree of the paths seen so far. Files and lines of its
frames are determined at a path's first call only; loops are found at the end.

If the environment names a compiled library (``clue record`` sets it), that library looks paths up in a fifth of the
time; otherwise Python does, which is the reference.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from clue.trace.sites import DEEPEST, MOST_SITES, Frame, Sites
from virtual_layer.imports import INSTALLED, STANDARD, TOOLS, is_installed
from virtual_layer.loops import Loops

#: Most frames that are remembered, including frames that do not count.
_MOST_REMEMBERED = 1 << 18
#: Environment variable with the path of the compiled ``paths.cpp``; without it, or if it does not load, Python does all
#: the work.
LIBRARY = "VIRTUAL_LAYER_PATHS"
#: Python's own function that calls the program's main module.
_RUNS = runpy._run_code.__code__  # type: ignore[attr-defined]

#: The main module of this process until that of the program begins.
_LAYER = "virtual_layer.__main__"

#: By position in a function: the function, the steps further out (none: the path ends here), and the path's site. Of
#: several functions with the same position, all but the first have the key (number of the function, position).
_Steps = dict[Any, tuple[CodeType, Any, int]]
#: A place in a function: the function, the position, and the line.
_Place = tuple[CodeType, int, int]


class CallPaths:
    """The call paths of one rank.

    Attributes:
        steps: The paths seen, from the call outwards; time-critical callers walk through them themselves.
        site_of: Lookup in C++: returns the number of the path of a frame, KeyError if it is new; or ``None``.
        unknown: Number of calls whose path was beyond the limit.
        cut: Whether a path was too long to be kept whole.
    """

    def __init__(self, folder: str, binding: str = "") -> None:
        """Begin.

        Args:
            folder: The folder in which the program was started.
            binding: Folder of mpi4py, which ends with a separator: its own frames do not count.
        """
        self.steps: _Steps = {}
        self._compiled = _Compiled.load(os.environ.get(LIBRARY, ""))
        self.site_of = None if self._compiled is None else self._compiled.site_of
        self.unknown = 0
        self.cut = False
        self._folder = folder
        self._room = _MOST_REMEMBERED
        self._numbers: dict[tuple[tuple[int, int], ...], int] = {(): 0}
        self._places: list[tuple[_Place, ...]] = [()]
        self._counted: dict[str, bool] = {}
        self._left_out = (*filter(None, [binding]), *TOOLS)
        self._found = False
        self._beside, self._home = _folders(None, folder)
        self._find_program()

    def _find_program(self) -> None:
        """Find the folders of the program's main module, once there is one.

        A package that is run by ``-m`` is imported, and may import MPI, before its main module begins.
        """
        main = sys.modules["__main__"]
        if getattr(getattr(main, "__spec__", None), "name", "") != _LAYER:
            self._found = True
            self._beside, self._home = _folders(main, self._folder)
            self._counted.clear()

    def add(self, frame: FrameType | None) -> int:
        """Return the number of the path of a frame, which may be new; 0 if there is no room."""
        if not self._found:
            self._find_program()
        path: list[tuple[FrameType, bool]] = []
        depth = 0
        while frame is not None and depth < DEEPEST:
            counts = self._counts(frame)
            path.append((frame, counts))
            depth += counts
            if self._is_outermost(frame):
                break
            frame = frame.f_back
        else:
            self.cut = self.cut or frame is not None
        number = self._number([each for each, counts in reversed(path) if counts])
        if number is None:
            self.unknown += 1
            return 0
        if self._room >= len(path):
            self._remember([each for each, _ in path], number)
        return number

    def _number(self, frames: list[FrameType]) -> int | None:
        key = tuple((id(each.f_code), each.f_lasti) for each in frames)
        number = self._numbers.get(key)
        if number is None and len(self._places) < MOST_SITES:
            number = self._numbers[key] = len(self._places)
            # Keeps the functions alive, so that no other function gets the number of one of them.
            self._places.append(tuple((each.f_code, each.f_lasti, each.f_lineno or 0) for each in frames))
        return number

    def _remember(self, path: list[FrameType], number: int) -> None:
        if self._compiled is not None:
            self._room -= self._compiled.remember(path, number)
            return
        steps = self.steps
        for depth, frame in enumerate(path, 1):
            code, key = frame.f_code, frame.f_lasti
            if key in steps and steps[key][0] is not code:
                key = id(code), key  # type: ignore[assignment]
            if key not in steps:
                self._room -= 1
                steps[key] = code, {} if depth < len(path) else None, number
            steps = steps[key][1]

    def _is_outermost(self, frame: FrameType) -> bool:
        """Tell whether a frame is that of the program's main module: no frame further out counts."""
        above = frame.f_back
        if above is None or above.f_code is not _RUNS or frame.f_code.co_name != "<module>":
            return False
        while above is not None and not self._counts(above):
            above = above.f_back
        return above is None

    def _counts(self, frame: FrameType) -> bool:
        file = frame.f_code.co_filename
        if file.startswith("<"):
            if file.startswith("<frozen "):
                return False
            # Text run by ``exec`` belongs to the module that ran it.
            file = str(frame.f_globals.get("__file__", file))
        known = self._counted.get(file)
        if known is None:
            known = self._counted[file] = file.startswith("<") or self._counts_file(self._whole(file))
        return known

    def _counts_file(self, file: str) -> bool:
        """Tell whether a file counts: it belongs to the program or to an installed package other than mpi4py."""

        def inside(folder: str) -> bool:
            # A program may itself be kept in one of these folders.
            own = self._beside.startswith(folder) and file.startswith(self._beside)
            return file.startswith(folder) and not own

        return not any(map(inside, self._left_out)) and not (inside(STANDARD) and not is_installed(file))

    def _whole(self, file: str) -> str:
        return os.path.normpath(os.path.join(self._folder, file))  # noqa: PTH118

    def sites(self, began: int) -> Sites:
        """Return all paths, by number.

        Args:
            began: When the recording began, ns since 1970: source written since then is not used.
        """
        loops = Loops(began)
        numbers: dict[tuple[int, int], int] = {}
        frames: dict[Frame, int] = {}

        def number(place: _Place) -> int:
            key = id(place[0]), place[1]
            if key not in numbers:
                numbers[key] = frames.setdefault(self._described(place, loops), len(frames))
            return numbers[key]

        paths = tuple(tuple(number(each) for each in places) for places in self._places)
        return Sites(tuple(frames), paths)

    def _described(self, place: _Place, loops: Loops) -> Frame:
        code, at, line = place
        file = code.co_filename
        if not file.startswith("<"):
            file = self._whole(file)
        function = getattr(code, "co_qualname", code.co_name)
        around, branches = loops.around(code, file, at, line), loops.branches(code, file, at, line)
        return Frame(self._named(file), function[:4096], line, at, around, branches)

    def _named(self, file: str) -> str:
        for part in INSTALLED:
            if part in file:
                return file.rpartition(part)[2]
        for home in self._home:
            if file.startswith(home):
                return file[len(home) :]
        return file[-4096:]


class _Compiled:
    """The steps of a rank's paths in C++.

    Attributes:
        site_of: Returns the number of the path of a frame; raises KeyError if it is new, or ends in C.
    """

    def __init__(self, library: ctypes.PyDLL) -> None:
        self._steps = ctypes.c_void_p()
        library.paths_begin.restype = ctypes.py_object
        library.paths_remember.restype = ctypes.c_int64
        self.site_of: Callable[[FrameType], int] = library.paths_begin(ctypes.byref(self._steps))
        self._library = library

    @classmethod
    def load(cls, file: str) -> _Compiled | None:
        """Load the library, if there is one for this Python."""
        try:
            return cls(ctypes.PyDLL(file)) if file else None
        except (OSError, AttributeError):
            return None

    def remember(self, path: list[FrameType], number: int) -> int:
        """Remember the path of the frames from the call outwards; return the number of its steps that are new."""
        count = len(path)
        codes: Any = (ctypes.py_object * count)(*[each.f_code for each in path])  # type: ignore[misc]
        at = (ctypes.c_int64 * count)(*[each.f_lasti for each in path])
        new: int = self._library.paths_remember(self._steps, codes, at, ctypes.c_int64(count), ctypes.c_int64(number))
        return new


def _folders(main: Any, folder: str) -> tuple[str, tuple[str, ...]]:
    """Return the main module's folder, ``""`` if it has none, and the folders to which file names are relative."""
    file = getattr(main, "__file__", None)
    if not isinstance(file, str):
        return "", (folder + os.sep,)
    beside = os.path.dirname(os.path.normpath(os.path.join(folder, file)))  # noqa: PTH118, PTH120
    home = beside
    for _ in filter(None, (getattr(main, "__package__", None) or "").split(".")):
        home = os.path.dirname(home)  # noqa: PTH120
    homes = tuple(os.path.join(each, "") for each in dict.fromkeys((home, os.path.realpath(home))))  # noqa: PTH118
    return os.path.join(beside, ""), homes  # noqa: PTH118
