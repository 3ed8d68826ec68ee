"""From what was measured of a link to the link itself: send delay, transmission delay, receive delay, eager limit.

The rule that everything here follows is the meaning of a message in the kernel. A ping-pong's half round trip takes

- s(m) + t(m) + r for an eager message,
- s(0) + t(0) + s(m) + t(m) + r for a rendezvous, whose data wait for an empty answer,

so that simulating the ping-pong on the fitted link gives the measured times back. What the source cannot tell apart is
split by an assumption, and every assumption is said in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clue.calibration.measurement import EagerLimit, Estimate, Measurement, SizeRow
from clue.calibration.polyline import Floats, Samples, fit_points, roughness
from clue.errors import UsageError
from clue.machine import Curve, Link, Progress
from clue.units import format_size, format_time

#: Nothing is fitted closer than this: two runs of one benchmark differ by as much.
LEAST_UNCERTAINTY = 0.015
#: A latency that grows by so many empty messages more than the sizes before it let expect is taken for a rendezvous,
#: if that is so many times its noise, too.
_JUMP, _JUMP_NOISE = 0.4, 6.0
#: Sizes that are closer together than that (NetPIPE's are) say nothing of how times grow.
_APART = 1.3
#: Share of an empty message's time that its sender, and its receiver, are busy with it, where that was not measured.
_EMPTY_SHARE = 0.2
#: Share of a window's time per message that is left at least when the answer's part is taken away.
_LEAST_SHARE = 0.25
#: A time that is so many times longer, or shorter, than both its neighbours is no curve's.
_ODD = 1.5
#: From so many bytes on a smallest size tells little of an empty message.
_SMALL = 64
#: From this share of the time per message of a stream on, a send delay is what limits the stream.
_SENDER_LIMITS = 0.9
#: Both directions at once carry twice what one does; below this they share something.
_BOTH_WAYS = 1.8
#: Half round trips of several pairs that take so many times as long as of one show that pairs share something.
_SLOWED = 1.1


@dataclass(frozen=True, slots=True)
class FittedLink:
    """A link with where it comes from.

    Attributes:
        link: It.
        assumptions: What the data could not tell and was assumed, in words.
        progress: When its library goes on with messages.
        copy_bandwidth: Within a node what its memory copies, bytes per second, if that was seen.
    """

    link: Link
    assumptions: tuple[str, ...]
    progress: Progress = Progress.ASYNCHRONOUS
    copy_bandwidth: float | None = None


def progress_of(links: Iterable[FittedLink]) -> Progress:
    """Return when the library of some links goes on with messages: within calls, if one of them showed that."""
    within = any(each.progress is Progress.CALLS for each in links)
    return Progress.CALLS if within else Progress.ASYNCHRONOUS


def fit_link(measurement: Measurement, eager_limit: float | None = None) -> FittedLink:
    """Fit a link to a measurement.

    Args:
        measurement: What is known of it.
        eager_limit: In bytes, if the user knows it (infinite: every message is eager); it takes precedence.

    Raises:
        UsageError: If the measurement has no round trips, or of one size only.
    """
    rows = [row for row in measurement.rows if row.one_way is not None and row.one_way.value > 0]
    if len(rows) < 2:
        raise UsageError(
            f"{measurement.source or 'measurement'}: round trips must be known of two sizes at least, got {len(rows)}: "
            "bandwidths alone do not tell how long a message travels"
        )
    limit, about_limit = _eager_limit(measurement, rows, eager_limit)
    receive, about_receive = _receive_delay(measurement, rows)
    parts = _Parts.of(rows, receive, limit)
    send, about_send = _send_delay(_as_kept(measurement), parts)
    travel = _transmission_delay(parts, send)
    busy, about_busy = _busy(measurement, parts, send)
    overhead = _overhead(measurement.rows, parts, send)
    held = measurement.acknowledged_from
    link = Link(send, travel, receive, limit, busy=busy, send_overhead=overhead, acknowledged_from=held)
    about_shared = (*about_busy, *_about_pairs(measurement), *_about_directions(measurement))
    said = (*about_send, *about_receive, *about_limit, *about_shared, *_about_ends(parts), *_about_outliers(parts))
    return FittedLink(link, said, Progress.CALLS if measurement.in_calls else Progress.ASYNCHRONOUS)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Round trips taken apart.

    Attributes:
        sizes: Bytes, shape (n,).
        one_way: Half round trips, seconds, shape (n,).
        answer: What a rendezvous waits for its answer; 0 for an eager message, shape (n,).
        total: What is left for s + t, shape (n,).
        uncertainty: Of the half round trips, seconds, shape (n,).
        limit: The eager limit.
    """

    sizes: Floats
    one_way: Floats
    answer: Floats
    total: Floats
    uncertainty: Floats
    limit: float | None

    @classmethod
    def of(cls, rows: Sequence[SizeRow], receive: float, limit: float | None) -> _Parts:
        sizes = np.array([row.size for row in rows], np.float64)
        estimates = [row.one_way for row in rows if row.one_way is not None]
        one_way = np.array([estimate.value for estimate in estimates])
        empty = one_way[0] - receive
        rendezvous = np.zeros(len(rows), bool) if limit is None else sizes > limit
        answer = np.where(rendezvous, empty, 0.0)
        total = np.maximum(one_way - receive - answer, 0.01 * one_way)
        return cls(sizes, one_way, answer, total, _uncertainty(sizes, estimates), limit)


def _uncertainty(sizes: Floats, estimates: Sequence[Estimate]) -> Floats:
    """Return how far off times may be: by their own intervals, by their roughness, and at least a little."""
    times = np.array([estimate.value for estimate in estimates])
    spread = np.array([estimate.spread for estimate in estimates])
    noise = max(LEAST_UNCERTAINTY, min(roughness(sizes, times), 0.1))
    uncertainty: Floats = np.maximum(noise, spread) * times
    return uncertainty


# --- what each part is ---


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
            "eager limit: half round trips have no jump that shows one, so every message counts as eager; state it if "
            "you know it",
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
            f"eager limit: {found.how}, of which none up to {largest} waits, so every message counts as eager",
        )
    if found.eager is None:
        return 0.0, (f"eager limit: {found.how}, every message from {format_size(found.waits)} on waits",)
    if found.waits == found.eager + 1:
        return float(found.eager), ()
    between = f"between {format_size(found.eager)} and {format_size(found.waits)}"
    return float(found.eager), (f"eager limit: {found.how}, it lies {between}; the smaller is taken",)


def _about_search(found: EagerLimit, guess: tuple[SizeRow, SizeRow] | None) -> str:
    """Say that time ended the search of the eager limit; what half round trips show is no finding of these trials."""
    jump = "" if guess is None else f" (half round trips jump after {format_size(guess[0].size)}: it may be there)"
    return (
        f"eager limit: {found.how}, up to {format_size(found.eager or 0)} only, for want of time, and none waits: "
        f"every message counts as eager; measure for longer, or state it{jump}"
    )


def _jump(rows: Sequence[SizeRow]) -> tuple[SizeRow, SizeRow] | None:
    """Return the two sizes between which half round trips grow by most of an empty message more than before.

    The first such pair, beyond which they stay so; below 256 B growth has other reasons.
    """
    sizes = [row.size for row in rows]
    times = [row.one_way.value for row in rows if row.one_way is not None]
    noise = roughness([float(size) for size in sizes], times)
    for i in range(1, len(rows) - 1):
        if sizes[i] < 256:
            continue
        before = _growth(sizes, times, i, [k for k in range(i) if sizes[k] * _APART <= sizes[i]][-2:])
        expected = times[i] + before * (sizes[i + 1] - sizes[i])
        least = max(_JUMP * times[0], 0.2 * expected, _JUMP_NOISE * noise * expected)
        if times[i + 1] - expected < least:
            continue
        beyond = [k for k in range(i + 2, len(rows)) if sizes[k] >= sizes[i + 1] * _APART][:1]
        # A time that is followed by a smaller one, or that the next one makes a steeper line of, is none of a new kind.
        back = times[i + 1] - _growth(sizes, times, i + 1, beyond) * (sizes[i + 1] - sizes[i])
        if not beyond or (times[beyond[0]] >= times[i + 1] and back - times[i] >= least / 2):
            return rows[i], rows[i + 1]
    return None


def _growth(sizes: Sequence[int], times: Sequence[float], i: int, others: Sequence[int]) -> float:
    """Return the largest slope from one size to others, seconds a byte; 0 without any, or if times fall."""
    return max((max(0.0, (times[i] - times[k]) / (sizes[i] - sizes[k])) for k in others), default=0.0)


def _receive_delay(measurement: Measurement, rows: Sequence[SizeRow]) -> tuple[float, tuple[str, ...]]:
    first = rows[0].one_way
    assert first is not None
    most = first.value / 3
    if measurement.receive is not None:
        return min(measurement.receive.value, most), ()
    gaps = _gaps(measurement.rows)
    if gaps:
        return min(*(gap.value for gap in gaps.values()), most), (
            "receive delay: not measured; the least time per message of a stream, or a third of an empty message's "
            "time if that is less",
        )
    return first.value * _EMPTY_SHARE, ("receive delay: not measured; a fifth of an empty message's time",)


def _send_delay(rows: Sequence[SizeRow], parts: _Parts) -> tuple[Curve, tuple[str, ...]]:
    """Return the send delay, from the best that is known of it."""
    within = [row for row in rows if row.size <= parts.sizes[-1]]
    blocked = {row.size: row.blocked for row in within if row.blocked is not None}
    gaps = _gaps(within)
    if blocked:
        own = {size: estimate.value - _answer(parts, size) for size, estimate in blocked.items()}
        times = {size: min(time, gaps[size].value) if size in gaps else time for size, time in own.items()}
        return _send_curve(times, blocked, parts), ()
    if gaps:
        times = {size: estimate.value for size, estimate in gaps.items()}
        return _send_curve(times, gaps, parts), (
            "send delay: how long a sender is blocked was not measured; the time per message of a stream is taken",
        )
    empty = parts.one_way[0] * _EMPTY_SHARE
    growth = np.maximum(parts.total - parts.total[0], 0.0)
    curve = _curve(parts.sizes, np.minimum(empty + growth / 2, parts.total), parts.uncertainty / 2, parts.limit)
    return curve, (
        f"send and transmission delay: only half round trips are known; sending gets a fifth of an empty message's "
        f"time ({format_time(empty)}) and half of what larger ones take longer, transmission the rest",
    )


def _as_kept(measurement: Measurement) -> list[SizeRow]:
    """Return the rows with how long data keep senders: those who wait for an acknowledgement, for the call."""
    least = measurement.acknowledged_from
    return [
        row if least is None or row.size < least or row.call is None else replace(row, blocked=row.call)
        for row in measurement.rows
    ]


def _overhead(rows: Sequence[SizeRow], parts: _Parts, send: Curve) -> Curve | None:
    """Return what the call of a nonblocking send takes; no more than until its data have left, where that is known."""
    calls = {row.size: row.call for row in rows if row.call is not None and row.size <= parts.sizes[-1]}
    if not calls:
        return None
    sizes = np.array(list(calls), np.float64)
    times = np.array([min(each.value, send(size)) for size, each in calls.items()])
    return _curve(sizes, times, np.maximum(_uncertainty(sizes, list(calls.values())), LEAST_UNCERTAINTY * times), None)


def _send_curve(times: Mapping[int, float], estimates: Mapping[int, Estimate], parts: _Parts) -> Curve:
    """Return the curve through send delays, none of which is more than a message takes in all."""
    sizes = np.array(list(times), np.float64)
    whole = np.interp(sizes, parts.sizes, parts.total)
    send = np.clip(list(times.values()), 0.0, whole)
    values = np.array([max(estimate.value, 1e-12) for estimate in estimates.values()])
    relative = _uncertainty(sizes, list(estimates.values())) / values
    # A send delay that is a small part of the whole need not be known any better than the whole.
    return _curve(sizes, send, np.maximum(relative * send, LEAST_UNCERTAINTY / 3 * whole), parts.limit)


def _transmission_delay(parts: _Parts, send: Curve) -> Curve:
    left = np.maximum(parts.total - [send(size) for size in parts.sizes.tolist()], 0.0)
    return _curve(parts.sizes, left, parts.uncertainty, parts.limit)


def _busy(measurement: Measurement, parts: _Parts, send: Curve) -> tuple[Curve | None, tuple[str, ...]]:
    """Return for how long a message keeps a port: what streams show, those of several pairs before that of one.

    A stream of one pair whose messages follow each other as fast as the sender sends them says of a port only that it
    is not slower; then what is more than the gap of the smallest messages is taken, as several ranks of a node may send
    more.
    """
    alone = _gaps(measurement.rows)
    together = _gaps_of_pairs(measurement)
    known = dict(sorted((alone | {size: gap for size, (_, gap) in together.items()}).items()))
    if len(known) > 1:
        sizes = np.array(list(known), np.float64)
        gaps = np.array([gap.value for gap in known.values()])
        uncertainty = _uncertainty(sizes, list(known.values()))
        sender_limits = np.array([size not in together and send(size) > _SENDER_LIMITS * known[size].value
                                  for size in known])  # fmt: skip
        busy = _curve(sizes, np.where(sender_limits, gaps - gaps.min(), gaps), uncertainty, None)
        return busy, _about_rates(alone, together)
    rows = measurement.rows
    if any(row.blocked is not None for row in rows):
        return None, ()
    growth = np.maximum(parts.one_way - parts.answer - parts.one_way[0], 0.0)
    return _curve(parts.sizes, growth, parts.uncertainty, parts.limit), (
        "ports: no stream was measured; a port is kept for as long as a message takes longer than an empty one, so "
        "that a stream is never faster than single messages",
    )


def _gaps_of_pairs(measurement: Measurement) -> dict[int, tuple[int, Estimate]]:
    """Return by size which of several numbers of pairs sent most messages at once, and their time per message."""
    rows = [row for row in measurement.shared if row.pairs > 1 and not row.both_ways]
    least: dict[int, tuple[int, Estimate]] = {}
    for pairs in sorted({row.pairs for row in rows}):
        for size, gap in _gaps([row for row in rows if row.pairs == pairs], measurement.rows).items():
            if size not in least or gap.value < least[size][1].value:
                least[size] = pairs, gap
    return least


def _about_rates(alone: Mapping[int, Estimate], together: Mapping[int, tuple[int, Estimate]]) -> tuple[str, ...]:
    """Say at which sizes even several pairs do not keep the port busy, as each of them is as fast as one alone."""
    unlimited = [
        (size, pairs)
        for size, (pairs, gap) in together.items()
        if size in alone and alone[size].value > _SENDER_LIMITS * pairs * gap.value
    ]
    if not unlimited:
        return ()
    sizes = ", ".join(format_size(size) for size, _ in unlimited)
    most = max(pairs for _, pairs in unlimited)
    return (f"ports: up to {most} pairs each send as fast as one alone, so a port may be kept for less than stated: "
            f"{sizes}",)  # fmt: skip


def _about_pairs(measurement: Measurement) -> tuple[str, ...]:
    """Say whether half round trips of several pairs at once take longer than of one; nothing is fitted to that."""
    rows = [row for row in measurement.shared if not row.both_ways and row.one_way]
    alone = {row.size: row.one_way.value for row in measurement.rows if row.one_way and row.one_way.value}
    slowdowns = [(row.size, row.one_way.value / alone[row.size]) for row in rows if row.one_way and row.size in alone]
    if not slowdowns:
        return ("several pairs at once: no half round trip of one pair has their size: not compared",) if rows else ()
    size, most = max(slowdowns)
    what = (
        f"several pairs at once: half round trips of {format_size(size)} take {most:.2f} times as long as of one pair"
    )
    if most < _SLOWED:
        return (f"{what}: no port slows so many, which tells little of it where they are few",)
    if _gaps_of_pairs(measurement):
        return (f"{what}: they share a port, or what lies behind it",)
    return (f"{what}: they share a port, or what lies behind it; how long a message keeps that, osu_mbw_mr tells",)


def _about_directions(measurement: Measurement) -> tuple[str, ...]:
    """Say where both directions at once carry clearly less than twice what one does."""
    one = {(row.size, row.pairs): row for row in (*measurement.rows, *measurement.shared) if not row.both_ways}
    both = [row for row in measurement.shared if row.both_ways]
    known = [row for row in both if (row.size, row.pairs) in one]
    shares = [(row.size, share) for row in known for share in _times_as_much(one[row.size, row.pairs], row)]
    if not shares:
        return ("ports: nothing of one direction and as many pairs to compare both directions with",) if both else ()
    size = max(size for size, _ in shares)
    share = min(share for each, share in shares if each == size)
    if share >= _BOTH_WAYS:
        return ()
    return (
        f"ports: both directions at once carry {share:.2f} times what one does at {format_size(size)}: they share "
        "something, which the model leaves out, as its ports send and receive at full rate at once",
    )


def _times_as_much(one: SizeRow, both: SizeRow) -> Iterator[float]:
    """Yield how many times what goes in one direction both carry at once, by streams and by single messages."""
    if one.gap and both.gap and both.gap.value:
        yield one.gap.value / both.gap.value
    if one.one_way and both.one_way and both.one_way.value:
        yield 2 * one.one_way.value / both.one_way.value


def _gaps(rows: Sequence[SizeRow], alone: Sequence[SizeRow] = ()) -> dict[int, Estimate]:
    """Return the time per message of an endless stream by rising size: what answers to windows take is taken away.

    A window of w messages (of all pairs) takes as long as one message, w - 1 gaps, and the answer.

    Args:
        rows: Of one number of pairs.
        alone: Those with half round trips of one pair; left out: the same.
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
            # Where a window is hardly longer than one message, the difference is noise.
            share = max(_LEAST_SHARE, (window - around / row.gap.value) / (window - 1))
        gaps[row.size] = _scaled(row.gap, share)
    return gaps


def _scaled(estimate: Estimate, by: float) -> Estimate:
    return Estimate(estimate.value * by, estimate.low * by, estimate.high * by, estimate.repetitions)


def _about_ends(parts: _Parts) -> tuple[str, ...]:
    """Say what is assumed of messages smaller or larger than those measured."""
    said = []
    least, most = parts.sizes[0], parts.sizes[-1]
    if least >= _SMALL:
        said.append(f"messages below {format_size(least)} were not measured: they count as long as these")
    beyond = most if parts.limit is None else parts.limit
    alone = most > beyond and np.count_nonzero(parts.sizes > beyond) == 1
    if alone or parts.one_way[-1] < parts.one_way[-2]:
        why = "is the only size beyond the eager limit" if alone else "takes less time than the size before"
        said.append(
            f"{format_size(most)} {why}: a byte more takes there what it does in the whole range from "
            f"{format_size(least)} on"
        )
    return tuple(said)


def _about_outliers(parts: _Parts) -> tuple[str, ...]:
    """Name the sizes whose times both neighbours contradict: the curve has nothing but them to go by."""
    times = parts.one_way
    before, own, after = times[:-2], times[1:-1], times[2:]
    long = np.pad(own > _ODD * np.maximum(before, after), 1)
    # Beside one that is too long the others look too short.
    short = np.pad(own * _ODD < np.minimum(before, after), 1) & ~np.roll(long, 1) & ~np.roll(long, -1)
    sizes = ", ".join(format_size(size) for size in parts.sizes[long | short].tolist())
    if not sizes:
        return ()
    return (f"half round trips of {sizes} are far from those of smaller and larger messages; the curve follows them: "
            "measure them again, or leave them out",)  # fmt: skip


# --- curves ---


def _answer(parts: _Parts, size: int) -> float:
    return float(np.interp(size, parts.sizes, parts.answer)) if parts.limit is not None and size > parts.limit else 0.0


def _curve(sizes: Floats, times: Floats, uncertainty: Floats, split: float | None) -> Curve:
    points = fit_points(Samples(sizes, times, np.maximum(uncertainty, 1e-15)), split)
    return Curve.through(_joined_at(points, split))


def _joined_at(points: Sequence[tuple[float, float]], split: float | None) -> list[tuple[float, float]]:
    """Return points with the jump at an eager limit put where it is: between the limit and one byte more."""
    before = [point for point in points if split is not None and point[0] <= split]
    after = [point for point in points if split is None or point[0] > split]
    if split is None or not before or not after or after[0][0] == split + 1:
        return list(points)
    joined = [*before, *_prolonged(before[-2:], split), *_prolonged(after[:2], split + 1), *after]
    return [point for i, point in enumerate(joined) if i == 0 or point[0] > joined[i - 1][0]]


def _prolonged(ends: Sequence[tuple[float, float]], size: float) -> list[tuple[float, float]]:
    """Return the point that the line through two others has at a size, if that is not one of them."""
    if any(end[0] == size for end in ends):
        return []
    if len(ends) == 1:
        return [(size, ends[0][1])]
    (m0, t0), (m1, t1) = ends
    return [(size, max(0.0, t0 + (t1 - t0) * (size - m0) / (m1 - m0)))]


def _time(row: SizeRow) -> str:
    assert row.one_way is not None
    return format_time(row.one_way.value)
