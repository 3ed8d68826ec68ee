"""Explanation of makespans and rankings: critical path, efficiencies, sensitivities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use

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
_HOMES = {
    "efficiencies": ("Efficiencies",),
    "explanation": ("Explanation", "explain"),
    "ranking": ("RankingExplanation", "RankingSensitivity", "explain_ranking"),
    "sensitivity": ("Sensitivity",),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)
