"""A fitted time: terms, non-negative least squares, lines between measured points, an ensemble with its spread."""

from clue.models.ensemble import Ensemble, fit
from clue.models.terms import Term, terms_for

__all__ = ["Ensemble", "Term", "fit", "terms_for"]
