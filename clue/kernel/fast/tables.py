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
    ahead_of_ports,
    buckets,
    distance,
    empty_message,
    has_domains,
    held_parts,
    longer_than_travel,
    occupations,
    poll_delay,
    port_links,
)
from clue.kernel.model.crowding import disturbed_nodes
from clue.kernel.model.shared_links import SharedLinks, shares_copies
from clue.kernel.model.turns import joined_nodes, shares_in_turns
from clue.machine import Contention, Link, Machine, NodeType, Placement, Progress, Waiting
from clue.machine.contention import NUMBERS

_Doubles = npt.NDArray[np.float64]


def tables_of(plan: Plan, machine: Machine, placement: Placement, instances: int) -> MachineLayout:
    """Tabulate a machine for a program.

    Args:
        plan: The program.
        machine: Where it runs.
        placement: Node of each rank of all instances.
        instances: Copies of the program.
    """
    choices = plan.choices(machine.network, plan.sharing(placement))
    layout = uncoupled_tables_of(plan, choices, machine, placement, instances)
    costs = Costs(machine, placement, plan.program.regions, plan.program.host_speeds)
    epochs = machine.epochs
    joined = joined_nodes(placement, plan.program.worlds)
    shared = disturbed_nodes(machine, placement, joined)
    in_turns = shares_in_turns(machine, placement, joined)
    cold = starts_cold(machine, placement.nodes)
    layout.any_shared = len(shared) + len(in_turns) + cold
    _give_cold_starts(layout, costs, epochs)
    layout.give("shared", np.isin(np.arange(len(machine.nodes)), shared).astype(np.uint8))
    layout.give("share", np.array([in_turns.get(node, 1.0) for node in range(len(machine.nodes))], np.float64))
    layout.give("time_slice", np.array([each.time_slice for each in machine.node_types().values()], np.float64))
    if shared:
        types = [each for state in epochs for each in state.node_types().values()]
        _give_rates(layout, costs, types, max(Counter(placement.nodes).values()))
    contention = machine.contention
    layout.network = NUMBERS[contention.name]
    _give_figures(layout, epochs)
    layout.in_calls = machine.network.progress is Progress.CALLS
    if contention.keeps_ports:
        _give_ports(layout, epochs, placement, plan.sizes)
    layout.copies = shares_copies(machine)
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
    costs = Costs(machine, placement, program.regions, program.host_speeds)
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
        node=node,
        type=node_type[node],
        domain=_domains(machine, placement),
        part=np.zeros_like(node) if parts is None else parts[node].astype(np.int32),
        node_type=node_type,
        bytes=np.array(plan.sizes, np.int64),
        overheads=any(state.network.states_overheads for state in epochs),
        acknowledges=any(state.network.acknowledges for state in epochs),
        apart=parts is not None,
        changes=np.array(costs.change_times, np.float64),
        factor=np.array([costs.factors(each) for each in types.values()], np.float64),
    )
    layout.collectives = collectives
    layout.kept += collectives.kept
    layout.work = (program.ops + plan.messages(choices)) * instances
    _give_links(layout, epochs, list(types), plan.sizes, further)
    _give_types(layout, epochs, list(types))
    return layout


def _domains(machine: Machine, placement: Placement) -> npt.NDArray[np.int32]:
    if not has_domains(machine):
        return np.zeros(len(placement.nodes), np.int32)
    return np.fromiter(machine.domains(placement.nodes), np.int32, len(placement.nodes))


def _links(machine: Machine, names: Sequence[str], further: float) -> list[tuple[Link, Link, bool, float]]:
    """Return the link of every class, the link back, whether it is within a node, and the latency between parts."""
    network = machine.network
    between = [(network.link(a, b, False), network.link(b, a, False), False) for a in names for b in names]
    inside = [network.link(name, name, True, together) for together in (True, False) for name in names]
    near = [(*each, 0.0) for each in between] + [(link, link, True, 0.0) for link in inside]
    return near + ([(*each, further) for each in between] if further else [])


def _give_links(
    layout: MachineLayout, epochs: Sequence[Machine], names: Sequence[str], sizes: list[int], further: float
) -> None:
    by_size: dict[str, list[_Doubles]] = {
        "send": [], "transmission": [], "travel": [], "occupation": [],
        "ahead": [], "bucket": [], "held": [], "call": []
    }  # fmt: skip
    by_class: dict[str, list[float]] = {
        "receive": [], "further": [], "answer": [], "envelope": [], "eager_limit": [], "acknowledged_from": []
    }  # fmt: skip
    nbytes = np.array(sizes, np.float64)
    for machine in epochs:
        known: dict[tuple[int, bool, float], tuple[_Doubles, ...]] = {}
        contention = machine.network.contention
        for link, back, within, later in _links(machine, names, further):
            if (id(link), within, later) not in known:
                occupied = occupations(contention, link, nbytes, within=within)
                longer = longer_than_travel(link, nbytes, occupied)
                send, transmission = link.send_delay.over(nbytes), link.transmission_delay.over(nbytes)
                known[id(link), within, later] = (
                    send,
                    transmission + later,
                    send + transmission,
                    occupied,
                    ahead_of_ports(contention, link, longer),
                    buckets(link, nbytes, occupied, longer, within=within),
                    held_parts(contention, link, nbytes, within=within),
                    np.full_like(nbytes, -1.0) if link.send_overhead is None else link.send_overhead.over(nbytes),
                )
            for column, delays in zip(by_size.values(), known[id(link), within, later], strict=True):
                column.append(delays)
            by_class["receive"].append(link.receive_delay)
            by_class["further"].append(later)
            by_class["answer"].append(empty_message(back) + later)
            by_class["envelope"].append(empty_message(link) + later)
            for name, limit in (("eager_limit", link.eager_limit), ("acknowledged_from", link.acknowledged_from)):
                by_class[name].append(math.inf if limit is None else limit)
    for name, rows in by_size.items():
        layout.give(name, np.concatenate([np.zeros(0), *rows]))
    for name, values in by_class.items():
        layout.give(name, np.array(values, np.float64))


def _give_ports(layout: MachineLayout, epochs: Sequence[Machine], placement: Placement, sizes: list[int]) -> None:
    """Tabulate how long messages of every class occupy both ports."""
    columns: dict[str, list[_Doubles]] = {"send_port": [], "receive_port": []}
    names = list(epochs[0].node_types())
    nbytes = np.array(sizes, np.float64)
    within = [np.zeros_like(nbytes)] * (2 * len(names))
    for machine in epochs:
        contention, ports = machine.network.contention, port_links(machine, placement.nodes)

        def least(links: Sequence[Link], contention: Contention = contention) -> _Doubles:
            times = [occupations(contention, link, nbytes) for link in links]
            return np.minimum.reduce(times) if times else np.zeros_like(nbytes)

        sending = {name: least(ports.sending.get(name, ())) for name in names}
        receiving = {name: least(ports.receiving.get(name, ())) for name in names}
        pairs = [(a, b) for a in names for b in names]
        columns["send_port"] += [sending[a] for a, _ in pairs] + within
        columns["receive_port"] += [receiving[b] for _, b in pairs] + within
    for name, rows in columns.items():
        layout.give(name, np.concatenate([np.zeros(0), *rows]))


def _give_types(layout: MachineLayout, epochs: Sequence[Machine], names: Sequence[str]) -> None:
    types = [(machine, machine.node_types()[name]) for machine in epochs for name in names]
    for name, column in {
        "packing": [each.packing_delay for _, each in types],
        "reduction": [each.reduction_delay for _, each in types],
        "spawn": [each.spawn_delay for _, each in types],
        "initialisation": [each.initialisation_delay for _, each in types],
        "poll": [poll_delay(machine, each.name) for machine, each in types],
    }.items():
        layout.give(name, np.array(column, np.float64))
    layout.give("keeps_processor", np.array([each.waiting is Waiting.POLL for _, each in types], np.uint8))


def _give_rates(layout: MachineLayout, costs: Costs, types: Sequence[NodeType], most: int) -> None:
    layout.most_ranks = most
    rates = [[costs.rates(node_type, ranks) for ranks in range(most + 1)] for node_type in types]
    layout.give("rates", np.array(rates, np.float64))


def _give_cold_starts(layout: MachineLayout, costs: Costs, epochs: Sequence[Machine]) -> None:
    names = list(epochs[0].node_types())
    types = [machine.node_types()[name] for machine in epochs for name in names]
    starts = [each.cold_start for each in types]
    layout.give("cold", np.array([name in costs.cold_types for name in names], np.uint8))
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
