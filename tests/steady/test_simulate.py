"""Sampled simulations against whole ones: exact if iterations are steady, replayed as a whole if not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.kernel import simulate
from clue.machine import Placement
from clue.steady import Steady, simulate_sampled
from clue.steady.plan import SHARE, plan
from clue.steady.steadiness import is_coupled, period_of
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from clue.trace.sites import UNKNOWN, Sites
from tests.kernel.cases import RECEIVE, machine, sending, transmission
from tests.properties import examples
from tests.steady.programs import Body, looped

N = 400


def ping_pong(own: RankBuilder, rank: int, _: int) -> None:
    """Compute for 1 s on rank 0, then send 1 KB to rank 1 and back."""
    if rank == 0:
        own.compute(1.0)
        own.send(1, 1000)
        own.recv(1)
    else:
        own.recv(0)
        own.send(0, 1000)


def ring(own: RankBuilder, rank: int, _: int, *, ranks: int = 4, nbytes: int = 500) -> None:
    """Compute, longer on higher ranks, then send around the ring, then allreduce."""
    own.compute(0.1 * (1 + rank))
    own.sendrecv((rank + 1) % ranks, nbytes, (rank - 1) % ranks)
    own.collective(Op.ALLREDUCE, 8)


def both(trace: Trace, nodes: int = 4) -> tuple[Steady, float]:
    """Return the sampled simulation of a trace and the makespan of the whole."""
    on = machine(nodes)
    return simulate_sampled(trace, on), simulate(trace, on).makespan


def test_a_ping_pong_of_equal_iterations_is_exact() -> None:
    """400 iterations of 1 s and 1 KB there and back, and 0.25 s after the loop, are sampled exactly with few ops."""
    steady, whole = both(looped(2, N, ping_pong), nodes=2)
    iteration = 1.0 + 2 * (sending(1) + transmission(1) + RECEIVE)
    assert steady.why == ""
    assert steady.result.makespan == pytest.approx(N * iteration + 0.25) == pytest.approx(whole)
    assert steady.high - steady.low == pytest.approx(0.0, abs=1e-6)
    assert steady.result.ops <= SHARE * steady.of
    assert [(each.name, each.iterations) for each in steady.loops] == [("loop.py:10", N)]


def test_ranks_have_the_figures_of_a_whole_replay() -> None:
    """A sampled ring has the whole replay's finish, computation, communication and wait, and computation by region."""
    trace = looped(4, N, ring)
    steady, whole = simulate_sampled(trace, machine(4)), simulate(trace, machine(4))
    for one, other in zip(steady.result.ranks, whole.ranks, strict=True):
        for name in ("finish", "compute", "communicate", "wait"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-6)
    assert steady.result.compute_by_region == pytest.approx(whole.compute_by_region)
    # Without a compiler, only the whole program, which is large enough for the fast engine, has a warning about it.
    assert steady.result.warnings == tuple(each for each in whole.warnings if "the fast engine is not used" not in each)


@pytest.mark.parametrize("instances", [1, 2])
def test_instances_run_side_by_side(instances: int) -> None:
    """All instances are sampled alike; the number of ops and ranks counts all of them."""
    trace, on = looped(4, N, ring), machine(8)
    steady = simulate_sampled(trace, on, "block", "reference", instances=instances)
    assert steady.result.makespan == pytest.approx(simulate(trace, on, instances=instances).makespan)
    assert steady.of == len(trace.ops) * instances
    assert len(steady.result.ranks) == 4 * instances


def odd(what: str, at: set[int]) -> Body:
    """Return a ring in which the iterations *at* have a hundred times the computation or the bytes."""

    def body(own: RankBuilder, rank: int, i: int) -> None:
        if what == "computation" and i in at:
            own.compute(40.0)
        ring(own, rank, i, nbytes=50_000 if what == "bytes" and i in at else 500)

    return body


@pytest.mark.parametrize("what", ["computation", "bytes"])
def test_one_odd_iteration_is_simulated_and_counts_once(what: str) -> None:
    """One odd iteration of 400 is simulated and counts once; the others are sampled, and the makespan is right."""
    steady, whole = both(looped(4, N, odd(what, {137})))
    assert steady.why == ""
    assert steady.result.makespan == pytest.approx(whole)


def test_many_odd_iterations_are_not_steady() -> None:
    """With thirty odd iterations in no order, the whole program is replayed, and a warning says why."""
    at = set(np.random.default_rng(0).choice(N, 30, replace=False).tolist())
    steady, whole = both(looped(4, N, odd("bytes", at)))
    assert "of 400 iterations of loop loop.py:10 have more than 3 times the bytes of those around them" in steady.why
    assert steady.result.makespan == whole
    assert steady.result.ops == steady.of
    assert steady.result.warnings[-1].startswith(
        "loop.py: the whole program was replayed, because a sample would not represent it: "
    )


def test_slopes_that_differ_without_a_reason_are_not_steady() -> None:
    """Twenty parts with random message sizes give an interval above ± 8 %, so the whole program is replayed."""
    sizes = np.repeat(np.random.default_rng(3).integers(1, 2000, 20) * 1000, N // 20).tolist()
    steady, whole = both(looped(4, N, lambda own, rank, i: ring(own, rank, i, nbytes=sizes[i])))
    assert "not steady: iteration times differ so much" in steady.why
    assert steady.result.makespan == whole


def test_what_shrinks_is_measured_along_its_progress() -> None:
    """A program whose work shrinks, as in a factorisation, is sampled along its progress, and the interval holds.

    Computation falls with the square of the remaining part, message sizes fall linearly.
    """

    def body(own: RankBuilder, rank: int, i: int) -> None:
        own.compute(1.0 * (1 - i / N) ** 2)
        own.sendrecv((rank + 1) % 4, 10 * (N - i), (rank - 1) % 4)
        own.collective(Op.BARRIER)

    steady, whole = both(looped(4, N, body))
    assert steady.why == ""
    assert steady.result.makespan == pytest.approx(whole, rel=2e-3)
    assert steady.low <= whole <= steady.high


def test_strata_hold_whole_periods() -> None:
    """If the root of a broadcast rotates over four ranks, the period is 4 iterations, and strata hold whole periods."""

    def body(own: RankBuilder, rank: int, i: int) -> None:
        if rank == i % 4:
            own.compute(0.5 + 0.1 * rank)
        own.collective(Op.BCAST, 2000, i % 4)

    trace = looped(4, 2 * N, body)
    (loop,) = plan(trace)
    assert period_of(trace, loop.stretch) == 4
    assert all(each.warm % 4 == each.measured % 4 == 0 for each in loop.strata)
    assert is_coupled(trace, loop.stretch)
    steady, whole = both(trace)
    assert steady.result.makespan == pytest.approx(whole, rel=1e-3)


def test_a_pipeline_lets_ranks_drift_apart() -> None:
    """In a pipeline, no rank waits for later ranks, so the loop is not coupled; the estimate is still right."""

    def body(own: RankBuilder, rank: int, _: int) -> None:
        if rank > 0:
            own.recv(rank - 1)
        own.compute(0.1 * (1 + rank % 3))
        if rank < 3:
            own.send(rank + 1, 100)

    trace = looped(4, N, body)
    (loop,) = plan(trace)
    assert not loop.coupled
    steady, whole = both(trace)
    assert steady.result.makespan == pytest.approx(whole, rel=1e-3)


def pipelined(own: RankBuilder, rank: int, i: int) -> None:
    """Wait for the receive that was posted in the iteration before, then post the next one."""
    if i:
        own.wait(2 * i - 2)
    own.irecv((rank - 1) % 2)
    request = own.isend((rank + 1) % 2, 100)
    own.wait(request)


def barriers(own: RankBuilder, _rank: int, _i: int) -> None:
    """Add 300 barriers."""
    for _ in range(300):
        own.collective(Op.BARRIER)


def test_why_all_is_replayed() -> None:
    """The result says why a program is replayed as a whole.

    Reasons are open requests between iterations, few iterations, many ops outside loops, and no loop at all.
    """
    outside = looped(4, N, ring, before=barriers)
    plain = TraceBuilder(2, "plain.py")
    for own in plain:
        own.collective(Op.BARRIER)
    for trace, why in (
        (looped(2, N, pipelined), "messages, collective calls or requests are under way between all but 2 of the 400"),
        (looped(4, 100, ring), "loop loop.py:10 has 100 iterations, a sample of a tenth needs 240"),
        (outside, "loops of many steady iterations must make 95% of all ops, got "),
        (
            plain.build(),
            "plain.py: not steady: no loop has equally many iterations on all ranks, and there are no call sites "
            "to tell",
        ),
    ):
        steady, whole = both(trace)
        assert why in steady.why
        assert steady.result.makespan == whole


def without_sites(trace: Trace) -> Trace:
    """Return a trace without call sites, as other recorders write it."""
    head = replace(trace.head, sites=Sites.of([UNKNOWN]))
    return replace(trace, head=head, ops=replace(trace.ops, site=np.zeros_like(trace.ops.site)))


def alternating(own: RankBuilder, rank: int, i: int) -> None:
    """Add a ring, and a barrier in every third iteration."""
    ring(own, rank, i)
    if i % 3 == 0:
        own.collective(Op.BARRIER)


@pytest.mark.parametrize("body", [ping_pong, ring, pytest.param(alternating, marks=pytest.mark.long)])
def test_loops_are_found_without_call_sites(body: Body) -> None:
    """Without call sites, loops are found by repetition, with the same makespan and as few ops."""
    ranks = 2 if body is ping_pong else 4
    trace = looped(ranks, 900, body)
    steady, whole = both(without_sites(trace))
    assert steady.why == ""
    assert steady.result.makespan == pytest.approx(whole) == pytest.approx(both(trace)[0].result.makespan)
    assert steady.result.ops <= SHARE * steady.of
    assert steady.loops[0].name.startswith("[")


def test_loops_without_call_sites_are_refused_where_ranks_differ() -> None:
    """Without call sites, loops of different lengths are not paired, and the whole program is replayed.

    Rank 0 sends 600 times; rank 1 has 300 iterations with two receives each.
    """
    built = TraceBuilder(2, "odd.py")
    for _ in range(600):
        built[0].send(1, 8)
    for _ in range(300):
        built[1].recv(0)
        built[1].wait(built[1].irecv(0))
    steady, whole = both(built.build())
    assert steady.why.startswith(
        "odd.py: not steady: no loop has equally many iterations on all ranks, and there are no call"
    )
    assert steady.result.makespan == whole


def test_a_machine_that_changes_is_replayed_as_a_whole() -> None:
    """A machine that changes over time is not sampled, as the time of each event matters."""
    on = machine(4, changes=((5.0, machine(4)),))
    assert "must have a machine that stays as it is" in simulate_sampled(looped(4, N, ring), on).why


def test_ranks_that_are_spawned_are_replayed_as_a_whole() -> None:
    """A program with spawned ranks is refused, as not all ranks run from the beginning."""
    trace = looped(2, N, ping_pong)
    heads = tuple(replace(each, world=rank) for rank, each in enumerate(trace.head.rank_heads))
    spawned = replace(trace, head=replace(trace.head, rank_heads=heads))
    with pytest.raises(Exception, match="all ranks from the beginning, got spawned ones"):
        plan(spawned)


STEP = st.one_of(
    st.tuples(st.just("compute"), st.lists(st.floats(0.001, 1.0), min_size=3, max_size=3)),
    st.tuples(st.just("ring"), st.integers(0, 20_000)),
    st.tuples(st.just("bcast"), st.integers(0, 2)),
    st.tuples(st.just("chain"), st.integers(0, 5_000)),
)


@pytest.mark.long
@settings(max_examples=examples(15), deadline=None)
@given(st.lists(STEP, min_size=1, max_size=5))
def test_any_steady_iteration_is_told_by_few(steps: list[tuple[str, object]]) -> None:
    """A sample predicts a loop of any random iteration within 3 %.

    Equal iterations may alternate in time, such as 758, 808, 808 ms, of which two are measured.
    """

    def body(own: RankBuilder, rank: int, _: int) -> None:
        for kind, what in steps:
            if kind == "compute":
                own.compute(what[rank])  # type: ignore[index]
            elif kind == "ring":
                own.sendrecv((rank + 1) % 3, what, (rank - 1) % 3)  # type: ignore[arg-type]
            elif kind == "bcast":
                own.collective(Op.BCAST, 1000, what)  # type: ignore[arg-type]
            else:
                if rank:
                    own.recv(rank - 1)
                if rank < 2:
                    own.send(rank + 1, what)  # type: ignore[arg-type]
        own.collective(Op.BARRIER)

    steady, whole = both(looped(3, 300, body), nodes=3)
    assert steady.why == ""
    assert steady.result.makespan == pytest.approx(whole, rel=0.03)


def test_placements_are_those_of_any_simulation() -> None:
    """A cyclic placement of two ranks per node gives the same makespan by name, as a list and as a Placement."""
    trace, on = looped(4, N, ring), machine(2, processors=2)
    for placement in ("cyclic", [0, 1, 0, 1], Placement((0, 1, 0, 1))):
        steady = simulate_sampled(trace, on, placement)
        assert steady.result.makespan == pytest.approx(simulate(trace, on, "cyclic").makespan)
