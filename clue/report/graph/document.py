"""A program's structure graph, and the models of its nodes, as a JSON document."""

from __future__ import annotations

from clue.analysis.graph import LEAVES, GraphProfile
from clue.report.model.program_document import estimate_document, formula_text
from clue.structure import Kind, Node


def graph_document(profile: GraphProfile) -> dict[str, object]:
    """Describe a graph: its nodes with ranks and times, their models, and the predictions of these for a target."""
    whole = profile.seconds[profile.graph.root]
    document = {
        "trace": profile.name,
        "ranks": profile.ranks,
        "measure": profile.measure,
        "seconds": whole,
        "graph": _node(profile, profile.graph.root),
        "warnings": profile.warnings,
    }
    if profile.composition is not None:
        off = [abs(each) for each in profile.composition.off]
        document["model"] = {
            "recordings": len(off),
            "error": {"mean": sum(off) / len(off), "largest": max(off)},
            "domain": {name: list(ends) for name, ends in profile.composition.runs.domain.items()},
            **({} if profile.estimated is None else estimate_document(profile.estimated)),
        }
    return document


def _node(profile: GraphProfile, node: Node) -> dict[str, object]:
    document: dict[str, object] = {
        "kind": node.kind.value,
        "name": node.name,
        "place": node.place or None,
        "region": node.region or None,
        "ranks": list(node.ranks(profile.recording)),
        "seconds": profile.seconds[node],
    }
    if node.kind is Kind.LOOP:
        document["count"] = profile.counts[node]
    time = profile.model(node)
    if time is not None and node.kind in LEAVES:
        document["model"] = {"terms": formula_text(time)}
    if node in profile.predicted:
        document["predicted"] = profile.predicted[node].seconds
    if node.children:
        document["children"] = [_node(profile, child) for child in node.children]
    return document
