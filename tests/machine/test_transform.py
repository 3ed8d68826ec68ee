"""Machines with replaced parts: all places and times are reached, and shared parts stay shared."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from clue.machine import Curve, FactorTable, Link, Machine, Network, NoContention, NodeType, Place, Ports

LATENCIES = (1e-6, 2e-6, 3e-6, 4e-6, 5e-6)
BETWEEN, WITHIN, PAIR, OWN, ACROSS = (Link(Curve.line(latency), Curve.line(0.0)) for latency in LATENCIES)
NETWORK = Network(BETWEEN, WITHIN, {("a", "b"): PAIR, ("b", "a"): PAIR}, {"a": OWN}, Ports(), across_domains=ACROSS)
TYPES = (NodeType("a"), NodeType("b"))
LATER = Machine("m", TYPES, replace(NETWORK, contention=FactorTable(((1, 1.0), (2, 3.0)))))
MACHINE = Machine("m", TYPES, NETWORK, changes=((1.0, LATER),))


def slower(link: Link, _: Place) -> Link:
    """Return a link with twice the latency."""
    return replace(link, send_delay=link.send_delay.scaled(2.0))


def test_all_links_are_reached_where_they_stand() -> None:
    """Each link of a network has a named place: between or within nodes, for all types or some."""
    assert NETWORK.links == {
        Place(within=False): BETWEEN,
        Place(within=True): WITHIN,
        Place(within=False, types=("a", "b")): PAIR,
        Place(within=False, types=("b", "a")): PAIR,
        Place(within=True, types=("a",)): OWN,
        Place(within=True, across=True): ACROSS,
    }
    doubled = NETWORK.map(slower)
    assert {place: link.send_delay(0) for place, link in doubled.links.items()} == {
        place: 2 * link.send_delay(0) for place, link in NETWORK.links.items()
    }


def test_every_field_that_holds_links_is_one_that_is_mapped() -> None:
    """Each field of a network that holds links has places, so that no link is missed.

    A field whose type names links must hold one here, also if there is none by default.
    """
    found = {each.name: _links_in(getattr(NETWORK, each.name)) for each in fields(Network) if "Link" in str(each.type)}
    assert found == {
        "between_nodes": [BETWEEN],
        "within_node": [WITHIN],
        "pairs": [PAIR, PAIR],
        "within": [OWN],
        "across_domains": [ACROSS],
    }
    assert {each for links in found.values() for each in links} == set(NETWORK.links.values())


def _links_in(value: object) -> list[Link]:
    if isinstance(value, Link):
        return [value]
    return [each for each in value.values() if isinstance(each, Link)] if isinstance(value, dict) else []


def test_what_is_one_stays_one() -> None:
    """A link in several places stays one object if it is changed alike, and becomes two otherwise."""
    shared = Network(BETWEEN, BETWEEN)
    both = shared.map(slower)
    assert both.between_nodes is both.within_node
    apart = shared.map(lambda link, place: slower(link, place) if place.within else link)
    assert (apart.between_nodes, apart.within_node.send_delay(0)) == (BETWEEN, pytest.approx(2 * LATENCIES[0]))


def test_nothing_is_replaced_unasked() -> None:
    """A map without functions returns an equal machine."""
    assert MACHINE.map() == MACHINE
    assert MACHINE.map(network=Network.map) == MACHINE


def test_what_changes_over_time_is_replaced_at_all_times() -> None:
    """Node types, links and contention are replaced at the start and after each change."""
    changed = MACHINE.map(
        lambda node: replace(node, performance_factor=2.0),
        lambda network: network.map(slower, lambda contention: NoContention() if contention == Ports() else contention),
    )
    assert [{node.performance_factor for node in each.nodes} for each in changed.epochs] == [{2.0}, {2.0}]
    assert [each.network.between_nodes.send_delay(0) for each in changed.epochs] == [2e-6, 2e-6]
    assert [each.network.contention for each in changed.epochs] == [NoContention(), LATER.network.contention]
    assert [at for at, _ in changed.changes] == [1.0]
