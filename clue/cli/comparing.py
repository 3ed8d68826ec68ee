"""Common to commands that compare options: the predictor, and the sampling of uncertainty."""

from __future__ import annotations

import argparse

from clue.cli.effects import refuse
from clue.cli.traces import Traces
from clue.config.model_errors import known_model_error
from clue.config.models import load_any_model
from clue.predict.dispatching import DispatchingPredictor
from clue.predict.executors import PROCESSES
from clue.predict.measuring import SkeletonPredictor
from clue.predict.modelling import ModelPredictor
from clue.predict.replaying import ReplayPredictor
from clue.progress import Reporter
from clue.purchase import Scenario
from clue.trace.computer import usable_processors
from clue.uncertainty import ModelError, Sampling

#: Number of samples of the error of sampled replays; they cost next to nothing.
_DRAWS = 400


def predictor_of(arguments: argparse.Namespace, tell: Reporter, executor: str = PROCESSES) -> DispatchingPredictor:
    """Return the predictor: measured skeletons, models, and replays of everything else."""
    traces = Traces(tell, arguments.repeats)
    replays = ReplayPredictor(
        traces,
        traces.record,
        engine=arguments.engine,
        executor=executor,
        workers=workers_of(arguments),
        sampled=arguments.sampled,
    )
    return DispatchingPredictor([SkeletonPredictor(), ModelPredictor(load_any_model)], replays)


def check_repeats(scenario: Scenario, arguments: argparse.Namespace) -> None:
    """Refuse ``--repeats`` if all programs have models or were measured on all options, as nothing is recorded.

    Raises:
        UsageError: If it was given.
    """
    options = (*scenario.options, *scenario.beyond)
    others = [
        each
        for each in scenario.workloads
        if not options or any(each.name not in option.measured for option in options)
    ]
    programs = [each.application for workload in others for each in workload.components]
    if all(program.modelled is not None for program in programs):
        skeletons = ["runs of skeletons"] if len(others) < len(scenario.workloads) else []
        got = " and ".join([*(["models"] if programs else []), *skeletons])
        refuse(arguments, ["--repeats"], "with a script to record", f"{got} only", scenario.name)


def workers_of(arguments: argparse.Namespace) -> int:
    """Return the number of processes that simulate."""
    return arguments.workers or usable_processors()


def noise_of(arguments: argparse.Namespace) -> Sampling | None:
    """Return the requested sampling of the noise, if any."""
    return Sampling(arguments.samples, arguments.seed or 0) if arguments.samples else None


def sampling_of(arguments: argparse.Namespace) -> tuple[Sampling | None, ModelError | None]:
    """Return the sampling, if any, and the model error that it includes."""
    sampling = noise_of(arguments)
    if sampling is None:
        return (Sampling(_DRAWS, noise=False) if arguments.sampled else None), None
    return sampling, known_model_error()
