"""Predictions by replays: the trace of each application is replayed on the requested machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path, PurePath

import numpy as np
import numpy.typing as npt

from clue.caveats import About, Caveat
from clue.errors import UsageError, written_at
from clue.kernel import (
    ComputationBounds,
    Program,
    compile_program,
    contention_free,
    engine_for,
    is_awaited,
    reason_for,
    simulate,
    with_bursts,
)
from clue.predict.application import PLACEHOLDER, Application, Key, names_apart
from clue.predict.beside import predict_beside
from clue.predict.executors import PROCESSES, Pool
from clue.predict.prediction import Prediction, Task, prediction_of
from clue.predict.predictor import Doubles, Predictor
from clue.progress import Progress
from clue.result import Result
from clue.steady import Sample, Steady, sample_of, simulate_part
from clue.trace import Trace
from clue.trace.programs import other_programs
from clue.trace.store import check_trace
from clue.uncertainty import BurstNoise, Character, Sampling, draw, is_uncertain, noise_of_recordings, typical_recording
from clue.uncertainty.makespans import Known, deviation_bound, draw_candidate, parts
from clue.units import count_of, format_number

#: Returns the trace of an application at a number of ranks; the caller records it if necessary.
TraceSource = Callable[[Application, int], Trace]
#: Returns applications with their traces named; it gets all of them at once, before it records missing traces.
Recorder = Callable[[Sequence[Key]], Sequence[Application]]
#: Cost of describing a machine to the engine, as an equivalent number of replayed ops.
_OPS_FOR_A_MACHINE = 200_000
#: Maximum number of ops of a replay with a timeline, which takes a few seconds.
MOST_WATCHED = 250_000
#: Advice to users who cannot record on that number of ranks.
EXTRAPOLATE = "extrapolate it from recordings of smaller sizes on fewer ranks (clue extrapolate --plan says which)"


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """An application ready to replay at one number of ranks.

    Attributes:
        program: Program to replay.
        memory: Peak memory of each rank when recorded, bytes.
        noise: Variation between its recordings, if there are several.
        sample: The sampled iterations, or why none represent all; ``None``: everything is replayed.
        origin: What was recorded, if it was recorded under MPI.
        remark: How its recordings at other numbers of ranks differ from it, if they do.
    """

    program: Program
    memory: tuple[float, ...]
    noise: BurstNoise | None = None
    sample: Sample | str | None = None
    origin: Origin | None = None
    remark: Caveat | None = None

    @property
    def work(self) -> int:
        """Work of a replay, by which the engine is chosen."""
        return (self.sample if isinstance(self.sample, Sample) else self.program).work


@dataclass(frozen=True, slots=True)
class Origin:
    """What a trace is a recording of.

    Attributes:
        trace: Name of the trace.
        program: Name of the program's file.
        arguments: Its arguments.
    """

    trace: str
    program: str
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, trace: Trace) -> Origin | None:
        """Return the origin of a recorded trace; ``None`` for one that was converted or built, which may have none."""
        if not trace.head.mpi:
            return None
        return cls(trace.name, PurePath(trace.head.program).name, trace.head.arguments)


def must_be_one_program(origins: Sequence[Origin]) -> None:
    """Check that traces that share a name, but for the number of ranks, record one program.

    Raises:
        UsageError: If they do not; lists all faults.
    """
    faults = list(other_programs((each.trace, each.program) for each in origins))
    if faults:
        raise UsageError(faults)


def as_named(wanted: Sequence[Key]) -> Sequence[Application]:
    """Return applications as they are, with the traces that they name themselves."""
    return [application for application, _ in wanted]


def recording(application: Application, ranks: int, traces: TraceSource) -> tuple[Trace, BurstNoise | None]:
    """Return the typical recording of an application, and the variation between its recordings if there are several.

    Raises:
        UsageError: If the source gives something else than a trace, or recordings are not for this number of ranks.
        TraceError: If one is unusable.
    """
    paths = [application.trace, *application.repeats]
    found = [traces(replace(application, trace=path, repeats=()), ranks) for path in paths]
    for trace in found:
        check_trace(trace)
        if trace.ranks != ranks:
            with written_at(application.place):
                raise UsageError(
                    f"{trace.name}: trace must have {count_of(ranks)}, got {trace.ranks}. Ask for ranks: "
                    f"{trace.ranks}, as a recording serves one number of ranks; or name traces with {PLACEHOLDER} and "
                    f"{record_on(ranks)}; or {EXTRAPOLATE}"
                )
    return _checked(application, typical_recording(found), ranks), noise_of_recordings(found)


def _checked(application: Application, trace: Trace, ranks: int) -> Trace:
    """Return the trace of an application that also names a script, with a note if its arguments are others.

    Raises:
        UsageError: If the trace records another program: the script would be left out without a word.
    """
    origin = Origin.of(trace)
    if application.script is None or application.extrapolated is not None or origin is None:
        return trace
    if origin.program != application.script.name:
        with written_at(application.place):
            rule = f"trace must record the script {application.script.name} beside it, or be named without a script"
            raise UsageError(f"{trace.name}: {rule}, got a recording of {origin.program or 'no program'}")
    wanted = tuple(word.replace(PLACEHOLDER, str(ranks)) for word in application.arguments)
    if wanted == trace.head.arguments:
        return trace
    words, got = (" ".join(each) or "none" for each in (wanted, trace.head.arguments))
    said = f"the trace is replayed, whose arguments ({got}) are not those of the script beside it ({words})"
    return replace(trace, head=replace(trace.head, notes=(*trace.head.notes, said)))


def record_on(ranks: int, trace: str = "") -> str:
    """Return the advice to record a program on a number of ranks."""
    output = f" -o {trace}" if trace else ""
    return (
        f"record the program on {count_of(ranks)} (clue record -n {ranks}{output}): this computer will do, more ranks "
        "than cores are fine as long as memory lasts"
    )


def computing_regions(program: Program) -> list[str]:
    """Return the regions in which a program computes."""
    cpu = program.cpu_by_region
    return [region for i, region in enumerate(program.regions) if any(of_rank[i] for of_rank in cpu)]


class ReplayPredictor(Predictor):
    """Predicts the times of applications by replaying their recordings.

    Args:
        traces: Source of traces.
        recorder: Gets all wanted traces before any is requested, and records programs without a trace.
        engine: Engine of the kernel.
        executor: Executor: ``"processes"``, ``"mpi"`` or ``"dask://HOST:PORT"``; figures do not depend on it.
        workers: Number of processes, which are started when there is enough work. They import the script that asks for
            them, so it must do so below ``if __name__ == "__main__":``.
        sampled: Whether to replay only a sample of the iterations where it represents all (:mod:`clue.steady`).

    Raises:
        UsageError: If the source is no function, or the executor or the number of workers cannot be used.
    """

    def __init__(
        self,
        traces: TraceSource,
        recorder: Recorder = as_named,
        *,
        engine: str = "auto",
        executor: str = PROCESSES,
        workers: int = 1,
        sampled: bool = False,
    ) -> None:
        if not callable(traces):
            rule = "traces must be a function of an application and a number of ranks that returns a trace"
            raise UsageError(f"{rule}, got {traces!r}")
        self._sampled = sampled
        self._traces = traces
        self._recorder = recorder
        self._asked = self._engine = engine
        self._work = 0
        self._workers = workers
        self._recorded: dict[Key, Recorded] = {}
        self._pool = Pool(partial(_replayed, self._recorded), executor, workers, lambda: is_awaited(self._engine))

    @property
    def why(self) -> str:
        """The reason why the engine is used."""
        return reason_for(self._asked, self._engine, self._work)

    def prepare(self, wanted: Mapping[Key, str], progress: Progress) -> None:
        """Record or read the missing traces.

        Raises:
            UsageError: If a trace is for another number of ranks.
            TraceError: If a trace is unusable.
        """
        new = [key for key in wanted if key not in self._recorded]
        files = {key: Path(key[0].trace or key[0].file) for key in (*self._recorded, *new)}
        names = names_apart(files.values())
        for i, (key, application) in enumerate(zip(new, self._recorder(new), strict=True)):
            progress(f"reading {wanted[key]}", i, len(new))
            trace, noise = recording(application, key[1], self._traces)
            program = compile_program(trace)
            sample = sample_of(trace) if self._sampled else None
            # Draws belong to programs by name, so traces of one name in several folders get names that differ.
            apart = names[files[key]].replace(PLACEHOLDER, str(key[1]))
            name = apart if PurePath(apart).name == program.name else program.name
            # A split is tried only where the memory suffices, so its replay need not check that.
            replayed = replace(program, name=name, memory=())
            self._recorded[key] = Recorded(replayed, program.memory, noise, sample, Origin.of(trace))
        for application in dict.fromkeys(application for application, _ in new if application.trace is not None):
            self._compare_origins(application)
        if new:
            # Workers that exist already, as for steps beyond the budget, have only the traces of their start.
            self._pool.renew()

    def _compare_origins(self, application: Application) -> None:
        """Compare what an application's traces record, as one name stands for all numbers of ranks.

        Raises:
            UsageError: If they record different programs.
        """
        numbers = sorted(ranks for each, ranks in self._recorded if each == application)
        origins = {ranks: origin for ranks in numbers if (origin := self._recorded[application, ranks].origin)}
        must_be_one_program(list(origins.values()))
        # A word that is the same everywhere does not stand for the number of ranks, even if it is equal to one.
        same = [len(set(words)) == 1 for words in zip_longest(*(origin.arguments for origin in origins.values()))]
        alike: dict[tuple[str, ...], list[str]] = {}
        for ranks, origin in origins.items():
            words = zip(origin.arguments, same, strict=False)
            named = tuple(PLACEHOLDER if word == str(ranks) and not fixed else word for word, fixed in words)
            alike.setdefault(named, []).append(format_number(ranks))
        if len(alike) < 2:
            return
        text = "its arguments differ by number of ranks ({each}), so splits may not do the same work"
        each = "; ".join(f"{' '.join(named) or 'none'} on {', '.join(on)}" for named, on in alike.items())
        for ranks in origins:
            recorded = self._recorded[application, ranks]
            remark = Caveat(About.PROGRAM, recorded.program.name, text, {"each": each})
            self._recorded[application, ranks] = replace(recorded, remark=remark)

    def memory(self, key: Key) -> Sequence[float]:
        """Return the recorded peak memory of each rank."""
        return self._recorded[key].memory

    def regions(self, key: Key) -> Mapping[str, bool]:
        """Return the regions with bursts, and whether their operations were declared."""
        program = self._recorded[key].program
        return {region: region in program.host_speeds for region in computing_regions(program)}

    def outlook(self, tasks: Sequence[Task], samples: int = 0) -> Doubles:
        """Bound makespans by computation alone, and choose the engine by the total work of all these tasks."""
        work = sum(self._recorded[task.key].work * task.where.instances for task in tasks)
        self._work = work * (1 + samples)
        self._engine = engine_for(self._work, self._asked)
        common = {key: ComputationBounds(self._recorded[key].program) for key in {task.key: None for task in tasks}}
        return np.array([common[task.key].of(task.where.machine, task.where.placement) for task in tasks])

    def bounds(self, tasks: Sequence[Task], progress: Progress) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        """Bound makespans by replays without contention (:func:`clue.kernel.contention_free`).

        If only a sample of an application is replayed, the bound does not replay all ops: it is by computation alone.
        """
        seconds, exact = np.empty(len(tasks)), np.empty(len(tasks), np.bool_)
        by_key = _by_key(tasks, range(len(tasks)))
        work = {key: self._recorded[key].program.ops + _OPS_FOR_A_MACHINE for key in by_key}
        total, before = sum(work[key] * len(places) for key, places in by_key.items()), 0
        for key, places in by_key.items():

            def tell(done: int, before: int = before, work: int = work[key]) -> None:
                progress("bounding", (before + done * work) * len(tasks) // total, len(tasks))

            if not before:
                progress("bounding", 0, len(tasks))
            seconds[places], exact[places] = contention_free(
                self._recorded[key].program,
                [tasks[i].where for i in places],
                tell,
                engine="reference" if isinstance(self._recorded[key].sample, Sample) else self._engine,
                workers=self._workers,
            )
            before += work[key] * len(places)
        return seconds, exact

    def at_work(self) -> AbstractContextManager[object]:
        """Return the block within which the replaying processes exist."""
        return self._pool

    def predict(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Prediction]]:
        """Replay each task."""
        # How many ops of neighbours are replayed beside a task is not known beforehand.
        return self._pool.perform([(task, self._asked if task.beside else self._engine) for task in tasks])

    def watched(self, task: Task) -> Result | None:
        """Replay a task by the reference, the only engine with timelines, if that takes no more than a few seconds."""
        program, where = self._recorded[task.key].program, task.where
        if program.ops * where.instances > MOST_WATCHED:
            return None
        return simulate(program, where.machine, where.placement, "reference", instances=where.instances, timeline=True)

    def character(self, task: Task, makespan: float) -> Character:
        """Return the character of the prediction: its share of communication and the size of its messages."""
        return Character.of(self._recorded[task.key].program, task.where, makespan)

    def deviation(self, task: Task) -> float | None:
        """Return the noise stated by the machine and by repeated recordings."""
        machine, noise = task.where.machine, self._recorded[task.key].noise
        return deviation_bound(machine, noise) if is_uncertain(machine, noise) else None

    def samples(self, tasks: Sequence[Task], sampling: Sampling, progress: Progress) -> Doubles:
        """Replay many samples at once where only messages couple the ranks, the others one by one."""
        found = np.full((len(tasks), sampling.samples), np.nan)
        told = partial(progress, "samples of the noise")
        self._sweep(tasks, sampling, found, told)
        samples, left = sampling.each(), np.argwhere(np.isnan(found)).tolist()
        one_by_one = self.predict([replace(tasks[i], sample=samples[k]) for i, k in left])
        for done, (place, prediction) in enumerate(one_by_one, start=1 + found.size - len(left)):
            found[tuple(left[place])] = prediction.makespan
            told(done, found.size)
        return found

    def _sweep(
        self, tasks: Sequence[Task], sampling: Sampling, found: Doubles, told: Callable[[int, int], None]
    ) -> None:
        """Fill in the makespans of sweeps over many samples."""
        before = 0
        alone = [
            i
            for i, task in enumerate(tasks)
            if task.where.coupled_by_messages_alone and not isinstance(self._recorded[task.key].sample, Sample)
        ]
        for key, places in _by_key(tasks, alone).items():
            program, noise = self._recorded[key].program, self._recorded[key].noise
            for part in parts(sampling.each(), program.ops * len(places)):
                known: Known = {}
                drawn = [
                    draw_candidate(program, tasks[i].where, sample, noise, known) for i in places for sample in part
                ]

                def tell(done: int, before: int = before) -> None:
                    told(before + done, found.size)

                seconds, exact = contention_free(program, drawn, tell, engine=self._engine, workers=self._workers)
                table = np.where(exact, seconds, np.nan).reshape(len(places), len(part))
                found[places, part[0].number : part[-1].number + 1] = table
                before += len(drawn)


def _by_key(tasks: Sequence[Task], places: Iterable[int]) -> Mapping[Key, list[int]]:
    """Return indices of tasks by their application."""
    found: dict[Key, list[int]] = {}
    for i in places:
        found.setdefault(tasks[i].key, []).append(i)
    return found


def _replayed(library: Mapping[Key, Recorded], given: tuple[Task, str]) -> Prediction:
    prediction, remark = _replayed_once(library, given), library[given[0].key].remark
    return prediction if remark is None else replace(prediction, warnings=(*prediction.warnings, remark))


def _replayed_once(library: Mapping[Key, Recorded], given: tuple[Task, str]) -> Prediction:
    task, engine = given
    recorded, where = library[task.key], task.where
    if task.beside:
        return predict_beside({key: each.program for key, each in library.items()}, task, engine)
    if recorded.sample is not None:
        return _replayed_in_part(recorded, recorded.sample, task, engine)
    program, machine = recorded.program, where.machine
    if task.sample is not None:
        # Drawn in the worker rather than sent to it: a sample is the same in every process.
        program, machine = draw(program, machine, where.placement, task.sample, recorded.noise)
    return prediction_of(task, partial(simulate, program, machine, where.placement, engine, instances=where.instances))


def _replayed_in_part(recorded: Recorded, sample: Sample | str, task: Task, engine: str) -> Prediction:
    program, where = recorded.program, task.where
    if task.sample is not None:
        where = draw_candidate(program, where, task.sample, recorded.noise)
        if where.bursts is not None:
            program = with_bursts(program, where.bursts)
            sample = sample.with_bursts(where.bursts) if isinstance(sample, Sample) else sample
    found: list[Steady] = []

    def result() -> Result:
        found.append(
            simulate_part(sample, lambda: program, where.machine, where.placement, engine, instances=where.instances)
        )
        return found[0].result

    prediction = prediction_of(task, result)
    if not found or found[0].why:
        return prediction
    reach = found[0].reach
    said = Caveat(
        About.PROGRAM,
        program.name,
        "a part of its iterations was replayed, so that the makespan is uncertain by {reach}",
        figures={"reach": f"{math.expm1(reach):.1%}"},
        size=reach,
    )
    return replace(prediction, reach=reach, warnings=(*prediction.warnings, said))
