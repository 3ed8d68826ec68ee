"""The best use of additional money: every way to spend it on one option, by gain per price.

A step from a generated option changes one of its parts: more nodes of one kind, another network or topology, another
node, processor or memory in all nodes. A step from an option that is listed in full replaces it by another listed one.
The price of a step is the increase in price, its gain the improvement of the score. All affordable steps are simulated
in their best splits, and compared with the unchanged option. The budget does not apply, as the money is additional.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from clue.errors import UsageError
from clue.predict.predictor import Predictor
from clue.progress import Progress
from clue.purchase.attempts import Attempt, attempts_on
from clue.purchase.limits import misses_of
from clue.purchase.questions.answers import Step, Steps
from clue.purchase.scenario import Built, Limits, Option, Scenario, name_of
from clue.purchase.scores import Scores, twelve_digits
from clue.purchase.search import Search
from clue.units import Money, count_of

#: Increase in price, relative to the option's price, up to which a step is free: it is a rounding error.
_ROUNDING = 1e-9


def steps_from(  # noqa: PLR0917 - where it begins, and who tells
    first: str, scenario: Scenario, settled: Sequence[Attempt], scores: Scores, predictor: Predictor, progress: Progress
) -> Steps | None:
    """Find the best use of an amount of money.

    Args:
        first: The first option of the ranking, which it is spent on unless the scenario names another one.
        scenario: The comparison, with the amount of money.
        settled: The options of the ranking that are settled. The figures of a weighted sum are relative to the best of
            these and of all steps.
        scores: The scores of options, with the best rates of all of them.
        predictor: Predicts applications; it is prepared.
        progress: Called with the progress.

    Returns:
        ``None`` if the option cannot run the workloads, a licence does not cover it, or its queue grows without bound
        and gives it no score.

    Raises:
        UsageError: If the option lacks its price or a figure that the criterion needs, or the amount is in another
            currency.
    """
    known = {option.name: option for option in (*scenario.options, *scenario.beyond)}
    base, amount = known[scenario.next_from or first], scenario.next_amount
    assert amount is not None
    lacking = "price" if base.price is None else scores.lacks(base)
    if base.price is None or lacking:
        raise UsageError(f"{scenario.name}: {lacking} of {base.name} must be stated to spend more on it, got none")
    if base.price.currency != amount.currency:
        raise UsageError(
            f"{scenario.name}: additional money must be in {base.price.currency} like prices, got {amount}"
        )
    if any(misses_of(base, Limits(), scores.accounts)):  # without a licence it has no costs
        return None
    steps = {
        name: what
        for name, what in _steps(base, known.values(), amount.amount)
        if not scores.lacks(known[name]) and not any(misses_of(known[name], scenario.limits, scores.accounts))
    }
    attempts = attempts_on([base, *(known[name] for name in steps)], scenario, predictor, progress)
    able = [attempt for attempt in attempts if attempt.cells]
    if not able or able[0].option is not base:
        return None
    Search(able, scores, len(able), predictor, progress).settle(able)
    relative = scores.relative_to([*settled, *able]) if scores.need_all else scores.relative_to(able, [scores.best])
    as_is, sign = relative.score(able[0]), 1 if relative.higher_is_better else -1
    if not math.isfinite(as_is):
        return None
    found = []
    for attempt in able[1:]:
        option, score = attempt.option, relative.score(attempt)
        if option.price is not None and not relative.misses(attempt):
            more = Money(option.price.amount - base.price.amount, amount.currency)
            found.append(Step(option.name, steps[option.name], more, score, sign * (score - as_is)))
    ranked = sorted(found, key=lambda step: (-twelve_digits(step.gain_per_unit), step.price.amount, step.option))
    return Steps(base.name, amount, as_is, tuple(ranked))


def _steps(base: Option, options: Iterable[Option], amount: float) -> Iterator[tuple[str, str]]:
    """Yield the options that an amount of money turns one into, with the change."""
    assert base.price is not None
    for option in options:
        if option.price is None or option.price.currency != base.price.currency:
            continue
        more = option.price.amount - base.price.amount
        if not _ROUNDING * base.price.amount < more <= amount * (1 + _ROUNDING):
            continue
        what = _change(base, option)
        if what:
            yield option.name, what


def _change(base: Option, other: Option) -> str:
    """Describe the one step from an option to another; ``""`` if it takes several."""
    if base.built is None or other.built is None:
        return f"{other.name} instead" if base.built is other.built else ""
    if base.built.family != other.built.family:
        return ""
    changes = list(chain(_other_network(base.built, other.built), _other_nodes(base.built, other.built)))
    return changes[0] if len(changes) == 1 else ""


def _other_network(one: Built, other: Built) -> Iterator[str]:
    for what, before, now in (
        ("network", one.network, other.network),
        ("topology", one.topology, other.topology),
    ):
        if before != now:
            yield f"{what} {now} instead of {before}"


def _other_nodes(one: Built, other: Built) -> Iterator[str]:
    """Yield the differences in nodes, each as one change: numbers of a kind, or a part of all nodes."""
    kinds = dict.fromkeys([*one.nodes, *other.nodes])
    if len(one.nodes) == len(other.nodes) == 1 and one.total == other.total and len(kinds) == 2:
        before, now = kinds
        for part, of_one, of_other in zip(("node", "processor", "memory"), before, now, strict=True):
            if of_one != of_other:
                yield f"{part} {of_other} instead of {of_one}"
        return
    for kind in kinds:
        difference = other.nodes.get(kind, 0) - one.nodes.get(kind, 0)
        if difference:
            more = "more" if difference > 0 else "less"
            yield f"{count_of(abs(difference), 'node')} {more} of {name_of(kind)}"
