"""Costs of options on the page of a ranking: by item, over the years, per run; energy; sources of figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clue.purchase import Entry, Ranking
from clue.purchase.outcome import OptionCost
from clue.report.page import parts
from clue.report.page.charts import Chart, Line, Point, Row, Series, bars, dashes_of, lines
from clue.report.page.parts import Cell, Section
from clue.report.ranking.text import ITEMS, costs_title
from clue.report.shared import style
from clue.report.shared.table import NONE
from clue.units import KWH, format_amount, format_figure, format_power, format_share

#: Colours of items, from Paul Tol's muted scheme for the colour-blind; the same for an item on every page.
_COLOURS = dict(zip(ITEMS, ("#332288", "#DDCC77", "#88CCEE", "#44AA99", "#117733", "#CC6677", "#882255", "#AA4499",
                            "#999933", "#BBBBBB"), strict=True))  # fmt: skip
#: Largest numbers of options with lines, and with bars, in a chart.
MOST_LINES, MOST_BARS = len(style.SERIES), 20

Known = Sequence[tuple[Entry, OptionCost]]


def cost_sections(ranking: Ranking, placed: Sequence[Entry]) -> Iterator[Section]:
    """Yield the sections about costs and energy; nothing if no option states them."""
    known = [(each, each.cost) for each in placed if each.cost is not None]
    if not known:
        return
    stated = {item: None for _, cost in known for item in cost.sheet.items}
    items = [*(item for item in ITEMS if item in stated), *(item for item in stated if item not in ITEMS)]
    yield parts.picture(_items(ranking, known, items))
    if any(len(cost.by_year) > 1 for _, cost in known):
        yield parts.picture(_years(known))
        yield _paid(known)
    yield _table(ranking, known, items)
    if any(cost.sheet.energy is not None for _, cost in known):
        yield _energy(known)
    yield _runs(known)
    if any(cost.sources for _, cost in known):
        yield _sources(known)


def _items(ranking: Ranking, known: Known, items: Sequence[str]) -> Chart:
    shown = known[:MOST_BARS]
    series = [
        Series(item, _COLOURS.get(item, style.QUIET), [cost.sheet.items.get(item, 0.0) for _, cost in shown])
        for item in items
    ]
    rows = [Row(f"{each.position}. {each.option}", format_amount(cost.sheet.total)) for each, cost in shown]
    currency = known[0][1].currency
    height, shapes = bars(
        rows, series, f"value today ({currency})", lambda figure: f"{format_amount(figure)} {currency}"
    )
    told = "; ".join(f"{each.option}: {format_amount(cost.sheet.total)} {currency}" for each, cost in shown)
    words = f"Stacked bars of what options cost, by item. {told}."
    legend = tuple((each.name, each.colour) for each in series)
    return Chart("cost-items", costs_title(ranking), words, height, tuple(shapes), legend, _left(shown, known))


def _left(shown: Sequence[object], known: Sequence[object]) -> str:
    return f"The first {len(shown)} of {len(known):,} options." if len(shown) < len(known) else ""


def _years(known: Known) -> Chart:
    """Draw the payments up to the end of each year."""
    shown, currency = known[:MOST_LINES], known[0][1].currency
    drawn = [
        Line(each.option, colour, [
            Point(each.option, years, amount, f"{each.option}, {_after(years)}: {format_amount(amount)} {currency}")
            for years, amount in cost.by_year
        ])
        for (each, cost), colour in zip(shown, style.SERIES, strict=False)
    ]  # fmt: skip
    height, shapes = lines(drawn, "years", f"paid up to then ({currency})")
    ends = "; ".join(f"{each.option} {format_amount(cost.by_year[-1][1])} {currency}" for each, cost in shown)
    words = f"Lines of what is paid up to the end of each year, as values today. At the end: {ends}."
    last = "; the last year includes the residual value" if any("residual" in c.sheet.items for _, c in shown) else ""
    caption = f"Values today{last}. {_left(shown, known)}".strip()
    legend = tuple((line.name, line.colour) for line in drawn)
    dashes = dashes_of(drawn)
    return Chart("cost-years", "Cost over the years", words, height, tuple(shapes), legend, caption, dashes)


def _paid(known: Known) -> Section:
    """Return the payments up to the end of each year."""
    columns = [("option", False), ("when", True), (f"paid up to then ({known[0][1].currency})", True)]
    rows = [
        (Cell(each.option), Cell(_after(years), years), _amount(amount))
        for each, cost in known
        for years, amount in cost.by_year
    ]
    return parts.sheet("cost-by-year", "Payments over the years", columns, rows)


def _after(years: float) -> str:
    return "at once" if years == 0 else f"after {years:.3g} year{'s' * (years != 1)}"


def _amount(figure: float | None) -> Cell:
    return Cell(NONE) if figure is None else Cell(format_amount(figure), figure)


def _table(ranking: Ranking, known: Known, items: Sequence[str]) -> Section:
    columns = [("option", False), *((name, True) for name in ("total", *items)), ("busy", True), ("racks", True)]
    rows = [
        (
            Cell(each.option),
            _amount(cost.sheet.total),
            *(_amount(cost.sheet.items.get(item)) for item in items),
            Cell(format_share(cost.sheet.busy, 1), cost.sheet.busy),
            Cell(str(cost.racks), cost.racks) if cost.racks else Cell(NONE),
        )
        for each, cost in known
    ]
    return parts.sheet("costs", f"{costs_title(ranking)}, item by item", columns, rows)


def _figure(figure: float | None, unit: float = 1.0) -> Cell:
    return Cell(NONE) if figure is None else Cell(format_figure(figure / unit), figure)


def _energy(known: Known) -> Section:
    columns = [("option", False), *((name, True) for name in ("MWh", "t CO2", "power at most"))]
    rows = [
        (
            Cell(each.option),
            _figure(cost.sheet.energy, 1000 * KWH),
            _figure(cost.sheet.carbon, 1000.0),
            Cell(NONE) if cost.power is None else Cell(format_power(cost.power), cost.power),
        )
        for each, cost in known
    ]
    return parts.sheet(
        "energy", "Energy over the service life", columns, rows, "Including the overhead of the site (PUE)."
    )


def _runs(known: Known) -> Section:
    currency = known[0][1].currency
    columns = [("option", False), ("workload", False), (f"a run costs ({currency})", True), ("kWh", True),
               ("kg CO2", True)]  # fmt: skip
    rows = [
        (Cell(each.option), Cell(name), _figure(run.cost), _figure(run.energy, KWH), _figure(run.carbon))
        for each, cost in known
        for name, run in cost.per_run.items()
    ]
    return parts.sheet("runs", "Cost of a run", columns, rows, "Its share, by time, of all costs.")


def _sources(known: Known) -> Section:
    """Return the sources of cost figures, each once for all its options."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for each, cost in known:
        for source in cost.sources:
            found.setdefault((source.of, source.source, source.date), []).append(each.option)
    columns = [("figures", False), ("of", False), ("source", False), ("date", False)]
    rows = [
        (Cell(of), Cell("all" if len(options) == len(known) > 1 else ", ".join(options)), Cell(source or NONE),
         Cell(date or NONE))
        for (of, source, date), options in found.items()
    ]  # fmt: skip
    return parts.sheet("cost-sources", "Sources of costs", columns, rows)
