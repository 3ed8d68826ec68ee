"""Models of the rebuilt cluster from the sets Basic, NL and NS: the losses of their choices, and those in the paper."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from benchmarks.accuracy.models.cluster import FAST, SETS, SLOW, SLOW_PROCESSORS, Cluster, RunSet, candidates
from clue.models import ClusterModel, Composition, Configuration, Method, Run, Statistics, best, fit_cluster
from clue.models.cluster_fit import COMMUNICATE, COMPUTE
from clue.report.model.text import configuration_text

_Value = TypeVar("_Value")
#: Factors by which the paper scales the slow processor's models.
PAPER = Composition(SLOW, {"compute": 0.27, "communicate": 0.85})
AVAILABLE = {FAST: 1, SLOW: SLOW_PROCESSORS}
ONE_EACH = {SLOW: (1,)}
REPEATS = 5


@dataclass(frozen=True, slots=True)
class Question:
    """A question, which configuration is best at a size, and a model's answer.

    Attributes:
        size: Size N.
        chosen: The configuration that the model chooses.
        predicted: Its predicted time, seconds.
        measured: Its actual time, seconds.
        best: The best configuration.
        least: The time of the best configuration, seconds.
        inside: Whether the model reports its choice as within its fitted range, apart from P.
        told: Whether the model reports an error estimate.
    """

    size: int
    chosen: Configuration
    predicted: float
    measured: float
    best: Configuration
    least: float
    inside: bool
    told: bool

    @property
    def loss(self) -> float:
        """The extra time of the chosen configuration, relative to the best one."""
        return self.measured / self.least - 1


@dataclass(frozen=True, slots=True)
class Study:
    """A set of runs, a method, and the questions.

    Attributes:
        what: The runs.
        plain: Whether the models are fitted as in the paper.
        adjusted_by: P2 of the runs for the adjustment; those of the paper have 8.
        fits: CPU time of fitting all models, seconds.
        statistics: CPU time of the same with the statistics of all fits, seconds.
        searches: CPU time of a search through 62 candidates, seconds.
        questions: Questions by size.
    """

    what: RunSet
    plain: bool
    adjusted_by: tuple[int, ...]
    fits: float
    statistics: float
    searches: float
    questions: tuple[Question, ...]


def studies(cluster: Cluster) -> Iterator[Study]:
    """Yield all sets, each fitted as in the paper, and as in clue."""
    for what in SETS:
        for plain, adjusted_by in ((True, (8,)), (False, (8,)), (False, (4, 8))):
            runs = [*cluster.measured(what), *cluster.adjusting(what, adjusted_by)]
            fit = partial(fit_cluster, runs, Method(plain=plain), compositions={FAST: PAPER}, adjusted=FAST)
            fits, model = _timed(fit)
            statistics, _ = _timed(partial(_with_statistics, fit))
            searches, _ = _timed(partial(best, model, 6400, AVAILABLE, processes=ONE_EACH))
            questions = tuple(_question(cluster, model, size) for size in what.evaluated)
            yield Study(what, plain, adjusted_by, fits, statistics, searches, questions)


def _question(cluster: Cluster, model: ClusterModel, size: int) -> Question:
    found = best(model, size, AVAILABLE, processes=ONE_EACH).best
    truth = min(candidates(), key=lambda uses: cluster.run(size, uses).seconds)
    low, high = model.domain["n"]
    return Question(
        size,
        found.uses,
        found.forecast.seconds,
        cluster.run(size, found.uses).seconds,
        truth,
        cluster.run(size, truth).seconds,
        low <= size <= high,
        found.forecast.high < float("inf"),
    )


def _with_statistics(fit: Callable[[], ClusterModel]) -> list[Statistics]:
    """Fit and return the statistics of all fits."""
    return [time.statistics for _, each in fit().bins() for time in each.parts.values()]


def _timed(call: Callable[[], _Value]) -> tuple[float, _Value]:
    """Return the smallest CPU time of a call, seconds, and its result."""
    least = float("inf")
    for _ in range(REPEATS):
        begin = time.process_time()
        value = call()
        least = min(least, time.process_time() - begin)
    return least, value


def lines(found: list[Study]) -> Iterator[str]:
    """Yield the tables as Markdown."""
    columns = (
        "runs",
        "fitted",
        "loss of the choice, by N",
        "paper",
        "outside of what was fitted",
        "fit",
        "with statistics",
        "search of 62",
    )
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for each in found:
        ours = ", ".join(f"{question.loss:.1%}" for question in each.questions)
        papers = ", ".join(f"{loss:.1%}" for loss in each.what.losses)
        told = ", ".join(str(question.size) for question in each.questions if not question.inside or not question.told)
        yield (
            f"| {each.what.name} | {_method(each)} | {ours} | {papers} | {told or 'none'} | "
            f"{each.fits * 1e3:.1f} ms | {each.statistics * 1e3:.1f} ms | {each.searches * 1e3:.1f} ms |"
        )
    for each in found:
        yield from ("", f"### {each.what.name}, {_method(each)}", "")
        yield "| N | chosen | predicted | takes | best | takes | loss | inside of the sizes |"
        yield "| ---: | --- | ---: | ---: | --- | ---: | ---: | --- |"
        for question in each.questions:
            yield (
                f"| {question.size} | {configuration_text(question.chosen)} | {question.predicted:.1f} s | "
                f"{question.measured:.1f} s | {configuration_text(question.best)} | {question.least:.1f} s | "
                f"{question.loss:.1%} | {'yes' if question.inside else 'no'} |"
            )


def _method(study: Study) -> str:
    how = "plainly, as the paper does" if study.plain else "relatively, not below 0"
    return how if study.adjusted_by == (8,) else f"{how}; adjusted by runs of P2 = 4, too"


def table(runs: Sequence[Run]) -> Iterator[str]:
    """Yield runs as the lines of a table that ``clue model fit`` reads."""
    yield "processor,processors,processes,size,measured,compute,communicate"
    for run in runs:
        uses = run.uses.values()
        counts = ("+".join(str(each.processors) for each in uses), "+".join(str(each.processes) for each in uses))
        parts = [f"{run.parts[part]:.6g}" if run.parts else "" for part in (COMPUTE, COMMUNICATE)]
        yield ",".join(["+".join(run.uses), *counts, f"{run.size:g}", f"{run.seconds:.6g}", *parts])
