"""The C++ compiler at hand: its options, the key of its output, and how to end it."""

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

#: Options without fast-math and contraction: every operation is rounded on its own, as in Python.
_OPTIONS = ("-std=c++17", "-O3", "-ffp-contract=off", "-fPIC", "-fvisibility-inlines-hidden", "-shared")
#: Options for this very processor; alternatively none, if the compiler does not know it.
NATIVE = (("-march=native",), ())
#: Options for any processor of its kind and for computers with an older C++ library or none; alternatively none.
PORTABLE = (("-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL,--gc-sections,-s"), ())


class NoLibraryError(Exception):
    """There is no compiled library; the message says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """The sources of a library.

    Attributes:
        name: Name of the library, for files and messages.
        main: The file to compile; the others are beside it.
        definitions: Returns the compiler's definitions: ``-DNAME=VALUE``.
    """

    name: str
    main: Path
    definitions: Callable[[], Sequence[str]] = tuple

    @property
    def folder(self) -> Path:
        """The folder of the sources."""
        return self.main.parent


def find_compiler() -> list[str] | None:
    """Return the command of a C++ compiler: ``CXX`` if set, else the first one installed, or ``None``.

    Raises:
        NoLibraryError: If ``CXX`` has a quotation mark without its counterpart.
    """
    stated = os.environ.get("CXX")
    if stated is not None:
        try:
            return shlex.split(stated) or None
        except ValueError:
            raise NoLibraryError(f"CXX must be a command, got {stated}") from None
    for name in ("c++", "g++", "clang++"):
        path = shutil.which(name)
        if path:
            return [path]
    return ["python-zig", "c++"] if shutil.which("python-zig") and find_spec("ziglang") else None


@cache
def key(source: Source, *further: str) -> str:
    """Return a key of everything that a library depends on: sources, compiler options, kind of processor.

    Args:
        source: What it is compiled from.
        further: Further things that it depends on.
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
        target: Path of the library.
        variants: Alternative further options; the first that the compiler accepts is used.

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

#: The running compilers, each in a process group of its own; hold the lock to start or end one.
_running: set[subprocess.Popen[str]] = set()
_lock = threading.Lock()
#: Set once no compiler may run any more.
_over = threading.Event()


def end_compilers() -> bool:
    """End all running compilers and prevent new ones; tell whether any was running."""
    with _lock:
        _over.set()
        ended = tuple(_running)
    for process in ended:
        _end(process)
    return bool(ended)


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Run a compiler; return its status and its output. The compiler is ended even if this call is interrupted."""
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
    # The whole group: a compiler driver does not end its subprocesses.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
