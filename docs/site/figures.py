"""Figures of the model's chapters, drawn by their formulas when the site is built."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_COMPUTE, _SEND, _WAIT, _MESSAGE = "#4477aa", "#ee6677", "#dddddd", "#777777"
#: Rows of a timeline: begin, end, colour, text.
_Bar = tuple[float, float, str, str]


def drawn() -> dict[str, str]:
    """Return all figures as SVG by their source path on the site."""
    figures: dict[str, Callable[[], Figure]] = {
        "flow": _flow,
        "eager": _eager,
        "rendezvous": _rendezvous,
        "ports": _ports,
        "flows": _flows,
        "shared-processor": _shared_processor,
    }
    return {f"figures/{name}.svg": _svg(draw()) for name, draw in figures.items()}


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    # Text stays text, so that a reader can search it; a fixed salt makes the same figure the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "clue", "font.family": "sans-serif"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight", facecolor="white")
    return text.getvalue()


def _timeline(rows: dict[str, Iterable[_Bar]], unit: str, height: float = 0.5) -> tuple[Figure, Axes]:
    """Draw a row of bars for each rank or port, the first on top."""
    figure = Figure(figsize=(7, height * len(rows) + 0.9))
    axes = figure.add_subplot()
    for place, bars in enumerate(rows.values()):
        for begin, end, colour, text in bars:
            axes.barh(-place, end - begin, left=begin, color=colour, height=0.55, edgecolor="white")
            shade = "black" if colour == _WAIT else "white"
            axes.text((begin + end) / 2, -place, text, ha="center", va="center", color=shade, fontsize=9)
    axes.set_yticks([-place for place in range(len(rows))], list(rows))
    axes.set_xlabel(unit)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure, axes


def _arrow(axes: Axes, begin: tuple[float, float], end: tuple[float, float], text: str = "") -> None:
    axes.annotate("", end, begin, arrowprops={"arrowstyle": "->", "color": _MESSAGE, "lw": 1.2})
    if text:
        axes.text((begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2, text, fontsize=9, ha="left", va="bottom")


def _eager() -> Figure:
    send, travel, receive = 11.0, 50.0, 5.0
    arrival = send + travel
    figure, axes = _timeline(
        {
            "sender": [(0, send, _SEND, "s"), (send, 76, _COMPUTE, "computes")],
            "receiver": [
                (0, 30, _COMPUTE, "computes"),
                (30, arrival, _WAIT, "waits"),
                (arrival, arrival + receive, _SEND, "r"),
            ],
        },
        "us; 1,000 B on two-hosts: s = 11, t = 50, r = 5",
    )
    _arrow(axes, (send, -0.28), (arrival, -0.72), "  t")
    return figure


def _rendezvous() -> Figure:
    posted, answer, send, travel, receive = 30.0, 25.0, 35.0, 30.0, 5.0
    begin = posted + answer
    free, arrival = begin + send, begin + send + travel
    figure, axes = _timeline(
        {
            "sender": [
                (0, begin, _WAIT, "waits for the answer"),
                (begin, free, _SEND, "s"),
                (free, 135, _COMPUTE, "computes"),
            ],
            "receiver": [
                (0, posted, _COMPUTE, "computes"),
                (posted, arrival, _WAIT, "waits"),
                (arrival, arrival + receive, _SEND, "r"),
            ],
        },
        "us; B = 30 + 25, F = B + 35, arrival = F + 30",
    )
    _arrow(axes, (posted, -0.72), (begin, -0.28), " answer")
    _arrow(axes, (free, -0.28), (arrival, -0.72), "  t")
    return figure


def _ports() -> Figure:
    occupied, travel = 40.0, 60.0  # o, and s + t
    head = travel - occupied
    figure, _ = _timeline(
        {
            "send port of A": [(0, occupied, _SEND, "message of A")],
            "send port of B": [(0, occupied, _COMPUTE, "message of B")],
            "receive port of C": [
                (head, head + occupied, _SEND, "message of A"),
                (head + occupied, head + 2 * occupied, _COMPUTE, "message of B"),
            ],
        },
        "us; both start at 0, o = 40, s + t = 60: A arrives at 60, B at 100",
    )
    return figure


def _flows() -> Figure:
    figure = Figure(figsize=(7, 2.4))
    axes = figure.add_subplot()
    # 100 MB/s; A has 2 MB from 0 ms on, B 1 MB from 10 ms on: A alone, both at half, A alone.
    axes.stackplot(
        [0, 10, 10, 30, 30],
        [100, 100, 50, 50, 0],
        [0, 0, 50, 50, 0],
        colors=[_SEND, _COMPUTE],
        labels=["A: 2 MB from 0 ms", "B: 1 MB from 10 ms"],
    )
    axes.set_xlabel("ms; a link of 100 MB/s")
    axes.set_ylabel("MB/s")
    axes.set_xlim(0, 42)
    axes.legend(loc="upper right", fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _shared_processor() -> Figure:
    figure, _ = _timeline(
        {
            "rank 0": [(0, 1, _COMPUTE, "full speed"), (1, 3, _SEND, "half speed")],
            "rank 1": [(1, 3, _SEND, "half speed"), (3, 4, _COMPUTE, "full speed")],
        },
        "s; one processor, two bursts of 2 s that begin at 0 s and 1 s",
    )
    return figure


def _flow() -> Figure:
    figure = Figure(figsize=(8, 2.6))
    axes = figure.add_subplot()
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 3)
    axes.axis("off")
    boxes = {
        "your program": (1.1, 2.4), "trace": (3.4, 2.4), "machines\n(YAML)": (3.4, 0.6),
        "simulation": (5.8, 1.5), "ranking,\nintervals,\nreasons": (8.6, 1.5),
    }  # fmt: skip
    for text, (x, y) in boxes.items():
        colour = _COMPUTE if text == "simulation" else "#f2f2f2"
        shade = "white" if text == "simulation" else "black"
        frame = {"boxstyle": "round,pad=0.5", "facecolor": colour, "edgecolor": _MESSAGE}
        axes.text(x, y, text, ha="center", va="center", fontsize=11, color=shade, bbox=frame)
    for begin, end, text in (
        ((2.0, 2.4), (2.9, 2.4), "record once"), ((4.0, 2.2), (4.95, 1.75), ""), ((4.15, 0.8), (4.95, 1.3), ""),
        ((6.65, 1.5), (7.6, 1.5), ""),
    ):  # fmt: skip
        axes.annotate("", end, begin, arrowprops={"arrowstyle": "->", "color": _MESSAGE, "lw": 1.5})
        axes.text((begin[0] + end[0]) / 2, begin[1] + 0.3, text, ha="center", fontsize=9)
    return figure
