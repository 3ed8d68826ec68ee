"""A trace made ready to replay: partners as ranks of the trace, collectives assembled, rows decoded where needed.

Nothing here depends on a machine, so one program serves any number of simulations.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clue.collectives import Collective, Manner
from clue.errors import ReplayError
from clue.result import Unmodelled
from clue.trace import ANY, COLLECTIVES, PROC_NULL, REDUCTIONS, ROOTED, Flag, Op, Ops, Trace
from clue.trace.columns import within
from clue.trace.sites import Sites

#: Wildcard tag of a live receive. It is above all tags of messages; the tags of collectives are below 0.
ANY_TAG = 1 << 62


class Row(NamedTuple):
    """One op of one rank, decoded.

    ``cpu`` is in seconds; ``peer`` is a rank of the trace (``PROC_NULL`` and ``ANY`` stay); ``members`` is the
    communicator's group; ``requests`` are those that a wait names; ``entries`` are the extras of other ops; ``site``
    is the number of its call site.
    """

    op: int
    cpu: float
    region: int
    peer: int
    tag: int
    context: int
    nbytes: int
    request: int
    flags: int
    members: tuple[int, ...]
    entries: tuple[int, ...]
    site: int = 0


#: Regular collectives, and the irregular ones they become when ranks contribute blocks of different sizes.
_IRREGULAR = {Op.GATHER: "gatherv", Op.SCATTER: "scatterv", Op.ALLGATHER: "allgatherv"}
_UNIFORM = {Op.BARRIER, Op.BCAST, Op.REDUCE, Op.ALLREDUCE, Op.SCAN, Op.EXSCAN, Op.ALLTOALL, Op.COMM}
_ANY_SOURCE, _CANCELLED, _NONBLOCKING = int(Flag.ANY_SOURCE), int(Flag.CANCELLED), int(Flag.NONBLOCKING)
_IN_PLACE, _USER_DEFINED = int(Flag.IN_PLACE), int(Flag.USER_DEFINED)
_NONCOMMUTATIVE, _BLOCK = int(Flag.NONCOMMUTATIVE), int(Flag.BLOCK)
#: Flags that tell how a collective is called.
MANNERS = _NONBLOCKING | _IN_PLACE | _USER_DEFINED | _NONCOMMUTATIVE | _BLOCK
#: Collectives in which a rank may send a message to each other rank.
_EXCHANGES = (Op.ALLTOALL, Op.ALLTOALLV, Op.ALLGATHER, Op.ALLGATHERV, Op.REDUCE_SCATTER)
#: Size of the allreduce, bytes, that stands for the constructor of a communicator: the ranks agree on a context.
_CONSTRUCTOR_BYTES = 8


class HostSpeed(NamedTuple):
    """How fast the recording host was in a region whose program declares its operations.

    Attributes:
        rate: flop/s.
        burst: Operations of a burst there, 0 if not known.
    """

    rate: float
    burst: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Description:
    """Facts about a program that a reader must know beside its figures.

    Attributes:
        name: Its name, for messages.
        worlds: World of each rank: 0, or that of a spawned one.
        regions: Region names.
        host_speeds: Speed of the recording host in each region whose operations the program declares.
        unmodelled: Calls that are left out.
        unresolved: Number of receives and probes that do not say what they matched; they are left out.
        failed_polls: Number of Test and probe calls that found nothing.
        processor: The recording host's processor.
        notes: What the recorder says about the trace.
        memory: Peak memory of each rank when recorded, bytes; empty if it does not matter.
        largest: Size of its largest message or block of a collective, bytes.
        combined: Size of the longest vector that its reductions combine, bytes.
        sites: Its call sites; only the unknown one where none were recorded.
    """

    name: str
    worlds: tuple[int, ...]
    regions: tuple[str, ...]
    host_speeds: Mapping[str, HostSpeed]
    unmodelled: tuple[Unmodelled, ...] = ()
    unresolved: int = 0
    failed_polls: int = 0
    processor: str = ""
    notes: tuple[str, ...] = ()
    memory: tuple[float, ...] = ()
    largest: int = 0
    combined: int = 0
    sites: Sites = field(default_factory=Sites)


@dataclass(frozen=True, eq=False, kw_only=True)
class Program(Description):
    """A trace ready to replay.

    Attributes:
        columns: Ops of all ranks, as in the trace.
        peers: Partner of each op as a rank of the trace (``PROC_NULL`` and ``ANY`` stay), shape (ops,).
        offsets: Row at which each rank begins, with the total at the end: ranks + 1 entries.
        extra_offsets: The same for the extra column.
        groups: Members of each communicator, as ranks of the trace.
        contexts: Context of each communicator.
        collectives: By context, the collectives on it in order; every member takes part in every one.
        cpu_by_region: CPU seconds of each rank in each region, shape (ranks, regions).
        like: A program that differs from this one in its bursts alone, if any: what is prepared for it serves this one,
            too.
        prepared: What engines have prepared for their next replays, by its type; not sent to other processes.
    """

    columns: Ops
    peers: npt.NDArray[np.int32]
    offsets: tuple[int, ...]
    extra_offsets: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    contexts: tuple[int, ...]
    collectives: Mapping[int, Sequence[Collective]]
    cpu_by_region: tuple[tuple[float, ...], ...]
    like: Program | None = None
    prepared: dict[type, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.worlds)

    @property
    def ops(self) -> int:
        """Number of ops of all ranks."""
        return self.offsets[-1]

    @cached_property
    def work(self) -> int:
        """Number of ops, with one more for each message that ranks may send in total exchanges."""
        sizes = np.array([len(group) for group in self.groups])
        return self.ops + int(sizes[self.columns.comm[self.columns.are(*_EXCHANGES)]].sum())

    @cached_property
    def rows(self) -> tuple[list[Row], ...]:
        """Decoded ops by rank, for the reference engine: made on first use, ten times as large as the columns."""
        return tuple(self._decode(*span) for span in zip(pairwise(self.offsets), self.extra_offsets, strict=False))

    def __getstate__(self) -> dict[str, Any]:
        # Another process decodes rows again, and prepares the data for its engines.
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"prepared": {}}

    def row(self, index: int) -> Row:
        """Return one decoded op, by its row among all ranks' ops."""
        rank = bisect_right(self.offsets, index) - 1
        return self._decode((index, index + 1), self.extra_offsets[rank])[0]

    def _decode(self, span: tuple[int, int], first_extra: int) -> list[Row]:
        """Decode a span of rows of one rank, whose entries in the extra column begin at ``first_extra``."""
        ops, rows = self.columns, slice(*span)
        starts, counts = (ops.extra[rows] + np.int64(first_extra)).tolist(), ops.count[rows].tolist()
        entries = [
            tuple(ops.extras[start : start + count].tolist()) if count else ()
            for start, count in zip(starts, counts, strict=True)
        ]
        comms = ops.comm[rows].tolist()
        columns = (
            ops.op[rows].tolist(),
            (ops.cpu[rows] / 1e9).tolist(),
            ops.region[rows].tolist(),
            self.peers[rows].tolist(),
            ops.tag[rows].tolist(),
            [self.contexts[comm] for comm in comms],
            ops.nbytes[rows].tolist(),
            ops.request[rows].tolist(),
            ops.flags[rows].tolist(),
            [self.groups[comm] for comm in comms],
            entries,
            ops.site[rows].tolist(),
        )
        return list(map(Row._make, zip(*columns, strict=True)))


def compile_program(trace: Trace) -> Program:
    """Decode a trace.

    Raises:
        ReplayError: If the members of a communicator disagree about its collectives.
    """
    head, ops = trace.head, replace(trace.ops, cpu=trace.bursts)
    said = describe(trace)
    return Program(
        **{each.name: getattr(said, each.name) for each in fields(said)},
        columns=ops,
        peers=partners(trace),
        offsets=head.offsets,
        extra_offsets=head.extra_offsets,
        groups=tuple(c.group for c in head.communicators) or ((),),
        contexts=tuple(c.context for c in head.communicators) or (0,),
        collectives=_assemble(trace),
        cpu_by_region=cpu_by_region(ops, head.offsets, len(head.regions)),
    )


def describe(trace: Trace) -> Description:
    """Return the description of a traced program."""
    head, ops = trace.head, trace.ops
    polls = np.flatnonzero(ops.are(Op.POLL))
    return Description(
        name=trace.name,
        worlds=tuple(each.world for each in head.rank_heads),
        regions=head.regions,
        host_speeds=_host_speeds(trace),
        unmodelled=tuple(Unmodelled(call, *extent) for call, extent in trace.left_out().items()),
        unresolved=len(_unresolved(ops)),
        failed_polls=int((ops.flags[polls] & _CANCELLED == 0).sum()),
        processor=head.processor,
        notes=tuple(head.notes),
        memory=tuple(float(each.peak_memory) for each in head.rank_heads),
        largest=_largest(trace),
        combined=int(ops.nbytes.max(where=ops.are(*REDUCTIONS), initial=0)),
        sites=head.sites,
    )


def _largest(trace: Trace) -> int:
    """Return the size of the largest message or block of a collective."""
    ops = trace.ops
    brought = np.flatnonzero(ops.are(Op.RMA) & (ops.count > 0))
    back = ops.extras[trace.row_extras[brought]]
    return int(max(ops.nbytes.max(where=ops.op != Op.SLEEP, initial=0), back.max(initial=0)))


def _host_speeds(trace: Trace) -> dict[str, HostSpeed]:
    """Return the speed of the host and the number of operations of a typical burst, by region.

    The operations of a typical burst are a mean that gives longer bursts more weight: it tells in which bursts the
    operations are done, not how many bursts there are. So each of n equal bursts has an n-th of the operations, and
    additional bursts that do next to nothing change nothing.
    """
    found = {}
    for region, (flops, cpu) in trace.flops().items():
        if cpu > 0:
            bursts = trace.bursts[trace.ops.region == trace.head.regions.index(region)] * 1e-9
            found[region] = HostSpeed(flops / cpu, flops * float(np.square(bursts).sum()) / cpu**2)
    return found


def cpu_by_region(ops: Ops, offsets: Sequence[int], regions: int) -> tuple[tuple[float, ...], ...]:
    """Return the CPU seconds of each rank in each region; a rank's rows begin at its offset (see Program)."""
    bounds = np.array(offsets)
    begins = np.zeros(len(ops) + 1, np.bool_)
    begins[1:-1] = ops.region[1:] != ops.region[:-1]
    begins[bounds] = True
    firsts = np.flatnonzero(begins[:-1])
    spent = np.add.reduceat(ops.cpu, firsts) if len(firsts) else np.zeros(0)
    cells = (np.searchsorted(bounds, firsts, side="right") - 1) * regions + ops.region[firsts]
    seconds = np.bincount(cells, weights=spent, minlength=(len(bounds) - 1) * regions) / 1e9
    return tuple(map(tuple, seconds.reshape(-1, regions).tolist()))


def _unresolved(ops: Ops) -> npt.NDArray[np.int64]:
    """Find the rows of receives and probes whose source or tag the MPI library did not tell the recorder."""
    if not len(ops) or min(ops.peer.min(), ops.tag.min()) > ANY:
        return np.zeros(0, np.int64)
    receives = ops.are(Op.RECV, Op.IRECV, Op.PROBE, Op.MPROBE) & (ops.flags & _CANCELLED == 0)
    return np.flatnonzero(receives & ((ops.peer == ANY) | ((ops.tag == ANY) & (ops.peer != PROC_NULL))))


def partners(trace: Trace) -> npt.NDArray[np.int32]:
    """Return the partner of each op as a rank of the trace, ``PROC_NULL`` where it is not known, shape (ops,)."""
    ops, unresolved = trace.ops, _unresolved(trace.ops)
    reach = [c.group if c.remote is None else c.remote for c in trace.head.communicators]
    # In COMM_WORLD ranks are mostly those of the trace.
    renumbered = np.array([group != tuple(range(len(group))) for group in reach], np.bool_)
    if not renumbered.any() and not len(unresolved):
        return ops.peer
    starts = np.cumsum([0, *map(len, reach)])
    table = np.fromiter(chain.from_iterable(reach), np.int32)
    rows = np.flatnonzero(renumbered[ops.comm] & (ops.peer >= 0))
    peers = np.array(ops.peer)
    peers[rows] = table[starts[ops.comm[rows]] + ops.peer[rows]]
    peers[unresolved] = PROC_NULL
    return peers


def _assemble(trace: Trace) -> dict[int, list[Collective]]:
    """Assemble the collectives of all communicators from the rows of their members."""
    communicators = trace.head.communicators
    rows = np.flatnonzero(trace.ops.are(*COLLECTIVES - {Op.NEIGHBOR}))
    contexts = np.array([c.context for c in communicators], np.int64)[trace.ops.comm[rows]]
    groups = {c.context: c.group for c in communicators if c.remote is None}
    found, firsts, counts = np.unique(contexts, return_index=True, return_counts=True)
    parts = np.split(rows[np.argsort(contexts, kind="stable")], np.cumsum(counts)[:-1])
    # Of several faults, report that of the first rank's first context.
    ranks = np.searchsorted(trace.head.offsets, rows[firsts], side="right")
    order = np.lexsort((found, ranks)).tolist()
    return {int(found[i]): _collectives_on(trace, int(found[i]), groups[int(found[i])], parts[i]) for i in order}


def _collectives_on(
    trace: Trace, context: int, group: tuple[int, ...], rows: npt.NDArray[np.int64]
) -> list[Collective]:
    """Assemble the collectives of a communicator from the rows of its members."""
    ops, members, offsets = trace.ops, np.array(group), np.array(trace.head.offsets)
    counts = np.searchsorted(rows, offsets[members + 1]) - np.searchsorted(rows, offsets[members])
    if (counts != counts[0]).any():
        few, many = int(counts.argmin()), int(counts.argmax())
        raise ReplayError(
            f"{trace.name}: members of communicator {context} must make the same collective calls: "
            f"rank {group[few]} makes {counts[few]}, rank {group[many]} makes {counts[many]}"
        )
    calls = rows.reshape(len(group), -1)[np.argsort(np.argsort(members))]
    codes = ops.op[calls]
    roots = np.where(np.isin(codes, list(ROOTED)), ops.peer[calls], PROC_NULL)
    rule = f"{trace.name}: members of communicator {context} must"
    if (found := _first_difference(codes)) is not None:
        at, other = found
        raise ReplayError(
            f"{rule} make the same collective calls: call {at} is {Op(codes[0, at]).name} on rank {group[0]} and "
            f"{Op(codes[other, at]).name} on rank {group[other]}"
        )
    if (found := _first_difference(roots)) is not None:
        at, other = found
        raise ReplayError(
            f"{rule} name the same root: call {at}, {Op(codes[0, at]).name}, has root {roots[0, at]} on rank "
            f"{group[0]} and {roots[other, at]} on rank {group[other]}"
        )
    sizes = ops.nbytes[calls.T]
    said = (codes[0], ops.peer[calls[0]], ops.tag[calls[0]], ops.flags[calls[0]] & MANNERS)
    built = []
    for i, (code, root, element, flags) in enumerate(zip(*(column.tolist() for column in said), strict=True)):
        manner = manner_of(flags, element)
        if code == Op.ALLTOALLV:
            entries = _entries(trace, members, calls[:, i])
            if any(len(each) != len(group) for each in entries):
                raise ReplayError(
                    f"{trace.name}: alltoallv on communicator {context} must have a size for each of its "
                    f"{len(group)} ranks, got {[len(each) for each in entries]}"
                )
            built.append(Collective("alltoallv", len(group), tuple(chain.from_iterable(entries)), manner=manner))
        else:
            built.append(collective_of(code, root, sizes[i].tobytes(), manner))
    return built


def _first_difference(said: npt.NDArray[np.integer[Any]]) -> tuple[int, int] | None:
    """Return the first collective of which members say different things, and a member that differs from the first.

    Args:
        said: Shape (members, collectives).
    """
    differing = said != said[0]
    if not differing.any():
        return None
    at = int(differing.any(axis=0).argmax())
    return at, int(differing[:, at].argmax())


def _entries(trace: Trace, ranks: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> list[list[int]]:
    """Return the entries in the extra column of one op of each of these ranks."""
    ops = trace.ops
    starts = np.array(trace.head.extra_offsets)[ranks] + ops.extra[rows]
    ends = starts + ops.count[rows]
    return [ops.extras[start:end].tolist() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


@lru_cache(maxsize=1024)
def manner_of(flags: int, element: int) -> Manner:
    """Return how a collective is called, by its flags and the bytes of an element, 0 if these are not known."""
    return Manner(
        nonblocking=bool(flags & _NONBLOCKING),
        in_place=bool(flags & _IN_PLACE),
        predefined=not flags & _USER_DEFINED,
        commutative=not flags & _NONCOMMUTATIVE,
        element=element,
        block=bool(flags & _BLOCK),
    )


@lru_cache(maxsize=65536)
def collective_of(code: int, root: int, packed_sizes: bytes, manner: Manner) -> Collective:
    """Build one collective; the same few recur millions of times, so they are shared.

    Args:
        code: Its op; not ALLTOALLV, which has more sizes.
        root: Its root within the communicator; ignored where it has none.
        packed_sizes: Sizes by member, as bytes of int64.
        manner: How it is called.
    """
    op = Op(code)
    sizes: list[int] = np.frombuffer(packed_sizes, dtype=np.int64).tolist()
    root = max(root, 0)
    if op is Op.COMM:
        return Collective("allreduce", len(sizes), (_CONSTRUCTOR_BYTES,) * len(sizes), 0, manner)
    if op in _UNIFORM:
        # Where members disagree (pickled objects), the root's size counts for a broadcast, the largest size elsewhere.
        nbytes = sizes[root] if op is Op.BCAST else max(sizes)
        return Collective(op.name.lower(), len(sizes), (nbytes,) * len(sizes), root, manner)
    name = _IRREGULAR[op] if op in _IRREGULAR and len(set(sizes)) > 1 else op.name.lower()
    return Collective(name, len(sizes), tuple(sizes), root, manner)


def is_wild(row: Row) -> bool:
    """Tell whether a receive named no source, so that the order of arrivals decides what it matches."""
    return bool(row.flags & _ANY_SOURCE) and row.peer != PROC_NULL


def waited_entries(program: Program) -> npt.NDArray[np.bool_]:
    """Return for each entry of the extra column whether it is a request that a wait names."""
    ops = program.columns
    rows = np.flatnonzero(ops.are(Op.WAIT) & (ops.count > 0))
    ranks = np.searchsorted(program.offsets, rows, side="right") - 1
    counts = ops.count[rows].astype(np.int64)
    found = np.zeros(len(ops.extras), np.bool_)
    found[np.repeat(np.array(program.extra_offsets)[ranks] + ops.extra[rows], counts) + within(counts)] = True
    return found


def ranks_with_wildcards(program: Program) -> list[int]:
    """Return the ranks that made receives or probes without naming a source."""
    wild = np.flatnonzero(program.columns.flags & _ANY_SOURCE != 0)
    wild = wild[program.peers[wild] != PROC_NULL]
    if not len(wild):
        return []
    ranks: list[int] = np.unique(np.searchsorted(program.offsets, wild, side="right") - 1).tolist()
    return ranks
