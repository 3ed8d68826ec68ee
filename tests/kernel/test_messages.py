"""Point-to-point messages against times added up by hand."""

from __future__ import annotations

import pytest

from clue.kernel import simulate
from clue.machine import Curve, Link, Machine, Network, NodeType
from clue.trace import ANY, PROC_NULL, Flag, Op, TraceBuilder
from tests.kernel.cases import ANSWER, LINK, LOCAL_LINK, RECEIVE, SEND, finishes, machine, sending, transmission


def test_eager_send_blocks_for_the_send_delay_only() -> None:
    """The sender of 1 KB is free after s; the receiver ends after s + t and its receive delay."""
    trace = TraceBuilder(2)
    trace[0].send(1, 1000)
    trace[1].recv(0)
    sender, receiver = finishes(trace, machine())
    assert sender == pytest.approx(0.011, rel=1e-12)
    assert receiver == pytest.approx(0.011 + 0.102 + 0.001, rel=1e-12)


def test_late_receive_finds_the_message_there() -> None:
    """A receive posted after the arrival costs the receive delay only."""
    trace = TraceBuilder(2)
    trace[0].send(1, 1000)
    trace[1].compute(5.0)
    trace[1].recv(0)
    assert finishes(trace, machine()) == pytest.approx([0.011, 5.001], rel=1e-12)


def test_rendezvous_waits_for_the_receive_and_its_answer() -> None:
    """The data of 20 KB start when the receive is posted, at 1 s, and an empty message has travelled back."""
    trace = TraceBuilder(2)
    trace[0].send(1, 20_000)
    trace[1].compute(1.0)
    trace[1].recv(0)
    start = 1.0 + ANSWER
    sender, receiver = simulate(trace.build(), machine()).ranks
    assert sender.finish == pytest.approx(start + sending(20), rel=1e-12)
    assert receiver.finish == pytest.approx(start + sending(20) + transmission(20) + RECEIVE, rel=1e-12)
    assert sender.communicate == pytest.approx(sending(20), rel=1e-12)
    assert sender.wait == pytest.approx(start, rel=1e-12)


def test_rendezvous_with_a_receive_posted_early_still_needs_the_answer() -> None:
    """With a receive posted early, the answer still travels only when the sender is ready, at 2 s."""
    trace = TraceBuilder(2)
    trace[0].compute(2.0)
    trace[0].send(1, 20_000)
    trace[1].recv(0)
    assert finishes(trace, machine())[0] == pytest.approx(2.0 + ANSWER + sending(20), rel=1e-12)


def test_synchronous_mode_waits_whatever_the_size() -> None:
    """An empty Ssend waits for its receive at 1 s."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0, flags=Flag.SYNCHRONOUS)
    trace[1].compute(1.0)
    trace[1].recv(0)
    assert finishes(trace, machine())[0] == pytest.approx(1.0 + ANSWER + SEND, rel=1e-12)


def test_buffered_mode_never_waits() -> None:
    """A Bsend of 20 KB is free after s, though its receive is posted at 9 s."""
    trace = TraceBuilder(2)
    trace[0].send(1, 20_000, flags=Flag.BUFFERED)
    trace[1].compute(9.0)
    trace[1].recv(0)
    assert finishes(trace, machine()) == pytest.approx([sending(20), 9.0 + RECEIVE], rel=1e-12)


@pytest.mark.parametrize("nbytes", [0, 1, 500, 1000, 4000, 1_000_000, 5_000_000])
def test_ping_pong_on_piecewise_linear_curves_is_the_closed_form(nbytes: int) -> None:
    """100 round trips take 200 (s + t + r), plus an answer per message if it is above the eager limit."""
    points = [(0.0, 40e-6), (1000.0, 50e-6), (1e6, 9e-3)]
    link = Link(Curve.line(10e-6, 1e-9), Curve.through(points), 5e-6, 64_000)
    if nbytes <= 1000:
        t = 40e-6 + nbytes * (10e-6 / 1000)
    else:
        t = 50e-6 + (nbytes - 1000) * (9e-3 - 50e-6) / (1e6 - 1000)
    answer = 0.0 if nbytes <= 64_000 else 10e-6 + 40e-6
    trace = TraceBuilder(2)
    for _ in range(100):
        trace[0].send(1, nbytes)
        trace[1].recv(0)
        trace[1].send(0, nbytes)
        trace[0].recv(1)
    expected = 200 * (10e-6 + nbytes * 1e-9 + t + 5e-6 + answer)
    assert simulate(trace.build(), machine(link=link)).makespan == pytest.approx(expected, rel=1e-12)


def test_nonblocking_transfer_overlaps_computation() -> None:
    """Irecv and Isend cost their delays at once; a second of computation hides the transfer."""
    trace = TraceBuilder(2)
    request = trace[0].isend(1, 1000)
    trace[0].compute(1.0)
    trace[0].wait(request)
    request = trace[1].irecv(0)
    trace[1].compute(1.0)
    trace[1].wait(request)
    assert finishes(trace, machine()) == pytest.approx([0.011 + 1.0, 0.001 + 1.0], rel=1e-12)


def test_wait_ends_when_the_request_is_complete() -> None:
    """Without computation the wait lasts until the arrival at s + t; the receive delay was paid by the Irecv."""
    trace = TraceBuilder(2)
    trace[0].send(1, 1000)
    trace[1].wait(trace[1].irecv(0))
    assert finishes(trace, machine())[1] == pytest.approx(0.011 + 0.102, rel=1e-12)


def test_what_rounding_leaves_over_is_no_wait() -> None:
    """Ten bursts and sends of a rank that never waits; added up one by one they exceed their sums by 2e-18 s."""
    trace = TraceBuilder(2)
    for i in range(10):
        trace[0].compute(1.2345e-3 + i * 1e-8)
        trace[0].send(1, 0)
        trace[1].recv(0)
    link = Link(send_delay=Curve.line(1e-3), transmission_delay=Curve.line(4e-3), receive_delay=0.5e-3, eager_limit=1e6)
    assert simulate(trace.build(), machine(link=link)).ranks[0].wait == 0.0


def test_nonblocking_rendezvous_is_complete_when_the_data_have_left() -> None:
    """An Isend of 20 KB costs s at once; its wait ends s after the answer to the receive posted at 1 s."""
    trace = TraceBuilder(2)
    trace[0].wait(trace[0].isend(1, 20_000))
    trace[1].compute(1.0)
    trace[1].recv(0)
    sender = simulate(trace.build(), machine()).ranks[0]
    assert sender.finish == pytest.approx(1.0 + ANSWER + sending(20), rel=1e-12)
    assert sender.communicate == pytest.approx(sending(20), rel=1e-12)


def test_waitall_ends_with_the_last_request() -> None:
    """A wait for three messages ends with that of the latest sender."""
    trace = TraceBuilder(4)
    for rank, seconds in ((1, 1.0), (2, 3.0), (3, 2.0)):
        trace[rank].compute(seconds)
        trace[rank].send(0, 0)
    trace[0].wait(*(trace[0].irecv(rank) for rank in (1, 2, 3)))
    assert finishes(trace, machine(4))[0] == pytest.approx(3.0 + 0.010 + 0.100, rel=1e-12)


def test_sendrecv_is_receive_send_and_wait() -> None:
    """Two ranks exchange 1 KB: after r and s, the partner's message arrives r + s + t after the start."""
    trace = TraceBuilder(2)
    trace[0].sendrecv(1, 1000, 1)
    trace[1].sendrecv(0, 1000, 0)
    assert finishes(trace, machine()) == pytest.approx([0.001 + 0.011 + 0.102] * 2, rel=1e-12)


def test_messages_of_one_tag_keep_their_order_and_tags_are_told_apart() -> None:
    """The receive of tag 7 takes the second message although the first of tag 3 arrived before."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0, tag=3)
    trace[0].compute(1.0)
    trace[0].send(1, 0, tag=7)
    trace[1].recv(0, tag=7)
    trace[1].recv(0, tag=3)
    arrival = 0.010 + 1.0 + 0.010 + 0.100
    assert finishes(trace, machine())[1] == pytest.approx(arrival + 2 * RECEIVE, rel=1e-12)


def test_receives_match_in_the_order_they_were_posted() -> None:
    """The first receive gets the first message, so the second one waits for the message sent at 1 s."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0)
    trace[0].compute(1.0)
    trace[0].send(1, 0)
    first, second = trace[1].irecv(0), trace[1].irecv(0)
    trace[1].wait(first)
    trace[1].compute(0.1)
    trace[1].wait(second)
    assert finishes(trace, machine())[1] == pytest.approx(0.010 + 1.0 + 0.010 + 0.100, rel=1e-12)


def test_communicators_do_not_mix() -> None:
    """The same source and tag on another communicator is another channel."""
    trace = TraceBuilder(2)
    other = trace.communicator((0, 1))
    trace[0].send(1, 0)
    trace[0].compute(1.0)
    trace[0].send(1, 0, comm=other)
    trace[1].recv(0, comm=other)
    trace[1].recv(0)
    assert finishes(trace, machine())[1] == pytest.approx(1.120 + 2 * RECEIVE, rel=1e-12)


def test_ranks_of_a_subcommunicator_are_translated() -> None:
    """Rank 0 of a communicator of ranks (2, 1) is rank 2 of the program."""
    trace = TraceBuilder(3)
    reversed_pair = trace.communicator((2, 1))
    trace[1].send(0, 0, comm=reversed_pair)
    trace[2].recv(1, comm=reversed_pair)
    assert finishes(trace, machine(3)) == pytest.approx([0.0, 0.010, 0.111], rel=1e-12)


def test_null_partner_costs_nothing() -> None:
    """Sends to and receives from the null process do nothing at all."""
    trace = TraceBuilder(1)
    trace[0].sendrecv(PROC_NULL, 1000, PROC_NULL)
    trace[0].send(PROC_NULL, 1000)
    trace[0].recv(PROC_NULL)
    assert finishes(trace, machine(1)) == [0.0]


def test_message_to_self_uses_the_link_within_the_node() -> None:
    """A rank may send to itself; the message takes a tenth of the time here."""
    trace = TraceBuilder(1)
    request = trace[0].isend(0, 0)
    trace[0].recv(0)
    trace[0].wait(request)
    assert finishes(trace, machine(1)) == pytest.approx([0.001 + 0.010 + 0.0001], rel=1e-12)


def test_pairs_of_node_types_have_links_of_their_own() -> None:
    """A link of a pair of node types applies only in its direction; a node type may have its own link within nodes."""
    slow = Link(Curve.line(1.0), Curve.line(10.0))
    network = Network(LINK, LOCAL_LINK, pairs={("fast", "slow"): slow}, within={"slow": slow})
    on = Machine("mixed", (NodeType("fast"), NodeType("slow", processors=2)), network)
    trace = TraceBuilder(3)
    trace[0].send(1, 0)
    trace[1].recv(0)
    trace[1].send(2, 0)
    trace[2].recv(1)
    assert finishes(trace, on) == pytest.approx([1.0, 12.0, 22.0], rel=1e-12)


def test_cancelled_receive_is_skipped() -> None:
    """A receive that the program cancelled neither matches nor costs anything."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0)
    trace[1].irecv(0, flags=Flag.CANCELLED)
    trace[1].recv(0)
    assert finishes(trace, machine())[1] == pytest.approx(0.111, rel=1e-12)


def test_probe_waits_for_the_message_and_costs_the_receive_delay() -> None:
    """A probe and a receive end after the arrival and two receive delays."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0)
    trace[1].add(Op.PROBE, peer=0)
    trace[1].recv(0)
    assert finishes(trace, machine())[1] == pytest.approx(0.110 + 2 * RECEIVE, rel=1e-12)


def test_probe_looks_past_receives_that_are_posted() -> None:
    """A probe behind an open receive waits for the message after it."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0)
    trace[0].compute(1.0)
    trace[0].send(1, 0)
    request = trace[1].irecv(0)
    trace[1].add(Op.PROBE, peer=0)
    trace[1].wait(request)
    trace[1].recv(0)
    assert finishes(trace, machine())[1] == pytest.approx(1.120 + 2 * RECEIVE, rel=1e-12)


def test_probe_sees_a_rendezvous_by_its_envelope() -> None:
    """A probe of 20 KB ends when an empty message would arrive; the receive then starts the rendezvous."""
    trace = TraceBuilder(2)
    trace[0].send(1, 20_000)
    trace[1].add(Op.PROBE, peer=0)
    trace[1].recv(0)
    probed = 0.110 + RECEIVE
    expected = probed + ANSWER + sending(20) + transmission(20) + RECEIVE
    assert finishes(trace, machine())[1] == pytest.approx(expected, rel=1e-12)


def test_matched_probe_takes_the_message_out_and_its_receive_opens_the_rendezvous() -> None:
    """Mprobe, a second of computation, Mrecv: the rendezvous starts with the Mrecv."""
    trace = TraceBuilder(2)
    trace[0].send(1, 20_000)
    trace[1].add(Op.MPROBE, peer=0, request=0)
    trace[1].compute(1.0)
    trace[1].add(Op.MRECV, peer=0, request=0)
    posted = 0.110 + RECEIVE + 1.0
    sender, receiver = finishes(trace, machine())
    assert sender == pytest.approx(posted + ANSWER + sending(20), rel=1e-12)
    assert receiver == pytest.approx(posted + ANSWER + sending(20) + transmission(20) + RECEIVE, rel=1e-12)


def test_failed_poll_costs_the_receive_delay_and_is_told() -> None:
    """A Test or probe that found nothing costs the receive delay, as in the paper; the result warns of polling."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0)
    trace[1].add(Op.POLL, peer=0)
    trace[1].add(Op.POLL, peer=-2)
    trace[1].compute(1.0)
    trace[1].recv(0)
    result = simulate(trace.build(), machine())
    assert result.ranks[1].finish == pytest.approx(1.0 + 3 * RECEIVE, rel=1e-12)
    assert any("2 Test, probe or Win.Sync calls found nothing" in warning for warning in result.warnings)


def test_a_test_costs_the_receive_delay_of_its_own_node_type_and_a_probe_that_of_its_source() -> None:
    """A Test that found nothing costs 1 s (links between hosts), a probe of the node of another type 4 s."""
    links = [Link(Curve.line(1.0), Curve.line(1.0), delay) for delay in (1.0, 4.0)]
    network = Network(links[0], LOCAL_LINK, pairs={("host", "other"): links[1], ("other", "host"): links[1]})
    on = Machine("pair", (NodeType("host"), NodeType("other")), network)
    for peer, cost in ((ANY, 1.0), (1, 4.0)):
        trace = TraceBuilder(2)
        trace[0].add(Op.POLL, peer=peer)
        assert finishes(trace, on) == [cost, 0.0]


def test_packing_takes_time_by_the_byte() -> None:
    """Packing 500 KB at 2 us/KB takes a millisecond."""
    trace = TraceBuilder(1)
    trace[0].add(Op.PACK, nbytes=500_000)
    assert finishes(trace, machine(1, packing_delay=2e-9)) == pytest.approx([0.001], rel=1e-12)


def test_unmodelled_calls_are_named_counted_and_timed() -> None:
    """A call that is not modelled takes no time and is reported with its count and recorded time."""
    trace = TraceBuilder(1)
    trace[0].add(Op.OTHER, call="Win.Put", took=250_000_000)
    trace[0].add(Op.OTHER, call="Win.Put", took=500_000_000)
    result = simulate(trace.build(), machine(1))
    assert result.makespan == 0.0
    (left_out,) = result.unmodelled
    assert (left_out.call, left_out.count, left_out.seconds) == ("Win.Put", 2, pytest.approx(0.75))
    assert any("Win.Put is not modelled" in warning for warning in result.warnings)


def test_receive_that_does_not_say_what_it_matched_is_left_out_and_told() -> None:
    """Some libraries give no status for a wildcard Isendrecv: the result warns of the receive and of its message."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0)
    trace[1].wait(trace[1].irecv(ANY, tag=ANY, flags=Flag.ANY_SOURCE | Flag.ANY_TAG))
    result = simulate(trace.build(), machine())
    assert result.ranks[1].finish == 0.0
    assert any("1 receive or probe is left out" in warning for warning in result.warnings)
    assert any("1 message was sent and never received" in warning for warning in result.warnings)
