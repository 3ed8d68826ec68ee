"""Skeletons as programs: how tests write, compile, run and record them, and compare their calls."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.children import mpi_of, open_mpi_options
from clue.recording import find_mpiexec, record
from clue.skeleton.c import c_program
from clue.skeleton.calibration import Pieces
from clue.skeleton.lowering import VECTORS
from clue.skeleton.python import python_program
from clue.skeleton.tree import statements_of
from clue.skeleton.words import About
from clue.skeleton.work import UNKNOWN, Character
from clue.trace import Flag, Op, Trace
from clue.trace.columns import Ops
from clue.trace.ops import COLLECTIVES, ROOTED

#: Pieces that take no measurable time, so that bursts take none: a second is one piece.
AT_ONCE = Pieces({"core": 1e9, "memory": 1e9, "cache": 1e9}, 0.0, "nowhere")
#: Flags that make a call a different one; other flags only tell how the application made the same call.
MANNERS = (
    Flag.SYNCHRONOUS | Flag.BUFFERED | Flag.NONBLOCKING | Flag.IN_PLACE | Flag.USER_DEFINED | Flag.NONCOMMUTATIVE
    | Flag.BLOCK
)  # fmt: skip
_LEFT_OUT = (Op.LOCAL, Op.POLL, Op.COMPUTE, Op.PACK, Op.SLEEP)
#: The tag of messages between neighbours.
NEIGHBOURS = 32_000
Call = tuple[object, ...]
Document = dict[str, Any]


def about(trace: Trace, pieces: Pieces = AT_ONCE, file: str = "skeleton.py") -> About:
    """Return the description of a program that its head states."""
    return About(
        file=file,
        identity="0123456789abcdef",
        recording="fedcba9876543210",
        program="app.py",
        recorded="",
        made="2026-11-23",
        scale=3.0,
        application=60.0,
        caveats=(),
        characters={region: Character(region, UNKNOWN, "nothing is known") for region in trace.head.regions},
        pieces=pieces,
    )


def written(trace: Trace, folder: Path) -> Path:
    """Write the Python program that makes the calls of a trace, and return its file."""
    path = folder / "skeleton.py"
    path.write_text(python_program(statements_of(trace), about(trace)))
    return path


def compiled(trace: Trace, folder: Path) -> Path:
    """Write the program in C, compile it without a warning, and return it; it checks bounds of arrays."""
    source, program = folder / "skeleton.c", folder / "skeleton"
    source.write_text(c_program(statements_of(trace), about(trace, file=source.name)))
    warnings = ("-Wall", "-Wextra", "-Werror")
    checks = ("-fsanitize=bounds", "-fsanitize-undefined-trap-on-error")
    command = [str(mpicc()), "-O2", *warnings, *checks, str(source), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return program


def mpicc() -> Path | None:
    """Return the path of the MPI compiler mpicc, if there is one."""
    found = shutil.which("mpicc")
    return None if found is None else Path(found)


def recorded(program: Path, ranks: int) -> Trace:
    """Run a program, and record it."""
    return record(program, (), ranks, program.with_suffix(".clue"), timeout=100)


def calls_of(trace: Trace, function: str = "") -> list[list[Call]]:
    """Return the calls of each rank as tuples, in order; with a function, only the calls within it.

    Requests are identified by the calls that started them, so their numbers do not matter. Neighbourhood collectives
    are omitted: :func:`exchanged_of` returns them.
    """
    inside = _inside(trace, function)
    return [list(_calls(trace, rank, inside)) for rank in range(trace.ranks)]


def exchanged_of(trace: Trace, function: str = "") -> list[list[Call]]:
    """Return each rank's sends and receives in neighbourhood collectives, sorted."""
    inside = _inside(trace, function)
    return [sorted(_exchanged(trace.rank(rank), inside), key=repr) for rank in range(trace.ranks)]


def _inside(trace: Trace, function: str) -> npt.NDArray[np.bool_]:
    named = (not function or any(each.function == function for each in site.frames) for site in trace.head.sites)
    return np.fromiter(named, np.bool_)


def _calls(trace: Trace, rank: int, inside: npt.NDArray[np.bool_]) -> Iterator[Call]:
    ops = trace.rank(rank)
    begun: dict[int, int] = {}
    made = 0
    for row in range(len(ops)):
        op, request = Op(ops.op[row]), int(ops.request[row])
        if op in _LEFT_OUT or not inside[ops.site[row]] or _is_neighbour(ops, row):
            continue
        if op is Op.WAIT:
            requests = _entries(ops, row) or [request]
            waited = tuple(sorted(begun[each] for each in requests if each in begun))
            if not waited:
                continue
            yield op, waited
        elif op is Op.MRECV:
            yield op, Flag(int(ops.flags[row])) & MANNERS, begun[request]
        else:
            if request >= 0:
                begun[request] = made
            yield _call(op, trace.head.communicators[ops.comm[row]].group, ops, row)
        made += 1


def _call(op: Op, group: Sequence[int], ops: Ops, row: int) -> Call:
    peer, tag, nbytes = int(ops.peer[row]), int(ops.tag[row]), int(ops.nbytes[row])
    manner = Flag(int(ops.flags[row])) & MANNERS
    if op in COLLECTIVES:
        root, element = (peer if op in ROOTED else 0), (tag if op in VECTORS else 0)
        return op, manner, group, root, nbytes, element, tuple(_entries(ops, row))
    return op, manner, group, peer, *((0, 0) if peer < 0 else (tag, nbytes if op in (Op.SEND, Op.ISEND) else 0))


def _exchanged(ops: Ops, inside: npt.NDArray[np.bool_]) -> Iterator[Call]:
    for row in range(len(ops)):
        if inside[ops.site[row]] and _is_neighbour(ops, row):
            if ops.op[row] == Op.NEIGHBOR:
                count, *entries = _entries(ops, row)
                yield from (("to", *each) for each in zip(entries[:count], entries[count : 2 * count], strict=True))
                yield from (("from", each) for each in entries[2 * count + 1 :])
            elif ops.op[row] == Op.ISEND:
                yield "to", int(ops.peer[row]), int(ops.nbytes[row])
            else:
                yield "from", int(ops.peer[row])


def _is_neighbour(ops: Ops, row: int) -> bool:
    return bool(ops.op[row] == Op.NEIGHBOR or (ops.op[row] in (Op.ISEND, Op.IRECV) and ops.tag[row] == NEIGHBOURS))


def _entries(ops: Ops, row: int) -> list[int]:
    return list(map(int, ops.extras[ops.extra[row] : ops.extra[row] + ops.count[row]]))


def ran(command: Sequence[str], ranks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program on a number of ranks, and return the finished process."""
    mpiexec = find_mpiexec()
    options = open_mpi_options() if mpi_of(mpiexec) == "openmpi" else []
    words = [mpiexec, *options, "-n", str(ranks), *command, *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)


def document_of(done: subprocess.CompletedProcess[str]) -> Document:
    """Return the JSON document that a successful program printed."""
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document
