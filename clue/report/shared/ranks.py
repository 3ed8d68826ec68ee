"""Sets of ranks in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

#: Pieces that are told; of more, how many ranks they are together.
_TOLD = 3


def ranks_text(ranks: Sequence[int]) -> str:
    """Return ranks in words: ``"0, 2–5"``; the first of them where these are many pieces."""
    runs = groupby(enumerate(ranks), key=lambda pair: pair[1] - pair[0])
    pieces = [[number for _, number in run] for _, run in runs]
    told = [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in pieces]
    return ", ".join(told[:_TOLD]) + (f" … ({len(ranks)} ranks)" if len(told) > _TOLD else "")
