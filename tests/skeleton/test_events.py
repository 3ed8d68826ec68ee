"""Events and units: how ops are grouped, which ops are not events, and which calls are refused."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import SkeletonError
from clue.kernel import simulate
from clue.skeleton.events import NONE, Events, Integers, Mask
from clue.trace import ANY, NO_REQUEST, PROC_NULL, Flag, Op, Trace, TraceBuilder
from clue.trace.sites import Frame, Site
from tests.kernel.cases import machine
from tests.properties import examples
from tests.skeleton.programs import repeatable, site


def ops_of(trace: Trace, rank: int) -> list[str]:
    """Return the names of a rank's ops."""
    return [Op(code).name for code in trace.rank(rank).op]


def only(events: Events, units: list[int]) -> Trace:
    """Return the excerpt of a program that keeps only these units."""
    return events.excerpt(np.flatnonzero(_with_waits(events, units))).trace


def _with_waits(events: Events, units: list[int]) -> Mask:
    rows = np.isin(events.unit, units)
    rows[events.named.row[np.isin(events.unit[events.named.start], units)]] = True
    return rows


def test_a_message_is_one_unit_with_its_receive_and_the_probes_that_saw_it() -> None:
    """A message is one unit with its send, its receive and its probe: here the probe sees the second message."""
    built = TraceBuilder(2)
    built[0].send(1, 10)
    built[0].send(1, 20)
    built[1].recv(0)
    built[1].add(Op.PROBE, peer=0)
    built[1].recv(0)
    events = Events.of(built.build())
    assert events.units == 2
    assert events.unit.tolist() == [0, 1, 0, 1, 1]


def test_collective_calls_are_counted_by_communicator() -> None:
    """The k-th collective call of each member of a communicator is one unit; neighbourhood collectives count apart."""
    built = TraceBuilder(2)
    pair = built.communicator((1, 0))
    for rank, own in enumerate(built):
        own.collective(Op.BARRIER)
        own.collective(Op.NEIGHBOR, extras=(1, 1 - rank, 8, 1, 1 - rank))
        own.collective(Op.ALLREDUCE, 8, comm=pair)
        own.collective(Op.BARRIER)
    events = Events.of(built.build())
    first, second = np.split(events.unit, 2)
    assert first.tolist() == second.tolist()
    assert events.units == 4


def test_waits_keep_the_requests_that_stay_and_these_are_numbered_anew() -> None:
    """Three requests have one wait; when the second is dropped, the wait keeps the other two, with new numbers."""
    built = TraceBuilder(2)
    built[0].wait(*(built[0].isend(1, nbytes, tag) for tag, nbytes in enumerate((10, 20, 30))))
    for tag in range(3):
        built[1].wait(built[1].irecv(0, tag))
    events = Events.of(built.build())
    short = only(events, [events.unit[0], events.unit[2]])
    mine, others = short.rank(0), short.rank(1)
    assert ops_of(short, 0) == ["ISEND", "ISEND", "WAIT"]
    assert mine.request.tolist() == [0, 1, NO_REQUEST]
    assert mine.extras.tolist() == [0, 1]
    assert ops_of(short, 1) == ["IRECV", "WAIT"] * 2
    assert others.request.tolist() == [0, 0, 1, 1]
    alone = only(events, [events.unit[1]]).rank(0)
    assert (alone.request.tolist(), alone.count.tolist(), alone.nbytes.tolist()) == ([0, 0], [0, 0], [20, 0])


def test_a_matched_probe_takes_its_receive_along() -> None:
    """A matched probe, its receive and the wait for it belong to one unit and share one request."""
    built = TraceBuilder(2)
    built[0].send(1, 10, tag=1)
    built[0].send(1, 20, tag=2)
    for tag in (1, 2):
        built[1].add(Op.MPROBE, peer=0, tag=tag, request=tag)
        built[1].add(Op.MRECV, request=tag, flags=Flag.NONBLOCKING)
        built[1].wait(tag)
    events = Events.of(built.build())
    short = only(events, [events.unit[1]])
    assert ops_of(short, 1) == ["MPROBE", "MRECV", "WAIT"]
    assert short.rank(1).request.tolist() == [0, 0, 0]


def test_what_is_no_event_computes_with_the_next_one_of_its_region() -> None:
    """Computation of polls and packing joins the next event of its region.

    The send gets 1 + 2 + 3 + 0.5 s of region solve; 4 s of another region stay a separate burst.
    """
    built = TraceBuilder(2)
    own = built[0]
    own.compute(1.0, "solve")
    own.add(Op.POLL, peer=ANY)
    own.compute(2.0, "solve")
    own.add(Op.PACK, nbytes=8, took=3 * 10**9)
    own.compute(0.5, "solve")
    own.send(1, 8)
    own.compute(4.0, "check")
    own.send(PROC_NULL, 8)
    own.compute(0.25, "")
    built[1].recv(0)
    trace = Events.of(built.build()).trace
    assert ops_of(trace, 0) == ["SEND", "COMPUTE", "COMPUTE"]
    assert (trace.bursts * 1e-9).tolist() == [6.5, 4.0, 0.25, 0.0]
    assert [trace.head.regions[each] for each in trace.rank(0).region] == ["solve", "check", ""]


def test_the_rest_of_a_call_becomes_its_beginning() -> None:
    """When the first op of a call is dropped, its burst moves to the next one: a Sendrecv keeps send and wait."""
    built = TraceBuilder(2)
    built[0].compute(1.0)
    built[0].sendrecv(1, 8, PROC_NULL)
    built[1].recv(0)
    own = Events.of(built.build()).trace.rank(0)
    assert own.op.tolist() == [Op.ISEND, Op.WAIT]
    assert own.flags.tolist() == [0, Flag.CONTINUED]
    assert own.cpu.tolist() == [10**9, 0]
    assert (own.request.tolist(), own.count.tolist()) == ([0, 0], [0, 0])


def test_receives_from_any_source_are_from_the_one_they_had() -> None:
    """A receive from any source gets the source that it had when recorded, and a remark counts such receives."""
    built = TraceBuilder(2)
    built[0].send(1, 8, tag=3)
    built[1].recv(0, 3, flags=Flag.ANY_SOURCE | Flag.ANY_TAG)
    events = Events.of(built.build())
    assert not events.trace.ops.flags.any()
    assert events.caveats == ("built: 1 receive or probe from any source is from the recorded source",)


def test_messages_without_an_end_are_left_out() -> None:
    """A send without a receive, and a receive without a known source, are left out."""
    built = TraceBuilder(2)
    built[0].send(1, 8)
    built[1].add(Op.RECV, peer=ANY, tag=ANY, flags=Flag.ANY_SOURCE)
    events = Events.of(built.build())
    assert len(events.trace.ops) == 0
    assert [each.said for each in events.caveats] == ["1 message without a known sender or receiver is left out"]


def test_members_that_make_different_collective_calls_are_refused() -> None:
    """A rank makes a barrier fewer than the other; on another communicator, the second call is another one."""
    built = TraceBuilder(2)
    pair = built.communicator((1, 0))
    for rank, own in enumerate(built):
        own.collective(Op.BCAST, 8, comm=pair)
        own.collective((Op.REDUCE, Op.BCAST)[rank], 8, comm=pair)
        for _ in range(3 - rank):
            own.collective(Op.BARRIER)
    trace = built.build()
    with pytest.raises(SkeletonError) as raised:
        Events.of(trace)
    context = trace.head.communicators[pair].context
    assert raised.value.faults == (
        "built: members of communicator 0 must make the same collective calls, got 3 and 2 on ranks 0 and 1",
        f"built: members of communicator {context} must make the same collective calls, got BCAST and REDUCE as call 1 "
        "on ranks 1 and 0",
    )


def test_all_calls_that_no_skeleton_repeats_are_named_at_once() -> None:
    """One error lists all calls that cannot be repeated, with call site and count."""
    built = TraceBuilder(3, "worker.py")
    near, _ = built.intercommunicator((0,), (1,))
    built.spawned((2,))
    own = built[0]
    own.at(site(5))
    own.add(Op.OTHER, call="File.Write_at")
    own.add(Op.OTHER, call="File.Write_at")
    own.at(site(7))
    own.add(Op.OTHER, call="Win.Put")
    own.add(Op.SPAWN, nbytes=1, call="Intracomm.Spawn")
    own.add(Op.ISEND, peer=0, comm=near, flags=Flag.INTER, request=0, call="Comm.Isend")
    with pytest.raises(SkeletonError) as raised:
        Events.of(built.build())
    assert raised.value.exit_status == 2
    must = "worker.py: calls must be such as a skeleton can repeat, got"
    assert sorted(raised.value.faults) == [
        "worker.py: a skeleton must have all ranks from the beginning, got 1 spawned ones",
        f"{must} Comm.Isend at sweep.py:7 between the groups of an intercommunicator",
        f"{must} File.Write_at at sweep.py:5 (2 times)",
        f"{must} Intracomm.Spawn at sweep.py:7",
        f"{must} Win.Put at sweep.py:7",
    ]


def test_a_line_that_is_reached_in_several_ways_is_named_once() -> None:
    """Calls of one line that have several call paths are one fault, with their total."""
    built = TraceBuilder(1, "worker.py")
    own = built[0]
    for caller, count in ((20, 2), (30, 3)):
        inner = Frame("sweep.py", "put", 5, 0)
        own.at(Site((Frame("sweep.py", "main", caller, 0), inner)))
        for _ in range(count):
            own.add(Op.OTHER, call="Win.Put")
    with pytest.raises(SkeletonError) as raised:
        Events.of(built.build())
    assert raised.value.faults == (
        "worker.py: calls must be such as a skeleton can repeat, got Win.Put at sweep.py:5 (5 times)",
    )


@given(seed=st.integers(0, 2**32), share=st.floats(0, 1))
@settings(max_examples=examples(150), deadline=None)
def test_whatever_units_are_dropped_the_rest_runs_to_its_end(seed: int, share: float) -> None:
    """If any units of a random program are dropped, the rest runs to its end, and all its messages are received."""
    events = Events.of(repeatable(seed))
    random = Random(seed)
    units = [unit for unit in range(events.units) if random.random() < share]
    short = only(events, units)
    short.check()
    result = simulate(short, machine(5), engine="reference")
    assert not [each for each in result.warnings if "received" in each]
    assert (np.unique(events.unit[events.unit != NONE]) == np.arange(events.units)).all()


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(100), deadline=None)
def test_no_computation_is_lost(seed: int) -> None:
    """The events of a rank and region have all of its computation, including the time of packing."""
    trace = repeatable(seed)
    found = Events.of(trace).trace

    def spent(of: Trace, bursts: Integers) -> list[float]:
        ranks = np.repeat(np.arange(of.ranks), np.diff(of.head.offsets))
        cells = ranks * len(of.head.regions) + of.ops.region
        return [float(each) for each in np.bincount(cells, bursts, of.ranks * len(of.head.regions))]

    packing = np.where(trace.ops.are(Op.PACK), trace.ops.took, 0)
    assert spent(found, found.bursts) == spent(trace, trace.bursts + packing)
