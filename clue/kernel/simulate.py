"""The front of the kernel: places ranks, lets an engine replay, and says what the model left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from clue.errors import ReplayError, UsageError
from clue.kernel.engines import ENGINES, run
from clue.kernel.observation import Observation
from clue.kernel.program import Program, compile_program
from clue.kernel.replay import Replay
from clue.kernel.turns import joined_nodes, without_turns
from clue.machine import FactorTable, Machine, Placement
from clue.result import SEGMENT, RankResult, Result, Timeline, Traffic
from clue.trace import Trace


def simulate(
    trace: Trace | Program,
    machine: Machine,
    placement: Placement | str | Sequence[int] = "block",
    engine: str = "auto",
    *,
    instances: int = 1,
    timeline: bool = False,
    traffic: bool = False,
) -> Result:
    """Replay a trace on a machine.

    Args:
        trace: What the program did; a compiled program saves decoding it again.
        machine: Where it is to run.
        placement: ``"block"``, ``"cyclic"``, or a node index for each rank of all instances, instance by instance.
        engine: ``"reference"``, ``"fast"``, or ``"auto"``: the fast one where that saves time. Both give the same
            figures to the last bit; what the fast one does not cover the reference does, and says so.
        instances: Copies of the program to run side by side.
        timeline: Whether to keep what every rank did when.
        traffic: Whether to keep who sent how much to whom.

    Raises:
        UsageError: If the placement or engine makes no sense.
        ReplayError: If the trace contradicts itself.
        DeadlockError: If the program deadlocks in virtual time.
    """
    if engine not in ENGINES:
        raise UsageError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if instances < 1:
        raise UsageError(f"instances must be at least 1, got {instances}")
    program = trace if isinstance(trace, Program) else compile_program(trace)
    ranks = program.ranks * instances
    placed = place(machine, placement, ranks)
    seen = Observation(
        segments=[] if timeline else None,
        messages=np.zeros((ranks, ranks), np.int64) if traffic else None,
        nbytes=np.zeros((ranks, ranks), np.int64) if traffic else None,
    )
    replay, notes = run(engine, program, machine, placed, instances, seen)
    warnings = (*notes, *warnings_of(replay, program, machine, placed))
    return result_of(replay, program, placed, warnings, instances)


def place(machine: Machine, placement: Placement | str | Sequence[int], ranks: int) -> Placement:
    """Return where ranks run.

    Raises:
        UsageError: If the placement makes no sense.
    """
    if isinstance(placement, Placement):
        return Placement.listed(machine, placement.nodes, ranks)
    if placement == "block":
        return Placement.block(machine, ranks)
    if placement == "cyclic":
        return Placement.cyclic(machine, ranks)
    if isinstance(placement, str):
        raise UsageError(f"placement must be block, cyclic or a list of nodes, got {placement!r}")
    return Placement.listed(machine, tuple(placement), ranks)


def result_of(replay: Replay, program: Program, placed: Placement, warnings: tuple[str, ...], instances: int) -> Result:
    """Return what a simulation yields."""
    if not np.isfinite(replay.finish).all():
        raise ReplayError(f"{program.name}: times must be finite, got others: figures of the machine are too large")
    # What is left of the finish time is waiting; rounding may leave it a hair below zero.
    wait = np.maximum(0.0, replay.finish - replay.compute - replay.communicate)
    columns = (replay.finish, replay.compute, replay.communicate, wait)
    figures = zip(placed.nodes, *(column.tolist() for column in columns), strict=True)
    seen = replay.seen
    return Result(
        makespan=float(replay.finish.max(initial=0.0)),
        engine=replay.engine,
        ranks=tuple(RankResult(rank, *each) for rank, each in enumerate(figures)),
        warnings=warnings,
        unmodelled=program.unmodelled,
        compute_by_region=dict(zip(program.regions, replay.by_region.tolist(), strict=True)),
        instances=instances,
        ops=program.ops * instances,
        timeline=_timeline(seen, program),
        traffic=None if seen.messages is None or seen.nbytes is None else Traffic(seen.messages, seen.nbytes),
    )


def _timeline(seen: Observation, program: Program) -> Timeline | None:
    if seen.segments is None:
        return None
    segments = np.array(seen.segments, dtype=SEGMENT)
    return Timeline(segments[np.lexsort((segments["begin"], segments["rank"]))], program.regions)


def warnings_of(replay: Replay, program: Program, machine: Machine, placed: Placement) -> Iterator[str]:
    """Say what a reader must know beside the figures."""
    yield from (f"{machine.name}: {note}" for note in machine.notes)
    yield from (f"{program.name}: {note}" for note in program.notes)
    for each in program.unmodelled:
        yield f"{program.name}: {each.call} is not modelled: left out are {each.extent}"
    if program.unresolved:
        yield (
            f"{program.name}: {program.unresolved} receives or probes do not say what they matched "
            "(the MPI library did not tell); they are left out"
        )
    if program.failed_polls:
        yield (
            f"{program.name}: {program.failed_polls} Test or probe calls found nothing when recorded; "
            "they are replayed as often, with the computation between them"
        )
    yield from _speed_warnings(machine, program)
    otherwise, wild = replay.wildcards
    if otherwise:
        yield (
            f"{program.name}: {otherwise} of {wild} wildcard receives would have matched another message here; "
            "they are replayed as recorded"
        )
    yield from _contention_warnings(replay, machine, placed)
    for name in without_turns(machine, placed, joined_nodes(placed, program.worlds)):
        yield (
            f"{machine.name}: time_slice of {name} is not used where ranks outnumber processors, poll, are spawned, "
            "have memory contention or parameters that change: there all share evenly at every instant"
        )
    if replay.left_over:
        yield f"{program.name}: {replay.left_over} messages were sent and never received"


def _speed_warnings(machine: Machine, program: Program) -> Iterator[str]:
    wanted = {region for node in machine.nodes for region in node.speeds}
    used = wanted & set(program.regions)
    missing = sorted(used - program.host_speeds.keys())
    if missing:
        yield (
            f"{machine.name}: speed of region {', '.join(missing)} needs a program that declares its operations "
            "there; the performance factor is used instead"
        )
    reference = machine.reference_processor
    scaled = set(program.regions) - (used & program.host_speeds.keys())
    if reference and program.processor and reference != program.processor and scaled:
        yield (
            f"{machine.name}: performance factors are relative to {reference}, "
            f"but {program.name} was recorded on {program.processor}"
        )


def _contention_warnings(replay: Replay, machine: Machine, placed: Placement) -> Iterator[str]:
    stated = [state.network.contention for state in machine.epochs]
    tables = [each.measured_up_to for each in stated if isinstance(each, FactorTable)]
    if not any(stated) and len(set(placed.nodes)) > 2:
        yield f"{machine.name}: no contention is stated, so simultaneous messages do not slow each other"
    most = replay.seen.most_simultaneous
    if tables and most > min(tables):
        yield (
            f"{machine.name}: contention is stated up to {min(tables)} simultaneous communications, "
            f"but there were {most}; the last factor is used for more"
        )
