"""What a replay yields. Figures only; :mod:`clue.report` turns them into text and pictures.

=============  ====  ===================================================================================
field          unit  meaning
=============  ====  ===================================================================================
makespan       s     virtual time 0 to the last finish of any rank
finish         s     virtual time at which the rank's program ended: compute + communicate + wait
compute        s     computation bursts as they ran there: scaled, shared, slowed by memory contention
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
    """What a rank does during a segment of the timeline."""

    COMPUTE = 0
    SEND = 1
    RECEIVE = 2
    WAIT = 3


class Part(IntEnum):
    """What a stretch of the critical path is.

    ===========  =======================================================================================================
    COMPUTATION  bursts, as long as they would have taken on a processor of their own
    SHARING      what bursts took beyond that: other ranks and background load on the node, memory contention
    SEND         the processor time of sends, s(m)
    HANDSHAKE    the answer of a rendezvous, or its envelope on the way to a probe
    CONTENTION   what messages took beyond s(m) and t(m), because other messages were in their way
    TRANSMISSION the travel of messages, t(m)
    RECEIVE      the processor time of receives and probes
    REDUCTION    combining what a collective reduces
    PACKING      packing and unpacking
    SPAWN        spawning ranks, and their start
    SLEEP        time that passes because the program sleeps
    COLD_START   what bursts took longer because their rank had waited before
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
        """How people call it."""
        return "processor sharing" if self is Part.SHARING else self.name.lower().replace("_", " ")

    @property
    def is_computation(self) -> bool:
        """Whether it belongs to a region of the program."""
        return self in {Part.COMPUTATION, Part.SHARING, Part.COLD_START}

    @property
    def is_on_the_way(self) -> bool:
        """Whether it is a message's way, which takes nobody's processor."""
        return self in {Part.HANDSHAKE, Part.CONTENTION, Part.TRANSMISSION}


#: One segment of a timeline: of a rank, from begin to end (seconds), doing ``activity`` in ``region`` for the call at
#: ``site`` (indices); computation is that before the call.
SEGMENT = np.dtype(
    [("rank", "<i4"), ("activity", "u1"), ("region", "<u2"), ("site", "<u2"), ("begin", "<f8"), ("end", "<f8")]
)


#: One stretch of a critical path, from begin to end (seconds): whose time it is, and what; of a computation its region
#: (an index); for which call site (an index): computation is before the call there, and all of a message belongs to the
#: call that sends it; of a message's way the rank that it goes to, else -1. A message's contention is laid before its
#: sending.
STRETCH = np.dtype(
    [
        ("rank", "<i4"), ("peer", "<i4"), ("part", "u1"), ("region", "<u2"), ("site", "<u2"), ("begin", "<f8"),
        ("end", "<f8"),
    ]
)  # fmt: skip


#: One message that an op sends, not one within a collective call: the ops that send it and that post its receive (rows
#: of the trace, those of one instance after the other; -1: nothing receives it), when its data start to leave, and when
#: it has arrived (seconds; not a number: never).
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
    """What every rank did when.

    Attributes:
        segments: Array of :data:`SEGMENT`, by rank and time; gaps do not occur before a rank's finish.
        regions: Names for the region indices.
        sites: What the indices of sites mean.
    """

    segments: npt.NDArray[np.void]
    regions: tuple[str, ...]
    sites: Sites = field(default_factory=Sites)


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Who sent how much to whom, collectives included as lowered.

    Attributes:
        messages: Number of messages, shape (ranks, ranks), sender first.
        nbytes: Bytes, same shape.
    """

    messages: npt.NDArray[np.int64]
    nbytes: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """When every call was made; entries by rows of the trace, those of one instance after the other.

    Attributes:
        begin: Virtual time at which the call of an op begins, the burst before it being done, seconds, shape (ops,).
        end: Virtual time at which it ends, the same.
        messages: Array of :data:`MESSAGE`.
    """

    begin: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]
    messages: npt.NDArray[np.void]


@dataclass(frozen=True, slots=True, eq=False)
class CriticalPath:
    """What the makespan is made of: from time 0 to the last finish, always what everything after it had to wait for.

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
    """What all ranks together do at each call site; entries by the number of the site, as in a trace.

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
        count: How often the program made it.
        seconds: Wall time it took when recorded, summed over ranks; 0 where that is not known, as of a wait for several
            requests of which some are modelled.
    """

    call: str
    count: int
    seconds: float

    @property
    def extent(self) -> str:
        """How many they are and what they took, in words."""
        calls = f"{self.count:,} call{'s' * (self.count != 1)}"
        return f"{calls} that took {format_time(self.seconds)} when recorded" if self.seconds else calls


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a simulation yields.

    Attributes:
        makespan: Virtual time from 0 to the last finish, seconds.
        engine: Which engine computed it.
        ranks: Figures by rank; with several instances, instance by instance.
        warnings: What a reader must know beside the figures.
        unmodelled: Calls left out, by name.
        compute_by_region: Seconds of computation, summed over ranks, by region name.
        instances: How many copies of the program ran side by side.
        ops: How many ops were replayed.
        timeline: If asked for.
        traffic: If asked for.
        calls: If asked for.
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
        """Return a data frame of pandas: a row a rank, times in seconds; columns as in ``--csv``.

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
