"""A validation as a JSON document.

============  =========================================================================================================
key           value
============  =========================================================================================================
name          of the validation
cases         list of {``program``, ``machine``, ``ranks``, ``size``, ``predicted``, ``interval``, ``measured``,
              ``runs``, ``spread``, ``error``, ``covered``}: seconds; ``measured`` is the median of ``runs``, ``spread``
              half of what lies between fastest and slowest, null if only one is known; ``error`` is predicted /
              measured - 1; ``interval`` is {``low``, ``median``, ``high``} or null, ``covered`` the share of runs
              in it
error         {``mean_absolute``, ``percentile_90``, ``median``} over all cases, and ``noise``: how far apart the runs
              of a case are, relative to their median
covered       mean share of runs within intervals, or null
orders        list of {``program``, ``size``, ``choices``, ``tau``, ``chosen``, ``best``, ``regret``}: Kendall's tau of
              predicted and measured order of the machines; how much longer than on the best the program took on the one
              predicted to be the best (of several predicted alike, on the slowest of them)
refits        list of {``parameter``, ``of``, ``multiplier``, ``range``, ``error_left``, ``predicted``, ``effect``,
              ``reach``, ``is_identifiable``, ``at_limit``, ``explains``, ``rival``}, see
              :class:`clue.validation.Refit`, the one that leaves the least error first
alike         list of pairs of parameters that these cases cannot tell apart
not_refitted  list of {``parameter``, ``reason``}
verdict       list of sentences
warnings      what the simulations say of the machines and programs, each once
============  =========================================================================================================

Keys may be added, none removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.document import fields, interval
from clue.report.validation.words import parameter_name, verdict

if TYPE_CHECKING:
    from clue.validation import Compared, Order, Refit, Validation


def validation_document(validation: Validation, name: str) -> dict[str, object]:
    """Return a validation as a JSON document."""
    return {
        "name": name,
        "cases": [_case(each) for each in validation.compared],
        "error": {
            "mean_absolute": validation.error,
            "percentile_90": validation.percentile,
            "median": validation.bias,
            "noise": validation.noise,
        },
        "covered": validation.covered,
        "orders": [_order(each) for each in validation.orders],
        "refits": [_refit(each) for each in validation.refits],
        "alike": [[parameter_name(one), parameter_name(other)] for one, other in validation.alike],
        "not_refitted": [{"parameter": each.kind, "reason": each.reason} for each in validation.unchangeable],
        "verdict": list(verdict(validation)),
        "warnings": list(validation.caveats),
    }


def _case(compared: Compared) -> dict[str, object]:
    case = compared.case
    return {
        **fields(case, "program", "machine", "ranks"),
        "size": case.size or None,
        "predicted": compared.predicted,
        "interval": None if compared.interval is None else interval(compared.interval),
        "measured": case.measured,
        "runs": list(case.runs),
        "spread": case.spread,
        **fields(compared, "error", "covered"),
    }


def _order(order: Order) -> dict[str, object]:
    return {
        "program": order.program,
        "size": order.size or None,
        **fields(order, "choices", "tau", "chosen", "best", "regret"),
    }


def _refit(refit: Refit) -> dict[str, object]:
    return {
        "parameter": refit.parameter.name,
        "of": refit.parameter.of or None,
        "multiplier": refit.multiplier,
        "range": None if refit.range is None else list(refit.range),
        "error_left": refit.error_left,
        "predicted": list(refit.predicted),
        **fields(refit, "effect", "reach", "is_identifiable", "at_limit", "explains", "rival"),
    }
