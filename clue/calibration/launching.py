"""Start the measuring programs under mpiexec and read their output.

A program prints JSON lines: ``{"progress": words, "done": s, "total": s}`` any number of times, then ``{"result": …}``
or ``{"error": words}``. Other output, such as warnings of the launcher, goes into the error message if no result comes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from clue.children import ONE_THREAD, end, finding_clue, module_command, mpi_of, open_mpi_options, running
from clue.errors import ClueError, UsageError
from clue.progress import Reporter, silent

_PROGRAMS = "clue.calibration.programs"
#: A run is stopped after its requested duration times the first figure, plus the second figure in seconds.
_PATIENCE, _START = 2.0, 60.0
#: Placeholder of the number of ranks in a launcher's command line, for launchers without ``-n``.
_RANKS = "{ranks}"
#: A line of a measuring program after the number of its rank, as srun --label writes it.
_LABELLED = re.compile(r'\d+: \{"(progress|result|error)"')
#: A host's name or address; one that began with a hyphen would be an option.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}")


def one_thread() -> dict[str, str]:
    """Return the environment of a module of clue whose libraries use one thread: a machine's processor is one core."""
    return {**finding_clue(os.environ), **ONE_THREAD}


def launcher(mpiexec: Sequence[str], ranks: int, hosts: Sequence[str] = ()) -> list[str]:
    """Return the command line that starts a program on a number of ranks, round-robin over hosts if any are named.

    The options of the launchers of Open MPI and MPICH are known; for any other launcher (srun, a script), its own
    options must name the hosts. If a word contains ``{ranks}``, the number replaces it, and no option is added.

    Raises:
        UsageError: If it is not a command, a host has an invalid name, or hosts are named for an unknown launcher.
    """
    for host in hosts:
        _check_host(host)
    if not mpiexec or shutil.which(mpiexec[0]) is None:
        got = " ".join(mpiexec) or "nothing"
        raise UsageError(f"mpiexec must be a command that can be run, got {got}")
    if any(_RANKS in word for word in mpiexec):
        if hosts:
            raise UsageError(f"mpiexec with {_RANKS} must name hosts by its own options, got a list of hosts")
        return [word.replace(_RANKS, str(ranks)) for word in mpiexec]
    kind = mpi_of(mpiexec[0])
    words = [*mpiexec]
    if kind == "openmpi":
        words += open_mpi_options()
        words += ["--map-by", "node", "--host", ",".join(f"{host}:{ranks}" for host in hosts)] if hosts else []
    elif kind == "hydra":
        # A list of hosts with as many entries as ranks.
        listed = [hosts[rank % len(hosts)] for rank in range(ranks)] if hosts else []
        words += ["-ppn", "1", "-hosts", ",".join(listed)] if hosts else []
    elif hosts:
        raise UsageError(
            f'{mpiexec[0]}: hosts must be named by the launcher\'s own options (--mpiexec "{mpiexec[0]} …"), '
            "as clue does not know this launcher"
        )
    return [*words, "-n", str(ranks)]


def _check_host(host: str) -> None:
    """Check a host's name: launchers pass it to ssh and to shells, which interpret more than names."""
    if not _HOST.fullmatch(host):
        raise UsageError(f"hosts must be names of letters, digits, dots, hyphens and underscores, got {host!r}")


def run_program(
    command: Sequence[str], program: str, settings: object, seconds: float, report: Reporter = silent
) -> dict[str, Any]:
    """Run a measuring program and return its result.

    Args:
        command: Command line that starts it, up to the Python interpreter.
        program: Name of a module of :mod:`clue.calibration.programs`.
        settings: Passed to it as JSON.
        seconds: Its expected duration; it is stopped if it takes much longer.
        report: Called with its progress.

    Raises:
        ClueError: If it fails or prints no result.
    """
    words = [*command, *module_command(f"{_PROGRAMS}.{program}"), json.dumps(settings)]
    with running(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        encoding="utf-8", errors="replace", env=one_thread(),
    ) as process:  # fmt: skip
        alarm = threading.Timer(seconds * _PATIENCE + _START, end, (process,))
        alarm.start()
        try:
            result, others = _read(process, report)
            process.wait()
        finally:
            alarm.cancel()
    if result is None:
        if any(map(_LABELLED.match, others)):
            raise ClueError(
                f"{' '.join(command)}: launcher must print what ranks print, got lines with numbers of ranks before "
                "them: leave out srun's --label, and do not set SLURM_LABELIO"
            )
        last = " | ".join([*dict.fromkeys(others)][-5:]) or f"exit status {process.returncode}"
        raise ClueError(f"{' '.join(command) or program}: measurement must end with a result, got none: {last}")
    return result


def _read(process: subprocess.Popen[str], report: Reporter) -> tuple[dict[str, Any] | None, list[str]]:
    result, others = None, []
    for line in _lines(process):
        found = _parsed(line)
        if "progress" in found:
            report(str(found["progress"]), int(found.get("done", 0)), int(found.get("total", 0)))
        elif "result" in found:
            result = found["result"]
        elif "error" in found:
            others.append(str(found["error"]))
        elif line.strip():
            others.append(line.strip())
    return result, others


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    yield from process.stdout


def _parsed(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
