"""The hardware library: what is shipped, what machines and costs take from parts, and each fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from clue.config import load_machine, load_part, load_parts
from clue.config.part_schema import AnyPartForm
from clue.config.shipped_files import shipped_parts
from clue.config.sources import read_file
from clue.machine import BENCHMARKS, Machine, NetworkPart, Processor, Sockets, Switch
from clue.purchase.costs import Number, Per
from tests.config.documents import COSTED, changed, faults_of
from tests.config.test_scenarios import faults_in
from tests.config.test_scenarios import scenario as load

PART = """\
kind: processor
name: Nine
cores: 8
clock: {base: 2 GHz, boost: 4 GHz}
memory: {channels: 4, rate: 3200 MT/s}
flops_per_cycle: 16
power: 100 W
price: 900 USD
source: a data sheet
date: 2026-11-02
figures:
  stream_triad: {value: 160 GB/s, sockets: 2, source: a paper, date: 2026-01-02, how: measured}
  spec_fp_rate: {value: 96, source: spec.org, date: 2026-01-02}
  hpl: {value: 1200 Gflop/s, sockets: 2, cores: 12, source: a paper, date: 2026-01-02}
missing: {spec_int_rate: not found, spec_fp_one: not found, spec_int_one: not found, dgemm: not found}
"""
NETWORK = """\
kind: network
name: Wire
rate: 100 Gbit/s
latency: {value: 2 us, source: a paper, date: 2026-01-02}
bandwidth: {value: 10 GB/s, source: a paper, date: 2026-01-02}
source: a data sheet
date: 2026-11-02
"""
SWITCH = """\
kind: switch
name: Hub
ports: 4
rate: 100 Gbit/s
rack_units: 2
power: 80 W
source: a data sheet
date: 2026-11-02
missing: {price: not published}
"""
MACHINE = """\
nodes: [{count: 2, type: host}]
node_types:
  host: {processor: nine.yaml, sockets: 2}
network:
  part: wire.yaml
"""


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Fill a folder with a part of each kind and a machine made of them, and return it."""
    for name, text in (("nine", PART), ("wire", NETWORK), ("hub", SWITCH), ("made", MACHINE)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


# --- what is shipped ---


def test_every_figure_of_the_library_has_a_source_and_a_date() -> None:
    """Each figure has a source and a date, or a reason why it is missing; each kind has several parts."""
    found = load_parts()
    assert list(found) == [f"parts/{name}" for name in shipped_parts()]
    processors = [part for part in found.values() if isinstance(part, Processor)]
    assert len(processors) >= 30
    assert sum(isinstance(part, NetworkPart) for part in found.values()) >= 5
    assert sum(isinstance(part, Switch) for part in found.values()) >= 5
    for part in found.values():
        assert part.source and part.date
    for processor in processors:
        assert set(processor.figures) | set(processor.missing) == set(BENCHMARKS)
        assert all(figure.source and figure.date and figure.value > 0 for figure in processor.figures.values())


def test_measured_bandwidth_stays_below_the_peak() -> None:
    """Where both are known, a STREAM triad reaches between half and all of the peak bandwidth."""
    compared = 0
    for part in load_parts().values():
        if isinstance(part, Processor) and part.peak_bandwidth and "stream_triad" in part.figures:
            figure = part.figures["stream_triad"]
            sockets = round(figure.cores / part.cores + 0.4)
            assert 0.5 < figure.value / (sockets * part.peak_bandwidth) < 1, part.key
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("name", sorted(shipped_parts()))
def test_shipped_parts_keep_their_schema(name: str) -> None:
    """Shipped parts follow the schema that editors check."""
    TypeAdapter(AnyPartForm).validate_python(read_file(shipped_parts()[name]).value)


def test_parts_are_called_as_operating_systems_call_them() -> None:
    """A processor is recognised in the name that an operating system reports, whatever else the name contains."""
    part = load_part("amd-epyc-9654")
    assert isinstance(part, Processor)
    assert part.is_called("AMD EPYC 9654 96-Core Processor")
    assert not part.is_called("AMD EPYC 9655 96-Core Processor")
    old = load_part("parts/intel-xeon-platinum-8168")
    assert isinstance(old, Processor) and old.is_called("Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz")


# --- values ---


def test_what_follows_from_specifications(parts: Path) -> None:
    """The peaks are 4 channels × 3200 MT/s × 8 B and 8 cores × 2 GHz × 16; figures are divided by their cores."""
    part = load_part(str(parts / "nine.yaml"))
    assert isinstance(part, Processor)
    assert part.peak_bandwidth == 4 * 3.2e9 * 8
    assert part.peak_speed == 8 * 2e9 * 16
    assert part.figures["stream_triad"].per_core == 10e9
    assert part.figures["hpl"].per_core == pytest.approx(1e11)
    assert (part.figures["stream_triad"].how, part.figures["hpl"].how) == ("measured", "published")


def test_a_network_of_two_figures(parts: Path) -> None:
    """At 10 GB/s and 2 us, a message of 10 MB takes 1 ms to send and the latency to arrive."""
    part = load_part("wire.yaml", relative_to=parts)
    assert isinstance(part, NetworkPart) and part.link is not None
    assert part.link.send_delay(10e6) == pytest.approx(1e-3)
    assert part.link.transmission_delay(10e6) == pytest.approx(2e-6)
    assert part.link_from.startswith("computed")


def test_a_network_of_a_shipped_machine() -> None:
    """The link of such a network is that of the shipped machine."""
    part = load_part("infiniband-hdr")
    assert isinstance(part, NetworkPart)
    assert part.link == load_machine("azure-cyclecloud").network.between_nodes


# --- machines ---


def test_a_machine_has_what_its_parts_say(parts: Path) -> None:
    """The machine has the cores of all sockets, the part's link, and the sources of both."""
    machine = load_machine(parts / "made.yaml")
    node = machine.nodes[0]
    assert node.processors == 16
    assert node.source == "2 × Nine: a data sheet"
    assert isinstance(node.sockets, Sockets)
    assert (node.sockets.processor.name, node.sockets.number, node.sockets.power) == ("Nine", 2, 200.0)
    assert node.sockets.peak_bandwidth == 2 * 4 * 3.2e9 * 8
    part = load_part(str(parts / "wire.yaml"))
    assert isinstance(part, NetworkPart)
    assert machine.network.between_nodes == part.link


def test_a_key_beside_a_part_goes_before_it(parts: Path) -> None:
    """Keys next to a part replace its values: here one core fewer, and another transmission delay."""
    text = changed(MACHINE, "sockets: 2", "sockets: 2, processors: 15")
    text += "  between_nodes: {transmission_delay: 5 us}\n"
    (parts / "made.yaml").write_text(text)
    machine = load_machine(parts / "made.yaml")
    assert machine.nodes[0].processors == 15
    assert machine.network.between_nodes.transmission_delay(0) == pytest.approx(5e-6)
    assert machine.network.between_nodes.send_delay(10e9) == pytest.approx(1.0)


def write_pair(parts: Path) -> None:
    """Write a program, and a machine of one host with three cores and a link of its own."""
    (parts / "prog.py").write_text("")
    (parts / "pair.yaml").write_text(
        "nodes: [{type: host}]\nnode_types: {host: {processors: 3}}\n"
        "network: {between_nodes: {send_delay: 1 us, transmission_delay: 1 us}}\n"
    )


def pair_with(parts: Path, overlay: str) -> Machine:
    """Return the machine of :func:`write_pair` with keys laid over it."""
    write_pair(parts)
    workloads = "workloads: {w: {program: {script: prog.py}}}\n"
    return load(parts, f"{workloads}options: {{A: {{machine: pair.yaml, with: {{{overlay}}}}}}}\n").options[0].machine


def test_a_part_laid_over_a_machine_takes_the_place_of_what_it_stands_for(parts: Path) -> None:
    """A part laid over a machine replaces the machine's cores and link."""
    machine = pair_with(parts, "node_types: {host: {processor: nine.yaml}}, network: {part: wire.yaml}")
    assert machine.nodes[0].processors == 8
    assert machine.network.between_nodes.transmission_delay(0) == pytest.approx(2e-6)


def test_a_key_beside_a_part_that_is_laid_over_a_machine_goes_before_the_part_alone(parts: Path) -> None:
    """The link is the part's, with the eager limit that is stated beside it, and nothing of the machine's own link."""
    machine = pair_with(parts, "network: {part: wire.yaml, between_nodes: {eager_limit: 64 KB}}")
    link = machine.network.between_nodes
    assert link.transmission_delay(0) == pytest.approx(2e-6) and link.eager_limit == 64000


def test_keys_left_empty_beside_a_part_leave_it_whole(parts: Path) -> None:
    """A key without a value, as where all below it is commented out, counts as left out."""
    text = changed(MACHINE, "sockets: 2", "sockets: 2, processors: ")
    (parts / "made.yaml").write_text(text + "  between_nodes:\n    # eager_limit: 64 KB\n")
    machine = load_machine(parts / "made.yaml")
    assert machine.nodes[0].processors == 16
    assert machine.network.between_nodes.transmission_delay(0) == pytest.approx(2e-6)


def test_parts_take_the_place_of_those_of_a_machine_in_generated_options(parts: Path) -> None:
    """A generated network is the part's link, not that of the machine that it starts from; cores likewise."""
    write_pair(parts)
    scenario = load(
        parts,
        "budget: 9000 EUR\nworkloads: {w: {program: {script: prog.py}}}\n"
        "generate: {nodes: [1], node_types: {host: {machine: pair.yaml, price: 900 EUR}}, "
        "processors: {nine: {processor: nine.yaml, price: 0 EUR}}, "
        "networks: {wire: {machine: pair.yaml, part: wire.yaml, price_per_node: 80 EUR}}}\n",
    )
    machine = scenario.options[0].machine
    assert machine.processors == 8
    assert machine.network.between_nodes.transmission_delay(0) == pytest.approx(2e-6)


@pytest.mark.parametrize(
    ("network", "send", "transmission"),
    [("part: wire.yaml", 1e-10, 2e-6), ("machine: pair.yaml", 1e-6, 9.001e-6)],
)
def test_a_key_beside_what_supplies_a_generated_network_goes_before_it_alone(
    parts: Path, network: str, send: float, transmission: float
) -> None:
    """A byte takes the link of the part (10 GB/s, 2 us) or machine (9 us, 1 GB/s); only the eager limit differs."""
    text = (
        "workloads: {w: {program: {script: prog.py}}}\n"
        "generate: {nodes: [1], node_types: {host: {}}, "
        f"networks: {{wire: {{{network}, between_nodes: {{eager_limit: 64 KB, busy: null}}}}}}}}\n"
    )
    link = load(parts, text).options[0].machine.network.between_nodes
    assert (link.send_delay(1), link.transmission_delay(1)) == pytest.approx((send, transmission), rel=1e-12)
    assert link.eager_limit == 64000
    faults = faults_in(parts, changed(text, f"{network}, ", ""))
    assert [each.split(": ", 1)[1] for each in faults] == [
        f"generate.networks.wire.between_nodes.{key} must be given, got nothing"
        for key in ("send_delay", "transmission_delay")
    ]


def test_a_key_removed_by_null_comes_from_the_part_wherever_it_is_written(parts: Path) -> None:
    """``null`` leaves a key to the part (4 KB) beside it, in ``with`` and in a change; ``none`` is a value."""
    part = changed(
        NETWORK, "latency:", "between_nodes: {send_delay: 1 us, transmission_delay: 2 us, eager_limit: 4 KB}\n#"
    )
    (parts / "wire.yaml").write_text(changed(part, "bandwidth:", "#"))
    beside = "  part: wire.yaml\n  between_nodes: {eager_limit: LIMIT, transmission_delay: null}\n"

    def limits(written: str, over: str) -> list[float | None]:
        text = changed(MACHINE, "  part: wire.yaml\n", beside.replace("LIMIT", written))
        (parts / "made.yaml").write_text(text)
        (parts / "prog.py").write_text("")
        given = f"network: {{between_nodes: {{eager_limit: {over}, transmission_delay: null}}}}"
        workloads = "workloads: {w: {program: {script: prog.py}}}\n"
        scenario = load(parts, f"{workloads}options: {{A: {{machine: made.yaml, with: {{{given}}}}}}}\n")
        (parts / "changed.yaml").write_text(f"{text}changes: [{{at: 0 s, {given}}}]\n")
        links = [
            load_machine(parts / "made.yaml").network.between_nodes,
            scenario.options[0].machine.network.between_nodes,
            load_machine(parts / "changed.yaml").changes[0][1].network.between_nodes,
        ]
        assert [link.transmission_delay(0) for link in links] == [2e-6] * 3
        return [link.eager_limit for link in links]

    assert limits("null", "null") == [4000, 4000, 4000]
    assert limits("64 KB", "null") == [64000, 4000, 4000]
    assert limits("64 KB", "none") == [64000, None, None]


def test_generated_options_are_made_of_parts(parts: Path) -> None:
    """Node types and networks of generated options may refer to parts."""
    (parts / "prog.py").write_text("")
    scenario = load(
        parts,
        "budget: 9000 EUR\nworkloads: {w: {program: {script: prog.py}}}\n"
        "generate: {nodes: [1, 2], node_types: {a: {processor: nine.yaml, sockets: 2, price: 900 EUR}}, "
        "networks: {wire: {part: wire.yaml, price_per_node: 80 EUR}}}\n",
    )
    assert [option.machine.processors for option in scenario.options] == [16, 32]
    assert scenario.options[1].machine.network.between_nodes.transmission_delay(0) == pytest.approx(2e-6)


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        (
            "nine.yaml",
            "nein.yaml",
            ["made.yaml:3:21: node_types.host.processor must be a file or one of the parts shipped"],
        ),
        ("nine.yaml", "parts/amd-epyc-9645", ['got "parts/amd-epyc-9645": did you mean "amd-epyc-']),
        ("nine.yaml", "wire.yaml", ['node_types.host.processor must be a processor, got the network "wire.yaml"']),
        ("processor: nine.yaml, ", "", ["node_types.host.sockets must be given with a processor, got none"]),
        ("sockets: 2", "sockets: 0", ["node_types.host.sockets must be at least 1, got 0"]),
        ("part: wire.yaml", "part: hub.yaml", ['network.part must be a network, got the switch "hub.yaml"']),
        ("part: wire.yaml", "part: 3", ["network.part must be text, got 3"]),
        (
            "part: wire.yaml",
            "part: wire.yaml\n"
            "changes: [{at: 1 s, node_types: {host: {processor: nine.yaml}}, network: {part: wire.yaml}}]",
            [
                'host.processor must not change during a run, got "nine.yaml"',
                "network.part must not change during a run",
            ],
        ),
    ],
)
def test_wrong_references(parts: Path, old: str, new: str, rules: list[str]) -> None:
    """Each wrong reference is reported with place, subject, rule and value."""
    (parts / "made.yaml").write_text(changed(MACHINE, old, new))
    faults = faults_of(load_machine, parts / "made.yaml")
    assert len(faults) == len(rules)
    assert all(rule in fault for rule, fault in zip(rules, faults, strict=True)), faults


@pytest.mark.parametrize(
    ("file", "old", "new", "rules"),
    [
        ("nine", "kind: processor", "kind: chip", ['.yaml:1:7: kind must be processor, network, switch, got "chip"']),
        ("nine", "cores: 8", "cores: 0", ["nine.yaml:3:8: cores must be at least 1, got 0"]),
        ("nine", "cores: 8\n", "", ["cores must be given, got nothing"]),
        ("nine", "base: 2 GHz", "base: 2", ["clock.base must be a frequency with a unit, got 2"]),
        ("nine", "boost: 4 GHz", "boost: 1 GHz", ["clock.boost must be at least the base clock, 2 GHz, got 1 GHz"]),
        ("nine", "date: 2026-11-02\n", "", ["date must be given, got nothing"]),
        ("nine", "value: 96, source: spec.org, date: 2026-01-02", "value: 96", [
            "figures.spec_fp_rate.source must be given", "figures.spec_fp_rate.date must be given"]),
        ("nine", "value: 96", "value: 0", ["figures.spec_fp_rate.value must be above 0, got 0"]),
        ("nine", ", dgemm: not found", "", ["figures.dgemm must be given, or the reason under missing, got neither"]),
        ("nine", "missing: {", "missing: {hpl: lost, ", ["missing.hpl must not be given with the figure, got both"]),
        ("nine", "cores: 12", "cores: 17", ["figures.hpl.cores must be at most those of 2 sockets, 16, got 17"]),
        ("nine", "how: measured", "how: guessed", ['figures.stream_triad.how must be \'measured\' or \'published\'']),
        ("wire", "latency: {value: 2 us, source: a paper, date: 2026-01-02}\n", "", [
            "must have between_nodes, machine, or latency and bandwidth, got none"]),
        ("wire", "rate: 100 Gbit/s", "rate: 100 Gbit/s\nmachine: azure", [
            'machine must be a machine shipped with clue, got "azure"']),
        ("wire", "rate: 100 Gbit/s", "rate: 100 Gbit/s\nmachine: loggops", [
            'machine must be a machine that states network.between_nodes, got "loggops"']),
        ("hub", "power: 80 W\n", "", ["power must be given, or the reason under missing, got neither"]),
    ],
)  # fmt: skip
def test_wrong_parts(parts: Path, file: str, old: str, new: str, rules: list[str]) -> None:
    """All faults of a part are reported at once, with their places in its file."""
    text = (parts / f"{file}.yaml").read_text()
    (parts / f"{file}.yaml").write_text(changed(text, old, new))
    faults = faults_of(load_part, str(parts / f"{file}.yaml"))
    assert len(faults) == len(rules)
    assert all(rule in fault for rule, fault in zip(rules, faults, strict=True)), faults


def test_a_wrong_part_is_told_once_by_the_machine_too(parts: Path) -> None:
    """A faulty part named twice by a machine gives one fault, with the place in the part's file."""
    (parts / "nine.yaml").write_text(changed(PART, "cores: 8", "cores: none"))
    text = changed(MACHINE, "network:", "  other: {processor: nine.yaml}\nnetwork:")
    (parts / "made.yaml").write_text(text)
    (fault,) = faults_of(load_machine, parts / "made.yaml")
    assert fault.endswith('nine.yaml:3:8: cores must be a whole number, got "none"')


# --- costs ---


def _costed(parts: Path, node: str) -> str:
    (parts / "pair.yaml").write_text(
        "nodes: [{count: 2, type: host}]\nnode_types: {host: {}}\n"
        "network: {between_nodes: {send_delay: 1 us, transmission_delay: 1 us}}\n"
    )
    (parts / "prog.py").write_text("")
    old = "node: {per_node: 1, price: 100 EUR, power: {idle: 210 W, busy: 560 W}, rack_units: 1, spares: 0.02}"
    return changed(COSTED, old, f"node: {{{node}}}")


def test_costs_get_power_and_room_from_parts(parts: Path) -> None:
    """A processor draws its thermal design power; a switch has its ports, power and rack units; neither has a price."""
    text = _costed(parts, "per_node: 2, part: nine.yaml, power: {idle: 30 W}, rack_units: 1")
    old = "switch: {ports: 40, type: host, price: 300 USD, power: 250 W, rack_units: 1, source: offer 7"
    text = changed(text, f"{old}, date: 2026-10-01}}", "switch: {part: hub.yaml, type: host}")
    scenario = load(parts, text)
    costs = scenario.options[0].costs
    assert costs is not None
    node, switch = costs.parts[:2]
    assert (node.idle, node.busy, node.price) == (30.0, 100.0, 0.0)
    assert switch.number == Number(Per.PORTS, 4, "host")
    assert (switch.idle, switch.busy, switch.rack_units, switch.price) == (80.0, 80.0, 2.0, 0.0)


def test_a_part_overlaid_on_a_block_replaces_what_it_supplies(parts: Path) -> None:
    """A switch replaces ports, power and rack units of the block before, a processor the busy power; the rest stays."""
    text = _costed(parts, "per_node: 2, power: {idle: 30 W, busy: 560 W}, rack_units: 3")
    over = "{parts: {node: {part: nine.yaml}, switch: {part: hub.yaml}}}"
    costs = load(parts, changed(text, "{residual: 0.2}", over)).options[0].costs
    assert costs is not None
    node, switch = costs.parts[:2]
    assert (node.number, node.idle, node.busy, node.rack_units) == (Number(Per.NODE, 2), 30.0, 100.0, 3.0)
    assert switch.number == Number(Per.PORTS, 4, "host")
    assert (switch.idle, switch.busy, switch.rack_units, switch.price) == (80.0, 80.0, 2.0, 150.0)


def test_a_part_of_the_full_size_replaces_what_it_supplies(parts: Path) -> None:
    """A switch and a processor in ``full`` replace figures of a named block, and of an option's own block."""
    text = _costed(parts, "per_node: 2, power: {idle: 30 W, busy: 560 W}, rack_units: 3")
    own = "{parts: {spare: {count: 1, power: 250 W, rack_units: 1}}}"
    text = changed(text, "cost: rented}", f"cost: {own}}}")
    full = """\
full:
  costs: {power: {parts: {node: {part: nine.yaml}, switch: {part: hub.yaml}}}}
  options: {B: {cost: {parts: {spare: {part: hub.yaml}}}}}
"""
    one, other = load(parts, text + full, full=True).options
    assert one.costs is not None and other.costs is not None
    node, switch = one.costs.parts[:2]
    assert (node.number, node.idle, node.busy, node.rack_units) == (Number(Per.NODE, 2), 30.0, 100.0, 3.0)
    assert switch.number == Number(Per.PORTS, 4, "host")
    assert (switch.idle, switch.busy, switch.rack_units, switch.price) == (80.0, 80.0, 2.0, 150.0)
    (spare,) = other.costs.parts
    assert (spare.number, spare.busy, spare.rack_units) == (Number(Per.OPTION, 1), 80.0, 2.0)
    reduced = load(parts, text + full).options[0].costs
    assert reduced is not None and (reduced.parts[0].busy, reduced.parts[1].busy) == (560.0, 250.0)


def test_power_of_other_hardware_does_not_stand_for_that_of_a_part(parts: Path) -> None:
    """A part without published power, overlaid on a block, must have a power of its own."""
    (parts / "bare.yaml").write_text(changed(PART, "power: 100 W\n", ""))
    text = _costed(parts, "per_node: 2, power: 560 W")
    faults = faults_in(parts, changed(text, "{residual: 0.2}", "{parts: {node: {part: bare.yaml}}}"))
    assert any("node.power must be given, as it is unknown for Nine, got nothing" in fault for fault in faults), faults
    stated = changed(text, "{residual: 0.2}", "{parts: {node: {part: bare.yaml, power: 90 W}}}")
    costs = load(parts, stated).options[0].costs
    assert costs is not None
    assert costs.parts[0].busy == 90.0
    same = changed(text, "power: 560 W", "part: bare.yaml, power: 560 W")
    costs = load(parts, changed(same, "{residual: 0.2}", "{parts: {node: {part: bare.yaml}}}")).options[0].costs
    assert costs is not None
    assert costs.parts[0].busy == 560.0


@pytest.mark.parametrize(
    ("node", "rule"),
    [
        ("per_node: 1, part: wire.yaml", 'node.part must be a processor or a switch, got the network "wire.yaml"'),
        ("per_node: 1, part: bare.yaml", "node.power must be given, as it is unknown for Nine, got nothing"),
        ("per_node: 1, part: bare.yaml, power: {idle: 1 W}", "node.power must be given, as it is unknown for Nine"),
        (
            "per_node: 1, part: nine.yaml, power: {idle: 120 W}",
            "must be at least the idle power, 120 W, got 100 W",
        ),
        ("per_node: 1, power: {idle: 20 W}", "node.power.busy must be given without a part of the hardware"),
        ("part: nine.yaml, rack_units: 1", "must have one of count, per_node, ports, per_rack, got none"),
    ],
)
def test_wrong_parts_of_costs(parts: Path, node: str, rule: str) -> None:
    """Power that is not published must be stated and does not count as 0 W."""
    (parts / "bare.yaml").write_text(changed(PART, "power: 100 W\n", ""))
    faults = faults_in(parts, _costed(parts, node))
    assert any(rule in fault for fault in faults), faults
