"""Cold starts: the extra time of bursts after waits, in seconds by hand; both engines agree."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError
from clue.explain import explain
from clue.explain.shares import part_shares
from clue.kernel import Candidate, Program, compile_program, contention_free, simulate
from clue.kernel.model.cold import Cold
from clue.kernel.model.program import ranks_with_wildcards
from clue.kernel.reference.critical_path import explained_replay
from clue.machine import ColdStart, NoContention, Placement
from clue.result import Part
from clue.trace import Op, TraceBuilder
from tests.kernel.cases import RECEIVE, both, machine, sending, transmission
from tests.kernel.random_cases import CASES, random_machine, random_placement, random_trace

#: The extra time is 1 s after a wait of 2 s, 3 s after one of 10 s or more, and at most the duration of the burst.
START = ColdStart.through([(2.0, 1.0), (10.0, 3.0)])
#: Time from the start of an empty message's send to the end of its receive.
MESSAGE = sending(0) + transmission(0) + RECEIVE


def sleeping(*steps: float) -> TraceBuilder:
    """Return a program of one rank; positive steps are seconds of computation, negative ones of sleep."""
    trace = TraceBuilder(1)
    for seconds in steps:
        if seconds > 0:
            trace[0].compute(seconds)
        else:
            trace[0].add(Op.SLEEP, nbytes=round(-seconds * 1e9))
    return trace


@pytest.mark.parametrize(
    ("steps", "extra"),
    [
        # No wait precedes the first burst.
        ((5.0,), 0.0),
        ((5.0, -2.0, 5.0), 1.0),
        # The curve is linear between its points, starts at 0 for no wait, and is constant beyond the last point.
        ((5.0, -1.0, 5.0), 0.5),
        ((5.0, -6.0, 5.0), 2.0),
        ((5.0, -99.0, 5.0), 3.0),
        # Consecutive waits add up; after a burst that paid all of the extra time, the next one is warm.
        ((5.0, -1.0, -1.0, 5.0), 1.0),
        ((5.0, -2.0, 5.0, 5.0), 1.0),
        ((5.0, -2.0, 5.0, -2.0, 5.0), 2.0),
        # A burst of 0.25 s takes at most twice as long; the next one pays the rest, also after another wait.
        ((5.0, -2.0, 0.25), 0.25),
        ((5.0, -2.0, 0.25, 5.0), 1.0),
        ((5.0, -2.0, 0.25, -8.0, 5.0), 3.0),
        ((5.0, -2.0, 0.25, -8.0, 0.5, 0.5, 5.0, 5.0), 3.0),
        # A wait at the beginning counts.
        ((-2.0, 5.0), 1.0),
    ],
)
def test_what_a_rank_owes_after_sleeping(steps: tuple[float, ...], extra: float) -> None:
    """The makespan is the sum of bursts and sleeps plus the expected extra time; without cold starts, only the sum."""
    expected = sum(map(abs, steps)) + extra
    assert both(sleeping(*steps), machine(1, cold_start=START)) == pytest.approx([expected], rel=1e-12)
    assert both(sleeping(*steps), machine(1)) == pytest.approx([expected - extra], rel=1e-12)


def test_waiting_for_a_message_is_a_wait_and_what_is_spent_on_it_is_not() -> None:
    """Rank 1 waits 2 s plus the travel of a message: only this wait, not the receive call, makes its burst longer."""
    trace = TraceBuilder(2)
    trace[0].compute(2.0)
    trace[0].send(1, 0)
    trace[1].recv(0)
    trace[1].compute(5.0)
    wait = 2.0 + MESSAGE - RECEIVE
    assert both(trace, machine(cold_start=START))[1] == pytest.approx(2 + MESSAGE + 5 + 1 + (wait - 2) / 4, rel=1e-12)


def test_a_send_is_no_wait() -> None:
    """A rank that sends between two bursts stays warm."""
    trace = TraceBuilder(2)
    trace[0].compute(1.0)
    trace[0].send(1, 5000)
    trace[0].compute(1.0)
    trace[1].recv(0)
    assert both(trace, machine(cold_start=START))[0] == pytest.approx(2 + sending(5), rel=1e-12)


def test_the_extra_time_is_this_processors_and_the_share_that_of_the_burst_as_it_takes_there() -> None:
    """The performance factor scales a burst and its limit of extra time, but not the extra time itself.

    At factor 3, a burst of 0.1 s takes 0.3 s and at most 0.3 s more; one of 5 s takes 15 s and 1 s more, not 3 s.
    """
    on = machine(1, performance_factor=3.0, cold_start=START)
    assert both(sleeping(-2.0, 0.1), on) == pytest.approx([2.6], rel=1e-12)
    assert both(sleeping(-2.0, 5.0), on) == pytest.approx([2 + 15 + 1], rel=1e-12)


def test_a_share_of_the_burst_may_be_small() -> None:
    """If the extra time is at most a quarter of a burst, four bursts of 1 s pay an extra time of 1 s."""
    on = machine(1, cold_start=replace(START, at_most=0.25))
    for bursts, extra in ((1, 0.25), (3, 0.75), (4, 1.0), (9, 1.0)):
        assert both(sleeping(-2.0, *[1.0] * bursts), on) == pytest.approx([2 + bursts + extra], rel=1e-12)


def test_beside_others_it_proceeds_as_the_burst_does() -> None:
    """Two ranks sleep 2 s, then share a processor: 3 s of computation and 1 s extra each, at half speed."""
    trace = TraceBuilder(2)
    for rank in trace:
        rank.add(Op.SLEEP, nbytes=2 * 10**9)
        rank.compute(1.5)
    on = machine(1, performance_factor=2.0, cold_start=START)
    assert both(trace, on, [0, 0]) == pytest.approx([2 + 8, 2 + 8], rel=1e-12)


def test_in_turns_with_background_load_it_takes_turns_as_well() -> None:
    """With half a processor in turns of 1 s, 2 s of computation after 4 s of sleep take as long as 3.5 s when warm."""
    on = machine(1, background_load=1.0, time_slice=1.0, cold_start=START)
    warm = both(sleeping(-4.0, 2.0 + 1.5), machine(1, background_load=1.0, time_slice=1.0))
    assert both(sleeping(-4.0, 2.0), on) == warm


def test_what_holds_when_a_burst_begins_counts() -> None:
    """The cold start at the begin of a burst applies: after a change at 5 s, the second wait costs half."""
    later = machine(1, cold_start=START.colder(0.5))
    on = machine(1, cold_start=START, changes=((5.0, later),))
    assert both(sleeping(-2.0, 1.0, -2.0, 1.0), on) == pytest.approx([2 + 2 + 2 + 1 + 0.5], rel=1e-12)


def test_spawned_ranks_count_from_their_begin() -> None:
    """The time before a spawned rank starts does not count as a wait."""
    trace = TraceBuilder(2)
    world, _ = trace.spawned([1])
    trace[0].compute(9.0)
    trace[0].add(Op.SPAWN, comm=0, peer=0, nbytes=1, extras=(world,))
    trace[1].compute(5.0)
    assert both(trace, machine(cold_start=START, initialisation_delay=3.0)) == [9.0, 17.0]


def test_the_critical_path_and_efficiencies_name_it() -> None:
    """Of 8 s, a rank sleeps for 2 s, computes for 5 s and loses 1 s to its cold start: a useful share of 5/8.

    The critical path, the efficiencies and the sensitivities all name the cold start.
    """
    program, on = compile_program(sleeping(-2.0, 5.0).build()), machine(1, cold_start=START)
    done = explained_replay(program, on, Placement((0,)))
    sums = {each.part: each.seconds for each in part_shares(done.path)}
    assert sums == pytest.approx({Part.SLEEP: 2.0, Part.COMPUTATION: 5.0, Part.COLD_START: 1.0})
    assert done.alone == pytest.approx((5.0,))
    found = explain(program, on, Placement((0,)))
    assert found.efficiencies is not None
    assert (found.efficiencies.serialisation, found.efficiencies.sharing) == pytest.approx((5 / 7, 7 / 8))
    assert found.efficiencies.transfer == 1
    (changed,) = (each for each in found.sensitivities if each.parameter == "node_types.host.cold_start")
    assert (changed.lower, changed.higher) == pytest.approx((7.9, 8.1))


def test_a_slower_node_is_slower_when_cold_as_well() -> None:
    """A node at half the speed also has twice the extra time after waits."""
    node = machine(1, cold_start=START).nodes[0]
    assert both(sleeping(-2.0, 5.0), replace(machine(1), nodes=(node.slower(2.0),))) == pytest.approx([2 + 12])
    assert both(sleeping(-2.0, 0.1), replace(machine(1), nodes=(node.slower(2.0),))) == pytest.approx([2 + 0.4])


@given(
    waits=st.lists(st.tuples(st.floats(0, 20), st.floats(1e-3, 5)), min_size=1, max_size=20),
    share=st.sampled_from((0.1, 0.5, 1.0, 10.0)),
)
def test_bursts_pay_what_waits_cost_and_no_more(waits: list[tuple[float, float]], share: float) -> None:
    """Each burst pays at most its share, all bursts at most the sum over all waits, and a long burst pays the rest."""
    start, cold, clock, paid = replace(START, at_most=share), Cold(), 0.0, 0.0
    for wait, seconds in waits:
        clock += wait
        extra = cold.begin(start, clock, 0.0, seconds)
        assert 0 <= extra <= share * seconds
        paid += extra
        clock += seconds + extra
        cold.end(clock, 0.0)
    assert paid <= sum(start.after(wait) for wait, _ in waits) + 1e-9
    assert cold.begin(start, clock, 0.0, 1e9) + paid >= start.after(waits[-1][0]) - paid - 1e-9
    cold.end(clock, 0.0)
    assert cold.begin(start, clock, 0.0, 1e9) == 0


@settings(max_examples=CASES // 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48))
def test_cold_starts_only_add(seed: int) -> None:
    """If only messages couple the ranks, cold starts make no rank finish earlier, and the sweep's bound still holds.

    A receive from any source may take another message if a rank is later, and its rank may then finish earlier.
    """
    random = Random(seed)
    trace = random_trace(random, ties=False)
    warm = random_machine(random, "none", ties=False, plain=True)
    cold = warm.map(lambda node: replace(node, cold_start=ColdStart.through([(1e-3, 1e-4), (1e-2, 5e-4)])))
    nodes = random_placement(random, warm, trace.ranks)
    program: Program = compile_program(trace)
    try:
        before, after = (simulate(program, each, nodes, "fast") for each in (warm, cold))
    except DeadlockError:
        return
    if not ranks_with_wildcards(program):
        assert all(b.finish <= a.finish + 1e-12 for b, a in zip(before.ranks, after.ranks, strict=True))
    seconds, exact = contention_free(program, [Candidate(cold, Placement(tuple(nodes)))], engine="fast")
    assert cold.network.contention == NoContention()
    assert seconds[0] <= after.makespan
    assert not exact[0] or after.makespan == before.makespan
