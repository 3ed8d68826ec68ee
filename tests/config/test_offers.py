"""Generated options: which exist, what they cost, and each fault."""

from pathlib import Path

import pytest

from clue.config import load_config
from clue.machine import NoContention, Ports
from clue.purchase.scenario import Scenario
from clue.units import Money
from tests.config.documents import MACHINE, changed, faults_of, folder
from tests.config.test_scenarios import faults_in
from tests.config.test_scenarios import scenario as load

OFFERS = """\
budget: 1000 EUR
workloads: {large: {program: {script: prog.py}, ranks: [2]}}
generate:
  nodes: {from: 2, to: 6, step: 2}
  node_types:
    small: {memory: 128 MB, price: 100 EUR}
    big: {processors: 2, memory: 1 GB, performance_factor: 0.5, price: 200 EUR}
  networks:
    slow: {between_nodes: {send_delay: 10 us, transmission_delay: 40 us}, price_per_node: 10 EUR}
    fast: {machine: pair.yaml, contention: none, price: 50 EUR, switch: {ports: 4, price: 30 EUR}}
"""


def write(path: Path, old: str = "", new: str = "") -> Path:
    """Write the scenario with one change, in a folder with the files that it refers to."""
    assert old in OFFERS
    (folder(path) / "s.yaml").write_text(OFFERS.replace(old, new))
    return path / "s.yaml"


def generated(path: Path, old: str = "", new: str = "") -> Scenario:
    """Load the scenario with one change."""
    loaded = load_config(write(path, old, new))
    assert isinstance(loaded, Scenario)
    return loaded


def test_every_number_of_every_type_with_every_network_that_the_budget_covers(tmp_path: Path) -> None:
    """By hand: n small nodes cost 110 n with the slow network, and 100 n + 50 + 30 per 4 nodes with the fast one."""
    loaded = generated(tmp_path)
    assert {option.name: option.price and option.price.amount for option in loaded.options} == {
        "2 × small, slow": 220,
        "4 × small, slow": 440,
        "6 × small, slow": 660,
        "2 × big, slow": 420,
        "4 × big, slow": 840,
        "2 × small, fast": 280,
        "4 × small, fast": 480,
        "6 × small, fast": 710,
        "2 × big, fast": 480,
        "4 × big, fast": 880,
    }
    assert loaded.left_out == 2


def test_a_generated_machine_is_put_together_from_its_parts(tmp_path: Path) -> None:
    """Nodes are as written; the network is taken from a machine, with the keys that differ."""
    option = next(o for o in generated(tmp_path).options if o.name == "2 × big, fast")
    assert [(n.name, n.processors, n.performance_factor) for n in option.machine.nodes] == [("big", 2, 0.5)] * 2
    assert option.machine.network.contention == NoContention()
    assert option.machine.network.between_nodes.transmission_delay(1000) == pytest.approx(10e-6)
    assert option.price == Money(480, "EUR") and option.machine.price is None  # only the option has a price
    slow = next(o for o in generated(tmp_path).options if o.name == "2 × big, slow")
    assert isinstance(slow.machine.network.contention, Ports)


@pytest.mark.parametrize(
    ("old", "new", "lacking"),
    [
        ("", "", ""),
        (", price: 200 EUR", "", "big"),
        (", price: 200 EUR", ", price: 0 EUR", ""),
        ("128 MB, price: 100 EUR}", "128 MB}", "small"),
    ],
)
def test_node_types_that_give_clusters_no_price_are_told(tmp_path: Path, old: str, new: str, lacking: str) -> None:
    """Without a budget, clusters of nodes without a price have none, whatever the rest costs, and a note says why."""
    path = write(tmp_path, old, new)
    path.write_text(path.read_text().replace("budget: 1000 EUR\n", "").replace("  nodes:", "  mixed: true\n  nodes:"))
    loaded = load_config(path)
    assert isinstance(loaded, Scenario)
    unpriced = {option.name for option in loaded.options if option.price is None}
    assert unpriced == {option.name for option in loaded.options if lacking and lacking in option.name}
    said = f"generate: clusters with {lacking} have no price: state a price for each of the node_types"
    assert [note for note in loaded.notes if "no price" in note] == [said] * bool(lacking)


def test_types_may_be_mixed(tmp_path: Path) -> None:
    """Any two types are mixed to at most 6 nodes: 2 + 2, 2 + 4, 4 + 2; mixtures over 1000 EUR are left out."""
    loaded = generated(tmp_path, "generate:\n", "generate:\n  mixed: true\n")
    mixed = {o.name: o.price and o.price.amount for o in loaded.options if "+" in o.name}
    assert mixed == {
        "2 × small + 2 × big, slow": 640,
        "4 × small + 2 × big, slow": 860,
        "2 × small + 2 × big, fast": 680,
        "4 × small + 2 × big, fast": 910,
    }
    assert loaded.left_out == 4
    nodes = next(o for o in loaded.options if o.name == "4 × small + 2 × big, slow").machine.nodes
    assert [node.name for node in nodes] == ["small"] * 4 + ["big"] * 2


def test_pairs_to_mix_may_be_listed(tmp_path: Path) -> None:
    """The first type of a listed pair has the first nodes."""
    loaded = generated(tmp_path, "generate:\n", "generate:\n  mixed: [[big, small]]\n")
    assert "2 × big + 2 × small, slow" in {option.name for option in loaded.options}


def test_a_node_type_may_be_taken_from_a_machine(tmp_path: Path) -> None:
    """Keys next to ``machine`` replace those of the machine's node type."""
    taken = "small: {machine: pair.yaml, memory: 99 MB, price: 100 EUR}"
    loaded = generated(tmp_path, "small: {memory: 128 MB, price: 100 EUR}", taken)
    (node, *_) = loaded.options[0].machine.nodes
    assert (node.name, node.memory) == ("small", 99e6)
    assert loaded.options[0].price == Money(220, "EUR")


TAKEN = """\
workloads: {large: {program: {script: prog.py}, ranks: [2]}}
generate:
  nodes: 2
  node_types: {host: {machine: priced.yaml}}
  networks: {net: {machine: pair.yaml}}
"""
RATE = "currencies: {USD: {rate: 0.5 EUR, date: 2026-11-02}}\n"


def write_priced(path: Path) -> None:
    """Write a machine whose nodes cost 900 EUR."""
    (path / "priced.yaml").write_text(changed(MACHINE, "memory: 1 GB", "memory: 1 GB, price: 900 EUR"))


def test_a_price_that_only_a_machine_states_is_exchanged_as_others(tmp_path: Path) -> None:
    """Two nodes cost 1,800 EUR; at 2 USD to 1 EUR, two adapters for 100 USD add 100 EUR; without a rate they cannot."""
    write_priced(tmp_path)
    assert load(tmp_path, TAKEN).options[0].price == Money(1800, "EUR")
    adapter = changed(TAKEN, "net: {machine: pair.yaml", "net: {machine: pair.yaml, price_per_node: 100 USD")
    assert load(tmp_path, RATE + adapter).options[0].price == Money(1900, "EUR")
    (fault,) = faults_in(tmp_path, f"budget: 10000 USD\n{adapter}")
    assert fault.endswith("generate.node_types.host.price must be in USD as the other prices, got EUR")


def test_the_price_of_a_machine_is_one_figure_wherever_it_is_taken(tmp_path: Path) -> None:
    """Two kinds of nodes, and a listed option, have a machine's price in common; one that states another has not."""
    write_priced(folder(tmp_path))
    more = "{host: {machine: priced.yaml}, big: {machine: priced.yaml, memory: 9 GB}, own: {price: 900 EUR}}"
    listed = "options: {listed: {machine: priced.yaml}}\n"
    loaded = load(tmp_path, listed + changed(TAKEN, "{host: {machine: priced.yaml}}", more))
    assert {option.name: option.stated[-1].name for option in loaded.options} == {
        "listed": "node_types.host.price",
        "2 × host, net": "node_types.host.price",
        "2 × big, net": "node_types.host.price",
        "2 × own, net": "generate.node_types.own.price",
    }


def test_nodes_on_offer_may_be_priced_in_several_currencies(tmp_path: Path) -> None:
    """At 2 USD to 1 EUR, two nodes for 2,600 USD cost 2,600 EUR, two of a machine 1,800 EUR."""
    write_priced(tmp_path)
    text = RATE + changed(TAKEN, "{host: {", "{fat: {price: 2600 USD}, host: {")
    assert [option.price for option in load(tmp_path, text).options] == [Money(2600, "EUR"), Money(1800, "EUR")]


CLOUD = f"""\
budget: 1000 EUR
{TAKEN.replace("priced", "pair")}\
  cost: {{cloud: {{price: 2 EUR/h}}, parts: {{cable: {{per_node: 2, price: 9 EUR}}}}}}
"""


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "nodes: 2\n",
            "nodes: 2\n  price: 4000 EUR\n",
            "generate.price must not be given with nodes of a cloud, got 4,000",
        ),
        (
            "host: {machine: pair.yaml",
            "host: {machine: pair.yaml, price: 5 EUR",
            "generate.node_types.host.price must not be given with nodes of a cloud, got 5.00 EUR",
        ),
        (
            "net: {machine: pair.yaml",
            "net: {machine: pair.yaml, price_per_node: 90 EUR",
            "generate.networks.net.price_per_node must not be given with nodes of a cloud, got 90.00 EUR",
        ),
        (
            "host: {machine: pair.yaml",
            "host: {machine: priced.yaml",
            "generate.node_types.host.machine must not state the price of a node with nodes of a cloud, got 900 EUR: "
            "drop it by price: null",
        ),
    ],
)
def test_generated_nodes_of_a_cloud_have_no_price(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """As for a listed option, each price is a fault."""
    write_priced(tmp_path)
    (found,) = faults_in(tmp_path, changed(CLOUD, old, new))
    assert fault in found


def test_what_generated_nodes_of_a_cloud_need_besides_is_bought(tmp_path: Path) -> None:
    """Only the four cables for 9 EUR are bought; a price of the machine is dropped."""
    write_priced(tmp_path)
    dropped = changed(CLOUD, "host: {machine: pair.yaml", "host: {machine: priced.yaml, price: null")
    for text in (CLOUD, dropped):
        assert load(tmp_path, text).options[0].price == Money(36, "EUR")


def test_what_every_cluster_needs_besides_is_added_once(tmp_path: Path) -> None:
    """A rack for 70 EUR is added once to each option."""
    loaded = generated(tmp_path, "generate:\n", "generate:\n  price: 70 EUR\n")
    assert loaded.options[0].price == Money(290, "EUR")


def test_families_have_figures_of_their_own(tmp_path: Path) -> None:
    """What every cluster of a family needs is a figure of that family, even at the price of another one."""
    text = OFFERS.replace("generate:\n  nodes", "generate:\n- price: 50 EUR ± 20 %\n  nodes")
    head, family = text.split("generate:\n")
    other = family.replace("small:", "other:").replace("big:", "third:")
    loaded = load(tmp_path, f"{head}generate:\n{family}{other}")
    assert {option.stated[0].name for option in loaded.options} == {"generate.0.price", "generate.1.price"}
    alone = generated(tmp_path, "generate:\n", "generate:\n  price: 50 EUR ± 20 %\n")
    assert {option.stated[0].name for option in alone.options} == {"generate.price"}


def test_a_network_takes_no_more_nodes_than_it_has_room_for(tmp_path: Path) -> None:
    """The number of nodes is limited by ``most_nodes`` or by the places of the topology."""
    flows = "contention: {flows: {topology: torus, dimensions: [2, 2], bandwidth: 1 GB/s}}"
    for old, new in (("price: 50 EUR,", "price: 50 EUR, most_nodes: 5,"), ("contention: none", flows)):
        loaded = generated(tmp_path, old, new)
        assert max(len(o.machine.nodes) for o in loaded.options if o.name.endswith("fast")) == 4
        assert max(len(o.machine.nodes) for o in loaded.options if o.name.endswith("slow")) == 6


def test_generated_options_stand_beside_named_ones_and_in_families(tmp_path: Path) -> None:
    """Named options come first; a list of families has the options of each family."""
    text = OFFERS.replace(
        "generate:\n  nodes", "options: {A: {machine: pair.yaml, price: 900 EUR}}\ngenerate:\n- nodes"
    )
    head, families = text.split("generate:\n")
    families += families.replace("small:", "other:").replace("big:", "third:")
    (folder(tmp_path) / "s.yaml").write_text(f"{head}generate:\n{families}")
    loaded = load_config(tmp_path / "s.yaml")
    assert isinstance(loaded, Scenario)
    assert loaded.options[0].name == "A"
    assert len(loaded.options) == 1 + 2 * 10


def test_a_budget_covers_a_sum_of_prices_but_for_rounding(tmp_path: Path) -> None:
    """Three nodes of 1,000.49 EUR fit a budget of 3,001.47 EUR, although their sum in floating point is above it."""
    assert 3 * 1000.49 > 3001.47
    text = OFFERS.replace("budget: 1000 EUR", "budget: 3001.47 EUR").replace("{from: 2, to: 6, step: 2}", "[3]")
    text = text.replace("price: 100 EUR", "price: 1000.49 EUR").replace(", price_per_node: 10 EUR", "")
    (folder(tmp_path) / "s.yaml").write_text(text)
    loaded = load_config(tmp_path / "s.yaml")
    assert isinstance(loaded, Scenario)
    assert "3 × small, slow" in {option.name for option in loaded.options}


def test_a_budget_that_covers_nothing_keeps_the_cheapest_for_the_message(tmp_path: Path) -> None:
    """If the budget covers no option, the cheapest is kept, at 220 EUR."""
    loaded = generated(tmp_path, "1000 EUR", "100 EUR")
    assert [(o.name, o.price) for o in loaded.options] == [("2 × small, slow", Money(220, "EUR"))]
    assert loaded.left_out == 11


@pytest.mark.parametrize(("price", "kept"), [("900 EUR", True), ("90 EUR", False)])
def test_the_cheapest_is_kept_beside_listed_options_that_cost_too_much(tmp_path: Path, price: str, kept: bool) -> None:
    """A budget of 100 EUR covers no cluster, and not the listed option for 900 EUR: the cheapest costs 220 EUR."""
    listed = f"options: {{A: {{machine: pair.yaml, price: {price}}}}}\ngenerate:\n"
    text = OFFERS.replace("1000 EUR", "100 EUR").replace("generate:\n", listed)
    loaded = load(tmp_path, text)
    assert [option.name for option in loaded.options] == (["A", "2 × small, slow"] if kept else ["A"])
    assert loaded.left_out == (11 if kept else 12)


def test_parts_are_shared_so_that_thousands_of_machines_are_light(tmp_path: Path) -> None:
    """All options share one object for each node type and one for each network."""
    loaded = generated(tmp_path, "to: 6, step: 2", "to: 900")
    assert len({id(node) for o in loaded.options for node in o.machine.nodes}) == 2
    assert len({id(o.machine.network) for o in loaded.options}) == 2


BAD = {
    "no price": (
        "memory: 128 MB, price: 100 EUR",
        "memory: 128 MB",
        "6:12: generate.node_types.small.price must be given",
    ),
    "other currency": ("price: 50 EUR", "price: 50 USD", "generate.networks.fast.price must be in EUR"),
    "unknown machine": ("pair.yaml", "pear.yaml", "generate.networks.fast.machine"),
    "unknown key": ("price_per_node", "price_per_note", 'did you mean "price_per_node"?'),
    "wrong unit": ("128 MB", "128 us", "6:21: generate.node_types.small.memory must be a size"),
    "no link": ("{between_nodes: {send_delay: 10 us, transmission_delay: 40 us}, ", "{", "between_nodes must be given"),
    "numbers the wrong way round": ("to: 6", "to: 1", "4:24: generate.nodes.to must be at least 2 (from), got 1"),
    "too many": ("to: 6, step: 2", "to: 99999", "must generate at most 250,000 options, got 399,992"),
    "too large": ("{from: 2, to: 6, step: 2}", "100001", "generate.nodes must be at most 100000, got 100001"),
    "one too large": (
        "{from: 2, to: 6, step: 2}",
        "[2, 100001]",
        "generate.nodes[1] must be at most 100000, got 100001",
    ),
    "too many nodes": (  # two kinds: 2 (10 + 20 + … + 100,000) nodes
        "{from: 2, to: 6, step: 2}",
        "{from: 10, to: 100000, step: 10}",
        "generate.nodes must generate clusters of at most 50,000,000 nodes, all together, got 1,000,100,000",
    ),
    "mixed with a stranger": ("generate:\n", "generate:\n  mixed: [[small, bog]]\n", 'got "bog": did you mean "big"?'),
    "mixed with itself": ("generate:\n", "generate:\n  mixed: [[big, big]]\n", 'different node types, got "big" twice'),
    "unknown type": (
        "small: {",
        "small: {machine: pair.yaml, type: hast, ",
        'must be a node type of pair.yaml (host), got "hast": did you mean "host"?',
    ),
    "same name": (
        "generate:\n",
        "options: {'2 × big, fast': {machine: pair.yaml, price: 1 EUR}}\ngenerate:\n",
        "twice",
    ),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, case: str) -> None:
    """The fault is reported with file, line, rule and value."""
    old, new, told = BAD[case]
    faults = faults_of(load_config, write(tmp_path, old, new))
    assert any(told in fault and "s.yaml:" in fault for fault in faults), faults


def test_options_or_offers_must_be_given(tmp_path: Path) -> None:
    """A comparison with neither options nor generated options is a fault."""
    (folder(tmp_path) / "s.yaml").write_text(OFFERS.split("generate:", maxsplit=1)[0])
    assert any("options must be given" in fault for fault in faults_of(load_config, tmp_path / "s.yaml"))
