"""Charts of the page: positions of marks, and names that do not overlap."""

from __future__ import annotations

import pytest

from clue.report.page.charts import WIDTH, Line, Point, Row, Series, Shape, bars, cut, lines, scatter


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
    assert sum(each.tag == "text" and each.text.startswith("a long name") for each in shapes) == 2


def test_lines_start_at_zero() -> None:
    """The axis starts at zero, and lines differ in dashes as well as in colour."""
    drawn = [Line(name, "#000000", [Point(name, 0.0, 5.0, ""), Point(name, 1.0, 9.0, "")]) for name in "ab"]
    _, shapes = lines(drawn, "years", "EUR")
    assert "0" in {each.text for each in shapes if each.tag == "text"}
    dashes = [each.attributes["stroke-dasharray"] for each in shapes if each.tag == "path"]
    assert len(set(dashes)) == 2


def test_long_names_end_in_an_ellipsis() -> None:
    """Short names are not cut."""
    assert cut("short", 200) == "short"
    assert cut("x" * 100, 74) == "x" * 9 + "…"
