"""The text of a first configuration: a comparison and the machine that it names. Reads and writes no files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clue.config.shipped_files import schema_file

#: A word that begins with a letter, or a number with its unit: ``jacobi.py``, ``20 us``.
_PLAIN = re.compile(r"[A-Za-z][\w./-]*|[0-9.]+ [A-Za-z][A-Za-z/]*", re.ASCII)
#: Words that YAML, or an earlier version of it, does not read as text.
_NO_TEXT = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"})


@dataclass(frozen=True, slots=True)
class Starter:
    """The contents of a first configuration. Quantities and prices are text with units, as in the file.

    Attributes:
        name: Name of the comparison.
        workload: Name of the workload.
        program: Path of a script or a trace, as it will appear in the file.
        recorded: Whether it is a trace.
        arguments: Arguments of the script.
        ranks: Numbers of ranks to choose from.
        processors: Processors of a node.
        memory: Memory of a node; ``""``: not stated.
        latency: One-way latency of a short message between nodes.
        bandwidth: Bandwidth between nodes.
        nodes: Numbers of nodes to compare.
        price: Price of a node; ``""``: not stated.
        budget: The budget; ``""``: not stated.
        other: Another machine to compare with, as it will appear in the file; ``""``: none.
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
    node = [f"    processors: {starter.processors:<21}# CPU cores of a node"]
    if starter.memory:
        node.append(f"    memory: {_quoted(starter.memory)}")
    node.append("    performance_factor: 1            # as fast as the computer of the recording")
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
        f"    send_delay: {{latency: 0 us, bandwidth: {_quoted(starter.bandwidth)}}}   # duration of a send",
        f"    transmission_delay: {_quoted(starter.latency):<12} # further time until the message arrives",
        "    eager_limit: 64 KB               # larger messages wait for their receive",
        "  within_node:                       # assumed: memory shared by the cores of a node",
        "    send_delay: {latency: 0.2 us, bandwidth: 5 GB/s}",
        "    transmission_delay: 0.3 us",
        "    eager_limit: 64 KB",
    )


def comparison_text(starter: Starter, machine: str, command: str) -> str:
    """Return the YAML of the comparison.

    Args:
        starter: Its contents.
        machine: Path of the machine's file, as it will appear in the file.
        command: The command that runs it, for a comment.
    """
    return _lines(
        _schema("scenario"),
        f"# Run it: {command}",
        "# clue schema scenario prints every key that is allowed here.",
        f"name: {_quoted(starter.name)}",
        *([f"budget: {_quoted(starter.budget)}"] if starter.budget else []),
        "workloads:",
        f"  {_quoted(starter.workload)}:",
        f"    program: {_program(starter)}",
        f"    ranks: {_flow(starter.ranks)}",
        "options:",
        *_options(starter, machine),
        "criterion: makespan                  # clue finds the fastest split on each option",
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
        needed = "   # under a budget it needs a price: {…, price: 9000 EUR}" if starter.budget else ""
        yield f"  other: {{machine: {_quoted(starter.other)}}}{needed}"


def _flow(values: Sequence[object]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def _quoted(text: str) -> str:
    """Return text so that YAML reads it back as text: plain if that is unambiguous, else quoted as in JSON."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _NO_TEXT
    return text if plain else json.dumps(text, ensure_ascii=False)


def _schema(kind: str) -> str:
    return f"# yaml-language-server: $schema={schema_file(kind)}"


def _lines(*lines: str) -> str:
    return "\n".join(lines) + "\n"
