"""Cold starts: how much longer bursts take after waits, as a curve from measured times and as measured here."""

from __future__ import annotations

import pytest

from clue.calibration.cold_start import BurstTime, cold_start_of, measure_cold_start
from clue.calibration.processor import NodeCalibration
from clue.config import load_machine
from clue.config.yaml12 import parse_yaml
from clue.errors import UsageError
from clue.machine import ColdStart
from clue.recording import find_mpiexec


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
