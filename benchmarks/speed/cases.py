"""The timed cases: the workloads, their sizes, and the networks that they run on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.speed.contest import NetworkCase
from benchmarks.speed.settings import FLOWS, ContentionKind, NetworkSetting
from benchmarks.speed.workloads import allreduce, alltoall, halo, pipeline, ring

#: Messages of a workload in full size; fewer where links are shared, because the peer takes up to a minute there.
MESSAGES, FLOW_MESSAGES = 1_000_000, 100_000
#: The same with ``--quick``.
QUICK_MESSAGES = 20_000
MEBIBYTE = 1 << 20
_SINGLE = (
    NetworkSetting(ContentionKind.NONE),
    NetworkSetting(ContentionKind.FACTOR),
    NetworkSetting(ContentionKind.PORTS),
)
_SHARED = tuple(NetworkSetting(model, bandwidth) for model in FLOWS for bandwidth in (1e9, 12.5e9))


def single_cases(workloads: frozenset[str], *, quick: bool) -> Iterator[NetworkCase]:
    """Yield the cases without shared links: clue against LogGOPSim."""
    messages = QUICK_MESSAGES if quick else MESSAGES
    if "W1" in workloads:
        for ranks in (64, 256) if quick else (64, 256, 1024, 4096):
            yield NetworkCase(partial(halo, ranks), _SINGLE, messages)
    if "W2" in workloads:
        yield NetworkCase(partial(ring, 64), _SINGLE, messages)
        yield NetworkCase(partial(pipeline, 64), _SINGLE, messages)
    if "W3" in workloads:
        for library in ("openmpi", "mpich"):
            for ranks in (64,) if quick else (64, 256):
                yield NetworkCase(partial(alltoall, ranks, library=library), _SINGLE, messages)
    if "W4" in workloads:
        for nbytes in (8, MEBIBYTE):
            yield NetworkCase(partial(allreduce, 64 if quick else 256, nbytes=nbytes), _SINGLE, messages)


def flow_cases(workloads: frozenset[str], *, quick: bool) -> Iterator[NetworkCase]:
    """Yield the cases in which messages share links: clue against SimGrid."""
    messages = QUICK_MESSAGES if quick else FLOW_MESSAGES
    if "W1" in workloads:
        for ranks in (64, 256) if quick else (64, 256, 1024):
            yield NetworkCase(partial(halo, ranks), _SHARED, messages)
    if "W4" in workloads:
        for nbytes in (8, MEBIBYTE):
            for ranks in (64,) if quick else (64, 256, 1024):
                yield NetworkCase(partial(allreduce, ranks, nbytes=nbytes), _SHARED, messages)


def engine_cases(workloads: frozenset[str], *, quick: bool) -> Iterator[NetworkCase]:
    """Yield the cases that compare clue's own engines."""
    if "W1" in workloads:
        messages = QUICK_MESSAGES if quick else FLOW_MESSAGES
        yield NetworkCase(partial(halo, 64), (*_SINGLE, *_SHARED[:1]), messages, reference=True)
