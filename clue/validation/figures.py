"""Quality of predictions: errors over all cases, order of machines, and regret of a choice."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from clue.units import count_of
from clue.validation.cases import Compared


@dataclass(frozen=True, slots=True)
class Order:
    """Predicted against measured order of the machines that run one program.

    Attributes:
        program: Name of the program.
        size: Problem size.
        choices: Number of machines (or numbers of ranks) to choose from.
        tau: Kendall's tau-b of predicted and measured times: 1 for equal orders, -1 for opposite ones; ``None`` if
            either are all equal.
        chosen: Machine and ranks with the shortest predicted time; of several with that time, the slowest measured.
        best: Those with the shortest measured time; of several with that time, the chosen one, if it is among them.
        regret: Relative excess of the measured time on the chosen one over the best.
    """

    program: str
    size: str
    choices: int
    tau: float | None
    chosen: str
    best: str
    regret: float


def mean_absolute_error(compared: Sequence[Compared]) -> float:
    """Return the mean of the absolute relative errors."""
    return statistics.fmean(abs(each.error) for each in compared)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of the values that at least a given share of them does not exceed."""
    ranked = sorted(values)
    # Rounding may put 0.9 * 10 slightly above 9.
    return ranked[max(0, math.ceil(share * len(ranked) - 1e-9) - 1)]


def orders(compared: Sequence[Compared]) -> tuple[Order, ...]:
    """Return the order of machines for each program and size that ran on several."""
    groups: dict[tuple[str, str], list[Compared]] = {}
    for each in compared:
        groups.setdefault((each.case.program, each.case.size), []).append(each)
    return tuple(_order(*what, group) for what, group in groups.items() if len(group) > 1)


def _order(program: str, size: str, group: Sequence[Compared]) -> Order:
    # Of equal predictions the slowest counts, so that the order of rows does not decide.
    chosen = min(group, key=lambda each: (each.predicted, -each.case.measured))
    best = min(group, key=lambda each: (each.case.measured, each is not chosen))
    tau = kendall_tau([(each.predicted, each.case.measured) for each in group])
    regret = chosen.case.measured / best.case.measured - 1
    return Order(program, size, len(group), tau, _place(chosen), _place(best), regret)


def _place(compared: Compared) -> str:
    return f"{compared.case.machine}, {count_of(compared.case.ranks)}"


def kendall_tau(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Kendall's tau-b of pairs, which allows for ties; ``None`` if either column is all ties.

    M. G. Kendall, The treatment of ties in ranking problems, Biometrika 33 (1945).
    """
    signs = [(_sign(a[0] - b[0]), _sign(a[1] - b[1])) for a, b in combinations(pairs, 2)]
    untied = [sum(abs(sign[k]) for sign in signs) for k in (0, 1)]
    if not all(untied):
        return None
    return sum(x * y for x, y in signs) / math.sqrt(untied[0] * untied[1])


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)
