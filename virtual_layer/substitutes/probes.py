"""Probes, and matched probes, after which only the prober can receive the message."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clue.trace.calls import LiveOp
from clue.trace.ops import Flag, Op
from virtual_layer.substitutes.factories import Factory, Function
from virtual_layer.substitutes.point_to_point import Ends
from virtual_layer.substitutes.requests import LiveRequest

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

_PROBE, _IPROBE, _MRECV = int(Op.PROBE), int(LiveOp.IPROBE), int(Op.MRECV)
_MPROBE, _IMPROBE = int(Op.MPROBE), int(LiveOp.IMPROBE)
_NONBLOCKING = int(Flag.NONBLOCKING)


def probe(*, blocking: bool) -> Factory:
    """Make ``Probe`` or ``Iprobe``."""

    def make(layer: Layer, original: Function) -> Function:
        ends, port = Ends(layer), layer.port
        op = _PROBE if blocking else _IPROBE

        def substitute(self: Any, source: int = ends.any_source, tag: int = ends.any_tag, status: Any = None) -> Any:
            known = ends.of(self, source, tag)
            if known is None:
                return original(self, ends.real(self, source), tag, status)
            peer, wanted = ends.wanted(known, source, tag)
            found = port.ask(op, peer=peer, tag=wanted, context=known.context)
            if found is not None:
                _describe(layer, known, found, status)
            return found is not None

        return substitute

    return make


def _describe(layer: Layer, known: LiveComm, found: tuple[int, int, int], status: Any) -> None:
    if status is None:
        return
    source, tag, size = found
    status.Set_elements(layer.mpi.BYTE, size)
    status.Set_cancelled(False)
    status.Set_source(known.source(source))
    status.Set_tag(tag)
    status.Set_error(layer.mpi.SUCCESS)


def matched_probe(*, blocking: bool, of_class: bool = False) -> Factory:
    """Make ``Mprobe``, ``Improbe``, or ``Message.Probe`` and its like, which get a communicator as an argument."""

    def make(layer: Layer, original: Function) -> Function:
        ends, messages = Ends(layer), layer.only(Messages)

        def find(refuse: Callable[..., Any], comm: Any, source: int, tag: int, status: Any) -> Any:
            known = ends.of(comm, source, tag)
            if known is None:
                return refuse(comm, ends.real(comm, source), tag, status)
            return messages.find(refuse, known, ends.wanted(known, source, tag), status, blocking=blocking)

        def of_comm(self: Any, source: int = ends.any_source, tag: int = ends.any_tag, status: Any = None) -> Any:
            return find(original, self, source, tag, status)

        def of_type(
            cls: Any, comm: Any, source: int = ends.any_source, tag: int = ends.any_tag, status: Any = None
        ) -> Any:
            return find(lambda *rest: original(cls, *rest), comm, source, tag, status)

        return of_type if of_class else of_comm

    return make


class Messages:
    """Messages that a matched probe has taken and that are not yet received.

    The program's message object is a real one without data: a placeholder with the message's number. The data follow
    when it is received.
    """

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._by_handle: dict[int, tuple[int, LiveComm, int, Any]] = {}
        self._receive = layer.original("Message", "Recv")
        self._send = layer.original("Comm", "Isend")

    def find(
        self, take: Callable[..., Any], known: LiveComm, wanted: tuple[int, int], status: Any, *, blocking: bool
    ) -> Any:
        """Ask for a message, and return a real one that stands for it, or ``None``."""
        layer, serial = self._layer, self._layer.requests.serial()
        found = layer.port.ask(
            _MPROBE if blocking else _IMPROBE, peer=wanted[0], tag=wanted[1], context=known.context, request=serial
        )
        if found is None:
            return None
        tag = known.next_tag()
        sent = self._send(known.real, layer.requests.nothing, 0, tag)
        message = take(known.real, 0, tag, None)
        self._by_handle[message.handle] = serial, known, found[2], sent
        _describe(layer, known, found, status)
        return message

    def take_out(self, message: Any) -> tuple[int, LiveComm, int] | None:
        """Receive a placeholder; return the kernel's number of the message, its communicator and its size."""
        entry = self._by_handle.pop(message.handle, None)
        if entry is None:
            return None
        serial, known, size, sent = entry
        self._receive(message, self._layer.requests.nothing, None)
        self._layer.settle(sent, None)
        return serial, known, size

    def receive(self, message: Any, probe: Function, use: Callable[[Any], Any], status: Any) -> Any:
        """Let ``use`` receive a real message with the data, found by ``probe``."""
        entry = self.take_out(message)
        if entry is None:
            return use(message)
        serial, known, _ = entry
        layer = self._layer
        source, tag, payload = layer.port.ask(_MRECV, request=serial, context=known.context)
        real_tag = known.next_tag()
        sent = layer.inject(known.real, real_tag, payload)
        try:
            return use(probe(known.real, 0, real_tag))
        finally:
            layer.settle(sent, payload)
            if status is not None:
                status.Set_source(known.source(source))
                status.Set_tag(tag)

    def begin(self, message: Any, refuse: Function, irecv: Callable[[Any, int, int], Any]) -> Any:
        """Post a real nonblocking receive for a message, by ``irecv`` from its communicator, size and real tag."""
        entry = self.take_out(message)
        if entry is None:
            return refuse()
        serial, known, size = entry
        tag = known.next_tag()
        request = irecv(known.real, size, tag)
        self._layer.requests.add(request, LiveRequest(known.real, tag, (serial,), known))
        self._layer.port.tell(_MRECV, request=serial, context=known.context, flags=_NONBLOCKING)
        return request


def receive(layer: Layer, original: Function) -> Function:
    """Make ``Message.Recv``."""
    messages, find = layer.only(Messages), layer.original("Comm", "Mprobe")

    def substitute(self: Any, buf: Any, status: Any = None) -> None:
        messages.receive(self, find, lambda message: original(message, buf, status), status)

    return substitute


def receive_object(layer: Layer, original: Function) -> Function:
    """Make ``Message.recv``."""
    messages, find, work = layer.only(Messages), layer.original("Comm", "mprobe"), layer.port.work

    def substitute(self: Any, status: Any = None) -> Any:
        return messages.receive(self, find, lambda message: work(original, message, status), status)

    return substitute


def begin_receive(layer: Layer, original: Function) -> Function:
    """Make ``Message.Irecv``."""
    messages, irecv = layer.only(Messages), layer.original("Comm", "Irecv")

    def substitute(self: Any, buf: Any) -> Any:
        return messages.begin(self, lambda: original(self, buf), lambda comm, _, tag: irecv(comm, buf, 0, tag))

    return substitute


def begin_receive_object(layer: Layer, original: Function) -> Function:
    """Make ``Message.irecv``."""
    messages, irecv = layer.only(Messages), layer.original("Comm", "irecv")

    def substitute(self: Any) -> Any:
        return messages.begin(
            self, lambda: original(self), lambda comm, size, tag: irecv(comm, bytearray(size), 0, tag)
        )

    return substitute


CALLS: dict[tuple[str, str], Factory] = {
    ("Message", "Recv"): receive,
    ("Message", "recv"): receive_object,
    ("Message", "Irecv"): begin_receive,
    ("Message", "irecv"): begin_receive_object,
}
for _upper in (True, False):
    for _blocking, _verb in ((True, "Probe"), (False, "Iprobe")):
        CALLS["Comm", _verb if _upper else _verb.lower()] = probe(blocking=_blocking)
        CALLS["Message", _verb if _upper else _verb.lower()] = matched_probe(blocking=_blocking, of_class=True)
    for _blocking, _verb in ((True, "Mprobe"), (False, "Improbe")):
        CALLS["Comm", _verb if _upper else _verb.lower()] = matched_probe(blocking=_blocking)
