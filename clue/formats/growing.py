"""Ops of each rank as columns, appended or complete: shared by the readers of large files."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clue.trace import NO_REQUEST, Op
from clue.trace.builder import RankColumns

_Integers = npt.NDArray[np.int64]
#: Fields of a row of an appended op, in order.
_NAMES = ("op", "cpu", "peer", "tag", "nbytes", "request", "count", "flags")
_LAST_OP, _LAST_REQUEST = -len(_NAMES), _NAMES.index("request") - len(_NAMES)
#: Maximum computation of a rank, ns: a year, far below the limit of its column.
LONGEST = 32 * 10**15


def ended(columns: dict[str, _Integers], extras: _Integers, left: int) -> RankColumns:
    """Return ops with the computation after the last one, ns, as an additional op, and the places of their entries."""
    if left:
        last = {"op": int(Op.COMPUTE), "cpu": left, "request": NO_REQUEST}
        columns = {name: np.append(column, last.get(name, 0)) for name, column in columns.items()}
    count = columns["count"]
    extra = np.where(count > 0, np.cumsum(count) - count, 0)
    return RankColumns(columns | {"extra": extra}, extras)


class GrowingRank:
    """Ops of one rank on the world communicator, appended in program order.

    Attributes:
        burst: Computation since the last op, ns; it belongs to the next one.
    """

    def __init__(self) -> None:
        self.burst = 0
        self._rows = array("q")
        self._extras = array("q")
        self._requests = 0

    def add(  # noqa: PLR0917 - in the order of the columns
        self, op: int, peer: int = 0, tag: int = 0, nbytes: int = 0, request: int = NO_REQUEST, flags: int = 0
    ) -> None:
        """Add an op, with the burst before it."""
        self._rows.extend((op, self.burst, peer, tag, nbytes, request, 0, flags))
        self.burst = 0

    def start(self, op: int, peer: int, tag: int, nbytes: int = 0, flags: int = 0) -> int:
        """Add a nonblocking op; return its request."""
        request = self._requests
        self._requests = request + 1
        self.add(op, peer, tag, nbytes, request, flags)
        return request

    def add_list(self, op: int, extras: Sequence[int], flags: int = 0) -> None:
        """Add an op with entries in the extra column: a wait for several requests, or an alltoallv."""
        self._rows.extend((op, self.burst, 0, 0, 0, NO_REQUEST, len(extras), flags))
        self._extras.extend(extras)
        self.burst = 0

    def wait(self, requests: Sequence[int], flags: int = 0) -> None:
        """Add a wait for these requests."""
        if len(requests) == 1:
            self.add(Op.WAIT, request=requests[0], flags=flags)
        elif requests:
            self.add_list(Op.WAIT, requests, flags)

    def block(self, count: int = 1) -> None:
        """Turn the last ops, nonblocking sends or receives, into blocking ones."""
        rows = self._rows
        for back in range(0, count * len(_NAMES), len(_NAMES)):
            rows[_LAST_OP - back] = int(Op.SEND if rows[_LAST_OP - back] == Op.ISEND else Op.RECV)
            rows[_LAST_REQUEST - back] = NO_REQUEST

    def finish(self) -> RankColumns:
        """Return the added rows."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, len(_NAMES))
        extras = np.array(self._extras, dtype=np.int64)
        return ended(dict(zip(_NAMES, rows.T, strict=True)), extras, self.burst)
