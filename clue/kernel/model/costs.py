"""Durations on a machine: the cost of an op to a rank, given the placement and the time. They are pure look-ups."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from clue.collectives import BY_NODES, LIBRARIES_BY_NODES, Collective, default_choice
from clue.kernel.model.cold import cold_types
from clue.kernel.model.program import HostSpeed
from clue.machine import Contention, Curve, Link, Machine, Network, NodeType, Place, Placement, Rendezvous

_Doubles = npt.NDArray[np.float64]
_Rank = TypeVar("_Rank")


class MessageCost(NamedTuple):
    """Delays of one message, in seconds, before any contention.

    Attributes:
        send: Time for which the sender is blocked.
        transmission: Further time until arrival: what the link states, and the latency between parts of a topology.
        receive: Time of the receiving call.
        eager: Whether the message is sent without waiting for its receive.
        answer: Time until the receiver's answer to a rendezvous, an empty message the other way, has been handled.
        envelope: Travel time of an empty message this way: when a probe can see a rendezvous.
        between_nodes: Whether it crosses the network.
        travel: Time from its start to its arrival without the latency between parts of a topology.
        further: The latency between parts of a topology.
        occupation: How long it would occupy a port as fast as its link, or its links if it went at its own full rate.
        head: When its head reaches the receive port, after it has got the send port: no sooner than an empty message.
        send_port: How long it occupies the send port of its node, where ports are shared.
        receive_port: How long it occupies the receive port of the receiver's node, likewise.
        ahead: How long before a port is free the message may pass, by the tokens left in the port's bucket.
        bucket: Depth of the token buckets of the links that it shares, bytes.
        held: For how much of the message an eager sender is held, from 0 to 1: with ports, the fraction of the wait for
            the send port; with flows, the fraction of the bytes that must have left before the sender continues.
        call: Processor time that the call of a send takes; ``None``: as long as the data keep the sender.
        acknowledged: Whether an eager send ends only when the receiver's library has acknowledged it.
        completion: Processor time of the receiver once the message is there, beyond that of the receiving call.
        copy: How long the receiver copies a rendezvous, one message at a time; ``None``: its data wait for no copy.
        reads: Whether the receiver of a rendezvous reads its data from the sender's memory.
        copied: How much longer the message takes than an empty one: the time in which a processor copies its data.
    """

    send: float
    transmission: float
    receive: float
    eager: bool
    answer: float
    envelope: float
    between_nodes: bool
    travel: float
    further: float
    occupation: float
    head: float
    send_port: float
    receive_port: float
    ahead: float
    bucket: float
    held: float
    call: float | None
    acknowledged: bool
    completion: float
    copy: float | None
    reads: bool
    copied: float


class Costs:
    """Costs of ops on a machine with ranks placed on it.

    Args:
        machine: The machine, with its changes.
        placement: Node of each rank.
        regions: Region names, by index.
        host_speeds: Speed of the recording host by region, where known.

    Attributes:
        cold_types: Names of the node types on which a wait makes the bursts after it longer.
        completes: Whether receives take processor time beyond that of their calls on any link.
        copies_in_turn: Whether receivers copy messages one at a time on any link.
    """

    def __init__(
        self,
        machine: Machine,
        placement: Placement,
        regions: tuple[str, ...],
        host_speeds: Mapping[str, HostSpeed],
    ) -> None:
        self.machine = machine
        self.placement = placement
        self.regions = regions
        self.host_speeds = host_speeds
        self._times = [at for at, _ in machine.changes]
        self._epochs = machine.epochs
        self._messages: list[dict[tuple[int, int, int], MessageCost]] = [{} for _ in self._epochs]
        self._algorithms: dict[tuple[Collective, tuple[int, ...]], str] = {}
        self._ports: dict[int, PortLinks] = {}
        self._occupied: frozenset[int] = frozenset(placement.nodes)
        self.cold_types = cold_types(machine)
        self.completes = any(state.network.states_completions for state in self._epochs)
        self.copies_in_turn = any(state.network.states_copies for state in self._epochs)
        self._domains = tuple(machine.domains(placement.nodes)) if has_domains(machine) else None
        self._further, parts = distance(machine)
        self._parts = None if parts is None else parts.tolist()

    def occupy(self, nodes: Iterable[int]) -> None:
        """Limit the ranks to these nodes: the placement also names nodes for ranks that may yet be spawned."""
        occupied = frozenset(nodes)
        if occupied != self._occupied:
            self._occupied = occupied
            self._ports.clear()
            for known in self._messages:
                known.clear()

    @property
    def change_times(self) -> list[float]:
        """Virtual times at which parameters change."""
        return self._times

    def epoch(self, time: float) -> int:
        """Return the index of the machine in force at a time; a change is in force from its own time on."""
        return bisect_right(self._times, time) if self._times else 0

    def node_type(self, node: int, time: float) -> NodeType:
        """Return the type of a node as it is at a time."""
        return self._epochs[self.epoch(time)].nodes[node]

    def factors(self, node_type: NodeType) -> list[float]:
        """Return the multiplier of recorded computation time by region index (:func:`factors_of`)."""
        return factors_of(node_type, self.regions, self.host_speeds)

    def rates(self, node: NodeType, ranks: int) -> list[float]:
        """Return how fast a burst proceeds on a node, by region index: recorded CPU seconds per second of virtual time.

        Args:
            node: The node's type as it is at the time.
            ranks: How many ranks are runnable there, beside the background load.
        """
        runnable = ranks + node.background_load
        share = min(1.0, node.processors / runnable) if runnable else 1.0
        busy = min(node.processors, math.ceil(runnable))
        return [
            share * node.share_kept(busy, region) / factor
            for region, factor in zip(self.regions, self.factors(node), strict=True)
        ]

    def message(self, source: int, dest: int, nbytes: int, time: float) -> MessageCost:
        """Return the delays of a message that starts at a time."""
        epoch = bisect_right(self._times, time) if self._times else 0
        known = self._messages[epoch]
        key = (source, dest, nbytes)
        cost = known.get(key)
        if cost is None:
            cost = known[key] = self._message(epoch, source, dest, nbytes)
        return cost

    def _message(self, epoch: int, source: int, dest: int, nbytes: int) -> MessageCost:
        nodes, machine = self.placement.nodes, self._epochs[epoch]
        if epoch not in self._ports:
            self._ports[epoch] = port_links(machine, self._occupied)
        ports = self._ports[epoch]
        here, there = nodes[source], nodes[dest]
        sender, receiver = machine.nodes[here].name, machine.nodes[there].name
        same = here == there
        together = self._domains is None or self._domains[source] == self._domains[dest]
        link = machine.network.link(sender, receiver, same, together)
        back = machine.network.link(receiver, sender, same, together)
        contention = machine.network.contention

        def kept(links: Sequence[Link]) -> float:
            return min((occupation(contention, each, nbytes) for each in links), default=0.0)

        further = 0.0 if self._parts is None or self._parts[here] == self._parts[there] else self._further
        send, transmission, envelope = link.send_delay(nbytes), link.transmission_delay(nbytes), empty_message(link)
        empty = link.send_delay(0), link.transmission_delay(0)
        grown = send - empty[0], transmission - empty[1]
        stated = _stated_occupation(contention, link, same)
        occupied = max(*grown, 0.0) if stated is None else stated(nbytes)
        travel = send + transmission
        longer = max(occupied - travel, 0.0)
        return MessageCost(
            send=send,
            transmission=transmission + further,
            receive=link.receive_delay,
            eager=link.eager_limit is None or nbytes <= link.eager_limit,
            answer=(envelope if back is link else empty_message(back)) + back.completion + further,
            envelope=envelope + further,
            between_nodes=not same,
            travel=travel,
            further=further,
            occupation=occupied,
            head=min(max(travel - occupied, sum(empty)), travel),
            send_port=kept(ports.sending.get(sender, ())),
            receive_port=kept(ports.receiving.get(receiver, ())),
            ahead=max(depth - longer, 0.0) if (depth := ahead_of_ports(contention, link)) else 0.0,
            bucket=bucket(link, nbytes, occupied, longer, within=same),
            held=held(contention, *grown, occupied, within=same),
            call=None if link.send_overhead is None else link.send_overhead(nbytes),
            acknowledged=link.acknowledged_from is not None and nbytes >= link.acknowledged_from,
            completion=link.completion,
            copy=link.copy_time(nbytes) if same and link.copy_time is not None else None,
            reads=link.rendezvous is Rendezvous.READ,
            copied=max(travel - sum(empty), 0.0),
        )

    def poll_delay(self, rank: int, time: float) -> float:
        """Return the time of a wildcard receive or probe call."""
        machine = self._epochs[self.epoch(time)]
        return poll_delay(machine, machine.nodes[self.placement.nodes[rank]].name)

    def algorithm(self, collective: Collective, nodes: tuple[int, ...] = ()) -> str:
        """Return the algorithm that this machine uses for a collective of ranks on these :func:`numbered` nodes."""
        name = self._algorithms.get((collective, nodes))
        if name is None:
            name = self._algorithms[collective, nodes] = algorithm_of(self.machine.network, collective, nodes)
        return name


def factors_of(node_type: NodeType, regions: Sequence[str], host_speeds: Mapping[str, HostSpeed]) -> list[float]:
    """Return the multiplier of recorded computation time on a node in each region.

    A speed (flop/s) in a region whose program declares its operations takes precedence: the factor is then the
    recording host's speed divided by this speed. A speed that depends on the operations of a burst is taken at the
    program's mean number of operations of a burst there.
    """
    return [_factor(node_type, region, host_speeds.get(region)) for region in regions]


def _factor(node_type: NodeType, region: str, host: HostSpeed | None) -> float:
    speed = None if host is None else node_type.speed(region, host.burst)
    return node_type.factor(region) if host is None or speed is None else host.rate / speed


def has_domains(machine: Machine) -> bool:
    """Tell whether the domains of a node in which ranks run matter at any time."""
    return any(state.network.across_domains is not None for state in machine.epochs)


def crosses_domains(machine: Machine, placement: Placement, instances: int = 1) -> bool:
    """Tell whether ranks of one node are in different domains, and messages between them have a link of their own.

    Args:
        machine: The machine.
        placement: Node of each rank of all instances, instance by instance.
        instances: Copies of the program side by side, between which there are no messages.
    """
    if not has_domains(machine):
        return False
    places = tuple(zip(placement.nodes, machine.domains(placement.nodes), strict=True))
    return any(len(set(own)) > len({node for node, _ in own}) for own in _of_instances(places, instances))


def _of_instances(ranks: tuple[_Rank, ...], instances: int) -> Iterator[tuple[_Rank, ...]]:
    """Divide what belongs to all ranks, instance by instance."""
    size = len(ranks) // instances
    return (ranks[first : first + size] for first in range(0, len(ranks), size or 1))


def places_in_use(machine: Machine, placement: Placement, instances: int = 1) -> list[Place]:
    """Return the positions of the links that messages may take, those between nodes first.

    Args:
        machine: The machine. A position counts if its network states it at any time.
        placement: Node of each rank of all instances, instance by instance.
        instances: Copies of the program side by side, between which there are no messages.
    """
    stated = {place for state in machine.epochs for place in state.network.links}
    between: dict[Place, None] = {}
    within: dict[Place, None] = {}
    for nodes in _of_instances(placement.nodes, instances):
        ranks_on = Counter(nodes)
        nodes_of = Counter(machine.nodes[node].name for node in ranks_on)
        for pair in product(nodes_of, repeat=2):
            if pair[0] != pair[1] or nodes_of[pair[0]] > 1:
                own = Place(within=False, types=pair)
                between[own if own in stated else Place(within=False)] = None
        for node in (node for node, number in ranks_on.items() if number > 1):
            own = Place(within=True, types=(machine.nodes[node].name,))
            within[own if own in stated else Place(within=True)] = None
    across = [Place(within=True, across=True)] if crosses_domains(machine, placement, instances) else []
    return [*between, *within, *across]


def distance(machine: Machine) -> tuple[float, npt.NDArray[np.int64] | None]:
    """Return the latency between parts of a topology, seconds, and the part of each node; or 0 and ``None``."""
    topology = machine.contention.topology
    if topology is None or not topology.further:
        return 0.0, None
    return topology.further, topology.parts(len(machine.nodes))


def numbered(nodes: Sequence[int]) -> tuple[int, ...]:
    """Number the nodes of a communicator's ranks as a :class:`Collective` does; empty if no ranks share a node."""
    numbers = {node: number for number, node in enumerate(dict.fromkeys(nodes))}
    return () if len(numbers) == len(nodes) else tuple(map(numbers.__getitem__, nodes))


def algorithm_of(network: Network, collective: Collective, nodes: tuple[int, ...]) -> str:
    """Return the algorithm that a network's library uses for a collective of ranks on these numbered nodes."""
    choice = network.collectives.get(collective.name)
    if choice is not None:
        return choice.algorithm(collective.mean_size)
    return default_choice(network.collective_library, replace(collective, nodes=nodes) if nodes else collective)


def chooses_by_nodes(network: Network) -> bool:
    """Tell whether it matters to a network's collectives which ranks share nodes."""
    stated = ((BY_NODES.get(name, {}).keys(), choice.algorithms) for name, choice in network.collectives.items())
    return network.collective_library in LIBRARIES_BY_NODES or any(by & names for by, names in stated)


def placed(collective: Collective, algorithm: str, nodes: tuple[int, ...]) -> Collective:
    """Return a collective as it is lowered: with the numbered nodes of its ranks if the algorithm uses them."""
    if nodes and algorithm in BY_NODES.get(collective.name, ()):
        return _on_nodes(collective, nodes)
    return collective


@lru_cache(maxsize=4096)
def _on_nodes(collective: Collective, nodes: tuple[int, ...]) -> Collective:
    """Return a collective with its nodes; equal ones are one object, which is hashed once for all ranks."""
    return replace(collective, nodes=nodes)


def occupation(contention: Contention, link: Link, nbytes: int, *, within: bool = False) -> float:
    """Return how long a message occupies shared resources: as stated, or the part of its delays that grows with size.

    Args:
        contention: Between nodes.
        link: That of the message.
        nbytes: Its size.
        within: Whether the link is within a node.
    """
    stated = _stated_occupation(contention, link, within)
    if stated is not None:
        return stated(nbytes)
    send, transmission = link.send_delay, link.transmission_delay
    return max(send(nbytes) - send(0), transmission(nbytes) - transmission(0), 0.0)


def _stated_occupation(contention: Contention, link: Link, within: bool) -> Curve | None:
    if within:
        # A link between nodes that stands in for one within a node states nothing about the node's memory.
        return None
    return link.busy if contention.busy is None else contention.busy


def bucket(link: Link, nbytes: int, occupied: float, longer: float, *, within: bool) -> float:
    """Return the depth of the token buckets of links that a message shares, in bytes.

    It is as stated, and at least what a message's own delays show: if it occupies a link for longer than it travels,
    the link lets the rest through at once. The memory of a node has none.

    Args:
        link: That of the message.
        nbytes: Its size.
        occupied: How long it occupies what it shares, seconds.
        longer: How much longer that is than it travels, seconds.
        within: Whether the link is within a node.
    """
    shown = nbytes * (longer / occupied) if longer > 0.0 else 0.0
    return shown if within else max(shown, link.bucket)


def ahead_of_ports(contention: Contention, link: Link) -> float:
    """Return how long before a port is free messages may go through it, in seconds, at most.

    A bucket of depth D lasts for D times the port's time per byte. The message itself uses part of this: the time by
    which it occupies the port for longer than it travels. Without a stated bucket, a message waits until the port is
    free.
    """
    return _bucket_in_seconds(contention, link) if contention.keeps_ports else 0.0


def bucket_lasts(machine: Machine, link: Link) -> float:
    """Return how long the bucket that a link between nodes states lasts, or takes to fill, in seconds."""
    contention = machine.contention
    if contention.topology is None:
        return ahead_of_ports(contention, link)
    least = contention.topology.capacities(len(machine.nodes)).min(initial=math.inf)
    return max(_bucket_in_seconds(contention, link), float(link.bucket / least))


def _bucket_in_seconds(contention: Contention, link: Link) -> float:
    if not link.bucket:
        return 0.0
    occupied = link.occupation if contention.busy is None else contention.busy
    return link.bucket * occupied.slopes[-1]


class PortLinks(NamedTuple):
    """The links at the ports of each node type; empty where messages do not share ports.

    A port is as fast as the fastest of its links: a message over a slower link leaves the port to others in between.

    Attributes:
        sending: By node type, the links to other nodes.
        receiving: By node type, the links from other nodes.
    """

    sending: Mapping[str, Sequence[Link]]
    receiving: Mapping[str, Sequence[Link]]


def port_links(machine: Machine, occupied: Collection[int]) -> PortLinks:
    """Return the links that messages between nodes with ranks take, at both of their ports.

    Nodes without ranks do not count: a fast link to one of them makes no port faster.

    Args:
        machine: The machine, as it is at the time.
        occupied: The nodes with ranks.
    """
    network = machine.network
    if not network.contention.keeps_ports:
        return PortLinks({}, {})
    count = Counter(machine.nodes[node].name for node in frozenset(occupied))
    partners = {one: [other for other in count if other != one or count[one] > 1] for one in count}

    def distinct(links: Iterable[Link]) -> tuple[Link, ...]:
        return tuple({id(link): link for link in links}.values())

    return PortLinks(
        {one: distinct(network.link(one, other, same_node=False) for other in partners[one]) for one in count},
        {one: distinct(network.link(other, one, same_node=False) for other in partners[one]) for one in count},
    )


def held(contention: Contention, send: float, transmission: float, occupied: float, *, within: bool) -> float:
    """Return the fraction by which an eager sender is held until its data have left, from 0 to 1.

    With ports, the sender waits for its send port for this fraction of the message's wait: the growth of the send delay
    divided by the growth of all delays. With flows, and within a node, this fraction of the bytes must have left before
    the sender continues: the growth of the send delay divided by the occupation of the links. A sender that is blocked
    until its data have left, as over TCP without buffer space, continues when they have left; one that copies its data
    continues when they are copied.

    Args:
        contention: Between nodes.
        send: How much longer the send delay is than that of an empty message, seconds.
        transmission: The same difference for the transmission delay, seconds.
        occupied: How long the message occupies what it shares, seconds.
        within: Whether the link is within a node.
    """
    if within or contention.topology is not None:
        whole = occupied
    elif contention.keeps_ports:
        whole = send + transmission
    else:
        return 0.0
    if send <= 0.0:
        return 0.0
    return min(send / whole, 1.0) if whole > 0.0 else 1.0


class LinkCosts(NamedTuple):
    """Costs of messages of some sizes over some links, bit for bit those of :class:`MessageCost`: shape (links, sizes).

    Attributes:
        send: See there, as for all others.
        transmission: Without the latency between parts of a topology.
        travel: Send and transmission together.
        occupation: Of ports or links.
        head: At the receive port.
        ahead: Seconds before a port is free.
        bucket: Bytes.
        held: Fractions.
        call: Below 0: as long as the data keep the sender.
    """

    send: _Doubles
    transmission: _Doubles
    travel: _Doubles
    occupation: _Doubles
    head: _Doubles
    ahead: _Doubles
    bucket: _Doubles
    held: _Doubles
    call: _Doubles


def link_costs(contention: Contention, links: Sequence[tuple[Link, bool]], nbytes: _Doubles) -> LinkCosts:
    """Return the costs of messages of all sizes over all links: each curve is evaluated once.

    Args:
        contention: Between nodes.
        links: With each whether it is within a node.
        nbytes: The sizes.
    """
    send = np.array([link.send_delay.over(nbytes) for link, _ in links])
    transmission = np.array([link.transmission_delay.over(nbytes) for link, _ in links])
    empty = np.array([[[link.send_delay(0)], [link.transmission_delay(0)]] for link, _ in links])
    send_growth, growth = send - empty[:, 0], transmission - empty[:, 1]
    occupied = np.maximum(np.maximum(send_growth, growth), 0.0)
    call = np.full_like(send, -1.0)
    for row, (link, within) in enumerate(links):
        stated = _stated_occupation(contention, link, within)
        if stated is not None:
            occupied[row] = stated.over(nbytes)
        if link.send_overhead is not None:
            call[row] = link.send_overhead.over(nbytes)
    travel = send + transmission
    longer = np.maximum(occupied - travel, 0.0)
    shown = nbytes * np.divide(longer, occupied, out=np.zeros_like(longer), where=longer > 0.0)
    ahead = np.zeros_like(longer)
    for row, (link, _) in enumerate(links):
        if depth := ahead_of_ports(contention, link):
            ahead[row] = np.maximum(depth - longer[row], 0.0)
    return LinkCosts(
        send=send,
        transmission=transmission,
        travel=travel,
        occupation=occupied,
        head=np.minimum(np.maximum(travel - occupied, empty[:, 0] + empty[:, 1]), travel),
        ahead=ahead,
        bucket=np.maximum(shown, [[-math.inf if within else link.bucket] for link, within in links]),
        held=_held(contention, send_growth, growth, occupied, np.array([[within] for _, within in links])),
        call=call,
    )


def _held(
    contention: Contention, send: _Doubles, transmission: _Doubles, occupied: _Doubles, within: npt.NDArray[np.bool_]
) -> _Doubles:
    """Return what :func:`held` returns, for all sizes; ``within`` has shape (links, 1)."""
    whole = np.where(within, occupied, send + transmission) if contention.keeps_ports else occupied
    parts = np.divide(send, whole, out=np.ones_like(send), where=whole > 0.0)
    free = send <= 0.0
    if not contention.keeps_ports and contention.topology is None:
        free |= ~within
    return np.where(free, 0.0, np.minimum(parts, 1.0))


def empty_message(link: Link) -> float:
    """Return the travel time of an empty message."""
    return link.send_delay(0) + link.transmission_delay(0)


def poll_delay(machine: Machine, node_type: str) -> float:
    """Return the time of a wildcard receive or probe call on a node of this type."""
    return machine.network.link(node_type, node_type, same_node=len(machine.nodes) == 1).receive_delay
