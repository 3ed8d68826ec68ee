"""Nodes of a structure graph in words."""

from __future__ import annotations

from clue.analysis.graph import GraphProfile
from clue.report.shared.ranks import ranks_text
from clue.structure import Kind, Node
from clue.units import format_number


def ranks_of(profile: GraphProfile, node: Node) -> str:
    """Return a node's ranks in words."""
    ranks = node.ranks(profile.recording)
    return "all" if len(ranks) == profile.ranks else ranks_text(ranks) or "none here"


def whose(profile: GraphProfile, node: Node) -> str:
    """Return a node's ranks in words, with "rank" or "ranks" before them."""
    ranks = node.ranks(profile.recording)
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranks_of(profile, node)}"


def words(profile: GraphProfile, node: Node) -> str:
    """Return a node on one line: iterations and name of a loop, name or ranks of others."""
    if node.kind is Kind.LOOP:
        return f"{format_number(profile.counts[node])} × {node.name}"
    return node.name or whose(profile, node)
