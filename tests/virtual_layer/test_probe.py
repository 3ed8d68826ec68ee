"""Readings of the host's speed: they are made between bursts, rarely, and are stored beside the rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clue.trace import Trace
from clue.trace.pieces import APART
from tests.virtual_layer.conftest import Recorded
from virtual_layer.probe import VARIABLE, Probe

COMPUTING = """
    import time
    def compute(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
    for _ in range(60):
        compute(0.01)
        comm.Barrier()
"""


@pytest.fixture(scope="module")
def computing(recorded: Recorded) -> Trace:
    """Return the trace of a program with bursts of 10 ms."""
    return recorded(COMPUTING)


def test_readings_of_each_rank_are_in_the_trace(computing: Trace) -> None:
    """Each rank has readings in order of time, with positive times for both pieces of work, while the program ran."""
    probe = computing.head.probe
    assert probe is not None and probe.work.startswith("integers and copies 1, CPython 3.")
    for rank, head in enumerate(computing.head.rank_heads):
        readings = computing.readings[slice(*probe.offsets[rank : rank + 2])]
        assert len(readings) > 3
        assert (np.diff(readings[:, 0]) > 0).all() and readings[0, 0] >= 0 and readings[-1, 0] < head.wall * 1e9
        assert (readings[:, 1:] > 0).all()


def test_readings_are_seldom(computing: Trace) -> None:
    """Readings take at most a hundredth of the time between them."""
    probe = computing.head.probe
    assert probe is not None
    for rank in range(2):
        readings = computing.readings[slice(*probe.offsets[rank : rank + 2])]
        assert (np.diff(readings[:, 0]) >= APART * readings[:-1, 1:].sum(axis=1)).all()


def test_readings_are_in_no_burst(computing: Trace) -> None:
    """Readings are not part of bursts: the median burst is 10 ms, as computed."""
    for rank in range(2):
        cpu = computing.rank(rank).cpu
        # A busy computer only makes bursts longer.
        assert np.median(cpu[cpu > 5_000_000]) == pytest.approx(10_000_000, rel=0.05)


def test_a_recording_may_do_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the probe switched off there are no readings, no file and no reserved memory."""
    monkeypatch.setenv(VARIABLE, "0")
    probe = Probe(tmp_path / "x.readings")
    assert (probe.work, probe.reserved, probe.due) == ("", 0, 2**63)
    probe.close()
    assert not (tmp_path / "x.readings").exists()


def test_what_was_read_before_the_recording_began_is_forgotten(tmp_path: Path) -> None:
    """Readings before the restart are dropped: two readings of three numbers of 8 B remain."""
    probe = Probe(tmp_path / "x.readings")
    probe.read(0)
    probe.restart()
    probe.read(0)
    probe.read(0)
    probe.close()
    assert (tmp_path / "x.readings").stat().st_size == 48


def test_no_more_memory_is_taken_than_is_reserved(tmp_path: Path) -> None:
    """A probe takes at most its reserved memory, which is subtracted from its rank's peak, and a large page (2 MiB)."""
    # Do not use ru_maxrss, which begins with the peak of the parent process.
    text = (
        "import sys\nfrom pathlib import Path\nfrom virtual_layer.probe import Probe\n"
        "def peak(): return int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) * 1024\n"
        "before = peak()\nprobe = Probe(Path(sys.argv[1]))\nprint(peak() - before - probe.reserved)\nprobe.close()\n"
    )
    command = [sys.executable, "-c", text, str(tmp_path / "x.readings")]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path})
    assert int(done.stdout) <= 1 << 21
