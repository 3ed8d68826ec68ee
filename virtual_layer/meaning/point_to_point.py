"""Point-to-point messages: sends, receives, probes, matched probes, and the set-up of persistent ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clue.trace.ops import ANY, NO_REQUEST, Flag, Op
from virtual_layer.communicators import RecordedComm
from virtual_layer.meaning.arguments import Arguments, Keywords, argument, block_size, put
from virtual_layer.recorder import Recorder
from virtual_layer.requests import RecordedRequest

Describe = Callable[[Recorder, Any, Arguments, Keywords, Any], None]
Prepare = Callable[[Recorder, Arguments, Keywords], tuple[Arguments, Keywords, Any]]

# Plain integers: arithmetic on enum flags would cost as much as everything else in a call.
_ANY_SOURCE, _ANY_TAG, _PERSISTENT = int(Flag.ANY_SOURCE), int(Flag.ANY_TAG), int(Flag.PERSISTENT)
_WILD, _NONBLOCKING = _ANY_SOURCE | _ANY_TAG, int(Flag.NONBLOCKING)


def _outgoing(buffer: str, tag: str) -> Callable[[Recorder, Arguments, Keywords], tuple[int, int, int]]:
    """Return a function that reads partner, tag and bytes of the message that a call sends."""
    message_of, dest_of, tag_of = argument(1, buffer), argument(2, "dest"), argument(3, tag, 0)

    def read(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[int, int, int]:
        peer = recorder.peer(dest_of(args, kwargs))
        nbytes = block_size(recorder.mpi, message_of(args, kwargs)) if peer >= 0 else 0
        return peer, tag_of(args, kwargs), nbytes

    return read


_SENT = _outgoing("buf", "tag")


def send(flags: int = 0) -> Describe:
    """Describe a blocking send of a buffer."""

    def describe(recorder: Recorder, _result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        comm = recorder.comms[args[0].handle]
        if comm.known:
            recorder.emit(Op.SEND, comm.index, *_SENT(recorder, args, kwargs), flags | comm.flags)
        else:
            recorder.other()

    return describe


def isend(flags: int = 0) -> Describe:
    """Describe a nonblocking send of a buffer."""

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        start_send(recorder, result, recorder.comms[args[0].handle], *_SENT(recorder, args, kwargs), flags)

    return describe


def start_send(  # noqa: PLR0917 - the fields of a row
    recorder: Recorder, request: Any, comm: RecordedComm, peer: int, tag: int, nbytes: int, flags: int
) -> None:
    """Write a nonblocking send and remember its request."""
    if not comm.known:
        return unmodelled(recorder, request)
    serial = recorder.requests.serial()
    row = recorder.emit(Op.ISEND, comm.index, peer, tag, nbytes, flags | comm.flags, serial)
    recorder.requests.add(request, RecordedRequest(request.handle, (serial,), (row,)))
    return None


def unmodelled(recorder: Recorder, request: Any) -> None:
    """Write a nonblocking call that the simulator does not model, and remember its request."""
    recorder.other()
    recorder.requests.add(request, RecordedRequest(request.handle, ())).left_out = True


class Selection:
    """Reads the source, tag and status that a receive or probe names, and adds a status if it lacks one."""

    def __init__(self, source: int = 2, names: tuple[str, str] = ("source", "tag"), gap: int = 1) -> None:
        self.source = argument(source, names[0])
        self.tag = argument(source + gap, names[1])
        self.status_place = source + gap + 1
        self.status = argument(self.status_place, "status")

    def wanted(self, recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[int, int, int]:
        """Return source, tag and wildcard flags."""
        source, tag = self.source(args, kwargs), self.tag(args, kwargs)
        flags = 0
        if source is None or source == recorder.any_source:
            source, flags = ANY, _ANY_SOURCE
        else:
            source = recorder.peer(source)
        if tag is None or tag == recorder.any_tag:
            tag, flags = ANY, flags | _ANY_TAG
        return source, tag, flags

    def ask(self, recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, Any]:
        """Add a status to a wildcard call that has none; the memo is the selection and the status."""
        wanted = self.wanted(recorder, args, kwargs)
        status = None
        if wanted[2]:
            status = self.status(args, kwargs)
            if status is None:
                status = recorder.new_status()
                args, kwargs = put(args, kwargs, self.status_place, "status", status)
        return args, kwargs, (*wanted, status)


Wanted = tuple[int, int, int, Any]


def matched(recorder: Recorder, wanted: Wanted) -> tuple[int, int, int]:
    """Return the source and tag that matched, and wildcard flags."""
    source, tag, flags, status = wanted
    if flags:
        source = recorder.peer(status.source) if source == ANY else source
        tag = max(status.tag, 0) if tag == ANY else tag
    return source, tag, flags


RECV, PROBE, CLASS_PROBE = Selection(2), Selection(1), Selection(2)
SENDRECV = Selection(5, ("source", "recvtag"))
REPLACE = Selection(4, ("source", "recvtag"))


def recv(flags: int = 0) -> Describe:
    """Describe a blocking receive."""

    def describe(recorder: Recorder, _result: Any, args: Arguments, _kwargs: Keywords, wanted: Wanted) -> None:
        comm = recorder.comms[args[0].handle]
        if comm.known:
            source, tag, wild = matched(recorder, wanted)
            recorder.emit(Op.RECV, comm.index, source, tag, 0, wild | flags | comm.flags)
        else:
            recorder.other()

    return describe


def irecv(flags: int = 0) -> Describe:
    """Describe a nonblocking receive."""

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        source, tag, wild = RECV.wanted(recorder, args, kwargs)
        start_recv(recorder, result, recorder.comms[args[0].handle], source, tag, wild | flags)

    return describe


def start_recv(  # noqa: PLR0917 - the fields of a row
    recorder: Recorder, request: Any, comm: RecordedComm, source: int, tag: int, flags: int, sent: tuple[int, ...] = ()
) -> None:
    """Write a nonblocking receive and remember its request.

    After Isendrecv the send with serial ``sent`` shares the request.
    """
    if not comm.known:
        return unmodelled(recorder, request)
    flags |= comm.flags
    serial = recorder.requests.serial()
    row = recorder.emit(Op.IRECV, comm.index, source, tag, 0, flags, serial)
    # MPICH does not report what an Isendrecv received, so its wildcards stay unresolved.
    told = not sent or recorder.mpi.get_vendor()[0] == "Open MPI"
    wildcard = row if told and flags & _WILD else -1
    recorder.requests.add(request, RecordedRequest(request.handle, (serial, *sent), (row,), wildcard))
    return None


def sendrecv(select: Selection) -> Describe:
    """Describe a Sendrecv: a receive posted, a send started, and the wait for both."""
    sent = _outgoing("buf" if select is REPLACE else "sendbuf", "sendtag")

    def describe(recorder: Recorder, _result: Any, args: Arguments, kwargs: Keywords, wanted: Wanted) -> None:
        comm = recorder.comms[args[0].handle]
        if not comm.known:
            return recorder.other()
        exchange(recorder, comm, *sent(recorder, args, kwargs), *matched(recorder, wanted))
        return None

    return describe


def exchange(  # noqa: PLR0917 - the fields of a row
    recorder: Recorder, comm: RecordedComm, dest: int, sendtag: int, nbytes: int, source: int, recvtag: int,
    wild: int = 0, flags: int = 0,
) -> None:  # fmt: skip
    """Write a send and a receive that wait for each other."""
    flags |= comm.flags
    receive, sent = recorder.requests.serial(), recorder.requests.serial()
    recorder.emit(Op.IRECV, comm.index, source, max(recvtag, 0), 0, wild | flags, receive)
    recorder.emit(Op.ISEND, comm.index, dest, sendtag, nbytes, flags, sent)
    recorder.emit(Op.WAIT, comm.index, extras=(receive, sent), flags=flags)


def isendrecv(select: Selection) -> Describe:
    """Describe an Isendrecv: two ops behind one request."""
    sent = _outgoing("buf" if select is REPLACE else "sendbuf", "sendtag")

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        comm = recorder.comms[args[0].handle]
        if not comm.known:
            return unmodelled(recorder, result)
        outgoing, serial = sent(recorder, args, kwargs), recorder.requests.serial()
        start_recv(recorder, result, comm, *select.wanted(recorder, args, kwargs), sent=(serial,))
        recorder.emit(Op.ISEND, comm.index, *outgoing, comm.flags, serial)
        return None

    return describe


def probe(*, takes: bool = False, of_class: bool = False) -> Describe:
    """Describe a probe of any kind; a probe that finds nothing is a poll.

    With ``takes``, it takes the message out of the queue: a matched probe (Mprobe). With ``of_class`` (Message.Probe),
    its first argument is the communicator.
    """
    owner = argument(1, "comm") if of_class else argument(0, "self")

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, wanted: Wanted) -> None:
        comm = recorder.comms[owner(args, kwargs).handle]
        if not comm.known:
            return recorder.other()
        if result is None or result is False:
            source, tag, wild, _ = wanted
            recorder.emit(Op.POLL, comm.index, source, tag, 0, wild | comm.flags)
            return None
        source, tag, wild = matched(recorder, wanted)
        serial = NO_REQUEST
        if takes:
            serial = recorder.requests.serial()
            recorder.messages[id(result)] = serial
        recorder.emit(Op.MPROBE if takes else Op.PROBE, comm.index, source, tag, 0, wild | comm.flags, serial)
        return None

    return describe


def _receive_matched(recorder: Recorder, args: Arguments, flags: int) -> int | None:
    """Write the receive of a matched message; return its request, if it has one."""
    serial = recorder.messages.pop(id(args[0]), None)
    if serial is None:
        recorder.emit(Op.LOCAL)  # from MPI_PROC_NULL: nothing moves
    else:
        recorder.emit(Op.MRECV, flags=flags, request=serial)
    return serial


def mrecv(flags: int = 0) -> Describe:
    """Describe the receive of a matched message."""

    def describe(recorder: Recorder, _result: Any, args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
        _receive_matched(recorder, args, flags)

    return describe


def imrecv(flags: int = 0) -> Describe:
    """Describe the nonblocking receive of a matched message: a wait ends it."""

    def describe(recorder: Recorder, result: Any, args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
        serial = _receive_matched(recorder, args, flags | _NONBLOCKING)
        recorder.requests.add(result, RecordedRequest(result.handle, () if serial is None else (serial,)))

    return describe


def send_init(flags: int = 0) -> Describe:
    """Describe the set-up of a persistent send."""

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        comm = recorder.comms[args[0].handle]
        peer, tag, nbytes = _SENT(recorder, args, kwargs)

        def start(pending: RecordedRequest) -> None:
            serial = recorder.requests.serial()
            row = recorder.emit(Op.ISEND, comm.index, peer, tag, nbytes, flags | comm.flags | _PERSISTENT, serial)
            pending.serials, pending.rows = (serial,), (row,)

        persistent(recorder, result, start if comm.known else None)

    return describe


def recv_init(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
    """Describe the set-up of a persistent receive."""
    comm = recorder.comms[args[0].handle]
    source, tag, wild = RECV.wanted(recorder, args, kwargs)

    def start(pending: RecordedRequest) -> None:
        serial = recorder.requests.serial()
        row = recorder.emit(Op.IRECV, comm.index, source, tag, 0, wild | comm.flags | _PERSISTENT, serial)
        pending.serials, pending.rows = (serial,), (row,)
        pending.wildcard, pending.curious = (row, True) if wild else (-1, False)

    persistent(recorder, result, start if comm.known else None)


def persistent(recorder: Recorder, request: Any, start: Callable[[RecordedRequest], object] | None) -> RecordedRequest:
    """Write the set-up of a persistent request; without ``start`` its starts are not modelled."""
    recorder.emit(Op.LOCAL)
    pending = recorder.requests.add(request, RecordedRequest(request.handle, ()))
    pending.active, pending.left_out = False, start is None
    pending.start = start or (lambda _: recorder.other())
    return pending
