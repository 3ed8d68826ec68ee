"""The cases: programs, the sizes of their targets, and machines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clue.config import load_machine
from clue.machine import Machine

_HERE = Path(__file__).parent
_PROGRAMS, _SCENARIOS = _HERE.parent / "programs", _HERE.parents[2] / "scenarios" / "programs"
#: Ranks of all targets: four times those of the largest recordings.
RANKS = 64
MACHINES = ("m100", "m1g", "mib")


@dataclass(frozen=True, slots=True)
class Target:
    """A program at the size that is predicted.

    Attributes:
        script: The program's file.
        size: The problem size: twice that of the largest recordings.
        arguments: The program's arguments; ``{size}`` stands for the size.
        ranks: The number of ranks.
    """

    script: Path
    size: int
    arguments: tuple[str, ...] = ("{size}",)
    ranks: int = RANKS

    @property
    def name(self) -> str:
        """The program's name."""
        return self.script.stem


def _shipped(name: str, size: int, *more: str) -> Target:
    return Target(_SCENARIOS / f"{name}.py", size, ("--n", "{size}", *more))


#: Targets whose recordings take seconds on two cores.
TARGETS = (
    Target(_PROGRAMS / "jacobi.py", 1024),
    Target(_PROGRAMS / "cg.py", 768),
    Target(_PROGRAMS / "cholesky.py", 1536),
    Target(_PROGRAMS / "lu.py", 1536),
    Target(_PROGRAMS / "fft.py", 512),
    Target(_PROGRAMS / "nbody.py", 4096),
    Target(_PROGRAMS / "wavefront.py", 4096),
    Target(_PROGRAMS / "halo3d.py", 128),
    Target(_PROGRAMS / "multigrid.py", 1024),
    Target(_PROGRAMS / "sparse.py", 16384),
    Target(_PROGRAMS / "master_worker.py", 320),
    _shipped("tridiagonalisation", 512),
)


def machine(name: str) -> Machine:
    """Return the named machine; it has one processor for each rank."""
    return load_machine(_HERE / "machines" / f"{name}.yaml")
