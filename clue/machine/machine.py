"""A virtual machine: node types, network and changes over time. These are values; simulations and files are elsewhere.

Terms and parameters follow the CLUE paper, section 3. All times are in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain, count, islice, pairwise, repeat
from operator import index, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from clue.display import frame_of, html, short_repr
from clue.errors import UsageError
from clue.machine.cold_start import ColdStart
from clue.machine.contention import Contention, NoContention
from clue.machine.curve import Curve
from clue.machine.figures import AMOUNT, COUNT, POSITIVE, SHARE, Rule, a, check_figures
from clue.machine.link import Link, LinkNoise, Rendezvous
from clue.machine.parts import Sockets
from clue.machine.speed import SpeedCurve
from clue.units import Money, count_of, format_size, format_time, is_count

if TYPE_CHECKING:
    import pandas

#: Message sizes for which notebooks show the delay, bytes.
_SHOWN_SIZES = (8, 10**6)
#: Largest number of ranks that may be placed: a larger one is a mistake, and would exhaust memory.
MOST_RANKS = 2**24
#: Note of the reader of machine files on nodes of several processors.
NO_WITHIN_NODE = (
    "no link within a node is given (network.within_node): ranks of one node talk as if they were on different nodes"
)


class Waiting(Enum):
    """What a rank does with its processor while it waits in MPI."""

    YIELD = "yield"
    POLL = "poll"


class Progress(Enum):
    """When the MPI library progresses messages that are under way."""

    ASYNCHRONOUS = "asynchronous"
    CALLS = "calls"


@dataclass(frozen=True, slots=True)
class NodeNoise:
    """Uncertainty of computation times on a node.

    Both figures are relative standard deviations (0.03 is 3 %) of log-normal multipliers with median 1.

    Attributes:
        computation: Uncertainty of each burst, independent of all others.
        factor: Uncertainty of the performance factor: one multiplier for all bursts on nodes of the type.

    Raises:
        UsageError: If a figure is impossible.
    """

    computation: float = 0.0
    factor: float = 0.0

    def __post_init__(self) -> None:
        """Check the figures."""
        check_figures("noise of a node type", self, {"computation": AMOUNT, "factor": AMOUNT})


_NODE_RULES = {
    "processors": COUNT,
    "memory": AMOUNT.or_none,
    "performance_factor": AMOUNT,
    "performance_factors": AMOUNT.for_each,
    "speeds": Rule(
        f"{POSITIVE.words} or a SpeedCurve", lambda each: isinstance(each, SpeedCurve) or POSITIVE.holds(each)
    ).for_each,
    "memory_contention": Rule(
        f"a mapping of numbers of processors to shares by region, each {SHARE.words}",
        lambda shares: SHARE.for_each.for_each.holds(shares) and all(map(is_count, shares)),
    ),
    "background_load": AMOUNT,
    "time_slice": AMOUNT,
    "initialisation_delay": AMOUNT,
    "spawn_delay": AMOUNT,
    "packing_delay": AMOUNT,
    "reduction_delay": AMOUNT,
    "waiting": a(Waiting),
    "noise": a(NodeNoise),
    "cold_start": a(ColdStart),
    "domains": COUNT,
    "copy_bandwidth": POSITIVE.or_none,
}


@dataclass(frozen=True, slots=True)
class NodeType:
    """A kind of node.

    Attributes:
        name: Its name in the machine.
        processors: CPU cores per node.
        domains: Number of equal groups of a node's processors, in order: sockets, or cores that share a cache.
        memory: Bytes per node; ``None`` if not stated (then memory is not checked).
        performance_factor: Multiplies recorded computation time; 0 leaves it unscaled (the paper's "real").
        performance_factors: Performance factors of regions for which it differs.
        speeds: Speed by region, flop/s, or as a function of the operations of a burst. If the program declares its
            flops in a region, the host's speed there divided by this speed is the factor, and takes precedence.
        memory_contention: Share of its speed that a processor keeps when ``busy`` processors of the node compute (the
            paper's mcf, section 4.5), as ``{busy: {region: share}}``; region ``""`` stands for any other. The entry
            with the largest ``busy`` not above the actual number that has the region applies; without one, it is 1.
        background_load: Number of competing processes on each node that are always runnable (a load average; may be
            fractional).
        time_slice: How long a process runs before the scheduler switches to another, if ranks share processors with
            background load, seconds; 0: processors are shared evenly at every instant.
        cold_start: Extra time of bursts after waits.
        copy_bandwidth: Largest total rate at which the node's memory copies messages within the node, bytes per
            second; ``None``: messages do not share it. The initial value applies throughout a run.
        price: Price of one node.
        initialisation_delay: Time before a spawned process starts.
        spawn_delay: Time that the caller of Spawn spends in it.
        packing_delay: Time per byte packed or unpacked.
        reduction_delay: Time per byte combined in a reduction.
        waiting: What a waiting rank does with its processor.
        source: Where the figures come from.
        noise: Their uncertainty.
        sockets: Its processors, if they come from the hardware library; the simulation uses the figures above.
        stated_by: By key of a machine file, the part on offer that states the figure: kinds of nodes that differ in
            other parts share it, and its noise. The node type itself states what is not listed.

    Raises:
        UsageError: If a figure is impossible, such as a negative factor.
    """

    name: str
    processors: int = 1
    memory: float | None = None
    performance_factor: float = 1.0
    performance_factors: Mapping[str, float] = field(default_factory=dict)
    speeds: Mapping[str, float | SpeedCurve] = field(default_factory=dict)
    memory_contention: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    background_load: float = 0.0
    time_slice: float = 0.0
    price: Money | None = None
    initialisation_delay: float = 0.0
    spawn_delay: float = 0.0
    packing_delay: float = 0.0
    reduction_delay: float = 0.0
    waiting: Waiting = Waiting.YIELD
    source: str = ""
    noise: NodeNoise = NodeNoise()
    cold_start: ColdStart = field(default_factory=ColdStart)
    domains: int = 1
    copy_bandwidth: float | None = None
    sockets: Sockets | None = None
    #: Not in the repr, which decides which of the model's errors are drawn.
    stated_by: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Check the figures."""
        check_figures(f"node type {self.name}", self, _NODE_RULES)

    def part(self, figure: str = "performance_factor") -> str:
        """Return the part on offer that states a figure, by default the one that gives it its speed; or its name."""
        return self.stated_by.get(figure, self.name)

    @property
    def speed_figures(self) -> tuple[object, ...]:
        """The figures that make it fast or slow, in order: kinds of nodes with the same part and figures are alike."""
        return (
            self.performance_factor,
            sorted(self.performance_factors.items()),
            sorted(self.speeds.items(), key=itemgetter(0)),
        )

    @property
    def timed(self) -> NodeType:
        """The node type without its price, source, memory and sockets: fields on which no simulated time depends.

        Its name is that of the part that gives it its speed.
        """
        return replace(self, name=self.part(), price=None, source="", memory=None, sockets=None, stated_by={})

    @property
    def in_order(self) -> NodeType:
        """The node type with its figures by region in order, so that equal node types have an equal ``repr``."""
        shares = {busy: dict(sorted(by_region.items())) for busy, by_region in self.memory_contention.items()}
        return replace(
            self,
            performance_factors=dict(sorted(self.performance_factors.items())),
            speeds=dict(sorted(self.speeds.items())),
            memory_contention=dict(sorted(shares.items())),
        )

    def factor(self, region: str) -> float:
        """Return the multiplier of recorded computation time in a region (1 for the paper's 0)."""
        return self.performance_factors.get(region, self.performance_factor) or 1.0

    def speed(self, region: str, flops: float) -> float | None:
        """Return the speed in a region for a burst's operations (0 if unknown), flop/s; ``None`` if it is unknown."""
        stated = self.speeds.get(region)
        if not isinstance(stated, SpeedCurve):
            return stated
        return stated.at(flops) if flops else None

    def share_kept(self, busy: int, region: str) -> float:
        """Return the share of its speed that a processor keeps in a region, with ``busy`` busy processors."""
        for level in sorted((n for n in self.memory_contention if n <= busy), reverse=True):
            by_region = self.memory_contention[level]
            if (share := by_region.get(region, by_region.get(""))) is not None:
                return share
        return 1.0

    def slower(self, factor: float) -> NodeType:
        """Return the node type with all computation times multiplied."""
        return replace(
            self,
            # 0 stands for "as recorded".
            performance_factor=(self.performance_factor or 1.0) * factor,
            performance_factors={region: (f or 1.0) * factor for region, f in self.performance_factors.items()},
            speeds={region: speed / factor for region, speed in self.speeds.items()},
            cold_start=self.cold_start.scaled(factor),
        )

    def copying_longer(self, factor: float) -> NodeType:
        """Return the node type with the copying times of its memory multiplied."""
        return self if self.copy_bandwidth is None else replace(self, copy_bandwidth=self.copy_bandwidth / factor)


@dataclass(frozen=True, slots=True)
class AlgorithmChoice:
    """The algorithms of one collective by message size.

    Attributes:
        thresholds: ``(up_to, algorithm)`` by rising size in bytes; the last ``up_to`` is infinite. The size is the
            collective's ``nbytes`` as defined in :mod:`clue.trace.ops` (for gather, scatter, allgather: one block;
            for alltoall: the block to one rank).
    """

    thresholds: tuple[tuple[float, str], ...]

    @property
    def algorithms(self) -> frozenset[str]:
        """All algorithms that it may choose."""
        return frozenset(name for _, name in self.thresholds)

    def algorithm(self, nbytes: float) -> str:
        """Return the algorithm for this size."""
        return next(name for up_to, name in self.thresholds if nbytes <= up_to)


class Place(NamedTuple):
    """The position of a link in a network.

    Attributes:
        within: Whether it joins ranks of one node.
        types: The node types that it joins, a pair or a single one; empty for all types without a separate link.
        across: Whether it joins ranks of one node in different domains.
    """

    within: bool
    types: tuple[str, ...] = ()
    across: bool = False


#: Stands for links that no message takes.
_NO_LINK = Link(Curve.line(0.0), Curve.line(0.0))
_NETWORK_RULES = {
    "between_nodes": a(Link),
    "within_node": a(Link),
    "pairs": a(Link).for_each,
    "within": a(Link).for_each,
    "contention": a(*get_args(Contention)),
    "collectives": a(AlgorithmChoice).for_each,
    "progress": a(Progress),
    "across_domains": a(Link).or_none,
}


@dataclass(frozen=True, slots=True)
class Network:
    """The network of a machine.

    Attributes:
        between_nodes: Link between ranks of different nodes.
        within_node: Link between ranks of one node.
        pairs: Links that differ from ``between_nodes``, by the two node types; each is stored under both orders.
        within: Links that differ from ``within_node``, by node type.
        contention: How communications between nodes slow each other down.
        collectives: Chosen algorithms by collective name (``"allreduce"``); others follow ``collective_library``.
        collective_library: Library whose default choices apply: one of :data:`clue.collectives.LIBRARIES`.
        progress: When the library answers and acknowledges messages: at any time, or only while its rank is within a
            call that waits or tests.
        across_domains: Link between ranks of one node in different domains; ``None``: ``within_node``.

    Raises:
        UsageError: If a part has the wrong type.
    """

    between_nodes: Link
    within_node: Link
    pairs: Mapping[tuple[str, str], Link] = field(default_factory=dict)
    within: Mapping[str, Link] = field(default_factory=dict)
    contention: Contention = field(default_factory=NoContention)
    collectives: Mapping[str, AlgorithmChoice] = field(default_factory=dict)
    collective_library: str = "mpich"
    progress: Progress = Progress.ASYNCHRONOUS
    across_domains: Link | None = None

    def __post_init__(self) -> None:
        """Check the parts."""
        check_figures("network", self, _NETWORK_RULES)

    def link(self, sender: str, receiver: str, same_node: bool, same_domain: bool = True) -> Link:
        """Return the link from one node type to another, or within a node: within a domain or between its domains."""
        if same_node:
            if not same_domain and self.across_domains is not None:
                return self.across_domains
            return self.within.get(sender, self.within_node)
        return self.pairs.get((sender, receiver), self.between_nodes)

    @property
    def in_order(self) -> Network:
        """The network with its mappings in order, so that equal networks have an equal ``repr``."""
        return replace(
            self,
            pairs=dict(sorted(self.pairs.items())),
            within=dict(sorted(self.within.items())),
            collectives=dict(sorted(self.collectives.items())),
        )

    @property
    def without_noise(self) -> Network:
        """The network without the noise of its links, on which no simulated time depends."""
        return self.map(lambda link, _: replace(link, noise=LinkNoise()))

    def only(self, places: Collection[Place]) -> Network:
        """Return the network without links at other positions, and without contention if none of these joins nodes.

        Where it has to state a link, it has one of these; so it is the same network whatever the others were.
        """
        first = self.links[min(places)] if places else _NO_LINK
        between, within, across = Place(within=False), Place(within=True), Place(within=True, across=True)
        return replace(
            self,
            between_nodes=self.between_nodes if between in places else first,
            within_node=self.within_node if within in places else first,
            pairs={pair: link for pair, link in self.pairs.items() if Place(within=False, types=pair) in places},
            within={name: link for name, link in self.within.items() if Place(within=True, types=(name,)) in places},
            contention=NoContention() if all(place.within for place in places) else self.contention,
            across_domains=self.across_domains if across in places else None,
        )

    @property
    def states_overheads(self) -> bool:
        """Whether any link states the time of a nonblocking send's call."""
        return any(link.send_overhead is not None for link in self._stated_links)

    @property
    def states_completions(self) -> bool:
        """Whether any link states more processor time for a receive than that of its call."""
        return any(link.completion for link in self._stated_links)

    @property
    def acknowledges(self) -> bool:
        """Whether any link has sends that wait for an acknowledgement."""
        return any(link.acknowledged_from is not None for link in self._stated_links)

    @property
    def reads(self) -> bool:
        """Whether receivers read the data of a rendezvous over any link."""
        return any(link.rendezvous is Rendezvous.READ for link in self._stated_links)

    @property
    def states_copies(self) -> bool:
        """Whether any link states how long receivers copy messages."""
        return any(link.copy_time is not None for link in self._stated_links)

    @property
    def _stated_links(self) -> Iterator[Link]:
        """The links of all positions, without their places: simulations ask so often that making these takes long."""
        across = () if self.across_domains is None else (self.across_domains,)
        return chain((self.between_nodes, self.within_node), self.pairs.values(), self.within.values(), across)

    @property
    def links(self) -> dict[Place, Link]:
        """The links by position; one link may have several positions."""
        return {
            Place(within=False): self.between_nodes,
            Place(within=True): self.within_node,
            **{Place(within=False, types=pair): link for pair, link in self.pairs.items()},
            **{Place(within=True, types=(name,)): link for name, link in self.within.items()},
            **({} if self.across_domains is None else {Place(within=True, across=True): self.across_domains}),
        }

    def map(
        self,
        link: Callable[[Link, Place], Link] = lambda link, _: link,
        contention: Callable[[Contention], Contention] = lambda contention: contention,
    ) -> Network:
        """Return the network with parts of it replaced.

        Args:
            link: Returns the replacement of a link. A link with several positions stays one link if its replacements
                are equal.
            contention: Returns the replacement of the contention model.
        """
        found: dict[int, list[Link]] = {}

        def new(old: Link, place: Place) -> Link:
            become, known = link(old, place), found.setdefault(id(old), [])
            if become not in known:
                known.append(become)
            return known[known.index(become)]

        links = {place: new(old, place) for place, old in self.links.items()}
        return replace(
            self,
            between_nodes=links[Place(within=False)],
            within_node=links[Place(within=True)],
            pairs={pair: links[Place(within=False, types=pair)] for pair in self.pairs},
            within={name: links[Place(within=True, types=(name,))] for name in self.within},
            contention=contention(self.contention),
            across_domains=links.get(Place(within=True, across=True)),
        )


def _are_changes(changes: Any) -> bool:
    pairs = isinstance(changes, Sequence) and all(isinstance(each, Sequence) and len(each) == 2 for each in changes)
    if not pairs or not all(AMOUNT.holds(at) and isinstance(machine, Machine) for at, machine in changes):
        return False
    return all(before <= after for (before, _), (after, _) in pairwise(changes))


_MACHINE_RULES = {
    # Machines may have a million nodes, of few types.
    "nodes": Rule(
        "a tuple of NodeType", lambda nodes: isinstance(nodes, Sequence) and {*map(type, nodes)} <= {NodeType}
    ),
    "network": a(Network),
    "changes": Rule("pairs of a time and a Machine, by rising time", _are_changes),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A virtual cluster.

    Attributes:
        name: Its name.
        nodes: The type of each node, by node index.
        network: The network between and within its nodes.
        changes: ``(time, machine)`` by rising time: from this virtual time on, the parameters are those of that
            machine, which has the same nodes and processors (the paper: parameters "may be changed dynamically").
        price: Price of the whole machine, if stated.
        source: Where the figures come from.
        notes: Notes on this machine for readers of results, shown beside these.
        reference_processor: Processor to which the performance factors are relative, as a trace's head names it.

    Raises:
        UsageError: If a part has the wrong type, or the times of changes do not rise.
    """

    name: str
    nodes: tuple[NodeType, ...]
    network: Network
    changes: tuple[tuple[float, Machine], ...] = ()
    price: Money | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    reference_processor: str = ""

    def __post_init__(self) -> None:
        """Check the parts."""
        check_figures(f"machine {self.name}", self, _MACHINE_RULES)

    @property
    def epochs(self) -> tuple[Machine, ...]:
        """The machine at the start, and after each change."""
        return (self, *[changed for _, changed in self.changes])

    @property
    def contention(self) -> Contention:
        """The contention model of the whole run, with its initial figures.

        Raises:
            UsageError: If a change replaces it with another model.
        """
        first, *later = (state.network.contention for state in self.epochs)
        for each in later:
            if each.name != first.name:
                raise UsageError(f"{self.name}: contention must stay {first.name} during a run, got {each.name}")
        return first

    def domains(self, nodes: Iterable[int]) -> Iterator[int]:
        """Yield the domain of each rank within its node, given the node of each: ranks fill processors in order."""
        seats: Counter[int] = Counter()
        for node in nodes:
            kind = self.nodes[node]
            yield seats[node] % kind.processors * kind.domains // kind.processors
            seats[node] += 1

    @property
    def processors(self) -> int:
        """Number of processors of all nodes."""
        return sum(node.processors for node in self.nodes)

    def node_types(self) -> dict[str, NodeType]:
        """Return the node types in use, by name."""
        return {node.name: node for node in self.nodes}

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each node type, with units in the column names; ``None`` for figures that are not stated."""
        numbers = Counter(node.name for node in self.nodes)
        return [
            {
                "node type": name,
                "nodes": numbers[name],
                "processors": node.processors,
                "memory (B)": node.memory,
                "performance factor": node.performance_factor,
                "price": None if node.price is None else str(node.price),
            }
            for name, node in self.node_types().items()
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas data frame with a row for each node type.

        Raises:
            UsageError: If pandas is not installed (``pip install "clue[pandas]"``).
        """
        return frame_of(self.rows())

    def __repr__(self) -> str:
        """Return a short form with the machine's size."""
        return short_repr(self, self.name, count_of(len(self.nodes), "node"), count_of(self.processors, "processor"))

    def _repr_html_(self) -> str:
        link = self.network.between_nodes if len(self.nodes) > 1 else self.network.within_node
        delays = (f"{format_size(size)} takes {format_time(link.one_way(size))}" for size in _SHOWN_SIZES)
        facts = (
            ("nodes", f"{len(self.nodes):,}"),
            ("processors", f"{self.processors:,}"),
            ("a message of", ", of ".join(delays)),
            ("contention", self.network.contention.name if len(self.nodes) > 1 else ""),
            ("price", "" if self.price is None else str(self.price)),
            ("source", " ".join(self.source.split())),
        )
        rows = [
            (row["node type"], row["nodes"], row["processors"], _memory(row["memory (B)"]), row["performance factor"],
             row["price"])
            for row in self.rows()
        ]  # fmt: skip
        columns = ("node type", "nodes", "processors", "memory", "performance factor", "price")
        return html(self.name, facts, columns, rows, self.notes)

    def map(
        self,
        node: Callable[[NodeType], NodeType] = lambda node: node,
        network: Callable[[Network], Network] = lambda network: network,
    ) -> Machine:
        """Return the machine with its parts replaced, at the start and after each change.

        Args:
            node: Returns the replacement of a node type.
            network: Returns the replacement of a network; :meth:`Network.map` makes one from another.
        """
        types = {name: node(each) for name, each in self.node_types().items()}
        return replace(
            self,
            nodes=tuple(types[each.name] for each in self.nodes),
            network=network(self.network),
            changes=tuple((at, later.map(node, network)) for at, later in self.changes),
        )


def _memory(size: object) -> str:
    return format_size(size) if isinstance(size, int | float) else ""


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter of a machine, with a function that multiplies only this parameter.

    Attributes:
        name: Its name in reports.
        change: Returns a machine with the parameter multiplied by a factor.
        of: Which of several parameters of a machine with this name it is; ``""`` if there is only one.
        figures: Its values over time, used to compare parameters of two machines.
    """

    name: str
    change: Callable[[Machine, float], Machine]
    of: str = ""
    figures: object = None

    def is_same(self, other: Parameter) -> bool:
        """Tell whether a parameter of another machine, which may have several of this name, has the same values."""
        return (self.name, self.figures) == (other.name, other.figures)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where ranks run.

    Attributes:
        nodes: Node index of each rank. Ranks in excess of a node's processors share them.
    """

    nodes: tuple[int, ...]

    @classmethod
    def block(cls, machine: Machine, ranks: int, per_processor: int = 1) -> Placement:
        """Fill one node after another with ``per_processor`` ranks on each processor.

        Raises:
            UsageError: If it is no machine, or has too few processors; a number is not whole; or there are more ranks
                than may be placed.
        """
        _check_room(machine, ranks, per_processor)
        room = (repeat(i, min(ranks, node.processors * per_processor)) for i, node in enumerate(machine.nodes))
        return cls(tuple(islice(chain.from_iterable(room), ranks)))

    @classmethod
    def cyclic(cls, machine: Machine, ranks: int, per_processor: int = 1) -> Placement:
        """Deal ranks to the nodes round-robin, ``per_processor`` ranks to each processor.

        Raises:
            UsageError: If it is no machine, or has too few processors; a number is not whole; or there are more ranks
                than may be placed.
        """
        _check_room(machine, ranks, per_processor)
        return cls(tuple(islice(_dealt([node.processors * per_processor for node in machine.nodes]), ranks)))

    @classmethod
    def seated(cls, order: Sequence[int], seats: Sequence[int], ranks: int, *, in_turn: bool = False) -> Placement:
        """Give each rank a seat on a node; there must be enough seats.

        Args:
            order: The nodes in the order in which they are filled.
            seats: Number of ranks that each node takes, by node index.
            ranks: Number of ranks.
            in_turn: Whether ranks are dealt to the nodes round-robin; otherwise one node after another is filled.

        Raises:
            UsageError: If there are more ranks than may be placed.
        """
        _check_number(ranks)
        room = [seats[node] for node in order]
        places = _dealt(room) if in_turn else chain.from_iterable(repeat(i, n) for i, n in enumerate(room))
        return cls(tuple(order[i] for i in islice(places, ranks)))

    @classmethod
    def listed(cls, machine: Machine, nodes: Iterable[Any], ranks: int) -> Placement:
        """Place each rank on its listed node, an integer; a node may be listed more often than it has processors.

        Raises:
            UsageError: If it is no machine; there is no list, it has the wrong length, or names a node that does not
                exist; or there are more ranks than may be placed.
        """
        _check_machine(machine)
        _check_number(ranks)
        # The keys of a mapping are its ranks, not their nodes, and a set has no order.
        if isinstance(nodes, str | Mapping | Set) or not isinstance(nodes, Iterable):
            raise UsageError(f"placement must be block, cyclic or a list of nodes, got {nodes!r}")
        listed = tuple(nodes)
        if len(listed) != ranks:
            raise UsageError(f"placement: list must name one node per rank ({ranks}), got {len(listed)}")
        return cls(tuple(_existing(machine, node, rank) for rank, node in enumerate(listed)))


def _existing(machine: Machine, node: int, rank: int) -> int:
    """Return the index of a rank's node, which may be an integer of numpy."""
    rule = f"placement: node of rank {rank} must be"
    try:
        number = index(node)
    except TypeError:
        raise UsageError(f"{rule} a whole number, got {node!r}") from None
    if not 0 <= number < len(machine.nodes):
        raise UsageError(f"{rule} from 0 to {len(machine.nodes) - 1}, got {number}")
    return number


def _check_machine(machine: Machine) -> None:
    if not isinstance(machine, Machine):
        raise UsageError(f"machine must be one that clue.load_machine returned, got {machine!r}")


def _check_number(ranks: int) -> None:
    if not is_count(ranks, 0):
        raise UsageError(f"placement: ranks must be a whole number of at least 0, got {ranks!r}")
    if ranks > MOST_RANKS:
        raise UsageError(f"placement: ranks of all instances must be at most {MOST_RANKS}, got {ranks}")


def _check_room(machine: Machine, ranks: int, per_processor: int) -> None:
    _check_machine(machine)
    _check_number(ranks)
    if not COUNT.holds(per_processor):
        raise UsageError(f"placement: ranks on each processor must be {COUNT.words}, got {per_processor!r}")
    room = machine.processors * per_processor
    if ranks > room:
        each = f" with {per_processor} per processor" if per_processor > 1 else ""
        raise UsageError(
            f"placement: ranks must be at most {room} on {machine.name} "
            f"({count_of(len(machine.nodes), 'node')}, {count_of(machine.processors, 'processor')}){each}, "
            f"got {ranks}: list a node for each rank to let ranks share processors"
        )


def _dealt(room: Sequence[int]) -> Iterator[int]:
    """Yield nodes round-robin, each as often as it has room."""
    left = list(enumerate(room))
    for turn in count(1):
        yield from (i for i, _ in left)
        left = [(i, places) for i, places in left if places > turn]
        if not left:
            return
