"""Programs of one loop, made op by op with the call sites that a recording would have."""

from __future__ import annotations

from collections.abc import Callable

from clue.trace import Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from clue.trace.sites import Frame, Site

#: Gives a rank's calls of an iteration: the rank's builder, its number, the iteration.
Body = Callable[[RankBuilder, int, int], None]


class Placed:
    """A rank whose calls stand one after the other in the text, within the loop at line 10 or behind it."""

    def __init__(self, own: RankBuilder, looped: bool) -> None:
        self._own, self._loops, self._at = own, (10,) if looped else (), 100 if looped else 500

    def __getattr__(self, name: str) -> object:
        if name != "compute":
            self._at += 1
            self._own.at(Site((Frame("loop.py", "main", self._at, self._at, self._loops),)))
        return getattr(self._own, name)


def looped(ranks: int, iterations: int, body: Body, *, before: Body | None = None) -> Trace:
    """Return a program that makes iterations, after what each rank does before."""
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
