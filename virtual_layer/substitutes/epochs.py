"""Access epochs of windows in a rank process: fences, exposure, locks, and the calls that complete operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.calls import LiveOp
from clue.trace.ops import ANY, COMPLETED, POSTED, Op
from virtual_layer.substitutes.contributions import Contribution, ask
from virtual_layer.substitutes.factories import Factory
from virtual_layer.substitutes.windows import Window, Windows, of_window

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer


_SEND, _RECV, _POLL, _IPROBE = int(Op.SEND), int(Op.RECV), int(Op.POLL), int(LiveOp.IPROBE)


def _fence(layer: Layer, window: Window, assertion: int = 0) -> None:
    layer.only(Windows).finish_all(window)
    ask(layer, Contribution(window.comm, Op.BARRIER))


def _post(layer: Layer, window: Window, group: Any, assertion: int = 0) -> None:
    window.exposed = list(layer.groups.members(group))
    _notify(layer, window, window.exposed, POSTED)


def _start(layer: Layer, window: Window, group: Any, assertion: int = 0) -> None:
    window.accessed = layer.groups.members(group)
    for member in window.accessed:
        layer.port.ask(_RECV, peer=member, tag=POSTED, context=window.comm.context)


def _with_group(function: Callable[..., None]) -> Factory:
    """Make the factory of a call with a group. The window of a single rank is a real one, which needs a real group."""
    with_window = of_window(function)

    def make(layer: Layer, original: Any) -> Any:
        group_of = layer.original("Win", "Get_group")

        def alone(self: Any, group: Any, assertion: int = 0) -> None:
            if layer.groups.knows(group) and layer.groups.members(group) == (layer.port.rank,):
                group = group_of(self)
            original(self, group, assertion)

        return with_window(layer, alone)

    return make


def _complete(layer: Layer, window: Window) -> None:
    layer.only(Windows).finish_all(window)
    _notify(layer, window, window.accessed, COMPLETED)
    window.accessed = ()


def _notify(layer: Layer, window: Window, members: Sequence[int], tag: int) -> None:
    for member in members:
        layer.port.tell(_SEND, peer=member, tag=tag, context=window.comm.context)


def _wait(layer: Layer, window: Window) -> bool:
    for member in window.exposed:
        layer.port.ask(_RECV, peer=member, tag=COMPLETED, context=window.comm.context)
    window.exposed = []
    return True


def _test(layer: Layer, window: Window) -> bool:
    for member in list(window.exposed):
        if layer.port.ask(_IPROBE, peer=member, tag=COMPLETED, context=window.comm.context) is None:
            return False
        layer.port.ask(_RECV, peer=member, tag=COMPLETED, context=window.comm.context)
        window.exposed.remove(member)
    return True


def _one(layer: Layer, window: Window, rank: int) -> list[int]:
    if rank == layer.mpi.PROC_NULL:
        return []
    if not 0 <= rank < len(window.comm.group):
        raise layer.mpi.Exception(layer.mpi.ERR_RANK)
    return [rank]


def _lock(layer: Layer, window: Window, rank: int, lock_type: int | None = None, assertion: int = 0) -> None:
    exclusive = lock_type in {None, layer.mpi.LOCK_EXCLUSIVE}
    layer.only(Windows).lock(window, _one(layer, window, rank), exclusive)


def _unlock(layer: Layer, window: Window, rank: int) -> None:
    layer.only(Windows).unlock(window, _one(layer, window, rank))


def _lock_all(layer: Layer, window: Window, assertion: int = 0) -> None:
    layer.only(Windows).lock(window, range(len(window.comm.group)), False)


def _unlock_all(layer: Layer, window: Window) -> None:
    layer.only(Windows).unlock(window, range(len(window.comm.group)))


def _flush(layer: Layer, window: Window, rank: int) -> None:
    layer.only(Windows).finish(window, _one(layer, window, rank))


def _flush_all(layer: Layer, window: Window) -> None:
    layer.only(Windows).finish_all(window)


def _flush_local(layer: Layer, window: Window, rank: int) -> None:
    layer.only(Windows).finish(window, _one(layer, window, rank), local=True)


def _flush_local_all(layer: Layer, window: Window) -> None:
    layer.only(Windows).finish(window, range(len(window.comm.group)), local=True)


def _sync(layer: Layer, _window: Window) -> None:
    """Poll this rank's memory in virtual time, so that operations of other ranks on it can happen."""
    layer.port.ask(_POLL, peer=ANY)


CALLS: dict[tuple[str, str], Factory] = {
    ("Win", "Fence"): of_window(_fence),
    ("Win", "Post"): _with_group(_post),
    ("Win", "Start"): _with_group(_start),
    ("Win", "Complete"): of_window(_complete),
    ("Win", "Wait"): of_window(_wait),
    ("Win", "Test"): of_window(_test),
    ("Win", "Lock"): of_window(_lock),
    ("Win", "Unlock"): of_window(_unlock),
    ("Win", "Lock_all"): of_window(_lock_all),
    ("Win", "Unlock_all"): of_window(_unlock_all),
    ("Win", "Flush"): of_window(_flush),
    ("Win", "Flush_all"): of_window(_flush_all),
    ("Win", "Flush_local"): of_window(_flush_local),
    ("Win", "Flush_local_all"): of_window(_flush_local_all),
    ("Win", "Sync"): of_window(_sync),
}
