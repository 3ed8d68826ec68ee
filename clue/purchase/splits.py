"""How a workload may be split on a machine: instances side by side, ranks per instance, memory permitting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clue.errors import UsageError
from clue.machine import Machine, Placement
from clue.purchase.scenario import Workload
from clue.units import format_size


@dataclass(frozen=True, slots=True)
class Split:
    """One way to run a workload.

    Attributes:
        side_by_side: Instances at a time (high-level parallelism).
        ranks: Ranks per instance (low-level parallelism).
        turns: How many times in turn instances have to be started.
        placement: Node of each rank of one turn.
        idle: Processors left idle during a turn.
    """

    side_by_side: int
    ranks: int
    turns: int
    placement: Placement
    idle: int


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a number of ranks per instance cannot be had, in words."""

    ranks: int
    reason: str


def allowed_splits(workload: Workload, machine: Machine, memory: Sequence[Sequence[float]]) -> Iterator[Split | Misfit]:
    """Yield, for each allowed number of ranks, the split with the most instances side by side that fits.

    More instances side by side never wait longer for their turn, so fewer are considered only where processors or
    memory demand it.

    Args:
        workload: What is to run.
        machine: Where.
        memory: For each entry of ``workload.ranks``, bytes needed by each rank of an instance.
    """
    for ranks, needs in zip(workload.ranks, memory, strict=True):
        slots = machine.processors * workload.ranks_per_processor
        most = slots // ranks
        if workload.instances is not None:
            most = min(most, workload.instances)
        if most == 0:
            yield Misfit(ranks, f"{ranks} ranks need as many processors, the machine has {machine.processors}")
            continue
        yield _largest_fit(workload, machine, ranks, most, needs)


def _largest_fit(workload: Workload, machine: Machine, ranks: int, most: int, needs: Sequence[float]) -> Split | Misfit:
    reason = ""
    for side_by_side in range(most, 0, -1):
        placement = _place(workload, machine, side_by_side * ranks)
        reason = _memory_fault(machine, placement, [*needs] * side_by_side)
        if not reason:
            used = len(placement.nodes)
            return Split(
                side_by_side=side_by_side,
                ranks=ranks,
                turns=1 if workload.instances is None else -(-workload.instances // side_by_side),
                placement=placement,
                idle=max(0, machine.processors - -(-used // workload.ranks_per_processor)),
            )
    return Misfit(ranks, reason)


def _place(workload: Workload, machine: Machine, ranks: int) -> Placement:
    if workload.order not in {"block", "cyclic"}:
        raise UsageError(f"{workload.name}: placement must be block or cyclic in a comparison, got {workload.order}")
    place = Placement.block if workload.order == "block" else Placement.cyclic
    return place(machine, ranks, workload.ranks_per_processor)


def _memory_fault(machine: Machine, placement: Placement, needs: Sequence[float]) -> str:
    """Say which node has too little memory for its ranks, or nothing."""
    needed = [0.0] * len(machine.nodes)
    for node, size in zip(placement.nodes, needs, strict=True):
        needed[node] += size
    for node, size in enumerate(needed):
        memory = machine.nodes[node].memory
        if memory is not None and size > memory:
            count = placement.nodes.count(node)
            return (
                f"{count} rank{'s' * (count > 1)} on a node need {format_size(size)} of memory, "
                f"a {machine.nodes[node].name} has {format_size(memory)}"
            )
    return ""
