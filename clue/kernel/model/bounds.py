"""A lower bound of the makespan that costs next to nothing to compute."""

from __future__ import annotations

from clue.kernel.model.costs import factors_of
from clue.kernel.model.program import Program
from clue.machine import Machine, NodeType, Placement

#: Relative margin of the bound: it adds up in another order than the simulation, and must stay below it despite
#: rounding.
_ROUNDING = 1e-9


class ComputationBounds:
    """Bounds of one program on many machines; the times on each node type and placement are computed only once.

    Args:
        program: What runs.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        # The node types are kept beside their times, so that no other object can get the same id().
        self._seconds: dict[int, tuple[NodeType, list[float]]] = {}
        self._longest: dict[tuple[int, ...], float] = {}

    def of(self, machine: Machine, placement: Placement) -> float:
        """Return the time of the rank that computes longest, alone on its processor, in seconds.

        Messages, shared processors, memory contention and background load only add to it. A machine whose parameters
        change over time is not bounded: 0.

        Args:
            machine: Where.
            placement: Node of each rank of all instances, instance by instance.
        """
        if machine.changes:
            return 0.0
        nodes = machine.nodes
        kinds = tuple([id(nodes[node]) for node in placement.nodes])
        if kinds not in self._longest:
            for node in {id(nodes[node]): nodes[node] for node in placement.nodes}.values():
                self._learn(node)
            ranks = self._program.ranks
            self._longest[kinds] = max(self._seconds[kind][1][i % ranks] for i, kind in enumerate(kinds))
        return self._longest[kinds] * (1 - _ROUNDING)

    def _learn(self, node: NodeType) -> None:
        """Compute how long each rank computes on a node type."""
        if id(node) not in self._seconds:
            program = self._program
            factors = factors_of(node, program.regions, program.host_speeds)
            seconds = [
                sum(cpu * factor for cpu, factor in zip(of_rank, factors, strict=True))
                for of_rank in program.cpu_by_region
            ]
            self._seconds[id(node)] = node, seconds


def computation_bound(program: Program, machine: Machine, placement: Placement) -> float:
    """Return the bound of one program on one machine (:meth:`ComputationBounds.of`)."""
    return ComputationBounds(program).of(machine, placement)
