"""Random programs and a workload in both simulators; RESULTS.md has all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import workloads
from tests.peers import cases
from tests.peers.simgrid import is_here

pytestmark = pytest.mark.skipif(not is_here(), reason="SimGrid's smpirun is not installed")


@pytest.mark.parametrize("seed", range(20))
def test_random_program(seed: int, tmp_path: Path) -> None:
    """Every rank finishes at the same time: to 1e-6 on the constant network, to 5 % where links are shared."""
    trace = cases.program(seed)
    for setting in cases.settings(trace.ranks)[:2]:
        assert cases.difference(trace, setting, tmp_path) <= setting.tolerance


def test_halo_exchange(tmp_path: Path) -> None:
    """W1 on 16 ranks, every setting."""
    trace = workloads.halo(16, 1000).trace
    for setting in cases.settings(16):
        assert cases.difference(trace, setting, tmp_path) <= setting.tolerance
