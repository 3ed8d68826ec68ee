"""Time of a program at each call site, before and in its calls: when recorded, or in a replay on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clue.kernel import compile_program, simulate
from clue.kernel.model.program import Program, cpu_by_region
from clue.kernel.reference.critical_path import explained_replay
from clue.kernel.simulate import place
from clue.machine import Machine, Placement
from clue.result import Activity, Part
from clue.structure import Example, Graph, Kind, Node
from clue.structure.nest import Nest, Walk
from clue.trace.sites import UNKNOWN

Floats = npt.NDArray[np.float64]
#: Relative difference of times below which they differ only by rounding.
_ROUNDING = 1e-12
#: Share of a recording's time from which computation before a loop is a node of its own.
_MATTERS = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class SiteTimes:
    """Seconds by site, shape (sites,).

    Attributes:
        computation: Before the calls of a site.
        communication: In them.
        first: The part of the computation before calls that enter all loops around the site.
        before_loops: What these bursts last longer than others of the site, if it has a node of its own
            (:func:`with_first_bursts`), and is then no longer part of the computation.
    """

    computation: Floats
    communication: Floats
    first: Floats
    before_loops: Floats

    @property
    def total(self) -> float:
        """All of them together."""
        return float(self.computation.sum() + self.communication.sum() + self.before_loops.sum())

    def of(self, node: Node) -> float:
        """Return the seconds of a computation or call."""
        if node.kind is Kind.COMMUNICATION:
            return float(self.communication[node.site])
        return float((self.before_loops if node.is_first else self.computation)[node.site])


def recorded(example: Example, sites: int) -> SiteTimes:
    """Return the mean recorded time of ranks: bursts at the host's best speed, and wall time within calls."""
    bursts, took = (each * 1e-9 / example.ranks for each in (example.trace.bursts, example.trace.ops.took))
    enters = _entering(example, sites)
    first = _sums(example.sites[enters], bursts[enters], sites)
    computation, communication = (_sums(example.sites, each, sites) for each in (bursts, took))
    return SiteTimes(computation, communication, first, np.zeros(sites))


def on_critical_path(
    example: Example, sites: int, machine: Machine, placement: Placement | str | Sequence[int] = "block"
) -> SiteTimes:
    """Return the critical path's time at each site in a replay on a machine; the times add up to the makespan.

    The cause of each wait replaces the wait (:mod:`clue.kernel.reference.critical_path`). The time of a message on its
    way counts for the call that waits for it.

    Raises:
        ReplayError: As :func:`clue.kernel.simulate`.
        UsageError: The same.
    """
    program, site_of, enters = _by_site(compile_program(example.trace), example)
    placed = place(machine, placement, program.ranks)
    timeline = simulate(program, machine, placed, "reference", timeline=True).timeline
    assert timeline is not None, "it was requested"
    stretches = explained_replay(program, machine, placed).path.stretches
    computing = np.isin(stretches["part"], [part for part in Part if part.is_computation])
    within = np.where(computing, stretches["region"], _regions_at(stretches, timeline.segments))
    found, seconds = site_of[within], stretches["end"] - stretches["begin"]
    wanted = computing, ~computing, computing & enters[within]
    computation, communication, first = (_sums(found[at], seconds[at], sites) for at in wanted)
    return SiteTimes(computation, communication, first, np.zeros(sites))


def with_first_bursts(
    graph: Graph, examples: Sequence[Example], times: Sequence[SiteTimes]
) -> tuple[Graph, list[SiteTimes]]:
    """Give the computation before loops a node of its own where it matters in any recording.

    A rank computes it in the burst before its first call in the loop, which is longer than the other bursts of that
    site by it. As a part of the loop's body it would be divided by the iterations, a time of the form a + b/n, which
    no model of a single iteration follows.
    """
    excess = np.zeros((len(examples), len(times[0].computation) if times else 0))
    unknown: set[int] = set()
    for site, entries in graph.entries.items():
        for i, each in enumerate(times):
            first = sum(count for (number, _), count in entries.items() if number == i)
            calls = sum(count for (number, _), count in graph.calls[site].items() if number == i)
            if calls == first > 0:  # no other burst tells what an iteration takes
                unknown.add(site)
            elif first:
                others = (each.computation[site] - each.first[site]) / (calls - first)
                excess[i, site] = max(0.0, each.first[site] - first * others)
    excess[:, list(unknown)] = 0.0
    whole = np.array([[each.total] for each in times])
    matter = {site for site in graph.entries if (excess[:, [site]] > _MATTERS * whole).any()}
    apart = np.isin(np.arange(excess.shape[1]), list(matter)) * excess
    found = [
        replace(each, computation=each.computation - own, before_loops=own)
        for each, own in zip(times, apart, strict=True)
    ]
    return (graph.with_first(matter) if matter else graph), found


def _entering(example: Example, sites: int) -> npt.NDArray[np.bool_]:
    """Return the rows of calls that enter all loops around them, shape (ops,)."""
    head, ops = example.trace.head, example.trace.ops
    known = {site: head.sites[at] for site, at in zip(example.sites.tolist(), ops.site.tolist(), strict=True)}
    walk = Walk(Nest.of([known.get(site, UNKNOWN) for site in range(sites)]))
    enters, are_first = np.zeros(len(ops), np.bool_), ops.are_first()
    for first, end in pairwise(head.offsets):
        begins = first + np.flatnonzero(are_first[first:end])
        enters[begins] = walk.entering(example.sites[begins].tolist())
    return enters


def _regions_at(stretches: npt.NDArray[np.void], segments: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """Return the region of each stretch's rank; for a message on its way, that of the rank that waits for it."""
    segments = segments[segments["end"] > segments["begin"]]
    away = np.isin(stretches["part"], [part for part in Part if part.is_on_the_way])
    own = _at(segments, stretches["rank"], (stretches["begin"] + stretches["end"]) / 2)
    ends = [_at(segments, stretches[who], stretches["end"]) for who in ("peer", "rank")]
    waits = segments["activity"][ends[0]] == Activity.WAIT
    return np.asarray(segments["region"][np.where(away, np.where(waits, *ends), own)].astype(np.int64))


def _at(segments: npt.NDArray[np.void], ranks: npt.NDArray[np.int32], times: Floats) -> npt.NDArray[np.int64]:
    """Return the segment in which each rank is at a time; between two segments, the one that ends then."""
    found = np.zeros(len(times), np.int64)
    bounds = np.searchsorted(segments["rank"], np.arange(int(segments["rank"].max(initial=-1)) + 2))
    for rank, (first, end) in enumerate(pairwise(bounds.tolist())):
        mine = ranks == rank
        at = np.searchsorted(segments["end"][first:end], times[mine] * (1 - _ROUNDING), side="left")
        found[mine] = np.minimum(first + at, max(end - 1, 0))
    return found


def _by_site(program: Program, example: Example) -> tuple[Program, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return a program with a region for each region, site, and whether its loops are entered, named as the region.

    Return also the site of each, and whether loops are entered.
    """
    enters = _entering(example, int(example.sites.max(initial=0)) + 1)
    each = np.stack([program.columns.region, example.sites, enters])
    pairs, of_row = np.unique(each, axis=1, return_inverse=True)
    columns = replace(program.columns, region=of_row.reshape(-1).astype(np.int64))
    regions = tuple(program.regions[region] for region in pairs[0].tolist())
    by_region = cpu_by_region(columns, program.offsets, len(regions))
    return replace(program, columns=columns, regions=regions, cpu_by_region=by_region), pairs[1], pairs[2] > 0


def _sums(sites: npt.NDArray[np.int64], seconds: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(sites, weights=seconds, minlength=count), np.float64)
