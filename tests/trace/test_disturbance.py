"""Delays of ranks by other processes, computed by hand; an idle computer gives no delay."""

from __future__ import annotations

import pytest

from clue.trace import RankHead
from clue.trace.disturbance import about, delays, largest
from clue.trace.parts import HostReading


def reading(
    busy: float, cpu: float, waited: float, *, begin: float = 0.0, end: float = 10.0, cores: tuple[int, ...] = (0, 1)
) -> HostReading:
    """Return the figures that a rank reads from its computer."""
    return HostReading(begin, end, cores, busy, cpu, waited)


def of(*readings: HostReading | None) -> list[float]:
    """Return the delays of the ranks of one computer."""
    return delays(["here"] * len(readings), readings)


def test_one_rank_beside_a_busy_process() -> None:
    """A rank and another process share one core: the rank waited 5 s while the other computed 5 s."""
    assert of(reading(10.0, 5.0, 5.0, cores=(0,))) == [5.0]


def test_others_on_cores_of_their_own() -> None:
    """A busy process on another core does not delay the rank."""
    assert of(reading(20.0, 10.0, 0.1)) == [0.1]


def test_nobody_waits_for_others_longer_than_they_compute() -> None:
    """A delay is at most the time that other processes computed, here 1 s; the rest of 9 s waits for other ranks."""
    assert of(reading(11.0, 5.0, 9.0), reading(11.0, 5.0, 2.0)) == pytest.approx([1.0, 1.0])


def test_more_ranks_than_cores_on_an_idle_computer() -> None:
    """Four ranks on two idle cores wait for each other half of the time: no delay, even if busy time is 9 % off."""
    assert of(*[reading(20.0 * 1.09, 5.0, 5.0)] * 4) == [0.0] * 4


def test_more_ranks_than_cores_beside_others() -> None:
    """Four ranks get 3 s each of 20 s; others got 8 s, of which the tolerance takes off 2 s, so 6 s are delay."""
    assert of(*[reading(20.0, 3.0, 7.0)] * 4) == pytest.approx([6.0] * 4)


def test_rank_that_ends_early_polls_until_the_others_have_ended() -> None:
    """A rank that has ended polls for 7 s more; this busy time is its own and delays no other rank."""
    early, late = reading(6.0, 3.0, 0.0, end=3.0), reading(20.0, 10.0, 2.0)
    assert of(early, late) == [0.0, 0.0]
    assert of(reading(20.0, 10.0, 2.0), reading(6.0, 3.0, 1.0, begin=7.0)) == [0.0, 0.0]


def test_ranks_that_are_bound_to_cores() -> None:
    """A bound rank is delayed only by processes on its own cores: here the other process runs on core 1."""
    assert of(reading(10.0, 10.0, 0.0, cores=(0,)), reading(10.0, 4.0, 6.0, cores=(1,))) == [0.0, 6.0]


def test_ranks_of_other_computers_do_not_matter() -> None:
    """Delays are computed separately for each computer, and are 0 without readings."""
    readings = [reading(10.0, 5.0, 5.0, cores=(0,)), reading(10.0, 10.0, 0.0, cores=(0,)), None]
    assert delays(["a", "b", "c"], readings) == [5.0, 0.0, 0.0]


def test_program_that_sleeps() -> None:
    """A program that sleeps waits for no core, so it is not delayed."""
    assert of(reading(20.0, 0.1, 0.0)) == [0.0]


@pytest.mark.parametrize(
    ("delayed", "wall", "told"), [(0.4, 10.0, False), (0.6, 10.0, True), (0.04, 0.1, False), (0.0, 0.0, False)]
)
def test_what_is_told(delayed: float, wall: float, told: bool) -> None:
    """A note appears from 5 % of a rank's time on, but not below 50 ms, which cannot be measured."""
    ranks = [RankHead("here", 0, 0.0, 20.0), RankHead("here", 0, 0.0, wall, delayed=delayed)]
    said = about(ranks)
    assert bool(said) == told
    if told:
        assert largest(ranks) == pytest.approx(0.06)
        assert "other processes kept a rank from computing for 6% of its time" in said[0]
