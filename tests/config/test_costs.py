"""Costs of options from YAML: every key, named blocks, currencies, and every fault."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from clue.purchase.costs import Cloud, Costs, Electricity, Licence, Number, Part, Per, Racks, Source, Tariff
from clue.purchase.scenario import Criterion, Limits, Scenario
from clue.units import MONTH, YEAR, Money
from tests.config.documents import COSTED, SCENARIO, changed, folder
from tests.config.test_scenarios import faults_in
from tests.config.test_scenarios import scenario as load

HOUR, KWH = 3600.0, 3.6e6


def loaded(path: Path, old: str = "", new: str = "") -> Scenario:
    """Load the comparison with one change."""
    return load(path, changed(COSTED, old, new) if old else COSTED)


def test_every_figure_arrives_in_one_currency(tmp_path: Path) -> None:
    """At 2 USD to 1 EUR, every figure is converted to euros and SI units."""
    bought, rented = loaded(tmp_path).options
    assert bought.costs is not None and rented.costs is not None
    assert bought.costs.parts == (
        Part("node", Number(Per.NODE, 1), 100.0, 210.0, 560.0, 1, 0.02),
        Part("switch", Number(Per.PORTS, 40, "host"), 150.0, 250.0, 250.0, 1),
        Part("cable", Number(Per.NODE, 2), 9.0),
        Part("pdu", Number(Per.RACK, 2), 80.0),
        Part("console", Number(Per.OPTION, 1)),
    )
    assert bought.costs.racks == Racks(42, 20_000, 2500.0)
    assert bought.costs.electricity == Electricity(0.24 / KWH, 350 / (1000 * KWH), 1.2)
    assert bought.costs.licences == (Licence("solver", "nodes", ((8, 10.0), (32, 10.0)), yearly=False),)
    assert bought.costs.yearly == pytest.approx({"staff": 80_000.0, "hosting": 12_000.0, "support": 4500.0})
    assert (bought.costs.residual, bought.costs.utilisation, bought.costs.availability) == (0.2, 0.8, 0.9)
    assert bought.costs.sources == (
        Source("parts.switch", "offer 7", "2026-10-01"),
        Source("electricity", "contract", ""),
        Source("hosting", "landlord", ""),
    )
    cloud = rented.costs.cloud
    assert cloud is not None and (cloud.tariff, cloud.quantum, cloud.repeated) == (Tariff.SPOT, 60.0, 0.1)
    assert (cloud.price, cloud.storage, cloud.egress) == pytest.approx((2.53 / HOUR, 400.0, 100.0))


def test_prices_of_parts_are_part_of_what_is_paid(tmp_path: Path) -> None:
    """The price is 900 EUR, 3 nodes, a switch, 4 cables, a rack and 2 PDUs; nodes of a cloud have no price."""
    bought, rented = loaded(tmp_path).options
    assert bought.price == Money(900 + 3 * 100 + 150 + 4 * 9 + 2500 + 2 * 80, "EUR")
    assert rented.price == Money(0, "EUR")


def test_parts_alone_make_no_price(tmp_path: Path) -> None:
    """Without a price of the nodes the option has no price; nodes that cost nothing need a stated price of 0."""
    (bought, _) = loaded(tmp_path, "price: 900 EUR, cost: [power", "cost: [power").options
    assert bought.price is None and bought.costs is not None
    (bought, _) = loaded(tmp_path, "price: 900 EUR, cost", "price: 0 EUR, cost").options
    assert bought.price == Money(3146, "EUR")


def test_what_is_asked_for_arrives(tmp_path: Path) -> None:
    """Limits, deadlines, runs a month and the Pareto criteria are read; exchange rates are noted."""
    found = loaded(tmp_path)
    assert (found.discount_rate, found.service_life, found.criterion) == (0.03, 5 * YEAR, Criterion.TOTAL_COST)
    assert found.limits == Limits(60e3, 50e3, 84, 100, 500e6, Money(2e6, "EUR"))
    assert found.pareto == (Criterion.TOTAL_COST, Criterion.MAKESPAN)
    (workload,) = found.workloads
    assert (workload.deadline, workload.demand) == (8 * HOUR, 40 / MONTH)
    assert found.notes == ("1 USD counts as 0.5 EUR (2026-11-02, a bank)",)


def test_nothing_stated_is_nothing_limited(tmp_path: Path) -> None:
    """Costs, limits and rates are optional, and without them nothing is limited."""
    found = load(tmp_path)
    assert (found.options[0].costs, found.limits, found.pareto, found.discount_rate) == (None, Limits(), (), 0.0)
    assert (found.workloads[0].deadline, found.workloads[0].demand) == (math.inf, None)


def test_prices_are_exchanged_wherever_they_stand(tmp_path: Path) -> None:
    """The budget, an option's price and the limit of the total cost are converted."""
    found = loaded(tmp_path, "budget: 900000 EUR", "budget: 900000 USD")
    assert found.budget == Money(450_000, "EUR")
    assert loaded(tmp_path, "price: 900 EUR,", "price: 900 USD,").options[0].price == Money(450 + 3146, "EUR")
    assert loaded(tmp_path, "2000000 EUR", "2000000 USD").limits.total_cost == Money(1e6, "EUR")


def test_a_block_of_the_option_itself(tmp_path: Path) -> None:
    """An option may have a block of costs without a name."""
    (_, rented) = loaded(tmp_path, "cost: rented}", "cost: {cloud: {price: 3.60 EUR/h}}}").options
    assert rented.costs == Costs(cloud=Cloud(3.60 / HOUR))


def test_a_block_laid_over_others_states_only_what_differs(tmp_path: Path) -> None:
    """The cloud's quantum becomes an hour and its storage 1 TB; a node's idle power stays beside another busy one."""
    text = changed(COSTED, "  rented:\n", "  hourly: {cloud: {quantum: 1 h}}\n  rented:\n")
    text = changed(text, "cost: rented}", "cost: [rented, hourly, {cloud: {storage: {size: 1 TB}}}]}")
    over = "[power, people, {residual: 0.2, parts: {node: {power: {busy: 600 W}}}, licences: {solver: {paid: yearly}}}]"
    bought, rented = load(tmp_path, changed(text, "[power, people, {residual: 0.2}]", over)).options
    assert rented.costs is not None and rented.costs.cloud is not None
    assert (rented.costs.cloud.quantum, rented.costs.cloud.tariff) == (3600.0, Tariff.SPOT)
    # 1 TB at 0.02 EUR per GB and month.
    assert (rented.costs.cloud.price, rented.costs.cloud.storage) == pytest.approx((2.53 / HOUR, 20.0))
    assert bought.costs is not None
    assert (bought.costs.parts[0].idle, bought.costs.parts[0].busy) == (210.0, 600.0)
    assert bought.costs.licences == (Licence("solver", "nodes", ((8, 10.0), (32, 10.0)), yearly=True),)


def test_generated_options_cost_what_their_parts_do(tmp_path: Path) -> None:
    """Two nodes cost 200 EUR, a switch 30 EUR, and an adapter 1 EUR for each node."""
    text = """\
workloads: {large: {program: {script: prog.py}, ranks: [2]}}
currencies: {USD: {rate: 0.5 EUR, date: 2026-11-02}}
generate:
  nodes: 2
  node_types: {small: {price: 100 EUR}}
  networks: {slow: {machine: pair.yaml, switch: {ports: 4, price: 60 USD}}}
  cost: {parts: {adapter: {per_node: 1, type: small, price: 2 USD, power: 5 W}}}
"""
    (only,) = load(tmp_path, text).options
    assert only.price == Money(232.0, "EUR")
    assert only.costs is not None and only.costs.states_power


PLACED = [
    # currencies
    ("rate: 0.5 EUR, date: 2026-11-02,", "rate: 0.5 EUR,", "currencies.USD.date must be given, got nothing"),
    ("2026-11-02", "soon", "currencies.USD.date must be a date such as \"2026-11-02\", got 'soon'"),
    ("2026-11-02", "2026-02-30", "currencies.USD.date must be a date such as \"2026-11-02\", got '2026-02-30'"),
    ("2026-11-02", "20261102", 'currencies.USD.date must be a date such as "2026-11-02", got 20261102'),
    ("rate: 0.5 EUR", "rate: 0.5 USD", "currencies.USD.rate must be in another currency, got USD"),
    ("rate: 0.5 EUR", "rate: 0 EUR", "currencies.USD.rate must be above 0, got 0 EUR"),
    ("rate: 0.5 EUR", "rate: 0.5", "currencies.USD.rate must be an amount with a currency"),
    ("  USD: {", "  usd: {", 'currencies.usd must be three capital letters of a currency, got "usd"'),
    (
        "price: 9 EUR",
        "price: 9 CHF",
        "costs.power.parts.cable.price must be in EUR, or in a currency with a rate (USD), got CHF",
    ),
    (
        "source: a bank}",
        "source: a bank}\n  CHF: {rate: 2 USD, date: 2026-11-02}",
        "currencies.CHF.rate must be in a currency without a rate, got USD",
    ),
    # parts
    (
        "per_node: 2, price: 9",
        "per_nodes: 2, price: 9",
        'costs.power.parts.cable.per_nodes must be a known key, got "per_nodes"',
    ),
    (
        "per_node: 2, price: 9",
        "price: 9",
        "costs.power.parts.cable must have one of count, per_node, ports, per_rack, got none",
    ),
    (
        "per_node: 2, price: 9",
        "per_node: 2, count: 1, price: 9",
        "costs.power.parts.cable must have one of count, per_node, ports, per_rack, got count and per_node",
    ),
    ("{per_node: 2,", "{per_node: 0,", "costs.power.parts.cable.per_node must be at least 1, got 0"),
    (
        "{count: 1}",
        "{count: 1, type: host}",
        "costs.power.parts.console.type must be given with per_node or ports, got count",
    ),
    (
        "type: host",
        "type: hots",
        'costs.power.parts.switch.type must be a node type of an option\'s machine, got "hots": did you mean "host"?',
    ),
    ("price: 9 EUR", "price: -9 EUR", "costs.power.parts.cable.price must be an amount not below 0, got '-9 EUR'"),
    (
        "price: 9 EUR",
        "price: 9",
        'costs.power.parts.cable.price must be an amount with a currency such as "300000 ATS", got 9',
    ),
    (
        "busy: 560 W",
        "busy: 200 W",
        "costs.power.parts.node.power.busy must be at least the idle power, 210 W, got 200 W",
    ),
    (
        "busy: 560 W",
        "busy: 560",
        'costs.power.parts.node.power.busy must be a power with a unit, got 560: did you mean "560 W" or "560 kW"?',
    ),
    ("{idle: 210 W, busy: 560 W}", "{busy: 560 W}", "costs.power.parts.node.power.idle must be given, got nothing"),
    ("spares: 0.02", "spares: 2", "costs.power.parts.node.spares must be at most 1, got 2"),
    ("spares: 0.02", "rack_unit: 0.02", 'costs.power.parts.node.rack_unit must be a known key, got "rack_unit"'),
    (
        "{per_rack: 2,",
        "{per_rack: 2, power: 5 W,",
        "costs.power.parts.pdu.power must not be given for parts outside racks, got one",
    ),
    (
        "    racks: {rack_units: 42, power: 20 kW, price: 2500 EUR}\n",
        "",
        "costs.power.parts.pdu.per_rack must be given with racks, got none",
    ),
    (
        "{rack_units: 42, power: 20 kW, ",
        "{",
        "costs.power.racks must have the rack_units or the power of one rack, got neither",
    ),
    ("power: 20 kW", "power: 0 W", "costs.power.racks.power must be above 0, got 0 W"),
    ("date: 2026-10-01", "date: 1.10.2026", 'costs.power.parts.switch.date must be a date such as "2026-11-02"'),
    # electricity
    (
        "0.24 EUR/kWh",
        "0.24 EUR",
        "costs.power.electricity.price must be a price for a unit (/kWh, /MWh, /J, /MJ, …) such as",
    ),
    (
        "0.24 EUR/kWh",
        "0.24 EUR/kW",
        "costs.power.electricity.price must be a price for a unit (/kWh, /MWh, /J, /MJ, …) such as",
    ),
    (
        "0.24 EUR/kWh",
        "0.24/kWh",
        "costs.power.electricity.price must be an amount with a currency such as \"300000 ATS\", got '0.24'",
    ),
    ("350 g/kWh", "350", "costs.power.electricity.carbon must be a mass per energy with a unit, got 350"),
    ("pue: 1.2", "pue: 0.9", "costs.power.electricity.pue must be at least 1, got 0.9"),
    (
        "cost: rented}",
        "cost: {electricity: {pue: 2}}}",
        "options.B.cost.electricity must be given with parts that draw power, got none",
    ),
    (
        "cost: rented}",
        "cost: {racks: {rack_units: 2}}}",
        "options.B.cost.racks must be given with parts that take rack units or power, got none",
    ),
    # licences
    (
        "[[8, 10 EUR], [32, 20 USD]]",
        "[[32, 10 EUR], [8, 20 EUR]]",
        "costs.people.licences.solver.steps must be sorted by strictly rising number, got 8 after 32",
    ),
    (
        "[[8, 10 EUR], [32, 20 USD]]",
        "[[8, 10 EUR], [32, 9 EUR]]",
        "costs.people.licences.solver.steps must not fall in price, got 9.00 EUR after 10.00 EUR",
    ),
    (
        "[[8, 10 EUR], [32, 20 USD]]",
        "[[8, 10 EUR], [32, 19 USD]]",
        "costs.people.licences.solver.steps must not fall in price, got 19.00 USD after 10.00 EUR (9.50 EUR after "
        "10.00 EUR)",
    ),
    (
        "[[8, 10 EUR], [32, 20 USD]]",
        "[]",
        "costs.people.licences.solver.steps must have at least 1 entries, got an empty list",
    ),
    ("of: nodes", "of: node", "costs.people.licences.solver.of must be 'cores' or 'nodes', got \"node\""),
    ("paid: once", "paid: 3", "costs.people.licences.solver.paid must be 'yearly' or 'once', got 3"),
    # the rest of the block
    (
        "80000 EUR/year",
        "80000 EUR",
        "costs.people.staff must be a price for a unit (/year, /month, /week, /day, /hour, /s, …) such as",
    ),
    ("price: 1000 EUR/month, ", "", "costs.people.hosting.price must be given, got nothing"),
    ("residual: 0.1", "residual: 1.1", "costs.people.residual must be at most 1, got 1.1"),
    ("utilisation: 0.8", "utilisation: 0", "costs.people.utilisation must be above 0, got 0"),
    ("availability: 0.9", "availability: 90", "costs.people.availability must be at most 1, got 90"),
    (
        "    residual: 0.1",
        "    residuals: 0.1",
        'costs.people.residuals must be a known key, got "residuals": did you mean "residual"?',
    ),
    # the cloud
    (
        "tariff: spot",
        "tariff: auction",
        "costs.rented.cloud.tariff must be 'on_demand', 'spot' or 'reserved', got \"auction\"",
    ),
    ("tariff: spot", "tariff: on_demand", "costs.rented.cloud.repeated must be given with tariff spot, got on_demand"),
    ("repeated: 0.1", "upfront: 9 EUR", "costs.rented.cloud.upfront must be given with tariff reserved, got spot"),
    ("quantum: 1 min", "quantum: 0 s", 'costs.rented.cloud.quantum must be a duration above 0, got "0 s"'),
    (
        "5.06 USD/h",
        "5.06 USD",
        "costs.rented.cloud.price must be a price for a unit (/year, /month, /week, /day, /hour",
    ),
    ("cost: rented}", "cost: {cloud: {quantum: 1 h}}}", "options.B.cost.cloud.price must be given, got nothing"),
    (
        "cost: rented}",
        "cost: [rented, {licences: {other: {paid: once}}}]}",
        "options.B.cost[1].licences.other.steps must be given, got nothing",
    ),
    ("0.02 EUR/GB/month", "0.02 EUR/GB", "costs.rented.cloud.storage.price must be a price for a unit (/GB/month"),
    ("size: 20 TB", "size: 20", "costs.rented.cloud.storage.size must be a size with a unit, got 20"),
    ("{monthly: 2 TB, ", "{", "costs.rented.cloud.egress.monthly must be given, got nothing"),
    (
        "cost: rented}",
        "price: 5 EUR, cost: rented}",
        "options.B.price must not be given with nodes of a cloud, got 5.00 EUR",
    ),
    # references to blocks
    (
        "cost: rented}",
        "cost: rent}",
        'options.B.cost must be one of the costs (power, people, rented), got "rent": did you mean "rented"?',
    ),
    (
        "[power, people, ",
        "[power, peple, ",
        'options.A.cost[1] must be one of the costs (power, people, rented), got "peple"',
    ),
    ("cost: rented}", "cost: 5}", "options.B.cost must be text, got 5"),
    ("cost: rented}", "cost: []}", "options.B.cost must have at least 1 entries, got an empty list"),
    (
        "cost: rented}",
        "costs: rented}",
        "options.B.costs must be a key of options.B (cost, machine, measured_skeleton, nodes, price, with), "
        'got "costs": did you mean "cost"?',
    ),
    ("limits: {", "constraints: {", 'constraints must be a known key, got "constraints": did you mean "limits"?'),
    # limits, workloads and criteria
    ("power: 60 kW", "power: -60 kW", "limits.power must be a power not below 0, got '-60 kW'"),
    (
        "rack_units: 84",
        "rack_unit: 84",
        "limits.rack_unit must be a key of limits (cooling, memory_per_core, nodes, power, rack_units, "
        'total_cost, waiting), got "rack_unit"',
    ),
    ("nodes: 100", "nodes: 0", "limits.nodes must be at least 1, got 0"),
    ("memory_per_core: 500 MB", "memory_per_core: 500", "limits.memory_per_core must be a size with a unit, got 500"),
    (
        "deadline: 8 h",
        "deadline: 8",
        'workloads.large.deadline must be a duration with a unit, got 8: did you mean "8 years"?',
    ),
    ("deadline: 8 h", "deadline: 0 h", 'workloads.large.deadline must be a duration above 0, got "0 h"'),
    ("runs_a_month: 40", "runs_a_month: 0", "workloads.large.runs_a_month must be above 0, got 0"),
    ("discount_rate: 0.03", "discount_rate: 3", "discount_rate must be at most 1, got 3"),
    ("discount_rate: 0.03", "discount_rate: -0.03", "discount_rate must be at least 0, got -0.03"),
    (
        "criterion: total_cost",
        "criterion: tco",
        "criterion must be 'points', 'makespan', 'throughput', 'cost_per_run', 'total_cost'",
    ),
    ("[total_cost, makespan]", "[total_cost]", "pareto must have at least 2 entries, got a list"),
    (
        "[total_cost, makespan]",
        "[points, makespan, points]",
        "pareto must have each criterion once, got points and makespan and points",
    ),
    ("[total_cost, makespan]", "[total_cost, price]", "pareto[1] must be 'points', 'makespan'"),
]


@pytest.mark.parametrize(("old", "new", "fault"), PLACED, ids=[fault[:70] for *_, fault in PLACED])
def test_each_fault_is_told_with_its_place_rule_and_value(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """One fault is reported with line, column, rule and value."""
    found = faults_in(tmp_path, changed(COSTED, old, new))
    assert any(each.split(": ", 1)[1].startswith(fault) for each in found), found


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    """A fault of a shared block is reported once, however many options name the block."""
    text = changed(changed(COSTED, "busy: 560 W", "busy: 1 W"), "{per_rack: 2,", "{per_rack: 2, rack_units: 1,")
    text = changed(text, "cost: rented}", "cost: [power, {cloud: {price: 1 EUR/h, upfront: 2 EUR}}]}")
    places = [each.split(" ", 2)[1] for each in faults_in(tmp_path, text)]
    assert places == [
        "costs.power.parts.node.power.busy",
        "costs.power.parts.pdu.rack_units",
        "options.B.cost[1].cloud.upfront",
    ]


def test_mixed_currencies_without_a_rate_are_refused(tmp_path: Path) -> None:
    """A price in a currency without a rate is a fault wherever the price is."""
    text = changed(COSTED, "currencies:\n  USD: {rate: 0.5 EUR, date: 2026-11-02, source: a bank}\n", "")
    paths = [each.split(" ")[1] for each in faults_in(tmp_path, text)]
    assert paths == [
        "costs.power.parts.switch.price",
        "costs.people.support",
        "costs.people.licences.solver.steps[1][1]",
        "costs.rented.cloud.price",
        "costs.rented.cloud.egress.price",
    ]


def test_runs_a_month_are_of_all_workloads_or_of_none(tmp_path: Path) -> None:
    """Workloads share the machine's time, so all of them have runs a month, or none."""
    text = changed(COSTED, "workloads:\n", "workloads:\n  small: {program: {script: prog.py}}\n")
    (fault,) = faults_in(tmp_path, text)
    assert fault.endswith("workloads.small.runs_a_month must be given if another workload has it, got nothing")


NODE = "node_types: {host: {price: null}}"


@pytest.mark.parametrize(
    ("whole", "node", "places", "drop"),
    [
        ("700 EUR", "", "price", "price: null"),
        ("", "350 EUR", "node_types.host.price", NODE),
        ("700 EUR", "200 EUR", "price, node_types.host.price", f"price: null, {NODE}"),
    ],
)
def test_a_machine_whose_price_is_known_is_no_cloud(
    tmp_path: Path, whole: str, node: str, places: str, drop: str
) -> None:
    """An option with nodes of a cloud must not have a price of its machine; the message says how to drop it."""
    text = (folder(tmp_path) / "pair.yaml").read_text()
    text = changed(text, "memory: 1 GB", f"memory: 1 GB, price: {node}") if node else text
    (tmp_path / "priced.yaml").write_text(f"{text}price: {whole}\n" if whole else text)
    option = "priced.yaml, cost: rented"
    (fault,) = faults_in(tmp_path, changed(COSTED, "pair.yaml, cost: rented", option))
    rule = f"options.B.machine must not state a price ({places}) with nodes of a cloud, got 700 EUR"
    assert fault.endswith(f"{rule}: drop it by with: {{{drop}}}")
    (_, rented) = loaded(tmp_path, "pair.yaml, cost: rented", f"{option}, with: {{{drop}}}").options
    assert rented.costs is not None and rented.costs.cloud is not None


def test_costs_that_no_option_names_are_noted(tmp_path: Path) -> None:
    """A block of costs counts only for options that name it, alone or in a list."""
    blocks = "costs: {site: {staff: 1000 EUR/year}, other: {staff: 1 EUR/year}}\n"
    note = "costs.{0} is part of no option: an option that has these costs must name them, cost: {0}"
    site, other = note.format("site"), note.format("other")
    assert load(tmp_path, blocks + SCENARIO).notes == (site, other)
    for cost in ("site", "[site]", "[{residual: 0.1}, site]"):
        text = changed(SCENARIO, "price: 900 EUR", f"price: 900 EUR, cost: {cost}")
        assert load(tmp_path, blocks + text).notes == (other,)
    assert load(tmp_path).notes == ()
    assert loaded(tmp_path).notes == ("1 USD counts as 0.5 EUR (2026-11-02, a bank)",)
