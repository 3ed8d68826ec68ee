"""The form of a machine file, key by key: what may stand where, in which unit, and what each key means.

Pydantic models only: they check one value at a time and print the JSON Schema. What several keys say together
(a node type that is named must exist) is checked in :mod:`clue.config.machines`, where the values of clue
proper are built. Words and parameters follow the CLUE paper, section 3.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Strict, Tag

from clue.config.forms import Form, curve_shape, shape
from clue.config.quantities import Bandwidth, Price, Size, Speed, Time, TimePerByte

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


class LinkForm(Form):
    """How messages travel between two ranks."""

    send_delay: CurveForm = Field(description="Time for which the sender is blocked, by message size.")
    transmission_delay: CurveForm = Field(description="Further time until the message arrives, by message size.")
    receive_delay: Time = Field(0.0, description="Time used in a receive or probe, whether it finds something or not.")
    eager_limit: Size | None = Field(
        None, description="Largest message that is sent without waiting for its receive; left out: all are."
    )


class PartialLinkForm(Form):
    """What differs from the link it stands in for; keys left out are those of that link."""

    send_delay: CurveForm | None = Field(None, description="Time for which the sender is blocked.")
    transmission_delay: CurveForm | None = Field(None, description="Further time until the message arrives.")
    receive_delay: Time | None = Field(None, description="Time used in a receive or probe.")
    eager_limit: Size | None = Field(None, description="Largest message sent without waiting for its receive.")


class BetweenForm(PartialLinkForm):
    """A link between different nodes of two types, in both directions."""

    between: Annotated[list[str], Field(min_length=2, max_length=2)] = Field(description="Names of two node types.")


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

Factor = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(gt=0, le=1)]
PositiveInt = Annotated[int, Field(ge=1)]


class NodeTypeForm(Form):
    """One kind of node."""

    processors: PositiveInt = Field(1, description="Processors (CPU cores) per node.")
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
    background_load: Annotated[float, Field(ge=0)] = Field(
        0.0, description="Competing processes that are always runnable on each node; may be fractional."
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


class CollectivesForm(Form):
    """Whose choices of algorithm hold, and by name of a collective the algorithms that differ from them."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Algorithms]

    library: Literal["mpich", "openmpi"] = Field("mpich", description="Whose choices of algorithm hold.")

    @property
    def choices(self) -> dict[str, str | list[AlgorithmForm]]:
        """The algorithms that differ, by name of the collective."""
        return self.__pydantic_extra__


class NetworkForm(Form):
    """How the nodes talk."""

    between_nodes: LinkForm | None = Field(
        None, description="Link between ranks of different nodes; may be left out only if there is one node."
    )
    within_node: LinkForm | None = Field(
        None, description="Link between ranks of one node; left out: that between nodes."
    )
    pairs: Annotated[list[PairForm], AfterValidator(_each_pair_once)] = Field(
        default=[], description="Links that differ for two node types, or within nodes of one type."
    )
    contention: Annotated[dict[PositiveInt, Annotated[float, Field(ge=1)]], AfterValidator(_from_one)] | None = Field(
        None,
        description="Factor on send and transmission delays by number of simultaneous communications "
        "between nodes; linear between entries, constant beyond the last.",
    )
    collectives: CollectivesForm = Field(
        default_factory=lambda: CollectivesForm.model_validate({}),
        description="Algorithms of the collectives.",
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
