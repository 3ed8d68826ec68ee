"""Parts of machines: processors, networks and switches, with their published figures.

Every figure has a date and a source, and says whether this source measured it, or the maker or the benchmark's
organisation published it. Figures that follow from specifications are computed here, by the formula beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from clue.machine.link import Link
from clue.units import Money

#: Bytes that a memory channel moves per transfer.
CHANNEL_WIDTH = 8
#: Benchmarks of processors and their names in reports; results are in flop/s, B/s, or SPEC's scores.
BENCHMARKS = {
    "stream_triad": "STREAM triad",
    "spec_fp_rate": "SPECrate 2017 fp base",
    "spec_int_rate": "SPECrate 2017 int base",
    "spec_fp_one": "SPECrate 2017 fp base, one copy",
    "spec_int_one": "SPECrate 2017 int base, one copy",
    "hpl": "HPL",
    "dgemm": "DGEMM",
}


#: Prefix of the names of shipped parts.
PREFIX = "parts/"
_IDLE_WORDS = re.compile(r"\((r|tm)\)|\bcpu\b|@.*|\b\d+-core\b|\bprocessor\b")


def _model(name: str) -> str:
    return " ".join(_IDLE_WORDS.sub(" ", name.casefold()).split())


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a part.

    Attributes:
        value: Its value, in SI units or the benchmark's score.
        measured: Whether the source measured it; otherwise the maker or the benchmark's organisation published it.
        source: Where it is published.
        date: Date of publication or retrieval, as ``"2026-11-02"``.
        cores: Number of cores that reach it together.
        note: A note for readers.
    """

    value: float
    measured: bool
    source: str
    date: str
    cores: int = 1
    note: str = ""

    @property
    def per_core(self) -> float:
        """Its value divided by the number of cores."""
        return self.value / self.cores

    @property
    def how(self) -> str:
        """Its origin, in one word: measured or published."""
        return "measured" if self.measured else "published"


@dataclass(frozen=True, slots=True)
class Part:
    """Attributes common to all parts.

    Attributes:
        key: Its name in the library, or its file.
        name: Its product name.
        source: Where its specifications come from.
        date: Date of the specifications.
        notes: Notes for readers.
        missing: By figure, the reason why it is missing.
    """

    key: str
    name: str
    source: str
    date: str
    notes: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Processor(Part):
    """A processor as a product: all cores of one socket.

    Attributes:
        cores: Number of cores.
        base_clock: Base clock, Hz.
        boost_clock: Largest clock of one core, Hz.
        channels: Number of memory channels; ``None`` if not stated.
        memory_rate: Transfers per second of each channel; ``None`` if not stated.
        flops_per_cycle: Double-precision operations of a core per cycle; ``None`` if not stated.
        power: Thermal design power, watts.
        price: Its maker's list price.
        names: Its names in operating systems and traces.
        figures: Benchmarks, by name as in :data:`BENCHMARKS`.
    """

    cores: int = 1
    base_clock: float | None = None
    boost_clock: float | None = None
    channels: int | None = None
    memory_rate: float | None = None
    flops_per_cycle: int | None = None
    power: float | None = None
    price: Money | None = None
    names: tuple[str, ...] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def peak_bandwidth(self) -> float | None:
        """Peak memory bandwidth, B/s: channels × rate × 8 B."""
        if self.channels is None or self.memory_rate is None:
            return None
        return self.channels * self.memory_rate * CHANNEL_WIDTH

    @property
    def peak_speed(self) -> float | None:
        """Peak speed in double precision, flop/s: cores × base clock × operations per cycle."""
        if self.base_clock is None or self.flops_per_cycle is None:
            return None
        return self.cores * self.base_clock * self.flops_per_cycle

    @property
    def is_shipped(self) -> bool:
        """Whether it is shipped with clue and found by its name, rather than read from a file."""
        return self.key.startswith(PREFIX)

    def is_called(self, model: str) -> bool:
        """Tell whether the name of a processor in an operating system or a trace stands for this one.

        Words that do not identify the model are ignored: ``Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz`` is an
        ``Intel Xeon Platinum 8168``.
        """
        return _model(model) in {_model(name) for name in (self.name, *self.names)}


@dataclass(frozen=True, slots=True)
class NetworkPart(Part):
    """A network: how messages travel between two nodes.

    Attributes:
        rate: Nominal rate of a port, B/s, as the network's name states it.
        latency: One-way time of an empty message between MPI ranks, seconds.
        bandwidth: Bandwidth of large messages between two nodes, B/s.
        link: The link between nodes: a published curve, or latency and bandwidth.
        link_from: Where the link comes from, in words.
    """

    rate: float = 0.0
    latency: Figure | None = None
    bandwidth: Figure | None = None
    link: Link | None = None
    link_from: str = ""


@dataclass(frozen=True, slots=True)
class Switch(Part):
    """A switch.

    Attributes:
        ports: Number of ports.
        rate: Rate of a port, B/s.
        rack_units: Height, rack units.
        power: Typical power, watts; ``None`` if not stated.
        price: Its list price.
    """

    ports: int = 1
    rate: float = 0.0
    rack_units: float = 1.0
    power: float | None = None
    price: Money | None = None


@dataclass(frozen=True, slots=True)
class Sockets:
    """The processors of a node, as parts.

    Attributes:
        processor: The model of processor.
        number: Number of sockets.
    """

    processor: Processor
    number: int = 1

    @property
    def cores(self) -> int:
        """Number of cores of all sockets."""
        return self.number * self.processor.cores

    @property
    def peak_bandwidth(self) -> float | None:
        """Peak memory bandwidth of the node, B/s: sockets × channels × rate × 8 B."""
        each = self.processor.peak_bandwidth
        return None if each is None else self.number * each

    @property
    def power(self) -> float | None:
        """Thermal design power of all sockets, watts."""
        return None if self.processor.power is None else self.number * self.processor.power
