"""The programs on which clue and its peers are timed and compared, as traces that numpy builds column by column.

Every rank of a workload has the same ops, some of which are left out at the ends of a chain. Nothing here runs
anything.

=== =========================================================================================================
W1  halo exchange on a two-dimensional torus of ranks, with an allreduce of 8 B every ten iterations
W2  a token that goes around a ring, and a pipeline through a chain
W3  alltoall
W4  allreduce
=== =========================================================================================================

Bursts of computation are jittered: some simulators replay lock-step programs at a fraction of the cost.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.collectives import ALGORITHMS, Collective, default_choice
from clue.trace import COLLECTIVES, NO_REQUEST, PROC_NULL, Communicator, Head, Op, Ops, RankHead, Trace
from clue.trace.ops import COLUMNS

#: Iterations of the halo exchange between two allreduces.
_PERIOD = 10
_SEED = 1
#: Row and column offsets from a rank to its neighbours on the torus; opposite directions are adjacent in the list.
_DIRECTIONS = ((0, 1), (0, -1), (1, 0), (-1, 0))
Columns = dict[str, npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class BenchProgram:
    """A program to replay.

    Attributes:
        name: Its name in tables.
        trace: Its trace.
        messages: Number of point-to-point messages, including those of collectives.
        library: The MPI library whose algorithms of collectives are used.
    """

    name: str
    trace: Trace
    messages: int
    library: str = "mpich"

    @property
    def ops(self) -> int:
        """Number of recorded ops."""
        return len(self.trace.ops)


@dataclass(frozen=True, slots=True)
class BurstLengths:
    """Computation between calls.

    Attributes:
        seconds: Mean length.
        jitter: Half the width of the uniform distribution around the mean, as a share of it; 0: lock-step.
        seed: Seed of the random numbers.
    """

    seconds: float = 50e-6
    jitter: float = 0.5
    seed: int = _SEED

    def nanoseconds(self, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Draw bursts."""
        spread = np.random.default_rng(self.seed).random(shape, np.float32)
        spread *= np.float32(2.0 * self.jitter * self.seconds * 1e9)
        spread += np.float32((1.0 - self.jitter) * self.seconds * 1e9)
        return spread.astype(np.int64)


_JITTERED = BurstLengths()


def halo(ranks: int, messages: int = 1_000_000, nbytes: int = 8192, bursts: BurstLengths = _JITTERED) -> BenchProgram:
    """Make W1: each iteration is a burst, four Irecv, four Isend and a Waitall; tags identify the directions.

    Args:
        ranks: A square number, at least 9 (so that the four neighbours differ).
        messages: Approximate number of messages; at least one period of ten iterations is made.
        nbytes: Size of a message to a neighbour.
        bursts: Computation of each iteration.
    """
    side = math.isqrt(ranks)
    per_period = ranks * 4 * _PERIOD + _messages_of(Op.ALLREDUCE, 8, ranks)
    periods = max(1, round(messages / per_period))
    row, column = np.divmod(np.arange(ranks), side)
    # The neighbour that a message in each direction goes to; the rank receives from the neighbour on the opposite side.
    ahead = np.stack([(row + down) % side * side + (column + right) % side for down, right in _DIRECTIONS], axis=1)
    behind = ahead[:, [1, 0, 3, 2]]
    iteration: Columns = {
        "op": np.array([Op.IRECV] * 4 + [Op.ISEND] * 4 + [Op.WAIT]),
        "peer": np.concatenate([behind, ahead, np.zeros((ranks, 1), np.int64)], axis=1),
        "tag": np.array([0, 1, 2, 3, 0, 1, 2, 3, 0]),
        "nbytes": np.array([0] * 4 + [nbytes] * 4 + [0]),
        "count": np.array([0] * 8 + [8]),
    }
    allreduce = {"op": np.array([Op.ALLREDUCE]), "nbytes": np.array([8])}
    period = _joined(ranks, [iteration] * _PERIOD + [allreduce])
    burst_at = np.array([(op == Op.IRECV) and (at % 9 == 0) for at, op in enumerate(period["op"][0])])
    columns = _repeated(period, periods)
    _fill_bursts(columns, np.tile(burst_at, periods), bursts)
    _number_requests(columns, requests=8)
    extras = np.broadcast_to(np.arange(8 * _PERIOD * periods), (ranks, 8 * _PERIOD * periods))
    return BenchProgram(f"W1 halo {_size(nbytes)}, P={ranks}", _trace("halo", columns, extras), per_period * periods)


def large(ranks: int = 16384, ops: int = 50_000_000) -> BenchProgram:
    """Make W1 with at least this many ops."""
    per_period = 9 * _PERIOD + 1
    periods = -(-ops // (ranks * per_period))
    return halo(ranks, periods * (ranks * 4 * _PERIOD + _messages_of(Op.ALLREDUCE, 8, ranks)))


def ring(ranks: int, messages: int = 1_000_000, nbytes: int = 1024, bursts: BurstLengths = _JITTERED) -> BenchProgram:
    """Make W2's ring: a token circulates; the rank that has it computes briefly, and sends it on."""
    rank = np.arange(ranks)[:, None]
    first = rank == 0
    turn: Columns = {
        "op": np.where(first, [[Op.SEND, Op.RECV]], [[Op.RECV, Op.SEND]]),
        "peer": np.where(first, [[1, ranks - 1]], np.concatenate([rank - 1, (rank + 1) % ranks], axis=1)),
        "nbytes": np.where(first, [[nbytes, 0]], [[0, nbytes]]),
    }
    turns = max(1, messages // ranks)
    columns = _repeated(_joined(ranks, [turn]), turns)
    _fill_bursts(columns, columns["op"] == Op.SEND, bursts)
    return BenchProgram(f"W2 ring {_size(nbytes)}, P={ranks}", _trace("ring", columns), turns * ranks)


def pipeline(
    ranks: int, messages: int = 1_000_000, nbytes: int = 1024, bursts: BurstLengths = _JITTERED
) -> BenchProgram:
    """Make W2's pipeline: every item is received from the previous rank, processed, and sent to the next."""
    rank = np.arange(ranks)[:, None]
    item: Columns = {
        "op": np.array([Op.RECV, Op.SEND]),
        "peer": np.concatenate([rank - 1, np.where(rank == ranks - 1, PROC_NULL, rank + 1)], axis=1),
        "nbytes": np.array([0, nbytes]),
    }
    items = max(1, messages // (ranks - 1))
    columns = _repeated(_joined(ranks, [item]), items)
    _fill_bursts(columns, columns["op"] == Op.SEND, bursts)
    return BenchProgram(f"W2 pipeline {_size(nbytes)}, P={ranks}", _trace("pipeline", columns), items * (ranks - 1))


def alltoall(
    ranks: int,
    messages: int = 1_000_000,
    nbytes: int = 1024,
    bursts: BurstLengths = _JITTERED,
    *,
    library: str = "mpich",
) -> BenchProgram:
    """Make W3: bursts and alltoalls of blocks of this many bytes (MPICH starts 32 at a time, Open MPI all at once)."""
    return _collectives("W3", Op.ALLTOALL, ranks, library, messages=messages, nbytes=nbytes, bursts=bursts)


def allreduce(ranks: int, messages: int = 1_000_000, nbytes: int = 8, bursts: BurstLengths = _JITTERED) -> BenchProgram:
    """Make W4: bursts and allreduces of this many bytes."""
    return _collectives("W4", Op.ALLREDUCE, ranks, "mpich", messages=messages, nbytes=nbytes, bursts=bursts)


def nothing(ranks: int) -> BenchProgram:
    """Make a program whose ranks each compute for a moment, to measure the time of a start."""
    columns: Columns = {"op": np.full((ranks, 1), Op.COMPUTE), "cpu": np.full((ranks, 1), 1000)}
    return BenchProgram(f"nothing, P={ranks}", _trace("nothing", columns), 0)


def _collectives(
    title: str, op: Op, ranks: int, library: str, *, messages: int, nbytes: int, bursts: BurstLengths
) -> BenchProgram:
    each = _messages_of(op, nbytes, ranks, library)
    calls = max(1, round(messages / each))
    columns = _repeated(_joined(ranks, [{"op": np.array([op]), "nbytes": np.array([nbytes])}]), calls)
    _fill_bursts(columns, np.ones(calls, np.bool_), bursts)
    name = op.name.lower()
    algorithm = default_choice(library, Collective(name, ranks, (nbytes,)))
    title = f"{title} {name} {_size(nbytes)}, {algorithm.replace('_', ' ')}, P={ranks}"
    return BenchProgram(title, _trace(name, columns), each * calls, library)


def _messages_of(op: Op, nbytes: int, ranks: int, library: str = "mpich") -> int:
    """Count the messages of one collective under a library's algorithm."""
    name = op.name.lower()
    collective = Collective(name, ranks, (nbytes,) * ranks)
    # `lower` is not used here, because it caches schedules: its look-up compares all sizes, once per rank.
    algorithm = ALGORITHMS[name][default_choice(library, collective)]
    return sum(len(each.sends) for rank in range(ranks) for each in algorithm(collective, rank))


def count_messages(trace: Trace, library: str = "mpich") -> int:
    """Count the messages of any trace whose collectives are regular, and on the world communicator."""
    ops = trace.ops
    sends = np.isin(ops.op, [Op.SEND, Op.ISEND]) & (ops.peer != PROC_NULL)
    first = trace.rank(0)
    calls = Counter((op, size) for op, size in zip(first.op.tolist(), first.nbytes.tolist(), strict=True))
    return int(sends.sum()) + sum(
        times * _messages_of(Op(op), size, trace.ranks, library)
        for (op, size), times in calls.items()
        if op in COLLECTIVES
    )


def _joined(ranks: int, parts: Sequence[Columns]) -> Columns:
    """Concatenate ops; a column that a part leaves out is 0, and one without a rank axis applies to every rank."""
    names = {name for part in parts for name in part}
    lengths = [part["op"].shape[-1] for part in parts]
    return {
        name: np.concatenate(
            [
                np.broadcast_to(part.get(name, np.int64(0)), (ranks, length))
                for part, length in zip(parts, lengths, strict=True)
            ],
            axis=1,
        )
        for name in names
    }


def _repeated(columns: Columns, times: int) -> Columns:
    kinds = {name: kind for name, kind, _ in COLUMNS}
    return {name: np.tile(column.astype(kinds[name]), (1, times)) for name, column in columns.items()}


def _fill_bursts(columns: Columns, at: npt.NDArray[np.bool_], bursts: BurstLengths) -> None:
    """Insert a burst before marked ops; the mask has the shape (ops,) for all ranks, or (ranks, ops)."""
    shape = columns["op"].shape
    marked = np.broadcast_to(at, shape)
    columns["cpu"] = np.zeros(shape, np.int64)
    columns["cpu"][marked] = bursts.nanoseconds((int(marked.sum()),))


def _number_requests(columns: Columns, requests: int) -> None:
    """Number the requests of a rank in order; a wait names the last ``requests`` ones by its offset in the extras."""
    op = columns["op"][0]
    starts, waits = np.isin(op, [Op.ISEND, Op.IRECV]), op == Op.WAIT
    numbers = np.where(starts, np.cumsum(starts) - 1, NO_REQUEST).astype(np.int32)
    extra = np.where(waits, (np.cumsum(waits) - 1) * requests, 0).astype(np.int32)
    columns["request"] = np.broadcast_to(numbers, columns["op"].shape)
    columns["extra"] = np.broadcast_to(extra, columns["op"].shape)


def _trace(program: str, columns: Columns, extras: npt.NDArray[np.int64] | None = None) -> Trace:
    """Make a trace from columns of shape (ranks, ops); messages with a null partner are left out.

    Args:
        program: Its name.
        columns: Columns that differ from the default.
        extras: Shape (ranks, entries).
    """
    ranks, length = columns["op"].shape
    kept = _moves_something(columns)
    lengths = np.full(ranks, length) if kept is None else kept.sum(axis=1)
    if extras is None:
        extras = np.zeros((ranks, 0), np.int64)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, kind, _ in COLUMNS:
        if name in columns:
            column = columns[name] if kept is None else columns[name][kept]
            arrays[name] = np.ascontiguousarray(column, kind).reshape(-1)
        else:
            arrays[name] = np.full(lengths.sum(), NO_REQUEST, kind) if name == "request" else _zeros(lengths, kind)
    arrays["call"] = arrays["op"].astype(np.uint16)
    head = Head(
        program=program,
        arguments=(),
        rank_heads=tuple(RankHead(host="", peak_memory=0, cpu=0.0, wall=0.0) for _ in range(ranks)),
        offsets=tuple(np.cumsum([0, *lengths]).tolist()),
        extra_offsets=tuple((np.arange(ranks + 1) * extras.shape[1]).tolist()),
        calls=_calls(),
        regions=("",),
        communicators=(Communicator("WORLD", tuple(range(ranks)), None, 0),),
    )
    return Trace(head, Ops(**arrays, extras=np.ascontiguousarray(extras).reshape(-1)))


def _moves_something(columns: Columns) -> npt.NDArray[np.bool_] | None:
    """Mark the ops that have a partner; ``None``: all of them."""
    if "peer" not in columns:
        return None
    kept = columns["peer"] != PROC_NULL
    return None if kept.all() else kept


def _zeros(lengths: npt.NDArray[np.int64], kind: str) -> npt.NDArray[Any]:
    # Zero pages that are never written take no memory.
    return np.zeros(int(lengths.sum()), kind)


def _size(nbytes: int) -> str:
    """Format a size in binary units, in which the workloads' sizes are round."""
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size and nbytes % size == 0:
            return f"{nbytes // size} {unit}"
    return f"{nbytes} B"


def _calls() -> tuple[str, ...]:
    """Return the names of calls by op code."""
    names = {int(op): op.name.capitalize() for op in Op}
    return tuple(names.get(code, "") for code in range(max(names) + 1))
