"""The tasks behind the figures of an option in a ranking, for a closer look at one of them."""

from __future__ import annotations

from collections.abc import Iterator

from clue.predict.prediction import Task
from clue.predict.predictor import Predictor
from clue.progress import Progress, silent
from clue.purchase.attempts import attempts_on
from clue.purchase.outcome import Entry, WorkloadOutcome
from clue.purchase.scenario import Scenario
from clue.purchase.splits import Split


def tasks_of(
    entry: Entry, scenario: Scenario, predictor: Predictor, progress: Progress = silent
) -> Iterator[tuple[str, Task]]:
    """Yield the task of each component of the workloads on an option with a position, in the chosen split.

    Args:
        entry: The option.
        scenario: The comparison.
        predictor: Predicts applications.
        progress: Called with the progress.

    Yields:
        The title of the component, and its task: one batch of instances.
    """
    option = next(each for each in scenario.options if each.name == entry.option)
    (attempt,) = attempts_on([option], scenario, predictor, progress)
    for workload, cell, outcome in zip(scenario.workloads, attempt.cells, entry.workloads, strict=True):
        choice = next(each for each in cell.choices if _counts(each.split, outcome))
        for component, task in zip(workload.components, choice.run.tasks, strict=True):
            yield workload.title(component), task


def _counts(split: Split, outcome: WorkloadOutcome) -> bool:
    """Tell whether an outcome is that of a split; it names the placement if there are several."""
    numbers = (split.ranks, split.side_by_side) == (outcome.ranks, outcome.side_by_side)
    return numbers and outcome.layout in {"", str(split.layout)}
