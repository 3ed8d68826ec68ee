"""Possible sources of errors: parameters of a machine's description, each with the way to scale its cost.

============  ================================================================================================
kind          what a cost of 1.1 means
============  ================================================================================================
computation   all computation on a node type takes 1.1 times as long (or that on all node types)
latency       an empty message takes 1.1 times as long to send, to arrive and to receive, also between switches;
              others take longer by the same time
bandwidth     the growth of delays with size is 1.1 times as large; messages occupy shared resources 1.1 times as long
contention    simultaneous messages cost more: the excess of factors over 1, or the time for which messages occupy
              ports, is 1.1 times as large; or the links of the topology have 1/1.1 times the bandwidth
============  ================================================================================================

A cost is not always the figure in a file: times grow with the cost, so a bandwidth shrinks (:func:`multiplier`).
Links within and across the domains of a node are scaled together, apart from those between nodes.
If a machine's parameters change over time, they are scaled alike at all times. No delay falls below 0. Values only;
nothing is simulated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from clue.kernel.model.costs import crosses_domains, has_domains
from clue.machine import Contention, Link, Machine, Network, NoContention, NodeType, Parameter, Place
from clue.validation.cases import Case

COMPUTATION, LATENCY, BANDWIDTH, CONTENTION = "computation", "latency", "bandwidth", "contention"

_OfLink = Callable[[Link, float], Link]


@dataclass(frozen=True, slots=True)
class Unchangeable:
    """Parameters that cannot be refitted, and why.

    Attributes:
        kind: As the name of parameters.
        reason: A sentence.
    """

    kind: str
    reason: str


def parameters_of(cases: Sequence[Case]) -> tuple[list[Parameter], list[Unchangeable]]:
    """Return the parameters that the predictions of some cases could depend on, and those that cannot be refitted."""
    contention = list(_contention(cases))
    refused = [each for each in contention if isinstance(each, Unchangeable)]
    found = [each for each in contention if isinstance(each, Parameter)]
    return [*_computation(cases), *_delays(cases), *found], refused


def multiplier(parameter: Parameter, cost: float) -> float:
    """Return the factor of a file's figure for a factor of a parameter's cost: a bandwidth is divided."""
    return 1 / cost if parameter.name == BANDWIDTH else cost


# --- computation -----------------------------------------------------------------------------------------------------


def _computation(cases: Sequence[Case]) -> Iterator[Parameter]:
    """Yield a parameter for each node type that ranks are on, and one for all of them together."""
    used: dict[tuple[str, str], str] = {}
    for case in cases:
        machine = case.where.machine
        for index in dict.fromkeys(case.where.placement.nodes):
            node = machine.nodes[index]
            used.setdefault((node.name, repr(node.speed_figures)), case.machine)
    names = [name for name, _ in used]
    if len(used) > 1:
        yield Parameter(COMPUTATION, partial(_compute, None), "all node types")
    for (name, speed), machine_name in used.items():
        of = name if names.count(name) == 1 else f"{name} of {machine_name}"
        yield Parameter(COMPUTATION, partial(_compute, (name, speed)), of if len(used) > 1 else "")


def _compute(which: tuple[str, str] | None, machine: Machine, cost: float) -> Machine:
    # Types are identified by their initial figures, because these may change over time.
    meant = {node.name for node in machine.nodes if which is None or (node.name, repr(node.speed_figures)) == which}

    return machine.map(lambda node: node.slower(cost) if node.name in meant else node)


# --- latency and bandwidth -------------------------------------------------------------------------------------------


def _delays(cases: Sequence[Case]) -> Iterator[Parameter]:
    """Yield latency and bandwidth of links between nodes, and of links within nodes where there are separate ones."""
    crowded = [case.where for case in cases if _is_crowded(case)]
    inner = {_has_own_within(where.machine) for where in crowded}
    # If there is no separate link within nodes, a change between nodes also applies within them.
    between = False in inner or any(len(set(case.where.placement.nodes)) > 1 for case in cases)
    within = True in inner or any(crosses_domains(where.machine, where.placement) for where in crowded)
    for inside, there in ((False, between), (True, within)):
        if there:
            of = ("within nodes" if inside else "between nodes") if between and within else ""
            yield Parameter(LATENCY, partial(_delay, inside, _later), of)
            yield Parameter(BANDWIDTH, partial(_delay, inside, _narrower), of)


def _is_crowded(case: Case) -> bool:
    nodes = case.where.placement.nodes
    return len(set(nodes)) < len(nodes)


def _has_own_within(machine: Machine) -> bool:
    """Tell whether messages within a domain of a node use a different link from those between nodes."""
    return any(
        state.network.within or state.network.within_node is not state.network.between_nodes for state in machine.epochs
    )


def _delay(inside: bool, change: _OfLink, machine: Machine, cost: float) -> Machine:
    own, domains = _has_own_within(machine), has_domains(machine)

    def changed(link: Link, place: Place) -> Link:
        # If there is no separate link within nodes, a change between nodes also applies within them, but not to a link
        # across domains.
        separate = place.within and (own or place.across)
        meant = separate or (place.within and not domains) if inside else not separate
        return change(link, cost) if meant else link

    def shared(contention: Contention) -> Contention:
        if inside:
            return contention
        return contention.busier(cost) if change is _narrower else contention.later(cost)

    def node(each: NodeType) -> NodeType:
        return each.copying_longer(cost) if change is _narrower and (inside or not own) else each

    return machine.map(node, lambda network: network.map(changed, shared))


def _later(link: Link, cost: float) -> Link:
    return replace(
        link,
        send_delay=link.send_delay.start_scaled(cost),
        transmission_delay=link.transmission_delay.start_scaled(cost),
        receive_delay=link.receive_delay * cost,
        send_overhead=None if link.send_overhead is None else link.send_overhead.start_scaled(cost),
        receive_overhead=None if link.receive_overhead is None else link.receive_overhead * cost,
    )


def _narrower(link: Link, cost: float) -> Link:
    return replace(
        link,
        send_delay=link.send_delay.growth_scaled(cost),
        transmission_delay=link.transmission_delay.growth_scaled(cost),
        busy=None if link.busy is None else link.busy.scaled(cost),
        copy_time=None if link.copy_time is None else link.copy_time.scaled(cost),
    )


# --- contention ------------------------------------------------------------------------------------------------------


def _contention(cases: Sequence[Case]) -> Iterator[Parameter | Unchangeable]:
    """Yield the cost of contention, if it can be changed for all cases that have it."""
    if not cases:
        return
    if all(case.where.machine.network.contention == NoContention() for case in cases):
        yield Unchangeable(CONTENTION, "no machine of these cases states contention")
    else:
        yield Parameter(CONTENTION, _contend)


def _contend(machine: Machine, cost: float) -> Machine:
    def changed(network: Network) -> Network:
        by_link = network.contention.keeps_ports and network.contention.busy is None
        return network.map(
            lambda link, place: link.kept_longer(cost) if by_link and not place.within else link,
            lambda contention: contention.stronger(cost),
        )

    return machine.map(network=changed)
