"""A fitted time: what measured times say of times that nobody measured, and how sure that is.

:func:`fit` takes times and named features, and returns an :class:`Ensemble` of all models that are plausible: sums of
terms, and lines through measured points. Never one model: those that fit equally well part where nobody measured, and
that is how uncertain the prediction is. Where terms are known, :func:`fit_terms` returns their :class:`FittedTime`,
which is asked in the same way; :func:`fit_cluster` makes a :class:`ClusterModel` of those of kinds of processors, and
:func:`best` finds the configuration that takes least. :func:`fit_in_turn` fits over one feature and then another, as a
:class:`Staged`; times of a program's parts make a :class:`Composed` one. :class:`Distribution` is how single bursts
vary around a mean.
"""

from clue.models.cluster import Adjustment, Bin, ClusterModel, Configuration, Footprint, Forecast, Run, Use, ranks_of
from clue.models.cluster_fit import Composition, Method, fit_cluster
from clue.models.composed import Among, Composed, Loop, Series, Spent, Time, crossings, spent
from clue.models.distribution import Distribution
from clue.models.ensemble import Ensemble, Member, fit
from clue.models.fitted import Errors, FittedTime, fit_each, fit_terms
from clue.models.formulas import Formula
from clue.models.lines import Lines
from clue.models.search import Candidate, Found, best
from clue.models.staged import Staged, fit_in_turn, over
from clue.models.terms import Features, Term, terms_for

__all__ = [
    "Adjustment",
    "Among",
    "Bin",
    "Candidate",
    "ClusterModel",
    "Composed",
    "Composition",
    "Configuration",
    "Distribution",
    "Ensemble",
    "Errors",
    "Features",
    "FittedTime",
    "Footprint",
    "Forecast",
    "Formula",
    "Found",
    "Lines",
    "Loop",
    "Member",
    "Method",
    "Run",
    "Series",
    "Spent",
    "Staged",
    "Term",
    "Time",
    "Use",
    "best",
    "crossings",
    "fit",
    "fit_cluster",
    "fit_each",
    "fit_in_turn",
    "fit_terms",
    "over",
    "ranks_of",
    "spent",
    "terms_for",
]
