"""Sweeps over many machines: exact if only messages couple the ranks, else a lower bound of the makespan."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError
from clue.kernel import (
    Candidate,
    Program,
    compile_program,
    computation_bound,
    contention_free,
    makespans,
    simulate,
    with_bursts,
)
from clue.kernel.fast.library import ENGINE
from clue.kernel.fast.plan import plan_of
from clue.machine import Curve, FactorTable, Link, Machine, Network, NodeType, Placement, Ports
from clue.native import NoLibraryError
from clue.trace import Access, Flag, Op, Trace, TraceBuilder
from tests.kernel.cases import ANSWER, LINK, LOCAL_LINK, TRANSMIT, machine, sending
from tests.kernel.random_cases import CASES, random_machine, random_placement, random_trace

try:
    ENGINE.load()
except NoLibraryError as error:
    pytest.skip(f"no fast engine here: {error}", allow_module_level=True)


def exchange(nbytes: int, flags: Flag | int = 0) -> Trace:
    """Return a program of two ranks: one computes for 1 s and sends, the other receives at once."""
    trace = TraceBuilder(2)
    trace[0].compute(1.0)
    trace[0].send(1, nbytes, flags=flags)
    trace[1].recv(0)
    return trace.build()


def other_bursts(random: Random, program: Program) -> npt.NDArray[np.int64] | None:
    """Return random burst times, or the program's own as an array or as None."""
    bursts = np.array(program.columns.cpu)
    if random.random() < 0.4:
        return None
    if random.random() < 0.2:
        return bursts
    factors = [random.lognormvariate(0, 1) for _ in range(len(bursts))]
    return np.where(bursts > 0, np.maximum(np.rint(bursts * np.array(factors)), 1), 0).astype(np.int64)


def with_eager_limit(limit: float) -> Machine:
    """Return two nodes whose messages are eager up to a limit."""
    link = Link(LINK.send_delay, LINK.transmission_delay, LINK.receive_delay, limit)
    return Machine("limited", (NodeType("host"),) * 2, Network(link, LOCAL_LINK))


@pytest.mark.long
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), ties=st.booleans(), spoilt=st.integers(0, 9), many=st.sampled_from((1, 3, 40)))
def test_a_sweep_says_what_replays_say(seed: int, ties: bool, spoilt: int, many: int) -> None:
    """A sweep of any program over any machines gives each makespan to the last bit, or a bound not above it.

    ``makespans`` replays the candidates that the sweep does not give exactly.
    """
    random = Random(seed)
    program = compile_program(random_trace(random, ties=ties, spoilt=spoilt == 0))
    candidates = []
    for _ in range(many):
        kind = random.choice(("none", "none", "none", "factor", "ports", "flows"))
        on = random_machine(random, kind, ties=ties, plain=random.random() < 0.8)
        instances = random.choice((1, 1, 2))
        nodes = random_placement(random, on, program.ranks * instances)
        candidates.append(Candidate(on, Placement(tuple(nodes)), instances, other_bursts(random, program)))
    workers = random.choice((1, 2))
    seconds, exact = contention_free(program, candidates, engine="fast", workers=workers)
    found = []
    for each, bound, is_exact in zip(candidates, seconds.tolist(), exact.tolist(), strict=True):
        does = program if each.bursts is None else with_bursts(program, each.bursts)
        try:
            makespan = simulate(does, each.machine, each.placement, "fast", instances=each.instances).makespan
        except DeadlockError:
            assert not is_exact
            makespan = math.inf
        assert bound == makespan if is_exact else bound <= makespan
        found.append(makespan)
    assert makespans(program, candidates, engine="fast", workers=workers, deadlock=math.inf).tolist() == found


def test_by_hand() -> None:
    """The makespan is 1 s times the factor, then 10 ms + 1 ms/KB and 100 ms + 2 ms/KB for 2 KB, and 1 ms to receive."""
    candidates = [Candidate(machine(2, performance_factor=factor), Placement((0, 1))) for factor in (1.0, 2.0, 3.0)]
    seconds, exact = contention_free(compile_program(exchange(2000)), candidates, engine="fast")
    assert seconds.tolist() == pytest.approx([1.117, 2.117, 3.117], rel=1e-12)
    assert exact.all()


def test_machines_may_differ_in_which_ranks_share_nodes() -> None:
    """One sweep covers placements that share nodes differently: two nodes, block or cyclic, four nodes, or one.

    Each tape serves the placements with the same messages of the allreduce.
    """
    trace = TraceBuilder(4)
    for rank in trace:
        rank.collective(Op.ALLREDUCE, 8)
    program = compile_program(trace.build())
    placements = [Placement(nodes) for nodes in ((0, 0, 1, 1), (0, 1, 0, 1), (0, 1, 2, 3), (2, 2, 3, 3), (1, 1, 1, 1))]
    candidates = [Candidate(machine(4, processors=4), each) for each in placements * 3]
    seconds, exact = contention_free(program, candidates, engine="fast")
    assert exact.all()
    assert seconds.tolist() == [simulate(program, each.machine, each.placement).makespan for each in candidates]
    assert len(set(seconds.tolist())) == 3  # two nodes; four nodes; one


@pytest.mark.long
@pytest.mark.parametrize("changes", [False, True])
def test_threads_may_replay_one_program_on_nodes_shared_differently(changes: bool) -> None:
    """Each placement lowers the 200 allreduces anew, in four threads at once; makespans are those of one thread."""
    builder = TraceBuilder(6)
    for i in range(200):
        for rank in builder:
            rank.compute(1e-5)
            rank.collective(Op.ALLREDUCE, 16 + 8 * i)
    trace = builder.build()
    random = Random(1)
    shared = {1: 1.0, 2: 1.5, 100: 3.0}
    later = ((0.5, machine(6, contention=shared, performance_factor=2.0)),) if changes else ()
    on = machine(6, contention=shared, changes=later)
    candidates = [Candidate(on, Placement(tuple(random.randrange(6) for _ in range(6)))) for _ in range(16)]
    alone = [makespans(compile_program(trace), [each], engine="fast")[0] for each in candidates]
    assert makespans(compile_program(trace), candidates, engine="fast", workers=4).tolist() == alone


def test_bursts_may_differ_by_lane() -> None:
    """Bursts of 1, 2 or 3 s on machines of factor 2 share a tape with the program's own 1 s."""
    program = compile_program(exchange(2000))
    slow = machine(2, performance_factor=2.0)
    bursts = [None, *(np.array([seconds * 10**9, 0], np.int64) for seconds in (1, 2, 3))]
    candidates = [Candidate(slow, Placement((0, 1)), 1, each) for each in bursts]
    seconds, exact = contention_free(program, candidates, engine="fast")
    assert seconds.tolist() == pytest.approx([2.117, 2.117, 4.117, 6.117], rel=1e-12)
    assert exact.all()


def test_machines_may_differ_in_which_messages_are_eager() -> None:
    """One sweep covers different eager limits; a rendezvous takes an empty message's travel longer."""
    limits = [0, 5000, 2000, 1999, 10, 3000] * 20
    candidates = [Candidate(with_eager_limit(limit), Placement((0, 1))) for limit in limits]
    seconds, exact = contention_free(compile_program(exchange(2000)), candidates, engine="fast")
    assert exact.all()
    assert seconds.tolist() == pytest.approx([1.117 if limit >= 2000 else 1.227 for limit in limits], rel=1e-12)


def test_a_sender_that_is_free_at_once_on_the_recorded_machine_still_waits_on_others() -> None:
    """A synchronous Isend ends at once only if send and answer take no time; on other machines its Wait still waits."""
    trace = TraceBuilder(2)
    trace[0].irecv(1)
    trace[1].compute(1.0)
    request = trace[1].isend(0, 1000, flags=Flag.SYNCHRONOUS)
    trace[1].wait(request)
    trace[1].compute(10.0)
    free = Link(Curve.line(0.0), Curve.line(0.0))
    machines = [Machine("free", (NodeType("host"),) * 2, Network(free, free)), machine()]
    candidates = [Candidate(each, Placement((0, 1))) for each in machines]
    program = compile_program(trace.build())
    seconds, exact = contention_free(program, candidates, engine="fast")
    assert exact.all()
    # The answer's 110 ms, then 11 ms to send.
    assert seconds.tolist() == pytest.approx([11.0, 11.121], rel=1e-12)


def test_contention_that_speeds_up_is_not_bounded_by_messages() -> None:
    """With a contention factor below 1, the bound is that of computation alone."""
    network = Network(LINK, LOCAL_LINK, contention=FactorTable(((1, 0.5),)))
    quick = Machine("quick", (NodeType("host"),) * 2, network)
    program = compile_program(exchange(2000))
    seconds, exact = contention_free(program, [Candidate(quick, Placement((0, 1)))], engine="fast")
    assert seconds.tolist() == [computation_bound(program, quick, Placement((0, 1)))]
    assert seconds[0] <= simulate(program, quick).makespan
    assert not exact.any()


def test_the_reference_bounds_by_computation() -> None:
    """With the reference engine, the bound is that of computation, and nothing is exact."""
    program = compile_program(exchange(2000))
    seconds, exact = contention_free(program, [Candidate(machine(), Placement((0, 1)))], engine="reference")
    assert seconds.tolist() == [computation_bound(program, machine(), Placement((0, 1)))]
    assert not exact.any()


def test_accesses_by_hand() -> None:
    """After 1 s times the factor and a lock that excludes nobody, an empty access is executed after a put of 10 s."""
    trace = TraceBuilder(2)
    trace[0].compute(1.0)
    trace[0].wait(trace[0].rma(1, does=Access.SHARED_LOCK))
    trace[0].rma(1, 10_000)
    trace[0].wait(trace[0].rma(1))
    slow = replace(LINK, transmission_delay=Curve.line(TRANSMIT, 1e-3))
    candidates = [
        Candidate(machine(2, link=slow, performance_factor=factor), Placement((0, 1))) for factor in (1.0, 2.0, 3.0)
    ]
    seconds, exact = contention_free(compile_program(trace.build()), candidates, engine="fast")
    put = sending(10) + TRANSMIT + 10.0 + ANSWER
    assert seconds.tolist() == pytest.approx([each + 2 * ANSWER + put for each in (1.0, 2.0, 3.0)], rel=1e-12)
    assert exact.all()


def test_a_program_with_locks_is_not_bounded_by_messages() -> None:
    """Contention delays a request for a lock behind another, which shortens the makespan.

    Rank 1 asks 30 ms after the start, rank 2, which has 10 s to compute under no lock, after 35 ms. Rank 1 computes for
    1 s under the lock. With ports its request waits 10 ms for its message of 20 KB.
    """
    trace = TraceBuilder(3)
    trace[1].wait(trace[1].isend(0, 20_000, flags=Flag.BUFFERED))
    trace[0].recv(1)
    trace[2].compute(0.035)
    for rank, held, then in ((1, 1.0, 0.0), (2, 0.0, 10.0)):
        trace[rank].wait(trace[rank].rma(0, does=Access.EXCLUSIVE_LOCK))
        trace[rank].compute(held)
        trace[rank].wait(trace[rank].rma(0, does=Access.UNLOCK))
        trace[rank].compute(then)
    program, place = compile_program(trace.build()), Placement((0, 1, 2))
    free = machine(3)
    slowed = replace(free, network=replace(free.network, contention=Ports()))
    candidates = [Candidate(on, place) for on in (free, slowed)]
    first, second = makespans(program, candidates, engine="fast").tolist()
    # From grant to grant: the answer, 1 s, the unlock.
    assert first == pytest.approx(sending(20) + ANSWER + (2 * ANSWER + 1.0) + ANSWER + 2 * ANSWER + 10.0, rel=1e-12)
    assert second == pytest.approx(0.035 + 2 * ANSWER + 2 * ANSWER + 10.0, rel=1e-12)
    bounds, exact = contention_free(program, candidates, engine="fast")
    assert bounds.tolist() == [computation_bound(program, each.machine, place) for each in candidates]
    assert not exact.any()


def test_a_deadlock_is_an_error_unless_something_stands_for_it() -> None:
    """Messages are eager on the first machine and deadlock on the second: an error, unless *deadlock* gives a value."""
    trace = TraceBuilder(2)
    for rank in (0, 1):
        trace[rank].send(1 - rank, 2000)
        trace[rank].recv(1 - rank)
    program = compile_program(trace.build())
    candidates = [Candidate(with_eager_limit(limit), Placement((0, 1))) for limit in (2000, 1999)]
    told: list[int] = []
    first, second = makespans(program, candidates, told.append, deadlock=math.inf)
    # Both send (10 ms + 1 ms/KB), then both receive the other's message.
    assert (first, second) == (pytest.approx(0.117), math.inf)
    assert told == [1, 2]
    with pytest.raises(DeadlockError):
        makespans(program, candidates)


def test_nothing_to_sweep_over() -> None:
    """A sweep without candidates returns empty arrays."""
    seconds, exact = contention_free(compile_program(exchange(1)), [], engine="fast")
    assert seconds.shape == exact.shape == (0,)


def test_progress_is_told() -> None:
    """Progress counts the candidates that are done, in rising order up to all of them."""
    told: list[int] = []
    candidates = [Candidate(machine(), Placement((0, 1)))] * 600
    contention_free(compile_program(exchange(1)), candidates, told.append, engine="fast")
    assert told == sorted(told)
    assert told[-1] == 600


def test_a_plan_forgets_the_placement_that_it_has_known_longest() -> None:
    """Of 65 ways to share nodes, the first is computed again when it recurs; the others are cached."""
    trace = TraceBuilder(8)
    for rank in trace:
        rank.collective(Op.BARRIER)
    plan = plan_of(compile_program(trace.build()))
    ways = [Placement((0, *map(int, f"{number:07b}"))) for number in range(65)]
    known = [plan.sharing(way) for way in ways]
    assert all(plan.sharing(way) is first for way, first in zip(ways[1:], known[1:], strict=True))
    assert plan.sharing(ways[0]) is not known[0]
    assert plan.sharing(ways[0]) == known[0]
