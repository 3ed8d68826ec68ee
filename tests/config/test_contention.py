"""Contention and LogGOPS in a machine's file: what each form becomes, what may change, and each fault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from clue.config import load_machine
from clue.config.document import from_python
from clue.config.machines import machine_from
from clue.errors import ConfigError
from clue.kernel import simulate
from clue.machine import Contention, Curve, FactorTable, Flows, Machine, NoContention, Ports
from clue.machine.contention.topology import Dragonfly, FatTree, Switch, Switches, Torus
from clue.trace import Op, TraceBuilder
from tests.config.documents import MACHINE, changed, faults_of

LINK: Mapping[str, object] = {"send_delay": "1 us", "transmission_delay": "1 us"}
#: The example of LogGOPSim's README, without O and S.
LOGGOPS: Mapping[str, object] = {"L": "2500 ns", "o": "1500 ns", "g": "1000 ns", "G": "6 ns/B"}


def machine(nodes: int = 2, **network: object) -> Machine:
    """Return a machine whose network has the given keys."""
    given = {"between_nodes": LINK} if "loggops" not in network else {}
    return load_machine({"nodes": [{"count": nodes, "type": "a"}], "node_types": {"a": {}}, "network": given | network})


def contention(given: object) -> Contention:
    """Return the contention that a network of 16 nodes has if it states the given value."""
    return machine(16, contention=given).network.contention


# --- models ---


def test_a_network_that_says_nothing_has_ports() -> None:
    """Ports are the default, also for null; the word none means no contention."""
    assert machine().network.contention == Ports()
    given = (None, "ports", "none", "None")
    assert [contention(each) for each in given] == [Ports(), Ports(), NoContention(), NoContention()]


def test_a_table_of_numbers_is_one_of_factors() -> None:
    """A table with or without the name ``factor``, in any order, becomes a table of factors."""
    expected = FactorTable(((1, 1.0), (4, 2.0)))
    assert contention({4: 2.0, 1: 1}) == expected
    assert contention({"factor": {4: 2.0, 1: 1}}) == expected


def test_ports_may_say_how_long_a_message_keeps_them() -> None:
    """``busy`` takes any form of a curve, here 2 us and 1 GB/s."""
    busy = {"latency": "2 us", "bandwidth": "1 GB/s"}
    assert contention({"ports": {"busy": busy}}) == Ports(Curve.line(2e-6, 1e-9))
    assert contention({"ports": {"busy": "2 us"}}) == Ports(Curve.line(2e-6))
    assert contention({"ports": {}}) == Ports()


def test_a_link_may_say_how_long_a_message_keeps_what_it_shares() -> None:
    """A pair with its own delays does not inherit ``busy``; links within a node have none."""
    types = {"nodes": [{"count": 2, "type": "a"}, {"count": 1, "type": "b"}], "node_types": {"a": {}, "b": {}}}
    pairs = [{"between": ["a", "b"], "receive_delay": "1 us"}, {"between": ["b", "b"], "send_delay": "2 us"}]
    given = {"between_nodes": {**LINK, "busy": "3 us"}, "pairs": pairs}
    network = load_machine({**types, "network": given}).network
    assert network.between_nodes.busy == Curve.line(3e-6)
    assert network.link("a", "b", same_node=False).busy == Curve.line(3e-6)
    assert network.link("b", "b", same_node=False).busy is None
    pairs.append({"between": ["a", "a"], "busy": "4 us"})
    assert load_machine({**types, "network": given}).network.link("a", "a", same_node=False).busy == Curve.line(4e-6)
    with pytest.raises(ConfigError, match=r"within_node\.busy must be a known key"):
        machine(within_node={**LINK, "busy": "1 us"})


def test_a_link_may_say_how_much_it_lets_through_at_once() -> None:
    """``bucket`` is in bytes; a pair with its own delays does not inherit it, and links within a node have none."""
    types = {"nodes": [{"count": 2, "type": "a"}, {"count": 1, "type": "b"}], "node_types": {"a": {}, "b": {}}}
    pairs = [{"between": ["a", "b"], "receive_delay": "1 us"}, {"between": ["b", "b"], "send_delay": "2 us"}]
    given = {"between_nodes": {**LINK, "bucket": "9 KB"}, "pairs": pairs}
    network = load_machine({**types, "network": given}).network
    assert network.between_nodes.bucket == 9000.0
    assert network.link("a", "b", same_node=False).bucket == 9000.0
    assert network.link("b", "b", same_node=False).bucket == 0.0
    pairs.append({"between": ["a", "a"], "bucket": "0 B"})
    pairs[1]["bucket"] = "2 KiB"
    network = load_machine({**types, "network": given}).network
    assert [network.link(each, each, same_node=False).bucket for each in "ab"] == [0.0, 2048.0]
    assert machine().network.between_nodes.bucket == 0.0
    with pytest.raises(ConfigError, match=r"within_node\.bucket must be a known key"):
        machine(within_node={**LINK, "bucket": "9 KB"})
    with pytest.raises(ConfigError, match=r"between_nodes\.bucket must be a size"):
        machine(between_nodes={**LINK, "bucket": "9 us"})


@pytest.mark.parametrize(
    ("written", "topology"),
    [
        ({"topology": "switch", "bandwidth": "1 GB/s"}, Switch(1e9)),
        ({"topology": "switches", "nodes_per_switch": 8, "bandwidth": "8 Gbit/s"}, Switches(8, 1e9, 1.0)),
        (
            {"topology": "switches", "nodes_per_switch": 8, "bandwidth": "1 GB/s", "oversubscription": 2},
            Switches(8, 1e9, 2.0),
        ),
        (
            {
                "topology": "switches",
                "nodes_per_switch": 8,
                "bandwidth": "1 GB/s",
                "latency_between_switches": "0.6 ms",
            },
            Switches(8, 1e9, 1.0, 0.0006),
        ),
        (
            {"topology": "fat_tree", "down": [4, 4], "up": [1, 2], "bandwidth": "1 GB/s"},
            FatTree((4, 4), (1, 2), (1, 1), (1e9, 1e9)),
        ),
        (
            {
                "topology": "fat_tree",
                "down": [4, 4],
                "up": [1, 1],
                "links": [1, 2],
                "bandwidth": ["1 GB/s", "4 GB/s"],
            },
            FatTree((4, 4), (1, 1), (1, 2), (1e9, 4e9)),
        ),
        ({"topology": "torus", "dimensions": [4, 2, 2], "bandwidth": "2 GB/s"}, Torus((4, 2, 2), 2e9)),
        (
            {
                "topology": "dragonfly",
                "groups": 3,
                "routers_per_group": 2,
                "nodes_per_router": 3,
                "bandwidth": {"node": "1 GB/s", "within_group": "2 GB/s", "between_groups": "4 GB/s"},
            },
            Dragonfly(3, 2, 3, 1e9, 2e9, 4e9),
        ),
        (
            {
                "topology": "dragonfly",
                "groups": 3,
                "routers_per_group": 2,
                "nodes_per_router": 3,
                "bandwidth": "1 GB/s",
            },
            Dragonfly(3, 2, 3, 1e9, 1e9, 1e9),
        ),
    ],
)
def test_flows_have_a_topology(written: Mapping[str, object], topology: object) -> None:
    """Each topology is read with its keys; defaults of optional keys have no effect."""
    assert contention({"flows": written}) == Flows(topology)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["yes", 1, None])
def test_order_is_true_or_false(given: object) -> None:
    """Anything else is refused, with the key."""
    written = {"topology": "switch", "bandwidth": "1 GB/s", "in_order": given}
    with pytest.raises(ConfigError, match=r"flows\.in_order must be true or false, got"):
        contention({"flows": written})
    assert contention({"flows": written | {"in_order": True}}) == Flows(Switch(1e9), in_order=True)


@pytest.mark.parametrize("given", [None, "none", "ports", {"flows": {"topology": "switch", "bandwidth": "1 GB/s"}}])
def test_a_machine_of_one_node_has_nothing_to_say_about_contention(given: object) -> None:
    """Whatever contention a machine of one node states, there is no note and no warning."""
    alone = machine(1, contention=given)
    built = TraceBuilder(1)
    built[0].compute(1.0)
    assert alone.notes == ()
    assert simulate(built.build(), alone).warnings == ()


# --- faults ---

FLOWS = "network.contention.flows"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("nothing", "10:15: network.contention must be 'none' or 'ports', got \"nothing\""),
        (
            "flows",
            "10:15: network.contention must state the topology whose links messages share (switch, switches, fat_tree, "
            'torus, dragonfly), such as {flows: {topology: switch, bandwidth: 1 GB/s}}, got "flows" alone',
        ),
        (
            "factor",
            "10:15: network.contention must state its factors by number of simultaneous communications, such as "
            '{factor: {1: 1, 4: 2.5}}, got "factor" alone',
        ),
        ("{flows: }", "10:15: network.contention must have one of factor, ports, flows, got flows without a value"),
        (
            "{flows: torus}",
            f'10:23: {FLOWS} must be a mapping, got "torus" alone: state {{topology: torus, …}} with its figures',
        ),
        ("1.5", "10:15: network.contention must be 'none' or 'ports', got 1.5"),
        ("[1, 2]", "10:15: network.contention must be one value or a mapping, got a list"),
        (
            "{}",
            "10:15: network.contention must have one of factor, ports, flows, or factors by number, got an empty mapp",
        ),
        ("{factor: {}}", "10:24: network.contention.factor must have an entry for 1 communication, got an empty mapp"),
        ("{1: 1, 2.5: 2}", "10:22: network.contention[2.5] must be a whole number, got 2.5"),
        ("{factor: {1: 1, 1e-3: 2}}", "10:31: network.contention.factor[0.001] must be a whole number, got 0.001"),
        (
            "{flow: {}}",
            '10:16: network.contention.flow must be a key of network.contention (factor, flows, ports), got "f',
        ),
        (
            "{ports: {}, factor: {1: 1}}",
            "10:15: network.contention must have one of factor, ports, flows, got factor and",
        ),
        ("{factor: {2: 1.5}}", "10:24: network.contention.factor must have an entry for 1 communication"),
        ("{1: 1, 1000001: 2}", "10:22: network.contention[1000001] must be at most 1e+06, got 1000001"),
        (
            "{ports: {busy: 5}}",
            '10:30: network.contention.ports.busy must be a time with a unit, got 5: did you mean "5',
        ),
        (
            "{ports: {bussy: 5 us}}",
            "10:24: network.contention.ports.bussy must be a key of network.contention.ports (bus",
        ),
        ("{flows: switch}", f"10:23: {FLOWS} must be a mapping, got "),
        (
            "{flows: {}}",
            f"10:23: {FLOWS} must have a topology (switch, switches, fat_tree, torus, dragonfly), got none",
        ),
        (
            "{flows: {topology: tours, bandwidth: 1 GB/s}}",
            f'10:23: {FLOWS} must have a topology (switch, switches, fat_tree, torus, dragonfly), got "tours": did you',
        ),
        ("{flows: {topology: switch}}", f"10:23: {FLOWS}.bandwidth must be given, got nothing"),
        ("{flows: {topology: switch, bandwidth: 1}}", f"10:53: {FLOWS}.bandwidth must be a bandwidth with a unit"),
        ("{flows: {topology: switch, bandwidth: 0 B/s}}", f"10:53: {FLOWS}.bandwidth must be a bandwidth above 0"),
        (
            "{flows: {topology: switches, nodes_per_switch: 4, bandwidth: 1 GB/s, oversubscription: 0}}",
            f"10:102: {FLOWS}.oversubscription must be above 0, got 0",
        ),
        (
            "{flows: {topology: torus, dimensions: [0], bandwidth: 1 GB/s}}",
            f"10:54: {FLOWS}.dimensions[0] must be at least 1, got 0",
        ),
        (
            "{flows: {topology: torus, dimensions: [], bandwidth: 1 GB/s}}",
            f"10:53: {FLOWS}.dimensions must have at least 1 entries, got an empty list",
        ),
        (
            "{flows: {topology: torus, dimensions: [1], bandwidth: 1 GB/s}}",
            f"10:53: {FLOWS}.dimensions must give a place to each of the 2 nodes, got 1 places",
        ),
        (
            "{flows: {topology: torus, dimensions: [1000000, 1000000], bandwidth: 1 GB/s}}",
            f"10:23: {FLOWS} must have at most 20000000 links, got 4000000000000",
        ),
        (
            "{flows: {topology: fat_tree, down: [2], up: [1, 2], links: [1, 1, 1], bandwidth: [1 GB/s, 1 GB/s]}}",
            f"10:59: {FLOWS}.up must have 1 entries, as many as down, got 2",
        ),
        (
            "{flows: {topology: fat_tree, down: [2], up: [1], links: [1, 1, 1], bandwidth: [1 GB/s, 1 GB/s]}}",
            f"10:71: {FLOWS}.links must have 1 entries, as many as down, got 3",
        ),
        (
            "{flows: {topology: fat_tree, down: [2], up: [1], bandwidth: [1 GB/s, 1 GB/s]}}",
            f"10:75: {FLOWS}.bandwidth must have 1 entries, as many as down, got 2",
        ),
        (
            "{flows: {topology: fat_tree, down: [1, 1], up: [1, 2], bandwidth: 1 GB/s}}",
            f"10:50: {FLOWS}.down must give a place to each of the 2 nodes, got 1 places",
        ),
        (
            "{flows: {topology: dragonfly, groups: 1, routers_per_group: 1, nodes_per_router: 1, bandwidth: "
            "{node: 1 GB/s, within_group: 1 GB/s, between_groups: 1 GB/s}}}",
            f"10:53: {FLOWS}.groups must give a place to each of the 2 nodes, got 1 places",
        ),
        (
            "{flows: {topology: dragonfly, groups: 1, routers_per_group: 1, nodes_per_router: 2, bandwidth: [1 GB/s]}}",
            f"10:110: {FLOWS}.bandwidth must be one value or a mapping, got a list",
        ),
        (
            "{flows: {topology: switch, bandwidth: 1 GB/s, nodes_per_switch: 4}}",
            f"10:61: {FLOWS}.nodes_per_switch must be given with topology switches, got topology switch",
        ),
        (
            "{flows: {topology: fat_tree, down: [2], up: [1], bandwidth: 1 GB/s, oversubscription: 2}}",
            f"10:83: {FLOWS}.oversubscription must be given with topology switches, got topology fat_tree",
        ),
        (
            "{flows: {topology: torus, dimensions: [2], bandwidth: 1 GB/s, groups: 2}}",
            f"10:77: {FLOWS}.groups must be given with topology dragonfly, got topology torus",
        ),
        (
            "{flows: {topology: switch, bandwidth: 1 GB/s, node_per_switch: 4}}",
            f'10:61: {FLOWS}.node_per_switch must be a known key, got "node_per_switch": did you mean "nodes_per_sw',
        ),
        (
            "{ports: {busy: {points: [[0 B, 1 us]], latency: 1 us}}}",
            "10:54: network.contention.ports.busy.latency must be given without points, got both",
        ),
    ],
)
def test_a_fault_of_contention_has_place_rule_and_value(tmp_path: Path, text: str, fault: str) -> None:
    """One fault in the contention of two nodes is reported with place, rule and value."""
    file = tmp_path / "m.yaml"
    file.write_text(MACHINE + f"  contention: {text}\n")
    found = [line.removeprefix(f"{file}:") for line in faults_of(load_machine, file)]
    assert any(line.startswith(fault) for line in found), found


SWITCH = "{flows: {topology: switch, bandwidth: 1 GB/s}}"


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("ports", "none", "must stay ports during a run, got none"),
        ("none", "ports", "must stay none during a run, got ports"),
        ("{1: 1.0}", "ports", "must stay factor during a run, got ports"),
        ("{1: 1.0}", SWITCH, "must stay factor during a run, got flows"),
        (SWITCH, "{ports: {}}", "must stay flows during a run, got ports"),
        (SWITCH, "{flows: {bandwidth: 2 GB/s}}", "must keep its topology during a run, got another"),
        (
            SWITCH,
            "{flows: {topology: torus, dimensions: [2], bandwidth: 1 GB/s}}",
            "must keep its topology during a run, got another",
        ),
    ],
)
def test_neither_the_model_nor_the_topology_changes_during_a_run(
    tmp_path: Path, before: str, after: str, fault: str
) -> None:
    """A change of the model or of the topology is refused, and the message points at it."""
    file = tmp_path / "m.yaml"
    change = f"changes: [{{at: 2 s, network: {{contention: {after}}}}}]\n"
    file.write_text(MACHINE + f"  contention: {before}\n" + change)
    (found,) = faults_of(load_machine, file)
    assert found == f"{file}:11:43: changes[0].network.contention {fault}"


def test_the_figures_of_contention_may_change_during_a_run() -> None:
    """Factors may change during a run, and a table is merged into the previous one."""
    tables = machine(contention={1: 1.0, 4: 1.5})
    loaded = load_machine(
        {
            "nodes": [{"count": 2, "type": "a"}],
            "node_types": {"a": {}},
            "network": {"between_nodes": LINK, "contention": {1: 1.0, 4: 1.5}},
            "changes": [
                {"at": "1 s", "network": {"contention": {4: 2.0}}},
                {"at": "2 s", "network": {"contention": {"factor": {1: 3.0}}}},
            ],
        }
    )
    assert loaded.network == tables.network
    found = [later.network.contention for _, later in loaded.changes]
    assert found == [FactorTable(((1, 1.0), (4, 2.0))), FactorTable(((1, 3.0),))]


def test_ports_may_become_slower_during_a_run() -> None:
    """Ports without ``busy`` may become busy for 5 us per message."""
    loaded = load_machine(
        {
            "nodes": [{"count": 2, "type": "a"}],
            "node_types": {"a": {}},
            "network": {"between_nodes": LINK},
            "changes": [{"at": "1 s", "network": {"contention": {"ports": {"busy": "5 us"}}}}],
        }
    )
    assert [loaded.network.contention, loaded.changes[0][1].network.contention] == [Ports(), Ports(Curve.line(5e-6))]


@pytest.mark.parametrize(
    ("shipped", "given", "expected"),
    [
        ({1: 1.0, 4: 2.0}, {"flows": {"topology": "switch", "bandwidth": "1 GB/s"}}, Flows(Switch(1e9))),
        ({"ports": {"busy": "1 us"}}, {"factor": {1: 1.0}}, FactorTable(((1, 1.0),))),
        (
            {"flows": {"topology": "switch", "bandwidth": "1 GB/s"}},
            {"flows": {"topology": "torus", "dimensions": [2], "bandwidth": "2 GB/s"}},
            Flows(Torus((2,), 2e9)),
        ),
        (
            {"flows": {"topology": "switch", "bandwidth": "1 GB/s"}},
            {"flows": {"bandwidth": "2 GB/s"}},
            Flows(Switch(2e9)),
        ),
    ],
)
def test_an_option_may_have_another_contention_than_its_machine(
    shipped: object, given: object, expected: object
) -> None:
    """Another model or topology replaces that of the machine; figures of the same one are merged."""
    base = {
        "nodes": [{"count": 2, "type": "a"}],
        "node_types": {"a": {}},
        "network": {"between_nodes": LINK, "contention": shipped},
    }
    laid = from_python(base).overlaid(from_python({"network": {"contention": given}}))
    assert machine_from(laid, None).network.contention == expected


# --- LogGOPS ---


def test_loggops_is_a_link_with_its_ports() -> None:
    """LogGOPSim's example: 1024 B are 1023 further bytes of 6 ns, and an empty message counts as 1 B."""
    network = machine(loggops={**LOGGOPS, "O": "2 ns/B", "S": "64 KB"}).network
    link = network.between_nodes
    assert link.send_delay(1024) == 1500e-9 and link.send_overhead is not None
    assert link.send_overhead(1024) == pytest.approx(1500e-9 + 1023 * 2e-9)
    assert link.transmission_delay(1024) == pytest.approx(2500e-9 + 1023 * 6e-9)
    assert (link.receive_delay, link.eager_limit) == (1500e-9, 64_000)
    assert [link.transmission_delay(size) for size in (0, 1)] == [2500e-9] * 2
    assert isinstance(network.contention, Ports) and network.contention.busy is not None
    assert [network.contention.busy(size) for size in (0, 1, 1001)] == pytest.approx([1e-6, 1e-6, 7e-6])
    assert network.within_node == link


def test_loggops_without_overhead_per_byte_and_limit_sends_eagerly_at_a_constant_cost() -> None:
    """Without O and S, a send costs o and every message is eager, as in LogGOPSim."""
    link = machine(loggops=LOGGOPS).network.between_nodes
    assert (link.send_delay(10**6), link.send_overhead, link.eager_limit) == (1500e-9, None, None)


@pytest.mark.parametrize("per_byte", [0, 2, 6])
def test_overhead_per_byte_is_beside_the_network(per_byte: int) -> None:
    """A send of 1000 B takes o + 999 O; the message is there after o + L + 999 G = 9994 ns, and received o later.

    LogGOPSim gives 1500 + 999 O and 11494 ns, too, for any O up to G = 6 ns/B.
    """
    built = TraceBuilder(2)
    built[0].send(1, 1000)
    built[1].recv(0)
    result = simulate(built.build(), machine(2, loggops={**LOGGOPS, "O": f"{per_byte} ns/B"}))
    assert [rank.finish * 1e9 for rank in result.ranks] == pytest.approx([1500 + 999 * per_byte, 11494], rel=1e-12)


def test_loggops_may_state_another_contention() -> None:
    """Contention may be none or ports with their own curve; ``ports`` by name are those of LogGOPS."""
    own = machine(loggops=LOGGOPS).network.contention
    assert machine(loggops=LOGGOPS, contention="ports").network.contention == own
    assert machine(loggops=LOGGOPS, contention="none").network.contention == NoContention()
    assert machine(loggops=LOGGOPS, contention={"ports": {"busy": "1 us"}}).network.contention == Ports(
        Curve.line(1e-6)
    )


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "",
            "  loggops: {L: 1 us, o: 1 us, g: 1 us, G: 1 ns/B}\n",
            "10:3: network.loggops must be given instead of between_",
        ),
        (
            "  between_nodes:\n    send_delay: 1 us\n    transmission_delay: {latency: 9 us, bandwidth: 1 GB/s}\n",
            "  loggops: {L: 1 us, o: 1 us, g: 1 us, G: 1 ns/B}\n  pairs: [{within: host}]\n",
            "7:3: network.loggops must hold for all nodes, got pairs with links of their own",
        ),
        (
            "  between_nodes:\n    send_delay: 1 us\n    transmission_delay: {latency: 9 us, bandwidth: 1 GB/s}\n",
            "  loggops: {L: 1 us, o: 1 us, g: 1 us, G: 1 GB/s}\n",
            "7:43: network.loggops.G must be a time per byte in a known unit",
        ),
        (
            "  between_nodes:\n    send_delay: 1 us\n    transmission_delay: {latency: 9 us, bandwidth: 1 GB/s}\n",
            "  loggops: {L: 1 us, o: 1 us, G: 1 ns/B}\n",
            "7:12: network.loggops.g must be given, got nothing",
        ),
        (
            "    send_delay: 1 us\n    transmission_delay: {latency: 9 us, bandwidth: 1 GB/s}\n",
            "    loggops: {L: 1 us, o: 1 us, g: 1 us, G: 1 ns/B}\n",
            "8:5: network.between_nodes must be a link, with loggops as network.loggops, got loggops in",
        ),
    ],
)
def test_a_fault_of_loggops_is_found(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """LogGOPS next to another link or pairs, or with a wrong or missing parameter, is a fault."""
    file = tmp_path / "m.yaml"
    file.write_text(changed(MACHINE, old, new) if old else MACHINE + new)
    found = [line.removeprefix(f"{file}:") for line in faults_of(load_machine, file)]
    assert any(line.startswith(fault) for line in found), found


@pytest.mark.parametrize("name", ["written", "shipped"])
def test_loggopsims_example_gives_its_figures(name: str) -> None:
    """A binomial reduction of 1024 B to rank 0 of 8 gives the finish times (ns) of LogGOPSim's README."""
    written = machine(8, loggops=LOGGOPS, collectives={"reduce": "binomial"})
    built = TraceBuilder(8)
    for rank in built:
        rank.collective(Op.REDUCE, nbytes=1024)
    result = simulate(built.build(), written if name == "written" else load_machine("loggops"))
    finish = [rank.finish * 1e9 for rank in result.ranks]
    assert finish == pytest.approx([34914, 1500, 13138, 1500, 24776, 1500, 13138, 1500], rel=1e-12)
