"""Machines as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clue.machine import Contention, Curve, Flows, LinkNoise, Machine, NoContention, NodeNoise, Ports
from clue.machine.contention.topology import Dragonfly, FatTree, Switch, Switches, Torus
from clue.report.machine.text import machine_text
from tests.report.cases import (
    machine,
    rendered,
    row,
)


def test_machine_shows_nodes_delays_contention_and_source() -> None:
    """The table contains the machine's description and the delays of messages of a few sizes."""
    text = rendered(machine_text(machine()))
    assert row(text, "pc") == "pc 2 2 256 MB 20,000 ATS 1"
    assert "0 (as recorded)" in text
    assert row(text, "between nodes send").endswith("send 10 us 11 us 74 us 1.01 ms")
    assert row(text, "total") == "total 55 us 66 us 693.4 us 10.01 ms"
    assert "eager up to 64 KB" in text
    expected = "contention factor on both delays by simultaneous messages: 1: ×1, 4: ×1.5"
    assert row(text, "contention") == expected
    assert "parameters change at 10 s of virtual time" in text
    assert row(text, "source") == "source by hand"
    assert text.endswith("Notes\n- made up for a test")


def test_links_within_a_node_show_nothing_of_ports() -> None:
    """A link between nodes that also holds within them is shown there without what messages between nodes share."""
    stated = replace(machine().network.between_nodes, busy=Curve.line(7e-6), bucket=9e3)
    network = replace(machine().network, between_nodes=stated, within_node=stated, pairs={}, within={"pc": stated})
    text = rendered(machine_text(replace(machine(), network=network, changes=())))
    assert text.count("9 KB at once") == 1
    assert [line.split() for line in text.splitlines() if " busy " in line and " us" in line] == [
        ["busy", "7", "us", "7", "us", "7", "us", "7", "us"]
    ]


def test_large_speeds_have_no_exponent() -> None:
    """A speed of 20 Gflop/s is shown in Mflop/s with all its digits."""
    nodes = tuple(replace(node, speeds={"": 2e10}) for node in machine().nodes)
    of = replace(machine(), nodes=nodes, changes=())
    assert "- pc: no region runs at 20,000 Mflop/s\n" in rendered(machine_text(of))


def test_both_directions_of_a_pair_are_one_link() -> None:
    """A pair with the same delays in both directions is shown once."""
    text = rendered(machine_text(machine()))
    assert text.count("big – pc") == 1
    assert "→" not in text


@pytest.mark.parametrize(
    ("contention", "words"),
    [
        (NoContention(), "none: simultaneous messages do not slow each other down, however many there are"),
        (
            Ports(),
            "ports: each node sends one message after the other, and receives so; short ones pass long ones; a message",
        ),
        (Ports(Curve.line(1e-6, 1e-9)), "a port for 0 B: 1 us, 1 KB: 2 us, 64 KB: 65 us, 1 MB: 1.001 ms"),
        (Flows(Switch(1e9)), "one switch, 1 GB/s a node; 6 links, bisection 1 GB/s each way"),
        (
            Flows(Switches(2, 1e9, 2.0)),
            "switches of 2 nodes, 1 GB/s a node, uplinks of 1 GB/s (2:1); 10 links, bisection 1 GB/s each way",
        ),
        (
            Flows(FatTree((2, 4), (1, 2), (1, 1), (1e9, 2e9))),
            "fat tree 2;2,4;1,2;1,1 (levels;down;up;links), 1 GB/s, 2 GB/s a link; 8 places, 32 links, "
            "bisection 4 GB/s each way",
        ),
        (Flows(Torus((2, 2), 1e9)), "torus 2 × 2, 1 GB/s a link; 4 places, 8 links, bisection 2 GB/s each way"),
        (
            Flows(Dragonfly(2, 2, 1, 1e9, 2e9, 3e9)),
            "dragonfly of 2 groups × 2 routers × 1 nodes, 1 GB/s a node, 2 GB/s within a group, 3 GB/s between groups; "
            "4 places, 14 links, bisection 2 GB/s each way",
        ),
        (Flows(Switch(1e9), in_order=True), "messages share links max-min fairly, those between two ranks in order; "),
    ],
)
def test_machine_says_how_messages_slow_each_other_down(contention: Contention, words: str) -> None:
    """Each model has its description, and a topology its links and bisection; no contention is described as well."""
    given = Machine("m", machine().nodes, replace(machine().network, contention=contention))
    assert words in " ".join(rendered(machine_text(given)).split())


def test_a_machine_of_one_node_says_nothing_of_contention() -> None:
    """A single node has no contention, so the text does not mention it."""
    alone = Machine("m", machine().nodes[:1], replace(machine().network, contention=Ports()))
    assert "contention" not in rendered(machine_text(alone))


def test_machine_says_how_sure_its_figures_are() -> None:
    """Noise of nodes and links is shown in percent, and not at all if none is stated."""
    plain = machine()
    network = replace(plain.network, between_nodes=replace(plain.network.between_nodes, noise=LinkNoise(0.05, 0.1)))
    nodes = tuple(replace(node, noise=NodeNoise(0.03, 0.02)) for node in plain.nodes)
    shown = rendered(machine_text(replace(plain, nodes=nodes, network=network)))
    assert "pc: noise of 3 % in each burst" in shown
    assert "pc: noise of 2 % in the performance factor" in shown
    assert "between nodes: noise of 5 % in send and receive delays" in shown
    assert "between nodes: noise of 10 % in transmission delays" in shown
    assert "noise" not in rendered(machine_text(plain))
