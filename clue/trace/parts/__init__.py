"""The parts of a trace that ranks write while they are recorded: a format that a recorder in any language can write.

A recorder writes up to six files for each rank into the folder ``parts`` of the trace::

    TRACE/parts/W-rNNNNN.json       identity of the rank: a Start, written when it begins
                W-rNNNNN.rows       its ops, one row each, written as they happen
                W-rNNNNN.extras     lists that do not fit a row: int64_t after int64_t
                W-rNNNNN.readings   how fast the host was; may be left out, with the End's ``probe``
                W-rNNNNN.stack      where the rank was when it was told to end (SIGTERM), innermost function first, in
                                    the form of Python's faulthandler; may be left out
                W-rNNNNN.end.json   what is known only at its end: an End, written last, at once (renamed into place)

W is the key of the rank's world: letters, digits and ``_``; the world that the launcher started is ``w0``. NNNNN is the
rank there, with at least five digits. Other files of a recorder in the folder (:data:`OTHERS`) are not read. Numbers
are little-endian. A row has 72 bytes::

    struct row {                                            /* at byte                  */
        int64_t  cpu, begin, took, nbytes;                  /*  0,  8, 16, 24           */
        int32_t  peer, tag, comm, request, extra, count;    /* 32, 36, 40, 44, 48, 52   */
        uint16_t call, region, site, flags;                 /* 56, 58, 60, 62           */
        uint8_t  op, unused[7];                             /* 64, 65; unused is 0      */
    };

:mod:`clue.trace.ops` defines the fields of each op. References are the rank's own numbers:

======== ==============================================================================================================
field    refers to
======== ==============================================================================================================
call     the rank's ``Start.calls``
region   its ``End.regions``
site     its ``End.sites``; 0 if it does not know the call's site
comm     its ``End.communicators``
extra    its extras: position of this op's first entry, counted in entries; there are ``count`` entries
request  a serial number within the rank, from 0 on; -1 if the op has no request
======== ==============================================================================================================

The entry of a ``SPAWN`` is an index into its ``End.worlds``. A row whose ``op`` is 0 has not been written yet: while
the rank runs, the file may be longer than its rows, so that a killed rank keeps the rows that it wrote. When the rank
ends, the file is cut to its ``End.rows`` rows.

A reading of the host's speed is three int64_t: its time, in ns since the recording began, and the CPU time of two fixed
pieces of work, in ns; 0 stands for a piece that was not done. :mod:`clue.trace.speed` uses the readings.

Each communicator has a *key*: any text, which is only compared for equality. All members of a communicator, on both
sides of an intercommunicator, give it the same key, and no other communicator has that key, freed ones included. Each
recorder chooses how to make such keys.

JSON is UTF-8; keys that have a default may be left out, and unknown ones are ignored. Times are in seconds unless
stated otherwise, sizes in bytes. When all ranks of all worlds have ended, :func:`clue.trace.pack.pack` makes the trace.
This module uses only the standard library, because the virtual layer imports it inside the user's process.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated

from clue.trace.form import Within
from clue.trace.ops import COLUMNS
from clue.trace.sites import Sites

FORMAT = "clue-parts"
#: Version of the format, raised with every change.
VERSION = 2
#: The folder within the folder of a trace, and the world that the launcher started.
FOLDER, FIRST_WORLD = "parts", "w0"
START, END, ROWS, EXTRAS, READINGS, STACK = ".json", ".end.json", ".rows", ".extras", ".readings", ".stack"
#: Endings of files that recorders keep there for their own use.
OTHERS = (".end.draft", ".calibration")

_CODES = {name: code for name, _, code in COLUMNS}
ROW = struct.Struct("<" + "".join(_CODES.values()) + "7x")
_ENDINGS = "|".join(map(re.escape, (START, END, ROWS, EXTRAS, READINGS, STACK, *OTHERS)))
_FILE = re.compile(rf"\w+-r\d{{5,}}({_ENDINGS})|\w+\.spawn\.json", re.ASCII)

_Text = Annotated[str, Within(0, 2**20)]
_Name = Annotated[str, Within(0, 2**12)]
#: Text short enough for a line about eight ranks.
_Word = Annotated[str, Within(0, 2**8)]
_Number = Annotated[int, Within(0, 2**31 - 1)]
_Bytes = Annotated[int, Within(0, 2**53)]
_Seconds = Annotated[float, Within(0, 1e12)]
#: Difference of two times, seconds: kernels count some times in ticks, so it may be negative.
_Difference = Annotated[float, Within(-1e12, 1e12)]


@dataclass(frozen=True, slots=True)
class Start:
    """A rank's information at its start.

    Attributes:
        world: Key of its world, as in the names of its files.
        rank: Its rank there.
        size: Number of ranks there.
        host: Name of its computer.
        started: When it began, ns since 1970.
        program: Path of the program as given.
        arguments: Its arguments.
        calls: Names of the MPI calls that its rows refer to.
        process: Its process number on its computer.
        settings: Environment variables that the recorder set.
        mpi: The MPI library's own version string.
        python: Version of Python, if the program is in Python.
        processor: Model name of its computer's processor.
        clock: Clock used for bursts.
        fault: Why it ended early; the file is overwritten when this is known.
    """

    world: _Name
    rank: _Number
    size: _Number
    host: _Name
    started: Annotated[int, Within(0, 2**63 - 1)]
    program: _Text
    arguments: tuple[_Text, ...]
    calls: tuple[_Word, ...]
    process: Annotated[int, Within(0, 2**63 - 1)] = 0
    settings: Mapping[str, _Text] = field(default_factory=dict)
    mpi: _Text = ""
    python: _Name = ""
    processor: _Name = ""
    clock: _Name = ""
    fault: _Word = ""

    def to_json(self) -> bytes:
        """Encode with the format's name and version."""
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}).encode()


@dataclass(frozen=True, slots=True)
class HostReading:
    """Counters of a rank's computer from the rank's start to its end (see :mod:`clue.trace.disturbance`).

    Attributes:
        begin: When the rank began, by a clock that all processes of the computer share.
        end: When it ended, by the same clock.
        cores: The cores that the rank may use.
        busy: CPU time of all processes on them.
        cpu: CPU time of the rank and of its children that have ended.
        waited: How long the rank was ready but had no core.
    """

    begin: _Seconds
    end: _Seconds
    cores: tuple[_Number, ...]
    busy: _Difference
    cpu: _Difference
    waited: _Difference


@dataclass(frozen=True, slots=True)
class Imported:
    """Imports: digests of the program's own files, ``""`` if unknown, and a file of each installed package."""

    modules: Mapping[str, _Name] = field(default_factory=dict)
    packages: Mapping[str, _Text] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class End:
    """A rank's information at its end.

    Attributes:
        rows: Number of its rows.
        communicators: For each, the constructor's name, its key (none if its members are not known: ops on it are then
            ``OTHER``), and the numbers of its group and, for an intercommunicator, of the remote group. The first is
            the rank's world.
        groups: Members in their order: ranks of the rank's own world, or pairs of a world's key and a rank there.
        regions: Names; the first is ``""``, outside any.
        peak_memory: Largest resident size.
        cpu: CPU time of the whole rank.
        wall: Wall time from start to end.
        flops: Declared floating-point operations by region.
        worlds: Keys of the worlds that it spawned, in order.
        overhead: Cost of recording one call.
        notes: Notes for readers of results.
        sockets: Addresses at which others can reach it by sockets, and those at which it reached others.
        computer: Counters of its computer, if any were read.
        imports: The program's imports.
        probe: The work that was timed to read the host's speed: only readings of the same work can be compared. ``""``
            if none was timed.
        sites: Call paths in the program; the first is the unknown one. A recorder may leave them out.
    """

    rows: Annotated[int, Within(0, 2**40)]
    communicators: tuple[tuple[_Name, _Name | None, _Number, _Number | None], ...]
    groups: tuple[tuple[_Number | tuple[_Name, _Number], ...], ...]
    regions: tuple[_Name, ...]
    peak_memory: _Bytes
    cpu: _Seconds
    wall: _Seconds
    flops: Mapping[int, Annotated[float, Within(0, 1e30)]] = field(default_factory=dict)
    worlds: tuple[_Name, ...] = ()
    overhead: Annotated[float, Within(-1, 1e6)] = 0.0
    notes: tuple[_Text, ...] = ()
    sockets: tuple[tuple[_Text, ...], tuple[_Text, ...]] = ((), ())
    computer: HostReading | None = None
    imports: Imported = field(default_factory=Imported)
    probe: _Name = ""
    sites: Sites = field(default_factory=Sites)

    def to_json(self) -> bytes:
        """Encode."""
        return json.dumps(asdict(self)).encode()


def stem(world: str, rank: int) -> str:
    """Return the prefix that the names of a rank's files share."""
    return f"{world}-r{rank:05d}"


def is_part(name: str) -> bool:
    """Tell whether a file of this name is a rank's part."""
    return _FILE.fullmatch(name) is not None


def offset_of(name: str) -> int:
    """Return where a field begins within a row."""
    return struct.calcsize("<" + "".join(_CODES.values())[: list(_CODES).index(name)])
