"""A critical path in sums: what it is made of, and whose time it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.result import CriticalPath, Part


@dataclass(frozen=True, slots=True)
class PartShare:
    """What one part takes of a path, in one region or place.

    Attributes:
        part: The part.
        region: Of a computation; else ``""``.
        where: Node type; of a message on its way those of both ends (``A → B``, or ``in A`` within a node).
        seconds: Its sum.
    """

    part: Part
    region: str
    where: str
    seconds: float


@dataclass(frozen=True, slots=True)
class RankShare:
    """What one rank has of a path: what the others waited for.

    Attributes:
        rank: The rank, among all instances.
        node: Where it is.
        node_type: Of what type that is.
        computing: Its computation, seconds.
        calls: Its sends, receives and other work of MPI, seconds.
        messages: Its messages on their way, seconds.
        turns: How often the path comes to it.
    """

    rank: int
    node: int
    node_type: str
    computing: float
    calls: float
    messages: float
    turns: int

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.computing + self.calls + self.messages


def part_shares(path: CriticalPath) -> list[PartShare]:
    """Add up a path by part, region and place; in the order of parts, the largest share of each first."""
    sums: dict[tuple[Part, str, str], float] = {}
    columns = ("part", "region", "rank", "peer")
    keys, at = np.unique(path.stretches[list(columns)], return_inverse=True)
    for (number, region, rank, peer), seconds in zip(keys.tolist(), _sums(path, at), strict=True):
        part = Part(number)
        key = (part, path.regions[region] if part.is_computation else "", _where(path, part, rank, peer))
        sums[key] = sums.get(key, 0.0) + seconds
    shares = [PartShare(*key, seconds) for key, seconds in sums.items()]
    return sorted(shares, key=lambda each: (each.part, -each.seconds, each.region, each.where))


def _sums(path: CriticalPath, at: npt.NDArray[np.intp]) -> list[float]:
    seconds = path.stretches["end"] - path.stretches["begin"]
    sums: list[float] = np.bincount(at.ravel(), seconds).tolist()
    return sums


def _where(path: CriticalPath, part: Part, rank: int, peer: int) -> str:
    here = path.node_types[rank]
    if not part.is_on_the_way:
        return here
    return f"in {here}" if path.nodes[rank] == path.nodes[peer] else f"{here} → {path.node_types[peer]}"


def rank_shares(path: CriticalPath) -> list[RankShare]:
    """Add up a path by rank, the largest share first."""
    stretches = path.stretches
    parts, ranks = stretches["part"], stretches["rank"]
    seconds = stretches["end"] - stretches["begin"]
    computation = np.isin(parts, [part for part in Part if part.is_computation])
    on_the_way = np.isin(parts, [part for part in Part if part.is_on_the_way])
    comes = np.concatenate(([True], ranks[1:] != ranks[:-1])) if len(ranks) else np.zeros(0, bool)
    sums = [
        np.bincount(ranks[chosen], weights[chosen], len(path.nodes)).tolist()
        for chosen, weights in (
            (computation, seconds),
            (~computation & ~on_the_way, seconds),
            (on_the_way, seconds),
            (comes, np.ones(len(ranks))),
        )
    ]
    shares = [
        RankShare(rank, path.nodes[rank], path.node_types[rank], computing, calls, messages, int(turns))
        for rank, (computing, calls, messages, turns) in enumerate(zip(*sums, strict=True))
        if turns
    ]
    return sorted(shares, key=lambda each: (-each.seconds, each.rank))
