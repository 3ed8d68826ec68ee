"""Waiting for requests and testing them: first ask the kernel, then make the real call on the real requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.calls import LiveOp, Mode
from clue.trace.ops import ANY, Op
from virtual_layer.substitutes.factories import Factory, Function

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer
    from virtual_layer.substitutes.requests import LiveRequest


_CANCEL, _POLL = int(LiveOp.CANCEL), int(Op.POLL)
_ALL, _ANY, _SOME = int(Mode.ALL), int(Mode.ANY), int(Mode.SOME)
#: Given a call's result and the number of requests, returns the positions of the requests that it completed.
Completed = Callable[[Any, int], Iterable[int]]


def one(*, blocking: bool, peeks: bool = False, unpickles: bool = False) -> Factory:
    """Make a call that waits for one request or tests it."""

    def make(layer: Layer, original: Function) -> Function:
        requests, by_handle, work = layer.requests, layer.requests.by_handle, layer.port.work

        def substitute(self: Any, status: Any = None) -> Any:
            live = by_handle.get(self.handle)
            if live is None:
                result = original(self, status)
                if not blocking and _found_nothing(result):
                    layer.port.ask(_POLL, peer=ANY)
                return result
            if live.serials:
                requests.settle((live,), _ALL if blocking else _ANY, blocking=blocking)
            complete = live.complete
            try:
                return work(original, self, status) if unpickles else original(self, status)
            finally:
                if complete:
                    requests.correct(live, status)
                    if not peeks:
                        requests.finish(live)

        return substitute

    return make


def many(mode: int, completed: Completed, *, blocking: bool, peeks: bool = False, unpickles: bool = False) -> Factory:
    """Make a class method on several requests."""

    def make(layer: Layer, original: Function) -> Function:
        registry, by_handle, work = layer.requests, layer.requests.by_handle, layer.port.work

        def substitute(cls: Any, requests: Sequence[Any], statuses: Any = None) -> Any:
            lives = [by_handle.get(request.handle) for request in requests]
            polled = _settle(layer, requests, lives, mode, blocking)
            ready = [live is not None and live.complete for live in lives]
            held = [bool(request) for request in requests]
            result = None
            try:
                result = work(original, cls, requests, statuses) if unpickles else original(cls, requests, statuses)
                if not (blocking or polled) and _found_nothing(result, mode):
                    layer.port.ask(_POLL, peer=ANY)
                return result
            finally:
                if result is not None:
                    done = completed(result, len(lives))
                elif mode == _ALL:  # the call failed: the library keeps the requests behind the one that failed
                    done = [index for index in range(len(lives)) if not _is_kept(layer, _status(statuses, index))]
                elif peeks:  # the call failed, and has looked at the requests that are complete
                    done = [index for index, complete in enumerate(ready) if complete]
                else:  # the call failed, and has ended the requests that it looked at
                    ended = [not each or _rests(layer, live, each) for live, each in zip(lives, requests, strict=True)]
                    done = [index for index, was_held in enumerate(held) if was_held and ended[index]]
                for place, index in enumerate(done):
                    live = lives[index]
                    if live is not None and ready[index]:
                        # Where all are asked for, each status has the place of its request.
                        own = index if mode == _ALL else place
                        registry.correct(live, statuses if mode == _ANY else _status(statuses, own))
                        if not peeks:
                            registry.finish(live)

        def one(cls: Any, requests: Sequence[Any], status: Any = None) -> Any:
            return substitute(cls, requests, status)

        return one if mode == _ANY else substitute

    return make


def alias(name: str, make: Factory) -> Factory:
    """Make a call that mpi4py implements by another one; calling mpi4py's would ask the kernel twice."""
    return lambda layer, _original: make(layer, layer.original("Request", name))


def _settle(
    layer: Layer, requests: Sequence[Any], lives: Sequence[LiveRequest | None], mode: int, blocking: bool
) -> bool:
    """Ask the kernel about requests under way, if need be; return whether it has counted a poll that found nothing."""
    under_way = [live for live in lives if live is not None and live.serials]
    if not under_way:
        return False
    if len(under_way) < len(lives):
        # Some are complete already, or belong to the real library, which then knows what the call finds.
        look = layer.original("Request", "Get_status")
        others = (request for request, live in zip(requests, lives, strict=True) if live is None and request)
        if mode != _ALL and (any(live is not None and live.complete for live in lives) or any(map(look, others))):
            return False
        if mode == _ALL and not blocking and not all(map(look, others)):
            return False
    return layer.requests.settle(list(dict.fromkeys(under_way)), mode, blocking=blocking)


def _found_nothing(result: Any, mode: int = _ANY) -> bool:
    """Tell whether a test found nothing, such as a generalized request that the program has not completed."""
    if type(result) is bool:
        return not result
    if mode == _SOME:
        indices = result[0] if type(result) is tuple else result
        return indices is not None and not indices
    # A test of one request, or of all, returns the flag first; one of any, after the index.
    flag = next(each for each in result if type(each) is bool)
    return not flag


def _rests(layer: Layer, live: LiveRequest | None, request: Any) -> bool:
    """Tell whether a persistent receive is no longer active: the library then gives an empty status."""
    if live is None or live.start is None or not live.tag:
        return False
    status = layer.mpi.Status()
    try:
        return bool(layer.original("Request", "Get_status")(request, status)) and status.tag == int(layer.mpi.ANY_TAG)
    except layer.mpi.Exception:  # complete, with an error that the program has not seen yet
        return False


def _is_kept(layer: Layer, status: Any) -> bool:
    return status is not None and bool(layer.mpi.Get_error_class(status.error) == layer.mpi.ERR_PENDING)


def _status(statuses: Any, place: int) -> Any:
    return statuses[place] if statuses is not None and place < len(statuses) else None


def _every(result: Any, count: int) -> Iterable[int]:
    """Return all positions if the call returned."""
    flag = result[0] if type(result) is tuple else result
    return range(count) if flag is not None and flag is not False else ()


def _single(result: Any, _count: int) -> Iterable[int]:
    """Return the position whose index the call returned, alone or first."""
    index = result[0] if type(result) is tuple else result
    return (index,) if index is not None and index >= 0 else ()


def _some(result: Any, _count: int) -> Iterable[int]:
    """Return the positions whose indices the call returned, alone or first."""
    indices = result[0] if type(result) is tuple else result
    return indices or ()


def start(layer: Layer, original: Function) -> Function:
    """Make ``Prequest.Start``."""
    by_handle = layer.requests.by_handle

    def substitute(self: Any) -> None:
        original(self)
        live = by_handle.get(self.handle)
        if live is not None and live.start is not None:
            live.start(live)

    return substitute


def start_all(layer: Layer, original: Function) -> Function:
    """Make ``Prequest.Startall``."""
    by_handle = layer.requests.by_handle

    def substitute(cls: Any, requests: Sequence[Any]) -> None:
        original(cls, requests)
        for request in requests:
            live = by_handle.get(request.handle)
            if live is not None and live.start is not None:
                live.start(live)

    return substitute


def cancel(layer: Layer, original: Function) -> Function:
    """Make ``Cancel``: the kernel tells whether it was in time when the program waits for the request."""
    by_handle, port = layer.requests.by_handle, layer.port

    def substitute(self: Any) -> None:
        live = by_handle.get(self.handle)
        if live is None:
            original(self)
            return
        for serial in live.serials:
            port.tell(_CANCEL, request=serial)

    return substitute


def free(layer: Layer, original: Function) -> Function:
    """Make ``Free``: a receive continues, and is completed at the latest when this rank ends."""
    requests = layer.requests

    def substitute(self: Any) -> None:
        live = requests.by_handle.pop(self.handle, None)
        if live is not None and live.serials:
            requests.freed.append(live)
        if live is not None and live.release is not None:
            live.release()
        original(self)

    return substitute


CALLS: dict[tuple[str, str], Factory] = {
    ("Request", "Wait"): one(blocking=True),
    ("Request", "wait"): one(blocking=True, unpickles=True),
    ("Request", "Test"): one(blocking=False),
    ("Request", "test"): one(blocking=False, unpickles=True),
    ("Request", "Get_status"): one(blocking=False, peeks=True),
    ("Request", "get_status"): one(blocking=False, peeks=True),
    ("Request", "Cancel"): cancel,
    ("Request", "cancel"): cancel,
    ("Request", "Free"): free,
    ("Request", "free"): free,
    ("Prequest", "Start"): start,
    ("Prequest", "Startall"): start_all,
}
for _stem, _mode, _completed in (("any", _ANY, _single), ("all", _ALL, _every), ("some", _SOME, _some)):
    _look = many(_mode, _completed, blocking=False, peeks=True)
    CALLS["Request", f"Get_status_{_stem}"] = _look
    CALLS["Request", f"get_status_{_stem}"] = alias(f"Get_status_{_stem}", _look)
    for _verb, _blocking in (("ait", True), ("est", False)):
        _capital, _small = ("W", "w") if _blocking else ("T", "t")
        CALLS["Request", f"{_capital}{_verb}{_stem}"] = many(_mode, _completed, blocking=_blocking)
        CALLS["Request", f"{_small}{_verb}{_stem}"] = many(_mode, _completed, blocking=_blocking, unpickles=True)
