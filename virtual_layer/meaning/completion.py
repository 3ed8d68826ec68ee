"""Starting, waiting for, testing, cancelling and freeing requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from clue.trace.ops import ANY, Op
from virtual_layer.meaning.arguments import Arguments, Keywords, argument, put
from virtual_layer.meaning.point_to_point import Describe, Prepare
from virtual_layer.recorder import Recorder
from virtual_layer.requests import RecordedRequest

_STATUS, _REQUESTS, _STATUSES = argument(1, "status"), argument(1, "requests"), argument(2, "statuses")
_ANY_STATUS = argument(2, "status")
#: Request objects, each with its record, if there is one.
Asked = list[tuple[Any, RecordedRequest | None]]
#: The result of a call that failed because a message was too long: requests and statuses tell which are complete.
FAILED = object()


def ask_one(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, Any]:
    """Look up a request before its completion, and add a status to the call if one is needed."""
    pending = recorder.requests.find(args[0])
    status = _STATUS(args, kwargs)
    if status is None and pending is not None and pending.curious:
        status = recorder.new_status()
        args, kwargs = put(args, kwargs, 1, "status", status)
    return args, kwargs, (pending, status)


def ask_any(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, Any]:
    """Look up requests before one of them completes."""
    asked, curious = _look_up(recorder, args, kwargs)
    status = _ANY_STATUS(args, kwargs)
    if status is None and curious:
        status = recorder.new_status()
        args, kwargs = put(args, kwargs, 2, "status", status)
    return args, kwargs, (asked, status)


def ask_all(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, Any]:
    """Look up requests before some or all of them complete; mpi4py fills an empty list of statuses."""
    asked, curious = _look_up(recorder, args, kwargs)
    statuses = _STATUSES(args, kwargs)
    ours = statuses is None and curious
    if ours:
        statuses = []
        args, kwargs = put(args, kwargs, 2, "statuses", statuses)
    return args, kwargs, (asked, statuses, ours)


def unpickling(ask: Prepare, describe: Describe) -> tuple[Prepare, Describe]:
    """Make a completion that returns objects count the time of unpickling them as computation after the call."""

    def prepare(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, Any]:
        args, kwargs, memo = ask(recorder, args, kwargs)
        return args, kwargs, (memo, recorder.pickles.begin())

    def describe_and_charge(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, memo: Any) -> None:
        describe(recorder, result, args, kwargs, memo[0])
        recorder.charge(memo[1].after, later=True)

    return prepare, describe_and_charge


def _look_up(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Asked, bool]:
    """Return the requests with their records, and whether any of them needs its status."""
    find = recorder.requests.find
    asked: Asked = []
    curious = False
    for request in _REQUESTS(args, kwargs):
        pending = find(request)
        asked.append((request, pending))
        if pending is not None and pending.curious:
            curious = True
    return asked, curious


def wait_one(found: Callable[[Any], object] | None = None, *, kept: bool = False) -> Describe:
    """Describe Wait, Test and Get_status of a request; ``found`` reads from the result whether it is complete."""

    def describe(recorder: Recorder, result: Any, args: Arguments, _kwargs: Keywords, memo: Any) -> None:
        over = found is None or result is FAILED or found(result)
        complete(recorder, [(args[0], *memo)] if over else None, kept=kept)

    return describe


def wait_any(index: int = -1, flag: int = -1, *, kept: bool = False) -> Describe:
    """Describe Waitany, Testany and Get_status_any.

    Args:
        index: Position, in the result, of the completed request's index; -1 if the result is that index.
        flag: Position, in the result, of whether a request was complete; -1 if one always is.
        kept: Whether the program keeps the request.
    """

    def describe(recorder: Recorder, result: Any, _args: Arguments, _kwargs: Keywords, memo: Any) -> None:
        asked, status = memo
        if result is FAILED:
            return _looked_at(recorder, asked, [status])
        which = result if index < 0 else result[index]
        if flag >= 0 and not result[flag]:
            complete(recorder, None)
        else:
            chosen = [asked[which]] if 0 <= which < len(asked) else []
            complete(recorder, [(*each, status) for each in chosen], kept=kept)
        return None

    return describe


def wait_all(*, found: Any = None, kept: bool = False) -> Describe:
    """Describe Waitall, Testall and Get_status_all; ``found`` reads from the result whether all are complete."""

    def describe(recorder: Recorder, result: Any, _args: Arguments, _kwargs: Keywords, memo: Any) -> None:
        asked, statuses, ours = memo
        if found is not None and result is not FAILED and not found(result):
            return complete(recorder, None)
        done = [(*each, _status(statuses, i)) for i, each in enumerate(asked)]
        if result is FAILED:
            left = [each for each in done if _is_left(recorder, each[2])]
            if ours:
                _end(recorder, left)
            else:
                done = [each for each in done if each not in left]
        return complete(recorder, done, kept=kept)

    return describe


def wait_some(*, tuple_result: bool, test: bool, kept: bool = False) -> Describe:
    """Describe Waitsome, Testsome and Get_status_some."""

    def describe(recorder: Recorder, result: Any, _args: Arguments, _kwargs: Keywords, memo: Any) -> None:
        asked, statuses, _ = memo
        if result is FAILED:
            return _looked_at(recorder, asked, statuses or [])
        indices: Sequence[int] | None = result[0] if tuple_result else result
        if test and indices is not None and not indices:
            complete(recorder, None)
        else:
            done = [(*asked[at], _status(statuses, i)) for i, at in enumerate(indices or ())]
            complete(recorder, done, kept=kept)
        return None

    return describe


def _looked_at(recorder: Recorder, asked: Asked, statuses: Sequence[Any]) -> None:
    """Write the wait of a failed call for some requests: for those that are null now; of these, it fills the statuses.

    Whether persistent ones are over is not known: asking the library for their status would take an error from them.
    """
    if any(pending is not None and pending.active and pending.start is not None for _, pending in asked):
        return recorder.other()
    over = [(request, pending) for request, pending in asked if pending is not None and not request]
    return complete(recorder, [(*each, _status(statuses, i)) for i, each in enumerate(over)])


def _is_left(recorder: Recorder, status: Any) -> bool:
    """Tell whether a failed Waitall has left a request to the program: it is behind the one that failed."""
    return status is not None and bool(recorder.mpi.Get_error_class(status.error) == recorder.mpi.ERR_PENDING)


def _end(recorder: Recorder, left: Sequence[tuple[Any, RecordedRequest | None, Any]]) -> None:
    """End requests that the library has left only because of our statuses."""
    for request, _, status in left:
        with suppress(recorder.mpi.Exception):
            request.Wait(status)


def _status(statuses: Sequence[Any] | None, at: int) -> Any:
    return statuses[at] if statuses is not None and at < len(statuses) else None


def complete(
    recorder: Recorder, done: Sequence[tuple[Any, RecordedRequest | None, Any]] | None, *, kept: bool = False
) -> None:
    """Write the wait for the requests that completed; ``None`` means that the test found nothing.

    Requests that the program keeps (``kept``) count as complete from now on, whether it waits for them or not.
    """
    if done is None:
        recorder.emit(Op.POLL, peer=ANY)
        return
    serials: list[int] = []
    left_out = False
    for request, pending, status in done:
        if pending is None or not pending.active:
            continue
        serials.extend(pending.serials)
        left_out = left_out or pending.left_out
        if pending.curious:
            recorder.complete(pending, status)
        if pending.over is not None:
            pending.over()
        if kept:
            pending.serials, pending.rows, pending.wildcard = (), (), -1
        else:
            recorder.requests.forget(request, pending)
    write_wait(recorder, serials)
    if left_out:
        recorder.other()
    elif not serials:
        recorder.emit(Op.LOCAL)


def write_wait(recorder: Recorder, serials: Sequence[int]) -> None:
    """Write the wait for some operations, if there are any."""
    if len(serials) == 1:
        recorder.emit(Op.WAIT, request=serials[0])
    elif serials:
        recorder.emit(Op.WAIT, extras=serials)


def start(recorder: Recorder, _result: Any, args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
    """Describe the start of a persistent request."""
    _start(recorder, [args[0]])


def start_all(recorder: Recorder, _result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
    """Describe the start of several persistent requests."""
    _start(recorder, _REQUESTS(args, kwargs))


def _start(recorder: Recorder, requests: Sequence[Any]) -> None:
    if not requests:
        recorder.emit(Op.LOCAL)
    for request in requests:
        pending = recorder.requests.find(request)
        if pending is None or pending.start is None:
            recorder.other()
        else:
            pending.active, pending.cancelled, pending.curious = True, False, False
            pending.start(pending)


def find(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, Any]:
    """Look up a request before it is cancelled or freed."""
    return args, kwargs, recorder.requests.find(args[0])


def cancel(
    recorder: Recorder, _result: Any, _args: Arguments, _kwargs: Keywords, pending: RecordedRequest | None
) -> None:
    """Describe Cancel: the completion tells whether it succeeded."""
    recorder.emit(Op.LOCAL)
    if pending is not None:
        pending.cancelled = pending.curious = True


def free_request(
    recorder: Recorder, _result: Any, args: Arguments, _kwargs: Keywords, pending: RecordedRequest | None
) -> None:
    """Describe Free of a request: the program no longer waits for it, and no longer learns whether Cancel succeeded.

    A freed receive counts as cancelled: otherwise the replay would wait for a message that may never come.
    """
    recorder.emit(Op.LOCAL)
    if pending is not None:
        if pending.cancelled and pending.active:
            recorder.give_up_receives(pending)
        recorder.requests.free(args[0], pending)


def finalize(recorder: Recorder, _result: Any, _args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
    """Describe Finalize, which waits for the requests that the program has left to the library."""
    freed = recorder.requests.take_freed()
    if freed:
        recorder.emit(Op.WAIT, extras=freed)
    else:
        recorder.emit(Op.LOCAL)
