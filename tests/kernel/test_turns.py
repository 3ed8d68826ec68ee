"""Ranks that take turns with background load: closed forms, with time slices of 1 s."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.kernel import simulate
from clue.kernel.model.program import compile_program
from clue.kernel.model.turns import Turns
from clue.kernel.reference.critical_path import explained_replay
from clue.machine import Machine, Placement, Waiting
from clue.result import Part
from clue.trace import Op, TraceBuilder
from tests.kernel.cases import LINK, RECEIVE, both, machine, sending, transmission


def beside(load: float, **node: object) -> Machine:
    """Return a machine of two nodes with background load and time slices of 1 s."""
    return machine(background_load=load, time_slice=1.0, **node)  # type: ignore[arg-type]


def one(*steps: tuple[str, float]) -> TraceBuilder:
    """Return a program of one rank that takes these steps, each "compute" or "sleep" with its seconds."""
    trace = TraceBuilder(1)
    for what, seconds in steps:
        if what == "compute":
            trace[0].compute(seconds)
        else:
            trace[0].add(Op.SLEEP, nbytes=round(seconds * 1e9))
    return trace


def test_a_long_burst_has_its_share_turn_by_turn() -> None:
    """With half a processor, 2.5 s run at 0–1, 2–3 and 4–4.5 s; with a quarter, 1.5 s run at 0–1 and 4–4.5 s."""
    assert both(one(("compute", 2.5)), beside(1.0)) == pytest.approx([4.5])
    assert both(one(("compute", 1.5)), beside(3.0)) == pytest.approx([4.5])


@pytest.mark.parametrize("load", [1.0, 3.0])
def test_a_burst_of_thirty_years_costs_what_one_of_a_second_costs(load: float) -> None:
    """A burst of 10^9 turns has a closed form: a turn of each competing process follows every turn but the last."""
    turns = 1_000_000_000
    assert both(one(("compute", turns)), beside(load)) == pytest.approx([turns + load * (turns - 1)])


def test_bursts_of_one_turn_do_not_wait() -> None:
    """A change of region ends a burst but takes no time, so it does not end the turn: five bursts fill one turn."""
    trace = TraceBuilder(1)
    for i in range(5):
        trace[0].compute(0.2, f"region {i}")
    assert both(trace, beside(3.0)) == pytest.approx([1.0])


def test_who_has_slept_makes_up_for_what_it_had() -> None:
    """A rank that slept must first make up for time beyond its share.

    It ran for 0.25 s, 0.125 s more than its share. It wakes at 10.25 s, is even at 10.5 s and has its turn at 11.25 s,
    as the others' turns began at 0.25 s. By then it has had 0.375 s too little: after the next sleep it runs at once.
    """
    steps = [("compute", 0.25), ("sleep", 10.0), ("compute", 0.25)]
    assert both(one(*steps), beside(1.0)) == pytest.approx([11.5])
    assert both(one(*steps, ("sleep", 1.0), ("compute", 0.25)), beside(1.0)) == pytest.approx([12.75])


@pytest.mark.parametrize("slice_", [1.0, 2.0, 5.0, 7.0, 8.0, 10.0, 0.003, 0.011])
def test_who_has_had_its_share_exactly_runs_at_once(slice_: float) -> None:
    """A rank with exactly its share has a lag of 0 and runs at once after a sleep, however thirds are rounded.

    It has two thirds of a processor: a turn, a turn of the others, another turn; then it is even.
    """
    on = beside(2.0, processors=2)
    on = replace(on, nodes=tuple(replace(node, time_slice=slice_) for node in on.nodes))
    steps = [("compute", 2 * slice_), ("sleep", slice_ / 4), ("compute", slice_)]
    assert both(one(*steps), on) == pytest.approx([4.25 * slice_])


def test_a_message_is_taken_when_the_turn_comes() -> None:
    """A rank that waited for a message takes it at its next turn.

    It computes for 0.25 s and waits for a message until 5.1 s. It is even at 5.36 s and has its turn at 6.25 s.
    """
    trace = TraceBuilder(2)
    trace[0].compute(0.25)
    trace[0].recv(1)
    trace[1].add(Op.SLEEP, nbytes=5_000_000_000)
    trace[1].send(0, 100)
    arrival = 5.0 + sending(0.1) + transmission(0.1)
    assert 5.0 < arrival < 5.25
    assert both(trace, beside(1.0))[0] == pytest.approx(6.25 + RECEIVE)


def test_time_spent_on_messages_makes_up_for_what_was_had() -> None:
    """After 0.5 s of computation, a send of 1 s makes up for it: the rank runs at once when it wakes from a sleep."""
    trace = TraceBuilder(2)
    trace[0].compute(0.5)
    trace[0].send(1, 990_000)
    trace[0].add(Op.SLEEP, nbytes=1_000_000_000)
    trace[0].compute(0.5)
    trace[1].recv(0)
    on = beside(1.0, link=replace(LINK, eager_limit=None))
    assert both(trace, on)[0] == pytest.approx(0.5 + sending(990) + 1.0 + 0.5)


def test_a_turn_that_ends_within_a_send_is_over_then() -> None:
    """The turns of the others begin when the rank's own turn ends, even if it is sending and waits only later.

    It computes until 0.75 s, sends until 1.25 s, and sleeps until 1.5 s; its turn ends at 1 s. After the send it has
    had 0.125 s too much, so it is even at 1.75 s. Its next turn begins at 2 s, when the first one of the others ends.
    """
    trace = TraceBuilder(2)
    trace[0].compute(0.75)
    trace[0].send(1, 490_000)
    trace[0].add(Op.SLEEP, nbytes=250_000_000)
    trace[0].compute(0.5)
    trace[1].recv(0)
    on = beside(1.0, link=replace(LINK, eager_limit=None))
    assert sending(490) == pytest.approx(0.5)
    assert both(trace, on)[0] == pytest.approx(2.5)


def test_processors_without_a_rank_take_background_load() -> None:
    """On four processors, one rank is not slowed by three busy processes, but seven halve its share."""
    assert both(one(("compute", 3.0)), beside(3.0, processors=4)) == pytest.approx([3.0])
    assert both(one(("compute", 3.0)), beside(7.0, processors=4)) == pytest.approx([5.0])


@pytest.mark.parametrize(
    ("changed", "ranks"),
    [({"waiting": Waiting.POLL}, 1), ({"memory_contention": {1: {"": 0.5}}}, 1), ({}, 2)],
    ids=["poll", "memory contention", "crowded"],
)
def test_where_there_are_no_turns_the_result_says_so(changed: dict[str, object], ranks: int) -> None:
    """Polling ranks, memory contention and crowded nodes share evenly, as without a time slice; a warning says so."""
    trace = TraceBuilder(ranks)
    for rank in trace:
        rank.compute(2.5)
    on, even = beside(1.0, **changed), machine(background_load=1.0, **changed)  # type: ignore[arg-type]
    nodes = [0] * ranks
    assert both(trace, on, nodes) == both(trace, even, nodes)
    said = simulate(trace.build(), on, nodes).warnings
    assert any("time_slice of host is not used" in warning for warning in said)
    assert not any("time_slice" in warning for warning in simulate(trace.build(), beside(1.0), [0, 1][:ranks]).warnings)


def test_background_load_that_a_change_adds_shares_evenly_and_the_result_says_so() -> None:
    """One second alone, then the second one at half the speed, without turns; a warning says so."""
    trace, on = one(("compute", 2.0)), replace(machine(time_slice=1.0), changes=((1.0, beside(1.0)),))
    assert both(trace, on) == pytest.approx([3.0])
    assert any("time_slice of host is not used" in each for each in simulate(trace.build(), on).warnings)


def test_where_ranks_are_spawned_all_share_evenly() -> None:
    """Spawned ranks turn off time slices: 1 s alone, then two ranks and a busy process have 2/3 of a processor each."""
    trace = TraceBuilder(2)
    world, _ = trace.spawned((1,))
    trace[0].compute(1.0)
    trace[0].add(Op.SPAWN, comm=trace.communicator((0,)), peer=0, nbytes=1, extras=(world,))
    for rank in trace:
        rank.compute(2.0)
    on = beside(1.0, processors=2)
    assert both(trace, on, [0, 0]) == pytest.approx([1.0 + 3.0, 1.0 + 3.0])
    assert any("time_slice of host is not used" in said for said in simulate(trace.build(), on, [0, 0]).warnings)


def test_waiting_for_a_turn_is_sharing() -> None:
    """On the critical path, waiting for a turn counts as sharing, both within bursts and after waits."""
    trace = one(("compute", 0.25), ("sleep", 10.0), ("compute", 2.0))
    program, on = compile_program(trace.build()), beside(1.0)
    path = explained_replay(program, on, Placement.block(on, 1)).path
    seconds = path.stretches["end"] - path.stretches["begin"]
    sums = {part: float(seconds[path.stretches["part"] == part].sum()) for part in Part}
    assert sums[Part.COMPUTATION] == pytest.approx(2.25)
    assert sums[Part.SLEEP] == pytest.approx(10.0)
    assert sums[Part.SHARING] == pytest.approx(simulate(trace.build(), on).makespan - 12.25)


def turn_by_turn(turns: Turns, share: float, time: float, seconds: float) -> float:
    """Return when a burst ends, simulated turn by turn as the model's documentation says, with turns of 1 s."""
    lag, ends = turns.lag, turns.ends
    while time + seconds > ends + 1e-9:
        lag -= (ends - time) * (1 - share)
        seconds -= ends - time
        time = ends
        while lag < -1e-9:  # a turn of the others
            lag += share
            time += 1.0
        ends = time + 1.0
    return time + seconds


@given(st.floats(0.05, 0.95), st.lists(st.tuples(st.floats(0.001, 60.0), st.floats(0.0, 5.0)), min_size=1, max_size=10))
def test_turns_are_the_same_all_at_once(share: float, steps: list[tuple[float, float]]) -> None:
    """The closed form for a long burst gives the same end as a simulation turn by turn."""
    turns, time = Turns(share, 1.0), 0.0
    for seconds, sleep in steps:
        if time < turns.ends:
            expected = turn_by_turn(turns, share, time, seconds)
            time = turns.run(time, seconds)
            assert time == pytest.approx(expected, abs=1e-6)
        time = turns.wake(time, time + sleep)


@given(
    st.sampled_from([0.1, 0.25, 0.5, 0.9]),
    st.lists(st.tuples(st.floats(0.001, 20.0), st.floats(0.0, 5.0)), min_size=1, max_size=30),
)
def test_over_time_a_rank_has_its_share(share: float, steps: list[tuple[float, float]]) -> None:
    """Over any sequence of bursts and sleeps, a rank gets its share of a processor, to within a turn of everybody."""
    turns, time, wanted = Turns(share, 1.0), 0.0, 0.0
    for seconds, sleep in steps:
        end = turns.run(time, seconds)
        assert end >= time + seconds * (1 - 1e-12)
        woken = turns.wake(end, end + sleep)
        wanted += end - time + woken - (end + sleep)
        time = woken
        had = sum(each for each, _ in steps)
    assert abs(wanted - had / share) <= 1.0 / share + 1e-6
