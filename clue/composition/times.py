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
from clue.structure import Example

Floats = npt.NDArray[np.float64]
#: Relative difference of times below which they differ only by rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class SiteTimes:
    """Seconds by site, shape (sites,).

    Attributes:
        computation: Before the calls of a site.
        communication: In them.
    """

    computation: Floats
    communication: Floats

    @property
    def total(self) -> float:
        """All of them together."""
        return float(self.computation.sum() + self.communication.sum())


def recorded(example: Example, sites: int) -> SiteTimes:
    """Return the mean recorded time of ranks: bursts at the host's best speed, and wall time within calls."""
    columns = example.trace.bursts, example.trace.ops.took
    return SiteTimes(*(_sums(example.sites, each * 1e-9 / example.ranks, sites) for each in columns))


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
    program, site_of = _by_site(compile_program(example.trace), example)
    placed = place(machine, placement, program.ranks)
    timeline = simulate(program, machine, placed, "reference", timeline=True).timeline
    assert timeline is not None, "it was requested"
    stretches = explained_replay(program, machine, placed).path.stretches
    computing = np.isin(stretches["part"], [part for part in Part if part.is_computation])
    found = site_of[np.where(computing, stretches["region"], _regions_at(stretches, timeline.segments))]
    seconds = stretches["end"] - stretches["begin"]
    return SiteTimes(*(_sums(found[at], seconds[at], sites) for at in (computing, ~computing)))


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


def _by_site(program: Program, example: Example) -> tuple[Program, npt.NDArray[np.int64]]:
    """Return a program with a region for each pair of region and site, named as the region, and the pairs' sites."""
    pairs, of_row = np.unique(np.stack([program.columns.region, example.sites]), axis=1, return_inverse=True)
    columns = replace(program.columns, region=of_row.reshape(-1).astype(np.int64))
    regions = tuple(program.regions[region] for region in pairs[0].tolist())
    by_region = cpu_by_region(columns, program.offsets, len(regions))
    return replace(program, columns=columns, regions=regions, cpu_by_region=by_region), pairs[1]


def _sums(sites: npt.NDArray[np.int64], seconds: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(sites, weights=seconds, minlength=count), np.float64)
