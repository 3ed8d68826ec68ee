"""What is known of a link before anything is fitted: times by message size, measured here or imported. Values only.

Whatever the source, a figure is an :class:`Estimate`, and a figure that a source does not have is ``None``: nothing is
made up before :mod:`clue.calibration.link` says that it assumes something.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from clue.errors import UsageError


@dataclass(frozen=True, slots=True)
class Estimate:
    """A time with what repetition says of it.

    Attributes:
        value: The median, in seconds.
        low: Lower end of its confidence interval; the value itself if the source has none.
        high: Upper end.
        repetitions: How many times it was measured; 0 if the source does not say.
    """

    value: float
    low: float
    high: float
    repetitions: int = 0

    @classmethod
    def alone(cls, value: float, repetitions: int = 0) -> Estimate:
        """Return a time of which only one value is known."""
        return cls(value, value, value, repetitions)

    @property
    def spread(self) -> float:
        """Half the width of the interval, relative to the value."""
        return (self.high - self.low) / 2 / self.value if self.value else 0.0


def median_of(samples: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Return the median of samples with a confidence interval by order statistics.

    The interval makes no assumption on the distribution: the number of samples below the true median is binomial with
    probability 1/2, so that two order statistics enclose it with at least the confidence asked for (Hoefler & Belli,
    Scientific Benchmarking of Parallel Computing Systems, SC 2015, section 3.1.3). With too few samples for that it is
    the whole range.

    Raises:
        ValueError: If there are no samples.
    """
    if not samples:
        raise ValueError("samples must not be empty")
    ranked = sorted(samples)
    n = len(ranked)
    below = _rank_below(n, confidence)
    middle = ranked[n // 2] if n % 2 else (ranked[n // 2 - 1] + ranked[n // 2]) / 2
    return Estimate(middle, ranked[below], ranked[n - 1 - below], n)


def _rank_below(n: int, confidence: float) -> int:
    """Return how many samples may be left out at either end: the most for which the rest still has the confidence."""
    tail = (1 - confidence) / 2
    if n > 70:
        # The normal approximation of the binomial, half a sample to the safe side.
        deviations = _normal_quantile(1 - tail)
        return max(0, math.floor((n - deviations * math.sqrt(n)) / 2 - 0.5))
    below, outside = 0, 0.5**n
    while outside <= tail:
        below += 1
        outside += math.comb(n, below) * 0.5**n
    return max(0, below - 1)


def _normal_quantile(probability: float) -> float:
    from statistics import NormalDist  # noqa: PLC0415 - it loads fractions and more

    return NormalDist().inv_cdf(probability)


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of messages of one size.

    Attributes:
        size: Bytes.
        one_way: Half the time of a round trip, both sides waiting for each other.
        blocked: Time of the sender's call, its receive being posted.
        gap: Time per message of a stream: that of a window of nonblocking sends and the empty answer to it, divided by
            the number of messages.
        window: That number; 0 if the answer is not part of ``gap``.
    """

    size: int
    one_way: Estimate | None = None
    blocked: Estimate | None = None
    gap: Estimate | None = None
    window: int = 0

    def completed_by(self, other: Row) -> Row:
        """Return this row with what it lacks taken from another of the same size."""
        gap, window = (self.gap, self.window) if self.gap else (other.gap, other.window)
        return Row(self.size, self.one_way or other.one_way, self.blocked or other.blocked, gap, window)


@dataclass(frozen=True, slots=True)
class EagerLimit:
    """What was found of the largest message that is sent without waiting for its receive.

    Attributes:
        eager: Largest size that did not wait, bytes; ``None`` if all waited.
        waits: Smallest size that waited; ``None`` if none did.
        how: How that was found.
    """

    eager: int | None
    waits: int | None
    how: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """All that is known of one link.

    Attributes:
        rows: By strictly rising size.
        receive: Time of a receive whose message has long been there.
        eager: What is known of the eager limit; ``None`` if nothing.
        hosts: Names of the two computers; the same name twice within a node; empty if the source does not say.
        mpi: The MPI library's version, as far as known.
        date: When, ISO 8601, as far as known.
        source: Where the figures come from.
        notes: What a reader of the figures should know.
    """

    rows: tuple[Row, ...]
    receive: Estimate | None = None
    eager: EagerLimit | None = None
    hosts: tuple[str, ...] = ()
    mpi: str = ""
    date: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sizes = [row.size for row in self.rows]
        if any(b <= a for a, b in pairwise(sizes)):
            raise UsageError(f"{self.source or 'measurement'}: sizes must rise strictly, got {sizes}")

    @property
    def same_host(self) -> bool:
        """Whether it was taken within one node."""
        return len(self.hosts) == 2 and self.hosts[0] == self.hosts[1]


def rows_by_size(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return rows by rising size, those of one size made one: what comes first counts."""
    known: dict[int, Row] = {}
    for row in rows:
        known[row.size] = known[row.size].completed_by(row) if row.size in known else row
    return tuple(known[size] for size in sorted(known))


def merged(measurements: Sequence[Measurement]) -> Measurement:
    """Return one measurement of a link from several, such as its latencies and its bandwidths.

    Where two have the same figure, the first counts.

    Raises:
        UsageError: If there are none.
    """
    if not measurements:
        raise UsageError("measurements must be at least one, got none")
    first = measurements[0]
    return replace(
        first,
        rows=rows_by_size(row for each in measurements for row in each.rows),
        receive=next((each.receive for each in measurements if each.receive), None),
        eager=next((each.eager for each in measurements if each.eager), None),
        hosts=next((each.hosts for each in measurements if each.hosts), ()),
        mpi=next((each.mpi for each in measurements if each.mpi), ""),
        date=next((each.date for each in measurements if each.date), ""),
        source=", ".join(dict.fromkeys(each.source for each in measurements if each.source)),
        notes=tuple(dict.fromkeys(note for each in measurements for note in each.notes)),
    )
