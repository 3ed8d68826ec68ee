"""The self-scheduled matrix product is right with every strategy, and its machines are as documented."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import clue
from benchmarks.accuracy.self_scheduling.lines import FOLDER, PROGRAM, SIZES, VRP_DYNAMIC, VRP_SS, VRP_STATIC, vector
from clue.machine import Machine
from tests.in_turn import in_turn
from tests.scenarios.test_programs import MPIEXEC, SETTINGS

STRATEGIES = ["ss", "gss", "tss", "vrp", "vrp-live", "vrp-ss"]
#: The runs on three ranks: a master and two workers.
RUNS = [
    *([strategy, "--n", "61", "--rows", "3", "--check"] for strategy in STRATEGIES),
    ["vrp", "--n", "60", "--performance", "1,2", "--check"],
]


def product(folder: Path, ranks: int, runs: list[list[str]], wanted: list[str]) -> dict[str, str]:
    """Run products under one start of real MPI; return the ``name=value`` pairs of the line that one of them prints."""
    launcher = [MPIEXEC or "", "-n", str(ranks)]
    done = in_turn(folder, launcher, [(PROGRAM, words) for words in runs], SETTINGS)[runs.index(wanted)]
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"(\w+)=(\[.*?\]|\S+)", done.stdout))


@pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_multiplies_all_rows_under_real_mpi(strategy: str, shared: Path) -> None:
    """Two workers multiply all 61 rows and the product is right; some strategies measure performance first."""
    run = [strategy, "--n", "61", "--rows", "3", "--check"]
    said = product(shared / "self-scheduled products", 3, RUNS, run)
    assert sum(json.loads(said["rows"])) == 61
    assert float(said["error"]) < 1e-12


@pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec")
def test_given_performance_decides_who_gets_what(shared: Path) -> None:
    """At performances 1 and 2 the workers get 20 and 40 of 60 rows, in one chunk each."""
    said = product(shared / "self-scheduled products", 3, RUNS, RUNS[-1])
    assert (said["rows"], said["chunks"]) == ("[20, 40]", "2")


@pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec")
def test_more_workers_than_rows(tmp_path: Path) -> None:
    """Of three workers one multiplies the only row, and the others end."""
    run = ["gss", "--n", "1", "--check"]
    said = product(tmp_path, 4, [run], run)
    assert sorted(json.loads(said["rows"])) == [0, 0, 1]


# --- the machines ---


def machine(name: str) -> Machine:
    """Return a machine of the study."""
    return clue.load_machine(FOLDER / f"{name}.yaml")


def test_the_cluster_is_the_shipped_one_but_for_speeds_by_order() -> None:
    """Nodes and network are those of the shipped cluster, and at n = 1500 so are the factors."""
    study, shipped = machine("cluster"), clue.load_machine("pempis-het")
    assert study.network == shipped.network
    assert [replace(node, performance_factors={}) for node in study.nodes] == list(shipped.nodes)
    assert [node.factor("product-1500") for node in study.nodes] == [node.factor("") for node in shipped.nodes]


@pytest.mark.parametrize("n", SIZES)
def test_speeds_by_order_are_the_stated_lines(n: int) -> None:
    """A bio node takes 1.15 + n / 10 000 times as long as an intel node, and a taurus node 6 + n / 500 times."""
    factors = {node.name: node.factor(f"product-{n}") for node in machine("cluster").nodes}
    assert factors == pytest.approx({"intel": 1, "bio": 1.15 + n / 10_000, "taurus": 6 + n / 500})


def test_the_loaded_cluster_is_the_steady_one_until_it_changes() -> None:
    """Nodes differ only by name; at 3 s two of the four intel nodes get seven more processes."""
    steady, loaded = machine("cluster"), machine("loaded")
    assert [replace(node, name="") for node in loaded.nodes] == [replace(node, name="") for node in steady.nodes]
    ((at, changed),) = loaded.changes
    assert at == 3
    assert [node.background_load for node in changed.nodes] == [0, 0, 7, 7] + [0] * 10
    link = steady.network.pairs["intel", "intel"]
    assert {pair: loaded.network.pairs[pair] for pair in loaded.network.pairs} == {
        (one, other): link for one in ("intel", "intel-shared") for other in ("intel", "intel-shared")
    }


def test_performance_at_hand_and_once() -> None:
    """At n = 2500 an intel node is 11 times as fast as a taurus node, but static VRP assumes 7 times."""
    cluster = machine("cluster")
    assert vector(cluster, 2500)[0] == pytest.approx(11)
    assert vector(cluster, 2500)[-1] == 1
    static, dynamic = (line.arguments(2500, 4, cluster)[-1].split(",")[0] for line in (VRP_STATIC, VRP_DYNAMIC))
    assert (float(static), float(dynamic)) == (7, 11)
    assert VRP_SS.arguments(500, 4, cluster)[:5] == ["vrp-ss", "--n", "500", "--rows", "4"]
