"""The arguments of ``clue validate``."""

from __future__ import annotations

from clue.cli.options import (
    Command,
    Commands,
    add_engine,
    add_json,
    add_plots,
    add_repeats,
    add_seed,
    add_volume,
    add_workers,
    whole,
)


def add_validate(commands: Commands, run: Command) -> None:
    """Add the command."""
    command = commands.add_parser(
        "validate",
        help="compare predictions with measured run times, and find the sources of errors",
        description="Predict real runs of programs, show the errors and whether machines are ranked in the right "
        "order, and refit computation, latency, bandwidth and contention one at a time, to see which of them explains "
        "the errors.",
    )
    command.add_argument("config", metavar="CONFIG.yaml", help="the runs, their machines and the measured times")
    add_engine(command)
    command.add_argument(
        "--samples",
        type=whole,
        default=100,
        metavar="N",
        help="number of samples of noise and model error for intervals (default: 100; 0: none)",
    )
    add_seed(command)
    command.add_argument(
        "--learn",
        action="store_true",
        help="let the intervals of further predictions also reflect the errors of these cases, in place of those of an "
        "earlier --learn: kept in the file that CLUE_MODEL_ERROR names, else in clue's settings in the home folder",
    )
    add_repeats(command)
    add_json(command)
    add_plots(command)
    add_workers(command, "threads that simulate")
    add_volume(command)
    command.set_defaults(run=run)
