"""Point-to-point calls and their completion, recorded as rows."""

from __future__ import annotations

import pytest

from clue.trace import ANY, PROC_NULL, Flag, Op, Trace
from tests.virtual_layer.conftest import Recorded
from tests.virtual_layer.rows import Row, calls, named

WILD = Flag.ANY_SOURCE | Flag.ANY_TAG


@pytest.fixture(scope="module")
def blocking(recorded: Recorded) -> Trace:
    """Return the trace of a program with every blocking call."""
    return recorded("""
        status = MPI.Status()
        if rank == 0:
            comm.Send([eight, 4, MPI.DOUBLE], dest=1, tag=1)
            comm.Ssend(eight, 1, 2)
            MPI.Attach_buffer(bytearray(4096))
            comm.Bsend([eight, MPI.DOUBLE], 1, 3)
            MPI.Detach_buffer()
            comm.Barrier()
            comm.Rsend(bytearray(100), 1, 4)
            comm.Send([eight, (2, 3), "d"], 1, 5)
            comm.Send(eight, MPI.PROC_NULL, 6)
        else:
            comm.Recv(room, 0, 1)
            comm.Recv(room, source=0, tag=MPI.ANY_TAG, status=status)
            assert status.tag == 2
            comm.Recv(room)
            ready = comm.Irecv(bytearray(100), 0, 4)
            comm.Barrier()
            ready.Wait()
            comm.Probe(MPI.ANY_SOURCE, 5)
            while not comm.Iprobe(tag=5):
                pass
            comm.Mprobe(status=status).Recv(room)
            comm.Recv(room, MPI.PROC_NULL)
            assert not comm.Iprobe(0, 99)
            assert comm.Improbe(MPI.ANY_SOURCE, 99) is None
        comm.Sendrecv([eight, 1, MPI.DOUBLE], other, 7, room, MPI.ANY_SOURCE, 7)
        comm.Sendrecv_replace(room, dest=other, sendtag=8, source=other, recvtag=8)
        """)


def _shape(row: Row) -> tuple[Op, int, int, int, Flag]:
    return row.op, row.peer, row.tag, row.nbytes, row.flags


def test_blocking_sends_keep_mode_partner_and_size(blocking: Trace) -> None:
    """Each send has its partner, tag, size and mode; a send to PROC_NULL has no bytes."""
    assert [_shape(row) for row in calls(blocking, 0)[:9]] == [
        (Op.SEND, 1, 1, 32, Flag(0)),
        (Op.SEND, 1, 2, 64, Flag.SYNCHRONOUS),
        (Op.LOCAL, 0, 0, 0, Flag(0)),
        (Op.SEND, 1, 3, 64, Flag.BUFFERED),
        (Op.LOCAL, 0, 0, 0, Flag(0)),
        (Op.BARRIER, 0, 0, 0, Flag(0)),
        (Op.SEND, 1, 4, 100, Flag.READY),
        (Op.SEND, 1, 5, 16, Flag(0)),
        (Op.SEND, PROC_NULL, 6, 0, Flag(0)),
    ]


def test_blocking_receives_carry_what_they_matched(blocking: Trace) -> None:
    """Wildcards are flagged, and replaced by the source and tag that matched, also without a status of the program."""
    assert [_shape(row) for row in calls(blocking, 1)[:3]] == [
        (Op.RECV, 0, 1, 0, Flag(0)),
        (Op.RECV, 0, 2, 0, Flag.ANY_TAG),
        (Op.RECV, 0, 3, 0, WILD),
    ]
    (nobody,) = [row for row in calls(blocking, 1) if row.op is Op.RECV and row.peer == PROC_NULL]
    assert nobody.flags & Flag.ANY_TAG


def test_probes_say_what_they_found(blocking: Trace) -> None:
    """A probe that finds a message is a PROBE, otherwise a POLL; a matched probe has the request of its receive."""
    assert _shape(named(blocking, 1, "Probe")[0]) == (Op.PROBE, 0, 5, 0, Flag.ANY_SOURCE)
    iprobes = named(blocking, 1, "Iprobe")
    assert _shape(iprobes[-2]) == (Op.PROBE, 0, 5, 0, Flag.ANY_SOURCE)
    assert _shape(iprobes[-1]) == (Op.POLL, 0, 99, 0, Flag(0))
    (matched,), (received,) = named(blocking, 1, "Mprobe"), named(blocking, 1, "Message.Recv")
    assert _shape(matched) == (Op.MPROBE, 0, 5, 0, WILD)
    assert (received.op, received.request) == (Op.MRECV, matched.request)
    assert named(blocking, 1, "Improbe")[0].op is Op.POLL


def test_sendrecv_is_a_receive_a_send_and_a_wait(blocking: Trace) -> None:
    """Sendrecv is a receive, a send and a wait for both, which together have one burst."""
    receive, send, wait = named(blocking, 0, "Sendrecv")
    assert _shape(receive) == (Op.IRECV, 1, 7, 0, Flag.ANY_SOURCE)
    assert _shape(send) == (Op.ISEND, 1, 7, 8, Flag.CONTINUED)
    assert (wait.op, set(wait.extras)) == (Op.WAIT, {receive.request, send.request})
    assert (send.cpu, wait.cpu, wait.flags) == (0.0, 0.0, Flag.CONTINUED)
    assert [row.op for row in named(blocking, 1, "Sendrecv_replace")] == [Op.IRECV, Op.ISEND, Op.WAIT]


@pytest.fixture(scope="module")
def nonblocking(recorded: Recorded) -> Trace:
    """Return the trace of a program with every nonblocking and persistent call."""
    return recorded("""
        import numpy as np
        if rank == 0:
            MPI.Attach_buffer(bytearray(4096))
            MPI.Request.Waitall([comm.Isend(eight, 1, 1), comm.Issend(eight, 1, 2), comm.Ibsend(eight, 1, 3)])
            MPI.Detach_buffer()
            comm.Barrier()
            persistent = comm.Send_init(eight, 1, 5)
            for _ in range(2):
                persistent.Start()
                persistent.Wait()
            MPI.Prequest.Startall([persistent])
            MPI.Request.Waitall([persistent])
            persistent.Free()
            comm.Irsend(eight, 1, 6).Wait()
            comm.Isend(eight, 1, 7).Free()
            comm.Send(eight, 1, 8)
        else:
            requests = [comm.Irecv(np.zeros(8), tag=tag) for tag in (1, 2, 3)]
            requests.append(MPI.REQUEST_NULL)
            while any(requests):
                MPI.Request.Waitsome(requests)
            ready = comm.Irecv(np.zeros(8), 0, 6)
            comm.Barrier()
            persistent = comm.Recv_init(room, MPI.ANY_SOURCE, 5)
            for _ in range(3):
                persistent.Start()
                while not persistent.Test():
                    pass
            persistent.Free()
            MPI.Request.Waitany([ready])
            status = MPI.Status()
            MPI.Request(comm.Irecv(room, tag=7)).Wait(status)
            message = comm.Mprobe(tag=8)
            assert not message.Irecv(room).Wait(status) is None
            never = comm.Irecv(room, tag=99)
            assert not MPI.Request.Testall([never])
            assert MPI.Request.Testany([never])[0] == MPI.UNDEFINED
            assert MPI.Request.Testsome([never]) == []
            never.Cancel()
            never.Wait()
        both = comm.Isendrecv(eight, other, 10, room, other, 10)
        both.Wait()
        """)


def test_nonblocking_receives_are_completed_by_what_they_matched(nonblocking: Trace) -> None:
    """A receive from any source is given its actual source when it completes."""
    receives = named(nonblocking, 1, "Irecv")
    assert [_shape(row)[:4] for row in receives[:3]] == [(Op.IRECV, 0, tag, 0) for tag in (1, 2, 3)]
    assert all(row.flags == Flag.ANY_SOURCE for row in receives[:3])


def test_waits_name_the_requests_completed(nonblocking: Trace) -> None:
    """Each request is completed by exactly one wait; a test that finds nothing is a poll."""
    for rank in (0, 1):
        done = [
            serial for row in calls(nonblocking, rank) if row.op is Op.WAIT for serial in (row.extras or (row.request,))
        ]
        assert len(done) == len(set(done))
        made = {row.request for row in calls(nonblocking, rank) if row.op in (Op.ISEND, Op.IRECV, Op.MPROBE)}
        cancelled = {row.request for row in calls(nonblocking, rank) if row.flags & Flag.CANCELLED}
        assert set(done) == made | cancelled
    polls = [row.call for row in calls(nonblocking, 1) if row.op is Op.POLL and row.call not in {"Test", "Irecv"}]
    assert polls == ["Testall", "Testany", "Testsome"]


def test_modes_of_nonblocking_sends(nonblocking: Trace) -> None:
    """Isend, Issend, Ibsend and Irsend keep their modes, and a persistent send has its flag."""
    modes = {row.call: row.flags for row in calls(nonblocking, 0) if row.op is Op.ISEND}
    assert modes == {
        "Isend": Flag(0),
        "Issend": Flag.SYNCHRONOUS,
        "Ibsend": Flag.BUFFERED,
        "Irsend": Flag.READY,
        "Start": Flag.PERSISTENT,
        "Startall": Flag.PERSISTENT,
        "Isendrecv": Flag.CONTINUED,
    }


def test_persistent_requests_start_anew(nonblocking: Trace) -> None:
    """The initialisation is local; each start is a send or receive with its own request."""
    assert [row.op for row in named(nonblocking, 0, "Send_init")] == [Op.LOCAL]
    starts = named(nonblocking, 1, "Start")
    assert [_shape(row) for row in starts] == [(Op.IRECV, 0, 5, 0, Flag.ANY_SOURCE | Flag.PERSISTENT)] * 3
    assert len({row.request for row in starts}) == 3


def test_of_a_cancelled_receive_the_time_of_its_call_is_left(nonblocking: Trace) -> None:
    """A cancelled receive becomes a poll of its source, or of any source, with the flag CANCELLED."""
    (cancelled,) = [row for row in named(nonblocking, 1, "Irecv") if row.flags & Flag.CANCELLED]
    assert (cancelled.op, cancelled.peer) == (Op.POLL, ANY)
    assert cancelled.flags == Flag.CANCELLED | Flag.ANY_SOURCE


def test_freed_requests_are_waited_for_at_the_end(nonblocking: Trace) -> None:
    """A freed request is completed by a wait at Finalize, as in a live run; a rank without one has no such wait."""
    (freed,) = [row.request for row in calls(nonblocking, 0) if row.op is Op.ISEND and row.tag == 7]
    last = calls(nonblocking, 0)[-1]
    assert (last.call, last.op, last.extras) == ("Finalize", Op.WAIT, (freed,))
    assert named(nonblocking, 1, "Finalize") == []


def test_a_matched_message_is_received_when_it_is_asked_for(nonblocking: Trace) -> None:
    """A nonblocking receive of a matched message is an MRECV with the probe's request, which starts the rendezvous."""
    (probe,), (receive,) = named(nonblocking, 1, "Mprobe"), named(nonblocking, 1, "Message.Irecv")
    assert (receive.op, receive.request, receive.flags) == (Op.MRECV, probe.request, Flag.NONBLOCKING)


def test_one_request_may_stand_for_two_ops(nonblocking: Trace) -> None:
    """Isendrecv is a send and a receive, which the same wait completes."""
    receive, send = named(nonblocking, 0, "Isendrecv")
    assert (receive.op, send.op) == (Op.IRECV, Op.ISEND)
    assert set(calls(nonblocking, 0)[-2].extras) == {send.request, receive.request}


def test_receives_that_get_status_saw_complete_are_not_given_up(recorded: Recorded) -> None:
    """Messages from any source were received, although nobody waits for them and Cancel came too late for one."""
    trace = recorded("""
        if rank == 0:
            comm.Send(eight, 1, 1)
            comm.Send(eight, 1, 2)
        else:
            kept, late = comm.Irecv(room, tag=1), comm.Irecv(array("d", bytes(64)), tag=2)
            while not (kept.Get_status() and late.Get_status()):
                pass
            late.Cancel()
            late.Free()
        """)
    assert [(row.op, row.peer) for row in named(trace, 1, "Irecv")] == [(Op.IRECV, 0)] * 2


def test_a_message_that_is_too_long_is_received(recorded: Recorded) -> None:
    """A receive or wait that raises ERR_TRUNCATE has taken its message; a call with a wrong rank has done nothing."""
    trace = recorded("""
        def fails(kind, call, *args):
            try:
                call(*args)
            except MPI.Exception as error:
                assert error.Get_error_class() in kind, error
            else:
                raise AssertionError("no error")
        too_long = (MPI.ERR_TRUNCATE, MPI.ERR_IN_STATUS)
        if rank == 0:
            for tag in range(4):
                comm.Send(eight, 1, tag)
            fails([MPI.ERR_RANK], comm.Send, eight, 99)
        else:
            fails(too_long, comm.Recv, bytearray(5), MPI.ANY_SOURCE, 0)
            fails(too_long, comm.Irecv(bytearray(5), 0, 1).Wait)
            fails(too_long, MPI.Request.Waitall, [comm.Irecv(bytearray(5), 0, 2), comm.Irecv(room, MPI.PROC_NULL)])
            fails(too_long, comm.irecv(bytearray(5), 0, 3).wait)
        """)
    receives = calls(trace, 1)[:8]
    assert [row.op for row in receives] == [
        Op.RECV, Op.IRECV, Op.WAIT, Op.IRECV, Op.IRECV, Op.WAIT, Op.IRECV, Op.WAIT
    ]  # fmt: skip
    assert (receives[0].peer, receives[0].tag, receives[0].flags) == (0, 0, Flag.ANY_SOURCE)
    assert [(receives[2].request,), receives[5].extras, (receives[7].request,)] == [(0,), (1, 2), (3,)]
    assert calls(trace, 0)[4].op == Op.OTHER


def test_a_failed_call_completes_the_requests_that_are_over(recorded: Recorded) -> None:
    """Behind a message that is too long, Waitall leaves requests to a program that gives statuses.

    Later waits end them. Without statuses, and in Waitsome, all that it has looked at are complete.
    """
    trace = recorded("""
        def fails(call, *args):
            try:
                call(*args)
            except MPI.Exception as error:
                assert error.Get_error_class() in (MPI.ERR_TRUNCATE, MPI.ERR_IN_STATUS), error
            else:
                raise AssertionError("no error")
        if rank == 0:
            for tag in range(8):
                if tag == 5:
                    comm.Barrier()
                comm.Send(bytes(8 if tag in (0, 2) else 16), 1, tag)
        else:
            rooms = [bytearray(8) for _ in range(8)]
            begun = [comm.Irecv(rooms[tag], MPI.ANY_SOURCE, tag) for tag in range(3)]
            statuses = [MPI.Status() for _ in begun]
            fails(MPI.Request.Waitall, begun, statuses)
            assert [bool(each) for each in begun] == [False, False, True]
            MPI.Request.Waitall(begun, statuses)
            assert (statuses[2].source, statuses[2].tag) == (0, 2)
            rests = [comm.Recv_init(rooms[tag], 0, tag) for tag in (3, 4)]
            MPI.Prequest.Startall(rests)
            fails(MPI.Request.Waitall, rests, [MPI.Status() for _ in rests])
            fails(MPI.Request.Waitall, rests, [MPI.Status() for _ in rests])
            for each in rests:
                each.Free()
            some = comm.Irecv(rooms[5], MPI.ANY_SOURCE, 5)
            comm.Barrier()
            fails(MPI.Request.Waitsome, [some])
            pair = [comm.Irecv(rooms[tag], MPI.ANY_SOURCE, tag) for tag in (6, 7)]
            fails(MPI.Request.Waitall, pair)
            assert not any(pair)
        """)
    received = [row for row in calls(trace, 1) if row.op == Op.IRECV]
    assert [(row.peer, row.tag, row.request) for row in received] == [(0, tag, tag) for tag in range(8)]
    waits = [row for row in calls(trace, 1) if row.op == Op.WAIT]
    assert [row.extras or (row.request,) for row in waits] == [(0, 1), (2,), (3,), (4,), (5,), (6, 7)]


def test_errors_that_a_handler_of_the_program_handles(recorded: Recorded) -> None:
    """The call returns as if all were well, but has done nothing: it is not modelled; a long message is received."""
    trace = recorded("""
        heard = []
        comm.Set_errhandler(MPI.Comm.Create_errhandler(lambda _, code: heard.append(MPI.Get_error_class(code))))
        comm.Call_errhandler(MPI.ERR_OTHER)
        comm.Recv(bytearray(8), 99)
        comm.Probe(-77)
        comm.Sendrecv(bytes(8), 1 - rank, 0, bytearray(8), 99)
        comm.Irecv(bytearray(8), 99).Wait()
        comm.Send(bytes(8), 99)
        assert heard[:6] == [MPI.ERR_OTHER, *[MPI.ERR_RANK] * 5]
        if rank == 0:
            comm.Send(eight, 1)
        else:
            comm.Recv(bytearray(5), 0)
        """)
    refused = ["Recv", "Probe", "Sendrecv", "Irecv", "Send"]
    assert [row.call for row in calls(trace, 1) if row.op == Op.OTHER] == refused
    last = calls(trace, 1)[-1]
    assert (last.op, last.peer) == (Op.RECV, 0)
