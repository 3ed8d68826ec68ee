"""Several programs joined into one, so that any engine replays them together on one machine.

Programs share only the machine. Each run has its own communicators, so no run receives a message of another. Between
two runs of a job its ranks meet in a barrier, as they do when a program begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clue.collectives import Collective
from clue.errors import UsageError
from clue.kernel.model.program import HostSpeed, Program, compile_program, cpu_by_region, waited_entries
from clue.machine import Machine, NodeType
from clue.trace import NO_REQUEST, Op, Ops, TraceBuilder
from clue.trace.columns import within
from clue.trace.sites import Sites

_Longs = npt.NDArray[np.int64]
_Figure = TypeVar("_Figure")


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """The work of a group of ranks.

    Attributes:
        programs: Programs that run one after the other, all on the same number of ranks.
        times: Number of repetitions of all programs.
    """

    programs: tuple[Program, ...]
    times: int = 1

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.programs[0].ranks

    @property
    def runs(self) -> list[Program]:
        """All runs, one after the other, with the barriers between them."""
        if self.ranks == 1:
            return [*self.programs] * self.times
        barrier = _barrier(self.ranks)
        return [each for _ in range(self.times) for program in self.programs for each in (program, barrier)][:-1]


@lru_cache(maxsize=16)
def _barrier(ranks: int) -> Program:
    """Return a program that consists of one barrier."""
    trace = TraceBuilder(ranks)
    for rank in trace:
        rank.collective(Op.BARRIER)
    return compile_program(trace.build())


def together(jobs: Sequence[Job], machine: Machine) -> tuple[Program, Machine]:
    """Join jobs that run side by side.

    Args:
        jobs: The jobs. Warnings about the joined program are those about the first program of the first job.
        machine: The machine on which they run.

    Returns:
        A program of all their ranks, job by job; and the machine, whose node types know the regions of all programs. If
        two regions have the same name but were recorded at different host speeds, the second is renamed.

    Raises:
        UsageError: If a program spawns ranks.
    """
    runs_of = [job.runs for job in jobs]
    runs = [run for of in runs_of for run in of]
    distinct = list({id(program): program for program in runs}.values())
    for program in distinct:
        if any(program.worlds):
            raise UsageError(f"{program.name}: programs that run beside others must not spawn ranks, got one that does")
    regions, host_speeds, aliases, region_of = _regions(distinct)
    bases = {id(program): base for program, base in zip(distinct, _bases(distinct, region_of), strict=True)}
    firsts = _firsts(jobs)
    blocks = [_blocks(of, bases, first) for of, first in zip(runs_of, firsts, strict=True)]
    numbers = _numbered(runs)
    columns, peers, offsets, extra_offsets = _gathered(distinct, bases, blocks, numbers)
    first = distinct[0]
    joined = Program(
        name=first.name,
        worlds=(0,) * (len(offsets) - 1),
        regions=regions,
        host_speeds=host_speeds,
        unmodelled=first.unmodelled,
        unresolved=first.unresolved,
        failed_polls=first.failed_polls,
        processor=first.processor,
        notes=first.notes,
        largest=max(program.largest for program in distinct),
        combined=max(program.combined for program in distinct),
        sites=Sites(),
        columns=columns,
        peers=peers,
        offsets=offsets,
        extra_offsets=extra_offsets,
        groups=tuple(_groups(runs_of, firsts)),
        contexts=tuple(context for run, number in zip(runs, numbers, strict=True) for context in number.contexts(run)),
        collectives=_collectives(runs, numbers),
        cpu_by_region=cpu_by_region(columns, offsets, len(regions)),
    )
    return joined, machine.map(node=lambda node: _knowing(node, aliases)) if aliases else machine


# --- regions ---


def _regions(
    programs: Sequence[Program],
) -> tuple[tuple[str, ...], Mapping[str, HostSpeed], Mapping[str, str], list[_Longs]]:
    """Join regions.

    Returns:
        Names of all regions; speeds of the recording hosts; the original names of renamed regions, by new name; the
        number of each region, by program.
    """
    names: list[str] = []
    speeds: dict[str, HostSpeed] = {}
    aliases: dict[str, str] = {}
    numbers = []
    for i, program in enumerate(programs):
        own = []
        for name in program.regions:
            known = program.host_speeds.get(name)
            new = name
            if name in names and speeds.get(name) != known:
                new = f"{name} of program {i + 1}"
                aliases[new] = name
            if new not in names:
                names.append(new)
            if known is not None:
                speeds[new] = known
            own.append(names.index(new))
        numbers.append(np.array(own, np.int64))
    return tuple(names), speeds, aliases, numbers


def _knowing(node: NodeType, aliases: Mapping[str, str]) -> NodeType:
    """Return a node type that treats renamed regions like those of the original names."""

    def with_aliases(by_region: Mapping[str, _Figure]) -> Mapping[str, _Figure]:
        return {**by_region, **{new: by_region[name] for new, name in aliases.items() if name in by_region}}

    return replace(
        node,
        performance_factors=with_aliases(node.performance_factors),
        speeds=with_aliases(node.speeds),
        memory_contention={busy: with_aliases(shares) for busy, shares in node.memory_contention.items()},
    )


# --- communicators ---


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbering of a run's communicators.

    Attributes:
        comm: Index of its first communicator.
        context: Its first context.
        known: Number of each context among those of the program.
    """

    comm: int
    context: int
    known: Mapping[int, int]

    def contexts(self, program: Program) -> Iterator[int]:
        """Yield the context of each communicator."""
        return (self.context + self.known[context] for context in program.contexts)


def _numbered(runs: Sequence[Program]) -> list[_Numbers]:
    found, comm, context = [], 0, 0
    known: dict[int, dict[int, int]] = {}
    for run in runs:
        if id(run) not in known:
            known[id(run)] = {each: number for number, each in enumerate(dict.fromkeys(run.contexts))}
        found.append(_Numbers(comm, context, known[id(run)]))
        comm += len(run.groups)
        context += len(known[id(run)])
    return found


def _groups(runs_of: Sequence[Sequence[Program]], firsts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for runs, first in zip(runs_of, firsts, strict=True):
        moved: dict[int, list[tuple[int, ...]]] = {}
        for run in runs:
            if id(run) not in moved:
                moved[id(run)] = [tuple(first + rank for rank in group) for group in run.groups]
            yield from moved[id(run)]


def _collectives(runs: Sequence[Program], numbers: Sequence[_Numbers]) -> Mapping[int, Sequence[Collective]]:
    return {
        number.context + number.known[context]: of
        for run, number in zip(runs, numbers, strict=True)
        for context, of in run.collectives.items()
    }


def _firsts(jobs: Sequence[Job]) -> list[int]:
    """Return the first rank of each job."""
    return [0, *accumulate(job.ranks for job in jobs)][:-1]


# --- ops ---


@dataclass(frozen=True, slots=True, eq=False)
class _Base:
    """The position of a program among all distinct programs.

    Attributes:
        row: Its first row.
        extra: Its first entry of the extra column.
        requests: Largest number of requests of a rank.
        region: Numbers of its regions.
    """

    row: int
    extra: int
    requests: int
    region: _Longs


def _bases(programs: Sequence[Program], region_of: Sequence[_Longs]) -> Iterator[_Base]:
    row = extra = 0
    for program, region in zip(programs, region_of, strict=True):
        yield _Base(row, extra, int(program.columns.request.max(initial=NO_REQUEST)) + 1, region)
        row += program.ops
        extra += len(program.columns.extras)


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """The runs of each rank of a job: all of shape (ranks, runs).

    Attributes:
        row: First row of a run.
        rows: Number of its rows.
        extra: Its first entry in the extra column.
        extras: Number of its entries.
        request: Offset of its request numbers.
        first: The job's first rank.
    """

    row: _Longs
    rows: _Longs
    extra: _Longs
    extras: _Longs
    request: _Longs
    first: int


def _blocks(runs: Sequence[Program], bases: Mapping[int, _Base], first: int) -> _Blocks:
    # Hundreds of runs repeat a few programs, so arrays are stacked once per program.
    distinct = list({id(run): run for run in runs}.values())
    number = {id(program): i for i, program in enumerate(distinct)}
    which = [number[id(run)] for run in runs]
    own = [bases[id(program)] for program in distinct]
    offsets = [np.array(program.offsets) for program in distinct]
    extra_offsets = [np.array(program.extra_offsets) for program in distinct]
    requests = np.array([own[i].requests for i in which])
    row = np.stack([base.row + each[:-1] for base, each in zip(own, offsets, strict=True)], 1)[:, which]
    return _Blocks(
        row=row,
        rows=np.stack([np.diff(each) for each in offsets], 1)[:, which],
        extra=np.stack([base.extra + each[:-1] for base, each in zip(own, extra_offsets, strict=True)], 1)[:, which],
        extras=np.stack([np.diff(each) for each in extra_offsets], 1)[:, which],
        request=np.broadcast_to(np.cumsum(requests) - requests, row.shape),
        first=first,
    )


def _gathered(
    programs: Sequence[Program], bases: Mapping[int, _Base], jobs: Sequence[_Blocks], numbers: Sequence[_Numbers]
) -> tuple[Ops, npt.NDArray[np.int32], tuple[int, ...], tuple[int, ...]]:
    """Return columns and partners of all ops, and the offsets of ranks in ops and in entries of the extra column."""
    comms, before = [], 0
    for of in jobs:
        runs = of.row.shape[1]
        own = np.array([number.comm for number in numbers[before : before + runs]], np.int64)
        comms.append(np.broadcast_to(own, of.row.shape))
        before += runs
    rows, extras = _flat([of.rows for of in jobs]), _flat([of.extras for of in jobs])
    taken = np.repeat(_flat([of.row for of in jobs]), rows) + within(rows)
    entries = np.repeat(_flat([of.extra for of in jobs]), extras) + within(extras)
    # The entries of a run follow those of earlier runs on the same rank.
    behind = _flat([np.cumsum(of.extras, 1) - of.extras for of in jobs])
    request = _flat([of.request for of in jobs])
    first = _flat([np.full(of.row.shape, of.first) for of in jobs])

    def column(name: str) -> npt.NDArray[np.int64]:
        joined: _Longs = np.concatenate([getattr(program.columns, name) for program in programs])[taken].astype(
            np.int64
        )
        return joined

    requests, peers = column("request"), np.concatenate([program.peers for program in programs])[taken]
    regions = np.concatenate([bases[id(program)].region[program.columns.region] for program in programs])[taken]
    waited = np.concatenate([waited_entries(program) for program in programs])[entries]
    all_extras = np.concatenate([program.columns.extras for program in programs])[entries]
    nothing = np.zeros(len(taken), np.int64)
    columns = Ops(
        cpu=column("cpu"),
        begin=nothing,
        took=nothing,
        nbytes=column("nbytes"),
        peer=column("peer").astype(np.int32),
        tag=column("tag").astype(np.int32),
        comm=(column("comm") + np.repeat(_flat(comms), rows)).astype(np.int32),
        request=np.where(requests == NO_REQUEST, NO_REQUEST, requests + np.repeat(request, rows)).astype(np.int32),
        extra=(column("extra") + np.repeat(behind, rows)).astype(np.int32),
        count=column("count").astype(np.int32),
        call=nothing.astype(np.uint16),
        region=regions.astype(np.uint16),
        site=nothing.astype(np.uint16),
        flags=column("flags").astype(np.uint16),
        op=column("op").astype(np.uint8),
        extras=all_extras + np.where(waited, np.repeat(request, extras), 0),
    )
    moved = np.where(peers >= 0, peers + np.repeat(first, rows), peers).astype(np.int32)
    return columns, moved, _offsets([of.rows for of in jobs]), _offsets([of.extras for of in jobs])


def _flat(of_jobs: Sequence[_Longs]) -> _Longs:
    return np.concatenate([each.ravel() for each in of_jobs])


def _offsets(of_jobs: Sequence[_Longs]) -> tuple[int, ...]:
    return (0, *np.cumsum(np.concatenate([each.sum(1) for each in of_jobs])).tolist())
