"""Writing a machine for SimGrid: platform, list of hosts, and the options that give it the same meaning.

SimGrid shares links max-min fairly, so a machine's topology becomes links and routes. The latency of a message, and its
own bandwidth if that is below the bandwidth of the links, become an additional unshared link (FATPIPE) on every route.
Messages within a node take an unshared link of their own. The times of sender and receiver become options, because in
SimGrid they belong to MPI.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clue.errors import UsageError
from clue.formats.platform_remarks import remark_on
from clue.formats.remarks import Remarks, Written, hints_at_blanks
from clue.formats.ti_actions import FLOPS_PER_SECOND
from clue.machine import MOST_RANKS, Curve, Link, Machine
from clue.printable import printable
from clue.units import count_of

if TYPE_CHECKING:
    from clue.machine.contention.topology import Topology

#: Bytes per second of a link that is never a bottleneck.
_UNBOUND = 1e18
#: Largest number of nodes for which every route is written out.
_MOST_ROUTED = 512
#: A size above that of all messages, for limits that SimGrid stores as an int.
_LARGEST = 2**31 - 1
#: SimGrid's names of MPI libraries; it follows other versions of them than clue does. With MPICH's, replays of bcast,
#: reduce and allreduce free a buffer on a stack in SimGrid 3.32 (``smpi_comm_copy_buffer_callback``).
_SELECTORS = {"mpich": "mpich", "mpich-flat": "mpich", "openmpi": "ompi"}
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
    network = machine.network
    link = network.between_nodes if len(machine.nodes) > 1 else network.within_node
    remark_on(machine, link, remarks)
    hosts = "\n".join(_hosts(machine, flops_per_second))
    links = "\n".join(_network(machine, _line(link))).replace("HOSTS", hosts)
    xml = f'{_HEADER}<platform version="4.1">\n<!-- {_comment(machine)} -->\n{links}\n</platform>\n'
    names = [f"node-{i}\n" for i, node in enumerate(machine.nodes) for _ in range(node.processors)]
    return Platform(xml, "".join(names), tuple(_options(machine, link)), remarks.lines)


def write_platform(machine: Machine, name: str, *, flops_per_second: float = FLOPS_PER_SECOND) -> Written:
    """Write a machine as a SimGrid platform, with its list of hosts; see :func:`simgrid_platform`.

    Raises:
        UsageError: As that function, or if the name is that of the list.
    """
    hosts = str(Path(name).with_suffix(".hosts"))
    if hosts == name:
        raise UsageError(f"{name}: platform must have another name than the list of hosts beside it, got the same")
    found = simgrid_platform(machine, flops_per_second=flops_per_second)
    files = {name: found.xml, hosts: found.hosts}
    hints = [f"give smpirun these options, too: {shlex.join(found.options)}", *hints_at_blanks(hosts, "-hostfile")]
    if (selector := _SELECTORS[machine.network.collective_library]) == "mpich":
        hints.append(
            f"SimGrid 3.32 aborts replays of bcast, reduce and allreduce with smpi/coll-selector:{selector}: write "
            "traces for it with --lower"
        )
    return Written(files, found.remarks, tuple(hints))


def _comment(machine: Machine) -> str:
    """Return a comment; XML allows no two hyphens in a row in it."""
    numbers = f"{count_of(len(machine.nodes), 'node')}, {count_of(machine.processors, 'processor')}"
    return re.sub("-(?=-)", "- ", f"{printable(machine.name)}, {numbers}")


def _hosts(machine: Machine, flops_per_second: float) -> Iterator[str]:
    for i, node in enumerate(machine.nodes):
        speed = flops_per_second / (node.performance_factor or 1.0)
        yield f'  <host id="node-{i}" speed="{speed:.12g}f" core="{node.processors}"/>'


@dataclass(frozen=True, slots=True)
class _Line:
    """Transmission of a single message: latency, and bytes per second."""

    latency: float
    bandwidth: float


def _line(link: Link) -> _Line:
    """Return the straight line of a link's transmission."""
    slope = link.transmission_delay.slopes[-1]
    return _Line(link.transmission_delay(0), 1 / slope if slope else _UNBOUND)


def _network(machine: Machine, line: _Line) -> Iterator[str]:
    contention = machine.network.contention
    if contention.keeps_ports:
        return _star(machine, line.latency, line.bandwidth, line.bandwidth, "SHARED")
    topology = contention.topology
    if topology is None:
        return _star(machine, line.latency, line.bandwidth, _UNBOUND, "FATPIPE")
    from clue.machine.contention.topology import Switch  # noqa: PLC0415 - it loads numpy

    if isinstance(topology, Switch) and topology.bandwidth <= line.bandwidth:
        return _star(machine, line.latency, topology.bandwidth, topology.bandwidth, "SHARED")
    return _routed(topology, machine, line)


def _star(machine: Machine, latency: float, up: float, down: float, policy: str) -> Iterator[str]:
    """Yield a zone with an uplink and a downlink for each node; the unshared link limits each message separately."""
    yield '<zone id="machine" routing="Cluster">'
    yield "HOSTS"
    for i in range(len(machine.nodes)):
        for way, delay, bandwidth in (("up", latency, up), ("down", 0.0, down)):
            yield f"  {_link(f'{way}-{i}', delay, bandwidth, policy)}"
        yield f'  <host_link id="node-{i}" up="up-{i}" down="down-{i}"/>'
    yield from _within_nodes(machine)
    yield "</zone>"


def _within_nodes(machine: Machine) -> Iterator[str]:
    """Yield an unshared link, and a route over it from each node to itself, which a zone of type Cluster lacks."""
    local = _line(machine.network.within_node)
    yield f"  {_link('within', local.latency, local.bandwidth, 'FATPIPE')}"
    for i in range(len(machine.nodes)):
        yield f'  <route src="node-{i}" dst="node-{i}" symmetrical="NO"><link_ctn id="within"/></route>'


def _link(name: str, latency: float, bandwidth: float, policy: str) -> str:
    return f'<link id="{name}" latency="{latency:.12g}s" bandwidth="{bandwidth:.12g}Bps" sharing_policy="{policy}"/>'


def _routed(topology: Topology, machine: Machine, line: _Line) -> Iterator[str]:
    """Yield a zone with every route written out: its links are those of the topology."""
    import numpy as np  # noqa: PLC0415 - as topologies do

    nodes = len(machine.nodes)
    if nodes > _MOST_ROUTED:
        raise UsageError(f"machine must have at most {_MOST_ROUTED} nodes for its routes to be written, got {nodes}")
    yield '<zone id="machine" routing="Full">'
    yield "HOSTS"
    yield f"  {_link('own', line.latency, line.bandwidth, 'FATPIPE')}"
    if topology.further:
        yield f"  {_link('between', topology.further, _UNBOUND, 'FATPIPE')}"
    for i, capacity in enumerate(topology.capacities(nodes).tolist()):
        yield f"  {_link(f'link-{i}', 0.0, capacity, 'SHARED')}"
    yield from _within_nodes(machine)
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
    """Yield options: plain max-min sharing, and clue's library, eager limit, send and receive delays."""
    limit = _LARGEST if link.eager_limit is None else min(_LARGEST, int(link.eager_limit) + 1)
    sending = _sections(link.send_delay)
    settings: dict[str, object] = {
        "network/model": "CM02",
        "network/crosstraffic": 0,
        "network/TCP-gamma": 1e18,
        "network/optim": "Full",  # with the default, SimGrid can miss that a message slows another one
        "smpi/coll-selector": _SELECTORS[machine.network.collective_library],
        "smpi/async-small-thresh": limit,
        "smpi/send-is-detached-thresh": limit,
        "smpi/os": sending,
        "smpi/ois": sending,
        "smpi/or": f"0:{link.receive_delay + link.completion!r}:0",
    }
    yield from (f"--cfg={name}:{value}" for name, value in settings.items())


def _sections(curve: Curve) -> str:
    """Return a curve as SimGrid's lines by size: ``BYTES:TIME:TIME PER BYTE`` for all sizes above; the first from 0."""
    constant = [] if curve.sizes[0] <= 0 else [(0.0, curve.times[0], 0.0)]
    lines = [*constant, *zip(curve.sizes, curve.times, curve.slopes, strict=True)]
    return ";".join(f"{int(size)}:{time - size * slope!r}:{slope!r}" for size, time, slope in lines)
