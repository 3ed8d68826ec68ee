"""The compiled library: made on first use with the C++ compiler at hand, kept in the cache, loaded by ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from clue.cache import home, open_folder
from clue.errors import CacheError
from clue.kernel.fast.layout import LAYOUTS
from clue.trace import NO_REQUEST, Flag, Op

#: Its folder in the cache.
FOLDER = "engine"
_SOURCES = Path(__file__).parent
_MAIN = "engine.cpp"
#: No fast-math and no contraction: every operation is rounded on its own, as in Python.
_OPTIONS = ("-std=c++17", "-O3", "-ffp-contract=off", "-fPIC", "-fvisibility-inlines-hidden", "-shared")
#: With the instructions of this very processor where the compiler knows them.
_NATIVE = "-march=native"


class NoLibraryError(Exception):
    """There is no compiled engine; the message says why."""


def find_compiler() -> list[str] | None:
    """Return the command of a C++ compiler: ``CXX`` if set, else the first that is there, or nothing."""
    stated = os.environ.get("CXX")
    if stated is not None:
        return shlex.split(stated) or None
    for name in ("c++", "g++", "clang++"):
        path = shutil.which(name)
        if path:
            return [path]
    return ["python-zig", "c++"] if shutil.which("python-zig") and find_spec("ziglang") else None


def load() -> ctypes.CDLL:
    """Return the library, compiled if need be.

    Raises:
        NoLibraryError: If it is not there and cannot be made, with the reason.
    """
    found = _found()
    if isinstance(found, str):
        raise NoLibraryError(found)
    return found


@cache
def _found() -> ctypes.CDLL | str:
    """Return the library, or why there is none: a compiler that failed is not asked again by every simulation."""
    try:
        return _made()
    except NoLibraryError as error:
        return str(error)


def _made() -> ctypes.CDLL:
    try:
        with open_folder(home() / FOLDER) as folder:
            # Never closed: the loader knows a library by its name, which must not come to mean another file.
            descriptor = folder.made(_name(), _compile)
    except CacheError as error:
        raise NoLibraryError(str(error)) from None
    try:
        # What was checked is loaded, not what has its name by now.
        library = ctypes.CDLL(f"/proc/self/fd/{descriptor}")
    except OSError as error:
        raise NoLibraryError(f"{home() / FOLDER / _name()}: library must load, got {error}") from None
    _check_layout(library)
    for name in ("clue_prepare", "clue_replay", "clue_record", "clue_lanes", "clue_sweep"):
        getattr(library, name).restype = ctypes.c_int64
    for name in ("clue_forget", "clue_release"):
        getattr(library, name).restype = None
    return library


def is_compiled() -> bool:
    """Tell whether the library can be loaded without compiling it first.

    Raises:
        NoLibraryError: If the cache is refused, so that it can neither be loaded nor compiled.
    """
    if _found.cache_info().currsize and not isinstance(_found(), str):
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


def _name() -> str:
    return f"engine-{_key()}.so"


@cache
def _key() -> str:
    """Name what the compiled library depends on: the sources, what they are told, and the processor."""
    digest = hashlib.sha256()
    for source in sorted(_SOURCES.glob("*.[hc]pp")):
        digest.update(source.read_bytes())
    for part in (*_defines(), *_OPTIONS, platform.machine(), _processor(), os.environ.get("CXX", "")):
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def _processor() -> str:
    """Return the instruction sets of this processor: a home folder may be shared by different computers."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _defines() -> list[str]:
    """Return op codes and flags as the trace defines them."""
    return [
        *(f"-DOP_{op.name}={int(op)}" for op in Op),
        *(f"-DFLAG_{flag.name}={int(flag)}" for flag in Flag),
        f"-DNO_REQUEST={NO_REQUEST}",
    ]


def _compile(path: Path) -> None:
    compiler = find_compiler()
    if compiler is None:
        raise NoLibraryError("no C++ compiler was found (c++, g++ or clang++; CXX may name another)")
    _run(compiler, str(path))


def _run(compiler: list[str], target: str) -> None:
    fault = ""
    for extra in ((_NATIVE,), ()):
        command = [*compiler, *_OPTIONS, *extra, *_defines(), str(_SOURCES / _MAIN), "-o", target]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise NoLibraryError(f"{compiler[0]}: compiler must run, got {error.strerror or error}") from None
        if done.returncode == 0:
            return
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        fault = next((line for line in said if "error" in line), said[0])
    raise NoLibraryError(f"{compiler[0]}: engine must compile, got {fault}")


def _check_layout(library: ctypes.CDLL) -> None:
    sizes = (ctypes.c_int64 * len(LAYOUTS))()
    library.clue_layout(sizes)
    if tuple(sizes) != tuple(ctypes.sizeof(layout) for layout in LAYOUTS):
        raise NoLibraryError("the compiled engine must have the layout of this version of clue")
