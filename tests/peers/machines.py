"""Machines that are equivalent in clue and in SimGrid.

They avoid the differences between the two, which RESULTS.md lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from clue.formats.platform import simgrid_platform
from clue.machine import Curve, Flows, Link, Machine, Network, NodeType
from clue.machine.contention.topology import Dragonfly, FatTree, Switch, Topology, Torus
from tests.peers.simgrid import Setting

_LATENCY = 0.1
#: Computation on the constant network takes this many times as long as recorded, as SimGrid's clock has an absolute
#: precision.
_STRETCH = 1000.0
#: SimGrid's constant model ends a message when its remaining bytes, counted down in floating point, are 0 within
#: maxmin/precision × surf/precision; by default that is so small that messages may last until the next event.
_CONSTANT = (
    "--cfg=network/model:Constant",
    f"--cfg=network/latency-factor:{_LATENCY}",
    "--cfg=surf/precision:1e-7",
    "--cfg=maxmin/precision:1e-2",
)
#: SimGrid's default, Lazy, updates only the messages that it considers affected, and misses some: a link then carries
#: more than its bandwidth.
_EXACT = ("--cfg=network/optim:Full", "--cfg=surf/precision:1e-12")
_BANDWIDTH = 1e9


def constant(ranks: int) -> Setting:
    """Return a network on which every message takes the same time and is eager."""
    link = Link(Curve.line(0.0), Curve.line(_LATENCY))
    return _constant("constant", _machine(ranks, Network(link, link), _STRETCH), sized=False)


def constant_rendezvous(ranks: int) -> Setting:
    """Return the same network with rendezvous messages only, which hold their sender for the whole time.

    The answer, of 0 B, takes no time, as in SimGrid.
    """
    link = Link(Curve.through([(0, 0.0), (1, _LATENCY), (2, _LATENCY)]), Curve.line(0.0), 0.0, eager_limit=0)
    return _constant("constant, rendezvous", _machine(ranks, Network(link, link), _STRETCH))


def _constant(name: str, machine: Machine, *, sized: bool = True) -> Setting:
    platform = simgrid_platform(machine)
    return Setting(name, machine, _without_links(platform.xml), platform.hosts, (*_CONSTANT, *_limits(machine)), sized)


def _without_links(xml: str) -> str:
    """Return the platform without links, which SimGrid's constant model refuses."""
    lines = [line for line in xml.splitlines() if "<link" not in line and "<host_link" not in line]
    return "\n".join(lines).replace('routing="Cluster"', 'routing="None"') + "\n"


def switch(ranks: int, bandwidth: float = _BANDWIDTH, latency: float = 1e-5) -> Setting:
    """Return a switch whose links are shared max-min fairly, with eager messages only."""
    link = Link(Curve.line(0.0), Curve.line(latency, 1 / bandwidth))
    return _flows(f"switch, {bandwidth / 1e9:g} GB/s", ranks, link, Switch(bandwidth))


def switch_rendezvous(ranks: int) -> Setting:
    """Return a switch without latency and with rendezvous messages only; the answer takes no time, as in SimGrid."""
    link = Link(Curve.line(0.0), Curve.line(0.0, 1 / _BANDWIDTH), 0.0, eager_limit=0)
    return _flows("switch, rendezvous", ranks, link, Switch(_BANDWIDTH))


def switch_of_pairs() -> Setting:
    """Return a switch of two nodes of two processors, with a link within them a hundred times as fast."""
    between, within = Link(Curve.line(0.0), Curve.line(5e-5, 1e-8)), Link(Curve.line(0.0), Curve.line(1e-6, 1e-10))
    nodes = (NodeType("pair", processors=2),) * 2
    return _shared("switch of pairs", Machine("pairs", nodes, Network(between, within, contention=Flows(Switch(1e8)))))


def _flows(name: str, ranks: int, link: Link, topology: Topology) -> Setting:
    return _shared(name, _machine(ranks, Network(link, link, contention=Flows(topology)), 1.0))


def _shared(name: str, machine: Machine) -> Setting:
    platform = simgrid_platform(machine)
    options = (*platform.options, *_limits(machine), *_EXACT)
    return Setting(name, machine, platform.xml, platform.hosts, options)


def _machine(ranks: int, network: Network, factor: float) -> Machine:
    return Machine("peer", (NodeType("host", performance_factor=factor),) * ranks, network)


def _limits(machine: Machine) -> tuple[str, str]:
    """Return options that make all messages eager, or none."""
    limit = 2_000_000_000 if machine.network.between_nodes.eager_limit is None else 0
    return f"--cfg=smpi/async-small-thresh:{limit}", f"--cfg=smpi/send-is-detached-thresh:{limit}"


class Wiring(NamedTuple):
    """A topology in the terms of both simulators.

    Attributes:
        name: Name in the tables.
        topology: clue's topology.
        kind: SimGrid's name of it.
        parameters: SimGrid's parameters of it.
        places: SimGrid's number of the place of each node.
        alike: Whether both have the same routes; otherwise SimGrid gets clue's routes.
    """

    name: str
    topology: Topology
    kind: str
    parameters: str
    places: Iterable[int]
    alike: bool = True

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        assert self.topology.room is not None
        return self.topology.room


def _fat_tree(down: tuple[int, ...], up: tuple[int, ...], cables: tuple[int, ...], *, alike: bool = True) -> Wiring:
    parameters = ";".join(",".join(map(str, each)) for each in ((len(down),), down, up, cables))
    topology = FatTree(down, up, cables, (_BANDWIDTH,) * len(down))
    return Wiring(f"fat tree {parameters}", topology, "FAT_TREE", parameters, range(topology.room), alike)


def _torus(*dimensions: int, alike: bool = True) -> Wiring:
    topology = Torus(dimensions, _BANDWIDTH)
    parameters = ",".join(map(str, dimensions))
    return Wiring(f"torus {parameters}", topology, "TORUS", parameters, range(topology.room), alike)


def _dragonfly(groups: int, per_router: int) -> Wiring:
    """Return a dragonfly with as many routers in a group as groups.

    SimGrid has the link to group j at router j, so router i of group i has none; in clue the last router has none.
    """
    topology = Dragonfly(groups, groups, per_router, _BANDWIDTH, _BANDWIDTH, _BANDWIDTH)
    places = [
        (group * groups + (router + group + 1) % groups) * per_router + node
        for group in range(groups)
        for router in range(groups)
        for node in range(per_router)
    ]
    parameters = f"{groups},1;1,1;{groups},1;{per_router}"
    return Wiring(f"dragonfly {parameters}", topology, "DRAGONFLY", parameters, places)


#: Topologies for the comparison.
WIRINGS = (
    _fat_tree((4, 4), (1, 2), (1, 1)),
    _fat_tree((2, 2, 4), (1, 2, 2), (1, 1, 1)),
    _fat_tree((4, 4), (1, 2), (1, 2), alike=False),
    _torus(3, 5),
    _torus(3, 3, 3),
    _torus(4, 4, alike=False),
    _dragonfly(3, 2),
    _dragonfly(4, 1),
)


def wired(wiring: Wiring) -> Setting:
    """Return a machine with a topology, built by SimGrid itself if both have the same routes.

    The latency is the sender's: on SimGrid's links it would grow with their number, and affect their shares.
    """
    link = Link(Curve.line(1e-6), Curve.line(0.0, 1 / _BANDWIDTH))
    setting = _flows(wiring.name, wiring.nodes, link, wiring.topology)
    if not wiring.alike:
        return setting
    xml = f"""\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="machine" routing="Full">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-{wiring.nodes - 1}" speed="1Gf"
    bw="{_BANDWIDTH:g}Bps" lat="0s" sharing_policy="SPLITDUPLEX"
    topology="{wiring.kind}" topo_parameters="{wiring.parameters}"/>
</zone>
</platform>
"""
    hosts = "".join(f"node-{place}\n" for place in wiring.places)
    return Setting(setting.name, setting.machine, xml, hosts, setting.options)
