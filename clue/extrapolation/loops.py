"""A program at a size and a number of ranks as loops, if it is too long to be written out op by op.

Iterations are equal except for their bursts, which are drawn exactly as for the trace written out: a replay of the
loops gives the figures of a replay of that trace, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clue import structure
from clue.errors import UsageError
from clue.extrapolation.bursts import Bursts, Floats, UnevenShare, add_predecessors, first_rows, outside_remarks
from clue.extrapolation.inference import Structure
from clue.kernel import LoopBursts, LoopedProgram, Pool, compile_program
from clue.structure import Blocks, Generator, LocalSize, Stretch, Varying
from clue.structure.atoms import Integers, rows_of
from clue.trace import Trace
from clue.units import count_of

#: Maximum number of ops that are written out: each takes half a kilobyte and some microseconds.
LONGEST = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class InLoops:
    """A program as loops.

    Attributes:
        inferred: Its structure at any size and number of ranks.
        size: Size.
        ranks: Number of ranks.
        stretches: Stretches of the program with their iteration counts.
        varying: Loops that are written out because their iterations differ.
        ops: Number of ops.
        held: Number of ops held in memory when loops are replayed.
    """

    inferred: Structure
    size: int
    ranks: int
    stretches: tuple[Stretch, ...]
    varying: tuple[Varying, ...]
    ops: int
    held: int

    @classmethod
    def of(cls, inferred: Structure, size: int, ranks: int) -> InLoops:
        """Find the loops of a program at a size and on a number of ranks.

        Raises:
            UsageError: If there are more ranks than ops could be held in memory.
        """
        if ranks > LONGEST:
            raise UsageError(
                f"{inferred.name}: ranks of a program to be made must be at most {LONGEST:,}, got {ranks:,}"
            )
        alone = {
            number: f"bursts follow {pool.size}"
            for number, bursts in enumerate(inferred.bursts)
            for _, pool in bursts.roles
            if isinstance(pool.size, LocalSize | UnevenShare) and structure.looks_at_iteration(pool.size.atoms)
        }
        found, varying = structure.stretches(inferred.program, size, ranks, alone)
        ops, held = structure.count_ops(Generator(inferred.program, size, ranks), found)
        return cls(inferred, size, ranks, tuple(found), tuple(varying), ops, held)

    @property
    def too_long(self) -> bool:
        """Whether the program has too many ops to be written out."""
        return self.ops > LONGEST

    @property
    def can_be_replayed(self) -> bool:
        """Whether the loops can be replayed instead."""
        return self.held <= LONGEST

    def blocks(self) -> tuple[Blocks, tuple[str, ...]]:
        """Make the blocks of the program, each once; also return caveats.

        Raises:
            RefusedError: If the recordings do not determine the program at this size and number of ranks.
        """
        generator = Generator(self.inferred.program, self.size, self.ranks)
        made = structure.in_blocks(generator, self.stretches)
        self.inferred.check(generator)
        assert made is not None
        return made, tuple(dict.fromkeys(generator.remarks))

    def make(self) -> MadeLoops:
        """Make the program.

        Raises:
            RefusedError: If the recordings do not determine the program at this size and number of ranks.
        """
        blocks, remarks = self.blocks()
        draws = _Draws(self.inferred.bursts, blocks, self.ranks)
        self.inferred.check_time(self.size, self.ranks, float(draws.seconds.sum()))
        trace = self.inferred.trace(blocks.columns, np.zeros(len(blocks.block), np.int64))
        return MadeLoops(trace, blocks, draws.bursts(), (*self.inferred.remarks, *remarks, *draws.remarks()))


@dataclass(frozen=True, slots=True, eq=False)
class MadeLoops:
    """A program as loops, ready for replay.

    Attributes:
        trace: All blocks once, without bursts.
        blocks: Blocks with their iteration counts.
        bursts: Its bursts.
        remarks: Caveats for readers of results.
    """

    trace: Trace
    blocks: Blocks
    bursts: LoopBursts
    remarks: tuple[str, ...]

    def program(self, trace: Trace | None = None) -> LoopedProgram:
        """Return the program for the kernel; ``trace`` is that of all blocks with a more complete header."""
        times, offsets = self.blocks.times, np.array(self.trace.head.offsets)
        bounds = np.empty((self.trace.ranks, len(times) + 1), np.int64)
        for rank, (first, end) in enumerate(pairwise(offsets)):
            bounds[rank] = first + np.searchsorted(self.blocks.block[first:end], np.arange(len(times) + 1))
        return LoopedProgram(compile_program(trace or self.trace), times, bounds, self.bursts)


class _Draws:
    """Assignment of a looped program's bursts to draws from pools.

    A role's bursts are drawn rank by rank, in program order on each rank, as :meth:`Bursts.draw` does for all rows at
    once.
    """

    def __init__(self, bursts: tuple[Bursts, ...], blocks: Blocks, ranks: int) -> None:
        self.all, self.blocks, self.ranks = bursts, blocks, ranks
        rows = len(blocks.block)
        self.mean, self.inside = np.zeros(rows), np.ones(rows)
        self.first, self.each = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        self.pool = np.full(rows, -1, np.int32)
        self.pools: dict[tuple[int, int], int] = {}
        self.done: dict[tuple[int, int], Integers] = {}  # draws of each rank so far, by part and role
        add_predecessors([part for of_block in blocks.parts for part in of_block], blocks.columns.offsets)
        for block, times in enumerate(blocks.times.tolist()):
            for key, rank, at in self._drawing(block):
                self._draw(key, rank, at, times)
        for (part, role), number in self.pools.items():
            mine = self.pool == number
            before = self.done[part, role].cumsum() - self.done[part, role]
            self.first[mine] += before[self._rank_of(np.flatnonzero(mine))]

    def _rank_of(self, rows: Integers) -> Integers:
        found: Integers = np.searchsorted(self.blocks.columns.offsets, rows, side="right") - 1
        return found

    def _drawing(self, block: int) -> Iterator[tuple[tuple[int, int], Integers, Integers]]:
        """Yield the part and role of rows of a block, their ranks, and their indices; also set their means."""
        columns = self.blocks.columns.columns
        for part, of_part, of_rows in self.blocks.parts[block]:
            v, rows = first_rows(of_part, of_rows, columns["flags"])
            bursts = self.all[part]
            for role, where in bursts.by_role(v, columns["peer"][rows]):
                pool, some = bursts.roles[role][1], rows_of(v, where)
                self.mean[rows[where]] = pool.means(some)[0]
                self.inside[rows[where]] = pool.inside(some)
                yield (part, role), some["rank"], rows[where]

    def _draw(self, key: tuple[int, int], rank: Integers, rows: Integers, times: int) -> None:
        number = self.pools.setdefault(key, len(self.pools))
        done = self.done.setdefault(key, np.zeros(self.ranks, np.int64))
        counts = np.bincount(rank, minlength=self.ranks)
        before = counts.cumsum() - counts
        self.pool[rows] = number
        self.first[rows] = done[rank] + np.arange(len(rank)) - before[rank]
        self.each[rows] = counts[rank]
        done += counts * times

    def bursts(self) -> LoopBursts:
        """Return all bursts."""
        pools = []
        for part, role in self.pools:
            of = self.all[part]
            pools.append(Pool(of.seed(role), int(self.done[part, role].sum()), of.roles[role][1].spread.relative))
        return LoopBursts(
            self.mean, self.first, self.each, np.where(self.mean > 0, self.pool, -1).astype(np.int32), tuple(pools)
        )

    def remarks(self) -> list[str]:
        """Return caveats."""
        return outside_remarks(self.seconds, self.inside)

    @property
    def seconds(self) -> Floats:
        """Mean time of the bursts of each row in all iterations of its block, shape (rows,)."""
        return np.asarray(self.mean * self.blocks.times[self.blocks.block])


class TooLongError(UsageError):
    """Report a program with too many ops to be written out.

    Args:
        loops: The program as loops.
    """

    def __init__(self, loops: InLoops) -> None:
        self.loops = loops
        name, size, ranks = loops.inferred.name, loops.size, loops.ranks
        super().__init__(
            f"{name}: trace at size {size} on {count_of(ranks)} must have at most {LONGEST:,} ops to be written out, "
            f"got about {loops.ops:,}{self._instead()}"
        )

    @property
    def can_be_replayed(self) -> bool:
        """Whether its loops can be replayed instead."""
        return self.loops.can_be_replayed

    def _instead(self) -> str:
        if self.can_be_replayed:
            inferred = self.loops.inferred
            drawn = f", distributions: [{', '.join(inferred.distributions)}]" if inferred.distributions else ""
            wanted = f'{{traces: "{inferred.name}", size: {self.loops.size}, ranks: {self.loops.ranks}{drawn}}}'
            return f". It need not be written: clue simulate replays its loops, by program: {{extrapolate: {wanted}}}"
        first = max(self.loops.varying, key=lambda each: each.iterations, default=None)
        why = "" if first is None else f": at {first.site} {first.why} in {first.iterations:,} iterations"
        return f", of which {self.loops.held:,} are not alike in all iterations of a loop{why}"


def check_length(inferred: Structure, size: int, ranks: int) -> None:
    """Check that a program is short enough to be written out.

    Raises:
        TooLongError: If it is not.
    """
    loops = InLoops.of(inferred, size, ranks)
    if loops.too_long:
        raise TooLongError(loops)
