"""Build what a network says of contention, and check it against the machine: models, topologies, LogGOPS.

The forms stand in :mod:`clue.config.schema`; here is what several keys say together, and the way to the values of
:mod:`clue.machine`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.config.document import Document, Path
from clue.config.faults import Faults
from clue.config.schema import (
    MOST_LINKS,
    ContentionForm,
    CurveForm,
    DragonflyForm,
    FatTreeForm,
    FlowsForm,
    LineForm,
    LogGOPSForm,
    NetworkForm,
    PointsForm,
    SwitchesForm,
    SwitchForm,
    TorusForm,
)
from clue.machine import Contention, Curve, FactorTable, Flows, Link, Ports

if TYPE_CHECKING:
    from clue.machine.topology import Topology

#: Where a network states it.
CONTENTION: Path = ("network", "contention")
FLOWS: Path = (*CONTENTION, "flows")

_WORDS = {FactorTable: "factor", Ports: "ports", Flows: "flows", type(None): "none"}
#: The key that gives a topology its places.
_PLACES = {"fat_tree": "down", "torus": "dimensions", "dragonfly": "groups"}


def build_curve(form: CurveForm) -> Curve:
    """Build a delay curve from any of its forms."""
    if isinstance(form, PointsForm):
        return Curve.through(form.points)
    if isinstance(form, LineForm):
        return Curve.line(form.latency, 1 / form.bandwidth if form.bandwidth is not None else 0.0)
    return Curve.line(form)


# --- LogGOPS ---


def _from_one_byte(first: float, per_byte: float) -> Curve:
    """Return the curve ``first + (m - 1) per_byte``; an empty message counts as one of 1 B."""
    return Curve((1.0,), (first,), (per_byte,))


def loggops_link(form: LogGOPSForm) -> Link:
    """Build the link of a LogGOPS network: the send takes o + (m-1) O, the way L + (m-1) G, the receive o."""
    return Link(
        send_delay=_from_one_byte(form.o, form.O),
        transmission_delay=_from_one_byte(form.L, form.G),
        receive_delay=form.o,
        eager_limit=form.S,
    )


# --- models ---


def build_contention(network: NetworkForm) -> Contention | None:
    """Build the contention of a network: ports, where it says nothing."""
    given = network.contention
    if isinstance(given, dict):
        return FactorTable(tuple(given.items()))
    if isinstance(given, ContentionForm) and given.factor is not None:
        return FactorTable(tuple(given.factor.items()))
    if isinstance(given, ContentionForm) and given.flows is not None:
        return Flows(build_topology(given.flows))
    return None if given == "none" else _ports(given, network.loggops)


def _ports(given: ContentionForm | str | None, loggops: LogGOPSForm | None) -> Ports:
    ports = given.ports if isinstance(given, ContentionForm) else None
    if ports is not None and ports.busy is not None:
        return Ports(build_curve(ports.busy))
    return Ports(_from_one_byte(loggops.g, loggops.G) if loggops is not None else None)


def build_topology(form: FlowsForm) -> Topology:
    """Build a topology from its form, whose lists have the right lengths."""
    from clue.machine import topology  # noqa: PLC0415 - numpy

    if isinstance(form, SwitchForm):
        return topology.Switch(form.bandwidth)
    if isinstance(form, SwitchesForm):
        return topology.Switches(form.nodes_per_switch, form.bandwidth, form.oversubscription)
    if isinstance(form, FatTreeForm):
        return topology.FatTree(tuple(form.down), tuple(form.up), tuple(form.cables), tuple(form.bandwidths))
    if isinstance(form, TorusForm):
        return topology.Torus(tuple(form.dimensions), form.bandwidth)
    assert isinstance(form, DragonflyForm)
    return topology.Dragonfly(
        form.groups,
        form.routers_per_group,
        form.nodes_per_router,
        form.bandwidths.node,
        form.bandwidths.within_group,
        form.bandwidths.between_groups,
    )


# --- what several keys say together ---


def check_contention(document: Document, network: NetworkForm, nodes: int, faults: Faults) -> None:
    """Check a topology in itself, and that it has a place for every node."""
    flows = network.contention.flows if isinstance(network.contention, ContentionForm) else None
    if flows is None or (isinstance(flows, FatTreeForm) and not _levels_agree(document, flows, faults)):
        return
    topology = build_topology(flows)
    if topology.links(nodes) > MOST_LINKS:
        faults.add(document, FLOWS, f"must have at most {MOST_LINKS} links, got {topology.links(nodes)}")
    elif topology.room is not None and topology.room < nodes:
        path = (*FLOWS, _PLACES[flows.topology])
        faults.add(document, path, f"must give a place to each of the {nodes} nodes, got {topology.room} places")


def _levels_agree(document: Document, tree: FatTreeForm, faults: Faults) -> bool:
    levels = len(tree.down)
    lengths = {"up": len(tree.up), "links": len(tree.cables), "bandwidth": len(tree.bandwidths)}
    for key, length in lengths.items():
        if length != levels:
            faults.add(document, (*FLOWS, key), f"must have {levels} entries, as many as down, got {length}")
    return all(length == levels for length in lengths.values())


def check_kept(
    document: Document, path: Path, before: Contention | None, after: Contention | None, faults: Faults
) -> None:
    """Check that a change during a run keeps the model of contention, and the topology; figures may change.

    Args:
        document: The machine as written.
        path: Of the change.
        before: What held before it.
        after: What it would make of that.
        faults: Takes the fault.
    """
    kind, changed = _WORDS[type(before)], _WORDS[type(after)]
    if kind != changed:
        faults.add(document, (*path, *CONTENTION), f"must stay {kind} during a run, got {changed}")
    elif isinstance(before, Flows) and before != after:
        faults.add(document, (*path, *CONTENTION), "must keep its topology during a run, got another")
