"""What stands on the page of a ranking: sentences, tables that can be sorted, and pictures with their words."""

from __future__ import annotations

import base64
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from io import BytesIO

import matplotlib as mpl
from matplotlib.figure import Figure

from clue.machine import Machine
from clue.purchase import Component, Entry, Ranking, Scenario, WorkloadOutcome
from clue.report.ranking.breakdown import draw_breakdown
from clue.report.ranking.offers import draw_offers
from clue.report.ranking.scores import draw_ranking, ordered
from clue.report.ranking.text import format_score, format_split, later, not_ranked, ranking_title
from clue.report.shared.printable import printable
from clue.report.shared.table import NONE
from clue.units import Money, format_number, format_time

#: So many rows a table has at most: a page of more is not read.
MOST_ROWS = 200
#: What no warning says, because it is true of every prediction.
LIMITS = (
    "Bursts of computation are those that were recorded, scaled: programs compiled anew, other libraries and other "
    "caches are not in them but for the factors of the machines.",
    "Traffic of other jobs on the network, and files that programs read and write, are left out.",
    "Prices and costs are those that the scenario states.",
)
_PACKAGES = ("numpy", "simpy", "mpi4py")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: What it shows.
        value: By which it is sorted; ``None``: by its text.
    """

    text: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table.

    Attributes:
        title: Its heading.
        columns: Headings of columns, and whether they hold numbers.
        rows: Its rows.
        more: How many rows are not shown.
    """

    title: str
    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[Cell, ...], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Image:
    """A picture.

    Attributes:
        title: Its heading.
        words: What it shows, for who does not see it.
        source: The picture itself, as an address that holds it.
    """

    title: str
    words: str
    source: str


@dataclass(frozen=True, slots=True)
class Page:
    """What stands on the page.

    Attributes:
        title: Its title.
        criterion: By what options are ranked.
        decision: What to buy, in a sentence, with how sure that is.
        ranking: The ranking; ``None`` if nothing is ranked.
        left_out: Options that are not ranked, and why.
        images: Pictures.
        warnings: What must be known beside the figures.
        limits: What holds of every prediction.
        inputs: What was asked, with sources.
        notes: What the scenario says of itself.
        command: What gives this page.
        versions: By what it was made.
    """

    title: str
    criterion: str
    decision: str
    ranking: Sheet | None
    left_out: tuple[str, ...]
    images: tuple[Image, ...]
    warnings: tuple[str, ...]
    limits: tuple[str, ...]
    inputs: tuple[Sheet, ...]
    notes: tuple[str, ...]
    command: str
    versions: str


def content_of(ranking: Ranking, scenario: Scenario, command: str, by: str) -> Page:
    """Return what stands on the page of a ranking, of what :func:`clue.report.page.ranking_page` takes."""
    placed = [each for each in ordered(ranking) if each.position is not None]
    return Page(
        title=printable(ranking.scenario),
        criterion=printable(ranking_title(ranking)),
        decision=printable(decision(ranking)),
        ranking=_ranking(ranking, placed) if placed else None,
        left_out=_lines([*later(ranking), *not_ranked(ranking)]),
        images=tuple(_images(ranking)) if placed else (),
        warnings=_lines(ranking.warnings),
        limits=LIMITS,
        inputs=(_options(scenario), _workloads(scenario)),
        notes=_lines(scenario.notes),
        command=printable(command),
        versions=_versions(by),
    )


def _lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(printable, lines))


def decision(ranking: Ranking) -> str:
    """Say what comes first, what it costs, and how sure that is."""
    first = [each for each in ranking.entries if each.position == 1]
    if not first:
        return "No option can be ranked."
    if len(first) > 1:
        names = ", ".join(each.option for each in first)
        return (
            f"{len(first)} options cannot be told apart: {names}. {_certainty(first[0], ranking, 'The first of them')}"
        )
    best = first[0]
    price = "" if best.price is None else f" for {best.price}"
    return f"{best.option} comes first: {_score(best, ranking)}{price}. {_certainty(best, ranking, 'It')}"


def _score(entry: Entry, ranking: Ranking) -> str:
    return format_score(entry.score, ranking.unit) + (" points" if ranking.unit == "points" else "")


def _certainty(entry: Entry, ranking: Ranking, subject: str) -> str:
    if ranking.sampling is None or entry.best is None:
        return "Nobody asked how probable that is: --samples 200 tells."
    return (
        f"{subject} is the best option in {entry.best:.0%} of {ranking.sampling.samples} samples of what is uncertain."
    )


# --- tables ----------------------------------------------------------------------------------------------------------


def _sheet(title: str, columns: Sequence[tuple[str, bool]], rows: Sequence[tuple[Cell, ...]]) -> Sheet:
    shown = tuple(tuple(Cell(printable(cell.text), cell.value) for cell in row) for row in rows[:MOST_ROWS])
    named = tuple((printable(name), number) for name, number in columns)
    return Sheet(title, named, shown, max(0, len(rows) - MOST_ROWS))


def _money(price: Money | None) -> Cell:
    return Cell(NONE) if price is None else Cell(str(price), price.amount)


def _ranking(ranking: Ranking, placed: Sequence[Entry]) -> Sheet:
    """Return the options by position, with the makespan of each workload."""
    workloads = list(dict.fromkeys(each.workload for entry in placed for each in entry.workloads))
    sampled = ranking.sampling is not None
    columns = [
        ("#", True),
        ("option", False),
        ("price", True),
        ("score", True),
        *([("score, 80 % interval", False), ("best", True)] if sampled else []),
        *((f"{name}: makespan" if len(workloads) > 1 else "makespan", True) for name in workloads),
        *((f"{name}: instances × ranks" if len(workloads) > 1 else "instances × ranks", False) for name in workloads),
    ]
    return _sheet("Ranking", columns, [tuple(_option(entry, ranking, workloads)) for entry in placed])


def _option(entry: Entry, ranking: Ranking, workloads: Sequence[str]) -> Iterator[Cell]:
    yield Cell(str(entry.position), entry.position)
    yield Cell(entry.option)
    yield _money(entry.price)
    yield Cell(format_score(entry.score, ranking.unit), entry.score)
    if ranking.sampling is not None:
        ends = () if entry.spread is None else (entry.spread.low, entry.spread.high)
        yield Cell(" to ".join(format_score(end, ranking.unit) for end in ends) or NONE)
        yield Cell(NONE if entry.best is None else f"{entry.best:.0%}", entry.best)
    outcomes: dict[str, WorkloadOutcome] = {each.workload: each for each in entry.workloads}
    for name in workloads:
        yield Cell(format_time(outcomes[name].makespan), outcomes[name].makespan) if name in outcomes else Cell(NONE)
    for name in workloads:
        yield Cell(format_split(outcomes[name])) if name in outcomes else Cell(NONE)


def _options(scenario: Scenario) -> Sheet:
    columns = [("option", False), ("machine", False), ("nodes", True), ("processors", True), ("price", True),
               ("source of its figures", False)]  # fmt: skip
    rows = []
    for option in scenario.options:
        machine = option.machine
        counts = (len(machine.nodes), machine.processors)
        numbers = (Cell(format_number(count), count) for count in counts)
        rows.append((Cell(option.name), Cell(machine.name), *numbers, _money(option.price), Cell(sources(machine))))
    return _sheet("Options", columns, rows)


def sources(machine: Machine) -> str:
    """Return where a machine's figures come from, as its file says."""
    stated = dict.fromkeys(each for each in (machine.source, *(node.source for node in machine.nodes)) if each)
    return "; ".join(" ".join(each.split()) for each in stated) or "not stated"


def _workloads(scenario: Scenario) -> Sheet:
    columns = [("workload", False), ("program", False), ("instances", True), ("ranks", False), ("weight", True)]
    rows = [
        (
            Cell(each.name),
            Cell("; ".join(map(_program, each.components))),
            Cell("as many as fit") if each.instances is None else Cell(format_number(each.instances), each.instances),
            Cell(", ".join(map(format_number, each.ranks))),
            Cell(f"{each.weight:g}", each.weight),
        )
        for each in scenario.workloads
    ]
    return _sheet("Workloads", columns, rows)


def _program(component: Component) -> str:
    application, made = component.application, component.application.extrapolated
    told = " ".join((application.name, *application.arguments))
    return told if made is None else f"{told}, extrapolated to size {made.size}"


# --- pictures --------------------------------------------------------------------------------------------------------


def _images(ranking: Ranking) -> Iterator[Image]:
    title = ranking_title(ranking)
    yield _image(
        "Scores and prices", f"Bars of scores and prices. {title}; figures stand in the table.", draw_ranking(ranking)
    )
    offers = draw_offers(ranking)
    if offers is not None:
        words = "Each option as a point: price across, score upwards. A line joins what nothing beats in both."
        yield _image("Price and score", words, offers)
    if any(entry.workloads for entry in ranking.entries):
        words = "Bars of makespans by workload and option, made of computing, communicating and waiting."
        yield _image("What makespans are made of", words, draw_breakdown(ranking))


def _image(title: str, words: str, drawn: Figure) -> Image:
    """Return a picture as an address that holds it: as lines and areas (SVG), so that it can be enlarged."""
    content = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "clue"}):  # the same each time
        drawn.savefig(content, format="svg", metadata={"Date": None})
    source = base64.b64encode(content.getvalue()).decode()
    return Image(title, printable(words), f"data:image/svg+xml;base64,{source}")


def _versions(by: str) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return f"{by}, Python {platform.python_version()}, {packages}; {date.today():%Y-%m-%d}"
