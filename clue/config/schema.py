"""The form of a machine file, key by key: its keys, their units and their meaning.

Pydantic models only: they check one value at a time and generate the JSON Schema. :mod:`clue.config.machines` checks
rules over several keys (a named node type must exist), and builds the values of :mod:`clue.machine`. Terms and
parameters follow the CLUE paper, section 3.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Strict, Tag
from pydantic.config import JsonDict

from clue.config.contention import AnyContentionForm, LogGOPSForm
from clue.config.curves import CurveForm
from clue.config.forms import Form, Name, OneOrTable, shape
from clue.config.quantities import (
    Bandwidth,
    EagerLimit,
    Number,
    OtherEagerLimit,
    PositiveInt,
    Price,
    Size,
    Time,
    TimePerByte,
)
from clue.config.speeds import SpeedForm
from clue.machine import MOST_RANKS

# --- links ---


#: Relative standard deviation: a larger one than 1 is not a measurement.
Deviation = Annotated[float, Field(ge=0, le=1)]


class LinkNoiseForm(Form):
    """Uncertainty of delays: relative standard deviations, 0.05 for 5 %."""

    send: Deviation = Field(0.0, description="That of send and receive delays, common to all messages of the link.")
    transmission: Deviation = Field(
        0.0, description="That of the transmission delay, common to all messages of the link."
    )


class LinkForm(Form):
    """How messages travel between two ranks."""

    send_delay: CurveForm = Field(description="Duration of a blocking send until its data have left, by message size.")
    send_overhead: CurveForm | None = Field(
        None,
        description="Processor time of the call of a send, by message size; default: send_delay.",
    )
    transmission_delay: CurveForm = Field(description="Further time until the message arrives, by message size.")
    receive_delay: Time = Field(0.0, description="Time of a receive or probe call, whether or not it finds a message.")
    receive_overhead: Time | None = Field(
        None,
        description="Processor time of a receive in all. What exceeds receive_delay is spent once the message is "
        "there, in the receive or in the wait for it. Default: receive_delay.",
    )
    eager_limit: EagerLimit = Field(
        None, description="Largest message that is sent without waiting for its receive; none (the default): all are."
    )
    acknowledged_from: EagerLimit = Field(
        None,
        description="Smallest eager message whose send ends only when the receiver's library has acknowledged it; "
        "none (the default): no send waits for that.",
    )
    rendezvous: Literal["write", "read"] = Field(
        "write",
        description="Which rank moves the data of a message above the eager limit: the sender writes them, once it has "
        "the receiver's answer, or the receiver reads them from the sender's memory.",
    )
    noise: LinkNoiseForm | None = Field(None, description="Uncertainty of the delays; default: that of the network.")


class BetweenNodesForm(LinkForm):
    """How messages travel between two ranks on different nodes, where they share ports or links with others."""

    busy: CurveForm | None = Field(
        None,
        description="Time for which a message alone occupies a port, or the links of a topology, by its size; default: "
        "the part of its delays that grows with its size.",
    )
    bucket: Size = Field(
        0.0,
        description="Bytes that a port or link lets through at once after idle time, as shaped networks do (depth of a "
        "token bucket). It is never less than what a message's own delays show.",
    )


class WithinNodeForm(LinkForm):
    """How messages travel between two ranks of one node."""

    copy_time: CurveForm | None = Field(
        None,
        description="Time for which the receiver of a message above the eager limit copies it, by its size. A rank "
        "copies one message at a time; default: messages do not wait for that.",
    )


class LinkBetweenNodesForm(BetweenNodesForm):
    """How messages travel between nodes; a part or a machine, if one is given, supplies the keys that are left out."""

    send_delay: CurveForm | None = Field(  # type: ignore[assignment]
        None,
        description="Duration of a blocking send until its data have left, by message size; required unless supplied.",
    )
    transmission_delay: CurveForm | None = Field(  # type: ignore[assignment]
        None, description="Further time until the message arrives, by message size; required unless supplied."
    )


class PartialLinkForm(Form):
    """The keys in which a link differs from another one; the other link supplies the rest."""

    send_delay: CurveForm | None = Field(None, description="Duration of a blocking send until its data have left.")
    send_overhead: CurveForm | None = Field(None, description="Processor time of the call of a send.")
    transmission_delay: CurveForm | None = Field(None, description="Further time until the message arrives.")
    receive_delay: Time | None = Field(None, description="Time of a receive or probe call.")
    receive_overhead: Time | None = Field(None, description="Processor time of a receive in all.")
    eager_limit: OtherEagerLimit = Field(
        None, description="Largest message sent without waiting for its receive; none: all are."
    )
    acknowledged_from: OtherEagerLimit = Field(
        None, description="Smallest message whose send ends only when it is acknowledged; none: no send waits for that."
    )
    rendezvous: Literal["write", "read"] | None = Field(
        None, description="Which rank moves the data of a message above the eager limit: its sender or its receiver."
    )
    noise: LinkNoiseForm | None = Field(None, description="Uncertainty of the delays.")


class BetweenForm(PartialLinkForm):
    """A link between different nodes of two types, in both directions."""

    between: Annotated[list[str], Field(min_length=2, max_length=2)] = Field(description="Names of two node types.")
    busy: CurveForm | None = Field(
        None,
        description="Time for which a message occupies shared resources; default, if the link has delays of its own: "
        "the part of these that grows with its size.",
    )
    bucket: Size | None = Field(
        None,
        description="Bytes that a port or link lets through at once after idle time; default, if the link has delays "
        "of its own: 0 B.",
    )


class WithinForm(PartialLinkForm):
    """A link within a node of one type."""

    within: str = Field(description="Name of a node type.")
    copy_time: CurveForm | None = Field(
        None,
        description="Time for which the receiver of a message above the eager limit copies it; default, if the link "
        "has delays of its own: messages do not wait for that.",
    )


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
Ranks = Annotated[int, Field(ge=1, le=MOST_RANKS)]


class NodeNoiseForm(Form):
    """Uncertainty of computation times: relative standard deviations, 0.03 for 3 %."""

    computation: Deviation = Field(0.0, description="That of each burst, independent of all others.")
    factor: Deviation = Field(0.0, description="That of the performance factor, common to all bursts on such nodes.")


Wait = Annotated[tuple[Time, Time], Strict(False)]


def _rising_waits(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    for (before, less), (wait, extra) in pairwise([(-1.0, 0.0), *points]):
        if wait <= before:
            raise ValueError(f"must be sorted by strictly rising wait, got {wait:.15g} s after {before:.15g} s")
        if extra < less:
            raise ValueError(f"must not fall with the wait, got {extra:.15g} s after {less:.15g} s")
    if points[0][0] == 0.0 < points[0][1]:
        raise ValueError(f"must be 0 s after no wait, got {points[0][1]:.15g} s")
    return points


class ColdStartForm(Form):
    """Extra time of a burst after its rank has waited: its caches have cooled down."""

    after: Annotated[list[Wait], Field(min_length=1), AfterValidator(_rising_waits)] = Field(
        description="Points [wait, extra time] with linear interpolation, from 0 s after no wait; constant beyond the "
        "last."
    )
    at_most: Annotated[Number, Field(gt=0)] = Field(
        1.0,
        description="Largest extra time of a burst, as a share of its warm time; the next bursts pay what is left.",
    )


class NodeTypeForm(Form):
    """One kind of node."""

    processor: Name | None = Field(
        None,
        description="A processor of the hardware library (parts/amd-epyc-9654), or a file with one: the node has the "
        "cores of its sockets, unless processors states another number.",
    )
    sockets: PositiveInt = Field(1, description="With processor: number of sockets of a node.")
    processors: PositiveInt = Field(1, description="Processors of a node; a processor is one CPU core.")
    domains: PositiveInt = Field(
        1,
        description="Number of equal groups of a node's processors, such as sockets or cores that share a cache; ranks "
        "fill processors in order, and communicate between domains by network.across_domains.",
    )
    memory: Size | None = Field(None, description="Memory per node; default: memory is not checked.")
    performance_factor: OneOrTable[Factor, dict[str, Factor]] = Field(
        1.0,
        description="Multiplies recorded computation time, so smaller is faster; 0 leaves it unscaled. "
        "One number, or numbers by region, where 'default' stands for any other region.",
    )
    speed: dict[str, SpeedForm] = Field(
        default={},
        description="Speed of one processor by region; it takes precedence over performance_factor where "
        "the program declares its flops in that region. One speed, or a function of the operations of a burst: points, "
        "or a routine that clue forecast has measured.",
    )
    memory_contention_factor: dict[PositiveInt, OneOrTable[Share, dict[str, Share]]] = Field(
        default={},
        description="Share of its speed that a processor keeps, by number of busy processors of its node: "
        "one share, or shares by region, where 'default' stands for any other region. A region without a share takes "
        "that of fewer busy processors.",
    )
    background_load: Number = Field(
        0.0, description="Competing processes that are always runnable on each node; may be fractional."
    )
    time_slice: Time = Field(
        0.0,
        description="Time slice of the scheduler, where ranks share processors with background load (Linux: about 3 "
        "ms); default: processors are shared evenly at every instant.",
    )
    cold_start: ColdStartForm | None = Field(None, description="Extra time of bursts after waits; default: none.")
    copy_bandwidth: Bandwidth | None = Field(
        None,
        description="Rate at which the memory of a node copies all messages within it together; simultaneous "
        "copies share it equally. Default: they do not slow each other down.",
    )
    price: Price | None = Field(None, description="Price of one node.")
    initialisation_delay: Time = Field(0.0, description="Time before a spawned process starts.")
    spawn_delay: Time = Field(0.0, description="Time that the caller of Spawn spends in it.")
    packing_delay: TimePerByte = Field(0.0, description="Time per amount of data packed or unpacked.")
    reduction_delay: TimePerByte = Field(0.0, description="Time per amount of data combined in a reduction.")
    wait: Literal["yield", "poll"] = Field(
        "yield",
        description="What a rank does with its processor while it waits in MPI: gives it up, or keeps it busy.",
    )
    source: str = Field("", description="Where the figures come from.")
    noise: NodeNoiseForm = Field(
        default_factory=lambda: NodeNoiseForm.model_validate({}),
        description="Uncertainty of computation times; default: no noise.",
    )


# --- network ---


class AlgorithmForm(Form):
    """One algorithm of a collective, up to a size."""

    up_to: Size | None = Field(
        None,
        description="Largest size for this algorithm, of a vector or of one rank's block; if blocks differ, their mean "
        "counts, rounded down. Must be left out in the last entry, and only there.",
    )
    algorithm: str = Field(description="Name of the algorithm.")


def _sorted_limits(entries: list[AlgorithmForm]) -> list[AlgorithmForm]:
    limits = [entry.up_to for entry in entries[:-1]]
    if entries[-1].up_to is not None:
        raise ValueError("must end with an entry without up_to, which takes all larger sizes, got none")
    known = [limit for limit in limits if limit is not None]
    if len(known) < len(limits):
        raise ValueError("must have up_to in all entries but the last, got one without")
    if any(b <= a for a, b in pairwise(known)):
        raise ValueError("must be sorted by strictly rising up_to, got one that does not")
    return entries


Algorithms = Annotated[
    Annotated[str, Tag("<one>")]
    | Annotated[list[AlgorithmForm], Field(min_length=1), AfterValidator(_sorted_limits), Tag("<list>")],
    Discriminator(shape),
]


# --- the whole network ---


class CollectivesForm(Form):
    """The library whose choices of algorithms hold, and exceptions by name of a collective."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Algorithms]

    library: Literal["mpich", "mpich-flat", "openmpi"] = Field(
        "mpich",
        description="Library whose choices of algorithms hold; mpich-flat as if each rank had a node of its own.",
    )

    @property
    def choices(self) -> dict[str, str | list[AlgorithmForm]]:
        """The exceptions, by name of the collective."""
        return self.__pydantic_extra__


def no_loggops(value: object) -> object:
    """Refuse parameters of LogGOPS in a link."""
    if isinstance(value, dict) and "loggops" in value:
        raise ValueError("must be a link, with loggops as network.loggops, got loggops in between_nodes")
    return value


#: Without a part or a machine, nothing supplies the keys that a link between nodes leaves out.
_WHOLE_LINK: JsonDict = {
    "if": {"not": {"anyOf": [{"required": ["part"]}, {"required": ["machine"]}]}},
    "then": {"properties": {"between_nodes": {"required": ["send_delay", "transmission_delay"]}}},
}


class NetworkForm(Form):
    """The network between and within nodes."""

    # Parts are expanded before the form is checked, which then has a whole link.
    model_config = ConfigDict(json_schema_extra=_WHOLE_LINK)

    part: Name | None = Field(
        None,
        description="A network of the hardware library (parts/infiniband-hdr), or a file with one: it supplies the "
        "link between nodes; keys of between_nodes override it.",
    )
    between_nodes: Annotated[
        BetweenNodesForm | None,
        BeforeValidator(no_loggops, json_schema_input_type=LinkBetweenNodesForm | None),
    ] = Field(None, description="Link between ranks on different nodes; required unless there is one node, or loggops.")
    loggops: LogGOPSForm | None = Field(
        None,
        description="Instead of between_nodes: the link between nodes, and its ports, in the parameters of LogGOPS.",
    )
    within_node: WithinNodeForm | None = Field(
        None, description="Link between ranks on one node; default: that between nodes."
    )
    across_domains: WithinNodeForm | None = Field(
        None, description="Link between ranks on one node in different domains; default: that within the node."
    )
    pairs: Annotated[list[PairForm], AfterValidator(_each_pair_once)] = Field(
        default=[], description="Links that differ for two node types, or within nodes of one type."
    )
    contention: AnyContentionForm = Field(
        None,
        description="How messages between nodes slow each other down; none: not at all; default: ports. A plain table "
        "of numbers is a table of factors.",
    )
    progress: Literal["asynchronous", "calls"] = Field(
        "asynchronous",
        description="When the MPI library answers and acknowledges messages: at any time (by a thread or the network "
        "adapter), or only while its rank is in a call that waits or tests.",
    )
    collectives: CollectivesForm = Field(
        default_factory=lambda: CollectivesForm.model_validate({}),
        description="Algorithms of the collectives.",
    )
    noise: LinkNoiseForm = Field(
        default_factory=lambda: LinkNoiseForm.model_validate({}),
        description="Uncertainty of the delays of links that state none themselves.",
    )


# --- the machine ---


class NodesForm(Form):
    """A group of identical nodes."""

    count: Annotated[int, Field(ge=1, le=1_000_000)] = Field(1, description="How many.")
    type: str = Field(description="Name of their node type.")


class ChangeForm(Form):
    """Parameters that change at a virtual time; only the differences are given."""

    at: Time = Field(description="Virtual time from which they hold.")
    node_types: dict[str, dict[str, Any]] = Field(
        default={},
        description="Keys of node types as above; processor, sockets, processors, domains, memory, copy_bandwidth and "
        "price may not change.",
    )
    network: dict[str, Any] = Field(
        default={},
        description="Keys of the network as above; part, progress, collectives, and the model and topology of "
        "contention may not change.",
    )


def _rising_times(changes: list[ChangeForm]) -> list[ChangeForm]:
    if any(b.at <= a.at for a, b in pairwise(changes)):
        raise ValueError("must be sorted by strictly rising time, got one that does not")
    return changes


Notes = Annotated[
    Annotated[str, Tag("<one>")] | Annotated[list[str], Tag("<list>")],
    Discriminator(shape),
]


class MachineForm(Form):
    """A virtual cluster."""

    name: str | None = Field(None, min_length=1, description="Its name; default: that of the file.")
    nodes: Annotated[list[NodesForm], Field(min_length=1)] = Field(description="Its nodes, in order of their index.")
    node_types: Annotated[dict[str, NodeTypeForm], Field(min_length=1)] = Field(description="Kinds of nodes, by name.")
    network: NetworkForm = Field(description="The network between and within nodes.")
    changes: Annotated[list[ChangeForm], AfterValidator(_rising_times)] = Field(
        default=[], description="Parameters that change during a run, by rising virtual time."
    )
    price: Price | None = Field(
        None,
        description="Price of the whole machine; default: the sum over its nodes, if every node type has a price.",
    )
    source: str = Field("", description="Where the figures come from.")
    notes: Notes = Field(default=[], description="What a reader of results should know about this machine.")
    reference_processor: str = Field(
        "", description="Processor to which the performance factors are relative, as a trace names it."
    )
