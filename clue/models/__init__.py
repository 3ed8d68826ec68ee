"""A fitted time: what measured times say of times that nobody measured, and how sure that is.

:func:`fit` takes times and named features, and returns an :class:`Ensemble` of all models that are plausible: sums of
terms, and lines through measured points. Never one model: those that fit equally well part where nobody measured, and
that is how uncertain the prediction is. :class:`Distribution` is how single bursts vary around such a mean.
"""

from clue.models.composed import Among, Composed, Loop, Series, Time, crossings, spent
from clue.models.distribution import Distribution
from clue.models.ensemble import Ensemble, Member, fit
from clue.models.formulas import Formula
from clue.models.lines import Lines
from clue.models.staged import Staged, fit_in_turn, over
from clue.models.terms import Features, Term, terms_for

__all__ = [
    "Among",
    "Composed",
    "Distribution",
    "Ensemble",
    "Features",
    "Formula",
    "Lines",
    "Loop",
    "Member",
    "Series",
    "Staged",
    "Term",
    "Time",
    "crossings",
    "fit",
    "fit_in_turn",
    "over",
    "spent",
    "terms_for",
]
