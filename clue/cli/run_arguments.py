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

#: Options with a value, which is not mistaken for the configuration.
VALUED = ("-n", "--machine", "--placement", "--record", "--bursts", "--limit", "--plots", "--window")
#: Wall seconds that a rank may go without an MPI call.
LIMIT = 600.0


def add_run(commands: Commands, run: Command) -> None:
    """Add the command, and say what runs it."""
    command = commands.add_parser(
        "run",
        allow_abbrev=False,  # for options_first must know which option takes a value
        help="run a program in virtual time on a machine: what it decides by arrival, the machine decides",
        usage="clue run [options] CONFIG.yaml\n       clue run [options] -n RANKS --machine MACHINE "
        "PROGRAM.py | -m MODULE | -c CODE [ARGS…]",
        description="Run an unmodified mpi4py program in virtual time: any number of ranks as processes of this "
        "computer, one at a time, their computation measured and scaled to the machine, their messages taking the "
        "time they take there. Unlike a replay this serves programs that decide by what arrives first.",
    )
    command.add_argument("-n", dest="ranks", type=positive, metavar="RANKS", help="MPI ranks (default: as in CONFIG)")
    command.add_argument("--machine", metavar="MACHINE", help="a machine's file or name (default: as in CONFIG)")
    command.add_argument(
        "--placement",
        metavar="PLACEMENT",
        help="block, cyclic, or node indices separated by commas, one per rank; block:2 puts two ranks on a "
        "processor (default: as in CONFIG, or block)",
    )
    command.add_argument("--record", metavar="TRACE", help="keep what happened as a trace")
    command.add_argument(
        "--bursts",
        metavar="TRACE|SPEED|synthetic",
        help="take bursts from a trace of the same calls; count what regions declare at a speed such as '1 Gflop/s'; "
        "or take made-up ones of some 10 us: two such runs are equal (default: measured)",
    )
    command.add_argument(
        "--virtual-clock",
        action="store_true",
        help="let time.time, time.perf_counter and their like tell virtual time, and time.sleep take it "
        "(MPI.Wtime does in any case)",
    )
    command.add_argument(
        "--limit",
        type=above_zero,
        default=LIMIT,
        metavar="SECONDS",
        help=f"how long a rank may go without an MPI call before the run is ended (default: {LIMIT:g})",
    )
    add_full(command)
    add_json(command, "print one JSON document; what the program prints goes to standard error")
    add_plots(command)
    add_window(command)
    add_volume(command)
    command.add_argument("words", nargs=argparse.REMAINDER, metavar="CONFIG.yaml | PROGRAM.py ARGS…")
    command.set_defaults(run=run)
