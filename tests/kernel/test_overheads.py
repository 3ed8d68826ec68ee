"""What calls take from their rank: stated overheads of sends and receives, added up by hand.

Unless a test says otherwise, s = 1 s and t = 3 s for all sizes. The call of a receive takes r = 1/2 s and a receive
o = 2.5 s in all, so e = 2 s are spent once the message is there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from clue.kernel import Candidate, compile_program, makespans, simulate
from clue.kernel.live import execute
from clue.machine import Curve, FactorTable, Link, Machine, Placement, Progress
from clue.machine.cold_start import ColdStart
from clue.trace import Flag, Op, Trace, TraceBuilder
from clue.trace.calls import Call, LiveOp, Mode
from tests.kernel.cases import ENGINES, finishes
from tests.kernel.live_sources import Script, Scripted, world
from tests.kernel.test_send_modes import machine

LINK = Link(Curve.line(1.0), Curve.line(3.0), 0.5, receive_overhead=2.5)


def with_call(seconds: float, link: Link = LINK) -> Link:
    """Return the link with this send overhead."""
    return replace(link, send_overhead=Curve.line(seconds))


def sent_at_once(ranks: int = 2) -> TraceBuilder:
    """Return a program in which rank 0 sends to rank 1 at once."""
    trace = TraceBuilder(ranks)
    trace[0].send(1, 8)
    return trace


@ENGINES
@pytest.mark.parametrize(("computation", "end"), [(0.0, 6.5), (10.0, 12.5)], ids=["waits", "is there"])
def test_a_receive_ends_with_both_parts(engine: str, computation: float, end: float) -> None:
    """A message arrives at 4 s; a blocking receive takes 2.5 s from then on, or from its call if that is later."""
    trace = sent_at_once()
    if computation:
        trace[1].compute(computation)
    trace[1].recv(0)
    assert finishes(trace.build(), machine(LINK), engine) == [1.0, end]


@ENGINES
@pytest.mark.parametrize(("computation", "end"), [(1.0, 6.0), (10.0, 12.5)], ids=["waits", "is there"])
def test_the_wait_for_a_nonblocking_receive_ends_with_the_second_part(
    engine: str, computation: float, end: float
) -> None:
    """An Irecv takes 1/2 s. Its wait takes 2 s from 4 s on, or from its call, though the message is there already."""
    trace = sent_at_once()
    request = trace[1].irecv(0)
    trace[1].compute(computation)
    trace[1].wait(request)
    assert finishes(trace.build(), machine(LINK), engine) == [1.0, end]


@ENGINES
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(("later", "end"), [(1, 7), (4, 10)])
def test_a_wait_for_several_receives_has_one_second_part(
    engine: str, order: tuple[int, int], later: int, end: int
) -> None:
    """Messages arrive at 4 s from rank 0 and 1 s or 4 s later from rank 1; a wait for both then takes 2 s."""
    trace = TraceBuilder(3)
    requests = [trace[2].irecv(source) for source in (0, 1)]
    trace[2].wait(*(requests[each] for each in order))
    trace[0].send(2, 8)
    trace[1].compute(float(later))
    trace[1].send(2, 8)
    assert finishes(trace.build(), machine(LINK, nodes=3), engine)[2] == end


@ENGINES
@pytest.mark.parametrize(("order", "end"), [((0, 1), 4.0), ((1, 0), 6.0)])
def test_the_first_receive_of_a_wait_decides(engine: str, order: tuple[int, int], end: float) -> None:
    """Rank 2 waits for messages of ranks 0, on its node, and 1; both arrive at 4 s. Within a node no o is stated."""
    trace = TraceBuilder(3)
    requests = [trace[2].irecv(source) for source in (0, 1)]
    trace[2].wait(*(requests[each] for each in order))
    for source in (0, 1):
        trace[source].send(2, 8)
    plain = machine(LINK, nodes=2)
    inside = replace(LINK, receive_overhead=None)
    on = replace(
        plain,
        nodes=tuple(replace(node, processors=2) for node in plain.nodes),
        network=replace(plain.network, within_node=inside),
    )
    assert simulate(trace.build(), on, (0, 1, 0), engine=engine).ranks[2].finish == end


@ENGINES
@pytest.mark.parametrize(("call", "end"), [(2.0, 6.5), (6.0, 8.5)])
def test_an_exchange_overlaps_calls_with_the_travel(engine: str, call: float, end: float) -> None:
    """Two ranks exchange messages by Sendrecv: the receive is posted until 1/2 s, and the message arrives at 4.5 s.

    A send's call of 2 s is over by then. One of 6 s ends at 6.5 s, and the receive's second part comes after that.
    """
    trace = TraceBuilder(2)
    for rank in (0, 1):
        trace[rank].sendrecv(1 - rank, 8, 1 - rank)
    assert finishes(trace.build(), machine(with_call(call)), engine) == [end, end]


@ENGINES
@pytest.mark.parametrize("send_first", [False, True])
def test_the_second_part_comes_after_all_requests(engine: str, *, send_first: bool) -> None:
    """An Isend's data leave until 1/2 + 10 s; a message arrives at 4 s. The receive's 2 s are spent after 10.5 s."""
    link = with_call(0.5, replace(LINK, send_delay=Curve.through([(0, 1.0), (9, 10.0)])))
    trace = TraceBuilder(2)
    trace[1].send(0, 0)
    trace[1].recv(0)
    if send_first:
        receive, send = trace[0].irecv(1), trace[0].isend(1, 9)
        trace[0].wait(send, receive)
    else:
        trace[0].sendrecv(1, 9, 1)
    assert finishes(trace.build(), machine(link), engine)[0] == 12.5


@ENGINES
@pytest.mark.parametrize(("call", "sender", "receiver"), [(0.5, 3.0, 11.5), (2.0, 6.0, 11.5), (4.0, 12.0, 14.5)])
def test_blocking_sends_follow_each_other_after_their_calls(
    engine: str, call: float, sender: float, receiver: float
) -> None:
    """Data of three blocking sends start after 1 s or c each, whichever is longer; each receive takes 2.5 s.

    The first message arrives at 4 s. The others are there when their receives begin, unless c is 4 s: then the last
    one arrives at 8 + 4 s.
    """
    trace = TraceBuilder(2)
    for _ in range(3):
        trace[0].send(1, 8)
        trace[1].recv(0)
    assert finishes(trace.build(), machine(with_call(call)), engine) == [sender, receiver]


@ENGINES
@pytest.mark.parametrize(
    ("flags", "limit", "sender"),
    [(0, None, 20.0), (Flag.BUFFERED, 0, 20.0), (0, 0, 7.0), (Flag.SYNCHRONOUS, None, 7.0)],
    ids=["eager", "buffered", "rendezvous", "synchronous"],
)
def test_a_blocking_send_that_waits_for_its_receive_has_no_call_of_its_own(
    engine: str, flags: int, limit: int | None, sender: float
) -> None:
    """With c = 20 s, a blocking eager send ends at 20 s, a rendezvous 1 s after the receiver's answer (4 + 2 s)."""
    trace = TraceBuilder(2)
    trace[0].send(1, 8, flags=flags)
    trace[1].recv(0)
    assert finishes(trace.build(), machine(with_call(20.0, replace(LINK, eager_limit=limit))), engine)[0] == sender


@ENGINES
def test_contention_changes_no_call(engine: str) -> None:
    """Of two blocking sends at one time, the second has s = 2 s and t = 6 s, but both end with their calls of 5 s."""
    trace = TraceBuilder(4)
    for sender in (0, 2):
        trace[sender].send(sender + 1, 8)
        trace[sender + 1].recv(sender)
    on = machine(with_call(5.0), FactorTable(((1, 1.0), (2, 2.0))), nodes=4)
    assert finishes(trace.build(), on, engine) == [5.0, 6.5, 5.0, 10.5]


@ENGINES
@pytest.mark.parametrize("overhead", [None, 0.0, 0.25, 0.5])
def test_an_overhead_within_the_call_changes_nothing(engine: str, overhead: float | None) -> None:
    """If o is not above r = 1/2 s, a receive ends at 4.5 s, and a wait when the message arrives (8 s)."""
    trace = sent_at_once()
    trace[1].recv(0)
    request = trace[1].irecv(0)
    trace[1].wait(request)
    trace[0].compute(3.0)
    trace[0].send(1, 8)
    assert finishes(trace.build(), machine(replace(LINK, receive_overhead=overhead)), engine) == [5.0, 8.0]


@ENGINES
def test_a_round_of_an_allreduce_spends_both_overheads(engine: str) -> None:
    """Allreduce of 8 B, c = 2 s: receives are posted until 1/2 s, messages arrive at 4.5 s, and take 2 s more.

    Then both ranks combine 8 B in 1 s.
    """
    trace = TraceBuilder(2)
    for rank in trace:
        rank.collective(Op.ALLREDUCE, 8)
    plain = machine(with_call(2.0))
    on = replace(plain, nodes=tuple(replace(node, reduction_delay=0.125) for node in plain.nodes))
    assert finishes(trace.build(), on, engine) == [7.5, 7.5]


@ENGINES
def test_a_matched_probe_takes_only_its_call(engine: str) -> None:
    """The probe sees the message at 4 s and ends at 4.5 s; the receive of what it found takes 2.5 s."""
    trace = sent_at_once()
    trace[1].add(Op.MPROBE, peer=0, request=0)
    trace[1].add(Op.MRECV, request=0)
    assert finishes(trace.build(), machine(LINK), engine) == [1.0, 7.0]


@ENGINES
def test_the_wait_for_a_cancelled_receive_takes_nothing(engine: str) -> None:
    """A cancelled receive gets no message, so o = 2.5 s is not spent; r is 0 here."""
    trace = TraceBuilder(2)
    request = trace[1].irecv(0, flags=Flag.CANCELLED)
    trace[1].wait(request)
    assert finishes(trace.build(), machine(replace(LINK, receive_delay=0.0)), engine) == [0.0, 0.0]


@ENGINES
def test_overheads_are_no_waits(engine: str) -> None:
    """Rank 0 is in a call of 6 s, rank 1 waits for 4 s and receives for 2.5 s; a cold start takes 1/4 of a wait.

    So the burst of 10 s that follows takes 10 s on rank 0 and 11 s on rank 1.
    """
    trace = sent_at_once()
    trace[1].recv(0)
    for rank in trace:
        rank.compute(10.0)
    plain = machine(with_call(6.0))
    cold = ColdStart.through([(100.0, 25.0)])
    on = replace(plain, nodes=tuple(replace(node, cold_start=cold) for node in plain.nodes))
    ranks = simulate(trace.build(), on, engine=engine).ranks
    assert [rank.finish for rank in ranks] == [16.0, 17.5]
    assert [rank.communicate for rank in ranks] == [6.0, 2.5]


@pytest.mark.parametrize("mode", [Mode.ALL, Mode.ANY], ids=["Testall", "Testany"])
def test_a_test_that_finds_a_receive_complete_spends_its_second_part(mode: Mode) -> None:
    """A live run: rank 1 posts a receive until 1/2 s and computes until 10.5 s; the test then takes 2 s."""

    def sender() -> Script:
        yield world(2)
        yield Call(Op.SEND, peer=1, tag=0, nbytes=8)

    def receiver() -> Script:
        yield world(2)
        yield Call(Op.IRECV, peer=0, tag=0, request=0)
        yield Call(LiveOp.TEST, 10 * 10**9, tag=mode, entries=(0,))

    done = execute([Scripted(sender()), Scripted(receiver())], machine(LINK))
    assert [rank.finish for rank in done.result.ranks] == [1.0, 12.5]


def exchange_of_both_kinds() -> Trace:
    """Return two blocking sends and an exchange."""
    trace = TraceBuilder(2)
    for _ in range(2):
        trace[0].send(1, 8)
        trace[1].recv(0)
    for rank in (0, 1):
        trace[rank].sendrecv(1 - rank, 8, 1 - rank)
    return trace.build()


@ENGINES
def test_a_sweep_over_overheads_gives_each_makespan(engine: str) -> None:
    """A sweep gives what each machine gives alone, here by hand for o = 2.5 s.

    Rank 1 receives until 4 + 2 * 2.5 = 9 s (the second message is there at 5 s, or c + 4 s) and posts its receive
    until 9.5 s. Rank 0, which has posted its own long before, gets rank 1's message at 9.5 + 4 s and needs 2 s more.
    """
    program = compile_program(exchange_of_both_kinds())
    machines: list[Machine] = [
        machine(replace(with_call(call), receive_overhead=overhead), progress=progress)
        for call in (0.5, 2.0, 5.0)
        for overhead in (None, 0.25, 2.5, 7.0)
        for progress in Progress
    ]
    alone = [simulate(program, on, engine=engine).makespan for on in machines]
    candidates = list(map(partial(Candidate, placement=Placement((0, 1))), machines))
    assert makespans(program, candidates, engine=engine).tolist() == alone
    by_hand = machine(with_call(2.0))
    assert simulate(program, by_hand, engine=engine).makespan == 15.5
