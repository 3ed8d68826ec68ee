"""Contention by a table of factors: the CLUE paper's model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from clue.machine.figures import AMOUNT, COUNT, Rule, check_figures

if TYPE_CHECKING:
    from clue.machine.link import Link


def _are_factors(factors: Any) -> bool:
    pairs = isinstance(factors, Sequence) and all(isinstance(each, Sequence) and len(each) == 2 for each in factors)
    if not pairs or not all(COUNT.holds(n) and AMOUNT.holds(factor) for n, factor in factors):
        return False
    return [n for n, _ in factors[:1]] == [1] and all(before < after for (before, _), (after, _) in pairwise(factors))


_RULES = {
    "factors": Rule("pairs of a number, rising from 1, and a factor, a finite number of at least 0", _are_factors),
}


@dataclass(frozen=True, slots=True)
class FactorTable:
    """The paper's contention model (section 4.2): communication times grow with simultaneous communications.

    Attributes:
        factors: Pairs ``(n, factor)`` by rising n, from n = 1. Factors are linear between entries, and constant beyond
            the last.

    Raises:
        UsageError: If a factor is impossible, or there is none for 1.
    """

    name: ClassVar = "factor"
    keeps_ports: ClassVar = False
    topology: ClassVar = None
    busy: ClassVar = None

    factors: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        """Check the factors."""
        check_figures("contention", self, _RULES)

    def factor(self, simultaneous: int) -> float:
        """Return the factor for a number of communications under way, the new one included."""
        low_n, low = self.factors[0]
        for n, factor in self.factors:
            if simultaneous < n:
                return low + (factor - low) * (simultaneous - low_n) / (n - low_n)
            low_n, low = n, factor
        return low

    @property
    def measured_up_to(self) -> int:
        """The largest number of simultaneous communications in the table."""
        return self.factors[-1][0]

    @property
    def speeds_up(self) -> bool:
        """Whether a factor is below 1."""
        return any(factor < 1 for _, factor in self.factors)

    @property
    def figures(self) -> tuple[float, ...]:
        """The factors for 1, 2, … simultaneous communications; the last applies to more, too."""
        return tuple(self.factor(n) for n in range(1, self.measured_up_to + 1))

    @property
    def parameters(self) -> Mapping[str, Callable[[float], FactorTable]]:
        """The excess of the factors over 1."""
        return {"factors": self.stronger}

    def busier(self, _: float) -> FactorTable:
        """Return the table unchanged: it states no times."""
        return self

    later = busier

    def stronger(self, factor: float) -> FactorTable:
        """Return the table with the excess of its factors over 1 multiplied; none falls below 0."""
        return FactorTable(tuple((n, max(1 + (f - 1) * factor, 0.0)) for n, f in self.factors))

    def described(self, _: int, __: Sequence[Link]) -> str:
        """Return the model in words."""
        factors = ", ".join(f"{n}: ×{factor:g}" for n, factor in self.factors)
        return f"factor on both delays by simultaneous messages: {factors}"

    def document(self, _: int) -> dict[str, object]:
        """Return the factors."""
        return {"factors": self.factors}
