"""Workloads in the input formats of peers: the same messages in the same order, with the same collective algorithms.

Only the operations of the workloads are covered: calls on the world communicator, and waits for all requests.
:mod:`clue.formats` reads and writes more of these formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.speed.workloads import BenchProgram
from clue.collectives import Collective, Schedule, default_choice, lower
from clue.trace import COLLECTIVES, Op, Ops

#: First tag beyond those of the workloads' own messages.
_COLLECTIVE_TAG = 99


class Do(Enum):
    """The action of a step; the value is SimGrid's word for it."""

    COMPUTE = "compute"
    SEND = "send"
    RECV = "recv"
    ISEND = "isend"
    IRECV = "irecv"
    WAIT = "waitall"


class Step(NamedTuple):
    """A step of one rank.

    Attributes:
        do: The operation.
        amount: Nanoseconds to compute, bytes to send, or number of requests to wait for.
        peer: The other rank.
        tag: The message's tag.
    """

    do: Do
    amount: int = 0
    peer: int = 0
    tag: int = 0


_POINT_TO_POINT = {Op.SEND: Do.SEND, Op.RECV: Do.RECV, Op.ISEND: Do.ISEND, Op.IRECV: Do.IRECV}


def steps(workload: BenchProgram, rank: int) -> Iterator[Step]:
    """Yield the steps of a rank."""
    trace = workload.trace
    ops = trace.rank(rank)
    for code, cpu, peer, tag, nbytes, count in _rows(ops):
        if cpu:
            yield Step(Do.COMPUTE, cpu)
        if code in _POINT_TO_POINT:
            yield Step(_POINT_TO_POINT[Op(code)], nbytes, peer, tag)
        elif code == Op.WAIT:
            yield Step(Do.WAIT, count)
        elif code in COLLECTIVES:
            yield from _lowered(code, nbytes, trace.ranks, rank, workload.library)


def _rows(ops: Ops) -> Iterable[tuple[int, ...]]:
    columns = (ops.op, ops.cpu, ops.peer, ops.tag, ops.nbytes, ops.count)
    return zip(*(column.tolist() for column in columns), strict=True)


@lru_cache(maxsize=4)
def _lowered(code: int, nbytes: int, ranks: int, rank: int, library: str) -> tuple[Step, ...]:
    name = Op(code).name.lower()
    collective = Collective(name, ranks, (nbytes,) * ranks)
    return tuple(_steps_of(lower(collective, rank, default_choice(library, collective))))


def _steps_of(schedule: Schedule) -> Iterator[Step]:
    for each in schedule:
        yield from (Step(Do.IRECV, 0, peer, _COLLECTIVE_TAG) for peer in each.receives)
        yield from (Step(Do.ISEND, nbytes, peer, _COLLECTIVE_TAG) for peer, nbytes in each.sends)
        yield Step(Do.WAIT, len(each.receives) + len(each.sends))


def write_ti(workload: BenchProgram, folder: Path) -> Path:
    """Write SimGrid's time-independent files, one per rank, for hosts of 1 Gflop/s; return the file that lists them."""
    files = []
    # A receive must have room for its message, whose size the trace has only at its sender.
    room = int(workload.trace.ops.nbytes.max())
    for rank in range(workload.trace.ranks):
        lines = (_ti_line(rank, step, room) for step in steps(workload, rank))
        files.append(folder / f"{rank}.txt")
        files[-1].write_text("\n".join([f"{rank} init", *lines, f"{rank} finalize", ""]))
    listed = folder / "ranks"
    listed.write_text("".join(f"{file}\n" for file in files))
    return listed


def _ti_line(rank: int, step: Step, room: int) -> str:
    if step.do in {Do.COMPUTE, Do.WAIT}:
        return f"{rank} {step.do.value} {step.amount}"
    nbytes = room if step.do in {Do.RECV, Do.IRECV} else step.amount
    return f"{rank} {step.do.value} {step.peer} {step.tag} {nbytes}"


#: A node of a binary GOAL schedule, as LogGOPSim's txt2bin writes it (Parser.hpp, Graph::serialize_mmap).
_NODE = np.dtype(
    [
        ("requires", "<u4"),
        ("kind", "u1"),
        ("peer", "<u4"),
        ("size", "<u8"),
        ("tag", "<u4"),
        ("cpu", "u1"),
        ("nic", "u1"),
        ("dependants", "<u4"),
        ("first", "<u4"),
        ("start_dependants", "<u4"),
        ("start_first", "<u4"),
    ]
)
_KIND = {Do.SEND: 1, Do.ISEND: 1, Do.RECV: 2, Do.IRECV: 2, Do.COMPUTE: 3}
_COOKIE = 4223
#: From this number of awaited messages on, one node joins them, so that later nodes need not depend on each of them.
_JOINED = 2


def write_goal(workload: BenchProgram, file: Path) -> Path:
    """Write a GOAL schedule in LogGOPSim's binary form; return its file. A nanosecond is one unit of time."""
    ranks = workload.trace.ranks
    offset = 4 + 2 + 16 * ranks
    bounds = []
    with file.open("wb") as out:
        out.seek(8 + offset)
        for rank in range(ranks):
            written = out.write(_goal_rank(steps(workload, rank)))
            bounds += [offset, offset + written]
            offset += written
        out.seek(0)
        out.write(np.array([_COOKIE], "<u8").tobytes() + np.array([ranks], "<u4").tobytes() + bytes(2))
        out.write(np.array(bounds, "<u8").tobytes())
    return file


def _goal_rank(wanted: Iterable[Step]) -> bytes:
    nodes: list[tuple[int, int, int, int]] = []
    edges: list[tuple[int, int]] = []  # pairs of a node and one that requires it
    front: list[int] = []  # nodes that the next step requires
    started: list[int] = []

    def add(kind: int, step: Step) -> int:
        nodes.append((kind, step.peer, max(step.amount, 1), step.tag))
        edges.extend((before, len(nodes) - 1) for before in front)
        return len(nodes) - 1

    for step in wanted:
        if step.do is Do.WAIT:
            if step.amount != len(started):
                raise ValueError(f"goal: a wait must name all {len(started)} started messages, got {step.amount}")
            front, started = started, []
            if len(front) > _JOINED:
                front = [add(_KIND[Do.COMPUTE], Step(Do.COMPUTE))]
        elif step.do in {Do.ISEND, Do.IRECV}:
            started.append(add(_KIND[step.do], step))
        else:
            front = [add(_KIND[step.do], step)]
    return _goal_bytes(nodes, np.array(edges, np.int64).reshape(-1, 2))


def _goal_bytes(nodes: list[tuple[int, int, int, int]], edges: npt.NDArray[np.int64]) -> bytes:
    table: npt.NDArray[Any] = np.zeros(len(nodes), _NODE)
    for name, column in zip(("kind", "peer", "size", "tag"), np.array(nodes, np.int64).reshape(-1, 4).T, strict=True):
        table[name] = column
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    table["requires"] = np.bincount(edges[:, 1], minlength=len(nodes))
    table["dependants"] = np.bincount(edges[:, 0], minlength=len(nodes))
    ends = np.cumsum(table["dependants"])
    table["first"] = ends - table["dependants"]
    table["start_first"] = ends
    roots = np.flatnonzero(table["requires"] == 0)
    counts = np.array([len(nodes), len(roots)], "<u4")
    return counts.tobytes() + roots.astype("<u4").tobytes() + table.tobytes() + edges[:, 1].astype("<u4").tobytes()
