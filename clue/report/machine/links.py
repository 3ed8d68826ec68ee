"""The distinct links of a machine by name, for tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.machine import Link, Machine


def named_links(machine: Machine) -> Iterator[tuple[str, Link]]:
    """Yield every link once: between nodes, within a node, then the exceptions by node types.

    Links within a node come without ``busy`` and ``bucket``, which concern what messages between nodes share. A pair
    whose two directions are alike is one link, ``"a – b"``; otherwise each is its own, ``"a → b"``.
    """
    network = machine.network
    yield "between nodes", network.between_nodes
    yield "within a node", _within(network.within_node)
    for (sender, receiver), link in network.pairs.items():
        back = network.pairs.get((receiver, sender))
        if back != link:
            yield f"{sender} → {receiver}", link
        elif sender <= receiver:
            yield f"{sender} – {receiver}", link
    for name, link in network.within.items():
        yield f"within {name}", _within(link)
    if network.across_domains is not None:
        yield "across domains", network.across_domains


def _within(link: Link) -> Link:
    return replace(link, busy=None, bucket=0.0)
