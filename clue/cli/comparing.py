"""What commands that compare have in common: who predicts, and what is drawn of what is uncertain."""

from __future__ import annotations

import argparse
import os

from clue.cli.terminal import Report
from clue.cli.traces import Traces
from clue.config.model_errors import known_model_error
from clue.config.models import load_any_model
from clue.predict.dispatching import DispatchingPredictor
from clue.predict.executors import PROCESSES
from clue.predict.measuring import SkeletonPredictor
from clue.predict.modelling import ModelPredictor
from clue.predict.replaying import ReplayPredictor
from clue.uncertainty import ModelError, Sampling

#: Samples of what replays of a part may be off by: they cost next to nothing.
_DRAWS = 400


def predictor_of(arguments: argparse.Namespace, tell: Report, executor: str = PROCESSES) -> DispatchingPredictor:
    """Return who predicts: skeletons that were run, models, and replays of all else."""
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


def workers_of(arguments: argparse.Namespace) -> int:
    """Return how many processes simulate."""
    return arguments.workers or os.cpu_count() or 1


def noise_of(arguments: argparse.Namespace) -> Sampling | None:
    """Return which samples of the noise are asked for, if any are."""
    return Sampling(arguments.samples, arguments.seed or 0) if arguments.samples else None


def sampling_of(arguments: argparse.Namespace) -> tuple[Sampling | None, ModelError | None]:
    """Return which samples are drawn, and what is known of the model's error that they have."""
    sampling = noise_of(arguments)
    if sampling is None:
        return (Sampling(_DRAWS, noise=False) if arguments.sampled else None), None
    return sampling, known_model_error()
