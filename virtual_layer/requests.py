"""Requests and matched messages under way, from the call that made them to the call that completes them.

They are identified by the Python object, not by the MPI handle: an MPI library may use one handle for many requests
that are already complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


class RecordedRequest:
    """A request under way.

    Attributes:
        handle: Its MPI handle.
        serials: Numbers, within the rank, of its ops that the program has not waited for: two after Isendrecv, none
            once it is known to be complete, or if the simulator does not model it.
        rows: Its rows, to be marked if it is cancelled.
        wildcard: Row of its receive if the partner is not known yet, or -1.
        curious: Whether its status is needed at completion: for the partner that matched, or for cancellation.
        start: For a persistent request, the function that writes the rows of a start and returns the serial numbers.
        active: Whether a persistent request is started.
        left_out: Whether the simulator does not model its operation.
        missing: Parts of a partitioned send that are not ready yet.
        send: The function that writes its rows when all parts are ready.
        over: The function to call when the program has seen that it is complete.
    """

    # Class attributes, because most requests never change them and each instance attribute costs time.
    cancelled = False
    active = True
    left_out = False
    missing: set[int] | None = None
    send: Callable[[RecordedRequest], object] | None = None
    start: Callable[[RecordedRequest], object] | None = None
    over: Callable[[], object] | None = None

    def __init__(self, handle: int, serials: tuple[int, ...], rows: tuple[int, ...] = (), wildcard: int = -1) -> None:
        self.handle = handle
        self.serials = serials
        self.rows = rows
        self.wildcard = wildcard
        self.curious = wildcard >= 0


class Requests:
    """The pending requests of one rank.

    Attributes:
        freed: Ops of requests that the program has freed and left to the library.
    """

    def __init__(self) -> None:
        self._pending: dict[int, RecordedRequest] = {}
        self._serials = 0
        self.freed: list[int] = []

    def serial(self) -> int:
        """Return the next serial number."""
        serial = self._serials
        self._serials = serial + 1
        return serial

    def add(self, request: Any, pending: RecordedRequest) -> RecordedRequest:
        """Remember a request object."""
        self._pending[id(request)] = pending
        return pending

    def find(self, request: Any) -> RecordedRequest | None:
        """Return the record of a request object, or ``None`` if it is null or unknown."""
        pending = self._pending.get(id(request))
        if pending is not None and pending.handle == request.handle:
            return pending
        return self._find_copy(request.handle) if request else None

    def forget(self, request: Any, pending: RecordedRequest) -> None:
        """Drop a completed request; a persistent one rests until its next start."""
        if pending.start is not None:
            pending.active = False
        elif self._pending.pop(id(request), None) is not pending:
            self.remove(request, pending)

    def free(self, request: Any, pending: RecordedRequest) -> None:
        """Drop a request that its program leaves to the library."""
        self.remove(request, pending)
        if pending.active:
            self.freed.extend(pending.serials)

    def take_freed(self) -> list[int]:
        """Return the ops of freed requests, which the library completes at the latest when the program ends."""
        freed, self.freed = self.freed, []
        return freed

    def __iter__(self) -> Iterator[RecordedRequest]:
        return iter(list(self._pending.values()))

    def remove(self, request: Any, pending: RecordedRequest) -> None:
        """Drop a request, persistent or not."""
        if self._pending.get(id(request)) is pending:
            del self._pending[id(request)]
        else:
            self._pending = {key: each for key, each in self._pending.items() if each is not pending}

    def _find_copy(self, handle: int) -> RecordedRequest | None:
        # Another object for the same request, such as MPI.Request(request): rare, so a search through all is fine.
        for pending in self._pending.values():
            if pending.handle == handle:
                return pending
        return None
