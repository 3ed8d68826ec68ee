"""Replay a trace on a machine in SimGrid and in clue, and compare the finish time of each rank.

Both replay the same time-independent traces: clue reads back what it wrote for SimGrid. SimGrid adds 16 B to every
message; so do the traces that clue replays here, wherever sizes matter.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from clue.formats.ti_actions import FLOPS_PER_SECOND
from clue.formats.ti_reading import read_ti
from clue.formats.ti_writing import write_ti
from clue.kernel import simulate
from clue.machine import Machine
from clue.trace import Op, Trace

#: Bytes that SimGrid adds to every message.
_ENVELOPE = 16
_EVENTS = ("--log=root.fmt:%.12r%e%i%e%m%n", "--log=smpi_replay.thres:verbose")


@dataclass(frozen=True)
class Setting:
    """A machine in the terms of both simulators.

    Attributes:
        name: Name in the tables.
        machine: clue's machine.
        xml: SimGrid's platform.
        hosts: SimGrid's list of hosts, by rank.
        options: Options of ``smpirun``.
        sized: Whether the size of a message matters.
        tolerance: Largest difference of a rank's finish, as a share of the makespan.
    """

    name: str
    machine: Machine
    xml: str
    hosts: str
    options: tuple[str, ...]
    sized: bool = True
    tolerance: float = 1e-6


def is_here() -> bool:
    """Return whether SimGrid's ``smpirun`` is installed."""
    return shutil.which("smpirun") is not None


def difference(trace: Trace, setting: Setting, folder: Path) -> float:
    """Return the largest difference of a rank's finish time, as a share of the later makespan."""
    files = {**write_ti(trace, "trace.ti", lower=True).files, "platform.xml": setting.xml, "hosts": setting.hosts}
    for name, text in files.items():
        (folder / name).write_text(text)
    if setting.sized:
        trace = _with_envelopes(read_ti(folder / "trace.ti", flops_per_second=FLOPS_PER_SECOND).trace)
    return _largest_difference(_clue(trace, setting), _simgrid(trace.ranks, setting, folder))


def _with_envelopes(trace: Trace) -> Trace:
    ops = trace.ops
    sends = np.isin(ops.op, [Op.SEND, Op.ISEND])
    return replace(trace, ops=replace(ops, nbytes=np.where(sends, ops.nbytes + _ENVELOPE, ops.nbytes)))


def _clue(trace: Trace, setting: Setting) -> list[float]:
    return [rank.finish for rank in simulate(trace, setting.machine, engine="reference").ranks]


def _simgrid(ranks: int, setting: Setting, folder: Path) -> list[float]:
    command = ["smpirun", "-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts", "-replay", "trace.ti"]
    done = subprocess.run(
        [*command, *setting.options, *_EVENTS], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"smpirun failed: {done.stderr[-2000:]}{done.stdout[-2000:]}")
    return _last_actions(done.stdout + done.stderr, ranks)


def _last_actions(log: str, ranks: int) -> list[float]:
    """Return the time of each rank's last action."""
    finishes = [0.0] * ranks
    for line in log.splitlines():
        words = line.split()
        # A line has the time, SimGrid's process number, and the action, which begins with its rank.
        if len(words) > 3 and words[1].isdecimal() and words[2].isdecimal() and int(words[1]) == int(words[2]) + 1:
            finishes[int(words[2])] = float(words[0])
    return finishes


def _largest_difference(clue: Sequence[float], simgrid: Sequence[float]) -> float:
    latest = max((*clue, *simgrid), default=0.0)
    return max((abs(a - b) for a, b in zip(clue, simgrid, strict=True)), default=0.0) / latest if latest else 0.0
