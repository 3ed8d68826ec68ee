"""Partitioned messages: one message whose parts the sender declares ready one by one.

It is sent when all parts are ready, and all parts arrive together: MPI allows this, and most libraries do it. To a null
partner nothing is sent then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.calls import Mode
from clue.trace.ops import Flag, Op
from virtual_layer.substitutes.blocks import all_blocks
from virtual_layer.substitutes.factories import Function
from virtual_layer.substitutes.meeting import private
from virtual_layer.substitutes.point_to_point import Ends
from virtual_layer.substitutes.requests import LiveRequest

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

_ISEND, _IRECV, _PERSISTENT, _ANY = int(Op.ISEND), int(Op.IRECV), int(Flag.PERSISTENT), int(Mode.ANY)


class Parts:
    """A partitioned send.

    Attributes:
        count: Number of its parts.
        missing: Parts that are not ready since the last start.
        send: Sends all parts.
    """

    def __init__(self, count: int, send: Callable[[], None]) -> None:
        self.count = count
        self.missing: set[int] = set()
        self.send = send


def psend_init(layer: Layer, original: Function) -> Function:
    """Make ``Psend_init``."""
    ends, init, begin = Ends(layer), layer.original("Comm", "Send_init"), layer.original("Prequest", "Start")
    free = layer.original("Request", "Free")

    def substitute(  # noqa: PLR0917 - as mpi4py has it
        self: Any, buf: Any, partitions: int, dest: int, tag: int = 0, info: Any = layer.mpi.INFO_NULL
    ) -> Any:
        known = ends.to(self, dest, tag)
        is_null = dest == ends.null and ends.to(self, 0, tag) is not None
        if (known is None and not is_null) or partitions < 1:
            return original(self, buf, partitions, ends.real(self, dest), tag, info)
        packing = init(self, all_blocks(layer.mpi, buf, partitions), dest if is_null else 0, 0)
        request = layer.requests.prepare(lambda _: None)
        live = layer.requests.by_handle[request.handle]

        def send() -> None:
            if known is None:
                layer.requests.end(request)
                return
            begin(packing)
            payload, size = layer.collect(packing, comm=self)
            live.serials = (layer.requests.serial(),)
            layer.port.tell(
                _ISEND, peer=known.peers[int(dest)], tag=int(tag), context=_context(layer, known), nbytes=size,
                request=live.serials[0], flags=_PERSISTENT, payload=payload,
            )  # fmt: skip

        live.parts = Parts(partitions, send)
        live.start, live.release = _start, lambda: free(packing)
        return request

    return substitute


def _start(live: LiveRequest) -> None:
    live.parts.missing = set(range(live.parts.count))


def precv_init(layer: Layer, original: Function) -> Function:
    """Make ``Precv_init``."""
    ends, requests, init = Ends(layer), layer.requests, layer.original("Comm", "Recv_init")
    # MPI refuses both wildcards, and mpi4py has them as defaults.
    any_source, any_tag = layer.mpi.ANY_SOURCE, layer.mpi.ANY_TAG

    def substitute(  # noqa: PLR0917
        self: Any, buf: Any, partitions: int, source: int = any_source, tag: int = any_tag,
        info: Any = layer.mpi.INFO_NULL,
    ) -> Any:  # fmt: skip
        known = ends.of(self, source, tag)
        if source == ends.null and partitions >= 1 and ends.to(self, 0, tag) is not None:
            return requests.prepare_null(init(self, all_blocks(layer.mpi, buf, partitions), source, tag))
        if known is None or partitions < 1 or source < 0 or tag < 0:
            return original(self, buf, partitions, ends.real(self, source), tag, info)
        real_tag = known.next_tag()
        request = init(self, all_blocks(layer.mpi, buf, partitions), 0, real_tag)

        def start(live: LiveRequest) -> None:
            live.serials = (requests.serial(),)
            layer.port.tell(
                _IRECV, peer=known.peers[int(source)], tag=int(tag), context=_context(layer, known),
                request=live.serials[0], flags=_PERSISTENT,
            )  # fmt: skip

        requests.add(request, LiveRequest(self, real_tag, (), known)).start = start
        return request

    return substitute


def _context(layer: Layer, known: LiveComm) -> int:
    """Return the context in which partitioned messages of a communicator match only each other."""
    return private(layer, known, "partitioned", sorted({*known.group, *known.peers})).context


def ready(which: Callable[..., Iterable[int]]) -> Callable[[Layer, Function], Function]:
    """Make a call that declares parts ready."""

    def make(layer: Layer, original: Function) -> Function:
        by_handle = layer.requests.by_handle

        def substitute(self: Any, *args: Any, **kwargs: Any) -> None:
            live = by_handle.get(self.handle)
            if live is None or live.parts is None:
                original(self, *args, **kwargs)
                return
            told = set(which(*args, **kwargs))
            if not told <= live.parts.missing:
                raise layer.mpi.Exception(layer.mpi.ERR_ARG)
            live.parts.missing -= told
            if not live.parts.missing and told:
                live.parts.send()

        return substitute

    return make


def _one(partition: int) -> Iterable[int]:
    return (partition,)


def _range(partition_low: int, partition_high: int) -> Iterable[int]:
    return range(partition_low, partition_high + 1)


def _list(partitions: Sequence[int]) -> Iterable[int]:
    return partitions


def arrived(layer: Layer, original: Function) -> Function:
    """Make ``Parrived``."""
    requests = layer.requests

    def substitute(self: Any, partition: int) -> bool:
        live = requests.by_handle.get(self.handle)
        if live is None:
            return bool(original(self, partition))
        if not live.serials:
            return True
        requests.settle((live,), _ANY, blocking=False)
        return live.complete

    return substitute


CALLS = {
    ("Comm", "Psend_init"): psend_init,
    ("Comm", "Precv_init"): precv_init,
    ("Prequest", "Pready"): ready(_one),
    ("Prequest", "Pready_range"): ready(_range),
    ("Prequest", "Pready_list"): ready(_list),
    ("Prequest", "Parrived"): arrived,
}
