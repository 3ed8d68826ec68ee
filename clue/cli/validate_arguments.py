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
        help="hold predictions against run times that were measured, and tell where their errors come from",
        description="Predict programs that were run for real, tell the errors and whether machines come in the right "
        "order, and refit computation, latency, bandwidth and contention one at a time: which of them explains the "
        "errors?",
    )
    command.add_argument("config", metavar="CONFIG.yaml", help="what was run where, and the measured times")
    add_engine(command)
    command.add_argument(
        "--samples",
        type=whole,
        default=100,
        metavar="N",
        help="draws of noise and model error for intervals (default: 100; 0: none)",
    )
    add_seed(command)
    command.add_argument(
        "--learn",
        action="store_true",
        help="let the intervals of further predictions hold the errors of these cases, too: kept in the file that "
        "CLUE_MODEL_ERROR names, else in the settings of clue in the home folder",
    )
    add_repeats(command)
    add_json(command)
    add_plots(command)
    add_workers(command, "threads that simulate")
    add_volume(command)
    command.set_defaults(run=run)
