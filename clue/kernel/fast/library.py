"""The compiled library: as it came with the wheel, else made by the C++ compiler at hand and kept in the cache.

It is compiled once for a computer, beside the thread that wants it where that has something else to do meanwhile.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from functools import cache
from pathlib import Path
from threading import Event, Thread

from clue.cache import home, open_folder
from clue.errors import CacheError
from clue.kernel.fast.compiler import NoLibraryError, compile_engine, end_compilers, key
from clue.kernel.fast.shipped import shipped

#: Its folder in the cache.
FOLDER = "engine"


def load() -> ctypes.CDLL:
    """Return the library, compiled if need be.

    Raises:
        NoLibraryError: If it is not there and cannot be made, with the reason.
    """
    if _background.cache_info().currsize:
        _background().wait()
    found = _found()
    if isinstance(found, str):
        raise NoLibraryError(found)
    return found


def is_there() -> bool:
    """Tell whether the library can be loaded without compiling it first.

    Raises:
        NoLibraryError: If the cache is refused, so that it can neither be loaded nor compiled.
    """
    if (_found.cache_info().currsize and not isinstance(_found(), str)) or _shipped() is not None:
        return True
    try:
        with open_folder(home() / FOLDER) as folder:
            descriptor = folder.sound(_name())
    except CacheError as error:
        raise NoLibraryError(str(error)) from None
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def is_under_way() -> bool:
    """Tell whether the library is still being made; it is begun with, beside this thread, if nobody has done so."""
    return not _background().is_set()


@cache
def _background() -> Event:
    """Find the library, or make it, on a thread; returns what is set once that is done."""
    done = Event()

    def find() -> None:
        try:
            _found()
        finally:
            done.set()

    Thread(target=find, name="compiler", daemon=True).start()
    return done


@atexit.register
def _leave() -> None:
    """End a compiler that is not done when this process is: what it was wanted for did not need it."""
    if end_compilers() and _background.cache_info().currsize:
        _background().wait(1.0)  # so that its draft is removed; whoever compiles next would do so, too


@cache
def _found() -> ctypes.CDLL | str:
    """Return the library, or why there is none: a compiler that failed is not asked again by every simulation."""
    try:
        return _shipped() or _made()
    except NoLibraryError as error:
        return str(error)


@cache
def _shipped() -> ctypes.CDLL | None:
    path = shipped()
    try:
        return None if path is None else _opened(path)
    except NoLibraryError:
        return None  # the wheel is for a computer with other system libraries


def _made() -> ctypes.CDLL:
    try:
        with open_folder(home() / FOLDER) as folder:
            # Never closed: the loader knows a library by its name, which must not come to mean another file.
            descriptor = folder.made(_name(), compile_engine)
    except CacheError as error:
        raise NoLibraryError(str(error)) from None
    # What was checked is loaded, not what has its name by now.
    return _opened(Path(f"/proc/self/fd/{descriptor}"), home() / FOLDER / _name())


def _opened(path: Path, name: Path | None = None) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise NoLibraryError(f"{name or path}: library must load, got {error}") from None
    for function in ("clue_prepare", "clue_replay", "clue_record", "clue_lanes", "clue_sweep"):
        getattr(library, function).restype = ctypes.c_int64
    for function in ("clue_forget", "clue_release"):
        getattr(library, function).restype = None
    return library


def _name() -> str:
    return f"engine-{key(_processor(), os.environ.get('CXX', ''))}.so"


def _processor() -> str:
    """Return the instruction sets of this processor: a home folder may be shared by different computers."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
