"""The parameters of a machine, each with a function that changes it alone. Names are those of a machine's YAML file.

A file states the figures of other regions as ``default``. A parameter is of one region, so that of the computation
outside of regions is named ``(no region)``.

========================================  ==============================================================================
name                                      effect of a factor of 1.1
========================================  ==============================================================================
node_types.H.performance_factor           all computation on H takes 1.1 times as long
node_types.H.performance_factor.REGION    computation in this region does, where the program has several
node_types.H.speed.REGION                 the speed there is 1.1 times as high (where a speed decides)
node_types.H.memory_contention_factor     processors lose 1.1 times as much of their speed by memory contention
node_types.H.cold_start                   the extra time of bursts after waits is 1.1 times as long
node_types.H.background_load, time_slice  the figure is 1.1 times as high
node_types.H.copy_bandwidth               the same
node_types.H.…_delay                      the same
network.LINK.send_delay.latency           an empty message takes 1.1 times as long; all others take as much longer
network.LINK.send_delay.bandwidth         the growth of the delay with message size is divided by 1.1
network.LINK.transmission_delay.…         the same
network.LINK.send_overhead                the call of a send takes 1.1 times as much processor time
network.LINK.receive_delay                the figure is 1.1 times as high
network.LINK.receive_overhead             the same
network.LINK.eager_limit                  the same
network.LINK.copy_time                    receivers copy messages for 1.1 times as long
network.LINK.acknowledged_from            the same
network.contention.factors                the excess of the factors over 1 is 1.1 times as large
network.LINK.busy                         its messages occupy ports, or links that they share, 1.1 times as long
network.LINK.bucket                       the figure is 1.1 times as high, with ports or a topology
network.contention.busy                   all messages occupy ports 1.1 times as long, where ports state this time
network.contention.…bandwidth             the links of the topology have 1.1 times the bandwidth
network.contention.bandwidth[L]           the cables above level L of a fat tree do; level 0 are the nodes
network.contention.oversubscription       uplinks of switches have the bandwidth divided by 1.1
network.contention.latency_…              the latency is 1.1 times as long
========================================  ==============================================================================

H is a node type; of generated options, the processor or the node on offer that states the figure. Node types with the
same H and the same figure have one parameter, as samples draw their speed once. A figure of 0 has no parameter: it
stays 0. Where a parameter changes over time, its values at all times are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter, is_
from typing import Any

from clue.kernel.model.costs import places_in_use
from clue.machine import (
    Contention,
    Curve,
    Link,
    LinkNoise,
    Machine,
    NodeType,
    Parameter,
    Place,
    Placement,
)

#: Memory contention leaves at least this share of a processor's speed.
_LEAST_SHARE = 0.01
_FIGURES = (
    "background_load", "time_slice", "copy_bandwidth", "initialisation_delay", "spawn_delay", "packing_delay",
    "reduction_delay",
)  # fmt: skip

#: Changes a part of a machine by a factor.
_OfNode = Callable[[NodeType, float], NodeType]
_OfLink = Callable[[Link, float], Link]


def parameters_of(machine: Machine, placement: Placement, regions: Sequence[str], timed: set[str]) -> list[Parameter]:
    """Return the parameters that a program could depend on: those of its ranks' nodes, and of the links between these.

    Args:
        machine: The machine.
        placement: Node of each rank.
        regions: The regions in which the program computes.
        timed: Those of them that declare their operations, so that a speed decides.
    """
    links = _links(machine, placement)
    return [
        *_of_nodes(machine, placement, regions, timed),
        *(each for name, of_name in links.items() for each in _of_link(name, of_name)),
        *_of_contention(
            machine, {name: each for name, each in links.items() if not name.startswith(("within", "across"))}
        ),
    ]


# --- node types ------------------------------------------------------------------------------------------------------


def _of_nodes(machine: Machine, placement: Placement, regions: Sequence[str], timed: set[str]) -> Iterator[Parameter]:
    """Yield the parameters of the node types with ranks: one for all types with the same part and the same figure."""
    found: dict[str, list[tuple[list[object], _OfNode, list[str]]]] = {}
    for name in dict.fromkeys(machine.nodes[node].name for node in placement.nodes):
        types = [state.node_types()[name] for state in machine.epochs]
        for what, figure, change in _figures_of(types, regions, timed):
            values = [figure(each) for each in types]
            known = found.setdefault(f"node_types.{types[0].part(what.partition('.')[0])}.{what}", [])
            having = next((names for alike, _, names in known if alike == values), None)
            if having is None:
                known.append((values, change, having := []))
            having.append(name)
    for name, several in found.items():
        for values, change, having in several:
            of = ", ".join(having) if len(several) > 1 else ""
            yield Parameter(name, partial(_change_nodes, having, change), of, values)


def _figures_of(
    types: Sequence[NodeType], regions: Sequence[str], timed: set[str]
) -> Iterator[tuple[str, Callable[[NodeType], object], _OfNode]]:
    """Yield the figures of a node type that a program could depend on: name, value, and a function that multiplies it.

    Args:
        types: The node type in all its states over time.
        regions: The regions in which the program computes.
        timed: Those of them that declare their operations.
    """

    def by_speed(region: str) -> bool:
        return region in timed and any(region in each.speeds for each in types)

    speed = attrgetter("speed_figures")
    if len(regions) > 1 or not any(map(by_speed, regions)):
        yield "performance_factor", speed, partial(_slower, regions)
    if len(regions) > 1 or any(map(by_speed, regions)):
        for region in regions:
            name = region or "(no region)"
            if by_speed(region):
                yield f"speed.{name}", speed, partial(_faster, region)
            else:
                yield f"performance_factor.{name}", speed, partial(_slower, [region])
    if any(each.memory_contention for each in types):
        yield "memory_contention_factor", attrgetter("memory_contention"), _more_memory_contention
    if any(each.cold_start.is_stated for each in types):
        yield "cold_start", attrgetter("cold_start"), _colder
    for figure in _FIGURES:
        if any(getattr(each, figure) for each in types):
            yield figure, attrgetter(figure), partial(_scaled, figure)


def _change_nodes(names: Sequence[str], change: _OfNode, machine: Machine, factor: float) -> Machine:
    return machine.map(lambda node: change(node, factor) if node.name in names else node)


def _slower(regions: Sequence[str], node: NodeType, factor: float) -> NodeType:
    factors = {region: node.factor(region) * factor for region in regions}
    speeds = {region: speed / (factor if region in regions else 1.0) for region, speed in node.speeds.items()}
    return replace(node, performance_factors={**node.performance_factors, **factors}, speeds=speeds)


def _faster(region: str, node: NodeType, factor: float) -> NodeType:
    if region not in node.speeds:
        return _slower([region], node, 1 / factor)
    return replace(node, speeds={**node.speeds, region: node.speeds[region] * factor})


def _more_memory_contention(node: NodeType, factor: float) -> NodeType:
    def share(kept: float) -> float:
        return max(_LEAST_SHARE, 1 - (1 - kept) * factor)

    levels = {
        busy: {region: share(kept) for region, kept in shares.items()}
        for busy, shares in node.memory_contention.items()
    }
    return replace(node, memory_contention=levels)


def _colder(node: NodeType, factor: float) -> NodeType:
    return replace(node, cold_start=node.cold_start.colder(factor))


def _scaled(figure: str, node: NodeType, factor: float) -> NodeType:
    value = getattr(node, figure)
    return node if value is None else replace(node, **{figure: value * factor})


# --- links -----------------------------------------------------------------------------------------------------------


def _links(machine: Machine, placement: Placement) -> dict[str, list[Link]]:
    """Return the links between the nodes with ranks, by name: for each name the link of every epoch."""
    networks = [state.network.links for state in machine.epochs]
    links: dict[str, list[Link]] = {}
    for place in places_in_use(machine, placement):
        if place.across:
            links["across_domains"] = [network[place] for network in networks if place in network]
            continue
        here = [network.get(place, network[Place(place.within)]) for network in networks]
        # A link used both within and between nodes is one parameter.
        if not place.within or not any(all(map(is_, here, known)) for known in links.values()):
            links[_name(place)] = here
    return links


def _name(place: Place) -> str:
    """Return the name of the link at a position."""
    if place.within:
        return f"within.{place.types[0]}" if place.types else "within_node"
    return f"pairs.{'–'.join(sorted(place.types))}" if place.types else "between_nodes"


def _of_link(name: str, links: list[Link]) -> Iterator[Parameter]:
    figures = _without_noise(links)

    def parameter(what: str, change: _OfLink) -> Parameter:
        return Parameter(f"network.{name}.{what}", partial(_change_links, tuple(links), change), figures=figures)

    for delay in ("send_delay", "transmission_delay"):
        curves = [getattr(link, delay) for link in links]
        if any(curve(0) for curve in curves):
            yield parameter(f"{delay}.latency", partial(_other_curve, delay, Curve.start_scaled))
        if any(_grows(curve) for curve in curves):
            yield parameter(f"{delay}.bandwidth", partial(_other_curve, delay, _wider))
    if any(link.receive_delay for link in links):
        yield parameter("receive_delay", _longer_receive)
    if any(link.receive_overhead for link in links):
        yield parameter("receive_overhead", _heavier_receive)
    if any(link.send_overhead is not None for link in links):
        yield parameter("send_overhead", partial(_longer, "send_overhead"))
    if any(link.acknowledged_from for link in links):
        yield parameter("acknowledged_from", _acknowledged_later)
    if any(link.eager_limit for link in links):
        yield parameter("eager_limit", _higher_limit)
    if any(link.copy_time is not None for link in links):
        yield parameter("copy_time", partial(_longer, "copy_time"))


def _without_noise(links: Sequence[Link]) -> tuple[Link, ...]:
    """Return links without their noise, which is no part of a run without samples."""
    return tuple(replace(link, noise=LinkNoise()) for link in links)


def _change_links(links: Sequence[Link], change: _OfLink, machine: Machine, factor: float) -> Machine:
    """Change a link, wherever the network uses it, in all its states over time."""

    def changed(link: Link, _: Place) -> Link:
        return change(link, factor) if any(link is each for each in links) else link

    return machine.map(network=lambda network: network.map(changed))


def _other_curve(delay: str, change: Callable[[Curve, float], Curve], link: Link, factor: float) -> Link:
    changed: dict[str, Any] = {delay: change(getattr(link, delay), factor)}
    return replace(link, **changed)


def _grows(curve: Curve) -> bool:
    return any(curve.slopes) or len(set(curve.times)) > 1


def _wider(curve: Curve, factor: float) -> Curve:
    return curve.growth_scaled(1 / factor)


def _longer_receive(link: Link, factor: float) -> Link:
    return replace(link, receive_delay=link.receive_delay * factor)


def _heavier_receive(link: Link, factor: float) -> Link:
    return replace(link, receive_overhead=None if link.receive_overhead is None else link.receive_overhead * factor)


def _longer(what: str, link: Link, factor: float) -> Link:
    """Scale a curve that a link need not state."""
    curve: Curve | None = getattr(link, what)
    changed: dict[str, Any] = {what: None if curve is None else curve.scaled(factor)}
    return replace(link, **changed)


def _acknowledged_later(link: Link, factor: float) -> Link:
    size = link.acknowledged_from
    return replace(link, acknowledged_from=None if size is None else size * factor)


def _higher_limit(link: Link, factor: float) -> Link:
    return replace(link, eager_limit=None if link.eager_limit is None else link.eager_limit * factor)


# --- contention ------------------------------------------------------------------------------------------------------


def _of_contention(machine: Machine, between: Mapping[str, list[Link]]) -> Iterator[Parameter]:
    stated = tuple(state.network.contention for state in machine.epochs)
    first = stated[0]
    if first.busy is None:
        for name, links in between.items():
            # In a topology, the shared links limit messages; a message's own link does so only if it states this.
            if first.keeps_ports or (first.topology is not None and any(link.busy is not None for link in links)):
                change = partial(_change_links, tuple(links), Link.kept_longer)
                yield Parameter(f"network.{name}.busy", change, figures=(stated, _without_noise(links)))
    if first.keeps_ports or first.topology is not None:
        for name, links in between.items():
            if any(link.bucket for link in links):
                change = partial(_change_links, tuple(links), _deeper_bucket)
                yield Parameter(f"network.{name}.bucket", change, figures=(stated, _without_noise(links)))
    for name in first.parameters:
        yield Parameter(f"network.contention.{name}", partial(_change_contention, name), figures=stated)


def _deeper_bucket(link: Link, factor: float) -> Link:
    return replace(link, bucket=link.bucket * factor)


def _change_contention(name: str, machine: Machine, factor: float) -> Machine:
    def changed(contention: Contention) -> Contention:
        change = contention.parameters.get(name)
        return contention if change is None else change(factor)

    return machine.map(network=lambda network: network.map(contention=changed))
