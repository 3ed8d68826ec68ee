"""Short messages pass long ones at ports: closed forms by hand, for both engines and the oracle.

Unless a docstring says otherwise, a message of m bytes takes m seconds and occupies each port for as long. Its head
reaches the receive port when it gets the send port, and its sender does not wait. Rank r is on node r.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clue.machine import Curve, Link, Machine, Network, NodeType, Ports
from tests.kernel.oracle import Step
from tests.kernel.test_oracle import Program, by_engine, by_oracle

ENGINES = pytest.mark.parametrize("engine", ["oracle", "reference", "fast"])
LINK = Link(Curve.line(0.0), Curve.line(0.0, 1.0))
OWN_NODES = tuple(range(12))

#: When a message is sent, from which rank to which, and its size.
Sent = tuple[float, int, int, int]


def finishes(program: Program, nodes: Sequence[int], engine: str, link: Link) -> list[float]:
    """Return when each rank of a program ends, on nodes with ports."""
    on = Machine("ports", (NodeType("host", processors=8),) * 12, Network(link, link, contention=Ports()))
    figures = by_oracle(program, on, nodes) if engine == "oracle" else by_engine(program, on, nodes, engine)
    assert figures is not None
    return [finish for finish, _, _ in figures]


def arrivals(messages: Sequence[Sent], engine: str, nodes: Sequence[int] = OWN_NODES, link: Link = LINK) -> list[float]:
    """Return when each message arrives: when its receiver ends, if it waits for this one only."""
    program: Program = [[] for _ in nodes]
    now = [0.0] * len(nodes)
    for tag, (time, source, dest, nbytes) in enumerate(messages):
        if time > now[source]:
            program[source].append(Step("compute", nanoseconds=round((time - now[source]) * 1e9)))
            now[source] = time
        program[source].append(Step("isend", dest, nbytes, tag, requests=(tag,)))
        program[dest].append(Step("irecv", source, tag=tag, requests=(tag,)))
    come = []
    for tag, (_, _, dest, _) in enumerate(messages):
        waiting = list(program)
        waiting[dest] = [*program[dest], Step("wait", requests=(tag,))]
        come.append(finishes(waiting, nodes, engine, link)[dest])
    return come


@ENGINES
def test_the_head_of_a_message_is_no_faster_than_an_empty_message(engine: str) -> None:
    """With t = 10 s + 1 s/B, m bytes occupy a port for 4 m seconds. 1 B is sent at 0, 10 B of the same pair at 4 s.

    Heads are there after 10 s: that of 1 B at 10 s, which arrives at 11 s, that of 10 B at 14 s, which arrive at 24 s.
    (With a head that is there as soon as the data start, at 4 s, 1 B would wait until 44 s behind the 10 B.)
    """
    link = Link(Curve.line(0.0), Curve.line(10.0, 1.0), busy=Curve.line(0.0, 4.0))
    assert arrivals([(0, 0, 1, 1), (4, 0, 1, 10)], engine, link=link) == pytest.approx([11.0, 24.0])


@ENGINES
def test_a_message_of_the_same_pair_waits_for_the_last_byte_only(engine: str) -> None:
    """With t = 1 s + 1 s/B, 10 B travel 11 s, but occupy both ports for 20 s. The next message of the pair is empty.

    At 11 s, the last byte has left the sender's node and has arrived: the empty message is there at 12 s.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0, 1.0), busy=Curve.line(0.0, 2.0))
    assert arrivals([(0, 0, 1, 10), (11, 0, 1, 0)], engine, link=link) == pytest.approx([11.0, 12.0])


@ENGINES
def test_a_short_message_passes_a_long_one_at_the_send_port(engine: str) -> None:
    """100 B occupy the port from 0 to 100 s. 1 B to another node, sent at 10 s, takes twice as long beside them.

    So it gets the port at 10 + 1 = 11 s, not at 100 s, and arrives at 12 s. The 100 B still arrive at 100 s.
    """
    assert arrivals([(0, 0, 1, 100), (10, 0, 2, 1)], engine) == pytest.approx([100.0, 12.0])


@ENGINES
def test_a_short_message_passes_a_long_one_at_the_receive_port(engine: str) -> None:
    """Two nodes send to a third. Messages of m bytes take 2 + m seconds, but occupy ports for m.

    The head of 100 B is at the port at 2 s, and they arrive at 102 s. The head of 1 B, sent at 10 s, is there at 12 s,
    gets the port at 12 + 1 = 13 s, and the message arrives at 14 s.
    """
    link = Link(Curve.line(0.0), Curve.line(2.0, 1.0))
    assert arrivals([(0, 0, 2, 100), (10, 1, 2, 1)], engine, link=link) == pytest.approx([102.0, 14.0])


@ENGINES
def test_a_short_message_passes_at_both_ports(engine: str) -> None:
    """Rank 0 sends 100 B to rank 1, and at 10 s 1 B to rank 2 of the same node, which is another pair of ranks.

    1 B gets the send port at 11 s, and the receive port at 11 + 1 = 12 s: it arrives at 13 s.
    """
    assert arrivals([(0, 0, 1, 100), (10, 0, 2, 1)], engine, (0, 1, 1)) == pytest.approx([100.0, 13.0])


@ENGINES
@pytest.mark.parametrize(
    ("send", "transmission", "limit", "free"),
    [(1.0, 0.0, None, 12.0), (0.5, 0.5, None, 11.5), (0.0, 1.0, None, 10.0), (0.0, 1.0, 0, 12.0)],
    ids=["wire", "half", "copy", "rendezvous"],
)
def test_the_sender_of_a_message_that_passes_is_free_sooner(
    send: float, transmission: float, limit: int | None, free: float, engine: str
) -> None:
    """At 0 a rank sends what occupies the port for 100 s, at 10 s another rank of the node what occupies it for 1 s.

    The latter gets the port at S = 11 s. A sender at the speed of the wire waits until then and sends for 1 s. If s and
    t both grow by 0.5 s/B, its 2 B have s = 1 s, and it waits for half of the time: 10 + 0.5 + 1 s. One that copies is
    free at once. A rendezvous, whose answer takes no time, is free at S + w = 12 s.
    """
    link = Link(Curve.line(0.0, send), Curve.line(0.0, transmission), eager_limit=limit)
    second = round(1 / max(send, transmission))
    program = [
        [Step("send", 2, 100 * second)],
        [Step("compute", nanoseconds=10**10), Step("send", 3, second)],
        [Step("recv", 0)],
        [Step("recv", 1)],
    ]
    assert finishes(program, (0, 0, 1, 2), engine, link)[1] == pytest.approx(free)


@ENGINES
def test_messages_of_a_pair_of_ranks_never_pass_each_other(engine: str) -> None:
    """1 B from the same rank to the same rank as 100 B waits for them: 100 + 1 s. The tag does not matter."""
    assert arrivals([(0, 0, 1, 100), (10, 0, 1, 1)], engine) == pytest.approx([100.0, 101.0])


@ENGINES
def test_a_message_passes_others_but_not_the_one_before_it_on_its_connection(engine: str) -> None:
    """10 B to node 1 occupy the port until 10 s, then 100 B to node 2 until 110 s. At 1 s 1 B is sent to node 1.

    Beside two others it would get the port at 1 + 2 = 3 s, but its connection is free at 10 s only: it arrives at 11 s.
    """
    messages = [(0, 0, 1, 10), (0, 0, 2, 100), (1, 0, 1, 1)]
    assert arrivals(messages, engine) == pytest.approx([10.0, 110.0, 11.0])


@ENGINES
def test_a_message_waits_for_one_of_its_connection_that_has_passed(engine: str) -> None:
    """100 B occupy the port until 100 s. At 0, 5 B to node 2 get it at 5 s and are through at 10 s.

    1 B to node 2, sent at 1 s, would get it beside the two at 1 + 2 = 3 s, but gets it at 10 s: it arrives at 11 s.
    """
    messages = [(0, 0, 1, 100), (0, 0, 2, 5), (1, 0, 2, 1)]
    assert arrivals(messages, engine) == pytest.approx([100.0, 10.0, 11.0])


@ENGINES
@pytest.mark.parametrize("port", ["send", "receive"])
def test_equal_messages_are_served_in_turn(port: str, engine: str) -> None:
    """Seven messages of 2 B that are there at once get the port every 2 s: none takes less beside the others."""
    others = range(1, 8)
    messages = [(0, 0, other, 2) if port == "send" else (0, other, 0, 2) for other in others]
    assert arrivals(messages, engine) == pytest.approx([2.0 * place for place in others])


@ENGINES
@pytest.mark.parametrize(("nbytes", "arrival"), [(10, 20.0), (11, 51.0)], ids=["quarter", "more"])
def test_a_message_passes_only_if_it_takes_a_quarter_of_the_wait(nbytes: int, arrival: float, engine: str) -> None:
    """Behind 40 B, 10 B get the port at 0 + 10 s; 11 B are more than a quarter of 40 s, and get it at 40 s."""
    assert arrivals([(0, 0, 1, 40), (0, 0, 2, nbytes)], engine) == pytest.approx([40.0, arrival])


@ENGINES
@pytest.mark.parametrize(("nbytes", "arrival"), [(6, 17.0), (7, 52.0)], ids=["quarter", "more"])
def test_messages_that_pass_take_a_quarter_of_the_wait_together(nbytes: int, arrival: float, engine: str) -> None:
    """Behind 40 B, 5 B get the port at 5 s and are through at 10 s; the port is then free at 45 s.

    With 6 B, 11 s pass, at most a quarter of 45 s. The 40 B go on beside them for 6 s, the 5 B for 5 s: they get the
    port at 11 s. With 7 B, 12 s would pass: they get it at 45 s.
    """
    messages = [(0, 0, 1, 40), (0, 0, 2, 5), (0, 0, 3, nbytes)]
    assert arrivals(messages, engine) == pytest.approx([40.0, 10.0, arrival])


@ENGINES
def test_a_message_in_turn_starts_a_new_quarter(engine: str) -> None:
    """Behind 40 B, 5 B have passed and 7 B have not: they are through at 52 s (as above).

    Since then none has passed. So 12 B, at most a quarter of 52 s, pass: the others go on beside them for 12, 5 and
    7 s, and they arrive at 24 + 12 s. With the 5 s from before, 17 s would be too much.
    """
    messages = [(0, 0, 1, 40), (0, 0, 2, 5), (0, 0, 3, 7), (0, 0, 4, 12)]
    assert arrivals(messages, engine) == pytest.approx([40.0, 10.0, 52.0, 36.0])


@ENGINES
@pytest.mark.parametrize("port", ["send", "receive"])
def test_a_later_message_waits_for_those_that_passed(port: str, engine: str) -> None:
    """100 B occupy the port until 100 s, and 1 B passes at 11 s. So 100 B more get the port at 101 s, not at 100 s."""
    sent = [(0, 1, 100), (10, 2, 1), (20, 3, 100)]
    messages = [(time, 0, other, m) if port == "send" else (time, other, 0, m) for time, other, m in sent]
    assert arrivals(messages, engine) == pytest.approx([100.0, 12.0, 201.0])


@ENGINES
@pytest.mark.parametrize("port", ["send", "receive"])
def test_messages_that_pass_share_the_port_with_each_other(port: str, engine: str) -> None:
    """100 B occupy the port until 100 s. Two messages of 1 B are there at 10 s, two more at 12 s.

    The first gets the port at 10 + 1 s and is through at 12 s. The second has two beside it: it gets the port at 10 + 2
    s and is through at 13 s. At 12 s the first is through, so the third has two beside it, too: 12 + 2 s. The fourth
    has three: 12 + 3 s. Each takes 1 s more.
    """
    sent = [(0, 1, 100), (10, 2, 1), (10, 3, 1), (12, 4, 1), (12, 5, 1)]
    messages = [(time, 0, other, m) if port == "send" else (time, other, 0, m) for time, other, m in sent]
    assert arrivals(messages, engine) == pytest.approx([100.0, 12.0, 13.0, 15.0, 16.0])


@ENGINES
@pytest.mark.parametrize("port", ["send", "receive"])
def test_a_message_that_is_almost_through_takes_no_whole_share(port: str, engine: str) -> None:
    """40 B are through at 40 s, and another 100 B at 140 s; 10 B are there at 38 s.

    The 40 B go on beside them for 2 s, and the 100 B for 10 s, so they get the port at 50 s.
    """
    sent = [(0, 1, 40), (1, 2, 100), (38, 3, 10)]
    messages = [(time, 0, other, m) if port == "send" else (time, other, 0, m) for time, other, m in sent]
    assert arrivals(messages, engine) == pytest.approx([40.0, 140.0, 60.0])


@ENGINES
def test_the_example_of_the_chapter_on_ports(engine: str) -> None:
    """A byte takes 1 ms. Five ranks of a node send: 100 B at 0, then 1 B, 1 B, 25 B and 1 B at 10 ms.

    The first two get the port at 11 and 12 ms, and it is then free at 102 ms. 25 B would make 27 ms that have passed,
    more than a quarter of 92 ms: they get it at 102 ms. Then it is free at 127 ms, and none has passed since; the last
    one has four beside it and gets it at 10 + 4 ms.
    """
    link = Link(Curve.line(0.0), Curve.line(0.0, 0.001))
    messages = [(0.0, 0, 5, 100), (0.01, 1, 6, 1), (0.01, 2, 7, 1), (0.01, 3, 8, 25), (0.01, 4, 9, 1)]
    nodes = (0, 0, 0, 0, 0, 1, 2, 3, 4, 5)
    assert arrivals(messages, engine, nodes, link) == pytest.approx([0.1, 0.012, 0.013, 0.127, 0.015])


@ENGINES
def test_the_bucket_shortens_the_wait_that_counts(engine: str) -> None:
    """Messages take 1 s, but occupy ports for 1 s/B; the bucket is 5 B. Behind 100 B, the port is free at 100 s.

    2 B may go through it a = 5 - (2 - 1) = 4 s before that. If they are sent at 84 s, they would wait until 96 s: 12 s.
    As 2 s is at most a quarter of that, they pass at 84 + 2 = 86 s. If they are sent at 90 s, it is more than a quarter
    of 6 s (though not of 10 s): they get the port at 96 s. They arrive 1 s later.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0), busy=Curve.line(0.0, 1.0), bucket=5.0)
    for time, arrival in ((84, 87.0), (90, 97.0)):
        assert arrivals([(0, 0, 1, 100), (time, 0, 2, 2)], engine, link=link) == pytest.approx([1.0, arrival])


@ENGINES
def test_messages_with_a_bucket_wait_for_those_that_passed(engine: str) -> None:
    """Messages take 1 s, but occupy ports for 1 s/B; the bucket is 5 B. 100 B occupy the port until 100 s.

    1 B, sent at 10 s, passes at 11 s; the port is then free at 101 s. 1 B has a = 5 s. Sent at 95 s, it gets the port
    at 96 s, as 1 s is more than a quarter of that wait; the port is then free at 102 s. 100 B have a = 0: sent at 95 s,
    they get it at 102 s. All arrive 1 s after they get it.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0), busy=Curve.line(0.0, 1.0), bucket=5.0)
    messages = [(0, 0, 1, 100), (10, 0, 2, 1), (95, 0, 3, 1), (95, 0, 4, 100)]
    assert arrivals(messages, engine, link=link) == pytest.approx([1.0, 12.0, 97.0, 103.0])
