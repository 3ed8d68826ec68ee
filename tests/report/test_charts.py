"""Charts of the page: positions of marks, and names that do not overlap."""

from __future__ import annotations

import pytest

from clue.report.page.charts import WIDTH, Line, Point, Row, Series, Shape, bars, cut, dashes_of, lines, scatter
from clue.report.shared.lettering import family_of, width


def rects(shapes: list[Shape]) -> list[tuple[float, float, str]]:
    """Return position, width and words of bars."""
    found = [each for each in shapes if each.tag == "rect"]
    return [(float(str(e.attributes["x"])), float(str(e.attributes["width"])), e.told) for e in found]


def test_bars_stack_to_both_sides_of_zero() -> None:
    """The length of a bar is proportional to its value, and negative values extend to the left."""
    series = [Series("one", "#000000", [10.0]), Series("two", "#111111", [20.0]), Series("back", "#222222", [-5.0])]
    height, shapes = bars([Row("option", "25")], series, "EUR", "{:.0f}".format)
    one, two, back = rects(shapes)
    assert one[2] == "option: one 10" and back[2] == "option: back -5"
    assert two[1] == pytest.approx(2 * one[1], abs=0.11) and back[1] == pytest.approx(one[1] / 2, abs=0.11)
    assert two[0] == pytest.approx(one[0] + one[1], abs=0.11) and back[0] + back[1] == pytest.approx(one[0], abs=0.11)
    assert height > 30


def test_bars_of_nothing_are_none() -> None:
    """Scores of zero give no bars, and nothing fails."""
    _, shapes = bars([Row("a", "0"), Row("b", "0")], [Series("", "#000000", [0.0, 0.0])], "points", str)
    assert rects(shapes) == []


def test_an_interval_below_zero_stays_off_the_names() -> None:
    """An interval that begins below zero stays right of the names."""
    _, shapes = bars([Row("a", "1", (-2.0, 4.0))], [Series("", "#000000", [1.0])], "s", str)
    (name,) = [float(str(each.attributes["x"])) for each in shapes if each.text == "a"]
    begins = [float(str(each.attributes["x1"])) for each in shapes if each.attributes.get("class") == "interval"]
    assert min(begins) > name


def test_points_stay_inside_and_the_front_is_a_step() -> None:
    """All points lie within the chart, the front is a step, and equal points can be drawn."""
    points = [Point("a", 1.0, 2.0, "a", True), Point("b", 3.0, 1.0, "b", True), Point("c", 3.0, 2.0, "c")]
    height, shapes = scatter(points, "price", "time", at=(2.5, "budget"))
    (path,) = [each for each in shapes if each.tag == "path"]
    assert str(path.attributes["d"]).count("H") == 1
    places = [(float(str(e.attributes["cx"])), float(str(e.attributes["cy"]))) for e in shapes if e.tag == "circle"]
    assert len(places) == 3 and all(0 < x < WIDTH and 0 < y < height for x, y in places)
    _, same = scatter([Point("a", 1.0, 0.0, "a"), Point("b", 1.0, 0.0, "b")], "price", "time")
    assert len([each for each in same if each.tag == "circle"]) == 2


def test_names_do_not_lie_on_each_other() -> None:
    """Names without room are left out; the pointer shows them."""
    points = [Point(f"a long name {i}", 1.0, 1.0 + i / 1000, f"point {i}") for i in range(9)]
    points.append(Point("far away", 1.0, 2.0, "far away"))
    _, shapes = scatter(points, "x", "y")
    # Two on each side of nine points that lie almost on each other: above and below them.
    assert sum(each.tag == "text" and each.text.startswith("a long name") for each in shapes) == 4


def boxes(shapes: list[Shape], names: set[str]) -> list[tuple[float, float, float, float]]:
    """Return left, top, right and bottom end of names, by their lengths in the wide font."""
    found = []
    for each in shapes:
        if each.tag == "text" and each.text in names:
            x, y, length = float(str(each.attributes["x"])), float(str(each.attributes["y"])), 72 * width(each.text, 14)
            begin = x - length if each.attributes["text-anchor"] == "end" else x
            found.append((begin, y - 9, begin + length, y + 3))
    return found


def test_names_do_not_lie_on_points_or_on_the_budget() -> None:
    """A name is on that side of its point on which it covers neither another point nor the line of the budget."""
    points = [Point(f"option {i}", 100.0 * i, float(i % 3), "", True) for i in range(10)]
    _, shapes = scatter(points, "price", "time", steps=False, at=(930.0, "budget"))
    names = boxes(shapes, {each.name for each in points})
    dots = [(float(str(e.attributes["cx"])), float(str(e.attributes["cy"]))) for e in shapes if e.tag == "circle"]
    (limit,) = [float(str(each.attributes["x1"])) for each in shapes if each.attributes.get("class") == "limit"]
    assert len(names) >= 8 and len(dots) == 10
    for left, top, right, bottom in names:
        assert not left < limit < right
        assert not any(left < x + 6 and x - 6 < right and top < y + 6 and y - 6 < bottom for x, y in dots)


def test_an_axis_of_short_times_begins_at_zero() -> None:
    """Of 1 and 21, an axis begins at 0 and not at 1: the lower point stays above the axis."""
    height, shapes = scatter([Point("a", 1.0, 1.0, "a"), Point("b", 21.0, 21.0, "b")], "price", "time")
    (lower,) = [e for e in shapes if e.tag == "circle" and e.attributes["cy"] == max(
        (str(each.attributes["cy"]) for each in shapes if each.tag == "circle"), key=float)]  # fmt: skip
    bottom = max(float(str(e.attributes["y1"])) for e in shapes if e.attributes.get("class") == "grid")
    assert float(str(lower.attributes["cy"])) < bottom - 10
    assert [each.text for each in shapes if each.tag == "text"].count("0") == 2 and height > bottom


@pytest.mark.parametrize("difference", [1e-3, 1e-5, 1e-8, 1e-15])
def test_figures_of_an_axis_differ(difference: float) -> None:
    """However little two times differ, no two figures of the axis look alike."""
    points = [Point("a", 1.0, 1.56687, "a"), Point("b", 2.0, 1.56687 * (1 + difference), "b")]
    _, shapes = scatter(points, "price", "time")
    figures = [each.text for each in shapes if each.tag == "text" and each.attributes["x"] == "92.0"]
    assert len(figures) > 2 and len(set(figures)) == len(figures)
    assert all(72 * width(each, 14) < 92 for each in figures)


def test_lines_start_at_zero() -> None:
    """The axis starts at zero, and lines differ in dashes as well as in colour."""
    drawn = [Line(name, "#000000", [Point(name, 0.0, 5.0, ""), Point(name, 1.0, 9.0, "")]) for name in "ab"]
    _, shapes = lines(drawn, "years", "EUR")
    assert "0" in {each.text for each in shapes if each.tag == "text"}
    dashes = [each.attributes["stroke-dasharray"] for each in shapes if each.tag == "path"]
    assert len(set(dashes)) == 2 and dashes == list(dashes_of(drawn))


def test_long_names_end_in_an_ellipsis() -> None:
    """Short names are not cut."""
    assert cut("short", 200) == "short"
    assert cut("x" * 100, 84).strip("x") == "…"


@pytest.mark.parametrize(
    "name", ["10. a-very-long-name-of-an-option-that-fits-nowhere", "W" * 60, "i" * 90, "名前" * 20]
)
def test_a_cut_name_fits(name: str) -> None:
    """A cut name is as long as fits and no longer: its number remains visible, however wide its letters are."""
    shown = cut(name, 220)
    known = shown.replace("名", "W").replace("前", "W") if width_is_unknown() else shown
    assert 180 < 72 * width(known, 14) <= 220 and name.startswith(shown.removesuffix("…"))


def width_is_unknown() -> bool:
    """Tell whether no font of this computer has Chinese letters."""
    return family_of("名") is None


def test_a_name_stays_right_of_the_edge() -> None:
    """A long name ends at the bars and begins within the chart."""
    _, shapes = bars([Row("5. " + "Grüße_aus_Köln" * 9, "1")], [Series("", "#000000", [1.0])], "s", str)
    (name,) = [each for each in shapes if each.text.startswith("5. Grüße")]
    assert float(str(name.attributes["x"])) - 72 * width(name.text, 14) >= 0
