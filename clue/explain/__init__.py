"""Explanation of makespans and rankings: critical path, efficiencies, sensitivities."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.explain.efficiencies import Efficiencies
    from clue.explain.explanation import Explanation, explain
    from clue.explain.ranking import RankingExplanation, RankingSensitivity, explain_ranking
    from clue.explain.sensitivity import Sensitivity

__all__ = [
    "Efficiencies",
    "Explanation",
    "RankingExplanation",
    "RankingSensitivity",
    "Sensitivity",
    "explain",
    "explain_ranking",
]

# The command line knows these names before it needs them.
_HOME = {
    "Efficiencies": "efficiencies",
    "Explanation": "explanation",
    "Sensitivity": "sensitivity",
    "RankingExplanation": "ranking",
    "RankingSensitivity": "ranking",
    "explain": "explanation",
    "explain_ranking": "ranking",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"clue.explain.{_HOME[name]}"), name)
