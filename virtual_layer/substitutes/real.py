"""The real MPI library, in which this process is alone, and the port to the kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from virtual_layer.substitutes.port import Payload, Port

#: Number of tags of the real messages that pass data; they are used in turn.
TAGS = 1 << 20


class RealMPI:
    """The capabilities of this process alone: mpi4py's own functions, and data passed by messages to itself.

    Attributes:
        mpi: The module ``mpi4py.MPI``.
        port: The port to the kernel.
        originals: The untouched functions by type and name.
        parcels: A real communicator of this process alone, on which data are packed.
    """

    def __init__(self, mpi: Any, port: Port) -> None:
        self.mpi = mpi
        self.port = port
        self.originals: dict[tuple[str, str], Any] = {}
        self.parcels = mpi.COMM_SELF.Dup()
        self._tag = 0
        self._probe, self._receive, self._isend = (self.original("Comm", name) for name in ("Probe", "Recv", "Isend"))
        self._status = mpi.Status()
        self._wait = self.original("Request", "Wait")

    def original(self, of: str, name: str) -> Callable[..., Any]:
        """Return mpi4py's own function, substituted or not."""
        found = self.originals.get((of, name))
        if found is None:
            found = getattr(self.mpi, name) if of == "" else getattr(self.mpi, of).__dict__[name]
            found = found.__func__ if isinstance(found, classmethod) else found
        return found

    def set_handle(self, holder: Any, like: Any) -> None:
        """Give one MPI object the handle of another, which may be of another class."""
        address = self.original("", "_addressof")
        ctypes.memmove(address(holder), address(like), self.mpi._sizeof(like))

    def next_tag(self) -> int:
        """Return a tag for one real message on ``parcels``; 0 is for packing."""
        self._tag = self._tag % TAGS + 1
        return self._tag

    def collect(self, sent: Any, readers: int = 1, comm: Any = None) -> tuple[Payload, int]:
        """Receive the data of a real send to this process itself; return payload and size.

        Args:
            sent: The request of the send, which has tag 0.
            readers: Number of ranks that will release the payload.
            comm: The real communicator of the send; ``parcels`` if not given.
        """
        comm, status = comm or self.parcels, self._status
        self._probe(comm, 0, 0, status)
        length = status.Get_count(self.mpi.BYTE)
        payload, memory = self.port.room(length, readers)
        self._receive(comm, [memory, self.mpi.BYTE], 0, 0)
        self._wait(sent)
        return payload, length

    def inject(self, comm: Any, tag: int, payload: Payload) -> Any:
        """Send a payload to this process itself, for a real receive; return the real request."""
        return self._isend(comm, [self.port.view(payload), self.mpi.BYTE], 0, tag)

    def settle(self, sent: Any, payload: Payload) -> None:
        """End an injection whose message has been received."""
        self._wait(sent)
        self.port.release(payload)
