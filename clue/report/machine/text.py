"""A machine as text: its nodes, the delays of messages, and the sources of the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from clue.machine import Progress, Rendezvous, SpeedCurve
from clue.machine.curve import SHOWN_SIZES
from clue.report.machine.links import named_links
from clue.report.parts.text import sockets_words
from clue.report.shared.table import NONE, add_row, bullets, facts, heading, stack, table
from clue.report.shared.warnings import warnings_text
from clue.units import count_of, format_figure, format_size, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clue.machine import ColdStart, Machine, NodeType


def machine_text(machine: Machine) -> RenderableType:
    """Show a machine: its nodes, delays at a few sizes, contention, changes and notes."""
    special = [*_special(machine), *_noise(machine)]
    return stack(
        heading(machine.name),
        _summary(machine),
        _nodes(machine),
        bullets(special) if special else None,
        _delays(machine),
        _network(machine),
        bullets(_changes(machine)) if machine.changes else None,
        warnings_text(machine.notes, "Notes"),
    )


def _summary(machine: Machine) -> Table:
    return facts(
        (
            ("nodes", str(len(machine.nodes))),
            ("processors", str(machine.processors)),
            ("price", str(machine.price or "")),
            ("factors relative to", machine.reference_processor),
            ("source", " ".join(machine.source.split())),
        )
    )


def _nodes(machine: Machine) -> Table:
    numbers = ("nodes", "processors", "memory", "price")
    shown = table("node type", *numbers, "performance factor", numbers=numbers, title="Nodes")
    names = [node.name for node in machine.nodes]
    for name, node in machine.node_types().items():
        memory = NONE if node.memory is None else format_size(node.memory)
        add_row(shown, name, names.count(name), node.processors, memory, node.price or NONE, _factor(node))
    return shown


def _factor(node: NodeType) -> str:
    factors = [f"{node.performance_factor:g}" if node.performance_factor else "0 (as recorded)"]
    factors += [f"{region or '(no region)'}: {factor:g}" for region, factor in node.performance_factors.items()]
    return ", ".join(factors)


def _speed(speed: float | SpeedCurve) -> str:
    if not isinstance(speed, SpeedCurve):
        return f"{format_figure(speed / 1e6)} Mflop/s"
    ends = (speed.points[0], speed.points[-1])
    return " to ".join(
        f"{format_figure(rate / 1e6)} Mflop/s in bursts of {format_figure(flops / 1e6)} Mflop" for flops, rate in ends
    )


#: Delays that most node types do not have, and their units in words.
_DELAYS = {"initialisation_delay": "", "spawn_delay": "", "packing_delay": " per byte", "reduction_delay": " per byte"}


def _special(machine: Machine) -> Iterator[str]:
    """Yield the properties that only some node types have, in words."""
    for name, node in machine.node_types().items():
        if node.sockets is not None:
            yield f"{name}: {sockets_words(node.sockets.processor, node.sockets.number)}"
        for region, speed in node.speeds.items():
            yield f"{name}: {region or 'no region'} runs at {_speed(speed)}"
        for busy, shares in node.memory_contention.items():
            kept = ", ".join(f"{share:g}{f' in {region}' if region else ''}" for region, share in shares.items())
            yield f"{name}: share of its speed that each of {busy} busy processors keeps: {kept}"
        if node.background_load:
            turns = f", in turns of {format_time(node.time_slice)}" if node.time_slice else ""
            yield f"{name}: background load of {node.background_load:g} processes{turns}"
        if node.domains > 1:
            yield f"{name}: {node.domains} domains of {count_of(node.processors // node.domains, 'processor')}"
        if node.cold_start.is_stated:
            yield f"{name}: bursts take longer after waits: {cold_start_words(node.cold_start)}"
        if node.copy_bandwidth is not None:
            yield f"{name}: messages within a node are copied at {format_size(node.copy_bandwidth)}/s together"
        for what, per in _DELAYS.items():
            if getattr(node, what):
                yield f"{name}: {what.replace('_', ' ')} {format_time(getattr(node, what))}{per}"
        if node.waiting.value == "poll":
            yield f"{name}: a waiting rank keeps its processor"


def cold_start_words(start: ColdStart) -> str:
    """State the cost of cold starts after waits."""
    said = ", ".join(f"{format_time(extra)} after {format_time(wait)}" for wait, extra in start.points if wait)
    return f"{said}; at most {start.at_most:.3g} of what they take warm"


def _noise(machine: Machine) -> Iterator[str]:
    """Yield the stated noise of figures, in words."""
    for name, node in machine.node_types().items():
        stated = {"each burst, independently": node.noise.computation, "the performance factor": node.noise.factor}
        yield from (f"{name}: noise of {deviation:.3g} % in {what}" for what, deviation in _percent(stated))
    for name, link in named_links(machine):
        stated = {"send and receive delays": link.noise.send, "transmission delays": link.noise.transmission}
        yield from (f"{name}: noise of {deviation:.3g} % in {what}" for what, deviation in _percent(stated))


def _percent(stated: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    yield from ((what, 100 * deviation) for what, deviation in stated.items() if deviation)


def _delays(machine: Machine) -> Table:
    numbers = tuple(map(format_size, SHOWN_SIZES))
    shown = table("link", "delay", *numbers, numbers=numbers, title="Delays by message size")
    for name, link in named_links(machine):
        limit = f"eager up to {format_size(link.eager_limit)}" if link.eager_limit is not None else "always eager"
        if link.acknowledged_from is not None:
            limit += f", acknowledged from {format_size(link.acknowledged_from)}"
        if link.rendezvous is Rendezvous.READ:
            limit += ", data are read by the receiver"
        if link.bucket:
            limit += f", {format_size(link.bucket)} at once"
        send = [link.send_delay(size) for size in SHOWN_SIZES]
        travel = [link.transmission_delay(size) for size in SHOWN_SIZES]
        whole = [link.one_way(size) for size in SHOWN_SIZES]
        add_row(shown, name, "send", *map(format_time, send))
        add_row(shown, f"  {limit}", "transmission", *map(format_time, travel))
        if link.send_overhead is not None:
            add_row(shown, "", "call of a send", *[format_time(link.send_overhead(size)) for size in SHOWN_SIZES])
        add_row(shown, "", "receive", *([format_time(link.receive_delay + link.completion)] * len(SHOWN_SIZES)))
        for what, curve in (("busy", link.busy), ("copy by the receiver", link.copy_time)):
            if curve is not None:
                add_row(shown, "", what, *[format_time(curve(size)) for size in SHOWN_SIZES])
        add_row(shown, "", "total", *map(format_time, whole), end_section=True)
    return shown


def _network(machine: Machine) -> Table:
    links = [link for _, link in named_links(machine)]
    contention = machine.network.contention.described(len(machine.nodes), links)
    return facts(
        (
            ("contention", contention if len(machine.nodes) > 1 else ""),
            ("progress", "only within calls" if machine.network.progress is Progress.CALLS else ""),
            ("collectives", _collectives(machine)),
        )
    )


def _collectives(machine: Machine) -> str:
    chosen = (
        f"{name}: " + ", ".join(_choice(up_to, algorithm) for up_to, algorithm in choice.thresholds)
        for name, choice in machine.network.collectives.items()
    )
    return "; ".join((f"as {machine.network.collective_library} chooses", *chosen))


def _choice(up_to: float, algorithm: str) -> str:
    return algorithm if up_to == float("inf") else f"{algorithm} up to {format_size(up_to)}"


def _changes(machine: Machine) -> Iterator[str]:
    for time, _ in machine.changes:
        yield f"parameters change at {format_time(time)} of virtual time"
