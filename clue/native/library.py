"""A compiled library: the one shipped in the wheel, or one made by the C++ compiler at hand and kept in the cache.

It is compiled once for a computer, in the background if the caller has something else to do meanwhile.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from collections.abc import Mapping
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from clue.cache import home, open_folder
from clue.errors import CacheError
from clue.native.compiler import NoLibraryError, Source, compile_library, end_compilers, key
from clue.native.shipped import shipped

#: The folder of libraries in the cache.
FOLDER = "engine"


class Library:
    """A library that is found or compiled on first use.

    Args:
        source: What it is compiled from.
        functions: Return types of its functions, for ctypes.
    """

    def __init__(self, source: Source, functions: Mapping[str, Any]) -> None:
        self.source = source
        self._functions = functions
        self._lock = Lock()
        self.forget()
        atexit.register(self._leave)

    def forget(self) -> None:
        """Forget the library, so that it is looked for again as in a new process."""
        #: The library, or the reason why there is none: a failed compilation is not repeated by every simulation.
        self._known: ctypes.CDLL | str | None = None
        #: Set once a background thread has found or made it.
        self._background: Event | None = None

    def load(self) -> ctypes.CDLL:
        """Return the library, after compiling it if necessary.

        Raises:
            NoLibraryError: If it is not there and cannot be made, with the reason.
        """
        self.wait()
        found = self._found()
        if isinstance(found, str):
            raise NoLibraryError(found)
        return found

    def file(self) -> Path:
        """Return the path of the library, after compiling it if necessary: for processes that do not load clue.

        Raises:
            NoLibraryError: If it is not there and cannot be made, with the reason.
        """
        if (path := self.shipped()) is not None:
            return path
        try:
            with open_folder(home() / FOLDER) as folder:
                os.close(folder.made(self.name, self.compile))
                return folder.path / self.name
        except CacheError as error:
            raise NoLibraryError(str(error)) from None

    def is_there(self) -> bool:
        """Tell whether the library can be loaded without compiling it first.

        Raises:
            NoLibraryError: If the cache is refused, so that the library can neither be loaded nor compiled.
        """
        if self._known is None:
            self._known = self._shipped()
        if isinstance(self._known, ctypes.CDLL):
            return True
        try:
            with open_folder(home() / FOLDER) as folder:
                descriptor = folder.sound(self.name)
        except CacheError as error:
            raise NoLibraryError(str(error)) from None
        if descriptor is None:
            return False
        os.close(descriptor)
        return True

    def is_under_way(self) -> bool:
        """Tell whether the library is still being made; begin to make it in the background if it is missing."""
        if self._background is None:
            self._background = Event()
            Thread(target=self._find, args=(self._background,), name="compiler", daemon=True).start()
        return not self._background.is_set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for a background thread that makes it, if there is one, at most for this many seconds."""
        if self._background is not None:
            self._background.wait(seconds)

    @property
    def name(self) -> str:
        """Its name in the cache."""
        return f"{self.source.name}-{key(self.source, _processor(), os.environ.get('CXX', ''))}.so"

    def compile(self, target: Path) -> None:
        """Compile it for this computer.

        Raises:
            NoLibraryError: With the reason.
        """
        compile_library(self.source, target)

    def shipped(self) -> Path | None:
        """Return the path of the library shipped with this installation, if there is one."""
        return shipped(self.source)

    def _find(self, done: Event) -> None:
        try:
            self._found()
        finally:
            done.set()

    def _leave(self) -> None:
        """End a compiler that is still running when this process ends: its library is no longer needed."""
        if end_compilers():
            self.wait(1.0)  # so that its draft is removed now, rather than by the next compilation

    def _found(self) -> ctypes.CDLL | str:
        with self._lock:
            if self._known is None:
                try:
                    self._known = self._shipped() or self._made()
                except NoLibraryError as error:
                    self._known = str(error)
            return self._known

    def _shipped(self) -> ctypes.CDLL | None:
        path = self.shipped()
        try:
            return None if path is None else self._opened(path)
        except NoLibraryError:
            return None  # the wheel is for a computer with other system libraries

    def _made(self) -> ctypes.CDLL:
        try:
            with open_folder(home() / FOLDER) as folder:
                # Never closed: the loader identifies a library by its name, which must not come to mean another file.
                descriptor = folder.made(self.name, self.compile)
        except CacheError as error:
            raise NoLibraryError(str(error)) from None
        # Load the file that was checked, not the file that has its name by now.
        return self._opened(Path(f"/proc/self/fd/{descriptor}"), home() / FOLDER / self.name)

    def _opened(self, path: Path, name: Path | None = None) -> ctypes.CDLL:
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise NoLibraryError(f"{name or path}: library must load, got {error}") from None
        for function, returned in self._functions.items():
            getattr(library, function).restype = returned
        return library


def _processor() -> str:
    """Return the instruction sets of this processor: a home folder may be shared by different computers."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
