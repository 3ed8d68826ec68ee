"""A machine with ranks placed on it as tables: every cost that can occur, computed once by the common rules."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clue.kernel.fast.layout import MachineLayout
from clue.kernel.fast.plan import Choices, Plan
from clue.kernel.model.cold import starts_cold
from clue.kernel.model.costs import (
    Costs,
    LinkCosts,
    distance,
    empty_message,
    has_domains,
    link_costs,
    poll_delay,
    port_links,
)
from clue.kernel.model.crowding import disturbed_nodes
from clue.kernel.model.shared_links import SharedLinks, shares_copies
from clue.kernel.model.turns import joined_nodes, shares_in_turns
from clue.machine import Flows, Link, Machine, NodeType, Placement, Progress, Rendezvous, Waiting
from clue.machine.contention import NUMBERS

_Doubles = npt.NDArray[np.float64]
#: How long messages of every size occupy links between nodes, by the identity of a link.
_Occupied = dict[int, _Doubles]
#: Figures of a class of links that do not depend on the size.
_BY_CLASS = ("receive", "completion", "further", "answer", "envelope", "eager_limit", "acknowledged_from", "reads")
_FURTHER, _TRANSMISSION = _BY_CLASS.index("further"), LinkCosts._fields.index("transmission")


def tables_of(plan: Plan, machine: Machine, placement: Placement, instances: int) -> MachineLayout:
    """Tabulate a machine for a program.

    Args:
        plan: The program.
        machine: Where it runs.
        placement: Node of each rank of all instances.
        instances: Copies of the program.
    """
    with plan.lock:
        return _tables_of(plan, machine, placement, instances)


def _tables_of(plan: Plan, machine: Machine, placement: Placement, instances: int) -> MachineLayout:
    choices = plan.choices(machine.network, plan.sharing(placement))
    costs = Costs(machine, placement, plan.program.regions, plan.program.host_speeds)
    layout, occupied = _tabulated(plan, choices, costs, instances)
    epochs = machine.epochs
    joined = joined_nodes(placement, plan.program.worlds)
    shared = disturbed_nodes(machine, placement, joined)
    in_turns = shares_in_turns(machine, placement, joined)
    cold = starts_cold(machine, placement.nodes)
    layout.any_shared = len(shared) + len(in_turns) + cold
    layout.copies = shares_copies(machine)
    if layout.any_shared or layout.copies:
        # The engine reads these only if it lets processors be shared; it always does so beside copies.
        types = [each for state in epochs for each in state.node_types().values()]
        _give_cold_starts(layout, costs, types)
        layout.give("shared", np.isin(np.arange(len(machine.nodes)), shared).astype(np.uint8))
        layout.give("share", np.array([in_turns.get(node, 1.0) for node in range(len(machine.nodes))], np.float64))
        layout.give("time_slice", np.array([each.time_slice for each in types[: layout.types]], np.float64))
        if shared:
            _give_rates(layout, costs, types, max(Counter(placement.nodes).values()))
    contention = machine.contention
    layout.network = NUMBERS[contention.name]
    _give_figures(layout, epochs)
    layout.in_order = isinstance(contention, Flows) and contention.in_order
    layout.in_calls = machine.network.progress is Progress.CALLS
    if contention.keeps_ports:
        _give_ports(layout, epochs, placement, occupied)
    if costs.copies_in_turn:
        _give_copies(layout, epochs, list(machine.node_types()), plan.sizes)
    if contention.topology is not None or layout.copies:
        _give_routes(layout, SharedLinks(machine), placement, plan.pairs(choices))
    return layout


def uncoupled_tables_of(
    plan: Plan, choices: Choices, machine: Machine, placement: Placement, instances: int
) -> MachineLayout:
    """Tabulate a machine on which nothing but messages couples the ranks: without contention and sharing of processors.

    Args:
        plan: The program.
        choices: Templates of its collectives.
        machine: Where it runs.
        placement: Node of each rank of all instances.
        instances: Copies of the program.
    """
    program = plan.program
    with plan.lock:
        return _tabulated(plan, choices, Costs(machine, placement, program.regions, program.host_speeds), instances)[0]


def _tabulated(plan: Plan, choices: Choices, costs: Costs, instances: int) -> tuple[MachineLayout, list[_Occupied]]:
    """Return the tables of an uncoupled machine, and how long messages occupy its links."""
    program, machine, placement = plan.program, costs.machine, costs.placement
    collectives = plan.collectives(choices)
    epochs = machine.epochs
    types = machine.node_types()
    number = {name: i for i, name in enumerate(types)}
    node_type = np.array([number[node.name] for node in machine.nodes], np.int32)
    node = np.array(placement.nodes, np.int32)
    further, parts = distance(machine)
    layout = MachineLayout(
        instances=instances,
        nodes=len(machine.nodes),
        types=len(types),
        epochs=len(epochs),
        sizes=len(plan.sizes),
        node_type=node_type,
        bytes=np.array(plan.sizes, np.int64),
        overheads=any(state.network.states_overheads for state in epochs),
        completes=costs.completes,
        acknowledges=any(state.network.acknowledges for state in epochs),
        any_reads=any(state.network.reads for state in epochs),
        apart=parts is not None,
        changes=np.array(costs.change_times, np.float64),
        factor=np.array([costs.factors(each) for each in types.values()], np.float64),
    )
    places = np.zeros((4, len(node)), np.int32)
    places[:2] = node, node_type[node]
    if has_domains(machine):
        places[2] = np.fromiter(machine.domains(placement.nodes), np.int32, len(node))
    if parts is not None:
        places[3] = parts[node]
    layout.give_rows(("node", "type", "domain", "part"), places)
    layout.collectives = collectives
    layout.kept += collectives.kept
    layout.work = (program.ops + choices.messages) * instances
    occupied = _give_links(layout, epochs, list(types), plan.sizes, further)
    _give_types(layout, epochs, list(types))
    return layout, occupied


def _links(machine: Machine, names: Sequence[str], further: float) -> list[tuple[Link, Link, bool, float]]:
    """Return the link of every class, the link back, whether it is within a node, and the latency between parts."""
    network = machine.network
    between = [(network.link(a, b, False), network.link(b, a, False), False) for a in names for b in names]
    inside = [network.link(name, name, True, together) for together in (True, False) for name in names]
    near = [(*each, 0.0) for each in between] + [(link, link, True, 0.0) for link in inside]
    return near + ([(*each, further) for each in between] if further else [])


def _give_links(
    layout: MachineLayout, epochs: Sequence[Machine], names: Sequence[str], sizes: list[int], further: float
) -> list[_Occupied]:
    """Tabulate the costs of messages by class; return how long they occupy each link between nodes, by epoch."""
    nbytes = np.array(sizes, np.float64)
    by_size: list[_Doubles] = []
    by_class: list[tuple[float, ...]] = []
    occupied: list[_Occupied] = []
    for machine in epochs:
        classes = _links(machine, names, further)
        # Classes mostly share a few links.
        distinct = {(id(link), within): (link, within) for link, _, within, _ in classes}
        number = {key: i for i, key in enumerate(distinct)}
        found = link_costs(machine.network.contention, list(distinct.values()), nbytes)
        by_size.append(np.array(found).take([number[id(link), within] for link, _, within, _ in classes], axis=1))
        empty = {key: empty_message(link) for key, (link, _) in distinct.items()}
        by_class += [
            (
                link.receive_delay,
                link.completion,
                later,
                empty[id(back), within] + back.completion + later,
                empty[id(link), within] + later,
                math.inf if link.eager_limit is None else link.eager_limit,
                math.inf if link.acknowledged_from is None else link.acknowledged_from,
                float(link.rendezvous is Rendezvous.READ),
            )
            for link, back, within, later in classes
        ]
        occupied.append(
            {key: times for (key, within), times in zip(distinct, found.occupation, strict=True) if not within}
        )
    costs, figures = np.concatenate(by_size, axis=1), np.ascontiguousarray(np.array(by_class, np.float64).T)
    costs[_TRANSMISSION] += figures[_FURTHER, :, np.newaxis]
    layout.give_rows(LinkCosts._fields, costs)
    layout.give_rows(_BY_CLASS, figures)
    return occupied


def _give_copies(layout: MachineLayout, epochs: Sequence[Machine], names: Sequence[str], sizes: Sequence[int]) -> None:
    """Tabulate how long receivers copy messages of every class."""
    nbytes, none = np.array(sizes, np.float64), np.full(len(sizes), -1.0)
    further, _ = distance(epochs[0])
    rows = [
        link.copy_time.over(nbytes) if within and link.copy_time is not None else none
        for machine in epochs
        for link, _, within, _ in _links(machine, names, further)
    ]
    layout.copies_in_turn = True
    layout.give("copy", np.array(rows))


def _give_ports(
    layout: MachineLayout, epochs: Sequence[Machine], placement: Placement, occupied: Sequence[_Occupied]
) -> None:
    """Tabulate how long messages of every class occupy both ports."""
    names = list(epochs[0].node_types())
    none = np.zeros(layout.sizes)
    rows: list[list[_Doubles]] = [[], []]
    for machine, known in zip(epochs, occupied, strict=True):
        ports = port_links(machine, placement.nodes)

        def least(links: Sequence[Link], known: _Occupied = known) -> _Doubles:
            return np.minimum.reduce([known[id(link)] for link in links]) if links else none

        sending = {name: least(ports.sending.get(name, ())) for name in names}
        receiving = {name: least(ports.receiving.get(name, ())) for name in names}
        within = [none] * (2 * len(names))
        rows[0] += [sending[a] for a in names for _ in names] + within
        rows[1] += [receiving[b] for _ in names for b in names] + within
    layout.give_rows(("send_port", "receive_port"), np.array(rows))


def _give_types(layout: MachineLayout, epochs: Sequence[Machine], names: Sequence[str]) -> None:
    known = [(machine, machine.node_types()) for machine in epochs]
    types = [(machine, types[name]) for machine, types in known for name in names]
    rows = [
        [each.packing_delay for _, each in types],
        [each.reduction_delay for _, each in types],
        [each.spawn_delay for _, each in types],
        [each.initialisation_delay for _, each in types],
        [poll_delay(machine, each.name) for machine, each in types],
    ]
    layout.give_rows(("packing", "reduction", "spawn", "initialisation", "poll"), np.array(rows, np.float64))
    layout.give("keeps_processor", np.array([each.waiting is Waiting.POLL for _, each in types], np.uint8))


def _give_rates(layout: MachineLayout, costs: Costs, types: Sequence[NodeType], most: int) -> None:
    layout.most_ranks = most
    rates = [[costs.rates(node_type, ranks) for ranks in range(most + 1)] for node_type in types]
    layout.give("rates", np.array(rates, np.float64))


def _give_cold_starts(layout: MachineLayout, costs: Costs, types: Sequence[NodeType]) -> None:
    starts = [each.cold_start for each in types]
    layout.give("cold", np.array([each.name in costs.cold_types for each in types[: layout.types]], np.uint8))
    layout.give("cold_first", np.cumsum([0, *(len(each.after.sizes) for each in starts)]).astype(np.int64))
    for column, field in (("cold_waits", "sizes"), ("cold_extra", "times"), ("cold_slopes", "slopes")):
        layout.give(column, np.array([figure for each in starts for figure in getattr(each.after, field)], np.float64))
    layout.give("cold_at_most", np.array([each.at_most for each in starts], np.float64))
    layout.give("factor", np.array([costs.factors(each) for each in types], np.float64))


def _give_figures(layout: MachineLayout, epochs: Sequence[Machine]) -> None:
    figures = [machine.network.contention.figures for machine in epochs]
    layout.factors = longest = max(map(len, figures))
    padded = [(*each, *each[-1:] * (longest - len(each))) for each in figures]
    layout.give("contention", np.array(padded, np.float64))


def _give_routes(layout: MachineLayout, links: SharedLinks, placement: Placement, ranks: npt.NDArray[np.int64]) -> None:
    nodes = layout.nodes
    placed = np.array(placement.nodes, np.int64).reshape(layout.instances, -1)
    pairs = np.unique((placed[:, ranks[:, 0]] * nodes + placed[:, ranks[:, 1]]).ravel())
    routes = links.routes(pairs // nodes, pairs % nodes)
    layout.links, layout.pairs = len(links.capacities), len(pairs)
    layout.give("capacities", links.capacities)
    layout.give("pair", pairs)
    layout.give("first_link", np.concatenate([[0], np.cumsum((routes >= 0).sum(axis=1))]).astype(np.int64))
    layout.give("route", np.ascontiguousarray(routes[routes >= 0], np.int32))
