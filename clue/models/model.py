"""A fitted model as it is kept: what it says, what it was fitted to, and where that came from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clue.models.cluster import ClusterModel, Run
from clue.models.fitted import Errors, FittedTime

#: What processors are called where a table tells none apart.
ANY = "any"


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A fitted model.

    Attributes:
        name: What it is called.
        form: ``"nt"``: over the size, for each number of ranks by itself; ``"pt"``: over both.
        plain: Whether by least squares in seconds, as the paper has it; else relative, with coefficients of at least 0.
        source: Where the runs came from.
        made: When it was fitted, as a date.
        runs: What it was fitted to.
        cluster: What it says.
    """

    name: str
    form: str
    plain: bool
    source: str
    made: str
    runs: tuple[Run, ...]
    cluster: ClusterModel

    def fits(self) -> list[FittedTime]:
        """Return the times that were fitted, without those that were composed of them."""
        return [part for _, each in self.cluster.bins() if not each.composed for part in each.parts.values()]

    def said(self) -> list[tuple[Run, float]]:
        """Return the runs on processors that all have models, with the seconds that it says."""
        known = (run for run in self.runs if self.cluster.answers(run.size, run.uses))
        return [(run, self.cluster.predict(run.size, run.uses).seconds) for run in known]

    def errors(self) -> Errors:
        """Return what it is off by: at whole runs; and left out, the mean over points of all fits."""
        off = [abs(seconds / run.seconds - 1) for run, seconds in self.said() if run.seconds > 0] or [math.inf]
        fits = self.fits()
        left = np.average([each.errors.leave_one_out for each in fits], weights=[each.points for each in fits])
        return Errors(float(np.mean(off)), max(off), float(left))
