"""One-sided operations against times added up by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clue.errors import DeadlockError
from clue.kernel import simulate
from clue.kernel.live import execute
from clue.machine import Contention, Curve, FactorTable, Flows, Link, Machine, Network, NoContention, Ports, Progress
from clue.machine.contention.topology import Switch
from clue.result import Part
from clue.trace import Access, Flag, Op, TraceBuilder
from tests.kernel.cases import (
    ANSWER,
    ENGINES,
    LINK,
    LOCAL_LINK,
    RECEIVE,
    SEND,
    SEND_PER_KB,
    TRANSMIT,
    TRANSMIT_PER_KB,
    finishes,
    machine,
    sending,
    transmission,
)
from tests.kernel.live_sources import playing
from tests.kernel.test_critical_path import explained, parts

SHARED, EXCLUSIVE, UNLOCK = Access.SHARED_LOCK, Access.EXCLUSIVE_LOCK, Access.UNLOCK


def hold(trace: TraceBuilder, rank: int, lock: Access, *, after: float = 0.0, seconds: float = 0.0) -> None:
    """Let a rank compute, take the lock of rank 0, compute for some seconds under it, and release it."""
    own = trace[rank]
    own.compute(after, "before")
    own.wait(own.rma(0, does=lock))
    own.compute(seconds, "under the lock")
    own.wait(own.rma(0, does=UNLOCK))


def within_calls(nodes: int = 2, **node: object) -> Machine:
    """Return a machine whose library makes progress within calls only."""
    on = machine(nodes, **node)  # type: ignore[arg-type]
    return replace(on, network=replace(on.network, progress=Progress.CALLS))


@ENGINES
@pytest.mark.parametrize(
    ("nbytes", "back", "seconds"),
    [
        (1000, 0, sending(1) + transmission(1) + ANSWER),
        (0, 5000, ANSWER + sending(5) + transmission(5)),
        (2000, 2000, 2 * (sending(2) + transmission(2))),
        (50_000, 0, sending(50) + transmission(50) + ANSWER),
    ],
    ids=["put", "get", "get and accumulate", "above the eager limit"],
)
def test_an_operation_is_a_message_there_and_one_back(engine: str, nbytes: int, back: int, seconds: float) -> None:
    """The wait ends when the answer is there; the target, which computes, spends nothing; sizes are always eager."""
    trace = TraceBuilder(2)
    trace[0].wait(trace[0].rma(1, nbytes, back))
    trace[1].compute(0.5)
    origin, target = simulate(trace.build(), machine(), engine=engine).ranks
    assert origin.finish == pytest.approx(seconds, rel=1e-12)
    assert origin.communicate == pytest.approx(sending(nbytes / 1000), rel=1e-12)
    assert (target.finish, target.communicate) == (0.5, 0.0)


@ENGINES
def test_operations_overlap_until_their_wait(engine: str) -> None:
    """Two puts leave one after the other; one wait ends with the last answer. Computation in between hides them."""
    trace = TraceBuilder(2)
    requests = [trace[0].rma(1, 1000) for _ in range(2)]
    trace[0].wait(*requests)
    assert finishes(trace, machine(), engine)[0] == pytest.approx(2 * sending(1) + transmission(1) + ANSWER, rel=1e-12)
    trace = TraceBuilder(2)
    request = trace[0].rma(1, 1000)
    trace[0].compute(1.0)
    trace[0].wait(request)
    assert finishes(trace, machine(), engine)[0] == pytest.approx(sending(1) + 1.0, rel=1e-12)


@ENGINES
@pytest.mark.parametrize("contention", [Ports(), Flows(Switch(1e9))], ids=["ports", "flows"])
def test_operations_of_one_origin_do_not_overtake_each_other(engine: str, contention: Ports | Flows) -> None:
    """The data of a put take 10 s more; an operation without data of the same origin is executed after it."""
    on = machine(link=replace(LINK, transmission_delay=Curve.line(TRANSMIT, 1e-3)))
    on = replace(on, network=replace(on.network, contention=contention))
    trace = TraceBuilder(2)
    trace[0].rma(1, 10_000)
    trace[0].wait(trace[0].rma(1))
    put = sending(10) + TRANSMIT + 10.0
    assert finishes(trace, on, engine)[0] == pytest.approx(put + ANSWER, rel=1e-9)


GET = 50_000
TRAVEL = sending(50) + transmission(50)
#: For how long a get occupies a port, or a link as fast as it.
OCCUPIED = 50 * TRANSMIT_PER_KB


@ENGINES
@pytest.mark.parametrize(
    ("contention", "ends"),
    [
        (NoContention(), [ANSWER + TRAVEL, SEND + ANSWER + TRAVEL]),
        (Ports(), [ANSWER + TRAVEL, ANSWER + OCCUPIED + TRAVEL]),
        # 10 ms alone, then side by side at half the rate, until the second one is alone.
        (Flows(Switch(GET / OCCUPIED)), [ANSWER + TRAVEL + OCCUPIED - SEND, ANSWER + TRAVEL + OCCUPIED]),
        # One of two messages that overlap takes twice as long: the second operation and both answers.
        (FactorTable(((1, 1.0), (2, 2.0))), [ANSWER + 2 * TRAVEL, SEND + 2 * ANSWER + 2 * TRAVEL]),
    ],
    ids=["none", "ports", "flows", "factor"],
)
def test_answers_delay_each_other(engine: str, contention: Contention, ends: list[float]) -> None:
    """Rank 1 gets 50 KB from rank 0; rank 2 does so 10 ms later."""
    on = machine(3)
    on = replace(on, network=replace(on.network, contention=contention))
    trace = TraceBuilder(3)
    trace[2].compute(SEND)
    for rank in (1, 2):
        trace[rank].wait(trace[rank].rma(0, 0, GET))
    assert finishes(trace, on, engine)[1:] == pytest.approx(ends, rel=1e-9)


@ENGINES
def test_answers_take_the_place_of_their_origins_among_simultaneous_events(engine: str) -> None:
    """An answer to rank 1 comes from rank 3; data of rank 2 that reach the port of rank 1 at that time wait."""
    on = machine(4)
    on = replace(on, network=replace(on.network, contention=Ports()))
    trace = TraceBuilder(4)
    trace[1].wait(trace[1].rma(3, 0, GET))
    trace[2].compute(ANSWER)
    trace[2].send(1, GET, flags=Flag.BUFFERED)
    assert finishes(trace, on, engine)[1] == pytest.approx(ANSWER + TRAVEL, rel=1e-12)


LOCAL, LOCAL_SEND = ANSWER / 10, SEND / 10
COPIED = 0.020


def copying() -> Machine:
    """Return a node on which a receiver takes 20 ms to copy 20 KB."""
    on = machine(1, processors=3)
    local = replace(LOCAL_LINK, copy_time=Curve.line(0.0, COPIED / 20_000))
    return replace(on, network=replace(on.network, within_node=local))


@ENGINES
@pytest.mark.parametrize(
    ("kilobytes", "back", "end"),
    [
        (20, 0, COPIED + 2 * LOCAL),
        (10, 0, SEND / 10 + 2 * LOCAL),
        (0, 20, LOCAL + COPIED + LOCAL),
        (0, 10, SEND / 10 + 2 * LOCAL),
        (20, 20, COPIED + 2 * LOCAL),
    ],
    ids=["puts", "eager puts", "gets", "eager gets", "both"],
)
def test_a_rank_copies_data_of_its_node_one_after_the_other(engine: str, kilobytes: int, back: int, end: float) -> None:
    """Two operations at once; a copy of 20 KB takes 20 ms. Data that could be sent eagerly wait for no copy."""
    on = copying()
    trace = TraceBuilder(2)
    trace[0].wait(*[trace[0].rma(1, kilobytes * 1000, back * 1000) for _ in range(2)])
    assert finishes(trace, on, engine)[0] == pytest.approx(end, rel=1e-12)


def slow_later(overhead: float | None) -> Machine:
    """Return a node whose send delay, and overhead if it states one, is 5 s from 10 ms on."""
    on = copying()
    slow, stated = Curve.line(5.0), None if overhead is None else Curve.line(overhead)
    link = replace(on.network.within_node, send_overhead=stated)
    links = (link, replace(link, send_delay=slow, send_overhead=stated and slow))
    first, later = (replace(on, network=replace(on.network, within_node=each)) for each in links)
    return replace(first, changes=((0.010, later),))


def two_puts() -> TraceBuilder:
    """Return a program in which rank 0 puts 20 KB twice into the memory of rank 1, and waits for both."""
    trace = TraceBuilder(2)
    trace[0].wait(*[trace[0].rma(1, 20_000) for _ in range(2)])
    return trace


@ENGINES
@pytest.mark.parametrize("overhead", [None, 0.003])
def test_a_call_costs_what_it_does_when_it_begins(engine: str, overhead: float | None) -> None:
    """The second put's data start at 20 ms, when the first are copied and sends are slow, but its call does not."""
    origin, _ = simulate(two_puts().build(), slow_later(overhead), engine=engine).ranks
    call = LOCAL_SEND if overhead is None else overhead
    assert origin.communicate == pytest.approx(2 * call, rel=1e-12)
    assert origin.finish == pytest.approx(COPIED + 2 * (5.0 + LOCAL - LOCAL_SEND), rel=1e-12)


@ENGINES
def test_copies_for_operations_and_for_messages_take_turns(engine: str) -> None:
    """Rank 1 copies a rendezvous of rank 2, then a put of rank 0."""
    on = copying()
    trace = TraceBuilder(3)
    trace[1].recv(2)
    trace[2].send(1, 20_000)
    trace[0].compute(0.015)
    trace[0].wait(trace[0].rma(1, 20_000))
    begun = LOCAL  # of the rendezvous: the answer is there
    assert finishes(trace, on, engine)[0] == pytest.approx(begun + COPIED + 2 * LOCAL, rel=1e-12)


@ENGINES
@pytest.mark.parametrize("overhead", [None, 0.003])
@pytest.mark.parametrize(("kilobytes", "back"), [(20, 0), (0, 20), (7, 13), (0, 0)])
def test_an_origin_copies_data_in_memory_that_mpi_allocated(
    engine: str, overhead: float | None, kilobytes: int, back: int
) -> None:
    """The target, on the same node and outside calls, is not needed; the copy is the origin's processor time."""
    local = replace(LINK, send_overhead=None if overhead is None else Curve.line(overhead, 1.0))
    on = within_calls(1, processors=2)
    on = replace(on, network=replace(on.network, within_node=local))
    trace = TraceBuilder(2)
    trace[0].wait(trace[0].rma(1, kilobytes * 1000, back * 1000, Access.DIRECT))
    trace[1].compute(1.0)
    origin, target = simulate(trace.build(), on, engine=engine, traffic=True).ranks
    end = (SEND if overhead is None else overhead) + 20 * (SEND_PER_KB + TRANSMIT_PER_KB) * (kilobytes + back > 0)
    assert origin.finish == pytest.approx(end, rel=1e-12)
    assert origin.communicate == pytest.approx(end, rel=1e-12)
    assert target.finish == 1.0


def test_what_follows_an_operation_that_the_origin_does_comes_before_what_its_messages_do() -> None:
    """A copy ends after 70 ms. Then an empty message gets the port, and data that have waited for a call 5 ms later."""
    link = Link(Curve.line(0.0), Curve.line(0.010), 0.0, 0)
    network = Network(link, LINK, contention=Ports(Curve.line(0.005)), progress=Progress.CALLS)
    on = replace(machine(3, processors=2), network=network)
    trace = TraceBuilder(4)
    request = trace[0].isend(2, 1)
    trace[0].wait(trace[0].rma(1, 20_000, 0, Access.DIRECT))
    trace[0].send(3, 0)
    trace[0].wait(request)
    for rank in (2, 3):
        trace[rank].recv(0)
    placement = [0, 0, 1, 2]
    ends = [finishes(trace, on, engine, placement)[2:] for engine in ("reference", "fast")]
    live = execute(playing(trace.build()), on, placement).result
    ends.append([rank.finish for rank in live.ranks[2:]])
    assert ends == [pytest.approx([0.085, 0.080], rel=1e-12)] * 3


@ENGINES
def test_memory_that_mpi_allocated_on_another_node_is_the_targets(engine: str) -> None:
    """The operation is executed in the target's next call, as in other memory."""
    ends = []
    for does in (Access.DATA, Access.DIRECT):
        trace = TraceBuilder(2)
        trace[0].wait(trace[0].rma(1, 1000, 0, does))
        trace[1].compute(1.0)
        ends.append(finishes(trace, within_calls(), engine)[0])
    assert ends == pytest.approx([1.0 + ANSWER] * 2, rel=1e-12)


@ENGINES
@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [(EXCLUSIVE, EXCLUSIVE, True), (SHARED, EXCLUSIVE, True), (EXCLUSIVE, SHARED, True), (SHARED, SHARED, False)],
)
def test_a_lock_waits_for_those_that_exclude_it(engine: str, first: Access, second: Access, waits: bool) -> None:
    """Rank 1 holds the lock of rank 0 for 1 s of computation; rank 2 asks for it 10 ms later."""
    trace = TraceBuilder(3)
    for rank, lock in ((1, first), (2, second)):
        hold(trace, rank, lock, after=(rank - 1) * 0.010, seconds=1.0 if rank == 1 else 0.0)
    round_trip = 2 * ANSWER
    one, other = finishes(trace, machine(3), engine)[1:]
    assert one == pytest.approx(2 * round_trip + 1.0, rel=1e-12)
    # The unlock arrives one way before rank 1 knows of it; the grant then takes one way to rank 2.
    granted = one if waits else 0.010 + round_trip
    assert other == pytest.approx(granted + round_trip, rel=1e-12)


@ENGINES
def test_locks_are_granted_first_come_first_served(engine: str) -> None:
    """A shared lock waits behind an exclusive one that waits for a shared one, which it could join."""
    trace = TraceBuilder(4)
    for rank, lock in ((1, SHARED), (2, EXCLUSIVE), (3, SHARED)):
        hold(trace, rank, lock, after=0.010 * rank, seconds=1.0)
    ends = finishes(trace, machine(4), engine)[1:]
    # From grant to grant: the answer, 1 s, the unlock.
    first = 0.010 + ANSWER
    grants = [first, first + 2 * ANSWER + 1.0, first + 2 * (2 * ANSWER + 1.0)]
    assert ends == pytest.approx([each + ANSWER + 1.0 + 2 * ANSWER for each in grants], rel=1e-12)


@ENGINES
def test_windows_and_targets_have_locks_of_their_own(engine: str) -> None:
    """An exclusive lock of one window, or of one member, keeps nobody from another."""
    trace = TraceBuilder(3)
    other = trace.communicator((0, 1, 2))
    trace[1].wait(trace[1].rma(0, does=EXCLUSIVE))
    trace[1].compute(5.0)
    trace[2].wait(trace[2].rma(0, does=EXCLUSIVE, comm=other), trace[2].rma(1, does=EXCLUSIVE))
    assert finishes(trace, machine(3), engine)[2] == pytest.approx(SEND + 2 * ANSWER, rel=1e-12)


@ENGINES
def test_who_unlocks_without_a_lock_disturbs_nobody(engine: str) -> None:
    """The unlock of rank 2 does not release the lock of rank 1."""
    trace = TraceBuilder(4)
    hold(trace, 1, EXCLUSIVE, seconds=1.0)
    trace[2].compute(0.3)
    trace[2].wait(trace[2].rma(0, does=UNLOCK))
    trace[3].compute(0.4)
    trace[3].wait(trace[3].rma(0, does=EXCLUSIVE))
    assert finishes(trace, machine(4), engine)[3] == pytest.approx(2 * ANSWER + 1.0 + 2 * ANSWER, rel=1e-12)


@ENGINES
def test_who_takes_a_shared_lock_twice_holds_it_once(engine: str) -> None:
    """One unlock of rank 1, after 1 s, lets rank 2 have the lock exclusively."""
    trace = TraceBuilder(3)
    for _ in range(2):
        trace[1].wait(trace[1].rma(0, does=SHARED))
    trace[1].compute(1.0)
    trace[1].wait(trace[1].rma(0, does=UNLOCK))
    trace[2].compute(0.5)
    trace[2].wait(trace[2].rma(0, does=EXCLUSIVE))
    released = 4 * ANSWER + 1.0 + ANSWER
    assert finishes(trace, machine(3), engine)[2] == pytest.approx(released + ANSWER, rel=1e-12)


@ENGINES
def test_a_lock_that_nobody_releases_is_a_deadlock(engine: str) -> None:
    """The error names the rank that waits."""
    trace = TraceBuilder(3)
    trace[1].wait(trace[1].rma(0, does=EXCLUSIVE))
    trace[2].compute(1.0)
    trace[2].wait(trace[2].rma(0, does=EXCLUSIVE))
    with pytest.raises(DeadlockError, match=r"rank 2 .* a request"):
        simulate(trace.build(), machine(3), engine=engine)


@ENGINES
def test_without_progress_a_target_executes_within_calls_that_wait(engine: str) -> None:
    """Puts arrive at 0.12 s and 0.62 s; the target, which computes, starts an access at 1 s, and waits at 1.5 s."""

    def program(waits: bool) -> TraceBuilder:
        trace = TraceBuilder(3)
        trace[0].compute(1.0)
        request = trace[0].rma(2)
        trace[0].compute(0.5 - SEND)
        if waits:
            trace[0].wait(request)
            trace[0].compute(2.0)
        for rank in (1, 2):
            trace[rank].compute((rank - 1) * 0.5)
            trace[rank].wait(trace[rank].rma(0, 1000))
        return trace

    assert finishes(program(True), within_calls(3), engine)[1:] == pytest.approx([1.5 + ANSWER] * 2, rel=1e-12)
    # At its end, too, a rank is within a call.
    assert finishes(program(False), within_calls(3), engine)[1:] == pytest.approx([1.5 + ANSWER] * 2, rel=1e-12)
    free = sending(1) + transmission(1) + ANSWER
    assert finishes(program(True), machine(3), engine)[1:] == pytest.approx([free, 0.5 + free], rel=1e-12)


@ENGINES
def test_locks_that_wait_for_one_call_are_granted_in_the_order_of_their_arrivals(engine: str) -> None:
    """Rank 2 asks at once, rank 1 after 0.2 s; the target computes for 1 s, and both compute for 1 s under the lock."""
    trace = TraceBuilder(3)
    trace[0].compute(1.0)
    trace[1].compute(0.2)
    for rank in (1, 2):
        trace[rank].wait(trace[rank].rma(0, does=EXCLUSIVE))
        trace[rank].compute(1.0)
        trace[rank].wait(trace[rank].rma(0, does=UNLOCK))
    released = 1.0 + ANSWER + 1.0 + ANSWER
    expected = [released + ANSWER + 1.0 + 2 * ANSWER, released + ANSWER]
    assert finishes(trace, within_calls(3), engine)[1:] == pytest.approx(expected, rel=1e-12)


@ENGINES
def test_an_epoch_of_some_members(engine: str) -> None:
    """Post and Start, Complete and Wait are empty messages around the put of rank 1 (as the recorder writes them)."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0, tag=1)
    trace[1].recv(0, tag=1)
    trace[1].wait(trace[1].rma(0, 1000))
    trace[1].send(0, 0, tag=2)
    trace[0].recv(1, tag=2)
    started = ANSWER + RECEIVE
    put = sending(1) + transmission(1) + ANSWER
    expected = [started + put + ANSWER + RECEIVE, started + put + SEND]
    assert finishes(trace, machine(), engine) == pytest.approx(expected, rel=1e-12)


@ENGINES
def test_side_by_side_instances_have_memory_of_their_own(engine: str) -> None:
    """Two copies of a program take the lock of their own rank 0 at once."""
    trace = TraceBuilder(2)
    hold(trace, 1, EXCLUSIVE, seconds=1.0)
    done = simulate(trace.build(), machine(4), [0, 1, 2, 3], engine, instances=2)
    assert [each.finish for each in done.ranks[1::2]] == pytest.approx([4 * ANSWER + 1.0] * 2, rel=1e-12)


@ENGINES
def test_traffic_counts_both_ways(engine: str) -> None:
    """A put of 1 KB and a get of 5 KB: two messages each way, with their data."""
    trace = TraceBuilder(2)
    trace[0].wait(trace[0].rma(1, 1000), trace[0].rma(1, 0, 5000))
    traffic = simulate(trace.build(), machine(), engine=engine, traffic=True).traffic
    assert traffic is not None
    assert traffic.messages.tolist() == [[0, 2], [2, 0]]
    assert traffic.nbytes.tolist() == [[0, 1000], [5000, 0]]


def explained_lock(on: Machine) -> dict[Part, float]:
    """Return the parts of a path of two ranks that take the lock of a third, which computes for 2 s, in turn."""
    trace = TraceBuilder(3)
    trace[0].compute(2.0)
    for rank in (1, 2):
        hold(trace, rank, EXCLUSIVE, after=(rank - 1) * 0.5, seconds=3.0)
    return parts(explained(trace, on).path)


def test_the_critical_path_goes_from_a_lock_to_its_release() -> None:
    """Rank 1 asks at once and computes for 3 s under the lock; rank 2 then computes for 3 s, and unlocks."""
    found = explained_lock(machine(3))
    assert found[Part.COMPUTATION] == pytest.approx(6.0, rel=1e-12)
    assert found[Part.SEND] == pytest.approx(3 * SEND, rel=1e-12)
    assert found[Part.TRANSMISSION] == pytest.approx(3 * TRANSMIT + 3 * ANSWER, rel=1e-12)
    assert set(found) == {Part.COMPUTATION, Part.SEND, Part.TRANSMISSION}


def test_the_critical_path_has_the_delays_of_data_that_wait_for_copies() -> None:
    """The second put begins at 1 ms; its data start at 20 ms, and they and the answer then take 5 s and 10 ms each."""
    assert parts(explained(two_puts(), slow_later(None), (0, 0)).path) == pytest.approx(
        {
            Part.SEND: LOCAL_SEND + 5.0,
            Part.CONTENTION: COPIED - LOCAL_SEND,
            Part.TRANSMISSION: TRANSMIT / 10 + 5.0 + TRANSMIT / 10,
        }
    )


def test_the_critical_path_goes_to_a_target_outside_calls() -> None:
    """Without progress, the target's computation of 2 s delays the first lock, and so is on the path."""
    found = explained_lock(within_calls(3))
    assert found[Part.COMPUTATION] == pytest.approx(2.0 + 6.0, rel=1e-12)
    assert sum(found.values()) == pytest.approx(8.0 + ANSWER + 2 * (ANSWER + ANSWER), rel=1e-12)


def test_ops_of_an_epoch_are_checked() -> None:
    """Accesses name what they do, and list at most one size."""
    trace = TraceBuilder(2)
    trace[0].add(Op.RMA, peer=1, tag=5, request=0)
    with pytest.raises(Exception, match="tag of rank 0, op 0 must be from 0 to 4: an access, got 5"):
        trace.build()
