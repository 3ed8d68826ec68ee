"""What a recorded program frees stays with it, unless its user has settled that."""

from __future__ import annotations

import platform

import pytest

from tests.virtual_layer.conftest import Recorded
from virtual_layer.heap import keep_freed_memory

#: Frees arrays of 8, 4 and 2 MB in turn at the top of the heap, and says how many pages the kernel had to give again.
CHURNING = """
import resource
faults = []
for step in range(20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [np.ones(n << 17) for n in (1, 2, 4, 8)]
    while held:
        held.pop()
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    comm.Barrier()
assert {condition}, faults
"""
gnu = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not GNU's")


@gnu
def test_freed_memory_stays_while_recording(recorded: Recorded) -> None:
    """After the first steps no page is given back and asked for again."""
    recorded(CHURNING.format(condition="max(faults[5:]) < 20"))


@gnu
def test_user_may_settle_it(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the user lets the library trim its heap at once, it does: the program is recorded as it runs."""
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "131072")
    recorded(CHURNING.format(condition="min(faults[5:]) > 1000"))


@pytest.mark.parametrize(
    "settled",
    [{"MALLOC_MMAP_THRESHOLD_": "1"}, {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2:glibc.malloc.trim_threshold=1"}],
)
def test_nothing_changes_where_it_is_settled(settled: dict[str, str]) -> None:
    """Neither the older variables nor the tunables are overruled."""
    assert not keep_freed_memory(settled)
