"""Nodes on which ranks disturb each other: the time of a burst there is not just its recorded time times a factor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from clue.kernel.model.turns import share_in_turns, shares_in_turns
from clue.machine import Machine, NodeType, Placement


def crowded_nodes(machine: Machine, placement: Placement) -> list[int]:
    """Return the nodes in use on which ranks may not have a processor of their own, at its full speed, all the time."""
    return [*disturbed_nodes(machine, placement), *shares_in_turns(machine, placement)]


def disturbed_nodes(machine: Machine, placement: Placement, joined: Collection[int] = ()) -> list[int]:
    """Return the nodes in use on which bursts depend on what else happens there, or on when they happen.

    Args:
        machine: The machine.
        placement: Node of each rank.
        joined: Nodes on which ranks begin later than others; no rank takes turns there.
    """
    ranks_on = Counter(placement.nodes)
    if machine.changes:
        return [node for node, ranks in ranks_on.items() if _disturbed(machine, node, ranks, turns=False)]
    # Nodes of one type with the same number of ranks are alike.
    known: dict[tuple[int, int, bool], bool] = {}
    disturbed = []
    for node, ranks in ranks_on.items():
        turns = node not in joined
        alike = (id(machine.nodes[node]), ranks, turns)
        if alike not in known:
            known[alike] = _disturbed(machine, node, ranks, turns=turns)
        if known[alike]:
            disturbed.append(node)
    return disturbed


def _disturbed(machine: Machine, node: int, ranks: int, *, turns: bool) -> bool:
    """Tell whether bursts on a node depend on what else happens there, or on when they happen."""

    def compute_parameters(node_type: NodeType) -> tuple[object, ...]:
        return (
            node_type.performance_factor,
            dict(node_type.performance_factors),
            dict(node_type.speeds),
            node_type.memory_contention,
            node_type.background_load,
        )

    first = machine.nodes[node]
    if turns and share_in_turns(first, ranks) < 1.0:
        return False
    later = [changed.nodes[node] for _, changed in machine.changes]
    return (
        ranks > first.processors
        or first.background_load > 0
        or bool(first.memory_contention)
        or any(compute_parameters(each) != compute_parameters(first) for each in later)
    )
