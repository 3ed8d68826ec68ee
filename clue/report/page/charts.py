"""Charts of the page as SVG: small, drawn at once, with a description of each mark.

They are drawn here rather than by a JavaScript library: only bars, points and lines are needed, a page stays at a few
dozen kilobytes, its charts work without scripts and on paper, and a changed ranking is drawn again within milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from clue.report.shared import lettering, style

#: Width of a chart in its own units; a page scales it to the available width.
WIDTH = 960
#: Room for names on the left of the marks and for figures on the right; the space beside text, and its size.
_NAMES, _FIGURES, _SPACE, _LETTERS = 230, 120, 10, 14
_ROW, _BAR, _TOP, _BOTTOM = 30, 18, 12, 52
#: Height of a chart with two axes, and the room for the figures of the left axis.
_HEIGHT, _LEFT, _RIGHT = 380, 100, 30
#: Largest number of points with visible names; the others show theirs under the pointer.
_NAMED = 12
#: Radii of points: of emphasised ones, and of others.
_DOT, _POINT = 6, 4
#: Relative difference up to which figures are drawn as equal: their labels would need too many digits.
_EQUAL = 1e-6


@dataclass(frozen=True, slots=True)
class Shape:
    """A piece of a chart.

    Attributes:
        tag: Name of the SVG element.
        attributes: Its attributes.
        text: Its text.
        told: Its description, shown under the pointer or the keyboard focus; empty: none.
    """

    tag: str
    attributes: Mapping[str, object]
    text: str = ""
    told: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Attributes:
        name: Its unique name on the page.
        title: Its heading.
        words: Its description for screen readers.
        height: Its height in the units of :data:`WIDTH`.
        shapes: Its shapes, in the order of drawing.
        legend: Colours and their meanings; empty: no legend.
        caption: A remark below it, or nothing.
        dashes: Dash pattern of each line of the legend; empty: its marks are areas.
    """

    name: str
    title: str
    words: str
    height: float
    shapes: tuple[Shape, ...]
    legend: tuple[tuple[str, str], ...] = ()
    caption: str = ""
    dashes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Its width."""
        return WIDTH


@dataclass(frozen=True, slots=True)
class Series:
    """Figures of one kind, shown as bars of one colour.

    Attributes:
        name: Name of the kind.
        colour: Their colour.
        figures: A figure for each row, in order.
    """

    name: str
    colour: str
    figures: Sequence[float]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of bars.

    Attributes:
        name: The text on its left.
        figure: The text on its right.
        interval: Both ends of its interval, if there is one.
    """

    name: str
    figure: str
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """A point between two axes.

    Attributes:
        name: Its name.
        x: Its horizontal coordinate.
        y: Its vertical coordinate.
        told: Its description.
        first: Whether it is emphasised.
    """

    name: str
    x: float
    y: float
    told: str
    first: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points."""

    name: str
    colour: str
    points: Sequence[Point] = field(default_factory=tuple)


Format = Callable[[float], str]


# --- kinds of charts -------------------------------------------------------------------------------------------------


def bars(rows: Sequence[Row], series: Sequence[Series], axis: str, formatted: Format) -> tuple[float, list[Shape]]:
    """Draw horizontal stacked bars, negative figures to the left of zero; return height and shapes.

    Args:
        rows: The rows from top to bottom.
        series: The parts of the bars.
        axis: The label of the axis.
        formatted: Formats a figure for the reader.
    """
    above = [sum(max(each.figures[i], 0.0) for each in series) for i in range(len(rows))]
    below = [sum(min(each.figures[i], 0.0) for each in series) for i in range(len(rows))]
    intervals = [row.interval for row in rows if row.interval is not None]
    room = max((_length(row.figure) for row in rows), default=0.0) + 14
    low, high = min([0.0, *below, *(low for low, _ in intervals)]), max([0.0, *above, *(high for _, high in intervals)])
    scale = _Scale(low, high, _NAMES, WIDTH - max(_FIGURES, room))
    height = _TOP + _ROW * len(rows) + _BOTTOM
    shapes = list(_across(scale, height, axis))
    for i, row in enumerate(rows):
        y = _TOP + _ROW * i
        shapes.append(_text(_NAMES - _SPACE, y + 19, cut(row.name, _NAMES - _SPACE), anchor="end", told=row.name))
        right = left = 0.0
        for each in series:
            figure = each.figures[i]
            begin = right if figure >= 0 else left + figure
            told = f"{row.name}: {each.name + ' ' if each.name else ''}{formatted(figure)}"
            if figure:
                shapes.append(_rect(scale(begin), y + 6, scale(begin + abs(figure)) - scale(begin), each.colour, told))
            right, left = (right + figure, left) if figure >= 0 else (right, left + figure)
        end = right
        if row.interval is not None:
            shapes += _whisker(scale(row.interval[0]), scale(row.interval[1]), y + 15)
            end = max(right, row.interval[1])
        shapes.append(_text(scale(end) + 8, y + 19, row.figure))
    return height, shapes


def scatter(
    points: Sequence[Point], x_axis: str, y_axis: str, steps: bool = True, at: tuple[float, str] | None = None
) -> tuple[float, list[Shape]]:
    """Draw points between two axes, with steps between emphasised points; return height and shapes.

    Args:
        points: The points.
        x_axis: The label of the horizontal axis.
        y_axis: The label of the vertical axis.
        steps: Whether steps join emphasised points.
        at: A horizontal coordinate to mark, and its label.
    """
    xs, ys = [each.x for each in points], [each.y for each in points]
    marked = [] if at is None else [at[0]]
    across, upwards = _axes([*xs, *marked], ys)
    shapes = [*_across(across, _HEIGHT, x_axis), *_upwards(upwards, y_axis)]
    taken = [_around(across(each.x), upwards(each.y)) for each in points]
    if at is not None:
        x, length = across(at[0]), _length(at[1])
        shapes += [_stroke(x, _TOP, x, _HEIGHT - _BOTTOM, "limit"), _text(x - 6, _TOP + 14, at[1], anchor="end")]
        taken += [(x - 2, _TOP, x + 2, _HEIGHT - _BOTTOM), _box(x - 6 - length, _TOP + 14, length)]
    first = sorted((each for each in points if each.first), key=lambda each: (each.x, each.y))
    if steps and len(first) > 1:
        shapes.append(Shape("path", {"d": _steps([(across(p.x), upwards(p.y)) for p in first]), "class": "front"}))
    ordered = [*(each for each in points if not each.first), *first]
    shapes += [_dot(across(p.x), upwards(p.y), style.COMPUTE if p.first else style.QUIET, p.told, first=p.first)
               for p in ordered]  # fmt: skip
    named = [*first, *(each for each in points if not each.first)][:_NAMED]
    shapes += _names([(across(p.x), upwards(p.y), p.name) for p in named], taken)
    return _HEIGHT, shapes


def lines(drawn: Sequence[Line], x_axis: str, y_axis: str) -> tuple[float, list[Shape]]:
    """Draw lines through points; return height and shapes."""
    points = [point for line in drawn for point in line.points]
    across, upwards = _axes([each.x for each in points], [0.0, *(each.y for each in points)], tight=True)
    shapes = [*_across(across, _HEIGHT, x_axis), *_upwards(upwards, y_axis)]
    for line, dashes in zip(drawn, dashes_of(drawn), strict=True):
        places = [(across(point.x), upwards(point.y)) for point in line.points]
        path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        look = {"class": "line", "stroke": line.colour, "stroke-dasharray": dashes}
        shapes.append(Shape("path", {"d": path, **look}))
        shapes += [_dot(x, y, line.colour, point.told, first=True)
                   for (x, y), point in zip(places, line.points, strict=True)]  # fmt: skip
    return _HEIGHT, shapes


#: Dash patterns of successive lines, which distinguish them without colours.
_DASHES = ("none", "9 3", "3 3", "12 3 3 3", "6 6", "1 4", "15 5")


def dashes_of(drawn: Sequence[Line]) -> tuple[str, ...]:
    """Return the dash pattern of each line, for a legend."""
    return tuple(_DASHES[number % len(_DASHES)] for number in range(len(drawn)))


# --- axes ------------------------------------------------------------------------------------------------------------


class _Scale:
    """A linear scale between two ends."""

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self.step = _nice_step(high - low or abs(high) or 1.0)
        self.low, self.high = low, high if high > low else low + self.step
        self._begin, self._end = begin, end

    def __call__(self, figure: float) -> float:
        return self._begin + (figure - self.low) / (self.high - self.low) * (self._end - self._begin)

    @property
    def ticks(self) -> Iterator[float]:
        """Round figures between the ends."""
        for number in range(math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9) + 1):
            yield number * self.step

    def format(self, figure: float) -> str:
        """Format a round figure with enough digits to distinguish it from its neighbours."""
        if self.step >= 1e9 or self.step < 1e-6:
            digits = math.ceil(math.log10(max(abs(self.low), abs(self.high)) / self.step)) + 1
            return f"{figure:.{max(digits, 6)}g}"
        return f"{figure:,.{max(0, -math.floor(math.log10(self.step) + 1e-9))}f}"


def _nice_step(span: float, about: int = 6) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that divides a span into about this number of parts."""
    raw = span / about
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))


def _axes(xs: Sequence[float], ys: Sequence[float], *, tight: bool = False) -> tuple[_Scale, _Scale]:
    """Return scales with room around the points."""
    margin = 0.0 if tight else 0.08
    found = []
    for figures, begin, end in ((xs, _LEFT, WIDTH - _RIGHT), (ys, _HEIGHT - _BOTTOM, _TOP)):
        low, high = min(figures), max(figures)
        span = high - low if high - low > _EQUAL * abs(high) else 0.0
        room = (span or abs(high) or 1.0) * (margin if figures is xs else 0.08)
        # An axis of figures that are not negative begins at zero or above it.
        found.append(_Scale(max(low - room, 0.0) if low >= 0 else low - room, high + room, begin, end))
    return found[0], found[1]


def _across(scale: _Scale, height: float, label: str) -> Iterator[Shape]:
    for tick in scale.ticks:
        x = scale(tick)
        yield _stroke(x, _TOP, x, height - _BOTTOM, "grid")
        yield _text(x, height - _BOTTOM + 18, scale.format(tick), anchor="middle")
    middle = (scale(scale.low) + scale(scale.high)) / 2
    yield _text(middle, height - 8, label, anchor="middle")


def _upwards(scale: _Scale, label: str) -> Iterator[Shape]:
    for tick in scale.ticks:
        y = scale(tick)
        yield _stroke(_LEFT, y, WIDTH - _RIGHT, y, "grid")
        yield _text(_LEFT - 8, y + 5, scale.format(tick), anchor="end")
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    yield Shape(
        "text", {"x": 16, "y": f"{middle:.1f}", "text-anchor": "middle", "transform": f"rotate(-90 16 {middle:.1f})"},
        label,
    )  # fmt: skip


# --- shapes ----------------------------------------------------------------------------------------------------------


def _length(text: str) -> float:
    """Return the length of a text in a wide font: browsers differ in theirs, and most are narrower."""
    known = "".join(each if lettering.family_of(each) is not None else "W" for each in text)
    return lettering.width(known, _LETTERS) * 72


def cut(text: str, room: float) -> str:
    """Return the part of a text that fits, with an ellipsis if it is cut."""
    if _length(text) <= room:
        return text
    low, high = 1, len(text) - 1
    while low < high:
        kept = (low + high + 1) // 2
        low, high = (kept, high) if _length(text[:kept] + "…") <= room else (low, kept - 1)
    return text[:low].rstrip() + "…"


def _text(x: float, y: float, text: str, *, anchor: str = "start", told: str = "") -> Shape:
    return Shape("text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}, text, told if told != text else "")


def _rect(x: float, y: float, width: float, colour: str, told: str) -> Shape:
    size = {"width": f"{max(width, 0.5):.1f}", "height": _BAR}
    return Shape("rect", {"x": f"{x:.1f}", "y": f"{y:.1f}", **size, "fill": colour}, told=told)


def _dot(x: float, y: float, colour: str, told: str, *, first: bool) -> Shape:
    size = _DOT if first else _POINT
    return Shape("circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": size, "fill": colour}, told=told)


def _stroke(x: float, y: float, to_x: float, to_y: float, kind: str) -> Shape:
    ends = {"x1": x, "y1": y, "x2": to_x, "y2": to_y}
    return Shape("line", {key: f"{place:.1f}" for key, place in ends.items()} | {"class": kind})


def _whisker(begin: float, end: float, y: float) -> Iterator[Shape]:
    yield _stroke(begin, y, end, y, "interval")
    for x in (begin, end):
        yield _stroke(x, y - 5, x, y + 5, "interval")


def _steps(places: Sequence[tuple[float, float]]) -> str:
    """Return a path of steps: first horizontally to the next point, then vertically, as no option lies between."""
    (x, y), *rest = places
    return f"M{x:.1f} {y:.1f}" + "".join(f" H{x:.1f} V{y:.1f}" for x, y in rest)


#: Left, top, right and bottom end of a box.
Box: TypeAlias = tuple[float, float, float, float]


def _names(named: Sequence[tuple[float, float, str]], taken: list[Box]) -> Iterator[Shape]:
    """Yield names beside their points, except names that would overlap earlier ones or what is taken."""
    for x, y, name in named:
        shown = cut(name, 200)
        length = _length(shown)
        for begin, at in ((x + side, y + below) for below in (-8, 18) for side in (_SPACE, -_SPACE - length)):
            box = _box(begin, at, length)
            if begin > _LEFT and begin + length < WIDTH and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                yield _text(begin, at, shown) if begin > x else _text(begin + length, at, shown, anchor="end")
                break


def _around(x: float, y: float) -> Box:
    return x - _DOT, y - _DOT, x + _DOT, y + _DOT


def _box(begin: float, y: float, length: float) -> Box:
    """Return the box of a text, by the beginning and the height of its line."""
    return begin, y - 11, begin + length, y + 4


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
