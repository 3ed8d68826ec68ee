"""Requests under way: real requests, which this process completes itself when the kernel reports them complete.

A request of the program is a real receive from this process itself, with a unique tag. Once the kernel reports its
outcome, the data (nothing, for a send or a collective) are sent there, and the real call that the program made finds
the real request complete. Unknown requests, such as nonblocking ones with null partners, are left to the real library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.calls import BLOCKING, LiveOp, Mode
from clue.trace.ops import Op

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.real import RealMPI

Function = Callable[..., Any]
#: Finishes a collective once the kernel has reported its outcome.
Deliver = Callable[[Any], None]

_WAIT, _TEST, _ALL = int(Op.WAIT), int(LiveOp.TEST), int(Mode.ALL)


class LiveRequest:
    """A request.

    Attributes:
        serials: The kernel's numbers of it, while it is under way: two after Isendrecv.
        outcomes: Their outcomes that the kernel has reported so far.
        handle: The real request's handle.
        comm: The real communicator on which it is completed.
        tag: The tag there.
        known: For a receive, the communicator whose ranks its status uses.
        deliver: Function that takes the outcome, except for messages.
        start: Function that starts a persistent request and sets ``serials``.
        parts: Parts of a partitioned send.
        release: Function to call when the program frees it, if any.
        envelope: Source and tag for its status, once it is complete.
        complete: Whether the real request is complete and the program does not know it yet.
    """

    __slots__ = (
        "comm",
        "complete",
        "deliver",
        "envelope",
        "handle",
        "known",
        "outcomes",
        "parts",
        "release",
        "serials",
        "start",
        "tag",
    )

    def __init__(self, comm: Any, tag: int, serials: tuple[int, ...], known: LiveComm | None = None) -> None:
        self.handle = 0
        self.comm = comm
        self.tag = tag
        self.serials = serials
        self.known = known
        self.outcomes: dict[int, Any] = {}
        self.deliver: Deliver | None = None
        self.start: Callable[[LiveRequest], None] | None = None
        self.parts: Any = None
        self.release: Callable[[], None] | None = None
        self.envelope: tuple[int, int] | None = None
        self.complete = False


class LiveRequests:
    """The requests of one rank, by the handles of the real ones."""

    def __init__(self, own: RealMPI) -> None:
        self._own = own
        self._serial = 0
        self.by_handle: dict[int, LiveRequest] = {}
        self.freed: list[LiveRequest] = []
        self.nothing = [bytearray(0), 0, own.mpi.BYTE]
        self._send = own.original("Comm", "Send")
        self._irecv = own.original("Comm", "Irecv")
        self._recv_init = own.original("Comm", "Recv_init")
        self._cancel = own.original("Request", "Cancel")
        self._free = own.original("Request", "Free")

    def serial(self) -> int:
        """Return a number for a request."""
        self._serial += 1
        return self._serial

    # -- making -------------------------------------------------------------------------------------------

    def begin(self, deliver: Deliver | None = None) -> tuple[Any, int]:
        """Return a real request without data, and the kernel's number for it."""
        own = self._own
        tag, serial = own.next_tag(), self.serial()
        request = self._irecv(own.parcels, self.nothing, 0, tag)
        live = self.add(request, LiveRequest(own.parcels, tag, (serial,)))
        live.deliver = deliver
        return request, serial

    def begin_complete(self) -> Any:
        """Return a real request without data for a call that has nothing to do, which is complete at once."""
        request, _ = self.begin()
        self.end(request)
        return request

    def end(self, request: Any) -> None:
        """Complete a request of which the kernel does not know."""
        live = self.by_handle[request.handle]
        live.serials = ()
        self._complete(live, None)

    def prepare(self, start: Callable[[int], Deliver | None]) -> Any:
        """Return a real persistent request without data; ``start`` tells the kernel of a start with this number."""
        own = self._own
        tag = own.next_tag()
        request = self._recv_init(own.parcels, self.nothing, 0, tag)

        def begin(live: LiveRequest) -> None:
            serial = self.serial()
            live.serials = (serial,)
            live.deliver = start(serial)

        self.add(request, LiveRequest(own.parcels, tag, ())).start = begin
        return request

    def prepare_null(self, request: Any) -> Any:
        """Return a persistent request that is complete once started, in place of a real one with a null partner.

        The real one will not do: MPICH 5 waits in Waitany for ever if a persistent receive with a null partner is
        there, and other libraries take one that rests for a complete one when they are asked for its status.
        """
        self._free(request)
        null = self._own.mpi.PROC_NULL, self._own.mpi.ANY_TAG
        prepared = self.prepare(lambda _: None)

        def begin(live: LiveRequest) -> None:
            self._complete(live, None)
            live.envelope = null

        self.by_handle[prepared.handle].start = begin
        return prepared

    def add_alone(self, request: Any) -> Any:
        """Remember a real persistent collective of one rank: once started it is complete, and then it rests.

        The library takes a request that rests for a complete one when it is asked for its status.
        """

        def begin(live: LiveRequest) -> None:
            live.complete = True

        self.add(request, LiveRequest(self._own.parcels, 0, ())).start = begin
        return request

    def add(self, request: Any, live: LiveRequest) -> LiveRequest:
        """Remember a real request."""
        live.handle = request.handle
        self.by_handle[live.handle] = live
        return live

    # -- completing ---------------------------------------------------------------------------------------

    def settle(self, requests: Sequence[LiveRequest], mode: int, *, blocking: bool) -> bool:
        """Ask the kernel about requests under way, and complete the real ones of those that are complete.

        Returns:
            Whether the kernel has counted a poll that found nothing.
        """
        port = self._own.port
        if mode == _ALL and blocking:
            serials = _open(requests)
            # A request whose data could not be delivered is known to the kernel no more.
            for serial, outcome in zip(serials, port.ask(_WAIT, entries=serials) if serials else (), strict=True):
                self._note(requests, serial, outcome)
            return False
        while True:
            serials = _open(requests)
            told = port.ask(_TEST, tag=mode, entries=serials, flags=BLOCKING if blocking else 0)
            if not told:
                return told is None
            # Half of an Isendrecv is not enough for the program.
            if sum(self._note(requests, serials[place], outcome) for place, outcome in told):
                return False

    def _note(self, requests: Sequence[LiveRequest], serial: int, outcome: Any) -> bool:
        """Note an outcome; return whether this completes its request."""
        live = next(each for each in requests if serial in each.serials)
        live.outcomes[serial] = outcome
        if len(live.outcomes) < len(live.serials):
            return False
        self._complete(live, live.outcomes[live.serials[0]])
        live.serials, live.outcomes = (), {}
        return True

    def _complete(self, live: LiveRequest, outcome: Any) -> None:
        live.complete = True
        if live.known is not None and type(outcome) is tuple:
            source, tag, payload = outcome
            live.envelope = live.known.source(source), tag
            self._send(live.comm, [self._own.port.view(payload), self._own.mpi.BYTE], 0, live.tag)
            self._own.port.release(payload)
            return
        mpi = self._own.mpi
        live.envelope = mpi.ANY_SOURCE, mpi.ANY_TAG
        if outcome == "cancelled":
            self._cancel(mpi.Request.fromhandle(live.handle))
            return
        try:
            if live.deliver is not None:
                live.deliver(outcome)
        finally:
            self._send(live.comm, self.nothing, 0, live.tag)

    def finish(self, live: LiveRequest) -> None:
        """Forget a request that the program has seen complete, or let a persistent one rest."""
        live.complete = False
        if live.start is None:
            self.by_handle.pop(live.handle, None)

    def correct(self, live: LiveRequest, status: Any) -> None:
        """Write the source of the message into a status."""
        if status is not None and live.envelope is not None:
            status.Set_source(live.envelope[0])
            status.Set_tag(live.envelope[1])

    def hold(self, comm: Any) -> bool:
        """Keep a communicator that the program frees if it has receives that are not complete."""
        waiting = [live for live in (*self.freed, *self.by_handle.values()) if live.comm == comm]
        for live in waiting:
            live.comm = type(comm)(comm)
        return bool(waiting)

    def complete_freed(self) -> None:
        """Complete the receives that the program has freed and left to the library."""
        freed, self.freed = self.freed, []
        if freed:
            self.settle(freed, _ALL, blocking=True)


def _open(requests: Sequence[LiveRequest]) -> list[int]:
    """Return the kernel's numbers of requests, but not of the half of an Isendrecv whose outcome it has reported."""
    return [serial for live in requests for serial in live.serials if serial not in live.outcomes]
