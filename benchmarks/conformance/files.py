"""Run files of mpi4py's tests on a number of ranks, with a real MPI library or live, to the end of each file.

A test that ends the whole run (a deadlock, a crash) prevents the tests after it from running, so the rest of the file
is run again without it, until every test has run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clue.recording import find_mpiexec
from virtual_layer.programs import settings

ROOT = Path(__file__).resolve().parents[2]
MACHINE = Path(__file__).with_name("machine.yaml")
_ONE_FILE = Path(__file__).with_name("one_file.py")
#: Largest number of restarts of a file.
_ROUNDS = 40
#: Longest time of a rank between MPI calls, seconds.
_LIMIT = 60


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one test, on all ranks together: ``passed``, ``skipped``, ``failed`` or ``ended`` (the run)."""

    test: str
    outcome: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run programs.

    Attributes:
        name: Its name in tables and file names.
        live: Whether it uses ``clue run``.
        timeout: Longest time of a file, seconds.
    """

    name: str
    live: bool
    timeout: float

    def command(self, ranks: int, program: Sequence[str]) -> list[str]:
        """Return the command that starts a program (its file first) on a number of ranks."""
        if not self.live:
            return [find_mpiexec(), "-n", str(ranks), sys.executable, *program]
        options = ["-n", str(ranks), "--machine", str(MACHINE), "--placement", "cyclic", "--limit", str(_LIMIT)]
        return [sys.executable, "-m", "clue", "run", *options, *program]


REAL, LIVE = Way("mpiexec", False, 300.0), Way("clue run", True, 600.0)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run: its exit status (``None``: it ran out of time), and its whole output."""

    status: int | None
    output: str

    @property
    def why(self) -> str:
        """The line of output that gives the reason, if there is one."""
        if self.status is None:
            return "ran out of time"
        said = [line.strip() for line in self.output.splitlines() if line.strip()]
        of_clue = [line.removeprefix("clue: ") for line in said if line.startswith("clue: ")]
        return (of_clue or said or [f"exit status {self.status}"])[-1][:300]


def start(way: Way, ranks: int, program: Sequence[str], *, folder: Path | None = None) -> RunEnd:
    """Run a program on a number of ranks, without standard input, and keep its output."""
    environment = {**os.environ, **settings(os.environ), "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    process = subprocess.Popen(
        way.command(ranks, program), cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=way.timeout)
    except BaseException as error:
        # In a session of its own, the program does not receive Ctrl-C.
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0]
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return RunEnd(None, output)
    return RunEnd(process.returncode, output)


@dataclass(slots=True)
class _File:
    """The tests of a file, and their outcomes so far."""

    tests: list[str] = field(default_factory=list)
    known: dict[str, Verdict] = field(default_factory=dict)

    @property
    def left(self) -> list[str]:
        return [test for test in self.tests if test not in self.known]


def run_file(way: Way, ranks: int, tests: Path, module: str) -> list[Verdict]:
    """Run all tests of a file; return their outcomes in the file's order."""
    file = _File()
    for _ in range(_ROUNDS):
        with tempfile.TemporaryDirectory() as scratch:
            notes = Path(scratch)
            chosen = [_written(notes / "chosen.json", file.left)] if file.tests else []
            ending = start(way, ranks, [str(_ONE_FILE), str(tests), module, str(notes), *chosen], folder=tests)
            read = [_notes(notes / f"{rank}.jsonl") for rank in range(ranks)]
        if not _take(file, read, ending) or not file.left:
            break
    why = "not reached" if file.tests else ending.why
    for test in file.left or [] if file.tests else [f"{module}.all"]:
        file.known[test] = Verdict(test, "ended", why)
    return [file.known[test] for test in dict.fromkeys([*file.tests, *file.known])]


def _written(path: Path, tests: Sequence[str]) -> str:
    path.write_text(json.dumps(tests))
    return str(path)


def _notes(path: Path) -> tuple[list[str], dict[str, tuple[str, str]]]:
    """Read a rank's notes: the tests of the file, and the latest outcome of each."""
    lines = path.read_text().splitlines() if path.exists() else []
    if not lines:
        return [], {}
    last = {}
    for line in lines[1:]:
        try:
            test, outcome, why = json.loads(line)
        except ValueError:
            continue  # cut short
        last[test] = (outcome, why)
    return json.loads(lines[0]), last


def _take(file: _File, read: Sequence[tuple[list[str], dict[str, tuple[str, str]]]], ending: RunEnd) -> bool:
    """Add the outcomes of a round; return whether there are any."""
    before = len(file.known)
    file.tests = file.tests or max((tests for tests, _ in read), key=len)
    ranks = [last for _, last in read]
    for test in dict.fromkeys(test for last in ranks for test in last):
        found = [last.get(test, ("began", "")) for last in ranks]
        if all(outcome != "began" for outcome, _ in found):
            file.known[test] = _together(test, found)
        else:
            # The first test that did not finish ended the run; the tests after it are tried again.
            file.known[test] = Verdict(test, "ended", _failure(found) or ending.why)
            break
    return len(file.known) > before


def _together(test: str, found: Sequence[tuple[str, str]]) -> Verdict:
    outcomes = {outcome for outcome, _ in found}
    if "failed" in outcomes:
        return Verdict(test, "failed", _failure(found))
    return Verdict(test, "skipped" if outcomes == {"skipped"} else "passed", "")


def _failure(found: Sequence[tuple[str, str]]) -> str:
    return next((f"rank {rank}: {why}" for rank, (outcome, why) in enumerate(found) if outcome == "failed"), "")
