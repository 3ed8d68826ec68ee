"""Which jobs of a mix stand beside a job: one typical moment at which no node is idle.

A kind of jobs (a class on a number of ranks) holds a share of the nodes' time: of all kinds, in proportion to jobs ·
nodes · run time alone. Beside the job whose time is wanted, nodes are filled job by job: the next one is of the kind
that lacks the most to its share of all nodes, among those that still fit; of equal ones the first. A job gets the first
free nodes of the same types, in the same order, as those that it has alone: nodes are not shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clue.machine import Machine


@dataclass(frozen=True, slots=True)
class Kind:
    """Jobs that are alike.

    Attributes:
        held: The node-time that they hold, in any unit.
        nodes: Node of each rank of all instances of a job, as it is placed alone; empty: any node will do.
    """

    held: float
    nodes: tuple[int, ...]


def neighbours_of(own: int, kinds: Sequence[Kind], machine: Machine) -> list[tuple[int, tuple[int, ...]]]:
    """Return the jobs that stand beside a job of one kind: of which kind each is, and the node of each of its ranks.

    Args:
        own: The kind of the job, which stands where it stands alone.
        kinds: All kinds.
        machine: Where they run.
    """
    total, size = sum(kind.held for kind in kinds), len(machine.nodes)
    lacks = [size * kind.held / total for kind in kinds]
    free = [True] * size
    for node in kinds[own].nodes:
        free[node] = False
    lacks[own] -= len(set(kinds[own].nodes))
    found: list[tuple[int, tuple[int, ...]]] = []
    left = {i for i, kind in enumerate(kinds) if kind.held > 0}
    while left:
        kind = min(left, key=lambda i: (-lacks[i], i))
        taken = _free_nodes(kinds[kind].nodes, free, machine)
        if taken is None:
            left.remove(kind)
            continue
        for node in set(taken):
            free[node] = False
        lacks[kind] -= len(set(taken))
        found.append((kind, taken))
    return found


def _free_nodes(nodes: Sequence[int], free: Sequence[bool], machine: Machine) -> tuple[int, ...] | None:
    """Return free nodes of the same types; ``None`` if there are too few."""
    if not nodes:
        return (free.index(True),) if any(free) else None
    taken: dict[int, int] = {}
    for node in dict.fromkeys(nodes):
        name, used = machine.nodes[node].name, set(taken.values())
        alike = (i for i, each in enumerate(machine.nodes) if free[i] and each.name == name and i not in used)
        found = next(alike, None)
        if found is None:
            return None
        taken[node] = found
    return tuple(taken[node] for node in nodes)
