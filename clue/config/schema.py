"""The form of a machine file, key by key: what may stand where, in which unit, and what each key means.

Pydantic models only: they check one value at a time and print the JSON Schema. What several keys say together
(a node type that is named must exist) is checked in :mod:`clue.config.machines`, where the values of clue
proper are built. Words and parameters follow the CLUE paper, section 3.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Strict, Tag

from clue.config.faults import did_you_mean
from clue.config.forms import Form, curve_shape, shape
from clue.config.quantities import (
    Bandwidth,
    EagerLimit,
    Number,
    OtherEagerLimit,
    Price,
    Size,
    Speed,
    Time,
    TimePerByte,
    says_none,
)
from clue.machine import MOST_RANKS

# --- delay curves and links ---


class LineForm(Form):
    """A straight line: latency + size / bandwidth."""

    latency: Time = Field(description="Time of an empty message.")
    bandwidth: Bandwidth | None = Field(None, description="Left out: the size costs nothing.")


Point = Annotated[tuple[Size, Time], Strict(False)]


def _rising(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    for (before, _), (size, _) in pairwise(points):
        if size <= before:
            raise ValueError(f"must be sorted by strictly rising size, got {size:.15g} B after {before:.15g} B")
    if len(points) > 1 and points[-1][1] < points[-2][1]:
        raise ValueError("must not fall over the last segment, whose slope goes on beyond it, got a falling one")
    return points


class PointsForm(Form):
    """Points [size, time] with straight lines between; the last segment goes on beyond the last point."""

    points: Annotated[list[Point], Field(min_length=1), AfterValidator(_rising)]


CurveForm = Annotated[
    Annotated[Time, Tag("<one>")] | Annotated[LineForm, Tag("<line>")] | Annotated[PointsForm, Tag("<points>")],
    Discriminator(curve_shape),
]


#: More than this is no measurement.
Deviation = Annotated[float, Field(ge=0, le=1)]


class LinkNoiseForm(Form):
    """How far delays may be from what is stated: relative standard deviations, 0.05 for 5 %."""

    send: Deviation = Field(0.0, description="Of send and receive delays, all messages of the link together.")
    transmission: Deviation = Field(0.0, description="Of the transmission delay, all messages of the link together.")


class LinkForm(Form):
    """How messages travel between two ranks."""

    send_delay: CurveForm = Field(description="Time for which the sender is blocked, by message size.")
    transmission_delay: CurveForm = Field(description="Further time until the message arrives, by message size.")
    receive_delay: Time = Field(0.0, description="Time used in a receive or probe, whether it finds something or not.")
    eager_limit: EagerLimit = Field(
        None, description="Largest message that is sent without waiting for its receive; none, or left out: all are."
    )
    noise: LinkNoiseForm | None = Field(None, description="How sure the delays are; left out: that of the network.")


class BetweenNodesForm(LinkForm):
    """How messages travel between two ranks of different nodes, where they share ports or links with others."""

    busy: CurveForm | None = Field(
        None,
        description="Time for which a message keeps a port, or the links of a topology if they were its own, by its "
        "size; left out: the part of its delays that grows with its size.",
    )


class PartialLinkForm(Form):
    """What differs from the link it stands in for; keys left out are those of that link."""

    send_delay: CurveForm | None = Field(None, description="Time for which the sender is blocked.")
    transmission_delay: CurveForm | None = Field(None, description="Further time until the message arrives.")
    receive_delay: Time | None = Field(None, description="Time used in a receive or probe.")
    eager_limit: OtherEagerLimit = Field(
        None, description="Largest message sent without waiting for its receive; none: all are."
    )
    noise: LinkNoiseForm | None = Field(None, description="How sure the delays are.")


class BetweenForm(PartialLinkForm):
    """A link between different nodes of two types, in both directions."""

    between: Annotated[list[str], Field(min_length=2, max_length=2)] = Field(description="Names of two node types.")
    busy: CurveForm | None = Field(
        None,
        description="Time for which a message keeps what it shares; left out with delays of its own: the part of these "
        "that grows with its size.",
    )


class WithinForm(PartialLinkForm):
    """A link within a node of one type."""

    within: str = Field(description="Name of a node type.")


def _pair_shape(value: object) -> str:
    return "<within>" if isinstance(value, dict) and "within" in value else "<between>"


PairForm = Annotated[
    Annotated[BetweenForm, Tag("<between>")] | Annotated[WithinForm, Tag("<within>")],
    Discriminator(_pair_shape),
]


def _each_pair_once(pairs: list[BetweenForm | WithinForm]) -> list[BetweenForm | WithinForm]:
    seen = set()
    for pair in pairs:
        names = tuple(sorted(pair.between)) if isinstance(pair, BetweenForm) else (pair.within,)
        if names in seen:
            raise ValueError(f"must have each pair once, got {' and '.join(names)} twice")
        seen.add(names)
    return pairs


# --- node types ---

Factor = Number
Share = Annotated[Number, Field(gt=0, le=1)]
PositiveInt = Annotated[int, Field(ge=1, le=10**12)]
Ranks = Annotated[int, Field(ge=1, le=MOST_RANKS)]


class NodeNoiseForm(Form):
    """How far computation times may be from what is stated: relative standard deviations, 0.03 for 3 %."""

    computation: Deviation = Field(0.0, description="Of each burst, independently of all others.")
    factor: Deviation = Field(0.0, description="Of the performance factor: of all bursts on such nodes together.")


class NodeTypeForm(Form):
    """One kind of node."""

    processors: PositiveInt = Field(1, description="Processors of a node; a processor is one CPU core.")
    memory: Size | None = Field(None, description="Memory per node; left out: memory is not checked.")
    performance_factor: Annotated[
        Annotated[Factor, Tag("<one>")] | Annotated[dict[str, Factor], Tag("<table>")], Discriminator(shape)
    ] = Field(
        1.0,
        description="Multiplies recorded computation time, so smaller is faster; 0 leaves it unscaled. "
        "One number, or numbers by region, where 'default' stands for any other region.",
    )
    speed: dict[str, Speed] = Field(
        default={},
        description="Speed of one processor by region; it takes precedence over performance_factor where "
        "the program declares its flops in that region.",
    )
    memory_contention_factor: dict[
        PositiveInt,
        Annotated[Annotated[Share, Tag("<one>")] | Annotated[dict[str, Share], Tag("<table>")], Discriminator(shape)],
    ] = Field(
        default={},
        description="Share of its speed that a processor keeps, by number of busy processors of its node: "
        "one share, or shares by region, where 'default' stands for any other region.",
    )
    background_load: Number = Field(
        0.0, description="Competing processes that are always runnable on each node; may be fractional."
    )
    time_slice: Time = Field(
        0.0,
        description="How long a process runs before another has its turn, where ranks share processors with background "
        "load (Linux: some 3 ms); left out: processors are shared evenly at every instant.",
    )
    price: Price | None = Field(None, description="Price of one node.")
    initialisation_delay: Time = Field(0.0, description="Time before a spawned process starts.")
    spawn_delay: Time = Field(0.0, description="Time that spawning takes the caller.")
    packing_delay: TimePerByte = Field(0.0, description="Time per amount of data packed or unpacked.")
    reduction_delay: TimePerByte = Field(0.0, description="Time per amount of data combined in a reduction.")
    wait: Literal["yield", "poll"] = Field(
        "yield",
        description="What a rank does with its processor while it waits in MPI: gives it up, or keeps it.",
    )
    source: str = Field("", description="Where the figures come from.")
    noise: NodeNoiseForm = Field(
        default_factory=lambda: NodeNoiseForm.model_validate({}),
        description="How sure computation times are; left out: no noise is drawn.",
    )


# --- network ---


class AlgorithmForm(Form):
    """One algorithm of a collective, up to a size."""

    up_to: Size | None = Field(None, description="Largest size for this algorithm; left out in the last entry only.")
    algorithm: str = Field(description="Name of the algorithm.")


def _sorted_limits(entries: list[AlgorithmForm]) -> list[AlgorithmForm]:
    limits = [entry.up_to for entry in entries[:-1]]
    if entries[-1].up_to is not None:
        raise ValueError("must end with an entry without up_to, which takes all larger sizes, got none")
    known = [limit for limit in limits if limit is not None]
    if len(known) < len(limits):
        raise ValueError("must have up_to in all entries but the last, got one without")
    if any(b <= a for a, b in pairwise(known)):
        raise ValueError("must be sorted by strictly rising up_to, got one that does not rise")
    return entries


Algorithms = Annotated[
    Annotated[str, Tag("<one>")]
    | Annotated[list[AlgorithmForm], Field(min_length=1), AfterValidator(_sorted_limits), Tag("<list>")],
    Discriminator(shape),
]


def _from_one(table: dict[int, float]) -> dict[int, float]:
    if 1 not in table:
        raise ValueError(f"must have an entry for 1 communication, got none below {min(table, default=0)}")
    return dict(sorted(table.items()))


# --- contention ---

#: Most places and links of a topology: enough for the largest computers there are.
MOST_PLACES = 1_000_000
MOST_LINKS = 20_000_000

Places = Annotated[int, Field(ge=1, le=MOST_PLACES)]


class SwitchForm(Form):
    """One switch that never blocks."""

    topology: Literal["switch"] = Field(description="One switch that never blocks.")
    bandwidth: Bandwidth = Field(description="Of the link of each node, each way.")


class SwitchesForm(Form):
    """Switches of equally many nodes, each with an uplink to a core that never blocks."""

    topology: Literal["switches"] = Field(description="Several switches, each with an uplink to a core.")
    nodes_per_switch: Places = Field(description="Nodes at each switch; the last may have fewer.")
    bandwidth: Bandwidth = Field(description="Of the link of each node, each way.")
    oversubscription: Annotated[Number, Field(gt=0)] = Field(
        1.0, description="Bandwidth of a switch's nodes together over that of its uplink: 2 for 2:1."
    )


Levels = Annotated[list[Places], Field(min_length=1, max_length=10)]


class FatTreeForm(Form):
    """A fat tree with D-mod-k routing; lists run from the nodes upwards, one entry for each level of switches."""

    topology: Literal["fat_tree"] = Field(description="A fat tree with D-mod-k routing.")
    down: Levels = Field(description="Children of a switch: nodes at level 1, switches above.")
    up: Levels = Field(description="Parents of a node (usually 1), then of a switch of each level but the top.")
    links: Levels | None = Field(None, description="Cables between a child and each of its parents; left out: 1.")
    bandwidth: Annotated[
        Annotated[Bandwidth, Tag("<one>")] | Annotated[list[Bandwidth], Tag("<list>")], Discriminator(shape)
    ] = Field(description="Of each cable, each way: one for all levels, or one for each.")

    @property
    def cables(self) -> list[int]:
        """Cables by level."""
        return [1] * len(self.down) if self.links is None else self.links

    @property
    def bandwidths(self) -> list[float]:
        """Bandwidths by level."""
        return self.bandwidth if isinstance(self.bandwidth, list) else [self.bandwidth] * len(self.down)


class TorusForm(Form):
    """A torus with dimension-order routing."""

    topology: Literal["torus"] = Field(description="A grid of nodes whose ends are joined.")
    dimensions: Annotated[list[Places], Field(min_length=1, max_length=10)] = Field(
        description="Places in each dimension; node 1 is next to node 0 in the first."
    )
    bandwidth: Bandwidth = Field(description="Of the link to each neighbour, each way.")


class DragonflyBandwidthForm(Form):
    """Bandwidths of the three kinds of links of a dragonfly, each way."""

    node: Bandwidth = Field(description="Of the link of each node.")
    within_group: Bandwidth = Field(description="Of the link between each two routers of a group.")
    between_groups: Bandwidth = Field(description="Of the link between each two groups.")


class DragonflyForm(Form):
    """A dragonfly with minimal routing."""

    topology: Literal["dragonfly"] = Field(description="Groups of routers, joined all to all inside and outside.")
    groups: Places = Field(description="Groups, each two joined by one link each way.")
    routers_per_group: Places = Field(description="Routers of a group, each two joined by one link each way.")
    nodes_per_router: Places = Field(description="Nodes at each router.")
    bandwidth: Annotated[
        Annotated[Bandwidth, Tag("<one>")] | Annotated[DragonflyBandwidthForm, Tag("<table>")], Discriminator(shape)
    ] = Field(description="Of each link, each way: one for all, or one for each of the three kinds.")

    @property
    def bandwidths(self) -> DragonflyBandwidthForm:
        """Bandwidths by kind of link."""
        one = self.bandwidth
        if isinstance(one, DragonflyBandwidthForm):
            return one
        return DragonflyBandwidthForm.model_construct(node=one, within_group=one, between_groups=one)


TOPOLOGIES = ("switch", "switches", "fat_tree", "torus", "dragonfly")


def _topology_known(value: object) -> object:
    if isinstance(value, dict) and value.get("topology") not in TOPOLOGIES:
        got = value.get("topology")
        named = f'"{got}"{did_you_mean(got, TOPOLOGIES)}' if "topology" in value else "none"
        raise ValueError(f"must have a topology ({', '.join(TOPOLOGIES)}), got {named}")
    return value


def _topology_shape(value: object) -> str:
    return f"<{value['topology']}>" if isinstance(value, dict) else "<switch>"


FlowsForm = Annotated[
    Annotated[SwitchForm, Tag("<switch>")]
    | Annotated[SwitchesForm, Tag("<switches>")]
    | Annotated[FatTreeForm, Tag("<fat_tree>")]
    | Annotated[TorusForm, Tag("<torus>")]
    | Annotated[DragonflyForm, Tag("<dragonfly>")],
    Discriminator(_topology_shape),
    BeforeValidator(_topology_known),
]

FactorForm = Annotated[dict[PositiveInt, Annotated[Number, Field(ge=1)]], AfterValidator(_from_one)]


class PortsForm(Form):
    """Each node's send and receive port serve messages in turn."""

    busy: CurveForm | None = Field(
        None,
        description="Time for which a message keeps a port, by its size, whatever its link says; left out: as that "
        "says.",
    )


class ContentionForm(Form):
    """One of the models of contention, with its parameters."""

    factor: FactorForm | None = Field(
        None,
        description="Factor on send and transmission delays by number of simultaneous communications "
        "between nodes; linear between entries, constant beyond the last.",
    )
    ports: PortsForm | None = Field(None, description="Each node's send and receive port serve messages in turn.")
    flows: FlowsForm | None = Field(None, description="Messages share the links of a topology max-min fairly.")


MODELS = tuple(ContentionForm.model_fields)


def _one_model(form: ContentionForm) -> ContentionForm:
    given = [name for name in MODELS if getattr(form, name) is not None]
    if len(given) != 1:
        raise ValueError(f"must have one of {', '.join(MODELS)}, got {' and '.join(given) or 'none'}")
    return form


def _contention_shape(value: object) -> str:
    if not isinstance(value, dict):
        return shape(value)
    return "<model>" if any(isinstance(key, str) for key in value) else "<table>"


AnyContentionForm = Annotated[
    Annotated[Literal["none", "ports"], Tag("<one>")]
    | Annotated[FactorForm, Tag("<table>")]
    | Annotated[ContentionForm, AfterValidator(_one_model), Tag("<model>")],
    Discriminator(_contention_shape),
]


def _contention_word(value: object) -> object:
    return "none" if says_none(value) else value


class LogGOPSForm(Form):
    """The network in the parameters of LogGOPS (Hoefler and others, 2010), for a message of m bytes, m at least 1."""

    L: Time = Field(description="Latency: the first byte is there L after it was sent.")
    o: Time = Field(description="Overhead: time that the processor takes to send, and to receive, a message.")
    g: Time = Field(description="Gap between messages: a port is busy for g + (m - 1) G.")
    G: TimePerByte = Field(description="Gap per byte: transmission takes L + (m - 1) G.")
    O: TimePerByte = Field(0.0, description="Overhead per byte of a send, which takes o + (m - 1) O.")  # noqa: E741
    S: EagerLimit = Field(
        None, description="Largest message that is sent without waiting for its receive; none, or left out: all are."
    )


# --- the whole network ---


class CollectivesForm(Form):
    """Whose choices of algorithm hold, and by name of a collective the algorithms that differ from them."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Algorithms]

    library: Literal["mpich", "openmpi"] = Field("mpich", description="Whose choices of algorithm hold.")

    @property
    def choices(self) -> dict[str, str | list[AlgorithmForm]]:
        """The algorithms that differ, by name of the collective."""
        return self.__pydantic_extra__


def _no_loggops(value: object) -> object:
    if isinstance(value, dict) and "loggops" in value:
        raise ValueError("must be a link; loggops stands beside, as network.loggops, got loggops in between_nodes")
    return value


class NetworkForm(Form):
    """How the nodes talk."""

    between_nodes: Annotated[BetweenNodesForm | None, BeforeValidator(_no_loggops)] = Field(
        None, description="Link between ranks of different nodes; may be left out only if there is one node or loggops."
    )
    loggops: LogGOPSForm | None = Field(
        None,
        description="The link between nodes, and its ports, by the parameters of LogGOPS: instead of between_nodes.",
    )
    within_node: LinkForm | None = Field(
        None, description="Link between ranks of one node; left out: that between nodes."
    )
    pairs: Annotated[list[PairForm], AfterValidator(_each_pair_once)] = Field(
        default=[], description="Links that differ for two node types, or within nodes of one type."
    )
    contention: Annotated[AnyContentionForm | None, BeforeValidator(_contention_word)] = Field(
        None,
        description="How messages between nodes slow each other down; none: not at all; left out: ports. A table of "
        "numbers alone is one of factors.",
    )
    collectives: CollectivesForm = Field(
        default_factory=lambda: CollectivesForm.model_validate({}),
        description="Algorithms of the collectives.",
    )
    noise: LinkNoiseForm = Field(
        default_factory=lambda: LinkNoiseForm.model_validate({}),
        description="How sure the delays of links are that do not say so themselves.",
    )


# --- the machine ---


class NodesForm(Form):
    """A group of equal nodes."""

    count: Annotated[int, Field(ge=1, le=1_000_000)] = Field(1, description="How many.")
    type: str = Field(description="Name of their node type.")


class ChangeForm(Form):
    """Parameters that change at a virtual time; only what differs is given."""

    at: Time = Field(description="Virtual time from which they hold.")
    node_types: dict[str, dict[str, Any]] = Field(
        default={}, description="Keys of node types as above; processors may not change."
    )
    network: dict[str, Any] = Field(default={}, description="Keys of the network as above.")


def _rising_times(changes: list[ChangeForm]) -> list[ChangeForm]:
    if any(b.at <= a.at for a, b in pairwise(changes)):
        raise ValueError("must be sorted by strictly rising time, got one that does not rise")
    return changes


Notes = Annotated[
    Annotated[str, Tag("<one>")] | Annotated[list[str], Tag("<list>")],
    Discriminator(shape),
]


class MachineForm(Form):
    """A virtual cluster."""

    name: str | None = Field(None, min_length=1, description="Its name; left out: that of the file.")
    nodes: Annotated[list[NodesForm], Field(min_length=1)] = Field(description="Its nodes, in order of their index.")
    node_types: Annotated[dict[str, NodeTypeForm], Field(min_length=1)] = Field(description="Kinds of nodes, by name.")
    network: NetworkForm = Field(description="How the nodes talk.")
    changes: Annotated[list[ChangeForm], AfterValidator(_rising_times)] = Field(
        default=[], description="Parameters that change during a run, by rising virtual time."
    )
    price: Price | None = Field(
        None,
        description="Price of the whole; left out: the sum over its nodes, if every node type has a price.",
    )
    source: str = Field("", description="Where the figures come from.")
    notes: Notes = Field(default=[], description="What a reader of results should know about this machine.")
    reference_processor: str = Field(
        "", description="Processor that the performance factors are relative to, as a trace names it."
    )
