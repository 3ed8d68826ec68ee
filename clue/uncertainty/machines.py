"""Machines drawn from a machine's stated noise: other performance factors, other delays."""

from __future__ import annotations

import math
from dataclasses import replace

from clue.machine import Contention, Link, LinkNoise, Machine, Network, NodeNoise, NodeType
from clue.uncertainty.noise import Sample, log_deviation


def states_noise(machine: Machine) -> bool:
    """Tell whether a machine states any noise."""
    return any(any((noise.computation, noise.factor)) for noise in _of_nodes(machine)) or any(
        any((noise.send, noise.transmission)) for noise in _of_links(machine)
    )


def largest_deviation(machine: Machine, recorded: float | None = None) -> float:
    """Return the largest deviation that a machine's noise allows for the logarithm of any time on it.

    Args:
        machine: The machine.
        recorded: Deviation of bursts in repeated recordings, which replaces the computation noise that nodes state.
    """

    def of_bursts(noise: NodeNoise) -> float:
        computation = log_deviation(noise.computation) if recorded is None else recorded
        return math.hypot(computation, log_deviation(noise.factor))

    nodes = map(of_bursts, _of_nodes(machine))
    return max(*nodes, *(log_deviation(max(each.send, each.transmission)) for each in _of_links(machine)))


def _of_nodes(machine: Machine) -> list[NodeNoise]:
    return [node.noise for each in machine.epochs for node in each.node_types().values()]


def _of_links(machine: Machine) -> list[LinkNoise]:
    return [link.noise for each in machine.epochs for link in each.network.links.values()]


def draw_machine(machine: Machine, sample: Sample) -> Machine:
    """Return a machine with a sample's performance factors and delays.

    The draw of a factor belongs to the name and speed of a node type, or of the processor on offer that it has; the
    draw of a delay belongs to the figures of the link. Machines that have these in common share the draws. Parameters
    that change during a run keep their draws.
    """
    types, network = machine.node_types(), machine.network

    def node(each: NodeType) -> NodeType:
        within = network.link(each.name, each.name, same_node=True)
        _, transmission = _link_factors(within, within, sample)
        drawn = _drawn_type(each, _factor(each.noise.factor, types.get(each.name, each), sample))
        return drawn if transmission == 1.0 else drawn.copying_longer(transmission)

    return machine.map(node, lambda network: _drawn_network(network, machine.network, sample))


# --- node types ---


def _factor(deviation: float, node: NodeType, sample: Sample) -> float:
    return sample.multiplier(deviation, "factor", node.part(), *node.speed_figures)


def _drawn_type(node: NodeType, factor: float) -> NodeType:
    return node if factor == 1.0 else node.slower(factor)


# --- links ---


def _drawn_network(network: Network, base: Network, sample: Sample) -> Network:
    """Draw a network; a later state of ``base`` during a run gets the draws of ``base``."""
    bases = base.links
    _, transmission = _link_factors(network.between_nodes, base.between_nodes, sample)
    return network.map(
        lambda link, place: _drawn_link(link, *_link_factors(link, bases.get(place, link), sample)),
        lambda contention: _drawn_contention(contention, transmission),
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
        send_overhead=None if link.send_overhead is None else link.send_overhead.scaled(send),
        receive_overhead=None if link.receive_overhead is None else link.receive_overhead * send,
        busy=None if link.busy is None else link.busy.scaled(transmission),
        copy_time=None if link.copy_time is None else link.copy_time.scaled(transmission),
    )


def _drawn_contention(contention: Contention, transmission: float) -> Contention:
    """Scale busy times of ports, and bandwidths and latencies of cables, like the delay of the link between nodes."""
    return contention if transmission == 1.0 else contention.busier(transmission).later(transmission)
