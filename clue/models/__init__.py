"""A fitted time: what measured times say of times that nobody measured, and how sure that is.

:func:`fit` takes times and named features, and returns an :class:`Ensemble` of all models that are plausible: sums of
terms, and lines through measured points. Never one model: those that fit equally well part where nobody measured, and
that is how uncertain the prediction is. Where terms are known, :func:`fit_terms` returns their :class:`FittedTime`,
which is asked in the same way. :class:`Distribution` is how single bursts vary around such a mean.
"""

from clue.models.distribution import Distribution
from clue.models.ensemble import Ensemble, Member, fit
from clue.models.fitted import Errors, FittedTime, fit_each, fit_terms
from clue.models.formulas import Formula
from clue.models.lines import Lines
from clue.models.terms import Term, terms_for

__all__ = [
    "Distribution",
    "Ensemble",
    "Errors",
    "FittedTime",
    "Formula",
    "Lines",
    "Member",
    "Term",
    "fit",
    "fit_each",
    "fit_terms",
    "terms_for",
]
