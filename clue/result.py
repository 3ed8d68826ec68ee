"""Results of a replay. Figures only; :mod:`clue.report` turns them into text and plots.

=============  ====  ===================================================================================
field          unit  meaning
=============  ====  ===================================================================================
makespan       s     virtual time 0 to the last finish of any rank
finish         s     virtual time at which the rank's program ended: compute + communicate + wait
compute        s     computation bursts on the simulated machine: scaled, shared, slowed by memory contention
communicate    s     send, receive and packing delays and reductions: processor time spent on messages
wait           s     the rest: waiting for messages, partners, requests, or for being spawned
=============  ====  ===================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clue.display import frame_of, html, short_repr
from clue.trace.sites import Sites
from clue.units import count_of, format_time

if TYPE_CHECKING:
    import pandas


class Activity(IntEnum):
    """Activity of a rank during a segment of the timeline."""

    COMPUTE = 0
    SEND = 1
    RECEIVE = 2
    WAIT = 3


class Part(IntEnum):
    """Kind of a stretch of the critical path.

    ===========  =======================================================================================================
    COMPUTATION  bursts, at the length that they would have on a dedicated processor
    SHARING      excess of bursts over that: other ranks and background load on the node, memory contention
    SEND         the processor time of sends, s(m)
    HANDSHAKE    the answer of a rendezvous, or its envelope on the way to a probe
    CONTENTION   excess of messages over s(m) and t(m), because of contention with other messages
    TRANSMISSION the travel of messages, t(m)
    RECEIVE      the processor time of receives and probes
    REDUCTION    combining the operands of a collective
    PACKING      packing and unpacking
    SPAWN        spawning ranks, and their start
    SLEEP        time that passes because the program sleeps
    COLD_START   excess of bursts because their rank had waited before
    ===========  =======================================================================================================
    """

    COMPUTATION = 0
    SHARING = 1
    SEND = 2
    HANDSHAKE = 3
    CONTENTION = 4
    TRANSMISSION = 5
    RECEIVE = 6
    REDUCTION = 7
    PACKING = 8
    SPAWN = 9
    SLEEP = 10
    COLD_START = 11

    @property
    def words(self) -> str:
        """Its name in reports."""
        return "processor sharing" if self is Part.SHARING else self.name.lower().replace("_", " ")

    @property
    def is_computation(self) -> bool:
        """Whether it belongs to a region of the program."""
        return self in {Part.COMPUTATION, Part.SHARING, Part.COLD_START}

    @property
    def is_on_the_way(self) -> bool:
        """Whether it is the travel of a message, which occupies no processor."""
        return self in {Part.HANDSHAKE, Part.CONTENTION, Part.TRANSMISSION}


#: One segment of a timeline: a rank does ``activity`` from ``begin`` to ``end`` (seconds), in ``region`` and for the
#: call at ``site`` (indices). Computation belongs to the call after it.
SEGMENT = np.dtype(
    [("rank", "<i4"), ("activity", "u1"), ("region", "<u2"), ("site", "<u2"), ("begin", "<f8"), ("end", "<f8")]
)


#: One stretch of a critical path, with its start and end (seconds): its rank and kind; the region of a computation (an
#: index); its call site (an index), where computation precedes the call and all of a message belongs to the sending
#: call; the receiving rank of a message in transit, else -1. A message's contention is placed before its sending.
STRETCH = np.dtype(
    [
        ("rank", "<i4"), ("peer", "<i4"), ("part", "u1"), ("region", "<u2"), ("site", "<u2"), ("begin", "<f8"),
        ("end", "<f8"),
    ]
)  # fmt: skip


#: One point-to-point message (those of collective calls are left out): the ops that send it and that post its receive
#: (rows of the trace, instance by instance; -1: never received), when its data start to leave, and when it has arrived
#: (seconds; NaN: never).
MESSAGE = np.dtype([("send", "<i8"), ("receive", "<i8"), ("leaves", "<f8"), ("arrival", "<f8")])


@dataclass(frozen=True, slots=True)
class RankResult:
    """One rank's figures, in seconds of virtual time."""

    rank: int
    node: int
    finish: float
    compute: float
    communicate: float
    wait: float


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Activities of all ranks over time.

    Attributes:
        segments: Array of :data:`SEGMENT`, by rank and time, without gaps before a rank's finish.
        regions: Names for the region indices.
        sites: What the indices of sites mean.
    """

    segments: npt.NDArray[np.void]
    regions: tuple[str, ...]
    sites: Sites = field(default_factory=Sites)


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Traffic between ranks, including the messages of lowered collectives.

    Attributes:
        messages: Number of messages, shape (ranks, ranks), sender first.
        nbytes: Bytes, same shape.
    """

    messages: npt.NDArray[np.int64]
    nbytes: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """Times of all calls; entries by rows of the trace, instance by instance.

    Attributes:
        begin: Virtual time at which the call of an op begins, after the burst before it, seconds, shape (ops,).
        end: Virtual time at which it ends, seconds, shape (ops,).
        messages: Array of :data:`MESSAGE`.
    """

    begin: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]
    messages: npt.NDArray[np.void]


@dataclass(frozen=True, slots=True, eq=False)
class CriticalPath:
    """The critical path: the chain of dependent stretches from time 0 to the last finish; they add up to the makespan.

    Attributes:
        stretches: Array of :data:`STRETCH`, by time, without gaps.
        regions: Names for the region indices.
        nodes: Node of each rank.
        node_types: Name of its type.
        sites: What the indices of sites mean.
    """

    stretches: npt.NDArray[np.void]
    regions: tuple[str, ...]
    nodes: tuple[int, ...]
    node_types: tuple[str, ...]
    sites: Sites = field(default_factory=Sites)


@dataclass(frozen=True, slots=True, eq=False)
class AtSites:
    """Sums over all ranks at each call site; entries by the number of the site, as in a trace.

    Attributes:
        compute: Computation before its calls, seconds, shape (sites,).
        communicate: Processor time on messages in its calls, seconds.
        wait: Waiting in its calls, and for processors, seconds.
        nbytes: Bytes of the messages that its calls send, those of collectives as lowered.
    """

    compute: npt.NDArray[np.float64]
    communicate: npt.NDArray[np.float64]
    wait: npt.NDArray[np.float64]
    nbytes: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Unmodelled:
    """Calls of one name that the simulation left out.

    Attributes:
        call: Its name in MPI.
        count: Number of calls.
        seconds: Recorded wall time, summed over ranks; 0 where unknown, as for a wait for several requests of which
            some are modelled.
    """

    call: str
    count: int
    seconds: float

    @property
    def extent(self) -> str:
        """Their number and time, in words."""
        calls = f"{self.count:,} call{'s' * (self.count != 1)}"
        return f"{calls} that took {format_time(self.seconds)} when recorded" if self.seconds else calls


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Result of a simulation.

    Attributes:
        makespan: Virtual time from 0 to the last finish, seconds.
        engine: Which engine computed it.
        ranks: Figures by rank; with several instances, instance by instance.
        warnings: Caveats that a reader must know beside the figures.
        unmodelled: Calls left out, by name.
        compute_by_region: Seconds of computation, summed over ranks, by region name.
        instances: How many copies of the program ran side by side.
        ops: Number of replayed ops.
        timeline: Timeline, if requested.
        traffic: Traffic, if requested.
        calls: Times of calls, if requested.
    """

    makespan: float
    engine: str
    ranks: tuple[RankResult, ...]
    warnings: tuple[str, ...] = ()
    unmodelled: tuple[Unmodelled, ...] = ()
    compute_by_region: Mapping[str, float] = field(default_factory=dict)
    instances: int = 1
    ops: int = 0
    timeline: Timeline | None = None
    traffic: Traffic | None = None
    calls: Calls | None = None

    def rows(self) -> list[dict[str, float]]:
        """Return the figures of each rank under names with units: ``{"rank": 0, "node": 0, "finish (s)": 1.5, …}``."""
        times = ("finish", "compute", "communicate", "wait")
        return [
            {"rank": rank.rank, "node": rank.node, **{f"{time} (s)": getattr(rank, time) for time in times}}
            for rank in self.ranks
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame of pandas: one row per rank, times in seconds, columns as in ``--csv``.

        Raises:
            UsageError: If pandas is not installed (``pip install "clue[pandas]"``).
        """
        return frame_of(self.rows())

    def __repr__(self) -> str:
        """Tell the makespan."""
        return short_repr(self, format_time(self.makespan), count_of(len(self.ranks)), count_of(self.ops, "op"))

    def _repr_html_(self) -> str:
        facts = (
            ("makespan", format_time(self.makespan)),
            ("ranks", f"{len(self.ranks):,}"),
            ("ops", f"{self.ops:,}"),
            ("engine", self.engine),
        )
        rows = [
            (each.rank, each.node, *map(format_time, (each.finish, each.compute, each.communicate, each.wait)))
            for each in self.ranks
        ]
        columns = ("rank", "node", "finish", "compute", "communicate", "wait")
        return html("Simulation", facts, columns, rows, self.warnings)
