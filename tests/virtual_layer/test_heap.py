"""A recorded program requests memory from the system as often as without the layer."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from tests.virtual_layer.conftest import PREAMBLE, Recorded

#: Allocates and frees six arrays of 400 KB in each step, as numpy does for an expression. The C library returns the top
#: of its heap to the system when twice the largest freed array is free there: in each step, unless a block remains on
#: top.
STEPS = """
import numpy as np
import resource
faults, kept = [], []
for step in range(20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [np.ones(50_000) for _ in range(6)]
    if {pinned} and step == 2:
        kept.append(np.ones(50_000))
    held.clear()
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    comm.Barrier()
assert {condition}, faults
"""
#: Six arrays fill about 590 pages.
GIVEN_BACK, KEPT = "500 < min(faults[5:]) and max(faults[5:]) < 700", "max(faults[5:]) < 20"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not GNU's")
@pytest.mark.parametrize(("pinned", "condition"), [(False, GIVEN_BACK), (True, KEPT)])
def test_memory_is_given_back_as_without_the_layer(recorded: Recorded, pinned: bool, condition: str) -> None:
    """Memory is returned in each step, or never: the same condition holds without and with recording."""
    program = STEPS.format(pinned=pinned, condition=condition)
    subprocess.run([sys.executable, "-c", PREAMBLE + program], check=True)
    recorded(program, 1)
