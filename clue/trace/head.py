"""The head of a trace: everything that is not a column, as one JSON file. This module does not use numpy.

The annotations of these classes are the form that :func:`Head.from_json` checks a file against (see
:mod:`clue.trace.form`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

from clue.errors import TraceError
from clue.trace.form import Within, parse_version, read
from clue.trace.ops import TRACE_FORMAT, TRACE_VERSION, TRACE_VERSIONS
from clue.trace.sites import Sites
from clue.units import format_size

#: Largest size of a head, bytes: enough for about 400 000 ranks.
LONGEST_HEAD = 64 * 10**6
#: Name of the clock of an extrapolated trace.
EXTRAPOLATED = "extrapolated"

_Text = Annotated[str, Within(0, 2**20)]
_Name = Annotated[str, Within(0, 2**12)]
#: Ranks, and other small numbers, with their bounds: no file has room for more than the largest.
_Rank = Annotated[int, Within(0, 2**24 - 1)]
_Context = Annotated[int, Within(0, 2**31 - 1)]
_Row = Annotated[int, Within(0, 2**40)]
_Bytes = Annotated[int, Within(0, 2**53)]
_Seconds = Annotated[float, Within(0, 1e12)]
_Work = Annotated[float, Within(0, 1e30)]
#: Difference of two times, seconds: it may be slightly negative if clocks are coarse.
_Difference = Annotated[float, Within(-1, 1e6)]
_Checksum = Annotated[int, Within(0, 2**32 - 1)]


@dataclass(frozen=True, slots=True)
class Communicator:
    """A communicator of the recorded program.

    Attributes:
        name: Its origin: ``"WORLD"``, ``"SELF"``, or the constructor's name.
        group: Its members as ranks of the trace, in communicator order.
        remote: For an intercommunicator, the remote group as seen from ``group``; otherwise ``None``. The other side
            has its own entry, with the groups exchanged and the same ``context``.
        context: Messages, and the ops of a collective, match only within one context.
    """

    name: _Name
    group: tuple[_Rank, ...]
    remote: tuple[_Rank, ...] | None
    context: _Context


@dataclass(frozen=True, slots=True)
class RankHead:
    """The information of a trace about one rank.

    Attributes:
        host: Name of the computer it ran on.
        peak_memory: Largest resident size, bytes.
        cpu: CPU time of the whole rank, seconds.
        wall: Wall time from the start to the end of its recording, seconds.
        world: Index of its ``COMM_WORLD``: 0, or the index of a spawned world.
        flops: Floating-point operations that the program declared, by region index.
        delayed: How long other processes kept it from computing, seconds (:mod:`clue.trace.disturbance`).
    """

    host: _Name
    peak_memory: _Bytes
    cpu: _Seconds
    wall: _Seconds
    world: _Rank = 0
    flops: Mapping[int, _Work] = field(default_factory=dict)
    delayed: _Seconds = 0.0


@dataclass(frozen=True, slots=True)
class Probe:
    """How to read the readings of the host's speed (:mod:`clue.trace.speed`).

    Attributes:
        work: The work that was timed: only readings of the same work can be compared.
        offsets: Reading at which each rank begins, with the total at the end: ranks + 1 entries.
        best: Time of each piece of work at the host's best speed, seconds; 0 if it was not done.
    """

    work: _Name
    offsets: tuple[_Row, ...]
    best: tuple[_Seconds, _Seconds]


@dataclass(frozen=True, slots=True)
class Typical:
    """Typical bursts, from several recordings of the same run, including this trace (:mod:`clue.trace.store`).

    Attributes:
        recordings: Number of recordings.
        spread: Half the range of the recordings' computation times, relative to their median.
    """

    recordings: Annotated[int, Within(1, 10**6)]
    spread: Annotated[float, Within(0, 1e6)]


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a trace.

    Attributes:
        program: Path of the program as given.
        arguments: Its arguments.
        rank_heads: One entry per rank.
        offsets: Row at which each rank begins, with the total at the end: ranks + 1 entries.
        extra_offsets: The same for the extra column.
        calls: Names of MPI calls, indexed by the call column.
        regions: Names of regions, indexed by the region column; entry 0 is ``""``, outside any region.
        communicators: The communicators, indexed by the comm column.
        processor: Model name of the recording computer's processor.
        mpi: The MPI library's own version string.
        python: Version of Python.
        clock: Clock used for bursts.
        settings: Environment variables that the recorder set.
        overhead: Measured cost of recording one call, seconds.
        recorded: Date and time, ISO 8601.
        notes: Notes on the recording for readers of results.
        checksums: CRC-32 of each column.
        probe: How to read its readings of the host's speed, if it has any.
        typical: The recordings behind its typical bursts, if it has any.
        sites: Call paths, indexed by the site column; entry 0 is the unknown one.
    """

    program: _Text
    arguments: tuple[_Text, ...]
    rank_heads: tuple[RankHead, ...]
    offsets: tuple[_Row, ...]
    extra_offsets: tuple[_Row, ...]
    calls: tuple[_Name, ...]
    regions: tuple[_Name, ...]
    communicators: tuple[Communicator, ...]
    processor: _Name = ""
    mpi: _Text = ""
    python: _Name = ""
    clock: _Name = ""
    settings: Mapping[str, _Text] = field(default_factory=dict)
    overhead: _Difference = 0.0
    recorded: _Name = ""
    notes: tuple[_Text, ...] = ()
    checksums: Mapping[str, _Checksum] = field(default_factory=dict)
    probe: Probe | None = None
    typical: Typical | None = None
    sites: Sites = field(default_factory=Sites)

    def to_json(self, place: Path) -> bytes:
        """Encode as JSON.

        Raises:
            TraceError: If the result exceeds the limit for heads.
        """
        text = json.dumps({"format": TRACE_FORMAT, "version": TRACE_VERSION, **asdict(self)}, indent=1) + "\n"
        if len(text) > LONGEST_HEAD:
            raise TraceError(
                f"{place}: head must have at most {format_size(LONGEST_HEAD)}, got {format_size(len(text))} for "
                f"{len(self.rank_heads)} ranks"
            )
        return text.encode()

    @classmethod
    def from_json(cls, content: bytes, place: Path | str) -> Head:
        """Decode JSON.

        Raises:
            TraceError: If it is not the head of a trace of this version; lists all faults.
        """
        return read(cls, parse_version(content, place, TRACE_FORMAT, TRACE_VERSIONS, "a trace of clue"), place)
