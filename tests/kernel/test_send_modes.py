"""How sends end: calls of nonblocking sends, acknowledgements, progress within calls only, and contention."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clue.kernel import simulate
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
    Placement,
    Ports,
    Progress,
)
from clue.machine.contention.topology import Switch, Switches
from clue.trace import Flag, Op, Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from tests.kernel.cases import ENGINES, finishes

#: Seconds per byte; sizes make times whole numbers.
SLOPE = 1e-6
MB = 10**6


def machine(
    link: Link, contention: Contention | None = None, progress: Progress = Progress.ASYNCHRONOUS, nodes: int = 2
) -> Machine:
    """Return a machine of nodes with equal links."""
    network = Network(link, link, contention=contention or NoContention(), progress=progress)
    return Machine("pair", (NodeType("host"),) * nodes, network)


def overlapped(computation: float, nbytes: int = MB) -> Trace:
    """Return a nonblocking send whose rank computes before it waits for it."""
    trace = TraceBuilder(2)
    request = trace[0].isend(1, nbytes)
    trace[0].compute(computation)
    trace[0].wait(request)
    trace[1].recv(0)
    return trace.build()


@ENGINES
@pytest.mark.parametrize("limit", [None, 0])
@pytest.mark.parametrize(("computation", "sender"), [(0.25, 1.0), (5.0, 5.125)])
def test_data_leave_beside_computation(engine: str, limit: int | None, computation: float, sender: float) -> None:
    """An Isend costs its overhead of 1/8 s; its wait ends when the data have left, 1 s after they started."""
    link = Link(Curve.line(0.0, SLOPE), Curve.line(0.5), 0.0, limit, send_overhead=Curve.line(0.125))
    answer = 0.5 if limit == 0 else 0.0  # the receive is posted at 0, and its answer travels for 1/2 s
    assert finishes(overlapped(computation), machine(link), engine) == [max(sender, answer + 1.0), answer + 1.5]


@ENGINES
@pytest.mark.parametrize("call", [None, 0.125])
def test_without_overhead_the_call_lasts_until_data_have_left(engine: str, call: float | None) -> None:
    """If no send overhead is stated, an Isend takes s(m) = 1 s."""
    link = Link(Curve.line(1.0), Curve.line(0.5), send_overhead=None if call is None else Curve.line(call))
    assert finishes(overlapped(2.0), machine(link), engine)[0] == (3.0 if call is None else 2.125)


@ENGINES
@pytest.mark.parametrize(("overhead", "call"), [(None, 1.5), (0.125, 0.125)])
def test_contention_slows_no_stated_overhead(engine: str, overhead: float | None, call: float) -> None:
    """Of two Isends at one time, the second takes 1.5 times as long: s = 1 s, but not a stated overhead of 1/8 s."""
    link = Link(Curve.line(1.0), Curve.line(0.5), send_overhead=None if overhead is None else Curve.line(overhead))
    trace = TraceBuilder(4)
    for sender in (0, 2):
        trace[sender].isend(sender + 1, 0)
        trace[sender + 1].recv(sender)
    factors = FactorTable(((1, 1.0), (2, 1.5)))
    assert finishes(trace.build(), machine(link, factors, nodes=4), engine) == [overhead or 1.0, 1.5, call, 2.25]


@ENGINES
@pytest.mark.parametrize(("nbytes", "sender"), [(999, 0.25), (1000, 2.0)])
def test_acknowledged_sends_take_a_round_trip(engine: str, nbytes: int, sender: float) -> None:
    """From 1,000 B on, a blocking send ends 1/4 + 3/4 s, an empty message's travel, after its message's arrival."""
    link = Link(Curve.line(0.25), Curve.line(0.75), acknowledged_from=1000)
    trace = TraceBuilder(2)
    trace[0].send(1, nbytes)
    trace[1].recv(0)
    assert finishes(trace.build(), machine(link), engine) == [sender, 1.0]


@ENGINES
@pytest.mark.parametrize(
    ("progress", "sender"), [(Progress.ASYNCHRONOUS, 2.0), (Progress.CALLS, 5.0)], ids=["at any time", "within calls"]
)
def test_who_computes_acknowledges_when_its_library_may(engine: str, progress: Progress, sender: float) -> None:
    """A message arrives at 1 s, while its receiver computes until 4 s; the acknowledgement takes 1 s.

    It leaves at 1 s with asynchronous progress, and at 4 s with progress within calls.
    """
    link = Link(Curve.line(0.25), Curve.line(0.75), acknowledged_from=1)
    trace = TraceBuilder(2)
    request = trace[1].irecv(0)
    trace[1].compute(4.0)
    trace[0].send(1, 8)
    trace[1].wait(request)
    assert finishes(trace.build(), machine(link, progress=progress), engine) == [sender, 4.0]


@ENGINES
@pytest.mark.parametrize("shared", [False, True], ids=["own processor", "shared processor"])
def test_who_takes_a_message_acknowledges_it_before_its_next_burst(engine: str, *, shared: bool) -> None:
    """Rank 1 receives at 1 s, at no cost, and acknowledges then, not after its next burst (4 s, or 8 s if shared)."""
    link = Link(Curve.line(0.25), Curve.line(0.75), acknowledged_from=1)
    trace = TraceBuilder(3)
    trace[0].send(1, 8)
    trace[1].recv(0)
    trace[1].compute(4.0)
    trace[2].compute(5.0)
    on = machine(link, progress=Progress.CALLS, nodes=3)
    ranks = simulate(trace.build(), on, Placement((0, 1, 1 if shared else 2)), engine).ranks
    assert [rank.finish for rank in ranks] == [2.0, 9.0 if shared else 5.0, 9.0 if shared else 5.0]


@ENGINES
def test_a_library_within_another_call_acknowledges_what_nobody_receives_yet(engine: str) -> None:
    """While rank 1 waits for rank 2, which sends at 8 s, its library acknowledges rank 0's message: at 2 s."""
    link = Link(Curve.line(0.25), Curve.line(0.75), acknowledged_from=1)
    trace = TraceBuilder(3)
    trace[0].send(1, 8)
    trace[2].compute(8.0)
    trace[2].send(1, 8)
    trace[1].recv(2)
    trace[1].recv(0)
    on = machine(link, progress=Progress.CALLS, nodes=3)
    assert finishes(trace.build(), on, engine) == [2.0, 9.0, 10.0]


@ENGINES
def test_who_shares_a_processor_acknowledges_after_its_burst(engine: str) -> None:
    """Ranks 1 and 2 share a processor: rank 1's burst takes 6 s, and the acknowledgement arrives 1 s later."""
    link = Link(Curve.line(0.25), Curve.line(0.75), acknowledged_from=1)
    trace = TraceBuilder(3)
    trace[0].send(1, 8)
    for rank in (1, 2):
        trace[rank].compute(3.0)
    trace[1].recv(0)
    on = machine(link, progress=Progress.CALLS)
    ranks = simulate(trace.build(), on, Placement((0, 1, 1)), engine).ranks
    assert [rank.finish for rank in ranks] == [7.0, 6.0, 6.0]


@ENGINES
@pytest.mark.parametrize("between", ["another region", "a sleep", "a local call", "a test"])
@pytest.mark.parametrize("shared", [False, True], ids=["own processor", "shared processor"])
def test_bursts_without_a_call_between_them_are_one_absence(engine: str, between: str, *, shared: bool) -> None:
    """A message that arrives at 1 s, within two bursts of 2 s, is acknowledged in the next call.

    This is between the bursts only if there is a test, not for another region, a sleep or a call without partners. On a
    processor shared with rank 2, both bursts take twice as long. The acknowledgement travels for 1 s.
    """
    link = Link(Curve.line(0.25), Curve.line(0.75), acknowledged_from=1)
    trace = TraceBuilder(3)
    trace[0].send(1, 8)
    trace[1].compute(2.0, "solve")
    if between in {"a local call", "a test"}:
        trace[1].add(Op.LOCAL if between == "a local call" else Op.POLL)
    elif between == "a sleep":
        trace[1].add(Op.SLEEP, nbytes=0)
    trace[1].compute(2.0)
    trace[1].recv(0)
    trace[2].compute(4.0)
    on = machine(link, progress=Progress.CALLS, nodes=3)
    ranks = simulate(trace.build(), on, Placement((0, 1, 1 if shared else 2)), engine).ranks
    times = 2 if shared else 1
    assert [rank.finish for rank in ranks[:2]] == [times * (2.0 if between == "a test" else 4.0) + 1.0, times * 4.0]


@ENGINES
@pytest.mark.parametrize(
    ("call", "takes", "progresses"),
    [
        (lambda own: own.irecv(2, tag=5), 0.0, False),
        (lambda own: own.isend(2, 0), 0.25, False),
        (lambda own: own.send(2, 0), 0.25, False),
        (lambda own: own.send(2, 100, flags=Flag.BUFFERED), 0.25, False),
        (lambda own: own.isend(2, 8), 0.25, False),
        (lambda own: own.add(Op.PACK), 0.0, False),
        # These wait or test.
        (lambda own: own.send(2, 8), 2.0, True),
        (lambda own: own.recv(2, tag=5), 0.0, True),
        (lambda own: own.add(Op.POLL), 0.0, True),
    ],
    ids=["Irecv", "Isend", "eager Send", "Bsend", "Isend that is acknowledged", "Pack", "Send that is acknowledged",
         "Recv", "Test"],
)  # fmt: skip
def test_calls_that_neither_wait_nor_test_let_no_library_progress(
    engine: str, call: Callable[[RankBuilder], object], takes: float, *, progresses: bool
) -> None:
    """Rank 0's message arrives at 1 s, within two bursts of 2 s of rank 1, between which there is a call.

    It is acknowledged at once if rank 1 waits or tests then, and otherwise in its receive after the second burst; the
    acknowledgement travels for 1 s.
    """
    link = Link(Curve.line(0.25), Curve.line(0.75), acknowledged_from=1)
    trace = TraceBuilder(3)
    trace[0].send(1, 8)
    trace[1].compute(2.0)
    call(trace[1])
    trace[1].compute(2.0)
    trace[1].recv(0)
    trace[2].send(1, 0, tag=5)
    finish = simulate(trace.build(), machine(link, progress=Progress.CALLS, nodes=3), (0, 1, 2), engine).ranks[0].finish
    assert finish == (3.0 if progresses else 5.0 + takes)


@ENGINES
def test_a_rendezvous_waits_for_calls_on_both_sides(engine: str) -> None:
    """A rendezvous with progress within calls waits for a call of the receiver, then for one of the sender.

    The envelope takes 1 s. Rank 1 computes until 3 s, then answers; the answer arrives at 4 s. Rank 0 computes until
    6 s; then its data leave within 1/4 s.
    """
    link = Link(Curve.line(0.25), Curve.line(0.75), eager_limit=0)
    trace = TraceBuilder(2)
    receive = trace[1].irecv(0)
    trace[1].compute(3.0)
    trace[1].wait(receive)
    request = trace[0].isend(1, 8)
    trace[0].compute(5.75)  # after 1/4 s for the call
    trace[0].wait(request)
    assert finishes(trace.build(), machine(link, progress=Progress.CALLS), engine) == [6.25, 7.0]


@ENGINES
@pytest.mark.parametrize("contention", [Ports(), Flows(Switch(MB))], ids=["ports", "flows"])
def test_a_rendezvous_holds_its_sender_until_its_data_have_left(engine: str, contention: Contention) -> None:
    """Two rendezvous senders with 1 s of data each share the path to one node.

    With ports, each sender is free after 1 s, though the second's data arrive at 2 s. Flows run at half speed and hold
    both senders for 2 s.
    """
    link = Link(Curve.line(0.0), Curve.line(0.0, SLOPE), eager_limit=0)
    trace = TraceBuilder(3)
    for rank in (1, 2):
        trace[rank].send(0, MB)
    requests = [trace[0].irecv(rank) for rank in (1, 2)]
    trace[0].wait(*requests)
    ends = finishes(trace.build(), machine(link, contention, nodes=3), engine)
    # A busy receive port delays data on the wire, not the sender, which has a port of its own.
    assert ends == ([2.0, 1.0, 1.0] if contention == Ports() else [2.0, 2.0, 2.0])


@ENGINES
@pytest.mark.parametrize(
    ("send", "transmission", "sender"), [(SLOPE, 0.0, 2.0), (0.0, SLOPE, 0.0), (SLOPE / 2, SLOPE, 1.0)]
)
def test_flows_hold_eager_senders_as_far_as_they_are_blocked(
    engine: str, send: float, transmission: float, sender: float
) -> None:
    """At half speed, a sender blocked until all, none or half of its 1 s of data has left is blocked twice as long."""
    link = Link(Curve.line(0.0, send), Curve.line(0.0, transmission))
    trace = TraceBuilder(3)
    for rank in (1, 2):
        trace[rank].send(0, MB)
    requests = [trace[0].irecv(rank) for rank in (1, 2)]
    trace[0].wait(*requests)
    on = machine(link, Flows(Switch(MB)), nodes=3)
    assert finishes(trace.build(), on, engine)[1:] == pytest.approx([sender] * 2)


@ENGINES
def test_a_port_holds_nobody_for_longer_than_the_message_travels(engine: str) -> None:
    """A port holds a rendezvous sender for no longer than its message travels, here 1 s.

    The message occupies the port for 2 s, so the second one starts at 2 s.
    """
    link = Link(Curve.line(0.0), Curve.line(0.0, SLOPE), eager_limit=0, busy=Curve.line(0.0, 2 * SLOPE))
    trace = TraceBuilder(3)
    for rank in (1, 2):
        trace[0].send(rank, MB)
        trace[rank].recv(0)
    assert finishes(trace.build(), machine(link, Ports(), nodes=3), engine) == [3.0, 1.0, 3.0]


@ENGINES
def test_eight_senders_on_an_uplink(engine: str) -> None:
    """Eight rendezvous of 1.6 MB share an uplink of 1 GB/s: all senders are held for 12.8 ms, as in SimGrid."""
    link = Link(Curve.line(0.0), Curve.line(0.0, 1e-9), eager_limit=0)
    trace = TraceBuilder(16)
    for rank in range(8):
        trace[rank].send(8 + rank, 1_600_000)
        trace[8 + rank].recv(rank)
    on = machine(link, Flows(Switches(8, 1e9, 8.0)), nodes=16)
    assert finishes(trace.build(), on, engine) == pytest.approx([12.8e-3] * 16, rel=0.02)


@ENGINES
def test_nonblocking_sends_end_when_the_port_has_let_them_go(engine: str) -> None:
    """Three Isends with 1 s of data each leave a port one after the other; each call costs 1/8 s."""
    link = Link(Curve.line(0.0, SLOPE), Curve.line(0.0), send_overhead=Curve.line(0.125))
    trace = TraceBuilder(2)
    requests = [trace[0].isend(1, MB) for _ in range(3)]
    trace[0].compute(0.25)
    trace[0].wait(requests[0])
    trace[0].wait(*requests[1:])
    for _ in range(3):
        trace[1].recv(0)
    assert finishes(trace.build(), machine(link, Ports()), engine) == [3.0, 3.0]
