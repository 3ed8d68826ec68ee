"""Sizes of the pickles that mpi4py makes and reads, and the CPU time that this takes.

mpi4py pickles through one object, ``MPI.pickle``. Its two functions are replaced by ones that do the same and
note the sizes while a lower-case call runs; functions that a program sets itself stay in place.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import get_ident
from time import thread_time_ns
from typing import Any

#: Number of readings of the clock that show how long one takes.
_READINGS = 50


class Parcels:
    """The pickles of one lower-case call.

    Attributes:
        dumped: Sizes of pickles made, in order.
        loaded: Sizes of pickles read, in order.
        before: CPU time within the call until the last pickle was made, ns. It counts before the call.
        after: CPU time since then, ns: of unpickling what arrived, and of reducing it. It counts after the call.
        one_by_one: Whether each object is reduced as it arrives, before the next one can arrive. Then only the work on
            the last one counts after the call.
    """

    __slots__ = ("after", "before", "dumped", "loaded", "one_by_one")

    def __init__(self) -> None:
        self.dumped: list[int] = []
        self.loaded: list[int] = []
        self.before = self.after = 0
        self.one_by_one = False

    def pickled(self, nbytes: int, nanoseconds: int) -> None:
        """Note a pickle that was made: all work up to here comes before its message."""
        self.dumped.append(nbytes)
        self.before += self.after + nanoseconds
        self.after = 0

    def unpickled(self, nbytes: int, nanoseconds: int) -> None:
        """Note a pickle that was read."""
        self.loaded.append(nbytes)
        if self.one_by_one:
            self.before, self.after = self.before + self.after, 0
        self.after += nanoseconds


def time_of_a_reading() -> int:
    """Return the CPU time between two immediately successive readings of the clock, ns; it is in all measured times."""
    readings = [thread_time_ns() for _ in range(_READINGS)]
    return sorted(after - before for before, after in pairwise(readings))[len(readings) // 2]


class Pickles:
    """The watch over ``MPI.pickle``.

    Attributes:
        opened: The pickles of the lower-case calls under way, by thread.
    """

    def __init__(self, mpi: Any) -> None:
        self._reading = time_of_a_reading()
        self.opened: dict[int, Parcels] = {}
        self._pickle = mpi.pickle
        self._set_up = mpi.Pickle.__init__
        self._protocol: int | None = mpi.pickle.PROTOCOL
        self.watch()

    def watch(self, dumps: Any = None, loads: Any = None, protocol: Any = None, threshold: Any = None) -> None:
        """Do the same as ``MPI.pickle.__init__``, but keep watching."""
        if protocol is None and (dumps is None or dumps is pickle.dumps):
            protocol = self._protocol
        self._set_up(
            self._pickle, self._noting_dumps(dumps or pickle.dumps), self._noting_loads(loads or pickle.loads),
            protocol, threshold,
        )  # fmt: skip

    def begin(self) -> Parcels:
        """Start noting for this thread."""
        parcels = Parcels()
        self.opened[get_ident()] = parcels
        return parcels

    def timed(self, reduction: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Wrap the function that reduces two objects, so that its time counts."""
        parcels, reading = self.opened[get_ident()], self._reading

        def reduce(left: Any, right: Any) -> Any:
            begin = thread_time_ns()
            try:
                return reduction(left, right)
            finally:
                parcels.after += max(0, thread_time_ns() - begin - reading)

        return reduce

    def _noting_dumps(self, dumps: Callable[..., Any]) -> Callable[..., Any]:
        opened, reading = self.opened, self._reading

        def noting(*arguments: Any, **options: Any) -> Any:
            parcels = opened.get(get_ident())
            if parcels is None:
                return dumps(*arguments, **options)
            begin = thread_time_ns()
            data = dumps(*arguments, **options)
            parcels.pickled(len(data), max(0, thread_time_ns() - begin - reading))
            return data

        return noting

    def _noting_loads(self, loads: Callable[..., Any]) -> Callable[..., Any]:
        opened, reading = self.opened, self._reading

        def noting(data: Sequence[int], *arguments: Any, **options: Any) -> Any:
            parcels = opened.get(get_ident())
            if parcels is None:
                return loads(data, *arguments, **options)
            begin = thread_time_ns()
            value = loads(data, *arguments, **options)
            parcels.unpickled(len(data), max(0, thread_time_ns() - begin - reading))
            return value

        return noting
