"""Token buckets by hand: links that state the depth of theirs, and buckets of links in topologies."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clue.kernel import simulate
from clue.machine import Contention, Curve, Flows, Link, Machine, Network, NodeType, Ports
from clue.machine.contention.topology import Switch, Switches
from clue.trace import TraceBuilder
from tests.kernel.cases import ENGINES

#: A message travels 1 s whatever its size, and occupies shared resources for 1 s/B.
SECOND, A_SECOND_PER_BYTE = Curve.line(1.0), Curve.line(0.0, 1.0)


def shaped(bucket: float) -> Link:
    """Return a link with this bucket whose messages travel 1 s and occupy shared resources for 1 s/B."""
    return Link(Curve.line(0.0), SECOND, busy=A_SECOND_PER_BYTE, bucket=bucket)


def machine(link: Link, contention: Contention, nodes: int = 2) -> Machine:
    """Return a machine of nodes with equal links."""
    return Machine("shaped", (NodeType("host", processors=8),) * nodes, Network(link, link, contention=contention))


def arrivals(
    starts: Sequence[float], nbytes: int, on: Machine, engine: str, *, to: Sequence[int] | int = 1
) -> list[float]:
    """Return when messages from a rank on node 0 arrive.

    Args:
        starts: When each is sent.
        nbytes: Size of each message.
        on: The machine.
        engine: The engine.
        to: The receiver's node, for all messages or for each; each message has a receiver of its own.
    """
    trace = TraceBuilder(1 + len(starts))
    now = 0.0
    for dest, start in enumerate(starts, 1):
        trace[0].compute(start - now)
        trace[0].send(dest, nbytes)
        trace[dest].recv(0)
        now = start
    nodes = [to] * len(starts) if isinstance(to, int) else list(to)
    return [rank.finish for rank in simulate(trace.build(), on, [0, *nodes], engine).ranks[1:]]


# -- ports ------------------------------------------------------------------------------------------------------------


@ENGINES
@pytest.mark.parametrize("to", [1, (1, 2, 3, 4, 5)], ids=["one receiver", "five receivers"])
@pytest.mark.parametrize("stated", ["link", "ports"])
def test_a_bucket_lets_some_messages_through_a_port_before_it_is_free(
    engine: str, stated: str, to: Sequence[int] | int
) -> None:
    """The documentation's example: 2,000 B occupy a port for 2 ms and travel 1 ms; the bucket has 5 KB.

    5 KB are 5 ms, so a = 5 - (2 - 1) = 4 ms. The port is free at 0, 2, 4, 6 and 8 ms, so messages begin at 0, 0, 0, 2
    and 4 ms and take 1 ms. Heads reach the receive port when they leave the send port (w = 1 ms, s + t - w = 0), so it
    adds no wait.
    """
    busy = Curve.line(0.0, 1e-6)
    link = Link(Curve.line(0.0), Curve.line(1e-3), busy=busy if stated == "link" else None, bucket=5000.0)
    on = machine(link, Ports(busy if stated == "ports" else None), 6)
    assert arrivals([0.0] * 5, 2000, on, engine, to=to) == pytest.approx([1e-3, 1e-3, 1e-3, 3e-3, 5e-3])


@ENGINES
def test_a_bucket_fills_while_a_port_is_idle(engine: str) -> None:
    """2 B occupy the port for 2 s and travel 1 s; the bucket has 5 B: a = 5 - (2 - 1) = 4 s.

    Five messages at 0 s begin at 0, 0, 0, 2 and 4 s; the port is free at 10 s. One at 5 s begins at 10 - 4 = 6 s, and
    the port is free at 12 s. One at 9 s begins at once, as 12 - 4 = 8 s has passed; the port is free at 14 s. One at
    20 s finds a full bucket (the port is free at 20 + 2 = 22 s), and so do two more; the fourth begins at 26 - 4 =
    22 s.
    """
    starts = [0.0] * 5 + [5.0, 9.0]
    on = machine(shaped(5.0), Ports())
    assert arrivals(starts, 2, on, engine) == pytest.approx([1.0, 1.0, 1.0, 3.0, 5.0, 7.0, 10.0])
    starts = [0.0, 0.0] + [20.0] * 4
    assert arrivals(starts, 2, on, engine) == pytest.approx([1.0, 1.0, 21.0, 21.0, 21.0, 23.0])


@ENGINES
def test_a_bucket_counts_from_the_delays_where_nothing_else_is_stated(engine: str) -> None:
    """With t = 1 s + 1 s/B, 2 B occupy a port for o = 2 s, less than their travel of 3 s; a bucket of 3 B is a = 3 s.

    The send port is free at 0, 2, 4 and 6 s: messages begin at 0, 0, 1 and 3 s and arrive 3 s later. Their heads reach
    the receive port 1 s after they begin, at 1, 1, 2 and 4 s; it is free at 0, 3, 5 and 7 s: R = head each time.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0, 1.0), bucket=3.0)
    assert arrivals([0.0] * 4, 2, machine(link, Ports()), engine) == pytest.approx([3.0, 3.0, 4.0, 6.0])


@ENGINES
@pytest.mark.parametrize(
    ("bucket", "expected"), [(6.0, [1.0, 1.0, 3.0, 6.0]), (1.0, [1.0, 4.0, 7.0, 10.0]), (0.0, [1.0, 4.0, 7.0, 10.0])]
)
def test_a_receive_port_has_a_bucket_for_all_senders(engine: str, bucket: float, expected: list[float]) -> None:
    """Four nodes send 3 B to one node at 0 s; each message occupies the receive port for 3 s and travels 1 s.

    With 6 B, a = 6 - (3 - 1) = 4 s: the port is free at 0, 3, 6 and 9 s, so heads get it at 0, 0, 2 and 5 s. A bucket
    of 1 B is less than the 2 B that the delays imply: a = 0, and heads get the port at 0, 3, 6 and 9 s.
    """
    trace = TraceBuilder(8)
    for source in range(4):
        trace[source].send(source + 4, 3)
        trace[source + 4].recv(source)
    on = machine(shaped(bucket), Ports(), 5)
    ranks = simulate(trace.build(), on, [0, 1, 2, 3, 4, 4, 4, 4], engine).ranks
    assert [rank.finish for rank in ranks[4:]] == pytest.approx(expected)


@ENGINES
def test_a_rendezvous_sender_is_free_early_too(engine: str) -> None:
    """Data of two ranks of a node start after an answer of 1 s; s = 0, so senders are free w = min(3, 1) s after B.

    With a bucket of 6 B, a = 4 s: both begin at 1 s, and their senders are free at 2 s. Without one, the second begins
    at 1 + 3 s.
    """
    trace = TraceBuilder(4)
    for source in (0, 1):
        trace[source].send(source + 2, 3)
        trace[source + 2].recv(source)
    for bucket, second in ((6.0, 2.0), (0.0, 5.0)):
        link = Link(Curve.line(0.0), SECOND, eager_limit=0, busy=A_SECOND_PER_BYTE, bucket=bucket)
        ranks = simulate(trace.build(), machine(link, Ports(), 3), [0, 0, 1, 2], engine).ranks
        assert [rank.finish for rank in ranks] == pytest.approx([2.0, second, 2.0, second])


# -- flows ------------------------------------------------------------------------------------------------------------


@ENGINES
def test_a_bucket_of_a_link_is_used_up_and_fills_at_its_capacity(engine: str) -> None:
    """3 B at 3 B / 3 s = 1 B/s use links of 2 B/s with b = 5 B; to take 1 s, all but 1 B must pass at once: n = 2 B.

    At 0 s 2 B pass at once (d = 2), and 1 B takes 1 s. At 1 s the same (d = 4; idle for no time). At 2 s, 5 - 4 = 1 B
    passes at once (d = 5), and 2 B take 2 s, to 4 s. 1/2 s later 1 B is back in the buckets (d = 4): it passes at once
    (d = 5), and 2 B take until 6.5 s. From then to 7.5 s 2 B come back (d = 3): 2 B pass at once, and 1 B takes 1 s.
    """
    on = machine(shaped(5.0), Flows(Switch(2.0)))
    assert arrivals([0.0, 1.0, 2.0, 4.5, 7.5], 3, on, engine) == pytest.approx([1.0, 2.0, 4.0, 6.5, 8.5])


@ENGINES
def test_a_bucket_does_not_fill_while_a_message_is_on_the_link(engine: str) -> None:
    """3 B at 1 B/s use links of 1 B/s, n = 2 B, b = 4 B: two messages start at 0 s, one at 2 s, one at 6 s.

    Of both at 0 s, 2 B pass at once (d = 4), and their last bytes share the link until 2 s. The bucket is still empty
    at 2 s: 3 B take until 5 s. At 6 s, 1 B is back (d = 3): it passes at once, and 2 B take until 8 s.
    """
    on = machine(shaped(4.0), Flows(Switch(1.0)))
    assert arrivals([0.0, 0.0, 2.0, 6.0], 3, on, engine) == pytest.approx([2.0, 2.0, 5.0, 8.0])


@ENGINES
@pytest.mark.parametrize(
    ("bucket", "starts", "expected"),
    [
        (3.0, (0.0, 2.0, 7.0), [3.0, 6.0, 10.0]),
        (0.0, (0.0, 4.0, 8.0), [5.0, 9.0, 13.0]),
    ],
)
def test_an_uplink_that_is_slower_than_a_message(
    engine: str, bucket: float, starts: Sequence[float], expected: list[float]
) -> None:
    """Racks of 2 nodes have links of 4 B/s and uplinks of 2 · 4 / 8 = 1 B/s; 4 B with t = 1 s + 1/2 s/B go at 2 B/s.

    o = 2 s, s + t = 3 s. Without a bucket, or with one of 0 B, they take 4 s on the uplink, and 3 - 2 = 1 s more.

    With a bucket of 3 B: n = 4 - 1 · min(2, 3) = 2 B of the uplink (and 4 - 2 · 2 = 0 B of the nodes' links). At 0 s
    these pass at once (d = 2), and 2 B take 2 s: they arrive at 3 s, as alone. At 2 s 1 B passes at once (d = 3), and
    3 B take until 5 s: they arrive at 6 s. At 7 s 2 B are back (d = 1): 2 B pass at once, 2 B take until 9 s, and 1 s
    more.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0, 0.5), bucket=bucket)
    on = machine(link, Flows(Switches(2, 4.0, 8.0)), 4)
    assert arrivals(starts, 4, on, engine, to=2) == pytest.approx(expected)
    # Within a rack, no link is slower than the message: 4 B take 2 s, and 1 s more.
    assert arrivals([0.0, 2.0, 4.0], 4, on, engine, to=1) == pytest.approx([3.0, 5.0, 7.0])


@ENGINES
def test_a_slow_uplink_takes_more_from_its_bucket_than_fast_links(engine: str) -> None:
    """Nodes have links of 4 B/s, uplinks have 1/2 B/s; 3 B at 1 B/s travel 1 s when alone; b = 4 B.

    Across racks, n = 3 - 1/2 · 1 = 2 1/2 B of the uplink, 3 - 1 · 1 = 2 B of other links. At 0 s 2 1/2 B pass at once,
    and 1/2 B takes 1 s. The sender's link lacks 2 B and refills at 4 B/s while idle. A message within the rack at
    1.25 s finds d = 2 - 1 = 1 B there: n = 2 B pass at once (d = 3), and 1 B takes 1 s. Of one more at 2.25 s, 1 B
    passes at once, and 2 B take until 4.25 s. (If the link lacked 2 1/2 B after the first, this one would take 1/2 s
    longer.)
    """
    on = machine(shaped(4.0), Flows(Switches(2, 4.0, 16.0)), 4)
    starts, to = [0.0, 1.25, 2.25], (2, 1, 1)
    assert arrivals(starts, 3, on, engine, to=to) == pytest.approx([1.0, 2.25, 4.25])


@ENGINES
def test_without_a_stated_bucket_a_message_shows_it(engine: str) -> None:
    """3 B occupy the link for 3 s and travel 1 s, which implies b = 3 · (1 - 1/3) = 2 B, whatever the link's capacity.

    At 1 B/s: n = 2 B pass at once and 1 B takes 1 s. At 1 s nothing passes at once, and 3 B take until 4 s. After an
    idle second, at 5 s, 1 B passes at once, and 2 B take until 7 s.

    At 1/2 B/s: n = 3 - 1/2 · 1 = 2 1/2 B, of which 2 B pass at once; 1 B takes 2 s. At 2 s 3 B take until 8 s. After an
    idle second, at 9 s, 1/2 B passes at once, and 2 1/2 B take until 14 s.
    """
    on = machine(shaped(0.0), Flows(Switch(1.0)))
    assert arrivals([0.0, 1.0, 5.0], 3, on, engine) == pytest.approx([1.0, 4.0, 7.0])
    on = machine(shaped(0.0), Flows(Switch(0.5)))
    assert arrivals([0.0, 2.0, 9.0], 3, on, engine) == pytest.approx([2.0, 8.0, 14.0])


@ENGINES
@pytest.mark.parametrize("bucket", [0.0, 1.0])
def test_a_bucket_is_never_less_than_delays_show(engine: str, bucket: float) -> None:
    """3 B that travel 1 s and occupy shared resources for 3 s imply a bucket of 3 (1 - 1/3) = 2 B: alone they take 1 s.

    Of the first of two messages at 5 s, 2 B pass at once. Its last byte and the other's 3 B get half of 1 B/s each: 7
    and 9 s. At ports, a message that finds its port free travels 1 s, and the next begins 3 s later.
    """
    on = machine(shaped(bucket), Flows(Switch(1.0)))
    assert arrivals([0.0, 5.0, 5.0], 3, on, engine) == pytest.approx([1.0, 7.0, 9.0])
    assert arrivals([0.0, 0.0], 3, machine(shaped(bucket), Ports()), engine) == pytest.approx([1.0, 4.0])


@ENGINES
def test_a_message_without_a_limit_of_its_own_passes_at_once_as_far_as_the_bucket_goes(engine: str) -> None:
    """With o = 0 and s + t = 1 s, all of 3 B must pass at once, n = 3 - 2 · 0 = 3 B; links have 2 B/s and 4 B.

    At 0 s they do (d = 3) and arrive at 1 s. Of another message at 0 s, 1 B does (d = 4), and 2 B take 1 s: it arrives
    at 2 s. At 1.5 s 1 B is back (d = 3): 1 B passes at once, and 2 B take 1 s, until 2.5 s: it arrives at 3.5 s.
    """
    link = Link(Curve.line(0.0), SECOND, bucket=4.0)
    assert arrivals([0.0, 0.0, 1.5], 3, machine(link, Flows(Switch(2.0))), engine) == pytest.approx([1.0, 2.0, 3.5])
