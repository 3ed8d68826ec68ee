"""How sends end: the call of a nonblocking one, acknowledgements, libraries that work within calls only, held data."""

from __future__ import annotations

import pytest

from clue.kernel import simulate
from clue.machine import (
    Contention,
    Curve,
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
from clue.trace import Op, Trace, TraceBuilder

ENGINES = pytest.mark.parametrize("engine", ["reference", "fast"])
#: Per byte; sizes are such that times are whole.
SLOPE = 1e-6
MB = 10**6


def machine(
    link: Link, contention: Contention | None = None, progress: Progress = Progress.ASYNCHRONOUS, nodes: int = 2
) -> Machine:
    """Return some nodes with equal links."""
    network = Network(link, link, contention=contention or NoContention(), progress=progress)
    return Machine("pair", (NodeType("host"),) * nodes, network)


def finishes(trace: Trace, on: Machine, engine: str) -> list[float]:
    """Return when each rank ends."""
    return [rank.finish for rank in simulate(trace, on, engine=engine).ranks]


def overlapped(computation: float, nbytes: int = MB) -> Trace:
    """Return a nonblocking send beside which its rank computes."""
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
    """Isend costs its overhead of 1/8 s; its wait ends 1 s after it began, when its data have left."""
    link = Link(Curve.line(0.0, SLOPE), Curve.line(0.5), 0.0, limit, send_overhead=Curve.line(0.125))
    answer = 0.5 if limit == 0 else 0.0  # the receive is posted at 0, and its answer travels for 1/2 s
    assert finishes(overlapped(computation), machine(link), engine) == [max(sender, answer + 1.0), answer + 1.5]


@ENGINES
@pytest.mark.parametrize("call", [None, 0.125])
def test_without_overhead_the_call_lasts_until_data_have_left(engine: str, call: float | None) -> None:
    """What is not stated is s(m), 1 s."""
    link = Link(Curve.line(1.0), Curve.line(0.5), send_overhead=None if call is None else Curve.line(call))
    assert finishes(overlapped(2.0), machine(link), engine)[0] == (3.0 if call is None else 2.125)


@ENGINES
@pytest.mark.parametrize(("nbytes", "sender"), [(999, 0.25), (1000, 2.0)])
def test_acknowledged_sends_take_a_round_trip(engine: str, nbytes: int, sender: float) -> None:
    """From 1,000 B on a blocking send ends an empty message's travel of 1/4 + 3/4 s after its own arrival."""
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
    """The message is there after 1 s; its receiver computes until 4 s; the acknowledgement takes 1 s."""
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
    """Receives cost nothing here: at 1 s rank 1 has the message and computes on, for 4 s, or 8 s beside rank 2."""
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
    """Rank 1 waits for rank 2, which sends at 8 s; rank 0 has its acknowledgement at 2 s."""
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
    """Ranks 1 and 2 share a processor: the burst of 1 takes 6 s, and 1 s later the sender has the acknowledgement."""
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
@pytest.mark.parametrize("between", ["another region", "a sleep", "a call"])
@pytest.mark.parametrize("shared", [False, True], ids=["own processor", "shared processor"])
def test_bursts_without_a_call_between_them_are_one_absence(engine: str, between: str, *, shared: bool) -> None:
    """The message is there after 1 s; bursts of 2 s follow each other, or a call between them that costs nothing.

    On a processor that rank 2 shares until then both take twice as long. The acknowledgement travels for 1 s.
    """
    link = Link(Curve.line(0.25), Curve.line(0.75), acknowledged_from=1)
    trace = TraceBuilder(3)
    trace[0].send(1, 8)
    trace[1].compute(2.0, "solve")
    if between == "a call":
        trace[1].add(Op.LOCAL)
    elif between == "a sleep":
        trace[1].add(Op.SLEEP, nbytes=0)
    trace[1].compute(2.0)
    trace[1].recv(0)
    trace[2].compute(4.0)
    on = machine(link, progress=Progress.CALLS, nodes=3)
    ranks = simulate(trace.build(), on, Placement((0, 1, 1 if shared else 2)), engine).ranks
    times = 2 if shared else 1
    assert [rank.finish for rank in ranks[:2]] == [times * (2.0 if between == "a call" else 4.0) + 1.0, times * 4.0]


@ENGINES
def test_a_rendezvous_waits_for_calls_on_both_sides(engine: str) -> None:
    """The envelope takes 1 s; rank 1 computes until 3 s, then answers.

    The answer is there at 4 s. Rank 0 computes until 6 s, and its data then leave for 1/4 s.
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
    """Two senders, 1 s of data each, into one node: by turns or at half speed, one sender or both are held."""
    link = Link(Curve.line(0.0), Curve.line(0.0, SLOPE), eager_limit=0)
    trace = TraceBuilder(3)
    for rank in (1, 2):
        trace[rank].send(0, MB)
    requests = [trace[0].irecv(rank) for rank in (1, 2)]
    trace[0].wait(*requests)
    ends = finishes(trace.build(), machine(link, contention, nodes=3), engine)
    # A full receive port keeps the wire, not the sender, which has its own port.
    assert ends == ([2.0, 1.0, 1.0] if contention == Ports() else [2.0, 2.0, 2.0])


@ENGINES
@pytest.mark.parametrize(
    ("send", "transmission", "sender"), [(SLOPE, 0.0, 2.0), (0.0, SLOPE, 0.0), (SLOPE / 2, SLOPE, 1.0)]
)
def test_flows_hold_eager_senders_as_far_as_they_are_blocked(
    engine: str, send: float, transmission: float, sender: float
) -> None:
    """Who is blocked until all, none or half of 1 s of data have left is blocked twice as long at half the speed."""
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
    """A shaped link lets 1 s of data through at once and makes up for it: the second of two senders waits for that."""
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
    """Three Isends of 1 s of data each leave one after the other; each call costs 1/8 s."""
    link = Link(Curve.line(0.0, SLOPE), Curve.line(0.0), send_overhead=Curve.line(0.125))
    trace = TraceBuilder(2)
    requests = [trace[0].isend(1, MB) for _ in range(3)]
    trace[0].compute(0.25)
    trace[0].wait(requests[0])
    trace[0].wait(*requests[1:])
    for _ in range(3):
        trace[1].recv(0)
    assert finishes(trace.build(), machine(link, Ports()), engine) == [3.0, 3.0]
