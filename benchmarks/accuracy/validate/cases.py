"""The cases: programs with their sizes, and machines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.page import ROOT
from clue.config import load_machine
from clue.machine import Machine

PROGRAMS = Path(__file__).parents[1] / "programs"
MACHINES = ROOT / "benchmarks" / "testbed" / "machines"


@dataclass(frozen=True, slots=True)
class SizedProgram:
    """A program of one size.

    Attributes:
        program: Its name.
        size: Its argument.
        smaller: A smaller size, for the calibration of processors.
        decides: Whether its control flow depends on arrival order, so that it is run live in virtual time.
    """

    program: str
    size: int
    smaller: int
    decides: bool = False

    @property
    def script(self) -> Path:
        """The program's file."""
        return PROGRAMS / f"{self.program}.py"

    @property
    def command(self) -> list[str]:
        """The program with its size."""
        return [str(self.script), str(self.size)]


#: Sizes for about half a second on four processors that are a tenth of a core each. The working set of the ranks on one
#: core is small enough to stay in its cache (larger caches are shared with others on most computers, and their speed
#: changes by the minute). Bursts take a millisecond of CPU time or more if possible: after each message a rank finds
#: its caches cold, which costs a tenth of that, and a message costs this computer about 30 us.
CASES = (
    SizedProgram("jacobi", 256, 192),
    SizedProgram("nbody", 1920, 1440),
    SizedProgram("cholesky", 768, 576),
    SizedProgram("lu", 512, 384),
    SizedProgram("cg", 160, 128),
    SizedProgram("fft", 192, 128),
    SizedProgram("wavefront", 3200, 2400),
    SizedProgram("master_worker", 200, 160, decides=True),
    SizedProgram("sparse", 8000, 6000),
)
QUICK_CASES = (SizedProgram("jacobi", 256, 192), SizedProgram("fft", 192, 128), SizedProgram("lu", 448, 320))

#: The machine on which recordings are made.
RECORDING_MACHINE = "recorder"
MACHINE_NAMES = (
    "4x100m", "8x100m", "2x100m", "fast-slow", "two-on-fast", "4x1g", "8x1g", "slow-link", RECORDING_MACHINE, "2x1g",
    "4x10m", "load-one", "load-all",
)  # fmt: skip
#: Machines on which processors are calibrated. A calibration is used for machines with equally fast links and the most
#: similar slowest processors: the longer a rank waits, and the more others use its core, the colder its caches are.
CALIBRATION_MACHINES = ("4x100m", "8x100m", "4x1g", "8x1g", "4x10m", RECORDING_MACHINE)
QUICK_MACHINES = ("2x100m", "4x100m", "fast-slow")


def machine(name: str) -> Machine:
    """Return the named machine of the testbed."""
    return load_machine(MACHINES / f"{name}.yaml")
