"""A fitted machine as YAML text that people can read and the configuration reads back. Opens no file."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clue.errors import UsageError
from clue.machine import (
    NO_WITHIN_NODE,
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
    SpeedCurve,
    Waiting,
)
from clue.units import SMALLEST

#: Points of a curve per line of text.
_POINTS = 4
_WIDTH = 118
#: Distance from the only point of a straight curve to the added one that shows its slope, bytes.
_FAR = 1e6


@dataclass(frozen=True, slots=True)
class CalibratedNetwork:
    """The parts of a network to write.

    Attributes:
        between_nodes: Link between nodes; ``None`` if only one node was measured.
        within_node: Link within a node; ``None`` if that was not measured.
        across_domains: Link between the domains of a node, if it was measured separately.
        contention: Lines of the contention model; none: the form's default.
        progress: When the library progresses messages.
        collectives: Lines of the chosen algorithms; none: the form's default.
    """

    between_nodes: Link | None = None
    within_node: Link | None = None
    across_domains: Link | None = None
    contention: tuple[str, ...] = ()
    progress: Progress = Progress.ASYNCHRONOUS
    collectives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineFile:
    """The contents of a machine's file.

    Attributes:
        name: Name of the machine.
        network: The fitted network.
        nodes: Number of nodes.
        processors: Processors per node.
        title: First line of its comment.
        comments: Further paragraphs: measurements, assumptions and residuals.
        source: Where the figures come from.
        notes: What a reader of results should know.
        node_lines: Further lines of the node type.
        reference_processor: Processor to which the performance factors are relative.
    """

    name: str
    network: CalibratedNetwork
    nodes: int = 2
    processors: int = 1
    title: str = ""
    comments: tuple[str, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    node_lines: tuple[str, ...] = field(default=("performance_factor: 1",))
    reference_processor: str = ""

    def text(self) -> str:
        """Return the YAML."""
        lines = [
            *comment_lines((self.title, *self.comments)),
            f"name: {quoted(self.name)}",
            f"source: {quoted(self.source)}",
        ]
        if self.notes:
            lines += ["notes:", *(f"  - {quoted(note)}" for note in self.notes)]
        if self.reference_processor:
            lines.append(f"reference_processor: {quoted(self.reference_processor)}")
        lines += ["nodes:", f"  - {{count: {self.nodes}, type: node}}", "node_types:", "  node:"]
        lines += [f"    processors: {self.processors}", *(f"    {line}" for line in self.node_lines)]
        return "\n".join([*lines, *network_lines(self.network)]) + "\n"


def rewritten(machine: Machine, contention: Sequence[str], **changes: object) -> MachineFile:
    """Return the file of a machine of identical nodes with another contention model.

    Everything else is kept, except the price of the whole machine: the file may have more nodes.

    Raises:
        UsageError: If the machine has several kinds of nodes, or links that differ by kind.
    """
    types = machine.node_types()
    if len(types) > 1 or machine.network.pairs or machine.network.within or machine.changes:
        raise UsageError(
            f"{machine.name}: machine must have one kind of nodes, one link between them and no changes, got more: "
            "write its contention into its own file"
        )
    (node,) = types.values()
    network = machine.network
    # The reader takes the link between nodes if none within a node is stated, and notes it if that can matter.
    within_stated = network.within_node != network.between_nodes or (
        node.processors > 1 and NO_WITHIN_NODE not in machine.notes
    )
    file = MachineFile(
        name=machine.name,
        network=CalibratedNetwork(
            network.between_nodes,
            network.within_node if within_stated else None,
            network.across_domains,
            tuple(contention),
            network.progress,
            tuple(_collectives_lines(network)),
        ),
        nodes=len(machine.nodes),
        processors=node.processors,
        source=machine.source,
        notes=stated_notes(machine),
        node_lines=tuple(node_lines(node)),
        reference_processor=machine.reference_processor,
    )
    return replace(file, **changes)  # type: ignore[arg-type]


def stated_notes(machine: Machine) -> tuple[str, ...]:
    """Return the notes of a machine that its file states: its reader adds the one on a missing link within a node."""
    return tuple(note for note in machine.notes if note != NO_WITHIN_NODE)


def _speed_text(speed: float | SpeedCurve) -> str:
    if not isinstance(speed, SpeedCurve):
        return f"{speed:.6g} flop/s"
    points = ", ".join(f"[{flops:.6g} flop, {rate:.6g} flop/s]" for flops, rate in speed.points)
    return f"{{points: [{points}]}}"


def node_lines(node: NodeType) -> list[str]:
    """Return the lines of a node type, without its processors."""
    lines = [f"domains: {node.domains}"] if node.domains > 1 else []
    lines += [f"memory: {node.memory:.15g} B"] if node.memory is not None else []
    factors = {"default": node.performance_factor, **node.performance_factors}
    lines.append(f"performance_factor: {by_region(factors)}")
    if node.speeds:
        speeds = ", ".join(f"{_key(region)}: {_speed_text(speed)}" for region, speed in node.speeds.items())
        lines.append(f"speed: {{{speeds}}}")
    if node.memory_contention:
        shares = {busy: {r or "default": v for r, v in each.items()} for busy, each in node.memory_contention.items()}
        lines.append("memory_contention_factor:")
        lines += [f"  {busy}: {by_region(each)}" for busy, each in shares.items()]
    lines += [f"background_load: {node.background_load:.6g}"] if node.background_load else []
    if node.time_slice:
        lines.append(f"time_slice: {time_text(node.time_slice)}")
    if node.cold_start.is_stated:
        lines.append(f"cold_start: {cold_start_text(node.cold_start)}")
    lines += [f"copy_bandwidth: {node.copy_bandwidth:.6g} B/s"] if node.copy_bandwidth is not None else []
    if node.price is not None:
        spread = f" ± {100 * node.price.deviation:.15g} %" if node.price.deviation else ""
        lines.append(f"price: {node.price.amount:.15g} {node.price.currency}{spread}")
    for name in ("initialisation_delay", "spawn_delay"):
        if getattr(node, name):
            lines.append(f"{name}: {time_text(getattr(node, name))}")
    for name in ("packing_delay", "reduction_delay"):
        if getattr(node, name):
            lines.append(f"{name}: {per_byte_text(getattr(node, name))}")
    if node.noise != NodeNoise():
        lines.append(f"noise: {{computation: {node.noise.computation:.3g}, factor: {node.noise.factor:.3g}}}")
    if node.waiting is not Waiting.YIELD:
        lines.append(f"wait: {node.waiting.value}")
    return [*lines, *([f"source: {quoted(node.source)}"] if node.source else [])]


def per_byte_text(seconds: float) -> str:
    """Return a time per byte as text of the file."""
    return f"{seconds * 1e9:.6g} ns/B"


def cold_start_text(start: ColdStart) -> str:
    """Return a cold start as text of the file."""
    points = (f"[{time_text(wait)}, {time_text(extra)}]" for wait, extra in start.points)
    return f"{{after: [{', '.join(points)}], at_most: {start.at_most:.6g}}}"


def by_region(values: Mapping[str, float]) -> str:
    """Return numbers by region as text of the file: a single number if it holds for any region."""
    if set(values) == {"default"}:
        return f"{values['default']:.6g}"
    return "{" + ", ".join(f"{_key(region)}: {value:.6g}" for region, value in values.items()) + "}"


def _key(text: str) -> str:
    return quoted(text, within_braces=True)


def network_lines(network: CalibratedNetwork) -> list[str]:
    """Return the lines of a machine's network."""
    lines = ["network:"]
    for name, link in (
        ("between_nodes", network.between_nodes),
        ("within_node", network.within_node),
        ("across_domains", network.across_domains),
    ):
        if link is not None:
            lines += [f"  {name}:", *(f"    {line}" for line in link_lines(link))]
            if name == "between_nodes":  # messages within a node share no ports or links
                lines += [f"    {line}" for line in _shared_lines(link)]
    if network.progress is not Progress.ASYNCHRONOUS:
        lines.append(f"  progress: {network.progress.value}")
    for name, stated in (("contention", network.contention), ("collectives", network.collectives)):
        if stated:
            lines += [f"  {name}:", *(f"    {line}" for line in stated)]
    return lines


def _shared_lines(link: Link) -> Iterator[str]:
    """Yield the lines of how messages between nodes occupy what they share."""
    if link.busy is not None:
        yield from curve_lines("busy", link.busy)
    if link.bucket:
        yield f"bucket: {size_text(link.bucket)}"


def _collectives_lines(network: Network) -> Iterator[str]:
    if network.collective_library != "mpich":
        yield f"library: {network.collective_library}"
    for name, choice in network.collectives.items():
        entries = (
            f"{{algorithm: {algorithm}}}"
            if math.isinf(up_to)
            else f"{{up_to: {size_text(up_to)}, algorithm: {algorithm}}}"
            for up_to, algorithm in choice.thresholds
        )
        yield f"{name}: [{', '.join(entries)}]"


def link_lines(link: Link) -> list[str]:
    """Return the lines of a link."""
    lines = [*curve_lines("send_delay", link.send_delay), *curve_lines("transmission_delay", link.transmission_delay)]
    if link.send_overhead is not None:
        lines += curve_lines("send_overhead", link.send_overhead)
    if link.copy_time is not None:
        lines += curve_lines("copy_time", link.copy_time)
    lines.append(f"receive_delay: {time_text(link.receive_delay)}")
    if link.receive_overhead is not None:
        lines.append(f"receive_overhead: {time_text(link.receive_overhead)}")
    if link.eager_limit is not None:
        lines.append(f"eager_limit: {size_text(link.eager_limit)}")
    if link.acknowledged_from is not None:
        lines.append(f"acknowledged_from: {size_text(link.acknowledged_from)}")
    if link.rendezvous is not Rendezvous.WRITE:
        lines.append(f"rendezvous: {link.rendezvous.value}")
    if link.noise != LinkNoise():
        lines.append(f"noise: {{send: {link.noise.send:.3g}, transmission: {link.noise.transmission:.3g}}}")
    return lines


def curve_lines(name: str, curve: Curve) -> list[str]:
    """Return the lines of a delay curve, by its points."""
    if curve.sizes == (0.0,):
        latency, slope = time_text(curve.times[0]), curve.slopes[0]
        line = f"{{latency: {latency}, bandwidth: {1e-6 / slope:.6g} MB/s}}" if slope > SMALLEST else latency
        return [f"{name}: {line}"]
    corners = list(zip(curve.sizes, curve.times, strict=True))
    if len(corners) == 1:
        # A second point shows the slope.
        corners.append((corners[0][0] + _FAR, curve(corners[0][0] + _FAR)))
    points = [f"[{size_text(m)}, {time_text(t)}]" for m, t in corners]
    lines = [f"{name}:", "  points: ["]
    for i in range(0, len(points), _POINTS):
        lines.append("    " + ", ".join(points[i : i + _POINTS]) + ("," if i + _POINTS < len(points) else "]"))
    return lines


def ports_lines(busy: Curve) -> tuple[str, ...]:
    """Return the lines of contention at ports with stated times per message."""
    return ("ports:", *(f"  {line}" for line in curve_lines("busy", busy)))


def size_text(size: float) -> str:
    """Return a size as exact text of the file: in MiB or KiB if that is a whole number."""
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size and size % factor == 0:
            return f"{size / factor:.0f} {unit}"
    return f"{size:.15g} B"


def time_text(seconds: float) -> str:
    """Return a time to five digits with its unit; times below the smallest permitted in a file become 0."""
    if seconds < SMALLEST:
        return "0 s"
    for limit, unit, factor in ((1e-6, "ns", 1e-9), (1e-3, "us", 1e-6), (1.0, "ms", 1e-3)):
        if seconds < limit:
            return f"{seconds / factor:.5g} {unit}"
    return f"{seconds:.5g} s"


def quoted(text: str, *, within_braces: bool = False) -> str:
    """Return any text in a form that YAML reads back unchanged; within braces a comma ends a plain text."""
    allowed = " -_.()/" if within_braces else " -_.,()/"
    plain = text and text[0].isalpha() and all(c.isalnum() or c in allowed for c in text) and text == text.strip()
    if plain and text.lower() not in {"null", "true", "false", "nan", "inf"}:
        return text
    return json.dumps(text, ensure_ascii=False)


def comment_lines(paragraphs: Iterable[str]) -> list[str]:
    """Return paragraphs as a comment, with empty lines between."""
    lines: list[str] = []
    for paragraph in paragraphs:
        if paragraph:
            lines += [*_wrapped(paragraph), "#"]
    return lines[:-1]


def _wrapped(paragraph: str) -> Sequence[str]:
    """Return a paragraph as lines of a comment; existing line breaks are kept."""
    if "\n" in paragraph:
        return [f"# {line}".rstrip() for line in paragraph.splitlines()]
    return textwrap.wrap(paragraph, _WIDTH, initial_indent="# ", subsequent_indent="# ")
