"""The worker pools of mpi4py.futures and schwimmbad, which give work to the first free worker, run live."""

from __future__ import annotations

import importlib.util
import re
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


@pytest.mark.parametrize(
    ("starting", "what"),
    [
        ("ThreadPoolExecutor()", "other threads than those that call MPI"),
        ("ProcessPoolExecutor(1, get_context('fork'))", "processes that the program started"),
    ],
)
def test_work_outside_bursts_is_told_of(live: Live, starting: str, what: str) -> None:
    """What a pool of the rank's own threads or processes computes takes no virtual time, and the result says so.

    Each worker computes for 0.5 s of CPU time; a rank that computes itself is not mentioned, nor are stated bursts.
    """
    text = f"""
        import time
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
        from multiprocessing import get_context
        from mpi4py import MPI
        def work():
            end = time.thread_time() + 0.5
            while time.thread_time() < end:
                pass
        if MPI.COMM_WORLD.rank:
            with {starting} as pool:
                pool.submit(work).result()
        else:
            work()
        """
    ended = live(text)
    said = " ".join(ended.out.split())
    found = re.search(f"prog.py: rank 1: {what} used (.*?) s of CPU time, which no burst contains", said)
    assert found is not None, said
    assert 0.45 < float(found[1]) < 0.8
    assert "rank 0:" not in said
    assert "no burst contains" not in " ".join(live(text, "--bursts", "synthetic").out.split())
