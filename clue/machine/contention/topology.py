"""Topologies: the links of a network and the routes of messages through them, computed, never tabulated.

Links are directed and numbered from 0; the class of each topology defines the numbers. Node i of a machine is at place
i of its topology; places may be left empty. Routes are deterministic, depend only on the two nodes, and are minimal by
the definition of their class. A topology defines how bandwidth is shared, not how long a message takes: the delay
curves of the network contain the latency, which does not grow with hops. Only switches may state a latency between
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from clue.errors import UsageError
from clue.units import format_size, format_time

Indices: TypeAlias = npt.NDArray[np.int64]
Routes: TypeAlias = npt.NDArray[np.int32]
Bandwidths: TypeAlias = npt.NDArray[np.float64]


class Topology(ABC):
    """The links of a network of nodes.

    Attributes:
        kind: Its name in a machine file.
    """

    kind: ClassVar[str]

    @property
    def room(self) -> int | None:
        """The number of places for nodes; ``None`` for any number."""
        return None

    @property
    def further(self) -> float:
        """Additional latency of messages between nodes of different parts, beyond that of their link, seconds."""
        return 0.0

    def parts(self, nodes: int) -> Indices:
        """Return the part of the network that each node is in, shape (nodes,)."""
        return np.zeros(nodes, np.int64)

    @abstractmethod
    def links(self, nodes: int) -> int:
        """Return the number of links, including those at empty places."""

    @abstractmethod
    def bisection(self, nodes: int) -> float:
        """Return the bandwidth from one half of the places to the other, one way, in bytes per second.

        Each class says how it is cut into halves, as is usual for such networks; if the number of parts is odd, one
        half is larger.
        """

    @abstractmethod
    def capacities(self, nodes: int) -> Bandwidths:
        """Return the bandwidth of every link, bytes per second, shape (links,).

        Raises:
            UsageError: If the topology has too few places.
        """

    @abstractmethod
    def routes(self, nodes: int, source: Indices, dest: Indices) -> Routes:
        """Return the links from each source node to each destination node, which must differ, in order of travel.

        Args:
            nodes: Number of nodes.
            source: Node indices, shape (n,).
            dest: Node indices, shape (n,).

        Returns:
            Link numbers, shape (n, longest route), each row padded with -1 at its end.
        """

    @property
    @abstractmethod
    def shape(self) -> str:
        """Its parameters, in words."""

    def described(self, nodes: int) -> str:
        """Return the topology in words: its parameters, its links and its bisection for a number of nodes."""
        room = "" if self.room is None else f"{self.room} places, "
        return f"{self.shape}; {room}{self.links(nodes)} links, bisection {_rate(self.bisection(nodes))} each way"

    def require_room(self, nodes: int) -> None:
        """Check that there are enough places for a number of nodes.

        Raises:
            UsageError: If there are fewer places than nodes.
        """
        if self.room is not None and nodes > self.room:
            raise UsageError(f"topology: nodes must be at most {self.room}, got {nodes}")


@dataclass(frozen=True, slots=True)
class Switch(Topology):
    """One non-blocking switch, with an uplink and a downlink for each node.

    Of n nodes, node i sends over link i and receives over link n + i. The bisection cuts between halves of the nodes.

    Attributes:
        bandwidth: Bandwidth of each link, bytes per second.
    """

    kind: ClassVar[str] = "switch"

    bandwidth: float

    @property
    def shape(self) -> str:  # noqa: D102 - see Topology
        return f"one switch, {_rate(self.bandwidth)} a node"

    def links(self, nodes: int) -> int:  # noqa: D102 - see Topology
        return 2 * nodes

    def bisection(self, nodes: int) -> float:  # noqa: D102 - see Topology
        return nodes // 2 * self.bandwidth

    def capacities(self, nodes: int) -> Bandwidths:  # noqa: D102 - see Topology
        return np.full(self.links(nodes), self.bandwidth)

    def routes(self, nodes: int, source: Indices, dest: Indices) -> Routes:  # noqa: D102 - see Topology
        return np.stack([source, nodes + dest], axis=1).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Switches(Topology):
    """Switches with the same number of nodes, each with one uplink to a non-blocking core.

    Node i is at switch i // per_switch. Of n nodes and s switches, node i sends over link i and receives over n + i;
    switch j sends to the core over 2n + j and receives from it over 2n + s + j. The bisection cuts between halves of
    the switches, and is no larger than the bandwidth of half of the nodes; with one switch, it is that bandwidth.

    Attributes:
        per_switch: Nodes at each switch; the last may have fewer.
        bandwidth: Bandwidth of the links of a node, bytes per second.
        oversubscription: Total bandwidth of a switch's nodes divided by the bandwidth of its uplink; at 1, the uplink
            is never a bottleneck.
        latency_between_switches: Additional latency of a message between nodes of different switches, beyond that of
            its link, seconds.
    """

    kind: ClassVar[str] = "switches"

    per_switch: int
    bandwidth: float
    oversubscription: float = 1.0
    latency_between_switches: float = 0.0

    @property
    def further(self) -> float:  # noqa: D102 - see Topology
        return self.latency_between_switches

    def parts(self, nodes: int) -> Indices:  # noqa: D102 - see Topology
        return np.arange(nodes) // self.per_switch

    @property
    def uplink(self) -> float:
        """Bandwidth of an uplink, bytes per second: that of all places of a switch divided by the over-subscription."""
        return self.per_switch * self.bandwidth / self.oversubscription

    def switches(self, nodes: int) -> int:
        """Return the number of switches for a number of nodes."""
        return -(-nodes // self.per_switch)

    @property
    def shape(self) -> str:  # noqa: D102 - see Topology
        uplinks = f"uplinks of {_rate(self.uplink)} ({self.oversubscription:g}:1)"
        far = f", {format_time(self.further)} apart" if self.further else ""
        return f"switches of {self.per_switch} nodes, {_rate(self.bandwidth)} a node, {uplinks}{far}"

    def links(self, nodes: int) -> int:  # noqa: D102 - see Topology
        return 2 * nodes + 2 * self.switches(nodes)

    def bisection(self, nodes: int) -> float:  # noqa: D102 - see Topology
        half, of_nodes = self.switches(nodes) // 2, nodes // 2 * self.bandwidth
        if half == 0:
            return of_nodes
        return min(half * min(self.uplink, self.per_switch * self.bandwidth), of_nodes)

    def capacities(self, nodes: int) -> Bandwidths:  # noqa: D102 - see Topology
        return np.repeat([self.bandwidth, self.uplink], [2 * nodes, 2 * self.switches(nodes)])

    def routes(self, nodes: int, source: Indices, dest: Indices) -> Routes:  # noqa: D102 - see Topology
        here, there = source // self.per_switch, dest // self.per_switch
        leaves = here != there
        up = np.where(leaves, 2 * nodes + here, -1)
        down = np.where(leaves, 2 * nodes + self.switches(nodes) + there, -1)
        return _packed([source, up, down, nodes + dest])


@dataclass(frozen=True, slots=True)
class FatTree(Topology):
    """A parallel-ports generalised fat tree with D-mod-k routing (E. Zahavi, "D-Mod-K routing", 2010).

    Level 0 holds the places of nodes, numbered so that neighbours share a switch; each level l > 0 holds switches. A
    switch of level l + 1 has ``down[l]`` children of level l, each of which has ``up[l]`` parents; ``cables[l]`` cables
    connect each such pair. SimGrid's ``topo_parameters="levels;down;up;cables"`` has the same numbers.

    A message climbs until its destination is below it, then descends, which is a shortest route. At level l it takes
    port ``dest // (up[0] ··· up[l-1]) mod (up[l] cables[l])``, upwards and then, towards the destination, downwards, so
    that the traffic to one node meets other traffic as late as possible. Port q leads to parent q mod ``up[l]``.

    Links are numbered level by level: in each level, first all uplinks, then all downlinks. Within such a group, port q
    of member c of level l, which has k ports, has number k c + q. The bisection cuts at the level where the fewest
    uplinks leave half of the places. Uplinks of a switch that is above all places do not count: no message takes them.

    Attributes:
        down: Children of a switch, by level from the bottom.
        up: Parents of a node or switch, by level from the bottom.
        cables: Cables between a child and each parent, by level from the bottom.
        bandwidths: Bandwidth of a cable in each direction, by level from the bottom, bytes per second.
    """

    kind: ClassVar[str] = "fat_tree"

    down: tuple[int, ...]
    up: tuple[int, ...]
    cables: tuple[int, ...]
    bandwidths: tuple[float, ...]

    @property
    def levels(self) -> int:
        """Number of levels of switches."""
        return len(self.down)

    @property
    def room(self) -> int:
        """The number of places: the product of the children of all levels."""
        return prod(self.down)

    def members(self, level: int) -> int:
        """Return the number of nodes (level 0) or switches of a level."""
        return prod(self.up[:level]) * prod(self.down[level:])

    def _ports(self, level: int) -> int:
        """Return the number of upward ports of each member of a level."""
        return self.up[level] * self.cables[level]

    def _sizes(self) -> list[int]:
        """Return the number of links above each level, in one direction."""
        return [self.members(level) * self._ports(level) for level in range(self.levels)]

    @property
    def shape(self) -> str:  # noqa: D102 - see Topology
        numbers = ";".join(",".join(map(str, each)) for each in (self.down, self.up, self.cables))
        rates = ", ".join(map(_rate, dict.fromkeys(self.bandwidths)))
        return f"fat tree {self.levels};{numbers} (levels;down;up;links), {rates} a link"

    def links(self, nodes: int) -> int:  # noqa: ARG002, D102 - see Topology
        return 2 * sum(self._sizes())

    def bisection(self, nodes: int) -> float:  # noqa: ARG002, D102 - see Topology
        levels = enumerate(zip(self._sizes(), self.bandwidths, strict=True))
        halves = (size // 2 * bandwidth for level, (size, bandwidth) in levels if prod(self.down[level:]) > 1)
        return min(halves, default=0.0)

    def capacities(self, nodes: int) -> Bandwidths:  # noqa: D102 - see Topology
        self.require_room(nodes)
        return np.repeat(np.array(self.bandwidths, np.float64), [2 * size for size in self._sizes()])

    def routes(self, nodes: int, source: Indices, dest: Indices) -> Routes:  # noqa: D102 - see Topology
        self.require_room(nodes)
        ups, downs, first = [], [], 0
        for level, size in enumerate(self._sizes()):
            below, above = prod(self.up[:level]), prod(self.down[:level])
            port = dest // below % self._ports(level)
            # The digits of dest in the radices of up, dest % below, determine the switch on the way.
            climbs = source // above != dest // above
            up = first + self._link(level, dest % below + below * (source // above), port)
            down = first + size + self._link(level, dest % below + below * (dest // above), port)
            ups.append(np.where(climbs, up, -1))
            downs.append(np.where(climbs, down, -1))
            first += 2 * size
        return _packed([*ups, *reversed(downs)])

    def _link(self, level: int, member: Indices, port: Indices) -> Indices:
        return member * self._ports(level) + port


@dataclass(frozen=True, slots=True)
class Torus(Topology):
    """A grid of any dimensions whose opposite ends are joined, with dimension-order routing.

    Place i has coordinate i mod d₀ in dimension 0, (i // d₀) mod d₁ in dimension 1, and so on. A message first travels
    to the destination's coordinate in dimension 0, then in dimension 1, and so on, each time the shorter way round; if
    both ways are equally long, towards rising coordinates.

    Every node has one link to each neighbour: two in a dimension of size 3 or more, one in a dimension of size 2, none
    in a dimension of size 1. Links are numbered by dimension, then by direction (rising before falling coordinates),
    then by the place that they leave. The bisection cuts across the dimension in which the fewest links
    join both halves, usually the longest. Nodes send and receive over all their links at once.

    Attributes:
        dimensions: Number of places in each dimension.
        bandwidth: Bandwidth of each link, bytes per second.
    """

    kind: ClassVar[str] = "torus"

    dimensions: tuple[int, ...]
    bandwidth: float

    @property
    def room(self) -> int:
        """The number of places: the product of the dimensions."""
        return prod(self.dimensions)

    @property
    def shape(self) -> str:  # noqa: D102 - see Topology
        return f"torus {' × '.join(map(str, self.dimensions))}, {_rate(self.bandwidth)} a link"

    def links(self, nodes: int) -> int:  # noqa: ARG002, D102 - see Topology
        return self.room * sum(map(_directions, self.dimensions))

    def bisection(self, nodes: int) -> float:  # noqa: ARG002, D102 - see Topology
        crossing = (self.room // size * _directions(size) for size in self.dimensions if size > 1)
        return min(crossing, default=0) * self.bandwidth

    def capacities(self, nodes: int) -> Bandwidths:  # noqa: D102 - see Topology
        self.require_room(nodes)
        return np.full(self.links(nodes), self.bandwidth)

    def routes(self, nodes: int, source: Indices, dest: Indices) -> Routes:  # noqa: D102 - see Topology
        self.require_room(nodes)
        hops: list[Indices] = []
        stride, first, at = 1, 0, source
        for size in self.dimensions:
            here, there = at // stride % size, dest // stride % size
            rising = (there - here) % size
            falls = 2 * rising > size
            steps = np.where(falls, size - rising, rising)
            for step in range(size // 2):
                passed = np.where(falls, here - step, here + step) % size
                link = first + falls * self.room + at + (passed - here) * stride
                hops.append(np.where(step < steps, link, -1))
            at = at + (there - here) * stride
            stride *= size
            first += _directions(size) * self.room
        return _packed(hops, len(source))


def _directions(size: int) -> int:
    """Return the number of links of a node in a dimension of this size."""
    return min(size - 1, 2)


@dataclass(frozen=True, slots=True)
class Dragonfly(Topology):
    """Groups of routers: an all-to-all network between groups and within each group (Kim et al., 2008).

    Node i is at router i // per_router, router r in group r // routers. One link in each direction joins two groups.
    The link of group g to the k-th group after it, counted cyclically, leaves router (k - 1) mod routers of group g
    and ends at the router where the link back begins. A message takes the minimal route: the only link between its
    groups, and before and after it a link within the group if the routers differ.

    With n places, r routers in total and g groups, node i sends over link i and receives over n + i. The next numbers
    are the r (routers - 1) links within groups, from each router to the others of its group in order of number; then
    the g (g - 1) links between groups, from each group to the others in order of number. The bisection cuts between
    halves of the groups; with one group, between halves of its routers; with one router, between halves of its nodes.

    Attributes:
        groups: Number of groups.
        routers: Routers in each group.
        per_router: Nodes at each router.
        node_bandwidth: Bandwidth of the links of a node, bytes per second.
        local_bandwidth: Bandwidth of a link between routers of one group, bytes per second.
        global_bandwidth: Bandwidth of a link between groups, bytes per second.
    """

    kind: ClassVar[str] = "dragonfly"

    groups: int
    routers: int
    per_router: int
    node_bandwidth: float
    local_bandwidth: float
    global_bandwidth: float

    @property
    def room(self) -> int:
        """The number of places: groups × routers × nodes per router."""
        return self.groups * self.routers * self.per_router

    def _sizes(self) -> tuple[int, int, int]:
        """Return three numbers of links: of nodes, within groups, and between groups."""
        return 2 * self.room, self.groups * self.routers * (self.routers - 1), self.groups * (self.groups - 1)

    @property
    def shape(self) -> str:  # noqa: D102 - see Topology
        node, local, between = map(_rate, (self.node_bandwidth, self.local_bandwidth, self.global_bandwidth))
        links = f"{node} a node, {local} within a group, {between} between groups"
        return f"dragonfly of {self.groups} groups × {self.routers} routers × {self.per_router} nodes, {links}"

    def links(self, nodes: int) -> int:  # noqa: ARG002, D102 - see Topology
        return sum(self._sizes())

    def bisection(self, nodes: int) -> float:  # noqa: ARG002, D102 - see Topology
        parts, bandwidth = self.groups, self.global_bandwidth
        if parts == 1:
            parts, bandwidth = self.routers, self.local_bandwidth
        half = parts // 2
        if half == 0:
            return self.room // 2 * self.node_bandwidth
        nodes_of_half = half * (self.room // parts)
        return min(half * (parts - half) * bandwidth, nodes_of_half * self.node_bandwidth)

    def capacities(self, nodes: int) -> Bandwidths:  # noqa: D102 - see Topology
        self.require_room(nodes)
        return np.repeat([self.node_bandwidth, self.local_bandwidth, self.global_bandwidth], self._sizes())

    def routes(self, nodes: int, source: Indices, dest: Indices) -> Routes:  # noqa: D102 - see Topology
        self.require_room(nodes)
        here, there = source // self.per_router, dest // self.per_router
        group, other = here // self.routers, there // self.routers
        leaves = group != other
        gate = np.where(leaves, self._gate(group, other), there)
        entry = np.where(leaves, self._gate(other, group), there)
        across = sum(self._sizes()[:2]) + group * (self.groups - 1) + other - (other > group)
        return _packed(
            [
                source,
                self._within(here, gate),
                np.where(leaves, across, -1),
                self._within(entry, there),
                self.room + dest,
            ]
        )

    def _gate(self, group: Indices, other: Indices) -> Indices:
        """Return the router of a group that has the link to another group."""
        return group * self.routers + ((other - group) % self.groups - 1) % self.routers

    def _within(self, router: Indices, other: Indices) -> Indices:
        """Return the link between two routers of a group, -1 if they are the same."""
        number = other % self.routers
        link = 2 * self.room + router * (self.routers - 1) + number - (number > router % self.routers)
        return np.where(router != other, link, -1)


def _rate(bandwidth: float) -> str:
    return f"{format_size(bandwidth)}/s"


def _packed(hops: Sequence[Indices], rows: int = 0) -> Routes:
    """Return routes as rows without gaps, given each hop as an array over routes, -1 for routes without this hop."""
    if not hops:
        return np.empty((rows, 0), np.int32)
    routes = np.stack(hops, axis=1).astype(np.int32)
    present = routes >= 0
    order = np.argsort(~present, axis=1, kind="stable")
    longest = int(present.sum(axis=1).max(initial=0))
    return np.take_along_axis(routes, order, axis=1)[:, :longest]
