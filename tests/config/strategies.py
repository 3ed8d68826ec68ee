"""Random machines: the mapping that a user would write, and the machine that it should become."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from clue.machine import (
    NO_WITHIN_NODE,
    AlgorithmChoice,
    ColdStart,
    Contention,
    Curve,
    FactorTable,
    Flows,
    Link,
    Machine,
    Network,
    NoContention,
    NodeType,
    Ports,
    Progress,
    Rendezvous,
    Waiting,
)
from clue.machine.contention.topology import FatTree, Switch
from clue.units import Money

#: What is written, and the value that it should become.
Pair = tuple[object, object]

NAMES = st.sampled_from(["a", "b", "c", "no", "1e9", "010", "12:30", "null", "x y"])
NUMBERS = st.just(0.0) | st.floats(1e-12, 100)
REGIONS = st.sampled_from(["cholesky", "fft", "on", "5"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)


@st.composite
def times(draw: st.DrawFn) -> tuple[str, float]:
    """Draw a whole number of nanoseconds, as text and in seconds."""
    nanoseconds = draw(st.integers(0, 10**9))
    return f"{nanoseconds} ns", nanoseconds / 1e9


@st.composite
def sizes(draw: st.DrawFn) -> tuple[str, float]:
    """Draw a size in bytes or binary kilobytes, as text and in bytes."""
    number, (unit, factor) = draw(st.integers(0, 10**6)), draw(st.sampled_from([("B", 1), ("KiB", 1024)]))
    return f"{number} {unit}", float(number * factor)


@st.composite
def curves(draw: st.DrawFn) -> tuple[object, Curve]:
    """Draw a curve: a constant, a line or points."""
    form = draw(st.sampled_from(["constant", "line", "points"]))
    text, time = draw(times())
    if form == "constant":
        return text, Curve.line(time)
    if form == "line":
        bandwidth = draw(st.integers(1, 10**9))
        return {"latency": text, "bandwidth": f"{bandwidth} B/s"}, Curve.line(time, 1 / bandwidth)
    at = sorted(draw(st.sets(st.integers(0, 10**6), min_size=1, max_size=4)))
    delays = sorted(draw(st.lists(times(), min_size=len(at), max_size=len(at))), key=lambda pair: pair[1])
    written = [[f"{size} B", delay] for size, (delay, _) in zip(at, delays, strict=True)]
    return {"points": written}, Curve.through([(size, d) for size, (_, d) in zip(at, delays, strict=True)])


@st.composite
def links(draw: st.DrawFn, between: bool = False) -> tuple[Mapping[str, object], Link]:
    """Draw a link with some keys left out; ``busy`` and ``bucket`` occur only between nodes, ``copy_time`` within."""
    (send, send_curve), (transmission, curve) = draw(curves()), draw(curves())
    written: dict[str, object] = {"send_delay": send, "transmission_delay": transmission}
    receive = limit = None
    if draw(st.booleans()):
        written["receive_delay"], receive = draw(times())
    if draw(st.booleans()):
        written["eager_limit"], limit = draw(sizes())
    overhead = acknowledged = None
    if draw(st.booleans()):
        written["send_overhead"], overhead = draw(curves())
    if draw(st.booleans()):
        written["acknowledged_from"], acknowledged = draw(sizes())
    rendezvous = draw(st.sampled_from(Rendezvous))
    if rendezvous is not Rendezvous.WRITE or draw(st.booleans()):
        written["rendezvous"] = rendezvous.value
    busy, bucket, copying = None, 0.0, None
    if not between and draw(st.booleans()):
        written["copy_time"], copying = draw(curves())
    if between and draw(st.booleans()):
        written["busy"], busy = draw(curves())
    if between and draw(st.booleans()):
        written["bucket"], bucket = draw(sizes())
    return written, Link(
        send_curve, curve, receive or 0.0, limit,
        busy=busy, send_overhead=overhead, acknowledged_from=acknowledged, bucket=bucket,
        copy_time=copying, rendezvous=rendezvous,
    )  # fmt: skip


@st.composite
def node_types(draw: st.DrawFn, name: str) -> tuple[Mapping[str, object], NodeType]:
    """Draw a node type."""
    domains = draw(st.integers(1, 2))
    processors = domains * draw(st.integers(1, 4))
    memory, memory_bytes = draw(sizes())
    factor = draw(NUMBERS)
    factors = draw(st.dictionaries(REGIONS, NUMBERS, max_size=2))
    shares = draw(st.dictionaries(st.integers(1, 8), st.dictionaries(REGIONS, st.floats(0.1, 1), min_size=1)))
    price = draw(st.integers(0, 10**6))
    spawn, spawn_delay = draw(times())
    source = draw(TEXTS)
    waiting = draw(st.sampled_from(Waiting))
    at = sorted(draw(st.sets(st.integers(1, 10**9), max_size=3)))
    extras = sorted(draw(st.lists(times(), min_size=len(at), max_size=len(at))), key=lambda pair: pair[1])
    share = draw(st.floats(0.1, 9))
    waits = [(wait / 1e9, seconds) for wait, (_, seconds) in zip(at, extras, strict=True)]
    cold = {"after": [[f"{wait} ns", text] for wait, (text, _) in zip(at, extras, strict=True)], "at_most": share}
    written = {
        "processors": processors,
        "domains": domains,
        "memory": memory,
        "performance_factor": factors | {"default": factor} if factors else factor,
        "memory_contention_factor": shares,
        "price": f"{price} EUR",
        "spawn_delay": spawn,
        "wait": waiting.value,
        **({"cold_start": cold} if at else {}),
        "source": source,
    }
    node = NodeType(
        name=name,
        processors=processors,
        domains=domains,
        memory=memory_bytes,
        performance_factor=factor,
        performance_factors=factors,
        memory_contention=shares,
        price=Money(price, "EUR"),
        spawn_delay=spawn_delay,
        waiting=waiting,
        source=source,
        cold_start=ColdStart.through(waits, share) if at else ColdStart(),
    )
    return written, node


@st.composite
def contentions(draw: st.DrawFn) -> tuple[object, Contention]:
    """Draw a model of contention in which each of these machines has room."""
    form = draw(st.sampled_from(["none", "ports", "table", "factor", "busy", "switch", "fat_tree"]))
    if form == "none":
        return "none", NoContention()
    if form == "ports":
        return "ports", Ports()
    if form == "busy":
        written, curve = draw(curves())
        return {"ports": {"busy": written}}, Ports(curve)
    if form in {"table", "factor"}:
        table = draw(st.dictionaries(st.integers(2, 99), st.floats(1, 9), max_size=3)) | {1: 1.0}
        return table if form == "table" else {"factor": table}, FactorTable(tuple(sorted(table.items())))
    rate = draw(st.integers(1, 10**9))
    flows: dict[str, object] = {"topology": form, "bandwidth": f"{rate} B/s"}
    in_order = draw(st.booleans())
    if in_order or draw(st.booleans()):
        flows["in_order"] = in_order
    if form == "switch":
        return {"flows": flows}, Flows(Switch(rate), in_order)
    tree = FatTree((4, 4), (1, 2), (1, 1), (rate, rate))
    return {"flows": flows | {"down": [4, 4], "up": [1, 2]}}, Flows(tree, in_order)


@st.composite
def networks(draw: st.DrawFn, names: list[str], across_domains: bool) -> tuple[Mapping[str, object], Network, bool]:
    """Draw a network for these node types, and whether it states a link within nodes."""
    written_between, between = draw(links(between=True))
    written: dict[str, object] = {"between_nodes": written_between}
    within = between
    has_within = draw(st.booleans())
    if has_within:
        written["within_node"], within = draw(links())
    pairs: dict[tuple[str, str], Link] = {}
    if draw(st.booleans()):
        one, other = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        written_pair, link = draw(links(between=True))
        full = {"receive_delay": "0 s", "eager_limit": "none", "acknowledged_from": "none"} | dict(written_pair)
        full = {"rendezvous": "write"} | full
        written["pairs"] = [{"between": [one, other], **full}]
        link = replace(link, send_overhead=link.send_overhead or between.send_overhead)
        pairs = {(one, other): link, (other, one): link}
    contention: Contention = Ports()
    if draw(st.booleans()):
        written["contention"], contention = draw(contentions())
    collectives = {}
    if draw(st.booleans()):
        limit, size = draw(sizes())
        entries = [{"up_to": limit, "algorithm": "ring"}, {"algorithm": "recursive_doubling"}]
        written["collectives"] = {"library": "openmpi", "allreduce": entries}
        collectives = {"allreduce": AlgorithmChoice(((size, "ring"), (math.inf, "recursive_doubling")))}
    library = "openmpi" if collectives else "mpich"
    progress = draw(st.sampled_from(Progress))
    written["progress"] = progress.value
    across = None
    if across_domains:
        written["across_domains"], across = draw(links())
    network = Network(between, within, pairs, {}, contention, collectives, library, progress, across)
    return written, network, has_within


@st.composite
def machines(draw: st.DrawFn) -> tuple[Mapping[str, object], Machine]:
    """Draw a machine, as a mapping and as the value that it should become."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    types = {name: draw(node_types(name)) for name in names}
    groups = draw(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(names)), min_size=1, max_size=4))
    has_domains = any(node.domains > 1 for _, node in types.values())
    network_form, network, has_within = draw(networks(names, has_domains and draw(st.booleans())))
    title = draw(TEXTS.filter(bool))
    notes = draw(st.lists(TEXTS, max_size=2))
    written = {
        "name": title,
        "nodes": [{"count": count, "type": name} for count, name in groups],
        "node_types": {name: form for name, (form, _) in types.items()},
        "network": network_form,
        "notes": notes,
    }
    nodes = tuple(types[name][1] for count, name in groups for _ in range(count))
    said = () if has_within or all(node.processors == 1 for node in nodes) else (NO_WITHIN_NODE,)
    price = Money(sum(node.price.amount for node in nodes if node.price is not None), "EUR")
    return written, Machine(title, nodes, network, price=price, notes=(*notes, *said))
