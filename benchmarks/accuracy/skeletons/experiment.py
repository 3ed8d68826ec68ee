"""The experiment: record each program, make its skeletons, and run all of them in every setting of the cluster.

Recordings, skeletons and runs stay in a folder: an interrupted study continues. Failed runs are reported and left out;
the next call tries them again.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec

from benchmarks.accuracy.skeletons.cases import ALONE, APPLICATION, SMALL, STUDIED, Setting, StudyProgram
from benchmarks.accuracy.skeletons.figures import APPLICATION as WHOLE
from benchmarks.accuracy.skeletons.figures import CLASS_S, Measured, SkeletonFacts, skeleton_name
from benchmarks.accuracy.skeletons.making import SUFFIXES, document, facts, made, making_of_a_million, program_of
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.testbed import launch
from benchmarks.testbed.description import Host
from benchmarks.testbed.experiment import on_demand
from benchmarks.testbed.launch import RankFigures
from benchmarks.testbed.truth import hosts_at
from clue.errors import ClueError

P = ParamSpec("P")
#: Startup time of a run, s; and its timeout, as a multiple of the expected time.
_START, _PATIENCE = 1.5, 10.0
#: Short skeletons are repeated: total time of the repeats, s, and their maximum number. The median counts.
_TOGETHER, _MOST_REPEATS = 2.0, 3
#: Number of runs of the small class; and of the application on the dedicated cluster, as all predictions rest on its
#: time: runs of the same program there differ by up to 5 %.
_SMALL_RUNS, _DEDICATED_RUNS = 2, 3

#: A function that makes a skeleton in a file from a trace, the program's time and the skeleton's length (both in
#: seconds). It returns the document that :func:`facts` reads.
Maker = Callable[[Path, float, float, Path], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to run.

    Attributes:
        name: Its name in tables.
        command: The command of each rank; it prints a JSON document with ``seconds``.
        length: Approximate time on the dedicated cluster, seconds.
        runs: Number of runs.
        written_in: The language of a skeleton.
    """

    name: str
    command: Sequence[str]
    length: float
    runs: int = 1
    written_in: str = ""

    def planned(self, setting: Setting) -> float:
        """Return the approximate time of a run in a setting, including its start, seconds."""
        return _START + self.length * setting.slower


@dataclass(slots=True)
class Progress:
    """Reports the current work, and the remaining time.

    Attributes:
        tell: Called with reports.
        planned: Total time of finished and remaining runs if they were made in sequence, seconds.
    """

    tell: Callable[[str], None]
    planned: float = 0.0
    _done: float = 0.0
    _began: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, planned: float) -> None:
        """Start with a planned total time of runs, seconds."""
        self.planned, self._done, self._began = planned, 0.0, time.monotonic()

    def over(self, what: str, planned: float) -> None:
        """Report the end of a run that was planned to take the given time."""
        with self._lock:
            self._done += planned
            left = (time.monotonic() - self._began) / self._done * (self.planned - self._done)
            self.tell(f"{what}; {self._done / self.planned:.0%} done, about {left / 60:.0f} min left")


@dataclass(frozen=True, slots=True)
class Study:
    """The measurements of the study.

    Attributes:
        programs: The programs.
        scenarios: Settings besides the dedicated cluster.
        seconds: Lengths of skeletons.
        measured: Keeps recordings, skeletons and runs.
        abreast: Number of programs measured simultaneously, each on a cluster of its own.
        tell: Called with the current work.
        maker: Makes skeletons.
        iterations: Iterations of applications; 0: those of their class.
        language: Language of skeletons, a key of ``SUFFIXES``.
    """

    programs: Sequence[StudyProgram]
    scenarios: Sequence[Setting]
    seconds: Sequence[float]
    measured: MeasurementFolder
    abreast: int
    tell: Callable[[str], None]
    maker: Maker = made
    iterations: int = 0
    language: str = "c"

    @property
    def settings(self) -> list[Setting]:
        """The dedicated cluster, then the others."""
        return [ALONE, *self.scenarios]

    # --- preparation ---

    def prepare(self) -> None:
        """Record all programs on the dedicated cluster, run them there, and make their skeletons."""
        with ThreadPoolExecutor(self.abreast) as workers:
            list(workers.map(self._begin, self.programs))
        for program in self.programs:
            for seconds in self.seconds:
                if self._application_alone(program) is not None and self._trace(program).exists():
                    self._try(f"making the skeleton of {program.name} of {seconds:g} s", self._make, program, seconds)
        self._try("making the skeleton of a million ops", self._make_million)

    def _try(self, what: str, do: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            do(*args, **kwargs)
        except ClueError as error:
            self.tell(f"{what} failed: {error}")

    def _begin(self, program: StudyProgram) -> None:
        hosts = hosts_at(ALONE.file)
        subject, name = next(self._all(program, ALONE))
        with on_demand(f"recording-{program.name}", hosts) as testbed:
            self._try(f"recording {program.name}", self._record, program, testbed, hosts)
            self._try(f"{program.name}, {ALONE.words}: {subject.name}", self._run_one, testbed, hosts, subject, name)

    def _application_alone(self, program: StudyProgram) -> float | None:
        """Return the time of a program on the dedicated cluster, seconds, if it has run there."""
        _, name = next(self._all(program, ALONE))
        known = (self.measured.folder / f"{name}.json").exists()
        return float(self.measured.get(name, _nothing)["seconds"]) if known else None

    def _trace(self, program: StudyProgram) -> Path:
        return self.measured.folder / f"{program.name}.clue"

    def _record(self, program: StudyProgram, testbed: Callable[[], str], hosts: Sequence[Host]) -> None:
        def record() -> dict[str, float]:
            self.tell(f"recording {program.name}")
            target, draft = self._trace(program), self.measured.folder / f"{program.name}.draft.clue"
            for each in (target, draft):
                shutil.rmtree(each, ignore_errors=True)
            layer = [sys.executable, "-m", "virtual_layer", "-q", "-o", str(draft.resolve())]
            output = _run(testbed(), hosts, [*layer, *self._application(program)], APPLICATION * _PATIENCE)
            draft.rename(target)
            return {"seconds": _seconds(output)}

        self.measured.get(f"{program.name}-recording", record)

    def _application(self, program: StudyProgram) -> list[str]:
        return [str(program.script), STUDIED, *([str(self.iterations)] if self.iterations else [])]

    def _make_million(self) -> None:
        self.measured.get("million", lambda: making_of_a_million(self.measured.folder))

    def _make(self, program: StudyProgram, seconds: float) -> None:
        application = self._application_alone(program)
        assert application is not None, "it has run"

        def make() -> dict[str, Any]:
            self.tell(f"making the skeleton of {program.name} of {seconds:g} s")
            return self.maker(self._trace(program), application, seconds, self._skeleton(program, seconds))

        self.measured.get(self._skeleton(program, seconds).stem, make)

    def _skeleton(self, program: StudyProgram, seconds: float) -> Path:
        return self.measured.folder / f"{program.name}-{self.language}-skeleton-{seconds:g}{SUFFIXES[self.language]}"

    # --- measurements ---

    def measure(self, after: Callable[[], None] = lambda: None) -> None:
        """Run everything in every setting; call ``after`` whenever a program is finished."""
        progress = Progress(self.tell)
        progress.begin(sum(subject.planned(setting) for *_, setting, subject, _ in self._missing()))
        lock, stopped = threading.Lock(), threading.Event()

        def measure(program: StudyProgram) -> None:
            for setting in self.settings:
                self._measure(program, setting, progress, stopped)
            with lock:
                after()

        with ThreadPoolExecutor(self.abreast) as workers:
            try:
                list(workers.map(measure, self.programs))
            except BaseException:  # Wait for active runs first.
                stopped.set()
                raise

    def subjects(self, program: StudyProgram) -> Iterator[Subject]:
        """Yield the subjects to run for a program."""
        yield Subject(WHOLE, [sys.executable, *self._application(program)], APPLICATION)
        for seconds in self.seconds:
            file = self._skeleton(program, seconds)
            if file.exists() and file.with_suffix(".json").exists():
                repeats = max(1, min(int(_TOGETHER / seconds), _MOST_REPEATS))
                command = [*program_of(file.resolve()), "--json", "--repeats", str(repeats)]
                yield Subject(skeleton_name(seconds), command, seconds * repeats, written_in=self.language)
        yield Subject(CLASS_S, [sys.executable, str(program.script), SMALL], 0.5, _SMALL_RUNS)

    def _all(self, program: StudyProgram, setting: Setting) -> Iterator[tuple[Subject, str]]:
        """Yield each run of a program in a setting, with the name of its file."""
        for subject in self.subjects(program):
            for turn in range(_DEDICATED_RUNS if subject.name == WHOLE and setting == ALONE else subject.runs):
                what = " ".join(filter(None, (subject.written_in, subject.name))).replace(" ", "-")
                yield subject, f"{program.name}-{setting.name}-{what}-{turn}"

    def _missing(self) -> Iterator[tuple[StudyProgram, Setting, Subject, str]]:
        for program in self.programs:
            for setting in self.settings:
                for subject, name in self._all(program, setting):
                    if not (self.measured.folder / f"{name}.json").exists():
                        yield program, setting, subject, name

    def _measure(self, program: StudyProgram, setting: Setting, progress: Progress, stopped: threading.Event) -> None:
        hosts = hosts_at(setting.file)
        missing = {name for each, at, _, name in self._missing() if (each, at) == (program, setting)}
        with on_demand(f"{setting.name}-{program.name}", hosts) as testbed:
            for subject, name in self._all(program, setting):
                if name in missing and not stopped.is_set():
                    what = f"{program.name}, {setting.words}: {subject.name}"
                    self._try(what, self._run_one, testbed, hosts, subject, name)
                    progress.over(what, subject.planned(setting))

    def _run_one(self, testbed: Callable[[], str], hosts: Sequence[Host], subject: Subject, name: str) -> None:
        patience = _PATIENCE * (_START + subject.length)

        def measure() -> dict[str, float]:
            output = _run(testbed(), hosts, subject.command, max(patience, 60.0))
            return {"seconds": _seconds(output), **_shares(output.ranks)}

        self.measured.get(name, measure)

    # --- results ---

    def runs(self) -> dict[tuple[str, str, str], Measured]:
        """Return the medians of the runs so far."""
        found: dict[tuple[str, str, str], list[Measured]] = {}
        for program in self.programs:
            for setting in self.settings:
                for subject, name in self._all(program, setting):
                    if (self.measured.folder / f"{name}.json").exists():
                        run = Measured(**self.measured.get(name, _nothing))
                        found.setdefault((program.name, setting.name, subject.name), []).append(run)
        return {key: _typical(runs) for key, runs in found.items()}

    def skeletons(self) -> dict[tuple[str, str], SkeletonFacts]:
        """Return the facts about the skeletons made so far."""
        return {
            (program.name, skeleton_name(seconds)): facts(self.measured.get(file.stem, _nothing))
            for program in self.programs
            for seconds in self.seconds
            if (file := self._skeleton(program, seconds)).with_suffix(".json").exists()
        }

    def recordings(self) -> dict[str, float]:
        """Return the times of programs while they were recorded, seconds."""
        return {
            program.name: self.measured.get(f"{program.name}-recording", _nothing)["seconds"]
            for program in self.programs
            if (self.measured.folder / f"{program.name}-recording.json").exists()
        }

    def million(self) -> dict[str, float] | None:
        """Return the cost of making the skeleton of about 10^6 ops, if that was tried."""
        known = (self.measured.folder / "million.json").exists()
        return dict(self.measured.get("million", _nothing)) if known else None


def _nothing() -> object:
    raise AssertionError("what is asked for must be known")


def _run(testbed: str, hosts: Sequence[Host], command: Sequence[str], patience: float) -> launch.RunOutput:
    """Run a command with a rank on each host; processes keep freed memory, as when recording."""
    return launch.run(testbed, hosts, command, environment=launch.KEPT_MEMORY, timeout=patience, rehearsed=False)


def _seconds(output: launch.RunOutput) -> float:
    return float(document(output.output)["seconds"])


def _shares(ranks: Sequence[RankFigures]) -> dict[str, float]:
    communicating, computing = sum(rank.mpi_wall for rank in ranks), sum(rank.burst_wall for rank in ranks)
    return {
        "communication": communicating / (communicating + computing),
        "late": max(rank.late / (rank.ended - rank.began) for rank in ranks),
        "cpu": sum(rank.burst_cpu for rank in ranks),
    }


def _typical(runs: Sequence[Measured]) -> Measured:
    return Measured(
        *(statistics.median(getattr(run, name) for run in runs) for name in ("seconds", "communication", "late", "cpu"))
    )
