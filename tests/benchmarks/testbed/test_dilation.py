"""Dilated clusters: everything takes so many times as long; nothing is built here."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchmarks.testbed.description import Host, Kind, Rack
from benchmarks.testbed.dilation import dilated_description, dilated_hosts
from clue.config import load_machine


def test_hosts_are_slower_in_every_respect() -> None:
    """Factor 8 becomes 32, 100 MB/s 25 MB/s, 1 ms 4 ms; what has no limit keeps none, and kinds stay."""
    old, rack = Kind(vectors=16, interpreter=1.5), Rack("a", 10e6, 2e-3)
    hosts = Host(0, 8.0, 2, 1, 100e6, 1e-3, rack, old, shared_memory=True), Host(1, 1.0, 1, 0, None, rack=Rack("b"))
    slow, free = dilated_hosts(hosts, 4)
    assert slow == Host(0, 32.0, 2, 1, 25e6, 4e-3, Rack("a", 2.5e6, 8e-3), old, shared_memory=True)
    assert free == Host(1, 4.0, 1, 0, None, rack=Rack("b"))
    assert dilated_hosts(hosts, 1) == hosts


def test_a_machine_is_described_slower(tmp_path: Path) -> None:
    """Factors and times are multiplied by 4, bandwidths divided by it; sizes, counts and topologies stay."""
    stated = yaml.safe_load(
        "name: two\nnodes: [{count: 4, type: a}]\nnode_types: {a: {performance_factor: 2.5, processors: 2}}\n"
        "network:\n"
        "  between_nodes: {send_delay: 20 us, transmission_delay: {points: [[0 B, 100 us], [1 KB, 200 us],"
        " [1 MB, 20 ms]]}, eager_limit: 64 KiB}\n"
        "  within_node: {send_delay: 5 us, transmission_delay: {latency: 5 us, bandwidth: 2 GB/s}}\n"
        "  contention: {flows: {topology: switches, nodes_per_switch: 2, bandwidth: 800 Mbit/s, oversubscription: 2}}\n"
    )
    file = tmp_path / "two-4.yaml"
    file.write_text(yaml.safe_dump(dilated_description(stated, 4)))
    told = load_machine(file)
    assert (told.name, told.nodes[0].factor(""), told.nodes[0].processors) == ("two-4", 10.0, 2)
    link, within = told.network.between_nodes, told.network.within_node
    assert link.send_delay(0) == pytest.approx(80e-6)
    assert [link.transmission_delay(size) for size in (0, 1000, 10**6)] == pytest.approx([400e-6, 800e-6, 80e-3])
    assert link.eager_limit == 65536
    assert within.transmission_delay(1e6) == pytest.approx(20e-6 + 1e6 / 0.5e9)
    topology = told.contention.topology
    assert topology is not None and topology.capacities(4) == pytest.approx(25e6)  # ports, and uplinks of two halved
    assert stated["network"]["between_nodes"]["send_delay"] == "20 us"
