"""Figures of a comparison that can be changed: which exist, their effect, and messages on invalid ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clue.config.changes import ChangeableScenario, ChangeError
from clue.errors import ConfigError, UsageError
from clue.purchase import Criterion
from clue.units import YEAR, Money

MACHINE: dict[str, Any] = {
    "nodes": [{"count": 2, "type": "pc"}],
    "node_types": {"pc": {"processors": 1, "price": "900 EUR"}},
    "network": {"between_nodes": {"send_delay": "10 us", "transmission_delay": "40 us", "receive_delay": "5 us"}},
}
SCENARIO: dict[str, Any] = {
    "name": "which",
    "budget": "4000 EUR",
    "discount_rate": 0.03,
    "costs": {
        "site": {
            "parts": {"node": {"per_node": 1, "power": {"idle": "90 W", "busy": "210 W"}}},
            "electricity": {"price": "0.24 EUR/kWh", "pue": 1.3, "source": "contract", "date": "2026-11-02"},
            "licences": {"solver": {"steps": [[8, "100 EUR"], [32, "300 EUR"]]}},
        }
    },
    "currencies": {"USD": {"rate": "0.92 EUR", "date": "2026-11-02"}},
    "limits": {"power": "20 kW"},
    "workloads": {"heat": {"program": {"trace": "heat.clue"}, "ranks": 2, "deadline": "8 h"}},
    "options": {
        "ours": {"machine": MACHINE, "cost": "site"},
        "rented": {
            "machine": {**MACHINE, "node_types": {"pc": {"processors": 1}}},
            "cost": [{"cloud": {"price": "5.06 USD/h"}}],
        },
    },
}


@pytest.fixture
def changeable(tmp_path: Path) -> ChangeableScenario:
    """Return the comparison above."""
    (tmp_path / "heat.clue").mkdir()
    return ChangeableScenario(SCENARIO, relative_to=tmp_path)


def test_figures_are_those_that_nothing_is_simulated_for(changeable: ChangeableScenario) -> None:
    """Figures without effect on simulations can be changed, written or default; sources and machines cannot."""
    found = {figure.name: (figure.group, figure.label, figure.text, figure.default) for figure in changeable.figures}
    assert found == {
        "budget": ("The comparison", "budget", "4000 EUR", "no limit"),
        "criterion": ("The comparison", "criterion", "", "points"),
        "service_life": ("The comparison", "service life", "", "3 years"),
        "discount_rate": ("The comparison", "discount rate", "0.03", "0"),
        "options.ours.price": ("Prices of options", "ours", "", "1,800 EUR"),
        "workloads.heat.weight": ("Workloads", "heat: weight", "", "1"),
        "workloads.heat.deadline": ("Workloads", "heat: deadline", "8 h", "none"),
        "workloads.heat.runs_a_month": ("Workloads", "heat: runs a month", "", "none"),
        "costs.site.parts.node.power.idle": ("Costs: site", "parts: node: power: idle", "90 W", ""),
        "costs.site.parts.node.power.busy": ("Costs: site", "parts: node: power: busy", "210 W", ""),
        "costs.site.electricity.price": ("Costs: site", "electricity: price", "0.24 EUR/kWh", ""),
        "costs.site.electricity.pue": ("Costs: site", "electricity: pue", "1.3", ""),
        "costs.site.licences.solver.steps[0][1]": ("Costs: site", "licences: solver: step 1", "100 EUR", ""),
        "costs.site.licences.solver.steps[1][1]": ("Costs: site", "licences: solver: step 2", "300 EUR", ""),
        "currencies.USD.rate": ("Currencies", "USD", "0.92 EUR", ""),
        "limits.power": ("Limits", "power", "20 kW", ""),
        "options.rented.cost[0].cloud.price": ("Costs of rented", "1: cloud: price", "5.06 USD/h", ""),
    }


def test_a_changed_figure_counts(changeable: ChangeableScenario) -> None:
    """Changed figures take effect in a new comparison; the original comparison stays."""
    changed = changeable.changed({
        "budget": " 5000 EUR", "options.ours.price": "1000 EUR", "discount_rate": "0.05", "criterion": "total_cost",
        "service_life": "5 years", "costs.site.electricity.pue": "2", "workloads.heat.deadline": "",
        "limits.power": "30 kW",
    })  # fmt: skip
    assert (changed.budget, changed.discount_rate) == (Money(5000, "EUR"), 0.05)
    assert (changed.criterion, changed.service_life) == (Criterion.TOTAL_COST, 5 * YEAR)
    ours = changed.options[0]
    assert ours.price == Money(1000, "EUR")
    assert ours.costs is not None and ours.costs.electricity is not None and ours.costs.electricity.pue == 2.0
    assert changed.workloads[0].deadline == float("inf") and changed.limits.power == 30_000.0
    assert changeable.scenario.budget == Money(4000, "EUR")
    assert changeable.changed({}) == changeable.scenario
    assert changeable.changed({"budget": ""}).budget is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("budget", "abc", "budget must be "),
        ("budget", "5000", "budget must be "),
        ("budget", "-5 EUR", "budget must be "),
        ("discount_rate", "7", "discount_rate must be at most 1, got 7"),
        ("discount_rate", "[1]", "discount_rate must be a number, got "),
        ("options.ours.price", "{a: b}", "options.ours.price must be "),
        ("costs.site.electricity.price", "0.24 EUR", "costs.site.electricity.price must be "),
        ("costs.site.electricity.pue", "0.5", "costs.site.electricity.pue must be at least 1, got 0.5"),
        ("currencies.USD.rate", "0 EUR", "currencies.USD.rate must be above 0, got 0 EUR"),
        ("limits.power", "5 W\n", "limits.power must be "),
        ("costs.site.licences.solver.steps[0][1]", "", "costs.site.licences.solver.steps[0][1] must be "),
        ("workloads.heat.deadline", "8", "workloads.heat.deadline must be "),
    ],
)
def test_a_bad_figure_is_named(changeable: ChangeableScenario, name: str, text: str, said: str) -> None:
    """The fault states the rule and the value, and belongs to that figure."""
    if text.endswith("\n"):
        assert changeable.changed({name: text}).limits.power == 5.0  # blanks around a value are ignored
        return
    with pytest.raises(ChangeError) as caught:
        changeable.changed({name: text})
    assert list(caught.value.of_figures) == [name] and caught.value.others == ()
    assert caught.value.of_figures[name][0].startswith(said)


def test_what_is_wrong_elsewhere_is_told_too(changeable: ChangeableScenario) -> None:
    """A budget in a currency without a rate is reported, whether as that figure's fault or as another."""
    with pytest.raises(ChangeError) as caught:
        changeable.changed({"budget": "5 CHF"})
    told = [*caught.value.others, *(text for texts in caught.value.of_figures.values() for text in texts)]
    assert any("CHF" in text for text in told)


def test_unknown_figures_are_refused(changeable: ChangeableScenario) -> None:
    """No other part of the file can be changed, such as a program or a machine."""
    with pytest.raises(
        ChangeError, match=r"figure must be one that can be changed, got 'workloads\.heat\.program\.trace'"
    ):
        changeable.changed({"workloads.heat.program.trace": "/etc/passwd"})


def test_a_file_with_faults_is_none_to_change(tmp_path: Path) -> None:
    """A file with faults is refused as usual, and so is a file that is not a comparison."""
    with pytest.raises(ConfigError, match=r"options must be given"):
        ChangeableScenario({key: value for key, value in SCENARIO.items() if key != "options"}, relative_to=tmp_path)
    with pytest.raises(UsageError, match="file must hold a comparison, got a machine"):
        ChangeableScenario(MACHINE)
    with pytest.raises(UsageError, match="full size must be described"):
        ChangeableScenario(SCENARIO, full=True, relative_to=tmp_path)


def test_prices_of_generated_parts_can_be_changed() -> None:
    """In the shipped comparison of 5,000 options, prices of nodes, networks and switches can be changed."""
    five = ChangeableScenario("five-thousand")
    names = {figure.name for figure in five.figures}
    assert {"generate.price", "generate.node_types.single.price", "generate.networks.gigabit-ethernet.switch.price",
            "generate.networks.memory-coupled.price_per_node"} <= names  # fmt: skip
    assert not [name for name in names if "machine" in name or "points" in name or "delay" in name]


#: A comparison by a weighted sum, of generated clusters whose parts all have prices.
PARTS: dict[str, Any] = {
    "criterion": "weighted",
    "weighted": {"makespan": 2, "total_cost": 1},
    "workloads": SCENARIO["workloads"],
    "options": {"bought": {"machine": MACHINE, "price": {"value": "1000 EUR", "spread": "5 %"}}},
    "generate": {
        "nodes": 2,
        "node_types": {"pc": {"price": {"value": "150 EUR", "spread": 0.05}}},
        "processors": {"quick": {"price": "250 EUR"}},
        "memory": [{"size": "1 GB", "price": "40 EUR"}],
        "networks": {"net": {**MACHINE["network"], "price": "10 EUR"}},
        "topologies": {"ports": {"contention": "ports", "price_per_node": "20 EUR",
                                 "switch": {"ports": 4, "price": "99 EUR"}}},
    },
}  # fmt: skip


def test_prices_of_all_parts_and_weights_can_be_changed(tmp_path: Path) -> None:
    """A price with its spread is one figure, written as text instead of the table."""
    (tmp_path / "heat.clue").mkdir()
    parts = ChangeableScenario(PARTS, relative_to=tmp_path)
    texts = {figure.name: figure.text for figure in parts.figures}
    expected = {
        "weighted.makespan": "2",
        "weighted.total_cost": "1",
        "options.bought.price": "1000 EUR ± 5 %",
        "generate.node_types.pc.price": "150 EUR ± 5 %",
        "generate.processors.quick.price": "250 EUR",
        "generate.memory[0].price": "40 EUR",
        "generate.networks.net.price": "10 EUR",
        "generate.topologies.ports.price_per_node": "20 EUR",
        "generate.topologies.ports.switch.price": "99 EUR",
    }
    assert {name: text for name, text in texts.items() if name.partition(".")[0] in {"weighted", "options", "generate"}
            } == expected  # fmt: skip
    # Two nodes at 150 + 250 + 40 + 10 + 20 EUR each, and a switch for 99 EUR.
    assert [option.price for option in parts.scenario.options][1] == Money(1029, "EUR")
    changes = {"generate.node_types.pc.price": "160 EUR ± 10 %", "generate.processors.quick.price": "200 EUR",
               "generate.memory[0].price": "50 EUR", "generate.topologies.ports.switch.price": "100 EUR",
               "options.bought.price": "900 EUR", "weighted.makespan": "5"}  # fmt: skip
    changed = parts.changed(changes)
    assert [option.price for option in changed.options] == [Money(900, "EUR"), Money(970, "EUR")]
    assert [each.deviation for each in changed.options[1].stated] == [0.0, 0.0, 0.0, 0.1, 0.0, 0.0]
    assert changed.weighted == {Criterion.MAKESPAN: 5.0, Criterion.TOTAL_COST: 1.0}


def test_references_to_parts_are_no_figures(tmp_path: Path) -> None:
    """The power of a part can be changed, but not the file that it is taken from."""
    (tmp_path / "heat.clue").mkdir()
    costs = {"parts": {"cpu": {"per_node": 1, "part": "parts/amd-epyc-9375f", "power": "300 W"}}}
    scenario = {**SCENARIO, "costs": {**SCENARIO["costs"], "other": costs}}
    names = [figure.name for figure in ChangeableScenario(scenario, relative_to=tmp_path).figures]
    assert "costs.other.parts.cpu.power" in names and not any(name.endswith(".part") for name in names)


def test_what_must_be_whole_is_known(tmp_path: Path) -> None:
    """Numbers of nodes and the rack units of a rack must be whole; the rack units of a part need not."""
    (tmp_path / "heat.clue").mkdir()
    part = {"per_node": 1, "rack_units": 2}
    costs = {"site": {"parts": {"node": part}, "racks": {"rack_units": 42, "power": "20 kW"}}}
    document = SCENARIO | {"costs": costs, "limits": {"nodes": 16, "rack_units": 84, "power": "20 kW"}}
    figures = ChangeableScenario(document, relative_to=tmp_path).figures
    assert [figure.name for figure in figures if figure.whole] == ["costs.site.racks.rack_units", "limits.nodes"]
    assert {"costs.site.parts.node.rack_units", "limits.rack_units"} <= {figure.name for figure in figures}
