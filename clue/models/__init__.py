"""A fitted time: what measured times say of times that nobody measured, and how sure that is.

:func:`fit` takes times and named features, and returns an :class:`Ensemble` of all models that are plausible: sums of
terms, and lines through measured points. Never one model: those that fit equally well part where nobody measured, and
that is how uncertain the prediction is. Where terms are known, :func:`fit_terms` returns their :class:`FittedTime`,
which is asked in the same way; :func:`fit_cluster` makes a :class:`ClusterModel` of those of kinds of processors, and
:func:`best` finds the configuration that takes least. :class:`Distribution` is how single bursts vary around a mean.
"""

from clue.models.cluster import Adjustment, Bin, ClusterModel, Configuration, Footprint, Forecast, Run, Use, ranks_of
from clue.models.cluster_fit import Composition, Method, fit_cluster
from clue.models.distribution import Distribution
from clue.models.ensemble import Ensemble, Member, fit
from clue.models.fitted import Errors, FittedTime, fit_each, fit_terms
from clue.models.formulas import Formula
from clue.models.lines import Lines
from clue.models.search import Candidate, Found, best
from clue.models.terms import Term, terms_for

__all__ = [
    "Adjustment",
    "Bin",
    "Candidate",
    "ClusterModel",
    "Composition",
    "Configuration",
    "Distribution",
    "Ensemble",
    "Errors",
    "FittedTime",
    "Footprint",
    "Forecast",
    "Formula",
    "Found",
    "Lines",
    "Member",
    "Method",
    "Run",
    "Term",
    "Use",
    "best",
    "fit",
    "fit_cluster",
    "fit_each",
    "fit_terms",
    "ranks_of",
    "terms_for",
]
