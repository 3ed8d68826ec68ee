"""Messages within a node that share its memory, by hand: simultaneous copies share the copy bandwidth equally."""

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
    Ports,
)
from clue.result import Part
from clue.trace import Trace, TraceBuilder
from clue.uncertainty import Sample
from clue.uncertainty.machines import draw_machine
from tests.kernel.cases import ENGINES, MODELS, finishes, need_fast_engine
from tests.kernel.live_sources import playing

MB = 10**6
#: A copy of 1 MB takes 1 s alone; its sender is busy for all of it.
COPYING = Link(Curve.line(0.0, 1e-6), Curve.line(0.0))
#: A link that takes no time.
BETWEEN = Link(Curve.line(0.0), Curve.line(0.0))


def machine(
    bandwidth: float | None, *, within: Link = COPYING, contention: Contention | None = None, nodes: int = 1
) -> Machine:
    """Return a machine of nodes with this copy bandwidth, in bytes per second."""
    node = NodeType("host", processors=8, copy_bandwidth=bandwidth)
    network = Network(BETWEEN, within, contention=contention or NoContention())
    return Machine("hand-made", (node,) * nodes, network)


def pairs(*sizes: int) -> Trace:
    """Return a program of pairs of ranks, one per size; the first of each pair sends that many bytes to the second."""
    trace = TraceBuilder(2 * len(sizes))
    for pair, size in enumerate(sizes):
        trace[2 * pair].send(2 * pair + 1, size)
        trace[2 * pair + 1].recv(2 * pair)
    return trace.build()


@ENGINES
@MODELS
@pytest.mark.parametrize(("copies", "seconds"), [(1, 1.0), (2, 1.0), (3, 1.5), (4, 2.0)])
def test_copies_at_once_share_memory_equally(engine: str, contention: Contention, copies: int, seconds: float) -> None:
    """At 2 MB/s, copies of 1 MB that take 1 s alone are not slowed when two run at once; four take twice as long."""
    on = machine(2e6, contention=contention)
    assert finishes(pairs(*[MB] * copies), on, engine, (0,) * (2 * copies)) == [seconds] * (2 * copies)


@ENGINES
@MODELS
def test_what_one_leaves_the_others_have(engine: str, contention: Contention) -> None:
    """At 1 MB/s, copies of 1 MB and 3 MB run at half speed for 2 s; then 2 MB are left at full speed, until 4 s."""
    on = machine(1e6, contention=contention)
    assert finishes(pairs(MB, 3 * MB), on, engine, (0,) * 4) == [2.0, 2.0, 4.0, 4.0]


@ENGINES
@MODELS
def test_each_node_has_memory_of_its_own(engine: str, contention: Contention) -> None:
    """Two copies on one node take 2 s, one on another node 1 s; a message between the nodes shares no memory."""
    trace = TraceBuilder(8)
    for sender in (0, 2, 4):
        trace[sender].send(sender + 1, MB)
        trace[sender + 1].recv(sender)
    trace[6].send(7, 0)
    trace[7].recv(6)
    on = machine(1e6, contention=contention, nodes=2)
    ends = finishes(trace.build(), on, engine, (0, 0, 0, 0, 1, 1, 0, 1))
    assert ends == [2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0]


@ENGINES
def test_a_memory_that_is_slower_than_the_link_slows_one_copy(engine: str) -> None:
    """A single copy of 1 MB takes 2 s at 0.5 MB/s, though its link would take 1 s."""
    assert finishes(pairs(MB), machine(5e5), engine, (0, 0)) == [2.0, 2.0]


@ENGINES
@pytest.mark.parametrize(
    ("within", "sender", "receiver"),
    [
        (Link(Curve.line(0.0), Curve.line(0.25, 1e-6)), 0.0, 2.25),
        (Link(Curve.line(0.25, 5e-7), Curve.line(0.0, 1e-6)), 1.25, 2.75),
        (Link(Curve.line(0.0, 1e-6), Curve.line(0.0), eager_limit=0), 2.0, 2.0),
    ],
    ids=["copied by the receiver", "in halves by the sender", "rendezvous"],
)
def test_senders_are_held_as_far_as_they_copy(engine: str, within: Link, sender: float, receiver: float) -> None:
    """Two copies of 1 MB, which would occupy memory for 1 s each alone, run at half speed.

    A sender that copies half of the data is free when half has passed (1 s) and the rest of its delay is over (1/4 s).
    The data have passed after 2 s. Delays beyond the 1 s that they occupy memory come after that.
    """
    ends = finishes(pairs(MB, MB), machine(1e6, within=within), engine, (0,) * 4)
    assert ends == pytest.approx([sender, receiver] * 2, rel=1e-12)


@ENGINES
def test_ports_that_state_how_long_they_are_busy_say_nothing_of_copies(engine: str) -> None:
    """A stated busy time of ports, here 8 s, does not apply to copies, whose delays per byte count."""
    on = machine(1e6, contention=Ports(Curve.line(8.0)))
    assert finishes(pairs(MB, MB), on, engine, (0,) * 4) == [2.0] * 4


@ENGINES
def test_nodes_that_state_nothing_copy_as_before_beside_those_that_do(engine: str) -> None:
    """Of two node types, only the one with a copy bandwidth makes copies share memory."""
    one, other = NodeType("one", 8, copy_bandwidth=1e6), NodeType("other", 8)
    on = Machine("two", (one, other), Network(BETWEEN, COPYING, contention=Ports()))
    assert finishes(pairs(MB, MB, MB, MB), on, engine, (0, 0, 0, 0, 1, 1, 1, 1)) == [2.0] * 4 + [1.0] * 4


def test_bandwidth_of_memory_is_a_parameter() -> None:
    """A stated copy bandwidth is a parameter: 2 s at 1 MB/s become 2 s / 1.1 at 1.1 MB/s and 2 s / 0.9 at 0.9 MB/s."""
    found = explain(compile_program(pairs(MB, MB)), machine(1e6), Placement((0,) * 4)).sensitivities
    (memory,) = (each for each in found if each.parameter == "node_types.host.copy_bandwidth")
    assert (memory.lower, memory.higher) == pytest.approx((2 / 0.9, 2 / 1.1))
    unstated = explain(compile_program(pairs(MB, MB)), machine(None), Placement((0,) * 4)).sensitivities
    assert not any("copy_bandwidth" in each.parameter for each in unstated)


def test_an_ideal_network_copies_in_no_time() -> None:
    """On an ideal network, messages within a node take no time either, whatever its copy bandwidth."""
    ideal = with_ideal_network(machine(1e6))
    assert finishes(pairs(MB, MB), ideal, "reference", (0,) * 4) == [0.0] * 4


def test_noise_of_the_link_is_that_of_the_memory() -> None:
    """In each sample, noise scales the delays of the link within a node and the time per byte of memory alike."""
    on = machine(1e6, within=replace(COPYING, transmission_delay=Curve.line(1.0), noise=LinkNoise(0.0, 0.2)))
    for number in range(3):
        drawn = draw_machine(on, Sample(5, number))
        longer = drawn.network.within_node.transmission_delay(0)
        assert longer != 1.0
        assert drawn.nodes[0].copy_bandwidth == pytest.approx(1e6 / longer)


def test_what_copies_share_is_on_the_critical_path() -> None:
    """Of the 2 s on the critical path, a copy takes 1 s alone (send) and 1 s because of the other (contention)."""
    found = part_shares(explain(compile_program(pairs(MB, MB)), machine(1e6), Placement((0,) * 4)).path)
    assert {each.part: each.seconds for each in found} == pytest.approx({Part.SEND: 1.0, Part.CONTENTION: 1.0})


def test_a_bound_by_messages_alone_stays_below() -> None:
    """A sweep ignores shared memory: its bound is 1 s and exact only without a copy bandwidth."""
    need_fast_engine()
    where = [Candidate(machine(bandwidth), Placement((0,) * 4)) for bandwidth in (None, 1e6)]
    seconds, exact = contention_free(compile_program(pairs(MB, MB)), where, engine="fast")
    assert seconds.tolist() == pytest.approx([1.0, 1.0])
    assert exact.tolist() == [True, False]


def test_unstated_copies_of_large_messages_are_named() -> None:
    """A caveat names the unstated copy bandwidth if several pairs of a node copy and one message has 64 KiB or more.

    There is none for a single pair, for small messages, or if the bandwidth is stated.
    """

    def said(bandwidth: float | None, *sizes: int) -> bool:
        result = simulate(pairs(*sizes), machine(bandwidth), (0,) * (2 * len(sizes)))
        return any("no copy_bandwidth is stated for host" in each for each in result.warnings)

    assert said(None, 1 << 16, 8)
    assert not said(None, 1 << 16)
    assert not said(None, 1000, 1000)
    assert not said(1e9, 1 << 16, 8)


@MODELS
def test_live_runs_share_memory_as_replays_do(contention: Contention) -> None:
    """A live run of the same calls ends when a replay does, to the last bit, and warns if no bandwidth is stated."""
    trace = pairs(MB, 3 * MB, 1000)
    for bandwidth in (None, 1e6):
        on = machine(bandwidth, contention=contention)
        result = execute(playing(trace), on, (0,) * 6).result
        assert [rank.finish for rank in result.ranks] == finishes(trace, on, "fast", (0,) * 6)
        assert any("no copy_bandwidth" in each for each in result.warnings) == (bandwidth is None)
