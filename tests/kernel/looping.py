"""Programs in loops, made from traces, and the same programs written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np
import numpy.typing as npt

from clue.kernel import LoopBursts, LoopedProgram, Pool, compile_program
from clue.models import Distribution
from clue.trace import NO_REQUEST, Head, Op, Trace
from clue.trace.builder import RankColumns, trace_of

Integers = npt.NDArray[np.int64]
_NAMES = ("op", "region", "nbytes", "peer", "tag", "comm", "request", "extra", "count", "flags", "cpu")
_WAITS = (Op.WAIT, Op.POLL, Op.MRECV)


@dataclass(frozen=True, eq=False)
class Block:
    """The ops of a rank in one round of a block; waits name requests by their age."""

    columns: dict[str, Integers]
    extras: Integers

    def __len__(self) -> int:
        return len(self.columns["op"])

    @cached_property
    def begins(self) -> npt.NDArray[np.bool_]:
        """Mask of the rows that begin requests."""
        begins: npt.NDArray[np.bool_] = ~np.isin(self.columns["op"], _WAITS) & (self.columns["request"] != NO_REQUEST)
        return begins

    @classmethod
    def of(cls, trace: Trace, rank: int) -> Block:
        """Return all ops of a rank in a trace."""
        ops, head = trace.ops, trace.head
        rows = slice(head.offsets[rank], head.offsets[rank + 1])
        columns = {name: getattr(ops, name)[rows].astype(np.int64) for name in _NAMES}
        extras = ops.extras[head.extra_offsets[rank] : head.extra_offsets[rank + 1]].astype(np.int64)
        block = cls(columns, extras.copy())
        named: dict[int, int] = {}
        begun = 0
        for i, begins in enumerate(block.begins.tolist()):
            name = int(columns["request"][i])
            if begins:
                named[name], begun = begun, begun + 1
            elif columns["op"][i] == Op.WAIT:
                at = slice(columns["extra"][i], columns["extra"][i] + columns["count"][i])
                block.extras[at] = [begun - named.pop(int(each), begun) for each in extras[at]]
                columns["request"][i] = begun - named.pop(name, begun)
        return block

    def named(self, begun: int) -> RankColumns:
        """Return a round with absolute request numbers, after *begun* requests."""
        first, waits, at, of = self._named
        before = begun + first
        request = np.where(self.begins, before, np.where(waits, before - self.columns["request"], NO_REQUEST))
        extras = self.extras.copy()
        extras[at] = before[of] - extras[at]
        return RankColumns({**self.columns, "request": request}, extras)

    @cached_property
    def _named(self) -> tuple[Integers, npt.NDArray[np.bool_], Integers, Integers]:
        """Requests begun before each row, the mask of waits, and the extras that name requests with their rows."""
        waits = self.columns["op"] == Op.WAIT
        rows = np.flatnonzero(waits)
        counts = self.columns["count"][rows]
        of = np.repeat(rows, counts)
        at = np.repeat(self.columns["extra"][rows] + counts - counts.cumsum(), counts) + np.arange(counts.sum())
        return np.cumsum(self.begins) - self.begins, waits, at, of


def joined(parts: Sequence[RankColumns]) -> RankColumns:
    """Return the parts of a rank joined into one."""
    first = np.cumsum([0, *(len(part.extras) for part in parts)])
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in _NAMES}
    columns["extra"] = columns["extra"] + np.repeat(first[:-1], [len(part) for part in parts])
    return RankColumns(columns, np.concatenate([part.extras for part in parts]))


def cut(block: Block, first: int, end: int) -> Block:
    """Return the rows of a block from *first* to before *end*."""
    return Block({name: column[first:end] for name, column in block.columns.items()}, block.extras)


def in_loops(random: Random, traces: Sequence[Trace], times: Sequence[int]) -> LoopedProgram:
    """Return a program that repeats each trace the given number of times, in loops alone."""
    blocks = _blocks(traces)
    return _looped(traces[0].head, blocks, times, _drawn(random, blocks, times))


def loops(random: Random, traces: Sequence[Trace], times: Sequence[int]) -> tuple[LoopedProgram, Trace]:
    """Return a program that repeats each trace the given number of times, in loops and written out."""
    return program_of(random, traces[0].head, _blocks(traces), times)


def _blocks(traces: Sequence[Trace]) -> list[list[Block]]:
    return [[Block.of(trace, rank) for trace in traces] for rank in range(traces[0].ranks)]


def program_of(
    random: Random, head: Head, blocks: Sequence[Sequence[Block]], times: Sequence[int]
) -> tuple[LoopedProgram, Trace]:
    """Return a program of each rank's blocks, in loops and written out; every rank has a pool of bursts."""
    drawn = _drawn(random, blocks, times)
    return _looped(head, blocks, times, drawn), _trace(head, [joined(list(of.rounds())) for of in drawn])


def _trace(head: Head, ranks: Sequence[RankColumns]) -> Trace:
    return trace_of(ranks, "loops", communicators=head.communicators, regions=head.regions)


def _looped(
    head: Head, blocks: Sequence[Sequence[Block]], times: Sequence[int], drawn: Sequence[_Drawn]
) -> LoopedProgram:
    once = _trace(
        head,
        [joined([RankColumns(dict(b.columns, cpu=0 * b.columns["cpu"]), b.extras) for b in of]) for of in blocks],
    )
    lengths = np.array([[len(block) for block in of_rank] for of_rank in blocks], np.int64)
    begins = np.concatenate([np.zeros((len(blocks), 1), np.int64), lengths.cumsum(axis=1)], axis=1)
    bounds = np.array(once.head.offsets[:-1])[:, None] + begins
    mean, first, each, pool = (np.concatenate([part[i] for of in drawn for part in of.parts]) for i in range(4))
    pools = tuple(of.pool for of in drawn)
    bursts = LoopBursts(mean, first.astype(np.int64), each.astype(np.int64), pool.astype(np.int32), pools)
    return LoopedProgram(compile_program(once), np.array(times, np.int64), bounds.astype(np.int64), bursts)


def _drawn(random: Random, blocks: Sequence[Sequence[Block]], times: Sequence[int]) -> list[_Drawn]:
    return [_Drawn(random, rank, of_rank, times) for rank, of_rank in enumerate(blocks)]


class _Drawn:
    """The pool from which the bursts of a rank are drawn, and its rounds with these bursts."""

    def __init__(self, random: Random, rank: int, blocks: Sequence[Block], times: Sequence[int]) -> None:
        self._spread = Distribution.of([[random.uniform(0.5, 1.5) for _ in range(random.choice((1, 3, 9)))]])
        self._blocks = [(block, block.columns["cpu"] > 0, n) for block, n in zip(blocks, times, strict=True)]
        draws = int(sum(where.sum() * n for _, where, n in self._blocks))
        self.pool = Pool(random.randrange(1 << 32), draws, self._spread.relative)
        self.parts = []
        at = 0
        for block, where, n in self._blocks:
            mean, each = block.columns["cpu"] * 1e-9, int(where.sum())
            first = at + np.cumsum(where) - where
            self.parts.append((mean, first, np.full(len(block), each), np.where(where, rank, -1)))
            at += n * each

    def rounds(self) -> Iterator[RankColumns]:
        """Yield the rounds of all blocks, written out."""
        drawn = self._spread.drawn(np.arange(self.pool.draws), self.pool.draws, self.pool.seed)
        begun = at = 0
        for block, where, n in self._blocks:
            mean, each = block.columns["cpu"] * 1e-9, int(where.sum())
            for _ in range(n):
                one = block.named(begun)
                cpu = one.columns["cpu"].copy()
                cpu[where] = np.round(mean[where] * drawn[at : at + each] * 1e9)
                yield RankColumns({**one.columns, "cpu": cpu}, one.extras)
                begun, at = begun + int(block.begins.sum()), at + each
