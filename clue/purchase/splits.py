"""Splits of a workload on a machine: simultaneous instances, ranks per instance, placement.

A workload may have several placements (:class:`clue.purchase.scenario.Layout`), of which each option uses the best. If
the placement is searched, these are tried: block and cyclic, with at most 1, 2, 4, … ranks per node up to its
processors, and on a machine with several kinds of nodes from the first node and from the last one. Of placements that
put every rank on the same node only the first is kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from clue.errors import UsageError
from clue.machine import Machine, Placement, memory_fault
from clue.purchase.scenario import Layout, Workload
from clue.units import count_of, format_number


@dataclass(frozen=True, slots=True)
class Split:
    """One way to run a workload.

    Attributes:
        side_by_side: Simultaneous instances (high-level parallelism).
        ranks: Ranks per instance (low-level parallelism).
        turns: Number of successive batches of instances.
        placement: Node of each rank of one batch.
        idle: Number of idle processors during a batch.
        layout: The placement as stated.
    """

    side_by_side: int
    ranks: int
    turns: int
    placement: Placement
    idle: int
    layout: Layout = field(default_factory=Layout)


@dataclass(frozen=True, slots=True)
class Misfit:
    """The reason why a number of ranks per instance does not fit, in words."""

    ranks: int
    reason: str


def allowed_splits(workload: Workload, machine: Machine, memory: Sequence[Sequence[float]]) -> Iterator[Split | Misfit]:
    """Yield, for each allowed number of ranks and placement, the split with the largest number of instances that fits.

    More simultaneous instances never need more batches, so fewer are considered only if processors or memory require
    it. In every placement the nodes of the first ranks do not depend on the number of ranks.

    Args:
        workload: The workload.
        machine: The machine.
        memory: Memory needed by each rank of an instance, bytes, for each entry of ``workload.ranks``.
    """
    layouts = layouts_on(workload, machine)
    for ranks, needs in zip(workload.ranks, memory, strict=True):
        known: set[tuple[int, tuple[int, ...]]] = set()
        for layout in layouts:
            found = _split(workload, machine, ranks, needs, layout)
            if isinstance(found, Split):
                place = found.side_by_side, found.placement.nodes
                if place in known:
                    continue
                known.add(place)
            yield found


def layouts_on(workload: Workload, machine: Machine) -> list[Layout]:
    """Return the placements of a workload's ranks on a machine, in order of preference."""
    stated = list(workload.stated_layouts)
    if not workload.layouts_searched:
        return stated
    most = max(node.processors for node in machine.nodes) * workload.ranks_per_processor
    per_node = [None, *(2**i for i in range(most.bit_length()) if 2**i < most)]
    directions = (False, True) if len({node.name for node in machine.nodes}) > 1 else (False,)
    tried = (
        Layout(order, workload.ranks_per_processor, each, backwards)
        for backwards, each, order in product(directions, per_node, ("block", "cyclic"))
    )
    return list(dict.fromkeys([*stated, *tried]))


def _split(workload: Workload, machine: Machine, ranks: int, needs: Sequence[float], layout: Layout) -> Split | Misfit:
    slots = sum(layout.seats(node.processors) for node in machine.nodes)
    most = slots // ranks
    if workload.instances is not None:
        most = min(most, workload.instances)
    if most == 0:
        each = f", with at most {layout.ranks_per_node} on a node" if layout.ranks_per_node is not None else ""
        return Misfit(ranks, f"{_needed(ranks, layout)}, the machine has {machine.processors}{each}")
    places = _place(workload, machine, most * ranks, layout).nodes

    def fault(side_by_side: int) -> str:
        return memory_fault(machine, places[: side_by_side * ranks], [*needs] * side_by_side)

    fits = most
    if fault(most):
        # Each further instance adds to the need, so that bisection finds how many fit.
        fits = bisect_left(range(1, most), True, key=lambda n: bool(fault(n)))
    if fits == 0:
        return Misfit(ranks, fault(1))
    # Ranks share a processor only where a node has fewer processors than ranks.
    ranks_on = Counter(places[: fits * ranks])
    busy = sum(min(number, machine.nodes[node].processors) for node, number in ranks_on.items())
    return Split(
        side_by_side=fits,
        ranks=ranks,
        turns=1 if workload.instances is None else -(-workload.instances // fits),
        placement=Placement(places[: fits * ranks]),
        idle=machine.processors - busy,
        layout=layout,
    )


def _needed(ranks: int, layout: Layout) -> str:
    """State how many processors some ranks need."""
    if layout.ranks_per_processor == 1:
        return f"{format_number(ranks)} ranks need as many processors"
    needed = count_of(-(-ranks // layout.ranks_per_processor), "processor")
    return f"{format_number(ranks)} ranks, {layout.ranks_per_processor} a processor, need {needed}"


def beside_copies(split: Split, machine: Machine) -> Split:
    """Return a split with copies of itself on all nodes that it leaves free.

    Each copy takes the next nodes of the same types, in the same order: nodes are not shared. Placements begin with the
    first node or with the last one, and leave none out.
    """
    nodes = split.placement.nodes
    first, width = min(nodes), len(set(nodes))
    types = [node.name for node in machine.nodes]
    offsets = [0]
    for step in (width, -width):
        at = first + step
        while at >= 0 and types[at : at + width] == types[first : first + width]:
            offsets.append(at - first)
            at += step
    return replace(
        split,
        side_by_side=split.side_by_side * len(offsets),
        placement=Placement(tuple(node + offset for offset in offsets for node in nodes)),
        idle=0,
    )


def _place(workload: Workload, machine: Machine, ranks: int, layout: Layout) -> Placement:
    if layout.order not in {"block", "cyclic"}:
        raise UsageError(f"{workload.name}: placement must be block or cyclic in a comparison, got {layout.order}")
    seats = [layout.seats(node.processors) for node in machine.nodes]
    order = range(len(seats))
    return Placement.seated(order[::-1] if layout.backwards else order, seats, ranks, in_turn=layout.order == "cyclic")
