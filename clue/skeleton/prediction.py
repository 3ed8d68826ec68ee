"""Prediction of an application's time from a run of its skeleton.

A skeleton takes a little more or less than the time it was built for. So its run on the dedicated system where the
application was recorded is worth the minute that it takes. Sodhi, Subhlok and Xu (*Performance Prediction with
Skeletons*, section 5.3) multiply by the *measured scaling ratio*: the application's time over the skeleton's, both
dedicated.

Here communication and computation have separate ratios. A skeleton sends the application's messages one K-th as often,
so its communication counts K times. Its computation is different work. If the dedicated run takes more or less than one
K-th of the application's time, that work is the reason, so computation is multiplied by

    (application − K × communication of the skeleton) / computation of the skeleton, all dedicated.

Both methods agree on the dedicated system itself. They differ on a slow network: a single ratio would also correct
communication for the error of computation.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from clue.caveats import About, Caveat
from clue.errors import SkeletonError
from clue.uncertainty.spread import TAIL, Spread

#: Standard deviation of the logarithm of measured / predicted, from the mean error of 6.7 % (section 5.3, all programs,
#: lengths and scenarios) for normal errors: 0.067 · √(π / 2).
DEVIATION = 0.084
#: The same where the ratio was not measured: a skeleton's own time may differ from the intended one by a quarter.
UNMEASURED = 0.25
#: Smallest share of computation in a dedicated run from which its ratio is derived: a nanosecond per second.
LEAST_SHARE = 1e-9


@dataclass(frozen=True, slots=True)
class SkeletonRun:
    """A run of a skeleton, as the skeleton reports it (``--json``).

    Attributes:
        place: File with the report.
        skeleton: Identity of the skeleton: equal digits mean the same program.
        ranks: Number of ranks.
        seconds: Elapsed time; the median of several runs.
        scale: Ratio of the application's time to the skeleton's by construction.
        application: Elapsed time of the application when it was recorded, from the initialisation of MPI, seconds.
        runs: Elapsed time of each run, seconds.
        dedicated: Elapsed time of the skeleton on the host where the application was recorded, seconds; 0: unknown.
        compute: Share of the time in which ranks computed; ``None``: unknown.
        dedicated_compute: The same in the dedicated run.
        recording: Identity of the recording that the skeleton was made from; empty: not stated.
    """

    place: str
    skeleton: str
    ranks: int
    seconds: float
    scale: float
    application: float
    runs: tuple[float, ...] = ()
    dedicated: float = 0.0
    compute: float | None = None
    dedicated_compute: float | None = None
    recording: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """Time of an application, predicted from a run of its skeleton.

    Attributes:
        skeleton: Identity of the skeleton.
        place: File with the report of the run.
        ranks: Number of ranks.
        seconds: Predicted time of the application.
        scale: Ratio of the predicted time to the skeleton's.
        deviation: Standard deviation of the logarithm of the seconds.
        is_ratio_measured: Whether a dedicated run of the skeleton was taken into account.
        recording: Identity of the recording that the skeleton was made from; empty: not stated.
        is_unchecked: Whether the program has a recording, but it is not known whether the skeleton was made from it.
    """

    skeleton: str
    place: str
    ranks: int
    seconds: float
    scale: float
    deviation: float
    is_ratio_measured: bool
    recording: str = ""
    is_unchecked: bool = False

    @property
    def interval(self) -> Spread:
        """Interval in which four of five runs of the application are expected."""
        reach = math.exp(TAIL * self.deviation)
        return Spread(self.seconds / reach, self.seconds, self.seconds * reach)

    def caveats(self, name: str) -> Iterator[Caveat]:
        """Yield the caveats of the prediction for a program of this name."""
        yield Caveat(About.PROGRAM, name, "this was measured by a skeleton, not simulated")
        if not self.is_ratio_measured:
            yield Caveat(
                About.PROGRAM,
                name,
                "the skeleton was not run where the application was recorded, so its scale of {scale} is the intended "
                "one, not a measured one",
                figures={"scale": f"{self.scale:.3g}"},
                size=self.scale,
            )
        if self.is_unchecked:
            yield Caveat(
                About.PROGRAM,
                name,
                "the run of its skeleton does not state from which recording the skeleton was made, so whether it was "
                "made from this program's could not be checked",
            )


def predict(here: SkeletonRun, dedicated: SkeletonRun | None = None, application: float | None = None) -> Measured:
    """Predict the time of an application on the system where its skeleton was run.

    Args:
        here: The skeleton's run on that system.
        dedicated: A run of the same skeleton on the system on which the application takes ``application`` seconds.
        application: Time of the application on that system, seconds; by default its recorded time.

    Raises:
        SkeletonError: If the runs are of different skeletons.
    """
    if dedicated is not None:
        _check_same(here, dedicated)
    alone = here.dedicated if dedicated is None else dedicated.seconds
    share = here.dedicated_compute if dedicated is None else dedicated.compute
    whole = here.application if application is None else application
    scale = scaling_ratio(here.scale, whole, (alone, share), here.compute) if alone else here.scale
    noise = _deviation(here) if dedicated is None else math.hypot(_deviation(here), _deviation(dedicated))
    deviation = math.hypot(DEVIATION, noise, 0.0 if alone else UNMEASURED)
    return Measured(
        here.skeleton, here.place, here.ranks, here.seconds * scale, scale, deviation, bool(alone), here.recording
    )


def scaling_ratio(
    scale: float, application: float, dedicated: tuple[float, float | None], compute: float | None
) -> float:
    """Return the ratio of the application's time to the skeleton's where the skeleton was run.

    Where a share of computation is unknown or below :data:`LEAST_SHARE`, and where the skeleton's communication alone
    would take longer than the application, the whole run is multiplied by the measured scaling ratio.

    Args:
        scale: Ratio by construction (K).
        application: Time of the application on the dedicated system, seconds.
        dedicated: Time of the skeleton there, seconds, and the share of it in which ranks computed.
        compute: Share of the skeleton's run in which ranks computed.
    """
    alone, share = dedicated
    if share is not None and share >= LEAST_SHARE and compute is not None:
        computation = application - scale * alone * (1.0 - share)
        if computation > 0.0:
            return computation / (alone * share) * compute + scale * (1.0 - compute)
    return application / alone


def _check_same(here: SkeletonRun, dedicated: SkeletonRun) -> None:
    faults = []
    if here.skeleton != dedicated.skeleton:
        faults.append(f"{here.place}: skeleton must be {dedicated.skeleton} of {dedicated.place}, got {here.skeleton}")
    elif here.ranks != dedicated.ranks:
        faults.append(f"{here.place}: ranks must be {dedicated.ranks} as in {dedicated.place}, got {here.ranks}")
    if faults:
        raise SkeletonError(faults)


def _deviation(run: SkeletonRun) -> float:
    """Return the standard error of the median's logarithm, if there were several runs."""
    if len(run.runs) < 2:
        return 0.0
    return statistics.stdev(map(math.log, run.runs)) * math.sqrt(math.pi / 2 / len(run.runs))
