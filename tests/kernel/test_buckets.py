"""Links that state the depth of their token buckets, and links of topologies that have buckets, by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clue.kernel import simulate
from clue.machine import Contention, Curve, Flows, Link, Machine, Network, NodeType, Ports
from clue.machine.contention.topology import Switch, Switches
from clue.trace import TraceBuilder

ENGINES = pytest.mark.parametrize("engine", ["reference", "fast"])
#: A message travels 1 s whatever its size, and keeps what it shares for 1 s per byte.
SECOND, A_SECOND_PER_BYTE = Curve.line(1.0), Curve.line(0.0, 1.0)


def shaped(bucket: float) -> Link:
    """Return a link whose messages travel 1 s and keep what they share for 1 s per byte."""
    return Link(Curve.line(0.0), SECOND, busy=A_SECOND_PER_BYTE, bucket=bucket)


def machine(link: Link, contention: Contention, nodes: int = 2) -> Machine:
    """Return some nodes with equal links."""
    return Machine("shaped", (NodeType("host", processors=8),) * nodes, Network(link, link, contention=contention))


def arrivals(
    starts: Sequence[float], nbytes: int, on: Machine, engine: str, *, to: Sequence[int] | int = 1
) -> list[float]:
    """Return when messages of a rank on node 0 arrive, each at a rank of its own, on a node of its own or on one."""
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
    """The example of the text: 2,000 B keep a port for 2 ms and travel 1 ms; 5 KB are 5 ms, so a = 5 - (2 - 1) = 4 ms.

    The port is free at 0, 2, 4, 6 and 8 ms; so messages begin at 0, 0, 0, 2 and 4 ms and take 1 ms. Heads come to the
    receive port when they leave the send port (w = 1 ms, s + t - w = 0), so it makes nobody wait longer.
    """
    busy = Curve.line(0.0, 1e-6)
    link = Link(Curve.line(0.0), Curve.line(1e-3), busy=busy if stated == "link" else None, bucket=5000.0)
    on = machine(link, Ports(busy if stated == "ports" else None), 6)
    assert arrivals([0.0] * 5, 2000, on, engine, to=to) == pytest.approx([1e-3, 1e-3, 1e-3, 3e-3, 5e-3])


@ENGINES
def test_a_bucket_fills_while_a_port_is_idle(engine: str) -> None:
    """2 B keep the port for 2 s and travel 1 s, 5 B are let through: a = 5 - (2 - 1) = 4 s.

    Five at 0 begin at 0, 0, 0, 2 and 4 s; the port is free at 10 s. One at 5 s begins at 10 - 4 = 6 s, and the port is
    free at 12 s. One at 9 s begins at once, as 12 - 4 = 8 s is over: free at 14 s. One at 20 s finds a full bucket (the
    port is free at 20 + 2 = 22 s), and so do two more; the fourth begins at 26 - 4 = 22 s.
    """
    starts = [0.0] * 5 + [5.0, 9.0]
    on = machine(shaped(5.0), Ports())
    assert arrivals(starts, 2, on, engine) == pytest.approx([1.0, 1.0, 1.0, 3.0, 5.0, 7.0, 10.0])
    starts = [0.0, 0.0] + [20.0] * 4
    assert arrivals(starts, 2, on, engine) == pytest.approx([1.0, 1.0, 21.0, 21.0, 21.0, 23.0])


@ENGINES
def test_a_bucket_counts_from_the_delays_where_nothing_else_is_stated(engine: str) -> None:
    """Where t = 1 s + 1 s/B, 2 B keep a port for o = 2 s, less than the 3 s of their travel. So 3 B are a = 3 s.

    The send port is free at 0, 2, 4 and 6 s: messages begin at 0, 0, 1 and 3 s, and arrive 3 s later. Their heads come
    1 s after they begin, at 1, 1, 2 and 4 s, to a receive port that is free at 0, 3, 5 and 7 s: R = head each time.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0, 1.0), bucket=3.0)
    assert arrivals([0.0] * 4, 2, machine(link, Ports()), engine) == pytest.approx([3.0, 3.0, 4.0, 6.0])


@ENGINES
@pytest.mark.parametrize(
    ("bucket", "expected"), [(6.0, [1.0, 1.0, 3.0, 6.0]), (1.0, [1.0, 4.0, 7.0, 10.0]), (0.0, [1.0, 4.0, 7.0, 10.0])]
)
def test_a_receive_port_has_a_bucket_for_all_senders(engine: str, bucket: float, expected: list[float]) -> None:
    """Four nodes send 3 B to one at 0: each keeps the receive port for 3 s and travels 1 s.

    6 B: a = 6 - (3 - 1) = 4 s. The port is free at 0, 3, 6 and 9 s, so heads get it at 0, 0, 2 and 5 s. 1 B is less
    than what one message shows, 2 B: a = 0, and heads get it at 0, 3, 6 and 9 s.
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

    With 6 B, a = 4 s, both begin at 1 s, and their senders are free at 2 s; without, the second begins at 1 + 3 s.
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
    """3 B at 3 B / 3 s = 1 B/s over links of 2 B/s: to take 1 s, all but 1 B must pass at once, n = 2 B. b = 5 B.

    At 0 s 2 B pass at once (d = 2), and 1 B takes 1 s. At 1 s the same (d = 4; idle for no time). At 2 s, 5 - 4 = 1 B
    passes at once (d = 5), and 2 B take 2 s, to 4 s. 1/2 s later 1 B is back in the buckets (d = 4): it passes at once
    (d = 5), and 2 B take until 6.5 s. From then to 7.5 s 2 B come back (d = 3): 2 B pass at once, and 1 B takes 1 s.
    """
    on = machine(shaped(5.0), Flows(Switch(2.0)))
    assert arrivals([0.0, 1.0, 2.0, 4.5, 7.5], 3, on, engine) == pytest.approx([1.0, 2.0, 4.0, 6.5, 8.5])


@ENGINES
def test_a_bucket_does_not_fill_while_a_message_is_on_the_link(engine: str) -> None:
    """3 B at 1 B/s over links of 1 B/s, n = 2 B, b = 4 B; two messages at 0, one at 2 s, one at 6 s.

    Both at 0 let 2 B through at once (d = 4) and share the link with their last bytes, until 2 s. Nothing has been made
    up for at 2 s: 3 B take until 5 s. At 6 s, 1 B is back (d = 3): it passes, and 2 B take until 8 s.
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
    """Racks of 2 nodes with links of 4 B/s, uplinks of 2 · 4 / 8 = 1 B/s; 4 B with t = 1 s + 1/2 s/B go at 2 B/s.

    o = 2 s, s + t = 3 s. Without a bucket, or with one of 0 B, they take 4 s over the uplink, and 3 - 2 = 1 s more.

    With a bucket of 3 B: n = 4 - 1 · min(2, 3) = 2 B of the uplink (and 4 - 2 · 2 = 0 B of the links of nodes). At 0 s
    these pass at once (d = 2), and 2 B take 2 s: there at 3 s, as alone. At 2 s 1 B passes (d = 3), and 3 B take until
    5 s: there at 6 s. At 7 s 2 B have come back (d = 1): 2 B pass, 2 B take until 9 s, and 1 s more.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0, 0.5), bucket=bucket)
    on = machine(link, Flows(Switches(2, 4.0, 8.0)), 4)
    assert arrivals(starts, 4, on, engine, to=2) == pytest.approx(expected)
    # Within a rack no link is slower than the message: 4 B take 2 s, and 1 s more.
    assert arrivals([0.0, 2.0, 4.0], 4, on, engine, to=1) == pytest.approx([3.0, 5.0, 7.0])


@ENGINES
def test_a_slow_uplink_takes_more_from_its_bucket_than_fast_links(engine: str) -> None:
    """Links of nodes of 4 B/s, uplinks of 1/2 B/s; 3 B at 1 B/s that are to travel 1 s; b = 4 B.

    Across racks n = 3 - 1/2 · 1 = 2 1/2 B of the uplink, 3 - 1 · 1 = 2 B of other links. At 0 s 2 1/2 B pass at once,
    and 1/2 B takes 1 s. The link of the sender lacks 2 B, and gets 4 B/s when it is idle. A message within the rack at
    1.25 s finds d = 2 - 1 = 1 B there: n = 2 B pass at once (d = 3), and 1 B takes 1 s. Of one more at 2.25 s 1 B
    passes at once, and 2 B take until 4.25 s. (If the link lacked 2 1/2 B after the first, this one would take 1/2 s
    longer.)
    """
    on = machine(shaped(4.0), Flows(Switches(2, 4.0, 16.0)), 4)
    starts, to = [0.0, 1.25, 2.25], (2, 1, 1)
    assert arrivals(starts, 3, on, engine, to=to) == pytest.approx([1.0, 2.25, 4.25])


@ENGINES
def test_without_a_stated_bucket_a_message_shows_it(engine: str) -> None:
    """3 B keep the link for 3 s and travel 1 s: b = 3 · (1 - 1/3) = 2 B, whatever the capacity of the link.

    At 1 B/s: n = 2 B pass at once and 1 B takes 1 s; at 1 s nothing passes at once, 3 B take until 4 s; after an idle
    second, at 5 s, 1 B passes, and 2 B take until 7 s.

    At 1/2 B/s: n = 3 - 1/2 · 1 = 2 1/2 B, of which 2 B pass; 1 B takes 2 s. At 2 s 3 B take until 8 s. After an idle
    second, at 9 s, 1/2 B passes, and 2 1/2 B take until 14 s.
    """
    on = machine(shaped(0.0), Flows(Switch(1.0)))
    assert arrivals([0.0, 1.0, 5.0], 3, on, engine) == pytest.approx([1.0, 4.0, 7.0])
    on = machine(shaped(0.0), Flows(Switch(0.5)))
    assert arrivals([0.0, 2.0, 9.0], 3, on, engine) == pytest.approx([2.0, 8.0, 14.0])


@ENGINES
@pytest.mark.parametrize("bucket", [0.0, 1.0])
def test_a_bucket_is_never_less_than_delays_show(engine: str, bucket: float) -> None:
    """3 B that travel 1 s and keep what they share for 3 s show a bucket of 3 (1 - 1/3) = 2 B: alone they take 1 s.

    Of two at 5 s the first passes 2 B at once. Its last byte and the other's 3 B get half of 1 B/s each: 7 and 9 s.
    At ports, who finds its port free travels 1 s, the next begins 3 s later.
    """
    on = machine(shaped(bucket), Flows(Switch(1.0)))
    assert arrivals([0.0, 5.0, 5.0], 3, on, engine) == pytest.approx([1.0, 7.0, 9.0])
    assert arrivals([0.0, 0.0], 3, machine(shaped(bucket), Ports()), engine) == pytest.approx([1.0, 4.0])


@ENGINES
def test_a_message_without_a_limit_of_its_own_passes_at_once_as_far_as_the_bucket_goes(engine: str) -> None:
    """If o = 0 and s + t = 1 s, all of 3 B must pass at once, n = 3 - 2 · 0 = 3 B, of links of 2 B/s with 4 B.

    At 0 s they do (d = 3) and arrive at 1 s. Of another at 0 s 1 B does (d = 4), and 2 B take 1 s: there at 2 s. At
    1.5 s 1 B has come back (d = 3): 1 B passes, and 2 B take 1 s, until 2.5 s: there at 3.5 s.
    """
    link = Link(Curve.line(0.0), SECOND, bucket=4.0)
    assert arrivals([0.0, 0.0, 1.5], 3, machine(link, Flows(Switch(2.0))), engine) == pytest.approx([1.0, 2.0, 3.5])
