"""Messages from rank to rank: sends and receives of buffers and of objects, in all modes.

The real library does the packing: a send goes to this process itself and is received as bytes; bytes that arrive are
sent to this process itself, where the real call with the program's own buffer receives them. So the library handles
datatypes, counts, truncation and errors. Invalid ranks and tags, and null partners, are left to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clue.trace.ops import ANY, Flag, Op
from virtual_layer.substitutes.factories import Factory, Function
from virtual_layer.substitutes.requests import LiveRequest

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer
    from virtual_layer.substitutes.port import Payload

_SEND, _ISEND, _RECV, _IRECV, _WAIT = int(Op.SEND), int(Op.ISEND), int(Op.RECV), int(Op.IRECV), int(Op.WAIT)
_BUFFERED, _SYNCHRONOUS, _READY = int(Flag.BUFFERED), int(Flag.SYNCHRONOUS), int(Flag.READY)
_PICKLED, _PERSISTENT = int(Flag.PICKLED), int(Flag.PERSISTENT)


class Ends:
    """Interprets ranks and tags in calls; floats that are whole numbers may stand for them, as in mpi4py."""

    def __init__(self, layer: Layer) -> None:
        self.any_source, self.any_tag = layer.mpi.ANY_SOURCE, layer.mpi.ANY_TAG
        self.null = layer.mpi.PROC_NULL
        self.highest = layer.mpi.COMM_WORLD.Get_attr(layer.mpi.TAG_UB)
        self._comms = layer.comms

    def to(self, comm: Any, dest: int, tag: int) -> LiveComm | None:
        """Return the communicator, or ``None`` if the real library must refuse the send, or nothing is sent."""
        known = self._comms.get(comm.handle)
        return known if known is not None and 0 <= dest < len(known.peers) and 0 <= tag <= self.highest else None

    def of(self, comm: Any, source: int, tag: int) -> LiveComm | None:
        """Return the communicator, or ``None`` if the real library must refuse the receive, or nothing comes."""
        known = self._comms.get(comm.handle)
        if known is None or not (0 <= source < len(known.peers) or source == self.any_source):
            return None
        return known if 0 <= tag <= self.highest or tag == self.any_tag else None

    def wanted(self, known: LiveComm, source: int, tag: int) -> tuple[int, int]:
        """Return the source and tag of a receive in the kernel's numbers."""
        peer = ANY if source == self.any_source else known.peers[int(source)]
        return peer, ANY if tag == self.any_tag else int(tag)

    def real(self, comm: Any, rank: int) -> int:
        """Return a rank that the real library, with its single rank 0, treats as the virtual one treats this one."""
        known = self._comms.get(comm.handle)
        return 0 if known is not None and 0 <= rank < len(known.peers) else rank if rank < 0 else rank + 1


#: Formats of items that have an MPI datatype without gaps.
_PLAIN = frozenset("?bBhHiIlLqQfd") | {"Zf", "Zd"}


def plain_bytes(buffer: Any) -> memoryview | None:
    """Return the bytes of a contiguous buffer with items of a plain type; else ``None``."""
    if type(buffer) is list or type(buffer) is tuple:
        return None
    try:
        view = memoryview(buffer)
    except (TypeError, ValueError):
        return None
    if view.format not in _PLAIN or not view.c_contiguous or not view.nbytes:
        return None
    return view.cast("B")


class Packer:
    """Packs the data of a send: by a nonblocking send to this process itself, in the call's own mode.

    A plain buffer is just copied: the library would do no more.
    """

    def __init__(self, layer: Layer, flags: int) -> None:
        self._layer = layer
        self._pickled = flags & _PICKLED
        self._real = flags & (_PICKLED | _BUFFERED)
        name = "Ibsend" if flags & _BUFFERED else "Isend"
        self._send = layer.original("Comm", name.lower() if self._pickled else name)

    def pack(self, comm: Any, message: Any) -> tuple[Payload, int]:
        """Return payload and size; pickling is the program's own work."""
        plain = None if self._real else plain_bytes(message)
        if plain is not None:
            return self._layer.port.copy(plain), plain.nbytes
        if self._pickled:
            sent = self._layer.port.work(self._send, comm, message, 0, 0)
        else:
            sent = self._send(comm, message, 0, 0)
        return self._layer.collect(sent, comm=comm)


class Receiver:
    """Passes the kernel's answer to a real receive.

    The real receive is posted first, so that an invalid buffer is refused before the kernel is asked. Data for a plain
    buffer that is large enough are just copied.
    """

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._post = layer.original("Comm", "Irecv")
        self._send = layer.original("Comm", "Send")
        self._wait = layer.original("Request", "Wait")

        self._byte = layer.mpi.BYTE

    def post(self, comm: Any, known: LiveComm, buf: Any) -> Any:
        """Prepare to receive; return what :meth:`take` needs."""
        plain = plain_bytes(buf)
        if plain is not None and not plain.readonly:
            return comm, known, plain, buf
        tag = known.next_tag()
        return comm, known, tag, self._post(comm, buf, 0, tag)

    def take(self, posted: Any, answer: Any, status: Any) -> Any:
        """Receive; return what the real call returns."""
        comm, known, real_tag, request = posted
        source, tag, payload = answer
        data = self._layer.port.view(payload)
        try:
            if type(real_tag) is int:
                self._send(comm, [data, self._byte], 0, real_tag)
                self._wait(request, status)
            elif len(data) <= real_tag.nbytes:
                real_tag[: len(data)] = data
            else:
                self._refuse(comm, known, request, data, status)
        finally:
            self._layer.port.release(payload)
            if status is not None:
                if type(real_tag) is not int:
                    status.Set_elements(self._byte, len(data))
                    status.Set_cancelled(False)
                status.Set_source(known.source(source))
                status.Set_tag(tag)

    def _refuse(self, comm: Any, known: LiveComm, buf: Any, data: Any, status: Any) -> None:
        """Let the library refuse a message that is too long."""
        tag = known.next_tag()
        request = self._post(comm, buf, 0, tag)
        self._send(comm, [data, self._byte], 0, tag)
        self._wait(request, status)


class Unpickler:
    """Passes the kernel's answer to a real receive of an object."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._receive = layer.original("Comm", "recv")

    def post(self, comm: Any, known: LiveComm, buf: Any) -> Any:
        """Prepare to receive; return what :meth:`take` needs."""
        return comm, known, buf

    def take(self, posted: Any, answer: Any, status: Any) -> Any:
        """Receive; return the object. Unpickling is the program's own work."""
        comm, known, buf = posted
        source, tag, payload = answer
        real_tag = known.next_tag()
        sent = self._layer.inject(comm, real_tag, payload)
        try:
            return self._layer.port.work(self._receive, comm, buf, 0, real_tag, status)
        except TypeError:  # an invalid buffer: the message is still there
            self._receive(comm, None, 0, real_tag)
            raise
        finally:
            self._layer.settle(sent, payload)
            if status is not None:
                status.Set_source(known.source(source))
                status.Set_tag(tag)


def _of_objects(substitute: Function) -> Function:
    """Name the message as mpi4py's calls for objects do."""

    def of_objects(self: Any, obj: Any, dest: int, tag: int = 0) -> Any:
        return substitute(self, obj, dest, tag)

    return of_objects


def send(flags: int = 0) -> Factory:
    """Make a blocking send."""

    def make(layer: Layer, original: Function) -> Function:
        ends, port, pack = Ends(layer), layer.port, Packer(layer, flags).pack

        def substitute(self: Any, buf: Any, dest: int, tag: int = 0) -> None:
            known = ends.to(self, dest, tag)
            if known is None:
                original(self, buf, ends.real(self, dest), tag)
                return
            payload, size = pack(self, buf)
            peer, tag = known.peers[int(dest)], int(tag)
            port.tell(_SEND, peer=peer, tag=tag, context=known.context, nbytes=size, flags=flags, payload=payload)

        return _of_objects(substitute) if flags & _PICKLED else substitute

    return make


def isend(flags: int = 0) -> Factory:
    """Make a nonblocking send."""

    def make(layer: Layer, original: Function) -> Function:
        ends, pack = Ends(layer), Packer(layer, flags).pack

        def substitute(self: Any, buf: Any, dest: int, tag: int = 0) -> Any:
            known = ends.to(self, dest, tag)
            if known is None:
                return original(self, buf, ends.real(self, dest), tag)
            packed = pack(self, buf)
            request, serial = layer.requests.begin()
            _tell_isend(layer, known, serial, (dest, tag), packed, flags)
            return request

        return _of_objects(substitute) if flags & _PICKLED else substitute

    return make


def _tell_isend(  # noqa: PLR0917 - fields of one op
    layer: Layer, known: LiveComm, serial: int, envelope: tuple[int, int], packed: tuple[Payload, int], flags: int
) -> None:
    (dest, tag), (payload, size) = envelope, packed
    layer.port.tell(
        _ISEND, peer=known.peers[int(dest)], tag=int(tag), context=known.context, nbytes=size, request=serial,
        flags=flags, payload=payload,
    )  # fmt: skip


def recv(flags: int = 0) -> Factory:
    """Make a blocking receive."""

    def make(layer: Layer, original: Function) -> Function:
        ends, port = Ends(layer), layer.port
        receiver = Unpickler(layer) if flags & _PICKLED else Receiver(layer)

        def substitute(
            self: Any, buf: Any = None, source: int = ends.any_source, tag: int = ends.any_tag, status: Any = None
        ) -> Any:
            known = ends.of(self, source, tag)
            if known is None:
                return original(self, buf, ends.real(self, source), tag, status)
            posted = receiver.post(self, known, buf)
            peer, wanted = ends.wanted(known, source, tag)
            answer = port.ask(_RECV, peer=peer, tag=wanted, context=known.context, flags=flags)
            return receiver.take(posted, answer, status)

        return substitute

    return make


def irecv(flags: int = 0) -> Factory:
    """Make a nonblocking receive."""

    def make(layer: Layer, original: Function) -> Function:
        ends, requests = Ends(layer), layer.requests

        def substitute(self: Any, buf: Any = None, source: int = ends.any_source, tag: int = ends.any_tag) -> Any:
            known = ends.of(self, source, tag)
            if known is None:
                return original(self, buf, ends.real(self, source), tag)
            real_tag, serial = known.next_tag(), requests.serial()
            request = original(self, buf, 0, real_tag)
            requests.add(request, LiveRequest(self, real_tag, (serial,), known))
            _tell_irecv(layer, known, serial, ends.wanted(known, source, tag), flags)
            return request

        return substitute

    return make


def _tell_irecv(layer: Layer, known: LiveComm, serial: int, wanted: tuple[int, int], flags: int) -> None:
    peer, tag = wanted
    layer.port.tell(_IRECV, peer=peer, tag=tag, context=known.context, request=serial, flags=flags)


class Exchange:
    """A send and a receive at once."""

    def __init__(self, layer: Layer, flags: int = 0) -> None:
        self._layer = layer
        self._flags = flags
        self._ends = Ends(layer)
        self._packer = Packer(layer, flags)
        self._receiver = Unpickler(layer) if flags & _PICKLED else Receiver(layer)
        self._send = layer.original("Comm", "send" if flags & _PICKLED else "Send")
        self._receive = layer.original("Comm", "recv" if flags & _PICKLED else "Recv")

    def refused(self, comm: Any, to: tuple[int, int], of: tuple[int, int]) -> tuple[int, int] | None:
        """Return partners for the real call if the library must refuse it, because of a rank or a tag.

        With objects, it is a send and then a receive: the library refuses each by itself.
        """
        ends = self._ends
        if self._flags & _PICKLED:
            return None
        sends, receives = ends.to(comm, *to) is not None, ends.of(comm, *of) is not None
        if (sends or to[0] == ends.null) and (receives or of[0] == ends.null):
            return None
        return ends.real(comm, to[0]), ends.real(comm, of[0])

    def begin(
        self, comm: Any, message: Any, to: tuple[int, int], source: LiveComm | None, of: tuple[int, int]
    ) -> tuple[int, ...]:
        """Tell the kernel of both; return the numbers of the requests, receive first."""
        ends, layer = self._ends, self._layer
        target, packed = ends.to(comm, *to), None
        if target is None:
            self._send(comm, message, ends.real(comm, to[0]), to[1])
        else:
            packed = self._packer.pack(comm, message)
        serials = []
        if source is not None:
            serials.append(layer.requests.serial())
            _tell_irecv(layer, source, serials[-1], ends.wanted(source, *of), self._flags)
        if target is not None and packed is not None:
            serials.append(layer.requests.serial())
            _tell_isend(layer, target, serials[-1], to, packed, self._flags)
        return tuple(serials)

    def run(  # noqa: PLR0917 - as mpi4py has it
        self, comm: Any, message: Any, to: tuple[int, int], buf: Any, of: tuple[int, int], status: Any
    ) -> Any:
        """Do both, and return the result of the real receive."""
        known = self._ends.of(comm, *of)
        posted = None if known is None else self._receiver.post(comm, known, buf)
        serials = self.begin(comm, message, to, known, of)
        # With objects, mpi4py has begun the send when the library refuses the receive.
        nothing = None if known else self._receive(comm, buf, self._ends.real(comm, of[0]), of[1], status)
        outcomes = self._layer.port.ask(_WAIT, entries=serials) if serials else []
        return self._receiver.take(posted, outcomes[0], status) if known else nothing

    def start(self, comm: Any, message: Any, to: tuple[int, int], buf: Any, of: tuple[int, int]) -> Any:
        """Begin both, and return one real request for them."""
        known, requests = self._ends.of(comm, *of), self._layer.requests
        irecv = self._layer.original("Comm", "Irecv")
        if known is not None:
            tag = known.next_tag()
            request = irecv(comm, buf, 0, tag)
            serials = self.begin(comm, message, to, known, of)
            requests.add(request, LiveRequest(comm, tag, serials, known))
            return request
        serials = self.begin(comm, message, to, None, of)
        if not serials:
            return irecv(comm, buf, *of)
        request, _ = requests.begin()
        requests.by_handle[request.handle].serials = serials
        return request


def sendrecv(flags: int = 0) -> Factory:
    """Make ``Sendrecv`` or ``sendrecv``."""

    def make(layer: Layer, original: Function) -> Function:
        exchange, any_source, any_tag = Exchange(layer, flags), layer.mpi.ANY_SOURCE, layer.mpi.ANY_TAG

        def substitute(  # noqa: PLR0917 - as mpi4py has it
            self: Any, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = any_source,
            recvtag: int = any_tag, status: Any = None,
        ) -> Any:  # fmt: skip
            to, of = (dest, sendtag), (source, recvtag)
            refused = exchange.refused(self, to, of)
            if refused:
                return original(self, sendbuf, refused[0], sendtag, recvbuf, refused[1], recvtag, status)
            return exchange.run(self, sendbuf, to, recvbuf, of, status)

        def of_objects(self: Any, sendobj: Any, *args: Any, **kwargs: Any) -> Any:
            return substitute(self, sendobj, *args, **kwargs)

        return of_objects if flags & _PICKLED else substitute

    return make


def sendrecv_replace(layer: Layer, original: Function) -> Function:
    """Make ``Sendrecv_replace``."""
    exchange, any_source, any_tag = Exchange(layer), layer.mpi.ANY_SOURCE, layer.mpi.ANY_TAG

    def substitute(  # noqa: PLR0917
        self: Any, buf: Any, dest: int, sendtag: int = 0, source: int = any_source, recvtag: int = any_tag,
        status: Any = None,
    ) -> None:  # fmt: skip
        to, of = (dest, sendtag), (source, recvtag)
        refused = exchange.refused(self, to, of)
        if refused:
            original(self, buf, refused[0], sendtag, refused[1], recvtag, status)
        else:
            exchange.run(self, buf, to, buf, of, status)

    return substitute


def isendrecv(layer: Layer, original: Function) -> Function:
    """Make ``Isendrecv``."""
    exchange, any_source, any_tag = Exchange(layer), layer.mpi.ANY_SOURCE, layer.mpi.ANY_TAG

    def substitute(  # noqa: PLR0917
        self: Any, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = any_source,
        recvtag: int = any_tag,
    ) -> Any:  # fmt: skip
        to, of = (dest, sendtag), (source, recvtag)
        refused = exchange.refused(self, to, of)
        if refused:
            return original(self, sendbuf, refused[0], sendtag, recvbuf, refused[1], recvtag)
        return exchange.start(self, sendbuf, to, recvbuf, of)

    return substitute


def isendrecv_replace(layer: Layer, original: Function) -> Function:
    """Make ``Isendrecv_replace``."""
    exchange, any_source, any_tag = Exchange(layer), layer.mpi.ANY_SOURCE, layer.mpi.ANY_TAG

    def substitute(  # noqa: PLR0917
        self: Any, buf: Any, dest: int, sendtag: int = 0, source: int = any_source, recvtag: int = any_tag
    ) -> Any:
        to, of = (dest, sendtag), (source, recvtag)
        refused = exchange.refused(self, to, of)
        if refused:
            return original(self, buf, refused[0], sendtag, refused[1], recvtag)
        return exchange.start(self, buf, to, buf, of)

    return substitute


def send_init(flags: int = 0) -> Factory:
    """Make a persistent send; each start packs again, by a real persistent send to this process itself."""

    def make(layer: Layer, original: Function) -> Function:
        ends = Ends(layer)
        begin, free = layer.original("Prequest", "Start"), layer.original("Request", "Free")

        def substitute(self: Any, buf: Any, dest: int, tag: int = 0) -> Any:
            known = ends.to(self, dest, tag)
            if known is None:
                request = original(self, buf, ends.real(self, dest), tag)
                return layer.requests.prepare_null(request) if dest == ends.null else request
            packing = original(self, buf, 0, 0)

            def start(serial: int) -> None:
                begin(packing)
                packed = layer.collect(packing, comm=self)
                _tell_isend(layer, known, serial, (dest, tag), packed, flags | _PERSISTENT)

            request = layer.requests.prepare(start)
            layer.requests.by_handle[request.handle].release = lambda: free(packing)
            return request

        return substitute

    return make


def recv_init(layer: Layer, original: Function) -> Function:
    """Make ``Recv_init``."""
    ends, requests = Ends(layer), layer.requests

    def substitute(self: Any, buf: Any, source: int = ends.any_source, tag: int = ends.any_tag) -> Any:
        known = ends.of(self, source, tag)
        if known is None:
            request = original(self, buf, ends.real(self, source), tag)
            return requests.prepare_null(request) if source == ends.null else request
        real_tag = known.next_tag()
        request = original(self, buf, 0, real_tag)

        def start(live: LiveRequest) -> None:
            serial = requests.serial()
            live.serials = (serial,)
            _tell_irecv(layer, known, serial, ends.wanted(known, source, tag), _PERSISTENT)

        requests.add(request, LiveRequest(self, real_tag, (), known)).start = start
        return request

    return substitute


CALLS: dict[tuple[str, str], Factory] = {
    ("Comm", "Recv"): recv(),
    ("Comm", "recv"): recv(_PICKLED),
    ("Comm", "Irecv"): irecv(),
    ("Comm", "irecv"): irecv(_PICKLED),
    ("Comm", "Sendrecv"): sendrecv(),
    ("Comm", "sendrecv"): sendrecv(_PICKLED),
    ("Comm", "Sendrecv_replace"): sendrecv_replace,
    ("Comm", "Isendrecv"): isendrecv,
    ("Comm", "Isendrecv_replace"): isendrecv_replace,
    ("Comm", "Recv_init"): recv_init,
}
for _letter, _flags in (("", 0), ("b", _BUFFERED), ("s", _SYNCHRONOUS), ("r", _READY)):
    CALLS["Comm", f"{_letter}send".capitalize()] = send(_flags)
    CALLS["Comm", f"I{_letter}send"] = isend(_flags)
    CALLS["Comm", f"{_letter}send".capitalize() + "_init"] = send_init(_flags)
    if _letter != "r":  # mpi4py has no ready send of objects
        CALLS["Comm", f"{_letter}send"] = send(_flags | _PICKLED)
        CALLS["Comm", f"i{_letter}send"] = isend(_flags | _PICKLED)
