"""Machines as SimGrid platforms."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from clue.errors import UsageError
from clue.formats.platform import simgrid_platform, write_platform
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
    Rendezvous,
)
from clue.machine.contention.topology import Switch, Switches

#: What the send delay of LINK above its eager limit causes.
BLOCKED = (
    "1 link has a send delay above its eager limit (10 us + 1 ns/B, limit 64 KB), which is left out for blocking "
    "sends: SimGrid charges it to Isends and eager messages only"
)
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
    links = [link for link in elements(Flows(Switch(1e8)), "link") if link["id"] != "within"]
    assert len(links) == 6
    assert {(link["bandwidth"], link["sharing_policy"]) for link in links} == {("100000000Bps", "SHARED")}


def test_wide_links_need_routes() -> None:
    """If a message is slower than its links, routes are written out, and a link limits each message."""
    routes = elements(Flows(Switch(1e10)), "route")
    assert len([route for route in routes if route["src"] != route["dst"]]) == 6
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


@pytest.mark.parametrize(
    "contention",
    [NONE, Ports(), Flows(Switch(1e8)), Flows(Switch(1e10)), Flows(Switches(2, 1e8))],
    ids=["none", "ports", "switch", "wide switch", "switches"],
)
def test_messages_within_a_node_take_a_link_of_their_own(contention: Contention) -> None:
    """Each node has a route to itself over a link of 1 us and 0.1 ns/B, which no message shares."""
    (within,) = (link for link in elements(contention, "link") if link["id"] == "within")
    assert within == {"id": "within", "latency": "1e-06s", "bandwidth": "10000000000Bps", "sharing_policy": "FATPIPE"}
    routes = ET.fromstring(simgrid_platform(machine(contention)).xml).iter("route")
    own = [route for route in routes if route.get("src") == route.get("dst")]
    assert [route.get("src") for route in own] == ["node-0", "node-1", "node-2"]
    assert [[link.get("id") for link in route] for route in own] == [["within"]] * 3


def test_options_say_what_the_platform_cannot() -> None:
    """Options state the delays of sender and receiver, the eager limit, and plain max-min sharing."""
    options = simgrid_platform(machine()).options
    assert "--cfg=smpi/os:0:1e-05:1e-09" in options
    assert "--cfg=smpi/or:0:5e-06:0" in options
    assert "--cfg=smpi/async-small-thresh:64001" in options
    assert "--cfg=network/crosstraffic:0" in options
    assert "--cfg=network/optim:Full" in options  # with the default, a link may carry more than its bandwidth
    assert "--cfg=smpi/coll-selector:mpich" in options


@pytest.mark.parametrize(("library", "hints"), [("mpich", 2), ("mpich-flat", 2), ("openmpi", 1)])
def test_a_selector_with_which_simgrid_aborts_is_told(library: str, hints: int) -> None:
    """SimGrid 3.32 aborts replays of some collectives with the selector of MPICH, not with that of Open MPI."""
    one = machine()
    found = write_platform(replace(one, network=replace(one.network, collective_library=library)), "x.xml").hints
    assert len(found) == hints
    assert all("bcast, reduce and allreduce with smpi/coll-selector:mpich" in each for each in found[1:])


@pytest.mark.parametrize(
    ("contention", "told"),
    [
        (
            FactorTable(((1, 1.0), (2, 1.5))),
            "1 contention model, a factor (factor on both delays by simultaneous messages: 1: ×1, 2: ×1.5), is left "
            "out: simultaneous messages do not slow each other down",
        ),
        (Ports(), "1 contention model, ports that serve in turn, is replaced by links that are shared"),
        (
            Flows(Switch(1e9), in_order=True),
            "1 contention model, flows in order, is replaced by flows that share links also between two ranks",
        ),
    ],
    ids=["factor", "ports", "flows in order"],
)
def test_contention_that_simgrid_has_not_is_told(contention: Contention, told: str) -> None:
    """Contention by factor or ports, which SimGrid lacks, causes a remark."""
    assert told in simgrid_platform(machine(contention)).remarks


def test_bent_curves_are_told() -> None:
    """A transmission delay that is not a straight line causes a remark."""
    bent = Link(Curve.line(0.0), Curve.through([(0, 1e-5), (1000, 2e-5), (2000, 9e-5)]))
    remarks = simgrid_platform(machine(link=bent)).remarks
    taken = "1 transmission delay is no straight line; its value at 0 B and last slope are taken: 10 us + 70 ns/B"
    assert remarks == (f"{taken}, 60 us too long at 1 KB",)
    bent = Link(Curve.line(0.0), Curve.through([(0, 1e-5), (1000, 9e-5), (2000, 9e-5)]))
    (remark,) = simgrid_platform(machine(link=bent)).remarks
    assert remark.endswith("last slope are taken: 10 us, 80 us too short at 1 KB")


@pytest.mark.parametrize(
    ("delay", "limit", "told"),
    [
        (Curve.line(0.0, 1e-9), 0, "1 ns/B, limit 0 B"),
        (Curve.line(2e-6), 4096, "2 us, limit 4.096 KB"),
        (Curve.line(2e-6), None, ""),
        (Curve.line(0.0), 4096, ""),
    ],
    ids=["growing", "constant", "all eager", "none"],
)
def test_send_delays_of_blocking_rendezvous_are_told(delay: Curve, limit: int | None, told: str) -> None:
    """SimGrid 3.32 charges ``smpi/os`` and ``smpi/ois`` to sends that are detached or nonblocking.

    So on a link of 1.2 us, and 50 ps/B each for sending and travelling, ``smpirun`` lets a blocking send of 4 MiB above
    the limit end after 211 us, and an Isend with its wait after 421 us.
    """
    network = Network(Link(delay, Curve.line(1e-5, 1e-9), eager_limit=limit), LOCAL, contention=NONE)
    remarks = simgrid_platform(Machine("two", (NodeType("one"),) * 2, network)).remarks
    assert [each for each in remarks if f"eager limit ({told})" in each] == (list(remarks) if told else [])
    assert len(remarks) == bool(told)


def test_a_bent_send_delay_is_written_as_lines_by_size() -> None:
    """From 100 B to 1 KB it grows by 10 ns/B from 10 us on, then by 70 ns/B: 9 us + 10 ns/B and -51 us + 70 ns/B."""
    bent = Link(Curve.through([(100, 1e-5), (1000, 1.9e-5), (2000, 8.9e-5)]), Curve.line(0.0))
    platform = simgrid_platform(machine(link=bent))
    (option,) = (each for each in platform.options if each.startswith("--cfg=smpi/os:"))
    lines = [tuple(map(float, each.split(":"))) for each in option.removeprefix("--cfg=smpi/os:").split(";")]
    assert lines[:3] == [(0, 1e-5, 0), pytest.approx((100, 9e-6, 1e-8)), pytest.approx((1000, -5.1e-5, 7e-8))]
    assert not any("straight line" in each for each in platform.remarks)


def test_what_links_and_libraries_state_beyond_delays_is_told() -> None:
    """Figures of links and the library without an option in SimGrid cause remarks; without them there is none."""
    stated = replace(LINK, send_overhead=Curve.line(1e-6), acknowledged_from=1000.0, busy=Curve.line(0.0, 4e-9))
    stated = replace(stated, bucket=9000.0, rendezvous=Rendezvous.READ)
    several = replace(machine(link=stated), network=Network(stated, stated, contention=NONE, progress=Progress.CALLS))
    assert simgrid_platform(several).remarks == (
        "1 link states a send_overhead (1 us), which is left out: Isend takes as long as Send",
        "1 link has messages that are acknowledged (from 1 KB), which is left out: senders do not wait for it",
        "1 link has receivers that read data (rendezvous: read), which is left out: senders are blocked until their "
        "message has arrived, as in all rendezvous",
        "1 link states how long messages keep what they share (busy: 4 ns/B), which is left out: bandwidths determine "
        "it",
        "1 link states how much it lets through at once (bucket: 9 KB), which is left out: SimGrid's links have no "
        "bucket",
        "1 library works within calls only, which is left out: SimGrid's works at any time",
        BLOCKED,
    )
    assert simgrid_platform(replace(several, network=Network(LINK, LINK, contention=NONE))).remarks == (BLOCKED,)


def test_a_link_within_nodes_that_options_cannot_state_is_told() -> None:
    """Options state send delay, receive delay and eager limit once; nodes of one processor have no link within them."""
    assert simgrid_platform(machine()).remarks == (
        BLOCKED,
        "1 link within a node differs from the link between nodes (send delay 0 s, receive delay 0 s, eager limit "
        "none), which is left out: SimGrid's options hold for both",
    )
    alone = Machine("alone", (NodeType("one"),) * 2, machine().network)
    assert simgrid_platform(alone).remarks == (BLOCKED,)


def test_a_single_node_has_the_options_of_its_own_link() -> None:
    """On a machine of one node, all messages take the link within it."""
    single = simgrid_platform(machine(nodes=1))
    assert "--cfg=smpi/os:0:0.0:0.0" in single.options
    assert single.remarks == ()


@pytest.mark.parametrize(
    ("contention", "told"),
    [(Ports(), ", so ports are never a bottleneck"), (Flows(Switch(1e9)), "")],
    ids=["ports", "flows"],
)
def test_sharing_by_the_send_delay_is_told(contention: Contention, told: str) -> None:
    """If only the send delay grows, by 2 ns/B, messages keep ports and links for it, but not SimGrid's links."""
    sending = Link(Curve.line(1e-5, 2e-9), Curve.line(4e-5))
    network = Network(sending, sending, contention=contention)
    assert simgrid_platform(Machine("two", (NodeType("one"),) * 2, network)).remarks[-1] == (
        "1 link keeps what it shares for another time than messages travel (2 ns/B), which is left out: SimGrid shares "
        f"links by the travel time alone, 0 s/B{told}"
    )


def test_properties_of_nodes_are_told_with_their_values() -> None:
    """Remarks count node types, links and pairs, and give the values of each."""
    slow = NodeType("slow", background_load=1.5, reduction_delay=2e-9, speeds={"dgemm": 1e9})
    fast = NodeType("fast", background_load=0.5, memory_contention={2: {"": 0.75}})
    network = Network(LINK, LINK, {("slow", "fast"): LOCAL, ("fast", "slow"): LOCAL})
    later = Machine("later", (slow, fast), network)
    assert simgrid_platform(replace(later, changes=((5.0, later),))).remarks == (
        "1 change happens during the run (at 5 s), which is left out",
        "1 node type has factors or speeds by region (slow: 1e+09 flop/s in dgemm), which is left out",
        "1 node type has memory contention (fast: 0.75 of the speed with 2 busy), which is left out",
        "2 node types have background load (slow: 1.5; fast: 0.5), which is left out",
        "1 node type has a reduction delay (slow: 2 ns/B), which is left out",
        "1 pair of node types has a link of its own (fast and slow: transmission delay 1 us + 0.1 ns/B, send delay 0 "
        "s, receive delay 0 s, eager limit none), which is left out",
        BLOCKED,
    )


@pytest.mark.parametrize(("name", "said"), [("a--b---c-", "a- -b- - -c-"), ("HOSTS", "HOSTS"), ("-->", "- ->")])
def test_names_do_not_break_the_comment(name: str, said: str) -> None:
    """XML forbids two hyphens in a row in a comment; numbers have their nouns."""
    xml = simgrid_platform(replace(machine(nodes=1), name=name)).xml
    assert [host.attrib["id"] for host in ET.fromstring(xml).iter("host")] == ["node-0"]
    assert f"<!-- {said}, 1 node, 2 processors -->" in xml


def test_a_list_of_hosts_with_blanks_in_its_name_is_told() -> None:
    """SimGrid 3.32 opens a platform with blanks in its name, but no list of hosts."""
    told = "smpirun opens no file with blanks in its name after -hostfile: rename 'my pair.hosts'"
    assert told in write_platform(machine(), "my pair.xml").hints
    assert not any("blanks" in each for each in write_platform(machine(), "pair.xml").hints)


def test_the_list_of_hosts_does_not_replace_the_platform() -> None:
    """A platform that is named as its list of hosts is refused: only the list would be left."""
    assert list(write_platform(machine(), "pair.xml").files) == ["pair.xml", "pair.hosts"]
    with pytest.raises(UsageError, match=r"pair\.hosts: platform must have another name than the list of hosts"):
        write_platform(machine(), "pair.hosts")
