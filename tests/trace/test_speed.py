"""Bursts converted to the best speed of their host, computed by hand, for constant and rising readings."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import TraceError
from clue.kernel import compile_program
from clue.trace import NO_REQUEST, PROC_NULL, Op, Trace, TraceBuilder
from clue.trace.head import Probe, Typical
from clue.trace.pack import pack
from clue.trace.speed import (
    FEWEST,
    MISSED,
    PRIOR,
    RESPONSE,
    UNKNOWN,
    USUAL,
    WINDOW,
    best_of,
    fitted_response,
    normalised,
    speeds,
)
from tests.trace.test_pack import leave, row

CORE, MEMORY = PRIOR.tolist()
BEST = (1e-5, 2e-5)


def measured(bursts: list[float], readings: list[tuple[int, int, int]]) -> Trace:
    """Return one rank's trace of bursts (seconds) with readings; the best readings are 10 and 20 us.

    A single reading stands for as many as must be there.
    """
    readings = readings * (FEWEST if len(readings) == 1 else 1)
    builder = TraceBuilder(1)
    for burst in bursts:
        builder[0].compute(burst)
        builder[0].send(PROC_NULL, 0)
    trace = builder.build()
    trace.ops.begin[:] = np.cumsum(trace.ops.cpu)
    rows = np.array(readings, np.int64).reshape(-1, 3)
    return replace(trace, head=replace(trace.head, probe=Probe("test", (0, len(rows)), BEST)), readings=rows)


def test_without_readings_bursts_are_as_recorded() -> None:
    """Without readings, as in older traces and those of other recorders, bursts are the recorded column itself."""
    trace = measured([1.0], [])
    assert normalised(replace(trace, head=replace(trace.head, probe=None))) is trace.ops.cpu
    assert trace.bursts.tolist() == trace.ops.cpu.tolist()


def test_at_the_best_nothing_changes_and_better_readings_count_as_the_best() -> None:
    """Readings of 10 and 20 us equal the best and change nothing; better ones, 9 and 15 us, count as the best."""
    assert measured([0.1], [(0, 10_000, 20_000)]).bursts[0] == 100_000_000
    assert measured([0.1], [(0, 9_000, 15_000)]).bursts[0] == 100_000_000


@pytest.mark.parametrize(("core", "memory"), [(2.0, 1.0), (1.0, 3.0), (1.5, 1.3)])
def test_a_slower_host(core: float, memory: float) -> None:
    """A burst is divided by the core's slowdown to the power of the response; memory does not matter, 1 ns stays."""
    reading = (0, round(core * 10_000), round(memory * 20_000))
    trace = measured([0.1, 1e-9], [reading])
    assert trace.bursts[0] == round(1e8 / core**RESPONSE)
    assert trace.bursts[1] == 1


@pytest.mark.parametrize(("longer", "counts"), [(1.0, 0.0), (1.5, 1.0), (2.0, 2.0), (3.0, 3.0)])
def test_a_host_that_is_as_slow_as_its_own_ranks_make_it(longer: float, counts: float) -> None:
    """Usual slowdowns have no effect, their square has its full effect, and a slowdown half way between half of it."""
    usual = float(USUAL[0])
    trace = measured([0.1], [(0, round(usual**longer * 1e7), 20_000)])
    trace = replace(trace, head=replace(trace.head, probe=Probe("test", (0, FEWEST), (1e-2, 2e-5))))
    assert trace.bursts[0] == pytest.approx(1e8 / usual ** (counts * RESPONSE), rel=1e-6)


def test_between_readings_it_is_a_straight_line_of_logarithms() -> None:
    """Between readings, the logarithm of the slowdown is linear in time.

    The host is twice as slow at 0 s and four times at 1 s, each for as many readings as a median needs: sqrt(8) times
    half way.
    """
    half = WINDOW // 2 + 1
    readings = [(0, 20_000, 0)] * half + [(10**9, 40_000, 0)] * half
    trace = measured([0.0, 0.2], [(0, 20_000, 0)])
    trace = replace(
        trace,
        head=replace(trace.head, probe=Probe("test", (0, len(readings)), BEST)),
        readings=np.array(readings, np.int64),
    )
    trace.ops.begin[trace.ops.cpu > 0] = 600_000_000  # the middle of the burst is at 0.5 s
    burst = int(trace.bursts[trace.ops.cpu > 0][0])
    assert burst == pytest.approx(2e8 / 8 ** (RESPONSE / 2), abs=1)


def test_single_readings_that_are_off_do_not_count() -> None:
    """Four of nine readings are disturbed; the median ignores them."""
    readings = [(i, 10_000 if i % 2 == 0 else 90_000, 20_000) for i in range(WINDOW)]
    assert measured([1e-8], readings).bursts[0] == 10


@pytest.mark.parametrize("off", [0, 1, 2, 3, WINDOW - 1])
def test_readings_at_the_ends_that_are_off_do_not_count(off: int) -> None:
    """A burst before the first or after the last reading is converted by the nearest nine, not by that one alone."""
    readings = [(i, 10_000, 20_000) for i in range(WINDOW)]
    readings[off] = (off, 90_000, 20_000)
    trace = measured([0.1], readings)
    assert trace.bursts[0] == 100_000_000
    trace.ops.begin[:] = 0
    assert normalised(trace)[0] == 100_000_000


def test_of_few_readings_the_lower_middle_one_counts() -> None:
    """Of three readings the middle one counts, of four the lower middle one, and two do not count.

    Disturbances only make readings longer.
    """
    readings = [(0, 90_000, 0), (1, 20_000, 0), (2, 10_000, 0), (3, 90_000, 0)]
    assert measured([0.1], readings[:3]).bursts[0] == round(1e8 / 2**RESPONSE)
    assert measured([0.1], readings).bursts[0] == round(1e8 / 2**RESPONSE)
    assert measured([0.1], readings[:2]).bursts[0] == 100_000_000


@given(st.lists(st.integers(10_000, 40_000), min_size=FEWEST, max_size=3 * WINDOW))
def test_each_reading_counts_as_the_median_of_the_nearest(core: list[int]) -> None:
    """At the moment of a reading, a burst is converted by the middle one of the nearest nine, or of all if fewer."""
    second = 10**9
    trace = measured([1e-3] * len(core), [(i * second, each, 0) for i, each in enumerate(core)])
    trace.ops.begin[trace.ops.cpu > 0] = np.arange(len(core)) * second + 500_000  # the middle is at the reading
    width = min(WINDOW, len(core))
    for i, burst in enumerate(trace.bursts[trace.ops.cpu > 0].tolist()):
        start = min(max(i - WINDOW // 2, 0), len(core) - width)
        middle = sorted(core[start : start + width])[(width - 1) // 2] / 10_000
        slowdown = min(middle, max(1.0, (middle / float(USUAL[0])) ** 2))
        assert burst == pytest.approx(1e6 / slowdown**RESPONSE, abs=1)


def test_a_piece_that_is_not_done_changes_nothing() -> None:
    """Readings of 0, or no best reading, leave bursts unchanged."""
    assert measured([0.1], [(0, 0, 0)]).bursts[0] == 100_000_000
    trace = measured([0.1], [(0, 20_000, 40_000)])
    nothing = replace(trace, head=replace(trace.head, probe=Probe("test", (0, FEWEST), (0.0, 0.0))))
    assert nothing.bursts[0] == 100_000_000


@given(st.floats(1, 5), st.floats(1, 5), st.floats(1, 3))
def test_a_burst_never_gets_longer_and_a_slower_host_makes_it_shorter(core: float, memory: float, more: float) -> None:
    """A burst never gets longer, and a slower host makes it shorter or leaves it equal."""
    slow, slower = (
        measured([0.1], [(0, round(core * k * 1e4), round(memory * k * 2e4))]).bursts[0] for k in (1.0, more)
    )
    assert 0 < slower <= slow <= 100_000_000


def test_the_best_of_a_recording_is_what_a_tenth_of_its_readings_are_better_than() -> None:
    """The best reading is the 10th percentile: of 0 to 100 us on one rank and none on another, 10 us."""
    rows = np.array([(i, 1000 * i, 2000 * i) for i in range(101)], np.int64)
    assert best_of([rows, rows[:0]]) == pytest.approx((10e-6, 20e-6))
    assert best_of([rows[:0]]) == (0.0, 0.0)


def test_ranks_that_do_not_do_a_piece_do_not_count_for_its_best() -> None:
    """The best is that of the ranks that do the piece: of nine readings of 10 and 20 us, and nine of 10 us alone."""
    both = np.array([(i, 10_000, 20_000) for i in range(WINDOW)], np.int64)
    core, memory = both * np.array([1, 1, 0]), both * np.array([1, 0, 1])
    assert best_of([both, core]) == best_of([memory, both]) == pytest.approx((1e-5, 2e-5))
    assert best_of([core]) == pytest.approx((1e-5, 0.0))


def test_the_response_of_one_burst_recorded_twice_by_hand() -> None:
    """The fitted response of a burst that takes 1.5 ** 0.4 times as long at a slowdown of 1.5, computed by hand.

    It lies between 0.4 and the usual response. With d = ln 1.5 the deviations of the two recordings are ± d/2: x² adds
    up to d²/2, xy to 0.4 d²/2.
    """
    quiet = measured([0.1], [(0, 10_000, 20_000)])
    busy = measured([0.1 * 1.5**0.4], [(0, 15_000, 20_000)])
    d = math.log(1.5)
    x = d * d / 2 / MISSED**2
    prior = UNKNOWN[0] ** -2
    core, memory = fitted_response([quiet, busy])[""]
    assert core == pytest.approx((0.4 * x + CORE * prior) / (x + prior), rel=1e-6)
    assert memory == pytest.approx(MEMORY)


def test_recordings_that_saw_the_host_as_fast_tell_nothing_of_the_response() -> None:
    """Recordings with equal readings leave the usual response; recordings without readings give none."""
    same = [measured([burst], [(0, 15_000, 20_000)]) for burst in (0.1, 0.2)]
    assert fitted_response(same)[""] == pytest.approx((CORE, MEMORY))
    assert fitted_response([replace(each, head=replace(each.head, probe=None)) for each in same]) == {}


def test_speeds_while_bursts_ran() -> None:
    """For half of the time the core has its best speed, then half of it; memory has 0.8 of its best."""
    readings = [(0, 10_000, 20_000)] * WINDOW + [(200_000_000, 20_000, 25_000)] * WINDOW
    trace = measured([0.1, 0.1, 0.2], readings)
    assert speeds(trace)["core"] == pytest.approx((0.5, 0.5**0.25), rel=0.02)
    assert speeds(trace)["memory"][0] == pytest.approx(0.8)
    assert speeds(replace(trace, head=replace(trace.head, probe=None))) == {}


def test_simulations_replay_bursts_at_the_best() -> None:
    """The compiled program has the normalised bursts."""
    trace = measured([0.1], [(0, 20_000, 20_000)])
    assert compile_program(trace).columns.cpu.tolist() == trace.bursts.tolist() != trace.ops.cpu.tolist()


def test_what_is_typical_is_replayed_whatever_readings_say() -> None:
    """Typical bursts are used as they are, because they are normalised already."""
    trace = measured([0.1], [(0, 20_000, 20_000)])
    assert replace(trace, typical=np.array([7])).bursts.tolist() == [7]


@pytest.mark.parametrize("name", ["x.clue", "x.zip"])
def test_readings_and_typical_bursts_are_kept_raw(name: str, tmp_path: Path) -> None:
    """Saving and opening keeps recorded times, readings and typical bursts."""
    trace = measured([0.1], [(5, 20_000, 30_000), (6, 20_000, 30_000)])
    opened = Trace.open(trace.save(tmp_path / name))
    assert opened.readings.tolist() == trace.readings.tolist()
    assert (opened.ops.cpu.tolist(), opened.bursts.tolist()) == (trace.ops.cpu.tolist(), trace.bursts.tolist())
    typical = replace(trace, head=replace(trace.head, typical=Typical(3, 0.1)), typical=np.array([9]))
    again = Trace.open(typical.save(tmp_path / f"typical-{name}"))
    assert (again.bursts.tolist(), again.head.typical) == ([9], Typical(3, 0.1))


@pytest.mark.parametrize(
    ("readings", "offsets", "rule"),
    [
        ([(5, 1, 1), (4, 1, 1)], (0, 2), "readings of rank 0 must be in order"),
        ([(5, -1, 1)], (0, 1), "readings must be from 0"),
        ([(5, 1, 1)], (0, 0, 1), "offsets of probe must be 2 numbers"),
    ],
)
def test_readings_that_mean_nothing(
    readings: list[tuple[int, int, int]], offsets: tuple[int, ...], rule: str, tmp_path: Path
) -> None:
    """Readings that are not in order, are negative or have wrong offsets are refused."""
    trace = replace(measured([0.1], []), readings=np.array(readings, np.int64))
    head = replace(trace.head, probe=Probe("test", offsets, BEST))
    with pytest.raises(TraceError, match=rule):
        Trace.open(replace(trace, head=head).save(tmp_path / "x.clue"))


def test_what_ranks_leave(tmp_path: Path) -> None:
    """One rank has readings, the other, of another recorder, has none: its bursts stay as recorded."""
    barrier = row(Op.BARRIER, "Barrier", cpu=10_000, begin=20_000, request=NO_REQUEST)
    readings = np.array([(i, 30_000 if i else 20_000, 40_000) for i in range(20)], "<i8")
    rows = leave(tmp_path, 0, [barrier], probe="pieces")
    rows.with_suffix(".readings").write_bytes(readings.tobytes())
    leave(tmp_path, 1, [barrier])
    head = pack(tmp_path)
    assert head.probe is not None
    assert (head.probe.work, head.probe.offsets) == ("pieces", (0, 20, 20))
    assert head.probe.best == pytest.approx((3e-5, 4e-5))
    assert Trace.open(tmp_path).bursts.tolist() == [10_000, 10_000]


def test_readings_must_be_whole(tmp_path: Path) -> None:
    """A file of readings that ends within a reading is refused."""
    rows = leave(tmp_path, 0, [row(Op.BARRIER, "Barrier")], size=1, probe="pieces")
    rows.with_suffix(".readings").write_bytes(bytes(32))
    with pytest.raises(TraceError, match="must have a multiple of 24 bytes, got 32"):
        pack(tmp_path)
