"""Counts the wildcard receives that would have matched another message in virtual time; their matches stay.

A replay matches as recorded. A receive from any source that matched a message of arrival ``a`` would have matched
another one instead if a message from another source, which a later receive took, fits it too and arrived before ``a``.
(Messages of one source never overtake each other in matching.)
"""

from __future__ import annotations

from collections.abc import Sequence

from clue.kernel.model.program import Row, is_wild
from clue.trace import Flag

#: A receive or successful probe, and when a probe could see its message (``None``: never).
Received = tuple[Row, float | None]


def count_wildcards(received: Sequence[Received]) -> tuple[int, int]:
    """Count a rank's wildcard receives that would have matched another message, and all its wildcard receives.

    Args:
        received: Its receives and probes in the order in which they were posted.
    """
    # Backwards in posting order: for each pattern, the earliest arrivals of later receives, by source.
    earliest: dict[tuple[int, int | None], dict[int, float]] = {}
    otherwise = wild = 0
    for row, arrival in reversed(received):
        if arrival is None:
            continue
        if is_wild(row):
            wild += 1
            pattern = (row.context, None if row.flags & Flag.ANY_TAG else row.tag)
            later = earliest.get(pattern, {})
            otherwise += any(time < arrival for source, time in later.items() if source != row.peer)
        for pattern in ((row.context, row.tag), (row.context, None)):
            times = earliest.setdefault(pattern, {})
            times[row.peer] = min(arrival, times.get(row.peer, arrival))
    return otherwise, wild
