"""Further answers besides a ranking, as documents for JSON and as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clue.report.shared.csv_text import csv_text

if TYPE_CHECKING:
    from clue.purchase import Ranking
    from clue.purchase.questions.answers import BreakEven, Cheapest, Step, Steps
    from clue.units import Money

Document = dict[str, Any]
_COLUMNS = (
    *("question", "option", "beside", "what", "amount", "currency", "figure", "unit", "gain", "gain per unit"),
    "reserved nodes suffice up to",
)


def answers_document(ranking: Ranking) -> Document:
    """Describe the answers to the questions that were asked."""
    answers = ranking.answers
    return {
        **({} if answers.cheapest is None else {"cheapest_in_time": _cheapest(answers.cheapest)}),
        **({} if answers.steps is None else {"next": _steps(answers.steps, ranking.unit)}),
        **({} if not answers.break_even else {"break_even": [_break_even(each) for each in answers.break_even]}),
    }


def _cheapest(cheapest: Cheapest) -> Document:
    if cheapest.option:
        return {"option": cheapest.option, "total_cost": _money(cheapest.total)}
    missed = [{"option": option, "limits": limits} for option, limits in cheapest.missed]
    nearest = [asdict(each) for each in cheapest.nearest]
    return {"option": None, "nearest": nearest, **({"missed": missed} if missed else {})}


def _steps(steps: Steps, unit: str) -> Document:
    return {
        "option": steps.base,
        "amount": _money(steps.amount),
        "score": steps.score,
        "unit": unit,
        "steps": [_step(each) for each in steps.steps],
    }


def _step(step: Step) -> Document:
    return {
        "what": step.what,
        "option": step.option,
        "price": _money(step.price),
        "score": step.score,
        "gain": step.gain,
        "gain_per_unit": step.gain_per_unit,
    }


def _break_even(each: BreakEven) -> Document:
    found = asdict(each)
    if not each.is_limited:
        del found["covered"]
    return {**found, "cheaper_below": each.cheaper_below, "is_within_reach": each.is_within_reach}


def _money(money: Money | None) -> Document | None:
    return None if money is None else {"amount": money.amount, "currency": money.currency}


def answers_csv(ranking: Ranking) -> str:
    """Return the further answers as CSV."""
    columns, rows = answer_rows(ranking)
    return csv_text(rows, columns)


def answer_rows(ranking: Ranking) -> tuple[list[str], list[Document]]:
    """Return columns and rows: a row for each answer, each step, and each pair of a purchased and a rented option."""
    return list(_COLUMNS), list(_rows(ranking))


def _rows(ranking: Ranking) -> Iterator[Document]:
    answers, unit = ranking.answers, ranking.unit
    if (cheapest := answers.cheapest) is not None:
        asked = {"question": "cheapest that meets every deadline"}
        if cheapest.total is not None:
            money = {"amount": cheapest.total.amount, "currency": cheapest.total.currency}
            yield {**asked, "option": cheapest.option, **money}
        for each in cheapest.nearest:
            what = f"none meets the deadline of {each.workload}; the nearest"
            yield {**asked, "option": each.option, "what": what, "figure": each.seconds, "unit": "s"}
        if cheapest.total is None and not cheapest.nearest:
            yield {**asked, "what": "none"}
        for option, limits in cheapest.missed:
            yield {**asked, "option": option, "what": f"misses a limit: {limits}"}
    if (steps := answers.steps) is not None:
        for step in steps.steps:
            yield {
                "question": "where more money goes",
                "option": step.option,
                "beside": steps.base,
                "what": step.what,
                "amount": step.price.amount,
                "currency": step.price.currency,
                "figure": step.score,
                "unit": unit,
                "gain": step.gain,
                "gain per unit": step.gain_per_unit,
            }
    for pair in answers.break_even:
        yield {
            "question": "break-even utilisation",
            "option": pair.own,
            "beside": pair.cloud,
            "what": _cheaper(pair),
            "figure": pair.utilisation,
            "unit": "share of the service life",
            "reserved nodes suffice up to": pair.covered if pair.is_limited else None,
        }


def _cheaper(pair: BreakEven) -> str:
    if pair.utilisation is None:
        return f"{pair.cheaper_below} is always cheaper"
    return f"{pair.cheaper_below} is cheaper below{'' if pair.is_within_reach else ', which is always'}"
