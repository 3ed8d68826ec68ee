"""What is predicted and measured: programs with their sizes, and machines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clue.config import load_machine
from clue.machine import Machine

_HERE = Path(__file__).parents[1]
PROGRAMS = _HERE / "programs"
MACHINES = _HERE / "testbed" / "machines"


@dataclass(frozen=True, slots=True)
class Case:
    """A program of one size.

    Attributes:
        program: Its name.
        size: Its argument.
        smaller: A smaller size, to calibrate processors with.
    """

    program: str
    size: int
    smaller: int

    @property
    def script(self) -> Path:
        """The program's file."""
        return PROGRAMS / f"{self.program}.py"


#: Sizes for about a second on four processors that are a tenth of a core each: small enough for what a rank works on to
#: stay near its core (memory is shared with others on most computers; its speed changes by the minute), large enough
#: for few messages a second (each costs the computer that emulates the network some 30 us).
CASES = (
    Case("jacobi", 448, 360),
    Case("nbody", 2400, 1920),
    Case("cholesky", 1536, 1152),
    Case("lu", 1280, 960),
    Case("cg", 400, 320),
    Case("fft", 512, 384),
    Case("wavefront", 3200, 2400),
    Case("master_worker", 800, 600),
    Case("sparse", 32000, 24000),
)
QUICK_CASES = (Case("jacobi", 448, 360), Case("fft", 512, 384), Case("lu", 768, 576))

MACHINE_NAMES = (
    "4x100m", "fast-slow", "2x100m", "8x100m", "two-on-fast", "2x1g", "4x1g", "load-one", "load-all", "8x1g",
    "slow-link", "4x10m",
)  # fmt: skip
#: Where processors are calibrated.
CALIBRATION_MACHINE = "4x100m"
QUICK_MACHINES = ("2x100m", "4x100m", "fast-slow")


def machine(name: str) -> Machine:
    """Return one of the testbed's machines."""
    return load_machine(MACHINES / f"{name}.yaml")
