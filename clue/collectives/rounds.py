"""Constructors of rounds: the few shapes that all algorithms are composed of.

Equal rounds share one object, so that long schedules stay small.
"""

from __future__ import annotations

from functools import lru_cache

from clue.collectives.schedule import Round, Schedule

#: Number of rounds kept for sharing. A ring of p ranks repeats one round p - 1 times.
_SHARED = 1 << 16

#: Rounds in which everything is started at once and awaited together (isend and irecv of all, waitall).
at_once = lru_cache(maxsize=_SHARED)(Round)


def send(dest: int, nbytes: int) -> Round:
    """Return the round of one blocking send."""
    return at_once(((dest, nbytes),))


def receive(source: int, reduced: int = 0) -> Round:
    """Return the round of one blocking receive, whose bytes may be combined."""
    return at_once((), (source,), reduced)


def exchange(dest: int, nbytes: int, source: int, reduced: int = 0) -> Round:
    """Return the round of one Sendrecv; empty messages are sent, too."""
    return at_once(((dest, nbytes),), (source,), reduced)


def exchange_data(dest: int, nbytes: int, source: int, expected: int, reduced: int = 0) -> Schedule:
    """Return the round of one Sendrecv without its empty half; no round if both halves are empty.

    Args:
        dest: Receiver of ``nbytes``.
        nbytes: Bytes sent.
        source: Sender of ``expected`` bytes.
        expected: Bytes received. Sender and receiver must agree on this, or the schedules do not match.
        reduced: Bytes combined after the receive.
    """
    if not nbytes and not expected:
        return ()
    return (at_once(((dest, nbytes),) if nbytes else (), (source,) if expected else (), reduced),)
