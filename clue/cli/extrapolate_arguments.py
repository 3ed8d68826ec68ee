"""The arguments of ``clue extrapolate``."""

from __future__ import annotations

import argparse

from clue.cli.options import Command, Commands, add_json, add_plots, add_volume, positive

#: Options with a value, which is not mistaken for the pattern.
VALUED = ("--size", "--ranks", "-o", "--traces", "--repeats", "--admissible", "--plots", "--distribution")
_EXAMPLES = """\
examples:
  clue extrapolate --plan --size 20000 --ranks 512 cg.py {size}
      say which few recordings to make, and what they need on this computer
  clue extrapolate --run --size 20000 --ranks 512 -o cg.clue cg.py {size}
      make them as cg-{size}-{ranks}.clue, and of these the trace of 512 ranks
  clue extrapolate --plan --size 512 --ranks 64 --admissible 'ranks=2^k' --admissible 'size=8*k' mg.py {size}
      do so for a program that runs on powers of two alone, at multiples of 8
  clue extrapolate "cg-{size}-{ranks}.clue" --size 40000 --ranks 1024 -o cg-large.clue
      make another one of recordings that are there

in a configuration:
  program: {extrapolate: {traces: "cg-{size}-{ranks}.clue", size: 20000, ranks: 512}}"""


def add_extrapolate(commands: Commands, run: Command) -> None:
    """Add the command, and say what runs it."""
    command = commands.add_parser(
        "extrapolate",
        allow_abbrev=False,  # for options_first must know which option takes a value
        help="make the trace of a size and a number of ranks that nobody recorded, of recordings of smaller ones",
        usage='clue extrapolate "NAME-{size}-{ranks}.clue" --size N --ranks P -o TRACE [--json]\n'
        "       clue extrapolate --plan|--run --size N --ranks P [options] PROGRAM.py [ARGS with {size} …]",
        description="Make the trace of a size and a number of ranks that nobody recorded. Of recordings at a few small "
        "sizes and numbers of ranks it is told by exact rules which calls are made, and by models of what bursts take "
        "how long they compute. What follows no rule is refused by its place in the program, never guessed.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--size", type=positive, required=True, metavar="N", help="the problem's size")
    command.add_argument("--ranks", type=positive, required=True, metavar="P", help="number of ranks")
    command.add_argument("-o", dest="output", metavar="TRACE", help="where the trace goes")
    command.add_argument(
        "--plan",
        action="store_true",
        help="say which recordings to make; the smallest are made, to tell what all of them need, and are kept",
    )
    command.add_argument(
        "--run", action="store_true", dest="carry_out", help="make the recordings; with -o, also the trace of them"
    )
    command.add_argument(
        "--traces",
        metavar="PATTERN",
        help="with a program: where recordings go (default: PROGRAM-{size}-{ranks}.clue here); where some are there, "
        "the plan also has what would decide what is refused of them",
    )
    command.add_argument(
        "--repeats", type=positive, metavar="N", help="with a program: how often each is recorded, in turn (default: 3)"
    )
    command.add_argument(
        "--admissible",
        action="append",
        default=[],
        metavar="FORM",
        help="with a program: which numbers of ranks or sizes it takes, if not any: 'ranks=2^k', 'size=20*k', "
        "'size=ranks*k', 'size=8*ranks+k', ranks=4,9,16; k stands for 0, 1, 2 and so on, commas for or; all that is "
        "said in several such options must hold. --run finds out what the program refuses, and what it takes instead",
    )
    command.add_argument(
        "--distribution",
        action="append",
        default=[],
        metavar="FILE:LINE",
        help="draw sizes of messages from those that were recorded, where they follow no rule: at this call site, as "
        "refusals and clue inspect --sites name it; once for each site",
    )
    add_json(command)
    add_plots(command, "draw what bursts took in recordings beside what they are taken to take, into this folder")
    add_volume(command)
    command.add_argument("words", nargs=argparse.REMAINDER, metavar="PATTERN | PROGRAM.py ARGS…")
    command.set_defaults(run=run)
