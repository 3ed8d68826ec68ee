"""How long others kept a rank from computing, added up by hand; and that an idle computer never seems busy."""

from __future__ import annotations

import pytest

from clue.trace import RankHead
from clue.trace.disturbance import about, delays, largest
from clue.trace.parts import HostReading


def reading(
    busy: float, cpu: float, waited: float, *, begin: float = 0.0, end: float = 10.0, cores: tuple[int, ...] = (0, 1)
) -> HostReading:
    """Return what a rank reads."""
    return HostReading(begin, end, cores, busy, cpu, waited)


def of(*readings: HostReading | None) -> list[float]:
    """Return the delays of ranks of one computer."""
    return delays(["here"] * len(readings), readings)


def test_one_rank_beside_a_busy_process() -> None:
    """On one core of which each has half: the rank waited 5 s, and the other computed 5 s."""
    assert of(reading(10.0, 5.0, 5.0, cores=(0,))) == [5.0]


def test_others_on_cores_of_their_own() -> None:
    """A busy process on the other core delays no rank, though the computer is busy."""
    assert of(reading(20.0, 10.0, 0.1)) == [0.1]


def test_nobody_waits_for_others_longer_than_they_compute() -> None:
    """A rank that yields its core while it is blocked waits 9 s for it: for its like, but for the second of others."""
    assert of(reading(11.0, 5.0, 9.0), reading(11.0, 5.0, 2.0)) == pytest.approx([1.0, 1.0])


def test_more_ranks_than_cores_on_an_idle_computer() -> None:
    """Four ranks on two cores wait half of the time, for each other; kernels that miscount by 9 % do not matter."""
    assert of(*[reading(20.0 * 1.09, 5.0, 5.0)] * 4) == [0.0] * 4


def test_more_ranks_than_cores_beside_others() -> None:
    """Four ranks get 3 s each of 20; 8 s went to others, less the 2 s that are not believed."""
    assert of(*[reading(20.0, 3.0, 7.0)] * 4) == pytest.approx([6.0] * 4)


def test_rank_that_ends_early_polls_until_the_others_have_ended() -> None:
    """Its core is busy for 7 s more, which are its own: the other rank is not delayed."""
    early, late = reading(6.0, 3.0, 0.0, end=3.0), reading(20.0, 10.0, 2.0)
    assert of(early, late) == [0.0, 0.0]
    assert of(reading(20.0, 10.0, 2.0), reading(6.0, 3.0, 1.0, begin=7.0)) == [0.0, 0.0]


def test_ranks_that_are_bound_to_cores() -> None:
    """Only who shares a core with a rank can explain that it waits: there the other process is on core 1."""
    assert of(reading(10.0, 10.0, 0.0, cores=(0,)), reading(10.0, 4.0, 6.0, cores=(1,))) == [0.0, 6.0]


def test_ranks_of_other_computers_do_not_matter() -> None:
    """Each computer by itself; and one whose kernel tells nothing."""
    readings = [reading(10.0, 5.0, 5.0, cores=(0,)), reading(10.0, 10.0, 0.0, cores=(0,)), None]
    assert delays(["a", "b", "c"], readings) == [5.0, 0.0, 0.0]


def test_program_that_sleeps() -> None:
    """It neither computes nor waits for a core, however busy that is."""
    assert of(reading(20.0, 0.1, 0.0)) == [0.0]


@pytest.mark.parametrize(
    ("delayed", "wall", "told"), [(0.4, 10.0, False), (0.6, 10.0, True), (0.04, 0.1, False), (0.0, 0.0, False)]
)
def test_what_is_told(delayed: float, wall: float, told: bool) -> None:
    """From a twentieth of a rank's time on; less than 50 ms cannot be measured."""
    ranks = [RankHead("here", 0, 0.0, 20.0), RankHead("here", 0, 0.0, wall, delayed=delayed)]
    said = about(ranks)
    assert bool(said) == told
    if told:
        assert largest(ranks) == pytest.approx(0.06)
        assert "other processes kept a rank from computing for 6% of its time" in said[0]
