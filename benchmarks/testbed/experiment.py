"""An experiment on a testbed: runs of several programs in turn while it is up; known results are not measured again."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import product
from typing import TypeVar

from benchmarks.testbed import launch
from benchmarks.testbed.description import Host

_Case = TypeVar("_Case", bound=Hashable)
_Run = TypeVar("_Run")
#: Least mean speed of the cores, relative to their best, in a run that counts.
FULL_SPEED = 0.95
#: Number of attempts at such a run, and the seconds between them: other users occupy a core for some seconds at a time.
_ATTEMPTS, _APART = 4, 4.0


@contextmanager
def on_demand(name: str, hosts: Sequence[Host]) -> Iterator[Callable[[], str]]:
    """Yield a function that builds a testbed on its first call, and returns its name; the block's end removes it."""
    with ExitStack() as opened:
        yield cache(lambda: opened.enter_context(launch.standing(name.replace("-", "_"), hosts)))


def in_turns(cases: Sequence[_Case], times: int, run: Callable[[_Case, int], _Run]) -> dict[_Case, list[_Run]]:
    """Run each case a number of times, and return its results.

    Cases take turns, so that minutes in which this computer is disturbed do not all fall on one case.
    """
    found: dict[_Case, list[_Run]] = {case: [] for case in cases}
    for turn, case in product(range(times), cases):
        found[case].append(run(case, turn))
    return found


def at_full_speed(run: Callable[[], launch.RunOutput]) -> launch.RunOutput:
    """Repeat a run until this computer's cores keep to their best speed; after the last attempt, return the fastest.

    Each core of a virtual computer may be a hardware thread whose sibling others use. CPU time counts at the speed of
    the keeper's work, but such a sibling slows programs down less than the keeper, so their CPU times come out too
    short: by a quarter in recordings of ``molecular`` and ``least_squares``.
    """
    found = run()
    for _ in range(_ATTEMPTS - 1):
        if found.speed >= FULL_SPEED:
            break
        time.sleep(_APART)
        found = max(found, run(), key=lambda output: output.speed)
    return found
