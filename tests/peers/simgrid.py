"""Running SimGrid's replay on a trace and a machine of clue, and what the two say of each rank's finish.

Two things differ in kind and are kept out of the machines here: SimGrid holds the sender of a rendezvous until the
transfer ends, and adds 16 B to every message. The constant network does not look at sizes; flows take them as delay.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clue.formats import simgrid_platform, write_ti
from clue.kernel import simulate
from clue.machine import Curve, Flows, Link, Machine, Network, NodeType
from clue.machine.topology import Switch
from clue.trace import Trace

#: Bytes that SimGrid adds to every message.
_ENVELOPE = 16
_LATENCY = 0.1
#: Times are stretched against recorded ones: SimGrid's clock has an absolute precision.
_STRETCH = 1000.0
_EVENTS = ("--log=root.fmt:%.12r%e%i%e%m%n", "--log=smpi_replay.thres:verbose")
_ALL_EAGER = ("--cfg=smpi/async-small-thresh:2000000000", "--cfg=smpi/send-is-detached-thresh:2000000000")


@dataclass(frozen=True)
class Setting:
    """A machine in clue's words, and what SimGrid needs beside the platform.

    Attributes:
        name: For tables.
        machine: The machine.
        options: Options of ``smpirun``; those of the platform if there are none.
        tolerance: Largest relative difference of a rank's finish.
    """

    name: str
    machine: Machine
    options: tuple[str, ...]
    tolerance: float


def is_here() -> bool:
    """Tell whether SimGrid's ``smpirun`` is installed."""
    return shutil.which("smpirun") is not None


def constant(ranks: int) -> Setting:
    """Return a network on which every message takes the same time.

    SimGrid's constant model ends a message when its remaining bytes, counted down in floating point, come to 0 within
    maxmin/precision × surf/precision; by default that is so small that messages may last until the next event.
    """
    link = Link(Curve.line(0.0), Curve.line(_LATENCY))
    options = (
        "--cfg=network/model:Constant",
        f"--cfg=network/latency-factor:{_LATENCY}",
        "--cfg=surf/precision:1e-7",
        "--cfg=maxmin/precision:1e-2",
        *_ALL_EAGER,
    )
    return Setting("constant", _machine(ranks, Network(link, link), _STRETCH), options, 1e-6)


def flows(ranks: int, bandwidth: float = 1e9, latency: float = 1e-5) -> Setting:
    """Return a switch whose links are shared max-min fairly."""
    travel = Curve.line(latency + _ENVELOPE / bandwidth, 1 / bandwidth)
    link = Link(Curve.line(0.0), travel)
    network = Network(link, link, contention=Flows(Switch(bandwidth)))
    machine = _machine(ranks, network, 1.0)
    options = (*simgrid_platform(machine).options, *_ALL_EAGER, "--cfg=surf/precision:1e-12")
    return Setting(f"flows, {bandwidth / 1e9:g} GB/s", machine, options, 0.05)


def _machine(ranks: int, network: Network, factor: float) -> Machine:
    return Machine("peer", (NodeType("host", performance_factor=factor),) * ranks, network)


def clue_finishes(trace: Trace, setting: Setting) -> list[float]:
    """Return each rank's finish in clue."""
    return [rank.finish for rank in simulate(trace, setting.machine, engine="reference").ranks]


def simgrid_finishes(trace: Trace, setting: Setting, folder: Path) -> list[float]:
    """Return the time of each rank's last action in SimGrid, collectives made of messages."""
    platform = simgrid_platform(setting.machine)
    xml = _without_links(platform.xml) if setting.name == "constant" else platform.xml
    files = {**write_ti(trace, "trace.ti", lower=True).files, "platform.xml": xml, "hosts": platform.hosts}
    for name, text in files.items():
        (folder / name).write_text(text)
    command = ["smpirun", "-np", str(trace.ranks), "-platform", "platform.xml", "-hostfile", "hosts", "-replay"]
    done = subprocess.run(
        [*command, "trace.ti", *setting.options, *_EVENTS], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"smpirun failed: {done.stderr[-2000:]}{done.stdout[-2000:]}")
    return _last_actions(done.stdout + done.stderr, trace.ranks)


def _without_links(xml: str) -> str:
    """Leave hosts only: SimGrid's constant model refuses links."""
    lines = [line for line in xml.splitlines() if "<link" not in line and "<host_link" not in line]
    return "\n".join(lines).replace('routing="Cluster"', 'routing="None"') + "\n"


def _last_actions(log: str, ranks: int) -> list[float]:
    finishes = [0.0] * ranks
    for line in log.splitlines():
        words = line.split()
        # Time, SimGrid's number of the process, and the action, which begins with its rank.
        if len(words) > 3 and words[1].isdecimal() and words[2].isdecimal() and int(words[1]) == int(words[2]) + 1:
            finishes[int(words[2])] = float(words[0])
    return finishes


def largest_difference(clue: Sequence[float], simgrid: Sequence[float]) -> float:
    """Return the largest difference of a rank's finish, as a share of the later makespan."""
    latest = max((*clue, *simgrid), default=0.0)
    return max((abs(a - b) for a, b in zip(clue, simgrid, strict=True)), default=0.0) / latest if latest else 0.0
