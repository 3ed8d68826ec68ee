"""Sets of ranks in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

#: Largest number of listed runs of ranks; beyond it, the total number of ranks is given.
_TOLD = 3


def ranks_text(ranks: Sequence[int]) -> str:
    """Return ranks in words: ``"0, 2–5"``; for many runs, the first ones and the number of ranks."""
    runs = groupby(enumerate(ranks), key=lambda pair: pair[1] - pair[0])
    pieces = [[number for _, number in run] for _, run in runs]
    told = [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in pieces]
    return ", ".join(told[:_TOLD]) + (f" … ({len(ranks)} ranks)" if len(told) > _TOLD else "")
