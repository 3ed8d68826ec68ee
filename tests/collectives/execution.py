"""A small executor of the schedules of one collective, with a textbook cost and a record of the data flow.

It has no network and no contention. A message of n bytes takes ``latency + n·per_byte``; a rank sends one message at
a time. A rendezvous waits for the round that posts its receive; an eager message does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from clue.collectives import ALGORITHMS, Collective, Schedule


@dataclass(frozen=True)
class Cost:
    """Textbook cost: seconds per message, per byte sent, per byte combined."""

    latency: float = 0.0
    per_byte: float = 0.0
    per_reduced: float = 0.0


class Message(NamedTuple):
    """One message: the rounds that send and receive it, its offset in time within its round, and its size."""

    source: int
    sent_in: int
    offset: float
    dest: int
    received_in: int
    nbytes: int


@dataclass(frozen=True)
class Outcome:
    """The outcome of a collective: by rank its finish, the ranks it heard of and the bytes it got; and all messages."""

    finish: list[float]
    heard: list[set[int]]
    received: list[int]
    messages: list[Message]

    @property
    def makespan(self) -> float:
        """The last finish."""
        return max(self.finish)


@lru_cache(maxsize=64)  # eager and rendezvous tests take turns
def schedules(collective: Collective, algorithm: str) -> list[Schedule]:
    """Return the schedules of all ranks, straight from the algorithm."""
    function = ALGORITHMS[collective.name][algorithm]
    return [function(collective, rank) for rank in range(collective.size)]


def matched(plans: Sequence[Schedule], cost: Cost) -> list[Message]:
    """Return the messages, matched in order per pair; assert that none is left over and that all ranks are valid."""
    sent: dict[tuple[int, int], list[tuple[int, float, int]]] = defaultdict(list)
    posted: dict[tuple[int, int], list[int]] = defaultdict(list)
    for rank, plan in enumerate(plans):
        for i, step in enumerate(plan):
            offset = 0.0
            for peer, nbytes in step.sends:
                assert nbytes >= 0
                sent[rank, peer].append((i, offset, nbytes))
                offset += cost.latency + nbytes * cost.per_byte
            for peer in step.receives:
                posted[peer, rank].append(i)
    assert all(0 <= s < len(plans) and 0 <= d < len(plans) and s != d for s, d in {**sent, **posted})
    assert {pair: len(sends) for pair, sends in sent.items()} == {p: len(receives) for p, receives in posted.items()}
    return [
        Message(source, i, offset, dest, j, nbytes)
        for (source, dest), sends in sent.items()
        for (i, offset, nbytes), j in zip(sends, posted[source, dest], strict=True)
    ]


def execute(plans: Sequence[Schedule], cost: Cost = Cost(), rendezvous: bool = True) -> Outcome:
    """Run the schedules of all ranks, assert that they end, and return the outcome."""
    messages = matched(plans, cost)
    outgoing: list[list[list[Message]]] = [[[] for _ in plan] for plan in plans]
    incoming: list[list[list[Message]]] = [[[] for _ in plan] for plan in plans]
    received = [0] * len(plans)
    for message in messages:
        outgoing[message.source][message.sent_in].append(message)
        incoming[message.dest][message.received_in].append(message)
        received[message.dest] += message.nbytes
    begins: list[list[float]] = [[0.0] for _ in plans]  # begin of each round, then the finish
    known: list[list[set[int]]] = [[{rank}] for rank in range(len(plans))]  # ranks heard of when each round begins

    def can_end(rank: int, i: int) -> bool:
        for m in incoming[rank][i]:
            if len(begins[m.source]) <= m.sent_in:
                return False
        if rendezvous:
            for m in outgoing[rank][i]:
                if len(begins[m.dest]) <= m.received_in:
                    return False
        return True

    def arrival(m: Message) -> float:
        begin = begins[m.source][m.sent_in] + m.offset
        if rendezvous:
            begin = max(begin, begins[m.dest][m.received_in])
        return begin + cost.latency + m.nbytes * cost.per_byte

    moved = True
    while moved:
        moved = False
        for rank, plan in enumerate(plans):
            while (i := len(begins[rank]) - 1) < len(plan) and can_end(rank, i):
                taken = incoming[rank][i]
                ends = [arrival(m) for m in taken + outgoing[rank][i]]
                begins[rank].append(max(begins[rank][i], *ends, 0.0) + plan[i].reduced * cost.per_reduced)
                known[rank].append(known[rank][i].union(*[known[m.source][m.sent_in] for m in taken]))
                moved = True
    stuck = [rank for rank, plan in enumerate(plans) if len(begins[rank]) <= len(plan)]
    assert not stuck, f"ranks {stuck} wait for ever"
    return Outcome([b[-1] for b in begins], [k[-1] for k in known], received, messages)


def reduced(plans: Sequence[Schedule]) -> int:
    """Return the bytes combined by all ranks together."""
    return sum(step.reduced for plan in plans for step in plan)
