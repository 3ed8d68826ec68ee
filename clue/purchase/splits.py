"""How a workload may be split on a machine: instances side by side, ranks per instance, memory permitting."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clue.errors import UsageError
from clue.machine import Machine, Placement, memory_fault
from clue.purchase.scenario import Workload
from clue.units import format_number


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
    memory demand it. Both orders of placement give the first ranks the same nodes however many there are.

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
            yield Misfit(
                ranks, f"{format_number(ranks)} ranks need as many processors, the machine has {machine.processors}"
            )
            continue
        yield _largest_fit(workload, machine, ranks, most, needs)


def _largest_fit(workload: Workload, machine: Machine, ranks: int, most: int, needs: Sequence[float]) -> Split | Misfit:
    places = _place(workload, machine, most * ranks).nodes

    def fault(side_by_side: int) -> str:
        return memory_fault(machine, places[: side_by_side * ranks], [*needs] * side_by_side)

    fits = most
    if fault(most):
        # What another instance needs comes on top, so that bisection finds how many fit.
        fits = bisect_left(range(1, most), True, key=lambda n: bool(fault(n)))
    if fits == 0:
        return Misfit(ranks, fault(1))
    return Split(
        side_by_side=fits,
        ranks=ranks,
        turns=1 if workload.instances is None else -(-workload.instances // fits),
        placement=Placement(places[: fits * ranks]),
        idle=max(0, machine.processors - -(-fits * ranks // workload.ranks_per_processor)),
    )


def beside_copies(split: Split, machine: Machine) -> Split:
    """Return a split with copies of it side by side on all nodes that it leaves.

    Each copy takes the next nodes of the same types, in the same order: nodes are not shared.
    """
    nodes = split.placement.nodes
    width = len(set(nodes))
    if set(nodes) != set(range(width)):
        return split
    types = [node.name for node in machine.nodes]
    copies = 1
    while types[copies * width : (copies + 1) * width] == types[:width]:
        copies += 1
    return Split(
        side_by_side=split.side_by_side * copies,
        ranks=split.ranks,
        turns=split.turns,
        placement=Placement(tuple(node + i * width for i in range(copies) for node in nodes)),
        idle=0,
    )


def _place(workload: Workload, machine: Machine, ranks: int) -> Placement:
    if workload.order not in {"block", "cyclic"}:
        raise UsageError(f"{workload.name}: placement must be block or cyclic in a comparison, got {workload.order}")
    place = Placement.block if workload.order == "block" else Placement.cyclic
    return place(machine, ranks, workload.ranks_per_processor)
