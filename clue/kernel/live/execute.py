"""The front of live execution: sources of calls go in, a result and a trace come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, cycle, islice, repeat
from typing import NamedTuple

import numpy as np

from clue.caveats import About, Caveat, counted
from clue.kernel.live.meetings import SIZES_AT_ROOT, linear_of
from clue.kernel.live.record import FullRecord, Record
from clue.kernel.live.simulation import LiveJob, LiveSimulation
from clue.kernel.live.source import BurstRule, Source, Spawner
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program
from clue.kernel.model.replay import Replay
from clue.kernel.simulate import place, result_of, warnings_of
from clue.machine import Machine, Placement
from clue.result import Result, Unmodelled
from clue.trace import Trace, TraceBuilder

#: Ranks that may be spawned beyond those that find a processor of their own.
_SPARE = 1024
#: … and those that find one: far more than any computer has processes.
_MOST = 1 << 20


class Execution(NamedTuple):
    """What a live execution yields.

    Attributes:
        result: Its figures, as those of a replay.
        trace: What happened, if that was to be kept.
    """

    result: Result
    trace: Trace | None


def execute(
    sources: Sequence[Source],
    machine: Machine,
    placement: Placement | str | Sequence[int] = "block",
    *,
    name: str = "program",
    spawn: Spawner | None = None,
    burst: BurstRule | None = None,
    rate: float | Mapping[str, float] | None = None,
    timeline: bool = False,
    traffic: bool = False,
    record: bool = False,
) -> Execution:
    """Let programs run on a machine in virtual time.

    Args:
        sources: The program of each rank.
        machine: Where they are to run.
        placement: ``"block"``, ``"cyclic"``, or a node index for each rank. Ranks that are spawned take the processors
            that are left, node by node, then share them in turn.
        name: Of the program, for messages.
        spawn: Starts ranks that are spawned.
        burst: What bursts take, where that is not what was measured; bursts before calls that are no rows of a trace
            then take no time.
        rate: flop/s of this computer in every region, or by region, for machines that state speeds by region.
        timeline: Whether to keep what every rank did when.
        traffic: Whether to keep who sent how much to whom.
        record: Whether to keep what happened, as a trace.

    Raises:
        UsageError: If the placement makes no sense.
        LiveError: If a program fails.
        ReplayError: If its ranks contradict each other.
        DeadlockError: If the program deadlocks in virtual time.
    """
    ranks = len(sources)
    placed = place(machine, placement, ranks)
    seen = Observation(
        segments=[] if timeline else None,
        messages=np.zeros((ranks, ranks), np.int64) if traffic else None,
        nbytes=np.zeros((ranks, ranks), np.int64) if traffic else None,
    )
    unknown = _program(name, ranks, rate)
    room = _with_room(machine, placed)
    simulation = LiveSimulation(unknown, machine, room, started=ranks, rate=rate, observation=seen)
    kept = FullRecord(ranks, name) if record else Record(ranks)
    simulation.job = job = LiveJob(simulation, unknown, sources, spawn=spawn, burst=burst, record=kept)
    simulation.run()
    trace = kept.trace(job.ranks, job.regions) if isinstance(kept, FullRecord) else None
    return Execution(_result(simulation, job), trace)


def _program(name: str, ranks: int, rate: float | Mapping[str, float] | None) -> Program:
    """Return a program of which nothing is known but its name, its ranks, and how fast they ran where they ran."""
    outside = rate.get("") if isinstance(rate, Mapping) else rate
    return Program(
        name=name,
        columns=TraceBuilder(1).build().ops,
        peers=np.zeros(0, np.int32),
        offsets=(0,) * (ranks + 1),
        extra_offsets=(0,) * (ranks + 1),
        groups=((),),
        contexts=(0,),
        collectives={},
        worlds=(0,) * ranks,
        regions=("",),
        cpu_by_region=((),) * ranks,
        host_speeds={} if outside is None else {"": outside},
        unmodelled=(),
        unresolved=0,
        failed_polls=0,
        processor="",
        notes=(),
    )


def _with_room(machine: Machine, placed: Placement) -> Placement:
    """Return where ranks are, and where those would be that are spawned."""
    taken = Counter(placed.nodes)
    room = [min(node.processors, _MOST) for node in machine.nodes]
    free = islice(chain.from_iterable(repeat(i, places - taken[i]) for i, places in enumerate(room)), _MOST)
    turns = islice(cycle(chain.from_iterable(repeat(i, places) for i, places in enumerate(room))), _SPARE)
    return Placement((*placed.nodes, *free, *turns))


def _result(simulation: LiveSimulation, job: LiveJob) -> Result:
    ranks, machine = job.ranks, simulation.machine
    placed = Placement(simulation.placement.nodes[: len(ranks)])
    rows = [job.record.rows(rank.rank) for rank in ranks]
    program = replace(
        job.program,
        worlds=tuple(job.world_of(rank.rank) for rank in ranks),
        regions=tuple(job.regions),
        offsets=tuple(np.cumsum([0, *rows]).tolist()),
        host_speeds=simulation.costs.host_speeds,
        unmodelled=tuple(Unmodelled(call, count, 0.0) for call, count in job.unmodelled.items()),
    )
    replay = Replay(
        engine="live",
        finish=np.array([rank.clock for rank in ranks]),
        compute=np.array([rank.compute for rank in ranks]),
        communicate=np.array([rank.communicate for rank in ranks]),
        by_region=np.sum([rank.compute_by_region for rank in ranks], axis=0),
        wildcards=(0, 0),
        left_over=len(job.mailboxes.left_over()),
        seen=simulation.observation,
    )
    warnings = [*warnings_of(replay, program, machine, placed), *_overruled(machine)]
    if late := job.mailboxes.late:
        text = (
            "{count} messages were late, as it was open which receive they were for until others had come; a replay of "
            "this run may differ"
        )
        warnings.append(counted(program.name, text, late))
    return result_of(replay, program, placed, tuple(warnings), 1)


def _overruled(machine: Machine) -> Iterator[Caveat]:
    """Say which stated algorithms do not count: no member but the root knows the sizes that they depend on."""
    for name in sorted(SIZES_AT_ROOT):
        choice = machine.network.collectives.get(name)
        if choice is not None and not choice.algorithms <= {linear_of(choice)}:
            others = ", ".join(sorted(choice.algorithms - {"linear"}))
            text = "{collective} is linear in live runs, not {others}"
            yield Caveat(About.MACHINE, machine.name, text, {"collective": name, "others": others})
