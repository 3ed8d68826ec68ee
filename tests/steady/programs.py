"""Programs of one loop, built op by op with the call sites that a recording would have."""

from __future__ import annotations

from collections.abc import Callable

from clue.trace import Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from clue.trace.sites import Frame, Site

#: Adds a rank's calls of one iteration; arguments: the rank's builder, the rank, the iteration.
Body = Callable[[RankBuilder, int, int], None]


class Placed:
    """A rank builder that gives each call a new call site, within the loop at line 10 or after it."""

    def __init__(self, own: RankBuilder, looped: bool) -> None:
        self._own, self._loops, self._at = own, (10,) if looped else (), 100 if looped else 500

    def __getattr__(self, name: str) -> object:
        if name != "compute":
            self._at += 1
            self._own.at(Site((Frame("loop.py", "main", self._at, self._at, self._loops),)))
        return getattr(self._own, name)


def looped(ranks: int, iterations: int, body: Body, *, before: Body | None = None) -> Trace:
    """Return a program that runs *before* once on each rank, then the iterations."""
    built = TraceBuilder(ranks, "loop.py")
    for rank, own in enumerate(built):
        if before is not None:
            own.at(Site((Frame("loop.py", "main", 1, 1),)))
            before(own, rank, -1)
        for i in range(iterations):
            body(Placed(own, looped=True), rank, i)  # type: ignore[arg-type]
        own.at(Site((Frame("loop.py", "main", 900, 900),)))
        own.compute(0.25)
    return built.build()
