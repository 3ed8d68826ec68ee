"""The queues of a scenario's options: each is simulated on request, once the demands of its jobs are known."""

from __future__ import annotations

from collections.abc import Iterator

from clue.caveats import About, Caveat, Said
from clue.progress import Progress, silent
from clue.purchase.attempts import Attempt, JobCells, is_replayed
from clue.purchase.limits import Miss
from clue.purchase.queue.arrivals import Taken, Takes
from clue.purchase.queue.mix import Mix, Sharing
from clue.purchase.queue.replications import QueueOutcome, simulate_queue, with_curve
from clue.purchase.scenario import Criterion, Scenario
from clue.units import format_share, format_time

#: Criteria without a figure for an unstable queue.
STABLE = frozenset({Criterion.WAITING, Criterion.SLOWDOWN, Criterion.UNUSED_NODES})
#: Criteria that need a simulation of the queue.
QUEUED = STABLE | {Criterion.JOB_THROUGHPUT}
_HOUR = 3600.0
#: Slowdown of a job by neighbours on the network up to which there is no caveat.
_SLOWER = 0.01


class Queues:
    """The queues of options.

    Args:
        scenario: The comparison.
        progress: Called with the progress.
        known: Results for queues of the same jobs, which this one adds to.
    """

    def __init__(
        self, scenario: Scenario, progress: Progress = silent, known: dict[object, QueueOutcome] | None = None
    ) -> None:
        self._scenario = scenario
        self._progress = progress
        self._known = {} if known is None else known
        self._simulated = 0
        self._without_curve: set[str] = set()
        wanted = {scenario.criterion, *scenario.pareto, *scenario.weighted}
        #: Whether options with an unstable queue have no position.
        self.must_be_stable = bool(wanted & STABLE) or scenario.limits.waiting is not None

    def of(self, attempt: Attempt) -> QueueOutcome:
        """Return the queue of a settled option."""
        mix = self._scenario.queue
        assert mix is not None
        takes, nodes = _takes(attempt), len(attempt.option.machine.nodes)
        # Options on which jobs have the same demands have the same queue.
        key = (nodes, *((i, ranks, each) for i, by_ranks in enumerate(takes) for ranks, each in by_ranks.items()))
        if key not in self._known:
            self._progress("queueing jobs, options:", self._simulated, len(self._scenario.options))
            self._simulated += 1
            self._known[key] = simulate_queue(mix, takes, nodes)
        return self._known[key]

    def with_curve(self, attempt: Attempt) -> QueueOutcome:
        """Return the queue of a settled option, with its mean waiting time at other loads."""
        mix = self._scenario.queue
        assert mix is not None
        queue = with_curve(mix, self.of(attempt))
        if not queue.curve:
            self._without_curve.add(attempt.option.name)
        return queue

    def figure(self, attempt: Attempt, criterion: Criterion) -> float:
        """Return an option's figure by a criterion of queues; the worst possible one if the queue is unstable."""
        queue = self.of(attempt)
        if criterion is Criterion.JOB_THROUGHPUT:
            return queue.most * _HOUR
        if queue.figures is None:
            return float("inf")
        return {
            Criterion.WAITING: queue.figures.waiting,
            Criterion.SLOWDOWN: queue.figures.slowdown,
            Criterion.UNUSED_NODES: queue.figures.unused,
        }[criterion]

    def misses(self, attempt: Attempt) -> Iterator[Miss]:
        """Yield the limits that the queue of a settled option misses."""
        mix = self._scenario.queue
        if mix is None or not attempt.settled:
            return
        deadlines = {each.name: each.deadline for each in self._scenario.workloads}
        for of, by_ranks in zip(mix.classes, attempt.jobs, strict=True):
            chosen = [each.queued.possible[0] for each in by_ranks.values()]
            # A deadline is that of a run; a job is over when all its runs are.
            run, job = max(each.seconds for each in chosen), max(each.makespan for each in chosen)
            if run > (deadline := deadlines[of.workload]):
                what = f"job class {of.name}: a run must end within {format_time(deadline)}"
                yield Miss(what, format_time(run), run)
            if of.limit is not None and job > of.limit:
                what = f"job class {of.name}: a job must end within its time limit of {format_time(of.limit)}"
                yield Miss(what, format_time(job), job)
        if not self.must_be_stable:
            return
        queue, most = self.of(attempt), self._scenario.limits.waiting
        if queue.figures is None:
            got = f"{queue.load:.3g} of {queue.capacity:.3g}: the queue grows without bound"
            yield Miss("load must be below what the policy lets nodes do", got, queue.load / queue.capacity)
        elif most is not None and queue.figures.waiting > most:
            what = f"mean waiting must be at most {format_time(most)}"
            yield Miss(what, format_time(queue.figures.waiting), queue.figures.waiting)

    def said(self, attempt: Attempt) -> Iterator[Said]:
        """Yield the caveats of the queue of a settled option."""
        mix, option = self._scenario.queue, attempt.option
        if mix is None:
            return
        yield from (Said(caveat, option.name, "queue") for caveat in self._caveats(attempt, mix))

    def _caveats(self, attempt: Attempt, mix: Mix) -> Iterator[Caveat]:
        queue, machine = self.of(attempt), attempt.option.machine
        yield from self._about_sharing(attempt, mix)
        if len({node.name for node in machine.nodes}) > 1:
            yield _caveat(
                "nodes differ, but are equal in the queue: the run time of each job is that on the first of them"
            )
        if attempt.option.name in self._without_curve:
            yield _caveat(
                "mean waiting times at other loads are left out, as they take too many jobs: compare other numbers of "
                "jobs instead"
            )
        if not mix.is_drawn and queue.load > 1:
            yield _caveat(
                "jobs request {share} of the nodes' time while they are submitted, so waits grow until the last one: "
                "figures hold for these jobs only",
                share=format_share(queue.load),
                size=queue.load,
            )
        elif queue.figures is None:
            yield _caveat(
                "the load is {load}, and nodes can process {able} at most: the queue grows without bound, so it has no "
                "mean waiting time",
                load=f"{queue.load:.3g}",
                able=f"{queue.capacity:.3g}",
                size=queue.load,
            )
        if queue.figures is None and attempt.option.costs is not None:
            yield _caveat("costs are those of nodes as busy as they can be, and of the jobs that they then run")

    def _about_sharing(self, attempt: Attempt, mix: Mix) -> Iterator[Caveat]:
        if mix.sharing is Sharing.NONE:
            yield _caveat(
                "run times of jobs are those on an empty machine: contention between jobs on its network is left out "
                "(queue: {{sharing: mix}} runs each beside others)"
            )
        cells = [each for by_ranks in attempt.jobs for each in by_ranks.values()]
        slower = max((_slower(each) for each in cells), default=0.0)
        if slower > _SLOWER and mix.sharing is Sharing.COPIES:
            text = "jobs take up to {share} longer beside copies of themselves than alone; other classes are left out"
            yield _caveat(text, share=format_share(slower), size=slower)
        if mix.sharing is not Sharing.MIX:
            return
        yield _caveat(
            "jobs take {share} longer than alone beside one typical mix of others: no node idle, all begin at once, "
            "the others run again and again",
            share=f"{'up to' if slower > _SLOWER else 'at most'} {format_share(max(slower, _SLOWER))}",
            size=max(slower, _SLOWER),
        )
        runs = dict.fromkeys(each.queued.possible[0].run for each in cells)
        if not all(map(is_replayed, runs)):
            yield _caveat("jobs predicted by a model or a skeleton keep that run time, and slow no other job")
        for warning in dict.fromkeys(w for run in runs for made in run.predictions for w in made.warnings):
            if isinstance(warning, Caveat):
                yield warning


def _caveat(text: str, size: float = 0.0, **figures: str) -> Caveat:
    return Caveat(About.PROGRAM, "queue", text, figures=figures, size=size)


def _takes(attempt: Attempt) -> Takes:
    """Return the demands of jobs by class and number of ranks."""
    return tuple(
        {ranks: Taken(each.nodes, each.queued.makespan) for ranks, each in by_ranks.items()}
        for by_ranks in attempt.jobs
    )


def _slower(of: JobCells) -> float:
    return of.queued.makespan / of.alone.makespan - 1
