"""The surroundings of a rank: its imports, and the load of its computer."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clue.recording import record
from clue.trace.disturbance import largest
from clue.trace.place import IMPORTS

Write = Callable[..., Path]


def digest(text: str) -> str:
    """Return the hash of a file's content."""
    return hashlib.sha256(text.encode()).hexdigest()


def test_imports_of_all_ranks(program: Write, tmp_path: Path) -> None:
    """All ranks' modules are listed with their content at import, also if made or edited during the run."""
    for name in ("first", "only_one", "unused"):
        (tmp_path / f"{name}.py").write_text(f"name = '{name}'\n")
    importing = program("""
        import importlib, json, pathlib, numpy, first
        folder = pathlib.Path(__file__).parent
        comm.Barrier()
        (folder / "first.py").write_text("edited = True")
        if rank == 1:
            import only_one
            (folder / "made.py").write_text("made = 1")
            importlib.invalidate_caches()
            import made
        """)
    record(importing, [], 2, tmp_path / "x.clue")
    found = json.loads((tmp_path / "x.clue" / IMPORTS).read_text())
    assert found["modules"] == {
        str(tmp_path / "first.py"): digest("name = 'first'\n"),
        str(tmp_path / "only_one.py"): digest("name = 'only_one'\n"),
        str(tmp_path / "made.py"): digest("made = 1"),
    }
    assert {"numpy", "mpi4py"} <= found["packages"].keys()
    assert "json" not in found["packages"] and not any("virtual_layer" in file for file in found["modules"])


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Run processes that compute continuously, each in its own session, because kernels may share cores by session."""
    command = [sys.executable, "-S", "-c", "while True: pass"]
    started = [subprocess.Popen(command, start_new_session=True) for _ in range(processes)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def test_recording_on_a_busy_computer_says_so(program: Write, tmp_path: Path) -> None:
    """With twice as many busy processes as cores, a rank gets a core for a third of its time, and a note says so."""
    if not os.access("/proc/self/schedstat", os.R_OK):
        pytest.skip("needs a kernel that tells how long processes wait for a core")
    computing = program("""
        import time
        begin = time.thread_time()
        comm.Barrier()
        while time.thread_time() - begin < 0.4:
            pass
        comm.Barrier()
        """)
    with busy(2 * len(os.sched_getaffinity(0))):
        trace = record(computing, [], 1, tmp_path / "x.clue")
    assert largest(trace.head.rank_heads) > 0.1
    assert any("recorded on a busy computer" in note for note in trace.head.notes)
