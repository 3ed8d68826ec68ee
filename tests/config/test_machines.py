"""Machines from YAML: every key of the form, what it becomes, and every fault."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from clue.config import load_machine
from clue.errors import ConfigError
from clue.machine import NO_WITHIN_NODE, ColdStart, Curve, Machine, Waiting
from clue.units import Money
from tests.config.documents import MACHINE, changed, faults_of, folder, positions


def loaded(path: Path, text: str) -> object:
    """Load a machine from its text."""
    file = path / "m.yaml"
    file.write_text(text)
    return load_machine(file)


def faults_in(path: Path, text: str) -> list[str]:
    """Return the faults of a machine's text, without the name of its file."""
    file = path / "m.yaml"
    file.write_text(text)
    return [fault.removeprefix(f"{file}:") for fault in faults_of(load_machine, file)]


LINK: Mapping[str, object] = {"send_delay": "1 us", "transmission_delay": "1 us"}


def mapping(**keys: object) -> dict[str, object]:
    """Return a machine of two nodes as a mapping, with the given keys set."""
    return {
        "nodes": [{"count": 2, "type": "a"}],
        "node_types": {"a": {}},
        "network": {"between_nodes": LINK},
    } | keys


# --- what a machine becomes ---


def test_the_example_of_the_interface_becomes_a_machine() -> None:
    """The shipped example has two hosts of one processor, and delays given by a line and by points."""
    machine = load_machine("two-hosts")
    assert [node.name for node in machine.nodes] == ["host", "host"]
    assert machine.price == Money(1800, "EUR")
    link = machine.network.link("host", "host", same_node=False)
    assert link.send_delay(1000) == pytest.approx(11e-6)
    assert link.transmission_delay(500) == pytest.approx(45e-6)
    assert link.eager_limit == 64_000


def test_every_key_of_a_node_type_arrives() -> None:
    """Every key of a node type, after section 3 of the paper, becomes a value in SI units."""
    node = {
        "processors": 4,
        "memory": "2 GiB",
        "performance_factor": {"default": 0.5, "fft": 2},
        "speed": {"cholesky": "500 Mflop/s"},
        "memory_contention_factor": {4: 0.5, 2: {"fft": 0.8, "default": 0.9}},
        "background_load": 0.25,
        "cold_start": {"after": [["100 us", "15 us"], ["1 ms", "20 us"]], "at_most": 0.5},
        "price": "900 EUR",
        "initialisation_delay": "1 ms",
        "spawn_delay": "2 ms",
        "packing_delay": "1 us/KB",
        "reduction_delay": "0.8 ns/B",
        "wait": "poll",
        "source": "invented",
    }
    (first, _) = load_machine(mapping(node_types={"a": node})).nodes
    assert (first.name, first.processors, first.memory) == ("a", 4, 2 * 2.0**30)
    assert [first.factor(region) for region in ("", "fft")] == [0.5, 2.0]
    assert first.speeds == {"cholesky": 5e8}
    assert first.memory_contention == {2: {"fft": 0.8, "": 0.9}, 4: {"": 0.5}}
    assert first.cold_start == ColdStart.through([(0.0, 0.0), (1e-4, 15e-6), (1e-3, 20e-6)], 0.5)
    assert [first.cold_start.after(wait) for wait in (0, 5e-5, 1e-3, 1)] == pytest.approx([0, 7.5e-6, 20e-6, 20e-6])
    assert (first.background_load, first.price) == (0.25, Money(900, "EUR"))
    assert (first.initialisation_delay, first.spawn_delay) == (1e-3, 2e-3)
    assert (first.packing_delay, first.reduction_delay) == pytest.approx((1e-9, 0.8e-9))
    assert (first.waiting, first.source) == (Waiting.POLL, "invented")


def test_every_key_of_the_machine_arrives() -> None:
    """Name, price, source, notes and reference processor of a machine are read."""
    machine = load_machine(mapping(name="m", price="7 EUR", source="s", notes="n", reference_processor="p"))
    assert (machine.name, machine.price, machine.source) == ("m", Money(7, "EUR"), "s")
    assert (machine.notes, machine.reference_processor) == (("n",), "p")


def test_domains_and_the_link_across_them_arrive() -> None:
    """Domains and the link across them are read; by default there is one domain and no such link."""
    network = {"between_nodes": LINK, "within_node": LINK, "across_domains": {**LINK, "transmission_delay": "7 us"}}
    machine = load_machine(mapping(node_types={"a": {"processors": 4, "domains": 2}}, network=network))
    assert machine.nodes[0].domains == 2
    assert machine.network.link("a", "a", True, False).transmission_delay(0) == 7e-6
    assert machine.network.link("a", "a", True, True).transmission_delay(0) == 1e-6
    plain = load_machine(mapping(node_types={"a": {"processors": 4}}))
    assert (plain.nodes[0].domains, plain.network.across_domains) == (1, None)


def test_what_the_memory_of_a_node_copies_arrives_and_stays() -> None:
    """``copy_bandwidth`` is read or has no value, and may not change during a run."""
    assert load_machine(mapping(node_types={"a": {"copy_bandwidth": "16 GB/s"}})).nodes[0].copy_bandwidth == 16e9
    assert load_machine(mapping()).nodes[0].copy_bandwidth is None
    changes = [{"at": "1 s", "node_types": {"a": {"copy_bandwidth": "8 GB/s"}}}]
    fault = 'changes[0].node_types.a.copy_bandwidth must not change during a run, got "8 GB/s"'
    with pytest.raises(ConfigError, match=re.escape(fault)):
        load_machine(mapping(changes=changes))


@pytest.mark.parametrize(
    ("node", "network", "fault"),
    [
        ({"processors": 4, "domains": 3}, {}, "node_types.a.domains must divide the processors, 4, got 3"),
        (
            {"processors": 4},
            {"across_domains": LINK},
            "network.across_domains must be given with domains in node_types",
        ),
    ],
)
def test_domains_are_equal_and_a_link_across_them_needs_some(
    node: Mapping[str, object], network: Mapping[str, object], fault: str
) -> None:
    """Domains that do not divide the processors, and a link across domains without any, are faults."""
    with pytest.raises(ConfigError, match=re.escape(fault)):
        load_machine(mapping(node_types={"a": node}, network={"between_nodes": LINK, **network}))


def test_a_pair_differs_in_both_directions_and_only_where_it_says() -> None:
    """A pair holds in both directions; keys that it leaves out are those of the link that it replaces."""
    network = {
        "between_nodes": {**LINK, "receive_delay": "3 us", "eager_limit": "1 KB"},
        "within_node": {**LINK, "eager_limit": "2 KB"},
        "pairs": [
            {"between": ["a", "b"], "transmission_delay": "7 us"},
            {"within": "b", "send_delay": "5 us", "eager_limit": "none"},
        ],
    }
    types: dict[str, dict[str, object]] = {"a": {}, "b": {}}
    machine = load_machine(mapping(nodes=[{"type": "a"}, {"type": "b"}], node_types=types, network=network))
    for names in (("a", "b"), ("b", "a")):
        link = machine.network.link(*names, same_node=False)
        assert (link.send_delay(0), link.transmission_delay(0), link.receive_delay) == (1e-6, 7e-6, 3e-6)
        assert link.eager_limit == 1000
    inside = machine.network.link("b", "b", same_node=True)
    assert (inside.send_delay(0), inside.transmission_delay(0), inside.eager_limit) == (5e-6, 1e-6, None)
    assert machine.network.link("a", "a", same_node=True).eager_limit == 2000


def test_collectives_have_a_library_and_algorithms_by_size() -> None:
    """A collective has one algorithm for all sizes, or one up to each limit."""
    collectives = {
        "library": "openmpi",
        "barrier": "dissemination",
        "allreduce": [{"up_to": "2 KB", "algorithm": "recursive_doubling"}, {"algorithm": "ring"}],
    }
    network = load_machine(mapping(network={"between_nodes": LINK, "collectives": collectives})).network
    assert network.collective_library == "openmpi"
    assert network.collectives["barrier"].algorithm(10**9) == "dissemination"
    assert [network.collectives["allreduce"].algorithm(n) for n in (2000, 2001)] == ["recursive_doubling", "ring"]


def test_changes_are_laid_over_the_machine_as_it_is_at_their_time() -> None:
    """The second change keeps the effect of the first, and the original nodes stay the same."""
    changes = [
        {"at": "10 s", "node_types": {"a": {"background_load": 1}}},
        {"at": "20 s", "network": {"between_nodes": {"receive_delay": "5 us"}}},
    ]
    machine = load_machine(mapping(changes=changes))
    assert [at for at, _ in machine.changes] == [10.0, 20.0]
    loads = [m.nodes[0].background_load for _, m in machine.changes]
    delays = [m.network.between_nodes.receive_delay for _, m in machine.changes]
    assert (machine.nodes[0].background_load, loads) == (0.0, [1.0, 1.0])
    assert delays == [0.0, 5e-6]


def test_a_change_of_one_region_leaves_the_others() -> None:
    """All bursts take half their recorded time; from 1 s on, those of one region take 0.4 of it, others still half."""
    changes = [{"at": "1 s", "node_types": {"a": {"performance_factor": {"solve": 0.4}}}}]
    machine = load_machine(mapping(node_types={"a": {"performance_factor": 0.5}}, changes=changes))
    factors = [[state.nodes[0].factor(region) for region in ("solve", "other")] for state in machine.epochs]
    assert factors == [[0.5, 0.5], [0.4, 0.5]]


def test_the_price_of_the_whole_comes_before_the_sum_of_the_nodes() -> None:
    """Two nodes of 900 EUR cost 1800 EUR unless the machine states a price; a node without a price leaves none."""
    types = {"a": {"price": "900 EUR"}, "b": {}}
    assert load_machine(mapping(node_types=types)).price == Money(1800, "EUR")
    assert load_machine(mapping(node_types=types, price="1 EUR")).price == Money(1, "EUR")
    assert load_machine(mapping(node_types=types, nodes=[{"type": "a"}, {"type": "b"}])).price is None


def test_a_missing_link_within_a_node_is_that_between_nodes_and_said_so() -> None:
    """The link between nodes replaces a missing link within nodes, with a note if nodes have several processors."""
    plain, dual = load_machine(mapping()), load_machine(mapping(node_types={"a": {"processors": 2}}))
    assert plain.network.within_node == plain.network.between_nodes == dual.network.within_node
    assert (plain.notes, dual.notes) == ((), (NO_WITHIN_NODE,))


def test_a_link_within_nodes_of_one_type_is_no_missing_link() -> None:
    """Pairs may state the link within nodes; the note stays if another type has none, or if only a limit differs."""

    def notes(*within: dict[str, object]) -> tuple[str, ...]:
        types = {"a": {"processors": 2}, "b": {"processors": 2}}
        nodes = [{"type": "a"}, {"type": "b"}]
        network = {"between_nodes": LINK, "pairs": list(within)}
        return load_machine(mapping(nodes=nodes, node_types=types, network=network)).notes

    a: dict[str, object] = {"within": "a", **LINK}
    b: dict[str, object] = {"within": "b", **LINK}
    assert notes(a, b) == ()
    assert notes(a) == notes(a, {"within": "b", "eager_limit": "4 KB"}) == (NO_WITHIN_NODE,)


def test_a_single_node_needs_no_link_between_nodes() -> None:
    """A single node needs only the link within it."""
    machine = load_machine(mapping(nodes=[{"type": "a"}], network={"within_node": LINK}))
    assert machine.network.within_node.send_delay(0) == 1e-6


def test_a_machine_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    """A file m.yaml without a name is the machine m."""
    file = tmp_path / "m.yaml"
    file.write_text(changed(MACHINE, "name: pair\n", ""))
    assert load_machine(file).name == "m"


def test_a_path_is_relative_to_where_it_was_named(tmp_path: Path) -> None:
    """A relative path, as text or as ``Path``, starts from the given folder."""
    folder(tmp_path)
    assert load_machine("pair.yaml", relative_to=tmp_path).name == "pair"
    assert load_machine(Path("pair.yaml"), relative_to=tmp_path).name == "pair"


@pytest.mark.parametrize("word", ["none", "None"])
def test_an_eager_limit_of_none_sends_all_messages_at_once(word: str) -> None:
    """The word none means no limit for a link; null means that the key is left out."""
    network = {
        "between_nodes": {**LINK, "eager_limit": word},
        "within_node": {**LINK, "eager_limit": None},
        "pairs": [{"within": "a", "eager_limit": "1 KB"}],
    }
    links = load_machine(mapping(network=network)).network
    assert (links.between_nodes.eager_limit, links.within_node.eager_limit) == (None, None)
    loggops = {"L": "5 us", "o": "1 us", "g": "2 us", "G": "1 ns/B", "S": word}
    assert load_machine(mapping(network={"loggops": loggops})).network.between_nodes.eager_limit is None


# --- faults ---


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("count: 2", "count: 0", "3:13: nodes[0].count must be at least 1, got 0"),
        ("count: 2", "count: -4", "3:13: nodes[0].count must be at least 1, got -4"),
        ("count: 2", "count: 1e9", "3:13: nodes[0].count must be a whole number, got 1000000000.0"),
        ("count: 2", "count: no", '3:13: nodes[0].count must be a whole number, got "no"'),
        ("count: 2", "count: true", "3:13: nodes[0].count must be a whole number, got true"),
        ("count: 2", "cuont: 2", '3:6: nodes[0].cuont must be a key of nodes[0] (count, type), got "cuont": did you'),
        (
            "processors: 1",
            "cores: 1",
            '5:10: node_types.host.cores must be a known key, got "cores": did you mean "pro',
        ),
        ("processors: 1", "RAM: 1 GB", '5:10: node_types.host.RAM must be a known key, got "RAM": did you mean "memo'),
        ("processors: 1", "cost: 1", '5:10: node_types.host.cost must be a known key, got "cost": did you mean "pric'),
        (
            "count: 2",
            "number: 2",
            '3:6: nodes[0].number must be a key of nodes[0] (count, type), got "number": did you mean "count"?',
        ),
        ("type: host", "typo: host", "3:5: nodes[0].type must be given, got nothing"),
        ("type: host", "type: hots", '3:22: nodes[0].type must be one of the node_types, got "hots": did you mean "ho'),
        ("processors: 1", "processors: 1.5", "5:22: node_types.host.processors must be a whole number, got 1.5"),
        ("processors: 1", "procesors: 1", '5:10: node_types.host.procesors must be a known key, got "procesors": did'),
        ("processors: 1", "wait: sleep", "5:16: node_types.host.wait must be 'yield' or 'poll', got \"sleep\""),
        ("processors: 1", "performance_factor: -1", "5:30: node_types.host.performance_factor must be at least 0, got"),
        ("processors: 1", "performance_factor: .nan", "5:30: node_types.host.performance_factor must be "),
        ("processors: 1", "performance_factor: .inf", "5:30: node_types.host.performance_factor must be a finite"),
        ("processors: 1", "performance_factor: {a: x}", "5:34: node_types.host.performance_factor.a must be a number"),
        (
            "processors: 1",
            "speed: {default: 1 Gflop/s}",
            '5:18: node_types.host.speed.default must be a region, got "default": performance_factor has the figure',
        ),
        (
            "processors: 1",
            "performance_factor: [1]",
            "5:30: node_types.host.performance_factor must be one value or a mapping, got a list",
        ),
        ("processors: 1", "background_load: -1", "5:27: node_types.host.background_load must be at least 0, got -1"),
        (
            "processors: 1",
            "cold_start: {after: [[1 ms, 2 us], [1 ms, 3 us]]}",
            "5:30: node_types.host.cold_start.after must be sorted by strictly rising wait, got 0.001 s after 0.001 s",
        ),
        (
            "processors: 1",
            "cold_start: {after: [[1 ms, 2 us], [2 ms, 1 us]]}",
            "5:30: node_types.host.cold_start.after must not fall with the wait, got 1e-06 s after 2e-06 s",
        ),
        (
            "processors: 1",
            "cold_start: {after: [[0 s, 2 us]]}",
            "5:30: node_types.host.cold_start.after must be 0 s after no wait, got 2e-06 s",
        ),
        (
            "processors: 1",
            "cold_start: {after: [[1 ms, 2 us]], at_most: 0}",
            "5:55: node_types.host.cold_start.at_most must be above 0, got 0",
        ),
        (
            "processors: 1",
            "memory_contention_factor: {2: 0}",
            "5:40: node_types.host.memory_contention_factor[2] must be above 0, got 0",
        ),
        ("type: host", "type: 1.5", "3:22: nodes[0].type must be text, got 1.5: put it in quotes"),
        (
            "processors: 1",
            "memory_contention_factor: {2: 1, 2.5: 0.8}",
            "5:43: node_types.host.memory_contention_factor[2.5] must be a whole number, got 2.5",
        ),
        (
            "processors: 1",
            'memory_contention_factor: {"2": 0.8}',
            '5:37: node_types.host.memory_contention_factor.2 must be a whole number, got "2": write the number',
        ),
        (
            "processors: 1",
            "performance_factor: 0,5",
            "5:32: node_types.host[5] must be a known key, got 5: between braces a comma ends a value, so write a",
        ),
        (
            "latency: 9 us",
            "latency: 1,5 us",
            "9:37: network.between_nodes.transmission_delay.5 us must be a key of "
            'network.between_nodes.transmission_delay (bandwidth, latency, points), got "5 us": between braces a '
            "comma ends a value, so write a fraction with a point",
        ),
        (
            "processors: 1",
            "memory_contention_factor: {2: {a: 1.5}}",
            "5:44: node_types.host.memory_contention_factor[2].a must be at most 1, got 1.5",
        ),
        ("processors: 1", "speed: {a: 0 flop/s}", "5:21: node_types.host.speed.a must be a speed above 0, got"),
        (
            "1 GB}",
            "1}",
            '5:33: node_types.host.memory must be a size with a unit, got 1: did you mean "1 KB" or "1 MB" or "1 GB"?',
        ),
        ("1 GB}", "1 us}", "5:33: node_types.host.memory must be a size in a known unit"),
        ("{processors: 1, memory: 1 GB}", "", "5:8: node_types.host must be a mapping, got nothing"),
        ("1 us", "-1 us", "8:17: network.between_nodes.send_delay must be a time not below 0, got '-1 us'"),
        (
            "1 us",
            "5",
            "8:17: network.between_nodes.send_delay must be a time with a unit, got 5: "
            'did you mean "5 us" or "5 ms" or "5 s"?',
        ),
        ("1 us", "[1 us]", "8:17: network.between_nodes.send_delay must be a time with a unit such as"),
        ("9 us", "1 MB", "9:35: network.between_nodes.transmission_delay.latency must be a time in a known unit"),
        ("1 GB/s", "0 B/s", "9:52: network.between_nodes.transmission_delay.bandwidth must be a bandwidth above 0"),
        ("bandwidth", "bandwith", "9:41: network.between_nodes.transmission_delay.bandwith must be a key of network."),
        ("latency: 9 us, ", "", "9:25: network.between_nodes.transmission_delay.latency must be given, got nothing"),
        (
            "{latency: 9 us, bandwidth: 1 GB/s}",
            "{points: [[1 KB, 1 us], [1 KB, 2 us]]}",
            "9:34: network.between_nodes.transmission_delay.points must be sorted by strictly rising size, got 1000 B",
        ),
        (
            "{latency: 9 us, bandwidth: 1 GB/s}",
            "{points: [[1 KB, 2 us], [2 KB, 1 us]]}",
            "9:34: network.between_nodes.transmission_delay.points must not fall over the last segment",
        ),
        (
            "{latency: 9 us, bandwidth: 1 GB/s}",
            "{points: []}",
            "9:34: network.between_nodes.transmission_delay.points must have at least 1 entries, got an empty list",
        ),
        (
            "{latency: 9 us, bandwidth: 1 GB/s}",
            "{points: [[1 KB, 2 us, 3 us]]}",
            "9:35: network.between_nodes.transmission_delay.points[0] must have at most 2 entries, got a list",
        ),
        (
            "{latency: 9 us, bandwidth: 1 GB/s}",
            "{points: [[1 KB]]}",
            "9:35: network.between_nodes.transmission_delay.points[0][1] must be given, got nothing",
        ),
        ("    send_delay: 1 us\n", "", "8:5: network.between_nodes.send_delay must be given, got nothing"),
        ("  between_nodes:", "  within_node:", "7:3: network.between_nodes must be given, got nothing"),
        ("network:", "netwrok:", '6:1: netwrok must be a known key, got "netwrok": did you mean "network"?'),
    ],
)
def test_a_fault_has_place_path_rule_and_value(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """One fault is reported with place, path, rule and value."""
    assert any(found.startswith(fault) for found in faults_in(tmp_path, changed(MACHINE, old, new)))


def test_a_latency_alone_does_not_replace_points(tmp_path: Path) -> None:
    """A change that would make messages of all sizes equally fast is refused where it is written."""
    points = changed(MACHINE, "send_delay: 1 us", "send_delay: {points: [[0 B, 1 us], [1 KB, 2 us]]}")
    over = "changes: [{at: 2 s, network: {between_nodes: {send_delay: DELAY}}}]\n"
    alone, whole = (over.replace("DELAY", f"{{latency: 2 us{more}}}") for more in ("", ", bandwidth: 1 GB/s"))
    assert faults_in(tmp_path, points + alone) == [
        "10:60: changes[0].network.between_nodes.send_delay.latency must be given without points, got both: "
        f"points from {tmp_path / 'm.yaml'}:8:18"
    ]
    for text, slope in ((whole, 1e-9), (over.replace("DELAY", "2 us"), 0.0)):
        machine = loaded(tmp_path, points + text)
        assert isinstance(machine, Machine)
        assert machine.changes[0][1].network.between_nodes.send_delay == Curve.line(2e-6, slope)


@pytest.mark.parametrize(
    ("extra", "fault"),
    [
        ("price: 900", '10:8: price must be an amount with a currency such as "300000 ATS", got 900'),
        ("price: -1 EUR", "10:8: price must be an amount not below 0"),
        ("name: ''", '10:1: file must have each key once, got "name" again'),
        ("notes: {a: 1}", "10:8: notes must be one value or a list, got a mapping"),
        ("changes: [{at: 2 s}, {at: 1 s}]", "10:10: changes must be sorted by strictly rising time"),
        ("changes: [{network: {}}]", "10:11: changes[0].at must be given, got nothing"),
        (
            "changes: [{at: 2 s, node_types: {host: {processors: 3}}}]",
            "10:53: changes[0].node_types.host.processors must stay 1 during a run, got 3",
        ),
        (
            "changes: [{at: 2 s, node_types: {host: {memory: 2 GB}}}]",
            '10:49: changes[0].node_types.host.memory must not change during a run, got "2 GB"',
        ),
        (
            "changes: [{at: 2 s, node_types: {host: {price: 900 EUR}}}]",
            '10:48: changes[0].node_types.host.price must not change during a run, got "900 EUR"',
        ),
        (
            "changes: [{at: 2 s, network: {across_domains: {send_delay: 1 us, transmission_delay: 1 us}}}]",
            "10:31: changes[0].network.across_domains must be given with domains in node_types, got none",
        ),
        (
            "changes: [{at: 2 s, node_types: {hots: {wait: poll}}}]",
            '10:34: changes[0].node_types.hots must be one of the node_types, got "hots": did you mean "host"?',
        ),
        (
            "changes: [{at: 2 s, network: {between_nodes: {receive_delay: -1 us}}}]",
            "10:62: changes[0].network.between_nodes.receive_delay must be a time not below 0",
        ),
        (
            "changes: [{at: 2 s, network: {collectives: {bcast: linear}}}]",
            "10:44: changes[0].network.collectives must not change during a run, got a mapping",
        ),
        ("changes: [{at: 2 s, nodes: []}]", "10:21: changes[0].nodes must be a key of changes[0] (at, network, no"),
    ],
)
def test_a_fault_at_the_top_is_found_too(tmp_path: Path, extra: str, fault: str) -> None:
    """Faults of prices, notes and changes are reported."""
    text = MACHINE + extra + "\n"
    assert any(found.startswith(fault) for found in faults_in(tmp_path, text))


@pytest.mark.parametrize(
    ("extra", "fault"),
    [
        ("pairs: [{between: [host]}]", "network.pairs[0].between must have at least 2 entries, got a list"),
        ("pairs: [{between: [host, hots]}]", 'network.pairs[0].between[1] must be one of the node_types, got "hots"'),
        ("pairs: [{within: hots}]", 'network.pairs[0].within must be one of the node_types, got "hots"'),
        ("pairs: [{within: host}, {within: host}]", "network.pairs must have each pair once, got host twice"),
        (
            "pairs: [{within: host, eager_limit: null}]",
            "network.pairs[0].eager_limit must be a size, or none if all messages are eager, got nothing",
        ),
        ("pairs: [{send_delay: 1 us}]", "network.pairs[0].between must be given, got nothing"),
        ("contention: {2: 1.5}", "network.contention must have an entry for 1 communication"),
        ("contention: {1: 0.5}", "network.contention[1] must be at least 1, got 0.5"),
        ("contention: {0: 1}", "network.contention[0] must be at least 1, got 0"),
        (
            "collectives: {library: lam}",
            "network.collectives.library must be 'mpich', 'mpich-flat' or 'openmpi', got \"lam\"",
        ),
        ("collectives: {alreduce: ring}", 'network.collectives.alreduce must be a collective, got "alreduce": did you'),
        ("collectives: {allreduce: rings}", "network.collectives.allreduce must be an algorithm of allreduce ("),
        ("collectives: {allreduce: []}", "network.collectives.allreduce must have at least 1 entries"),
        (
            "collectives: {allreduce: [{up_to: 1 KB, algorithm: ring}]}",
            "network.collectives.allreduce must end with an entry without up_to",
        ),
        (
            "collectives: {allreduce: [{up_to: 2, algorithm: ring}, {algorithm: ring}]}",
            "network.collectives.allreduce[0].up_to must be a size with a unit, got 2",
        ),
    ],
)
def test_a_fault_of_the_network_is_found(tmp_path: Path, extra: str, fault: str) -> None:
    """Faults of pairs, contention and collectives are reported."""
    found = faults_in(tmp_path, MACHINE + f"  {extra}\n")
    assert any(f": {fault}" in line for line in found), found


def test_all_faults_of_a_file_are_reported_at_once_and_in_order(tmp_path: Path) -> None:
    """Seven faults give seven lines, from the top of the file to its end."""
    text = """\
nodes:
  - {count: 0, type: host}
  - {count: 1, type: hots, colour: red}
node_types:
  host: {memory: 256, price: 9}
network:
  between_nodes:
    send_delay: -1 us
    transmission_delay: {points: [[2 B, 1 us], [1 B, 1 us]]}
"""
    faults = faults_in(tmp_path, text)
    found = [(2, 13), (3, 22), (3, 28), (5, 18), (5, 30), (8, 17), (9, 34)]
    assert positions(tuple(f"m:{fault}" for fault in faults)) == found


def test_currencies_of_node_prices_must_agree() -> None:
    """Prices of nodes must be in one currency, as their sum means nothing otherwise."""
    types = {"a": {"price": "1 EUR"}, "b": {"price": "1 USD"}}
    (fault,) = faults_of(load_machine, mapping(node_types=types))
    assert fault == "node_types.b.price must be in EUR as the other prices, got USD"


def test_the_odd_currency_is_blamed() -> None:
    """The fault names the type whose currency differs from the others, even if that type is first."""
    types = {"a": {"price": "1 USD"}, "b": {"price": "1 EUR"}, "c": {"price": "2 EUR"}}
    (fault,) = faults_of(load_machine, mapping(node_types=types))
    assert fault == "node_types.a.price must be in EUR as the other prices, got USD"


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    """The message has the path as the user gave it."""
    assert faults_of(load_machine, "none.yaml") == ('none.yaml: machine must be a file that exists, got "none.yaml"',)
    assert faults_of(load_machine, tmp_path)[0].endswith(f'must be a file, got the folder "{tmp_path}"')


def test_an_unknown_name_suggests_the_nearest_shipped_machine() -> None:
    """If no name is near, all shipped machines are listed."""
    (near,) = faults_of(load_machine, "kishimoro")
    assert near.endswith('got "kishimoro": did you mean "kishimoto"?')
    (far,) = faults_of(load_machine, "zzz")
    assert "shipped are aws-parallel-cluster, " in far


def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    """A list, plain text, an empty file and bytes that are not UTF-8 are refused."""
    file = tmp_path / "m.yaml"
    for content, rule in (
        (b"- 1\n", ":1:1: file must be a mapping, got a list"),
        (b"hello\n", ':1:1: file must be a mapping, got "hello"'),
        (b"\xff\xfe\xfa", ":1:1: file must be UTF-8 text, got byte 0xFF"),
        ("a: 1\r\nb: ü".encode() + b"\xfc", ":2:5: file must be UTF-8 text, got byte 0xFC"),
        ("\ufeffa: ü".encode() + b"\xfc", ":1:5: file must be UTF-8 text, got byte 0xFC"),
        (b"", ": file must hold a YAML mapping, got nothing"),
    ):
        file.write_bytes(content)
        assert faults_of(load_machine, file) == (f"{file}{rule}",)


def test_a_mapping_given_in_python_is_blamed_by_path_alone() -> None:
    """A mapping has no file and lines, so the fault has only the path of the key."""
    assert faults_of(load_machine, mapping(nodes=[])) == ("nodes must have at least 1 entries, got an empty list",)
    with pytest.raises(ConfigError, match="source must be a path, a name or a mapping, got 5"):
        load_machine(5)  # type: ignore[arg-type]


def test_a_node_type_named_by_a_number_is_a_fault_not_a_crash() -> None:
    """Node types may have any keys, so the search for a similar name must accept a number."""
    with pytest.raises(ConfigError, match="nodes"):
        load_machine({"nodes": [{"type": "host"}], "node_types": {0: None}, "network": {}})
