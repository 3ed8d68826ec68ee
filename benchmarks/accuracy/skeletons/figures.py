"""Predictions and their errors."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.skeletons.cases import DEDICATED
from clue.skeleton.prediction import scaling_ratio

#: Names of subjects besides skeletons: the application, and the small class.
APPLICATION, CLASS_S = "application", "class S"
#: The predictor that uses the suite's average slowdown.
AVERAGE = "average slowdown"
#: Limits beyond which a measurement counts as disturbed.
_MOST_LATE, _MOST_CHANGE = 0.03, 0.05
#: Number of the worst cases that should be flagged, as in the paper.
WORST = 4


def skeleton_name(seconds: float) -> str:
    """Return the name of a skeleton of a length in tables."""
    return f"{seconds:g} s"


@dataclass(frozen=True, slots=True)
class Measured:
    """The runs of a subject in one setting.

    Attributes:
        seconds: Median time, seconds.
        communication: Share of the ranks' time in MPI.
        late: Share of the time for which the worst rank lacked a core of this computer.
        cpu: CPU time of all ranks' bursts, seconds.
    """

    seconds: float
    communication: float
    late: float
    cpu: float


@dataclass(frozen=True, slots=True)
class SkeletonFacts:
    """The facts that are reported when a skeleton is made.

    Attributes:
        seconds: The requested length, seconds.
        scale: Requested ratio of the application's time to the skeleton's.
        threshold: Similarity threshold that was needed.
        ratio: Compression ratio reached.
        good: Whether the skeleton has a full iteration of the dominant sequence.
        shortest: Length of the shortest good skeleton, seconds.
        dominant: Name of the dominant sequence.
        making: CPU time of the command that made the skeleton, seconds.
    """

    seconds: float
    scale: float
    threshold: float
    ratio: float
    good: bool
    shortest: float
    dominant: str
    making: float


#: Runs by program, setting and subject.
Runs = Mapping[tuple[str, str, str], Measured]
#: Skeletons by program and name.
Skeletons = Mapping[tuple[str, str], SkeletonFacts]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The time of an application in a scenario, predicted and measured; seconds.

    Attributes:
        program: Name of the application.
        predictor: The skeleton, :data:`CLASS_S` or :data:`AVERAGE`.
        scenario: Name of the setting.
        dedicated: The application's time on the dedicated cluster.
        measured: The application's time in the scenario.
        own_dedicated: The predictor's time on the dedicated cluster.
        own: The predictor's time in the scenario.
        flagged: Whether the skeleton is shorter than the shortest good one.
        late: Largest share of time by which this computer was late in any of these four.
        cpu: CPU time of the application's bursts in the scenario, relative to that on the dedicated cluster.
        own_cpu: The same for the predictor.
        scale: Ratio of the application's time to the skeleton's by construction; 0 for other predictors.
        compute: Share of the predictor's time in which ranks computed, in the scenario.
        dedicated_compute: The same on the dedicated cluster.
    """

    program: str
    predictor: str
    scenario: str
    dedicated: float
    measured: float
    own_dedicated: float
    own: float
    flagged: bool = False
    late: float = 0.0
    cpu: float = 1.0
    own_cpu: float = 1.0
    scale: float = 0.0
    compute: float = 1.0
    dedicated_compute: float = 1.0

    @property
    def disturbed(self) -> bool:
        """Whether a measurement was spoilt, most likely by other work on this computer.

        Either ranks were late, or the CPU time of the bursts changed differently for the predictor and the
        application. The latter also excludes skeletons that do not slow down as their applications do, so figures
        over all cases count.
        """
        return self.late > _MOST_LATE or abs(self.own_cpu / self.cpu - 1) > _MOST_CHANGE

    @property
    def predicted(self) -> float:
        """The predictor's measured time times its ratio; for a skeleton, as ``clue skeleton predict`` has it."""
        if not self.scale:
            return self.predicted_by_one_ratio
        dedicated = (self.own_dedicated, self.dedicated_compute)
        return self.own * scaling_ratio(self.scale, self.dedicated, dedicated, self.compute)

    @property
    def predicted_by_one_ratio(self) -> float:
        """The predictor's measured time times application / predictor on the dedicated cluster, as in the paper."""
        return self.own * self.dedicated / self.own_dedicated

    @property
    def error(self) -> float:
        """Error of :attr:`predicted`, relative to the measured time."""
        return self.predicted / self.measured - 1

    @property
    def error_of_one_ratio(self) -> float:
        """The same error for the paper's prediction."""
        return self.predicted_by_one_ratio / self.measured - 1

    @property
    def by_skeleton(self) -> bool:
        """Whether the predictor is a skeleton."""
        return self.predictor not in (CLASS_S, AVERAGE)


def predictions(runs: Runs, skeletons: Skeletons) -> list[Prediction]:
    """Return all predictions for the measured runs: by skeletons, by the small class, and by the average slowdown."""
    found: list[Prediction] = []
    for program, scenario, what in runs:
        if scenario == DEDICATED or what == APPLICATION:
            continue
        four = [runs.get((program, setting, each)) for each in (APPLICATION, what) for setting in (DEDICATED, scenario)]
        known = [each for each in four if each is not None]
        if len(known) < len(four):
            continue
        dedicated, measured, own_dedicated, own = (each.seconds for each in known)
        facts, late = skeletons.get((program, what)), max(each.late for each in known)
        flagged = facts is not None and not facts.good
        cpu, own_cpu = (there.cpu / alone.cpu for alone, there in (known[:2], known[2:]))
        seconds = (dedicated, measured, own_dedicated, own)
        scale = 0.0 if facts is None else facts.scale
        alone_share, share = (1.0 - each.communication for each in known[2:])
        found.append(
            Prediction(program, what, scenario, *seconds, flagged, late, cpu, own_cpu, scale, share, alone_share)
        )
    return found + _by_average(runs)


def _by_average(runs: Runs) -> list[Prediction]:
    """Return predictions by the average slowdown of all programs of the suite in each scenario."""
    applications = {
        (program, setting): run.seconds for (program, setting, what), run in runs.items() if what == APPLICATION
    }
    found = []
    for scenario in dict.fromkeys(setting for _, setting in applications if setting != DEDICATED):
        pairs = {
            program: (applications[program, DEDICATED], seconds)
            for (program, setting), seconds in applications.items()
            if setting == scenario and (program, DEDICATED) in applications
        }
        if not pairs:
            continue
        slowdown = statistics.fmean(there / alone for alone, there in pairs.values())
        found += [
            Prediction(program, AVERAGE, scenario, alone, there, 1.0, slowdown)
            for program, (alone, there) in pairs.items()
        ]
    return found


def mean_error(chosen: Iterable[Prediction]) -> float | None:
    """Return the mean absolute error; ``None`` if there are no predictions."""
    errors = [abs(each.error) for each in chosen]
    return statistics.fmean(errors) if errors else None


@dataclass(frozen=True, slots=True)
class Board:
    """All predictions, from which means are computed.

    Attributes:
        all: All predictions.
    """

    all: Sequence[Prediction]

    def mean(self, *rules: Callable[[Prediction], bool]) -> float | None:
        """Return the mean absolute error of the predictions that satisfy all rules; ``None`` if there are none."""
        return mean_error(each for each in self.all if all(rule(each) for rule in rules))

    def of_skeletons(self) -> Board:
        """Return the predictions by skeletons only."""
        return Board([each for each in self.all if each.by_skeleton])

    def worst(self) -> list[tuple[str, str, float, bool]]:
        """Return the programs and skeletons with the largest mean error over the scenarios, with error and flag."""
        groups: dict[tuple[str, str], list[Prediction]] = {}
        for each in self.of_skeletons().all:
            groups.setdefault((each.program, each.predictor), []).append(each)
        means = [(*key, mean_error(group) or 0.0, group[0].flagged) for key, group in groups.items()]
        return sorted(means, key=lambda case: -case[2])[:WORST]


def by_scenario(*names: str) -> Callable[[Prediction], bool]:
    """Return a rule that selects the named scenarios."""
    return lambda each: each.scenario in names


def by_predictor(*names: str) -> Callable[[Prediction], bool]:
    """Return a rule that selects the named predictors."""
    return lambda each: each.predictor in names


def by_program(*names: str) -> Callable[[Prediction], bool]:
    """Return a rule that selects the named programs."""
    return lambda each: each.program in names
