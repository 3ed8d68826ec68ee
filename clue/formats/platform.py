"""Writing a machine for SimGrid: platform, list of hosts, and the options that give it the same meaning.

SimGrid shares links max-min fairly, so a machine's topology becomes links and routes. The latency of a message, and its
own bandwidth if that is below the bandwidth of the links, become an additional unshared link (FATPIPE) on every route.
The times of sender and receiver become options, because in SimGrid they belong to MPI.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clue.errors import UsageError
from clue.formats.remarks import Remarks, Written
from clue.formats.ti_actions import FLOPS_PER_SECOND
from clue.machine import MOST_RANKS, Link, Machine, NoContention, Progress

if TYPE_CHECKING:
    from clue.machine.contention.topology import Topology

#: Bytes per second of a link that is never a bottleneck.
_UNBOUND = 1e18
#: Largest number of nodes for which every route is written out.
_MOST_ROUTED = 512
#: A size above that of all messages, for limits that SimGrid stores as an int.
_LARGEST = 2**31 - 1
_HEADER = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
"""


@dataclass(frozen=True, slots=True)
class Platform:
    """A machine described for SimGrid.

    Attributes:
        xml: The platform.
        hosts: The list of hosts, one line for each processor, in the order of block placement.
        options: Further arguments of ``smpirun`` for this machine.
        remarks: Remarks on properties that SimGrid does not model.
    """

    xml: str
    hosts: str
    options: tuple[str, ...]
    remarks: tuple[str, ...]


def simgrid_platform(machine: Machine, *, flops_per_second: float = FLOPS_PER_SECOND) -> Platform:
    """Describe a machine to SimGrid 3.32.

    Args:
        machine: The machine.
        flops_per_second: Speed of a processor with performance factor 1, as in the time-independent traces.

    Raises:
        UsageError: If the machine has too many hosts, or its topology too many routes, to write them out.
    """
    if machine.processors > MOST_RANKS:
        raise UsageError(
            f"{machine.name}: processors must be at most {MOST_RANKS} to be listed as hosts, got {machine.processors}"
        )
    remarks = Remarks()
    _remark(machine, remarks)
    link = machine.network.between_nodes
    links = "\n".join(_network(machine, _line(link, remarks)))
    xml = f'{_HEADER}<platform version="4.1">\n<!-- {_comment(machine)} -->\n{links}\n</platform>\n'.replace(
        "HOSTS", "\n".join(_hosts(machine, flops_per_second))
    )
    names = [f"node-{i}\n" for i, node in enumerate(machine.nodes) for _ in range(node.processors)]
    return Platform(xml, "".join(names), tuple(_options(machine, link)), remarks.lines)


def write_platform(machine: Machine, name: str, *, flops_per_second: float = FLOPS_PER_SECOND) -> Written:
    """Write a machine as a SimGrid platform, with its list of hosts; see :func:`simgrid_platform`."""
    found = simgrid_platform(machine, flops_per_second=flops_per_second)
    files = {name: found.xml, str(Path(name).with_suffix(".hosts")): found.hosts}
    return Written(files, found.remarks, (f"give smpirun these options, too: {' '.join(found.options)}",))


def _comment(machine: Machine) -> str:
    return f"{machine.name}, {len(machine.nodes)} nodes, {machine.processors} processors".replace("--", "- -")


def _remark(machine: Machine, remarks: Remarks) -> None:
    types, network = list(machine.node_types().values()), machine.network
    links = set(network.links.values())
    for what, times in (
        ("changes over time are left out", len(machine.changes)),
        ("pairs of node types have links of their own, which are left out", len(network.pairs)),
        ("node types have links within a node of their own, which are left out", len(network.within)),
        ("nodes have domains with a link between them, which is left out", int(network.across_domains is not None)),
        (
            "node types have factors or speeds by region, which are left out",
            sum(bool(t.performance_factors or t.speeds) for t in types),
        ),
        ("node types have memory contention, which is left out", sum(bool(t.memory_contention) for t in types)),
        ("node types have background load, which is left out", sum(t.background_load > 0 for t in types)),
        (
            "node types share their memory among copies, which is left out",
            sum(t.copy_bandwidth is not None for t in types),
        ),
        ("node types have cold starts, which are left out", sum(t.cold_start.is_stated for t in types)),
        ("node types have a reduction delay, which is left out", sum(t.reduction_delay > 0 for t in types)),
        (
            "links state a send_overhead, which is left out: Isend takes as long as Send",
            sum(each.send_overhead is not None for each in links),
        ),
        (
            "links have messages that are acknowledged, which is left out: senders do not wait for it",
            sum(each.acknowledged_from is not None for each in links),
        ),
        (
            "links state how long messages keep what they share (busy), which is left out: bandwidths determine it",
            sum(each.busy is not None for each in links),
        ),
        (
            "links state how much they let through at once (bucket), which is left out: SimGrid's links have no bucket",
            sum(each.bucket > 0 for each in links),
        ),
        (
            "library works within calls only, which is left out: SimGrid's works at any time",
            int(network.progress is Progress.CALLS),
        ),
        ("collectives choose algorithms, which SimGrid's options name otherwise", len(network.collectives)),
    ):
        remarks.count(what, times)
    contention = network.contention
    if contention.keeps_ports:
        remarks.count("contention model, ports that serve in turn, is replaced by links that are shared")
    elif contention.topology is None and contention != NoContention():
        remarks.count(
            f"contention model, a {contention.name}, is left out: simultaneous messages do not slow each other down"
        )


def _hosts(machine: Machine, flops_per_second: float) -> Iterator[str]:
    for i, node in enumerate(machine.nodes):
        speed = flops_per_second / (node.performance_factor or 1.0)
        yield f'  <host id="node-{i}" speed="{speed:.12g}f" core="{node.processors}"/>'


@dataclass(frozen=True, slots=True)
class _Line:
    """Transmission of a single message: latency, and bytes per second."""

    latency: float
    bandwidth: float


def _line(link: Link, remarks: Remarks) -> _Line:
    """Return the straight line of a link's transmission."""
    for name, curve in (("send", link.send_delay), ("transmission", link.transmission_delay)):
        if len(set(curve.slopes)) > 1 or curve(0) != curve.times[0] - curve.sizes[0] * curve.slopes[0]:
            remarks.count(f"{name} delay is no straight line; its value at 0 B and last slope are taken")
    slope = link.transmission_delay.slopes[-1]
    return _Line(link.transmission_delay(0), 1 / slope if slope else _UNBOUND)


def _network(machine: Machine, line: _Line) -> Iterator[str]:
    contention, nodes = machine.network.contention, len(machine.nodes)
    if contention.keeps_ports:
        return _star(nodes, line.latency, line.bandwidth, line.bandwidth, "SHARED")
    topology = contention.topology
    if topology is None:
        return _star(nodes, line.latency, line.bandwidth, _UNBOUND, "FATPIPE")
    from clue.machine.contention.topology import Switch  # noqa: PLC0415 - it loads numpy

    if isinstance(topology, Switch) and topology.bandwidth <= line.bandwidth:
        return _star(nodes, line.latency, topology.bandwidth, topology.bandwidth, "SHARED")
    return _routed(topology, nodes, line)


def _star(nodes: int, latency: float, up: float, down: float, policy: str) -> Iterator[str]:
    """Yield a zone with an uplink and a downlink for each node; the unshared link limits each message separately."""
    yield '<zone id="machine" routing="Cluster">'
    yield "HOSTS"
    for i in range(nodes):
        for way, delay, bandwidth in (("up", latency, up), ("down", 0.0, down)):
            yield f"  {_link(f'{way}-{i}', delay, bandwidth, policy)}"
        yield f'  <host_link id="node-{i}" up="up-{i}" down="down-{i}"/>'
    yield "</zone>"


def _link(name: str, latency: float, bandwidth: float, policy: str) -> str:
    return f'<link id="{name}" latency="{latency:.12g}s" bandwidth="{bandwidth:.12g}Bps" sharing_policy="{policy}"/>'


def _routed(topology: Topology, nodes: int, line: _Line) -> Iterator[str]:
    """Yield a zone with every route written out: its links are those of the topology."""
    import numpy as np  # noqa: PLC0415 - as topologies do

    if nodes > _MOST_ROUTED:
        raise UsageError(f"machine must have at most {_MOST_ROUTED} nodes for its routes to be written, got {nodes}")
    yield '<zone id="machine" routing="Full">'
    yield "HOSTS"
    yield f"  {_link('own', line.latency, line.bandwidth, 'FATPIPE')}"
    if topology.further:
        yield f"  {_link('between', topology.further, _UNBOUND, 'FATPIPE')}"
    for i, capacity in enumerate(topology.capacities(nodes).tolist()):
        yield f"  {_link(f'link-{i}', 0.0, capacity, 'SHARED')}"
    source, dest = (each.ravel() for each in np.mgrid[0:nodes, 0:nodes])
    apart = source != dest
    source, dest = source[apart], dest[apart]
    parts = topology.parts(nodes).tolist()
    for a, b, route in zip(source.tolist(), dest.tolist(), topology.routes(nodes, source, dest).tolist(), strict=True):
        crossed = "".join(f'<link_ctn id="link-{each}"/>' for each in route if each >= 0)
        if topology.further and parts[a] != parts[b]:
            crossed = f'<link_ctn id="between"/>{crossed}'
        yield f'  <route src="node-{a}" dst="node-{b}" symmetrical="NO"><link_ctn id="own"/>{crossed}</route>'
    yield "</zone>"


def _options(machine: Machine, link: Link) -> Iterator[str]:
    """Yield options: plain max-min sharing, and clue's eager limit, send and receive delays."""
    local = machine.network.within_node
    limit = _LARGEST if link.eager_limit is None else min(_LARGEST, int(link.eager_limit) + 1)
    slope = local.transmission_delay.slopes[-1]
    sending = f"0:{link.send_delay(0)!r}:{link.send_delay.slopes[-1]!r}"
    settings: dict[str, object] = {
        "network/model": "CM02",
        "network/crosstraffic": 0,
        "network/TCP-gamma": 1e18,
        "network/loopback-lat": local.transmission_delay(0),
        "network/loopback-bw": 1 / slope if slope else _UNBOUND,
        "smpi/async-small-thresh": limit,
        "smpi/send-is-detached-thresh": limit,
        "smpi/os": sending,
        "smpi/ois": sending,
        "smpi/or": f"0:{link.receive_delay!r}:0",
    }
    yield from (f"--cfg={name}:{value}" for name, value in settings.items())
