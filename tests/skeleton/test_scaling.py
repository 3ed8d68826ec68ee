"""Scaling: which iterations and units are kept, and how much computation."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.kernel import simulate
from clue.machine import Curve, Link
from clue.skeleton.clustering import Clusters
from clue.skeleton.construction import construct
from clue.skeleton.events import Events
from clue.skeleton.loops import loops_of
from clue.skeleton.parameters import Doubles, Parameters
from clue.skeleton.scaling import _grouped, sample, scaled, weigh
from clue.skeleton.times import Times
from clue.trace import NO_REQUEST, Op, Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from tests.kernel.cases import LINK, machine
from tests.properties import examples
from tests.skeleton.programs import pipeline, repeatable, site
from tests.steady.programs import Body, looped
from tests.steady.test_simulate import ping_pong, ring

ALIKE = np.zeros(10, np.int64)


# --- iterations ---


@pytest.mark.parametrize(
    ("weight", "kept", "rest"),
    [
        (0.3, [1, 4, 8], -1),  # the middles of 0 to 3.3, 3.3 to 6.7 and 6.7 to 10
        (0.1, [4], -1),
        (0.25, [1, 5], 8),  # the middle of 8 to 10
        (0.05, [], 4),
        (0.95, [0, 1, 2, 3, 4, 5, 6, 7, 8], 9),
    ],
)
def test_iterations_lie_evenly_along_a_loop(weight: float, kept: list[int], rest: int) -> None:
    """Of ten equal iterations, one is kept in each stratum of 1 / weight, and one for the remainder."""
    found, left = sample(ALIKE, ALIKE, weight)
    assert (found.tolist(), left) == (kept, rest)


def test_what_recurs_is_taken_as_often_as_it_occurs() -> None:
    """Every tenth of 100 iterations differs, and a tenth is kept: exactly one of the kept ten differs."""
    kinds = (np.arange(100) % 10 == 4).astype(np.int64)
    kept, rest = sample(kinds, np.ones(100, np.int64), 0.1)
    assert (len(kept), kinds[kept].sum(), rest) == (10, 1, -1)
    assert (np.diff(kept) > 0).all()


def test_of_iterations_that_shrink_the_one_of_mean_bytes_is_kept() -> None:
    """Iterations have 9², 8², …, 0² bytes, 28.5 on average: the one of 5² bytes is kept."""
    nbytes = np.arange(9, -1, -1) ** 2
    assert sample(np.arange(10), nbytes, 0.1) == (np.array([4]), -1)


@given(
    kinds=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    nbytes=st.lists(st.integers(0, 3), min_size=60, max_size=60),
    weight=st.floats(0.001, 0.999),
)
@settings(deadline=None, max_examples=examples(200))
def test_any_loop_keeps_its_share(kinds: list[int], nbytes: list[int], weight: float) -> None:
    """The number of kept iterations is the loop's weight; each kind is kept in proportion, up to rounding."""
    those = np.array(kinds)
    kept, rest = sample(those, np.array(nbytes[: len(kinds)]), weight)
    worth = len(kinds) * weight
    assert len(kept) == int(worth + 1e-9)
    assert (rest >= 0) == (worth - len(kept) > 1e-9)
    assert len({*kept.tolist(), rest}) == len(kept) + 1
    assert (np.abs(np.bincount(those[kept], minlength=4) - np.bincount(those, minlength=4) * weight) < 2).all()


# --- units ---


def test_as_many_equal_units_are_kept_as_their_weights_add_up_to() -> None:
    """Equal units are kept whole as far as their weights add up; the rest is a fraction of one.

    7 units of weight 0.3 are 2.1: the second and the sixth whole, and 0.1 of the last; 1 unit of weight 0.3 is 0.3 of
    it.
    """
    begins = np.array([True, *[False] * 6, True])
    share = _grouped(begins, np.full(8, 0.3))
    assert share.tolist() == pytest.approx([0, 1, 0, 0, 0, 1, 0.1, 0.3])


@given(st.lists(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=12), min_size=1, max_size=5))
@settings(deadline=None, max_examples=examples(200))
def test_units_keep_their_weight(groups: list[list[float]]) -> None:
    """The kept units of a group have the group's weight, and at most one of them is a fraction."""
    begins = np.concatenate([np.arange(len(each)) == 0 for each in groups])
    share = _grouped(begins, np.concatenate(groups))
    for mine, of in zip(np.split(share, np.flatnonzero(begins)[1:]), groups, strict=True):
        assert mine.sum() == pytest.approx(sum(of), abs=1e-6)
        assert ((mine > 0) & (mine < 1)).sum() <= 1


def test_what_is_outside_loops_keeps_one_of_each_k_or_shrinks() -> None:
    """Of 25 equal broadcasts outside loops at K = 10, two are kept whole and one with half the bytes."""
    built = TraceBuilder(2)
    for own in built:
        for _ in range(25):
            own.compute(0.1)
            own.collective(Op.BCAST, 1000)
        own.collective(Op.ALLREDUCE, 80, element=8)
        own.collective(Op.BARRIER)
    trace = built.build()
    events = Events.of(trace)
    parameters = Parameters.of(events)
    short = scaled(parameters, Clusters.at(parameters, 0.0), (), Times.of(events.trace), 10)
    for rank in range(2):
        ops = short.trace.rank(rank)
        assert ops.nbytes.tolist() == [1000, 1000, 500, 8, 0]
        assert ops.cpu.sum() == 250_000_000
    assert short.shrunk == 3


def test_a_wait_forgets_what_becomes_mere_computation() -> None:
    """Of two equal sends at K = 10 the second stays; the first, alone in its region, becomes its computation.

    The wait for both then names one request.
    """
    built = TraceBuilder(2)
    own = built[0]
    own.compute(1.0, "a")
    first = own.isend(1, 1000)
    own.compute(2.0, "b")
    own.wait(first, own.isend(1, 1000))
    built[1].recv(0)
    built[1].recv(0)
    events = Events.of(built.build())
    parameters = Parameters.of(events)
    short = scaled(parameters, Clusters.at(parameters, 0.0), (), Times.of(events.trace), 10).trace
    short.check()
    ops = short.rank(0)
    assert ops.op.tolist() == [Op.COMPUTE, Op.ISEND, Op.WAIT]
    assert ops.nbytes.tolist() == [0, 200, 0]
    assert (ops.request.tolist(), ops.count.tolist()) == ([NO_REQUEST, 0, 0], [0, 0, 0])
    assert [short.head.regions[each] for each in ops.region] == ["a", "b", "b"]
    assert ops.cpu.tolist() == [100_000_000, 200_000_000, 0]


# --- computation ---


def computed(trace: Trace) -> Doubles:
    """Return the computation of each rank in each region, ns."""
    ranks = np.repeat(np.arange(trace.ranks), np.diff(trace.head.offsets))
    regions = len(trace.head.regions)
    cells = ranks * regions + trace.ops.region
    found = np.zeros(trace.ranks * regions)
    np.add.at(found, cells, trace.bursts)
    return found


@pytest.mark.long
@given(seed=st.integers(0, 2**32), scale=st.floats(1, 200))
@settings(deadline=None, max_examples=examples(150))
def test_computation_of_each_rank_and_region_is_divided_by_k(seed: int, scale: float) -> None:
    """The computation of each rank and region is divided by K to the nanosecond, and any skeleton runs to its end."""
    trace = repeatable(seed)
    short = construct(trace, scale=scale).trace
    short.check()
    assert np.abs(computed(short) - computed(Events.of(trace).trace) / scale).max() <= 0.5 + 1e-6
    simulate(short, machine(5), engine="reference")


def test_bursts_keep_their_distribution() -> None:
    """Of alternating bursts of 10 and 30 ms the skeleton keeps bursts of 10 and 30 ms, not of 20 ms."""

    def body(own: RankBuilder, _: int, i: int) -> None:
        own.compute(0.01 if i % 2 else 0.03)
        own.collective(Op.BARRIER)

    short = construct(looped(2, 300, body), scale=9).trace.rank(0)
    assert sorted(set(np.rint(short.cpu[short.op == Op.BARRIER] / 1e7).tolist())) == [1, 3]


def test_sleeps_of_each_rank_are_divided_by_k() -> None:
    """Ranks sleep for 1 s in every tenth of 100 iterations and for 10 ms in the others: a tenth of 10.9 s is kept."""

    def body(own: RankBuilder, _: int, i: int) -> None:
        own.add(Op.SLEEP, nbytes=10_000_000 if i % 10 else 1_000_000_000)
        own.collective(Op.BARRIER)

    short = construct(looped(2, 100, body), scale=10).trace
    for rank in range(2):
        ops = short.rank(rank)
        assert ops.op.tolist().count(Op.BARRIER) == 10
        assert ops.nbytes[ops.op == Op.SLEEP].sum() == 1_090_000_000


def test_a_rank_keeps_a_sleep_though_none_of_its_iterations_with_one_is_kept() -> None:
    """One rank sleeps for 5 s in one of 100 iterations, of which 10 others are kept: it sleeps for 0.5 s."""

    def body(own: RankBuilder, rank: int, i: int) -> None:
        own.compute(0.01)
        if rank == 0 and i == 50:
            own.add(Op.SLEEP, nbytes=5_000_000_000)
        own.collective(Op.BARRIER)

    short = construct(looped(2, 100, body), scale=10).trace
    slept = [short.rank(rank).nbytes[short.rank(rank).op == Op.SLEEP].tolist() for rank in range(2)]
    assert slept == [[500_000_000], []]
    assert [short.rank(rank).op.tolist().count(Op.BARRIER) for rank in range(2)] == [10, 10]


# --- programs ---


def halo(own: RankBuilder, rank: int, _: int) -> None:
    """Compute, exchange with both neighbours, and reduce in every iteration."""
    own.compute(0.05)
    left, right = (rank - 1) % 4, (rank + 1) % 4
    requests = [own.irecv(left), own.irecv(right, 1), own.isend(right, 2000), own.isend(left, 2000, 1)]
    own.wait(*requests)
    own.collective(Op.ALLREDUCE, 8, element=8)


def master(own: RankBuilder, rank: int, i: int) -> None:
    """Send work to the other ranks and receive the results."""
    if rank == 0:
        for other in (1, 2, 3):
            own.send(other, 300)
        for other in (1, 2, 3):
            own.recv(other)
    else:
        own.recv(0)
        own.compute(0.02 * (1 + (i + rank) % 3))
        own.send(0, 900)


#: A slow link: sending and transmission have 0.25 s of latency each, and messages above 300 B wait for their receive.
SLOW = Link(Curve.line(0.25, 1e-5), Curve.line(0.25, 1e-5), 0.01, 300)


@cache
def makespan(body: Body, ranks: int, iterations: int, link: Link) -> float:
    """Return the makespan of a program's loop, without the 0.25 s of computation after it."""
    return simulate(looped(ranks, iterations, body), machine(ranks, link=link)).makespan - 0.25


@pytest.mark.long
@pytest.mark.parametrize(("body", "ranks"), [(ping_pong, 2), (ring, 4), (halo, 4), (master, 4)])
@pytest.mark.parametrize("scale", [10.0, 37.0, 120.0])
@pytest.mark.parametrize("link", [LINK, SLOW], ids=["links", "slow links"])
def test_a_skeleton_times_k_is_the_application(body: Body, ranks: int, scale: float, link: Link) -> None:
    """On two machines, skeleton time times K equals the application's within K times one of 400 iterations.

    The 0.25 s of computation after the loop are scaled exactly.
    """
    on = machine(ranks, link=link)
    one, whole = (makespan(body, ranks, iterations, link) for iterations in (1, 400))
    short = construct(looped(ranks, 400, body), scale=scale)
    assert short.good
    assert abs(simulate(short.trace, on).makespan * scale - 0.25 - whole) <= scale * one


def test_whole_iterations_are_exact() -> None:
    """40 of 400 round trips, and a tenth of the computation after the loop, take exactly a tenth of the time."""
    trace, on = looped(2, 400, ping_pong), machine(2)
    short = construct(trace, scale=10)
    assert short.trace.ops.nbytes.sum() * 10 == trace.ops.nbytes.sum()
    assert simulate(short.trace, on).makespan * 10 == pytest.approx(simulate(trace, on).makespan, rel=1e-9)
    assert not short.caveats[1:]


def test_what_is_left_of_a_division_is_an_iteration_of_fewer_bytes() -> None:
    """400 round trips of 1,000 B at K = 150 become two whole ones and one of 667 B with 2/3 s of computation."""
    short = construct(looped(2, 400, ping_pong), scale=150)
    own = short.trace.rank(0)
    sent = own.op == Op.SEND
    assert sorted(own.nbytes[sent].tolist()) == [667, 1000, 1000]
    assert sorted((own.cpu[sent] * 1e-9).tolist()) == pytest.approx([2 / 3, 1, 1])
    assert [each.said for each in short.caveats[1:]] == [
        "2 messages and collective calls of its skeleton represent less than one of the application each, with fewer "
        "bytes, but no less latency, which at 50 us each is 0.0% of its time"
    ]


def test_a_scale_of_one_is_the_application() -> None:
    """A skeleton of scale 1 has the same ops and the same makespan as the application."""
    trace, on = looped(4, 5, halo), machine(4)
    short = construct(trace, scale=1)
    assert len(short.trace.ops) == len(trace.ops)
    assert simulate(short.trace, on).makespan == simulate(trace, on).makespan
    assert short.good


def nested(outer: int, inner: int) -> Trace:
    """Return nested loops: 10 ms and 100 B in each inner iteration, 1,000 B after each inner loop."""
    built = TraceBuilder(2, "nest.py")
    for own in built:
        for _ in range(outer):
            for _ in range(inner):
                own.at(site(20, 10, 12))
                own.compute(0.01)
                own.collective(Op.BCAST, 100)
            own.at(site(30, 10))
            own.collective(Op.ALLREDUCE, 1000)
    return built.build()


def test_outer_loops_come_first() -> None:
    """3 × 40 iterations at K = 2 become one whole outer iteration and half of one, which has 20 inner iterations."""
    short = construct(nested(3, 40), scale=2)
    own = short.trace.rank(0)
    assert own.op.tolist().count(Op.BCAST) == 60
    assert own.nbytes[own.op == Op.ALLREDUCE].tolist() in ([1000, 500], [500, 1000])
    assert own.nbytes[own.op == Op.BCAST].tolist() == [100] * 60
    assert own.cpu.sum() == 600_000_000


def test_an_inner_loop_is_scaled_in_the_iteration_that_stands_for_all() -> None:
    """3 × 40 iterations at K = 10 become one outer iteration of weight 0.3 with 12 inner iterations."""
    short = construct(nested(3, 40), scale=10)
    own = short.trace.rank(1)
    assert own.nbytes[own.op == Op.BCAST].tolist() == [100] * 12
    assert own.nbytes[own.op == Op.ALLREDUCE].tolist() == [300]
    assert short.dominant is not None
    assert (short.dominant.name, short.dominant.iterations) == ("sweep.py:12", 120)


def turns(own: RankBuilder, rank: int, i: int) -> None:
    """Compute and broadcast, each rank in turn as root."""
    own.compute(0.01 * (1 + rank))
    own.collective(Op.BCAST, 1000, root=i % 4)


def test_iterations_after_which_calls_recur_count_as_one() -> None:
    """Iterations are grouped by the period of their calls: of 400 turns of four ranks, K = 10 keeps ten rounds."""
    short = construct(looped(4, 400, turns), scale=10)
    own = short.trace.rank(2)
    assert own.peer[own.op == Op.BCAST].tolist() == [0, 1, 2, 3] * 10
    assert short.dominant is not None
    assert (short.dominant.name, short.dominant.iterations) == ("loop.py:10 (4 at a time)", 100)


@given(seed=st.integers(0, 2**32), scale=st.floats(1.1, 50), iterations=st.integers(2, 30))
@settings(deadline=None, max_examples=examples(60))
def test_all_ranks_cut_the_same_iterations(seed: int, scale: float, iterations: int) -> None:
    """All ranks keep the same iterations, whatever they do in them."""
    bodies: list[Body] = [ping_pong, partial(ring, ranks=2)]

    def body(own: RankBuilder, rank: int, i: int) -> None:
        bodies[(seed >> (i % 30)) & 1](own, rank, i)

    events = Events.of(looped(2, iterations, body))
    parameters, loops = Parameters.of(events), loops_of(events.trace)
    weights = weigh(parameters, loops, Times.of(events.trace), scale)
    for run in (run for loop in loops for run in loop.runs):
        first, *others = (weights.of[bounds[:-1]].tolist() for bounds in run.bounds)
        assert all(each == first for each in others)


def test_iterations_with_a_message_under_way_count_as_one() -> None:
    """Two iterations that a message connects count as one: 50 pairs at K = 10 keep 5 pairs."""

    def body(own: RankBuilder, rank: int, i: int) -> None:
        own.compute(0.01)
        if i % 2 == 0 and rank == 0:
            own.send(1, 100)
        own.collective(Op.ALLREDUCE, 8)
        if i % 2 == 1 and rank == 1:
            own.recv(0)

    trace = looped(2, 100, body)
    (loop,) = loops_of(Events.of(trace).trace)
    assert (loop.iterations, loop.period) == (50, 1)
    short = construct(trace, scale=10)
    assert short.trace.ops.op.tolist().count(Op.ALLREDUCE) == 2 * 10
    assert short.trace.ops.nbytes[short.trace.ops.op == Op.SEND].tolist() == [100] * 5


# --- pipelines ---


def test_a_pipeline_takes_its_share_of_the_time_to_fill() -> None:
    """A pipeline keeps its stages, so that its time to fill is scaled like the rest.

    3 sweeps of 20 stages on 4 ranks take 23 stages each; K = 5 keeps 0.6 of a sweep. All its stages are kept, each with
    0.6 of the computation and the bytes. On links that take no time the skeleton takes exactly a fifth of the
    application; with 12 stages it would take 15 / 13.8 of that.
    """
    free = Link(Curve.line(0.0), Curve.line(0.0), 0.0, None)
    trace = pipeline(4, 3, 20, 0.01, 100)
    short = construct(trace, scale=5)
    own = short.trace.rank(0)
    assert own.nbytes[own.op == Op.SEND].tolist() == [60] * 20
    on = machine(4, link=free)
    assert simulate(short.trace, on).makespan * 5 == pytest.approx(simulate(trace, on).makespan) == pytest.approx(0.69)
    assert any("1 run of a pipeline keeps all its iterations" in each for each in short.caveats)


def test_a_pipeline_that_fills_at_once_is_shortened() -> None:
    """With stages of 20 us and a latency of 50 us, fewer stages are more accurate than smaller ones."""
    short = construct(pipeline(4, 3, 20, 2e-5, 100), scale=5)
    own = short.trace.rank(0)
    assert own.nbytes[own.op == Op.SEND].tolist() == [100] * 12
