"""What an option of a ranking runs: the tasks behind its figures, for who wants to look at one of them closely."""

from __future__ import annotations

from collections.abc import Iterator

from clue.predict.prediction import Task
from clue.predict.predictor import Predictor
from clue.progress import Progress, silent
from clue.purchase.attempts import attempts_on
from clue.purchase.outcome import Entry
from clue.purchase.scenario import Scenario


def tasks_of(
    entry: Entry, scenario: Scenario, predictor: Predictor, progress: Progress = silent
) -> Iterator[tuple[str, Task]]:
    """Yield what each component of the workloads runs on an option that has a position, in the split that counts.

    Args:
        entry: The option.
        scenario: What was compared.
        predictor: Tells what applications take.
        progress: Told about what is done.

    Yields:
        What a reader calls the component, and its task: one turn of it.
    """
    option = next(each for each in scenario.options if each.name == entry.option)
    (attempt,) = attempts_on([option], scenario, predictor, progress)
    for workload, cell, outcome in zip(scenario.workloads, attempt.cells, entry.workloads, strict=True):
        counts = (outcome.ranks, outcome.side_by_side)
        choice = next(each for each in cell.choices if (each.split.ranks, each.split.side_by_side) == counts)
        for component, task in zip(workload.components, choice.run.tasks, strict=True):
            yield workload.title(component), task
