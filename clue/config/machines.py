"""Build machines from documents: the second half of reading a machine file, after its form has been checked.

This module checks rules over several keys (a named node type must exist) and converts the file to the values of
:mod:`clue.machine`.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path as FilePath

from clue.config.contention import build_contention, check_contention, check_kept, loggops_link
from clue.config.curves import CurveForm, build_curve
from clue.config.document import DEFAULT, Document, Path, children, format_value
from clue.config.faults import did_you_mean
from clue.config.parts import with_parts
from clue.config.reading import Reading
from clue.config.schema import (
    AlgorithmForm,
    BetweenForm,
    BetweenNodesForm,
    ChangeForm,
    ColdStartForm,
    LinkForm,
    LinkNoiseForm,
    MachineForm,
    NetworkForm,
    NodeTypeForm,
    PartialLinkForm,
    WithinForm,
    WithinNodeForm,
)
from clue.config.sources import Source, read_source
from clue.config.speeds import build_speeds
from clue.machine import (
    NO_WITHIN_NODE,
    AlgorithmChoice,
    ColdStart,
    Curve,
    Link,
    LinkNoise,
    Machine,
    Network,
    NodeNoise,
    NodeType,
    Progress,
    Rendezvous,
    Sockets,
    SpeedCurve,
    Waiting,
)
from clue.units import Money


def load_machine(source: Source, *, relative_to: FilePath | str | None = None) -> Machine:
    """Load a machine.

    Args:
        source: A path, the name of a machine shipped with clue, or the mapping itself.
        relative_to: Base directory of a relative path; default: the current one.

    Raises:
        ConfigError: With all faults of the file.
    """
    return machine_from(*read_source(source, ("machines",), relative_to))


def machine_from(document: Document, path: FilePath | None) -> Machine:
    """Build a machine from a document, which may come from a file.

    Raises:
        ConfigError: With all faults of the document.
    """
    reading = Reading(document)
    machine = build_machine(reading, path.stem if path else "machine")
    reading.check()
    assert machine is not None
    return machine


def build_machine(reading: Reading, name: str = "machine") -> Machine | None:
    """Build a machine from its document, or add its faults and return ``None``.

    Args:
        reading: The machine as written, with any overlays.
        name: Its name if the document states none.
    """
    written = reading.document
    document, sockets = with_parts(written, reading.faults)
    reading = reading.of(document)
    form = reading.form(MachineForm)
    _check_names(reading)
    if form is None or reading.faults:
        return None
    prices: dict[Path, Money] = {
        ("node_types", key, "price"): t.price for key, t in form.node_types.items() if t.price is not None
    }
    check_currencies(reading, prices)
    _check_domains(reading, form)
    check_contention(reading, form.network.contention, sum(group.count for group in form.nodes))
    if reading.faults:
        return None
    changes = _changes(reading, written, form, name, sockets)
    machine = None if reading.faults else _machine(reading, form, name, sockets, changes)
    return None if reading.faults else machine


def build_machine_apart(reading: Reading, document: Document, name: str) -> Machine | None:
    """Build a machine that is read with other documents, whose faults do not prevent that."""
    own = Reading(document)
    machine = build_machine(own, name)
    reading.faults.extend(own.faults)
    return machine


def _machine(
    reading: Reading,
    form: MachineForm,
    name: str,
    sockets: Mapping[str, Sockets],
    changes: tuple[tuple[float, Machine], ...] = (),
) -> Machine:
    speeds = {
        key: build_speeds(each.speed, reading, ("node_types", key, "speed")) for key, each in form.node_types.items()
    }
    types = {key: _node_type(key, each, speeds[key], sockets.get(key)) for key, each in form.node_types.items()}
    nodes = tuple(types[group.type] for group in form.nodes for _ in range(group.count))
    notes = (form.notes,) if isinstance(form.notes, str) else tuple(form.notes)
    own = {pair.within for pair in form.network.pairs if isinstance(pair, WithinForm) and _has_own_delays(pair)}
    if form.network.within_node is None and any(node.processors > 1 and node.name not in own for node in nodes):
        notes = (*notes, NO_WITHIN_NODE)
    return Machine(
        name=form.name or name,
        nodes=nodes,
        network=_network(form.network),
        changes=changes,
        price=form.price or _sum_of_prices(nodes),
        source=form.source,
        notes=notes,
        reference_processor=form.reference_processor,
    )


def _sum_of_prices(nodes: tuple[NodeType, ...]) -> Money | None:
    prices = [node.price for node in nodes if node.price is not None]
    if len(prices) < len(nodes):
        return None
    return Money(sum(price.amount for price in prices), prices[0].currency)


# --- node types ---


def _node_type(
    name: str, form: NodeTypeForm, speeds: Mapping[str, float | SpeedCurve], sockets: Sockets | None
) -> NodeType:
    given = form.performance_factor
    factors = given if isinstance(given, dict) else {DEFAULT: given}
    return NodeType(
        name=name,
        processors=form.processors,
        domains=form.domains,
        memory=form.memory,
        performance_factor=factors.get(DEFAULT, 1.0),
        performance_factors={region: factor for region, factor in factors.items() if region != DEFAULT},
        speeds=speeds,
        memory_contention={busy: _shares(share) for busy, share in sorted(form.memory_contention_factor.items())},
        background_load=form.background_load,
        time_slice=form.time_slice,
        price=form.price,
        initialisation_delay=form.initialisation_delay,
        spawn_delay=form.spawn_delay,
        packing_delay=form.packing_delay,
        reduction_delay=form.reduction_delay,
        waiting=Waiting(form.wait),
        source=form.source,
        noise=NodeNoise(form.noise.computation, form.noise.factor),
        cold_start=_cold_start(form.cold_start),
        copy_bandwidth=form.copy_bandwidth,
        sockets=sockets,
    )


def _cold_start(form: ColdStartForm | None) -> ColdStart:
    return ColdStart() if form is None else ColdStart.through(form.after, form.at_most)


def _shares(share: float | dict[str, float]) -> Mapping[str, float]:
    shares = share if isinstance(share, dict) else {DEFAULT: share}
    return {"" if region == DEFAULT else region: value for region, value in shares.items()}


# --- network ---


def _network(form: NetworkForm) -> Network:
    own = _link(form.within_node, form.noise) if form.within_node is not None else None
    between = _between_nodes(form) or own
    within = own or between
    assert between is not None and within is not None
    pairs: dict[tuple[str, str], Link] = {}
    for pair in form.pairs:
        if isinstance(pair, BetweenForm):
            one, other = pair.between
            pairs[one, other] = pairs[other, one] = _varied(between, pair)
    return Network(
        between_nodes=between,
        within_node=within,
        pairs=pairs,
        within={pair.within: _varied(within, pair) for pair in form.pairs if isinstance(pair, WithinForm)},
        contention=build_contention(form.contention, form.loggops),
        collectives={name: _algorithms(choice) for name, choice in form.collectives.choices.items()},
        collective_library=form.collectives.library,
        progress=Progress(form.progress),
        across_domains=None if form.across_domains is None else _link(form.across_domains, form.noise),
    )


def _between_nodes(form: NetworkForm) -> Link | None:
    if form.loggops is not None:
        return replace(loggops_link(form.loggops), noise=_link_noise(form.noise))
    return _link(form.between_nodes, form.noise) if form.between_nodes is not None else None


def build_link(form: BetweenNodesForm) -> Link:
    """Build a link between nodes that belongs to no machine, such as that of a part."""
    return _link(form, LinkNoiseForm.model_validate({}))


def _link(form: LinkForm, noise: LinkNoiseForm) -> Link:
    return Link(
        build_curve(form.send_delay),
        build_curve(form.transmission_delay),
        form.receive_delay,
        form.eager_limit,
        noise=_link_noise(form.noise or noise),
        busy=_stated(form.busy if isinstance(form, BetweenNodesForm) else None),
        bucket=form.bucket if isinstance(form, BetweenNodesForm) else 0.0,
        send_overhead=_stated(form.send_overhead),
        acknowledged_from=form.acknowledged_from,
        receive_overhead=form.receive_overhead,
        copy_time=_stated(form.copy_time if isinstance(form, WithinNodeForm) else None),
        rendezvous=Rendezvous(form.rendezvous),
    )


def _stated(form: CurveForm | None) -> Curve | None:
    return None if form is None else build_curve(form)


def _link_noise(form: LinkNoiseForm) -> LinkNoise:
    return LinkNoise(form.send, form.transmission)


def _varied(link: Link, form: PartialLinkForm) -> Link:
    # Another link's statement on shared resources applies only to that link's delays.
    shared = replace(link, busy=None, bucket=0.0, copy_time=None) if _has_own_delays(form) else link
    between = form if isinstance(form, BetweenForm) else None
    within = form if isinstance(form, WithinForm) else None
    return Link(
        send_delay=build_curve(form.send_delay) if form.send_delay is not None else link.send_delay,
        transmission_delay=(
            build_curve(form.transmission_delay) if form.transmission_delay is not None else link.transmission_delay
        ),
        receive_delay=form.receive_delay if form.receive_delay is not None else link.receive_delay,
        eager_limit=form.eager_limit if "eager_limit" in form.model_fields_set else link.eager_limit,
        noise=_link_noise(form.noise) if form.noise is not None else link.noise,
        busy=build_curve(between.busy) if between and between.busy is not None else shared.busy,
        bucket=between.bucket if between and between.bucket is not None else shared.bucket,
        send_overhead=_stated(form.send_overhead) if form.send_overhead is not None else link.send_overhead,
        acknowledged_from=(
            form.acknowledged_from if "acknowledged_from" in form.model_fields_set else link.acknowledged_from
        ),
        receive_overhead=form.receive_overhead if form.receive_overhead is not None else link.receive_overhead,
        copy_time=build_curve(within.copy_time) if within and within.copy_time is not None else shared.copy_time,
        rendezvous=link.rendezvous if form.rendezvous is None else Rendezvous(form.rendezvous),
    )


def _has_own_delays(form: PartialLinkForm) -> bool:
    return form.send_delay is not None or form.transmission_delay is not None


def _algorithms(choice: str | list[AlgorithmForm]) -> AlgorithmChoice:
    if isinstance(choice, str):
        return AlgorithmChoice(((math.inf, choice),))
    return AlgorithmChoice(
        tuple((math.inf if entry.up_to is None else entry.up_to, entry.algorithm) for entry in choice)
    )


# --- rules over several keys ---


def _check_names(reading: Reading) -> None:
    """Check the names in a machine against one another; ignore other faults."""
    top = reading.document.value
    if not isinstance(top, dict):
        return
    types, network = top.get("node_types"), top.get("network")
    if isinstance(types, dict):
        for path, name in _named_types(top):
            if isinstance(name, str) and name not in types:
                reading.fault(path, f"must be one of the node_types, {_got(name, types)}")
    if isinstance(network, dict):
        _check_network_given(reading, top, network)
        _check_collectives(reading, network.get("collectives"))


def _named_types(top: dict[object, object]) -> Iterator[tuple[Path, object]]:
    for i, group in children(top.get("nodes")):
        if isinstance(group, dict):
            yield ("nodes", i, "type"), group.get("type")
    network = top.get("network")
    for i, pair in children(network.get("pairs") if isinstance(network, dict) else None):
        if isinstance(pair, dict):
            yield ("network", "pairs", i, "within"), pair.get("within")
            for j, name in children(pair.get("between")):
                yield ("network", "pairs", i, "between", j), name


def _check_network_given(reading: Reading, top: dict[object, object], network: dict[object, object]) -> None:
    groups = [group for _, group in children(top.get("nodes")) if isinstance(group, dict)]
    alone = len(groups) == 1 and groups[0].get("count", 1) == 1
    between, loggops = network.get("between_nodes"), network.get("loggops")
    # A part that cannot be read has its own fault.
    unread = network.get("part") is not None and bool(reading.faults)
    given = between is not None or loggops is not None or unread
    if not given and not (alone and network.get("within_node") is not None):
        reading.fault(("network", "between_nodes"), "must be given, got nothing")
    if loggops is None:
        return
    path: Path = ("network", "loggops")
    if between is not None:
        reading.fault(path, "must be given instead of between_nodes, got both", of_key=True)
    if network.get("pairs"):
        reading.fault(path, "must hold for all nodes, got pairs with links of their own", of_key=True)


def _check_collectives(reading: Reading, collectives: object) -> None:
    known = _known_algorithms()
    for name, choice in children(collectives):
        path: Path = ("network", "collectives", name)
        if name == "library" or not known:
            continue
        if name not in known:
            reading.fault(path, f"must be a collective, {_got(name, known)}", of_key=True)
            continue
        for below, algorithm in _named_algorithms(choice):
            if isinstance(algorithm, str) and algorithm not in known[str(name)]:
                rule = f"must be an algorithm of {name} ({', '.join(known[str(name)])})"
                reading.fault(path + below, f"{rule}, {_got(algorithm, known[str(name)])}")


def _named_algorithms(choice: object) -> Iterator[tuple[Path, object]]:
    if isinstance(choice, str):
        yield (), choice
    for i, entry in children(choice):
        if isinstance(entry, dict):
            yield (i, "algorithm"), entry.get("algorithm")


def _known_algorithms() -> Mapping[str, Mapping[str, object]]:
    collectives = importlib.import_module("clue.collectives")
    known: Mapping[str, Mapping[str, object]] = getattr(collectives, "ALGORITHMS", {})
    return known


def _got(name: object, known: Iterable[str]) -> str:
    return f"got {format_value(name)}{did_you_mean(name, known)}"


def check_currencies(reading: Reading, prices: Mapping[Path, Money]) -> None:
    """Check that all prices, given by path, are in one currency: that of most of them."""
    currencies = Counter(price.currency for price in prices.values()).most_common(1)
    for path, price in prices.items():
        for usual, _ in currencies:
            if price.currency != usual:
                reading.fault(path, f"must be in {usual} as the other prices, got {price.currency}")


def _check_domains(reading: Reading, form: MachineForm) -> None:
    """Check that domains are equal groups of processors, and exist if a link joins them."""
    for name, node in form.node_types.items():
        if node.processors % node.domains:
            path: Path = ("node_types", name, "domains")
            reading.fault(path, f"must divide the processors, {node.processors}, got {node.domains}")
    if form.network.across_domains is not None and all(node.domains == 1 for node in form.node_types.values()):
        rule = "must be given with domains in node_types, got none"
        reading.fault(("network", "across_domains"), rule, of_key=True)


# --- changes during a run ---


def _changes(
    reading: Reading, written: Document, form: MachineForm, name: str, sockets: Mapping[str, Sockets]
) -> tuple[tuple[float, Machine], ...]:
    # Like an option's with, a change is overlaid on what is written; then parts supply what it leaves out or removes.
    written = written.without("changes")
    contention = build_contention(form.network.contention, form.network.loggops)
    changes: list[tuple[float, Machine]] = []
    for i, change in enumerate(form.changes):
        _check_change(reading, ("changes", i), change, form)
        written = written.overlaid(reading.document.at("changes", i).without("at"))
        now = reading.of(with_parts(written, reading.faults)[0])
        changed = now.form(MachineForm)
        _check_names(now)
        if changed is not None and not now.faults:
            _check_domains(now, changed)
            check_contention(now, changed.network.contention, 0)
        if changed is not None and not now.faults:
            machine = _machine(now, changed, name, sockets)
            check_kept(reading, ("changes", i), contention, machine.network.contention)
            if changed.network.progress != form.network.progress:
                rule = f"must stay {form.network.progress} during a run, got {changed.network.progress}"
                reading.fault(("changes", i, "network", "progress"), rule)
            changes.append((change.at, machine))
    return tuple(changes)


def _check_change(reading: Reading, path: Path, change: ChangeForm, form: MachineForm) -> None:
    for name, keys in change.node_types.items():
        below: Path = (*path, "node_types", name)
        before = form.node_types.get(name)
        if before is None:
            rule = f"must be one of the node_types, {_got(name, form.node_types)}"
            reading.fault(below, rule, of_key=True)
            continue
        for key, kept in (("processors", before.processors), ("domains", before.domains)):
            if keys.get(key, kept) != kept:
                reading.fault((*below, key), f"must stay {kept} during a run, got {format_value(keys[key])}")
        for key in ("memory", "price", "copy_bandwidth", "processor", "sockets"):
            if key in keys:
                rule = f"must not change during a run, got {format_value(keys[key])}"
                reading.fault((*below, key), rule)
    # Algorithms are chosen once: all ranks of a collective must use the same one, whenever they call it.
    for key in ("part", "collectives"):
        if key in change.network:
            rule = f"must not change during a run, got {format_value(change.network[key])}"
            reading.fault((*path, "network", key), rule)
