"""A fitted model as it is stored: the model, the runs it was fitted to, and their source."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clue.models.cluster import ClusterModel, Run
from clue.models.fitted import Errors, FittedTime
from clue.models.parts import UNUSABLE

#: Name of processors where a table does not distinguish kinds.
ANY = "any"


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A fitted model.

    Attributes:
        name: Its name.
        form: ``"nt"``: over the size, for each number of ranks separately; ``"pt"``: over both.
        plain: Whether fitted by least squares in seconds, as in the paper; otherwise relative, with coefficients ≥ 0.
        source: Source of the runs.
        made: Date of the fit.
        runs: Runs it was fitted to.
        cluster: The fitted model.
    """

    name: str
    form: str
    plain: bool
    source: str
    made: str
    runs: tuple[Run, ...]
    cluster: ClusterModel

    def fits(self) -> list[FittedTime]:
        """Return the times that were fitted, without those derived from them."""
        return [part for _, each in self.cluster.bins() if not each.composed for part in each.parts.values()]

    def said(self) -> list[tuple[Run, float]]:
        """Return the runs whose processors all have models, with their predicted seconds."""
        known = (run for run in self.runs if self.cluster.answers(run.size, run.uses))
        return [(run, self.cluster.predict(run.size, run.uses).seconds) for run in known]

    def errors(self) -> Errors:
        """Return its errors: at whole runs; the leave-one-out error is the mean over points of all fits."""
        off = [abs(seconds / run.seconds - 1) for run, seconds in self.said() if run.seconds > 0] or [math.inf]
        fits = self.fits()
        left = np.average(
            [each.statistics.errors.leave_one_out for each in fits], weights=[each.statistics.points for each in fits]
        )
        return Errors(float(np.mean(off)), max(off), float(left))

    def misfit(self) -> list[str]:
        """Return a line if it is too far off at its own runs to be used; single runs may be, if they were disturbed."""
        off = self.errors().mean
        if not UNUSABLE < off < math.inf:  # without runs it is unknown
            return []
        return [
            f"the model is off by {off:.0%} on average at the runs that it was fitted to and must not be used: their "
            "times do not follow its terms in size and ranks, or differ in what the table does not say: look at the "
            "plot (clue model show --plots)"
        ]
