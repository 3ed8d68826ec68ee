"""Live runs: bursts count as at this computer's best speed, which readings between them tell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from clue.execution.core_speed import CoreSpeed
from clue.execution.source import ProcessSource
from clue.trace.hosts import best_here
from clue.trace.wire import Channel
from tests.live.programs import Live

#: Time of the core's piece at the best speed, ns; a reading lasts that long.
PIECE = 10_000
#: Time between readings: 100 times the time of one.
APART = 100 * PIECE


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache, and return its path."""
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Core:
    """A core whose speed and clock are set."""

    def __init__(self) -> None:
        self.now, self.piece, self.taken = 0, PIECE, 0

    def read(self) -> int:
        """Do the piece."""
        self.now += PIECE
        self.taken += 1
        return self.piece

    def speed(self) -> CoreSpeed:
        """Begin a run on this core."""
        return CoreSpeed(self.read, lambda: self.now)


def test_readings_take_a_hundredth_of_the_time() -> None:
    """27 at the beginning, none until 100 of their times have passed, then one; nine after much longer."""
    core = Core()
    speed = core.speed()
    assert core.taken == 27
    taken = []
    for passed in (APART - PIECE, PIECE, APART, 3 * APART, 100 * APART):
        core.now += passed
        speed.longer()
        taken.append(core.taken - 27)
    assert taken == [0, 1, 2, 5, 14]


def test_bursts_are_scaled_as_in_recordings() -> None:
    """While the piece takes 1.2 times as long, ln S = 2 ln(1.2 / 1.15): bursts take (1.2 / 1.15) ^ 1.4 times as long.

    The burst before the change was noticed lies between both speeds. At 1.15 times, nothing counts; at 1.7 times, all.
    """
    core = Core()
    speed = core.speed()
    for piece, longer in ((1.2, (1.2 / 1.15) ** 1.4), (1.15, 1.0), (1.7, 1.7**0.7), (0.9, 1.0)):
        before, core.piece, core.now = speed.longer(), round(piece * PIECE), core.now + 100 * APART
        assert speed.longer() == pytest.approx((before * longer) ** 0.5)
        assert speed.longer() == pytest.approx(longer)


def test_a_few_disturbed_readings_do_not_count() -> None:
    """The median of nine readings counts: four that take longer change nothing, the fifth does."""
    core = Core()
    speed = core.speed()
    core.piece = 2 * PIECE
    found = []
    for _ in range(6):
        core.now += APART
        found.append(speed.longer())
    assert found == pytest.approx([1.0] * 4 + [2**0.35, 2**0.7])


def test_the_best_speed_is_that_of_all_runs() -> None:
    """A run that is slowed down throughout is compared with earlier ones; a better run counts from then on."""
    assert Core().speed().longer() == 1.0
    core = Core()
    core.piece = 2 * PIECE
    speed = core.speed()
    assert speed.longer() == pytest.approx(2**0.7)
    core.piece = PIECE // 2
    for _ in range(20):
        core.now += 100 * APART
        speed.longer()
    speed.keep()
    assert best_here()[0] == pytest.approx(PIECE / 2 * 1e-9)
    assert Core().speed().longer() == pytest.approx(2**0.7)


def test_a_refused_cache_is_said(cache: Path) -> None:
    """If others can write to the cache, bursts are relative to the beginning of the run, and a note says so."""
    (cache / "hosts").mkdir(parents=True)
    (cache / "hosts").chmod(0o777)
    core = Core()
    core.piece = 2 * PIECE
    speed = core.speed()
    assert speed.longer() == 1.0
    assert speed.note.startswith("bursts are relative to the best speed of this computer at the beginning of the run: ")
    speed.keep()


class Program(Channel):
    """A channel to itself, on which a program's next calls follow each answer."""

    def __init__(self, calls: list[Any]) -> None:
        super().__init__(*os.pipe())
        self._calls = calls

    def send(self, value: Any) -> None:
        """Send the calls instead of the answer."""
        del value
        super().send(self._calls)


def test_calls_have_their_bursts_scaled() -> None:
    """Bursts are divided and rounded; no burst becomes longer, or vanishes."""
    calls: list[Any] = [[kind, cpu, *range(10)] for kind, cpu in ((1, 1000), (2, 1), (3, 0), (4, 1001))]
    program = Program(calls)
    source = ProcessSource(0, program, longer=lambda: 4.0)
    assert [source.resume(None)[:2] for _ in calls] == [(1, 250), (2, 1), (3, 0), (4, 250)]
    program.close()


WORK = """\
import time
from mpi4py import MPI
from virtual_layer import region
with region("work", flops=1e9):
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        pass
print(f"{MPI.Wtime():.6f}", flush=True)
"""


def test_a_run_counts_bursts_at_the_best_speed(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a core said to be a million times slower, 50 ms of computation count as 50 ns, but declared ones in full."""
    monkeypatch.setattr(CoreSpeed, "longer", lambda _: 1e6)
    assert float(live(WORK, ranks=1).out.splitlines()[0]) < 1e-3
    assert float(live(WORK, "--bursts", "1 Gflop/s", ranks=1).out.splitlines()[0]) == pytest.approx(1.0)
