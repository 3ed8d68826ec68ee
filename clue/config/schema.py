"""The form of a machine file, key by key: what may stand where, in which unit, and what each key means.

Pydantic models only: they check one value at a time and print the JSON Schema. What several keys say together
(a node type that is named must exist) is checked in :mod:`clue.config.machines`, where the values of clue
proper are built. Words and parameters follow the CLUE paper, section 3.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Strict, Tag

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


#: More than this is no measurement.
Deviation = Annotated[float, Field(ge=0, le=1)]


class LinkNoiseForm(Form):
    """How far delays may be from what is stated: relative standard deviations, 0.05 for 5 %."""

    send: Deviation = Field(0.0, description="Of send and receive delays, all messages of the link together.")
    transmission: Deviation = Field(0.0, description="Of the transmission delay, all messages of the link together.")


class LinkForm(Form):
    """How messages travel between two ranks."""

    send_delay: CurveForm = Field(
        description="Time for which a blocking send keeps its rank until its data have left, by message size."
    )
    send_overhead: CurveForm | None = Field(
        None,
        description="Time that the call of a nonblocking send takes, by message size; left out: send_delay.",
    )
    transmission_delay: CurveForm = Field(description="Further time until the message arrives, by message size.")
    receive_delay: Time = Field(0.0, description="Time used in a receive or probe, whether it finds something or not.")
    eager_limit: EagerLimit = Field(
        None, description="Largest message that is sent without waiting for its receive; none, or left out: all are."
    )
    acknowledged_from: EagerLimit = Field(
        None,
        description="Smallest message within the eager limit whose send ends only when the receiver's library has "
        "acknowledged it; none, or left out: no such message.",
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

    send_delay: CurveForm | None = Field(None, description="Time for which a blocking send keeps its rank.")
    send_overhead: CurveForm | None = Field(None, description="Time that the call of a nonblocking send takes.")
    transmission_delay: CurveForm | None = Field(None, description="Further time until the message arrives.")
    receive_delay: Time | None = Field(None, description="Time used in a receive or probe.")
    eager_limit: OtherEagerLimit = Field(
        None, description="Largest message sent without waiting for its receive; none: all are."
    )
    acknowledged_from: OtherEagerLimit = Field(
        None, description="Smallest message whose send ends only when it is acknowledged; none: no such message."
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
Ranks = Annotated[int, Field(ge=1, le=MOST_RANKS)]


class NodeNoiseForm(Form):
    """How far computation times may be from what is stated: relative standard deviations, 0.03 for 3 %."""

    computation: Deviation = Field(0.0, description="Of each burst, independently of all others.")
    factor: Deviation = Field(0.0, description="Of the performance factor: of all bursts on such nodes together.")


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
    """What a burst takes longer after its rank has waited: its caches have cooled down."""

    after: Annotated[list[Wait], Field(min_length=1), AfterValidator(_rising_waits)] = Field(
        description="Points [wait, extra time], with straight lines between, from 0 s after no wait; beyond the last "
        "it stays."
    )
    at_most: Annotated[Number, Field(gt=0)] = Field(
        1.0,
        description="The largest extra time of a burst, as a share of what it takes warm; the next bursts take what is "
        "left.",
    )


class NodeTypeForm(Form):
    """One kind of node."""

    processor: Name | None = Field(
        None,
        description="A part of the hardware library (parts/amd-epyc-9654), or a file with one: the node has the cores "
        "of its sockets, unless processors says otherwise.",
    )
    sockets: PositiveInt = Field(1, description="With processor: how many of it a node has.")
    processors: PositiveInt = Field(1, description="Processors of a node; a processor is one CPU core.")
    domains: PositiveInt = Field(
        1,
        description="Equal groups of a node's processors, such as sockets or cores that share a cache; ranks fill "
        "processors in order, and those of different domains talk by network.across_domains.",
    )
    memory: Size | None = Field(None, description="Memory per node; left out: memory is not checked.")
    performance_factor: OneOrTable[Factor, dict[str, Factor]] = Field(
        1.0,
        description="Multiplies recorded computation time, so smaller is faster; 0 leaves it unscaled. "
        "One number, or numbers by region, where 'default' stands for any other region.",
    )
    speed: dict[str, SpeedForm] = Field(
        default={},
        description="Speed of one processor by region; it takes precedence over performance_factor where "
        "the program declares its flops in that region. One speed, or what it is by the operations of a burst: points, "
        "or a routine that clue forecast has measured.",
    )
    memory_contention_factor: dict[PositiveInt, OneOrTable[Share, dict[str, Share]]] = Field(
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
    cold_start: ColdStartForm | None = Field(
        None, description="What bursts take longer after waits; left out: nothing."
    )
    copy_bandwidth: Bandwidth | None = Field(
        None,
        description="What the memory of a node copies per second of all messages within it together; copies at once "
        "share it equally. Left out: they do not slow each other.",
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


# --- the whole network ---


class CollectivesForm(Form):
    """Whose choices of algorithm hold, and by name of a collective the algorithms that differ from them."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Algorithms]

    library: Literal["mpich", "mpich-flat", "openmpi"] = Field(
        "mpich", description="Whose choices of algorithm hold; mpich-flat as if each rank had a node of its own."
    )

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

    part: Name | None = Field(
        None,
        description="A part of the hardware library (parts/infiniband-hdr), or a file with one: its link is that "
        "between nodes; keys of between_nodes beside it differ.",
    )
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
    across_domains: LinkForm | None = Field(
        None, description="Link between ranks of one node in different domains; left out: that within the node."
    )
    pairs: Annotated[list[PairForm], AfterValidator(_each_pair_once)] = Field(
        default=[], description="Links that differ for two node types, or within nodes of one type."
    )
    contention: AnyContentionForm = Field(
        None,
        description="How messages between nodes slow each other down; none: not at all; left out: ports. A table of "
        "numbers alone is one of factors.",
    )
    progress: Literal["asynchronous", "calls"] = Field(
        "asynchronous",
        description="When the MPI library answers and acknowledges messages: at any time (a thread or the network's "
        "adapter does it), or only while its rank is within a call.",
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
        default={},
        description="Keys of node types as above; processor, sockets, processors, domains and copy_bandwidth may not "
        "change.",
    )
    network: dict[str, Any] = Field(default={}, description="Keys of the network as above; part may not change.")


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
