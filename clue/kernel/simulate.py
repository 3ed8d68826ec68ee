"""The front of the kernel: places ranks, lets an engine replay, and says what the model left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from numbers import Integral

import numpy as np

from clue.caveats import About, Caveat, counted, note, note_of_recording
from clue.errors import ReplayError, UsageError
from clue.kernel.engines import ENGINES, WHEN_COMPILED, run
from clue.kernel.model.loops import LoopedProgram
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Description, Program, compile_program
from clue.kernel.model.replay import Replay
from clue.kernel.model.turns import joined_nodes, without_turns
from clue.machine import FactorTable, Machine, NoContention, NodeType, Placement, SpeedCurve, memory_fault
from clue.result import SEGMENT, RankResult, Result, Timeline, Traffic
from clue.trace import Trace
from clue.trace.store import check_trace
from clue.units import count_of, format_size

#: Least number of ranks on a node for two pairs to copy at once; least size, bytes, at which messages overflow caches.
_TWO_PAIRS, _LARGE = 4, 1 << 16
#: Similarity from which a name counts as a misspelling of another.
_ALIKE = 0.75
#: Placements by name.
_ORDERS = {"block": Placement.block, "cyclic": Placement.cyclic}
#: Share of a rank's time below which waiting is a rounding error of the sums that it is left over from.
_ROUNDING = 1e-12
_ONE_SIDED = "; a live run gives such calls the time of messages (clue run)"


def simulate(
    trace: Trace | Program,
    machine: Machine,
    placement: Placement | str | Sequence[int] = "block",
    engine: str = "auto",
    *,
    instances: int = 1,
    timeline: bool = False,
    traffic: bool = False,
    calls: bool = False,
) -> Result:
    """Replay a trace on a machine.

    Args:
        trace: What the program did; a compiled program saves decoding it again.
        machine: Where it is to run.
        placement: ``"block"``, ``"cyclic"``, or a node index for each rank of all instances, instance by instance.
        engine: ``"reference"``, ``"fast"``, or ``"auto"``: the fast one where that saves time. Both give the same
            figures to the last bit. Where the fast one does not cover a case, the reference computes it, with a caveat.
            A decision of :func:`clue.kernel.engine_for` for many replays is passed on here, too.
        instances: Copies of the program to run side by side.
        timeline: Whether to keep a timeline of every rank.
        traffic: Whether to keep the communication matrix: messages and bytes by sender and receiver.
        calls: Whether to keep the time of each call, and the times of its messages.

    Raises:
        UsageError: If there is no trace or machine, or the placement, the engine or the number of instances is invalid.
        ReplayError: If the trace contradicts itself.
        DeadlockError: If the program deadlocks in virtual time.
    """
    if not isinstance(trace, Program):
        check_trace(trace)
    if engine not in (*ENGINES, WHEN_COMPILED):
        raise UsageError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if not isinstance(instances, Integral):
        raise UsageError(f"instances must be a whole number, got {instances!r}")
    if instances < 1:
        raise UsageError(f"instances must be at least 1, got {instances}")
    program = trace if isinstance(trace, Program) else compile_program(trace)
    ranks = program.ranks * instances
    placed = place(machine, placement, ranks)
    seen = Observation(
        segments=[] if timeline else None,
        messages=np.zeros((ranks, ranks), np.int64) if traffic else None,
        nbytes=np.zeros((ranks, ranks), np.int64) if traffic else None,
        keeps_calls=calls,
    )
    replay, notes = run(engine, program, machine, placed, instances, seen)
    warnings = (*notes, *warnings_of(replay, program, machine, placed))
    return result_of(replay, program, placed, warnings, instances=instances, ops=program.ops * instances)


def simulate_loops(
    looped: LoopedProgram,
    machine: Machine,
    placement: Placement | str | Sequence[int] = "block",
    *,
    instances: int = 1,
    tell: Callable[[int], None] = lambda _done: None,
) -> Result:
    """Replay a program in loops on a machine: the result is that of its ops written out, to the last bit.

    Args:
        looped: What the program does.
        machine: Where it is to run.
        placement: As for :func:`simulate`.
        instances: Copies of the program to run side by side.
        tell: Called now and then with the number of ops that have begun.

    Raises:
        UsageError: If the placement is invalid, there is no compiled engine, or it cannot replay this program's loops.
        DeadlockError: If the program deadlocks in virtual time.
    """
    from clue.kernel import fast  # noqa: PLC0415 - small work does without it

    program, seen = looped.program, Observation()
    placed = place(machine, placement, program.ranks * instances)
    try:
        replay = fast.replay_loops(looped, machine, placed, instances, seen, tell)
    except (fast.NoLibraryError, fast.NotCoveredError) as error:
        raise UsageError(f"{program.name}: ops that are not written out must be replayed as loops: {error}") from None
    warnings = tuple(warnings_of(replay, program, machine, placed))
    return result_of(replay, program, placed, warnings, instances=instances, ops=looped.ops * instances)


def place(machine: Machine, placement: Placement | str | Sequence[int], ranks: int) -> Placement:
    """Return where ranks run.

    Raises:
        UsageError: If the placement is invalid, or there is no machine.
    """
    if isinstance(placement, Placement):
        return Placement.listed(machine, placement.nodes, ranks)
    if isinstance(placement, str) and placement in _ORDERS:
        return _ORDERS[placement](machine, ranks)
    return Placement.listed(machine, placement, ranks)


def result_of(
    replay: Replay, program: Description, placed: Placement, warnings: tuple[str, ...], *, ops: int, instances: int = 1
) -> Result:
    """Return the result of a simulation."""
    if not np.isfinite(replay.finish).all():
        raise ReplayError(f"{program.name}: times must be finite, got others: figures of the machine are too large")
    # The rest of the finish time is waiting.
    wait = replay.finish - replay.compute - replay.communicate
    wait[wait < _ROUNDING * replay.finish] = 0.0
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
        ops=ops,
        timeline=_timeline(seen, program),
        traffic=None if seen.messages is None or seen.nbytes is None else Traffic(seen.messages, seen.nbytes),
        calls=seen.calls,
    )


def _timeline(seen: Observation, program: Description) -> Timeline | None:
    if seen.segments is None:
        return None
    segments = np.array(seen.segments, dtype=SEGMENT)
    return Timeline(segments[np.lexsort((segments["begin"], segments["rank"]))], program.regions, program.sites)


def warnings_of(replay: Replay, program: Description, machine: Machine, placed: Placement) -> Iterator[Caveat]:
    """Yield the warnings that a reader must see beside the figures."""
    yield from _memory_caveats(program, machine, placed)
    yield from (note(About.MACHINE, machine.name, each) for each in machine.notes)
    yield from (note_of_recording(program.name, each) for each in program.notes)
    yield from _left_out(program, replay.engine == "live")
    yield from _speed_caveats(machine, program)
    yield from _wildcard_caveats(replay, program)
    yield from _contention_caveats(replay, machine, placed)
    yield from _neighbour_caveats(program, machine, placed)
    yield from _reduction_caveats(program, machine, placed)
    for name in without_turns(machine, placed, joined_nodes(placed, program.worlds)):
        yield Caveat(
            About.MACHINE,
            machine.name,
            "time_slice of {type} is not used where ranks outnumber processors, poll, are spawned, have memory "
            "contention or parameters that change: there all share evenly at every instant",
            {"type": name},
        )
    if replay.left_over:
        yield counted(
            program.name,
            "{count:message was|messages were} sent and never received",
            replay.left_over,
        )


def _memory_caveats(program: Description, machine: Machine, placed: Placement) -> Iterator[Caveat]:
    if not program.memory:
        return
    needs = program.memory * (len(placed.nodes) // len(program.memory))
    if fault := memory_fault(machine, placed.nodes, needs):
        yield Caveat(
            About.MACHINE,
            machine.name,
            "memory does not suffice: {fault}. The program would not run there; the figures are those of nodes with "
            "enough memory. Place fewer ranks on a node, or take larger nodes",
            {"fault": fault},
        )


def _left_out(program: Description, live: bool) -> Iterator[Caveat]:
    for each in program.unmodelled:
        yield Caveat(
            About.PROGRAM,
            program.name,
            "{call} is not modelled: the {what} {extent}{instead}",
            {
                "call": each.call,
                "what": "run does not time" if live else "simulation leaves out",
                "instead": _ONE_SIDED if each.call.partition(".")[0] == "Win" and not live else "",
            },
            {"extent": each.extent},
            each.seconds or each.count,
        )
    if program.unresolved:
        yield counted(
            program.name,
            "{count:receive or probe is|receives or probes are} left out, because the MPI library did not tell what "
            "was matched: run the program live instead (clue run)",
            program.unresolved,
        )
    if program.failed_polls:
        yield counted(
            program.name,
            "{count:Test, probe or Win.Sync call|Test, probe or Win.Sync calls} found nothing when recorded; a replay "
            "polls as often, with the computation between polls: a live run shows how often the program would poll "
            "here (clue run)",
            program.failed_polls,
        )


def _wildcard_caveats(replay: Replay, program: Description) -> Iterator[Caveat]:
    otherwise, wild = replay.wildcards
    if otherwise:
        yield Caveat(
            About.PROGRAM,
            program.name,
            "{otherwise} of {wild} wildcard receives would have matched another message here; they are replayed as "
            "recorded. If the program takes whatever message arrives first, run it live instead (clue run)",
            figures={"otherwise": otherwise, "wild": wild},
            size=otherwise,
        )


def _node_types(machine: Machine) -> list[NodeType]:
    """Return the node types of a machine as they are at the start and after each change."""
    return [each for state in machine.epochs for each in state.node_types().values()]


def _misspelt_regions(machine: Machine, types: Sequence[NodeType], program: Description) -> Iterator[Caveat]:
    """Report regions of the machine that the program lacks, if it has one of a similar name.

    A machine may state regions of many programs, so others are no fault.
    """
    stated = {region for each in types for region in (*each.performance_factors, *each.speeds)}
    stated |= {region for each in types for shares in each.memory_contention.values() for region in shares}
    for region in sorted(stated - set(program.regions)):
        near = _similar(region, program.regions)
        if near:
            yield Caveat(
                About.MACHINE,
                machine.name,
                "figures of region {region} are not used, as the program has no such region: did you mean {near}?",
                {"region": region, "near": near},
            )


@lru_cache(maxsize=1024)
def _similar(region: str, regions: tuple[str, ...]) -> str:
    """Return the region with the most similar name; ``""`` if none is similar. Rankings ask thousands of times."""
    known = {each.casefold(): each for each in regions if each}
    return next((known[near] for near in get_close_matches(region.casefold(), known, n=1, cutoff=_ALIKE)), "")


def _speed_caveats(machine: Machine, program: Description) -> Iterator[Caveat]:
    types = _node_types(machine)
    yield from _misspelt_regions(machine, types, program)
    used = {region for node in types for region in node.speeds} & set(program.regions)
    missing = sorted(used - program.host_speeds.keys())
    if missing:
        yield Caveat(
            About.MACHINE,
            machine.name,
            "speed of region {regions} needs a trace with operations declared there (virtual_layer.region with "
            "flops=); the performance factor is used instead",
            {"regions": ", ".join(missing)},
        )
    yield from _curve_caveats(machine, types, program)
    reference = machine.reference_processor
    scaled = {
        region
        for region in program.regions
        if region not in program.host_speeds or any(region not in each.speeds for each in types)
    }
    if reference and program.processor and reference != program.processor and scaled:
        yield Caveat(
            About.MACHINE,
            machine.name,
            "performance factors are relative to {reference}, but bursts were measured on {processor}: record or run "
            "the program on {reference}, or compare both processors (clue calibrate processor)",
            {"reference": reference, "processor": program.processor},
        )


def _curve_caveats(machine: Machine, types: Sequence[NodeType], program: Description) -> Iterator[Caveat]:
    """Warn about bursts outside the range for which a speed that depends on their operations is stated."""
    curves = {each for node in types for each in node.speeds.items()}
    for region, curve in sorted(curves, key=str):
        host = program.host_speeds.get(region)
        if host is None or not isinstance(curve, SpeedCurve):
            continue
        if not host.burst:
            yield Caveat(
                About.MACHINE,
                machine.name,
                "speed of region {region} depends on the operations of a burst, which a live run does not know; the "
                "performance factor is used instead: replay a recording (clue simulate)",
                {"region": region},
            )
        elif not curve.domain[0] <= host.burst <= curve.domain[1]:
            low, high = (f"{end:.3g}" for end in curve.domain)
            yield Caveat(
                About.MACHINE,
                machine.name,
                "bursts of region {region} have {burst} flop, where its speed is stated for {low} to {high}: the "
                "speed at the nearer end is used; state more points, or measure other sizes (clue forecast benchmark)",
                {"region": region, "low": low, "high": high},
                {"burst": f"{host.burst:.3g}"},
                size=host.burst,
                least=host.burst < curve.domain[0],
            )


def _neighbour_caveats(program: Description, machine: Machine, placed: Placement) -> Iterator[Caveat]:
    """Warn about node types with several ranks on a node if nothing states how these ranks slow each other."""
    ranks_on = Counter(placed.nodes)
    crowded = {machine.nodes[node].name for node, ranks in ranks_on.items() if ranks > 1}
    stated = {each.name for each in _node_types(machine) if each.memory_contention or each.processors == 1}
    if unstated := sorted(crowded - stated):
        yield Caveat(
            About.MACHINE,
            machine.name,
            "no memory contention is stated for {types}, so several ranks of a node compute as fast as one alone: "
            "predicted times are too short where they share caches or memory bandwidth. Measure "
            "memory_contention_factor "
            "(clue calibrate processor), or state that there is none ({{2: 1}})",
            {"types": ", ".join(unstated)},
        )
    copying = {machine.nodes[node].name for node, ranks in ranks_on.items() if ranks >= _TWO_PAIRS}
    stated = {each.name for each in machine.nodes if each.copy_bandwidth is not None}
    if program.largest >= _LARGE and (unstated := sorted(copying - stated)):
        yield Caveat(
            About.MACHINE,
            machine.name,
            "no copy_bandwidth is stated for {types}, so {messages} within a node do not slow each other down: "
            "predicted times are too short where its ranks copy large ones at the same time. Measure it (clue "
            "calibrate network, within a node)",
            {
                "types": ", ".join(unstated),
                "messages": "messages to different receivers" if machine.network.states_copies else "messages",
            },
        )


def _reduction_caveats(program: Description, machine: Machine, placed: Placement) -> Iterator[Caveat]:
    """Warn about node types that combine long vectors in no time."""
    if program.combined < _LARGE or len(placed.nodes) < 2:
        return
    used = (state.nodes[node] for state in machine.epochs for node in set(placed.nodes))
    if idle := {each.name for each in used if not each.reduction_delay}:
        yield Caveat(
            About.MACHINE,
            machine.name,
            "no reduction_delay is stated for {types}, so reductions combine data in no time: predicted times are too "
            "short where vectors are long ({size} here) and the network is fast. Measure it (clue calibrate network or "
            "processor), or state that of a present processor (0.1 ns/B)",
            {"types": ", ".join(sorted(idle))},
            {"size": format_size(program.combined)},
            program.combined,
        )


def _contention_caveats(replay: Replay, machine: Machine, placed: Placement) -> Iterator[Caveat]:
    stated = [state.network.contention for state in machine.epochs]
    tables = [each.measured_up_to for each in stated if isinstance(each, FactorTable)]
    if stated[0] == NoContention() and len(set(placed.nodes)) > 1 and len(placed.nodes) > 2:
        yield Caveat(
            About.MACHINE,
            machine.name,
            "no contention is stated, so simultaneous messages do not slow each other down: predicted times are "
            "too short where "
            "many are sent at a time",
        )
    most = replay.seen.most_simultaneous
    if tables and most > min(tables):
        yield Caveat(
            About.MACHINE,
            machine.name,
            "contention is stated up to {stated}, but there were {most}; the last factor "
            "is used for more: measure more pairs at once (clue calibrate contention --pairs)",
            {"stated": count_of(min(tables), "simultaneous communication")},
            {"most": most},
            most,
        )
