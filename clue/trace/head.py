"""The head of a trace: everything that is not a column, as one JSON file. No numpy here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from clue.errors import TraceError
from clue.trace.ops import TRACE_FORMAT, TRACE_VERSION


@dataclass(frozen=True, slots=True)
class Communicator:
    """A communicator of the recorded program.

    Attributes:
        name: How it came to be: ``"WORLD"``, ``"SELF"``, or the constructor's name.
        group: Its members as ranks of the trace, in communicator order.
        remote: For an intercommunicator the remote group, seen from ``group``; else ``None``. The other side has
            an entry of its own with the groups exchanged and the same ``context``.
        context: Messages match within one context; ops of one collective too.
    """

    name: str
    group: tuple[int, ...]
    remote: tuple[int, ...] | None
    context: int


@dataclass(frozen=True, slots=True)
class RankHead:
    """What is known of one recorded rank.

    Attributes:
        host: Name of the computer it ran on.
        peak_memory: Largest resident size, bytes.
        cpu: CPU time of the whole rank, seconds.
        wall: Wall time from begin to end of its recording, seconds.
        world: Index of its ``COMM_WORLD``: 0, or that of a spawned one.
        flops: Floating-point operations the program declared, by region index.
        delayed: How long other processes kept it from computing, seconds (:mod:`clue.trace.disturbance`).
    """

    host: str
    peak_memory: int
    cpu: float
    wall: float
    world: int = 0
    flops: Mapping[int, float] = field(default_factory=dict)
    delayed: float = 0.0


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
        communicators: Indexed by the comm column.
        processor: Model name of the recording computer's processor.
        mpi: The MPI library's own version string.
        python: Version of Python.
        clock: Clock used for bursts.
        settings: Environment variables the recorder set.
        overhead: Measured cost of recording one call, seconds.
        recorded: Date and time, ISO 8601.
        notes: What a reader of results should know about the recording.
        checksums: CRC-32 of each column.
    """

    program: str
    arguments: tuple[str, ...]
    rank_heads: tuple[RankHead, ...]
    offsets: tuple[int, ...]
    extra_offsets: tuple[int, ...]
    calls: tuple[str, ...]
    regions: tuple[str, ...]
    communicators: tuple[Communicator, ...]
    processor: str = ""
    mpi: str = ""
    python: str = ""
    clock: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    overhead: float = 0.0
    recorded: str = ""
    notes: tuple[str, ...] = ()
    checksums: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """Encode as JSON."""
        return json.dumps({"format": TRACE_FORMAT, "version": TRACE_VERSION, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, place: Path | str) -> Head:
        """Decode JSON.

        Raises:
            TraceError: If it is not the head of a trace of this version.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise TraceError(f"{place}: head must be JSON, got {error}") from None
        if not isinstance(data, dict) or data.get("format") != TRACE_FORMAT:
            raise TraceError(f'{place}: format must be "{TRACE_FORMAT}": this is not a trace of clue')
        if data.get("version") != TRACE_VERSION:
            raise TraceError(
                f"{place}: version must be {TRACE_VERSION}, got {data.get('version')!r}: "
                "record the program again with this version of clue"
            )
        try:
            return cls(
                program=str(data["program"]),
                arguments=tuple(map(str, data["arguments"])),
                rank_heads=tuple(
                    RankHead(**{**each, "flops": {int(k): float(v) for k, v in each["flops"].items()}})
                    for each in data["rank_heads"]
                ),
                offsets=tuple(map(int, data["offsets"])),
                extra_offsets=tuple(map(int, data["extra_offsets"])),
                calls=tuple(map(str, data["calls"])),
                regions=tuple(map(str, data["regions"])),
                communicators=tuple(
                    Communicator(
                        name=each["name"],
                        group=tuple(each["group"]),
                        remote=None if each["remote"] is None else tuple(each["remote"]),
                        context=each["context"],
                    )
                    for each in data["communicators"]
                ),
                **{
                    name: data[name]
                    for name in ("processor", "mpi", "python", "clock", "settings", "overhead", "recorded")
                },
                notes=tuple(map(str, data.get("notes", ()))),
                checksums={str(k): int(v) for k, v in data["checksums"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TraceError(f"{place}: head must have all fields of a trace's head, got a fault at {error}") from None
