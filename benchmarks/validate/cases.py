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
    """

    program: str
    size: int

    @property
    def script(self) -> Path:
        """The program's file."""
        return PROGRAMS / f"{self.program}.py"


#: Sizes for a second or some on four processors that are a tenth of a core each.
CASES = (
    Case("jacobi", 1200),
    Case("nbody", 2400),
    Case("cholesky", 1536),
    Case("lu", 1280),
    Case("cg", 1000),
    Case("fft", 768),
    Case("wavefront", 3200),
    Case("master_worker", 800),
    Case("sparse", 80000),
)
QUICK_CASES = (Case("jacobi", 600), Case("fft", 512), Case("lu", 768))

MACHINE_NAMES = (
    "2x100m", "4x100m", "8x100m", "2x1g", "4x1g", "8x1g", "4x10m", "fast-slow", "slow-link", "two-on-fast", "load-one",
    "load-all",
)  # fmt: skip
QUICK_MACHINES = ("2x100m", "4x100m", "fast-slow")


def machine(name: str) -> Machine:
    """Return one of the testbed's machines."""
    return load_machine(MACHINES / f"{name}.yaml")
