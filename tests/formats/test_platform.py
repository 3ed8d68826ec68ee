"""Machines as SimGrid platforms."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from clue.errors import UsageError
from clue.formats.platform import simgrid_platform
from clue.machine import (
    Contention,
    Curve,
    FactorTable,
    Flows,
    Link,
    Machine,
    Network,
    NoContention,
    NodeType,
    Ports,
    Progress,
)
from clue.machine.contention.topology import Switch, Switches

NONE = NoContention()
LINK = Link(Curve.line(1e-5, 1e-9), Curve.line(4e-5, 2e-9), 5e-6, 64_000)
LOCAL = Link(Curve.line(0.0), Curve.line(1e-6, 1e-10))


def machine(contention: Contention = NONE, nodes: int = 3, link: Link = LINK) -> Machine:
    """Return a machine of dual-processor nodes with a factor of 1/2, except the first, which has a factor of 1."""
    slow, fast = NodeType("slow", processors=2, performance_factor=1.0), NodeType("fast", 2, performance_factor=0.5)
    return Machine("three", (slow, *[fast] * (nodes - 1)), Network(link, LOCAL, contention=contention))


def elements(contention: Contention, name: str) -> list[dict[str, str]]:
    """Return the attributes of all elements with this name."""
    return [each.attrib for each in ET.fromstring(simgrid_platform(machine(contention)).xml).iter(name)]


def test_hosts_have_speeds_and_cores() -> None:
    """A performance factor of 1/2 means twice the speed; the host list has one line per processor."""
    assert [(host["id"], host["speed"], host["core"]) for host in elements(NONE, "host")] == [
        ("node-0", "1000000000f", "2"),
        ("node-1", "2000000000f", "2"),
        ("node-2", "2000000000f", "2"),
    ]
    assert simgrid_platform(machine()).hosts == "node-0\nnode-0\nnode-1\nnode-1\nnode-2\nnode-2\n"


def test_without_contention_links_are_unshared() -> None:
    """Without contention, links have transmission's latency and bandwidth and are not shared."""
    up = elements(NONE, "link")[0]
    assert up == {"id": "up-0", "latency": "4e-05s", "bandwidth": "500000000Bps", "sharing_policy": "FATPIPE"}


def test_switch_is_shared_links() -> None:
    """A switch becomes a shared link up and one down for each node."""
    links = elements(Flows(Switch(1e8)), "link")
    assert len(links) == 6
    assert {(link["bandwidth"], link["sharing_policy"]) for link in links} == {("100000000Bps", "SHARED")}


def test_wide_links_need_routes() -> None:
    """If a message is slower than its links, routes are written out, and a link limits each message."""
    routes = elements(Flows(Switch(1e10)), "route")
    assert len(routes) == 6
    assert elements(Flows(Switch(1e10)), "link")[0]["bandwidth"] == "500000000Bps"
    with pytest.raises(UsageError, match="at most 512 nodes"):
        simgrid_platform(machine(Flows(Switch(1e10)), nodes=513))


def test_a_latency_between_switches_is_a_link_between_them() -> None:
    """Of three nodes on switches of two, four of six routes cross the link between switches."""
    far = Flows(Switches(2, 1e8, 1.0, 6e-4))
    (between,) = (link for link in elements(far, "link") if link["id"] == "between")
    assert between == {"id": "between", "latency": "0.0006s", "bandwidth": "1e+18Bps", "sharing_policy": "FATPIPE"}
    crossed = [link["id"] for link in elements(far, "link_ctn")]
    assert (crossed.count("own"), crossed.count("between")) == (6, 4)


def test_options_say_what_the_platform_cannot() -> None:
    """Options state the delays of sender and receiver, the eager limit, and plain max-min sharing."""
    options = simgrid_platform(machine()).options
    assert "--cfg=smpi/os:0:1e-05:1e-09" in options
    assert "--cfg=smpi/or:0:5e-06:0" in options
    assert "--cfg=smpi/async-small-thresh:64001" in options
    assert "--cfg=network/crosstraffic:0" in options


@pytest.mark.parametrize(
    ("contention", "told"),
    [
        (
            FactorTable(((1, 1.0), (2, 1.5))),
            "1 contention model, a factor, is left out: simultaneous messages do not slow each other down",
        ),
        (Ports(), "1 contention model, ports that serve in turn, is replaced by links that are shared"),
    ],
    ids=["factor", "ports"],
)
def test_contention_that_simgrid_has_not_is_told(contention: Contention, told: str) -> None:
    """Contention by factor or ports, which SimGrid lacks, causes a remark."""
    assert told in simgrid_platform(machine(contention)).remarks


def test_bent_curves_are_told() -> None:
    """A transmission delay that is not a straight line causes a remark."""
    bent = Link(Curve.line(0.0), Curve.through([(0, 1e-5), (1000, 2e-5), (2000, 9e-5)]))
    remarks = simgrid_platform(machine(link=bent)).remarks
    assert remarks == ("1 transmission delay is no straight line; its value at 0 B and last slope are taken",)


def test_what_links_and_libraries_state_beyond_delays_is_told() -> None:
    """Figures of links and the library without an option in SimGrid cause remarks; without them there is none."""
    stated = replace(LINK, send_overhead=Curve.line(1e-6), acknowledged_from=1000.0, busy=Curve.line(0.0, 4e-9))
    stated = replace(stated, bucket=9000.0)
    several = replace(machine(link=stated), network=Network(stated, stated, contention=NONE, progress=Progress.CALLS))
    assert simgrid_platform(several).remarks == (
        "1 links state a send_overhead, which is left out: Isend takes as long as Send",
        "1 links have messages that are acknowledged, which is left out: senders do not wait for it",
        "1 links state how long messages keep what they share (busy), which is left out: bandwidths determine it",
        "1 links state how much they let through at once (bucket), which is left out: SimGrid's links have no bucket",
        "1 library works within calls only, which is left out: SimGrid's works at any time",
    )
    assert simgrid_platform(machine()).remarks == ()
