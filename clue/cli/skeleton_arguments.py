"""The arguments of ``clue skeleton``: of a trace, and of what is done with skeletons by name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from clue.cli.options import Command, Commands, above_zero, add_json, add_volume

#: What makes a skeleton, where no other thing is asked for by name.
MAKE = "make"
#: What is done with skeletons.
KINDS = (MAKE, "predict")
_EXAMPLES = """\
examples:
  clue skeleton cg.clue --seconds 10 -o cg_skeleton.py
      write a program that stands for cg and runs for 10 s where cg was recorded
  mpiexec -n 8 python cg_skeleton.py --json > here.json
      run it anywhere: it needs mpi4py alone, and tells what cg would take there
  clue skeleton cg.clue --shortest -o cg_skeleton.c --language c
      the shortest good one, in C"""


def skeletons_first(words: Sequence[str]) -> list[str]:
    """Return a command line in which ``clue skeleton TRACE`` names what it does."""
    words = list(words)
    if words[:1] == ["skeleton"] and words[1:] and words[1] not in (*KINDS, "-h", "--help"):
        words.insert(1, MAKE)
    return words


def add_make(commands: Commands, run: Command) -> None:
    """Add the command that makes a skeleton, and say what runs it."""
    command = commands.add_parser(
        MAKE,
        help="make a skeleton of a trace; as clue skeleton TRACE, too",
        usage="clue skeleton TRACE (--seconds S | --scale K | --shortest) -o FILE [options]",
        description="Write a short program that stands for a long one: it makes the same calls of MPI, on messages of "
        "the same size, in the same order, but fewer, and computes between them. What it takes anywhere, relative to "
        "what it takes where the application was recorded, is what the application takes there.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("trace", metavar="TRACE", help="a recording of the application")
    length = command.add_mutually_exclusive_group(required=True)
    length.add_argument(
        "--seconds", type=above_zero, metavar="S", help="how long it runs where the application was recorded"
    )
    length.add_argument("--scale", type=above_zero, metavar="K", help="how many times as long the application is")
    length.add_argument(
        "--shortest",
        action="store_true",
        help="as short as it can be and still have one iteration of the dominant sequence",
    )
    command.add_argument("-o", dest="output", metavar="FILE", required=True, help="where the program goes")
    command.add_argument(
        "--language", choices=("python", "c"), help="what it is written in (default: c for FILE.c, else python)"
    )
    command.add_argument("--trace", dest="trace_out", metavar="FILE", help="also write the skeleton as a trace")
    command.add_argument(
        "--memory",
        action="store_true",
        help="let each rank touch as much memory as the application had, and copy from all of it",
    )
    command.add_argument(
        "--work",
        action="append",
        default=[],
        metavar="[REGION=]MIX",
        help="what stands for computation, in a region or in all: core, cache, memory, or two of them as "
        "core:memory=0.6, which is 60 %% core (default: by declared flops, else 44 %% core and 56 %% memory); once for "
        "each",
    )
    command.add_argument(
        "--machine",
        action="append",
        default=[],
        metavar="MACHINE",
        help="replay application and skeleton on this machine, and tell what scaling costs there; once for each",
    )
    add_json(command)
    add_volume(command)
    command.set_defaults(run=run)


def add_skeleton_predict(commands: Commands, run: Command) -> None:
    """Add the command that reads runs of a skeleton, and say what runs it."""
    command = commands.add_parser(
        "predict",
        help="tell what an application takes where its skeleton was run",
        description="Tell what an application takes where its skeleton was run: the skeleton's time there × "
        "(application / skeleton, both where the application was recorded and nothing else ran).",
    )
    command.add_argument(
        "--here",
        metavar="HERE.json",
        required=True,
        help="what the skeleton printed with --json where you want to know",
    )
    command.add_argument(
        "--dedicated",
        metavar="ALONE.json",
        help="what it printed where the application was recorded, alone (default: it is taken to be as short as it "
        "was built for)",
    )
    command.add_argument(
        "--application",
        type=above_zero,
        metavar="SECONDS",
        help="with --dedicated: what the application takes there (default: what it took when it was recorded)",
    )
    add_json(command)
    add_volume(command)
    command.set_defaults(run=run)
