"""Contention by hand: the paper's factor, ports, flows, and messages whose busy time exceeds their travel."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.kernel import simulate
from clue.kernel.fast import tables
from clue.machine import (
    AlgorithmChoice,
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
)
from clue.machine.contention import NUMBERS
from clue.machine.contention.topology import Switch, Switches
from clue.trace import Op, TraceBuilder
from tests.kernel.cases import (
    ANSWER,
    ENGINES,
    RECEIVE,
    SEND,
    TRANSMIT,
    machine,
    need_fast_engine,
    sending,
    transmission,
)
from tests.properties import examples

FACTORS = {1: 1.0, 2: 1.5, 4: 2.5}


def test_table_is_linear_between_entries_and_constant_beyond() -> None:
    """The factors for 1, 2, 3, 4 and 9 simultaneous communications follow from entries for 1, 2 and 4."""
    contention = FactorTable(tuple(FACTORS.items()))
    assert [contention.factor(n) for n in (1, 2, 3, 4, 9)] == [1.0, 1.5, 2.0, 2.5, 2.5]


def two_pairs(gap: float) -> TraceBuilder:
    """Return a program in which ranks 0 and 2 send empty messages to 1 and 3, the second *gap* seconds later."""
    trace = TraceBuilder(4)
    trace[0].send(1, 0)
    trace[1].recv(0)
    trace[2].compute(gap)
    trace[2].send(3, 0)
    trace[3].recv(2)
    return trace


def test_second_of_two_simultaneous_messages_is_slowed() -> None:
    """Of two messages at one time, rank 0's goes first and is alone; rank 2's finds it and takes 1.5 times as long."""
    result = simulate(two_pairs(0.0).build(), machine(4, contention=FACTORS))
    finishes = [rank.finish for rank in result.ranks]
    once, slowed = SEND + TRANSMIT, 1.5 * (SEND + TRANSMIT)
    assert finishes == pytest.approx([SEND, once + RECEIVE, 1.5 * SEND, slowed + RECEIVE], rel=1e-12)


def test_message_after_the_other_has_arrived_is_not_slowed() -> None:
    """A message that starts at the very time of another's arrival is not slowed by it."""
    arrival = SEND + TRANSMIT
    result = simulate(two_pairs(arrival).build(), machine(4, contention=FACTORS))
    assert result.ranks[3].finish == pytest.approx(2 * arrival + RECEIVE, rel=1e-12)


@ENGINES
@settings(max_examples=examples(50))
@given(send=st.floats(1e-7, 1e-2), transmission=st.floats(1e-7, 1e-2), limit=st.sampled_from([None, 0]))
def test_a_message_that_has_arrived_is_no_longer_under_way(
    engine: str, send: float, transmission: float, limit: float | None
) -> None:
    """A ping-pong has one message under way at a time, so nothing is slowed, eager or by rendezvous.

    A send at the very time of an arrival must find that message over, however the delays are rounded.
    """
    link = Link(Curve.line(send), Curve.line(transmission), eager_limit=limit)
    trace, exchanges = TraceBuilder(2), 100
    for _ in range(exchanges):
        for rank in (0, 1):
            trace[rank].send(1 - rank, 1)
            trace[1 - rank].recv(rank)
    once, twice = (
        simulate(trace.build(), machine(2, contention=factors, link=link), engine=engine).makespan
        for factors in ({1: 1.0}, {1: 1.0, 2: 2.0})
    )
    assert once == twice == pytest.approx(2 * exchanges * (send + transmission) * (1 if limit is None else 2))


@ENGINES
@settings(max_examples=examples(50))
@given(st.lists(st.floats(1e-7, 1e-2), min_size=2, max_size=20))
def test_a_rendezvous_ends_when_its_data_have_arrived(engine: str, bursts: list[float]) -> None:
    """On a link without latency, a rendezvous sender is free when its data arrive, so its next message is alone."""
    link = Link(Curve.line(0.0, 1e-6 / 3), Curve.line(0.0), eager_limit=0)
    trace = TraceBuilder(2)
    requests = [trace[1].irecv(0) for _ in bursts]
    for nbytes, burst in enumerate(bursts, 1):
        trace[0].compute(burst)
        trace[0].send(1, nbytes)
        trace[0].send(1, nbytes)
        requests.append(trace[1].irecv(0))
    trace[1].wait(*requests)
    once, twice = (
        simulate(trace.build(), machine(2, contention=factors, link=link), engine=engine).makespan
        for factors in ({1: 1.0}, {1: 1.0, 2: 2.0})
    )
    assert once == twice


def test_messages_within_a_node_are_not_in_the_network() -> None:
    """Two pairs within two dual nodes do not slow each other, as their messages do not use the network."""
    result = simulate(two_pairs(0.0).build(), machine(2, processors=2, contention=FACTORS))
    assert result.ranks[1].finish == result.ranks[3].finish


def test_rendezvous_counts_from_the_start_of_its_data() -> None:
    """A rendezvous of 20 KB starts its data after the answer, when the small message has arrived: neither is slowed."""
    trace = TraceBuilder(4)
    trace[0].send(1, 20_000)
    trace[1].recv(0)
    trace[2].send(3, 0)
    trace[3].recv(2)
    result = simulate(trace.build(), machine(4, contention=FACTORS))
    assert result.ranks[2].finish == pytest.approx(SEND, rel=1e-12)
    expected = ANSWER + sending(20) + transmission(20) + RECEIVE
    assert result.ranks[1].finish == pytest.approx(expected, rel=1e-12)


def test_a_rank_ahead_of_the_clock_takes_its_turn() -> None:
    """A sender at 50 s is not counted among messages at 0 s, even if the engine simulates it first."""
    trace = two_pairs(0.0)
    late = TraceBuilder(6)
    late[4].compute(50.0)
    late[4].send(5, 0)
    late[5].recv(4)
    for rank in range(4):
        late[rank].rows.extend(trace[rank].rows)
    late._calls.update(trace._calls)
    result = simulate(late.build(), machine(6, contention=FACTORS))
    assert result.ranks[2].finish == pytest.approx(1.5 * SEND, rel=1e-12)
    assert result.ranks[5].finish == pytest.approx(50.0 + SEND + TRANSMIT + RECEIVE, rel=1e-12)


def test_more_communications_than_stated_are_told() -> None:
    """If two messages are under way and the table ends at 1, a warning says that the last factor was used."""
    result = simulate(two_pairs(0.0).build(), machine(4, contention={1: 1.0}))
    assert any(
        "contention is stated up to 1 simultaneous communication, but there were 2" in w for w in result.warnings
    )


def test_a_machine_without_contention_says_so() -> None:
    """On several nodes without contention, a warning says that none is stated, unless there are only two ranks."""

    def said(ranks: int, placement: list[int]) -> bool:
        warnings = simulate(TraceBuilder(ranks).build(), machine(4), placement).warnings
        return any("no contention is stated" in warning for warning in warnings)

    assert said(4, [0, 1, 2, 3]) and said(4, [0, 0, 1, 1])
    assert not said(2, [0, 1]) and not said(4, [0, 0, 0, 0])


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("contention", [Ports(), Flows(Switch(1.0))])
def test_a_message_that_travels_less_than_it_keeps_the_way(contention: Ports | Flows, engine: str) -> None:
    """Messages of 3 B travel for 1 s and occupy the path for 3 s: sent at 0, 1 and 5 s, they arrive at 1, 4 and 7 s.

    At 0 s 2 B pass at once. At 1 s none does, as the bucket is still empty. At 5 s one does, after the idle second.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0), busy=Curve.line(0.0, 1.0))
    on = Machine("two", (NodeType("host"),) * 2, Network(link, link, contention=contention))
    finishes = []
    for messages in (1, 2, 3):
        trace = TraceBuilder(2)
        for pause in (0.0, 1.0, 4.0)[:messages]:
            trace[0].compute(pause)
            trace[0].send(1, 3)
            trace[1].recv(0)
        finishes.append(simulate(trace.build(), on, engine=engine).ranks[1].finish)
    assert finishes == pytest.approx([1.0, 4.0, 7.0], rel=1e-12)


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_messages_to_two_nodes_are_let_through_once(engine: str) -> None:
    """Two messages of 3 B from one node to two others share its link's bucket: 2 B pass at once, 4 B take 4 s."""
    link = Link(Curve.line(0.0), Curve.line(1.0), busy=Curve.line(0.0, 1.0))
    on = Machine("three", (NodeType("host"),) * 3, Network(link, link, contention=Flows(Switch(1.0))))
    trace = TraceBuilder(3)
    for dest in (1, 2):
        trace[0].send(dest, 3)
        trace[dest].recv(0)
    # The first has 1 B left, at half the rate, until 2 s; then the other has 2 B left.
    assert [rank.finish for rank in simulate(trace.build(), on, engine=engine).ranks[1:]] == pytest.approx([2.0, 4.0])


@ENGINES
@pytest.mark.parametrize(
    ("send", "transmission", "free"), [(1.0, 0.0, 6.0), (0.5, 0.5, 2.25), (0.0, 1.0, 0.0)], ids=["wire", "half", "copy"]
)
def test_who_sends_as_long_as_the_wire_waits_for_its_port(
    send: float, transmission: float, free: float, engine: str
) -> None:
    """Two ranks of a node send 3 B each at 1 s/B; the second rank's data leave after the first's.

    A sender that is busy for all of that second waits for the port: 3 + 3 s. If it is busy for half of it, the port is
    free after 1.5 s; it waits for half of that and sends for 1.5 s. A sender that only copies continues at once.
    """
    link = Link(Curve.line(0.0, send), Curve.line(0.0, transmission))
    on = Machine("three", (NodeType("host", processors=2),) * 3, Network(link, link, contention=Ports()))
    trace = TraceBuilder(4)
    for source in (0, 1):
        trace[source].send(source + 2, 3)
        trace[source + 2].recv(source)
    ranks = simulate(trace.build(), on, [0, 0, 1, 2], engine).ranks
    assert ranks[1].finish == pytest.approx(free)
    assert ranks[3].finish == pytest.approx(3 * max(send, transmission) + 3.0)


@ENGINES
def test_who_sends_by_the_byte_waits_for_flows_without_a_limit_of_their_own(engine: str) -> None:
    """10 B without a limit of their own take 10 s at 1 B/s; a sender at 1 s/B is free 10 s later."""
    link = Link(Curve.line(0.0, 1.0), Curve.line(0.0), busy=Curve.line(0.0))
    on = Machine("two", (NodeType("host"),) * 2, Network(link, link, contention=Flows(Switch(1.0))))
    trace = TraceBuilder(2)
    trace[0].send(1, 10)
    trace[1].recv(0)
    assert [rank.finish for rank in simulate(trace.build(), on, engine=engine).ranks] == pytest.approx([20.0, 20.0])


#: The messages that ranks 0 and 2 send to rank 1 at the same time: sender, tag and size in bytes.
_AT_ONCE = ((0, 0, 10), (0, 1, 10), (0, 2, 0), (2, 3, 10))


@ENGINES
@pytest.mark.parametrize(
    ("in_order", "arrivals"),
    [
        # Three messages share the link of the receiver's node; the empty one does not use it.
        (False, [31.0, 31.0, 1.0, 31.0]),
        # Two connections share it, until the second message of rank 0 is alone there; the empty one follows it.
        (True, [21.0, 31.0, 31.0, 21.0]),
    ],
)
def test_messages_between_two_ranks_may_travel_in_order(engine: str, in_order: bool, arrivals: list[float]) -> None:
    """Links of 1 B/s and 1 s of latency."""
    link = Link(Curve.line(0.0), Curve.line(1.0, 1.0))
    network = Network(link, link, contention=Flows(Switch(1.0), in_order))
    on = Machine("three", (NodeType("host"),) * 3, network)
    for (sender, wanted, _), arrival in zip(_AT_ONCE, arrivals, strict=True):
        trace = TraceBuilder(3)
        for source, tag, nbytes in _AT_ONCE:
            trace[source].isend(1, nbytes, tag)
        trace[1].recv(sender, wanted)
        ends = [rank.finish for rank in simulate(trace.build(), on, engine=engine).ranks]
        assert ends == pytest.approx([0.0, arrival, 0.0], rel=1e-12)


@ENGINES
def test_what_follows_in_order_keeps_the_figures_of_the_time_at_which_it_was_there(engine: str) -> None:
    """Latency grows from 1 to 5 s at 5 s; the second of two messages, sent at 0, enters its links at 10 s."""
    slow, fast = (Link(Curve.line(0.0), Curve.line(latency, 1.0)) for latency in (5.0, 1.0))
    later, now = (
        Machine("two", (NodeType("host"),) * 2, Network(link, link, contention=Flows(Switch(1.0), in_order=True)))
        for link in (slow, fast)
    )
    for nbytes, end in ((10, 21.0), (0, 11.0)):
        trace = TraceBuilder(2)
        trace[0].isend(1, 10, 0)
        trace[0].isend(1, nbytes, 1)
        trace[1].recv(0, 1)
        ends = [
            rank.finish for rank in simulate(trace.build(), replace(now, changes=((5.0, later),)), engine=engine).ranks
        ]
        assert ends == pytest.approx([0.0, end], rel=1e-12)


@ENGINES
def test_a_port_is_as_fast_as_its_fastest_link(engine: str) -> None:
    """A byte from the far node takes 10 s but occupies the port here for 1 s only, as a byte of a near node does.

    So a byte from a near node, sent at 1 s, arrives at 2 s. A byte to a near node, sent after one to the far node,
    leaves after 1 s.
    """
    fast, slow = Link(Curve.line(0.0), Curve.line(0.0, 1.0)), Link(Curve.line(0.0), Curve.line(0.0, 10.0))
    near, far = NodeType("near"), NodeType("far")
    pairs = {("near", "far"): slow, ("far", "near"): slow}
    on = Machine("odd", (near, near, far), Network(fast, fast, pairs=pairs, contention=Ports()))
    inwards = TraceBuilder(3)
    inwards[2].send(0, 1)
    inwards[1].compute(1.0)
    inwards[1].send(0, 1)
    inwards[0].recv(1)
    assert simulate(inwards.build(), on, engine=engine).ranks[0].finish == pytest.approx(2.0)
    outwards = TraceBuilder(3)
    for dest in (2, 1):
        outwards[0].send(dest, 1)
        outwards[dest].recv(0)
    ranks = simulate(outwards.build(), on, engine=engine).ranks
    assert [ranks[1].finish, ranks[2].finish] == pytest.approx([2.0, 10.0])


@ENGINES
def test_a_node_without_ranks_makes_no_port_faster(engine: str) -> None:
    """Two messages of 10 s share a receive port and take 20 s, also if a node without ranks has a link of 1 s."""
    fast, slow = Link(Curve.line(0.0), Curve.line(0.0, 1.0)), Link(Curve.line(0.0), Curve.line(0.0, 10.0))
    used, idle = NodeType("used"), NodeType("idle")
    pairs = {("used", "idle"): fast, ("idle", "used"): fast}
    trace = TraceBuilder(3)
    for source in (1, 2):
        trace[source].send(0, 1)
        trace[0].recv(source)
    for nodes in ((used,) * 3, (used, used, used, idle)):
        on = Machine("odd", nodes, Network(slow, slow, pairs=pairs, contention=Ports()))
        assert simulate(trace.build(), on, [0, 1, 2], engine).makespan == pytest.approx(20.0)


@ENGINES
def test_a_probe_sees_the_head_of_a_message(engine: str) -> None:
    """A probe ends with the head of a message, a receive with its end.

    Two nodes send 3 B each, which travel 1 s + 1 s/B. At ports, the second one's head comes at 4 s and its end at 7 s.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0, 1.0))
    for contention, seen, come in ((Ports(), 4.0, 7.0), (NoContention(), 1.0, 4.0), (Flows(Switch(1.0)), 7.0, 7.0)):
        on = Machine("three", (NodeType("host"),) * 3, Network(link, link, contention=contention))
        for op in (Op.PROBE, None):
            trace = TraceBuilder(3)
            trace[0].send(2, 3)
            trace[1].send(2, 3)
            if op is None:
                trace[2].recv(1)
            else:
                trace[2].add(op, peer=1)
            finish = simulate(trace.build(), on, engine=engine).ranks[2].finish
            assert finish == pytest.approx(come if op is None else seen)


#: s = 1 s and t = 2 s + 1 s/B, so m bytes occupy their path for m seconds. Calls of nonblocking sends cost nothing.
SLOW = Link(Curve.line(1.0), Curve.line(2.0, 1.0), send_overhead=Curve.line(0.0))


def apart(link: Link, oversubscription: float = 1.0, progress: Progress = Progress.ASYNCHRONOUS) -> Machine:
    """Return nodes 0 and 1 at one switch, 2 and 3 at another, 5 s away; nodes have 1 B/s. Alltoalls are linear."""
    switches = Switches(2, 1.0, oversubscription, latency_between_switches=5.0)
    linear = {"alltoall": AlgorithmChoice(((inf, "linear"),))}
    network = Network(link, link, contention=Flows(switches), collectives=linear, progress=progress)
    return Machine("apart", (NodeType("host"),) * 4, network)


@ENGINES
@pytest.mark.parametrize("op", [None, Op.PROBE], ids=["receive", "probe"])
def test_an_eager_message_between_switches_comes_later(op: Op | None, engine: str) -> None:
    """A message to another switch ("far") arrives 5 s later than one to the same switch, for a probe as well.

    3 B leave the links at 3 s and arrive s + t - o = 1 + 5 - 3 = 3 s later, at 6 s, far at 11 s. An empty message,
    which no link slows, arrives at 1 + 2 = 3 s, far at 8 s. Beside 3 B for node 3, they have half of node 0's link and
    leave it 3 s later: they arrive at 9 s, far at 14 s. The sender is free after s = 1 s.
    """
    for dest, nbytes, beside, come in (
        (1, 3, 0, 6.0), (2, 3, 0, 11.0), (1, 0, 0, 3.0), (2, 0, 0, 8.0), (1, 3, 1, 9.0), (2, 3, 1, 14.0),
    ):  # fmt: skip
        trace = TraceBuilder(4)
        trace[0].wait(*(trace[0].isend(3, 3) for _ in range(beside)), trace[0].isend(dest, nbytes))
        if op is None:
            trace[dest].recv(0)
        else:
            trace[dest].add(op, peer=0)
        ranks = simulate(trace.build(), apart(SLOW), engine=engine).ranks
        assert (ranks[0].finish, ranks[dest].finish) == pytest.approx((1.0, come))


@ENGINES
def test_a_message_between_switches_takes_as_much_of_a_bucket(engine: str) -> None:
    """3 B travel 1 s and occupy the path for 3 s, so 2 B pass at once, also to another switch, where they travel 6 s.

    Of two messages from node 0, the first has 1 B left, at half the rate, and leaves its link after 2 s. Of the other,
    nothing passes at once, and it leaves after 4 s. They arrive then, or 5 s later at the other switch.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0), busy=Curve.line(0.0, 1.0))
    for order, near, far in (((1, 2), 2.0, 9.0), ((2, 1), 4.0, 7.0)):
        trace = TraceBuilder(4)
        for dest in order:
            trace[0].send(dest, 3)
            trace[dest].recv(0)
        ranks = simulate(trace.build(), apart(link), engine=engine).ranks
        assert (ranks[1].finish, ranks[2].finish) == pytest.approx((near, far))


@ENGINES
@pytest.mark.parametrize(
    ("progress", "near", "far"),
    [(Progress.ASYNCHRONOUS, (6.0, 9.0), (11.0, 19.0)), (Progress.CALLS, (9.0, 12.0), (19.0, 27.0))],
    ids=["any", "calls"],
)
def test_the_answer_to_a_rendezvous_comes_from_the_other_switch(
    progress: Progress, near: tuple[float, float], far: tuple[float, float], engine: str
) -> None:
    """An answer travels 1 + 2 = 3 s, from the other switch ("far") 3 + 5 = 8 s: data start at B = 3 s, far 8 s.

    With progress within calls, an envelope travels as long before: B = 6 s, far 16 s. 3 B leave the links at B + 3 s,
    which frees the sender, and arrive s + t - o = 3 s later, far 3 + 5 s: at B + 6 s, far B + 11 s.
    """
    on = apart(replace(SLOW, eager_limit=0), progress=progress)
    for dest, expected in ((1, near), (2, far)):
        trace = TraceBuilder(4)
        trace[0].send(dest, 3)
        trace[dest].recv(0)
        ranks = simulate(trace.build(), on, engine=engine).ranks
        assert (ranks[0].finish, ranks[dest].finish) == pytest.approx(expected)


@ENGINES
@pytest.mark.parametrize(
    ("progress", "near", "far"),
    [(Progress.ASYNCHRONOUS, 9.0, 19.0), (Progress.CALLS, 18.0, 23.0)],
    ids=["any", "calls"],
)
def test_an_acknowledgement_comes_from_the_other_switch(
    progress: Progress, near: float, far: float, engine: str
) -> None:
    """3 B arrive at 6 s, far at 11 s. Their acknowledgement takes 3 s back, far 3 + 5 s: it arrives at 9 s, far 19 s.

    With progress within calls, a receiver that computes until 15 s acknowledges them then: at 18 s, far 23 s.
    """
    on = apart(replace(SLOW, acknowledged_from=1), progress=progress)
    for dest, free in ((1, near), (2, far)):
        trace = TraceBuilder(4)
        trace[0].send(dest, 3)
        trace[dest].compute(15.0)
        trace[dest].recv(0)
        assert simulate(trace.build(), on, engine=engine).ranks[0].finish == pytest.approx(free)


@ENGINES
@pytest.mark.parametrize(("limit", "end"), [(None, 11.0), (0, 18.0)], ids=["eager", "rendezvous"])
def test_an_alltoall_between_switches_shares_their_uplinks(limit: int | None, end: float, engine: str) -> None:
    """Each of four nodes sends 1 B to each other node; s = 0, t = 2 s + 1 s/B. Two nodes share an uplink of 1 B/s.

    Four bytes use each uplink at a quarter of that: 4 s. They arrive 2 s later, plus 5 s between switches: at 11 s. By
    rendezvous, they start when their answers have arrived, after 2 + 5 s: 18 s.
    """
    trace = TraceBuilder(4)
    for rank in range(4):
        trace[rank].collective(Op.ALLTOALL, 1)
    on = apart(Link(Curve.line(0.0), Curve.line(2.0, 1.0), eager_limit=limit), oversubscription=2.0)
    finishes = [rank.finish for rank in simulate(trace.build(), on, engine=engine).ranks]
    assert finishes == pytest.approx([end] * 4)


@ENGINES
def test_contention_that_becomes_another_model_is_refused(engine: str) -> None:
    """A machine whose contention model changes during a run, from none to ports, is refused."""
    first = machine(2)
    later = replace(first, network=replace(first.network, contention=Ports()))
    with pytest.raises(UsageError, match="hand-made: contention must stay none during a run, got ports"):
        simulate(two_pairs(0.0).build(), replace(first, changes=((1.0, later),)), [0, 1, 0, 1], engine)


def test_a_model_that_only_the_reference_covers_is_simulated_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the compiled engine does not know a contention model, the reference simulates it, with a warning."""
    need_fast_engine()
    on, trace = machine(4, contention=FACTORS), two_pairs(0.0).build()
    known = simulate(trace, on, engine="fast")
    monkeypatch.setattr(tables, "NUMBERS", {"factor": len(NUMBERS)})
    result = simulate(trace, on, engine="fast")
    assert (known.engine, result.engine, result.makespan) == ("fast", "reference", known.makespan)
    assert any("it does not cover contention: factor" in warning for warning in result.warnings)


def test_what_is_no_model_is_an_error() -> None:
    """What is no contention model is refused, and never replaced by no contention."""
    on: Any = machine(4)
    with pytest.raises(UsageError, match="contention must be NoContention or FactorTable or Ports or Flows, got None"):
        replace(on.network, contention=None)
