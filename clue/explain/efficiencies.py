"""The efficiencies of the POP centre of excellence (its "standard metrics"), by replays instead of measurements.

Useful computation of a rank is the time of its bursts on a dedicated processor. T is the makespan. T_ideal is the
makespan on a network without any delay or contention. T_alone is the makespan on such a network if, in addition, every
rank has a processor of its own and no burst starts cold after a wait.

========================  ==========================  ==================================================================
parallel efficiency       mean useful / T             load balance × communication efficiency
load balance              mean / largest useful       how evenly computation is distributed over the ranks
communication efficiency  largest useful / T          serialisation × processor sharing × transfer
serialisation             largest useful / T_alone    below 1 if ranks wait for each other's computation
processor sharing         T_alone / T_ideal           below 1 if ranks or other load share processors, or if bursts
                                                      start cold
transfer                  T_ideal / T                 below 1 because of the delays of messages and their contention
========================  ==========================  ==================================================================

POP has no processor sharing, because it measures where each rank has a processor of its own. On a machine whose
parameters change over time, useful computation depends on when it happens, and serialisation may exceed 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clue.kernel import Program, simulate
from clue.kernel.model.cold import starts_cold
from clue.kernel.model.crowding import crowded_nodes
from clue.machine import ColdStart, Curve, Link, Machine, NoContention, NodeType, Place, Placement, Waiting

_NOTHING = Curve.line(0.0)


@dataclass(frozen=True, slots=True)
class Efficiencies:
    """Where time is lost, as shares of 1.

    Attributes:
        load_balance: Mean of the ranks' useful computation by the largest of it.
        serialisation: Largest useful computation by the makespan if messages took no time.
        sharing: Makespan if messages took no time and each rank had a warm processor, by that if messages took no time.
        transfer: Makespan if messages took no time by the makespan.
    """

    load_balance: float
    serialisation: float
    sharing: float
    transfer: float

    @property
    def communication(self) -> float:
        """Communication efficiency: the largest useful computation by the makespan."""
        return self.serialisation * self.sharing * self.transfer

    @property
    def parallel(self) -> float:
        """Parallel efficiency: mean useful computation by the makespan."""
        return self.load_balance * self.communication


def efficiencies_of(  # noqa: PLR0917 - what a simulation needs, and what it gave
    program: Program,
    machine: Machine,
    placement: Placement,
    instances: int,
    engine: str,
    useful: Sequence[float],
    makespan: float,
) -> Efficiencies | None:
    """Return the efficiencies of a simulation, or ``None`` where nothing is computed.

    Args:
        program: What ran.
        machine: Where.
        placement: Node of each rank of all instances.
        instances: Copies side by side.
        engine: Which engine replays on the ideal network.
        useful: By rank the computation time on a processor of its own, seconds.
        makespan: What the simulation gave, seconds.
    """
    largest = max(useful, default=0.0)
    if not largest:
        return None
    ideal = with_ideal_network(machine)
    in_no_time = simulate(program, ideal, placement, engine, instances=instances).makespan
    alone = in_no_time
    if crowded_nodes(machine, placement) or starts_cold(machine, placement.nodes):
        own = _with_processors_for_all(ideal, len(placement.nodes))
        alone = simulate(program, own, placement, engine, instances=instances).makespan
    return Efficiencies(
        load_balance=sum(useful) / len(useful) / largest,
        serialisation=largest / alone,
        sharing=alone / in_no_time,
        transfer=in_no_time / makespan,
    )


def with_ideal_network(machine: Machine) -> Machine:
    """Return a machine whose messages take no time; messages that wait for their receive still do so."""
    return machine.map(
        lambda node: replace(node, copy_bandwidth=None),
        lambda network: network.map(_free, contention=lambda _: NoContention()),
    )


def _free(link: Link, _: Place) -> Link:
    calls = replace(link, receive_delay=0.0, send_overhead=None, receive_overhead=None)
    return replace(calls, send_delay=_NOTHING, transmission_delay=_NOTHING, busy=None, copy_time=None)


def _with_processors_for_all(machine: Machine, ranks: int) -> Machine:
    def own(node: NodeType) -> NodeType:
        return replace(
            node,
            processors=ranks,
            memory_contention={},
            background_load=0.0,
            waiting=Waiting.YIELD,
            cold_start=ColdStart(),
        )

    return machine.map(own)
