"""The data of a link before any fit: times by message size, measured here or imported. Values only.

Whatever the source, a figure is an :class:`Estimate`, or ``None`` if the source lacks it. Only
:mod:`clue.calibration.link` makes assumptions, and it reports them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from clue.errors import UsageError
from clue.units import format_size

#: Repeated figures contradict each other if they differ from their median by more than this share of it.
_CONTRADICTION = 0.15


@dataclass(frozen=True, slots=True)
class Estimate:
    """A time with its confidence interval.

    Attributes:
        value: The median, in seconds.
        low: Lower end of its confidence interval; the value itself if the source has none.
        high: Upper end.
        repetitions: Number of measurements; 0 if the source does not say.
    """

    value: float
    low: float
    high: float
    repetitions: int = 0

    @classmethod
    def alone(cls, value: float, repetitions: int = 0) -> Estimate:
        """Return a time with a single known value."""
        return cls(value, value, value, repetitions)

    @property
    def spread(self) -> float:
        """Half the width of the interval, relative to the value."""
        return (self.high - self.low) / 2 / self.value if self.value else 0.0


def median_of(samples: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Return the median of samples with a confidence interval by order statistics.

    The interval assumes nothing about the distribution: the number of samples below the true median is binomial with
    probability 1/2, so that two order statistics enclose it with at least the requested confidence (Hoefler & Belli,
    Scientific Benchmarking of Parallel Computing Systems, SC 2015, section 3.1.3). With too few samples, it is the
    whole range.

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
    """Return the largest number of samples to drop at either end so that the rest still has the confidence."""
    tail = (1 - confidence) / 2
    if n > 70:
        # The normal approximation of the binomial, half a sample on the safe side.
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
class SizeRow:
    """The data of messages of one size.

    Attributes:
        size: Message size, bytes.
        one_way: Half the time of a round trip, both sides waiting for each other.
        blocked: Time of the sender's call if the receive is already posted.
        gap: Time per message of a stream: that of a window of nonblocking sends and the empty answer to it, divided by
            the number of messages of all pairs and both directions.
        window: Number of messages of a pair in one direction; 0 if the answer is not part of ``gap``.
        call: Time of the call of a nonblocking send if the receive is already posted.
        pairs: Number of simultaneous pairs of ranks between the same two nodes; 0: several, but the source does not
            say how many.
        both_ways: Whether both ranks of a pair sent at once.
    """

    size: int
    one_way: Estimate | None = None
    blocked: Estimate | None = None
    gap: Estimate | None = None
    window: int = 0
    call: Estimate | None = None
    pairs: int = 1
    both_ways: bool = False

    @property
    def alone(self) -> bool:
        """Whether a single pair used both nodes, and sent in one direction at a time."""
        return self.pairs == 1 and not self.both_ways

    @classmethod
    def of(cls, rows: Sequence[SizeRow]) -> SizeRow:
        """Combine rows with the same size, pairs and directions: take the median of each figure."""
        gaps = [row for row in rows if row.gap]
        window = gaps[0].window if gaps else 0
        return cls(
            rows[0].size,
            _median([row.one_way for row in rows]),
            _median([row.blocked for row in rows]),
            _median([row.gap for row in gaps if row.window == window]),
            window,
            _median([row.call for row in rows]),
            rows[0].pairs,
            rows[0].both_ways,
        )


@dataclass(frozen=True, slots=True)
class EagerLimit:
    """The measured bounds of the eager limit.

    Attributes:
        eager: Largest size that did not wait, bytes; ``None`` if all waited.
        waits: Smallest size that waited; ``None`` if none did.
        how: How they were found.
    """

    eager: int | None
    waits: int | None
    how: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """All data of one link.

    Attributes:
        rows: Rows of one pair in one direction, by strictly rising size.
        receive: Time of a receive whose message the library has already taken.
        eager: The measured bounds of the eager limit; ``None`` if unknown.
        acknowledged_from: Smallest eager message whose sender waited until the receiver's library had it; ``None`` if
            none did, or if not measured.
        in_calls: Whether the sender of a message with a posted receive had to wait while the receiver's rank was
            outside of MPI calls; ``None`` if not measured.
        reads: Whether a message whose sender waits for its receive arrived although its sender's rank was outside of
            MPI calls: its receiver reads the data; ``None`` if not measured, or unknown.
        hosts: Names of the two computers; the same name twice within a node; empty if the source does not say.
        mpi: The MPI library's version, if known.
        date: Date of the measurement, ISO 8601, if known.
        source: Where the figures come from.
        notes: What a reader of the figures should know.
        shared: Rows of several simultaneous pairs, or of both directions at once, by size.
        confidence: Confidence of the intervals of its times.
        exchange: Time in which both ranks send a small message to each other at once, then receive.
        reduction: Time per byte in which a rank combines two vectors, seconds; ``None`` if not measured.
    """

    rows: tuple[SizeRow, ...]
    receive: Estimate | None = None
    eager: EagerLimit | None = None
    acknowledged_from: int | None = None
    in_calls: bool | None = None
    reads: bool | None = None
    hosts: tuple[str, ...] = ()
    mpi: str = ""
    date: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    shared: tuple[SizeRow, ...] = ()
    confidence: float = 0.95
    exchange: Estimate | None = None
    reduction: Estimate | None = None

    def __post_init__(self) -> None:
        sizes = [row.size for row in self.rows]
        if any(b <= a for a, b in pairwise(sizes)):
            raise UsageError(f"{self.source or 'measurement'}: sizes must rise strictly, got {sizes}")

    @property
    def half_width(self) -> float:
        """Half the width of an interval of a normal distribution, in standard deviations."""
        return _normal_quantile((1 + self.confidence) / 2)

    @property
    def same_host(self) -> bool:
        """Whether it was measured within one node."""
        return len(self.hosts) == 2 and self.hosts[0] == self.hosts[1]


def rows_by_size(rows: Iterable[SizeRow]) -> tuple[SizeRow, ...]:
    """Return rows by rising size; combine rows with the same size, pairs and directions."""
    known: dict[tuple[int, int, bool], list[SizeRow]] = {}
    for row in rows:
        known.setdefault((row.size, row.pairs, row.both_ways), []).append(row)
    return tuple(SizeRow.of(known[kind]) for kind in sorted(known))


def _median(estimates: Iterable[Estimate | None]) -> Estimate | None:
    """Return the median of several estimates of one figure, with an interval from the lowest to the highest."""
    known = [estimate for estimate in estimates if estimate is not None]
    if len(known) < 2:
        return known[0] if known else None
    low, high = min(each.low for each in known), max(each.high for each in known)
    return Estimate(median(each.value for each in known), low, high, sum(each.repetitions for each in known))


def _contradictions(rows: Iterable[SizeRow], whose: str = "") -> Iterator[str]:
    known = list(rows)
    for what, estimates in (
        (f"half round trips{whose}", [(row.size, row.one_way) for row in known]),
        (f"times per message of a stream{whose}", [(row.size, row.gap) for row in known]),
    ):
        apart = [(size, each.spread) for size, each in estimates if each and each.spread > _CONTRADICTION]
        if apart:
            sizes = ", ".join(dict.fromkeys(format_size(size) for size, _ in apart))
            most = max(spread for _, spread in apart)
            yield f"{what} are given several times and differ by up to {most:.0%} from their median: {sizes}"


def merged(measurements: Sequence[Measurement]) -> Measurement:
    """Return one measurement of a link from several, such as its latencies and its bandwidths.

    The median of a repeated figure counts; if values contradict each other, a note says so.

    Raises:
        UsageError: If there are none.
    """
    if not measurements:
        raise UsageError("measurements must be at least one, got none")
    first = measurements[0]
    rows = rows_by_size(row for each in measurements for row in each.rows)
    shared = rows_by_size(row for each in measurements for row in each.shared)
    notes = dict.fromkeys(note for each in measurements for note in each.notes)
    return replace(
        first,
        rows=rows,
        receive=next((each.receive for each in measurements if each.receive), None),
        exchange=next((each.exchange for each in measurements if each.exchange), None),
        reduction=next((each.reduction for each in measurements if each.reduction), None),
        eager=next((each.eager for each in measurements if each.eager), None),
        acknowledged_from=next((each.acknowledged_from for each in measurements if each.acknowledged_from), None),
        in_calls=next((each.in_calls for each in measurements if each.in_calls is not None), None),
        reads=next((each.reads for each in measurements if each.reads is not None), None),
        hosts=next((each.hosts for each in measurements if each.hosts), ()),
        mpi=next((each.mpi for each in measurements if each.mpi), ""),
        date=next((each.date for each in measurements if each.date), ""),
        source=", ".join(dict.fromkeys(each.source for each in measurements if each.source)),
        notes=(*notes, *_contradictions(rows), *_contradictions(shared, " of several pairs or both directions")),
        shared=shared,
    )
