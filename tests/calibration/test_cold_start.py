"""Cold starts: how much longer bursts take after waits, as a curve from measured times and as measured here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.calibration.cold_start import BurstTime, cold_start_of, measure_cold_start, warm_bursts
from clue.calibration.processor import CountedRun, NodeCalibration
from clue.config import load_machine
from clue.config.yaml12 import parse_yaml
from clue.errors import UsageError
from clue.machine import ColdStart
from clue.recording import find_mpiexec
from clue.trace import Op, Trace, TraceBuilder


def times(long: dict[int, tuple[float, float, float]], short: dict[int, tuple[float, float, float]]) -> list[BurstTime]:
    """Return CPU times of three programs by wait, from microseconds; the second argument has the short bursts."""
    return [
        BurstTime(program, size, wait * 1e-6, cpu * 1e-6)
        for size, by_wait in ((False, long), (True, short))
        for wait, row in by_wait.items()
        for program, cpu in zip("abc", row, strict=True)
    ]


def test_the_curve_is_of_medians_that_do_not_fall() -> None:
    """The curve consists of medians that never decrease.

    Bursts of 40, 50 and 60 us take 5, 15 and 2 us longer after 100 us, and 4, 4 and 4 us after 1 ms: 5 and 5 us.
    """
    long = {0: (40.0, 50.0, 60.0), 100: (45.0, 65.0, 62.0), 1000: (44.0, 54.0, 64.0)}
    short = {0: (4.0, 4.0, 4.0), 100: (5.0, 6.0, 4.0), 1000: (8.0, 5.0, 7.0)}
    found = cold_start_of(times(long, short))
    assert found.after.sizes == pytest.approx((0, 1e-4, 1e-3))
    assert found.after.times == pytest.approx((0, 5e-6, 5e-6))
    # Short bursts grow by shares of 1/4 and 1, 1/2 and 1/4, 0 and 3/4: most for the first program.
    assert found.at_most == pytest.approx(0.625)


def test_waits_that_lasted_equally_long_are_one_point() -> None:
    """Waits of equal length become one point of the curve, with the larger value: of 6 us and 8 us it is 8 us.

    A rank may wait 0.3 ms for a message however soon it is sent.
    """
    rows = times(
        {0: (40.0,) * 3, 300: (46.0,) * 3, 301: (48.0,) * 3}, {0: (4.0,) * 3, 300: (5.0,) * 3, 301: (5.0,) * 3}
    )
    found = cold_start_of([each._replace(wait=3e-4 if each.wait else 0.0) for each in rows])
    assert found.points == ((0.0, 0.0), (3e-4, pytest.approx(8e-6)))


def test_only_long_waits_tell_the_share_by_the_shortest() -> None:
    """Of long waits only the shortest counts: after 5 ms, bursts of 4 us take 1, 2 and 3 us longer, up to 3/4.

    After 9 ms they take 4 us longer, which is ignored.
    """
    long = {0: (40.0, 50.0, 60.0), 5000: (45.0, 55.0, 65.0), 9000: (46.0, 56.0, 66.0)}
    short = {0: (4.0, 4.0, 4.0), 5000: (5.0, 6.0, 7.0), 9000: (8.0, 8.0, 8.0)}
    assert cold_start_of(times(long, short)).at_most == pytest.approx(0.75)


def test_ranks_wait_for_each_others_messages() -> None:
    """With two ranks, waits for messages are measured; three ranks cannot form pairs and are refused."""
    mpiexec = [find_mpiexec()]
    found = measure_cold_start(0.01, mpiexec=mpiexec, ranks=2)
    waits, extra = zip(*found.points, strict=True)
    assert len(waits) == 1 + 4
    assert list(extra) == sorted(extra)
    with pytest.raises(UsageError, match="ranks must make pairs, got 3"):
        measure_cold_start(0.01, mpiexec=mpiexec, ranks=3)


def test_it_is_measured_here_and_written_as_the_simulator_reads_it() -> None:
    """A measurement here gives waits at least as long as sleeps, and times that never decrease; it can be written."""
    found = measure_cold_start(0.01)
    waits, extra = zip(*found.points, strict=True)
    assert list(waits) == sorted(waits)
    assert list(extra) == sorted(extra)
    assert waits[-1] >= 10e-3
    node = NodeCalibration("pc", 2, {}, {}, source="here", cold_start=ColdStart.through([(1e-4, 5e-6)], 0.375))
    written = parse_yaml(node.text(), "pc.yaml").value
    assert isinstance(written, dict)
    link = {"send_delay": "1 us", "transmission_delay": "1 us"}
    machine = load_machine({"nodes": [{"type": "pc"}], "network": {"between_nodes": link}, **written})
    assert machine.nodes[0].cold_start == node.cold_start


def recorded(rank: list[tuple[float, float]]) -> Trace:
    """Return a recording of one rank: bursts, and what the barrier after each took; microseconds."""
    builder = TraceBuilder(1, "recorded")
    for burst, took in rank:
        builder[0].compute(burst * 1e-6)
        builder[0].add(Op.BARRIER, took=round(took * 1e3))
    return builder.build()


def test_warm_bursts_leave_out_what_waits_cost() -> None:
    """A wait of 1 ms costs 100 us, but no burst takes more than 1.5 times its warm time.

    Barriers take 2 us without a wait. Of 60 us after the wait, 20 us are its cost, of 120 us 40 us, and of 300 us the
    remaining 40 us. After that, nothing is owed.
    """
    trace = recorded([(300, 1002), (60, 2), (120, 2), (300, 2), (50, 2)])
    start = ColdStart.through([(1e-3, 1e-4)], at_most=0.5)
    assert warm_bursts(trace, start)[:5] == pytest.approx([300e-6, 40e-6, 80e-6, 260e-6, 50e-6])
    assert warm_bursts(trace, ColdStart())[:5] == pytest.approx([300e-6, 60e-6, 120e-6, 300e-6, 50e-6])
    run = CountedRun.of(trace, start)
    assert (run.total, run.cold) == pytest.approx((730e-6, 100e-6))


@given(
    st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 20_000)), min_size=1, max_size=12),
    st.lists(
        st.tuples(st.integers(10, 9000), st.integers(0, 900)), min_size=1, max_size=3, unique_by=lambda each: each[0]
    ),
    st.floats(0.05, 3.0),
)
def test_warm_bursts_undo_cold_starts(
    rank: list[tuple[int, int]], points: list[tuple[int, int]], at_most: float
) -> None:
    """From bursts with the extra time of any waits, the warm bursts are found again."""
    longer = [0]
    for _, extra in sorted(points):
        longer.append(longer[-1] + extra)
    curve = [(wait * 1e-6, extra * 1e-6) for (wait, _), extra in zip(sorted(points), longer[1:], strict=True)]
    start = ColdStart.through(curve, at_most)
    waited, paid = 0.0, 0.0
    rows = []
    for warm, wait in rank:
        owed = max(0.0, start.after(waited * 1e-6) * 1e6 - paid)
        colder = min(owed, at_most * warm)
        waited, paid = (float(wait), 0.0) if colder == owed else (waited + wait, paid + colder)
        rows.append((warm + colder, 3.0 + wait))
    found = warm_bursts(recorded([*rows, (1, 3)]), start)[: len(rank)]
    # Bursts are recorded in whole nanoseconds, of which one can decide whether something is still owed.
    assert found.sum() == pytest.approx(sum(warm for warm, _ in rank) * 1e-6, rel=1e-3, abs=len(rank) * 1e-8)
