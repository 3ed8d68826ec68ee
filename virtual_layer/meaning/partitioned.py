"""Partitioned messages: sent when the last part is ready, matched only with each other; parts arrive together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from clue.trace.ops import ANY, Flag, Op
from virtual_layer.communicators import RecordedComm
from virtual_layer.meaning.arguments import Arguments, Keywords, argument, block_size, split_message
from virtual_layer.meaning.completion import complete
from virtual_layer.meaning.point_to_point import Describe, Selection, persistent
from virtual_layer.recorder import Recorder
from virtual_layer.requests import RecordedRequest

_PERSISTENT = int(Flag.PERSISTENT)
_BUFFER, _PARTITIONS, _DEST, _TAG = (
    argument(1, "buf"),
    argument(2, "partitions"),
    argument(3, "dest"),
    argument(4, "tag", 0),
)
_PRECV = Selection(3)
#: Reads from a call the parts that it declares ready.
Parts = Callable[[Arguments, Keywords], Iterable[int]]


def _channel(recorder: Recorder, comm: RecordedComm) -> RecordedComm:
    """Return the private communicator on which partitioned messages of a communicator are matched."""
    return recorder.comms.private(comm, "partitioned")


def psend_init(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
    """Describe the set-up of a partitioned send: its message is sent when the last part is ready."""
    comm = recorder.comms[args[0].handle]
    parts, peer, tag = _PARTITIONS(args, kwargs), recorder.peer(_DEST(args, kwargs)), _TAG(args, kwargs)
    nbytes = _size(recorder.mpi, _BUFFER(args, kwargs), parts) if peer >= 0 else 0

    def begin(pending: RecordedRequest) -> None:
        pending.serials, pending.missing = (), set(range(parts))
        recorder.emit(Op.LOCAL)

    def send(pending: RecordedRequest) -> None:
        at, serial = _channel(recorder, comm), recorder.requests.serial()
        recorder.emit(Op.ISEND, at.index, peer, tag, nbytes, at.flags | _PERSISTENT, serial)
        pending.serials = (serial,)

    persistent(recorder, result, begin if comm.known else None).send = send


def _size(mpi: Any, message: Any, parts: int) -> int:
    """Return the bytes of all parts; the count of a buffer, if given, is that of one part."""
    counted = type(message) in {list, tuple} and split_message(mpi, message)[1] is not None
    return block_size(mpi, message) * (parts if counted else 1)


def precv_init(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
    """Describe the set-up of a partitioned receive; it names its source and tag, as MPI demands."""
    comm = recorder.comms[args[0].handle]
    source, tag, _ = _PRECV.wanted(recorder, args, kwargs)

    def begin(pending: RecordedRequest) -> None:
        at, serial = _channel(recorder, comm), recorder.requests.serial()
        row = recorder.emit(Op.IRECV, at.index, source, tag, 0, at.flags | _PERSISTENT, serial)
        pending.serials, pending.rows = (serial,), (row,)

    persistent(recorder, result, begin if comm.known and ANY not in {source, tag} else None)


def ready(which: Parts) -> Describe:
    """Describe a call that declares parts ready."""

    def describe(recorder: Recorder, _result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        pending = recorder.requests.find(args[0])
        if pending is None or pending.missing is None:
            return recorder.other()
        told = set(which(args, kwargs))
        pending.missing -= told
        if told and not pending.missing and pending.send is not None:
            pending.send(pending)
        else:
            recorder.emit(Op.LOCAL)
        return None

    return describe


def one(args: Arguments, kwargs: Keywords) -> Iterable[int]:
    """Read Pready."""
    return (argument(1, "partition")(args, kwargs),)


def range_of(args: Arguments, kwargs: Keywords) -> Iterable[int]:
    """Read Pready_range, whose last part is included."""
    first, last = argument(1, "partition_low")(args, kwargs), argument(2, "partition_high")(args, kwargs)
    return range(first, last + 1)


def list_of(args: Arguments, kwargs: Keywords) -> Iterable[int]:
    """Read Pready_list."""
    parts: Sequence[int] = argument(1, "partitions")(args, kwargs)
    return parts


def arrived(
    recorder: Recorder, result: bool, args: Arguments, _kwargs: Keywords, pending: RecordedRequest | None
) -> None:
    """Describe Parrived: a test that lets the program keep the request."""
    complete(recorder, [(args[0], pending, None)] if result else None, kept=True)
