"""Machine descriptions as hosts that can be built: the only module that knows which machines can be emulated."""

from __future__ import annotations

from dataclasses import dataclass

from clue.errors import UsageError
from clue.machine import Curve, Link, Machine, NodeType

#: Network of the hosts' addresses, which exists only inside the namespaces of a testbed.
SUBNET = "10.77.0."
FRONT = SUBNET + "254"
MOST_HOSTS = 250


@dataclass(frozen=True, slots=True)
class Rack:
    """A switch for some of the hosts, connected to the others by one shared cable.

    Attributes:
        name: Its name.
        bandwidth: Bandwidth of the cable in each direction, B/s, headers included; ``None``: not shaped.
        latency: Latency of the cable in each direction, seconds, in addition to this computer's own.
    """

    name: str
    bandwidth: float | None = None
    latency: float = 0.0


@dataclass(frozen=True, slots=True)
class Kind:
    """Differences of a processor from this computer's other than speed, which slow some programs more than others.

    Attributes:
        vectors: Widest vectors that libraries may use, bytes: 64, 32 or 16, or those of this computer.
        interpreter: Slowdown of Python's interpreter relative to all other code: processors differ by how well they run
            code that branches all the time.
        busy_memory: Whether another core streams through memory all the time, which occupies a core of this computer.
    """

    vectors: int | None = None
    interpreter: float = 1.0
    busy_memory: bool = False


@dataclass(frozen=True, slots=True)
class Host:
    """One host of a testbed.

    Attributes:
        index: Its node in the machine.
        factor: Slowdown of its processors relative to a core of this computer.
        processors: Number of its processors.
        background: Number of busy processes on it beside its ranks. A host as fast as this computer then has a core of
            its own, which the kernel's scheduler divides; on a slower host they are slowed equally, and get fair
            shares.
        bandwidth: Bandwidth of its link to the switch in each direction, B/s, headers included; ``None``: not shaped.
        latency: Latency of its link in each direction, seconds, in addition to this computer's own: it counts twice
            between hosts.
        rack: Its rack; ``None``: the switch that joins all.
        kind: Differences of its processors from this computer's, other than speed.
        shared_memory: Whether its ranks communicate through memory; otherwise by TCP within the host.
    """

    index: int
    factor: float
    processors: int
    background: int
    bandwidth: float | None
    latency: float = 0.0
    rack: Rack | None = None
    kind: Kind = Kind()
    shared_memory: bool = False

    @property
    def name(self) -> str:
        """Its name, which is also that of its namespace within the testbed."""
        return f"h{self.index}"

    @property
    def address(self) -> str:
        """Its IP address."""
        return f"{SUBNET}{self.index + 1}"

    @property
    def loaded(self) -> bool:
        """Whether it has a core of this computer for itself, which is busy all the time."""
        return bool(self.background) and self.factor == 1

    @property
    def cores(self) -> float:
        """The number of this computer's cores that its processors are worth."""
        return self.processors / self.factor


def hosts_of(machine: Machine) -> tuple[Host, ...]:
    """Return the hosts that emulate a machine.

    Raises:
        UsageError: If the machine has something that cannot be emulated.
    """
    if not 0 < len(machine.nodes) <= MOST_HOSTS:
        raise UsageError(f"{machine.name}: nodes must be 1 to {MOST_HOSTS} for a testbed, got {len(machine.nodes)}")
    check_changes(machine)
    links = {name: _own_bandwidth(machine, name) for name in machine.node_types()}
    _check_pairs(machine, links)
    return tuple(_host(machine, index, node, links[node.name]) for index, node in enumerate(machine.nodes))


def _host(machine: Machine, index: int, node: NodeType, bandwidth: float | None) -> Host:
    factor = node.factor("")
    if factor < 1:
        raise UsageError(
            f"{machine.name}: performance_factor of {node.name} must be at least 1 (a core of this computer), "
            f"got {factor:g}"
        )
    return Host(index, factor, node.processors, background_of(machine, node, factor), bandwidth)


def check_changes(machine: Machine) -> None:
    """Check that a machine stays as it is.

    Raises:
        UsageError: If it changes.
    """
    if machine.changes:
        raise UsageError(f"{machine.name}: changes cannot be emulated, got {len(machine.changes)}")


def background_of(machine: Machine, node: NodeType, factor: float) -> int:
    """Return the number of busy processes on a node whose processors are slower by a factor.

    Raises:
        UsageError: If such a load cannot be emulated.
    """
    if node.background_load != int(node.background_load):
        raise UsageError(f"{machine.name}: background_load of {node.name} must be whole, got {node.background_load:g}")
    if node.background_load and factor == 1 and node.processors > 1:
        raise UsageError(
            f"{machine.name}: {node.name} has background load and performance_factor 1, so it must be one whole core: "
            f"1 processor, got {node.processors}"
        )
    return int(node.background_load)


def _own_bandwidth(machine: Machine, name: str) -> float | None:
    """Return the bandwidth of a node type's link: the largest that it has to any other type, or to its own."""
    reached = [_bandwidth(machine.network.link(name, other, same_node=False)) for other in machine.node_types()]
    return None if None in reached else max(each for each in reached if each is not None)


def _check_pairs(machine: Machine, links: dict[str, float | None]) -> None:
    """The bandwidth between two hosts is that of the slower of their links; a pair that states another is refused."""
    for one, at_one in links.items():
        for other, at_other in links.items():
            stated = _bandwidth(machine.network.link(one, other, same_node=False))
            slower = min((each for each in (at_one, at_other) if each is not None), default=None)
            if stated != slower:
                raise UsageError(
                    f"{machine.name}: bandwidth between {one} and {other} must be that of the slower link of both "
                    f"({_mbit(slower)}), got {_mbit(stated)}"
                )


def _bandwidth(link: Link) -> float | None:
    slope = max(_last_slope(link.send_delay), _last_slope(link.transmission_delay))
    return 1 / slope if slope > 0 else None


def _last_slope(curve: Curve) -> float:
    return curve.slopes[-1]


def _mbit(bandwidth: float | None) -> str:
    return "no limit" if bandwidth is None else f"{bandwidth * 8 / 1e6:g} Mbit/s"
