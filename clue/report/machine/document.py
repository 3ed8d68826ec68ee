"""Machines as JSON documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clue.machine import ColdStart, SpeedCurve
from clue.report.shared.document import Document, fields, money, plain

if TYPE_CHECKING:
    from clue.machine import Link, Machine, NodeType


def machine_document(machine: Machine) -> Document:
    """Describe a machine: nodes, network, contention, changes, price and notes."""
    network, contention = machine.network, machine.network.contention
    names = [node.name for node in machine.nodes]
    described: Document = {"model": contention.name, **contention.document(len(machine.nodes))}
    return plain(
        {
            "machine": machine.name,
            "nodes": len(machine.nodes),
            "processors": machine.processors,
            "price": money(machine.price),
            "source": machine.source,
            "notes": list(machine.notes),
            "reference_processor": machine.reference_processor or None,
            "node_types": {
                name: {"count": names.count(name), **_node_type(node)} for name, node in machine.node_types().items()
            },
            "network": {
                "between_nodes": _link(network.between_nodes),
                "within_node": _link(network.within_node),
                "across_domains": None if network.across_domains is None else _link(network.across_domains),
                "pairs": [{"between": list(pair), **_link(link)} for pair, link in network.pairs.items()],
                "within": {name: _link(link) for name, link in network.within.items()},
                "contention": described,
                "progress": network.progress.value,
                "collectives": {
                    name: [{"up_to": up_to, "algorithm": algorithm} for up_to, algorithm in choice.thresholds]
                    for name, choice in network.collectives.items()
                },
                "collective_library": network.collective_library,
            },
            "changes": [{"at": time, "machine": machine_document(changed)} for time, changed in machine.changes],
        }
    )


def _node_type(node: NodeType) -> Document:
    return {
        **fields(node, "processors", "domains", "memory"),
        "sockets": None
        if node.sockets is None
        else {"processor": node.sockets.processor.key, **fields(node.sockets, "number")},
        "price": money(node.price),
        "performance_factor": node.performance_factor,
        "performance_factors": dict(node.performance_factors),
        "speeds": {region: _speed(speed) for region, speed in node.speeds.items()},
        "memory_contention": {str(busy): dict(shares) for busy, shares in node.memory_contention.items()},
        **fields(node, "background_load", "time_slice"),
        "cold_start": cold_start_document(node.cold_start),
        **fields(node, "copy_bandwidth", "initialisation_delay", "spawn_delay", "packing_delay", "reduction_delay"),
        "waiting": node.waiting.value,
        "source": node.source,
        "noise": asdict(node.noise),
    }


def _speed(speed: float | SpeedCurve) -> object:
    """Describe a speed: flop/s, or points [flop of a burst, flop/s]."""
    return list(map(list, speed.points)) if isinstance(speed, SpeedCurve) else speed


def cold_start_document(start: ColdStart) -> Document | None:
    """Describe the cost of cold starts, if stated: seconds by seconds of wait, and the largest share of a burst."""
    return {"after": start.points, "at_most": start.at_most} if start.is_stated else None


def _link(link: Link) -> Document:
    return {
        **fields(link, "send_delay", "transmission_delay", "receive_delay", "eager_limit"),
        **fields(link, "send_overhead", "receive_overhead", "acknowledged_from"),
        "rendezvous": link.rendezvous.value,
        "noise": asdict(link.noise),
        **fields(link, "busy", "bucket", "copy_time"),
    }
