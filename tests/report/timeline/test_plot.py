"""The timeline: shares of columns, bands of ranks, and the enlarged stretch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.report.page import run as run_page
from clue.report.shared.scale import Window, span
from clue.report.timeline.bands import MOST_BANDS, Band, Layout, alike, layout, sample, spans
from clue.report.timeline.painting import paint
from clue.report.timeline.plot import COLUMNS, MOST_BANDS_ZOOMED, draw_timeline, kinds_of, kinds_of_sites, of_sites
from clue.report.timeline.shares import AVERAGED, averaged, seconds_by_kind, shares
from clue.report.timeline.zoom import representative
from clue.result import SEGMENT, Activity, RankResult, Result, Timeline
from clue.trace.sites import UNKNOWN, Frame, Site, Sites
from tests.report.cases import machine, many_ranks, result, timeline

#: Computing, communicating and waiting, for any region.
KINDS = np.array([[0], [1], [1], [2]], np.intp)


def played(parts: Sequence[Sequence[tuple[Activity, float]]], *, nodes: int = 1, instances: int = 1) -> Result:
    """Return a result whose ranks have these consecutive activities with durations in seconds."""
    segments, ranks = [], []
    for rank, part in enumerate(parts):
        edges = np.concatenate(([0.0], np.cumsum([seconds for _, seconds in part])))
        segments += [(rank, what, 0, 0, b, e) for (what, _), (b, e) in zip(part, pairwise(edges), strict=True)]
        spent = [sum(seconds for what, seconds in part if what in of) for of in ((0,), (1, 2), (3,))]
        ranks.append(RankResult(rank, rank * nodes // len(parts), float(edges[-1]), *spent))
    finish = max(rank.finish for rank in ranks)
    known = Timeline(np.array(segments, SEGMENT), ("",))
    return Result(finish, "reference", tuple(ranks), instances=instances, timeline=known)


def iterating(ranks: int, iterations: int, **more: int) -> Result:
    """Return ranks that repeatedly compute 3 s, send 1 s, and wait; higher ranks wait longer."""
    return played(
        [
            [(Activity.COMPUTE, 3.0), (Activity.SEND, 1.0), (Activity.WAIT, 1.0 + rank / ranks)] * iterations
            for rank in range(ranks)
        ],
        **more,
    )


# --- shares ----------------------------------------------------------------------------------------------------------


def by_brute_force(
    known: Timeline, kinds: npt.NDArray[np.intp], bands: npt.NDArray[np.intp], window: Window, columns: int
) -> npt.NDArray[np.float64]:
    """Count the seconds of each kind in each column, segment by segment and column by column."""
    found = np.zeros((bands.max() + 1, columns, kinds.max() + 1))
    for rank, activity, region, _, begin, end in known.segments.tolist():
        for column in range(columns):
            left, right = (window.begin + window.length * edge / columns for edge in (column, column + 1))
            found[bands[rank], column, kinds[activity, region]] += max(0.0, min(end, right) - max(begin, left))
    return found * columns / window.length / np.bincount(bands)[:, None, None]


@st.composite
def timelines(draw: st.DrawFn) -> tuple[Timeline, int]:
    """Return a timeline of ranks in two regions, with pieces of length zero and ranks without pieces."""
    ranks = draw(st.integers(1, 4))
    segments = []
    for rank in range(ranks):
        lengths = draw(st.lists(st.sampled_from([0.0, 1e-9, 0.125, 0.3, 1.0, 7.0]), max_size=8))
        edges = np.concatenate(([0.0], np.cumsum(lengths)))
        for begin, end in pairwise(edges):
            segments.append((rank, draw(st.integers(0, 3)), draw(st.integers(0, 1)), 0, begin, end))
    return Timeline(np.array(segments, SEGMENT), ("", "solve")), ranks


@given(
    case=timelines(),
    columns=st.integers(1, 9),
    begin=st.sampled_from([0.0, 0.1, 1.0]),
    length=st.sampled_from([0.05, 1.0, 20.0]),
    together=st.booleans(),
)
def test_shares_are_those_of_brute_force(
    case: tuple[Timeline, int], columns: int, begin: float, length: float, together: bool
) -> None:
    """Shares equal those counted by brute force, for any window, number of columns, and ranks per band."""
    known, ranks = case
    kinds = np.array([[0, 1], [2, 2], [2, 2], [3, 3]], np.intp)
    bands = np.zeros(ranks, np.intp) if together else np.arange(ranks, dtype=np.intp)
    window = Window(begin, begin + length)
    found = shares(known, kinds, bands, window, columns)
    np.testing.assert_allclose(found, by_brute_force(known, kinds, bands, window, columns), atol=1e-12)


@given(case=timelines(), columns=st.integers(1, 300))
def test_shares_of_a_column_add_up_to_one_and_lose_no_time(case: tuple[Timeline, int], columns: int) -> None:
    """Shares of a column add up to 1 until the rank ends, and over all columns each activity keeps its time."""
    known, ranks = case
    finish = max(known.segments["end"].max(initial=0.0), 1.0)
    found = shares(known, KINDS.repeat(2, 1), np.arange(ranks, dtype=np.intp), Window(0.0, finish), columns)
    for rank in range(ranks):
        end = known.segments["end"][known.segments["rank"] == rank].max(initial=0.0)
        np.testing.assert_allclose(found[rank, : int(end / finish * columns)].sum(axis=1), 1.0)
    spent = [seconds_by_kind(known)[KINDS[:, 0] == kind].sum() for kind in range(3)]
    np.testing.assert_allclose(found.sum(axis=(0, 1)) * finish / columns, spent, atol=1e-9)


def test_ranks_without_a_band_count_nothing() -> None:
    """A band number below 0 means no band; other bands have means over their own ranks."""
    known = many_ranks(3).timeline  # rank r computes r + 1 s
    assert known is not None
    found = shares(known, KINDS, np.array([0, -1, 0], np.intp), Window(0.0, 4.0), 4)
    np.testing.assert_allclose(found[0, :, 0], [1.0, 0.5, 0.5, 0.0])


@given(seed=st.integers(0, 2**32 - 1), pieces=st.integers(1, 800), columns=st.sampled_from([1, 2, 60, COLUMNS]))
def test_means_of_columns_lose_no_time(seed: int, pieces: int, columns: int) -> None:
    """Where columns are averaged, activities keep their time, and shares still add up to 1."""
    edges = np.concatenate(([0.0], np.cumsum(np.random.default_rng(seed).random(pieces) ** 8 + 1e-6)))
    segments = [(0, i % 4, 0, 0, b, e) for i, (b, e) in enumerate(pairwise(edges))]
    exact = shares(
        Timeline(np.array(segments, SEGMENT), ("",)), KINDS, np.zeros(1, np.intp), Window(0.0, edges[-1]), columns
    )
    smooth, where = averaged(exact)
    np.testing.assert_allclose(smooth.sum(axis=1), exact.sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(smooth.sum(axis=2), 1.0)
    np.testing.assert_array_equal(smooth[~where], exact[~where])


def test_what_alternates_too_fast_gets_means_and_what_can_be_seen_stays() -> None:
    """400 iterations of 5 s fill half of the columns, at least half an iteration in each; then 2,000 s of waiting.

    Only the iterations are averaged.
    """
    iteration = [(Activity.COMPUTE, 3.0), (Activity.SEND, 1.0), (Activity.WAIT, 1.0)]
    known = played([[*iteration * 400, (Activity.WAIT, 2000.0)]]).timeline
    assert known is not None
    exact = shares(known, KINDS, np.zeros(1, np.intp), Window(0.0, 4000.0), COLUMNS)
    smooth, where = averaged(exact)
    assert where[0, :590].all() and not where[0, 601:].any()
    np.testing.assert_allclose(smooth[0, 5:580], [[0.6, 0.2, 0.2]] * 575, atol=0.01)


def test_short_runs_between_long_ones_stay_exact() -> None:
    """Three alternations of two columns each, between long bursts, are not averaged."""
    column = 1.0
    part = [(Activity.COMPUTE, 500 * column), *([(Activity.SEND, 2 * column), (Activity.WAIT, 2 * column)] * 3)]
    known = played([[*part, (Activity.COMPUTE, 688 * column)]]).timeline
    assert known is not None
    assert not averaged(shares(known, KINDS, np.zeros(1, np.intp), Window(0.0, 1200.0), COLUMNS))[1].any()


def test_a_million_segments() -> None:
    """A picture of a million segments is drawn without a loop over segments in Python."""
    many = 1_000_000
    edges = np.linspace(0.0, 10.0, many + 1)
    segments = np.zeros(many, SEGMENT)
    segments["activity"], segments["begin"], segments["end"] = np.arange(many) % 4, edges[:-1], edges[1:]
    ranks = (RankResult(0, 0, 10.0, 2.5, 5.0, 2.5),)
    drawn = draw_timeline(Result(10.0, "reference", ranks, timeline=Timeline(segments, ("",))), "many")
    whole, stretch = drawn.axes
    assert "25% computing, 50% communicating and 25% waiting" in whole.get_title(loc="left")
    begin, end = stretch.get_xlim()
    assert stretch.get_xlabel().startswith("virtual time (us after ") and 470 <= end - begin <= 500


# --- kinds and colours -----------------------------------------------------------------------------------------------


def test_kinds_are_regions_and_activities() -> None:
    """Regions come first, the longest one ahead, then sending, receiving and waiting."""
    kinds, numbers = kinds_of(timeline())
    assert [kind.label for kind in kinds] == ["compute (no region)", "compute: solve", "send", "receive", "wait"]
    assert numbers.tolist() == [[0, 1], [2, 2], [3, 3], [4, 4]]


def test_more_regions_than_colours_share_one() -> None:
    """With ten regions, the shortest five share a colour."""
    segments = np.array([(0, Activity.COMPUTE, r, 0, r, r + 1.0 + r / 100) for r in range(10)], SEGMENT)
    kinds, numbers = kinds_of(Timeline(segments, tuple(f"r{i}" for i in range(10))))
    assert kinds[5].label == "compute: 5 more regions"
    assert len({kind.colour for kind in kinds}) == len(kinds)
    assert numbers[Activity.COMPUTE].tolist() == [5, 5, 5, 5, 5, 4, 3, 2, 1, 0]


def test_colours_of_call_sites() -> None:
    """Each site has a colour for the computation before its calls and a tint for the calls; the shortest share one."""
    sites = Sites.of([UNKNOWN, *(Site((Frame("p.py", "f", line, 0),)) for line in range(1, 9))])
    segments = np.array(
        [(0, activity, 0, site, 2 * site + i, 2 * site + i + (10 - site) / 10)
         for site in range(9) for i, activity in enumerate((Activity.COMPUTE, Activity.WAIT))],
        SEGMENT,
    )  # fmt: skip
    kinds, numbers = kinds_of_sites(of_sites(Timeline(segments, ("",), sites)))
    assert [kind.label for kind in kinds if kind.label] == [
        "(unknown)", *(f"p.py:{line} f" for line in range(1, 6)), "3 more call sites",
    ]  # fmt: skip
    assert numbers[Activity.COMPUTE].tolist() == [0, 1, 2, 3, 4, 5, 6, 6, 6]
    assert numbers[Activity.SEND].tolist() == numbers[Activity.WAIT].tolist() == [7, 8, 9, 10, 11, 12, 13, 13, 13]
    assert len({kind.colour for kind in kinds}) == len(kinds) == 14


def test_one_call_site_without_a_colour() -> None:
    """Of seven call sites, six have colours of their own, and the legend counts one more."""
    sites = Sites.of([UNKNOWN, *(Site((Frame("p.py", "f", line, 0),)) for line in range(1, 7))])
    segments = np.array([(0, Activity.COMPUTE, 0, site, site, site + 0.5) for site in range(7)], SEGMENT)
    kinds, _ = kinds_of_sites(of_sites(Timeline(segments, ("",), sites)))
    assert kinds[6].label == "1 more call site"


def test_a_timeline_by_call_site_says_what_its_colours_mean() -> None:
    """The title explains dark and light colours, and the legend names the sites."""
    drawn = draw_timeline(result(), "a title", by_site=True)
    assert "dark: computing before a call; light: messages and waiting in it" in drawn.axes[0].get_title(loc="left")
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["(unknown)"]


def test_a_band_is_stacked_from_the_bottom_up() -> None:
    """From the bottom: half computing in blue, a quarter waiting in grey, and a quarter after the end in white."""
    found = np.tile(np.array([[[0.5, 0.25]]]), (1, 10, 1))
    image = paint(found, ["#4477AA", "#D4D4D4"], 9)  # eight rows and a gap of one
    blue, grey, white = ([part / 255 for part in colour] for colour in ((0x44, 0x77, 0xAA), (0xD4,) * 3, (255,) * 3))
    np.testing.assert_allclose(image[:, 0].tolist(), [white] * 2 + [grey] * 2 + [blue] * 4 + [white], atol=1e-6)


def test_a_column_between_two_activities_is_blended() -> None:
    """A column that contains a border has the mean colour from top to bottom."""
    found = np.array([[[1.0, 0.0]] * 20 + [[0.5, 0.5]] + [[0.0, 1.0]] * 20])
    image = paint(found, ["#000000", "#FFFFFF"], 9)
    np.testing.assert_allclose(image[:8, 20], 0.5)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30), st.integers(9, 60))
def test_the_ink_of_a_column_is_its_share(parts: list[tuple[float, float]], rows: int) -> None:
    """At any height of the band, black fills the column in proportion to its share."""
    found = np.array([[[a * b, a * (1 - b)] for a, b in parts]])
    image = paint(found, ["#000000", "#FFFFFF"], rows)
    height = rows - max(1, rows // 8)
    np.testing.assert_allclose((1 - image[:, :, 0]).sum(axis=0) / height, found[0, :, 0], atol=1e-5)


# --- ranks that share a band -----------------------------------------------------------------------------------------


def test_ranks_that_are_alike_to_rounding_share_a_band() -> None:
    """0 and 2 differ by rounding only, 1 by a thousandth, and 3 has another activity at the same times."""
    work = [(Activity.COMPUTE, 1.0), (Activity.WAIT, 1.0)]
    other = [(Activity.COMPUTE, 1.001), (Activity.WAIT, 0.999)]
    parts = [work, other, [(Activity.COMPUTE, 1.0 + 1e-13), (Activity.WAIT, 1.0)], [work[0], (Activity.SEND, 1.0)]]
    found = played(parts)
    assert found.timeline is not None
    groups = alike(found.timeline, 4, found.makespan)
    assert groups[0] == groups[2] and len(set(groups)) == 3
    assert layout(found) == Layout(
        "rank",
        (Band("0, 2", (0, 2)), Band("1", (1,)), Band("3", (3,))),
        "ranks that do the same at the same times share a band",
    )


def test_64_equal_instances_are_shown_once() -> None:
    """64 equal instances of two ranks give two bands, and a remark says that the others are alike."""
    work = [[(Activity.COMPUTE, 2.0)], [(Activity.COMPUTE, 1.0), (Activity.WAIT, 1.0)]]
    found = layout(played(work * 64, instances=64))
    told = "64 instances, all alike: one shown"
    assert found == Layout("rank", (Band("0", (0,)), Band("1", (1,))), told, told)


def test_instances_that_differ_are_shown_once_each() -> None:
    """Two of three instances are alike and share bands."""
    fast, slow = [(Activity.COMPUTE, 1.0)], [(Activity.COMPUTE, 2.0)]
    found = layout(played([fast, slow, slow, fast, fast, slow], instances=3))
    assert [band.label for band in found.bands] == [
        "instance 0, 2, rank 0", "instance 0, 2, rank 1", "instance 1, rank 0", "instance 1, rank 1"
    ]  # fmt: skip
    assert found.remark == "3 instances, of which 2 differ: these are shown"


@pytest.mark.parametrize(
    ("ranks", "nodes", "bands", "unit"), [(64, 8, 64, "rank"), (65, 5, 5, "node"), (1024, 512, 32, "ranks")]
)
def test_many_ranks_share_bands_by_node_or_neighbourhood(ranks: int, nodes: int, bands: int, unit: str) -> None:
    """Up to 64 ranks have a band each; more ranks share one per node, and too many nodes one per neighbourhood."""
    found = layout(iterating(ranks, 2, nodes=nodes))
    assert (len(found.bands), found.unit) == (bands, unit)
    assert sorted(rank for band in found.bands for rank in band.ranks) == list(range(ranks))
    assert len(found.bands) <= MOST_BANDS


def test_a_sample_of_ranks_goes_from_the_least_waiting_to_the_most() -> None:
    """Rank r waits 1 + r / 100 s per iteration; the sample has ranks 0, 33, 66 and 99."""
    many = iterating(100, 2)
    found = sample(many, layout(many), 4)
    assert [band.label for band in found.bands] == ["0", "33", "66", "99"]
    assert found.remark == "4 of 100 ranks, from the one that waits least to the one that waits most"


def test_runs_of_numbers() -> None:
    """Consecutive numbers are shown as ranges."""
    assert spans([0, 1, 2, 7, 9, 10]) == "0–2, 7, 9–10"


# --- the enlarged stretch --------------------------------------------------------------------------------------------


def test_few_segments_need_no_enlargement() -> None:
    """A timeline whose segments can all be seen has no second panel."""
    assert len(draw_timeline(result(), "few").axes) == 1


def test_what_is_too_dense_is_shown_enlarged() -> None:
    """The second panel shows some of 500 iterations; the first panel marks them and explains its averaged columns."""
    drawn = draw_timeline(iterating(2, 500), "dense")
    whole, stretch = drawn.axes
    minutes = Window(*stretch.get_xlim())
    assert 14 <= minutes.length * 60 / 5.25 <= 18  # iterations of 5 and 5.5 s, three segments each
    assert stretch.get_title(loc="left") == f"zoom: {span(Window(minutes.begin * 60, minutes.end * 60))}"
    assert "where activities alternate too fast to be seen, columns are means over about" in whole.get_title(loc="left")
    (mark,) = whole.patches
    assert mark.get_extents().width > 0


@given(st.integers(0, 2))
def test_a_stretch_is_like_the_whole(place: int) -> None:
    """One dense third waits, one computes, one does both: the stretch comes from the third that is like their mean."""
    kinds = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])[np.roll([0, 1, 2], place)]
    found = np.repeat(kinds, COLUMNS // 3, axis=0)[None]
    edges = np.linspace(0.0, 30.0, 30_001)
    piece = np.array([(0, 0, 0, 0, b, e) for b, e in pairwise(edges)], SEGMENT)
    stretch = representative(found, np.ones(found.shape[:2], bool), [piece], Window(0.0, 30.0))
    assert stretch is not None
    column = int(stretch.begin / 30 * COLUMNS)
    np.testing.assert_allclose(found[0, column], [0.5, 0.5])
    assert stretch.length == pytest.approx(0.048, abs=0.002)


def test_nothing_dense_has_no_stretch() -> None:
    """Nothing dense, or only dense for a short time, gives no stretch."""
    found, none = np.ones((1, COLUMNS, 1)), np.zeros((1, COLUMNS), bool)
    piece = np.array([(0, 0, 0, 0, 0.0, 1.0)], SEGMENT)
    assert representative(found, none, [piece], Window(0.0, 1.0)) is None
    assert representative(found, ~none, [piece], Window(0.0, 1.0)) is None
    assert representative(found, ~none, [piece[:0]], Window(0.0, 1.0)) is None


def test_a_window_that_is_asked_for_is_shown() -> None:
    """The second panel shows a requested window of 10 to 20 s, cut at the end of the program.

    A window after the end is refused.
    """
    drawn = draw_timeline(iterating(1, 5), "a title", Window(10.0, 20.0))
    assert drawn.axes[1].get_xlim() == pytest.approx((10.0, 20.0))
    assert drawn.axes[1].get_title(loc="left") == "zoom: 10–20 s"
    drawn = draw_timeline(iterating(1, 5), "a title", Window(10.0, 99.0))
    assert drawn.axes[1].get_xlim() == pytest.approx((10.0, 25.0))
    with pytest.raises(UsageError, match=r"window must begin before the end of the program at 25 s, got 25 s"):
        draw_timeline(iterating(1, 5), "a title", Window(25.0, 99.0))


def test_a_short_window_counts_from_its_begin() -> None:
    """A window of a microsecond after 20 s is labelled from its start, so that its ends can be told apart."""
    drawn = draw_timeline(iterating(1, 5), "a title", Window(20.0, 20.000001))
    assert drawn.axes[1].get_xlabel() == "virtual time (us after 20 s)"
    assert drawn.axes[1].get_xlim() == pytest.approx((0.0, 1.0), abs=1e-6)


def test_many_bands_are_enlarged_as_a_sample() -> None:
    """The second panel shows 12 of 40 ranks, but all of 16."""
    counts = [len(draw_timeline(iterating(ranks, 300), "many").axes[1].get_yticks()) for ranks in (40, 16)]
    assert counts == [12, MOST_BANDS_ZOOMED]


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (1.2, 1.25, "1.20–1.25 s"),
        (0.0012, 0.0034, "1.2–3.4 ms"),
        (0.0, 7200.0, "0–120 min"),
        (1.2345, 1.3, "1.2345–1.3000 s"),
        (3.6e298, 7.236e298, "1.00e+295–2.01e+295 h"),
        (0.0, 1e-30, "0e+00–1e-21 ns"),
    ],
)
def test_a_stretch_in_words(begin: float, end: float, expected: str) -> None:
    """The text has as many digits as needed to tell the ends apart."""
    assert span(Window(begin, end)) == expected


def test_the_finding_adds_up() -> None:
    """Ranks end at 4 s and 3 s: of 2 × 4 s, 3 are computing, 1 is sending, 3 are waiting, 1 is after the end."""
    (axes,) = draw_timeline(result(), "a title").axes
    found = axes.get_title(loc="left")
    assert found == "2 ranks, makespan 4 s: 38% computing, 12% communicating, 38% waiting and 12% already ended"
    assert run_page.content_of(result(), machine(), "pair", "", "").decision.endswith(f" {found.partition(': ')[2]}.")
    assert AVERAGED < COLUMNS


def test_a_rank_that_is_elsewhere_in_an_instance_is_numbered_there() -> None:
    """Ranks of a shown instance count from 0, as in the program."""
    work = [[(Activity.COMPUTE, 1.0)], [(Activity.COMPUTE, 2.0)]]
    late = [[(Activity.COMPUTE, 1.5)], [(Activity.COMPUTE, 2.5)]]
    found = layout(replace(played(work + late), instances=2))
    assert [band.label for band in found.bands][2:] == ["instance 1, rank 0", "instance 1, rank 1"]
