"""A link fitted to measurements gives the measured times when it is simulated."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clue.calibration.importing import read_benchmark
from clue.calibration.link import FittedLink, fit_link
from clue.calibration.machine_file import time_text
from clue.calibration.measurement import EagerLimit, Estimate, Measurement, SizeRow, merged
from clue.calibration.network import Calibration, calibrate_link, calibrate_within, machine_file, with_one_progress
from clue.calibration.residuals import (
    WINDOW,
    Residual,
    Residuals,
    pair,
    ping_pong,
    residuals,
    simulated_gap,
    simulated_one_way,
    summary,
)
from clue.config import load_machine
from clue.config.yaml12 import parse_yaml
from clue.errors import UsageError
from clue.kernel import simulate
from clue.machine import Curve, Link, Progress, Rendezvous
from clue.report.calibration.text import network_document, network_text
from clue.units import format_size
from tests.properties import examples
from tests.report.cases import rendered

SIZES = (0, *(1 << k for k in range(25)))
STUDY = Path(__file__).parents[1] / "config" / "osu_extract.csv"
CLOUDS = ("aws-parallel-cluster", "azure-cyclecloud", "google-compute-engine", "google-gke")


def measured(link: Link, noise: np.ndarray | None = None, progress: Progress = Progress.ASYNCHRONOUS) -> Measurement:
    """Return the measurement of a known link: all figures that a measurement here has, times a noise by size."""
    machine, in_calls = pair(link, progress), progress is Progress.CALLS
    off = np.ones(len(SIZES)) if noise is None else noise
    empty = link.send_delay(0) + link.transmission_delay(0)
    limit = link.eager_limit
    rows = []
    for size, factor in zip(SIZES, off.tolist(), strict=True):
        answer = (1 + in_calls) * empty if limit is not None and size > limit else 0.0
        rows.append(
            SizeRow(
                size,
                one_way=Estimate.alone(factor * simulated_one_way(machine, size)),
                blocked=Estimate.alone(factor * (link.send_delay(size) + answer)),
                gap=Estimate.alone(factor * simulated_gap(machine, size, WINDOW)),
                window=WINDOW,
            )
        )
    eager = EagerLimit(None if limit is None else int(limit), None if limit is None else int(limit) + 1, "known")
    return Measurement(
        tuple(rows),
        receive=Estimate.alone(link.receive_delay),
        eager=eager if limit else None,
        in_calls=in_calls if limit else None,
    )


@st.composite
def links(draw: st.DrawFn) -> Link:
    """Draw a typical link: a latency, a cost of copying for the sender and of the wire, and perhaps an eager limit."""
    send, travel = draw(st.floats(2e-7, 2e-5)), draw(st.floats(1e-6, 5e-5))
    copy, wire = draw(st.floats(1e-11, 5e-9)), draw(st.floats(1e-11, 1e-7))
    limit = draw(st.sampled_from([None, *(float(1 << k) for k in range(9, 20))]))
    return Link(
        Curve.line(send, copy),
        Curve.line(travel, wire),
        receive_delay=draw(st.floats(0.01, 0.3)) * (send + travel),
        eager_limit=limit,
    )


def import_of(seconds: Callable[[int], float], largest: int = 1 << 22, noise: int | None = None) -> Measurement:
    """Return half round trips alone, as benchmarks give them, with 2 % noise if a seed is given."""
    rng = np.random.default_rng(noise)
    off = 0.0 if noise is None else 0.02
    sizes = [size for size in SIZES if size <= largest]
    rows = [SizeRow(size, one_way=Estimate.alone(seconds(size) * (1 + off * rng.standard_normal()))) for size in sizes]
    return Measurement(tuple(rows))


def test_messages_larger_than_measured_take_longer() -> None:
    """Larger messages than measured take longer, even if one size lies beyond the eager limit or a time falls."""
    jump = import_of(lambda size: 1e-6 + size * 1e-10 + (2e-6 if size > 8192 else 0.0), largest=16384)
    fall = import_of(lambda size: 1e-6 + size * 1e-10 * (0.4 if size == 1 << 22 else 1.0))
    for found, beyond in ((jump, "is the only size beyond"), (fall, "takes less time than the size before")):
        fitted = fit_link(found)
        machine = pair(fitted.link)
        last = found.rows[-1]
        assert last.one_way is not None
        assert simulated_one_way(machine, last.size) == pytest.approx(last.one_way.value, rel=0.02)
        assert simulated_one_way(machine, 64 * last.size) > 20 * last.one_way.value
        assert any(beyond in text for text in fitted.assumptions)


def test_a_jump_does_not_make_messages_larger_than_measured_slower() -> None:
    """If a stream takes all of the growth with size, 16 MiB take what 4 MiB take and 12 MiB at the stream's rate."""
    sizes = [0, *(1 << k for k in range(23))]
    half = {size: 40e-6 + (60e-6 if size > 16384 else 0.0) + size / 10e9 for size in sizes}
    rows = [
        SizeRow(size, one_way=Estimate.alone(half[size]), gap=Estimate.alone(max(5e-6, size / 9.9e9))) for size in sizes
    ]
    machine = pair(fit_link(Measurement(tuple(rows))).link)
    expected = half[1 << 22] + 12 * 2**20 / 9.9e9  # 0.5194 + 1.2710 ms
    assert simulated_one_way(machine, 1 << 24) == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize(("call", "overhead"), [(4.0, 2.0), (2.5, 2.0), (4.0, None)])
def test_an_exchange_tells_what_a_receive_takes(call: float, overhead: float | None) -> None:
    """Half a round trip of s + t = 1 + 2 us; two ranks that send at once, then receive, take c + o if c > s + t.

    With c = 4 us and o = 2 us these are 5 and 6 us, so o = 6 - 4. With c = 2.5 us both take 5 us and tell nothing, nor
    does an exchange of c + r = 4.5 us, which leaves no more than the call of the receive.
    """
    known = Link(
        Curve.line(1e-6, 1e-9), Curve.line(2e-6, 1e-9), 0.5e-6,
        send_overhead=Curve.line(call * 1e-6), receive_overhead=None if overhead is None else overhead * 1e-6,
    )  # fmt: skip
    whole = known.receive_delay + known.completion
    sent = Estimate.alone(call * 1e-6)
    found = measured(known)
    rows = tuple(replace(row, blocked=sent, call=sent) for row in found.rows)
    exchange = Estimate.alone(max(call * 1e-6, 3e-6) + whole)
    fitted = fit_link(replace(found, rows=rows, exchange=exchange))
    assert fitted.link.receive_overhead == (pytest.approx(2e-6) if (call, overhead) == (4.0, 2.0) else None)
    if overhead is not None and call > 3:
        compared = residuals(replace(found, exchange=exchange), pair(fitted.link))
        assert compared.exchange is not None and abs(compared.exchange.error) < 0.01
        assert abs(compared.one_way[0].error) < 0.02


def test_an_exchange_is_compared_with_empty_messages() -> None:
    """If the smallest measured size is a rendezvous, two ranks that both send first would wait for ever.

    Two empty messages take s + t + r = 1 + 2 + 0.5 us.
    """
    known = Link(Curve.line(1e-6, 1e-9), Curve.line(2e-6, 1e-9), 0.5e-6, 512)
    found = measured(known)
    large = tuple(row for row in found.rows if row.size > 512)
    compared = residuals(replace(found, rows=large, exchange=Estimate.alone(4e-6)), pair(known))
    assert compared.exchange is not None and compared.exchange.fitted == pytest.approx(3.5e-6)


def test_an_exchange_over_a_long_cable_tells_nothing() -> None:
    """A half round trip of 1 + 400 + 0.5 us; an exchange takes a tenth more. Calls of 4 us cannot explain that."""
    far = Link(Curve.line(1e-6, 1e-9), Curve.line(400e-6, 1e-9), 0.5e-6)
    found = measured(far)
    rows = tuple(replace(row, call=Estimate.alone(4e-6)) for row in found.rows)
    fitted = fit_link(replace(found, rows=rows, exchange=Estimate.alone(440e-6)))
    assert fitted.link.receive_overhead is None


def test_a_last_slope_between_sizes_close_to_each_other_is_said_to_be_left_out() -> None:
    """The last of NetPIPE's times is 10 % too long, 3 B beyond the size before: a note says that this does not go on.

    A straight line goes on as it is, and needs no note.
    """
    sizes = [(1 << k) + more for k in range(4, 23) for more in (-3, 0, 3)]
    for off, said in ((1.1, 1), (1.0, 0)):
        times = [(10e-6 + size * 1e-9) * (off if size == sizes[-1] else 1.0) for size in sizes]
        rows = [SizeRow(size, one_way=Estimate.alone(time)) for size, time in zip(sizes, times, strict=True)]
        notes = [each for each in fit_link(Measurement(tuple(rows))).assumptions if "close to the size before" in each]
        assert len(notes) == said
        assert all("the slope of the whole range from 13 B on is used" in each for each in notes)


def test_a_last_time_that_noise_makes_shorter_than_that_of_a_size_beside_it_is_not_told() -> None:
    """Times of NetPIPE's sizes, 3 B apart, fall by noise; the curve's last line spans more, so its slope is used."""
    sizes = [1, *(size for k in range(10, 23) for size in ((1 << k) - 3, 1 << k, (1 << k) + 3))]
    seconds = [5e-6 + size * 1e-9 for size in sizes]
    seconds[-1] = 0.999 * seconds[-2]
    rows = tuple(SizeRow(size, Estimate.alone(time)) for size, time in zip(sizes, seconds, strict=True))
    fitted = fit_link(Measurement(rows))
    assert not any("slope of the whole range" in text for text in fitted.assumptions)
    assert fitted.link.send_delay.sizes[-1] == sizes[-1]


@pytest.mark.parametrize("seed", range(10))
def test_noise_and_outliers_are_no_eager_limit(seed: int) -> None:
    """2 % noise on a line with one time four times too long gives no eager limit; the outlier is named."""
    outlier = 1 << (8 + seed)
    found = import_of(lambda size: (2e-6 + size * 1e-9) * (4 if size == outlier else 1), noise=seed)
    fitted = fit_link(found)
    assert fitted.link.eager_limit is None
    odd = [text for text in fitted.assumptions if "far from those of smaller and larger" in text]
    assert len(odd) == 1 and odd[0].startswith(f"half round trips of {format_size(outlier)} are")


@pytest.mark.parametrize("outlier", [0, 1 << 7, 1 << 17, 1 << 20, 1 << 22])
@pytest.mark.parametrize("factor", [2.0, 0.45])
def test_an_outlier_is_named_where_times_double_with_sizes(outlier: int, factor: float) -> None:
    """A time of twice or half its value is named, even if the next size takes as long or longer."""
    found = import_of(lambda size: (2e-6 + size * 1e-9) * (factor if size == outlier else 1.0))
    odd = [text for text in fit_link(found).assumptions if "far from those of smaller and larger" in text]
    if factor < 1 and outlier == 0:
        assert odd == []  # the benchmark may send no data at all then
    elif factor < 1 and outlier == 1 << 22:
        assert any("takes less time than the size before" in text for text in fit_link(found).assumptions)
    else:
        assert len(odd) == 1 and odd[0].startswith(f"half round trips of {format_size(outlier)} are")


def test_times_of_0_are_left_out_and_said() -> None:
    """A time that was rounded to 0 does not count, and the fit names its size."""
    whole = import_of(lambda size: 2e-6 + size * 1e-9)
    rounded = import_of(lambda size: 0.0 if size == 64 else 2e-6 + size * 1e-9)
    (said,) = set(fit_link(rounded).assumptions) - set(fit_link(whole).assumptions)
    assert said.startswith("half round trips of 64 B are 0 and left out: ")
    assert np.allclose(fit_link(rounded).link.send_delay(64), fit_link(whole).link.send_delay(64), rtol=0.02)


def test_sizes_close_to_each_other_hide_no_eager_limit() -> None:
    """Sizes 3 B apart, as in NetPIPE, hide no eager limit: a line has no jump, and a real jump is found."""
    sizes = sorted({size + k for size in SIZES[4:] for k in (-3, 0, 3)})
    for jump in (0.0, 3e-6):
        times = {size: 1e-6 + size * 1e-9 / 8 + (jump if size > 16384 else 0.0) for size in sizes}
        found = Measurement(tuple(SizeRow(size, one_way=Estimate.alone(time)) for size, time in times.items()))
        assert fit_link(found).link.eager_limit == (16384 if jump else None)


def test_a_search_that_time_ended_says_so() -> None:
    """A search for the eager limit that ran out of time gives no limit; a jump of half round trips is mentioned."""
    found = replace(
        import_of(lambda size: 1e-6 + size * 1e-10 + (2e-6 if size > 8192 else 0.0)),
        eager=EagerLimit(128, None, "found by late receives"),
    )
    fitted = fit_link(found)
    assert fitted.link.eager_limit is None
    said = next(text for text in fitted.assumptions if text.startswith("eager limit"))
    assert "up to 128 B for lack of time" in said and "jump after 8.192 KB" in said


def test_one_size_beyond_the_eager_limit_takes_its_time() -> None:
    """A single measured size beyond the eager limit is fitted.

    The sender is blocked while its data travel, so the send delay has all of the time, and transmission none.
    """
    slow = Link(Curve.line(5e-6, 0.0), Curve.line(10e-6, 8e-8), receive_delay=1e-6)
    known = measured(slow)
    rows = [row for row in known.rows if row.size <= 1 << 21]
    one_way = rows[-1].one_way
    assert one_way is not None
    last = SizeRow(1 << 22, one_way=Estimate.alone(2 * one_way.value), blocked=Estimate.alone(2 * one_way.value))
    found = replace(known, rows=(*rows, last), eager=EagerLimit(1 << 21, (1 << 21) + 1, "known"))
    machine = pair(fit_link(found).link)
    for row in found.rows:
        assert row.one_way is not None
        assert simulated_one_way(machine, row.size) == pytest.approx(row.one_way.value, rel=0.03)


@pytest.mark.parametrize("progress", Progress)
def test_messages_of_any_size_may_be_rendezvous(progress: Progress) -> None:
    """Two sizes beyond the eager limit: a part of the time of each is that of an empty message and of the answer.

    With progress outside of calls it is (100 - 20) / 2 = 40 us there and 40 us back, and a further 80 us of data.
    """
    rows = tuple(SizeRow(size << 10, one_way=Estimate.alone(time)) for size, time in ((64, 100e-6), (128, 180e-6)))
    found = Measurement(rows, receive=Estimate.alone(20e-6), in_calls=progress is Progress.CALLS)
    link = fit_link(found, 16 << 10).link
    if progress is Progress.ASYNCHRONOUS:
        assert link.send_delay(0) + link.transmission_delay(0) == pytest.approx(40e-6, rel=0.01)
    machine = pair(link, progress)
    assert [simulated_one_way(machine, row.size) for row in rows] == pytest.approx([100e-6, 180e-6], rel=0.01)
    assert link.busy is not None  # a port is busy for the data alone
    assert (link.busy(64 << 10), link.busy(128 << 10)) == pytest.approx((0.0, 80e-6), rel=0.01, abs=1e-9)


def test_all_rendezvous_wait_equally_long_for_their_answer() -> None:
    """A sender is blocked for 2 us and 1 ns/B, and beyond 16 KiB for a further 10 us, until it has the answer.

    The half round trip of 32 KiB is unknown, but the sender waits for the whole answer: the send delay is 34.768 us.
    """
    halves = {0: 10e-6, 1 << 14: 26.384e-6, 1 << 16: 85.536e-6, 1 << 17: 151.072e-6}
    rows = []
    for size in sorted({*halves, 1 << 15}):
        one_way = Estimate.alone(halves[size]) if size in halves else None
        rows.append(SizeRow(size, one_way, Estimate.alone(2e-6 + size * 1e-9 + (10e-6 if size > 1 << 14 else 0.0))))
    link = fit_link(Measurement(tuple(rows), receive=Estimate.alone(0.0)), 1 << 14).link
    assert link.send_delay(1 << 15) == pytest.approx(34.768e-6, rel=0.01)


def test_both_links_of_a_machine_are_fitted_to_its_one_progress() -> None:
    """Between nodes messages progress at any time, within a node in calls only, which the machine states for both.

    Of the measured 23.25 us of a rendezvous between nodes, envelope and answer then take 10 us each, the receive 1 us.
    """
    link = Link(Curve.line(2e-6, 1e-10), Curve.line(8e-6, 1e-9), 1e-6, 1024.0)
    between, within = with_one_progress(measured(link), measured(link, progress=Progress.CALLS))
    written = parse_yaml(machine_file(calibrate_link(between), calibrate_within(within)).text(), "m.yaml").value
    assert isinstance(written, dict)
    machine = load_machine(written)
    assert machine.network.progress is Progress.CALLS
    assert simulated_one_way(machine, 2048) == pytest.approx(23.25e-6, rel=0.05)
    assert len(between.notes) == 1 and between.notes[0].startswith("progress: messages of this link progressed outside")
    assert not within.notes
    alike = measured(link), measured(link)
    assert with_one_progress(*alike) == alike


@pytest.mark.parametrize(("confidence", "deviations"), [(0.5, 0.6745), (0.95, 1.96), (0.99, 2.576)])
def test_noise_is_by_the_confidence_of_intervals(confidence: float, deviations: float) -> None:
    """Half widths of 10 % are 0.67 to 2.6 standard deviations, by the confidence of the intervals."""
    link = Link(Curve.line(1e-6, 2e-10), Curve.line(4e-6, 8e-10))
    times = ((row.size, row.one_way.value) for row in measured(link).rows if row.one_way is not None)
    rows = tuple(SizeRow(size, one_way=Estimate(time, 0.9 * time, 1.1 * time)) for size, time in times)
    noise = calibrate_link(Measurement(rows, confidence=confidence)).fitted.link.noise
    assert noise.send == pytest.approx(0.1 / deviations, rel=0.06)


@pytest.mark.long
@settings(max_examples=examples(25), deadline=None)
@given(links(), st.sampled_from(Progress))
def test_a_simulated_ping_pong_on_the_fitted_link_takes_the_measured_time(link: Link, progress: Progress) -> None:
    """A known link is measured, fitted and simulated: each size is within 3 % of the measured time."""
    found = measured(link, progress=progress)
    fitted = fit_link(found)
    machine = pair(fitted.link, progress)
    for row in found.rows:
        assert row.one_way is not None
        assert simulate(ping_pong(row.size), machine).makespan / 2 == pytest.approx(row.one_way.value, rel=0.03)
    assert fitted.link.eager_limit == link.eager_limit


@pytest.mark.long
@settings(max_examples=examples(15), deadline=None)
@given(links(), st.integers(0, 2**32 - 1))
def test_a_noisy_measurement_gives_the_link_behind_it(link: Link, seed: int) -> None:
    """With noise of up to 2 %, the fitted link is within 5 % of the true one at all sizes, and 2 % in the median."""
    noise = np.random.default_rng(seed).uniform(0.98, 1.02, len(SIZES))
    fitted = fit_link(measured(link, noise=noise))
    truth, model = pair(link), pair(fitted.link)
    errors = [abs(simulated_one_way(model, size) / simulated_one_way(truth, size) - 1) for size in SIZES]
    assert max(errors) < 0.05
    assert float(np.median(errors)) < 0.02


def test_what_was_measured_is_not_assumed() -> None:
    """If everything of a link is measured, nothing is assumed, and the delays are the link's own."""
    link = Link(Curve.line(1e-6, 1e-10), Curve.line(4e-6, 1e-9), 0.5e-6, 65536.0)
    fitted = fit_link(measured(link))
    assert fitted.assumptions == ()
    assert fitted.link.receive_delay == 0.5e-6
    for size in SIZES:
        assert fitted.link.send_delay(size) == pytest.approx(link.send_delay(size), rel=0.02)
        assert fitted.link.transmission_delay(size) == pytest.approx(link.transmission_delay(size), rel=0.02)


def test_only_eager_messages_are_free_of_their_data_after_the_call() -> None:
    """Eager messages from 64 KiB on are acknowledged: their data occupy the sender for the call of a nonblocking send.

    Messages beyond 128 KiB wait for an answer, and then occupy it for s(m); their call, of 1 us, says nothing of that.
    """
    link = Link(Curve.line(1e-6, 1e-10), Curve.line(4e-6, 1e-9), 0.5e-6, 131072.0)
    found = measured(link)
    rows = tuple(
        replace(row, call=Estimate.alone(link.send_delay(row.size) if row.size <= 131072 else 1e-6))
        for row in found.rows
    )
    late = tuple(replace(row, blocked=row.one_way) if row.size in {65536, 131072} else row for row in rows)
    fitted = fit_link(replace(found, rows=late, acknowledged_from=65536))
    for size in SIZES:
        assert fitted.link.send_delay(size) == pytest.approx(link.send_delay(size), rel=0.02)


@pytest.mark.parametrize("limit", [-1.0, 4096.0])
def test_data_that_the_receiver_reads_wait_for_their_envelope_alone(limit: float) -> None:
    """An empty message takes s + t = 1 + 4 us, then r + e = 0.5 + 1.5 us. Data that are read start 5 us after the call.

    So half a round trip of 1 MiB takes 5 + 5 us, 1 MiB at 1 ns/B, and 2 us. Their sender is occupied for its call.
    """
    link = Link(
        Curve.line(1e-6), Curve.line(4e-6, 1e-9), 0.5e-6, limit, send_overhead=Curve.line(1e-6),
        receive_overhead=2e-6, rendezvous=Rendezvous.READ,
    )  # fmt: skip
    machine = pair(link, Progress.CALLS)
    assert simulated_one_way(machine, 1 << 20) == pytest.approx(12e-6 + 2**20 * 1e-9)
    rows = []
    for size in SIZES:
        half, gap = map(Estimate.alone, (simulated_one_way(machine, size), simulated_gap(machine, size, WINDOW)))
        # A blocking send ends when the receiver has told that it has read the data.
        call = Estimate.alone(1e-6)
        rows.append(SizeRow(size, half, half if size > limit else call, gap, WINDOW, call))
    eager = EagerLimit(None if limit < 0 else int(limit), int(limit) + 1, "known")
    found = Measurement(tuple(rows), Estimate.alone(0.5e-6), eager, in_calls=True, reads=True)
    calibrated = calibrate_link(replace(found, exchange=Estimate.alone(7e-6)))
    fitted = calibrated.fitted
    assert fitted.link.rendezvous is Rendezvous.READ
    told = rendered(network_text(calibrated, None), 160)
    assert "data are read by the receiver" in told and "only within calls" in told
    document = network_document(calibrated, None, "x.yaml")["between_nodes"]
    assert isinstance(document, dict)
    assert (document["rendezvous"], document["progress"]) == ("read", "calls")
    judged = residuals(found, pair(fitted.link, fitted.progress)).one_way
    assert max(abs(each.error) for each in judged) < 0.02
    assert fitted.link.send_delay(1 << 20) == pytest.approx(1e-6, rel=0.02)


def test_a_receive_takes_no_longer_than_a_message_of_a_stream() -> None:
    """A receive is measured after a wait, with cold caches; those of a stream show how long it takes at most.

    A message of a stream takes 2 us; the first of a window and the answer travel for 23 us each.
    """
    known = measured(Link(Curve.line(1e-6, 0.0), Curve.line(20e-6, 0.0), 2e-6))
    gap = Estimate.alone((2 * 23e-6 + (WINDOW - 1) * 2e-6) / WINDOW)
    rows = tuple(replace(row, gap=gap) for row in known.rows)
    fitted = fit_link(replace(known, rows=rows, receive=Estimate.alone(6e-6)))
    assert fitted.link.receive_delay == pytest.approx(2e-6)


def test_a_stream_is_not_faster_than_measured() -> None:
    """A port is busy for 1 ns/B, half of a single message's time, so a stream of 1 MiB messages runs at 1 GB/s."""
    link = Link(Curve.line(1e-6, 1e-10), Curve.line(4e-6, 1.9e-9))
    fitted = fit_link(measured(replace(link, busy=Curve.line(0.0, 1e-9))))
    gap = simulated_gap(pair(fitted.link), 1 << 20)
    assert gap == pytest.approx((1 << 20) * 1e-9, rel=0.03)
    assert simulated_one_way(pair(fitted.link), 1 << 20) == pytest.approx(5e-6 + (1 << 20) * 2e-9, rel=0.03)


def test_the_depth_of_a_bucket_is_found() -> None:
    """The depth of a token bucket is found: 10 MB/s, but 10 KB at once.

    Such a message takes 30 us, so 10 KB - 30 us x 10 MB/s = 9.7 KB of the bucket show. Without a bucket, no message
    travels for a shorter time than it occupies the network.
    """
    travel = Curve.through([(0, 20e-6), (10_000, 20e-6), (20_000, 1.02e-3)])
    shaped = Link(Curve.line(10e-6), travel, 5e-6, busy=Curve.line(0.0, 1e-7), bucket=9_700.0)
    fitted = fit_link(measured(shaped))
    assert fitted.link.bucket == pytest.approx(9_700, rel=0.1)
    for size in (1 << 12, 1 << 16):
        assert simulated_gap(pair(fitted.link), size) == pytest.approx(simulated_gap(pair(shaped), size), rel=0.05)
    plain = replace(shaped, transmission_delay=Curve.line(20e-6, 1e-7), bucket=0.0)
    assert fit_link(measured(plain)).link.bucket == 0.0


def test_caches_are_no_bucket() -> None:
    """Windows of 16 MiB leave the caches and take 1.4 times as long as single messages: this is no token bucket.

    A bucket of 4.8 MB would let through whole windows of 64 KiB, whose streams the network limits.
    """
    link = Link(Curve.line(1e-6, 1e-11), Curve.line(4e-6, 2e-10), 1e-6)
    known = measured(link)
    *rest, last = known.rows
    assert last.gap is not None
    rows = (*rest, replace(last, gap=Estimate.alone(1.4 * last.gap.value)))
    fitted = fit_link(replace(known, rows=rows))
    assert fitted.link.bucket == 0.0
    assert simulated_gap(pair(fitted.link), 1 << 16) == pytest.approx(simulated_gap(pair(link), 1 << 16), rel=0.05)


def only_half_round_trips(link: Link) -> Measurement:
    """Return the half round trips that osu_latency would measure."""
    machine = pair(link)
    return Measurement(tuple(SizeRow(size, Estimate.alone(simulated_one_way(machine, size))) for size in SIZES))


def test_what_half_round_trips_cannot_tell_is_said() -> None:
    """Half round trips alone leave delays' split, the receive delay, the eager limit and the ports as assumptions."""
    fitted = fit_link(only_half_round_trips(Link(Curve.line(2e-6, 1e-10), Curve.line(6e-6, 1e-9), 2e-6)))
    said = "\n".join(fitted.assumptions)
    for what in ("send and transmission delay: only half round trips are known", "receive delay: not measured"):
        assert what in said
    assert "eager limit: half round trips show no jump" in said and "ports: no stream was measured" in said
    assert fitted.link.receive_delay == pytest.approx(10e-6 / 5)
    assert fitted.link.send_delay(0) == pytest.approx(10e-6 / 5, rel=0.02)
    # A stream is assumed to be exactly as fast as single messages show.
    assert simulated_gap(pair(fitted.link), 1 << 24) == pytest.approx((1 << 24) * 1.1e-9, rel=0.03)


def test_the_eager_limit_shows_as_a_jump_of_half_round_trips() -> None:
    """An answer of 8 us beyond 64 KiB is found as a jump, and used unless the user states an eager limit."""
    found = only_half_round_trips(Link(Curve.line(2e-6), Curve.line(6e-6, 0.1e-9), 2e-6, 65536.0))
    guessed = fit_link(found)
    assert guessed.link.eager_limit == 65536
    assert any(text.startswith("eager limit: a guess") for text in guessed.assumptions)
    stated = fit_link(found, eager_limit=32768)
    assert stated.link.eager_limit == 32768
    assert fit_link(found, eager_limit=float("inf")).link.eager_limit is None
    for fitted in (guessed, stated):
        assert summary(residuals(found, pair(fitted.link)).one_way)[2] < 0.05


def test_an_eager_limit_that_was_not_found_exactly_is_said() -> None:
    """An eager limit that is known as a range, or was not found, is stated in words."""
    rows = only_half_round_trips(Link(Curve.line(2e-6, 1e-10), Curve.line(6e-6, 1e-9))).rows
    for eager, limit, words in (
        (EagerLimit(1024, 2048, "found"), 1024, "between 1.024 KB and 2.048 KB"),
        (EagerLimit(1 << 24, None, "found"), None, "every message is assumed to be eager"),
        (EagerLimit(None, 0, "found"), 0, "every message from 0 B on waits"),
    ):
        fitted = fit_link(Measurement(rows, eager=eager))
        assert fitted.link.eager_limit == limit
        assert any(words in text for text in fitted.assumptions)


def test_the_jump_stands_where_the_eager_limit_is() -> None:
    """The jump is exactly at the eager limit, also between two measured sizes."""
    link = Link(
        Curve.line(2e-6, 1e-10), Curve((0.0, 5000.0, 5001.0), (6e-6, 6e-6, 30e-6), (0.0, 24e-6, 1e-9)), 0.0, 5000.0
    )
    fitted = fit_link(measured(link)).link
    assert fitted.transmission_delay(5000) == pytest.approx(6e-6, rel=0.03)
    assert fitted.transmission_delay(5001) == pytest.approx(30e-6, rel=0.03)


def test_the_90th_percentile_is_what_90_percent_do_not_exceed() -> None:
    """Of errors of 1 to 10 %, nine are at most 9 %; the median is 5.5 %."""
    parts = [Residual(size, 1.0, 1.0 + size / 100) for size in range(1, 11)]
    assert summary(parts) == pytest.approx((0.055, 0.09, 0.1))


def test_sizes_of_which_only_the_time_in_a_stream_is_known_have_a_row() -> None:
    """Round trips were measured of 8 B and streams of 64 KiB: each has a row of the table, with what is known of it."""
    link = Link(Curve.line(1e-6), Curve.line(1e-5))
    rows = (SizeRow(8, one_way=Estimate.alone(10e-6)), SizeRow(1 << 16, gap=Estimate.alone(70e-6)))
    compared = Residuals((Residual(8, 10e-6, 11e-6),), (Residual(1 << 16, 70e-6, 77e-6),))
    found = Calibration(Measurement(rows), FittedLink(link, ()), pair(link), compared)
    lines = [" ".join(line.split()) for line in rendered(network_text(found, None), 160).splitlines()]
    assert "8 B 10 us – 11 us +10.0% – – –" in lines
    assert "65.54 KB – – – – 70 us 77 us +10.0%" in lines


def test_figures_that_several_files_give_show_how_far_they_differ() -> None:
    """Half round trips of 10 and 12 us have the median 11 us, and half their range is 9.1 % of it."""
    pairs = [read_benchmark(f"size,latency (us)\n0,{empty}\n1024,20\n", "x.csv") for empty in (10, 12)]
    shown = rendered(network_text(calibrate_link(merged(pairs)), None))
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert any(line.startswith("0 B 11 us 9.1% ") for line in lines)
    assert any(line.startswith("1.024 KB 20 us – ") for line in lines)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_fitted_curves_of_four_real_networks_are_within_5_percent(cloud: str) -> None:
    """For four real networks, the fit is at most 5 % off in the median and 6 % in the 90th percentile.

    This holds for half round trips and for streams.
    """
    found = read_benchmark(STUDY.read_text(), STUDY.name, where={"environment": cloud})
    lines = [line for line in STUDY.read_text().splitlines() if not line.startswith("#")]
    sizes = {int(row["size"]) for row in csv.DictReader(lines)}
    assert {row.size for row in found.rows} == sizes
    for parts in residuals_of(found):
        median, most, _ = summary(parts)
        assert median <= 0.05
        assert most <= 0.06


def residuals_of(found: Measurement) -> tuple[tuple[Residual, ...], ...]:
    """Return the residuals of half round trips and of streams for the fitted link."""
    fitted = fit_link(found)
    both = residuals(found, pair(fitted.link, fitted.progress))
    return both.one_way, both.gap


def test_with_the_sender_s_time_alone_ports_are_as_the_delays_say() -> None:
    """From half round trips and blocked times the delays are split as measured; no busy time of ports is assumed."""
    link = Link(Curve.line(1e-6, 2e-10), Curve.line(4e-6, 8e-10), 0.5e-6)
    rows = tuple(replace(row, gap=None) for row in measured(link).rows)
    fitted = fit_link(Measurement(rows, receive=Estimate.alone(0.5e-6)))
    assert fitted.link.busy is None
    assert fitted.link.send_delay(1 << 20) == pytest.approx(link.send_delay(1 << 20), rel=0.02)


def test_a_bandwidth_from_short_messages_is_said() -> None:
    """If only messages of up to 1 KiB were measured, the time of larger ones is a guess, which the result says."""
    short, enough = (import_of(lambda size: 1e-5 + 1e-8 * size, largest) for largest in (1 << 10, 1 << 14))
    assert any("messages above 1.024 KB were not measured" in said for said in fit_link(short).assumptions)
    assert not any("messages above" in said for said in fit_link(enough).assumptions)


def of_pairs(link: Link, pairs: int, window: int = WINDOW) -> tuple[SizeRow, ...]:
    """Return what osu_mbw_mr measures where a port is the limit: one message, W - 1 busy times, and an answer."""
    machine, messages = pair(link), pairs * window
    around = {size: simulated_one_way(machine, size) + simulated_one_way(machine, 0) for size in SIZES}
    windows = {size: around[size] + (messages - 1) * link.occupation(size) for size in SIZES}
    return tuple(
        SizeRow(size, gap=Estimate.alone(time / messages), window=window, pairs=pairs) for size, time in windows.items()
    )


#: A sender is busy for 1 us + 0.3 ns/B, a port for 0.2 us + 0.1 ns/B.
TWO_STAGES = Link(Curve.line(1e-6, 3e-10), Curve.line(4e-6, 1e-9), 0.2e-6, busy=Curve.line(0.2e-6, 1e-10))


def test_streams_of_several_pairs_tell_the_port_from_the_processor() -> None:
    """The stream of one pair gives the send delay, and streams of eight pairs give the busy time of the port."""
    found = Measurement(
        tuple(replace(row, blocked=None) for row in measured(TWO_STAGES).rows), shared=of_pairs(TWO_STAGES, 8)
    )
    fitted = fit_link(found)
    assert fitted.link.busy is not None
    for size in SIZES:
        assert fitted.link.busy(size) == pytest.approx(0.2e-6 + size * 1e-10, rel=0.03)
        assert fitted.link.send_delay(size) == pytest.approx(1e-6 + size * 3e-10, rel=0.03)
    assert not any(text.startswith("ports") for text in fitted.assumptions)


def test_the_number_of_pairs_that_sends_most_shows_the_port() -> None:
    """The number of pairs with the highest rate determines the port's busy time.

    Two pairs that are each as fast as one alone do not saturate the port, and a note says so; eight do.
    """
    rows = tuple(replace(row, blocked=None) for row in measured(TWO_STAGES).rows)
    two = tuple(
        SizeRow(row.size, gap=Estimate.alone(row.gap.value / 2), window=WINDOW, pairs=2) for row in rows if row.gap
    )
    few, many = (
        fit_link(Measurement(rows, shared=two)),
        fit_link(Measurement(rows, shared=(*two, *of_pairs(TWO_STAGES, 8)))),
    )
    assert few.link.busy is not None and many.link.busy is not None
    assert few.link.busy(0) == pytest.approx(0.5e-6, rel=0.1)
    assert many.link.busy(0) == pytest.approx(0.2e-6, rel=0.03)
    (said,) = [
        text for text in few.assumptions if text.startswith("ports: up to 2 pairs each send as fast as one alone")
    ]
    assert "between the same two nodes, as is assumed" in said and "between more nodes for longer: " in said
    assert not [text for text in many.assumptions if text.startswith("ports")]


def test_the_stream_of_one_pair_does_not_show_the_port_and_a_note_says_so() -> None:
    """If the send delay is the time per message, ranks may limit the stream: the port gets the excess over 1 us."""
    rows = tuple(replace(row, blocked=None) for row in measured(TWO_STAGES).rows)
    fitted = fit_link(Measurement(rows))
    assert fitted.link.busy is not None
    assert fitted.link.busy(1 << 20) == pytest.approx((1 << 20) * 3e-10, rel=0.03)
    assert any(text.startswith("ports: the ranks of one pair may limit its stream") for text in fitted.assumptions)
    # With the sender's own time, the port is known to limit streams of large messages.
    slow = replace(TWO_STAGES, busy=Curve.line(0.2e-6, 1e-9))
    assert not any(text.startswith("ports") for text in fit_link(measured(slow)).assumptions)


def test_a_port_carries_no_message_faster_than_the_largest() -> None:
    """A call takes 5 us and a byte 0.8 ns of the network, whichever is longer: the stream of 4 KiB shows only the call.

    Four pairs share the network: a message of 4 KiB occupies the port for 3.3 us, one of 64 KiB for 52 us.
    """
    sizes = [0, *(1 << k for k in range(23))]
    rows = tuple(
        SizeRow(size, Estimate.alone(25e-6 + size * 0.8e-9), gap=Estimate.alone(max(5e-6, size * 0.8e-9)))
        for size in sizes
    )
    link = fit_link(Measurement(rows)).link
    assert link.busy is not None
    for size in (4096, 8192, 1 << 16, 1 << 20):
        assert link.busy(size) == pytest.approx(size * 0.8e-9, rel=0.02)
        assert simulated_gap(pair(link), size) == pytest.approx(max(5e-6, size * 0.8e-9), rel=0.02)


def notes_on(*shared: SizeRow) -> list[str]:
    """Return the notes that these rows add to those on one pair over TWO_STAGES."""
    rows = measured(TWO_STAGES).rows
    alone = fit_link(Measurement(rows)).assumptions
    return [text for text in fit_link(Measurement(rows, shared=shared)).assumptions if text not in alone]


def test_directions_that_share_something_are_said_with_the_figure() -> None:
    """Both directions at once normally carry twice as much as one; 1.25 times as much is noted with the figure."""
    last = measured(TWO_STAGES).rows[-1]
    assert last.gap is not None and last.one_way is not None
    streams = {by: SizeRow(last.size, gap=Estimate.alone(last.gap.value / by), both_ways=True) for by in (1.25, 1.95)}
    (said,) = notes_on(streams[1.25])
    assert said.startswith("ports: both directions at once carry 1.25 times as much as one at 16.78 MB")
    assert notes_on(streams[1.95]) == []
    exchanged = SizeRow(last.size, one_way=Estimate.alone(last.one_way.value * 1.6), both_ways=True)
    assert notes_on(exchanged)[0].startswith("ports: both directions at once carry 1.25 times")
    assert notes_on(replace(streams[1.95], pairs=4))[0].startswith("ports: both directions cannot be compared")


def test_half_round_trips_of_several_pairs_are_compared_with_those_of_one() -> None:
    """Half round trips of several pairs are compared with one pair's, which changes only the notes.

    Three times as long means a shared port; equally long means no slowdown.
    """
    last = measured(TWO_STAGES).rows[-1]
    assert last.one_way is not None
    several = {by: SizeRow(last.size, one_way=Estimate.alone(by * last.one_way.value), pairs=0) for by in (1, 3)}
    assert "take 3.00 times as long as of one pair: they share a port" in notes_on(several[3])[0]
    assert "osu_mbw_mr shows" in notes_on(several[3])[0]
    assert "osu_mbw_mr shows" not in "".join(notes_on(several[3], *of_pairs(TWO_STAGES, 8)))
    assert "1.00 times as long as of one pair: no port slows them" in notes_on(several[1])[0]
    assert "not compared" in notes_on(replace(several[3], size=7))[0]
    rows = measured(TWO_STAGES).rows
    assert fit_link(Measurement(rows, shared=(several[3],))).link == fit_link(Measurement(rows)).link


TIMES = st.one_of(st.none(), st.builds(Estimate.alone, st.floats(1e-9, 10.0)))


@pytest.mark.long
@settings(max_examples=examples(60), deadline=None)
@given(
    st.dictionaries(st.integers(0, 1 << 24), st.tuples(TIMES, TIMES, TIMES, st.sampled_from([0, 4, 64])), min_size=2),
    TIMES,
    st.one_of(st.none(), st.integers(0, 1 << 24)),
)
def test_whatever_was_measured_becomes_a_machine_that_is_read_back(
    times: dict[int, tuple[Estimate | None, Estimate | None, Estimate | None, int]],
    receive: Estimate | None,
    limit: int | None,
) -> None:
    """Any measured times, also falling ones or long blocked times, give a machine file that is read back equal."""
    rows = tuple(SizeRow(size, *times[size]) for size in sorted(times))
    assume(sum(row.one_way is not None for row in rows) > 1)
    eager = None if limit is None else EagerLimit(limit, limit + 1, "found")
    found = Measurement(rows, receive, eager, source='a "name": of # anything')
    calibration = calibrate_link(found)
    for between, within in ((calibration, None), (None, calibration)):
        written = parse_yaml(machine_file(between, within).text(), "m.yaml").value
        assert isinstance(written, dict)
        read = load_machine(written).network.link("node", "node", same_node=between is None)
        # Files state five digits, which say little about messages a thousand times as large as the measured ones.
        for size in (size for size in (0, 1000, 1 << 25) if size <= 100 * rows[-1].size):
            expected = calibration.fitted.link.transmission_delay(size)
            assert read.transmission_delay(size) == pytest.approx(expected, rel=1e-2, abs=1e-12)
        assert read.eager_limit == calibration.fitted.link.eager_limit


def test_bandwidths_alone_are_refused() -> None:
    """Bandwidths alone are refused, as they do not tell how long a message travels."""
    with pytest.raises(UsageError, match="round trips must be known at two sizes"):
        fit_link(
            Measurement((SizeRow(8, gap=Estimate.alone(1e-6)), SizeRow(16, gap=Estimate.alone(2e-6))), source="bw.txt")
        )


@pytest.mark.parametrize("seconds", [0.0, 1e-31, 1e-300])
def test_what_is_rounding_alone_is_written_as_nothing(seconds: float) -> None:
    """A time below 1e-30 s, which a fit may leave by rounding, is written as 0 s."""
    assert time_text(seconds) == "0 s"
    assert time_text(2e-30) == "2e-21 ns"
