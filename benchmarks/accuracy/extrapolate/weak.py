"""Weak scaling from 16 ranks to 1,024, compared with a closed form.

``python -m benchmarks.accuracy.extrapolate.weak -o benchmarks/accuracy/weak.md``

A stencil along one dimension and along two is recorded on up to 16 ranks with the same number of points per rank: 32 or
48 points, or their squares in two dimensions. No recording has 1,024 ranks, so the trace extrapolated for them is
compared with :func:`closed_form`, which states every op of every rank independently of clue's rules.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import TypeAlias

from benchmarks.page import markdown_table, processor, revision, typed_command
from benchmarks.progress import tell
from clue.extrapolation import Family, Recording, RefusedError, infer
from clue.recording import Launch, Request, recordings_of
from clue.trace import NO_REQUEST, Op, Trace

PROGRAM = Path(__file__).parent / "programs" / "stencil.py"
#: Points per rank (per dimension), recorded numbers of ranks, and the target's number of ranks.
LOCAL, RANKS, TARGET = (32, 48), (2, 4, 6, 8, 12, 16), 1024
SWEEPS, NOBODY = 10, -1
#: Kind, partner, tag, bytes, request, and the requests that are waited for.
Row: TypeAlias = tuple[Op, int, int, int, int, tuple[int, ...]]


def size_of(local: int, ranks: int, dimensions: int) -> int:
    """Return the size at which each rank has the local size: N / P = local on a line, N^2 / P = local^2 for squares."""
    return local * ranks if dimensions == 1 else isqrt(local * local * ranks)


def closed_form(n: int, ranks: int, rank: int, dimensions: int) -> Iterator[Row]:
    """Yield the ops of a rank of the stencil: sweeps of halo exchanges and an allreduce, then the gathering."""
    rows, columns = (ranks, 1) if dimensions == 1 else _grid(ranks)
    row, column = rank // columns, rank % columns
    height = n // rows + (1 if row < n % rows else 0)
    width = n // columns + (1 if column < n % columns else 0)
    up, down = rank - columns if row else NOBODY, rank + columns if row + 1 < rows else NOBODY
    left, right = rank - 1 if column else NOBODY, rank + 1 if column + 1 < columns else NOBODY
    exchanges = [(up, down, width), (down, up, width), (left, right, height), (right, left, height)]
    request = 0
    for _ in range(SWEEPS):
        for tag, (to, source, points) in enumerate(exchanges[: 2 * dimensions], 1):
            yield Op.IRECV, source, tag, 0, request, ()
            yield Op.ISEND, to, tag, 8 * points if to != NOBODY else 0, request + 1, ()
            yield Op.WAIT, 0, 0, 0, NO_REQUEST, (request, request + 1)
            request += 2
        yield Op.ALLREDUCE, 0, 8, 8, NO_REQUEST, ()
    yield Op.ALLGATHER, 0, 0, 8, NO_REQUEST, ()
    yield Op.GATHERV, 0, 0, 8 * height * width, NO_REQUEST, ()
    yield Op.COMPUTE, 0, 0, 0, NO_REQUEST, ()


def _grid(ranks: int) -> tuple[int, int]:
    """Return the two closest factors of the number of ranks, the larger first, as MPI_Dims_create does."""
    small = max(each for each in range(1, isqrt(ranks) + 1) if ranks % each == 0)
    return ranks // small, small


def difference(trace: Trace, n: int, dimensions: int) -> str:
    """Return the first difference between a trace and the closed form; ``""`` if there is none."""
    for rank in range(trace.ranks):
        wanted = list(closed_form(n, trace.ranks, rank, dimensions))
        got = list(_rows(trace, rank))
        if wanted != got:
            at = next(
                (i for i, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b), min(map(len, (wanted, got)))
            )
            return f"rank {rank}, op {at}: {got[at : at + 1]} instead of {wanted[at : at + 1]}"
    return ""


def _rows(trace: Trace, rank: int) -> Iterator[Row]:
    ops = trace.rank(rank)
    columns = (ops.op, ops.peer, ops.tag, ops.nbytes, ops.request, ops.extra, ops.count)
    for op, peer, tag, nbytes, request, first, count in zip(*(each.tolist() for each in columns), strict=True):
        yield Op(op), peer, tag, nbytes, request, tuple(ops.extras[first : first + count].tolist())


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for one number of dimensions.

    Attributes:
        dimensions: Dimensions of the grid of ranks.
        size: The target's size.
        recordings: Number of recordings.
        ops: Number of ops extrapolated for the target.
        structure: ``"exact"``, the first difference, or why the extrapolation was refused.
        seconds: CPU time of learning the rules and extrapolating.
    """

    dimensions: int
    size: int
    recordings: int
    ops: int
    structure: str
    seconds: float


def family(dimensions: int, tell: Callable[[str], None] = lambda _: None, ranks: tuple[int, ...] = RANKS) -> Family:
    """Record the stencil at a constant size per rank; reuse earlier recordings."""
    few, many = LOCAL
    places = [(size_of(few, count, dimensions), count) for count in ranks]
    places += [(size_of(many, count, dimensions), count) for count in ranks[:3]]
    launches = [Launch(PROGRAM, (str(n), str(dimensions)), count) for n, count in places]
    found = recordings_of([Request(each) for each in launches], 1, lambda what, *_: tell(what))
    return Family.of((Recording(n, p, tuple(each)) for (n, p), each in zip(places, found, strict=True)), "stencil")


def outcome(recorded: Family, dimensions: int, local: int = LOCAL[0]) -> Outcome:
    """Extrapolate the target, and compare every op with the closed form."""
    size, began = size_of(local, TARGET, dimensions), time.process_time()
    try:
        trace = infer(recorded).generate(size, TARGET).trace
        ops, structure = len(trace.ops), difference(trace, size, dimensions) or "exact"
    except RefusedError as error:
        ops, structure = 0, f"refused: {error.refusals[0]}"
    return Outcome(dimensions, size, len(recorded.recordings), ops, structure, time.process_time() - began)


def page(outcomes: list[Outcome], command: str) -> str:
    """Return the table as a page."""
    head = ("grid of ranks", "recorded", "target", "ops", "structure", "learned and made in")
    rows = [
        (
            f"{each.dimensions}-D", f"{each.recordings} recordings on up to {RANKS[-1]} ranks",
            f"size {each.size:,} on {TARGET:,} ranks", f"{each.ops:,}", each.structure, f"{each.seconds:.1f} s",
        )
        for each in outcomes
    ]  # fmt: skip
    return "\n".join(
        [
            "# Weak scaling from 16 ranks to 1,024",
            "",
            f"Written by `{command}` on {datetime.date.today().isoformat()}, clue {revision()}; {processor()}.",
            "",
            f"A stencil of which each rank has {LOCAL[0]} points along a line, or squared, was recorded once on",
            f"{', '.join(map(str, RANKS))} ranks, and with {LOCAL[1]} on the first three of these. What was made of",
            "that is held against the closed form of the program",
            "(`benchmarks/accuracy/extrapolate/weak.py`), op by op: kind, partner, tag, bytes, request,",
            "requests waited for. Goal: exact.",
            "",
            *markdown_table(head, rows),
            "",
        ]
    )


def main() -> int:
    """Run the study; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.extrapolate.weak", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("weak.md"), help="the page")
    asked = parser.parse_args()
    outcomes = [outcome(family(dimensions, tell), dimensions) for dimensions in (1, 2)]
    asked.output.write_text(page(outcomes, typed_command("benchmarks.accuracy.extrapolate.weak")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
