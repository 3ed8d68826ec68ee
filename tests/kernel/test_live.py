"""Live execution of programs that decide at run time: closed forms by hand on a machine with round numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from clue.errors import DeadlockError, LiveError, ReplayError
from clue.execution.bursts import Replayed
from clue.kernel import simulate
from clue.kernel.live import Execution, conversation, execute
from clue.machine import AlgorithmChoice, Curve, Flows, Machine, Ports, Progress
from clue.machine.contention.topology import Switch
from clue.trace import ANY, NO_REQUEST, PROC_NULL, Flag, Op
from clue.trace.calls import BLOCKING, Call, LiveOp, Mode
from tests.kernel.cases import ANSWER, LINK, RECEIVE, SEND, TRANSMIT, machine, sending, transmission
from tests.kernel.live_sources import Script, Scripted, world

#: Time from the start of an empty eager send to its arrival.
TRAVEL = SEND + TRANSMIT


def run(*scripts: Script, on: Machine | None = None, **options: Any) -> Execution:
    """Run programs, whose world is context 0, on a machine with a node for each."""
    sources = [Scripted(_in_world(each, len(scripts))) for each in scripts]
    return execute(sources, on or machine(len(scripts)), **options)


def _in_world(script: Script, ranks: int) -> Script:
    yield world(ranks)
    yield from script


def seconds(cpu: float) -> int:
    """Return seconds as nanoseconds."""
    return round(cpu * 1e9)


def send(dest: int, payload: Any = None, *, after: float = 0.0, tag: int = 0, nbytes: int = 0) -> Call:
    """Return a blocking send after a burst."""
    return Call(Op.SEND, seconds(after), peer=dest, tag=tag, nbytes=nbytes, payload=payload)


def recv(source: int = ANY, tag: int = ANY, after: float = 0.0) -> Call:
    """Return a blocking receive after a burst."""
    return Call(Op.RECV, seconds(after), peer=source, tag=tag)


def irecv(request: int, source: int = ANY, tag: int = ANY) -> Call:
    """Return a nonblocking receive."""
    return Call(Op.IRECV, peer=source, tag=tag, request=request)


def wait(*requests: int, after: float = 0.0) -> Call:
    """Return a wait for all of these requests, after a burst."""
    return Call(Op.WAIT, seconds(after), entries=requests)


def some(mode: Mode, *requests: int, blocking: bool = False, after: float = 0.0) -> Call:
    """Return a test or, if blocking, a wait of this mode, after a burst."""
    return Call(LiveOp.TEST, seconds(after), tag=mode, entries=requests, flags=BLOCKING if blocking else 0)


def sender(dest: int, payload: Any, *, after: float = 0.0, tag: int = 0, nbytes: int = 0) -> Script:
    """A rank that sends one message."""
    yield send(dest, payload, after=after, tag=tag, nbytes=nbytes)


def finishes(execution: Execution) -> list[float]:
    """Return when each rank ends."""
    return [rank.finish for rank in execution.result.ranks]


# -- messages ---------------------------------------------------------------------------------------------


def test_a_message_brings_its_payload() -> None:
    """A receive gets source, tag and payload, and ends at the same time as in a replay."""
    heard: list[Any] = []

    def receiver() -> Script:
        heard.append((yield recv(1, 5)))

    done = run(receiver(), sender(0, b"data", after=1.0, tag=5, nbytes=2000))
    assert heard == [(1, 5, b"data")]
    assert done.result.engine == "live"
    assert finishes(done) == pytest.approx([1 + sending(2) + transmission(2) + RECEIVE, 1 + sending(2)])


def test_a_receive_from_any_source_takes_what_arrives_first() -> None:
    """A receive from any source takes rank 2's message, which arrives before rank 1's although rank 1 runs first."""
    heard: list[Any] = []

    def receiver() -> Script:
        heard.append((yield recv()))
        heard.append((yield recv()))

    done = run(receiver(), sender(0, "late", after=1.0), sender(0, "early", after=0.5))
    assert heard == [(2, 0, "early"), (1, 0, "late")]
    assert finishes(done)[0] == pytest.approx(1.0 + TRAVEL + RECEIVE)


def test_messages_of_one_time_are_taken_by_rank() -> None:
    """Of messages that arrive at the same time, the lowest rank's is taken first."""
    heard: list[Any] = []

    def receiver() -> Script:
        for _ in range(3):
            heard.append((yield recv())[0])

    run(receiver(), sender(0, "", after=0.5), sender(0, "", after=0.5), sender(0, "", after=0.5))
    assert heard == [1, 2, 3]


def test_tags_choose_among_arrivals() -> None:
    """A receive of a tag from any source passes over earlier messages with other tags."""
    heard: list[Any] = []

    def receiver() -> Script:
        heard.append((yield recv(ANY, 7)))
        heard.append((yield recv(ANY, ANY)))

    run(receiver(), sender(0, "a", tag=3), sender(0, "b", tag=7, after=1.0))
    assert heard == [(2, 7, "b"), (1, 3, "a")]


@pytest.mark.parametrize(("one", "other", "expected"), [(1.0, 0.5, ["2", "1"]), (0.5, 1.0, ["1", "1 again"])])
def test_an_undecided_receive_comes_before_those_posted_later(one: float, other: float, expected: list[str]) -> None:
    """A receive that names its source gets only a message that an earlier receive from any source did not take."""
    heard: list[Any] = []

    def receiver() -> Script:
        yield irecv(0)
        yield irecv(1, source=1)
        heard.extend(outcome[2] for outcome in (yield wait(0, 1)))

    def twice() -> Script:
        yield send(0, "1", after=one)
        yield send(0, "1 again", after=5.0)

    run(receiver(), twice(), sender(0, "2", after=other))
    assert heard == expected


def test_a_later_message_for_an_earlier_receive_delays_no_other() -> None:
    """Of two receives from any source, the first wants tag 7, sent at 3 s; the second gets tag 5, sent at 1 s, then.

    The sender of tag 7 is simulated before the message arrives that the second receive gets.
    """
    heard: list[Any] = []

    def receiver() -> Script:
        yield irecv(0, ANY, 7)
        yield irecv(1)
        for request in (1, 0):
            heard.extend((yield wait(request)))
            heard.append((yield Call(LiveOp.WTIME)))

    done = run(receiver(), sender(0, "early", after=1.0, tag=5), sender(0, "late", after=3.0, tag=7))
    early, late = pytest.approx(1.0 + TRAVEL), pytest.approx(3.0 + TRAVEL)
    assert heard == [(1, 5, "early"), early, (2, 7, "late"), late]
    assert not any(" late: " in warning for warning in done.result.warnings)


def test_many_receives_from_any_source_may_be_open() -> None:
    """Forty receives from any source, each of a tag of its own, get the messages of a rank that sends one by one."""
    heard: list[Any] = []
    tags = range(40)

    def receiver() -> Script:
        for tag in tags:
            yield irecv(tag, ANY, tag)
        heard.extend((yield wait(*tags)))

    def sending_all() -> Script:
        for tag in tags:
            yield send(0, f"message {tag}", tag=tag)

    done = run(receiver(), sending_all())
    assert heard == [(1, tag, f"message {tag}") for tag in tags]
    assert finishes(done)[0] == pytest.approx(40 * SEND + TRANSMIT)


def test_a_rendezvous_is_taken_by_its_envelope() -> None:
    """A rendezvous is matched when its envelope arrives; its data follow after the receive's answer."""
    heard: list[Any] = []

    def receiver() -> Script:
        heard.append((yield recv())[0])
        heard.append((yield recv())[0])

    done = run(receiver(), sender(0, "", after=0.5, nbytes=20_000), sender(0, "", after=0.6))
    assert heard == [1, 2]
    first = 0.5 + ANSWER + sending(20) + transmission(20) + RECEIVE
    assert finishes(done)[0] == pytest.approx(first + RECEIVE)


@pytest.mark.parametrize("op", [Op.PROBE, Op.MPROBE, Op.RECV])
def test_a_message_that_overtook_another_waits_for_it(op: Op) -> None:
    """A short message that overtakes a longer one of the same source is matched only when the longer one has come.

    This also holds for flows, whose end is not known in advance.
    """
    heard: list[Any] = []

    def receiver() -> Script:
        yield irecv(0)
        yield Call(op, peer=1, tag=0, request=1 if op is Op.MPROBE else NO_REQUEST)
        heard.append((yield Call(LiveOp.WTIME)))
        heard.append((yield Call(LiveOp.TEST, entries=(0,))))

    def overtaken() -> Script:
        yield Call(Op.ISEND, peer=0, nbytes=10_000, request=0, payload="long")
        yield Call(Op.ISEND, peer=0, nbytes=0, request=1, payload="short")

    slow = replace(LINK, transmission_delay=Curve.line(TRANSMIT, 1e-3))
    on = machine(2, link=slow)
    done = run(receiver(), overtaken(), on=replace(on, network=replace(on.network, contention=Flows(Switch(1e9)))))
    come = sending(10) + TRANSMIT + 10.0
    assert heard == [pytest.approx(come + RECEIVE), [(0, (1, 0, "long"))]]
    assert any("1 message was late" in warning for warning in done.result.warnings)


@pytest.mark.parametrize("ports", [False, True])
def test_the_head_of_a_message_decides(ports: bool) -> None:
    """A 9 KB message, whose head arrives at 0.61 s and end at 0.637 s, comes before an empty one at 0.63 s."""
    heard: list[Any] = []

    def receiver() -> Script:
        heard.append((yield recv())[0])
        heard.append((yield recv())[0])

    on = machine(3)
    on = replace(on, network=replace(on.network, contention=Ports())) if ports else on
    done = run(receiver(), sender(0, "long", after=0.5, nbytes=9000), sender(0, "short", after=0.52), on=on)
    assert heard == [1, 2]
    assert finishes(done)[0] == pytest.approx(0.5 + sending(9) + transmission(9) + 2 * RECEIVE)


def test_contention_decides_who_comes_first() -> None:
    """With contention, a receive from any source takes the message that arrives first under contention."""
    heard: list[Any] = []

    def receiver() -> Script:
        heard.append((yield recv()))

    on = machine(3, contention={1: 1.0, 2: 3.0})
    run(receiver(), sender(0, "first", after=0.5), sender(0, "slowed", after=0.5), on=on)
    assert heard == [(1, 0, "first")]


# -- waiting for some -------------------------------------------------------------------------------------


def test_waiting_for_any_ends_with_the_first() -> None:
    """Waitany returns the request that completes first, whatever its place in the list."""
    heard: list[Any] = []

    def receiver() -> Script:
        yield irecv(0, 1)
        yield irecv(1, 2)
        heard.append((yield some(Mode.ANY, 0, 1, blocking=True)))
        heard.append((yield Call(LiveOp.WTIME)))
        heard.append((yield some(Mode.ANY, 0, 1, blocking=True)))

    run(receiver(), sender(0, "late", after=1.0), sender(0, "early", after=0.5))
    assert heard == [[(1, (2, 0, "early"))], pytest.approx(0.5 + TRAVEL), [(0, (1, 0, "late"))]]


def test_waiting_for_any_takes_the_first_in_the_list_of_those_that_are_complete() -> None:
    """If all requests are complete at the call, Waitany takes the first in the list, not the first to complete."""
    heard: list[Any] = []

    def receiver() -> Script:
        yield irecv(0, 1)
        yield irecv(1, 2)
        heard.append((yield some(Mode.ANY, 0, 1, blocking=True, after=2.0)))

    run(receiver(), sender(0, "late", after=1.0), sender(0, "early", after=0.5))
    assert heard == [[(0, (1, 0, "late"))]]


def test_waiting_for_some_returns_all_that_are_there() -> None:
    """Waitsome returns all requests that complete at the time of the first, then the rest, then an empty list."""
    heard: list[Any] = []

    def receiver() -> Script:
        for source in (1, 2, 3):
            yield irecv(source, source)
        for _ in range(3):
            heard.append([i for i, _ in (yield some(Mode.SOME, 1, 2, 3, blocking=True))])

    run(receiver(), sender(0, "", after=0.5), sender(0, "", after=1.0), sender(0, "", after=0.5))
    assert heard == [[0, 2], [1], []]


def test_a_test_finds_what_has_ended_and_costs_if_it_finds_nothing() -> None:
    """A Test before the arrival finds nothing and costs a receive delay; one after it finds the message at no cost."""
    heard: list[Any] = []

    def receiver() -> Script:
        yield irecv(0, 1)
        heard.append((yield some(Mode.ALL, 0)))
        heard.append((yield some(Mode.ALL, 0, after=1.0)))

    done = run(receiver(), sender(0, "x", after=0.5))
    assert heard == [None, [(0, (1, 0, "x"))]]
    assert finishes(done)[0] == pytest.approx(RECEIVE + RECEIVE + 1.0)


def test_all_or_nothing() -> None:
    """Testall returns nothing until all requests are complete."""
    heard: list[Any] = []

    def receiver() -> Script:
        yield irecv(0, 1)
        yield irecv(1, 2)
        heard.append((yield some(Mode.ALL, 0, 1, after=0.8)))
        heard.append((yield some(Mode.ANY, 0, 1)))
        heard.append((yield wait(0, 1)))

    run(receiver(), sender(0, "a", after=0.5), sender(0, "b", after=1.0))
    assert heard == [None, [(0, (1, 0, "a"))], [None, (2, 0, "b")]]


# -- probes and polls -------------------------------------------------------------------------------------


def test_a_probe_looks_and_a_receive_takes() -> None:
    """A probe of any source ends with the first envelope, before its data, and leaves the message for a receive."""
    heard: list[Any] = []

    def receiver() -> Script:
        heard.append((yield Call(Op.PROBE, peer=ANY, tag=ANY)))
        heard.append((yield recv(heard[0][0])))

    done = run(receiver(), sender(0, "late", after=1.0), sender(0, "early", after=0.5, nbytes=1000))
    assert heard == [(2, 0, 1000), (2, 0, "early")]
    assert finishes(done)[0] == pytest.approx(0.5 + sending(1) + transmission(1) + RECEIVE)


@pytest.mark.parametrize("nbytes", [0, 70_000])
def test_what_a_probe_has_seen_keeps_its_place(nbytes: int) -> None:
    """Two messages come at 1 s and 2 s. At 3 s, a probe sees the first one, and receives take them in this order."""
    heard: list[Any] = []

    def receiver() -> Script:
        assert (yield Call(LiveOp.IPROBE, seconds(3.0), peer=ANY, tag=5)) is None
        heard.append((yield Call(Op.PROBE, peer=ANY, tag=ANY)))
        heard.append((yield recv()))
        heard.append((yield recv()))

    done = run(sender(1, "later", after=2.0, nbytes=nbytes), receiver(), sender(1, "first", after=1.0, nbytes=nbytes))
    assert heard == [(2, 0, nbytes), (2, 0, "first"), (0, 0, "later")]
    assert not any("late" in warning for warning in done.result.warnings)


def test_a_matched_probe_takes() -> None:
    """A message taken by a matched probe goes to that probe's receive only."""
    heard: list[Any] = []

    def receiver() -> Script:
        heard.append((yield Call(Op.MPROBE, peer=ANY, tag=ANY, request=0)))
        heard.append((yield recv()))
        heard.append((yield Call(Op.MRECV, request=0)))

    run(receiver(), sender(0, "second", after=1.0), sender(0, "first", after=0.5))
    assert heard == [(2, 0, 0), (1, 0, "second"), (2, 0, "first")]


@pytest.mark.parametrize("op", [LiveOp.IPROBE, LiveOp.IMPROBE])
def test_a_look_finds_only_what_is_there(op: LiveOp) -> None:
    """Iprobe finds a message when its envelope has arrived, not when it is sent; Improbe also takes it."""
    heard: list[Any] = []

    def receiver() -> Script:
        heard.append((yield Call(op, seconds(0.5), peer=ANY, tag=ANY, request=0)))
        heard.append((yield Call(op, seconds(0.5), peer=ANY, tag=ANY, request=0)))
        heard.append((yield Call(op, peer=ANY, tag=ANY, request=1)))
        if op is LiveOp.IMPROBE:
            heard.append((yield Call(Op.MRECV, request=0)))

    run(receiver(), sender(0, "x", after=0.5))
    taken = [None, (1, 0, "x")] if op is LiveOp.IMPROBE else [(1, 0, 0)]
    assert heard == [None, (1, 0, 0), *taken]


def test_a_look_passes_over_what_a_receive_will_take() -> None:
    """Iprobe does not find a message that a receive posted earlier will take."""
    heard: list[Any] = []

    def receiver() -> Script:
        yield irecv(0)
        heard.append((yield Call(LiveOp.IPROBE, seconds(0.8), peer=ANY, tag=ANY)))
        heard.append((yield Call(LiveOp.IPROBE, seconds(0.8), peer=ANY, tag=ANY)))
        heard.append((yield recv()))
        heard.append((yield wait(0)))

    run(receiver(), sender(0, "first", after=0.5), sender(0, "second", after=1.0))
    assert heard == [None, (2, 0, 0), (2, 0, "second"), [(1, 0, "first")]]


@pytest.mark.parametrize("receive", [RECEIVE, 0.0])
def test_a_loop_that_spins_ends_when_the_message_comes(receive: float) -> None:
    """A polling loop ends at the arrival, even if neither its polls nor its bursts take any time."""
    polls = []

    def receiver() -> Script:
        yield irecv(0, 1)
        while (yield some(Mode.ALL, 0)) is None:
            polls.append(1)

    on = machine(2, link=replace(LINK, receive_delay=receive))
    done = run(receiver(), sender(0, "", after=1000.0), on=on)
    assert finishes(done)[0] == pytest.approx(1000.0 + TRAVEL, abs=RECEIVE)
    assert len(polls) < 200


def test_a_loop_that_spins_passes_over_what_it_does_not_look_for() -> None:
    """A loop whose polls take no time waits for rank 1's message, although another one arrives before it."""
    polls = []

    def receiver() -> Script:
        yield irecv(0, 1, 0)
        while (yield some(Mode.ALL, 0)) is None:
            polls.append(1)
            assert len(polls) < 1000

    on = machine(3, link=replace(LINK, receive_delay=0.0))
    done = run(receiver(), sender(0, "", after=1000.0), sender(0, "", after=500.0), on=on)
    assert finishes(done)[0] == pytest.approx(1000.0 + TRAVEL)


def test_stated_bursts_tell_who_spins() -> None:
    """Bursts measured between polls do not count where they are stated to take no time: the loop spins."""
    polls = []

    def receiver() -> Script:
        while (yield Call(LiveOp.IPROBE, 100_000, peer=1, tag=ANY)) is None:
            polls.append(1)

    def stated(rank: int, _index: int, _call: Call) -> int:
        return seconds(1000.0) if rank else 0

    run(receiver(), sender(0, ""), burst=stated)
    assert len(polls) < 200


def test_a_rank_that_computes_between_its_polls_does_not_spin() -> None:
    """A rank polls 150 times without success, each time after 0.1 ms, then sends a request and waits for the answer.

    The last burst takes no time, as for a worker that has nothing left to do. That poll must not wait for a message
    that only the rank's own request brings.
    """

    def worker() -> Script:
        for number in range(151):
            burst = 100_000 if number < 150 else 0
            assert (yield Call(LiveOp.IPROBE, burst, peer=ANY, tag=ANY)) is None
        yield send(1)
        yield recv(1)

    def other() -> Script:
        yield recv(0)
        yield send(0)
        yield send(0, after=1000.0)

    done = run(worker(), other())
    begun = 150 * 100e-6 + 151 * RECEIVE
    assert finishes(done)[0] == pytest.approx(begun + 2 * (TRAVEL + RECEIVE))


def test_several_that_spin_do_not_keep_each_other_busy() -> None:
    """Eight ranks that poll for the same late sender take few polls each."""
    polls = []

    def receiver() -> Script:
        while (yield Call(LiveOp.IPROBE, peer=8, tag=ANY)) is None:
            polls.append(1)
        yield recv(8)

    def late() -> Script:
        for dest in range(8):
            yield send(dest, after=100.0)

    done = run(*(receiver() for _ in range(8)), late())
    assert finishes(done)[7] == pytest.approx(800.0 + 7 * SEND + TRAVEL + 2 * RECEIVE, abs=RECEIVE)
    assert len(polls) < 8 * 200


@pytest.mark.parametrize("receive", [RECEIVE, 0.0])
def test_polling_for_a_time_ends_near_it(receive: float) -> None:
    """A loop that polls until a given time overshoots it by little, although no message comes or polls take no time."""
    polls = []

    def receiver() -> Script:
        while (yield Call(LiveOp.WTIME)) < 10.0:
            assert (yield Call(LiveOp.IPROBE, peer=ANY, tag=ANY)) is None
            polls.append(1)
            assert len(polls) < 2000

    def other() -> Script:
        yield Call(Op.LOCAL)

    done = run(receiver(), other(), on=machine(2, link=replace(LINK, receive_delay=receive)))
    assert 10.0 <= finishes(done)[0] < 10.3


@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("progress", list(Progress))
def test_polling_for_a_time_takes_as_long_in_a_replay(progress: Progress, active: bool) -> None:
    """A loop that polls until 10 s lasts as long in a replay of its run, and in a run with its bursts, to the last bit.

    This holds although another rank's calls cut its waits short. A rendezvous for which the loop does not look is over
    before the loop: its rank is in a call all the time.
    """

    def receiver() -> Script:
        yield irecv(1, 1, 7)
        while (yield Call(LiveOp.WTIME)) < 10.0:
            assert (yield Call(LiveOp.IPROBE, seconds(1e-5), peer=1, tag=8)) is None
        yield Call(LiveOp.SLEEP, seconds(0.25), nbytes=seconds(0.5))
        yield wait(1)

    def other() -> Script:
        yield send(0, after=5.0, tag=7, nbytes=70_000)
        for _ in range(40 * active):
            yield Call(LiveOp.IPROBE, seconds(0.03), peer=0, tag=ANY)

    on = machine(2)
    on = replace(on, network=replace(on.network, progress=progress))
    done = run(receiver(), other(), on=on, record=True)
    assert done.trace is not None
    assert 10.75 <= finishes(done)[0] < 11.05
    for engine in ("reference", "fast"):
        assert simulate(done.trace, on, engine=engine).ranks == done.result.ranks
    again = run(receiver(), other(), on=on, record=True, burst=Replayed(done.trace).burst)
    assert again.result.ranks == done.result.ranks
    slept = done.trace.ops.are(Op.SLEEP)
    assert (done.trace.ops.flags[slept] == 0).sum() == 1


def test_polling_so_often_and_no_more() -> None:
    """A loop that gives up after a number of polls continues, although no message arrives."""

    def receiver() -> Script:
        for _ in range(300):
            assert (yield Call(LiveOp.IPROBE, peer=1, tag=ANY)) is None
        yield send(1, "given up")

    heard: list[Any] = []

    def other() -> Script:
        heard.append((yield recv(0)))

    done = run(receiver(), other())
    assert heard == [(0, 0, "given up")]
    assert finishes(done)[0] == pytest.approx(300 * RECEIVE + SEND)
    assert not any("polling" in warning for warning in done.result.warnings)


def test_a_count_of_polls_that_reads_the_time_is_told() -> None:
    """Each poll after the hundredth takes r and then 1/64 of the time t of the loop: t grows to 65/64 (t + r).

    From t = 100 r on, 200 such polls lead to 165 r (65/64)^200 - 65 r, where 300 polls take 300 r; a warning says so.
    """

    def receiver() -> Script:
        for _ in range(300):
            assert (yield Call(LiveOp.IPROBE, peer=1, tag=ANY)) is None
            yield Call(LiveOp.WTIME)
        yield send(1)

    def other() -> Script:
        yield recv(0)

    done = run(receiver(), other())
    assert finishes(done)[0] == pytest.approx((165 * (65 / 64) ** 200 - 65) * RECEIVE + SEND)
    assert any("1 polling loop that read the time went on" in warning for warning in done.result.warnings)


@pytest.mark.parametrize("polls", [100, 300])
def test_a_time_that_is_read_after_a_count_of_polls_is_no_part_of_the_loop(polls: int) -> None:
    """A program that reads the time before and after its polls takes a poll's time for each; nothing is to be told."""

    def receiver() -> Script:
        yield Call(LiveOp.WTIME)
        for _ in range(polls):
            assert (yield Call(LiveOp.IPROBE, peer=1, tag=ANY)) is None
        yield Call(LiveOp.WTIME)
        yield send(1)

    def other() -> Script:
        yield recv(0)

    done = run(receiver(), other())
    assert finishes(done)[0] == pytest.approx(polls * RECEIVE + SEND)
    assert not any("polling" in warning for warning in done.result.warnings)


def test_a_count_of_polls_ends_though_others_go_on() -> None:
    """Rank 1 polls 103 times without success and sends, twice, to rank 0, which tests after each second of computation.

    Rank 0 tests at 1.001 s (it has posted a receive), then each 1.001 s. Rank 1 spins after 100 polls: its last three
    end at those times. The second time it is known to count, and each of its polls takes as long as the first ones.
    """
    bursts = []

    def worker() -> Script:
        for request in range(2):
            yield irecv(request, 1)
            while (yield some(Mode.ALL, request, after=1.0)) is None:
                bursts.append(1)
                assert len(bursts) < 1000

    def patient() -> Script:
        for _ in range(2):
            for _ in range(103):
                assert (yield Call(LiveOp.IPROBE, peer=0, tag=ANY, line=1)) is None
            yield send(0)

    done = run(worker(), patient())
    assert finishes(done) == pytest.approx([5.005, 3 * 1.001 + SEND + 103 * RECEIVE + SEND])
    assert any("1 polling loop went on" in warning for warning in done.result.warnings)


@pytest.mark.parametrize("asks", [False, True])
def test_a_count_of_polls_ends_though_others_find_messages_or_ask_for_the_time(asks: bool) -> None:
    """A rank that counts its polls goes on beside one whose probes never end and find the same message each time."""
    polls = []

    def other() -> Script:
        yield Call(Op.IRECV, peer=1, tag=1, request=0)
        while (yield some(Mode.ALL, 0)) is None:
            if asks:
                yield Call(LiveOp.WTIME)
            else:
                yield Call(LiveOp.IPROBE, peer=2, tag=2)
            polls.append(1)
            assert len(polls) < 10_000

    def patient() -> Script:
        for _ in range(150):
            assert (yield Call(LiveOp.IPROBE, peer=0, tag=ANY)) is None
        yield send(0, tag=1)

    run(other(), patient(), sender(0, "", tag=2))
    assert polls


def test_continuing_often_is_no_deadlock() -> None:
    """A rank continues 101 * 100 times after 100 polls, as nothing else can happen; calls in between count it anew."""

    def patient() -> Script:
        for _ in range(101):
            for _ in range(200):
                yield Call(Op.POLL, peer=ANY)
            yield Call(Op.LOCAL)

    assert finishes(run(patient())) == pytest.approx([101 * 200 * RECEIVE / 10])


def test_polling_for_ever_is_a_deadlock() -> None:
    """A loop that polls for a message that no rank sends ends the simulation, with the program's line."""

    def receiver() -> Script:
        yield Call(LiveOp.LINE, request=3, payload=("/home/me/wait.py", 17))
        while (yield Call(LiveOp.IPROBE, peer=ANY, tag=ANY, line=3)) is None:
            pass

    with pytest.raises(DeadlockError, match=r"rank 0 .* polls \(wait.py:17\)"):
        run(receiver())


# -- programs ---------------------------------------------------------------------------------------------


def master(workers: int, tasks: int, shares: dict[int, int]) -> Script:
    """A master that gives a task to each worker that asks."""
    stopped = 0
    while stopped < workers:
        source, _, _ = yield recv()
        task = sum(shares.values()) < tasks
        shares[source] += task
        stopped += not task
        yield send(source, task)


def worker(work: float) -> Script:
    """A worker that asks for tasks as long as there are any."""
    yield send(0)
    while (yield recv(0))[2]:
        yield send(0, after=work)


def test_the_fast_worker_gets_its_share_by_speed() -> None:
    """Self-scheduling gives a worker that is 9 times as fast as three others 9 tasks for each task of theirs."""
    shares = dict.fromkeys(range(1, 5), 0)
    works = [100.0, 900.0, 900.0, 900.0]
    run(master(4, 120, shares), *map(worker, works))
    assert shares == {1: 90, 2: 10, 3: 10, 4: 10}


def test_a_processor_that_slows_down_gets_less() -> None:
    """If one of two equal workers takes twice as long from 1000 s on, it does a third of the remaining work."""
    shares = {1: 0, 2: 0}
    slow = machine(3)
    nodes = (slow.nodes[0], slow.nodes[1], machine(1, performance_factor=2.0).nodes[0])
    later = Machine("slower", nodes, slow.network)
    run(master(2, 50, shares), worker(100.0), worker(100.0), on=machine(3, changes=((1000.0, later),)))
    assert abs(shares[1] - (10 + 20)) <= 1
    assert sum(shares.values()) == 50


def test_who_waits_for_what_and_where() -> None:
    """A deadlock names the program line where each rank is blocked."""

    def receiver(line: int) -> Script:
        yield Call(LiveOp.LINE, request=0, payload=("/home/me/ring.py", line))
        yield recv(line % 2)._replace(line=0)

    with pytest.raises(DeadlockError) as raised:
        run(receiver(11), receiver(12))
    assert [each.waits_for.split("(")[1] for each in raised.value.blocked] == ["ring.py:11)", "ring.py:12)"]


def test_a_deadlock_says_which_request_is_open() -> None:
    """A rank that waits for requests is reported to wait for the first open one."""

    def program(rank: int) -> Script:
        yield irecv(0, 1 - rank, 3)
        yield Call(Op.ISEND, peer=1 - rank, tag=4, nbytes=20_000, request=1)
        yield wait(0, 1) if rank else some(Mode.ANY, 1, 0, blocking=True)

    with pytest.raises(DeadlockError) as raised:
        run(program(0), program(1))
    assert [each.waits_for for each in raised.value.blocked] == [
        "one of 2 requests, the receive of its message to rank 1",
        "one of 2 requests, irecv from rank 0, tag 3, on communicator 0",
    ]


def test_a_deadlock_of_any_source_says_so() -> None:
    """A deadlock in a receive from any source says "any rank, any tag"."""

    def receiver() -> Script:
        yield recv()

    with pytest.raises(DeadlockError, match="recv from any rank, any tag"):
        run(receiver())


# -- time -------------------------------------------------------------------------------------------------


def test_time_is_virtual_and_sleeping_costs_it() -> None:
    """Bursts and sleeps move the clock that a program reads."""
    heard: list[Any] = []

    def program() -> Script:
        heard.append((yield Call(LiveOp.WTIME, seconds(2.0))))
        yield Call(LiveOp.SLEEP, nbytes=seconds(3.0))
        heard.append((yield Call(LiveOp.WTIME)))

    done = run(program(), on=machine(1, performance_factor=0.5), record=True)
    assert heard == [1.0, 4.0]
    assert done.trace is not None
    on = machine(1, performance_factor=0.5)
    assert simulate(done.trace, on).ranks == simulate(done.trace, on, engine="reference").ranks == done.result.ranks
    assert done.result.ranks[0].compute == 1.0
    assert done.result.ranks[0].wait == 3.0


def test_bursts_can_be_given() -> None:
    """A rule for bursts is called for each op of the trace, with its number, and not for other calls."""
    asked = []

    def program() -> Script:
        yield Call(LiveOp.WTIME, 7)
        yield Call(Op.LOCAL, 8)
        yield Call(LiveOp.TEST, 9)

    def rule(rank: int, index: int, call: Call) -> int:
        asked.append((rank, index, call.cpu))
        return seconds(1.0)

    done = run(program(), burst=rule)
    assert asked == [(0, 0, 8), (0, 1, 9), (0, 2, 0)]
    assert finishes(done) == [3.0]


def test_regions_are_told_apart() -> None:
    """Computation is counted by region and scaled by the region's factor."""

    def program() -> Script:
        yield Call(Op.LOCAL, seconds(1.0))
        index = yield Call(LiveOp.REGION, payload="solve")
        assert index == 1
        yield Call(Op.COMPUTE, seconds(1.0), region=index)

    done = run(program(), on=machine(1, performance_factors={"solve": 3.0}))
    assert done.result.compute_by_region == {"": 1.0, "solve": 3.0}


# -- the rest ---------------------------------------------------------------------------------------------


def test_a_cancelled_receive_takes_nothing() -> None:
    """A receive without a message can be cancelled; one that has its message cannot."""
    heard: list[Any] = []

    def receiver() -> Script:
        yield irecv(0)
        yield Call(LiveOp.CANCEL, request=0)
        heard.append((yield wait(0)))
        yield irecv(1)
        yield Call(LiveOp.WTIME, seconds(5.0))
        heard.append((yield some(Mode.ALL, 1)))
        yield Call(LiveOp.CANCEL, request=1)
        heard.append((yield wait(1)))

    run(receiver(), sender(0, "x"))
    assert heard == [["cancelled"], [(0, (1, 0, "x"))], [None]]


@pytest.mark.parametrize("receiver", [0, 1])
@pytest.mark.parametrize("tag", [0, ANY])
@pytest.mark.parametrize("sent", [0.0, 5.0])
def test_cancelling_depends_on_virtual_time_only(receiver: int, tag: int, sent: float) -> None:
    """A receive cancelled after 1 s gets a message sent at 0 s; one sent at 5 s goes to the next receive that fits.

    It does not matter which rank is simulated first.
    """
    other, heard = 1 - receiver, []

    def cancelling() -> Script:
        yield irecv(0, other, tag)
        yield irecv(1, other, tag)
        yield Call(LiveOp.CANCEL, seconds(1.0), request=0)
        heard.extend((yield wait(0, 1)))
        if sent:
            heard.append((yield recv(other, 0)))

    def sending_two() -> Script:
        yield send(receiver, "x", after=sent)
        yield send(receiver, "y")

    scripts = [cancelling(), sending_two()]
    done = run(*(scripts if receiver == 0 else reversed(scripts)))
    both = [(other, 0, "x"), (other, 0, "y")]
    assert heard == (["cancelled", *both] if sent else both)
    cancelled = 2 * RECEIVE + 1.0
    assert finishes(done)[receiver] == pytest.approx(5.0 + SEND + TRAVEL + RECEIVE if sent else cancelled)


@pytest.mark.parametrize(
    ("wanted", "cancelled"),
    [([(1, 5), (1, ANY)], [0]), ([(1, 5), (1, 5), (1, ANY)], [0]), ([(1, 5), (ANY, 5), (1, ANY)], [0, 1])],
)
@pytest.mark.parametrize("ports", [False, True])
def test_the_message_of_a_cancelled_receive_goes_to_the_next_that_fits_it(
    wanted: list[tuple[int, int]], cancelled: list[int], ports: bool
) -> None:
    """Messages of tags 5 and 7 are sent at 5 s; receives posted at 0 s are cancelled at 1 s.

    The first message goes to the first receive left that fits it, of tag 5 or of any tag, whether the sender is
    simulated ahead of the receiver or takes turns with it (ports).
    """
    heard: list[Any] = []
    kept = [request for request in range(len(wanted)) if request not in cancelled]

    def receiver() -> Script:
        for request, (source, tag) in enumerate(wanted):
            yield irecv(request, source, tag)
        yield Call(Op.COMPUTE, seconds(1.0))
        for request in cancelled:
            yield Call(LiveOp.CANCEL, request=request)
        heard.extend((yield wait(*cancelled)))
        heard.extend((yield wait(*kept)))
        if len(kept) == 1:
            heard.append((yield recv(1, 7)))

    def both() -> Script:
        yield send(0, "x", after=5.0, tag=5)
        yield send(0, "y", tag=7)

    on = machine(2)
    on = replace(on, network=replace(on.network, contention=Ports())) if ports else on
    run(receiver(), both(), on=on)
    assert heard == [*["cancelled"] * len(cancelled), (1, 5, "x"), (1, 7, "y")]


def test_a_receive_whose_message_is_on_its_way_can_be_cancelled() -> None:
    """A message sent at 0 s arrives after 110 ms; a receive of its source, cancelled before, leaves it to the next."""
    heard: list[Any] = []

    def receiver() -> Script:
        yield irecv(0, 1, 0)
        yield Call(LiveOp.CANCEL, seconds(0.05), request=0)
        heard.extend((yield wait(0)))
        heard.append((yield recv(1, 0)))

    done = run(receiver(), sender(0, "x"))
    assert heard == ["cancelled", (1, 0, "x")]
    assert finishes(done)[0] == pytest.approx(TRAVEL + RECEIVE)


def test_a_spawned_world_begins_after_both_delays() -> None:
    """The spawn delay is the parents', the initialisation the children's; parent and child can communicate."""
    heard: list[Any] = []

    def parent() -> Script:
        heard.append((yield Call(Op.SPAWN, peer=0, nbytes=2, payload="go")))
        if len(heard) == 1:
            yield Call(LiveOp.ANNOUNCE, entries=(0, 1), payload=("family", (2, 3), "Spawn"))
            heard.append((yield recv(3)._replace(context=1)))

    def child(payload: Any) -> Script:
        yield Call(LiveOp.ANNOUNCE, entries=(2, 3), payload=("family", (0, 1), "Spawn"))
        yield send(0, payload)._replace(context=1)

    def spawn(index: int, ranks: Any, payload: Any) -> list[Scripted]:
        assert (index, tuple(ranks)) == (1, (2, 3))
        return [Scripted(child(payload)) for _ in ranks]

    on = machine(4, spawn_delay=2.0, initialisation_delay=0.5)
    done = run(parent(), parent(), on=on, spawn=spawn, traffic=True, record=True)
    assert heard == [(1, (2, 3)), (1, (2, 3)), (3, 0, "go")]
    assert finishes(done) == pytest.approx([2.5 + TRAVEL + RECEIVE, 2.0, 2.5 + SEND, 2.5 + SEND])
    assert done.result.traffic is not None
    assert done.result.traffic.messages[3, 0] == 1
    assert done.trace is not None
    assert simulate(done.trace, on, engine="reference").ranks == done.result.ranks


def test_a_spawned_rank_shares_the_processor_that_is_left() -> None:
    """Parent and child on one processor compute at half speed each once the child has started."""

    def parent() -> Script:
        yield Call(Op.SPAWN, seconds(1.0), peer=0, nbytes=1)
        yield Call(Op.LOCAL, seconds(1.0))

    def child() -> Script:
        yield Call(Op.LOCAL, seconds(2.0))

    done = run(parent(), on=machine(1), spawn=lambda *_: [Scripted(child())])
    # Both run at half speed from 1 s to 3 s; then the child has 1 s left alone.
    assert finishes(done) == pytest.approx([3.0, 4.0])


def test_one_sided_operations_are_served_when_they_arrive() -> None:
    """A waiting rank serves requests of others at no cost to itself; the reply travels as a message."""
    memory: list[Any] = []

    def serve(payload: Any) -> int:
        memory.append(payload)
        return len(memory)

    def target() -> Script:
        yield recv(1)

    heard: list[Any] = []

    def origin() -> Script:
        yield Call(Op.RMA, peer=0, nbytes=1000, payload="a", request=0, entries=(2000,))
        yield Call(Op.RMA, peer=0, nbytes=0, payload="b", request=1, entries=(0,))
        heard.append((yield wait(0, 1)))
        yield send(0)

    done = execute([Scripted(target(), serve), Scripted(origin())], machine(2))
    assert memory == ["a", "b"]
    assert heard == [[1, 2]]
    # The second request leaves s(1 KB) later, and its reply arrives last.
    assert finishes(done)[1] == pytest.approx(sending(1) + 2 * TRAVEL + SEND)


def serving(served: list[Any]) -> Callable[[Any], Any]:
    """Return what a rank does when operations of others arrive: it appends their payloads to a list."""
    return served.append


def test_one_sided_operations_do_not_overtake_each_other() -> None:
    """With flows, the data of a put take 10 s; an operation of the same origin without data is served after it."""
    served: list[Any] = []

    def target() -> Script:
        yield recv(1)

    def origin() -> Script:
        yield Call(Op.RMA, peer=0, nbytes=10_000, payload="put", request=0)
        yield Call(Op.RMA, peer=0, payload="nothing", request=1)
        yield wait(0, 1)
        yield send(0)

    slow = replace(LINK, transmission_delay=Curve.line(TRANSMIT, 1e-3))
    on = machine(2, link=slow)
    on = replace(on, network=replace(on.network, contention=Flows(Switch(1e9))))
    done = execute([Scripted(target(), serving(served)), Scripted(origin())], on)
    assert served == ["put", "nothing"]
    assert finishes(done)[1] == pytest.approx(sending(10) + TRANSMIT + 10.0 + TRAVEL + SEND)


def test_a_library_without_progress_serves_within_calls() -> None:
    """Operations that arrive while their target computes are served when it calls, in the order of their arrivals."""
    served: list[Any] = []

    def target() -> Script:
        yield recv(1, after=1.5)
        yield recv(2)

    def origin(after: float, payload: str) -> Script:
        yield Call(Op.RMA, seconds(after), peer=0, payload=payload, request=0)
        yield wait(0)
        yield send(0)

    on = machine(3)
    on = replace(on, network=replace(on.network, progress=Progress.CALLS))
    scripts = Scripted(target(), serving(served)), Scripted(origin(0.5, "late")), Scripted(origin(0.0, "early"))
    done = execute(scripts, on)
    assert served == ["early", "late"]
    assert finishes(done)[1:] == pytest.approx([1.5 + TRAVEL + SEND] * 2)


def test_who_watches_its_memory_sees_it_change() -> None:
    """A rank that polls and reads its own memory continues when another rank has changed it."""
    memory: list[Any] = []
    polls = []

    def watcher() -> Script:
        while not memory:
            yield Call(Op.POLL, peer=ANY)
            polls.append(1)

    def writer() -> Script:
        yield Call(Op.RMA, seconds(100.0), peer=0, payload="x", request=0)
        yield wait(0)

    done = execute([Scripted(watcher(), serving(memory)), Scripted(writer())], machine(2))
    assert finishes(done)[0] == pytest.approx(100.0 + TRAVEL, abs=RECEIVE)
    assert len(polls) < 200


@pytest.mark.parametrize(
    ("call", "text", "status"),
    [
        (Call(LiveOp.ABORT, nbytes=3), r"rank 1 called Abort\(3\)", 3),
        (Call(LiveOp.RAISED, payload="ValueError: no"), "rank 1 raised ValueError: no", 1),
        (Call(LiveOp.END, nbytes=4), "rank 1 must end well, got exit status 4", 4),
    ],
)
def test_a_rank_that_fails_ends_it(call: Call, text: str, status: int) -> None:
    """Failures name the rank and carry the exit status."""

    def failing() -> Script:
        yield call

    with pytest.raises(LiveError, match=text) as raised:
        run(sender(1, ""), failing(), name="prog.py")
    assert (raised.value.rank, raised.value.status) == (1, status)


def test_what_a_source_raises_comes_out_as_it_is() -> None:
    """An exception raised by a source passes through the kernel unchanged."""
    error = LiveError("gone", 1, 9)

    def failing() -> Script:
        yield Call(Op.LOCAL)
        raise error

    with pytest.raises(LiveError) as raised:
        run(failing())
    assert raised.value is error


def test_a_failure_ends_ranks_that_never_block() -> None:
    """A rank that runs on at the same virtual time does not delay the end of a run in which another one failed."""
    readings = []

    def failing() -> Script:
        yield Call(LiveOp.ABORT, nbytes=3)

    def reading() -> Script:
        for _ in range(100):
            readings.append(1)
            yield Call(LiveOp.WTIME)

    with pytest.raises(LiveError, match="rank 0 called Abort"):
        run(failing(), reading())
    assert len(readings) <= 1


@pytest.mark.parametrize("each", [0.0, 1e-6])
def test_a_loop_that_waits_for_a_time_that_never_comes_is_refused(monkeypatch: pytest.MonkeyPatch, each: float) -> None:
    """Readings of a clock that stands still end a run after too many in a row; 300 readings 1 us apart do not."""
    monkeypatch.setattr(conversation, "_MOST_LOOKS", 100)

    def waiting() -> Script:
        now = 0.0
        while now < 299.5e-6:
            now = yield Call(LiveOp.WTIME, seconds(each))

    if each:
        assert finishes(execute([Scripted(waiting())], machine(1)))[0] == pytest.approx(300e-6)
        return
    text = "rank 0 must let virtual time pass, but asked for the time 100 times in a row"
    with pytest.raises(LiveError, match=text) as raised:
        execute([Scripted(waiting())], machine(1))
    assert raised.value.rank == 0


# -- what is kept -----------------------------------------------------------------------------------------


def events(**options: Any) -> tuple[list[Any], Execution]:
    """Run a self-scheduled program; return all answers in order, and the execution."""
    shares = dict.fromkeys(range(1, 4), 0)
    scripts = (master(3, 20, shares), *(worker(work) for work in (1.0, 2.5, 2.5)))
    sources = [Scripted(_in_world(script, 4)) for script in scripts]
    done = execute(sources, machine(4), timeline=True, record=True, **options)
    return [source.heard for source in sources], done


def test_two_runs_are_one() -> None:
    """With fixed bursts, two runs give the same answers and the same timeline."""
    (first, one), (second, other) = events(), events()
    assert first == second
    assert one.result.timeline is not None and other.result.timeline is not None
    assert (one.result.timeline.segments == other.result.timeline.segments).all()


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_what_happened_can_be_replayed(engine: str) -> None:
    """A replay of the recorded trace on the same machine gives the same figures to the last bit."""
    _, done = events()
    assert done.trace is not None
    replayed = simulate(done.trace, machine(4), engine=engine)
    assert replayed.ranks == done.result.ranks
    assert replayed.ops == done.result.ops
    received = done.trace.ops.op == Op.RECV
    assert (done.trace.ops.flags[received] & Flag.ANY_SOURCE > 0).sum() == 20 + 3
    assert (done.trace.ops.peer[received] >= 0).all()


def test_an_access_to_nobody_belongs_to_its_window() -> None:
    """Rank 1, whose communicator is the second one, keeps a put without a target there; it costs nothing."""

    def program(rank: int) -> Script:
        window = yield Call(LiveOp.ANNOUNCE, entries=(rank,), payload=(f"window {rank}", None, "Win.Create"))
        if rank == 1:
            yield Call(Op.RMA, peer=PROC_NULL, nbytes=1000, request=0, context=window)
            yield wait(0, after=1.0)

    done = execute([Scripted(program(rank)) for rank in range(2)], machine(), record=True)
    assert done.trace is not None
    (row,) = done.trace.ops.comm[done.trace.ops.are(Op.RMA)].tolist()
    assert done.trace.head.communicators[row].group == (1,)
    assert [each.finish for each in simulate(done.trace, machine()).ranks] == finishes(done) == [0.0, 1.0]


def mixed(rank: int) -> Script:
    """A rank that makes many kinds of calls that name partners and sizes."""
    region = yield Call(LiveOp.REGION, payload="work")
    right, left = (rank + 1) % 3, (rank - 1) % 3
    yield irecv(0, left, 1)
    yield Call(Op.ISEND, seconds(0.1 * rank), region, right, 1, nbytes=20_000, request=1)
    yield Call(LiveOp.WTIME, seconds(0.2), region)
    yield wait(0, 1)._replace(region=region)
    yield Call(Op.ALLREDUCE, seconds(0.3), nbytes=8000)
    yield Call(Op.BCAST, peer=2, nbytes=100, request=2, flags=int(Flag.NONBLOCKING))
    yield Call(Op.ALLTOALLV, entries=(10 * rank,) * 3 + (0, 10, 20))
    yield Call(Op.GATHERV, peer=1, nbytes=rank, entries=(0, 1, 2) if rank == 1 else ())
    yield Call(Op.NEIGHBOR, entries=(1, right, 5000, 1, left))
    yield wait(2)
    if rank:
        yield send(0, after=0.1 * rank)
    else:
        yield irecv(3)
        yield irecv(4)
        done = yield some(Mode.ANY, 3, 4, blocking=True)
        yield wait(4 - done[0][0])


@pytest.mark.parametrize("contention", [None, {1: 1.0, 4: 2.0}])
def test_a_mixed_program_can_be_replayed(contention: dict[int, float] | None) -> None:
    """A replay of the recorded trace gives the same times, traffic and regions, with and without contention."""
    on = machine(3, contention=contention)
    done = run(*map(mixed, range(3)), on=on, record=True, traffic=True)
    assert done.trace is not None
    replayed = simulate(done.trace, on, engine="reference", traffic=True)
    assert [each.finish for each in replayed.ranks] == pytest.approx(finishes(done), rel=1e-12)
    assert done.result.traffic is not None and replayed.traffic is not None
    assert (done.result.traffic.nbytes == replayed.traffic.nbytes).all()
    assert done.trace.head.regions == ("", "work")


# -- collectives ------------------------------------------------------------------------------------------


def collective(call: Callable[[int], Call], ranks: int = 3, reduces: int = NO_REQUEST) -> list[Any]:
    """Let ranks make a collective and return their answers; reductions add, on *reduces* ranks if given."""
    heard: list[Any] = [None] * ranks
    reduced = []

    def member(rank: int) -> Script:
        mine = call(rank)
        answer = yield mine._replace(cpu=seconds(0.1 * rank))
        if mine.flags & Flag.NONBLOCKING:
            (answer,) = yield wait(mine.request)
        if isinstance(answer, tuple):
            serial, result, rest = answer
            if rest:
                reduced.append(rank)
                result = (result or 0) + sum(rest)
                yield Call(LiveOp.RESULT, request=serial, payload=result)
            answer = result
        heard[rank] = answer

    run(*(member(rank) for rank in range(ranks)))
    assert reduces in {NO_REQUEST, len(reduced)}
    return heard


def test_who_gets_what() -> None:
    """Every collective delivers the right data to each member."""
    size = 8
    assert collective(lambda _: Call(Op.BARRIER)) == [None] * 3
    assert collective(lambda r: Call(Op.BCAST, peer=1, nbytes=size, payload=r)) == [1, None, 1]
    for op in (Op.GATHER, Op.REDUCE):
        assert collective(lambda r, op=op: Call(op, peer=2, nbytes=size, payload=r)) == [None, None, [0, 1, 2]]  # type: ignore[misc]
    parts = ["a", "b", "c"]
    assert collective(lambda r: Call(Op.SCATTER, peer=0, nbytes=size, payload=None if r else parts)) == parts
    for op in (Op.ALLGATHER, Op.COMM):
        assert collective(lambda r, op=op: Call(op, nbytes=size, payload=r)) == [[0, 1, 2]] * 3  # type: ignore[misc]
    exchanged = collective(lambda r: Call(Op.ALLTOALL, nbytes=size, payload=[(r, d) for d in range(3)]))
    assert exchanged == [[(s, d) for s in range(3)] for d in range(3)]


def test_reductions_are_made_once() -> None:
    """The first member to finish an allreduce reduces for all; scans build on the prefix before."""
    assert collective(lambda r: Call(Op.ALLREDUCE, nbytes=8, payload=r + 1), 8, reduces=1) == [36] * 8
    assert collective(lambda r: Call(Op.SCAN, nbytes=8, payload=r + 1), 4) == [1, 3, 6, 10]
    assert collective(lambda r: Call(Op.EXSCAN, nbytes=8, payload=r + 1), 4) == [None, 1, 3, 6]


def test_a_nonblocking_collective_answers_in_its_wait() -> None:
    """The data of a nonblocking collective are delivered by its wait."""
    flags = int(Flag.NONBLOCKING)
    call = Call(Op.ALLREDUCE, nbytes=8, payload=1, request=5, flags=flags)
    assert collective(lambda _: call, reduces=1) == [3] * 3


def test_neighbours_exchange_along_edges() -> None:
    """If several edges join the same ranks, the k-th edge delivers the k-th payload."""

    def call(rank: int) -> Call:
        other = 1 - rank
        edges = (2, other, other, 8, 8, 3, other, -1, other)
        return Call(Op.NEIGHBOR, entries=edges, payload=[f"{rank} first", f"{rank} second"])

    assert collective(call, 2) == [["1 first", None, "1 second"], ["0 first", None, "0 second"]]


def test_members_must_make_the_same_call() -> None:
    """A barrier on one rank while others broadcast is an error."""
    with pytest.raises(ReplayError, match="rank 1 makes BARRIER where another one makes BCAST"):
        collective(lambda r: Call(Op.BARRIER if r == 1 else Op.BCAST, peer=0, nbytes=8))


def test_members_must_name_the_same_root() -> None:
    """A broadcast from rank 1 on one rank and from rank 0 on the others is an error."""
    with pytest.raises(ReplayError, match="rank 2 names 1 in its BCAST where another one names 0"):
        collective(lambda r: Call(Op.BCAST, peer=int(r == 2), nbytes=8))


def test_algorithms_that_cannot_be_followed_are_said() -> None:
    """A warning says that a Gatherv in a live run is linear, whatever the machine states.

    A tree would need sizes that only the root knows. A stated linear algorithm gives no warning.
    """

    def nothing() -> Script:
        yield from ()

    def warnings(*algorithms: str, of: str = "gatherv") -> list[str]:
        base = machine(1)
        choice = AlgorithmChoice(tuple(zip((4000, float("inf"))[-len(algorithms) :], algorithms, strict=True)))
        on = replace(base, network=replace(base.network, collectives={of: choice}))
        return [text for text in run(nothing(), on=on).result.warnings if of in text]

    assert warnings("linear") == warnings("linear_sync") == []
    assert [text.partition(": ")[2] for text in warnings("linear_sync", "linear")] == [
        "gatherv is linear in live runs, not linear_sync"
    ]
    assert [text.partition(": ")[2] for text in warnings("binomial")] == [
        "gatherv is linear in live runs, not binomial"
    ]
    assert [text.partition(": ")[2] for text in warnings("linear", "pairwise", of="alltoallv")] == [
        "in live runs the blocks of the rank that calls first decide the algorithm of alltoallv"
    ]
    assert warnings("linear", of="alltoallv") == []


def test_bursts_of_another_processor_are_told() -> None:
    """If bursts were not measured on the reference processor of the machine, a warning names both, as in a replay."""

    def program() -> Script:
        yield Call(Op.LOCAL, seconds(1.0))

    on = replace(machine(1), reference_processor="Intel Xeon")
    said = "bursts were measured on AMD Ryzen: record or run the program on Intel Xeon"
    assert [said in text for text in run(program(), on=on, processor="AMD Ryzen").result.warnings] == [True]
    assert run(program(), on=on, processor="Intel Xeon").result.warnings == ()
    assert run(program(), on=on).result.warnings == ()
