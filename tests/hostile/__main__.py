"""Try hostile cases in this process with limited memory and time, and print the outcome of each.

``python -m tests.hostile traces

parts

inputs FIRST COUNT`` prints a line at the start and the end of each case, so that its caller knows which case ended the
process. A number always denotes the same case.
"""

from __future__ import annotations

import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.hostile.inputs import hostile_command
from tests.hostile.mutations import mutated_parts, mutated_trace
from tests.hostile.verdicts import command_verdict, parts_verdict, trace_verdict

#: Bytes of address space, and seconds of one case.
MEMORY, SECONDS = 4 << 30, 20
#: A kind of case: returns its description, and the function that tries it.
_Case = Callable[[Random, Path], tuple[str, Callable[[], str]]]


def _trace(random: Random, folder: Path) -> tuple[str, Callable[[], str]]:
    path, what = mutated_trace(random, folder)
    return what, lambda: trace_verdict(random, path)


def _parts(random: Random, folder: Path) -> tuple[str, Callable[[], str]]:
    path, what = mutated_parts(random, folder)
    return what, lambda: parts_verdict(random, path)


def _input(random: Random, folder: Path) -> tuple[str, Callable[[], str]]:
    words, what = hostile_command(random, folder)
    return f"{' '.join(words)} with {what}", lambda: command_verdict(words, folder)


_CASES: dict[str, _Case] = {"traces": _trace, "parts": _parts, "inputs": _input}


def _late(*_: object) -> None:
    raise TimeoutError(f"case must end within {SECONDS} s")


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))


def _tell(word: str, number: int, what: str) -> None:
    sys.stdout.write(f"{word} {number} {what!a}\n")
    sys.stdout.flush()


def main(kind: str, first: int, count: int) -> None:
    """Try this many cases from the first number on."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _late)
    for number in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            signal.alarm(SECONDS)
            try:
                what, verdict = _CASES[kind](Random(number), Path(folder))
                _tell("begin", number, what)
                _tell("end", number, verdict())
            except Exception as error:
                _tell("FAIL", number, f"{type(error).__name__}: {str(error)[:300]} ({_where(error)})")
            finally:
                signal.alarm(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
