"""Building a trace in memory: by columns, for readers of large traces; or op by op, for generated workloads and tests.

::

    trace_of([RankColumns({"op": ops, "cpu": bursts, …}, extras), …], "halo.ti")

    builder = TraceBuilder(2)
    builder[0].send(1, nbytes=64)
    builder[1].recv(0)
    trace = builder.build()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.errors import TraceError
from clue.trace.columns import Ops
from clue.trace.head import Communicator, Head, RankHead
from clue.trace.ops import COLUMNS, NO_REQUEST, Access, Flag, Op
from clue.trace.sites import UNKNOWN, Site, Sites
from clue.trace.store import Trace
from clue.units import is_amount

_DEFAULTS = {"request": NO_REQUEST}
_NAMES = tuple(name for name, _, _ in COLUMNS)
_KINDS = {name: kind for name, kind, _ in COLUMNS}
#: Default values of the fields of an op, with all fields in order.
_BLANK = dict.fromkeys(_NAMES, 0) | _DEFAULTS
_fields_of = itemgetter(*_NAMES)
#: Fields that the caller of :meth:`RankBuilder.add` may give.
_GIVEN = _BLANK.keys() - {"op", "cpu", "extra", "count", "call", "region", "site"}
#: Names of calls that are named after their ops; and by op code, which then serves as their index.
_CALLS: dict[int, str] = {op: op.name.capitalize() for op in Op}
_CALLS_BY_CODE = tuple(_CALLS.get(code, "") for code in range(max(Op) + 1))
_Integers = npt.NDArray[np.int64]
#: Head of a rank if only its ops are known.
NOBODY = RankHead(host="", peak_memory=0, cpu=0.0, wall=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class RankColumns:
    """Ops of one rank, in program order.

    Attributes:
        columns: By name (see :mod:`clue.trace.ops`), shape (ops,) each; the same names on all ranks. A column left out
            is 0 everywhere; without ``request`` no op has one, and without ``call`` calls are named after their ops.
        extras: Entries of the extra column.
    """

    columns: Mapping[str, _Integers]
    extras: _Integers

    def __len__(self) -> int:
        return len(self.columns["op"])


def trace_of(
    ranks: Sequence[RankColumns], program: str, *, notes: Sequence[str] = (), calls: Sequence[str] = (),
    regions: Sequence[str] = ("",), communicators: Sequence[Communicator] = (), rank_heads: Sequence[RankHead] = (),
    sites: Sequence[Site] = (UNKNOWN,),
) -> Trace:  # fmt: skip
    """Join ranks to a trace, which is checked.

    Args:
        ranks: Ops of each rank.
        program: The program's name.
        notes: Notes for readers of results.
        calls: Names of MPI calls, if ``call`` is among the columns.
        regions: Names of regions.
        communicators: The program's communicators; by default one of all ranks.
        rank_heads: Information about each rank, if there is any.
        sites: Call paths, if ``site`` is among the columns; the first is the unknown one.

    Raises:
        TraceError: If there are no ranks, or a field is invalid, such as a partner that does not exist.
    """
    if not ranks:
        raise TraceError(f"{program}: trace must have at least one rank, got none")
    # If only a few of many ranks have ops, only these need columns.
    some = [rank for rank in ranks if len(rank)] or ranks[:1]
    joined = {name: np.concatenate([rank.columns[name] for rank in some]) for name in some[0].columns}
    rows = len(joined["op"])
    if "call" not in joined:
        joined["call"] = joined["op"]
        calls = _CALLS_BY_CODE
    columns = {
        name: _narrow(program, name, joined[name], kind)
        if name in joined
        else np.full(rows, _DEFAULTS.get(name, 0), kind)
        for name, kind in _KINDS.items()
    }
    head = Head(
        program=program,
        arguments=(),
        rank_heads=tuple(rank_heads) or (NOBODY,) * len(ranks),
        offsets=(0, *accumulate(map(len, ranks))),
        extra_offsets=(0, *accumulate(len(rank.extras) for rank in ranks)),
        calls=tuple(calls),
        regions=tuple(regions),
        communicators=tuple(communicators) or (Communicator("WORLD", tuple(range(len(ranks))), None, 0),),
        notes=tuple(notes),
        sites=Sites.of(sites),
    )
    trace = Trace(head, Ops(**columns, extras=np.concatenate([rank.extras for rank in ranks])))
    trace.check()
    return trace


def _narrow(program: str, name: str, column: _Integers, kind: str) -> npt.NDArray[Any]:
    """Return a column in the type that it has in a trace; every entry must fit this type."""
    narrow = column.astype(kind)
    if (narrow != column).any():
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        raise TraceError(f"{program}: {name} must be from {least} to {most}, got {column[narrow != column][0]}")
    return narrow


def _whole(place: str, name: str, value: Any) -> int:
    """Return a number as the integer that it equals."""
    if isinstance(value, int):
        return int(value)
    try:
        whole = int(value)
        is_whole = whole == value
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise TraceError(f"{place}: {name} must be a whole number, got {value!r}")
    return whole


class RankBuilder:
    """Ops of one rank, in program order. Times are in seconds, sizes in bytes, ranks within ``comm``."""

    def __init__(self, trace: TraceBuilder, rank: int) -> None:
        self._trace = trace
        self._place = f"rank {rank}"
        self._burst = 0.0
        self._region = 0
        self._site = 0
        self._requests = 0
        self.rows: list[tuple[int, ...]] = []
        self.extras: list[int] = []

    def compute(self, seconds: float, region: str = "") -> None:
        """Add a computation burst, CPU seconds, in a region.

        Raises:
            TraceError: If the number of seconds is negative or not finite, or the region is not text.
        """
        if not is_amount(seconds):
            raise TraceError(f"{self._place}: burst must be a finite number of seconds from 0 on, got {seconds!r}")
        index = self._trace.region(region)
        if index != self._region:
            self._end_burst()
            self._region = index
        self._burst += seconds

    def at(self, site: Site) -> None:
        """Set the call site of the next ops."""
        self._site = self._trace.site(site)

    def add(self, op: Op, *, extras: Sequence[int] = (), call: str | None = None, **fields: int) -> None:
        """Add any op with its fields (see :mod:`clue.trace.ops`); the burst, the region and the site are known already.

        Raises:
            TraceError: If it has no such field, or a field or an extra is not a whole number.
        """
        if not _GIVEN.issuperset(fields):
            rule = f"field of an op must be one of {', '.join(sorted(_GIVEN))}"
            raise TraceError(f"{self._place}: {rule}, got {min(fields.keys() - _GIVEN)}")
        for name, value in fields.items():
            if not isinstance(value, int):  # which most are
                fields[name] = _whole(self._place, name, value)
        row = {**_BLANK, **fields, "op": int(op), "region": self._region, "cpu": round(self._burst * 1e9)}
        row["site"] = self._site
        self._burst = 0.0
        if len(extras):
            row |= {"extra": len(self.extras), "count": len(extras)}
            self.extras.extend(_whole(self._place, "extra", each) for each in extras)
        row["call"] = self._trace.call(call or _CALLS[op])
        self.rows.append(_fields_of(row))

    def send(self, dest: int, nbytes: int, tag: int = 0, comm: int = 0, flags: int = 0) -> None:
        """Add a blocking send."""
        self.add(Op.SEND, peer=dest, nbytes=nbytes, tag=tag, comm=comm, flags=flags)

    def recv(self, source: int, tag: int = 0, comm: int = 0, flags: int = 0) -> None:
        """Add a blocking receive from the source that it matched."""
        self.add(Op.RECV, peer=source, tag=tag, comm=comm, flags=flags)

    def isend(self, dest: int, nbytes: int, tag: int = 0, comm: int = 0, flags: int = 0) -> int:
        """Add a nonblocking send; return its request."""
        return self._start(Op.ISEND, peer=dest, nbytes=nbytes, tag=tag, comm=comm, flags=flags)

    def irecv(self, source: int, tag: int = 0, comm: int = 0, flags: int = 0) -> int:
        """Add a nonblocking receive; return its request."""
        return self._start(Op.IRECV, peer=source, tag=tag, comm=comm, flags=flags)

    def sendrecv(  # noqa: PLR0917 - the order of MPI's own arguments
        self, dest: int, nbytes: int, source: int, sendtag: int = 0, recvtag: int = 0, comm: int = 0
    ) -> None:
        """Add a Sendrecv as the recorder does: a receive posted, a send started, and the wait for both."""
        call, more = "Sendrecv", Flag.CONTINUED
        receive = self._start(Op.IRECV, call=call, peer=source, tag=recvtag, comm=comm)
        send = self._start(Op.ISEND, call=call, peer=dest, nbytes=nbytes, tag=sendtag, comm=comm, flags=more)
        self.add(Op.WAIT, call=call, extras=(receive, send), flags=more)

    def rma(self, target: int, nbytes: int = 0, back: int = 0, does: Access = Access.DATA, comm: int = 0) -> int:
        """Add a one-sided operation with its data to the target, and back; return its request."""
        return self._start(Op.RMA, peer=target, nbytes=nbytes, tag=does, comm=comm, extras=(back,) if back else ())

    def wait(self, *requests: int) -> None:
        """Add a wait for all of these requests of this rank.

        Those that it has not started are complete, as cancelled ones and those of calls that are not modelled are.
        """
        if len(requests) == 1:
            self.add(Op.WAIT, request=requests[0])
        else:
            self.add(Op.WAIT, extras=requests)

    def collective(
        self, op: Op, nbytes: int = 0, root: int = 0, comm: int = 0, extras: Sequence[int] = (), *,
        flags: int = 0, element: int = 0,
    ) -> None:  # fmt: skip
        """Add a blocking collective; ``element`` is the size of an element in bytes, if known."""
        self.add(op, nbytes=nbytes, peer=root, comm=comm, tag=element, flags=flags, extras=extras)

    def icollective(
        self, op: Op, nbytes: int = 0, root: int = 0, comm: int = 0, extras: Sequence[int] = (), *,
        flags: int = 0, element: int = 0,
    ) -> int:  # fmt: skip
        """Add a nonblocking collective; return its request."""
        flags |= Flag.NONBLOCKING
        return self._start(op, nbytes=nbytes, peer=root, comm=comm, tag=element, flags=flags, extras=extras)

    def finish(self) -> RankColumns:
        """Close the last burst and return all ops that were added.

        Raises:
            TraceError: If a number does not fit into 64 bits.
        """
        self._end_burst()
        try:
            table = np.array(self.rows, dtype=np.int64).reshape(-1, len(_NAMES))
            extras = np.array(self.extras, dtype=np.int64)
        except OverflowError:
            largest = max(chain(self.extras, *self.rows), key=abs)
            raise TraceError(f"{self._place}: numbers of ops must fit into 64 bits, got {largest}") from None
        return RankColumns(dict(zip(_NAMES, table.T, strict=True)), extras)

    def _start(self, op: Op, *, extras: Sequence[int] = (), call: str | None = None, **fields: int) -> int:
        request = self._requests
        self._requests += 1
        self.add(op, extras=extras, call=call, request=request, **fields)
        return request

    def _end_burst(self) -> None:
        if self._burst:
            self.add(Op.COMPUTE)


class TraceBuilder:
    """A trace under construction: ``builder[rank]`` takes that rank's ops, :meth:`build` closes it."""

    def __init__(self, ranks: int, program: str = "built") -> None:
        self._program = program
        self._calls: dict[str, int] = {}
        self._regions: dict[str, int] = {"": 0}
        self._sites: dict[Site, int] = {UNKNOWN: 0}
        self._communicators = [Communicator("WORLD", tuple(range(ranks)), None, 0)]
        self._flops: list[dict[int, float]] = [{} for _ in range(ranks)]
        self._memory = [0] * ranks
        self._worlds = [0] * ranks
        self._ranks = [RankBuilder(self, rank) for rank in range(ranks)]

    def __getitem__(self, rank: int) -> RankBuilder:
        return self._ranks[rank]

    def __iter__(self) -> Iterator[RankBuilder]:
        return iter(self._ranks)

    def region(self, name: str) -> int:
        """Return the index of a region, new or known.

        Raises:
            TraceError: If its name is not text.
        """
        if not isinstance(name, str):
            raise TraceError(f"{self._program}: name of a region must be text, got {name!r}")
        return self._regions.setdefault(name, len(self._regions))

    def call(self, name: str) -> int:
        """Return the index of a call's name, new or known."""
        return self._calls.setdefault(name, len(self._calls))

    def site(self, site: Site) -> int:
        """Return the index of a site, new or known."""
        return self._sites.setdefault(site, len(self._sites))

    def communicator(self, group: Sequence[int], name: str = "Create") -> int:
        """Add an intracommunicator of these ranks of the trace; return its index."""
        self._communicators.append(Communicator(name, self._group(group), None, len(self._communicators)))
        return len(self._communicators) - 1

    def intercommunicator(self, group: Sequence[int], remote: Sequence[int], name: str = "Create") -> tuple[int, int]:
        """Add an intercommunicator between these ranks of the trace; return its index on each side."""
        first = len(self._communicators)
        here, there = self._group(group), self._group(remote)
        for own, other in ((here, there), (there, here)):
            self._communicators.append(Communicator(name, own, other, first))
        return first, first + 1

    def spawned(self, children: Sequence[int]) -> tuple[int, int]:
        """Move ranks from the first world to a new one that a ``SPAWN`` begins.

        Returns:
            Index of the world, which the ``SPAWN`` names in its extras, and index of its communicator.
        """
        world = max(self._worlds) + 1
        for rank in children:
            self._worlds[rank] = world
        first = tuple(rank for rank, of in enumerate(self._worlds) if of == 0)
        self._communicators[0] = Communicator("WORLD", first, None, 0)
        return world, self.communicator(children, "WORLD")

    def declare(self, rank: int, *, region: str = "", flops: float = 0.0, peak_memory: int = 0) -> None:
        """Declare a rank's work in a region, or its peak memory in bytes.

        Raises:
            TraceError: If one of them is negative or not finite, the memory is not a whole number, or the region is
                not text.
        """
        place = f"rank {rank}"
        for what, amount in (("flops", flops), ("peak_memory", peak_memory)):
            if not is_amount(amount):
                raise TraceError(f"{place}: {what} must be a finite number from 0 on, got {amount!r}")
        if flops:
            index = self.region(region)
            self._flops[rank][index] = self._flops[rank].get(index, 0.0) + float(flops)
        self._memory[rank] = max(self._memory[rank], _whole(place, "peak_memory", peak_memory))

    def _group(self, ranks: Sequence[int]) -> tuple[int, ...]:
        return tuple(_whole(self._program, "rank of a group", each) for each in ranks)

    def build(self) -> Trace:
        """Close all ranks and return the trace, checked."""
        return trace_of(
            [rank.finish() for rank in self._ranks],
            self._program,
            calls=tuple(self._calls),
            regions=tuple(self._regions),
            sites=tuple(self._sites),
            communicators=self._communicators,
            rank_heads=[
                replace(NOBODY, peak_memory=memory, world=world, flops=flops)
                for memory, world, flops in zip(self._memory, self._worlds, self._flops, strict=True)
            ],
        )
