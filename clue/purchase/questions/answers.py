"""The answers to a buyer's questions. Values only."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clue.units import Money

#: Tolerance for rounding errors of a share, relative.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Nearest:
    """The option nearest to a deadline that none meets.

    Attributes:
        workload: The workload with the deadline.
        deadline: Largest allowed run time, seconds.
        option: The option with the shortest run time.
        seconds: That run time, seconds.
    """

    workload: str
    deadline: float
    option: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Cheapest:
    """The cheapest option that meets every deadline and the required runs per month.

    Attributes:
        option: Its name; empty: none does.
        total: Its total cost over the service life, or its price if no costs are stated.
        nearest: If there is none: the nearest option to each deadline that no option meets.
        missed: If each deadline is met by some option: the limits that each option misses, by option.
    """

    option: str
    total: Money | None = None
    nearest: tuple[Nearest, ...] = ()
    missed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One way to spend additional money on an option.

    Attributes:
        option: The resulting option.
        what: The change, in words.
        price: Its additional price.
        score: The resulting score.
        gain: Improvement of the score; negative: it gets worse.
    """

    option: str
    what: str
    price: Money
    score: float
    gain: float

    @property
    def gain_per_unit(self) -> float:
        """Gain per unit of the currency."""
        return self.gain / self.price.amount


@dataclass(frozen=True, slots=True)
class Steps:
    """The best use of additional money.

    Attributes:
        base: The option on which it is spent.
        amount: The additional money.
        score: The score of the unchanged option.
        steps: The affordable steps by gain per price, the best first.
    """

    base: str
    amount: Money
    score: float
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The utilisation from which owning is cheaper than renting.

    Attributes:
        own: The purchased option.
        cloud: The rented option.
        utilisation: Busy share of the purchased option's life at which both cost the same; ``None``: one of them is
            cheaper at any utilisation.
        capacity: Largest possible busy share of the purchased option.
        own_fixed: Cost of the purchased option if unused.
        own_busy: Its additional cost if it is busy all its life.
        cloud_fixed: Cost of the cloud if unused.
        cloud_busy: Its additional cost for the runs that keep the purchased option busy all its life.
        currency: Currency of these amounts, which are present values.
        covered: Busy share of the purchased option's life up to which reserved nodes do the same runs; infinite for
            nodes billed by use, of which more are rented.
    """

    own: str
    cloud: str
    utilisation: float | None
    capacity: float
    own_fixed: float
    own_busy: float
    cloud_fixed: float
    cloud_busy: float
    currency: str
    covered: float = math.inf

    @property
    def cheaper_below(self) -> str:
        """The cheaper option below the break-even utilisation; without break-even, at any utilisation."""
        if self.utilisation is None:
            below = (self.own_fixed, self.own_busy) <= (self.cloud_fixed, self.cloud_busy)
        else:
            below = self.own_fixed < self.cloud_fixed
        return self.own if below else self.cloud

    @property
    def is_within_reach(self) -> bool:
        """Whether the purchased option can reach that utilisation."""
        return self.utilisation is not None and self.utilisation <= self.capacity

    @property
    def is_limited(self) -> bool:
        """Whether the purchased option can do more runs than reserved nodes of the cloud."""
        return self.covered < self.capacity * (1 - _ROUNDING)


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to further questions.

    Attributes:
        cheapest: The cheapest option that meets every deadline; ``None``: neither deadlines nor runs per month are
            stated, or no prices.
        steps: The best use of additional money; ``None``: not requested.
        break_even: Break-even points of purchased and rented options.
    """

    cheapest: Cheapest | None = None
    steps: Steps | None = None
    break_even: tuple[BreakEven, ...] = ()
