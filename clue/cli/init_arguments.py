"""The arguments of ``clue init``: every question is also an option."""

from __future__ import annotations

import argparse

from clue.cli.options import Command, Commands, add_volume

#: Default name of the configuration.
DEFAULT = "first.yaml"
#: Name of the shipped program, for users who have none at hand.
EXAMPLE = "example"
_EXAMPLES = """\
examples:
  clue init
      ask, and write first.yaml and first-machine.yaml
  clue init jacobi.yaml --program jacobi.py --args "--n 1000" --yes
            ask nothing: use defaults for everything that is not given
  clue simulate first.yaml
            run the written configuration"""


def add_init(commands: Commands, run: Command) -> None:
    """Add the command, run by a function."""
    command = commands.add_parser(
        "init",
        help="ask a few questions and write a first configuration",
        description="Ask a few questions and write a first comparison: a program on clusters of nodes like this "
        "computer, ready for clue simulate. Each question is also an option; options that are given are not asked. "
        "Existing files are not overwritten.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "config", metavar="CONFIG.yaml", nargs="?", default=DEFAULT, help=f"the file to write (default: {DEFAULT})"
    )
    command.add_argument(
        "--program",
        metavar="PROGRAM.py|TRACE",
        help=f"the program to run, or a recording of one; {EXAMPLE} is a recorded ping-pong of two ranks "
        "(default: the only recording of the folder, whose repeats do not count, else the example)",
    )
    command.add_argument("--args", metavar="ARGS", help="arguments of the program, in one word (default: none)")
    command.add_argument(
        "--ranks",
        metavar="N[,N…]",
        help="numbers of ranks to choose from (default: powers of two up to the cores of this computer; a recording "
        "has its own)",
    )
    command.add_argument("--processors", metavar="N", help="processors (CPU cores) of a node (default: as here)")
    command.add_argument("--memory", metavar="SIZE", help="memory of a node, or none (default: as here)")
    command.add_argument(
        "--latency", metavar="TIME", help="one-way latency of a short message between nodes (default: 20 us)"
    )
    command.add_argument("--bandwidth", metavar="BANDWIDTH", help="bandwidth between nodes (default: 10 Gbit/s)")
    command.add_argument(
        "--nodes", metavar="N[,N…]", help="numbers of nodes to compare (default: as few as suffice, and twice as many)"
    )
    command.add_argument("--price", metavar="PRICE", help="price of a node, or none (default: none)")
    command.add_argument("--budget", metavar="PRICE", help="the budget, or none (default: none)")
    command.add_argument(
        "--other", metavar="MACHINE", help="another machine to compare with: a file, a shipped name or none "
        "(default: none)"
    )  # fmt: skip
    command.add_argument("-y", "--yes", action="store_true", help="ask nothing: use defaults for what is not given")
    add_volume(command)
    command.set_defaults(run=run)
