"""The arguments of ``clue run``."""

from __future__ import annotations

import argparse

from clue.cli.options import (
    Command,
    Commands,
    above_zero,
    add_full,
    add_json,
    add_plots,
    add_volume,
    add_window,
    positive,
)

#: Options that take a value, so that the value is not mistaken for the configuration.
VALUED = ("-n", "--machine", "--placement", "--record", "--bursts", "--limit", "--plots", "--window")
#: Default longest wall-clock time of a rank between MPI calls, seconds.
LIMIT = 600.0


def add_run(commands: Commands, run: Command) -> None:
    """Add the command, run by a function."""
    command = commands.add_parser(
        "run",
        allow_abbrev=False,  # for options_first must know which option takes a value
        help="run a program in virtual time on a machine: for programs whose decisions depend on arrival order",
        usage="clue run [options] CONFIG.yaml\n       clue run [options] -n RANKS --machine MACHINE "
        "PROGRAM.py | -m MODULE | -c CODE [ARGS…]",
        description="Run an unmodified mpi4py program in virtual time: any number of ranks run as processes of this "
        "computer, one at a time; their computation is measured and scaled to the machine, their messages take the "
        "machine's delays. Unlike a replay, this suits programs whose decisions depend on which message arrives first.",
    )
    command.add_argument("-n", dest="ranks", type=positive, metavar="RANKS", help="MPI ranks (default: as in CONFIG)")
    command.add_argument("--machine", metavar="MACHINE", help="a machine's file or name (default: as in CONFIG)")
    command.add_argument(
        "--placement",
        metavar="PLACEMENT",
        help="block, cyclic, or node indices separated by commas, one per rank; block:2 puts two ranks on a "
        "processor (default: as in CONFIG, or block)",
    )
    command.add_argument("--record", metavar="TRACE", help="keep the run as a trace")
    command.add_argument(
        "--bursts",
        metavar="TRACE|SPEED|synthetic",
        help="take burst times from a trace of the same calls, or from declared operations at a speed such as "
        "'1 Gflop/s', or synthetic ones of about 10 us, with which two runs are identical (default: measured)",
    )
    command.add_argument(
        "--virtual-clock",
        action="store_true",
        help="let time.time, time.perf_counter and similar functions return virtual time, and time.sleep spend it "
        "(MPI.Wtime always does)",
    )
    command.add_argument(
        "--limit",
        type=above_zero,
        default=LIMIT,
        metavar="SECONDS",
        help=f"longest time of a rank between MPI calls, after which the run is ended (default: {LIMIT:g})",
    )
    add_full(command)
    add_json(command, "print one JSON document; the program's output goes to standard error")
    add_plots(command)
    add_window(command)
    add_volume(command)
    command.add_argument("words", nargs=argparse.REMAINDER, metavar="CONFIG.yaml | PROGRAM.py ARGS…")
    command.set_defaults(run=run)
