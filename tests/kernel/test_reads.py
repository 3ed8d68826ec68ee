"""Rendezvous whose data the receiver reads from the sender's memory, added up by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clue.kernel import simulate
from clue.kernel.live import execute
from clue.machine import (
    Contention,
    Curve,
    FactorTable,
    Flows,
    Link,
    Machine,
    Network,
    NoContention,
    NodeType,
    Ports,
    Progress,
    Rendezvous,
)
from clue.machine.contention.topology import Switch, Switches
from clue.trace import Flag, Op, Trace, TraceBuilder
from tests.kernel.live_sources import playing

MB = 10**6
READ, WRITE = Rendezvous.READ, Rendezvous.WRITE
ASYNCHRONOUS, CALLS = Progress.ASYNCHRONOUS, Progress.CALLS

#: s(m) = 1/4 s + m x 1 us, t(m) = 3/4 s: an empty message travels for 1 s, and 1 MB arrives 2 s after its data start.
LINK = Link(
    Curve.line(0.25, 1e-6), Curve.line(0.75), eager_limit=1000, send_overhead=Curve.line(0.125), rendezvous=READ
)

#: The test is of each engine, and of a live run of the same calls.
BY = pytest.mark.parametrize("by", ["reference", "fast", "live"])
each_progress = pytest.mark.parametrize("progress", list(Progress), ids=lambda each: each.name.lower())


def machine(
    link: Link = LINK,
    progress: Progress = ASYNCHRONOUS,
    contention: Contention | None = None,
    *,
    nodes: int = 2,
    back: Link | None = None,
) -> Machine:
    """Return a machine of nodes with equal links, or with another one from a second type of nodes to the first."""
    pairs = {} if back is None else {("second", "first"): back}
    network = Network(link, link, pairs, contention=contention or NoContention(), progress=progress)
    first, others = NodeType("first", processors=4), NodeType("first" if back is None else "second", processors=4)
    return Machine("hand-made", (first, *(others,) * (nodes - 1)), network)


def finishes(trace: TraceBuilder, on: Machine, by: str, nodes: tuple[int, ...] | None = None) -> list[float]:
    """Return when each rank ends: by an engine, or in a live run."""
    built: Trace = trace.build()
    where = tuple(range(len(on.nodes))) if nodes is None else nodes
    result = execute(playing(built), on, where).result if by == "live" else simulate(built, on, where, by)
    return [rank.finish for rank in result.ranks]


@BY
@pytest.mark.parametrize(
    ("rendezvous", "progress", "arrival"),
    [(READ, ASYNCHRONOUS, 3.0), (READ, CALLS, 3.0), (WRITE, ASYNCHRONOUS, 3.0), (WRITE, CALLS, 12.125)],
)
def test_the_receiver_reads_while_the_sender_computes(
    by: str, rendezvous: Rendezvous, progress: Progress, arrival: float
) -> None:
    """An Isend of 1 MB, then a burst of 10 s; the receive is posted at 0.

    The envelope is there at 1; the receiver reads from then on, and has the data at 1 + 2. If the sender writes, the
    answer leaves at 0 and the data start at 1. With progress within calls the answer leaves at 1, and waits for the
    sender's call at 1/8 + 10: the data have left at 10.125 + 1.25, and arrive at 12.125.
    """
    trace = TraceBuilder(2)
    request = trace[0].isend(1, MB)
    trace[0].compute(10.0)
    trace[0].wait(request)
    trace[1].recv(0)
    sender = 11.375 if arrival > 10 else 10.125
    on = machine(replace(LINK, rendezvous=rendezvous), progress)
    assert finishes(trace, on, by) == [sender, arrival]


@BY
@each_progress
def test_the_sender_is_free_when_the_receiver_has_told_it(by: str, progress: Progress) -> None:
    """A send of 1 MB at 0. The receive is posted at 0, its rank tests at 2 and computes from then until 10.

    With asynchronous progress, the data start with the envelope, at 1, and arrive at 3; the sender knows at 3 + 1. With
    progress within calls, they start in the test, at 2, and arrive at 4; the receiver tells the sender in its wait, at
    10, so the sender is free at 11.
    """
    trace = TraceBuilder(2)
    trace[0].send(1, MB)
    request = trace[1].irecv(0)
    trace[1].compute(2.0)
    trace[1].add(Op.POLL)
    trace[1].compute(8.0)
    trace[1].wait(request)
    assert finishes(trace, machine(progress=progress), by) == [11.0 if progress is CALLS else 4.0, 10.0]


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize(("rendezvous", "busy"), [(READ, 0.0), (WRITE, 1.25)])
def test_a_sender_whose_data_are_read_only_waits(engine: str, rendezvous: Rendezvous, busy: float) -> None:
    """A blocking send of 1 MB spends s = 1.25 s on its message; if the receiver reads, the sender only waits."""
    trace = TraceBuilder(2)
    trace[0].send(1, MB)
    trace[1].recv(0)
    sender = simulate(trace.build(), machine(replace(LINK, rendezvous=rendezvous)), (0, 1), engine).ranks[0]
    assert sender.communicate == busy


@BY
@each_progress
def test_what_the_receiver_tells_takes_the_link_back(by: str, progress: Progress) -> None:
    """The data start with the envelope, at 1, and arrive at 3. The receive takes 1/4 s, and 1/2 s more.

    On the way back, an empty message travels for 1/2 + 2 s, and its receiver needs another 1.5 s for it: the sender is
    free at 3 + 2.5 + 1.5.
    """
    link = replace(LINK, receive_delay=0.25, receive_overhead=0.75)
    back = Link(Curve.line(0.5), Curve.line(2.0), 0.5, receive_overhead=2.0)
    trace = TraceBuilder(2)
    trace[0].send(1, MB)
    trace[1].recv(0)
    assert finishes(trace, machine(link, progress, back=back), by) == [7.0, 3.75]


@BY
@pytest.mark.parametrize(
    ("mode", "rendezvous", "ends"),
    [(Flag.SYNCHRONOUS, READ, [4.0, 3.0]), (Flag.SYNCHRONOUS, WRITE, [3.25, 4.0]), (Flag(0), READ, [0.25, 2.0])],
    ids=["read", "written", "eager"],
)
def test_a_synchronous_send_is_read_whatever_its_size(
    by: str, mode: Flag, rendezvous: Rendezvous, ends: list[float]
) -> None:
    """An empty Ssend at 0, whose receive is posted at 2.

    Read, its data start at 2 and arrive at 3, and the sender knows at 4. Written, they start at 2 + 1, have left at
    3.25, and arrive at 4. In standard mode the message is eager.
    """
    trace = TraceBuilder(2)
    trace[0].send(1, 0, flags=int(mode))
    trace[1].compute(2.0)
    trace[1].recv(0)
    assert finishes(trace, machine(replace(LINK, rendezvous=rendezvous)), by) == ends


@BY
@each_progress
def test_the_data_wait_for_the_receive_of_a_matched_probe(by: str, progress: Progress) -> None:
    """A matched probe sees the envelope at 1 and costs 1/2 s; its receive is posted after 5 s more, at 6.5.

    The data then start at once, arrive at 8.5, and the receive ends at 9; the sender is free at 8.5 + 1.
    """
    trace = TraceBuilder(2)
    trace[0].send(1, MB)
    trace[1].add(Op.MPROBE, peer=0, request=0)
    trace[1].compute(5.0)
    trace[1].add(Op.MRECV, peer=0, request=0)
    assert finishes(trace, machine(replace(LINK, receive_delay=0.5), progress), by) == [9.5, 9.0]


@BY
@each_progress
def test_leaves_of_a_broadcast_read_while_its_root_computes(by: str, progress: Progress) -> None:
    """Ibcast of 1 MB to four ranks: rank 0 sends to 2 and 1, each call 1/8 s, rank 2 to 3. Rank 0 computes for 30 s.

    Rank 2 has the data at 1 + 2 and rank 1 at 1/8 + 3. Rank 2's message begins at 3: rank 3 reads from 4 on and has the
    data at 6; rank 2 knows at 7.
    """
    trace = TraceBuilder(4)
    for rank in range(4):
        request = trace[rank].icollective(Op.BCAST, MB)
        if rank == 0:
            trace[rank].compute(30.0)
        trace[rank].wait(request)
    assert finishes(trace, machine(progress=progress, nodes=4), by) == [30.0, 3.125, 7.0, 6.0]


@BY
@pytest.mark.parametrize(
    ("contention", "read", "written"),
    [
        (FactorTable(((1, 1.0), (2, 1.5))), [4.0, 4.0, 5.0], [4.0, 1.25, 1.375]),
        (Ports(), [4.0, 4.0, 5.0], [4.0, 2.0, 2.0]),
        (Flows(Switch(1e6)), [4.0, 5.0, 5.0], [4.0, 3.0, 3.0]),
    ],
    ids=["factor", "ports", "flows"],
)
def test_contention_delays_data_that_are_read(
    by: str, contention: Contention, read: list[float], written: list[float]
) -> None:
    """Ranks 1 and 2 send 1 MB to rank 0 at 0: s = 1/4 s, t = 1.75 s, and o = w = 1 s. All data start at 1.

    Factor: the first message arrives at 1 + 2, the second one takes 1.5 times as long. Ports: both heads come to the
    receive port at 2, and the data arrive at 3 and 4. Flows: both have left at 3, and arrive 1 s later. If they are
    read, each sender knows 1 s later, which contention does not change. If they are written, senders are free at
    1 + s, which the factor multiplies; when their own port is free, at 2; or when the flows have left, at 3.
    """
    for rendezvous, ends in ((READ, read), (WRITE, written)):
        link = replace(LINK, send_delay=Curve.line(0.25), transmission_delay=Curve.line(0.75, 1e-6))
        trace = TraceBuilder(3)
        for rank in (1, 2):
            trace[rank].send(0, MB)
        trace[0].wait(*[trace[0].irecv(rank) for rank in (1, 2)])
        on = machine(replace(link, rendezvous=rendezvous), contention=contention, nodes=3)
        assert finishes(trace, on, by) == pytest.approx(ends, rel=1e-12)


@BY
@pytest.mark.parametrize(
    ("rendezvous", "progress", "ends"),
    [
        (READ, ASYNCHRONOUS, [4.5, 3.0]),
        (READ, CALLS, [4.5, 3.0]),
        (WRITE, ASYNCHRONOUS, [1.75, 3.0]),
        (WRITE, CALLS, [3.25, 4.5]),
    ],
)
def test_latency_between_switches_counts_on_each_way(
    by: str, rendezvous: Rendezvous, progress: Progress, ends: list[float]
) -> None:
    """An empty Ssend to another switch, 1/2 s away.

    Read: its envelope is there at 1.5, its data at 3, and the sender knows at 4.5. Written: the answer takes 1.5 s as
    well, after the envelope with progress within calls; the data leave within 1/4 s and arrive after 1.5 s.
    """
    apart = Flows(Switches(1, 1e9, latency_between_switches=0.5))
    trace = TraceBuilder(2)
    trace[0].send(1, 0, flags=int(Flag.SYNCHRONOUS))
    trace[1].recv(0)
    assert finishes(trace, machine(replace(LINK, rendezvous=rendezvous), progress, apart), by) == ends


#: Within a node: an empty message travels for 1.5 s, as all others do, and a rank copies a message in 1 s.
COPYING = Link(
    Curve.line(0.5), Curve.line(1.0), eager_limit=0, send_overhead=Curve.line(0.0), copy_time=Curve.line(1.0),
    rendezvous=READ,
)  # fmt: skip


@BY
@pytest.mark.parametrize(("progress", "begin"), [(ASYNCHRONOUS, 1.5), (CALLS, 2.0)])
def test_a_rank_reads_one_message_at_a_time(by: str, progress: Progress, begin: float) -> None:
    """Rank 0 sends three messages within its node at 0. Their data could start at 1.5, when their envelopes are there.

    If the receiver computes until 2 and makes progress within calls only, they could at 2. They start then, 1 s later
    and 2 s later, and travel for 1.5 s; for another 1.5 s travels what the receiver then tells the sender.
    """
    trace = TraceBuilder(2)
    trace[0].wait(*[trace[0].isend(1, 8) for _ in range(3)])
    requests = [trace[1].irecv(0) for _ in range(3)]
    trace[1].compute(2.0)
    trace[1].wait(*requests)
    last = begin + 2.0 + 1.5
    assert finishes(trace, machine(COPYING, progress, nodes=1), by, (0, 0)) == [last + 1.5, last]


@BY
def test_what_can_be_read_at_one_time_is_read_in_the_order_of_senders(by: str) -> None:
    """Ranks 0 and 1 send to rank 2 of their node, which waits for rank 1's message and computes until 5.

    With progress within calls, rank 1's message waits for the end of the burst, and rank 0's for its receive, which is
    posted then. So both could start at 5. Rank 0's does, and arrives at 6.5; rank 1's starts at 6, and arrives at 7.5.
    Either sender knows 1.5 s later.
    """
    trace = TraceBuilder(3)
    for rank in (0, 1):
        trace[rank].send(2, 8)
    request = trace[2].irecv(1)
    trace[2].compute(5.0)
    trace[2].recv(0)
    trace[2].wait(request)
    assert finishes(trace, machine(COPYING, CALLS, nodes=1), by, (0, 0, 0)) == [8.0, 9.0, 7.5]


@BY
@each_progress
@pytest.mark.parametrize("begin", [1.0, 2.0])
@pytest.mark.parametrize(("before", "after"), [(READ, WRITE), (WRITE, READ)], ids=["to write", "to read"])
def test_who_moves_the_data_may_change_while_messages_wait(
    by: str, progress: Progress, begin: float, before: Rendezvous, after: Rendezvous
) -> None:
    """From 2 s on, the other rank moves the data. What counts is when the send begins: 1 s before that, or at 2 s.

    The receive is posted at 5. Read, the data start then, arrive at 7, and the sender knows at 8. Written, they start
    at 5 + 1, have left at 7.25, and arrive at 8.
    """
    trace = TraceBuilder(2)
    trace[0].compute(begin)
    trace[0].send(1, MB)
    trace[1].compute(5.0)
    trace[1].recv(0)
    first, then = (machine(replace(LINK, rendezvous=each), progress) for each in (before, after))
    expected = {READ: [8.0, 7.0], WRITE: [7.25, 8.0]}
    assert finishes(trace, replace(first, changes=((2.0, then),)), by) == expected[before if begin < 2.0 else after]
