"""Sampled simulations against whole ones: exact if iterations are steady, replayed as a whole if not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.kernel import simulate
from clue.machine import Curve, Flows, Link, Machine, Network, NodeType, Placement, Ports
from clue.machine.contention.topology import FatTree, Switch
from clue.steady import Steady, simulate_sampled
from clue.steady.iterations import stretches
from clue.steady.plan import CHECK, SHARE, Stratum, UnsteadyError, _late, plan
from clue.steady.steadiness import is_coupled, period_of
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from clue.trace.sites import UNKNOWN, Sites
from tests.kernel.cases import RECEIVE, machine, sending, transmission
from tests.properties import examples
from tests.steady.programs import Body, Placed, looped

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
    assert steady.result.ops <= (SHARE + CHECK) * steady.of
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


def test_a_correction_downwards_is_that_of_every_figure() -> None:
    """Bursts of a second, but longer ones where iterations are measured: 402.65 s, as the whole, of computation only.

    Of 400 iterations, 49 to 52 and 247 to 250 take 1.2 s and 148 to 151 and 346 to 349 take 1.1 s: 400 + 1.6 + 0.8 s,
    and 0.25 s after the loop.
    """
    long = {i: 1.2 if first in {49, 247} else 1.1 for first in (49, 148, 247, 346) for i in range(first, first + 4)}

    def body(own: RankBuilder, _: int, i: int) -> None:
        own.compute(long.get(i, 1.0), "solve")
        own.collective(Op.BARRIER)

    trace, on = looped(2, N, body), machine(2, link=Link(Curve.line(0.0), Curve.line(0.0), 0.0, None))
    (loop,) = plan(trace)
    assert {i for each in loop.strata for i in range(each.first + each.warm, each.first + each.warm + 4)} == set(long)
    steady = simulate_sampled(trace, on)
    assert steady.why == ""
    assert steady.result.makespan == pytest.approx(402.65) == pytest.approx(simulate(trace, on).makespan)
    assert steady.low < 402.65 < steady.high
    for rank in steady.result.ranks:
        assert (rank.finish, rank.compute) == (pytest.approx(402.65), pytest.approx(402.65))
        assert rank.wait == pytest.approx(0.0, abs=1e-9)
    assert steady.result.compute_by_region == pytest.approx({"": 0.5, "solve": 804.8})


@pytest.mark.parametrize("instances", [1, 2])
def test_instances_run_side_by_side(instances: int) -> None:
    """All instances are sampled alike; the number of ops and ranks counts all of them."""
    trace, on = looped(4, N, ring), machine(8)
    steady = simulate_sampled(trace, on, "block", "reference", instances=instances)
    assert steady.result.makespan == pytest.approx(simulate(trace, on, instances=instances).makespan)
    assert steady.of == len(trace.ops) * instances
    assert len(steady.result.ranks) == 4 * instances


def odd(what: str, at: set[int]) -> Body:
    """Return a ring in which the iterations *at* have a hundred times the computation or the bytes, or sleep."""

    def body(own: RankBuilder, rank: int, i: int) -> None:
        if what == "computation" and i in at:
            own.compute(40.0)
        if what == "sleep" and i in at:
            own.add(Op.SLEEP, nbytes=40_000_000_000)
        ring(own, rank, i, nbytes=50_000 if what == "bytes" and i in at else 500)

    return body


def uneven(heavy: int, calls: int) -> Trace:
    """Return 2,000 iterations of 10 barriers on one rank; some, evenly spread, have more."""
    at = set(range(100, 2000, 2000 // heavy))

    def body(own: RankBuilder, _: int, i: int) -> None:
        for _ in range(calls if i in at else 10):
            own.compute(0.01)
            own.collective(Op.BARRIER)

    return looped(1, 2000, body)


def test_outliers_count_by_their_ops() -> None:
    """Two iterations of 500 ops are simulated within the tenth; ten of 1,000 ops, a third of all, leave no room.

    10,200 ops around these and one after the loop are replayed in any case. A tenth of 9,451 iterations has room for
    them and for 24 iterations of 10 ops: 0.1 (10,201 + 10 · 9,421) = 10,441.1.
    """
    steady, whole = both(uneven(2, 500), nodes=1)
    assert steady.why == ""
    assert steady.result.makespan == pytest.approx(whole)
    assert steady.result.ops <= (SHARE + CHECK) * steady.of
    with pytest.raises(
        UnsteadyError,
        match=r"loop loop.py:10 has 2,000 iterations, a sample of a tenth needs 9,451, because ops outside of loops "
        r"\(0\.0% of all\) and outliers \(34\.1%\) are replayed, too",
    ):
        plan(uneven(10, 1000))


@pytest.mark.parametrize(("iterations", "enough"), [(300, False), (323, False), (324, True)])
def test_how_many_iterations_suffice(iterations: int, enough: bool) -> None:
    """Beside 148 ops outside of the loop, 24 iterations of 16 ops are a tenth of 324 iterations, not of 323.

    0.1 (148 + 324 · 16) = 533.2 and 148 + 24 · 16 = 532.
    """

    def few(own: RankBuilder, *_at: int) -> None:
        for _ in range(36):
            own.collective(Op.BARRIER)

    trace = looped(4, iterations, ring, before=few)
    if enough:
        assert len(plan(trace)) == 1
        return
    with pytest.raises(UnsteadyError, match=f"has {iterations} iterations, a sample of a tenth needs 324, because ops"):
        plan(trace)


def paired(roots: int) -> Body:
    """Return an iteration that sends, if it is even, what the next one receives; the root of a broadcast rotates."""

    def body(own: RankBuilder, rank: int, i: int) -> None:
        if i % 2 == 0 and rank == 0:
            own.send(1, 100)
        own.compute(0.1)
        own.collective(Op.BCAST, 8, root=i // 2 % roots)
        if i % 2 == 1 and rank == 1:
            own.recv(0)

    return body


def test_iterations_are_those_of_the_loop_not_of_its_parts() -> None:
    """1,000 iterations that can be cut in pairs are 500 parts of 6 ops, of which 4 + 5 (2 + 2 + 5) are simulated.

    A tenth of 3,002 ops less 2 outside leaves room for 49 parts: 5 strata with 2 warm-up parts and 5 measured ones. A
    twentieth of 500 parts has room for 8 of warm-up, which are simulated twice, and 8 late ones: 5, as in a stratum.
    """
    steady, whole = both(looped(2, 1000, paired(1)), nodes=2)
    assert steady.result.makespan == pytest.approx(whole)
    assert [(each.iterations, each.simulated) for each in steady.loops] == [(1000, 2 * (4 + 45 + 8 + 8 + 5))]
    said = r"loop loop.py:10 has 300 parts \(600 iterations\) and a period of 4, a sample of a tenth needs 560"
    with pytest.raises(UnsteadyError, match=said):
        plan(looped(4, 600, paired(4)))


@pytest.mark.parametrize("what", ["computation", "bytes", "sleep"])
def test_one_odd_iteration_is_simulated_and_counts_once(what: str) -> None:
    """One odd iteration of 400 is simulated and counts once; the others are sampled, and the makespan is right."""
    steady, whole = both(looped(4, N, odd(what, {137})))
    assert steady.why == ""
    assert steady.result.makespan == pytest.approx(whole)


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "beside sleep"])
def test_bytes_count_in_lists_and_beside_sleep(listed: bool) -> None:
    """One iteration of 400 sends 5 MB a message instead of 500 B, which takes 15 s or more: it is an outlier.

    The sizes are those that an Alltoallv lists, or each iteration begins with a sleep of a second, 10⁹ ns.
    """

    def body(own: RankBuilder, rank: int, i: int) -> None:
        nbytes = 5_000_000 if i == 137 else 500
        if listed:
            own.collective(Op.ALLTOALLV, extras=[nbytes] * 4)
        else:
            own.add(Op.SLEEP, nbytes=10**9)
        ring(own, rank, i, nbytes=500 if listed else nbytes)

    trace = looped(4, N, body)
    assert plan(trace)[0].kept[136:139].all()
    steady, whole = both(trace)
    assert steady.why == ""
    assert steady.result.makespan == pytest.approx(whole, rel=1e-3)


def test_a_program_that_takes_no_time() -> None:
    """400 barriers without computation on links without delays take 0 s."""
    trace = looped(2, N, lambda own, _rank, _i: own.collective(Op.BARRIER))
    trace = replace(trace, typical=np.zeros(len(trace.ops), np.int64))
    steady = simulate_sampled(trace, machine(2, link=Link(Curve.line(0.0), Curve.line(0.0), 0.0, None)))
    assert steady.why == ""
    assert (steady.low, steady.result.makespan, steady.high) == (0.0, 0.0, 0.0)
    assert {each.finish for each in steady.result.ranks} == {0.0}


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


@pytest.mark.parametrize(("sources", "coupled"), [((None, 0, 1, 2), False), ((3, 0, 1, 2), True)])
def test_edges_of_a_graph_couple_as_messages_do(sources: tuple[int | None, ...], coupled: bool) -> None:
    """A neighbourhood collective on the graph 0 → 1 → 2 → 3 lets ranks drift apart; an edge 3 → 0 couples them."""

    def body(own: RankBuilder, rank: int, _: int) -> None:
        own.compute(0.1)
        dests = [other for other, source in enumerate(sources) if source == rank]
        into = [source for source in sources[rank : rank + 1] if source is not None]
        own.collective(Op.NEIGHBOR, extras=(len(dests), *dests, *([8] * len(dests)), len(into), *into))

    trace = looped(4, 3, body)
    ((stretch,),) = stretches(trace)
    assert is_coupled(trace, stretch) == coupled


@pytest.mark.parametrize("op", [Op.SCAN, Op.EXSCAN])
def test_a_scan_waits_for_lower_ranks_only(op: Op) -> None:
    """A scan lets ranks drift apart, as a pipeline does; a scan in reverse order beside it couples them."""
    for both_ways in (False, True):
        built = TraceBuilder(3)
        back = built.communicator((2, 1, 0))
        for own in built:
            for _ in range(3):
                placed = Placed(own, looped=True)
                placed.collective(op, 8)  # type: ignore[operator]
                placed.collective(op, 8, comm=back if both_ways else 0)  # type: ignore[operator]
        trace = built.build()
        ((stretch,),) = stretches(trace)
        assert is_coupled(trace, stretch) == both_ways


@pytest.mark.parametrize(
    ("late", "alone", "why"),
    [(1, 100.0, "ranks drift apart, and may go on while others compute"), (1, 10.0, ""), (0, 100.0, "")],
)
def test_a_late_rank_of_a_pipeline_may_catch_up(late: int, alone: float, why: str) -> None:
    """Rank 0 sends every second to rank 1, which takes half a second with what it gets.

    If rank 1 begins 100 s later, it catches up, and the program takes 400 s as before; a replay of a few iterations
    shows only that it is late. After 10 s, the interval holds that. If rank 0 begins later, rank 1 waits for it.
    """

    def steps(own: RankBuilder, rank: int, _: int) -> None:
        if rank == 0:
            own.compute(1.0)
            own.send(1, 8)
        else:
            own.recv(0)
            own.compute(0.5)

    def before(own: RankBuilder, rank: int, _: int) -> None:
        own.compute(alone if rank == late else 0.0)

    trace, on = looped(2, N, steps, before=before), machine(2)
    steady, whole = simulate_sampled(trace, on), simulate(trace, on).makespan
    assert whole == pytest.approx(N + alone * (late == 0), rel=0.02)
    assert (why in steady.why) if why else not steady.why
    assert steady.low <= whole * (1 + 1e-9)
    assert whole <= steady.high * (1 + 1e-9)


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
    assert steady.result.ops <= (SHARE + CHECK) * steady.of
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


@pytest.mark.parametrize("on_switch", [False, True])
def test_iterations_that_share_a_token_bucket_are_replayed_as_a_whole(on_switch: bool) -> None:
    """A bucket of 100 ms helps the first 200 messages only, but would help each message of a sample.

    Rank 0 sends 1 KB each 0.5 ms; a port, or the links of a switch, are busy with it for 1 ms. So message 400 comes to
    a port that is free 400 ms after the first one came, and goes through it 100 ms earlier, but for 0.999 ms that it
    takes itself: it arrives 299.999 + 0.001 ms after the first one was sent.
    """

    def paced(own: RankBuilder, rank: int, _: int) -> None:
        if rank == 0:
            own.compute(0.0005)
            own.send(1, 1000)
        else:
            own.recv(0)

    link = Link(Curve.line(0.0), Curve.line(1e-6), 0.0, None, busy=Curve.line(0.0, 1e-6), bucket=100_000.0)
    contention = Flows(Switch(1e6)) if on_switch else Ports()
    on = Machine("shaped", (NodeType("host"),) * 2, Network(link, link, contention=contention))
    trace = looped(2, N, paced)
    steady = simulate_sampled(trace, on)
    assert "iterations must take 3 s or more on shaped" in steady.why
    assert steady.result.makespan == simulate(trace, on).makespan
    if not on_switch:
        assert steady.result.makespan == pytest.approx(0.0005 + 0.3 + 0.25)


def test_ranks_that_take_long_to_fall_into_step_are_replayed_as_a_whole() -> None:
    """Messages that share links bring ranks out of step: the first iterations take 1.5 ms, later ones 1.6 ms.

    Strata all begin in step, so their slopes are equal and too small: the makespan would be 4 % too short.
    """

    def shift(own: RankBuilder, rank: int, _: int) -> None:
        own.compute(1e-3 + rank % 3 * 2e-4)
        own.sendrecv((rank + 3) % 8, 300_000, (rank - 3) % 8)

    link = Link(Curve.line(1e-6, 0.0), Curve.line(2e-6, 1e-9), 5e-7)
    flows = Flows(FatTree((4, 2), (1, 1), (1, 1), (1e9, 1e9)))
    on = Machine("tree", (NodeType("host"),) * 8, Network(link, link, contention=flows))
    trace = looped(8, 300, shift)
    steady = simulate_sampled(trace, on)
    assert "ranks take long to fall into step on tree; after a longer warm-up" in steady.why
    assert steady.result.makespan == simulate(trace, on).makespan == steady.low == steady.high


@pytest.mark.parametrize(
    ("warm", "measured", "late"),
    [
        (4, 1, Stratum(326, 336, 326, 5, 5)),
        # A multiple of what strata measure, so that both hold whole cycles of iterations that alternate in time.
        (4, 2, Stratum(326, 335, 326, 5, 4)),
        (4, 7, Stratum(326, 336, 326, 5, 5)),
        (5, 1, None),
    ],
)
def test_a_later_measurement_needs_a_longer_warm_up_than_the_strata(
    warm: int, measured: int, late: Stratum | None
) -> None:
    """Of 660 iterations a sixtieth is 11; twelve between two outliers have room for 5 of warm-up and 5 measured."""
    kept = np.zeros(660, np.bool_)
    kept[::13] = True  # 325 and 338 are around the middle
    assert _late(kept, warm, measured, 1) == late


def test_short_iterations_in_turns_are_replayed_as_a_whole() -> None:
    """Turns of 20 ms even out within iterations of 1.5 s, turns of 100 ms do not."""
    trace = looped(2, N, ping_pong)
    short, long = (machine(2, background_load=0.5, time_slice=each) for each in (0.02, 0.1))
    steady = simulate_sampled(trace, short)
    assert steady.why == ""
    assert steady.result.makespan == pytest.approx(simulate(trace, short).makespan, rel=1e-3)
    steady = simulate_sampled(trace, long)
    assert "iterations must take 3 s or more on hand-made" in steady.why
    assert steady.result.makespan == simulate(trace, long).makespan


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
@example([("compute", [0.5, 0.5, 0.25]), ("ring", 0)])  # 833 and 733 ms in turn
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


def test_names_are_no_traces() -> None:
    """The name of a file is refused as by ``simulate``."""
    wrong: Any = "long.clue"
    with pytest.raises(
        UsageError, match=r"trace must be one that clue\.Trace\.open or a builder returned, got 'long.clue'"
    ):
        simulate_sampled(wrong, machine(2))
