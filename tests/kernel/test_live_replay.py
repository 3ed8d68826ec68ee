"""Live execution against replay: the same calls give the same times to the last bit on any machine."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError
from clue.kernel import compile_program, simulate
from clue.kernel.live import execute
from clue.kernel.model.costs import empty_message
from clue.kernel.model.turns import shares_in_turns
from clue.machine import Link, Machine, Placement, Rendezvous
from clue.machine.contention import NUMBERS
from clue.result import Activity, Result
from clue.trace import Trace
from tests.kernel.comparing import same_figures
from tests.kernel.live_sources import Players, playing
from tests.kernel.random_cases import CASES, random_machine, random_placement, random_trace


def replayed(trace: Trace, machine: Machine, placement: list[int]) -> Result | list[tuple[int, float]]:
    """Return the reference's result or, for a deadlock, each blocked rank and the time when it blocked."""
    try:
        return simulate(trace, machine, placement, "reference", traffic=True, timeline=True)
    except DeadlockError as deadlock:
        return [(each.rank, each.time) for each in deadlock.blocked]


def lived(trace: Trace, machine: Machine, placement: list[int]) -> Result | list[tuple[int, float]]:
    """Return the result of a live execution or, for a deadlock, each blocked rank and the time when it blocked."""
    rates = compile_program(trace).host_speeds
    try:
        return execute(playing(trace), machine, placement, rate=rates, traffic=True, timeline=True).result
    except DeadlockError as deadlock:
        return [(each.rank, each.time) for each in deadlock.blocked]


def links(machine: Machine) -> list[Link]:
    """Return all links that a machine has over time."""
    networks = [state.network for state in machine.epochs]
    return [link for each in networks for link in (each.between_nodes, each.within_node, *each.pairs.values())]


def receiving_takes_time(machine: Machine) -> bool:
    """Tell whether no rank acts at the time of an arrival, where the order of simulation might matter."""
    return all(link.receive_delay > 0 for link in links(machine))


def answers_take_time(machine: Machine) -> bool:
    """Tell whether no rendezvous starts at the time at which its receiver, after a poll, sends a message itself."""
    return all(
        link.receive_delay > 0 or (empty_message(link) > 0 and link.rendezvous is not Rendezvous.READ)
        for link in links(machine)
    )


def stretches(result: Result) -> list[tuple[int, int, int, float, float]]:
    """Return the segments of a timeline, with consecutive waits merged."""
    assert result.timeline is not None
    merged: list[tuple[int, int, int, float, float]] = []
    for rank, activity, region, _, begin, end in result.timeline.segments.tolist():
        last = merged[-1] if merged else None
        if last is not None and activity == Activity.WAIT and last[:3] == (rank, activity, region):
            merged[-1] = (*last[:4], end)
        else:
            merged.append((rank, activity, region, begin, end))
    return merged


def same(expected: Result | list[tuple[int, float]], got: Result | list[tuple[int, float]]) -> None:
    """Check that two results, or two deadlocks, are the same."""
    if isinstance(expected, list) or isinstance(got, list):
        assert got == expected
        return
    same_figures(got, expected)
    assert stretches(got) == stretches(expected)


@pytest.mark.long
@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=CASES // 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), ties=st.booleans(), plain=st.booleans(), spoilt=st.integers(0, 9))
def test_calls_mean_what_they_mean_in_a_replay(kind: str, seed: int, ties: bool, plain: bool, spoilt: int) -> None:
    """A live program that makes the calls of a trace has the times, or the deadlock, of a replay of that trace."""
    random = Random(seed)
    trace = random_trace(random, ties=ties, spoilt=spoilt == 0)
    assume(not any(head.world for head in trace.head.rank_heads))
    machine = random_machine(random, kind, ties=ties, plain=plain)
    while kind not in {"none", "flows"} and not answers_take_time(machine):  # one of three machines
        machine = random_machine(random, kind, ties=ties, plain=plain)
    placement = random_placement(random, machine, trace.ranks)
    same(replayed(trace, machine, placement), lived(trace, machine, placement))


@pytest.mark.long
@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=CASES // 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48))
def test_what_happened_is_replayed_to_the_last_bit(kind: str, seed: int) -> None:
    """A live run with wildcard receives keeps a trace; a replay of that trace gives the same figures."""
    random = Random(seed)
    trace = random_trace(random, ties=False)
    machine = random_machine(random, kind, ties=False)
    while not receiving_takes_time(machine):  # six of seven machines; another trace for each would take longer
        machine = random_machine(random, kind, ties=False)
    players = Players(trace, wild=True)
    first = players.first()
    placement = random_placement(random, machine, len(first))
    rates = compile_program(trace).host_speeds
    try:
        lived = execute(first, machine, placement, spawn=players.spawn, rate=rates, record=True, traffic=True)
    except DeadlockError:
        # Wildcard receives that match other messages than when recorded can leave other receives without a message.
        assume(False)
    assume(not any(" late: " in warning for warning in lived.result.warnings))
    nodes = [rank.node for rank in lived.result.ranks]
    # If spawned ranks share processors that were not shared before, the live run does not slow earlier bursts. If ranks
    # took turns before others were spawned on their node, a replay lets all share evenly from the start.
    assume(len(nodes) == len(first) or max(Counter(nodes)[i] - machine.nodes[i].processors for i in set(nodes)) <= 0)
    in_turns = shares_in_turns(machine, Placement(tuple(nodes[: len(first)])))
    assume(not in_turns.keys() & set(nodes[len(first) :]))
    # A spawned rank on an empty node can make ports faster: in a live run from then on, in a replay from the start.
    assume(kind != "ports" or {*nodes[len(first) :]} <= {*nodes[: len(first)]})
    assert lived.trace is not None
    same_figures(lived.result, simulate(lived.trace, machine, nodes, traffic=True))
