"""What predictions are worth: errors over all cases, whether machines come in the right order, what a choice costs."""

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
    """Whether the machines that run one program come in the right order.

    Attributes:
        program: Name of the program.
        size: What was solved.
        choices: How many machines (or numbers of ranks) there are to choose from.
        tau: Kendall's tau-b of predicted and measured times: 1 if both order alike, -1 if they contradict each other;
            ``None`` if either are all equal.
        chosen: Machine and ranks that are predicted to be the fastest.
        best: Those that were.
        regret: How much longer than on the best the program took on the chosen one, relative.
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
    """Return the smallest of some values that so large a share of them does not exceed."""
    ranked = sorted(values)
    # 0.9 * 10 is a hair above 9 in some of its roundings.
    return ranked[max(0, math.ceil(share * len(ranked) - 1e-9) - 1)]


def orders(compared: Sequence[Compared]) -> tuple[Order, ...]:
    """Return for each program and size that ran in several places whether these come in the right order."""
    groups: dict[tuple[str, str], list[Compared]] = {}
    for each in compared:
        groups.setdefault((each.case.program, each.case.size), []).append(each)
    return tuple(_order(*what, group) for what, group in groups.items() if len(group) > 1)


def _order(program: str, size: str, group: Sequence[Compared]) -> Order:
    chosen = min(group, key=lambda each: each.predicted)
    best = min(group, key=lambda each: each.case.measured)
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
