"""What a simulation collects on its way, if asked to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.kernel.model.history import History, Who
from clue.result import Calls

#: Rank, activity, region, site, begin, end.
Segment = tuple[int, int, int, int, float, float]


@dataclass(slots=True)
class Observation:
    """What a simulation collects beyond finish times, if asked to.

    Attributes:
        segments: Timeline entries (rank, activity, region, site, begin, end), or ``None`` if not
            wanted.
        messages: Messages by sender and receiver, or ``None``.
        nbytes: Bytes by sender and receiver, or ``None``.
        histories: What every actor did step by step, for the critical path, or ``None``; the reference engine only.
        sent: Bytes of messages by the sender's call site, or ``None``; the reference engine only.
        keeps_calls: Whether to keep when each call was made; the reference engine only.
        calls: The times of the calls, once the ranks are done.
        most_simultaneous: Most communications under way at once, where contention is modelled.
        left_over: Messages that no receive took, where a program in loops was replayed.
    """

    segments: list[Segment] | None = None
    messages: npt.NDArray[np.int64] | None = None
    nbytes: npt.NDArray[np.int64] | None = None
    histories: dict[Who, History] | None = None
    sent: Counter[int] | None = None
    keeps_calls: bool = False
    calls: Calls | None = None
    most_simultaneous: int = 0
    left_over: int = 0
