"""Deadlocks, wildcards, determinism, and properties of every program."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError, ReplayError, UsageError
from clue.kernel import compile_program, computation_bound, simulate
from clue.kernel.reference.virtual_time import VirtualTime
from clue.machine import Curve, FactorTable, Link, Machine, Network, NodeType, Placement, Progress
from clue.result import Activity, Result
from clue.trace import ROOTED, Flag, Op, Trace, TraceBuilder
from tests.kernel.cases import EAGER_LIMIT, ENGINES, both, finishes, machine
from tests.properties import examples


def test_deadlock_names_who_waits_for_what_and_when() -> None:
    """A receive and a rendezvous send that do not match block for ever; the rank that has finished is not named."""
    trace = TraceBuilder(3)
    trace[0].compute(1.0)
    trace[0].recv(1, tag=4)
    trace[1].send(0, 100_000, tag=5)
    with pytest.raises(DeadlockError) as caught:
        simulate(trace.build(), machine(3))
    first, second = caught.value.blocked
    assert (first.rank, first.time, first.waits_for) == (0, 1.0, "recv from rank 1, tag 4, on communicator 0")
    assert (second.rank, second.time, second.waits_for) == (
        1,
        0.0,
        "send to rank 0, tag 5, on communicator 0",
    )


@ENGINES
def test_a_deadlock_states_the_notes_on_the_recording(engine: str) -> None:
    """What was noted about the recording may be why its replay deadlocks; other processes are told the same."""
    trace = TraceBuilder(1)
    trace[0].recv(0)
    built = trace.build()
    noted = replace(built, head=replace(built.head, notes=("2 threads called MPI",)))
    with pytest.raises(DeadlockError, match=r"note on its recording: 2 threads called MPI$") as caught:
        simulate(noted, machine(), engine=engine)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@ENGINES
def test_a_deadlock_counts_the_requests_that_are_open(engine: str) -> None:
    """Of six requests of a wait, three are open: two receives without a message and a rendezvous without a receive.

    A receive that has its message, an eager send, and a barrier that all ranks have begun are complete.
    """
    trace = TraceBuilder(2)
    rank = trace[0]
    sends = rank.isend(1, 8, tag=3), rank.isend(1, 10 * EAGER_LIMIT, tag=4)
    receives = rank.irecv(1, tag=9), rank.irecv(1), rank.irecv(1, tag=8)
    rank.wait(receives[0], receives[1], *sends, rank.icollective(Op.BARRIER), receives[2])
    trace[1].send(0, 8)
    trace[1].wait(trace[1].icollective(Op.BARRIER))
    with pytest.raises(DeadlockError) as caught:
        simulate(trace.build(), machine(), engine=engine)
    assert [(each.rank, each.waits_for) for each in caught.value.blocked] == [(0, "requests, 3 of them open")]


@ENGINES
def test_a_deadlock_names_the_spawn_that_is_never_reached(engine: str) -> None:
    """The root of a Spawn waits for a message, the other parent for the Spawn, the child for its start."""
    trace = TraceBuilder(3)
    world, _ = trace.spawned((2,))
    trace[1].recv(0)
    for rank in (0, 1):
        trace[rank].add(Op.SPAWN, peer=1, nbytes=1, extras=(world,))
    with pytest.raises(DeadlockError) as caught:
        simulate(trace.build(), machine(3), engine=engine)
    assert [each.waits_for for each in caught.value.blocked] == [
        "spawn by rank 1 on communicator 0",
        "recv from rank 0, tag 0, on communicator 0",
        "its start: the Spawn that begins its world is never reached",
    ]


def test_deadlock_by_rendezvous_depends_on_the_eager_limit() -> None:
    """If both ranks send first, the program ends while messages are eager and deadlocks beyond the limit."""

    def exchange(nbytes: int) -> Trace:
        trace = TraceBuilder(2)
        for rank in (0, 1):
            trace[rank].send(1 - rank, nbytes)
            trace[rank].recv(1 - rank)
        return trace.build()

    simulate(exchange(EAGER_LIMIT), machine())
    with pytest.raises(DeadlockError, match="rank 0 at 0 s waits for send to rank 1"):
        simulate(exchange(EAGER_LIMIT + 1), machine())


def test_collective_mismatch_is_an_error_that_names_both_ranks() -> None:
    """A broadcast on one rank and a reduction on another is an error."""
    trace = TraceBuilder(2)
    trace[0].collective(Op.BCAST, 8)
    trace[1].collective(Op.REDUCE, 8)
    with pytest.raises(ReplayError, match="call 0 is BCAST on rank 0 and REDUCE on rank 1"):
        simulate(trace.build(), machine())


@pytest.mark.parametrize("op", sorted(ROOTED))
def test_different_roots_are_an_error_that_names_both_ranks(op: Op) -> None:
    """A rooted collective whose members name two roots is an error, also if the collectives before it agree."""
    trace = TraceBuilder(3)
    for rank in range(3):
        trace[rank].collective(op, 8, root=2)
        trace[rank].collective(Op.ALLREDUCE, 8)
        trace[rank].collective(op, 8, root=int(rank == 1))
    with pytest.raises(ReplayError, match=f"call 2, {op.name}, has root 0 on rank 0 and 1 on rank 1"):
        simulate(trace.build(), machine())


def test_roots_of_collectives_without_one_do_not_matter() -> None:
    """What stands in the place of the root of a barrier or an allreduce may differ."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].collective(Op.BARRIER, root=rank)
        trace[rank].collective(Op.ALLREDUCE, 8, root=rank)
    assert simulate(trace.build(), machine()).makespan > 0


def test_missing_collective_call_is_an_error() -> None:
    """A rank that makes fewer collective calls than the others is named."""
    trace = TraceBuilder(2)
    trace[0].collective(Op.BARRIER)
    with pytest.raises(ReplayError, match="rank 1 makes 0, rank 0 makes 1"):
        simulate(trace.build(), machine())


def wildcard(first: float, second: float, *, tags: tuple[int, int] = (0, 0), flags: int = Flag.ANY_SOURCE) -> Trace:
    """Return a trace in which rank 0 receives from rank 1, then from rank 2, which send at these times."""
    trace = TraceBuilder(3)
    for rank, time, tag in ((1, first, tags[0]), (2, second, tags[1])):
        trace[rank].compute(time)
        trace[rank].send(0, 0, tag=tag)
        trace[0].recv(rank, tag=tag, flags=flags)
    return trace.build()


def wildcard_warning(trace: Trace) -> str:
    """Return the result's warning about wildcards, or an empty string."""
    return next((w for w in simulate(trace, machine(3)).warnings if "wildcard" in w), "")


def test_wildcard_that_would_have_matched_otherwise_is_counted() -> None:
    """Rank 2's message arrives first, but the recording matched rank 1's: one of two receives differs."""
    assert "1 of 2 wildcard receives would have matched another message" in wildcard_warning(wildcard(2.0, 1.0))


def test_wildcard_that_matches_as_recorded_is_silent() -> None:
    """If messages arrive in the recorded order, there is no warning."""
    assert wildcard_warning(wildcard(1.0, 2.0)) == ""


def test_wildcard_of_another_tag_is_no_rival() -> None:
    """A message of another tag does not fit a receive from any source, unless it takes any tag too."""
    assert wildcard_warning(wildcard(2.0, 1.0, tags=(1, 2))) == ""
    both = Flag.ANY_SOURCE | Flag.ANY_TAG
    assert "1 of 2" in wildcard_warning(wildcard(2.0, 1.0, tags=(1, 2), flags=both))


def test_virtual_time_never_runs_backwards() -> None:
    """Asking for an event in the past is refused."""
    env = VirtualTime()
    env.run(until=2.0)
    with pytest.raises(ReplayError, match="must not run backwards"):
        env.at(1.0, 0)


def test_events_of_one_time_go_by_rank_then_serial_number() -> None:
    """Events at one time run by rank, then in the order in which they were scheduled."""
    env = VirtualTime()
    order: list[str] = []
    for name, rank in (("b", 1), ("a", 0), ("c", 1)):
        callbacks = env.at(1.0, rank).callbacks
        assert callbacks is not None
        callbacks.append(lambda _, name=name: order.append(name))  # type: ignore[misc]
    env.run()
    assert order == ["a", "b", "c"]


@ENGINES
@pytest.mark.parametrize(("known", "ends"), [(True, [4.5, 4.0]), (False, [4.0, 4.5])])
def test_a_ranks_own_actions_at_one_time_follow_each_other(engine: str, known: bool, ends: list[float]) -> None:
    """Rank 2 sends twice at 3 s, with a wait in between, which executes the operation of rank 0; three are under way.

    If the wait is for the first message, which has left already, the second one starts before the answer to rank 0,
    whose event would come first. If it is for an operation on rank 2 itself, the answer starts first.
    """
    between, within = Link(Curve.line(0.0), Curve.line(0.5)), Link(Curve.line(0.0), Curve.line(0.0))
    table = FactorTable(((1, 1.0), (2, 2.0), (3, 3.0)))
    network = Network(between, within, contention=table, progress=Progress.CALLS)
    trace = TraceBuilder(3)
    trace[0].compute(1.0)
    trace[0].wait(trace[0].rma(2))
    trace[1].recv(2)
    trace[1].recv(2)
    trace[2].compute(3.0)
    sent = trace[2].isend(1, 0)
    trace[2].wait(sent if known else trace[2].rma(2))
    trace[2].isend(1, 0)
    assert finishes(trace, Machine("hand-made", (NodeType("host"),) * 3, network), engine)[:2] == ends


def test_the_first_receive_of_a_rank_that_shares_its_node_is_no_event() -> None:
    """It is posted at 0 before anything is sent, so the rendezvous of rank 0 starts before the eager message of rank 1.

    Both start at 0 and take 1 s alone: the first to start takes 1 s, the second 2 s.
    """
    trace = TraceBuilder(4)
    trace[0].wait(trace[0].isend(3, 1, flags=Flag.SYNCHRONOUS))
    trace[1].wait(trace[1].isend(2, 1))
    trace[2].recv(1)
    trace[3].wait(trace[3].irecv(0))
    on = machine(3, contention={1: 1.0, 2: 2.0}, link=Link(Curve.line(0.0, 1.0), Curve.line(0.0)))
    assert both(trace, on, [0, 1, 2, 2]) == [1.0, 2.0, 2.0, 1.0]


def test_the_first_receive_of_a_spawned_rank_that_shares_its_node_is_no_event() -> None:
    """The same where rank 3 is spawned and begins at 1 s, when the other two have computed for 1 s."""
    trace = TraceBuilder(4)
    world, _ = trace.spawned((3,))
    everybody, parent = trace.communicator((0, 1, 2, 3)), trace.communicator((2,))
    trace[2].add(Op.SPAWN, peer=0, nbytes=1, comm=parent, extras=(world,))
    for rank in (0, 1):
        trace[rank].compute(1.0)
    trace[0].wait(trace[0].isend(3, 1, comm=everybody, flags=Flag.SYNCHRONOUS))
    trace[1].wait(trace[1].isend(2, 1, comm=everybody))
    trace[2].recv(1, comm=everybody)
    trace[3].wait(trace[3].irecv(0, comm=everybody))
    link = Link(Curve.line(0.0, 1.0), Curve.line(0.0))
    on = machine(3, contention={1: 1.0, 2: 2.0}, link=link, initialisation_delay=1.0)
    assert both(trace, on, [0, 1, 2, 2]) == [2.0, 3.0, 3.0, 2.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "warp"}, "engine must be one of auto, reference, fast, got 'warp'"),
        ({"instances": 0}, "instances must be at least 1, got 0"),
        ({"placement": "random"}, "placement must be block, cyclic or a list of nodes, got 'random'"),
        ({"placement": [0]}, "list must name one node per rank"),
        ({"placement": [0, 0, 7]}, "node of rank 2 must be from 0 to 1, got 7"),
        ({"placement": [0, 1.0, 0]}, r"node of rank 1 must be a whole number, got 1\.0"),
        ({"placement": None}, "placement must be block, cyclic or a list of nodes, got None"),
        ({"placement": 2}, "placement must be block, cyclic or a list of nodes, got 2"),
        (
            {"placement": {0: 1, 1: 0, 2: 0}},
            "placement must be block, cyclic or a list of nodes, got {0: 1, 1: 0, 2: 0}",
        ),
        ({"placement": {0, 1}}, "placement must be block, cyclic or a list of nodes, got {0, 1}"),
        ({"placement": Placement({0: 1})}, "placement must be block, cyclic or a list of nodes, got {0: 1}"),  # type: ignore[arg-type]
        ({"instances": 1.5}, r"instances must be a whole number, got 1\.5"),
        ({}, "ranks must be at most 2 on hand-made"),
    ],
)
def test_nonsense_is_refused(arguments: dict[str, object], message: str) -> None:
    """Each wrong argument is refused with a message that states the rule and the value."""
    with pytest.raises(UsageError, match=message):
        simulate(TraceBuilder(3).build(), machine(2), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [np.array([1, 0]), [np.int64(1), np.int32(0)], (1, 0), iter([1, 0])])
def test_placements_of_other_types(given: Any) -> None:
    """Nodes may be listed in any order of integers, such as an array of numpy; results then have plain integers."""
    ranks = simulate(TraceBuilder(2).build(), machine(2), given).ranks
    assert [(each.node, type(each.node)) for each in ranks] == [(1, int), (0, int)]


@pytest.mark.parametrize(
    ("trace", "on", "message"),
    [
        ("jacobi.clue", machine(2), "trace must be one that clue.Trace.open or a builder returned, got 'jacobi.clue'"),
        (TraceBuilder(2), machine(2), "trace must be one that clue.Trace.open or a builder returned, got <"),
        (TraceBuilder(2).build(), "kishimoto", "machine must be one that clue.load_machine returned, got 'kishimoto'"),
    ],
)
def test_names_are_no_traces_or_machines(trace: Any, on: Any, message: str) -> None:
    """A file name, a builder or a machine's name says what is needed instead."""
    with pytest.raises(UsageError, match=re.escape(message)):
        simulate(trace, on)


def test_block_and_cyclic_placement() -> None:
    """Five ranks on three dual nodes, placed block and cyclic, and seven with two ranks per processor."""
    on = machine(3, processors=2)
    assert Placement.block(on, 5).nodes == (0, 0, 1, 1, 2)
    assert Placement.cyclic(on, 5).nodes == (0, 1, 2, 0, 1)
    assert Placement.block(on, 7, per_processor=2).nodes == (0, 0, 0, 0, 1, 1, 1)


@st.composite
def programs(draw: st.DrawFn) -> Trace:
    """Draw a program that cannot deadlock: each message's receive is posted before the next send."""
    ranks = draw(st.integers(2, 5))
    trace = TraceBuilder(ranks)
    for _ in range(draw(st.integers(1, 12))):
        source, dest = draw(st.permutations(range(ranks)))[:2]
        nbytes = draw(st.sampled_from([0, 1, 999, EAGER_LIMIT, EAGER_LIMIT + 1, 50_000]))
        tag = draw(st.integers(0, 2))
        mode = draw(st.sampled_from([0, Flag.SYNCHRONOUS, Flag.BUFFERED]))
        for rank in (source, dest):
            trace[rank].compute(draw(st.sampled_from([0.0, 0.01, 0.3])), draw(st.sampled_from(["", "solve"])))
        if draw(st.booleans()):
            trace[source].send(dest, nbytes, tag, flags=mode)
            trace[dest].recv(source, tag)
        else:
            sent, received = (
                trace[source].isend(dest, nbytes, tag, flags=mode),
                trace[dest].irecv(source, tag),
            )
            trace[source].compute(draw(st.sampled_from([0.0, 0.2])))
            trace[source].wait(sent)
            trace[dest].wait(received)
    return trace.build()


@st.composite
def machines(draw: st.DrawFn) -> tuple[Machine, list[int]]:
    """Draw a machine and a node for each of five ranks."""
    nodes = draw(st.integers(1, 5))
    on = machine(
        nodes,
        contention=draw(st.sampled_from([None, {1: 1.0, 3: 2.0}])),
        processors=draw(st.integers(1, 2)),
        performance_factor=draw(st.sampled_from([0.0, 0.5, 2.0])),
        background_load=draw(st.sampled_from([0.0, 0.5])),
        time_slice=draw(st.sampled_from([0.0, 0.03])),
        memory_contention=draw(st.sampled_from([{}, {2: {"solve": 0.5}}])),
    )
    return on, draw(st.lists(st.integers(0, nodes - 1), min_size=5, max_size=5))


@pytest.mark.long
@settings(max_examples=examples(150), deadline=None)
@given(programs(), machines())
def test_any_program_on_any_machine(trace: Trace, case: tuple[Machine, list[int]]) -> None:
    """The timeline accounts for every second of a rank, a second run is identical, and the lower bound holds."""
    on, nodes = case
    placement = Placement(tuple(nodes[: trace.ranks]))
    result = simulate(trace, on, placement, timeline=True)
    check_accounts(result)
    assert simulate(trace, on, placement).ranks == result.ranks
    # The makespan is never below the computation of the rank that computes longest.
    assert computation_bound(compile_program(trace), on, placement) <= result.makespan


def check_accounts(result: Result) -> None:
    """Check that the timeline has no gap and no overlap, and that its parts add up to the result's figures."""
    assert result.timeline is not None
    for rank in result.ranks:
        mine = result.timeline.segments[result.timeline.segments["rank"] == rank.rank]
        spans = mine["end"] - mine["begin"]
        assert (spans >= 0).all()
        edges = np.concatenate([[0.0], mine["end"]])
        assert np.array_equal(edges[:-1], mine["begin"])
        assert edges[-1] == rank.finish
        parts = {kind: spans[mine["activity"] == kind].sum() for kind in Activity}
        assert parts[Activity.COMPUTE] == pytest.approx(rank.compute, abs=1e-9)
        assert parts[Activity.WAIT] == pytest.approx(rank.wait, abs=1e-9)
        assert parts[Activity.SEND] + parts[Activity.RECEIVE] == pytest.approx(rank.communicate, abs=1e-9)
    assert sum(result.compute_by_region.values()) == pytest.approx(sum(r.compute for r in result.ranks))


@pytest.mark.long
@settings(max_examples=examples(100), deadline=None)
@given(programs())
def test_a_network_without_contention_is_a_lower_bound(trace: Trace) -> None:
    """Contention factors of 1 and more never make a program faster."""
    free = simulate(trace, machine(5), list(range(trace.ranks)))
    contended = simulate(trace, machine(5, contention={1: 1.0, 2: 3.0}), list(range(trace.ranks)))
    assert contended.makespan >= free.makespan - 1e-12


def test_computation_bound_by_hand() -> None:
    """Rank 1 computes 2 s, and 1 s in a region of factor 3: the bound is 5 s, more than rank 0's 4 s."""
    trace = TraceBuilder(2)
    trace[0].compute(4.0)
    trace[1].compute(2.0)
    trace[1].compute(1.0, "solve")
    on = machine(2, performance_factors={"solve": 3.0})
    bound = computation_bound(compile_program(trace.build()), on, Placement((0, 1)))
    assert bound == pytest.approx(5.0, rel=1e-8)
    assert bound <= 5.0


@settings(max_examples=examples(60), deadline=None)
@given(programs())
def test_contention_of_factor_1_changes_nothing(trace: Trace) -> None:
    """A contention factor of 1 gives the same times as no contention, to the last bit.

    With a factor, the reference simulates ranks in order of time; without, it lets them run ahead.
    """
    nodes = list(range(trace.ranks))
    free, in_turn = (simulate(trace, machine(5, contention=table), nodes) for table in (None, {1: 1.0}))
    assert free.ranks == in_turn.ranks


@settings(max_examples=examples(60), deadline=None)
@given(programs())
def test_traffic_counts_every_message_once(trace: Trace) -> None:
    """The traffic matrix counts all messages and bytes that the trace sends."""
    result = simulate(trace, machine(5), list(range(trace.ranks)), traffic=True)
    sends = np.isin(trace.ops.op, [Op.SEND, Op.ISEND])
    assert result.traffic is not None
    assert result.traffic.messages.sum() == sends.sum()
    assert result.traffic.nbytes.sum() == trace.ops.nbytes[sends].sum()
