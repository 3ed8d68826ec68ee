"""Fit of a link to its measurement: send delay, transmission delay, receive delay, eager limit.

Everything here follows from the definition of a message in the simulator. A ping-pong's half round trip takes

- s(m) + t(m) + o for an eager message,
- s(0) + t(0) + e + s(m) + t(m) + o for a rendezvous message, whose data wait for an empty answer; if the library
  progresses messages within calls only, s(0) + t(0) more, as the answer waits for the envelope; if the receiver reads
  the data, it waits for the envelope alone, s(0) + t(0),

so that a simulation of the ping-pong on the fitted link reproduces the measured times; o is the receive overhead r + e,
or r if it was not measured. A stream takes at least r per message, so r is at most that. If the source cannot separate
the parts, an assumption does, and every assumption is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clue.calibration.measurement import EagerLimit, Estimate, Measurement, SizeRow
from clue.calibration.polyline import APART, Floats, Samples, fit_points, roughness
from clue.errors import UsageError
from clue.machine import Curve, Link, Progress, Rendezvous
from clue.units import format_size, format_time

#: Smallest relative uncertainty of a fitted time: two runs of one benchmark differ by this much.
LEAST_UNCERTAINTY = 0.015
#: Smallest excess growth of a latency that indicates a rendezvous: in multiples of an empty message's time, and of
#: its noise.
_JUMP, _JUMP_NOISE = 0.4, 6.0
#: Share of an empty message's time for which its sender, and its receiver, are busy with it, if not measured.
_EMPTY_SHARE = 0.2
#: Largest share of an empty message's time that its receive may take: a message leaves before it is received.
_MOST_OF_RECEIVE = 0.95
#: A receive on its own takes at most so many times as long as a message of a stream.
_MOST_GAPS = 2.0
#: Relative difference below which two times may be equal.
_SAME = 0.05
#: Smallest share of a window's time per message that remains when the answer's part is subtracted.
_LEAST_SHARE = 0.25
#: A time is an outlier if it differs from all that is expected of it by at least this factor, up or down.
_ODD = 1.5
#: If the smallest measured size is at least this, bytes, it says little about an empty message.
_SMALL = 64
#: If the largest is below this, bytes, it says little about bandwidth: in networks of 100 MB/s, such a message still
#: takes as long to start as to transmit.
_LARGE = 1 << 14
#: The processor of a rank limits a stream if its time per message is at least this share of the stream's.
_RANK_LIMITS = 0.9
#: The network limits a stream, rather than its ranks, if it takes at least this many times the least time per message.
_NETWORK_LIMITS = 2.0
#: Two directions share a resource if their joint throughput, relative to one direction, is below this; ideally 2.
_BOTH_WAYS = 1.8
#: A message shows the depth of a token bucket only if at least this share of it passes at once: noise would hide a
#: smaller share.
_AT_ONCE = 0.25
#: Smallest depth of a bucket, bytes: below one frame of Ethernet, times per message explain it.
_LEAST_BUCKET = 1500.0
#: Ratio of the times of single messages and of a stream from which they are reported to differ.
_REUSED = 1.25
#: Pairs share a resource if half round trips of several pairs take at least this many times as long as those of one.
_SLOWED = 1.1


@dataclass(frozen=True, slots=True)
class FittedLink:
    """A fitted link and its origin.

    Attributes:
        link: The link.
        assumptions: Assumptions about what the data could not show, in words.
        progress: When its library progresses messages.
        copy_bandwidth: Within a node, the copy bandwidth of its memory, bytes per second, if measured.
    """

    link: Link
    assumptions: tuple[str, ...]
    progress: Progress = Progress.ASYNCHRONOUS
    copy_bandwidth: float | None = None


def progress_of(links: Iterable[FittedLink]) -> Progress:
    """Return when the library of some links progresses messages: only within calls if one link showed that."""
    within = any(each.progress is Progress.CALLS for each in links)
    return Progress.CALLS if within else Progress.ASYNCHRONOUS


def fit_link(measurement: Measurement, eager_limit: float | None = None, *, within: bool = False) -> FittedLink:
    """Fit a link to a measurement.

    Args:
        measurement: The measurement of the link.
        eager_limit: The eager limit, bytes, if the user knows it (infinite: every message is eager); it takes
            precedence.
        within: Whether it is within a node, where messages share no ports, but receivers copy them.

    Raises:
        UsageError: If the measurement has round trips of fewer than two sizes.
    """
    rows = [row for row in measurement.rows if row.one_way is not None and row.one_way.value > 0]
    if len(rows) < 2:
        raise UsageError(
            f"{measurement.source or 'measurement'}: round trips must be known at two sizes at least, got {len(rows)}: "
            "bandwidths alone do not give the latency of a message, nor do several pairs at once"
        )
    limit, about_limit = _eager_limit(measurement, rows, eager_limit)
    receive, about_receive = _receive_delay(measurement, rows)
    whole = _receive_overhead(measurement, rows, receive)
    completion = 0.0 if whole is None else whole - receive
    parts = _Parts.of(rows, receive, completion, limit, measurement)
    send, about_send = _send_delay(_as_kept(measurement, limit), parts, waits=not measurement.reads)
    overhead = _overhead(measurement.rows, parts)
    total = _curve(parts.sizes, parts.total, parts.uncertainty, parts.limit)
    link = Link(
        send, _transmission_delay(parts, send, total), receive, limit, send_overhead=overhead, receive_overhead=whole,
        acknowledged_from=measurement.acknowledged_from,
        rendezvous=Rendezvous.READ if measurement.reads else Rendezvous.WRITE,
    )  # fmt: skip
    if within:
        copy_time, about_busy = _copy_time(measurement, parts)
        link = replace(link, copy_time=copy_time)
    else:
        busy, about_busy = _busy(measurement, parts, link)
        link = replace(link, busy=busy)
        link = replace(link, bucket=_bucket(measurement.rows, parts, link))
    about_shared = (*about_busy, *_about_pairs(measurement), *_about_directions(measurement))
    ends = _about_ends(parts, (send, total))
    about_curve = (*ends, *_about_outliers(parts), *_about_zeros(measurement))
    said = (*about_send, *about_receive, *about_limit, *about_shared, *about_curve)
    return FittedLink(link, said, Progress.CALLS if measurement.in_calls else Progress.ASYNCHRONOUS)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Round trips split into parts.

    Attributes:
        sizes: Message sizes, bytes, shape (n,).
        one_way: Half round trips, seconds, shape (n,).
        answer: Time until the data of a rendezvous may start, seconds; 0 for an eager message, shape (n,).
        total: The remaining s + t, seconds, shape (n,).
        uncertainty: Uncertainty of the half round trips, seconds, shape (n,).
        limit: The eager limit.
    """

    sizes: Floats
    one_way: Floats
    answer: Floats
    total: Floats
    uncertainty: Floats
    limit: float | None

    @classmethod
    def of(
        cls, rows: Sequence[SizeRow], receive: float, completion: float, limit: float | None, about: Measurement
    ) -> _Parts:
        # With progress within calls only, the answer waits for the envelope of the message; who reads needs that alone.
        trips = 2 if about.in_calls and not about.reads else 1
        taken = 0.0 if about.reads else completion
        sizes = np.array([row.size for row in rows], np.float64)
        estimates = [row.one_way for row in rows if row.one_way is not None]
        one_way = np.array([estimate.value for estimate in estimates])
        rendezvous = np.zeros(len(rows), bool) if limit is None else sizes > limit
        # Messages below the smallest size are taken to be as fast. If it is a rendezvous, that is a part of its time.
        empty = (one_way[0] - receive - completion - rendezvous[0] * taken) / (1 + trips * rendezvous[0])
        answer = np.where(rendezvous, trips * max(empty, 0.0) + taken, 0.0)
        total = np.maximum(one_way - receive - completion - answer, 0.01 * one_way)
        return cls(sizes, one_way, answer, total, _uncertainty(sizes, estimates), limit)


def _uncertainty(sizes: Floats, estimates: Sequence[Estimate]) -> Floats:
    """Return the uncertainty of times: by their intervals, by their roughness, and at least a minimum."""
    times = np.array([estimate.value for estimate in estimates])
    spread = np.array([estimate.spread for estimate in estimates])
    noise = max(LEAST_UNCERTAINTY, min(roughness(sizes, times), 0.1))
    uncertainty: Floats = np.maximum(noise, spread) * times
    return uncertainty


# --- the parts of a message ---


def _eager_limit(
    measurement: Measurement, rows: Sequence[SizeRow], stated: float | None
) -> tuple[float | None, tuple[str, ...]]:
    if stated is not None:
        return (None if stated == float("inf") else stated), ()
    found = measurement.eager
    guess = _jump(rows)
    if found is not None:
        searched_all = found.waits is not None or (found.eager or 0) >= rows[-1].size
        return _found_limit(found) if searched_all else (None, (_about_search(found, guess),))
    if guess is None:
        return None, (
            "eager limit: half round trips show no jump, so every message is assumed to be eager; state it if you know "
            "it",
        )
    before, after = guess
    return float(before.size), (
        f"eager limit: a guess, as half round trips jump from {_time(before)} at {format_size(before.size)} to "
        f"{_time(after)} at {format_size(after.size)}; state it if you know it",
    )


def _found_limit(found: EagerLimit) -> tuple[float | None, tuple[str, ...]]:
    if found.waits is None:
        largest = format_size(found.eager or 0)
        return None, (
            f"eager limit: {found.how}, no send up to {largest} waits, so every message is assumed to be eager",
        )
    if found.eager is None:
        return 0.0, (f"eager limit: {found.how}, every message from {format_size(found.waits)} on waits",)
    if found.waits == found.eager + 1:
        return float(found.eager), ()
    between = f"between {format_size(found.eager)} and {format_size(found.waits)}"
    return float(found.eager), (f"eager limit: {found.how}, it lies {between}; the smaller one is used",)


def _about_search(found: EagerLimit, guess: tuple[SizeRow, SizeRow] | None) -> str:
    """Report that the search for the eager limit ran out of time; a jump of half round trips is only a hint."""
    jump = "" if guess is None else f" (half round trips jump after {format_size(guess[0].size)}: it may be there)"
    return (
        f"eager limit: {found.how}, only up to {format_size(found.eager or 0)} for lack of time, and none waits: "
        f"every message is assumed to be eager; measure for longer, or state it{jump}"
    )


def _jump(rows: Sequence[SizeRow]) -> tuple[SizeRow, SizeRow] | None:
    """Return the two sizes between which half round trips jump by most of an empty message's time.

    The first such pair counts, if times stay high beyond it; below 256 B growth has other reasons.
    """
    sizes = [row.size for row in rows]
    times = [row.one_way.value for row in rows if row.one_way is not None]
    noise = roughness([float(size) for size in sizes], times)
    for i in range(1, len(rows) - 1):
        if sizes[i] < 256:
            continue
        before = _growth(sizes, times, i, [k for k in range(i) if sizes[k] * APART <= sizes[i]][-2:])
        expected = times[i] + before * (sizes[i + 1] - sizes[i])
        least = max(_JUMP * times[0], 0.2 * expected, _JUMP_NOISE * noise * expected)
        if times[i + 1] - expected < least:
            continue
        beyond = [k for k in range(i + 2, len(rows)) if sizes[k] >= sizes[i + 1] * APART][:1]
        # A time before a smaller one, or before a steeper rise, does not start a new regime.
        back = times[i + 1] - _growth(sizes, times, i + 1, beyond) * (sizes[i + 1] - sizes[i])
        if not beyond or (times[beyond[0]] >= times[i + 1] and back - times[i] >= least / 2):
            return rows[i], rows[i + 1]
    return None


def _growth(sizes: Sequence[int], times: Sequence[float], i: int, others: Sequence[int]) -> float:
    """Return the largest slope from one size to others, seconds per byte; 0 if there are none, or times fall."""
    return max((max(0.0, (times[i] - times[k]) / (sizes[i] - sizes[k])) for k in others), default=0.0)


def _receive_delay(measurement: Measurement, rows: Sequence[SizeRow]) -> tuple[float, tuple[str, ...]]:
    first = rows[0].one_way
    assert first is not None
    gaps = _gaps(measurement.rows)
    most = min([first.value / 3, *(gap.value for gap in gaps.values())])
    if measurement.receive is not None:
        return min(measurement.receive.value, most), ()
    if gaps:
        return most, (
            "receive delay: not measured; the smallest time per message of a stream is used, or a third of an empty "
            "message's time if that is less",
        )
    return first.value * _EMPTY_SHARE, ("receive delay: not measured; a fifth of an empty message's time is used",)


def _receive_overhead(measurement: Measurement, rows: Sequence[SizeRow], receive: float) -> float | None:
    """Return the processor time of a receive; ``None`` if unknown, or if it is no more than that of its call.

    Two ranks that send to each other at once, then receive, take max(c, s + t) + o: if that is more than the half round
    trip s + t + o, calls are longer than the travel of messages, and o is what the send's call leaves of it. This says
    nothing on a network whose latency outweighs the calls: there an exchange is longer for other reasons.
    """
    first, both, gap = rows[0], measurement.exchange, _gaps(measurement.rows).get(rows[0].size)
    if both is None or first.one_way is None or first.call is None or gap is None:
        return None
    half, call = first.one_way.value, first.call.value
    if both.value <= (1 + _SAME) * half or half > call + _MOST_GAPS * gap.value:
        return None
    found = min(both.value - call, _MOST_OF_RECEIVE * half)
    return found if found > (1 + _SAME) * receive else None


def _send_delay(rows: Sequence[SizeRow], parts: _Parts, *, waits: bool) -> tuple[Curve, tuple[str, ...]]:
    """Return the send delay, from the best available data; ``waits``: whether a rendezvous keeps its sender waiting."""
    within = [row for row in rows if row.size <= parts.sizes[-1]]
    blocked = {row.size: row.blocked for row in within if row.blocked is not None}
    gaps = _gaps(within)
    if blocked:
        own = {size: estimate.value - waits * _answer(parts, size) for size, estimate in blocked.items()}
        times = {size: min(time, gaps[size].value) if size in gaps else time for size, time in own.items()}
        return _send_curve(times, blocked, parts), ()
    if gaps:
        times = {size: estimate.value for size, estimate in gaps.items()}
        return _send_curve(times, gaps, parts), ("send delay: not measured; the time per message of a stream is used",)
    empty = parts.one_way[0] * _EMPTY_SHARE
    growth = np.maximum(parts.total - parts.total[0], 0.0)
    curve = _curve(parts.sizes, np.minimum(empty + growth / 2, parts.total), parts.uncertainty / 2, parts.limit)
    return curve, (
        f"send and transmission delay: only half round trips are known; sending is assumed to take a fifth of an empty "
        f"message's time ({format_time(empty)}) and half of the growth with size, transmission the rest",
    )


def _as_kept(measurement: Measurement, limit: float | None) -> list[SizeRow]:
    """Return the rows with the time for which data occupy senders.

    Of acknowledged eager messages, and those that their receiver reads, it is that of the call.
    """
    least, most = measurement.acknowledged_from, math.inf if limit is None else limit

    def call_alone(size: int) -> bool:
        return bool(measurement.reads) if size > most else least is not None and size >= least

    return [replace(row, blocked=row.call) if row.call and call_alone(row.size) else row for row in measurement.rows]


def _overhead(rows: Sequence[SizeRow], parts: _Parts) -> Curve | None:
    """Return the processor time of a send's call; ``None`` if unknown.

    In a window of nonblocking sends calls are shorter, as their code and data are in the caches. Sends between other
    work, and blocking ones in a row, take as long as this.
    """
    calls = {row.size: row.call for row in rows if row.call is not None and row.size <= parts.sizes[-1]}
    if not calls:
        return None
    sizes = np.array(list(calls), np.float64)
    times = np.array([each.value for each in calls.values()])
    return _curve(sizes, times, np.maximum(_uncertainty(sizes, list(calls.values())), LEAST_UNCERTAINTY * times), None)


def _send_curve(times: Mapping[int, float], estimates: Mapping[int, Estimate], parts: _Parts) -> Curve:
    """Return the curve through send delays, none of which exceeds the total time of its message."""
    sizes = np.array(list(times), np.float64)
    whole = np.interp(sizes, parts.sizes, parts.total)
    send = np.clip(list(times.values()), 0.0, whole)
    values = np.array([max(estimate.value, 1e-12) for estimate in estimates.values()])
    relative = _uncertainty(sizes, list(estimates.values())) / values
    # A send delay that is a small part of a half round trip need not be more precise than that, and one that is cut to
    # what the receive leaves of it is as uncertain as the half round trip.
    one_way, uncertainty = (np.interp(sizes, parts.sizes, each) for each in (parts.one_way, parts.uncertainty))
    floor = np.where(send < whole, LEAST_UNCERTAINTY / 3 * one_way, uncertainty)
    return _curve(sizes, send, np.maximum(relative * send, floor), parts.limit)


def _transmission_delay(parts: _Parts, send: Curve, total: Curve) -> Curve:
    """Return the curve through what the send delays leave of the total times.

    If sending takes nearly all of the growth with size, what is left may shrink by its noise. Then larger messages than
    the measured ones grow by what their total times grow more than their send delays.
    """
    left = np.maximum(parts.total - [send(size) for size in parts.sizes.tolist()], 0.0)
    return _curve(parts.sizes, left, parts.uncertainty, parts.limit, max(0.0, total.slopes[-1] - send.slopes[-1]))


def _limits(link: Link, size: float, gap: float) -> bool:
    """Tell whether the processors of a pair, rather than the network, limit its stream."""
    call = 0.0 if link.send_overhead is None else link.send_overhead(size)
    return max(link.send_delay(size), call) > _RANK_LIMITS * gap


def _copy_time(measurement: Measurement, parts: _Parts) -> tuple[Curve | None, tuple[str, ...]]:
    """Return how long a receiver copies a rendezvous of its node; ``None`` if fewer than two sizes show it.

    All that a message takes beyond an empty one is its copy, as one processor makes it. Messages of a stream are copied
    faster, because the sender of a benchmark does not write its data again; where a stream is slower, it counts.
    """
    above = np.flatnonzero(parts.sizes > (math.inf if parts.limit is None else parts.limit))
    if len(above) < 2:
        return None, ()
    gaps = _gaps(measurement.rows)
    streamed = np.array([gaps[size].value if size in gaps else math.nan for size in parts.sizes[above].tolist()])
    alone = np.maximum(parts.total[above] - parts.total[0], 0.0)
    curve = _curve(parts.sizes[above], np.fmax(alone, streamed), parts.uncertainty[above], None)
    ratio = float(np.max(alone / streamed, initial=0.0, where=streamed > 0))
    if ratio < _REUSED:
        return curve, ()
    return curve, (
        f"copy time: single messages count, which take up to {ratio:.1f} times as long as those of a stream; a stream "
        "sends the same data again and again, a program writes them first",
    )


def _busy(measurement: Measurement, parts: _Parts, link: Link) -> tuple[Curve | None, tuple[str, ...]]:
    """Return the time for which a message occupies a port, from streams of several pairs if possible, else of one pair.

    If its ranks limit the stream of a single pair, the stream shows only that the port is not slower. Then the excess
    over the gap of the smallest messages is used, because several ranks of a node may send faster; but no less than the
    size's share of that of the largest messages, as a port that carries these at some rate carries no others faster.
    """
    alone = _gaps(measurement.rows)
    together = _gaps_of_pairs(measurement)
    known = dict(sorted((alone | {size: gap for size, (_, gap) in together.items()}).items()))
    if len(known) > 1:
        sizes = np.array(list(known), np.float64)
        gaps = np.array([gap.value for gap in known.values()])
        uncertainty = _uncertainty(sizes, list(known.values()))
        ranks_limit = np.array([size not in together and _limits(link, size, gap.value) for size, gap in known.items()])
        excess = gaps - gaps.min()
        largest = excess[-1] if ranks_limit[-1] else gaps[-1]
        not_slower = np.minimum(np.maximum(excess, largest * sizes / sizes[-1]), gaps)
        busy = _curve(sizes, np.where(ranks_limit, not_slower, gaps), uncertainty, None)
        return busy, (*_about_one_pair(ranks_limit), *_about_rates(alone, together))
    rows = measurement.rows
    if any(row.blocked is not None for row in rows):
        return None, ()
    growth = np.maximum(parts.total - parts.total[0], 0.0)
    return _curve(parts.sizes, growth, parts.uncertainty, parts.limit), (
        "ports: no stream was measured; a message is assumed to occupy a port for its time minus that of an empty one, "
        "so that a stream is never faster than single messages",
    )


def _bucket(rows: Sequence[SizeRow], parts: _Parts, link: Link) -> float:
    """Return the depth of the network's token bucket, bytes; 0 if it shows none.

    A single message may take less time than it occupies the network. Then the bucket has let through the bytes that the
    network's rate alone would not have let through in that time. Their number grows with the size of the message up to
    the depth of the bucket.

    A bucket lets through a whole window of messages that is not larger than the bucket. So where the network limits a
    stream, its windows are larger than the bucket: single messages that pass faster have another reason, such as caches
    that hold one message but not a window.
    """
    busy = link.busy
    if busy is None:
        return 0.0
    gaps = [(row, row.gap.value) for row in rows if row.gap is not None and row.window]
    smallest = min((gap for _, gap in gaps), default=0.0)
    least = min(
        (
            row.size * row.window * row.pairs
            for row, gap in gaps
            if gap >= _NETWORK_LIMITS * smallest and not _limits(link, row.size, gap)
        ),
        default=math.inf,
    )
    shown = [
        (size, size * (1 - (link.send_delay(size) + link.transmission_delay(size)) / busy(size)))
        for size in parts.sizes.tolist()
        if busy(size)
    ]
    deepest = max((at_once for size, at_once in shown if _AT_ONCE * size <= at_once < least), default=0.0)
    return float(round(deepest)) if deepest >= _LEAST_BUCKET else 0.0


def _gaps_of_pairs(measurement: Measurement) -> dict[int, tuple[int, Estimate]]:
    """Return, by size, the number of pairs with the highest message rate, and their time per message."""
    rows = [row for row in measurement.shared if row.pairs > 1 and not row.both_ways]
    least: dict[int, tuple[int, Estimate]] = {}
    for pairs in sorted({row.pairs for row in rows}):
        for size, gap in _gaps([row for row in rows if row.pairs == pairs], measurement.rows).items():
            if size not in least or gap.value < least[size][1].value:
                least[size] = pairs, gap
    return least


def _about_one_pair(ranks_limit: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """Report if at no size a port is known to limit streams, as when a stream's time is all that is known of sends."""
    if not ranks_limit.all():
        return ()
    return (
        "ports: the ranks of one pair may limit its stream at any size, so a message is assumed to occupy a port for "
        "its time per message minus that of the smallest, or at the rate of the largest if that is longer; osu_mbw_mr "
        "shows what several pairs of two nodes send",
    )


def _about_rates(alone: Mapping[int, Estimate], together: Mapping[int, tuple[int, Estimate]]) -> tuple[str, ...]:
    """Report the sizes at which even several pairs do not saturate the port: each is as fast as one alone."""
    unlimited = [
        (size, pairs)
        for size, (pairs, gap) in together.items()
        if size in alone and alone[size].value > _RANK_LIMITS * pairs * gap.value
    ]
    if not unlimited:
        return ()
    sizes = ", ".join(format_size(size) for size, _ in unlimited)
    most = max(pairs for _, pairs in unlimited)
    return (f"ports: up to {most} pairs each send as fast as one alone; between the same two nodes, as is assumed, a "
            f"port may be busy for less than stated, between more nodes for longer: {sizes}",)  # fmt: skip


def _about_pairs(measurement: Measurement) -> tuple[str, ...]:
    """Report whether half round trips of simultaneous pairs take longer than those of one pair; fit nothing to them."""
    rows = [row for row in measurement.shared if not row.both_ways and row.one_way]
    alone = {row.size: row.one_way.value for row in measurement.rows if row.one_way and row.one_way.value}
    slowdowns = [(row.size, row.one_way.value / alone[row.size]) for row in rows if row.one_way and row.size in alone]
    if not slowdowns:
        return (
            ("several simultaneous pairs: no half round trip of one pair has their size: not compared",) if rows else ()
        )
    size, most = max(slowdowns)
    what = (
        f"several simultaneous pairs: half round trips of {format_size(size)} take {most:.2f} times as long as of "
        "one pair"
    )
    if most < _SLOWED:
        return (f"{what}: no port slows them, which says little if they are few",)
    if _gaps_of_pairs(measurement):
        return (f"{what}: they share a port, or the network behind it",)
    return (f"{what}: they share a port, or the network behind it; osu_mbw_mr shows its rate",)


def _about_directions(measurement: Measurement) -> tuple[str, ...]:
    """Report where both directions at once carry clearly less than twice as much as one."""
    one = {(row.size, row.pairs): row for row in (*measurement.rows, *measurement.shared) if not row.both_ways}
    both = [row for row in measurement.shared if row.both_ways]
    known = [row for row in both if (row.size, row.pairs) in one]
    shares = [(row.size, share) for row in known for share in _times_as_much(one[row.size, row.pairs], row)]
    if not shares:
        return (
            ("ports: both directions cannot be compared: nothing was measured in one direction with as many pairs",)
            if both
            else ()
        )
    size = max(size for size, _ in shares)
    share = min(share for each, share in shares if each == size)
    if share >= _BOTH_WAYS:
        return ()
    return (
        f"ports: both directions at once carry {share:.2f} times as much as one at {format_size(size)}: they share a "
        "resource, which the model ignores, as its ports send and receive at full rate at once",
    )


def _times_as_much(one: SizeRow, both: SizeRow) -> Iterator[float]:
    """Yield the throughput of both directions at once relative to one, by streams and by single messages."""
    if one.gap and both.gap and both.gap.value:
        yield one.gap.value / both.gap.value
    if one.one_way and both.one_way and both.one_way.value:
        yield 2 * one.one_way.value / both.one_way.value


def _gaps(rows: Sequence[SizeRow], alone: Sequence[SizeRow] = ()) -> dict[int, Estimate]:
    """Return the time per message of an endless stream, by rising size: the time of answers to windows is subtracted.

    A window of w messages (of all pairs) takes as long as one message, w - 1 gaps, and the answer.

    Args:
        rows: Rows of one number of pairs.
        alone: Rows with half round trips of one pair; default: the same.
    """
    times = [(row.size, row.one_way.value) for row in alone or rows if row.one_way is not None]
    sizes, one_way = [size for size, _ in times], [time for _, time in times]
    gaps = {}
    for row in rows:
        if row.gap is None or row.gap.value <= 0:
            continue
        share, window = 1.0, row.window * row.pairs
        if window > 1:
            around = float(np.interp(row.size, sizes, one_way)) + one_way[0]
            # If a window is hardly longer than one message, the difference is noise.
            share = max(_LEAST_SHARE, (window - around / row.gap.value) / (window - 1))
        gaps[row.size] = _scaled(row.gap, share)
    return gaps


def _scaled(estimate: Estimate, by: float) -> Estimate:
    return Estimate(estimate.value * by, estimate.low * by, estimate.high * by, estimate.repetitions)


def _about_ends(parts: _Parts, curves: Sequence[Curve]) -> tuple[str, ...]:
    """Report the assumptions about messages smaller or larger than the measured ones.

    Args:
        parts: The measured times.
        curves: Curves through sends and through total times: :func:`fit_points` adds a point beyond the measured sizes
            if the last ones do not show how times grow.
    """
    said = []
    least, most = parts.sizes[0], parts.sizes[-1]
    if least >= _SMALL:
        said.append(f"messages below {format_size(least)} were not measured: they are assumed to take as long")
    if most < _LARGE:
        said.append(
            f"messages above {format_size(most)} were not measured: they are assumed to go on as those below; measure "
            "up to 1 MiB if the program sends larger ones"
        )
    if any(curve.sizes[-1] > most for curve in curves):
        said.append(
            f"{format_size(most)} {_why_not_the_last_slope(parts)}: beyond it, the slope of the whole range from "
            f"{format_size(least)} on is used"
        )
    return tuple(said)


def _why_not_the_last_slope(parts: _Parts) -> str:
    """Return what is wrong with the largest size, for which a curve does not go on as its last points do."""
    most = parts.sizes[-1]
    if parts.limit is not None and most > parts.limit and np.count_nonzero(parts.sizes > parts.limit) == 1:
        return "is the only size beyond the eager limit"
    if parts.one_way[-1] < parts.one_way[-2]:
        return "takes less time than the size before"
    if most < APART * parts.sizes[-2]:
        return "is close to the size before, so the difference of their times is mostly noise"
    return "does not show how times grow"


def _about_outliers(parts: _Parts) -> tuple[str, ...]:
    """Report the sizes whose times contradict those around them; the curve follows these outliers nonetheless."""
    sizes, times = parts.sizes.tolist(), parts.one_way.tolist()
    if len(sizes) < 3:
        return ()
    low, high = np.array([_expected(sizes, times, i) for i in range(len(sizes))]).T
    long = parts.one_way > _ODD * high
    # Next to a time that is too long, its neighbours may look too short.
    short = (parts.one_way * _ODD < low) & (np.convolve(long, (1, 1, 1), "same") == 0)
    odd = ", ".join(format_size(size) for size in parts.sizes[long | short].tolist())
    if not odd:
        return ()
    return (f"half round trips of {odd} are far from those of smaller and larger messages; the curve follows them: "
            "measure them again, or leave them out",)  # fmt: skip


def _expected(sizes: Sequence[float], times: Sequence[float], i: int) -> tuple[float, float]:
    """Return the least and the largest time that those of other sizes let expect.

    It lies on the line between its neighbours or, beside a jump, on that through the two sizes on one side. The first
    time may be much shorter than the next one, but not longer; the last one at most grows in proportion to the size,
    and :func:`_about_ends` reports that it falls.
    """
    last = len(sizes) - 1
    others = [(k, j) for k, j in ((i - 1, i + 1), (i + 1, i + 2), (i - 2, i - 1)) if k >= 0 and j <= last]
    on_lines = [times[k] + (times[j] - times[k]) * (sizes[i] - sizes[k]) / (sizes[j] - sizes[k]) for k, j in others]
    if i == 0:
        return 0.0, max(*on_lines, times[1], times[2])
    if i == last:
        grown = [times[k] * sizes[i] / sizes[k] for k in (i - 1, i - 2) if sizes[k]]
        return 0.0, max(*on_lines, *grown)
    return min(on_lines), max(on_lines)


def _about_zeros(measurement: Measurement) -> tuple[str, ...]:
    """Report the sizes whose times are 0: too short for the decimals of a benchmark."""
    zeros = [row.size for row in measurement.rows if row.one_way is not None and not row.one_way.value]
    if not zeros:
        return ()
    return (f"half round trips of {', '.join(map(format_size, zeros))} are 0 and left out: "
            "the benchmark rounded them away, or did not measure them",)  # fmt: skip


# --- curves ---


def _answer(parts: _Parts, size: int) -> float:
    """Return how long a message of at most the largest size waits for its answer: all rendezvous wait equally long."""
    return float(parts.answer[-1]) if parts.limit is not None and size > parts.limit else 0.0


def _curve(
    sizes: Floats, times: Floats, uncertainty: Floats, split: float | None, beyond: float | None = None
) -> Curve:
    points = fit_points(Samples(sizes, times, np.maximum(uncertainty, 1e-15)), split, beyond)
    return Curve.through(_joined_at(points, split))


def _joined_at(points: Sequence[tuple[float, float]], split: float | None) -> list[tuple[float, float]]:
    """Return points with the jump moved to the eager limit: between the limit and one byte more."""
    before = [point for point in points if split is not None and point[0] <= split]
    after = [point for point in points if split is None or point[0] > split]
    if split is None or not before or not after or after[0][0] == split + 1:
        return list(points)
    joined = [*before, *_prolonged(before[-2:], split), *_prolonged(after[:2], split + 1), *after]
    return [point for i, point in enumerate(joined) if i == 0 or point[0] > joined[i - 1][0]]


def _prolonged(ends: Sequence[tuple[float, float]], size: float) -> list[tuple[float, float]]:
    """Return the point at a size on the line through two others, unless it is one of them."""
    if any(end[0] == size for end in ends):
        return []
    if len(ends) == 1:
        return [(size, ends[0][1])]
    (m0, t0), (m1, t1) = ends
    return [(size, max(0.0, t0 + (t1 - t0) * (size - m0) / (m1 - m0)))]


def _time(row: SizeRow) -> str:
    assert row.one_way is not None
    return format_time(row.one_way.value)
