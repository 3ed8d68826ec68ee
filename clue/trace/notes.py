"""The notes of all ranks, combined for readers of results. This module uses only the standard library."""

from __future__ import annotations

from collections.abc import Sequence

#: Number of ranks or connections that a note names one by one.
_NAMED = 3


def common_notes(notes: Sequence[Sequence[str]]) -> list[str]:
    """Return the notes of all ranks: those common to all ranks once, the others with their ranks.

    Args:
        notes: The notes of each rank.
    """
    sayers: dict[str, list[int]] = {}
    for rank, own in enumerate(notes):
        for note in dict.fromkeys(own):
            sayers.setdefault(note, []).append(rank)
    return [note if 1 < len(notes) == len(ranks) else f"{_ranks(ranks)}: {note}" for note, ranks in sayers.items()]


def _ranks(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > _NAMED + 1:
        return f"ranks {', '.join(map(str, ranks[:_NAMED]))} and {len(ranks) - _NAMED} more"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def socket_notes(sockets: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[str]:
    """Return a note if ranks talk to each other by sockets.

    Args:
        sockets: For each rank, the addresses at which others can reach it, and those at which it reached others. They
            omit the host, which ranks may name differently. So a rank that reached a port number which it also has
            itself counts as having reached itself.
    """
    owner = {place: rank for rank, (bound, _) in reversed(list(enumerate(sockets))) for place in bound}
    talks = [
        f"rank {rank} with rank {owner[place]} at {place}"
        for rank, (bound, reached) in enumerate(sockets)
        for place in reached
        if place in owner and place not in bound
    ]
    if not talks:
        return []
    more = f" and {len(talks) - _NAMED} more" if len(talks) > _NAMED else ""
    return [
        f"the ranks communicate by sockets besides MPI, and what they exchange there is not modelled "
        f"({', '.join(talks[:_NAMED])}{more})"
    ]
