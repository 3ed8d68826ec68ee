"""The cheapest option that meets every deadline: found exactly, by bounds, as the first of a ranking by total cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from clue.predict.predictor import Predictor
from clue.progress import Progress
from clue.purchase.accounts import Accounts
from clue.purchase.attempts import Cell
from clue.purchase.questions.answers import Cheapest, Nearest
from clue.purchase.scenario import Scenario
from clue.purchase.scores import Scores
from clue.purchase.search import Search
from clue.units import Money

#: Number of options per round of the search for the one nearest to a deadline.
_ROUND = 16


def is_asked(scenario: Scenario) -> bool:
    """Tell whether there are deadlines or required runs per month."""
    return any(each.deadline < math.inf or each.demand is not None for each in scenario.workloads)


def cheapest_in_time(
    ranked: Search, scenario: Scenario, by_cost: Scores, predictor: Predictor, progress: Progress
) -> Cheapest | None:
    """Find the cheapest option that meets all limits in use, or the options nearest to the deadlines.

    Args:
        ranked: The search of the ranking, with the options that can run the workloads.
        scenario: The comparison.
        by_cost: Scores of options by total cost.
        predictor: Predicts applications; it is prepared.
        progress: Called with the progress.

    Returns:
        ``None`` if options meet all limits, but none of them has a price.
    """
    priced = [attempt for attempt in ranked.attempts if attempt.option.price is not None]
    search = Search(priced, by_cost, 1, predictor, progress, ranked.columns)
    search.run()
    ranked.simulations += search.simulations
    for attempt in search.listed():
        assert attempt.option.price is not None
        return Cheapest(attempt.option.name, Money(by_cost.score(attempt), attempt.option.price.currency))
    if ranked.listed() or not ranked.attempts:
        return None
    _find_least_busy(ranked, by_cost.accounts)
    nearest = tuple(_nearest(ranked, scenario))
    told = [(each.option.name, "; ".join(map(str, by_cost.misses(each)))) for each in ranked.attempts]
    return Cheapest("", nearest=nearest, missed=() if nearest else tuple(each for each in told if each[1]))


def _nearest(search: Search, scenario: Scenario) -> Iterator[Nearest]:
    """Yield, for each workload whose deadline no option meets, the option with the shortest run time."""
    for w, workload in enumerate(scenario.workloads):
        if workload.deadline < math.inf:
            cells = [attempt.cells[w] for attempt in search.attempts]
            while rivals := _not_known(cells):
                search.advance(rivals)
            seconds, i = min((_seconds(cell), i) for i, cell in enumerate(cells))
            if seconds > workload.deadline:
                yield Nearest(workload.name, workload.deadline, search.attempts[i].option.name, seconds)


def _not_known(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that are not settled and may have the shortest run time."""
    best = min((_seconds(cell) for cell in cells if cell.settled), default=math.inf)
    rivals = [cell for cell in dict.fromkeys(cells) if not cell.settled and _seconds(cell) <= best]
    return sorted(rivals, key=_seconds)[:_ROUND]


def _seconds(cell: Cell) -> float:
    """Return the run time in the chosen split, seconds, or a lower bound if it is not settled."""
    return min(choice.seconds for choice in cell.possible)


def _find_least_busy(search: Search, accounts: Accounts) -> None:
    """Simulate until it is known which option the required runs per month keep least busy; warnings need it."""
    while accounts.demands:
        busy = [accounts.busy(attempt) for attempt in search.attempts]
        known = [share for share, each in zip(busy, search.attempts, strict=True) if each.settled]
        least = min(known, default=math.inf)
        rivals = [(share, i) for i, share in enumerate(busy) if share <= least and not search.attempts[i].settled]
        if not rivals:
            return
        search.advance(cell for _, i in sorted(rivals)[:_ROUND] for cell in search.attempts[i].cells)
