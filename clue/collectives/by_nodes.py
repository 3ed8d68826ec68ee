"""Collectives composed of one among the leaders of nodes and one within each node (MPICH).

The leader of a node is its first rank; leaders are in the order of their nodes. MPICH chooses an algorithm for each
part separately. If every rank has a separate node, or nodes are unknown, only the part among leaders remains.
Source: MPICH 5.0.1, src/mpid/ch4/src/ch4_coll_impl.h; for nonblocking calls src/mpi/coll/i*/i*_intra_sched_smp.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from clue.collectives.composed import Part
from clue.collectives.rounds import at_once, receive, send
from clue.collectives.schedule import Collective, Round, Schedule

#: Bytes with which leaders release their nodes at the end of a barrier, and announce the rest of a scan to them.
_RELEASE, _NOTICE = 1, 4


class _Nodes(NamedTuple):
    """The node of each rank, the ranks of each node, and the first of each."""

    numbers: Sequence[int]
    members: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]


@lru_cache(maxsize=256)
def _nodes_of(collective: Collective) -> _Nodes:
    numbers = collective.nodes or range(collective.size)
    members: dict[int, list[int]] = {}
    for rank, node in enumerate(numbers):
        members.setdefault(node, []).append(rank)
    return _Nodes(numbers, tuple(map(tuple, members.values())), tuple(each[0] for each in members.values()))


class _View:
    """A collective as one of its ranks sees it: nodes, and the rounds of its parts."""

    def __init__(self, part: Part, collective: Collective, rank: int) -> None:
        self._part, self._collective, self._rank = part, collective, rank
        self._nodes, self.nbytes = _nodes_of(collective), collective.sizes[0]
        self.number, self.root_node = self._nodes.numbers[rank], self._nodes.numbers[collective.root]
        self.own = self._nodes.members[self.number]

    @property
    def root(self) -> int:
        """The root's place on its node, 0 if it is the leader."""
        return self._nodes.members[self.root_node].index(self._collective.root)

    @property
    def root_leader(self) -> int:
        """The leader of the root's node."""
        return self._nodes.leaders[self.root_node]

    def within(self, name: str, nbytes: int, root: int = 0) -> Schedule:
        """Return the rank's rounds of a collective on its node, by default with its leader as root."""
        return self._rounds(name, nbytes, self.own, self.own.index(self._rank), root)

    def among_leaders(self, name: str, nbytes: int, root_node: int = 0) -> Schedule:
        """Return the rank's rounds of a collective of all leaders; none if the rank is not a leader."""
        if self._rank != self.own[0]:
            return ()
        return self._rounds(name, nbytes, self._nodes.leaders, self.number, root_node)

    def _rounds(self, name: str, nbytes: int, ranks: tuple[int, ...], place: int, root: int) -> Schedule:
        collective = Collective(name, len(ranks), (nbytes,) * len(ranks), root, self._collective.manner)
        return tuple(_renumbered(step, ranks) for step in self._part(collective, place))

    def as_one(self) -> Schedule:
        """Return the rank's rounds of the whole collective if nodes do not matter."""
        return self._part(replace(self._collective, nodes=()), self._rank)

    def passed(self, source: int, dest: int) -> Schedule:
        """Return the rank's part in a message of the whole vector."""
        if source == dest or self._rank not in {source, dest}:
            return ()
        return (send(dest, self.nbytes) if self._rank == source else receive(source),)

    def passed_on(self) -> Schedule:
        """Return the rank's part in messages of the whole vector from each leader to the next."""
        leaders, here = self._nodes.leaders, self.number
        links = pairwise(leaders[max(here - 1, 0) : here + 2])
        return tuple(step for link in reversed(list(links)) for step in self.passed(*link))


def _renumbered(step: Round, ranks: tuple[int, ...]) -> Round:
    """Return a round of a part with its ranks translated to those of the whole communicator."""
    sends = tuple((ranks[peer], nbytes) for peer, nbytes in step.sends)
    return at_once(sends, tuple(ranks[peer] for peer in step.receives), step.reduced)


def barrier(part: Part, collective: Collective, rank: int) -> Schedule:
    """Synchronise within each node, then among leaders, which release their nodes by a broadcast of 1 B.

    Source: MPIDI_Barrier_intra_composition_alpha.
    """
    view = _View(part, collective, rank)
    return view.within("barrier", 0) + view.among_leaders("barrier", 0) + view.within("bcast", _RELEASE)


def bcast(part: Part, collective: Collective, rank: int) -> Schedule:
    """Send from the root to its leader, broadcast among leaders, then within each node.

    Source: MPIDI_Bcast_intra_composition_alpha, MPIR_Ibcast_intra_sched_smp.
    """
    view = _View(part, collective, rank)
    led = view.passed(collective.root, view.root_leader) + view.among_leaders("bcast", view.nbytes, view.root_node)
    return led + view.within("bcast", view.nbytes)


def bcast_root_node_first(part: Part, collective: Collective, rank: int) -> Schedule:
    """Broadcast within the root's node, unless the root leads it, then among leaders, then within the other nodes.

    Source: MPIDI_Bcast_intra_composition_beta.
    """
    view = _View(part, collective, rank)
    among_leaders = view.among_leaders("bcast", view.nbytes, view.root_node)
    if view.root and view.number == view.root_node:
        return view.within("bcast", view.nbytes, view.root) + among_leaders
    return among_leaders + view.within("bcast", view.nbytes)


def reduce(part: Part, collective: Collective, rank: int) -> Schedule:
    """Reduce within each node to its leader, then among leaders to rank 0, which sends the result to the root.

    Source: MPIDI_Reduce_intra_composition_alpha.
    """
    view = _View(part, collective, rank)
    reduced = view.within("reduce", view.nbytes) + view.among_leaders("reduce", view.nbytes)
    return reduced + view.passed(0, collective.root)


def reduce_root_node_last(part: Part, collective: Collective, rank: int) -> Schedule:
    """Reduce within the other nodes, then among leaders to the leader of the root's node, then there to the root.

    Source: MPIDI_Reduce_intra_composition_beta, MPIR_Ireduce_intra_sched_smp.
    """
    view = _View(part, collective, rank)
    among_leaders = view.among_leaders("reduce", view.nbytes, view.root_node)
    if view.number == view.root_node:
        return among_leaders + view.within("reduce", view.nbytes, view.root)
    return view.within("reduce", view.nbytes) + among_leaders


def allreduce(part: Part, collective: Collective, rank: int) -> Schedule:
    """Reduce within each node to its leader, combine among leaders, then broadcast within each node.

    Source: MPIDI_Allreduce_intra_composition_alpha.
    """
    view = _View(part, collective, rank)
    reduced = view.within("reduce", view.nbytes) + view.among_leaders("allreduce", view.nbytes)
    return reduced + view.within("bcast", view.nbytes)


def scan(part: Part, collective: Collective, rank: int) -> Schedule:
    """Scan within each node, then scan the sums of nodes among leaders, which pass the results to the next leaders.

    These broadcast the results within their nodes, after a notice of 4 B if the call blocks, and all ranks combine
    them. If ranks are not placed node by node, the scan ignores nodes.
    Source: MPIDI_Scan_intra_composition_alpha, MPIR_Iscan_intra_sched_smp.
    """
    view = _View(part, collective, rank)
    if not collective.lies_node_by_node:
        return view.as_one()
    summed = view.within("scan", view.nbytes) + view.passed(view.own[-1], view.own[0])
    led = summed + view.among_leaders("scan", view.nbytes) + view.passed_on()
    told = () if collective.manner.nonblocking else view.within("bcast", _NOTICE)
    added = (*view.within("bcast", view.nbytes), at_once((), (), view.nbytes)) if view.number else ()
    return led + told + added
