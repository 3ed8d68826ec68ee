"""The rank processes: they are forked from one parent, ignore an outer MPI launcher, and leave nothing behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from clue.execution.processes import Processes, World, one_core
from clue.execution.source import ProcessSource
from clue.trace.calls import Call, LiveOp

pytest.importorskip("mpi4py.MPI", reason="mpi4py and an MPI library must be there", exc_type=ImportError)

DETACH = """
import subprocess, sys
from pathlib import Path
process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
Path(sys.argv[1]).write_text(str(process.pid))
from mpi4py import MPI
MPI.Wtime()
"""

#: A library that starts a helper before any rank, as Open MPI 4 starts its daemon, and needs it when Python exits.
WITH_A_HELPER = """
import atexit, os, subprocess, sys
from pathlib import Path

def note(server, helper):
    if os.getpid() == server:
        Path(os.environ["NOTE"]).write_text(str(helper.poll()))
        helper.kill()

if "virtual_layer.substitutes" in sys.orig_argv:
    atexit.register(note, os.getpid(), subprocess.Popen(["sleep", "1000"]))
"""


def next_call(source: ProcessSource, answer: object) -> Call:
    """Return the next call that does not report a source line."""
    call = source.resume(answer)
    return call if call.op != LiveOp.LINE else next_call(source, None)


def start(processes: Processes, *command: str) -> tuple[ProcessSource, int]:
    """Start a world of one rank, and return its source and its process."""
    channel, process = processes.start(World("w0", (0,), command), 0)
    return ProcessSource(0, channel), process


def test_what_a_rank_leaves_behind_ends_with_the_run(tmp_path: Path) -> None:
    """A process in a session of its own ends with the run, although the rank that started it has ended."""
    program, note = tmp_path / "program.py", tmp_path / "note"
    program.write_text(DETACH)
    with Processes(memory=1 << 30) as processes:
        source, _ = start(processes, str(program), str(note))
        assert next_call(source, None).op == LiveOp.WTIME
        assert next_call(source, 0.0).op == LiveOp.END
        assert processes.ending(0) == 0
        left = int(note.read_text())
        assert _is_there(left)
    assert not _is_there(left)


def test_what_the_library_has_started_is_there_when_mpi_is_finalised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranks end before, but not Open MPI's daemon: without it the library reports an error and leaves its files."""
    program, note = tmp_path / "program.py", tmp_path / "note"
    program.write_text("from mpi4py import MPI\nMPI.Wtime()\n")
    (tmp_path / "sitecustomize.py").write_text(WITH_A_HELPER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("NOTE", str(note))
    with Processes(memory=1 << 30) as processes:
        source, process = start(processes, str(program))
        assert next_call(source, None).op == LiveOp.WTIME
    assert note.read_text() == "None"  # it had not ended
    assert not _is_there(process)


def test_no_name_of_shared_memory_is_left(tmp_path: Path) -> None:
    """While ranks run, mapped shared memory has no name any more, so killed ranks leave none behind."""
    program = tmp_path / "program.py"
    program.write_text("from mpi4py import MPI\nMPI.Wtime()\n")
    with Processes(memory=1 << 30) as processes:
        source, process = start(processes, str(program))
        assert next_call(source, None).op == LiveOp.WTIME
        maps = Path(f"/proc/{process}/maps").read_text().splitlines()
        named = {line.split(maxsplit=5)[5] for line in maps if "/dev/shm/" in line}
        assert all(name.endswith("(deleted)") for name in named)


def test_a_launcher_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under mpiexec, the size of the world is that of the live run, not that of mpiexec."""
    monkeypatch.setenv("PMI_RANK", "3")
    monkeypatch.setenv("PMI_SIZE", "7")
    program = tmp_path / "program.py"
    program.write_text("from mpi4py import MPI\nassert MPI.COMM_WORLD.size == 1\n")
    with Processes(memory=1 << 30) as processes:
        call = next_call(start(processes, str(program))[0], None)
    assert (call.op, call.nbytes) == (LiveOp.END, 0)


def test_one_core_is_given_back() -> None:
    """After one_core(), the process may use all its previous cores again."""
    before = os.sched_getaffinity(0)
    with one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def _is_there(process: int) -> bool:
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state != "Z":
            return True
        time.sleep(0.01)
    return False
