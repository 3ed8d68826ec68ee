"""A program's structure graph in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clue.analysis.graph import LEAVES, GraphProfile
from clue.report.graph.words import words
from clue.structure import Kind, Node
from clue.units import format_time

#: Graphviz shapes, as in DP*Graph++: rectangles, triangles.
_SHAPES = {Kind.COMPUTATION: "box, style=filled, fillcolor=lightgrey", Kind.COMMUNICATION: "invtriangle"}


def graph_dot(profile: GraphProfile) -> str:
    """Return the graph for Graphviz: rectangles compute, triangles communicate, loops are dotted."""
    return "\n".join(["digraph program {", '  node [fontname="sans-serif"];', *_dot(profile), "}"]) + "\n"


def _dot(profile: GraphProfile) -> Iterator[str]:
    numbers = {node: f"n{i}" for i, (_, node) in enumerate(profile.graph.root.walk())}
    yield from _inner(profile, profile.graph.root, numbers, "  ")
    yield from (f"  {one} -> {other};" for one, other in _edges(profile.graph.root, numbers))


def _inner(profile: GraphProfile, node: Node, numbers: Mapping[Node, str], indent: str) -> Iterator[str]:
    label = _quoted(_label(profile, node))
    if node.kind in LEAVES:
        yield f"{indent}{numbers[node]} [label={label}, shape={_SHAPES[node.kind]}];"
        return
    if node.kind is not Kind.LOOP:
        for child in node.children:
            yield from _inner(profile, child, numbers, indent)
        return
    yield f"{indent}subgraph cluster_{numbers[node]} {{"
    yield f"{indent}  label={label}; style=dotted;"
    for child in node.children:
        yield from _inner(profile, child, numbers, indent + "  ")
    yield f"{indent}}}"


def _label(profile: GraphProfile, node: Node) -> str:
    seconds = "" if node.kind is Kind.LOOP else format_time(profile.seconds[node])
    return "\n".join(filter(None, (words(profile, node), node.place, seconds)))


def _edges(node: Node, numbers: Mapping[Node, str]) -> Iterator[tuple[str, str]]:
    """Yield the edges: each leaf that ends a child of a sequence leads to each leaf that begins the next."""
    if node.kind is not Kind.PARALLEL:
        for one, other in zip(node.children, node.children[1:], strict=False):
            yield from ((numbers[end], numbers[begin]) for end in _ends(one, -1) for begin in _ends(other, 0))
    for child in node.children:
        yield from _edges(child, numbers)


def _ends(node: Node, which: int) -> list[Node]:
    """Return the first or the last leaves of a node."""
    if node.kind in LEAVES:
        return [node]
    if node.kind is Kind.PARALLEL:
        return [leaf for child in node.children for leaf in _ends(child, which)]
    return _ends(node.children[which], which)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
