"""The time in which this computer's MPI library combines data, in the machines that calibrations write."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clue.calibration import network
from clue.calibration.measurement import Estimate
from clue.calibration.network import calibrate_link, calibrate_within, machine_file, machine_of, measure_link
from clue.calibration.processor import NodeCalibration
from clue.calibration.reduction import measure_reduction
from clue.config import load_machine
from clue.config.yaml12 import parse_yaml
from clue.machine import Machine
from clue.recording import find_mpiexec
from clue.report.calibration.text import network_document, processor_document
from tests.calibration.test_measuring import FOUND


def read(text: str) -> Machine:
    """Return the machine of a file's text."""
    written = parse_yaml(text, "x.yaml").value
    assert isinstance(written, dict)
    link = {"send_delay": "1 us", "transmission_delay": "1 us"}
    return load_machine({"nodes": [{"type": "node"}], "network": {"between_nodes": link}, **written})


def test_this_computer_combines_data() -> None:
    """A core adds vectors in its cache at 100 MB/s to 100 GB/s."""
    found = measure_reduction()
    assert 1e-11 < found.low <= found.value <= found.high < 1e-8
    assert found.repetitions >= 7


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 looks in the current folder first")
def test_files_of_the_current_folder_are_no_modules_of_a_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script clue.py, and one with the name of a module of Python that clue imports, stand for neither."""
    for name in ("clue", "json", "statistics"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.chdir(tmp_path)
    assert measure_reduction().value > 0


def test_a_calibrated_network_states_it_for_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The node type has the measured 0.1 ns/B, whichever link it was measured with, in the file and for contention.

    Imported results do not show it: their machines state none.
    """
    monkeypatch.setattr(network, "run_program", lambda *_: FOUND)
    found = measure_link([find_mpiexec()])
    between, within = calibrate_link(found), calibrate_within(found)
    for links in ((between, None), (None, within), (between, within)):
        assert read(machine_file(*links).text()).nodes[0].reduction_delay == pytest.approx(1e-10)
    assert machine_of(between, "x").nodes[0].reduction_delay == pytest.approx(1e-10)
    document = network_document(between, None, "x.yaml")["between_nodes"]
    assert isinstance(document, dict) and document["reduction_delay"]["value"] == 1e-10
    imported = calibrate_link(replace(found, reduction=None))
    assert "reduction_delay" not in machine_file(imported).text()


def test_a_calibrated_processor_states_it() -> None:
    """The time in the written node type is read back equal; without a measurement, there is none."""
    node = NodeCalibration("node", 2, {}, {}, source="here", reduction=Estimate.alone(0.125e-9))
    assert read(node.text()).nodes[0].reduction_delay == 0.125e-9
    assert processor_document(node, "x.yaml")["reduction_delay"] == {
        "value": 0.125e-9, "low": 0.125e-9, "high": 0.125e-9, "repetitions": 0,
    }  # fmt: skip
    assert "reduction_delay" not in NodeCalibration("node", 2, {}, {}, source="here").text()
