"""The recordings that a target needs, and their cost on this computer."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.extrapolation.plan import Plan, Planned, Sample, Sizes, Wanted, estimate, lacking, planned, wanted


def recordings_for(size: int, ranks: int) -> list[Wanted]:
    """Return the recordings that a target needs."""
    return sorted(set(wanted(size, ranks).values()))


def plan_of(size: int, ranks: int, memory: float = math.inf) -> Plan:
    """Return a plan in which samples take no time for data."""
    sample = Sample(1, 1, 1.0, 0.0, 1.0)
    return planned(
        Wanted(size, ranks), [sample], cores=2, memory=memory, repeats=3, recordable=recordings_for(size, ranks)
    )


def test_the_plan_of_a_large_target() -> None:
    """On 8 ranks, n / 8 = 20,000 / 512 at 312.5, n² / 8 matches at 2,500 and n³ / 8 at 5,000."""
    found = recordings_for(20000, 512)
    assert sorted({each.size for each in found}) == [320, 2500, 5000]
    assert [each.ranks for each in found if each.size == 5000] == [4, 8, 16]
    assert [each.ranks for each in found if each.size == 320] == [4, 6, 8, 16, 27]


@given(size=st.integers(200, 10**6), ranks=st.integers(17, 2**15))
def test_local_sizes_of_large_targets_are_bracketed(size: int, ranks: int) -> None:
    """For each of three local sizes, the target's value lies between two recorded ones."""
    if size < 4 * ranks:
        return
    plan = plan_of(size, ranks)
    assert all(plan.bracketed(dimension) for dimension in (1, 2, 3))
    assert max(each.size for each in plan.recordings) <= size * 1.05 + 16
    assert len({each.size for each in plan.recordings}) >= 2
    for number in {each.ranks for each in plan.recordings}:
        assert sum(each.ranks == number for each in plan.recordings) >= 2


@given(size=st.integers(16, 5000), ranks=st.integers(1, 40))
def test_every_target_has_sizes_and_ranks_enough(size: int, ranks: int) -> None:
    """A target needs at least four numbers of ranks, including 6, with two sizes each, in at most 13 or 14 places."""
    found = recordings_for(size, ranks)
    numbers = {each.ranks for each in found}
    assert len(numbers) >= 4 and 6 in numbers
    assert all(sum(each.ranks == number for each in found) >= 2 for number in numbers)
    assert len(set(found)) == len(found) <= (14 if ranks < 16 else 13)


def test_a_small_target_needs_most_recordings() -> None:
    """Below 16 ranks, the target's own number is recorded as well: three sizes on 2, 4, 8 and 12, and two on 6."""
    found = recordings_for(4800, 12)
    assert [sum(each.ranks == number for each in found) for number in (2, 4, 6, 8, 12)] == [3, 3, 2, 3, 3]


@given(multiple=st.integers(4, 400), ranks=st.sampled_from((32, 48, 64, 512)))
def test_sizes_are_multiples_of_ranks_where_the_target_is(multiple: int, ranks: int) -> None:
    """If the target's size is a multiple of its ranks, so are all recordings, for programs with equal parts."""
    assert all(each.size % each.ranks == 0 for each in recordings_for(multiple * ranks, ranks))


def test_sizes_divide_as_the_target_does() -> None:
    """Near 724 for 2,048: a multiple of 64, which also divides 2,048; near 100 for a target of 1,000: 100 itself."""
    assert Sizes(2048, 64, (4, 8, 16)).nearest(724.1) == 704
    assert Sizes(1000, 64, (4, 8, 16)).nearest(100.0) == 100
    assert Sizes(997, 64, (4, 8, 16)).nearest(10.4) == 10
    assert Sizes(512, 32, (6,), share=0.3).nearest(128.0) == 96


def test_sizes_for_rules_alone_divide_well() -> None:
    """For 512 on 32 ranks: 96 and 192 are multiples of 6 and of 32, 108 and 216 of 27 and of 4."""
    found = recordings_for(512, 32)
    assert [each.size for each in found if each.ranks == 6] == [96, 192]
    assert [each.size for each in found if each.ranks == 27] == [108, 216]


def test_times_and_memory_grow_as_the_samples_did() -> None:
    """Work of 1 s at 100 and 4 s at 200 grows quadratically: 16 s at 400; a start takes 0.5 s per rank.

    On two cores, 8 ranks take (16 + 4) / 2 s. A rank has 100 bytes without data; data take 4 x 300 bytes at 200, and
    four times that at 400.
    """
    samples = [Sample(100, 4, 1.0, 0.5, 100.0), Sample(200, 4, 4.0, 0.5, 400.0)]
    assert estimate(samples, Wanted(400, 8), 2) == Planned(400, 8, 10.0, 8 * 100 + 4 * 4 * 300)
    assert estimate(samples, Wanted(200, 1), 2).seconds == 4.5


def test_a_single_sample_is_taken_for_steep() -> None:
    """With one sample, work is assumed to grow with the third power of the size, which rarely underestimates it.

    One sample does not tell data from what an empty rank needs, so memory does not grow.
    """
    assert estimate([Sample(100, 4, 1.0, 0.0, 10.0)], Wanted(200, 4), 2) == Planned(200, 4, 4.0, 40.0)


def test_what_memory_cannot_hold_is_left_out() -> None:
    """A rank takes a byte, so 27 ranks exceed a memory of 16 bytes and are left out."""
    plan = plan_of(20000, 512, memory=16.0)
    assert {each.ranks for each in plan.recordings} == {4, 6, 8, 16}
    assert {(each.ranks, each.memory) for each in plan.left_out} == {(27, 27.0)}
    assert plan.seconds == pytest.approx(3 * sum(each.seconds for each in plan.recordings))


@pytest.mark.parametrize(
    ("recorded", "what"),
    [
        ([(n, p) for n in (96, 144, 192) for p in (2, 4, 6, 8)], []),
        ([(n, p) for n in (96, 144, 192) for p in (4, 8, 16)], [(96, 6), (144, 6)]),
        ([(n, p) for n in (96, 144) for p in (2, 4, 6, 8)], [(160, 2), (160, 4), (160, 6), (160, 8)]),
        ([(96, 4), (144, 4), (192, 4)], [(n, p) for n in (96, 144) for p in (6, 12, 24)]),
    ],
)
def test_what_recordings_lack(recorded: list[tuple[int, int]], what: list[tuple[int, int]]) -> None:
    """Rules need three sizes and four numbers of ranks, not all powers of two; all ranks divide an additional size."""
    assert [(each.size, each.ranks) for each in lacking(recorded)] == what


@given(
    sizes=st.sets(st.integers(1, 1000), min_size=1, max_size=4),
    ranks=st.sets(st.integers(1, 64), min_size=1, max_size=4),
)
def test_nothing_lacks_any_more(sizes: set[int], ranks: set[int]) -> None:
    """After recording the missing places, nothing is missing, and no place is recorded twice."""
    recorded = [(size, count) for size in sizes for count in ranks]
    more = [(each.size, each.ranks) for each in lacking(recorded)]
    assert not set(more) & set(recorded)
    assert lacking([*recorded, *more]) == ()
