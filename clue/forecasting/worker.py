"""Run a routine in a process of its own: ``python -m clue.forecasting.worker MODULE:FUNCTION``.

It prints a description of the routine, then answers each line of its standard input, ``{"sizes": {…}, "seconds": S}``
or ``{"sizes": {…}, "memory": true}``, by a line. Its libraries run in one thread, which the parent's environment sets.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import cache, partial
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

#: Minimum number of timed runs at a size, regardless of their time, and maximum number.
LEAST, MOST = 3, 200
#: Memory of the operands that are made between those of a run and its start, more than a core's share of the caches,
#: bytes; and maximum time to make them, s.
_BETWEEN, _MAKING = 64 << 20, 0.25
#: tracemalloc domain of numpy's arrays.
_ARRAYS = 389047


class NotARoutineError(Exception):
    """Report why something cannot be measured."""


def main(specification: str) -> None:
    """Serve one routine until standard input ends."""
    out = sys.stdout
    with redirect_stdout(sys.stderr):  # a routine may print
        try:
            function, library = found(specification)
            _tell(out, {"parameters": parameters(function), "library": library})
        except NotARoutineError as error:
            _tell(out, {"refused": str(error)})
            return
        except Exception as error:
            _tell(out, {"error": _in_words(error)})
            return
        for line in sys.stdin:
            _tell(out, _answer(function, json.loads(line)))


def found(specification: str) -> tuple[Callable[..., object], str]:
    """Return a routine and the version of its library."""
    module_name, _, name = specification.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    module = import_module(module_name)
    function = getattr(module, name, None)
    if not callable(function):
        raise NotARoutineError(f"function must be one of {module_name}, got {name or 'no name'}")
    return function, _library(module, module_name)


def parameters(function: Callable[..., object]) -> list[str]:
    """Return the names of a routine's sizes: parameters without defaults."""
    names = []
    for each in inspect.signature(function).parameters.values():
        if each.kind in {each.VAR_POSITIONAL, each.VAR_KEYWORD} or each.default is not each.empty:
            continue
        if each.kind is each.POSITIONAL_ONLY:
            raise NotARoutineError(f"sizes must be taken by name, got {each.name} by position")
        names.append(each.name)
    if not names:
        raise NotARoutineError("routine must have a size, a parameter without default, got none")
    return names


def times_of(function: Callable[..., object], sizes: dict[str, int], seconds: float) -> list[tuple[float, float]]:
    """Return the own and wall seconds of runs for a time, at least three. A warm-up run before them is left out.

    The operands of many runs are made before the first of these runs. So a run finds its operands in memory, as it does
    in a program that uses other data in between; a run right after they were made would find them in the caches.
    """
    times: list[tuple[float, float]] = []
    left = seconds
    ahead = _warm_up(function, sizes)
    while True:
        for run in [_started(function, sizes, ahead) for _ in range(ahead or 1)]:
            times.append(_timed(run))
            left -= times[-1][1]
            if len(times) >= LEAST and (left <= 0 or len(times) >= MOST):
                return times


def memory_of(function: Callable[..., object], sizes: dict[str, int]) -> int:
    """Return the bytes of a routine's data.

    For a generator: the arrays that it holds at its ``yield``, and by how much its memory grows afterwards, unless that
    is less than an eighth of the smallest of these arrays, as are pivots, or what Python needs for calls; for any other
    function: the peak of Python's memory while it ran.
    """
    _warm_up(function, sizes)  # excludes what is loaded or made on first use
    tracemalloc.start()
    try:
        begin = tracemalloc.get_traced_memory()[0]
        made = function(**sizes)
        if not isinstance(made, Iterator):
            return tracemalloc.get_traced_memory()[1] - begin
        next(made)
        arrays = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, _ARRAYS)])
        held = [trace.size for trace in arrays.traces]
        del arrays
        tracemalloc.reset_peak()
        begin = tracemalloc.get_traced_memory()[0]
        next(made, None)
        growth = tracemalloc.get_traced_memory()[1] - begin
        return sum(held) + (growth if 8 * growth >= min(held, default=0) else 0)
    finally:
        tracemalloc.stop()


class _Run(NamedTuple):
    """A run of a routine whose operands are made.

    Attributes:
        go: Performs the routine, or the rest of a generator.
        operands: What a generator holds at its ``yield``, kept so that freeing it is not timed.
    """

    go: Callable[[], object]
    operands: tuple[object, ...]


def _started(function: Callable[..., object], sizes: dict[str, int], ahead: int) -> _Run:
    """Return a run, up to the ``yield`` of a generator; any other function (0 ahead) has not begun yet."""
    if not ahead:
        return _Run(partial(function, **sizes), ())
    made: Any = function(**sizes)
    next(made)
    return _Run(partial(next, made, None), _operands(made))


def _warm_up(function: Callable[..., object], sizes: dict[str, int]) -> int:
    """Run a routine once; returns for how many runs operands are to be made ahead, 0 if it is not a generator.

    Raises:
        NotARoutineError: If it is a generator that does not yield exactly once.
    """
    made = function(**sizes)
    if not isinstance(made, Iterator):
        return 0
    yields = sum(1 for _ in made)
    if yields != 1:
        raise NotARoutineError(f"routine must yield once, when its operands are made, got {yields} times")
    begin = time.perf_counter()
    _, operands = _started(function, sizes, 1)
    took = time.perf_counter() - begin
    nbytes = sum(int(getattr(each, "nbytes", 0)) for each in operands)
    return max(1, min(_BETWEEN // nbytes, int(_MAKING / took))) if nbytes else 1


def _operands(made: Iterator[object]) -> tuple[object, ...]:
    return tuple(inspect.getgeneratorlocals(made).values()) if inspect.isgenerator(made) else ()


def _timed(run: _Run) -> tuple[float, float]:
    """Perform a run; returns seconds in which it computes or waits for anything but a core, and wall seconds.

    If it never waits, its CPU time is taken, which other load disturbs least.
    """
    begin, held, waits, cpu = time.perf_counter(), _held_up(), _waits(), time.process_time()
    run.go()
    cpu, waits, held = time.process_time() - cpu, _waits() - waits, _held_up() - held
    wall = time.perf_counter() - begin
    return max(cpu, wall - held) if waits else cpu, wall


def _waits() -> int:
    """Return how often this process has waited for something, such as a file, a message or a child process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def _held_up() -> float:
    """Return how long this process has been ready and waited for a core, s; 0 where the kernel does not tell."""
    try:
        return int(os.pread(_statistics(), 64, 0).split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


@cache
def _statistics() -> int:
    """Return a descriptor of the kernel's scheduling figures of this process."""
    return os.open("/proc/self/schedstat", os.O_RDONLY)


def _answer(function: Callable[..., object], asked: dict[str, Any]) -> dict[str, object]:
    try:
        if asked.get("memory"):
            return {"memory": memory_of(function, asked["sizes"])}
        return {"times": times_of(function, asked["sizes"], asked["seconds"])}
    except NotARoutineError as error:
        return {"refused": str(error)}
    except MemoryError:
        return {"error": "too little memory"}
    except Exception as error:
        return {"error": _in_words(error)}


def version_of(name: str, text: bytes) -> str:
    """Return the version of a module that states none: a digest of its text."""
    return f"{name} {hashlib.sha256(text).hexdigest()[:12]}"


def _library(module: ModuleType, name: str) -> str:
    """Return the version of a module: its own, that of its distribution, or a digest of its text."""
    own = getattr(module, "version", None)
    if name == "clue.forecasting.shipped" and callable(own):
        return str(own())
    if isinstance(said := getattr(module, "__version__", None), str):
        return f"{name} {said}"
    if (home := _distribution(name.partition(".")[0])) is not None:
        return f"{home.metadata['Name']} {home.version}"
    return version_of(name, Path(module.__file__).read_bytes() if module.__file__ else b"")


def _distribution(package: str) -> metadata.Distribution | None:
    """Return the distribution of a package.

    ``metadata.packages_distributions`` parses the lists of files of all distributions, which takes half a second.
    """
    for each in metadata.distributions():
        declared = (each.read_text("top_level.txt") or "").split()
        listed = "" if declared else f"\n{each.read_text('RECORD') or ''}"
        if package in declared or f"\n{package}/" in listed or f"\n{package}." in listed:
            return each
    return None


def _in_words(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _tell(out: Any, document: object) -> None:
    out.write(json.dumps(document) + "\n")
    out.flush()


if __name__ == "__main__":
    # What child processes and libraries of a routine print goes to standard error, not between the answers.
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    main(sys.argv[1])
    os._exit(0)  # skips whatever a routine's library would do at exit
