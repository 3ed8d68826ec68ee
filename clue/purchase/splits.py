"""How a workload may be split on a machine: instances side by side, ranks per instance, where they are placed.

A workload may place ranks in several ways (:class:`clue.purchase.scenario.Layout`), of which the best counts on each
option. Where the placement is searched, all of these are tried: block and cyclic, with at most 1, 2, 4, … ranks on a
node up to its processors, and on a machine of several kinds of nodes from the first node on and from the last one. Of
those that put every rank on the same node only the first is kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from clue.errors import UsageError
from clue.machine import Machine, Placement, memory_fault
from clue.purchase.scenario import Layout, Workload
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
        layout: How ranks are placed.
    """

    side_by_side: int
    ranks: int
    turns: int
    placement: Placement
    idle: int
    layout: Layout = field(default_factory=Layout)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a number of ranks per instance cannot be had, in words."""

    ranks: int
    reason: str


def allowed_splits(workload: Workload, machine: Machine, memory: Sequence[Sequence[float]]) -> Iterator[Split | Misfit]:
    """Yield, for each allowed number of ranks and way to place them, the split with the most instances that fits.

    More instances side by side never wait longer for their turn, so fewer are considered only where processors or
    memory demand it. Every way of placing gives the first ranks the same nodes however many there are.

    Args:
        workload: What is to run.
        machine: Where.
        memory: For each entry of ``workload.ranks``, bytes needed by each rank of an instance.
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
    """Return the ways to place a workload's ranks on a machine, the first one first."""
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
        return Misfit(
            ranks, f"{format_number(ranks)} ranks need as many processors, the machine has {machine.processors}{each}"
        )
    places = _place(workload, machine, most * ranks, layout).nodes

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
        idle=max(0, machine.processors - -(-fits * ranks // layout.ranks_per_processor)),
        layout=layout,
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
    return replace(
        split,
        side_by_side=split.side_by_side * copies,
        placement=Placement(tuple(node + i * width for i in range(copies) for node in nodes)),
        idle=0,
    )


def _place(workload: Workload, machine: Machine, ranks: int, layout: Layout) -> Placement:
    if layout.order not in {"block", "cyclic"}:
        raise UsageError(f"{workload.name}: placement must be block or cyclic in a comparison, got {layout.order}")
    seats = [layout.seats(node.processors) for node in machine.nodes]
    order = range(len(seats))
    return Placement.seated(order[::-1] if layout.backwards else order, seats, ranks, in_turn=layout.order == "cyclic")
