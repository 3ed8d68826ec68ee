"""The time of pickling, by a clock whose readings take time themselves."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from virtual_layer import pickles
from virtual_layer.pickles import Pickles

#: What a reading of the clock takes, ns.
READING = 500


class Clock:
    """A clock that goes on by a reading, and by the work that is done."""

    def __init__(self) -> None:
        self.now = 0

    def read(self) -> int:
        """Return the time; reading it takes time."""
        self.now += READING
        return self.now

    def working(self, nanoseconds: int, result: Any) -> Callable[..., Any]:
        """Return a function that takes a time."""

        def work(*_: object) -> Any:
            self.now += nanoseconds
            return result

        return work


class Pickle:
    """What mpi4py pickles with."""

    PROTOCOL = 5

    def __init__(self, dumps: Any = None, loads: Any = None, *_: Any) -> None:
        self.dumps, self.loads = dumps, loads


@pytest.mark.parametrize("work", [0, 200, 7000])
def test_readings_of_the_clock_are_no_work(monkeypatch: pytest.MonkeyPatch, work: int) -> None:
    """Making a pickle, reading one and reducing two objects count as long as they take, however short."""
    clock = Clock()
    monkeypatch.setattr(pickles, "thread_time_ns", clock.read)
    mpi = SimpleNamespace(pickle=Pickle(), Pickle=Pickle)
    watched = Pickles(mpi)
    watched.watch(clock.working(work, b"12345"), clock.working(3 * work, "object"))
    parcels = watched.begin()
    reduce = watched.timed(clock.working(5 * work, "sum"))
    assert mpi.pickle.dumps("object") == b"12345"
    assert (parcels.dumped, parcels.before, parcels.after) == ([5], work, 0)
    assert (mpi.pickle.loads(b"123"), reduce("a", "b")) == ("object", "sum")
    assert (parcels.loaded, parcels.before, parcels.after) == ([3], work, 8 * work)
