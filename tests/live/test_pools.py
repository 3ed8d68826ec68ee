"""The worker pools of mpi4py.futures and schwimmbad, which give work to the first free worker, run live."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from benchmarks.conformance import demos
from tests.live.programs import Live

PROGRAMS = Path(demos.__file__).with_name("programs")
SQUARES = str([number * number for number in range(20)])


@pytest.mark.parametrize(("program", "needs"), [("commexecutor.py", "mpi4py"), ("mpipool.py", "schwimmbad")])
def test_a_pool_maps(live: Live, program: str, needs: str) -> None:
    """Rank 0 prints the squares in order, whichever workers computed them."""
    if importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    ended = live((PROGRAMS / program).read_text(), ranks=4)
    assert (ended.status, ended.out.splitlines()[0]) == (0, SQUARES), ended.err
