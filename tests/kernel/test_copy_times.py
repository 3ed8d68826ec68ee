"""Receivers that copy the messages of their node one at a time, by hand: data of a rendezvous wait for those before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clue.explain import explain
from clue.explain.efficiencies import with_ideal_network
from clue.explain.shares import part_shares
from clue.kernel import Candidate, compile_program, contention_free, simulate
from clue.kernel.live import execute
from clue.machine import (
    Contention,
    Curve,
    Link,
    LinkNoise,
    Machine,
    Network,
    NoContention,
    NodeType,
    Placement,
    Progress,
)
from clue.result import Part
from clue.trace import Trace, TraceBuilder
from clue.uncertainty import Sample
from clue.uncertainty.machines import draw_machine
from tests.kernel.cases import ENGINES, MODELS, finishes, need_fast_engine
from tests.kernel.live_sources import playing

MB = 10**6
#: A rendezvous of 1 MB keeps its sender for 0.5 s and arrives after 1.5 s; its receiver copies it for 1 s.
COPYING = Link(
    Curve.line(0.0, 5e-7), Curve.line(0.0, 1e-6), eager_limit=1000, send_overhead=Curve.line(0.0),
    copy_time=Curve.line(0.0, 1e-6),
)  # fmt: skip
#: A link that takes no time, except for how long rendezvous are.
BETWEEN = Link(Curve.line(0.0), Curve.line(0.0, 1e-6), eager_limit=1000)


def machine(
    within: Link = COPYING,
    contention: Contention | None = None,
    *,
    nodes: int = 1,
    bandwidth: float | None = None,
    progress: Progress = Progress.ASYNCHRONOUS,
) -> Machine:
    """Return a machine of nodes of eight processors."""
    node = NodeType("host", processors=8, copy_bandwidth=bandwidth)
    network = Network(BETWEEN, within, contention=contention or NoContention(), progress=progress)
    return Machine("hand-made", (node,) * nodes, network)


def window(*sizes: int) -> Trace:
    """Return a program in which rank 0 sends messages to rank 1, all at once; both then wait for all of them."""
    trace = TraceBuilder(2)
    trace[0].wait(*[trace[0].isend(1, size) for size in sizes])
    trace[1].wait(*[trace[1].irecv(0) for _ in sizes])
    return trace.build()


@ENGINES
@MODELS
@pytest.mark.parametrize("progress", Progress)
def test_a_receiver_copies_one_message_at_a_time(engine: str, contention: Contention, progress: Progress) -> None:
    """Data of three rendezvous of 1 MB start at 0, 1 and 2 s: they have left at 0.5, 1.5, 2.5 and arrive at 3.5 s."""
    on = machine(contention=contention, progress=progress)
    assert finishes(window(MB, MB, MB), on, engine, (0, 0)) == [2.5, 3.5]


@ENGINES
def test_without_copy_time_messages_do_not_wait(engine: str) -> None:
    """All three start at 0: they have left at 0.5 s and arrive at 1.5 s."""
    on = machine(replace(COPYING, copy_time=None))
    assert finishes(window(MB, MB, MB), on, engine, (0, 0)) == [0.5, 1.5]


@ENGINES
def test_messages_between_nodes_and_eager_ones_do_not_wait(engine: str) -> None:
    """Between nodes all three arrive after 1 s; within a node, an eager one of 1 KB arrives after 1.5 ms."""
    assert finishes(window(MB, MB, MB), machine(nodes=2), engine, (0, 1)) == [0.0, 1.0]
    trace = TraceBuilder(2)
    trace[0].isend(1, MB, tag=1)
    trace[0].isend(1, 1000, tag=2)
    big, small = trace[1].irecv(0, tag=1), trace[1].irecv(0, tag=2)
    trace[1].wait(small)
    trace[1].send(0, 0)
    trace[1].wait(big)
    trace[0].recv(1)
    assert finishes(trace.build(), machine(), engine, (0, 0)) == pytest.approx([1.5e-3, 1.5], rel=1e-12)


@ENGINES
def test_each_receiver_copies_for_itself(engine: str) -> None:
    """Two ranks that exchange two messages each copy at the same time: data start at 0 and 1 s, arrive until 2.5 s."""
    trace = TraceBuilder(2)
    for rank in (0, 1):
        own = trace[rank]
        own.wait(*[own.irecv(1 - rank) for _ in range(2)], *[own.isend(1 - rank, MB) for _ in range(2)])
    assert finishes(trace.build(), machine(), engine, (0, 0)) == [2.5, 2.5]


@ENGINES
@MODELS
def test_messages_of_several_senders_are_copied_in_the_order_in_which_they_may_start(
    engine: str, contention: Contention
) -> None:
    """Rank 2 sends 2 MB at 0; data that rank 1 sends at 0.25 s, 1 MB, start at 2 s and arrive at 3.5 s.

    A third message, of rank 1 at 4 s, finds the receiver idle and arrives at 5.5 s.
    """
    trace = TraceBuilder(3)
    trace[0].wait(trace[0].irecv(1), trace[0].irecv(2))
    trace[1].compute(0.25)
    trace[1].send(0, MB)
    trace[2].send(0, 2 * MB)
    trace[1].compute(1.5)
    trace[1].send(0, MB)
    trace[0].recv(1)
    # Rank 1 is free of its first message at 2.5 s, and computes until 4 s.
    assert finishes(trace.build(), machine(contention=contention), engine, (0, 0, 0)) == [5.5, 4.5, 1.0]


@ENGINES
def test_copies_that_share_memory_begin_one_at_a_time_too(engine: str) -> None:
    """At 2 MB/s, data of three messages of 1 MB are under way for 1 s each from 0, 1, 2 s; the sender waits for that.

    At 0.5 MB/s they take longer than the receiver alone would: 6 s in all; the last delay of 0.5 s comes after that.
    """
    assert finishes(window(MB, MB, MB), machine(bandwidth=2e6), engine, (0, 0)) == [3.0, 3.5]
    assert finishes(window(MB, MB, MB), machine(bandwidth=5e5), engine, (0, 0)) == pytest.approx([6.0, 6.5], rel=1e-12)


@ENGINES
def test_across_domains_copies_have_a_time_of_their_own(engine: str) -> None:
    """Rank 0 copies 1 MB of rank 1, in its domain, for 1 s, and two of rank 2, in another one, for 3 s each."""
    far = replace(COPYING, copy_time=Curve.line(3.0))
    node = NodeType("host", processors=4, domains=2)
    on = Machine("hand-made", (node,), Network(BETWEEN, COPYING, across_domains=far))
    trace = TraceBuilder(3)
    trace[0].wait(trace[0].irecv(1), trace[0].irecv(2), trace[0].irecv(2))
    trace[1].send(0, MB)
    trace[2].compute(0.5)
    trace[2].wait(trace[2].isend(0, MB), trace[2].isend(0, MB))
    # Data start at 0, 1 and 4 s, and arrive 1.5 s later.
    assert finishes(trace.build(), on, engine, (0, 0, 0)) == [5.5, 0.5, 4.5]


@ENGINES
@pytest.mark.parametrize("bandwidth", [None, 1e9])
def test_copy_times_may_change_during_a_run(engine: str, bandwidth: float | None) -> None:
    """From 0.5 s on, a receiver copies 1 MB in 2 s, and it travels for 2 s.

    Two messages may start at 0 and one at 0.75 s: they start at 0, 1 and 2 s, as the first two are copied in 1 s each,
    and arrive after 1.5, 2.5 and 2.5 s. The memory is fast enough.
    """
    slower = replace(COPYING, copy_time=Curve.line(0.0, 2e-6), transmission_delay=Curve.line(0.0, 2e-6))
    on = replace(machine(bandwidth=bandwidth), changes=((0.5, machine(slower, bandwidth=bandwidth)),))
    trace = TraceBuilder(2)
    trace[1].wait(*[trace[1].irecv(0) for _ in range(3)])
    requests = [trace[0].isend(1, MB) for _ in range(2)]
    trace[0].compute(0.75)
    trace[0].wait(*requests, trace[0].isend(1, MB))
    # Flows keep their sender until all data have left: 2 s after they started.
    sender = 2.5 if bandwidth is None else 4.0
    assert finishes(trace.build(), on, engine, (0, 0)) == [sender, 4.5]


@MODELS
def test_live_runs_copy_as_replays_do(contention: Contention) -> None:
    """A live run of the same calls ends when a replay does, to the last bit."""
    trace, on = window(MB, 3 * MB, 1000, 2 * MB), machine(contention=contention)
    result = execute(playing(trace), on, (0, 0)).result
    assert [rank.finish for rank in result.ranks] == finishes(trace, on, "fast", (0, 0))


def test_copy_times_are_parameters() -> None:
    """A tenth more or less of the 1 s for each of two copies moves the last arrival, 3.5 s, by 0.2 s."""
    found = explain(compile_program(window(MB, MB, MB)), machine(), Placement((0, 0))).sensitivities
    (copying,) = (each for each in found if each.parameter == "network.within_node.copy_time")
    assert (copying.lower, copying.higher) == pytest.approx((3.3, 3.7))


def test_an_ideal_network_copies_in_no_time() -> None:
    """On an ideal network messages do not wait for copies."""
    assert finishes(window(MB, MB, MB), with_ideal_network(machine()), "reference", (0, 0)) == [0.0, 0.0]


def test_noise_of_the_link_is_that_of_copies() -> None:
    """In each sample, noise scales the transmission delay and the time of copies alike."""
    on = machine(replace(COPYING, noise=LinkNoise(0.0, 0.2)))
    for number in range(3):
        drawn = draw_machine(on, Sample(5, number)).network.within_node
        assert drawn.copy_time is not None
        assert drawn.copy_time(MB) == pytest.approx(drawn.transmission_delay(MB)) != pytest.approx(1.0)


def test_waiting_for_copies_is_on_the_critical_path() -> None:
    """Of the 3.5 s, the last message takes 0.5 s to leave and 1 s more to arrive; it waits 2 s for those before."""
    found = part_shares(explain(compile_program(window(MB, MB, MB)), machine(), Placement((0, 0))).path)
    expected = {Part.SEND: 0.5, Part.TRANSMISSION: 1.0, Part.CONTENTION: 2.0}
    assert {each.part: each.seconds for each in found} == pytest.approx(expected)


def test_a_bound_by_messages_alone_stays_below() -> None:
    """A sweep ignores that messages wait for copies: its bound is 1.5 s. It is exact only without copy times.

    A rank that is alone on its node may send to itself.
    """
    need_fast_engine()
    program = compile_program(window(MB, MB, MB))
    on = [machine(), machine(nodes=2), machine(replace(COPYING, copy_time=None))]
    where = [Candidate(each, Placement(nodes)) for each, nodes in zip(on, ((0, 0), (0, 1), (0, 0)), strict=True)]
    seconds, exact = contention_free(program, where, engine="fast")
    assert seconds.tolist() == pytest.approx([1.5, 1.0, 1.5])
    assert exact.tolist() == [False, False, True]
    trace = TraceBuilder(1)
    trace[0].wait(*[trace[0].irecv(0) for _ in range(2)], *[trace[0].isend(0, MB) for _ in range(2)])
    assert finishes(trace.build(), machine(), "fast", (0,)) == [2.5]


def test_the_caveat_on_memory_says_what_copy_times_cover() -> None:
    """With a copy time, only messages to different receivers do not slow each other down."""
    trace = TraceBuilder(4)
    for sender in (0, 2):
        trace[sender].send(sender + 1, MB)
        trace[sender + 1].recv(sender)
    for within, who in ((COPYING, "messages to different receivers"), (replace(COPYING, copy_time=None), "messages")):
        result = simulate(trace.build(), machine(within), (0,) * 4)
        assert any(f"so {who} within a node do not slow each other down" in each for each in result.warnings)
