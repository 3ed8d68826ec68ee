"""Bursts at a call site: rows that form their own pool, and the combination of sites to an interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from clue.extrapolation import Family, Recording, infer
from clue.extrapolation.bursts import BEFORE, Bursts, Floats, outside_remarks, predecessors, together
from clue.models import fit
from clue.structure.atoms import Integers
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.sites import Frame, Site
from tests.extrapolation.families import IN_LOOP


def test_deviations_of_places_add_up_by_their_squares() -> None:
    """Sites that may be 3 and 4 s shorter are 5 s shorter together; with 5 and 12 s, they are 13 s longer."""
    mean = np.array([10.0, 10.0, 20.0])
    low = mean - np.array([1.0, 2.0, 4.0])
    high = mean + np.array([2.0, 3.0, 12.0])
    shorter, longer = together(np.array([mean, low, high]), [np.array([0, 1]), np.array([2])])
    assert shorter.sum() == pytest.approx(mean.sum() - 5)
    assert longer.sum() == pytest.approx(mean.sum() + 13)
    # Each row keeps its share of the sum of deviations.
    assert mean - shorter == pytest.approx(np.array([1, 2, 4]) * 5 / 7)


def test_a_single_place_keeps_its_interval() -> None:
    """A single site keeps its interval, as no other site can compensate for its error; no bursts have no interval."""
    drawn = np.array([[2.0, 4.0], [1.0, 3.0], [5.0, 6.0]])
    shorter, longer = together(drawn, [np.array([0, 1])])
    assert shorter == pytest.approx(drawn[1])
    assert longer == pytest.approx(drawn[2])
    nothing, _ = together(np.zeros((3, 2)), [np.array([0]), np.array([1])])
    assert nothing == pytest.approx(0)


@pytest.mark.parametrize("loop", ["i0", "i1", "i2"])
def test_the_first_iteration_of_any_loop_has_bursts_of_its_own(loop: str) -> None:
    """The burst before a call in a loop takes 1 ms in the first iteration and 20 us in later ones, at every size."""
    places = [(n, ranks, rank, i) for n in (100, 200) for ranks in (4, 8) for rank in range(ranks) for i in range(5)]
    n, ranks, rank, iteration = np.array(places).T
    recorded = {"n": n, "P": ranks, "rank": rank, "s": ranks, "r": rank, "i0": np.ones_like(n), loop: iteration}
    recorded[BEFORE] = np.zeros_like(n)
    seconds = np.where(iteration == 0, 1e-3, 20e-6)
    learned = Bursts.learn("here", recorded, np.full(len(n), -1), n * 100 + ranks, seconds, (), ["here"])
    target = {name: column[:5] for name, column in recorded.items()} | {"n": np.full(5, 400), "P": np.full(5, 16)}
    assert learned.draw(target, np.full(5, -1))[0] == pytest.approx([1e-3, 20e-6, 20e-6, 20e-6, 20e-6])


def test_bursts_after_another_call_are_told_apart() -> None:
    """A sweep precedes each exchange, except for every tenth, which follows the agreement on the residual."""
    places = [(n, ranks, rank, i) for n in (100, 200) for ranks in (4, 8) for rank in range(ranks) for i in range(40)]
    n, ranks, rank, iteration = np.array(places).T
    recorded = {"n": n, "P": ranks, "rank": rank, "s": ranks, "r": rank, "i0": iteration}
    recorded[BEFORE] = np.where(iteration % 10 == 0, 1, 0)
    seconds = np.where(iteration % 10 == 0, 5e-6, n * n / ranks * 1e-8)
    names = ["exchange", "residual"]
    learned = Bursts.learn("here", recorded, np.full(len(n), -1), n * 100 + ranks, seconds, (), names)
    assert [None if role is None else role.name for role, _ in learned.roles] == ["after residual", None]
    target = {name: column[:20] for name, column in recorded.items()} | {"n": np.full(20, 400), "P": np.full(20, 16)}
    wanted = np.where(np.arange(20) % 10 == 0, 5e-6, 1e-4)
    assert learned.draw(target, np.full(20, -1))[0] == pytest.approx(wanted, rel=1e-3)


def test_the_part_before_is_the_last_call_of_the_same_rank() -> None:
    """Rank 0 has rows 0 to 2 and rank 1 rows 3 to 4; parts 0 and 1 alternate."""
    before = predecessors([(0, np.array([0, 2, 4])), (1, np.array([1, 3]))], [0, 3, 5])
    assert [each.tolist() for each in before] == [[-1, 1, 1], [0, -1]]


def test_bursts_are_compared_with_those_after_the_usual_call() -> None:
    """Of 47 calls, 20 follow the usual call, 19 another one with bursts three times as long, and 8 follow none."""
    before = np.tile(np.repeat([-1, 0, 1], [8, 20, 19]), 2)
    n = np.repeat([100, 200], 47)
    v = {name: np.ones_like(n) for name in ("P", "rank", "s", "r")} | {"n": n, "i0": np.ones_like(n), BEFORE: before}
    v["P"] = v["s"] = np.full_like(n, 4)
    seconds = np.where(before == 1, 3e-3, 1e-3)
    learned = Bursts.learn("here", v, np.full_like(n, -1), n, seconds, (), ["usual", "other"])
    assert [None if role is None else role.name for role, _ in learned.roles] == ["after other", None]


def test_ranks_without_a_share_do_not_count_as_variation_of_others() -> None:
    """Strips of ceil(n / P) rows, 1 ms each, leave the last two ranks without any; all others take 7 ms at 98 on 16."""
    places = [(n, p, rank, i) for n, p in ((12, 8), (18, 8), (28, 16), (42, 16)) for rank in range(p) for i in range(4)]
    n, ranks, rank, iteration = np.array(places).T
    recorded = {"n": n, "P": ranks, "rank": rank, "s": ranks, "r": rank, "i0": iteration, BEFORE: np.zeros_like(n)}
    rows = -(-n // ranks)
    seconds = np.where(rank < ranks - 2, rows, 0) * 1e-3
    learned = Bursts.learn("here", recorded, np.full(len(n), -1), n, seconds, (), ["here"])
    last = {name: column[-64:] for name, column in recorded.items()} | {"n": np.full(64, 98)}
    wanted = np.where(last["rank"] < 14, 7e-3, 0.0)
    assert learned.draw(last, np.full(64, -1))[0] == pytest.approx(wanted, rel=1e-3, abs=1e-9)


def bursts_of(places: Sequence[tuple[int, int]], rows: Callable[..., Integers]) -> tuple[dict[str, Integers], Floats]:
    """Return the surroundings of ten iterations on each rank, and of 10 ns for each of n columns of some rows."""
    n, ranks, rank, step = np.array([(n, p, rank, i) for n, p in places for rank in range(p) for i in range(10)]).T
    v = {"n": n, "P": ranks, "rank": rank, "s": ranks, "r": rank, "i0": step, BEFORE: np.zeros_like(n)}
    return v, 1e-8 * n * rows(n, ranks, rank, step)


@pytest.mark.parametrize(
    "rows",
    [
        lambda n, p, rank, _: n // p + (rank == p - 1) * (n % p),  # the last rank also has the rest
        lambda n, p, _, step: n / p * (1 + step % 2),  # red points, then black ones, which take twice as long
    ],
)
def test_bursts_follow_ranks_and_iterations_whatever_they_are_on_average(rows: Callable[..., Integers]) -> None:
    """Neither the rows of a rank nor the parity of a step tells that bursts grow as n^2 / P.

    Examples at 1000 on 64 ranks: strips of 15 rows take 150 us, that of the last rank, 55 rows, 550 us.
    """
    places = [(n, p) for n in (200, 350, 500) for p in (4, 6, 8, 16, 27)]
    v, seconds = bursts_of(places, rows)
    learned = Bursts.learn("here", v, np.full(len(seconds), -1), v["n"] * 100 + v["P"], seconds, (), ["here"])
    target, wanted = bursts_of([(1000, 64)], rows)
    assert learned.draw(target, np.full(640, -1))[0] == pytest.approx(wanted, rel=0.1)


def rebuilding(size: int, ranks: int, long: float = 10e-3) -> Trace:
    """Return a trace of 40 iterations of 1 ms; every tenth takes longer."""
    trace = TraceBuilder(ranks, "sort.py")
    for rank in range(ranks):
        trace[rank].at(IN_LOOP)
        for step in range(40):
            trace[rank].compute(1e-3 if step % 10 else long)
            trace[rank].collective(Op.BCAST, 8 * size, 0)
    return trace.build()


@pytest.mark.long
def test_long_bursts_that_are_left_out_are_told_of() -> None:
    """Of 76 ms, the first 10 ms are a pool of their own, and 3 bursts of 10 ms count as 2 ms: 24 ms are left out."""
    places = [(size, ranks) for size in (6, 8, 12, 16) for ranks in (2, 3, 4, 6)]
    family = Family.of([Recording(n, p, (rebuilding(n, p),)) for n, p in places], "sort")
    inferred = infer(family)
    (told,) = (each for each in inferred.remarks if "count as disturbances" in each)
    assert told.startswith(
        "32% of the recorded computation is left out, as bursts of more than twice the median, above all before "
        "sort.py:7 Bcast, count as disturbances: "
    )
    # In a single recording, they are disturbances.
    once = [Recording(n, p, (rebuilding(n, p, 10e-3 if (n, p) == (8, 3) else 1e-3),)) for n, p in places]
    assert not any("count as disturbances" in each for each in infer(Family.of(once, "sort")).remarks)


def axes(size: int, ranks: int) -> Trace:
    """Return a trace of six steps of 1 ms, each followed by an exchange along three axes, 1 us apart."""
    trace = TraceBuilder(ranks, "halo.py")
    for rank in range(ranks):
        trace[rank].at(Site((Frame("halo.py", "<module>", 9, 0, (5, 7)),)))
        for call in range(18):
            trace[rank].compute(1e-6 if call % 3 else 1e-3)
            trace[rank].sendrecv((rank + 1) % ranks, 8 * size * (call % 3 + 1), (rank - 1) % ranks)
    return trace.build()


def test_a_loop_that_contains_only_another_one_begins_anew_where_its_calls_repeat() -> None:
    """Bursts before the first axis are 1 ms, all others 1 us: at random places, ranks would wait for each other."""
    places = [(size, ranks) for size in (6, 8, 12) for ranks in (2, 3, 4, 6)]
    family = Family.of([Recording(n, p, (axes(n, p),)) for n, p in places], "halo")
    made = infer(family).generate(20, 9).trace
    begins = made.ops.op == Op.IRECV  # the first row of each Sendrecv
    assert made.ops.cpu[begins].reshape(9, 6, 3).tolist() == [[[1_000_000, 1000, 1000]] * 6] * 9


def test_computation_beyond_the_recordings_is_told_of() -> None:
    """Of 4 s, 3 s lie outside; the advice also serves programs whose size is that of one rank."""
    assert outside_remarks(np.array([1.0, 3.0]), np.array([1.0, 0.0])) == [
        "75% of the computation depends on sizes beyond those that were recorded: record nearer to the target; "
        "clue extrapolate --plan says where, if the size is that of the whole problem"
    ]
    assert outside_remarks(np.array([3.0, 1.0]), np.array([1.0, 0.0])) == []


def test_a_share_of_each_rank_for_every_rank_is_found() -> None:
    """Bursts of n³ / P² ns: 8³ times as long at eight times the largest size, and 8² times as short on 64 ranks.

    No even share n^k / P explains them: without the term, the prediction was 2.2 times as long.
    """
    keys = [(n, p) for n in (200, 300, 400) for p in (2, 4, 6, 8)]
    n, ranks = (np.repeat(column, 5) for column in zip(*keys, strict=True))
    model = fit({"n": n, "P": ranks}, n**3.0 / ranks**2 * 1e-9)
    assert model.predict({"n": [3200], "P": [64]})[0] == pytest.approx(3200**3 / 64**2 * 1e-9, rel=0.02)
