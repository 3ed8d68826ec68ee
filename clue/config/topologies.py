"""Topologies: their forms, the conversion to values, and rules over several keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag
from typing_extensions import assert_never

from clue.config.document import Path
from clue.config.faults import did_you_mean
from clue.config.forms import Form, shape
from clue.config.quantities import Bandwidth, Number, Time
from clue.config.reading import Reading

if TYPE_CHECKING:
    from clue.machine.contention.topology import Topology

#: Largest numbers of places and of links of a topology: enough for the largest computers in existence.
MOST_PLACES = 1_000_000
MOST_LINKS = 20_000_000
#: Key of a topology's form that determines the number of its places.
_PLACES = {"fat_tree": "down", "torus": "dimensions", "dragonfly": "groups"}

Places = Annotated[int, Field(ge=1, le=MOST_PLACES)]


class LinksForm(Form):
    """What all topologies have."""

    in_order: bool = Field(
        False,
        description="Whether messages between nodes from one rank to another travel one after the other, as on a TCP "
        "connection. Otherwise they share links like any others.",
    )


class SwitchForm(LinksForm):
    """One non-blocking switch."""

    topology: Literal["switch"] = Field(description="One non-blocking switch.")
    bandwidth: Bandwidth = Field(description="Bandwidth of the link of each node, in each direction.")


class SwitchesForm(LinksForm):
    """Switches with the same number of nodes, each with an uplink to a non-blocking core."""

    topology: Literal["switches"] = Field(description="Several switches, each with an uplink to a non-blocking core.")
    nodes_per_switch: Places = Field(description="Nodes at each switch; the last may have fewer.")
    bandwidth: Bandwidth = Field(description="Bandwidth of the link of each node, in each direction.")
    oversubscription: Annotated[Number, Field(gt=0)] = Field(
        1.0, description="Total bandwidth of a switch's nodes divided by that of its uplink: 2 for 2:1."
    )
    latency_between_switches: Time = Field(
        0.0, description="Latency of a message between nodes of different switches beyond that which its link states."
    )


Levels = Annotated[list[Places], Field(min_length=1, max_length=10)]


class FatTreeForm(LinksForm):
    """A fat tree with D-mod-k routing; lists run from the nodes upwards, one entry for each level of switches."""

    topology: Literal["fat_tree"] = Field(description="A fat tree with D-mod-k routing.")
    down: Levels = Field(description="Children of a switch: nodes at level 1, switches above.")
    up: Levels = Field(description="Parents of a node (usually 1), then of a switch of each level but the top.")
    links: Levels | None = Field(None, description="Cables between a child and each of its parents; default: 1.")
    bandwidth: Annotated[
        Annotated[Bandwidth, Tag("<one>")] | Annotated[list[Bandwidth], Tag("<list>")], Discriminator(shape)
    ] = Field(description="Bandwidth of each cable, in each direction: one for all levels, or one for each.")

    @property
    def cables(self) -> list[int]:
        """The number of cables by level."""
        return [1] * len(self.down) if self.links is None else self.links

    @property
    def bandwidths(self) -> list[float]:
        """The bandwidths by level."""
        return self.bandwidth if isinstance(self.bandwidth, list) else [self.bandwidth] * len(self.down)


class TorusForm(LinksForm):
    """A torus with dimension-order routing."""

    topology: Literal["torus"] = Field(description="A grid of nodes whose opposite ends are joined.")
    dimensions: Annotated[list[Places], Field(min_length=1, max_length=10)] = Field(
        description="Number of places in each dimension; node 1 is next to node 0 in the first."
    )
    bandwidth: Bandwidth = Field(description="Bandwidth of the link to each neighbour, in each direction.")


class DragonflyBandwidthForm(Form):
    """Bandwidths of the three kinds of links of a dragonfly, in each direction."""

    node: Bandwidth = Field(description="Bandwidth of the link of each node.")
    within_group: Bandwidth = Field(description="Bandwidth of the link between any two routers of a group.")
    between_groups: Bandwidth = Field(description="Bandwidth of the link between any two groups.")


class DragonflyForm(LinksForm):
    """A dragonfly with minimal routing."""

    topology: Literal["dragonfly"] = Field(
        description="Groups of routers: all-to-all between groups and within each group."
    )
    groups: Places = Field(description="Number of groups; one link in each direction joins any two.")
    routers_per_group: Places = Field(description="Routers of a group; one link in each direction joins any two.")
    nodes_per_router: Places = Field(description="Nodes at each router.")
    bandwidth: Annotated[
        Annotated[Bandwidth, Tag("<one>")] | Annotated[DragonflyBandwidthForm, Tag("<table>")], Discriminator(shape)
    ] = Field(description="Bandwidth of each link, in each direction: one for all, or one for each of the three kinds.")

    @property
    def bandwidths(self) -> DragonflyBandwidthForm:
        """The bandwidths by kind of link."""
        one = self.bandwidth
        if isinstance(one, DragonflyBandwidthForm):
            return one
        return DragonflyBandwidthForm.model_construct(node=one, within_group=one, between_groups=one)


TOPOLOGIES = ("switch", "switches", "fat_tree", "torus", "dragonfly")


def _topology_known(value: object) -> object:
    if isinstance(value, str) and value in TOPOLOGIES:
        raise ValueError(f'must be a mapping, got "{value}" alone: state {{topology: {value}, …}} with its figures')
    if isinstance(value, dict) and value.get("topology") not in TOPOLOGIES:
        got = value.get("topology")
        named = f'"{got}"{did_you_mean(got, TOPOLOGIES)}' if "topology" in value else "none"
        raise ValueError(f"must have a topology ({', '.join(TOPOLOGIES)}), got {named}")
    return value


def _topology_shape(value: object) -> str:
    return f"<{value['topology']}>" if isinstance(value, dict) else "<switch>"


TopologyForm = SwitchForm | SwitchesForm | FatTreeForm | TorusForm | DragonflyForm
FlowsForm = Annotated[
    Annotated[SwitchForm, Tag("<switch>")]
    | Annotated[SwitchesForm, Tag("<switches>")]
    | Annotated[FatTreeForm, Tag("<fat_tree>")]
    | Annotated[TorusForm, Tag("<torus>")]
    | Annotated[DragonflyForm, Tag("<dragonfly>")],
    Discriminator(_topology_shape),
    BeforeValidator(_topology_known),
]


def build_topology(form: TopologyForm) -> Topology:
    """Build a topology from its form, whose lists have the right lengths."""
    from clue.machine.contention import topology  # noqa: PLC0415 - numpy

    match form:
        case SwitchForm():
            return topology.Switch(form.bandwidth)
        case SwitchesForm():
            far = form.latency_between_switches
            return topology.Switches(form.nodes_per_switch, form.bandwidth, form.oversubscription, far)
        case FatTreeForm():
            return topology.FatTree(tuple(form.down), tuple(form.up), tuple(form.cables), tuple(form.bandwidths))
        case TorusForm():
            return topology.Torus(tuple(form.dimensions), form.bandwidth)
        case DragonflyForm():
            of = form.bandwidths
            sizes = form.groups, form.routers_per_group, form.nodes_per_router
            return topology.Dragonfly(*sizes, of.node, of.within_group, of.between_groups)
        case _:
            assert_never(form)


def check_topology(reading: Reading, path: Path, form: TopologyForm, nodes: int) -> None:
    """Check that a topology is consistent, and has a place for every node."""
    if isinstance(form, FatTreeForm) and not _levels_agree(reading, path, form):
        return
    topology = build_topology(form)
    if topology.links(nodes) > MOST_LINKS:
        reading.fault(path, f"must have at most {MOST_LINKS} links, got {topology.links(nodes)}")
    elif topology.room is not None and topology.room < nodes:
        key = (*path, _PLACES[form.topology])
        reading.fault(key, f"must give a place to each of the {nodes} nodes, got {topology.room} places")


def _levels_agree(reading: Reading, path: Path, tree: FatTreeForm) -> bool:
    levels = len(tree.down)
    lengths = {"up": len(tree.up), "links": len(tree.cables), "bandwidth": len(tree.bandwidths)}
    for key, length in lengths.items():
        if length != levels:
            reading.fault((*path, key), f"must have {levels} entries, as many as down, got {length}")
    return all(length == levels for length in lengths.values())
