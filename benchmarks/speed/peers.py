"""The simulators that clue is compared with: their inputs, command lines and outputs.

Both run as programs of their own. The processor time of a start with the same ranks and an empty program is subtracted
from that of each run.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import run
from benchmarks.speed.inputs import write_goal, write_ti
from benchmarks.speed.settings import FLOWS, LATENCY, LEAF, UPLINKS, ContentionKind, NetworkSetting, leaves
from benchmarks.speed.workloads import BenchProgram, nothing


@dataclass(frozen=True, slots=True)
class ReplayTime:
    """Times and memory of a replay of a workload.

    Attributes:
        seconds: Processor time of the replay alone.
        preparation: Processor time before it: of a start with an empty program, or of reading the trace.
        peak: Peak resident memory, bytes.
        makespan: Predicted makespan, seconds.
        beyond: Memory beyond the mapped trace, bytes, if known.
        again: Processor time of a second replay of the same compiled program; 0 if unknown.
    """

    seconds: float
    preparation: float
    peak: int
    makespan: float
    beyond: int = 0
    again: float = 0.0


class PeerSimulator(ABC):
    """Another simulator."""

    name: str
    #: Its description in a report.
    description: str

    def __init__(self) -> None:
        self._starts: dict[tuple[NetworkSetting, int], float] = {}

    @abstractmethod
    def covers(self, setting: NetworkSetting) -> bool:
        """Return whether it can simulate this network, or one close enough to compare."""

    @abstractmethod
    def prepare(self, workload: BenchProgram, folder: Path) -> None:
        """Write the workload in its input format."""

    @abstractmethod
    def command(self, folder: Path, setting: NetworkSetting, ranks: int) -> list[str]:
        """Return the command that replays the prepared workload in a folder."""

    @abstractmethod
    def makespan(self, output: str) -> float:
        """Return the predicted makespan from its output, seconds."""

    def replay(self, workload: BenchProgram, folder: Path, setting: NetworkSetting) -> ReplayTime:
        """Replay the prepared workload in a folder."""
        ranks = workload.trace.ranks
        used = run(self.command(folder, setting, ranks), folder)
        start = self._start(folder.parent, setting, ranks)
        return ReplayTime(max(used.seconds - start, 1e-3), start, used.peak, self.makespan(used.output))

    def _start(self, folder: Path, setting: NetworkSetting, ranks: int) -> float:
        """Return the processor time of a start with an empty program; measured once."""
        if (setting, ranks) not in self._starts:
            idle = folder / f"nothing-{ranks}"
            idle.mkdir(exist_ok=True)
            self.prepare(nothing(ranks), idle)
            command = self.command(idle, setting, ranks)
            self._starts[setting, ranks] = min(run(command, idle).seconds for _ in range(3))
        return self._starts[setting, ranks]


class LogGOPSim(PeerSimulator):
    """LogGOPSim (Hoefler, Schneider, Lumsdaine 2010): a message costs its latency and its bytes at both ends' ports."""

    name = "LogGOPSim"

    def __init__(self, program: Path) -> None:
        super().__init__()
        self._program = program.resolve()
        self.description = "LogGOPSim, built from its source with -O3, on binary schedules of the same messages"

    def covers(self, setting: NetworkSetting) -> bool:  # noqa: D102 - see Peer
        # LogGOPSim's parameters are whole nanoseconds; at 12.5 GB/s a byte takes less.
        return setting.model is ContentionKind.NONE and setting.bandwidth == 1e9

    def prepare(self, workload: BenchProgram, folder: Path) -> None:  # noqa: D102 - see Peer
        write_goal(workload, folder / "schedule.bin")

    def command(self, folder: Path, setting: NetworkSetting, ranks: int) -> list[str]:  # noqa: ARG002, D102 - see Peer
        per_byte, eager = round(1e9 / setting.bandwidth), (1 << 31) - 1
        parameters = {"L": round(LATENCY * 1e9), "o": 0, "g": 0, "G": per_byte, "O": 0, "S": eager}
        return [
            str(self._program), "-b", "-f", str(folder / "schedule.bin"),
            *(text for name, value in parameters.items() for text in (f"-{name}", str(value))),
        ]  # fmt: skip

    def makespan(self, output: str) -> float:  # noqa: D102 - see Peer
        return int(re.findall(r"Maximum finishing time at host \d+: (\d+)", output)[0]) * 1e-9


class SimGrid(PeerSimulator):
    """SimGrid's replay of time-independent traces, flow model: links are shared max-min fairly."""

    name = "SimGrid"
    #: SimGrid's own flow model without corrections for real TCP. Messages of any size leave their buffer at once, and
    #: travel at once, like eager messages; by default their bytes wait until the receive is posted.
    OPTIONS = (
        "--cfg=network/model:CM02",
        "--cfg=network/bandwidth-factor:1",
        "--cfg=network/latency-factor:1",
        "--cfg=network/crosstraffic:0",
        "--cfg=smpi/send-is-detached-thresh:2000000000",
        "--cfg=smpi/async-small-thresh:2000000000",
        "--cfg=smpi/host-speed:1f",
        "--log=xbt_cfg.thresh:warning",
    )

    def __init__(self) -> None:
        super().__init__()
        said = subprocess.run(["smpirun", "-version"], capture_output=True, text=True, check=True).stdout
        version = said.replace("SimGrid version", "").strip()
        self.description = f"SimGrid {version}, `smpirun -replay` {' '.join(self.OPTIONS)}"

    @classmethod
    def is_installed(cls) -> bool:
        """Return whether its programs are installed."""
        return shutil.which("smpirun") is not None

    def covers(self, setting: NetworkSetting) -> bool:  # noqa: D102 - see Peer
        return setting.model in FLOWS

    def prepare(self, workload: BenchProgram, folder: Path) -> None:  # noqa: D102 - see Peer
        write_ti(workload, folder)
        (folder / "hosts").write_text("".join(f"n{rank}\n" for rank in range(workload.trace.ranks)))

    def command(self, folder: Path, setting: NetworkSetting, ranks: int) -> list[str]:  # noqa: D102 - see Peer
        platform = folder / f"{setting.model.name}-{setting.bandwidth:g}.xml"
        platform.write_text(_platform(setting, ranks))
        return [
            "smpirun", "-np", str(ranks), "-platform", str(platform), "-hostfile", str(folder / "hosts"),
            "-replay", str(folder / "ranks"), *self.OPTIONS,
        ]  # fmt: skip

    def makespan(self, output: str) -> float:  # noqa: D102 - see Peer
        return float(re.findall(r"Simulation time ([\d.]+)", output)[0])


def _platform(setting: NetworkSetting, ranks: int) -> str:
    """Describe a machine of ``settings`` to SimGrid. A message to another leaf of a fat tree crosses four links."""
    if setting.model is ContentionKind.FAT_TREE:
        tree = f'topology="FAT_TREE" topo_parameters="2;{LEAF},{leaves(ranks)};1,{UPLINKS};1,1"'
        hosts, latency = LEAF * leaves(ranks), LATENCY / 4
    else:
        tree, hosts, latency = "", ranks, LATENCY / 2
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="n" suffix="" radical="0-{hosts - 1}" speed="1Gf" bw="{setting.bandwidth!r}Bps"
           lat="{latency * 1e6!r}us" sharing_policy="SPLITDUPLEX" {tree}/>
</platform>
"""


def installed(loggopsim: Path | None) -> list[PeerSimulator]:
    """Return the peers that are installed.

    Args:
        loggopsim: Path of the LogGOPSim program that the user has built.
    """
    found: list[PeerSimulator] = [LogGOPSim(loggopsim)] if loggopsim is not None else []
    return [*found, SimGrid()] if SimGrid.is_installed() else found
