"""Signals at any moment of long work: the status that shells know, no traceback, and no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from clue.calibration.residuals import ping_pong
from clue.recording import find_mpiexec
from tests.live.programs import MACHINE
from tests.scenarios.generated import write

#: Which moments; another number tries others: ``CLUE_SIGNAL_SEED=7 pytest tests/cli/test_signals.py``.
SEED = int(os.environ.get("CLUE_SIGNAL_SEED", "1"))
#: By this variable all that descends from a command is known, whatever its name and session.
MARK = "CLUE_TEST_MARK"
PROGRAM = """\
import time
from mpi4py import MPI
end = time.monotonic() + 100.0
while MPI.COMM_WORLD.allreduce(time.monotonic()) < MPI.COMM_WORLD.size * end:
    time.sleep(0.001)
"""
#: Runs a command; what comes before it has begun ends it without a word. Shells let what they start in the background
#: ignore Ctrl-C.
DRIVER = """\
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
from clue.cli import main
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
"""
#: Simulates for ever, in processes of its own from the beginning.
WORKERS = """\
import time
from clue.predict import executors

def work(tasks):
    while True:
        time.sleep(1.0)

executors._ALONE = executors._WORTH_PROCESSES = -1.0
executors._do_chunk = work
executors.Pool._perform_alone = lambda self, tasks: iter(())
"""


def recording(folder: Path) -> list[str]:
    """Record a program that takes long."""
    (folder / "prog.py").write_text(PROGRAM)
    return ["record", "-n", "2", "prog.py"]


def running(folder: Path) -> list[str]:
    """Run it live."""
    (folder / "prog.py").write_text(PROGRAM)
    (folder / "four.yaml").write_text(MACHINE)
    return ["run", "-n", "2", "--machine", "four.yaml", "prog.py"]


def comparing(folder: Path) -> list[str]:
    """Compare options in processes."""
    write(folder)
    (folder / "driver.py").write_text(DRIVER.replace("from clue.cli", f"{WORKERS}from clue.cli"))
    return ["simulate", "s.yaml", "--workers", "2"]


def calibrating(_folder: Path) -> list[str]:
    """Measure this computer's network."""
    return ["calibrate", "network", "-o", "here.yaml"]


def repeating(folder: Path) -> list[str]:
    """Record a trace's program to compare processors."""
    ping_pong(8).save(folder / "pp.clue")
    (folder / "prog.py").write_text(PROGRAM)
    return ["calibrate", "processor", "--trace", "pp.clue", "--program", "prog.py", "-o", "here.yaml"]


WORKS = {
    "record": recording,
    "record again": recording,
    "run": running,
    "workers": comparing,
    "calibrate": calibrating,
    "calibrate by a program": repeating,
}


def descendants(folder: Path) -> list[str]:
    """Return the processes that the mark says come from a command, zombies aside."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={folder}".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text(errors="replace").replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.long
@pytest.mark.parametrize("work", WORKS)
def test_a_signal_ends_all_of_it(work: str, tmp_path: Path) -> None:
    """To the command alone, as ``kill`` and job systems send it; a killed command leaves no process either.

    A command for each signal, side by side: most of the time they are waited for.
    """
    find_mpiexec()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
    with ThreadPoolExecutor(len(numbers)) as threads:
        list(threads.map(lambda number: signalled(work, number, tmp_path / number.name), numbers))


def signalled(work: str, number: signal.Signals, folder: Path) -> None:
    """Run a command in a folder, send it a signal at some moment, and check how it ends."""
    folder.mkdir()
    (folder / "driver.py").write_text(DRIVER)
    arguments = WORKS[work](folder)
    moment = Random(f"{SEED} {work} {number}").uniform(0.3, 3.0)
    environment = {
        **os.environ,
        MARK: str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "CLUE_CACHE": str(folder),
    }
    with subprocess.Popen(
        [sys.executable, "driver.py", *arguments], cwd=folder, env=environment, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as command:  # fmt: skip
        try:
            time.sleep(moment)
            command.send_signal(number)
            _, said = command.communicate(timeout=60)
        finally:
            command.kill()
    assert command.returncode in {128 + number, -number}, (number, said)
    # After a kill, a worker that Python is starting may not find its input; no process is left to help it.
    assert number == signal.SIGKILL or "Traceback" not in said, (number, said)
    assert within(30.0, lambda: not descendants(folder)), (number, descendants(folder))


def within(seconds: float, true: Callable[[], bool]) -> bool:
    """Wait until something is true, but not for longer."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
