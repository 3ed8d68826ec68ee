"""In every picture at every size, no word is cut, no words overlap, and no legend covers data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from clue.analysis.scaling import Cost, Series
from clue.calibration.contention import Judged, Model, PairMeasurement, PairRow
from clue.calibration.measurement import Estimate, Measurement, SizeRow
from clue.calibration.network import calibrate_link
from clue.explain import Explanation, Sensitivity
from clue.machine import Curve, Link, Machine, Network, NodeType, Ports
from clue.purchase import Criterion, Entry, Ranking
from clue.report.calibration.plot import draw_calibration, draw_contention
from clue.report.explanation.plot import draw_explanation
from clue.report.machine.plot import draw_delays
from clue.report.ranking.breakdown import MOST_BARS, MOST_PANELS, draw_breakdown
from clue.report.ranking.plot import file_names
from clue.report.ranking.scaling import draw_common_speedup, draw_performance
from clue.report.ranking.scores import draw_ranking
from clue.report.result.communication import draw_communication, sizes_to_label
from clue.report.result.samples import draw_samples
from clue.report.shared import style
from clue.report.timeline.plot import draw_timeline
from clue.report.validation.plot import draw_validation
from clue.result import STRETCH, Activity, AtSites, CriticalPath, Part, Result, Timeline, Traffic
from clue.trace.sites import UNKNOWN, Frame, Site, Sites
from clue.uncertainty import Sampled, Sampling, Spread
from clue.units import Money
from tests.report.cases import machine, many_ranks, workload
from tests.report.pictures import faults, points, visible_words
from tests.report.timeline.test_plot import iterating
from tests.validation.test_figures import compared, refit, validation

#: Names of users: eighty letters with and without breaks, other scripts, and signs of mathematics.
NAMES = (
    "a",
    "eighty letters with $dollar signs$, under_scores and a tail that ends in the end of it",
    "W" * 80,
    "Кластер подешевле",
    "a\nb\tc\x1b[31m\U000f0000",
    "node-type-with-many-joints/and-a-path/that/is_long.yaml-and-longer-still-than-that-one",
    "",
)


def name(i: int) -> str:
    """Return a distinct name for a number."""
    return f"{NAMES[i % len(NAMES)]} {i}"


def stretched(result: Result, times: float) -> Result:
    """Return the result with its times multiplied by a factor."""
    assert result.timeline is not None
    segments = result.timeline.segments.copy()
    for key in ("begin", "end"):
        segments[key] *= times
    fields = ("finish", "compute", "communicate", "wait")
    ranks = tuple(replace(rank, **{key: getattr(rank, key) * times for key in fields}) for rank in result.ranks)
    return replace(
        result, makespan=result.makespan * times, ranks=ranks, timeline=replace(result.timeline, segments=segments)
    )


def in_regions(result: Result, regions: int) -> Result:
    """Return the result with its computation in this many regions, which have names of all kinds."""
    assert result.timeline is not None
    segments = result.timeline.segments.copy()
    computing = segments["activity"] == Activity.COMPUTE
    segments["region"][computing] = np.arange(computing.sum()) % regions
    return replace(result, timeline=Timeline(segments, tuple(map(name, range(regions)))))


def ranked(options: int, workloads: int, *, sampled: bool = False) -> Ranking:
    """Return a ranking of this many options and workloads, plus three options without a position."""
    entries = []
    for i in range(options):
        done = tuple(workload(name(j), 90.0 / (1 + i + j)) for j in range(workloads))
        score = sum(each.points or 0.0 for each in done)
        entries.append(Entry(name(i), "m", Money(1000.0 * (i + 1), "EUR"), True, i + 1, score, "", done))
    if sampled:
        entries = [replace(e, spread=Spread(0.9 * s, s, 1.1 * s), best=1 / 3) for e in entries if (s := e.score)]
    entries += [
        Entry("over", "m", Money(5e9, "EUR"), False, None, None, "", ()),
        Entry("cannot", "m", None, True, None, None, "a reason of many words " * 20, ()),
        Entry(NAMES[2], "m", None, True, None, None, "", ()),
    ]
    sampling = Sampling(100) if sampled else None
    return Ranking(NAMES[1], Criterion.POINTS, "points", True, Money(3e3, "EUR"), tuple(entries), (), sampling=sampling)


def scaled(options: int, most: int, *, fewest: int = 1) -> list[Series]:
    """Return series of options on powers of two; the first ones are better than ideal, each for another reason."""
    numbers = [n for n in (1, 2, 4, 16, 64, 1024) if fewest <= n <= most]
    found = []
    for i in range(options):
        points = tuple((n, (10.0 + i) / n ** (1.2 - 0.1 * i)) for n in numbers)
        costs = tuple(
            Cost((n * time * (i != 1), n * time * (i == 1), 0.1), 1 if n > 1 or i != 2 else 3) for n, time in points
        )
        found.append(Series(name(i), points, costs))
    return found


def traffic(ranks: int, most: float) -> Traffic:
    """Return traffic from 1 byte to the largest number, unevenly spread over pairs of ranks."""
    nbytes = np.maximum(np.random.default_rng(1).random((ranks, ranks)) ** 4 * most, 1).astype(np.int64)
    return Traffic(np.sign(nbytes), nbytes)


def sites(count: int) -> Sites:
    """Return this many call sites in addition to the unknown one, with names of all kinds."""
    return Sites.of([UNKNOWN, *(Site((Frame(name(i), name(i), i, 0),)) for i in range(count))])


def explanation(regions: int, parameters: int, places: int = 0) -> Explanation:
    """Return an explanation of a critical path through many regions, all parts, thirty ranks and many call sites."""
    pieces = [(i % 30, Part.COMPUTATION, i) for i in range(regions)] + [(0, part, 0) for part in Part]
    stretches = np.array(
        [(rank, -1, part, region, i % (places + 1), i, i + 1.0) for i, (rank, part, region) in enumerate(pieces)],
        STRETCH,
    )
    path = CriticalPath(stretches, tuple(map(name, range(regions))), (0,) * 30, ("host",) * 30, sites(places))
    whole = float(len(pieces))
    changed = tuple(Sensitivity(f"network.{name(i)}", whole * 0.9, whole * 1.1, whole) for i in range(parameters))
    seconds = np.ones(places + 1)
    return Explanation(whole, path, None, changed, AtSites(seconds, seconds, seconds, np.zeros(places + 1, np.int64)))


def links(count: int, times: float, limit: float | None) -> Machine:
    """Return a machine with this many links, and with delays multiplied by a factor."""
    link = Link(Curve.line(1e-5 * times, 1e-9 * times), Curve.line(0.0, 1e-9 * times), 0.0, limit)
    within = {name(i): link for i in range(count - 2)}
    return replace(machine(), name=NAMES[1], network=Network(link, link, within=within))


def pairs() -> tuple[PairMeasurement, list[Judged], Machine]:
    """Return measured pairs, up to 32 at once, of nine sizes; one size is measured only alone and with two pairs."""
    sizes = [4**k for k in range(9)]
    rows = [
        PairRow(n, size, Estimate.alone(1e-5 * n)) for size in sizes for n in ((1, 2) if size == 1 else (1, 2, 8, 32))
    ]
    models = [Judged(Model(f"ports, {word} as slow", Ports(), (), 1), 0.1, 0.1) for word in ("once", "twice")]
    link = Link(Curve.line(1e-6), Curve.line(1e-5, 1e-9))
    nodes = tuple((k, k + 32) for k in range(32))
    return PairMeasurement(tuple(rows), nodes), models, Machine("m", (NodeType("host"),) * 64, Network(link, link))


def measurement(times: float) -> Measurement:
    """Return half round trips, sends and streams of all sizes."""
    rows = [(size, times * (1e-5 + size * 1e-9)) for size in (0, 1, 64, 4096, 65536, 1 << 20, 1 << 30)]
    return Measurement(
        tuple(
            SizeRow(s, Estimate(t, 0.9 * t, 1.1 * t), Estimate.alone(t / 2), Estimate.alone(t / 3), 64) for s, t in rows
        )
    )


PICTURES = {
    "timeline of a rank": lambda: draw_timeline(iterating(1, 3), NAMES[1]),
    "timeline of 4 ranks, ns": lambda: draw_timeline(stretched(in_regions(iterating(4, 400), 9), 1e-12), NAMES[2]),
    "timeline of 64 ranks, 1e9 s": lambda: draw_timeline(stretched(iterating(64, 400), 1e9), "a title"),
    "timeline of 1,024 ranks": lambda: draw_timeline(iterating(1024, 3, nodes=512), "a title"),
    "timeline of instances": lambda: draw_timeline(replace(iterating(24, 30), instances=12), "a title"),
    "no time at all": lambda: draw_timeline(stretched(iterating(2, 1), 0.0), "a title"),
    "matrix of a rank": lambda: draw_communication(traffic(1, 1e3), "a title"),
    "matrix of 2 ranks": lambda: draw_communication(traffic(2, 1e15), NAMES[1]),
    "matrix of 12 ranks": lambda: draw_communication(traffic(12, 1e12), "a title"),
    "matrix of 13 ranks, almost alike": lambda: draw_communication(traffic(13, 3), "a title"),
    "matrix of 1,024 ranks": lambda: draw_communication(traffic(1024, 999_999), "a title"),
    "matrix of nothing": lambda: draw_communication(Traffic(*np.zeros((2, 3, 3), np.int64)), "a title"),
    "ranking of nothing": lambda: draw_ranking(replace(ranked(0, 0), entries=())),
    "ranking of an option": lambda: draw_ranking(ranked(1, 1)),
    "ranking of 7 options, 30 workloads": lambda: draw_ranking(ranked(7, 30, sampled=True)),
    "ranking of 300 options": lambda: draw_ranking(ranked(300, 2)),
    "breakdown of an option": lambda: draw_breakdown(ranked(1, 1)),
    "breakdown of 30 options, 2 workloads": lambda: draw_breakdown(ranked(30, 2)),
    "breakdown of 2 options, 200 workloads": lambda: draw_breakdown(ranked(2, 200)),
    "speed-up of an option": lambda: draw_common_speedup(scaled(1, 4), NAMES[2]),
    "speed-up of 7 options": lambda: draw_common_speedup(scaled(7, 1024, fewest=2), NAMES[1]),
    "speed-up of 200 options": lambda: draw_common_speedup(scaled(200, 16), NAMES[1]),
    "performance": lambda: draw_performance(scaled(9, 1024), NAMES[1]),
    "samples that are alike": lambda: draw_samples(Sampled(Sampling(9), np.ones(9), 1.0), NAMES[1]),
    "samples that nearly are": lambda: draw_samples(Sampled(Sampling(9), 1e9 + np.arange(9.0), 1e9), "a title"),
    "delays of 1e9 s": lambda: draw_delays(links(2, 1e14, None)),
    "delays of many links": lambda: draw_delays(links(15, 1.0, 64_000)),
    "delays of 1e-14 s, limit of a TB": lambda: draw_delays(links(3, 1e-9, 1e12)),
    "no delays": lambda: draw_delays(links(2, 0.0, 50)),
    "explanation": lambda: draw_explanation(explanation(3, 4), NAMES[1]),
    "explanation of much": lambda: draw_explanation(explanation(40, 50, 30), NAMES[2]),
    "calibration": lambda: draw_calibration(calibrate_link(measurement(1.0)), NAMES[1]),
    "calibration in ns": lambda: draw_calibration(calibrate_link(measurement(1e-4)), "a title"),
    "contention": lambda: draw_contention(*pairs(), NAMES[1]),
    "validation": lambda: draw_validation(
        validation(*(refit("computation", 1.25, 0.03, of=name(i)) for i in range(30))), NAMES[2]
    ),
    "validation of many programs": lambda: draw_validation(
        validation(compared=tuple(compared(10.0**i, 1.1 * 10.0**i, program=name(i)) for i in range(-9, 9))), "a title"
    ),
}


#: The first picture of each kind, by the first word of its name; quick tests draw only these.
FIRST = {which.split()[0]: which for which in reversed(PICTURES)}.values()


@pytest.mark.parametrize(
    "which", [which if which in FIRST else pytest.param(which, marks=pytest.mark.long) for which in PICTURES]
)
def test_nothing_is_cut_and_nothing_overlaps(which: str) -> None:
    """The boxes of the drawn words neither overlap nor leave the page, and the picture has a reasonable size."""
    drawn = PICTURES[which]()
    assert faults(drawn) == []
    width, height = drawn.get_size_inches()
    assert width <= 14 and height <= 60


def test_faults_are_found() -> None:
    """The check finds a word over the edge, two overlapping words, and a legend on data."""
    drawn = style.figure(4, 3, "")
    axes = drawn.subplots()
    axes.plot([0, 1], label="a line")
    axes.legend()
    axes.text(0.5, 0.5, "here")
    axes.text(0.5, 0.5, "there")
    axes.text(0.9, 0.2, "a long word", clip_on=False).set_in_layout(False)
    found = faults(drawn)
    assert {"overlap: 'here' and 'there'", "cut: 'a long word'", "legend on data"} <= set(found)


@pytest.mark.parametrize("which", ["timeline of 4 ranks, ns", "ranking of 7 options, 30 workloads"])
def test_dollars_are_no_mathematics(which: str) -> None:
    """Dollar signs in names are drawn, and no text is parsed as mathematics."""
    drawn = PICTURES[which]()
    drawn.canvas.draw()
    assert not any(text.get_parse_math() for text, _ in visible_words(drawn))
    assert any("$dollar signs$" in text.get_text() for text, _ in visible_words(drawn))


@given(least=st.floats(1, 1e6), ratio=st.floats(1.01, 1e15))
def test_a_colour_bar_names_its_ends_and_sizes_between(least: float, ratio: float) -> None:
    """Labels rise with enough distance, and a scale of a decade or more has at least three."""
    sizes = np.array(sizes_to_label(least, least * ratio))
    assert (sizes[0], sizes[-1]) == (least, least * ratio)
    assert (np.diff(np.log(sizes)) >= 0.09 * np.log(ratio)).all()
    assert len(sizes) <= 11 and (len(sizes) >= 3 or ratio < 10)


def test_a_colour_bar_of_one_size_is_said_in_words() -> None:
    """If all messages have one size, a sentence replaces the colour bar, which would suggest other sizes."""
    nbytes = np.array([[0, 5000], [5000, 0]])
    drawn = draw_communication(Traffic(np.sign(nbytes), nbytes), "a title")
    assert len(drawn.axes) == 3
    assert drawn.axes[0].get_xlabel() == "receiving rank\ncoloured: 5 KB from rank to rank; white: none"


def test_equal_instances_have_one_matrix() -> None:
    """One of 64 equal instances is drawn; if one instance sends more, all are drawn."""
    one = traffic(3, 1e6)
    whole = Traffic(*(np.kron(np.eye(64, dtype=np.int64), each) for each in (one.messages, one.nbytes)))
    drawn = draw_communication(whole, "a title", 64)
    assert drawn.axes[1].get_title(loc="left").endswith("\n64 instances, all alike: one shown")
    np.testing.assert_array_equal(drawn.axes[0].images[0].get_array(), one.nbytes)
    whole.nbytes[-1, -2] += 1
    assert draw_communication(whole, "a title", 64).axes[0].images[0].get_array().shape == (192, 192)  # type: ignore[union-attr]


def test_bytes_of_a_picture_do_not_overflow() -> None:
    """Sums of many huge messages do not overflow."""
    nbytes = np.full((8, 8), 2**62)
    title = draw_communication(Traffic(np.ones_like(nbytes), nbytes), "a title").axes[1].get_title(loc="left")
    assert title == "8 ranks, 295.1 EB in 64 messages"


@pytest.mark.long
def test_breakdown_of_very_much_says_what_it_leaves_out() -> None:
    """The picture shows 12 of 13 workloads and 20 of 21 options, and says so."""
    drawn = draw_breakdown(ranked(21, 13))
    assert len([axes for axes in drawn.axes if axes.axison]) == MOST_PANELS
    assert (
        drawn.get_suptitle().replace("\n", " ").endswith("(the 12 longest of 13 workloads, the first 20 of 21 options)")
    )
    assert len(drawn.axes[0].get_yticks()) == MOST_BARS


def test_ranking_of_very_many_says_what_it_leaves_out() -> None:
    """The picture shows 40 of 300 options and the three without a position, and says so."""
    drawn = draw_ranking(ranked(300, 1))
    assert len(drawn.axes[0].get_yticks()) == 43
    assert drawn.axes[0].get_xlabel().endswith("\nnot drawn: 260 more with a position")


def test_ranking_says_who_comes_first() -> None:
    """The title names one first option, several that share the place, or none."""
    first = ranked(2, 1)
    assert draw_ranking(first).get_suptitle().endswith("a 0 comes first\nwith 90.0 points")
    entries = tuple(replace(each, position=1) if each.position else each for each in first.entries)
    shared = draw_ranking(replace(first, entries=entries)).get_suptitle().replace("\n", " ")
    assert shared.endswith("2 options share the first place, a 0 among them")
    nothing = draw_ranking(replace(first, scenario="which", entries=()))
    assert nothing.get_suptitle() == "which: no option can be ranked"


def above(drawn: Figure) -> str:
    """Return the title of a picture on one line."""
    return " ".join(drawn.axes[0].get_title(loc="left").split())


@pytest.mark.parametrize(
    ("costs", "why"),
    [
        ((), "compared with 1 processor; each number of ranks has its own recording"),
        (
            (Cost((9.0, 0.5, 0.5)), Cost((6.0, 0.5, 0.5))),
            "its ranks compute 6 s in all on 2, but 9 s on 1. Each has its own recording: smaller parts may fit the "
            "caches, or fewer ranks share a node",
        ),
        ((Cost((5.0, 1.0, 4.0)), Cost((5.0, 1.0, 1.0))), "its ranks wait 1 s in all on 2, but 4 s on 1"),
        (
            (Cost((9.0, 0.5, 0.5), 3), Cost((6.0, 0.5, 0.5), 1)),
            "its ranks compute 6 s in all on 2, but 9 s on 1, where 3 instances run at a time instead of 1",
        ),
    ],
)
def test_points_better_than_ideal_are_explained(costs: tuple[Cost, ...], why: str) -> None:
    """10 s on one processor and 3.5 s on two are better than ideal; the title names the part that shrinks."""
    told = above(draw_common_speedup([Series("A", ((1, 10.0), (2, 3.5)), costs)], ""))
    assert told.endswith(f"A is better than ideal on 2 processors: {why}")


def test_a_faster_machine_is_not_better_than_ideal() -> None:
    """Each line has an ideal from its own first point; a series that starts later has none."""
    drawn = draw_common_speedup(
        [Series("slow", ((2, 10.0), (4, 5.0))), Series("fast", ((2, 1.0), (4, 0.6))), Series("late", ((4, 0.1),))], ""
    )
    assert "better than ideal" not in above(drawn)
    assert above(drawn).startswith(
        "2 is the speed of slow on 2 processors, taken as 2 times as fast as one dashed: ideal"
    )
    ideals = [points(line) for line in drawn.axes[0].get_lines() if line.get_linestyle() == "--"]
    assert ideals == [[[2, 2], [4, 4]], [[2, 20], [4, 40]]]


def test_lines_on_each_other_are_one() -> None:
    """Options with equal times share a line, and the legend names both."""
    same = [Series(each, ((1, 2.0), (2, 1.0))) for each in ("A", "B", "C")]
    drawn = draw_common_speedup([*same, Series("D", ((1, 3.0),))], "")
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["A, B and 1 more", "D"]


def test_what_was_not_measured_is_no_point() -> None:
    """A size that was measured with up to two pairs has no points for 8 and 32 pairs."""
    found, models, where = pairs()
    line = draw_contention(found, models, where, "").axes[0].get_lines()[0]
    np.testing.assert_array_equal(line.get_ydata(), [1.0, 2.0, np.nan, np.nan])


def test_names_of_files_are_names_and_differ() -> None:
    """Workloads get distinct file names, even if their names are similar."""
    assert file_names(["a b", "a-b", "a/b", "x" * 300]) == ["a-b", "a-b-2", "a-b-3", "x" * 60]


def test_many_ranks_stay_a_page() -> None:
    """A timeline of many ranks is no higher than a screen and a half."""
    assert draw_timeline(many_ranks(500), "many").get_figheight() <= 12


def test_activities_differ_without_colour() -> None:
    """In grey print, the colours of computing, sending, receiving, waiting and paper differ in lightness."""
    shades = sorted(
        sum(weight * int(colour[at : at + 2], 16) for weight, at in ((0.299, 1), (0.587, 3), (0.114, 5))) / 255
        for colour in (style.COMPUTE, style.SEND, style.RECEIVE, style.WAIT, style.PAPER)
    )
    assert min(np.diff(shades)) > 0.1
