"""Windows: one-sided operations, and the calls that begin and end epochs.

An operation is a row of its own. The end of an epoch is a wait for the operations under way (:mod:`.epochs`), and what
else it consists of: a barrier (Fence, Free), empty messages (Post, Start, Complete, Wait), or an operation that takes
or releases a lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from clue.trace.ops import ANY, COMPLETED, POSTED, PROC_NULL, Access, Op
from virtual_layer.communicators import RecordedComm
from virtual_layer.meaning.arguments import Arguments, Keywords, argument, block_size
from virtual_layer.meaning.completion import write_wait
from virtual_layer.meaning.epochs import UnderWay, access_to
from virtual_layer.meaning.making import local, local_request, other
from virtual_layer.meaning.point_to_point import Describe
from virtual_layer.recorder import Recorder
from virtual_layer.requests import RecordedRequest

_SHARED, _EXCLUSIVE, _UNLOCK = int(Access.SHARED_LOCK), int(Access.EXCLUSIVE_LOCK), int(Access.UNLOCK)
_RANK, _GROUP = argument(1, "rank"), argument(1, "group")
#: Reads target, bytes to it and bytes back of an operation, from (MPI, arguments).
Reader = Callable[[Any, Arguments, Keywords], tuple[int, int, int]]


class RecordedWindow:
    """A rank's knowledge of a window.

    Attributes:
        comm: A communicator of its own, with the members of the one that it was made on.
        does: What an operation on its memory does, as an :class:`Access`.
        under_way: This rank's operations.
        exposed, accessed: Members of the exposure and of the access epoch.
    """

    __slots__ = ("accessed", "comm", "does", "exposed", "under_way")

    def __init__(self, comm: RecordedComm, does: int) -> None:
        self.comm, self.does = comm, does
        self.under_way = UnderWay()
        self.exposed: Sequence[int] = ()
        self.accessed: Sequence[int] = ()


# --- making and freeing ---


def maker(comm_place: int, agreements: int = 1) -> Describe:
    """Describe a constructor: a collective on a communicator, in which members agree a number of times."""
    comm_of = argument(comm_place, "comm")

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        given = comm_of(args, kwargs)
        parent = recorder.comms[(recorder.mpi.COMM_SELF if given is None else given).handle]
        recorder.windows.pop(result.handle, None)
        if not parent.plain:
            return recorder.other()
        if len(parent.group) == 1:
            recorder.windows[result.handle] = None
            recorder.emit(Op.LOCAL)
            return None
        recorder.windows[result.handle] = RecordedWindow(
            recorder.comms.window(parent), access_to(recorder.mpi, result.flavor)
        )
        for _ in range(agreements):
            recorder.emit(Op.COMM, parent.index)
        return None

    return describe


def free(recorder: Recorder, _result: Any, _args: Arguments, _kwargs: Keywords, handle: int) -> None:
    """Describe Free: a fence."""
    if handle not in recorder.windows:
        return recorder.other()
    window = recorder.windows.pop(handle)
    if window is None:
        recorder.emit(Op.LOCAL)
    else:
        _fence(recorder, window)
    return None


def _of_window(act: Callable[[Recorder, RecordedWindow, Any, Arguments, Keywords], bool]) -> Describe:
    """Describe a call by a function that writes its rows, and tells whether it has written any."""

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, memo: Any) -> None:
        try:
            window = recorder.windows[args[0].handle]
        except KeyError:  # made by a library in C, or on a communicator that is not known
            return other(recorder, result, args, kwargs, memo)
        if window is None or not act(recorder, window, result, args, kwargs):
            nothing = local_request if isinstance(result, recorder.mpi.Request) else local
            nothing(recorder, result, args, kwargs, memo)
        return None

    return describe


# --- operations ---


def _outgoing(mpi: Any, args: Arguments, kwargs: Keywords) -> tuple[int, int, int]:
    return _TARGET(args, kwargs), block_size(mpi, _ORIGIN(args, kwargs)), 0


def _incoming(mpi: Any, args: Arguments, kwargs: Keywords) -> tuple[int, int, int]:
    return _TARGET(args, kwargs), 0, block_size(mpi, _ORIGIN(args, kwargs))


def _both_ways(place: int) -> Reader:
    """Read a call whose result is an argument at a place, with the target behind it."""
    result_of, target_of = argument(place, "result"), argument(place + 1, "target_rank")

    def read(mpi: Any, args: Arguments, kwargs: Keywords) -> tuple[int, int, int]:
        there, back = block_size(mpi, _ORIGIN(args, kwargs)), block_size(mpi, result_of(args, kwargs))
        return target_of(args, kwargs), there, back

    return read


_ORIGIN, _TARGET = argument(1, "origin"), argument(2, "target_rank")
_FETCHING, _SWAPPING = _both_ways(2), _both_ways(3)


def _operation(read: Reader) -> Describe:
    """Describe an operation, with or without a request."""

    def act(recorder: Recorder, window: RecordedWindow, result: Any, args: Arguments, kwargs: Keywords) -> bool:
        target, there, back = read(recorder.mpi, args, kwargs)
        target = recorder.peer(target)
        if target == PROC_NULL:
            return False
        serial = _emit(recorder, window, target, window.does, there, back)
        if result is None:
            window.under_way.begin(target, serial, brings=back > 0)
            return True
        window.under_way.begin_loose(target, serial, brings=back > 0)
        pending = recorder.requests.add(result, RecordedRequest(result.handle, (serial,)))
        pending.over = partial(window.under_way.seen, target, serial)
        return True

    return _of_window(act)


def _emit(  # noqa: PLR0917 - the fields of a row
    recorder: Recorder, window: RecordedWindow, target: int, does: int, nbytes: int = 0, back: int = 0
) -> int:
    """Write an operation; return its request."""
    serial = recorder.requests.serial()
    recorder.emit(Op.RMA, window.comm.index, target, does, nbytes, 0, serial, (back,) if back else ())
    return serial


put, get, get_accumulate, compare_and_swap = map(_operation, (_outgoing, _incoming, _FETCHING, _SWAPPING))


# --- waiting ---


def _finish(recorder: Recorder, window: RecordedWindow, targets: Sequence[int], *, local: bool = False) -> bool:
    """Write the wait for operations on some targets, if there are any; tell whether there are."""
    for target in window.under_way.to_ask(targets, local=local):
        window.under_way.begin(target, _emit(recorder, window, target, window.does), brings=local)
    requests = window.under_way.take(targets, local=local)
    write_wait(recorder, requests)
    return bool(requests)


def _fence(recorder: Recorder, window: RecordedWindow) -> None:
    _finish(recorder, window, window.under_way.targets)
    recorder.emit(Op.BARRIER, window.comm.index)


def _locking(recorder: Recorder, window: RecordedWindow, targets: Sequence[int], does: int) -> bool:
    for target in targets:
        window.under_way.begin(target, _emit(recorder, window, target, does), brings=False)
    return _finish(recorder, window, targets)


def _one(recorder: Recorder, _window: RecordedWindow, args: Arguments, kwargs: Keywords) -> Sequence[int]:
    rank = recorder.peer(_RANK(args, kwargs))
    return () if rank == PROC_NULL else (rank,)


def _all(_recorder: Recorder, window: RecordedWindow, _args: Arguments, _kwargs: Keywords) -> Sequence[int]:
    return range(len(window.comm.group))


#: Returns the targets of a call.
_Targets = Callable[[Recorder, RecordedWindow, Arguments, Keywords], Sequence[int]]


def _lock(targets: _Targets, type_of: Callable[[Arguments, Keywords], Any]) -> Describe:
    def act(recorder: Recorder, window: RecordedWindow, _result: Any, args: Arguments, kwargs: Keywords) -> bool:
        exclusive = type_of(args, kwargs) in {None, recorder.mpi.LOCK_EXCLUSIVE}
        return _locking(recorder, window, targets(recorder, window, args, kwargs), _EXCLUSIVE if exclusive else _SHARED)

    return _of_window(act)


def _unlock(targets: _Targets) -> Describe:
    def act(recorder: Recorder, window: RecordedWindow, _result: Any, args: Arguments, kwargs: Keywords) -> bool:
        return _locking(recorder, window, targets(recorder, window, args, kwargs), _UNLOCK)

    return _of_window(act)


def _flush(targets: _Targets, *, local: bool = False) -> Describe:
    def act(recorder: Recorder, window: RecordedWindow, _result: Any, args: Arguments, kwargs: Keywords) -> bool:
        return _finish(recorder, window, targets(recorder, window, args, kwargs), local=local)

    return _of_window(act)


lock, lock_all = _lock(_one, argument(2, "lock_type")), _lock(_all, lambda _args, _kwargs: -1)
unlock, unlock_all = _unlock(_one), _unlock(_all)
flush, flush_all = _flush(_one), _flush(_all)
flush_local, flush_local_all = _flush(_one, local=True), _flush(_all, local=True)


def _fencing(recorder: Recorder, window: RecordedWindow, _result: Any, _args: Arguments, _kwargs: Keywords) -> bool:
    _fence(recorder, window)
    return True


def _members(args: Arguments, kwargs: Keywords) -> list[int]:
    """Return the members of a group as ranks of the window."""
    own = args[0].Get_group()
    ranks = list(_GROUP(args, kwargs).Translate_ranks(None, own))
    own.Free()
    return ranks


def _messages(recorder: Recorder, window: RecordedWindow, op: Op, members: Sequence[int], tag: int) -> bool:
    for member in members:
        recorder.emit(op, window.comm.index, member, tag)
    return bool(members)


def _posting(recorder: Recorder, window: RecordedWindow, _result: Any, args: Arguments, kwargs: Keywords) -> bool:
    window.exposed = _members(args, kwargs)
    return _messages(recorder, window, Op.SEND, window.exposed, POSTED)


def _starting(recorder: Recorder, window: RecordedWindow, _result: Any, args: Arguments, kwargs: Keywords) -> bool:
    window.accessed = _members(args, kwargs)
    return _messages(recorder, window, Op.RECV, window.accessed, POSTED)


def _completing(recorder: Recorder, window: RecordedWindow, _result: Any, _args: Arguments, _kwargs: Keywords) -> bool:
    waited = _finish(recorder, window, window.under_way.targets)
    accessed, window.accessed = window.accessed, ()
    return _messages(recorder, window, Op.SEND, accessed, COMPLETED) or waited


def _waiting(recorder: Recorder, window: RecordedWindow, _result: Any, _args: Arguments, _kwargs: Keywords) -> bool:
    exposed, window.exposed = window.exposed, ()
    return _messages(recorder, window, Op.RECV, exposed, COMPLETED)


def _testing(recorder: Recorder, window: RecordedWindow, result: Any, _args: Arguments, _kwargs: Keywords) -> bool:
    if not result:
        recorder.emit(Op.POLL, window.comm.index, window.exposed[0] if window.exposed else ANY, COMPLETED)
        return True
    exposed, window.exposed = window.exposed, ()
    for member in exposed:
        for op in (Op.PROBE, Op.RECV):
            recorder.emit(op, window.comm.index, member, COMPLETED)
    return bool(exposed)


def _syncing(recorder: Recorder, _window: RecordedWindow, _result: Any, _args: Arguments, _kwargs: Keywords) -> bool:
    recorder.emit(Op.POLL, peer=ANY)
    return True


fence, sync = _of_window(_fencing), _of_window(_syncing)
post, start, complete, wait, test = map(_of_window, (_posting, _starting, _completing, _waiting, _testing))
