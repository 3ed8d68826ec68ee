"""The text of a first configuration: a comparison, and the machine that it names. Reads and writes no files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clue.config.shipped_files import schema_file


@dataclass(frozen=True, slots=True)
class Starter:
    """What a first configuration says. Quantities and prices are text with units, as they will stand in the file.

    Attributes:
        name: Of the comparison.
        workload: Name of what has to run.
        program: Path of a script or a trace, as it will stand in the file.
        recorded: Whether it is a trace.
        arguments: Of the script.
        ranks: Numbers of ranks to choose from.
        processors: Of a node.
        memory: Of a node; ``""``: not stated.
        latency: Of a short message between nodes, one way.
        bandwidth: Between nodes.
        nodes: Numbers of nodes to compare.
        price: Of a node; ``""``: not stated.
        budget: What may be spent; ``""``: not stated.
        other: Another machine to compare with, as it will stand in the file; ``""``: none.
    """

    name: str
    workload: str
    program: str
    recorded: bool
    arguments: tuple[str, ...]
    ranks: tuple[int, ...]
    processors: int
    memory: str
    latency: str
    bandwidth: str
    nodes: tuple[int, ...]
    price: str
    budget: str
    other: str


def machine_text(starter: Starter) -> str:
    """Return the YAML of the machine: as many nodes as the largest option has."""
    node = [f"    processors: {starter.processors}                    # CPU cores of a node"]
    if starter.memory:
        node.append(f"    memory: {_quoted(starter.memory)}")
    node.append("    performance_factor: 1            # computes as fast as the computer that recorded")
    if starter.price:
        node.append(f"    price: {_quoted(starter.price)}")
    return _lines(
        _schema("machine"),
        "# Nodes like the computer on which clue init was run.",
        "# The network is assumed: clue calibrate network measures one.",
        f"name: {_quoted(f'{starter.name}-machine')}",
        f"source: {_quoted('clue init: nodes like this computer; the network is assumed')}",
        "nodes:",
        f"  - {{count: {max(starter.nodes)}, type: node}}",
        "node_types:",
        "  node:",
        *node,
        "network:",
        "  between_nodes:",
        f"    send_delay: {{latency: 0 us, bandwidth: {_quoted(starter.bandwidth)}}}   # the sender is blocked so long",
        f"    transmission_delay: {_quoted(starter.latency)}        # further time until the message arrives",
        "    eager_limit: 64 KB               # larger messages wait for their receive",
        "  within_node:                       # assumed: memory shared by the cores of a node",
        "    send_delay: {latency: 0.2 us, bandwidth: 5 GB/s}",
        "    transmission_delay: 0.3 us",
        "    eager_limit: 64 KB",
    )


def comparison_text(starter: Starter, machine: str, command: str) -> str:
    """Return the YAML of the comparison.

    Args:
        starter: What it says.
        machine: Path of the machine's file, as it will stand in the file.
        command: What runs it, for its comment.
    """
    return _lines(
        _schema("scenario"),
        f"# Run it: {command}",
        "# clue schema scenario prints every key that may stand here.",
        f"name: {_quoted(starter.name)}",
        *([f"budget: {_quoted(starter.budget)}"] if starter.budget else []),
        "workloads:",
        f"  {_quoted(starter.workload)}:",
        f"    program: {_program(starter)}",
        f"    ranks: {_flow(starter.ranks)}",
        "options:",
        *_options(starter, machine),
        "criterion: makespan                  # clue finds the split that is done first, on each option",
    )


def _program(starter: Starter) -> str:
    if starter.recorded:
        return f"{{trace: {_quoted(starter.program)}}}"
    arguments = f", args: {_flow(starter.arguments)}" if starter.arguments else ""
    return f"{{script: {_quoted(starter.program)}{arguments}}}"


def _options(starter: Starter, machine: str) -> Iterator[str]:
    for count in starter.nodes:
        name = f"{count}-node{'s' * (count != 1)}"
        yield f"  {name}: {{machine: {_quoted(machine)}, nodes: {count}}}"
    if starter.other:
        yield f"  other: {{machine: {_quoted(starter.other)}}}"


def _flow(values: Sequence[object]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def _quoted(text: str) -> str:
    """Return text in quotes, as JSON and YAML alike read it back."""
    return json.dumps(text, ensure_ascii=False)


def _schema(kind: str) -> str:
    return f"# yaml-language-server: $schema={schema_file(kind)}"


def _lines(*lines: str) -> str:
    return "\n".join(lines) + "\n"
