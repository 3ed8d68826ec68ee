"""Comparisons from YAML: every key, references, the full size, and each fault."""

from pathlib import Path

import pytest

from clue.config import SimulationConfig, load_config
from clue.errors import UsageError
from clue.purchase.scenario import SERVICE_LIFE, Criterion, Scenario
from clue.units import Money
from tests.config.documents import SCENARIO, changed, faults_of, folder


def scenario(path: Path, text: str = SCENARIO, *, full: bool = False) -> Scenario:
    """Load a comparison from its text, in a folder with the files that it refers to."""
    (folder(path) / "s.yaml").write_text(text)
    loaded = load_config(path / "s.yaml", full=full)
    assert isinstance(loaded, Scenario)
    return loaded


def faults_in(path: Path, text: str) -> list[str]:
    """Return the faults of a comparison's text, without the name of its file."""
    (folder(path) / "s.yaml").write_text(text)
    return [f.removeprefix(f"{path}/s.yaml:") for f in faults_of(load_config, path / "s.yaml")]


def test_a_comparison_becomes_its_values(tmp_path: Path) -> None:
    """Paths are relative to the file, and keys that are left out have defaults."""
    loaded = scenario(tmp_path)
    (workload,), (option,) = loaded.workloads, loaded.options
    assert (loaded.name, loaded.budget, loaded.criterion) == ("s", Money(1000, "EUR"), Criterion.POINTS)
    assert workload.components[0].application.script == tmp_path / "prog.py"
    assert (workload.components[0].name, workload.components[0].share) == ("large", 1.0)
    assert (workload.instances, workload.ranks, workload.weight) == (1, (2,), 1.0)
    assert (option.name, option.machine.name, option.price) == ("A", "pair", Money(900, "EUR"))


def test_every_key_of_a_workload_arrives(tmp_path: Path) -> None:
    """Instances, ranks, weight, memory and placement of a workload are read."""
    text = changed(
        SCENARIO,
        "    ranks: [2]\n",
        "    ranks: [4, 2, 4]\n    instances: fill\n    weight: 0.25\n    memory: {4: 90 MB}\n"
        "    placement: {order: cyclic, ranks_per_processor: 2}\n",
    )
    (workload,) = scenario(tmp_path, text).workloads
    assert (workload.instances, workload.ranks, workload.weight) == (None, (4, 2), 0.25)
    assert (workload.memory, workload.order, workload.ranks_per_processor) == ({4: 90e6}, "cyclic", 2)


@pytest.mark.parametrize("years", ["3 years", "36 months", "1095 days", "26_280 hours", "26280 h"])
def test_a_service_life_is_stated_in_years_or_any_other_unit(tmp_path: Path, years: str) -> None:
    """Three years in any unit equal the default service life."""
    assert scenario(tmp_path, f"service_life: {years}\n{SCENARIO}").service_life == SERVICE_LIFE


@pytest.mark.parametrize("word", ["none", "None", "null", "~", ""])
def test_a_budget_of_none_is_no_limit(tmp_path: Path, word: str) -> None:
    """No budget is the same as a budget that is left out."""
    assert scenario(tmp_path, changed(SCENARIO, "1000 EUR", word)).budget is None


@pytest.mark.parametrize("price", ["'1,900 EUR'", "1900 eur", "€1900", "1900 €"])
def test_a_price_is_written_as_people_do(tmp_path: Path, price: str) -> None:
    """A price may be written as clue prints it, in small letters, or with a symbol."""
    text = changed(SCENARIO, "900 EUR", price).replace("1000 EUR", "5,000 EUR")
    loaded = scenario(tmp_path, text)
    assert (loaded.options[0].price, loaded.budget) == (Money(1900, "EUR"), Money(5000, "EUR"))


def test_one_size_of_memory_holds_for_all_numbers_of_ranks(tmp_path: Path) -> None:
    """One size of memory holds for 2 and for 4 ranks."""
    text = changed(SCENARIO, "ranks: [2]", "ranks: [2, 4]\n    memory: 80 MB\n    placement: cyclic")
    (workload,) = scenario(tmp_path, text).workloads
    assert (workload.memory, workload.order) == ({2: 80e6, 4: 80e6}, "cyclic")


def test_shares_of_kernels_are_made_to_add_up_to_one(tmp_path: Path) -> None:
    """Shares of 3 and, by default, 1 become 0.75 and 0.25."""
    kernels = "kernels: {a: {program: {script: prog.py}, share: 3}, b: {program: {trace: 'b-{ranks}.clue'}}}"
    (workload,) = scenario(tmp_path, changed(SCENARIO, "program: {script: prog.py}", kernels)).workloads
    assert [(k.name, k.share) for k in workload.components] == [("a", 0.75), ("b", 0.25)]
    assert workload.components[1].application.trace == f"{tmp_path}/b-{{ranks}}.clue"


def test_arguments_may_be_whole_numbers(tmp_path: Path) -> None:
    """Whole numbers need no quotes, but ``"1e9"`` does."""
    text = changed(SCENARIO, "{script: prog.py}", '{script: prog.py, args: [--n, 6000, "1e9"]}')
    (workload,) = scenario(tmp_path, text).workloads
    assert workload.components[0].application.arguments == ("--n", "6000", "1e9")


def test_an_option_may_change_its_machine(tmp_path: Path) -> None:
    """An option may have another number of nodes and any other key laid over its machine."""
    option = "{machine: pair.yaml, nodes: 5, with: {node_types: {host: {processors: 2, price: 10 EUR}}}}"
    (loaded,) = scenario(tmp_path, changed(SCENARIO, "{machine: pair.yaml, price: 900 EUR}", option)).options
    assert (len(loaded.machine.nodes), loaded.machine.processors) == (5, 10)
    assert loaded.price == Money(50, "EUR")


def test_an_option_may_give_its_machine_a_node_type(tmp_path: Path) -> None:
    """A node type that the machine does not have may be added for the option's own nodes."""
    new = "with: {nodes: [{type: fast, count: 3}], node_types: {fast: {processors: 4, price: 10 EUR}}}"
    text = changed(SCENARIO, "{machine: pair.yaml, price: 900 EUR}", f"{{machine: pair.yaml, {new}}}")
    (loaded,) = scenario(tmp_path, text).options
    assert (len(loaded.machine.nodes), loaded.machine.processors) == (3, 12)


@pytest.mark.parametrize("keys", ["{processors: 2}", "null"])
def test_a_changed_node_type_must_be_one_of_the_machine(tmp_path: Path, keys: str) -> None:
    """A node type of another name, which no node has, would change nothing."""
    option = f"pair.yaml, with: {{node_types: {{Host: {keys}}}}}"
    assert faults_in(tmp_path, changed(SCENARIO, "pair.yaml", option)) == [
        "7:47: options.A.with.node_types.Host must be a node type of the machine (host), "
        'got "Host": did you mean "host"?'
    ]


def test_nodes_may_be_counted_by_type(tmp_path: Path) -> None:
    """Nodes are counted by type if the machine has several groups."""
    option = "{machine: kishimoto, nodes: {pentium-ii: 2}, price: 900 EUR}"
    (loaded,) = scenario(tmp_path, changed(SCENARIO, "{machine: pair.yaml, price: 900 EUR}", option)).options
    assert [node.name for node in loaded.machine.nodes] == ["athlon", "pentium-ii", "pentium-ii"]


def test_the_price_of_the_whole_is_not_that_of_another_number_of_nodes(tmp_path: Path) -> None:
    """A machine for 700 EUR as a whole has no known price at another number of nodes."""
    folder(tmp_path)
    (tmp_path / "priced.yaml").write_text((tmp_path / "pair.yaml").read_text() + "price: 700 EUR\n")
    text = changed(SCENARIO, "pair.yaml, price: 900 EUR}", "priced.yaml}\n  B: {machine: priced.yaml, nodes: 3}")
    same, more = scenario(tmp_path, text).options
    assert (same.price, more.price) == (Money(700, "EUR"), None)


PRICED = """\
workloads: {large: {program: {script: prog.py}, ranks: [2]}}
criterion: total_cost
options:
  one: {machine: priced.yaml}
  spelled: {machine: "../HERE/priced.yaml", cost: {staff: 10 EUR/year}}
  own: {machine: priced.yaml, price: 700 EUR ± 10 %}
  changed: {machine: priced.yaml, with: {price: 700 EUR ± 10 %}}
  other: {machine: sub/priced.yaml}
  written: {machine: &inline {price: 700 EUR ± 10 %, nodes: [{type: n}], node_types: {n: {}}, network: {within_node: {
    send_delay: 1 us, transmission_delay: 1 us}}}}
  alias: {machine: *inline}
"""


def test_options_of_one_machine_have_its_price_in_common(tmp_path: Path) -> None:
    """A price as a whole that a file states is one figure for all its options; prices of options are their own."""
    folder(tmp_path)
    (tmp_path / "sub").mkdir()
    for folded in (tmp_path, tmp_path / "sub"):
        (folded / "priced.yaml").write_text((tmp_path / "pair.yaml").read_text() + "price: 700 EUR ± 10 %\n")
    loaded = scenario(tmp_path, PRICED.replace("HERE", tmp_path.name))
    figures = {option.name: option.stated[0] for option in loaded.options}
    assert {(each.value, each.deviation) for each in figures.values()} == {(700.0, 0.1)}
    assert {name: each.name for name, each in figures.items()} == {
        "one": "priced.yaml.price",
        "spelled": "priced.yaml.price",
        "own": "options.own.price",
        "changed": "options.changed.price",
        "other": "sub/priced.yaml.price",
        "written": "options.written.price",
        "alias": "options.written.price",
    }


def test_machines_given_in_python_have_prices_of_their_own(tmp_path: Path) -> None:
    """Two mappings in Python that state the same price are two machines."""
    stated = {"price": "7 EUR ± 10 %", "nodes": [{"type": "n"}], "node_types": {"n": {}}}
    on = stated | {"network": {"within_node": {"send_delay": "1 us", "transmission_delay": "1 us"}}}
    large = {"program": {"script": str(folder(tmp_path) / "prog.py")}}
    loaded = load_config({"workloads": {"large": large}, "options": {"a": {"machine": on}, "b": {"machine": dict(on)}}})
    assert isinstance(loaded, Scenario)
    assert [option.stated[0].name for option in loaded.options] == ["options.a.price", "options.b.price"]


@pytest.mark.parametrize("nodes", ["nodes: 2", "nodes: {host: 2}", "with: {nodes: [{count: 2, type: host}]}"])
def test_the_price_of_the_whole_holds_if_its_own_number_of_nodes_is_stated(tmp_path: Path, nodes: str) -> None:
    """Two nodes at 400 EUR cost 700 EUR as a whole, also if an option says that there are two."""
    text = changed((folder(tmp_path) / "pair.yaml").read_text(), "memory: 1 GB", "memory: 1 GB, price: 400 EUR")
    (tmp_path / "priced.yaml").write_text(f"{text}price: 700 EUR\n")
    option = f"priced.yaml, {nodes}}}"
    (loaded,) = scenario(tmp_path, changed(SCENARIO, "pair.yaml, price: 900 EUR}", option)).options
    assert loaded.price == Money(700, "EUR")


@pytest.mark.parametrize(("stated", "price"), [("", None), (", price: 990 EUR", Money(990, "EUR"))])
def test_the_price_of_the_whole_is_not_that_of_other_nodes_under_with(
    tmp_path: Path, stated: str, price: Money | None
) -> None:
    """A machine of two nodes for 700 EUR has no known price with three nodes, unless the option states it."""
    folder(tmp_path)
    (tmp_path / "priced.yaml").write_text((tmp_path / "pair.yaml").read_text() + "price: 700 EUR\n")
    option = f"priced.yaml, with: {{nodes: [{{type: host, count: 3}}]{stated}}}}}"
    (loaded,) = scenario(tmp_path, changed(SCENARIO, "pair.yaml, price: 900 EUR}", option)).options
    assert (len(loaded.machine.nodes), loaded.price) == (3, price)


@pytest.mark.parametrize(("price", "whole"), [("450 EUR", 900), ("null", 650)])
def test_the_price_of_the_whole_is_not_that_of_nodes_with_another_price(
    tmp_path: Path, price: str, whole: float
) -> None:
    """Two nodes at 450 EUR cost 900 EUR, whatever the machine costs; a price that is removed changes nothing."""
    text = changed((folder(tmp_path) / "pair.yaml").read_text(), "memory: 1 GB", "memory: 1 GB, price: 350 EUR")
    (tmp_path / "priced.yaml").write_text(f"{text}price: 650 EUR\n")
    option = f"priced.yaml, with: {{node_types: {{host: {{price: {price}}}}}}}}}"
    (loaded,) = scenario(tmp_path, changed(SCENARIO, "pair.yaml, price: 900 EUR}", option)).options
    assert loaded.price == Money(whole, "EUR")


def test_a_price_laid_over_the_machine_is_that_of_the_options_nodes(tmp_path: Path) -> None:
    """Three nodes of a machine for 700 EUR cost the 990 EUR that the option states under ``with``."""
    folder(tmp_path)
    (tmp_path / "priced.yaml").write_text((tmp_path / "pair.yaml").read_text() + "price: 700 EUR\n")
    text = changed(SCENARIO, "pair.yaml, price: 900 EUR}", "priced.yaml, nodes: 3, with: {price: 990 EUR}}")
    (option,) = scenario(tmp_path, text).options
    assert (len(option.machine.nodes), option.price) == (3, Money(990, "EUR"))


def test_a_machine_may_stand_in_the_comparison_itself(tmp_path: Path) -> None:
    """A machine inside the comparison is named after its option, and its faults have the path in the comparison."""
    inline = "{nodes: [{type: h}], node_types: {h: {}}, network: {within_node: {send_delay: 1 us, TRANS: 1 us}}}"
    text = changed(SCENARIO, "pair.yaml", inline.replace("TRANS", "transmission_delay"))
    assert scenario(tmp_path, text).options[0].machine.name == "A"
    (unknown, missing, *_) = faults_in(tmp_path, changed(SCENARIO, "pair.yaml", inline.replace("TRANS", "trans")))
    assert ": options.A.machine.network.within_node." in unknown
    assert ": options.A.machine.network.within_node." in missing


def test_the_full_size_is_laid_over_the_comparison(tmp_path: Path) -> None:
    """``full`` states only what differs, and has no effect unless it is asked for."""
    text = SCENARIO + "full:\n  workloads:\n    large: {ranks: [8, 9], program: {args: ['7']}}\n"
    assert scenario(tmp_path, text).workloads[0].ranks == (2,)
    (full,) = scenario(tmp_path, text, full=True).workloads
    assert (full.ranks, full.components[0].application.arguments) == ((8, 9), ("7",))
    assert full.components[0].application.script == tmp_path / "prog.py"


@pytest.mark.parametrize("host", ["", "processors: 2", "memory: 2 GB"])
def test_null_in_the_full_size_removes_a_key_of_the_machine(tmp_path: Path, host: str) -> None:
    """Whatever the option changes already, memory is not checked at the full size; at the other it is as stated."""
    differing = f"price: 900 EUR, with: {{node_types: {{host: {{{host}}}}}}}}}" if host else "price: 900 EUR}"
    text = changed(SCENARIO, "price: 900 EUR}", differing)
    text += "full: {options: {A: {with: {node_types: {host: {memory: null}}}}}}\n"
    (usual,), (full,) = (scenario(tmp_path, text, full=each).options for each in (False, True))
    assert usual.machine.nodes[0].memory == (2e9 if "memory" in host else 1e9)
    assert full.machine.nodes[0].memory is None
    assert usual.machine.nodes[0].processors == full.machine.nodes[0].processors == (2 if "processors" in host else 1)


def test_null_in_the_full_size_removes_all_changes_of_an_option(tmp_path: Path) -> None:
    """At the full size the machine is as in its file, with 1 GB a node."""
    text = changed(SCENARIO, "price: 900 EUR}", "price: 900 EUR, with: {node_types: {host: {memory: 2 GB}}}}")
    text += "full: {options: {A: {with: null}}}\n"
    (usual,), (full,) = (scenario(tmp_path, text, full=each).options for each in (False, True))
    assert (usual.machine.nodes[0].memory, full.machine.nodes[0].memory) == (2e9, 1e9)


@pytest.mark.parametrize("full", ["7000 EUR", "{amount: 7000 EUR, from: A}"])
def test_the_amount_asked_for_goes_before_that_of_the_full_size(tmp_path: Path, full: str) -> None:
    """An amount from the command line replaces that of ``full``, whose option stays."""
    text = f"next: 100 EUR\n{SCENARIO}full: {{next: {full}}}\n"
    (folder(tmp_path) / "s.yaml").write_text(text)
    loaded = load_config(tmp_path / "s.yaml", full=True, more="50 EUR")
    assert isinstance(loaded, Scenario)
    assert (loaded.next_amount, loaded.next_from) == (Money(50, "EUR"), "A" if "from" in full else "")


def test_a_full_size_that_is_not_there_is_a_wrong_usage(tmp_path: Path) -> None:
    """A missing full size is a usage error for comparisons and for simulations."""
    folder(tmp_path)
    for name in ("scenario.yaml", "simulation.yaml"):
        with pytest.raises(UsageError, match="must be described under 'full', got no such key"):
            load_config(tmp_path / name, full=True)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("1000 EUR", "1000", '1:9: budget must be an amount with a currency such as "300000 ATS", got 1000'),
        ("900 EUR", "900 USD", "7:34: options.A.price must be in EUR as the other prices, got USD"),
        ("pair.yaml", "pear.yaml", '7:16: options.A.machine must be a file that exists, got "pear.yaml"'),
        ("pair.yaml", "wien97-chep", "7:16: options.A.machine must be a file or one of the machines shipped with clue"),
        ("pair.yaml", "5", "7:16: options.A.machine must be text, got 5"),
        ("machine: pair.yaml, ", "", "7:6: options.A.machine must be given, got nothing"),
        ("pair.yaml", "pair.yaml, nodes: 0", "7:34: options.A.nodes must be at least 1, got 0"),
        ("pair.yaml", "pair.yaml, nodes: {hots: 2}", "7:35: options.A.nodes.hots must be the type of one group"),
        (
            "pair.yaml",
            "kishimoto, nodes: 2",
            "7:34: options.A.nodes must be counts by node type (athlon, pentium-ii), such as {athlon: 1, "
            "pentium-ii: 2}, got 2",
        ),
        ("pair.yaml", "pair.yaml, with: {nodes: []}", "7:41: options.A.with.nodes must have at least 1 entries"),
        (
            "price: 900",
            "prise: 900",
            "7:27: options.A.prise must be a key of options.A (cost, machine, measured_skeleton, nodes, price, with)",
        ),
        ("  A: {machine: pair.yaml, price: 900 EUR}\n", "  {}\n", "7:3: options must have at least 1 entries"),
        ("prog.py}", "prag.py}", '4:23: workloads.large.program.script must be a file that exists, got "prag.py"'),
        ("script: prog.py", "trace: a.clue", "4:22: workloads.large.program.trace must be a trace that exists"),
        ("script: prog.py", "", "4:14: workloads.large.program must have a script or a trace, got neither"),
        ("prog.py}", "prog.py, args: [1.5]}", "4:39: workloads.large.program.args[0] must be text or a whole number"),
        ("    program: {script: prog.py}\n", "", "4:5: workloads.large must have either a program or kernels, got nei"),
        ("ranks: [2]", "ranks: []", "5:12: workloads.large.ranks must have at least 1 entries, got an empty list"),
        ("ranks: [2]", "ranks: [2, 0]", "5:16: workloads.large.ranks[1] must be at least 1, got 0"),
        ("ranks: [2]", "weight: -1", "5:13: workloads.large.weight must be at least 0, got -1"),
        ("ranks: [2]", "weight: .inf", "5:13: workloads.large.weight must be a finite number, got .inf"),
        ("ranks: [2]", "weight: 0", "3:3: workloads must have weights that sum to more than 0, got 0"),
        ("ranks: [2]", "instances: all", '5:16: workloads.large.instances must be a whole number or fill, got "all"'),
        ("ranks: [2]", "instances: 0", "5:16: workloads.large.instances must be at least 1, got 0"),
        ("ranks: [2]", "memory: 5", "5:13: workloads.large.memory must be a size with a unit, got 5"),
        (
            "ranks: [2]",
            "ranks: [2, 4]\n    memory: {2: 8 MB, 3: 6 MB}",
            "6:23: workloads.large.memory[3] must be a number of ranks that the workload allows (2, 4), got 3",
        ),
        ("ranks: [2]", "placement: [0]", "5:17: workloads.large.placement[0] must be 'block' or 'cyclic', got 0"),
        (
            "ranks: [2]",
            "placement: blok",
            "5:16: workloads.large.placement must be 'block', 'cyclic' or 'search', got \"blok\"",
        ),
        (
            "program: {script: prog.py}\n    ranks: [2]",
            "program: {trace: '{ranks}.clue'}",
            "4:5: workloads.large.ranks must be given without a script, got nothing",
        ),
        (
            "program: {script: prog.py}\n    ranks: [2]",
            "program: {model: hpl.yaml, size: 9600}",
            "4:5: workloads.large.ranks must be given without a script, got nothing",
        ),
        (
            "program: {script: prog.py}",
            "kernels: {a: {program: {script: prog.py}, share: 0}}",
            "4:14: workloads.large.kernels must have shares that sum to more than 0, got 0",
        ),
        ("budget: 1000 EUR", "service_life: 0 s", '1:15: service_life must be a duration above 0, got "0 s"'),
        (
            "budget: 1000 EUR",
            "service_life: 3",
            '1:15: service_life must be a duration with a unit, got 3: did you mean "3 years"?',
        ),
        ("budget: 1000 EUR", "money: 1000 EUR", '1:1: money must be a known key, got "money": did you mean "budget"?'),
        ("workloads:", "programs:", '2:1: programs must be a known key, got "programs": did you mean "workloads"?'),
        (
            "ranks: [2]",
            "np: [2]",
            '5:5: workloads.large.np must be a known key, got "np": did you mean "ranks"?',
        ),
        (
            "900 EUR",
            "1,900 EUR",
            "7:36: options.A.900 EUR must be a key of options.A (cost, machine, measured_skeleton, nodes, price, "
            'with), got "900 EUR": between braces a comma ends a value, so put a number with commas in quotes',
        ),
        (
            "budget: 1000 EUR",
            "criterion: price",
            "1:12: criterion must be 'points', 'makespan', 'throughput', 'cost_per_run'",
        ),
    ],
)
def test_a_fault_has_place_path_rule_and_value(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """One fault is reported with place, path, rule and value."""
    found = faults_in(tmp_path, changed(SCENARIO, old, new))
    assert any(line.startswith(fault) for line in found), found


def test_missing_ranks_are_the_only_fault(tmp_path: Path) -> None:
    """Where the numbers of ranks are missing, those of memory and jobs are compared with none."""
    text = changed(
        SCENARIO,
        "program: {script: prog.py}\n    ranks: [2]",
        "program: {trace: '{ranks}.clue'}\n    memory: {4: 8 MB}",
    )
    for jobs in ("{per_month: 1, ranks: 4}", "{per_month: 1}"):
        (fault,) = faults_in(tmp_path, f"jobs: {{large: {jobs}}}\nqueue: {{sharing: copies}}\n{text}")
        assert fault.endswith("workloads.large.ranks must be given without a script, got nothing")


def test_faults_of_a_machine_are_reported_with_those_of_the_comparison(tmp_path: Path) -> None:
    """Faults of both files are reported at once, each with its own file."""
    folder(tmp_path)
    (tmp_path / "bad.yaml").write_text((tmp_path / "pair.yaml").read_text().replace("count: 2", "count: 0"))
    text = changed(SCENARIO, "pair.yaml", "bad.yaml").replace("ranks: [2]", "ranks: [0]")
    (tmp_path / "s.yaml").write_text(text)
    assert faults_of(load_config, tmp_path / "s.yaml") == (
        f"{tmp_path}/s.yaml:5:13: workloads.large.ranks[0] must be at least 1, got 0",
        f"{tmp_path}/bad.yaml:3:13: nodes[0].count must be at least 1, got 0",
    )


@pytest.mark.parametrize(
    ("network", "change", "fault"),
    [
        (
            "contention: {flows: {topology: torus, dimensions: [2], bandwidth: 1 GB/s}}",
            "nodes: 9",
            "must give a place to each of the 9 nodes, got 2 places",
        ),
        (
            "contention: {flows: {topology: torus, dimensions: [2], bandwidth: 1 GB/s}}",
            "with: {nodes: [{type: host, count: 9}]}",
            "must give a place to each of the 9 nodes, got 2 places",
        ),
        ("pairs: [{between: [host, host], eager_limit: 1 KB}]", "with: {node_types: {host: null}}", "must be one of"),
    ],
)
def test_faults_that_an_option_causes_in_its_machine_name_the_option(
    tmp_path: Path, network: str, change: str, fault: str
) -> None:
    """Where a machine's file is good, the fault names the option with what it changes, and its place."""
    text = (folder(tmp_path) / "pair.yaml").read_text()
    (tmp_path / "good.yaml").write_text(f"{text}  {network}\n")
    options = f"good.yaml, price: 900 EUR}}\n  B: {{machine: good.yaml, {change}}}\n"
    faults = faults_in(tmp_path, changed(SCENARIO, "pair.yaml, price: 900 EUR}\n", options))
    due = f": as options.B changes the machine ({tmp_path}/s.yaml:8:3)"
    said = [each for each in faults if "good.yaml:" in each]
    assert said and all(each.endswith(due) for each in said)
    assert any(fault in each for each in said)


def test_faults_of_a_machine_itself_name_no_option(tmp_path: Path) -> None:
    """A fault that the file has in itself is reported once, whatever options change."""
    folder(tmp_path)
    (tmp_path / "bad.yaml").write_text((tmp_path / "pair.yaml").read_text().replace("1 GB}", "1}"))
    options = "bad.yaml, nodes: 3}\n  B: {machine: bad.yaml, nodes: 4}\n"
    (fault,) = faults_in(tmp_path, changed(SCENARIO, "pair.yaml, price: 900 EUR}\n", options))
    assert (
        fault.startswith(f"{tmp_path}/bad.yaml:5:33: node_types.host.memory must be a size") and "option" not in fault
    )


def test_a_broken_machine_file_is_blamed_itself(tmp_path: Path) -> None:
    """A machine file that is not YAML is reported with its own place."""
    folder(tmp_path)
    (tmp_path / "pair.yaml").write_text("a: [")
    (fault,) = faults_of(load_config, tmp_path / "scenario.yaml")
    assert fault.startswith(f"{tmp_path}/pair.yaml:")


def test_a_broken_machine_file_of_several_options_is_reported_once(tmp_path: Path) -> None:
    """Both options name the file, which has one fault."""
    folder(tmp_path)
    (tmp_path / "pair.yaml").write_text("a: [")
    (tmp_path / "scenario.yaml").write_text(f"{SCENARIO}  B: {{machine: pair.yaml, price: 800 EUR}}\n")
    (fault,) = faults_of(load_config, tmp_path / "scenario.yaml")
    assert fault.startswith(f"{tmp_path}/pair.yaml:")


def test_a_file_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    """A file that is neither a simulation nor a comparison is refused, and a machine is named as one."""
    (folder(tmp_path) / "x.yaml").write_text("programm: {}\n")
    (fault,) = faults_of(load_config, tmp_path / "x.yaml")
    assert fault == (
        f"{tmp_path}/x.yaml:1:1: file must have program and machine, or workloads and options, "
        'got programm: did you mean "program"?'
    )
    (fault,) = faults_of(load_config, tmp_path / "pair.yaml")
    assert fault.endswith("file must be a simulation or a comparison, got a machine")


def test_a_comparison_may_be_given_as_a_mapping(tmp_path: Path) -> None:
    """Paths in a mapping are relative to the given folder."""
    folder(tmp_path)
    loaded = load_config(
        {
            "workloads": {"w": {"program": {"script": Path("prog.py")}, "ranks": 2}},
            "options": {"A": {"machine": "pair.yaml"}},
        },
        relative_to=tmp_path,
    )
    assert not isinstance(loaded, SimulationConfig)
    assert loaded.workloads[0].components[0].application.script == tmp_path / "prog.py"
