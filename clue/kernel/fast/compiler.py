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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from clue.kernel.fast.layout import Status, assertions
from clue.machine.contention import NUMBERS
from clue.trace import NO_REQUEST, Flag, Op

SOURCES = Path(__file__).parent
_MAIN = "engine.cpp"
#: No fast-math and no contraction: every operation is rounded on its own, as in Python.
_OPTIONS = ("-std=c++17", "-O3", "-ffp-contract=off", "-fPIC", "-fvisibility-inlines-hidden", "-shared")
#: With the instructions of this very processor; where the compiler does not know them, without.
NATIVE = (("-march=native",), ())
#: For any processor of its kind, and for computers that have no C++ library, or an older one.
PORTABLE = (("-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL,--gc-sections,-s"), ())


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


@cache
def key(*further: str) -> str:
    """Name what a compiled engine depends on: the sources, what the compiler is told, the kind of processor.

    Args:
        further: What else it depends on.
    """
    digest = hashlib.sha256()
    for source in sorted(SOURCES.glob("*.[hc]pp")):
        digest.update(source.read_bytes())
    for part in (*_defines(), *_OPTIONS, platform.machine(), *further):
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def compile_engine(target: Path, variants: Sequence[Sequence[str]] = NATIVE) -> None:
    """Compile the engine.

    Args:
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
        status, said = _run([*compiler, *_OPTIONS, *further, *_defines(), str(SOURCES / _MAIN), "-o", str(target)])
        if status == 0:
            return
        lines = said.strip().splitlines() or [f"status {status}"]
        fault = next((line for line in lines if "error" in line), lines[0])
    raise NoLibraryError(f"{compiler[0]}: engine must compile, got {fault}")


def _defines() -> list[str]:
    """Return op codes and flags as the trace defines them, models of contention as machines do, and the layout."""
    numbers: dict[str, Mapping[str, int]] = {
        "OP": Op.__members__,
        "FLAG": Flag.__members__,
        "STATUS": Status.__members__,
        "CONTENTION": NUMBERS,
    }
    return [
        *(f"-D{kind}_{name.upper()}={int(number)}" for kind, each in numbers.items() for name, number in each.items()),
        f"-DNO_REQUEST={NO_REQUEST}",
        f"-DLAYOUT={assertions()}",
    ]


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
