"""The arguments of ``clue extrapolate``."""

from __future__ import annotations

import argparse

from clue.cli.options import Command, Commands, add_json, add_plots, add_volume, positive

#: Options that take a value, so that the value is not mistaken for the pattern.
VALUED = ("--size", "--ranks", "-o", "--traces", "--repeats", "--admissible", "--plots", "--distribution")
_EXAMPLES = """\
examples:
  clue extrapolate --plan --size 20000 --ranks 512 cg.py {size}
            plan which few recordings to make, and show their needs on this computer
  clue extrapolate --run --size 20000 --ranks 512 -o cg.clue cg.py {size}
            make them as cg-{size}-{ranks}.clue, and extrapolate the trace of 512 ranks
  clue extrapolate --plan --size 512 --ranks 64 --admissible 'ranks=2^k' --admissible 'size=8*k' mg.py {size}
            plan for a program that runs only on powers of two, at multiples of 8
  clue extrapolate "cg-{size}-{ranks}.clue" --size 40000 --ranks 1024 -o cg-large.clue
            extrapolate another one from existing recordings

in a configuration:
  program: {extrapolate: {traces: "cg-{size}-{ranks}.clue", size: 20000, ranks: 512}}"""


def add_extrapolate(commands: Commands, run: Command) -> None:
    """Add the command, run by a function."""
    command = commands.add_parser(
        "extrapolate",
        allow_abbrev=False,  # for options_first must know which option takes a value
        help="extrapolate a trace to a size and a number of ranks that were not recorded, from small recordings",
        usage='clue extrapolate "NAME-{size}-{ranks}.clue" --size N --ranks P -o TRACE [--json]\n'
        "       clue extrapolate --plan|--run --size N --ranks P [options] PROGRAM.py [ARGS with {size} …]",
        description="Extrapolate a trace to a size and a number of ranks that were not recorded, from recordings at a "
        "few small sizes and numbers of ranks. Exact rules give the calls, fitted models the burst times. A call that "
        "follows no rule is refused with its place in the program, never guessed.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--size", type=positive, required=True, metavar="N", help="the problem's size")
    command.add_argument("--ranks", type=positive, required=True, metavar="P", help="number of ranks")
    command.add_argument("-o", dest="output", metavar="TRACE", help="where the trace goes")
    how = command.add_mutually_exclusive_group()
    how.add_argument(
        "--plan",
        action="store_true",
        help="show which recordings to make; the smallest ones are made and kept, to estimate the needs of all",
    )
    how.add_argument(
        "--run", action="store_true", dest="carry_out", help="make the recordings; with -o, also extrapolate the trace"
    )
    command.add_argument(
        "--traces",
        metavar="PATTERN",
        help="with a program: names of the recordings (default: PROGRAM-{size}-{ranks}.clue here); if some exist, the "
        "plan also has recordings that would resolve their refusals",
    )
    command.add_argument(
        "--repeats", type=positive, metavar="N", help="with a program: recordings of each, made in turn (default: 3)"
    )
    command.add_argument(
        "--admissible",
        action="append",
        default=[],
        metavar="FORM",
        help="with a program: the numbers of ranks or sizes that it accepts, if not all: 'ranks=2^k', 'size=20*k', "
        "'size=ranks*k', 'size=8*ranks+k', ranks=4,9,16; k stands for 0, 1, 2 and so on, commas for or; several such "
        "options must all hold. --run finds out what the program refuses, and what it accepts instead",
    )
    command.add_argument(
        "--distribution",
        action="append",
        default=[],
        metavar="FILE:LINE",
        help="draw message sizes that follow no rule from the recorded ones, and take those of pickled objects to "
        "within 16 B, at this call site, named as in refusals and in clue inspect --sites; may be repeated",
    )
    add_json(command)
    add_plots(command, "plot recorded and modelled burst times into this folder")
    add_volume(command)
    command.add_argument("words", nargs=argparse.REMAINDER, metavar="PATTERN | PROGRAM.py ARGS…")
    command.set_defaults(run=run)
