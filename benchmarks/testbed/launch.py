"""Running programs on a testbed: MPICH's own launcher, with :mod:`benchmarks.testbed.entry` in place of ssh."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from benchmarks.testbed import cluster, compiled
from benchmarks.testbed.description import Host
from clue.errors import RecordError
from clue.recording import find_mpiexec

#: Runs a Python program so that the figures of a whole run end with its own code: ``PROGRAM FILE …``.
PROGRAM = Path(__file__).with_name("program.py")


@dataclass(frozen=True, slots=True)
class RankFigures:
    """The activity of a rank's processor.

    Attributes:
        bursts: Number of bursts between MPI calls.
        burst_cpu: CPU time of all bursts, seconds of a core of this computer at its best; on processors of another
            kind, including the effect of that kind.
        burst_wall: Their elapsed time on the host, seconds.
        late: Excess of that time because this computer had no free core, seconds.
        lates: Number of late bursts.
        mpi_wall: Time in MPI calls, seconds.
        mpi_cpu: CPU time in them, seconds.
        delayed: Part of that time in which the rank was runnable, but this computer had no free core, seconds.
        began: Start of the period that the figures cover: the first barrier or, if the whole run is covered, the
            end of MPI's initialisation; seconds of a clock that all ranks share.
        ended: End of that period: of the section, of the code of a program run by :data:`PROGRAM`, or of the
            computation before MPI's finalisation.
        speed: Mean speed of its core while it ran, relative to the core's best, apart from interrupts and switches
            between processes; 1 if it is not paced.
        interrupted: Time for which the kernel's work for the network interrupted bursts, seconds, which is not part of
            ``burst_cpu``; ``None`` if it cannot be measured here, and is part of it.
    """

    bursts: int
    burst_cpu: float
    burst_wall: float
    late: float
    lates: int
    mpi_wall: float
    mpi_cpu: float
    delayed: float
    began: float
    ended: float
    speed: float
    interrupted: float | None


@dataclass(frozen=True, slots=True)
class RunOutput:
    """The results of a run.

    Attributes:
        output: Its output.
        ranks: Figures by rank; empty if ranks are not paced.
    """

    output: str
    ranks: tuple[RankFigures, ...]

    @property
    def seconds(self) -> float:
        """Time from when the first rank began until the last one ended the period that the figures cover."""
        return max(rank.ended for rank in self.ranks) - min(rank.began for rank in self.ranks)

    @property
    def speed(self) -> float:
        """Mean speed of the slowest rank's core, relative to its best."""
        return min(rank.speed for rank in self.ranks)


@contextmanager
def standing(name: str, hosts: Sequence[Host]) -> Iterator[str]:
    """Keep a testbed up for the duration of a block: it is removed afterwards, even if this process is killed.

    Yields its name, which is unique, so that several testbeds of one machine can be up at the same time.

    Raises:
        UsageError: If it cannot be built.
    """
    name = f"{name}_{os.getpid()}"
    guardian = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.testbed.guard", name],
        cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert guardian.stdin is not None
    try:
        cluster.build(name, hosts)
        yield name
    finally:
        guardian.stdin.close()  # It waits for the end of its input; the pipe of a killed process is closed as well.
        guardian.wait()


def run(
    name: str,
    placement: Sequence[Host],
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    timeout: float = 600.0,
    rehearsed: bool = True,
) -> RunOutput:
    """Run a command under mpiexec on a testbed that is up.

    Args:
        name: Name of the testbed.
        placement: The host of each rank.
        command: The command of every rank.
        environment: Variables in addition to those of this process.
        timeout: Time after which it is ended, seconds.
        rehearsed: Whether the program was written to be measured: its figures cover the section between its first two
            barriers (with a single one, what follows it; without any, the whole run), and it keeps freed memory.
            Otherwise they cover the whole run, from MPI's initialisation to its finalisation, and memory is managed as
            the system does by default.

    Raises:
        RecordError: If the command fails or takes too long.
    """
    with tempfile.TemporaryDirectory() as figures:
        places = [f"{host.address}:{len(list(group))}" for host, group in groupby(placement)]
        words = [
            str(mpiexec_of(name, rehearsed=rehearsed)),
            "-hosts",
            ",".join(places),
            "-n",
            str(len(placement)),
            *command,
        ]
        settings = {**os.environ, **(environment or {}), "CLUE_TESTBED_FIGURES": figures}
        settings["CLUE_TESTBED_WHOLE"] = str(int(not rehearsed))
        output = _finish(words, settings, timeout)
        return RunOutput(output, tuple(_figures(Path(figures), len(placement))))


def mpiexec_of(name: str, *, rehearsed: bool = True) -> Path:
    """Return a command that starts MPI programs on a testbed that is up, to be used like mpiexec.

    Without options for hosts, its ranks run on the switch. The programs have one thread and the pace of their host. All
    ranks use TCP, including those of one host unless hosts share memory. Rehearsed programs keep freed memory.
    """
    command = cluster.state_file(name).with_suffix(".mpiexec" if rehearsed else ".plain-mpiexec")
    launcher = (
        f"-launcher ssh -launcher-exec {shlex.quote(str(_agent(name)))} -iface bridge -disable-hostname-propagation"
    )
    settings = {**_SETTINGS, **(KEPT_MEMORY if rehearsed else {}), "LD_PRELOAD": str(compiled.library("pace.c"))}
    settings["MPIR_CVAR_NOLOCAL"] = str(int(not cluster.shares_memory(name)))
    variables = " ".join(f"-genv {key} {shlex.quote(value)}" for key, value in settings.items())
    entry = shlex.join([*cluster.entry_command(name), cluster.SWITCH, "--exec", find_mpiexec()])
    return _script(command, f"{entry} {launcher} -genvall {variables}")


#: Variables that make MPICH use TCP between hosts, and libraries use one thread. Of its TCP transports, only
#: libfabric's own fully uses both directions of a link. (With UCX, and with libfabric's ofi_rxm, the only one with
#: eager messages as in textbooks, a large alltoall reaches half the bandwidth.)
_SETTINGS = {
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
#: Processes keep freed memory. Otherwise the rest of the heap, which differs from that of a recording, would determine
#: whether a burst gets new pages from the kernel.
KEPT_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TRIM_THRESHOLD_": "1073741824",
}


def _agent(name: str) -> Path:
    """Return a program that MPI's launcher can call in place of ssh."""
    return _script(cluster.state_file(name).with_suffix(".ssh"), shlex.join(cluster.entry_command(name)))


def _script(file: Path, command: str) -> Path:
    """Write a shell script that runs a command with its own arguments appended.

    Another process writes it. If this one did, a process that another thread starts meanwhile would inherit the open
    file, and the script could not be executed until that process executes its own program ("Text file busy").
    """
    text = f'#!/bin/sh\nexec {command} "$@"\n'
    subprocess.run(["install", "--mode=755", "/dev/stdin", str(file)], input=text, text=True, check=True)
    return file


def _finish(words: Sequence[str], settings: Mapping[str, str], timeout: float) -> str:
    process = subprocess.Popen(
        words, env=dict(settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        said = _stop(process)[-2000:] or "no output"
        raise RecordError(f"testbed: program must end within {timeout:g} s, it was stopped: {said}") from None
    finally:
        _stop(process)
    if process.returncode:
        raise RecordError(f"testbed: program must end well, got exit status {process.returncode}: {output[-2000:]}")
    return output


def _stop(process: subprocess.Popen[str]) -> str:
    """End mpiexec if it still runs: when interrupted, it ends its ranks, and they end when it is gone.

    Returns its output so far, or ``""`` if it had ended.
    """
    output = ""
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, number)
                output, _ = process.communicate(timeout=5)
    return output


def _figures(folder: Path, ranks: int) -> Iterator[RankFigures]:
    for rank in range(ranks):
        file = folder / f"{rank}.json"
        if file.exists():
            yield RankFigures(**json.loads(file.read_text()))
