"""What a simulation cannot beat: a lower bound of the makespan that costs next to nothing."""

from __future__ import annotations

from clue.kernel.model.costs import Costs
from clue.kernel.model.program import Program
from clue.machine import Machine, Placement

#: Sums are added in another order than in the simulation; the bound stays below by more than rounding can do.
_ROUNDING = 1e-9


def computation_bound(program: Program, machine: Machine, placement: Placement) -> float:
    """Return the time of the rank that computes longest, alone on its processor, in seconds.

    Messages, shared processors, memory contention and background load only add to it. A machine whose parameters change
    over time is not bounded: 0.

    Args:
        program: What runs.
        machine: Where.
        placement: Node of each rank of all instances, instance by instance.
    """
    if machine.changes:
        return 0.0
    costs = Costs(machine, placement, program.regions, program.host_speeds)
    factors = {node_type.name: costs.factors(node_type) for node_type in machine.node_types().values()}
    longest = max(
        sum(
            cpu * factor
            for cpu, factor in zip(
                program.cpu_by_region[i % program.ranks], factors[machine.nodes[node].name], strict=True
            )
        )
        for i, node in enumerate(placement.nodes)
    )
    return longest * (1 - _ROUNDING)
