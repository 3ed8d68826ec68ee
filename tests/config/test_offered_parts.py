"""Options generated from nodes, processors, memory, networks and topologies: names, prices and faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from clue.config import load_config
from clue.config.quantities import Price
from clue.machine import Ports
from clue.purchase.scenario import Built, Layout, Scenario
from clue.uncertainty import Sample, draw_machine
from clue.units import Money, parse_money
from tests.config.documents import faults_of, folder

PARTS = """\
budget: 5000 EUR
next: 100
workloads: {job: {program: {script: prog.py}, ranks: [2], placement: search}}
generate:
  nodes: [2, 4]
  node_types: {box: {price: 100 EUR, memory: 1 GB}, blade: {price: 150 EUR}}
  processors:
    slow: {processors: 4, performance_factor: 2}
    fast: {processors: 8, price: 200 EUR}
  memory: [{size: 64 GB, price: 30 EUR}, {size: 128 GiB, price: 70 EUR}]
  networks: {net: {machine: pair.yaml, price_per_node: 10 EUR}}
  topologies:
    ports: {contention: ports}
    torus:
      contention: {flows: {topology: torus, dimensions: [2], bandwidth: 1 GB/s}}
      price: 5 EUR
      price_per_node: 1 EUR
"""


def write(path: Path, old: str = "", new: str = "") -> Path:
    """Write the scenario with one change."""
    assert old in PARTS
    (folder(path) / "s.yaml").write_text(PARTS.replace(old, new))
    return path / "s.yaml"


def generated(path: Path, old: str = "", new: str = "") -> Scenario:
    """Load the scenario with one change."""
    loaded = load_config(write(path, old, new))
    assert isinstance(loaded, Scenario)
    return loaded


def test_every_node_comes_with_every_processor_and_memory_on_every_network_and_topology(tmp_path: Path) -> None:
    """2 · 2 · 2 kinds of nodes come in 2 numbers with ports and in one on a torus of two places; prices are by hand."""
    options = {option.name: option for option in generated(tmp_path).options}
    assert len(options) == 8 * 2 + 8
    option = options["4 × box fast 128 GiB, net ports"]
    assert option.price == Money(4 * (100 + 200 + 70) + 4 * 10, "EUR")
    assert option.built == Built(0, {("box", "fast", "128 GiB"): 4}, "net", "ports")
    assert isinstance(option.machine.network.contention, Ports)
    node = option.machine.nodes[0]
    assert (node.name, node.processors, node.memory) == ("box fast 128 GiB", 8, 128 * 2**30)
    option = options["2 × blade slow 64 GB, net torus"]
    assert option.price == Money(2 * (150 + 30) + 2 * 10 + 5 + 2, "EUR")
    assert option.machine.network.contention.topology is not None
    assert option.machine.nodes[0].performance_factor == 2


@pytest.mark.parametrize("processors", [True, False])
def test_a_part_is_as_fast_in_every_node_that_has_it(tmp_path: Path, processors: bool) -> None:
    """A sample draws one factor for a processor, or for a node that is offered without one, whatever its memory."""
    noise = ", noise: {factor: 0.2}"
    whole = PARTS.replace("factor: 2}", f"factor: 1{noise}}}").replace("price: 200 EUR", f"price: 200 EUR{noise}")
    if not processors:
        before, _, after = PARTS.partition("  processors:\n")
        before = before.replace("memory: 1 GB", noise.lstrip(", ")).replace("150 EUR", f"150 EUR{noise}")
        whole = before + after[after.index("  memory:") :]
    loaded = load_config(write(tmp_path, PARTS, whole))
    assert isinstance(loaded, Scenario)
    drawn: dict[str, set[float]] = {}
    for option in loaded.options:
        assert option.built is not None
        ((node, processor, _),) = option.built.nodes
        machine = draw_machine(option.machine, Sample(0, 0))
        drawn.setdefault(processor or node, set()).add(machine.nodes[0].performance_factor)
    assert set(drawn) == ({"slow", "fast"} if processors else {"box", "blade"})
    (one,), (other,) = drawn.values()
    assert one != other


def test_the_full_size_may_state_a_factor_of_one_region(tmp_path: Path) -> None:
    """All other regions keep the factor of the processor on offer, 2."""
    full = "full: {generate: {processors: {slow: {performance_factor: {solve: 3}}}}}\n"
    loaded = load_config(write(tmp_path, "budget: 5000 EUR\n", f"budget: 5000 EUR\n{full}"), full=True)
    assert isinstance(loaded, Scenario)
    (node, *_) = next(each for each in loaded.options if each.name == "2 × blade slow 64 GB, net torus").machine.nodes
    assert (node.factor("solve"), node.factor("other")) == (3, 2)


def test_parts_of_costs_count_nodes_by_what_they_are_made_of(tmp_path: Path) -> None:
    """With 100 W a fast processor and 50 EUR a box, four boxes with fast processors add 400 W and 200 EUR."""
    parts = "{cpu: {per_node: 1, type: fast, power: 100 W}, case: {per_node: 1, type: box, price: 50 EUR}}"
    costs = f"generate:\n  cost: {{parts: {parts}}}\n"
    options = {option.name: option for option in generated(tmp_path, "generate:\n", costs).options}
    option = options["4 × box fast 64 GB, net ports"]
    assert option.price == Money(4 * (100 + 200 + 30 + 10 + 50), "EUR")
    assert option.nodes == {"": 4, "box fast 64 GB": 4, "box": 4, "fast": 4, "64 GB": 4}
    told = faults_of(load_config, write(tmp_path, "generate:\n", costs.replace("type: fast", "type: fats")))
    assert any('must be a node type of an option\'s machine, got "fats": did you mean "fast"?' in t for t in told), told


def test_pairs_to_mix_are_nodes_with_any_processor(tmp_path: Path) -> None:
    """Boxes with 4 combinations of processor and memory are mixed with blades with 4, on ports only."""
    options = generated(tmp_path, "generate:\n", "generate:\n  mixed: [[box, blade]]\n").options
    mixed = [option.name for option in options if "+" in option.name]
    assert len(mixed) == 4 * 4
    assert "2 × box slow 64 GB + 2 × blade fast 128 GiB, net ports" in mixed


def test_the_money_that_is_asked_about_reaches_beyond_the_budget(tmp_path: Path) -> None:
    """With 100 EUR more, options up to 520 EUR are kept beyond 420 EUR; an argument replaces the file's amount."""
    loaded = generated(tmp_path, "5000 EUR", "420 EUR")
    assert (loaded.next_amount, loaded.next_from) == (Money(100, "EUR"), "")
    assert max(option.price.amount for option in loaded.options if option.price) <= 420
    beyond = [option.price.amount for option in loaded.beyond if option.price]
    assert beyond and min(beyond) > 420 and max(beyond) <= 520
    more = load_config(tmp_path / "s.yaml", more="20 EUR")
    assert isinstance(more, Scenario)
    assert more.next_amount == Money(20, "EUR")
    assert len(more.beyond) < len(beyond)


def test_an_option_may_be_named_that_more_is_spent_on(tmp_path: Path) -> None:
    """The file may name the option on which more is spent; another amount keeps that option."""
    name = "2 × box slow 64 GB, net ports"
    path = write(tmp_path, "next: 100", f'next: {{amount: 100 EUR, from: "{name}"}}')
    loaded = load_config(path, more="7")
    assert isinstance(loaded, Scenario)
    assert (loaded.next_from, loaded.next_amount) == (name, Money(7, "EUR"))


@pytest.mark.parametrize(
    ("written", "layouts", "searched"),
    [
        ("block", (), False),
        ("search", (), True),
        ("{order: cyclic, ranks_per_processor: 2}", (), False),
        ("{ranks_per_node: 2, nodes: last}", (Layout("block", 1, 2, backwards=True),), False),
        ("[block, cyclic, {order: block, ranks_per_node: 4}]",
         (Layout(), Layout("cyclic"), Layout(ranks_per_node=4)), False),
    ],
)  # fmt: skip
def test_placements(tmp_path: Path, written: str, layouts: tuple[Layout, ...], searched: bool) -> None:
    """A placement is one order, one layout, a list of them, or a search."""
    (job,) = generated(tmp_path, "placement: search", f"placement: {written}").workloads
    assert (job.layouts, job.layouts_searched) == (layouts, searched)


BAD = {
    "unknown placement": (
        "placement: search",
        "placement: random",
        "placement must be 'block', 'cyclic' or 'search', got",
    ),
    "no rank on a node": ("placement: search", "placement: {ranks_per_node: 0}", "ranks_per_node"),
    "search in a list": ("placement: search", "placement: [block, search]", "workloads.job.placement"),
    "two memories of one size": ("128 GiB", "64000 MB", "must differ from the others, got 64 GB twice"),
    "nothing more": ("next: 100", "next: 0", "next must be an amount above 0, got 0"),
    "less": ("next: 100", "next: -5 EUR", "next"),
    "more or less": (
        "next: 100",
        "next: '1.900'",
        'next must be an amount that can be read in one way, got \'1.900\': did you mean "1,900" or "1.9"?',
    ),
    "uncertain": ("next: 100", "next: 5 EUR ± 3 %", "must be an amount without a spread"),
    "a strange currency": ("next: 100", "next: 5 USD", "next must be in EUR"),
    "unknown option": ("next: 100", "next: {amount: 5 EUR, from: nobody}", 'must be one of the options, got "nobody"'),
    "uncertain budget": ("5000 EUR", "5000 EUR ± 5 %", "budget must be an amount without a spread"),
    "more than uncertain": ("200 EUR}", "200 EUR ± 120 %}", "must be uncertain by less than 100 %"),
    "no spread": ("price: 200 EUR", "price: {value: 200 EUR}", "have value and spread, got value"),
    "two spreads": (
        "price: 200 EUR",
        "price: {value: 200 EUR ± 1 %, spread: 5 %}",
        "must have its spread in one place",
    ),
    "wide spread": ("price: 200 EUR", "price: {value: 200 EUR, spread: 1.5}", "must have a spread below 100 %"),
    "no contention": ("{contention: ports}", "{price: 5 EUR}", "topologies.ports.contention must be given"),
    "bad topology": ("topology: torus", "topology: donut", "topologies.torus.contention"),
    "bad processor": ("processors: 8", "processors: 0", "processors.fast.processors"),
    "unknown key": ("{size: 64 GB", "{amount: 64 GB", "memory[0]"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, case: str) -> None:
    """The fault is reported with file, rule and value."""
    old, new, told = BAD[case]
    faults = faults_of(load_config, write(tmp_path, old, new))
    assert any(told in fault and "s.yaml:" in fault for fault in faults), faults


def test_money_needs_prices_beside_it(tmp_path: Path) -> None:
    """Without any price the currency is unknown, so an amount of money is a fault."""
    (folder(tmp_path) / "s.yaml").write_text(
        "next: 5\nworkloads: {job: {program: {script: prog.py}}}\noptions: {A: {machine: kishimoto}}\n"
    )
    assert any(
        "next must be given with prices, got 5 and none" in t for t in faults_of(load_config, tmp_path / "s.yaml")
    )


# --- uncertain prices ---


def test_a_spread_stands_behind_a_price_or_beside_it(tmp_path: Path) -> None:
    """A spread may follow the price or be a key next to it; the option's price has no spread."""
    for written in (
        "200 EUR ± 5 %",
        "200 EUR +- 5%",
        "{value: 200 EUR, spread: 5 %}",
        "{value: 200 EUR, spread: 0.05}",
    ):
        options = generated(tmp_path, "price: 200 EUR", f"price: {written}").options
        option = next(each for each in options if each.name == "4 × box fast 64 GB, net ports")
        (figure,) = (each for each in option.stated if each.deviation)
        assert (figure.name, figure.value, figure.deviation, figure.number) == (
            "generate.processors.fast.price", 200.0, 0.05, 4.0
        )  # fmt: skip
        assert option.price == Money(1360, "EUR")


@pytest.mark.parametrize("amount", ["1.1250 EUR", "1,234,567.125 EUR", "€0.125", "1e18 EUR"])
def test_a_price_beside_its_spread_is_read_as_alone(amount: str) -> None:
    """A spread in percent changes nothing in how the amount beside it is read."""
    price = parse_money(amount)
    read = TypeAdapter[Money](Price).validate_python({"value": amount, "spread": "5 %"})
    assert read == Money(price.amount, "EUR", 0.05)


@pytest.mark.parametrize(
    ("whole", "figure"),
    [
        ("150 EUR ± 10 %", ("priced.yaml.price", 150.0, 0.1, 1.0)),
        ("140 EUR ± 10 %", ("priced.yaml.price", 140.0, 0.1, 1.0)),
        ("140 EUR", ("node_types.host.price", 70.0, 0.03, 2.0)),
    ],
)
def test_the_spread_of_a_whole_machines_price_counts(
    tmp_path: Path, whole: str, figure: tuple[str, float, float, float]
) -> None:
    """Two nodes of 70 EUR ± 3 % cost 140 EUR: only a price without a spread of its own is taken for their sum."""
    text = (folder(tmp_path) / "pair.yaml").read_text().replace("memory: 1 GB", "memory: 1 GB, price: 70 EUR ± 3 %")
    (tmp_path / "priced.yaml").write_text(f"{text}price: {whole}\n")
    (tmp_path / "s.yaml").write_text(
        "workloads: {job: {program: {script: prog.py}}}\noptions: {A: {machine: priced.yaml}}\n"
    )
    loaded = load_config(tmp_path / "s.yaml")
    assert isinstance(loaded, Scenario)
    (stated,) = loaded.options[0].stated
    assert (stated.name, stated.value, stated.deviation, stated.number) == figure


COSTED = """\
workloads: {job: {program: {script: prog.py}}}
currencies: {USD: {rate: 0.5 EUR, date: 2026-11-02}}
options:
  whole:
    machine: pair.yaml
    price: 900 USD ± 10 %
    with: {network: &net {between_nodes: {send_delay: 1 us, transmission_delay: 9 us}}}
  nodes: {machine: {nodes: [{type: host, count: 2}], node_types: {host: {price: 70 EUR ± 3 %}}, network: *net}}
  cloud:
    machine: pair.yaml
    cost:
      parts: {node: {per_node: 1, power: 100 W, price: 5 EUR ± 1 %}}
      electricity: {price: 0.24 EUR/kWh ± 20 %}
      licences: {solver: {steps: [[8, 10 EUR ± 4 %], [99, 20 EUR]]}}
      staff: 1000 EUR/year ± 6 %
      support: {price: 10 EUR/month ± 7 %}
      cloud: {price: 1 EUR/h ± 30 %, storage: {size: 1 TB, price: 0.02 EUR/GB/month ± 2 %}}
"""


def test_every_price_may_be_uncertain(tmp_path: Path) -> None:
    """Prices of options, nodes and costs may have a spread; exchange rates leave it unchanged."""
    (folder(tmp_path) / "s.yaml").write_text(COSTED)
    loaded = load_config(tmp_path / "s.yaml")
    assert isinstance(loaded, Scenario)
    whole, nodes, cloud = loaded.options
    (figure,) = whole.stated
    assert (figure.name, figure.value, figure.deviation) == ("options.whole.price", 450.0, 0.1)
    assert whole.price == Money(450, "EUR")
    (figure,) = nodes.stated
    assert (figure.name, figure.value, figure.deviation, figure.number) == ("node_types.host.price", 70.0, 0.03, 2.0)
    assert cloud.costs is not None
    assert cloud.costs.deviations == {
        "parts.node.price": 0.01,
        "electricity.price": 0.2,
        "licences.solver.steps": 0.04,
        "staff": 0.06,
        "support": 0.07,
        "cloud.price": 0.3,
        "cloud.storage": 0.02,
    }
