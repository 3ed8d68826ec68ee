"""Run a routine in a process of its own: ``python -m clue.forecasting.worker MODULE:FUNCTION``.

It prints a description of the routine, then answers each line of its standard input, ``{"sizes": {…}, "seconds": S}``
or ``{"sizes": {…}, "memory": true}``, by a line. Its libraries run in one thread, which the parent's environment sets.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

#: Minimum number of timed runs at a size, regardless of their time, and maximum number.
LEAST, MOST = 3, 200
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
        except Exception as error:
            _tell(out, {"error": str(error) if isinstance(error, NotARoutineError) else _in_words(error)})
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
    """Return the CPU and wall seconds of runs for a time, at least three. A warm-up run before them is left out."""
    times: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    _timed(function, sizes)
    while len(times) < LEAST or (time.perf_counter() < end and len(times) < MOST):
        times.append(_timed(function, sizes))
    return times


def memory_of(function: Callable[..., object], sizes: dict[str, int]) -> int:
    """Return the bytes of a routine's data.

    For a generator: the arrays that it holds at its ``yield``; for any other function: the peak of Python's memory
    while it ran.
    """
    _timed(function, sizes)  # excludes what is loaded or made on first use
    tracemalloc.start()
    try:
        begin = tracemalloc.get_traced_memory()[0]
        made = function(**sizes)
        if not isinstance(made, Iterator):
            return tracemalloc.get_traced_memory()[1] - begin
        next(made)
        arrays = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, _ARRAYS)])
        del made
        return sum(trace.size for trace in arrays.traces)
    finally:
        tracemalloc.stop()


def _timed(function: Callable[..., object], sizes: dict[str, int]) -> tuple[float, float]:
    """Run a routine; returns CPU and wall seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = function(**sizes)
    if isinstance(made, Iterator):
        next(made)
        wall, cpu = time.perf_counter(), time.process_time()
        next(made, None)
    return time.process_time() - cpu, time.perf_counter() - wall


def _answer(function: Callable[..., object], asked: dict[str, Any]) -> dict[str, object]:
    try:
        if asked.get("memory"):
            return {"memory": memory_of(function, asked["sizes"])}
        return {"times": times_of(function, asked["sizes"], asked["seconds"])}
    except MemoryError:
        return {"error": "too little memory"}
    except Exception as error:
        return {"error": _in_words(error)}


def _library(module: ModuleType, name: str) -> str:
    """Return the version of a module: its own, that of its distribution, or a digest of its text."""
    own = getattr(module, "version", None)
    if name == "clue.forecasting.shipped" and callable(own):
        return str(own())
    if isinstance(said := getattr(module, "__version__", None), str):
        return f"{name} {said}"
    top = name.partition(".")[0]
    for each in metadata.packages_distributions().get(top, ()):
        return f"{each} {metadata.version(each)}"
    text = Path(module.__file__).read_bytes() if module.__file__ else b""
    return f"{name} {hashlib.sha256(text).hexdigest()[:12]}"


def _in_words(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _tell(out: Any, document: object) -> None:
    out.write(json.dumps(document) + "\n")
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
    os._exit(0)  # skips whatever a routine's library would do at exit
