"""Speeds by region in machine files: by the operations of a burst, and from a store of measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clue.calibration.machine_file import node_lines
from clue.config import load_config, load_machine
from clue.errors import ConfigError
from clue.forecasting.store import open_store
from clue.machine import NodeType, SpeedCurve
from clue.purchase.scenario import Scenario
from tests.forecasting.hosts import PER_PRODUCT, SIZES, dgemm

MACHINE = """\
nodes: [{count: 1, type: host}]
node_types:
  host: {speed: {product: SPEED}}
network: {within_node: {send_delay: 1 us, transmission_delay: 1 us}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that holds a store in which a product of m, n and k takes m n k ns."""
    with open_store(tmp_path / "store.sqlite", make=True) as store:
        store.keep(dgemm())
    return tmp_path


def speed(folder: Path, text: str) -> Any:
    """Return the speed of a machine file in which it is stated by the given text."""
    (folder / "machine.yaml").write_text(MACHINE.replace("SPEED", text))
    return load_machine(folder / "machine.yaml").nodes[0].speeds["product"]


def test_points(tmp_path: Path) -> None:
    """Points give the speed by the operations of a burst."""
    found = speed(tmp_path, "{points: [[1 Mflop, 500 Mflop/s], [1 Gflop, 2 Gflop/s]]}")
    assert found == SpeedCurve.through([(1e6, 5e8), (1e9, 2e9)])


def test_a_routine_that_was_measured(folder: Path) -> None:
    """2 m n k operations in m n k ns are 2 per ns at all sizes, from the least to the largest that was measured."""
    found = speed(folder, "{routine: dgemm, store: store.sqlite, host: here}")
    assert isinstance(found, SpeedCurve)
    assert found.domain == pytest.approx((2 * SIZES[0] ** 3, 2 * SIZES[-1] ** 3), rel=0.5)
    assert [rate for _, rate in found.points] == pytest.approx([2 / PER_PRODUCT] * len(found.points), rel=0.02)
    fixed = speed(folder, f"{{routine: dgemm, store: store.sqlite, host: here, sizes: {{k: {SIZES[0]}}}}}")
    assert fixed.domain[1] == pytest.approx(2 * SIZES[-1] ** 2 * SIZES[0], rel=0.5)
    stated = speed(folder, "{routine: dgemm, store: store.sqlite, host: here, burst: 1 Mflop}")
    assert stated == pytest.approx(2 / PER_PRODUCT, rel=0.02)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{routine: dgemm, store: store.sqlite, host: there}",
         "3:27: node_types.host.speed.product routine must have been measured on there by"),
        ("{routine: dgemm, store: none.sqlite, host: here}", "routine must have been measured on here by"),
        ("{routine: sort:quick, store: store.sqlite}", "must be one with known operations (dgeadd, dgemm,"),
        ("{routine: dgemm, store: machine.yaml, host: here}", "machine.yaml: store must be"),
        ("{routine: dgemm, store: store.sqlite, host: here, sizes: {x: 9}}", "must be some of m, n, k, and not all"),
        ("{routine: dgemm, store: store.sqlite, host: here, sizes: {k: 63}}",
         "sizes: k must be 64 to 1024, as measured, got 63: measure further sizes"),
        ("{routine: dgemm, store: store.sqlite, host: here, sizes: {k: 2048}}", "must be 64 to 1024, as measured, got"),
        ("{routine: dgemm, store: store.sqlite, host: here, burst: 2.2 Gflop}",  # 2 · 64³ to 2 · 1024³
         "burst must be 0.524288 to 2147.48 Mflop, as measured, got 2200 Mflop: measure further sizes"),
        ("{routine: dgemm, store: store.sqlite, host: here, burst: 524 kflop}", "as measured, got 0.524 Mflop"),
        ("{points: [[1 Mflop, 1 Gflop/s], [1 Mflop, 2 Gflop/s]]}", "must be sorted by strictly rising work"),
        ("{points: [[1 Mflop, 1 Gflop/s], [2 Mflop, 9 Gflop/s]]}", "must give longer bursts for more"),
        ("{points: [[1 s, 1 Gflop/s]]}", "must be a number of operations in a known unit"),
        ("{points: []}", "must have at least 1 entries"),
        ("{store: store.sqlite}", "routine must be given"),
    ],
)  # fmt: skip
def test_faults(folder: Path, text: str, fault: str) -> None:
    """Each fault is reported with its place."""
    with pytest.raises(ConfigError) as caught:
        speed(folder, text)
    assert fault in str(caught.value)
    assert "machine.yaml:3:" in str(caught.value)


def test_what_is_calibrated_keeps_speeds(tmp_path: Path) -> None:
    """The lines that calibration writes for a node type give the same speeds when read."""
    node = NodeType("host", speeds={"product": SpeedCurve.through([(1e6, 5e8), (1e9, 2e9)])})
    (line,) = (line for line in node_lines(node) if line.startswith("speed"))
    found = speed(tmp_path, line.removeprefix("speed: {product: ").removesuffix("}"))
    assert [found.at(flops) for flops in (1e6, 1e8, 1e9)] == pytest.approx(
        [node.speed("product", flops) for flops in (1e6, 1e8, 1e9)]
    )


def test_a_change_and_what_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A change replaces the speed; ``inspect`` shows the first and last point."""
    from clue.cli import main  # noqa: PLC0415 - this test alone runs a command

    (tmp_path / "machine.yaml").write_text(
        MACHINE.replace("SPEED", "{points: [[1 Mflop, 500 Mflop/s], [1 Gflop, 2 Gflop/s]]}")
        + "changes: [{at: 1 s, node_types: {host: {speed: {product: 1 Gflop/s}}}}]\n"
    )
    machine = load_machine(tmp_path / "machine.yaml")
    assert machine.changes[0][1].nodes[0].speeds == {"product": 1e9}
    assert main(["inspect", str(tmp_path / "machine.yaml")]) == 0
    assert "500 Mflop/s in bursts of 1 Mflop to 2,000 Mflop/s in bursts of 1,000 Mflop" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_store_is_relative_to_the_file_that_names_it(folder: Path) -> None:
    """An option adds the store, which is beside the comparison, to the routine of a machine in another folder."""
    (folder / "machines").mkdir()
    routine = "{routine: dgemm, host: here, burst: 1 Mflop}"
    (folder / "machines" / "host.yaml").write_text(MACHINE.replace("SPEED", routine))
    (folder / "prog.py").write_text("")
    (folder / "which.yaml").write_text(
        "workloads: {w: {program: {script: prog.py}}}\n"
        "options:\n"
        "  A: {machine: machines/host.yaml, with: {node_types: {host: {speed: {product: {store: store.sqlite}}}}}}\n"
    )
    loaded = load_config(folder / "which.yaml")
    assert isinstance(loaded, Scenario)
    assert loaded.options[0].machine.nodes[0].speeds["product"] == pytest.approx(2 / PER_PRODUCT, rel=0.02)
