"""Sums over a trace: what its calls, regions and communicators did when recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clue.result import Unmodelled
from clue.trace import Op, Trace
from clue.trace.sites import Site

_SILENT = (Op.COMPUTE, Op.WAIT, Op.POLL, Op.PACK, Op.SLEEP, Op.LOCAL, Op.OTHER, Op.MRECV)


@dataclass(frozen=True, slots=True)
class CallProfile:
    """All calls of one name.

    Attributes:
        call: Its name in MPI.
        count: How often it was made, over all ranks.
        nbytes: Bytes that ranks send in it, summed over ranks (:attr:`clue.trace.Trace.sent`).
        seconds: Wall time inside it when recorded, summed over ranks.
        left_out: The calls among them that the simulator leaves out, if any.
    """

    call: str
    count: int
    nbytes: int
    seconds: float
    left_out: Unmodelled | None


@dataclass(frozen=True, slots=True)
class RegionProfile:
    """One region of the program.

    Attributes:
        region: Its name; ``""`` is outside any region.
        bursts: Number of computation bursts in it.
        seconds: CPU time of its bursts, summed over ranks.
        flops: Floating-point operations that the program declared there, summed over ranks; 0 if it declared none.
    """

    region: str
    bursts: int
    seconds: float
    flops: float


@dataclass(frozen=True, slots=True)
class SiteProfile:
    """All calls from one place in the program by the same call path.

    Attributes:
        number: Index of the site in the trace.
        site: Its call path; the unknown site stands for calls whose line in the program is unknown.
        calls: Names of the MPI calls made there; several only if a name stands for several functions.
        count: How often they were made, over all ranks; 0 where a region begins or ends.
        nbytes: Bytes that ranks send in them, as in :class:`CallProfile`.
        compute: CPU time of the bursts that end there, as recorded, summed over ranks, s.
        seconds: Wall time inside the calls when recorded, summed over ranks, s.
    """

    number: int
    site: Site
    calls: tuple[str, ...]
    count: int
    nbytes: int
    compute: float
    seconds: float


@dataclass(frozen=True, slots=True)
class CommunicatorProfile:
    """One communicator of the program.

    Attributes:
        name: The call that made it.
        size: Ranks in its (local) group.
        remote: Ranks in the remote group of an intercommunicator, else ``None``.
        ops: Messages and collectives on it, as recorded ops over all ranks.
    """

    name: str
    size: int
    remote: int | None
    ops: int


def profile_calls(trace: Trace) -> tuple[CallProfile, ...]:
    """Sum a trace up by call, the longest first; an op that continues a call counts with that call."""
    ops = trace.ops
    call = ops.call[trace.first_rows()]
    made, kinds = ops.op != Op.COMPUTE, len(trace.head.calls)
    count = np.bincount(call[ops.are_first() & made], minlength=kinds)
    nbytes = np.bincount(call[made], weights=trace.sent[made], minlength=kinds)
    seconds = np.bincount(call[made], weights=ops.took[made], minlength=kinds) * 1e-9
    left_out = {name: Unmodelled(name, *extent) for name, extent in trace.left_out().items()}
    profiles = [
        CallProfile(name, int(count[i]), int(nbytes[i]), float(seconds[i]), left_out.get(name))
        for i, name in enumerate(trace.head.calls)
        if count[i]
    ]
    return tuple(sorted(profiles, key=lambda each: (-each.seconds, -each.count, each.call)))


def profile_sites(trace: Trace) -> tuple[SiteProfile, ...]:
    """Sum a trace up by site, the one with the most computation and time inside calls first."""
    ops, sites, kinds = trace.ops, trace.head.sites, len(trace.head.calls)
    made = ops.op != Op.COMPUTE
    calls = np.flatnonzero(made & ops.are_first())
    names: dict[int, list[str]] = {}
    for key in np.unique(ops.site[calls].astype(np.int64) * kinds + ops.call[calls]).tolist():
        names.setdefault(key // kinds, []).append(trace.head.calls[key % kinds])
    count = np.bincount(ops.site[calls], minlength=len(sites))
    nbytes = np.bincount(ops.site[made], weights=trace.sent[made], minlength=len(sites))
    compute, seconds = (
        np.bincount(ops.site, weights=each, minlength=len(sites)) * 1e-9 for each in (ops.cpu, ops.took)
    )
    profiles = [
        SiteProfile(
            i, sites[i], tuple(names.get(i, ())), int(count[i]), int(nbytes[i]), float(compute[i]), float(seconds[i])
        )
        for i in np.unique(ops.site).tolist()
    ]
    return tuple(sorted(profiles, key=lambda each: (-each.compute - each.seconds, each.number)))


def profile_regions(trace: Trace) -> tuple[RegionProfile, ...]:
    """Sum a trace's computation up by region, in the order of first use."""
    ops, kinds, flops = trace.ops, len(trace.head.regions), trace.flops()
    seconds = np.bincount(ops.region, weights=ops.cpu, minlength=kinds) * 1e-9
    bursts = np.bincount(ops.region[ops.cpu > 0], minlength=kinds)
    return tuple(
        RegionProfile(name, int(bursts[i]), float(seconds[i]), flops.get(name, (0.0, 0.0))[0])
        for i, name in enumerate(trace.head.regions)
        if bursts[i] or name in flops
    )


def profile_communicators(trace: Trace) -> tuple[CommunicatorProfile, ...]:
    """Count the ops on each communicator, in the order of the head."""
    talking = ~np.isin(trace.ops.op, _SILENT)
    used = np.bincount(trace.ops.comm[talking], minlength=len(trace.head.communicators))
    return tuple(
        CommunicatorProfile(each.name, len(each.group), None if each.remote is None else len(each.remote), int(used[i]))
        for i, each in enumerate(trace.head.communicators)
    )


def rank_spans(trace: Trace) -> Iterator[tuple[int, float, float]]:
    """Yield each rank's ops, seconds of computation, and seconds inside calls, as recorded."""
    for rank in range(trace.ranks):
        ops = trace.rank(rank)
        yield len(ops), float(ops.cpu.sum()) * 1e-9, float(ops.took.sum()) * 1e-9
