"""The rows of a trace, decoded for the tests."""

from __future__ import annotations

from dataclasses import dataclass

from clue.trace import Flag, Op, Trace


@dataclass(frozen=True)
class Row:
    """One op of a trace, decoded."""

    op: Op
    call: str
    peer: int
    tag: int
    nbytes: int
    flags: Flag
    request: int
    extras: tuple[int, ...]
    comm: int
    cpu: float
    region: str
    took: float


def rows(trace: Trace, rank: int) -> list[Row]:
    """Return all ops of a rank."""
    ops = trace.rank(rank)
    return [
        Row(
            op=Op(ops.op[i]),
            call=trace.head.calls[ops.call[i]],
            peer=int(ops.peer[i]),
            tag=int(ops.tag[i]),
            nbytes=int(ops.nbytes[i]),
            flags=Flag(int(ops.flags[i])),
            request=int(ops.request[i]),
            extras=tuple(ops.extras[ops.extra[i] : ops.extra[i] + ops.count[i]].tolist()),
            comm=int(ops.comm[i]),
            cpu=float(ops.cpu[i]) * 1e-9,
            region=trace.head.regions[ops.region[i]],
            took=float(ops.took[i]) * 1e-9,
        )
        for i in range(len(ops))
    ]


def calls(trace: Trace, rank: int) -> list[Row]:
    """Return the ops of a rank that belong to an MPI call."""
    return [row for row in rows(trace, rank) if row.call]


def named(trace: Trace, rank: int, name: str) -> list[Row]:
    """Return the ops of a rank that belong to calls of this name."""
    return [row for row in rows(trace, rank) if row.call == name]
