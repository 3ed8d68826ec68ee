"""The utilisation from which owning is cheaper than renting: the crossover of two straight lines.

Costs are linear in the busy share u of the purchased option's life. While it is busy, the purchased option does x runs
of each workload per second: in proportion to the required runs per month, if stated; otherwise its time is shared by
weight, x = weight / sum of weights · throughput. With F the cost of an option if unused, B and R its additional cost if
it is busy, and billed, all its life:

    own(u)   = F + u · B
    cloud(u) = F' + u · (sum of x / θ' · B' + sum of x · s' · R')

θ' is the throughput of the cloud, s' its billed time per run in seconds. Both cost the same at

    u* = (F - F') / (cloud's slope - own slope)

if that is positive. Both do the same runs. If the cloud takes longer for these than the service life, several copies
of it are rented by use. Reserved nodes are paid once, so they do the same runs only up to a utilisation
(:attr:`.BreakEven.covered`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from clue.purchase.accounts import Accounts
from clue.purchase.attempts import Attempt
from clue.purchase.questions.answers import BreakEven

#: Number of options of either kind that are compared, the first of the ranking.
_FIRST = 5


def break_evens(listed: Sequence[Attempt], accounts: Accounts) -> list[BreakEven]:
    """Return the break-even points of purchased and rented options.

    Args:
        listed: Options whose splits are known, the best first.
        accounts: The costs of options.
    """
    priced = [attempt for attempt in listed if attempt.option.price is not None]
    rented = [attempt for attempt in priced if attempt.option.is_rented][:_FIRST]
    owned = [attempt for attempt in priced if not attempt.option.is_rented][:_FIRST]
    return [_between(own, cloud, accounts) for own in owned for cloud in rented]


def _between(own: Attempt, cloud: Attempt, accounts: Accounts) -> BreakEven:
    of_own, of_cloud = accounts.uses(own), accounts.uses(cloud)
    one, other = accounts.of(own.option), accounts.of(cloud.option)
    time = sum(use.rate * use.seconds for use in of_own)
    runs = [use.rate / time for use in of_own]
    busy = sum(x * use.seconds for x, use in zip(runs, of_cloud, strict=True))
    billed = sum(x * use.billed for x, use in zip(runs, of_cloud, strict=True))
    own_fixed, cloud_fixed = sum(one.fixed.values()), sum(other.fixed.values())
    own_slope = sum(one.per_busy.values())
    cloud_slope = busy * sum(other.per_busy.values()) + billed * sum(other.per_billed.values())
    assert own.option.price is not None
    return BreakEven(
        own=own.option.name,
        cloud=cloud.option.name,
        utilisation=crossing(own_fixed, own_slope, cloud_fixed, cloud_slope),
        capacity=accounts.capacity(own),
        own_fixed=own_fixed,
        own_busy=own_slope,
        cloud_fixed=cloud_fixed,
        cloud_busy=cloud_slope,
        currency=own.option.price.currency,
        # What is billed by use can be rented as often as needed.
        covered=math.inf if other.per_billed else accounts.capacity(cloud) / busy,
    )


def crossing(one: float, its_slope: float, other: float, other_slope: float) -> float | None:
    """Return the crossover of two lines above 0; ``None`` if there is none."""
    if its_slope == other_slope:
        return None
    meeting = (one - other) / (other_slope - its_slope)
    return meeting if meeting > 0 else None
