"""Machines drawn from what a machine says of its noise: other performance factors, other delays."""

from __future__ import annotations

import math
from dataclasses import replace

from clue.machine import Contention, Link, Machine, Network, NodeType
from clue.machine.scaling import busier, slower
from clue.uncertainty.noise import Sample, log_deviation


def states_noise(machine: Machine) -> bool:
    """Tell whether a machine says anything of noise."""
    return any(
        any((node.noise.computation, node.noise.factor))
        for each in machine.epochs
        for node in each.node_types().values()
    ) or any(
        any((link.noise.send, link.noise.transmission)) for each in machine.epochs for link in links_of(each.network)
    )


def largest_deviation(machine: Machine) -> float:
    """Return the largest deviation of the logarithm of any time on a machine that its noise allows."""
    states = machine.epochs
    nodes = [node.noise for each in states for node in each.node_types().values()]
    links = [link.noise for each in states for link in links_of(each.network)]
    of_nodes = [math.hypot(log_deviation(noise.computation), log_deviation(noise.factor)) for noise in nodes]
    return max(*of_nodes, *(log_deviation(max(noise.send, noise.transmission)) for noise in links))


def links_of(network: Network) -> list[Link]:
    """Return the links of a network, each once."""
    links = [network.between_nodes, network.within_node, *network.pairs.values(), *network.within.values()]
    return list({id(link): link for link in links}.values())


def draw_machine(machine: Machine, sample: Sample) -> Machine:
    """Return a machine as it may be: with a sample's performance factors and delays.

    The noise of a factor belongs to the name and the speed of a node type, that of a delay to the figures of the link:
    machines that have them in common have their draws in common. What changes during a run keeps its draws.
    """
    return _drawn(machine, machine, sample)


def _drawn(machine: Machine, base: Machine, sample: Sample) -> Machine:
    """Draw a machine, or what ``base`` has become of itself during a run, with the draws of that."""
    bases = base.node_types()
    types = {
        name: _drawn_type(node, _factor(node.noise.factor, bases.get(name, node), sample))
        for name, node in machine.node_types().items()
    }
    return replace(
        machine,
        nodes=tuple(types[node.name] for node in machine.nodes),
        network=_drawn_network(machine.network, base.network, sample),
        changes=tuple((at, _drawn(changed, base, sample)) for at, changed in machine.changes),
    )


# --- node types ---


def _factor(deviation: float, node: NodeType, sample: Sample) -> float:
    speeds = (node.performance_factor, sorted(node.performance_factors.items()), sorted(node.speeds.items()))
    return sample.multiplier(deviation, "factor", node.name, *speeds)


def _drawn_type(node: NodeType, factor: float) -> NodeType:
    return node if factor == 1.0 else slower(node, factor)


# --- links ---


def _drawn_network(network: Network, base: Network, sample: Sample) -> Network:
    drawn: dict[tuple[int, int], Link] = {}

    def draw(link: Link, of: Link) -> Link:
        key = (id(link), id(of))
        if key not in drawn:
            drawn[key] = _drawn_link(link, *_link_factors(link, of, sample))
        return drawn[key]

    _, transmission = _link_factors(network.between_nodes, base.between_nodes, sample)
    return replace(
        network,
        between_nodes=draw(network.between_nodes, base.between_nodes),
        within_node=draw(network.within_node, base.within_node),
        pairs={pair: draw(link, base.pairs.get(pair, link)) for pair, link in network.pairs.items()},
        within={name: draw(link, base.within.get(name, link)) for name, link in network.within.items()},
        contention=_drawn_contention(network.contention, transmission),
    )


def _link_factors(link: Link, base: Link, sample: Sample) -> tuple[float, float]:
    figures = (base.send_delay, base.transmission_delay, base.receive_delay)
    return (
        sample.multiplier(link.noise.send, "send", *figures),
        sample.multiplier(link.noise.transmission, "transmission", *figures),
    )


def _drawn_link(link: Link, send: float, transmission: float) -> Link:
    return replace(
        link,
        send_delay=link.send_delay.scaled(send),
        transmission_delay=link.transmission_delay.scaled(transmission),
        receive_delay=link.receive_delay * send,
        busy=None if link.busy is None else link.busy.scaled(transmission),
    )


def _drawn_contention(contention: Contention | None, transmission: float) -> Contention | None:
    """Let ports be busy, and cables carry, as the link between nodes takes more or less time."""
    return contention if transmission == 1.0 else busier(contention, transmission)
