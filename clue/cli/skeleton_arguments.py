"""The arguments of ``clue skeleton`` and of its named actions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from clue.cli.options import Command, Commands, above_zero, add_json, add_volume

#: Name of the default action: make a skeleton.
MAKE = "make"
#: Names of the actions.
KINDS = (MAKE, "predict")
_EXAMPLES = """\
examples:
  clue skeleton cg.clue --seconds 10 -o cg_skeleton.py
      write a program that stands for cg and runs for 10 s where cg was recorded
  mpiexec -n 8 python cg_skeleton.py --json > here.json
            run it anywhere: it needs only mpi4py, and estimates the time of cg there
  clue skeleton cg.clue --shortest -o cg_skeleton.c --language c
            write the shortest good one, in C"""


def skeletons_first(words: Sequence[str]) -> list[str]:
    """Return a command line in which ``clue skeleton TRACE`` names its action."""
    words = list(words)
    if words[:1] == ["skeleton"] and words[1:] and words[1] not in (*KINDS, "-h", "--help"):
        words.insert(1, MAKE)
    return words


def add_make(commands: Commands, run: Command) -> None:
    """Add the command that makes a skeleton, run by a function."""
    command = commands.add_parser(
        MAKE,
        help="make a skeleton from a trace; the same as clue skeleton TRACE",
        usage="clue skeleton TRACE (--seconds S | --scale K | --shortest) -o FILE [options]",
        description="Write a short program that stands for a long one: it makes the same MPI calls, with messages of "
        "the same size, in the same order, but fewer of them, and computes between them. The ratio of its run time on "
        "another computer to its run time where the application was recorded estimates that of the application.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("trace", metavar="TRACE", help="a recording of the application")
    length = command.add_mutually_exclusive_group(required=True)
    length.add_argument(
        "--seconds", type=above_zero, metavar="S", help="its run time where the application was recorded"
    )
    length.add_argument("--scale", type=above_zero, metavar="K", help="ratio of the application's run time to its own")
    length.add_argument(
        "--shortest",
        action="store_true",
        help="the shortest that still has one iteration of the dominant sequence",
    )
    command.add_argument("-o", dest="output", metavar="FILE", required=True, help="file of the program")
    command.add_argument(
        "--language", choices=("python", "c"), help="its language (default: c for FILE.c, else python)"
    )
    command.add_argument("--trace", dest="trace_out", metavar="FILE", help="also write the skeleton as a trace")
    command.add_argument(
        "--memory",
        action="store_true",
        help="let each rank use as much memory as the application did, and copy from all of it",
    )
    command.add_argument(
        "--work",
        action="append",
        default=[],
        metavar="[REGION=]MIX",
        help="the kind of computation, in one region or in all: core, cache, memory, or two of them, such as "
        "core:memory=0.6 for 60 %% core (default: by declared flops, else 44 %% core and 56 %% memory); may be "
        "repeated",
    )
    command.add_argument(
        "--machine",
        action="append",
        default=[],
        metavar="MACHINE",
        help="replay application and skeleton on this machine, and show the error of scaling there; may be repeated "
        "with machines of other names",
    )
    add_json(command)
    add_volume(command)
    command.set_defaults(run=run)


def add_skeleton_predict(commands: Commands, run: Command) -> None:
    """Add the command that reads runs of a skeleton, run by a function."""
    command = commands.add_parser(
        "predict",
        help="estimate the time of an application where its skeleton was run",
        description="Estimate the time of an application where its skeleton was run: the skeleton's communication "
        "there × the ratio that it was built for, and its computation × the ratio that gives the application's time on "
        "the otherwise idle computer of the recording.",
    )
    command.add_argument(
        "--here",
        metavar="HERE.json",
        required=True,
        help="output of the skeleton (--json) on the computer in question",
    )
    command.add_argument(
        "--dedicated",
        metavar="ALONE.json",
        help="its output on the otherwise idle computer of the recording (default: the skeleton is assumed to take as "
        "long there as it was built to take)",
    )
    command.add_argument(
        "--application",
        type=above_zero,
        metavar="SECONDS",
        help="with --dedicated: the time of the application there (default: its recorded time)",
    )
    add_json(command)
    add_volume(command)
    command.set_defaults(run=run)
