"""Signals during long work: the usual exit status, no traceback, and no process left behind."""

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
from clue.recording import find_mpiexec, launching
from tests.live.programs import MACHINE
from tests.scenarios.generated import write

#: Seed of the moments at which signals come; to try others: ``CLUE_SIGNAL_SEED=7 pytest tests/cli/test_signals.py``.
SEED = int(os.environ.get("CLUE_SIGNAL_SEED", "1"))
#: This environment variable marks all descendants of a command, whatever their names and sessions.
MARK = "CLUE_TEST_MARK"
PROGRAM = """\
import time
from mpi4py import MPI
end = time.monotonic() + 100.0
while MPI.COMM_WORLD.allreduce(time.monotonic()) < MPI.COMM_WORLD.size * end:
    time.sleep(0.001)
"""
#: Runs a command; a signal before the command begins ends the process silently. The explicit handlers are needed
#: because shells let background processes ignore Ctrl-C.
DRIVER = """\
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
from clue.cli import main
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
"""
#: Gets SIGTERM while the terminal's modules load, in the middle of a class.
LOADING = """\
import dataclasses, os, signal, sys
from clue.cli import main
of_python = dataclasses.Field.__set_name__
def signalled(field, owner, name):
    if owner.__module__ == "rich.progress":
        os.kill(os.getpid(), signal.SIGTERM)
    of_python(field, owner, name)
dataclasses.Field.__set_name__ = signalled
sys.exit(main(["cache"]))
"""
#: Simulates for ever, in worker processes from the start.
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
    """Write a program that runs for long, and return the command that records it."""
    (folder / "prog.py").write_text(PROGRAM)
    return ["record", "-n", "2", "prog.py"]


def running(folder: Path) -> list[str]:
    """Write a program that runs for long, and return the command that runs it live."""
    (folder / "prog.py").write_text(PROGRAM)
    (folder / "four.yaml").write_text(MACHINE)
    return ["run", "-n", "2", "--machine", "four.yaml", "prog.py"]


def comparing(folder: Path) -> list[str]:
    """Write a comparison, and return the command that simulates its options in worker processes for ever."""
    write(folder)
    (folder / "driver.py").write_text(DRIVER.replace("from clue.cli", f"{WORKERS}from clue.cli"))
    return ["simulate", "s.yaml", "--workers", "2"]


def calibrating(_folder: Path) -> list[str]:
    """Return the command that measures this computer's network."""
    return ["calibrate", "network", "-o", "here.yaml"]


def repeating(folder: Path) -> list[str]:
    """Write a trace and its program, and return the command that records the program to compare processors."""
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
    """Return the command lines of marked processes, except zombies."""
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
    """Each signal goes to the command alone, as from ``kill`` and job systems; even SIGKILL leaves no process behind.

    One command for each signal, side by side, as they mostly wait.
    """
    find_mpiexec()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
    with ThreadPoolExecutor(len(numbers)) as threads:
        list(threads.map(lambda number: signalled(work, number, tmp_path / number.name), numbers))


def test_a_signal_while_modules_load_ends_a_command_as_later(tmp_path: Path) -> None:
    """Python turns what is raised while it makes a class into another exception (until 3.12)."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CLUE_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", LOADING]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGTERM, "clue: ended by SIGTERM\n")


def signalled(work: str, number: signal.Signals, folder: Path) -> None:
    """Run a command in a folder, send it a signal at a random moment, and check how it ends."""
    folder.mkdir()
    (folder / "driver.py").write_text(DRIVER)
    arguments = WORKS[work](folder)
    moment = Random(f"{SEED} {work} {number}").uniform(0.3, 3.0)
    environment = {
        **os.environ,
        # One work is enough that first compiles what ranks load.
        **({} if work == "record" else launching._compiled(os.environ)),
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
    # After SIGKILL, a worker that Python is starting may fail to find its input, and then prints a traceback.
    assert number == signal.SIGKILL or "Traceback" not in said, (number, said)
    assert within(30.0, lambda: not descendants(folder)), (number, descendants(folder))


def within(seconds: float, true: Callable[[], bool]) -> bool:
    """Return whether a condition becomes true within the given seconds."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
