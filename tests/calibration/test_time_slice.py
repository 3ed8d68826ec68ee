"""The time slice of this computer, measured beside a busy process."""

from __future__ import annotations

import os

from clue.calibration.measurement import Estimate
from clue.calibration.processor import NodeCalibration
from clue.calibration.time_slice import measure_time_slice
from clue.config import load_machine
from clue.config.yaml12 import parse_yaml


def test_beside_a_busy_process_there_are_turns() -> None:
    """Beside a busy process the time slice is some milliseconds; afterwards the process may use all its cores again."""
    allowed = os.sched_getaffinity(0)
    measured = measure_time_slice(0.5)
    assert measured is not None
    assert 0.3e-3 < measured.low <= measured.value <= measured.high < 0.2
    assert os.sched_getaffinity(0) == allowed


def test_a_node_type_says_it() -> None:
    """The time slice in the written node type is read back equal."""
    node = NodeCalibration("pc", 2, {}, {}, source="here", time_slice=Estimate.alone(0.004))
    written = parse_yaml(node.text(), "pc.yaml").value
    assert isinstance(written, dict)
    link = {"send_delay": "1 us", "transmission_delay": "1 us"}
    machine = load_machine({"nodes": [{"type": "pc"}], "network": {"between_nodes": link}, **written})
    assert machine.nodes[0].time_slice == 0.004
