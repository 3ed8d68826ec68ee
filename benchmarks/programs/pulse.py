"""How fast a core is at this moment: a virtual computer shares its cores with others that it cannot see.

For some seconds a core may take up to twice as long for everything, because another computer uses its other half. What
is measured then tells nothing of a cluster; it is known by a fixed piece of work, which takes the same time otherwise.
"""

from __future__ import annotations

import statistics
import time

_ROUNDS, _TIMES = 20_000, 5


def pulse() -> float:
    """Return the CPU seconds that the piece of work takes."""
    return statistics.median(_work() for _ in range(_TIMES))


def _work() -> float:
    begin, total = time.thread_time(), 0
    for i in range(_ROUNDS):
        total += i * i
    return time.thread_time() - begin
