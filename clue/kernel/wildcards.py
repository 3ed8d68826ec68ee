"""Which wildcard receives would have matched another message in virtual time. They are counted, not changed."""

from __future__ import annotations

from clue.kernel.matching import Message, Receive
from clue.kernel.program import Program, Row, is_wild, ranks_with_wildcards
from clue.trace import Flag


class WildcardLog:
    """What ranks with wildcard receives received, in the order in which they posted for it.

    A replay matches as recorded. A receive from any source that matched a message of arrival ``a`` would have matched
    another one instead if a message from another source, taken by a later receive, fits it too and was there before
    ``a``. (Messages of one source never overtake each other in matching.)
    """

    def __init__(self, program: Program) -> None:
        self._received: dict[int, list[tuple[Row, Receive | Message]]] = {
            rank: [] for rank in ranks_with_wildcards(program)
        }

    def note(self, rank: int, row: Row, found: Receive | Message) -> None:
        """Note a posted receive or a successful probe."""
        received = self._received.get(rank)
        if received is not None:
            received.append((row, found))

    def count(self) -> tuple[int, int]:
        """Return how many wildcard receives would have matched otherwise, and how many there were."""
        counts = [_count_rank(received) for received in self._received.values()]
        return sum(other for other, _ in counts), sum(wild for _, wild in counts)


def _count_rank(received: list[tuple[Row, Receive | Message]]) -> tuple[int, int]:
    # Backwards in posting order: for each pattern, the earliest arrivals of later receives, by source.
    earliest: dict[tuple[int, int | None], dict[int, float]] = {}
    otherwise = wild = 0
    for row, found in reversed(received):
        message = found.message if isinstance(found, Receive) else found
        if message is None or message.envelope is None:
            continue
        arrival = message.envelope
        if is_wild(row):
            wild += 1
            pattern = (row.context, None if row.flags & Flag.ANY_TAG else row.tag)
            later = earliest.get(pattern, {})
            otherwise += any(time < arrival for source, time in later.items() if source != message.source)
        for pattern in ((row.context, row.tag), (row.context, None)):
            times = earliest.setdefault(pattern, {})
            times[message.source] = min(arrival, times.get(message.source, arrival))
    return otherwise, wild
