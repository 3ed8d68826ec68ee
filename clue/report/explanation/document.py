"""The explanation of a simulation, or of a ranking, as a JSON document.

Of a simulation:

==============  =======================================================================================================
key             value
==============  =======================================================================================================
engine          ``"reference"``: which engine found the critical path, whichever computed the rest
engine_reason   why that one
critical_path   list of {``part``, ``region``, ``where``, ``seconds``, ``share``}; the seconds add up to the makespan.
                ``part`` is a name of :class:`clue.result.Part` in lower case; ``region`` is null but for computation,
                sharing and cold_start; ``where`` is a node type, or those of both ends of a message
ranks_on_path   list of {``rank``, ``node``, ``node_type``, ``computing``, ``calls``, ``messages``, ``seconds``,
                ``share``, ``turns``}: for whom the others waited; ``turns`` is how often the path comes to the rank
sites           list of {``site``, ``name``, ``function``, ``called_from``, ``computing``, ``calls``, ``messages``,
                ``seconds``, ``share``, ``compute``, ``communicate``, ``wait``, ``nbytes``}, the largest share of the
                critical path first; null if no call site is known. ``site`` is the index in the trace, ``name`` file
                and line, ``called_from`` those of the callers, the innermost first; up to ``share`` it is the path by
                the calls there, as of ranks; the rest is over all ranks: seconds of computation before these calls, of
                processor time on messages and of waiting in them, and bytes that they send
efficiencies    {``parallel``, ``load_balance``, ``communication``, ``serialisation``, ``sharing``, ``transfer``} as
                shares of 1, defined in :mod:`clue.explain.efficiencies`; null if nothing is computed
sensitivities   list of {``parameter``, ``change``, ``lower``, ``higher``, ``elasticity``, ``has_effect``}, the most
                influential first: makespan (s) with the parameter lower and higher by ``change``, a share of its
                value, null for a deadlock; relative change of the makespan by relative change of the parameter
==============  =======================================================================================================

Of a ranking:

==============  =======================================================================================================
key             value
==============  =======================================================================================================
options         the first options, which were tried, by position
lead            by how much the first one's score is better than the best of the others', relative to the smaller one
altering        names of the parameters that give the first place to another of these options
sensitivities   list of {``parameter``, ``options``, ``change``, ``lower``, ``higher``}, the least lead first; these
                options have the parameter; ``lower`` and ``higher`` are {``winner``, ``lead``} with it lower and higher
                by ``change``; the lead is that of the option that is first as things are: negative where another one
                is, null where an option deadlocks, misses a limit or costs more than the budget
fixed           programs of these options whose times come from models or skeletons, so that no parameter of machines
                changes them
==============  =======================================================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clue.report.shared.document import Document, fields

if TYPE_CHECKING:
    from clue.explain import Efficiencies, Explanation, RankingExplanation
    from clue.explain.ranking import FirstPlace


def explanation_document(explanation: Explanation) -> Document:
    """Describe an explanation."""
    from clue.explain.shares import part_shares, rank_shares, site_shares  # noqa: PLC0415 - numpy

    whole = explanation.makespan or 1.0
    return {
        "engine": "reference",
        "engine_reason": "the fast engine keeps no histories, which a critical path is found in",
        "critical_path": [
            {
                "part": each.part.name.lower(),
                "region": each.region if each.part.is_computation else None,
                "where": each.where,
                "seconds": each.seconds,
                "share": each.seconds / whole,
            }
            for each in part_shares(explanation.path)
        ],
        "ranks_on_path": [
            {
                **fields(each, "rank", "node", "node_type", "computing", "calls", "messages", "seconds"),
                "share": each.seconds / whole,
                "turns": each.turns,
            }
            for each in rank_shares(explanation.path)
        ],
        "sites": [
            {
                "site": each.number,
                "name": each.site.name,
                "function": each.site.function,
                "called_from": list(each.site.callers),
                **fields(each, "computing", "calls", "messages", "seconds"),
                "share": each.seconds / whole,
                **fields(each, "compute", "communicate", "wait", "nbytes"),
            }
            for each in site_shares(explanation.path, explanation.sites)
        ]
        or None,
        "efficiencies": _efficiencies(explanation.efficiencies),
        "sensitivities": [
            fields(each, "parameter", "change", "lower", "higher", "elasticity", "has_effect")
            for each in explanation.sensitivities
        ],
    }


def ranking_explanation_document(explanation: RankingExplanation) -> Document:
    """Describe the parameters on which the first place of a ranking depends."""
    return {
        "options": list(explanation.options),
        "lead": _finite(explanation.base.lead),
        "altering": list(dict.fromkeys(each.parameter for each in explanation.altering)),
        "sensitivities": [
            {
                "parameter": each.parameter,
                "options": list(each.options),
                "change": explanation.change,
                "lower": _outcome(each.lower),
                "higher": _outcome(each.higher),
            }
            for each in explanation.sensitivities
        ],
        "fixed": list(explanation.fixed),
    }


def _outcome(outcome: FirstPlace) -> Document:
    return {"winner": outcome.winner, "lead": _finite(outcome.lead)}


def _finite(figure: float) -> float | None:
    return figure if math.isfinite(figure) else None


def _efficiencies(efficiencies: Efficiencies | None) -> Document | None:
    if efficiencies is None:
        return None
    return fields(efficiencies, "parallel", "load_balance", "communication", "serialisation", "sharing", "transfer")
