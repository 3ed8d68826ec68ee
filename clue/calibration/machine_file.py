"""Writing what was fitted as a machine's YAML: text for people, which the configuration reads back. Opens no file."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clue.machine import Curve, Link

#: Points of a curve on a line.
_POINTS = 4
_WIDTH = 118


@dataclass(frozen=True, slots=True)
class CalibratedNetwork:
    """What is to be written of a network.

    Attributes:
        between_nodes: Link between nodes; ``None`` if only one node was measured.
        within_node: Link within a node; ``None`` if that was not measured.
        contention: Lines that say how messages between nodes slow each other down; none: as the form's default.
    """

    between_nodes: Link | None = None
    within_node: Link | None = None
    contention: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineFile:
    """What a machine's file says.

    Attributes:
        name: Of the machine.
        network: What was fitted.
        nodes: How many.
        processors: Per node.
        title: First line of its comment.
        comments: Further paragraphs: what was measured, assumed, and the residuals.
        source: Where the figures come from.
        notes: What a reader of results should know.
        node_lines: Further lines of the node type.
        reference_processor: Processor that the performance factors are relative to.
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
            *_comment((self.title, *self.comments)),
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


def network_lines(network: CalibratedNetwork) -> list[str]:
    """Return the lines of a machine's network."""
    lines = ["network:"]
    for name, link in (("between_nodes", network.between_nodes), ("within_node", network.within_node)):
        if link is not None:
            lines += [f"  {name}:", *(f"    {line}" for line in link_lines(link))]
    if network.contention:
        lines += ["  contention:", *(f"    {line}" for line in network.contention)]
    return lines


def link_lines(link: Link) -> list[str]:
    """Return the lines of a link."""
    lines = [*curve_lines("send_delay", link.send_delay), *curve_lines("transmission_delay", link.transmission_delay)]
    lines.append(f"receive_delay: {time_text(link.receive_delay)}")
    if link.eager_limit is not None:
        lines.append(f"eager_limit: {size_text(link.eager_limit)}")
    return lines


def curve_lines(name: str, curve: Curve) -> list[str]:
    """Return the lines of a delay curve: its points, the last one shifted so that the last slope is kept."""
    points = [f"[{size_text(m)}, {time_text(t)}]" for m, t in zip(curve.sizes, curve.times, strict=True)]
    if len(points) == 1:
        return [f"{name}: {time_text(curve.times[0])}"]
    lines = [f"{name}:", "  points: ["]
    for i in range(0, len(points), _POINTS):
        lines.append("    " + ", ".join(points[i : i + _POINTS]) + ("," if i + _POINTS < len(points) else "]"))
    return lines


def ports_lines(busy: Curve) -> tuple[str, ...]:
    """Return the lines of contention at ports that messages keep busy for a stated time."""
    return ("ports:", *(f"  {line}" for line in curve_lines("busy", busy)))


def size_text(size: float) -> str:
    """Return a size as the file has it, exactly: in MiB or KiB where that is a whole number."""
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size and size % factor == 0:
            return f"{size / factor:.0f} {unit}"
    return f"{size:.15g} B"


def time_text(seconds: float) -> str:
    """Return a time to five digits with its unit."""
    for limit, unit, factor in ((1e-6, "ns", 1e-9), (1e-3, "us", 1e-6), (1.0, "ms", 1e-3)):
        if 0 < seconds < limit:
            return f"{seconds / factor:.5g} {unit}"
    return f"{seconds:.5g} s"


def quoted(text: str) -> str:
    """Return text as YAML reads it back, whatever stands in it."""
    plain = text and text[0].isalpha() and all(c.isalnum() or c in " -_.,()/" for c in text) and text == text.strip()
    return text if plain and text.lower() not in {"null", "true", "false", "nan", "inf"} else json.dumps(text)


def _comment(paragraphs: Iterable[str]) -> list[str]:
    lines: list[str] = []
    for paragraph in paragraphs:
        if paragraph:
            lines += [*_wrapped(paragraph), "#"]
    return lines[:-1]


def _wrapped(paragraph: str) -> Sequence[str]:
    """Return a paragraph as lines of a comment; one that has lines already keeps them."""
    if "\n" in paragraph:
        return [f"# {line}".rstrip() for line in paragraph.splitlines()]
    return textwrap.wrap(paragraph, _WIDTH, initial_indent="# ", subsequent_indent="# ")
