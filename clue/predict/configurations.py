"""Search by replays for the best processors of a machine and the best number of processes on each.

This is Kishimoto and Ichikawa's question, which models answer in :mod:`clue.models.search`. A replay needs
a trace with that number of ranks, so only such configurations are examined. Contention-free lower bounds show which of
them can be among the best; only those are replayed.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clue.errors import UsageError
from clue.kernel import Candidate, Program, contention_free, simulate
from clue.machine import Machine
from clue.models import ClusterModel, Configuration, Found, Use, ranks_of
from clue.models.model import ANY
from clue.predict.modelling import placed
from clue.progress import Progress, silent

#: Maximum number of configurations of a search.
MOST = 100_000


@dataclass(frozen=True, slots=True)
class ReplayedConfiguration:
    """A configuration and its replayed makespan.

    Attributes:
        uses: Processors used.
        seconds: Makespan.
        loss: Excess over the best time, as a share.
    """

    uses: Configuration
    seconds: float
    loss: float


@dataclass(frozen=True, slots=True)
class FoundByReplay:
    """Result of a search.

    Attributes:
        candidates: The best first; among equal times those with fewer processors first.
        total: Number of configurations with a trace.
        replayed: Number of replayed ones; by their bounds the others take longer.
    """

    candidates: tuple[ReplayedConfiguration, ...]
    total: int
    replayed: int

    @property
    def best(self) -> ReplayedConfiguration:
        """The best configuration."""
        return self.candidates[0]


@dataclass(frozen=True, slots=True)
class Beside:
    """Comparison of a model with replays.

    Attributes:
        replayed: Makespans of the model's candidates by their index from 0, where there is a trace, seconds.
        found: The best configurations by replays.
        modelled: The model's prediction for each of these, seconds; ``None`` where it has none.
        sharing: Kinds whose processes share more processors in replays than in the model.
    """

    replayed: Mapping[int, float]
    found: FoundByReplay
    modelled: tuple[float | None, ...]
    sharing: tuple[str, ...] = ()

    @property
    def loss(self) -> float | None:
        """Excess of the model's choice over the best replayed time, as a share; ``None``: it has no trace."""
        chosen, least = self.replayed.get(0), self.found.best.seconds
        return None if chosen is None or least <= 0 else chosen / least - 1


@dataclass(frozen=True, slots=True, eq=False)
class Replays:
    """Replays of a program on configurations of a machine, each made once.

    Attributes:
        programs: The program by number of ranks.
        machine: The machine.
        progress: Callback for progress.
    """

    programs: Mapping[int, Program]
    machine: Machine
    progress: Progress = silent
    _known: dict[tuple[tuple[str, Use], ...], float] = field(default_factory=dict)

    def seconds(self, uses: Configuration) -> float | None:
        """Return the makespan on a configuration; ``None`` without a trace of its number of ranks."""
        program = self.programs.get(ranks_of(uses))
        if program is None:
            return None
        key = tuple(sorted(uses.items()))
        if key not in self._known:
            self._known[key] = simulate(program, self.machine, placed(self.machine, uses)).makespan
        return self._known[key]

    def best(
        self, available: Mapping[str, int], processes: Mapping[str, Sequence[int]], *, keep: int = 20
    ) -> FoundByReplay:
        """Return the fastest configurations.

        Args:
            available: By kind, how many processors there are at most.
            processes: By kind, how many processes its processors may have each.
            keep: How many to return, at most.

        Raises:
            UsageError: If there is no configuration with the number of ranks of any trace, or there are more than
                :data:`MOST`.
        """
        wanted = list(self._wanted({kind: count for kind, count in available.items() if kind in processes}, processes))
        if not wanted:
            rule = "traces must be of numbers of ranks that its processors can have, got none"
            raise UsageError(f"{self.machine.name}: {rule}")
        bounds = self._bounds(wanted)
        order = sorted(range(len(wanted)), key=bounds.__getitem__)
        replayed = []
        worst: list[float] = []
        for done, i in enumerate(order):
            if len(worst) == keep and bounds[i] > -worst[0]:
                break
            self.progress("replaying configurations", done, len(order))
            seconds = self.seconds(wanted[i])
            assert seconds is not None, "it is wanted for its trace"
            replayed.append((seconds, wanted[i]))
            (heapq.heappush if len(worst) < keep else heapq.heappushpop)(worst, -seconds)
        replayed.sort(key=lambda each: (each[0], sum(use.processors for use in each[1].values()), ranks_of(each[1])))
        least = replayed[0][0]
        first = [
            ReplayedConfiguration(uses, seconds, seconds / least - 1 if least > 0 else 0.0)
            for seconds, uses in replayed[:keep]
        ]
        return FoundByReplay(tuple(first), len(wanted), len(replayed))

    def _wanted(self, available: Mapping[str, int], processes: Mapping[str, Sequence[int]]) -> Iterator[dict[str, Use]]:
        """Yield all configurations for whose number of ranks there is a trace."""
        most = max(self.programs, default=0)

        def made(kinds: Sequence[str], ranks: int) -> Iterator[dict[str, Use]]:
            if not kinds:
                yield {}
                return
            for m in processes[kinds[0]]:
                for p in range(1, min(available[kinds[0]], (most - ranks) // m) + 1):
                    for rest in made(kinds[1:], ranks + p * m):
                        yield {kinds[0]: Use(p, m), **rest}
            yield from made(kinds[1:], ranks)

        for looked, uses in enumerate(made(list(available), 0)):
            if looked >= MOST:
                advice = "allow fewer numbers of processes (--processes), or name traces of fewer ranks"
                rule = f"configurations must be at most {MOST:,} for replays, got more: {advice}"
                raise UsageError(f"{self.machine.name}: {rule}")
            if ranks_of(uses) in self.programs:
                yield uses

    def _bounds(self, wanted: Sequence[Configuration]) -> list[float]:
        """Return lower bounds of makespans, seconds."""
        found = [0.0] * len(wanted)
        by_ranks: dict[int, list[int]] = {}
        for i, uses in enumerate(wanted):
            by_ranks.setdefault(ranks_of(uses), []).append(i)
        for ranks, places in by_ranks.items():
            where = [Candidate(self.machine, placed(self.machine, wanted[i])) for i in places]
            seconds, _ = contention_free(self.programs[ranks], where)
            for i, bound in zip(places, seconds.tolist(), strict=True):
                found[i] = bound
        return found


def beside(
    model: ClusterModel,
    size: float,
    found: Found,
    replays: Replays,
    *,
    available: Mapping[str, int],
    processes: Mapping[str, Sequence[int]],
    keep: int,
) -> Beside:
    """Replay the best configurations of a model, and find the best by replays.

    Args:
        model: The model.
        size: N, of the problem.
        found: Result of its search.
        replays: Replays of the program at that size.
        available: By kind, how many processors there are at most.
        processes: By kind, how many processes its processors may have each.
        keep: How many of the best by replays to return, at most.

    Raises:
        UsageError: As :meth:`Replays.best`.
    """
    asked = {i: replays.seconds(each.uses) for i, each in enumerate(found.candidates)}
    of_model = {i: seconds for i, seconds in asked.items() if seconds is not None}
    best = replays.best(available, processes, keep=keep)
    uses = [each.uses for each in best.candidates]
    said = [model.predict(size, each).seconds if model.answers(size, each) else None for each in uses]
    shown = [*uses, *(found.candidates[i].uses for i in of_model)]
    sharing = dict.fromkeys(kind for each in shown for kind in _sharing(replays.machine, each))
    return Beside(of_model, best, tuple(said), tuple(sharing))


def _sharing(machine: Machine, uses: Configuration) -> Iterator[str]:
    """Yield kinds whose processes use only some processors of a node: in a replay they share all of them."""
    ranks_on = Counter(placed(machine, uses).nodes)
    for node, ranks in ranks_on.items():
        of = machine.nodes[node]
        kind = of.name if of.name in uses else ANY
        if kind in uses and uses[kind].processes > 1 and ranks < uses[kind].processes * of.processors:
            yield kind
