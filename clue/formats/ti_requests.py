"""Finds the request of each ``wait`` in a time-independent trace: the oldest open one with its name.

A wait without such a request has no effect (a test found the request complete); ``waitall`` ends all open requests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clue.formats.words import Integers, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Starts of requests, waits and tests of one rank, in order.

    Attributes:
        name: Name by which a wait finds a request, as a number, shape (events,).
        span: Number of earlier ``waitall`` lines, shape (events,).
        change: 1 for a start, -1 for a wait, 0 for a test, shape (events,).
    """

    name: Integers
    span: Integers
    change: Integers


def match(events: Events) -> tuple[Integers, Mask]:
    """Find the start of the request of each wait.

    Returns:
        For each event an index among the starts: its own for a start, that of its request for a wait or test (-1 if
        it has none); and which starts are not ended by a wait, shape (starts,).
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
    # Requests of a queue end in the order in which they started; the starts of earlier queues come first.
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
    """Mark the first event of each queue."""
    begins = np.ones(len(name), np.bool_)
    begins[1:] = (name[1:] != name[:-1]) | (span[1:] != span[:-1])
    return begins


def _open_before(change: Integers, queue: Integers, lengths: Integers) -> Integers:
    """Return, before each event, the number of open requests in its queue; waits that find none change nothing."""
    total = np.cumsum(change)
    total -= np.repeat(total[queue] - change[queue], lengths)
    # The running minimum within each queue: later queues are shifted so low that earlier ones do not matter.
    depth = np.repeat(np.arange(len(queue)) * (2 * len(change) + 1), lengths)
    missed = np.minimum(np.minimum.accumulate(total - depth) + depth, 0)
    after = total - missed
    before = np.empty_like(after)
    before[0], before[1:] = 0, after[:-1]
    before[queue] = 0
    return before
