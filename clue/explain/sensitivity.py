"""Sensitivity of the makespan: each parameter of the machine a tenth lower and a tenth higher, one at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from clue.kernel import Candidate, Program, makespans
from clue.machine import Machine, Parameter, Placement
from clue.progress import Progress

#: Relative change of parameters.
CHANGE = 0.1
#: Relative change of the makespan below which parameters are named but not shown.
LEAST_EFFECT = 1e-4
#: Relative difference below which makespans differ only by rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Effect of a parameter on the makespan.

    Attributes:
        parameter: Its name (:mod:`clue.explain.parameters`).
        lower: Makespan with the parameter at 0.9 times its value, seconds; ``None`` if the program deadlocks then.
        higher: The same at 1.1 times its value.
        makespan: The makespan as it is.
        change: By how much the parameter was changed, relative to its value.
    """

    parameter: str
    lower: float | None
    higher: float | None
    makespan: float
    change: float = CHANGE

    @property
    def change_if_lower(self) -> float | None:
        """Relative change of the makespan with the parameter at 0.9 times its value."""
        return self._relative(self.lower)

    @property
    def change_if_higher(self) -> float | None:
        """Relative change of the makespan with the parameter at 1.1 times its value."""
        return self._relative(self.higher)

    @property
    def elasticity(self) -> float | None:
        """Relative change of the makespan per relative change of the parameter: 1 means in proportion, 0 no effect."""
        low, high = self.change_if_lower, self.change_if_higher
        return None if low is None or high is None else (high - low) / (2 * self.change)

    @property
    def has_effect(self) -> bool:
        """Whether the makespan changes at all."""
        return self.change_if_lower != 0 or self.change_if_higher != 0

    @property
    def size(self) -> float:
        """The largest relative change of the makespan, in either direction; infinite for a deadlock."""
        changes = (self.change_if_lower, self.change_if_higher)
        return max(float("inf") if change is None else abs(change) for change in changes)

    def _relative(self, makespan: float | None) -> float | None:
        if makespan is None:
            return None
        change = makespan / self.makespan - 1 if self.makespan else 0.0
        return 0.0 if abs(change) <= _ROUNDING else change


def sensitivities(  # noqa: PLR0917 - what a simulation needs, and what it gave
    program: Program,
    machine: Machine,
    placement: Placement,
    instances: int,
    parameters: Sequence[Parameter],
    makespan: float,
    engine: str,
    progress: Progress,
) -> tuple[Sensitivity, ...]:
    """Replay a program with each parameter changed; returns the most influential one first.

    Args:
        program: What runs.
        machine: Where.
        placement: Node of each rank of all instances.
        instances: Copies side by side.
        parameters: Parameters to change.
        makespan: As things are, seconds.
        engine: Which engine replays.
        progress: Told about what is done.
    """
    factors = (1 - CHANGE, 1 + CHANGE)
    machines = [parameter.change(machine, factor) for parameter in parameters for factor in factors]
    candidates = [Candidate(each, placement, instances) for each in machines]
    what, total = "changing parameters", len(candidates)
    progress(what, 0, total)
    seconds = makespans(
        program, candidates, lambda done: progress(what, done, total), engine=engine, deadlock=math.nan
    ).tolist()
    found = (None if math.isnan(each) else each for each in seconds)
    changed = [Sensitivity(each.name, next(found), next(found), makespan) for each in parameters]
    return tuple(sorted(changed, key=lambda each: -each.size))
