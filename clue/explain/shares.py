"""Sums over a critical path: by kind, by rank, and by place in the program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.result import AtSites, CriticalPath, Part
from clue.trace.sites import Site


@dataclass(frozen=True, slots=True)
class PartShare:
    """Share of a path of one kind, in one region or place.

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
    """Share of a path of one rank: the time that the others waited for.

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
        """Seconds of the path on this rank, in total."""
        return self.computing + self.calls + self.messages


@dataclass(frozen=True, slots=True)
class SiteShare:
    """Share of a path of one call site, and the activity of all ranks there.

    Attributes:
        number: Index of the site in the trace.
        site: Its call path; the unknown one for what no line of the program is known to have called.
        computing: Computation before its calls on the path, seconds.
        calls: Sends, receives and other work of MPI in its calls on the path, seconds.
        messages: Messages on their way that its calls send, on the path, seconds.
        compute: Computation before its calls, seconds.
        communicate: Processor time on messages in its calls, seconds.
        wait: Waiting in its calls, seconds.
        nbytes: Bytes of the messages that its calls send, those of collectives as lowered.
    """

    number: int
    site: Site
    computing: float
    calls: float
    messages: float
    compute: float
    communicate: float
    wait: float
    nbytes: int

    @property
    def seconds(self) -> float:
        """Seconds of the path at this call site, in total."""
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
    ranks = path.stretches["rank"]
    comes = np.concatenate(([True], ranks[1:] != ranks[:-1])) if len(ranks) else np.zeros(0, bool)
    turns = np.bincount(ranks[comes], minlength=len(path.nodes)).tolist()
    shares = [
        RankShare(rank, path.nodes[rank], path.node_types[rank], *sums, often)
        for rank, (sums, often) in enumerate(zip(_in_three(path, "rank", len(path.nodes)), turns, strict=True))
        if often
    ]
    return sorted(shares, key=lambda each: (-each.seconds, each.rank))


def site_shares(path: CriticalPath, at: AtSites) -> list[SiteShare]:
    """Add up a path by call site, largest share first, with the activities of ranks; empty if no site is known."""
    if len(path.sites) < 2:
        return []
    everywhere = (column.tolist() for column in (at.compute, at.communicate, at.wait, at.nbytes))
    sums = zip(path.sites, _in_three(path, "site", len(path.sites)), *everywhere, strict=True)
    shares = [SiteShare(number, site, *on_path, *figures) for number, (site, on_path, *figures) in enumerate(sums)]
    found = [each for each in shares if each.seconds or each.compute or each.communicate or each.wait or each.nbytes]
    return sorted(found, key=lambda each: (-each.seconds, -each.wait, each.number))


def _in_three(path: CriticalPath, column: str, many: int) -> list[tuple[float, float, float]]:
    """Return the seconds of computation, calls and messages of a path by rank or by site."""
    parts, numbers = path.stretches["part"], path.stretches[column]
    seconds = path.stretches["end"] - path.stretches["begin"]
    computation = np.isin(parts, [part for part in Part if part.is_computation])
    on_the_way = np.isin(parts, [part for part in Part if part.is_on_the_way])
    chosen = (computation, ~computation & ~on_the_way, on_the_way)
    sums = [np.bincount(numbers[each], seconds[each], many).tolist() for each in chosen]
    return list(zip(*sums, strict=True))
