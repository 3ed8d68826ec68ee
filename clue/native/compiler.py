"""The C++ compiler at hand: what it is told, what its work depends on, and how it is ended."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

#: No fast-math and no contraction: every operation is rounded on its own, as in Python.
_OPTIONS = ("-std=c++17", "-O3", "-ffp-contract=off", "-fPIC", "-fvisibility-inlines-hidden", "-shared")
#: With the instructions of this very processor; where the compiler does not know them, without.
NATIVE = (("-march=native",), ())
#: For any processor of its kind, and for computers that have no C++ library, or an older one.
PORTABLE = (("-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL,--gc-sections,-s"), ())


class NoLibraryError(Exception):
    """There is no compiled library; the message says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a library is compiled from.

    Attributes:
        name: Of the library, for files and messages.
        main: The file that is compiled; the others are beside it.
        definitions: Returns what the compiler is told beside options: ``-DNAME=VALUE``.
    """

    name: str
    main: Path
    definitions: Callable[[], Sequence[str]] = tuple

    @property
    def folder(self) -> Path:
        """Where the sources are."""
        return self.main.parent


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


@cache
def key(source: Source, *further: str) -> str:
    """Name what a library depends on: the sources, what the compiler is told, the kind of processor.

    Args:
        source: What it is compiled from.
        further: What else it depends on.
    """
    digest = hashlib.sha256()
    for file in sorted(source.folder.glob("*.[hc]pp")):
        digest.update(file.read_bytes())
    for part in (*source.definitions(), *_OPTIONS, platform.machine(), *further):
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def compile_library(source: Source, target: Path, variants: Sequence[Sequence[str]] = NATIVE) -> None:
    """Compile a library.

    Args:
        source: What it is compiled from.
        target: The library that is made.
        variants: Further options of the compiler; the first that it takes count.

    Raises:
        NoLibraryError: With the reason.
    """
    compiler = find_compiler()
    if compiler is None:
        raise NoLibraryError("no C++ compiler was found (c++, g++ or clang++; CXX may name another)")
    fault = ""
    for further in variants:
        told = (*_OPTIONS, *further, *source.definitions())
        status, said = _run([*compiler, *told, str(source.main), "-o", str(target)])
        if status == 0:
            return
        lines = said.strip().splitlines() or [f"status {status}"]
        fault = next((line for line in lines if "error" in line), lines[0])
    raise NoLibraryError(f"{compiler[0]}: {source.name} must compile, got {fault}")


# --- a compiler that runs ---

#: Those that run, each with its children in a process group of its own; whoever starts one or ends them holds the lock.
_running: set[subprocess.Popen[str]] = set()
_lock = threading.Lock()
#: Set for good when none is to run any more.
_over = threading.Event()


def end_compilers() -> bool:
    """End the compilers that run, and start none any more; tells whether any ran."""
    with _lock:
        _over.set()
        ended = tuple(_running)
    for process in ended:
        _end(process)
    return bool(ended)


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Run a compiler; returns its status, and what it said. However this ends, the compiler has ended."""
    try:
        process = _start(command)
    except OSError as error:
        raise NoLibraryError(f"{command[0]}: compiler must run, got {error.strerror or error}") from None
    with process:
        try:
            _, said = process.communicate()
        except BaseException:
            _end(process)
            raise
        finally:
            _running.discard(process)
    return process.returncode, said


def _start(command: Sequence[str]) -> subprocess.Popen[str]:
    with _lock:
        if _over.is_set():
            raise NoLibraryError(f"{command[0]}: compiler must run, got the end of the process that wants it")
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        _running.add(process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    # The whole group: the driver of a compiler leaves alone what compiles for it.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
