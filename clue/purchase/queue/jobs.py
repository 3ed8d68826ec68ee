"""Jobs as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """Jobs in order of submission.

    Attributes:
        submit: Submission time of each, seconds, shape (jobs,); not falling.
        nodes: Number of nodes of each, shape (jobs,).
        run: Run time of each, seconds, shape (jobs,); above 0.
        limit: Time limit of each, seconds, shape (jobs,): the scheduler's knowledge of its run time, and at least that.
        kind: Class of each, shape (jobs,).
    """

    submit: Doubles
    nodes: Integers
    run: Doubles
    limit: Doubles
    kind: Integers

    def __len__(self) -> int:
        return len(self.submit)

    def __post_init__(self) -> None:
        assert len(self.submit) == len(self.nodes) == len(self.run) == len(self.limit) == len(self.kind)
        assert not len(self) or (self.run > 0).all()
        assert (self.limit >= self.run).all() and (np.diff(self.submit) >= 0).all()

    @property
    def work(self) -> Doubles:
        """Node-seconds of each job, shape (jobs,)."""
        return self.nodes * self.run
