"""The arguments of ``clue init``: every question is an option, too."""

from __future__ import annotations

import argparse

from clue.cli.options import Command, Commands, add_volume

#: Where the configuration goes if nothing else is said.
DEFAULT = "first.yaml"
#: The program that clue brings along for those who have none at hand.
EXAMPLE = "example"
_EXAMPLES = """\
examples:
  clue init
      ask, and write first.yaml and first-machine.yaml
  clue init jacobi.yaml --program jacobi.py --args "--n 1000" --yes
      ask nothing: defaults for all that is not given
  clue simulate first.yaml
      run what was written"""


def add_init(commands: Commands, run: Command) -> None:
    """Add the command, and say what runs it."""
    command = commands.add_parser(
        "init",
        help="ask a few questions and write a first configuration",
        description="Ask a few questions and write a first comparison: a program on clusters of nodes like this "
        "computer, which clue simulate takes at once. Each question is an option, too; what is given is not asked. "
        "Nothing that is there is overwritten.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "config", metavar="CONFIG.yaml", nargs="?", default=DEFAULT, help=f"the file to write (default: {DEFAULT})"
    )
    command.add_argument(
        "--program",
        metavar="PROGRAM.py|TRACE",
        help=f"what has to run: a program, or a recording of one; {EXAMPLE} is a recorded ping-pong of two ranks "
        "(default: the only recording of the folder, else the example)",
    )
    command.add_argument("--args", metavar="ARGS", help="arguments of the program, in one word (default: none)")
    command.add_argument(
        "--ranks",
        metavar="N[,N…]",
        help="numbers of ranks to choose from (default: powers of two up to the cores of this computer; a recording "
        "knows its own)",
    )
    command.add_argument("--processors", metavar="N", help="processors (CPU cores) of a node (default: as here)")
    command.add_argument("--memory", metavar="SIZE", help="memory of a node, or none (default: as here)")
    command.add_argument(
        "--latency", metavar="TIME", help="what a short message between nodes takes one way (default: 20 us)"
    )
    command.add_argument("--bandwidth", metavar="BANDWIDTH", help="bandwidth between nodes (default: 10 Gbit/s)")
    command.add_argument(
        "--nodes", metavar="N[,N…]", help="numbers of nodes to compare (default: as few as will do, and twice as many)"
    )
    command.add_argument("--price", metavar="PRICE", help="price of a node, or none (default: none)")
    command.add_argument("--budget", metavar="PRICE", help="what may be spent, or none (default: none)")
    command.add_argument(
        "--other", metavar="MACHINE", help="another machine to compare with: a file, a shipped name or none "
        "(default: none)"
    )  # fmt: skip
    command.add_argument("-y", "--yes", action="store_true", help="ask nothing: take defaults for what is not given")
    add_volume(command)
    command.set_defaults(run=run)
