"""The answers to a buyer's questions. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from clue.units import Money


@dataclass(frozen=True, slots=True)
class Nearest:
    """The option that comes nearest to a deadline that none meets.

    Attributes:
        workload: What has the deadline.
        deadline: Seconds within which a run had to end.
        option: The option on which a run ends first.
        seconds: When it does, from its own start.
    """

    workload: str
    deadline: float
    option: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Cheapest:
    """The cheapest option that meets every deadline, and does the runs a month.

    Attributes:
        option: Its name; empty: none does.
        total: What it costs over the service life, or its price where no costs are stated.
        nearest: Where none does: of each deadline that no option meets the one that comes nearest.
    """

    option: str
    total: Money | None = None
    nearest: tuple[Nearest, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One way to spend more money on an option.

    Attributes:
        option: What it then is.
        what: What is done, in words.
        price: What it costs more.
        score: What it then scores.
        gain: By how much the score gets better; negative: worse.
    """

    option: str
    what: str
    price: Money
    score: float
    gain: float

    @property
    def gain_per_unit(self) -> float:
        """Gain for a unit of the currency."""
        return self.gain / self.price.amount


@dataclass(frozen=True, slots=True)
class Steps:
    """Where more money goes.

    Attributes:
        base: The option that it is spent on.
        amount: How much there is.
        score: What the option scores as it is, beside the steps.
        steps: The steps that it pays, by gain for the money: the best first.
    """

    base: str
    amount: Money
    score: float
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class BreakEven:
    """From which use on it is cheaper to own than to rent.

    Attributes:
        own: The option that is bought.
        cloud: The option that is rented.
        utilisation: Share of the own option's life for which runs keep it busy at which both cost the same; ``None``:
            one of them is cheaper however much it is used.
        capacity: The largest such share that the own option has.
        own_fixed: What the own option costs unused.
        own_busy: What it costs more if it is busy all its life.
        cloud_fixed: What the cloud costs unused.
        cloud_busy: What it costs more if it does what keeps the own option busy all its life.
        currency: Of these amounts, which are values today.
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

    @property
    def cheaper_below(self) -> str:
        """The option that is cheaper where it is used less than at break-even; without one, always."""
        if self.utilisation is None:
            below = (self.own_fixed, self.own_busy) <= (self.cloud_fixed, self.cloud_busy)
        else:
            below = self.own_fixed < self.cloud_fixed
        return self.own if below else self.cloud

    @property
    def is_within_reach(self) -> bool:
        """Whether the own option can be used so much."""
        return self.utilisation is not None and self.utilisation <= self.capacity


@dataclass(frozen=True, slots=True)
class Answers:
    """What is answered beside a ranking.

    Attributes:
        cheapest: The cheapest that meets every deadline; ``None``: no deadline and no runs a month are stated, or no
            prices.
        steps: Where more money goes; ``None``: that is not asked.
        break_even: Of options that are bought beside options that are rented.
    """

    cheapest: Cheapest | None = None
    steps: Steps | None = None
    break_even: tuple[BreakEven, ...] = ()
