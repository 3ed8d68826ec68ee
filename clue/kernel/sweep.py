"""Many machines at once: what a program takes on each of them if messages alone couple its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.kernel.bounds import computation_bound
from clue.kernel.program import Program
from clue.machine import Machine, Placement


@dataclass(frozen=True, slots=True)
class Candidate:
    """A machine with a program's ranks placed on it.

    Attributes:
        machine: Where.
        placement: Node of each rank of all instances, instance by instance.
        instances: Copies of the program side by side.
    """

    machine: Machine
    placement: Placement
    instances: int = 1


def contention_free(
    program: Program, candidates: Sequence[Candidate]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return a lower bound of the makespan on each candidate, and whether it is the makespan itself.

    Returns:
        Seconds, shape (candidates,), and a truth value each, same shape. A bound is the makespan, to the last bit,
        where nothing but messages couples the ranks: no contention, no shared processors, no changes over time.
    """
    bounds = [computation_bound(program, each.machine, each.placement) for each in candidates]
    return np.array(bounds), np.zeros(len(candidates), bool)
