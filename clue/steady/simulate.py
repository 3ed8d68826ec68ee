"""Sampled simulation: short replays of a plan's iterations give an estimate of the whole program's time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

import numpy as np
import numpy.typing as npt

from clue.caveats import About, Caveat
from clue.display import html, short_repr
from clue.kernel import Program, compile_program, engine_for, place, simulate
from clue.kernel.model.costs import Costs, bucket_lasts
from clue.kernel.model.turns import shares_in_turns
from clue.machine import Machine, Placement
from clue.result import RankResult, Result
from clue.steady.estimate import Doubles, Estimate, Late, Slopes, estimate
from clue.steady.excerpt import Source, bounds
from clue.steady.iterations import Integers
from clue.steady.plan import SampledLoop, Stratum, UnsteadyError, plan
from clue.steady.steadiness import per_iteration
from clue.trace import Trace
from clue.trace.store import check_trace
from clue.units import count_of, format_time

#: Widest acceptable interval, half its width as a share of the makespan; beyond it, slopes do not determine the rest.
WIDEST = 0.08
#: Largest acceptable difference between the time at the slopes of the strata and at later ones, as a share of the
#: makespan: beyond it, ranks take longer to fall into step than a sample lasts, and nobody knows what they end at.
OUT_OF_STEP = 0.01
#: Shortest acceptable iteration, in turns of a rank, or in times that a token bucket lasts: they carry over from one
#: iteration to the next, and every replay of a sample begins with new ones.
SHORTEST = 30


@dataclass(frozen=True, slots=True)
class Part:
    """A loop with some simulated iterations.

    Attributes:
        name: File and line of its statement.
        iterations: Number of its iterations.
        simulated: Number of simulated ones, in all replays.
    """

    name: str
    iterations: int
    simulated: int


@dataclass(frozen=True, slots=True, eq=False)
class Steady:
    """The outcome of a sampled simulation.

    Attributes:
        result: Figures of the whole program.
        of: Number of ops of the whole program; ``result.ops`` were simulated.
        loops: Loops that were simulated in part.
        low: Lower end of the makespan's 80 % interval, seconds.
        high: Its upper end.
        why: Why the whole program was replayed after all; ``""`` if it was not.
    """

    result: Result
    of: int
    loops: tuple[Part, ...]
    low: float
    high: float
    why: str = ""

    @property
    def reach(self) -> float:
        """Sampling error of the makespan's logarithm that is not exceeded in four of five cases."""
        return math.log(self.high / self.result.makespan) if self.result.makespan else 0.0

    def __repr__(self) -> str:
        """Return the makespan and the size of the sample."""
        return short_repr(self, format_time(self.result.makespan), f"{self.result.ops:,} of {count_of(self.of, 'op')}")

    def _repr_html_(self) -> str:
        facts = (
            ("makespan", format_time(self.result.makespan)),
            ("80 % interval", "" if self.why else f"{format_time(self.low)} to {format_time(self.high)}"),
            ("simulated", f"{self.result.ops:,} of {count_of(self.of, 'op')}"),
        )
        rows = [(each.name, f"{each.iterations:,}", f"{each.simulated:,}") for each in self.loops]
        notes = (*filter(None, (self.why,)), *self.result.warnings)
        return html("Sampled simulation", facts, ("loop", "iterations", "simulated"), rows, notes)


def simulate_sampled(
    trace: Trace,
    machine: Machine,
    placement: Placement | str | Sequence[int] = "block",
    engine: str = "auto",
    *,
    instances: int = 1,
    name: str = "",
) -> Steady:
    """Replay a part of a trace and estimate the time of all of it; if that fails, replay all and say why.

    Args:
        trace: Trace of the program, with call sites.
        machine: As for :func:`clue.simulate`, as are the following.
        placement: Where its ranks are.
        engine: Which engine replays.
        instances: Copies of the program that run side by side.
        name: Name of the program; by default that of its trace.

    Raises:
        UsageError: If there is no trace or machine, or the placement, the engine or the number of instances is invalid.
        ReplayError: If the trace contradicts itself.
        DeadlockError: If the program deadlocks in virtual time.
    """
    check_trace(trace)
    said = name or trace.name

    def whole() -> Program:
        return replace(compile_program(trace), name=said)

    return simulate_part(sample_of(trace, said), whole, machine, placement, engine, instances=instances)


def sample_of(trace: Trace, name: str = "") -> Sample | str:
    """Return the sample of a program, under a name, or the reason why no part of it determines the whole."""
    try:
        return Sample(Source.of(trace, name), plan(trace))
    except UnsteadyError as error:
        return str(error)


def simulate_part(
    sample: Sample | str,
    whole: Callable[[], Program],
    machine: Machine,
    placement: Placement | str | Sequence[int] = "block",
    engine: str = "auto",
    *,
    instances: int = 1,
) -> Steady:
    """Replay a part of a program and estimate the time of all of it; if that fails, replay all and say why.

    Args:
        sample: The part, or why there is none (:func:`sample_of`).
        whole: Returns all of the program.
        machine: As for :func:`clue.simulate`, as are the following.
        placement: Where its ranks are.
        engine: Which engine replays.
        instances: Copies of the program that run side by side.

    Raises:
        UsageError: If the placement, the engine or the number of instances is invalid.
        ReplayError: If the trace contradicts itself.
        DeadlockError: If the program deadlocks in virtual time.
    """
    why = f"{machine.name}: a sampled simulation must have a machine that stays as it is" if machine.changes else ""
    if isinstance(sample, str):
        why = sample
    elif not why:
        try:
            return sample.simulate(machine, place(machine, placement, sample.ranks * instances), engine, instances)
        except UnsteadyError as error:
            why = str(error)
    program = whole()
    result = simulate(program, machine, placement, engine, instances=instances)
    caveat = Caveat(
        About.PROGRAM,
        program.name,
        "the whole program was replayed, because a sample would not represent it: {why}",
        {"why": why},
    )
    result = replace(result, warnings=(*result.warnings, caveat))
    return Steady(result, result.ops, (), result.makespan, result.makespan, why)


class Sample:
    """A program and its iterations to simulate; it serves any number of machines.

    Args:
        source: The program.
        loops: The sampled loops.
    """

    def __init__(self, source: Source, loops: Sequence[SampledLoop]) -> None:
        self.source, self.loops = source, tuple(loops)
        self.ends = source.excerpt(list(self._outside()))
        self.blocks = [[self._runs(loop, stratum) for stratum in loop.strata] for loop in loops]
        self.late = [self._runs(loop, loop.late) if loop.late else () for loop in loops]

    def with_bursts(self, bursts: Integers) -> Sample:
        """Return the same iterations with other burst times: CPU nanoseconds before each op of the trace."""
        source = self.source
        return Sample(replace(source, trace=replace(source.trace, typical=bursts)), self.loops)

    def _outside(self) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Yield the spans around the sampled loops."""
        first, end = bounds(self.source.trace)
        for loop in self.loops:
            of = loop.stretch.bounds
            for at in np.flatnonzero(np.diff(loop.kept)) + 1:
                if loop.kept[at]:
                    first = of[:, at]
                else:
                    yield first, of[:, at]
        yield first, end

    def _runs(self, loop: SampledLoop, stratum: Stratum) -> tuple[Program, Program]:
        """Return the short and the long run of a stratum."""
        of, first, warm = loop.stretch.bounds, stratum.first, stratum.first + stratum.warm
        short = self.source.excerpt([(of[:, first], of[:, warm])])
        return short, self.source.excerpt([(of[:, first], of[:, warm + stratum.measured])])

    @property
    def ranks(self) -> int:
        """Number of ranks of the program."""
        return self.source.trace.ranks

    @property
    def ops(self) -> int:
        """Number of ops of one instance that are simulated."""
        return sum(each.ops for each in self._programs())

    @property
    def work(self) -> int:
        """Work of simulating one instance, by which the engine is chosen."""
        return sum(each.work for each in self._programs())

    def _programs(self) -> Iterator[Program]:
        yield self.ends
        for runs in chain(*self.blocks, self.late):
            yield from runs

    def simulate(self, machine: Machine, placement: Placement, engine: str, instances: int) -> Steady:
        """Simulate the sample on a machine.

        Raises:
            UnsteadyError: If the measurements differ too much to determine the rest.
        """
        engine = engine_for(self.work * instances, engine)

        def replayed(program: Program) -> Result:
            return simulate(program, machine, placement, engine, instances=instances)

        ends = replayed(self.ends)
        runs = [[(replayed(short), replayed(long)) for short, long in of_loop] for of_loop in self.blocks]
        costs = Costs(machine, placement, self.source.said.regions, self.source.said.host_speeds)
        ranks = Counter(placement.nodes)
        factors = 1.0 / np.array([costs.rates(machine.nodes[node], ranks[node]) for node in placement.nodes])
        late = [[replayed(run).makespan for run in of_loop] for of_loop in self.late]
        computing = [self._computing(loop, factors) for loop in self.loops]
        slopes = [
            self._slopes(loop, [long.makespan - short.makespan for short, long in of_loop], after, of_ranks)
            for loop, of_loop, after, of_ranks in zip(self.loops, runs, late, computing, strict=True)
        ]
        hidden = 0.0 if all(loop.coupled for loop in self.loops) else self._hidden(computing, factors)
        least, shortest = SHORTEST * _carried_over(machine, placement), min(each.seconds.min() for each in slopes)
        if max(shortest, 0.0) < least:
            raise UnsteadyError(
                f"{self.source.said.name}: not steady: iterations must take {format_time(least)} or more on "
                f"{machine.name}, as its turns or token buckets carry over from one to the next, got "
                f"{format_time(shortest)}"
            )
        told = estimate(slopes, hidden)
        result = self._whole(ends, runs, told, factors)
        if told.half > WIDEST * result.makespan:
            why = "iteration times differ so much"
            if hidden == told.half:
                why = "ranks drift apart, and may go on while others compute outside of the loops, so"
            raise UnsteadyError(
                f"{self.source.said.name}: not steady: {why} that the makespan would be known only to "
                f"± {told.half / result.makespan:.0%}"
            )
        if told.out_of_step > OUT_OF_STEP * result.makespan:
            raise UnsteadyError(
                f"{self.source.said.name}: not steady: ranks take long to fall into step on {machine.name}; after a "
                f"longer warm-up, iteration times would change the makespan by {told.out_of_step / result.makespan:.1%}"
            )
        return Steady(
            result,
            len(self.source.trace.ops) * instances,
            tuple(Part(each.stretch.name, each.iterations, each.simulated) for each in self.loops),
            result.makespan - told.half,
            result.makespan + told.half,
        )

    def _slopes(self, loop: SampledLoop, seconds: Sequence[float], late: Sequence[float], computing: Doubles) -> Slopes:
        parts = [each.part for each in loop.strata]
        wholes = [loop.stands_for(each) for each in loop.strata]
        if loop.coupled:
            # Coupled ranks wait for the slowest in each iteration; others only for the slowest over all iterations.
            computing = computing.max(axis=0, keepdims=True)
        slowest = computing[computing[:, ~loop.kept].sum(axis=1).argmax()]

        def of_part(part: Integers) -> float:
            return float(computing[:, part].mean(axis=1).max())

        after = None
        if loop.late:
            short, long = late
            part = loop.late.part
            at = float(np.interp(part.mean(), [each.mean() for each in parts], np.arange(len(parts))))
            after = Late((long - short) / len(part), of_part(part), at, len(part))
        return Slopes(
            np.array(seconds) / list(map(len, parts)),
            np.array(list(map(of_part, parts))),
            np.array([slowest[whole].mean() for whole in wholes]),
            np.array(list(map(len, wholes)), np.float64),
            np.array(list(map(len, parts)), np.float64),
            loop.coupled,
            after,
        )

    def _computing(self, loop: SampledLoop, factors: Doubles) -> Doubles:
        """Return each rank's computation in each iteration, seconds, shape (ranks of all instances, iterations)."""
        trace = self.source.trace
        scaled = np.zeros(len(trace.ops))
        found: list[Doubles] = []
        for copy in range(0, len(factors), trace.ranks):
            for rank, ends in enumerate(loop.stretch.bounds):
                rows = slice(ends[0], ends[-1])
                scaled[rows] = self._spent(rows, factors[copy + rank])
            found.extend(per_iteration(scaled, loop.stretch))
        return np.array(found)

    def _spent(self, rows: slice, of_region: Doubles) -> Doubles:
        """Return the computation before each of these ops, seconds; ``of_region`` are seconds per CPU second."""
        trace = self.source.trace
        return np.asarray(trace.bursts[rows] * 1e-9 * of_region[trace.ops.region[rows]])

    def _hidden(self, computing: Sequence[Doubles], factors: Doubles) -> float:
        """Return how much longer ranks compute outside of what is sampled than the slowest rank of the loops, seconds.

        Where ranks drift apart, the slowest may go on meanwhile.
        """
        in_loops = sum(each[:, ~loop.kept].sum(axis=1) for loop, each in zip(self.loops, computing, strict=True))
        spans, (begins, ends) = list(self._outside()), bounds(self.source.trace)
        found: list[list[float]] = []
        for number, of_region in enumerate(factors):
            rank = number % self.ranks
            begin = begins[rank]
            passed = np.append(0.0, np.cumsum(self._spent(slice(begin, ends[rank]), of_region)))
            found.append([passed[last[rank] - begin] - passed[first[rank] - begin] for first, last in spans])
        outside = np.array(found)
        return float((outside.max(axis=0) - outside[np.argmax(in_loops)]).sum())

    def _missed(self, loop: SampledLoop, factors: Doubles) -> Doubles:
        """Return how much more the iterations of a loop compute than the slopes say, seconds, shape (ranks, regions).

        Ranks are those of all instances. Slopes are corrected alike (:attr:`clue.steady.estimate.Slopes.moved`).
        """
        ops, bursts = self.source.trace.ops, self.source.trace.bursts
        counts = np.zeros(loop.stretch.iterations)
        for each in loop.strata:
            first, whole = each.first + each.warm, loop.stands_for(each)
            counts[whole] += 1
            counts[first : first + each.measured] -= len(whole) / each.measured
        found = np.zeros(factors.shape)
        for rank, ends in enumerate(loop.stretch.bounds):
            rows = slice(ends[0], ends[-1])
            missed = bursts[rows] * 1e-9 * np.repeat(counts, np.diff(ends))
            found[rank :: self.ranks] = np.bincount(ops.region[rows], missed, factors.shape[1])
        return found * factors

    def _whole(
        self, ends: Result, runs: Sequence[Sequence[tuple[Result, Result]]], told: Estimate, factors: Doubles
    ) -> Result:
        """Return the figures of the whole program; ``factors`` are seconds per CPU second, by rank and region."""
        figures, regions = _figures(ends), dict(ends.compute_by_region)
        for loop, of_loop in zip(self.loops, runs, strict=True):
            for stratum, (short, long) in zip(loop.strata, of_loop, strict=True):
                times = len(loop.stands_for(stratum)) / stratum.measured
                figures += (_figures(long) - _figures(short)) * times
                for region in regions:
                    regions[region] += (long.compute_by_region[region] - short.compute_by_region[region]) * times
            missed = self._missed(loop, factors)
            figures[1] += missed.sum(axis=1)
            for region, seconds in zip(self.source.said.regions, missed.sum(axis=0).tolist(), strict=True):
                regions[region] += seconds
        finish, compute, communicate = figures
        makespan = ends.makespan + told.seconds
        finish *= makespan / (finish.max() or 1.0)
        # The correction assumes that all ranks of a node compute at once, so it may be too large.
        compute = np.maximum(compute, 0.0)
        regions = {region: max(seconds, 0.0) for region, seconds in regions.items()}
        busy = compute + communicate
        finish = np.minimum(np.maximum(finish, busy), makespan)
        # An estimate without a correction may be shorter than a rank is busy.
        fits = np.divide(finish, busy, out=np.ones_like(busy), where=busy > finish)
        compute, communicate = fits * compute, fits * communicate
        share = float(compute.sum()) / (sum(regions.values()) or 1.0)
        wait = np.maximum(finish - compute - communicate, 0.0)
        ranks = tuple(
            RankResult(each.rank, each.node, float(a + b + c), float(a), float(b), float(c))
            for each, a, b, c in zip(ends.ranks, compute, communicate, wait, strict=True)
        )
        return replace(
            ends,
            makespan=max(each.finish for each in ranks),
            ranks=ranks,
            ops=self.ops * (len(factors) // self.ranks),
            compute_by_region={region: seconds * share for region, seconds in regions.items()},
        )


def _carried_over(machine: Machine, placement: Placement) -> float:
    """Return for how long a machine's state carries over to what ranks do next: turns and token buckets, seconds."""
    slices = [machine.nodes[node].time_slice for node in shares_in_turns(machine, placement)]
    types = {machine.nodes[node].name for node in placement.nodes} if len(set(placement.nodes)) > 1 else set()
    network = machine.network
    links = {network.link(one, other, same_node=False) for one, other in product(types, repeat=2)}
    return max((*slices, *(bucket_lasts(machine, link) for link in links)), default=0.0)


def _figures(result: Result) -> Doubles:
    return np.array([[getattr(each, name) for each in result.ranks] for name in ("finish", "compute", "communicate")])
