"""Which request each ``wait`` of a time-independent trace is for: the oldest open one of its name.

A wait that finds none (a test has caught it) is for nothing; ``waitall`` ends all that are open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clue.formats.words import Integers, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Starts of requests, waits and tests of one rank, in order.

    Attributes:
        name: What a wait names a request by, as a number, shape (events,).
        span: How many ``waitall`` there were before, shape (events,).
        change: 1 for a start, -1 for a wait, 0 for a test, shape (events,).
    """

    name: Integers
    span: Integers
    change: Integers


def match(events: Events) -> tuple[Integers, Mask]:
    """Find the start of each wait's request.

    Returns:
        For each event the index among the starts: its own of a start, that of the request which a wait ends or a test
        sees, -1 if there is none; and which of the starts no wait ends, shape (starts,).
    """
    starts = events.change == 1
    number = np.cumsum(starts) - 1
    found = np.where(starts, number, -1)
    unended = np.ones(int(starts.sum()), np.bool_)
    if starts.all():
        return found, unended
    order = np.lexsort((events.span, events.name))
    change = events.change[order]
    queue = np.flatnonzero(_begins(events.name[order], events.span[order]))
    lengths = np.diff(queue, append=len(order))
    before = _open_before(change, queue, lengths)
    # Requests of a queue end in the order in which they began; all that began before the queue come first.
    sees = (change != 1) & (before > 0)
    ends = (change == -1) & sees
    begun = np.cumsum(change == 1)
    offset = np.repeat(begun[queue] - (change[queue] == 1), lengths)
    ended = np.cumsum(ends) - ends
    ended_here = ended - np.repeat(ended[queue], lengths)
    numbers = number[order][change == 1]
    found[order[sees]] = numbers[(offset + ended_here)[sees]]
    unended[numbers[(offset + ended_here)[ends]]] = False
    return found, unended


def _begins(name: Integers, span: Integers) -> Mask:
    """Mark where another queue begins."""
    begins = np.ones(len(name), np.bool_)
    begins[1:] = (name[1:] != name[:-1]) | (span[1:] != span[:-1])
    return begins


def _open_before(change: Integers, queue: Integers, lengths: Integers) -> Integers:
    """Return how many requests of its queue are open before each event: waits that find none change nothing."""
    total = np.cumsum(change)
    total -= np.repeat(total[queue] - change[queue], lengths)
    # The least so far within each queue: those behind lie too low for those before to matter.
    depth = np.repeat(np.arange(len(queue)) * (2 * len(change) + 1), lengths)
    missed = np.minimum(np.minimum.accumulate(total - depth) + depth, 0)
    after = total - missed
    before = np.empty_like(after)
    before[0], before[1:] = 0, after[:-1]
    before[queue] = 0
    return before
