"""Time dilation: the same cluster, slower in every respect, for ranks that are late on this computer.

A computer with two hardware threads is late to give a core to ranks that all wake up at once, hundreds of times a
second. If processors and network are slower by the same factor, their computation needs a smaller share of the
computer, and between two wake-ups there is more time. What the computer itself takes does not change: calls of MPI,
the kernel's work for the network, and waking up. So a dilated cluster is another cluster, with less of that for each
second; it is described and calibrated anew.

Gupta et al., "To Infinity and Beyond: Time-Warped Network Emulation", NSDI 2006, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.testbed.description import Host, Rack
from clue.units import Quantity, parse_quantity


def dilated_hosts(hosts: Sequence[Host], factor: float) -> tuple[Host, ...]:
    """Return hosts whose processors, cables and racks are slower by a factor."""
    return tuple(
        replace(
            host,
            factor=host.factor * factor,
            bandwidth=_slower(host.bandwidth, factor),
            latency=host.latency * factor,
            rack=None if host.rack is None else _slower_rack(host.rack, factor),
        )
        for host in hosts
    )


def _slower_rack(rack: Rack, factor: float) -> Rack:
    return replace(rack, bandwidth=_slower(rack.bandwidth, factor), latency=rack.latency * factor)


def _slower(bandwidth: float | None, factor: float) -> float | None:
    return None if bandwidth is None else bandwidth / factor


def dilated_description(document: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return the document of a machine whose processors and network are slower by a factor; its name says so.

    Times of the network are longer, bandwidths smaller; sizes and counts stay.
    """
    node_types = {
        name: {**node, "performance_factor": node.get("performance_factor", 1.0) * factor}
        for name, node in document["node_types"].items()
    }
    network = _dilated(document["network"], factor)
    return {**document, "name": f"{document['name']}-{factor:g}", "node_types": node_types, "network": network}


def _dilated(value: Any, factor: float) -> Any:
    if isinstance(value, Mapping):
        return {key: _dilated(each, factor) for key, each in value.items()}
    if isinstance(value, list):
        return [_dilated(each, factor) for each in value]
    if isinstance(value, str):
        for quantity, unit, times in ((Quantity.TIME, "s", factor), (Quantity.BANDWIDTH, "B/s", 1 / factor)):
            try:
                return f"{parse_quantity(value, quantity) * times:.9g} {unit}"
            except ValueError:
                continue
    return value
