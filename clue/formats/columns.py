"""Ops of each rank as columns, grown or whole: a thin way into a trace for readers of large files."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.errors import TraceError
from clue.trace import NO_REQUEST, Communicator, Head, Op, Ops, RankHead, Trace
from clue.trace.meaning import check_meaning
from clue.trace.ops import COLUMNS

_Integers = npt.NDArray[np.int64]
#: Fields of a row of an op that grows, in order.
_NAMES = ("op", "cpu", "peer", "tag", "nbytes", "request", "count", "flags")
_LAST_OP, _LAST_REQUEST = -len(_NAMES), _NAMES.index("request") - len(_NAMES)
#: Most computation of a rank, ns: a year, and far from what its column can hold.
LONGEST = 32 * 10**15
_KINDS = {name: kind for name, kind, _ in COLUMNS}


@dataclass(frozen=True, slots=True, eq=False)
class RankOps:
    """Ops of one rank on the world, in program order.

    Attributes:
        columns: All that are not empty, by name, shape (ops,) each.
        extras: Entries of the extra column, in the order of the ops whose they are.
    """

    columns: Mapping[str, _Integers]
    extras: _Integers

    def __len__(self) -> int:
        return len(self.columns["op"])


def ended(columns: dict[str, _Integers], extras: _Integers, left: int) -> RankOps:
    """Return ops with the computation after the last one, ns, as one more op, and with the places of their entries."""
    if left:
        last = {"op": int(Op.COMPUTE), "cpu": left, "request": NO_REQUEST}
        columns = {name: np.append(column, last.get(name, 0)) for name, column in columns.items()}
    count = columns["count"]
    extra = np.where(count > 0, np.cumsum(count) - count, 0)
    return RankOps(columns | {"extra": extra}, extras)


class RankColumns:
    """Ops of one rank on the world, in program order.

    Attributes:
        burst: Computation since the last op, ns; it goes with the next one.
    """

    def __init__(self) -> None:
        self.burst = 0
        self._rows = array("q")
        self._extras = array("q")
        self._requests = 0

    def add(  # noqa: PLR0917 - the order of the columns
        self, op: int, peer: int = 0, tag: int = 0, nbytes: int = 0, request: int = NO_REQUEST, flags: int = 0
    ) -> None:
        """Add an op, with the burst before it."""
        self._rows.extend((op, self.burst, peer, tag, nbytes, request, 0, flags))
        self.burst = 0

    def start(self, op: int, peer: int, tag: int, nbytes: int = 0, flags: int = 0) -> int:
        """Add a nonblocking op; returns its request."""
        request = self._requests
        self._requests = request + 1
        self.add(op, peer, tag, nbytes, request, flags)
        return request

    def add_list(self, op: int, extras: Sequence[int], flags: int = 0) -> None:
        """Add an op with entries in the extra column: a wait for several, or an alltoallv."""
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
        """Make the last ops, nonblocking sends or receives, blocking ones."""
        rows = self._rows
        for back in range(0, count * len(_NAMES), len(_NAMES)):
            rows[_LAST_OP - back] = int(Op.SEND if rows[_LAST_OP - back] == Op.ISEND else Op.RECV)
            rows[_LAST_REQUEST - back] = NO_REQUEST

    def finish(self) -> RankOps:
        """Return what was added."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, len(_NAMES))
        extras = np.array(self._extras, dtype=np.int64)
        return ended(dict(zip(_NAMES, rows.T, strict=True)), extras, self.burst)


def trace_of(ranks: Sequence[RankOps], program: str, notes: Sequence[str] = ()) -> Trace:
    """Join ranks to a trace on one communicator.

    Raises:
        TraceError: If a field means nothing, as a partner that is not there.
    """
    # Ranks without ops are many where few are written of.
    some = [rank for rank in ranks if len(rank)] or ranks[:1]
    joined = {name: np.concatenate([rank.columns[name] for rank in some]) for name in some[0].columns}
    extras = np.concatenate([rank.extras for rank in some])
    rows = len(joined["op"])
    joined["call"] = joined["op"]
    columns = {
        name: _narrow(program, name, joined[name], kind) if name in joined else np.zeros(rows, kind)
        for name, kind in _KINDS.items()
    }
    nobody = RankHead(host="", peak_memory=0, cpu=0.0, wall=0.0)
    head = Head(
        program=program,
        arguments=(),
        rank_heads=(nobody,) * len(ranks),
        offsets=(0, *accumulate(map(len, ranks))),
        extra_offsets=(0, *accumulate(len(rank.extras) for rank in ranks)),
        calls=tuple(_call(code) for code in range(max(Op) + 1)),
        regions=("",),
        communicators=(Communicator("WORLD", tuple(range(len(ranks))), None, 0),),
        notes=tuple(notes),
    )
    trace = Trace(head, Ops(**columns, extras=extras))
    check_meaning(trace)
    return trace


def _narrow(program: str, name: str, column: _Integers, kind: str) -> npt.NDArray[Any]:
    """Return a column in the type of a trace, which must hold all of it."""
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    bad = column[(column < least) | (column > most)]
    if len(bad):
        raise TraceError(f"{program}: {name} must be from {least} to {most}, got {bad[0]}")
    return column.astype(kind)


def _call(code: int) -> str:
    """Name the call of an op code, which serves as its index."""
    return Op(code).name.capitalize() if code in set(Op) else ""
