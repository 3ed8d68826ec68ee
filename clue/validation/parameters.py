"""What an error may come from: parts of a machine's description, each with the way to make it cost more or less.

============  ================================================================================================
kind          what a cost of 1.1 means
============  ================================================================================================
computation   all computation on a node type takes 1.1 times as long (or that on all node types)
latency       an empty message takes 1.1 times as long to send and to arrive, the others that much longer
bandwidth     what delays grow by with size is 1.1 times as much, and so is all that messages keep what they share
contention    what simultaneous messages cost: what factors are above 1, or how long messages keep ports, is 1.1
              times as much; or the links of the topology have 1/1.1 times the bandwidth
============  ================================================================================================

A cost is not always what a file states: times grow with it, so a bandwidth shrinks (:attr:`Parameter.multiplier`).
Where a machine's parameters change over time, those of all times change alike. Values only; nothing is simulated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from clue.machine import Contention, FactorTable, Link, Machine, Network, NodeType, Ports
from clue.machine.scaling import busier, kept_longer, slower, steeper
from clue.validation.cases import Case

COMPUTATION, LATENCY, BANDWIDTH, CONTENTION = "computation", "latency", "bandwidth", "contention"

_OfLink = Callable[[Link, float], Link]


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter that is the same in all cases which have it.

    Attributes:
        kind: ``"computation"``, ``"latency"``, ``"bandwidth"`` or ``"contention"``.
        of: Which of its kind, such as a node type; ``""`` if there is only one.
        change: Returns a case's machine with the parameter's cost multiplied.
    """

    kind: str
    of: str
    change: Callable[[Case, float], Machine]

    def multiplier(self, cost: float) -> float:
        """Return what a file's figure is multiplied by where the cost is: a bandwidth is divided."""
        return 1 / cost if self.kind == BANDWIDTH else cost


@dataclass(frozen=True, slots=True)
class Unchangeable:
    """What cannot be refitted, and why.

    Attributes:
        kind: As of parameters.
        reason: A sentence.
    """

    kind: str
    reason: str


def parameters_of(cases: Sequence[Case]) -> tuple[list[Parameter], list[Unchangeable]]:
    """Return the parameters that the predictions of some cases could depend on, and what has none."""
    contention = list(_contention(cases))
    refused = [each for each in contention if isinstance(each, Unchangeable)]
    found = [each for each in contention if isinstance(each, Parameter)]
    return [*_computation(cases), *_delays(cases), *found], refused


def _everywhere(
    machine: Machine, node: Callable[[NodeType], NodeType], network: Callable[[Network], Network]
) -> Machine:
    """Change the nodes and the network of a machine, as they are at first and after each change."""
    changes = tuple((at, _everywhere(later, node, network)) for at, later in machine.changes)
    return replace(machine, nodes=tuple(map(node, machine.nodes)), network=network(machine.network), changes=changes)


def _same(part: Any) -> Any:
    return part


# --- computation -----------------------------------------------------------------------------------------------------


def _speed(node: NodeType) -> tuple[object, ...]:
    """Return what tells two node types of one name apart, in different machines."""
    return (node.performance_factor, sorted(node.performance_factors.items()), sorted(node.speeds.items()))


def _computation(cases: Sequence[Case]) -> Iterator[Parameter]:
    """Yield a parameter for each node type that ranks are on, and one for all of them together."""
    used: dict[tuple[str, str], str] = {}
    for case in cases:
        machine = case.where.machine
        for index in dict.fromkeys(case.where.placement.nodes):
            node = machine.nodes[index]
            used.setdefault((node.name, repr(_speed(node))), case.machine)
    names = [name for name, _ in used]
    if len(used) > 1:
        yield Parameter(COMPUTATION, "all node types", partial(_compute, None))
    for (name, speed), machine_name in used.items():
        of = name if names.count(name) == 1 else f"{name} of {machine_name}"
        yield Parameter(COMPUTATION, of if len(used) > 1 else "", partial(_compute, (name, speed)))


def _compute(which: tuple[str, str] | None, case: Case, cost: float) -> Machine:
    machine = case.where.machine
    # Which types are meant is told by what they are at first; they may be others later on.
    meant = {node.name for node in machine.nodes if which is None or (node.name, repr(_speed(node))) == which}

    def changed(node: NodeType) -> NodeType:
        return slower(node, cost) if node.name in meant else node

    return _everywhere(machine, changed, _same)


# --- latency and bandwidth -------------------------------------------------------------------------------------------


def _delays(cases: Sequence[Case]) -> Iterator[Parameter]:
    """Yield latency and bandwidth of links between nodes, and within them where these are links of their own."""
    inner = {_has_own_within(case.where.machine) for case in cases if _is_crowded(case)}
    # Where nodes have no link of their own, what changes between them changes within them too.
    between = False in inner or any(len(set(case.where.placement.nodes)) > 1 for case in cases)
    within = True in inner
    for inside, there in ((False, between), (True, within)):
        if there:
            of = ("within nodes" if inside else "between nodes") if between and within else ""
            yield Parameter(LATENCY, of, partial(_delay, inside, _later))
            yield Parameter(BANDWIDTH, of, partial(_delay, inside, _narrower))


def _is_crowded(case: Case) -> bool:
    nodes = case.where.placement.nodes
    return len(set(nodes)) < len(nodes)


def _has_own_within(machine: Machine) -> bool:
    """Tell whether messages within a node go by another link than those between nodes."""
    return any(
        state.network.within or state.network.within_node is not state.network.between_nodes for state in machine.epochs
    )


def _delay(inside: bool, change: _OfLink, case: Case, cost: float) -> Machine:
    machine = case.where.machine
    own = _has_own_within(machine)

    def changed(network: Network) -> Network:
        new = network
        if inside or not own:
            within = {name: change(link, cost) for name, link in network.within.items()}
            new = replace(new, within_node=change(network.within_node, cost), within=within)
        if not inside:
            pairs = {pair: change(link, cost) for pair, link in network.pairs.items()}
            new = replace(new, between_nodes=change(network.between_nodes, cost), pairs=pairs)
            if change is _narrower:
                new = replace(new, contention=busier(network.contention, cost))
        return new

    return _everywhere(machine, _same, changed)


def _later(link: Link, cost: float) -> Link:
    return replace(
        link,
        send_delay=link.send_delay.start_scaled(cost),
        transmission_delay=link.transmission_delay.start_scaled(cost),
    )


def _narrower(link: Link, cost: float) -> Link:
    return replace(
        link,
        send_delay=link.send_delay.growth_scaled(cost),
        transmission_delay=link.transmission_delay.growth_scaled(cost),
        busy=None if link.busy is None else link.busy.scaled(cost),
    )


# --- contention ------------------------------------------------------------------------------------------------------


def _contention(cases: Sequence[Case]) -> Iterator[Parameter | Unchangeable]:
    """Yield how much simultaneous messages cost, if that can be changed for all cases that have it."""
    stated = [case for case in cases if _states_contention(case.where.machine)]
    if not stated:
        yield Unchangeable(CONTENTION, "no machine of these cases states contention")
        return
    yield Parameter(CONTENTION, "", _contend)


def _states_contention(machine: Machine) -> bool:
    return any(state.network.contention is not None for state in machine.epochs)


def _contend(case: Case, cost: float) -> Machine:
    def changed(network: Network) -> Network:
        contention = network.contention
        if not isinstance(contention, Ports) or contention.busy is not None:
            return replace(network, contention=_stronger(contention, cost))
        pairs = {pair: kept_longer(link, cost) for pair, link in network.pairs.items()}
        return replace(network, between_nodes=kept_longer(network.between_nodes, cost), pairs=pairs)

    return _everywhere(case.where.machine, _same, changed)


def _stronger(contention: Contention | None, cost: float) -> Contention | None:
    if isinstance(contention, FactorTable):
        return steeper(contention, cost)
    return busier(contention, cost)
