"""Start ``clue run``, and observe its processes from outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep, time

from benchmarks.page import ROOT

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Live:
    """A program to run live.

    Attributes:
        program: Its file, relative to the programs of this folder.
        arguments: Its arguments.
        ranks: Number of ranks.
        machine: File in the machines of this folder.
        options: Further options of ``clue run``.
    """

    program: str
    arguments: tuple[str, ...] = ()
    ranks: int = 2
    machine: str = "many.yaml"
    options: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """The command line."""
        machine, program = FOLDER / "machines" / self.machine, FOLDER / "programs" / self.program
        options = ["-n", str(self.ranks), "--machine", str(machine), "--json", *self.options]
        return [sys.executable, "-m", "clue", "run", *options, str(program), *self.arguments]

    def output(self) -> str:
        """Run it and return what the program printed.

        Raises:
            RuntimeError: If it fails.
        """
        done = subprocess.run(
            self.command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(self.command)} ended with {done.returncode}: {done.stderr}")
        # With --json the program's own output goes to standard error.
        return done.stderr


def environment(**more: str) -> Mapping[str, str]:
    """Return the environment of a run from this checkout."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **more}


@dataclass(frozen=True, slots=True)
class Standing:
    """A run in which all ranks have met.

    Attributes:
        seconds: Time from the start of the command until the ranks have met.
        processes: Number of its processes.
        memory: Their memory, bytes, with shared pages counted once (proportional set size).
    """

    seconds: float
    processes: int
    memory: float


def stand(live: Live) -> Standing:
    """Run ``stand.py``, and measure its processes while all ranks are running.

    Raises:
        RuntimeError: If the ranks have not met within two minutes.
    """
    with _standing(live.command, 120.0) as (process, seconds):
        pids = list(family(process.pid))
        return Standing(seconds, len(pids), sum(map(proportional, pids)))


def stand_plainly() -> Standing:
    """Do the same with one plain process."""
    with _standing([sys.executable, str(FOLDER / "programs" / "stand.py")], 60.0) as (process, seconds):
        return Standing(seconds, 1, proportional(process.pid))


@contextmanager
def _standing(command: list[str], patience: float) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    with TemporaryDirectory() as scratch:
        started, begin = Path(scratch, "started"), time()
        process = subprocess.Popen(
            command, env=environment(STARTED=str(started)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            _await(started, process, patience)
            yield process, float(started.read_text()) - begin
            started.unlink()
            process.wait(patience)
        finally:
            process.kill()
            process.wait()


def _await(file: Path, process: subprocess.Popen[bytes], patience: float) -> None:
    end = monotonic() + patience
    while not file.exists():
        if process.poll() is not None or monotonic() > end:
            raise RuntimeError(f"{process.args!r} has not started its ranks, status {process.poll()}")
        sleep(0.01)


def family(pid: int) -> Iterator[int]:
    """Yield a process and all its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from family(int(child))


def proportional(pid: int) -> float:
    """Return a process's proportional set size, bytes: shared pages are divided among the processes that share them."""
    return 1024 * float(re.findall(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[0])
