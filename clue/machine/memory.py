"""Checks whether ranks fit in the memory of their nodes: the same rule for simulations and for comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from clue.machine.machine import Machine
from clue.units import format_size


def memory_fault(machine: Machine, nodes: Sequence[int], needs: Sequence[float]) -> str:
    """Return a message about a node with too little memory for its ranks, or an empty string.

    A node whose memory is not stated counts as having enough.

    Args:
        machine: The machine that the ranks run on.
        nodes: Node of each rank.
        needs: Bytes that each rank needs.
    """
    needed = [0.0] * len(machine.nodes)
    for node, size in zip(nodes, needs, strict=True):
        needed[node] += size
    for node, size in enumerate(needed):
        memory = machine.nodes[node].memory
        if memory is not None and size > memory:
            count = nodes.count(node)
            return (
                f"{count} {'rank needs' if count == 1 else 'ranks need'} {format_size(size)} of memory on a node, "
                f"a {machine.nodes[node].name} has {format_size(memory)}"
            )
    return ""
