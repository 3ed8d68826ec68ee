"""Fitted times: predictions from measured times, with their uncertainty.

:func:`fit` takes times and named features, and returns an :class:`Ensemble` of all plausible models: sums of terms, and
lines through measured points. It never returns a single model: models that fit equally well diverge where nobody
measured, and that divergence is the uncertainty of the prediction. Where the terms are known, :func:`fit_terms` returns
a :class:`FittedTime` with the same interface. :func:`fit_cluster` combines those of several kinds of processors in a
:class:`ClusterModel`, and :func:`best` finds the fastest configuration. :func:`fit_in_turn` fits over one feature and
then over another, as a :class:`Staged` time; times of a program's parts make a :class:`Composed` one.
:class:`Distribution` describes how single bursts vary around their mean.
"""

from clue.models.cluster import Adjustment, Bin, ClusterModel, Configuration, Footprint, Forecast, Run, Use, ranks_of
from clue.models.cluster_fit import Composition, Method, fit_cluster
from clue.models.composed import Among, Composed, Loop, Series, Spent, Time, crossings, spent
from clue.models.distribution import Distribution
from clue.models.ensemble import Ensemble, Member, fit
from clue.models.fitted import Errors, FittedTime, Statistics, fit_each, fit_terms
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
    "Statistics",
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
