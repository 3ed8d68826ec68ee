"""The neighbours of a job: other jobs of a mix at a typical moment, when no node is idle on which a job fits.

Each kind of job (a class on a number of ranks) has a share of the nodes' time, proportional to jobs · nodes · run time
alone. The nodes that the job leaves free are filled job by job. The next job is of the kind that is furthest below its
share of all nodes, among the kinds that still fit; ties go to the first kind. A job gets the first free nodes of the
types that it uses alone, in the same order. Nodes are not shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clue.machine import Machine


@dataclass(frozen=True, slots=True)
class Kind:
    """A group of similar jobs.

    Attributes:
        held: The node-time that they use, in any unit.
        nodes: Node of each rank of all instances of a job, as placed alone; empty: any single node.
    """

    held: float
    nodes: tuple[int, ...]


def neighbours_of(own: int, kinds: Sequence[Kind], machine: Machine) -> list[tuple[int, tuple[int, ...]]]:
    """Return the neighbours of a job: the kind of each neighbour, and the node of each of its ranks.

    Args:
        own: Index of the job's kind; the job keeps its placement alone.
        kinds: All kinds.
        machine: The machine on which they run.
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
