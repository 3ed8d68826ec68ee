"""The front of live execution: takes sources of calls, returns a result and a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, cycle, islice, repeat
from typing import NamedTuple

import numpy as np

from clue.caveats import About, Caveat, counted
from clue.errors import Blocked, DeadlockError
from clue.kernel.live.conversation import Conversation
from clue.kernel.live.job import Job
from clue.kernel.live.meetings import SIZES_AT_ROOT, linear_of
from clue.kernel.live.record import FullRecord, Record
from clue.kernel.live.source import BurstRule, Source, Spawner
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Description, HostSpeed
from clue.kernel.reference.actor import Events
from clue.kernel.reference.rank import Rank
from clue.kernel.reference.simulation import outcome
from clue.kernel.reference.virtual_machine import VirtualMachine
from clue.kernel.simulate import place, result_of, warnings_of
from clue.machine import Machine, Placement
from clue.result import Result, Unmodelled
from clue.trace import Trace

#: Ranks that may be spawned beyond the number of free processors.
_SPARE = 1024
#: Most ranks that may be spawned onto free processors: far more than any computer has processes.
_MOST = 1 << 20
#: How often in a row spinning ranks may continue while nothing else can happen, before the run counts as deadlocked.
_LET_ON = 10_000


class Execution(NamedTuple):
    """The outcome of a live execution.

    Attributes:
        result: Its figures, in the form of a replay's.
        trace: A trace of the run, if it was to be kept.
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
    rate: HostSpeed | Mapping[str, HostSpeed] | None = None,
    processor: str = "",
    timeline: bool = False,
    traffic: bool = False,
    record: bool = False,
) -> Execution:
    """Let programs run on a machine in virtual time.

    Args:
        sources: The program of each rank.
        machine: Where they are to run.
        placement: ``"block"``, ``"cyclic"``, or a node index for each rank. Spawned ranks take the free processors,
            node by node, then share processors in turn.
        name: Of the program, for messages.
        spawn: Starts ranks that are spawned.
        burst: Durations of bursts, where they differ from the measured ones; bursts before calls that are not rows of a
            trace then take no time.
        rate: Speed of this computer in every region, or by region, for machines that state speeds by region.
        processor: Model name of the processor on which bursts were measured; ``""``: unknown, or they were not.
        timeline: Whether to keep a timeline of every rank.
        traffic: Whether to keep the communication matrix: messages and bytes by sender and receiver.
        record: Whether to keep a trace of the run.

    Raises:
        UsageError: If the placement is invalid.
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
    outside = rate.get("") if isinstance(rate, Mapping) else rate
    speeds = {} if outside is None else {"": outside}
    running = VirtualMachine(machine, _with_room(machine, placed), ("",), speeds, seen)
    kept = FullRecord(ranks, name) if record else Record(ranks)
    job = Job(name, running, _start, spawn=spawn, burst=burst, rate=rate, record=kept)
    job.begin(sources)
    _run(job)
    trace = kept.trace(job.ranks, running.costs.regions) if isinstance(kept, FullRecord) else None
    return Execution(_result(job, processor), trace)


def _start(job: Job, rank: Rank, source: Source) -> Conversation:
    """Connect a source of calls to its rank."""
    conversation = Conversation(job, rank, source)
    job.machine.env.process(_noting(job, rank.run(conversation.ops(), conversation.meaning, conversation.apart)))
    return conversation


def _noting(job: Job, events: Events) -> Events:
    """Note at once what ends a rank: SimPy raises it only after all other ranks have run until they block."""
    try:
        yield from events
    except BaseException as error:
        job.failure = error
        raise


def _run(job: Job) -> None:
    """Run a job to its end.

    Raises:
        DeadlockError: If nothing can happen any more and ranks are unfinished.
        BaseException: Whatever a source raises.
    """
    env = job.machine.env
    try:
        env.run()
        while job.let_on < _LET_ON and job.let_longest_on():
            job.let_on += 1
            env.run()
    except BaseException as error:
        # SimPy raises a copy, which has only the text of the original.
        original = error.__cause__
        raise original if original is not None and original.args == error.args else error from None
    programs = zip(job.ranks, job.peers, strict=True)
    blocked = [Blocked(rank.number, rank.clock, peer.waits_for()) for rank, peer in programs if not rank.finished]
    if blocked:
        raise DeadlockError(blocked)


def _with_room(machine: Machine, placed: Placement) -> Placement:
    """Return the placement of ranks, extended by places for ranks that may be spawned."""
    taken = Counter(placed.nodes)
    room = [min(node.processors, _MOST) for node in machine.nodes]
    free = islice(chain.from_iterable(repeat(i, places - taken[i]) for i, places in enumerate(room)), _MOST)
    turns = islice(cycle(chain.from_iterable(repeat(i, places) for i, places in enumerate(room))), _SPARE)
    return Placement((*placed.nodes, *free, *turns))


def _result(job: Job, processor: str) -> Result:
    ranks, running = job.ranks, job.machine
    placed = Placement(running.placement.nodes[: len(ranks)])
    program = Description(
        name=job.name,
        worlds=tuple(rank.world for rank in ranks),
        regions=running.costs.regions,
        host_speeds=running.costs.host_speeds,
        processor=processor,
        largest=job.mailboxes.largest,
        combined=job.combined,
        unmodelled=tuple(Unmodelled(call, count, 0.0) for call, count in job.unmodelled.items()),
    )
    replay = outcome("live", ranks, (0, 0), len(job.mailboxes.left_over()), running.observation)
    warnings = [*warnings_of(replay, program, running.machine, placed), *_overruled(running.machine)]
    if late := job.mailboxes.late:
        text = (
            "{count:message was|messages were} late: the receive was not known until other messages had arrived; a "
            "replay of this run may differ"
        )
        warnings.append(counted(job.name, text, late))
    if job.overlong:
        text = (
            "{count:polling loop|polling loops} went on after more than 100 unsuccessful polls, and may have taken too "
            "long; to be exact, poll less often in a row, or compute in a region between polls"
        )
        warnings.append(counted(job.name, text, job.overlong))
    if job.overlong_timed:
        text = (
            "{count:polling loop|polling loops} that read the time went on after more than 100 unsuccessful polls, "
            "each up to 1/64 of its time too late if it ends at a time, and far too late if it counts its polls; to be "
            "exact, poll less often in a row, or compute in a region between polls"
        )
        warnings.append(counted(job.name, text, job.overlong_timed))
    ops = sum(job.record.rows(rank.rank) for rank in ranks)
    return result_of(replay, program, placed, tuple(warnings), ops=ops)


def _overruled(machine: Machine) -> Iterator[Caveat]:
    """Warn about stated algorithms that depend on sizes that no rank, or only the root, knows in a live run."""
    for name in sorted(SIZES_AT_ROOT):
        choice = machine.network.collectives.get(name)
        if choice is not None and not choice.algorithms <= {linear_of(choice)}:
            others = ", ".join(sorted(choice.algorithms - {"linear"}))
            text = "{collective} is linear in live runs, not {others}"
            yield Caveat(About.MACHINE, machine.name, text, {"collective": name, "others": others})
    choice = machine.network.collectives.get("alltoallv")
    if choice is not None and len(choice.algorithms) > 1:
        text = "in live runs the blocks of the rank that calls first decide the algorithm of alltoallv"
        yield Caveat(About.MACHINE, machine.name, text)
