"""An experiment on a testbed: runs of several programs in turn while it is up; known results are not measured again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import product
from typing import TypeVar

from benchmarks.testbed import launch
from benchmarks.testbed.description import Host

_Case = TypeVar("_Case", bound=Hashable)
_Run = TypeVar("_Run")


@contextmanager
def on_demand(name: str, hosts: Sequence[Host]) -> Iterator[Callable[[], str]]:
    """Yield a function that builds a testbed on its first call, and returns its name; the block's end removes it."""
    with ExitStack() as opened:
        yield cache(lambda: opened.enter_context(launch.standing(name.replace("-", "_"), hosts)))


def in_turns(cases: Sequence[_Case], times: int, run: Callable[[_Case, int], _Run]) -> dict[_Case, list[_Run]]:
    """Run each case so often, and return what came of it.

    Cases take turns, so that minutes in which this computer is disturbed do not fall to one of them.
    """
    found: dict[_Case, list[_Run]] = {case: [] for case in cases}
    for turn, case in product(range(times), cases):
        found[case].append(run(case, turn))
    return found
