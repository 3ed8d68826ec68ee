"""The result that an engine returns to the front of the kernel: figures, and the data for the warnings beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.kernel.model.observation import Observation


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """One replay, whichever engine made it.

    Attributes:
        engine: Its name.
        finish: Virtual time at which each rank ended, seconds, shape (ranks of all instances,).
        compute: Computation time of each rank, seconds, same shape.
        communicate: Processor time that each rank spent on messages, seconds, same shape.
        by_region: Computation time by region, summed over ranks, seconds, shape (regions,).
        wildcards: Number of wildcard receives that would have matched another message, and of all wildcard receives.
        left_over: Messages that no receive took.
        seen: What was collected on the way.
    """

    engine: str
    finish: npt.NDArray[np.float64]
    compute: npt.NDArray[np.float64]
    communicate: npt.NDArray[np.float64]
    by_region: npt.NDArray[np.float64]
    wildcards: tuple[int, int]
    left_over: int
    seen: Observation
