"""Parts that machines are made of: processors, networks and switches, with what is published of each. Values only.

Every figure says whether it was measured (by who says so in its source) or published by its maker or a benchmark's
organisation, where, and when. What follows from specifications is computed here, by the formula that stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from clue.machine.link import Link
from clue.units import Money

#: Bytes that a channel of memory moves by one transfer.
CHANNEL_WIDTH = 8
#: Benchmarks of processors, with what they are called; in flop/s, B/s or as SPEC scores them.
BENCHMARKS = {
    "stream_triad": "STREAM triad",
    "spec_fp_rate": "SPECrate 2017 fp base",
    "spec_int_rate": "SPECrate 2017 int base",
    "spec_fp_one": "SPECrate 2017 fp base, one copy",
    "spec_int_one": "SPECrate 2017 int base, one copy",
    "hpl": "HPL",
    "dgemm": "DGEMM",
}


#: What the names of parts that are shipped begin with.
PREFIX = "parts/"
_IDLE_WORDS = re.compile(r"\((r|tm)\)|\bcpu\b|@.*|\b\d+-core\b|\bprocessor\b")


def _model(name: str) -> str:
    return " ".join(_IDLE_WORDS.sub(" ", name.casefold()).split())


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a part.

    Attributes:
        value: In SI units, or as the benchmark scores.
        measured: Whether the source measured it, rather than its maker or the benchmark's organisation published it.
        source: Where it stands.
        date: When it was published, or read, as ``"2026-11-02"``.
        cores: How many cores have it together.
        note: What a reader should know.
    """

    value: float
    measured: bool
    source: str
    date: str
    cores: int = 1
    note: str = ""

    @property
    def per_core(self) -> float:
        """The share of one core."""
        return self.value / self.cores

    @property
    def how(self) -> str:
        """How it is known, in a word."""
        return "measured" if self.measured else "published"


@dataclass(frozen=True, slots=True)
class Part:
    """What all parts have.

    Attributes:
        key: Its name in the library, or its file.
        name: What it is called.
        source: Where its specifications come from.
        date: Of which day they are.
        notes: What a reader should know.
        missing: By figure, why it is not there.
    """

    key: str
    name: str
    source: str
    date: str
    notes: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Processor(Part):
    """A processor as it is sold: all cores of one socket.

    Attributes:
        cores: How many.
        base_clock: Hz.
        boost_clock: Hz, at most, of one core.
        channels: Of memory; ``None`` if not stated.
        memory_rate: Transfers per second of each; ``None`` if not stated.
        flops_per_cycle: Operations in double precision that a core does in a cycle; ``None`` if not stated.
        power: Thermal design power, watts.
        price: As listed by its maker.
        names: How operating systems and traces name it.
        figures: Benchmarks, by name out of :data:`BENCHMARKS`.
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
        """Of its memory, B/s: channels × rate × 8 B."""
        if self.channels is None or self.memory_rate is None:
            return None
        return self.channels * self.memory_rate * CHANNEL_WIDTH

    @property
    def peak_speed(self) -> float | None:
        """In double precision, flop/s: cores × base clock × operations a cycle."""
        if self.base_clock is None or self.flops_per_cycle is None:
            return None
        return self.cores * self.base_clock * self.flops_per_cycle

    @property
    def is_shipped(self) -> bool:
        """Whether it is found by its name wherever clue is installed, rather than as a file."""
        return self.key.startswith(PREFIX)

    def is_called(self, model: str) -> bool:
        """Tell whether a processor that an operating system or a trace names is this one.

        Words that say nothing of the model are left out: ``Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz`` is an
        ``Intel Xeon Platinum 8168``.
        """
        return _model(model) in {_model(name) for name in (self.name, *self.names)}


@dataclass(frozen=True, slots=True)
class NetworkPart(Part):
    """A network: how messages travel between two nodes.

    Attributes:
        rate: Of a port, B/s, by its name.
        latency: Seconds that an empty message takes, one way, between MPI ranks.
        bandwidth: B/s of large messages between two nodes.
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
        ports: How many.
        rate: Of a port, B/s.
        rack_units: That it takes.
        power: Watts, typically; ``None`` if not stated.
        price: As listed.
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
        processor: Which.
        number: How many sockets have one.
    """

    processor: Processor
    number: int = 1

    @property
    def cores(self) -> int:
        """Of all."""
        return self.number * self.processor.cores

    @property
    def peak_bandwidth(self) -> float | None:
        """Of all memory, B/s: sockets × channels × rate × 8 B."""
        each = self.processor.peak_bandwidth
        return None if each is None else self.number * each

    @property
    def power(self) -> float | None:
        """Thermal design power of all, watts."""
        return None if self.processor.power is None else self.number * self.processor.power
