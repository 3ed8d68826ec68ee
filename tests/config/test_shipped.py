"""The shipped machines: each loads, states its sources, and agrees with them."""

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from clue.config import find, load_machine, shipped
from clue.config.yaml12 import parse_yaml
from clue.kernel import simulate
from clue.machine import Flows, Link
from clue.trace import TraceBuilder

MACHINES = sorted(shipped("machines"))
EXTRACT = Path(__file__).with_name("osu_extract.csv")
CLOUDS = ("aws-parallel-cluster", "azure-cyclecloud", "google-compute-engine", "google-gke")


@pytest.mark.parametrize("name", MACHINES)
def test_a_shipped_machine_loads_under_its_name_and_says_its_source(name: str) -> None:
    """Each machine has a source, and on each of its links a larger message takes longer."""
    machine = load_machine(name)
    assert machine.name == name
    assert machine.source
    assert name == "two-hosts" or machine.notes
    for node in machine.node_types():
        for same in (False, True):
            times = [one_way(machine.network.link(node, node, same), size) for size in (0, 1000, 64_000, 10**6)]
            assert all(0 < less < more for less, more in pairwise(times))


def test_a_shipped_file_is_found_by_name() -> None:
    """A shipped file is found by its name and kind; an unknown name gives nothing."""
    assert find("two-hosts") == shipped("machines")["two-hosts"]
    assert find("two-hosts", ("scenarios",)) is None
    assert find("no-such-machine") is None


@pytest.mark.parametrize(
    ("name", "nodes", "memory", "processors"),
    [
        ("network", 6, 256e6, 2),
        ("memory", 6, 1024e6, 2),
        ("fine", 7, 128e6, 1),
        ("coarse", 7, 1024e6, 1),
        ("cheap", 10, 256e6, 2),
        ("cheapest", 15, 128e6, 1),
    ],
)
def test_the_machines_of_wien97_are_those_of_table_1(name: str, nodes: int, memory: float, processors: int) -> None:
    """Nodes, memory and processors are those of Table 1, speeds those of Table 2, contention that of section 4.5."""
    machine = load_machine(f"wien97-{name}")
    node = machine.nodes[0]
    assert (len(machine.nodes), node.memory, node.processors) == (nodes, memory, processors)
    assert node.speeds["cholesky"] * 3 == pytest.approx(1552e6, rel=1e-4)
    assert node.speeds["tridiagonalisation"] * 3 == pytest.approx(587e6, rel=1e-4)
    assert node.share_kept(processors, "tridiagonalisation") == (0.77 if processors == 2 else 1.0)
    assert node.share_kept(processors, "cholesky") == 1.0
    fast = name in {"network", "fine"}
    assert (one_way(machine.network.between_nodes, 10**6) < 0.02) == fast


def test_kishimotos_athlon_is_about_four_times_a_pentium_ii() -> None:
    """The ratio is about 4 by performance factors and by the stated speeds for HPL, as in the paper."""
    machine = load_machine("kishimoto")
    athlon, pentium = machine.node_types()["athlon"], machine.node_types()["pentium-ii"]
    assert (len(machine.nodes), machine.processors) == (5, 9)
    assert pentium.factor("") / athlon.factor("") == pytest.approx(4, rel=0.1)
    fast, slow = (node.speed("hpl", 1.0) or 0.0 for node in (athlon, pentium))
    assert fast / slow == pytest.approx(4, rel=0.1)


def test_links_between_different_nodes_of_pempis_het_follow_the_slower_card() -> None:
    """Only the intel nodes are connected by Gigabit Ethernet."""
    network = load_machine("pempis-het").network
    times = {(a, b): one_way(network.link(a, b, False), 10**6) for a in NODES for b in NODES}
    assert times.pop(("intel", "intel")) < 0.012
    assert set(times.values()) == {one_way(network.between_nodes, 10**6)}


NODES = ("intel", "bio", "taurus")


def one_way(link: Link, size: int) -> float:
    """Return the time from the start of a send to the end of its receive."""
    return link.send_delay(size) + link.transmission_delay(size) + link.receive_delay


def measured(benchmark: str, environment: str) -> dict[int, float]:
    """Return the medians of a benchmark by message size, in the benchmark's unit."""
    lines = [line for line in EXTRACT.read_text().splitlines() if not line.startswith("#")]
    rows = [r for r in csv.DictReader(lines) if (r["benchmark"], r["environment"]) == (benchmark, environment)]
    return {int(row["size"]): float(row["median"]) for row in rows}


@pytest.mark.parametrize("name", CLOUDS)
def test_the_clouds_take_the_measured_time_one_way(name: str) -> None:
    """One-way times are within 5 % of osu_latency at every size from 0 B to 4 MiB."""
    link = load_machine(name).network.between_nodes
    latencies = measured("osu_latency", name)
    assert len(latencies) == 24
    for size, latency in latencies.items():
        assert one_way(link, size) == pytest.approx(latency * 1e-6, rel=0.05), size


@pytest.mark.parametrize("name", CLOUDS)
def test_the_clouds_stream_at_the_measured_bandwidth(name: str) -> None:
    """Bandwidths are within 5 % of osu_bw, except where a stream was slower than single messages."""
    link = load_machine(name).network.between_nodes
    latencies = measured("osu_latency", name)
    for size, bandwidth in measured("osu_bw", name).items():
        gap = size / (bandwidth * 1e6)
        at_most = latencies[size] * 1e-6 - link.receive_delay
        assert link.send_delay(size) == pytest.approx(min(gap, at_most), rel=0.05), size


def test_the_topologies_of_the_readme_are_read_as_written() -> None:
    """The README's five examples are read on 64 nodes as the topologies that they describe."""
    readme = (shipped("machines")["two-hosts"].parent / "README.md").read_text()
    block = readme.split("```yaml\n")[1].split("```")[0]
    examples = [f"flows:{text}" for text in block.split("flows:")[1:]]
    kinds = []
    for example in examples:
        flows = parse_yaml(example, "README.md").value
        link = {"send_delay": "1 us", "transmission_delay": "1 us"}
        network = {"between_nodes": link, "contention": flows}
        machine = load_machine({"nodes": [{"type": "a", "count": 64}], "node_types": {"a": {}}, "network": network})
        assert isinstance(machine.network.contention, Flows)
        kinds.append(machine.network.contention.topology.kind)
    assert kinds == ["switch", "switches", "fat_tree", "torus", "dragonfly"]


@pytest.mark.parametrize(("shift", "sharing"), [(1, 1), (4, 2)])
def test_on_the_shipped_fat_tree_leaves_share_their_uplinks(shift: int, sharing: int) -> None:
    """Four messages of 16 KB take 1.28 us on the wire within a leaf, and twice that between leaves: 2:1."""
    built = TraceBuilder(16)
    # Within a leaf each node sends to the next one, otherwise to the same place of the next leaf.
    pairs = [(node, (node + shift) % 4 if shift < 4 else node + shift) for node in range(4)]
    for node, dest in pairs:
        built[node].send(dest, 16_000)
    for node, dest in pairs:
        built[dest].recv(node)
    result = simulate(built.build(), load_machine("fat-tree"), "cyclic")
    assert result.makespan == pytest.approx(3e-6 + sharing * 1.28e-6)
