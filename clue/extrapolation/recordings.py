"""Execution of a plan: trials of the smallest recordings give the cost of the others; then all are made in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from clue.errors import RecordError, UsageError
from clue.execution.room import free_memory
from clue.extrapolation.admissible import ANY, Admissible
from clue.extrapolation.arguments import filled
from clue.extrapolation.pattern import Pattern
from clue.extrapolation.plan import Plan, Planned, Refused, Role, Sample, Wanted, estimate, planned, wanted
from clue.extrapolation.refusals import demands
from clue.progress import Progress, silent
from clue.recording import Launch, Request, recordings_of
from clue.trace import Trace
from clue.trace.computer import usable_processors
from clue.trace.place import remove_further
from clue.uncertainty import typical_recording

#: Maximum time of a recording made to estimate the cost of others, s.
PATIENCE = 60.0
#: Maximum share of the free memory for recordings.
_SHARE = 0.8
#: Default number of repeats of each recording.
REPEATS = 3
#: Maximum number of refused recordings before the first success, and in total; after that, no substitutes are tried.
_HOPELESS, _REFUSED = 8, 30


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans recordings of a program, and makes them.

    Attributes:
        program: Path of the script.
        arguments: Its arguments, with placeholders ``{size}`` and ``{ranks}``.
        progress: Callback for progress.
        cores: Cores of this computer that recordings may use.
        memory: Maximum memory of a recording, bytes.
    """

    program: Path
    arguments: tuple[str, ...]
    progress: Progress = silent
    cores: int = field(default_factory=usable_processors)
    memory: float = 0.0

    @classmethod
    def here(cls, program: Path, arguments: Sequence[str], progress: Progress) -> Planner:
        """Return a planner for the current state of this computer.

        Raises:
            UsageError: If no argument contains the size.
        """
        if not any("{size}" in word for word in arguments):
            raise UsageError(
                f"{program}: arguments must have {{size}} in the place of the problem's size, got "
                f"{' '.join(arguments) or 'none'}"
            )
        return cls(program, tuple(arguments), progress, usable_processors(), _SHARE * free_memory())

    def plan(
        self,
        target: Wanted,
        repeats: int = REPEATS,
        further: Iterable[Wanted] = (),
        takes: Admissible = ANY,
        *,
        try_all: bool = False,
    ) -> Plan:
        """Return the plan for a target; the smallest recordings are made to estimate its cost, and cached.

        A refused recording is replaced by a near one that meets all demands inferred from refused and accepted
        recordings.

        Args:
            target: The target's size and number of ranks.
            repeats: Number of repeats of each.
            further: Further recordings, for instance those that decide between rules.
            takes: Sizes and numbers of ranks that the program accepts.
            try_all: Whether to make each recording once, so that every refusal is known.

        Raises:
            UsageError: As :func:`clue.recording.recordings_of`; or if the program does not accept the target.
            RecordError: If no recording can be made, or the program refuses the target.
        """
        takes.check(target.size, target.ranks)
        if not wanted(target.size, target.ranks, takes):
            raise UsageError(f"--admissible {takes} must leave something to record, got nothing near what is planned")
        trial = _Trial(self, target, takes, tuple(further))
        while not trial.ends(try_all):
            self.progress("planning something else instead", 0, 0)
        return trial.plan(repeats, try_all)

    def make(self, plan: Plan, pattern: Pattern) -> None:
        """Make the recordings of a plan, all of them in turn, at the paths of a pattern.

        Cached recordings are reused. What an earlier run left at these paths is replaced, all of its repeats included.

        Raises:
            RecordError: If one cannot be made.
            UsageError: If there is something else than a trace.
        """
        made = recordings_of([self.request(each) for each in plan.recordings], plan.repeats, self.progress)
        for each, traces in zip(plan.recordings, made, strict=True):
            save_recordings(traces[: plan.repeats], partial(pattern.path, each.size, each.ranks))

    def request(self, what: Wanted | Planned) -> Request:
        """Return the request for a recording."""
        return Request(Launch(self.program, filled(self.arguments, what.size, what.ranks), what.ranks))


@dataclass(slots=True)
class _Trial:
    """State of the trial of a program's recordings.

    Attributes:
        planner: Planner that records it.
        target: The target.
        said: Sizes and numbers of ranks that it accepts, as stated.
        further: Further recordings wanted.
        taken: Recordings made, with their cost.
        why: Reasons why others failed.
        roles: Recordings that were refused at once, with their purposes.
        learned: Sizes and numbers of ranks that it seems to accept.
        wanted: Recordings wanted among these, by purpose.
    """

    planner: Planner
    target: Wanted
    said: Admissible
    further: tuple[Wanted, ...]
    taken: dict[Wanted, Sample] = field(default_factory=dict)
    why: dict[Wanted, str] = field(default_factory=dict)
    roles: dict[Wanted, Role | None] = field(default_factory=dict)
    learned: Admissible = ANY
    wanted: dict[Role, Wanted] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._plan_again()

    def ends(self, try_all: bool) -> bool:
        """Make wanted recordings, the smallest or all that fit in memory; return false once one cannot be made.

        Raises:
            RecordError: If none can be made, or the target cannot.
        """
        return all(map(self._made, self._smallest())) and (not try_all or all(map(self._made, self._that_fit())))

    def plan(self, repeats: int, tried: bool) -> Plan:
        """Return the plan from the current state.

        Raises:
            RecordError: If nothing was recorded.
        """
        if not self._samples():
            raise RecordError(list(dict.fromkeys(self.why.values())))
        found = planned(
            self.target,
            self._samples(),
            cores=self.planner.cores,
            memory=self.planner.memory,
            repeats=repeats,
            recordable=self._recordable(),
        )
        refused = tuple(Refused(each.size, each.ranks, why, self._instead(each)) for each, why in self.why.items())
        return replace(found, takes=self.said, learned=self.learned, refused=refused, tried=tried)

    def _made(self, what: Wanted) -> bool:
        if what not in self.taken:
            self.planner.progress(f"recording {what}, to see what it needs", len(self.taken), len(self._recordable()))
            try:
                (traces,) = recordings_of([self.planner.request(what)], 1)
            except RecordError as error:
                self._learn(what, error)
                return False
            self.taken[what] = _sample(what, traces[0])
        return True

    def _learn(self, what: Wanted, error: RecordError) -> None:
        """Infer demands from a recording that could not be made."""
        role = next((role for role, each in self.wanted.items() if each == what), None)
        self.why[what] = _why(error)
        if what == self.target or not (self.taken or (error.refused and len(self.why) < _HOPELESS)):
            raise RecordError([*self.why.values()][:-1] + list(error.faults))
        if error.refused:
            self.roles[what] = role
            if len(self.roles) <= _REFUSED:
                self.learned = Admissible(demands(self.target, tuple(self.roles), tuple(self.taken)))
        self._plan_again()

    def _plan_again(self) -> None:
        found = wanted(self.target.size, self.target.ranks, self.said.also(self.learned.demands))
        self.wanted = {role: each for role, each in found.items() if each not in self.why}

    def _instead(self, what: Wanted) -> Wanted | None:
        """Return the substitute for a refused recording, by its purpose."""
        role = self.roles.get(what)
        return None if role is None else self.wanted.get(role)

    def _recordable(self) -> list[Wanted]:
        """Return the wanted recordings, the smallest first; if none are left, those that were made."""
        further = {each for each in self.further if self.said.holds(each.size, each.ranks)} - self.why.keys()
        return sorted({*self.wanted.values(), *further} or self.taken.keys())

    def _smallest(self) -> Iterator[Wanted]:
        """Yield each size on its smallest number of ranks, as long as that is cheap."""
        for what in _on_fewest(self._recordable()):
            samples = self._samples()
            if samples and what not in self.taken and not self._is_little(estimate(samples, what, self.planner.cores)):
                return
            yield what

    def _samples(self) -> list[Sample]:
        """Return the cost of each size on its smallest number of ranks."""
        return [self.taken[each] for each in _on_fewest(self._recordable()) if each in self.taken]

    def _that_fit(self) -> list[Wanted]:
        """Return the recordings that fit in memory, those on few ranks first, where a refusal costs little."""
        fit = [Wanted(each.size, each.ranks) for each in self.plan(1, True).recordings]
        return sorted(fit, key=lambda each: (each.ranks, each.size))

    def _is_little(self, expected: Planned) -> bool:
        return expected.seconds <= PATIENCE and expected.memory <= self.planner.memory


def _on_fewest(recordings: Sequence[Wanted]) -> list[Wanted]:
    """Return the recording of each size on its smallest number of ranks, by size."""
    first: dict[int, Wanted] = {}
    for each in sorted(recordings):
        first.setdefault(each.size, each)
    return list(first.values())


def _why(error: RecordError) -> str:
    """Return the reason of an error, without the output of the ranks."""
    return ": ".join(error.faults[-1].split(": ")[:2])


def save_recordings(traces: Sequence[Trace], place: Callable[[int], Path]) -> None:
    """Save the recordings of a run as ``clue record --repeats`` does: the first has the typical bursts.

    Further recordings there, of an earlier run with more repeats, are removed.

    Raises:
        UsageError: If something else than a trace is there.
    """
    first = typical_recording(traces)
    saved = [first, *(each for each in traces if each.path != first.path)]
    for repeat, trace in enumerate(saved, 1):
        trace.save(place(repeat))
    remove_further(len(saved), place)


def _sample(what: Wanted, trace: Trace) -> Sample:
    heads = trace.head.rank_heads
    work = float(trace.bursts.sum()) * 1e-9
    alone = max(sum(head.cpu for head in heads) - work, 0.0) / len(heads)
    return Sample(what.size, what.ranks, work, alone, sum(head.peak_memory for head in heads) / len(heads))
