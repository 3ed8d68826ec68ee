"""The arguments of ``clue model graph``."""

from __future__ import annotations

import argparse

from clue.cli.options import Command, Commands, add_json, add_plots, add_volume, positive

_EXAMPLES = """\
examples:
  clue model graph heat.clue --plots plots
      draw what the program computes and communicates, in which loops
  clue model graph "heat-{size}-{ranks}.clue" --machine pempis-het --size 4000 --ranks 12
      fit a model to each node on that machine, and compose what the program takes at a size that nobody recorded"""


def add_graph(commands: Commands, run: Command) -> None:
    """Add the command, and say what runs it."""
    command = commands.add_parser(
        "graph",
        help="draw a program's structure, and compose a model of it from models of its parts",
        description="Draw the structure of a recorded program: sequences, loops with their counts, what ranks do side "
        "by side, computation and communication, with what each takes. Of recordings at several sizes and numbers of "
        "ranks each node gets a model of what it takes on a machine, and the program the sum of them.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "trace", metavar="TRACE | PATTERN", help="a trace, or a pattern such as heat-{size}-{ranks}.clue"
    )
    command.add_argument(
        "--machine",
        metavar="MACHINE",
        help="show what nodes take of the critical path of a replay there (default: of a trace, what it recorded)",
    )
    command.add_argument("--size", type=positive, metavar="N", help="with a pattern: the size to predict")
    command.add_argument("--ranks", type=positive, metavar="P", help="with a pattern: the number of ranks to predict")
    command.add_argument(
        "--fit",
        choices=("plausible", "in-turn"),
        help="with a pattern: all models that are plausible, with coefficients above 0 and relative errors (the "
        "default), or plain least squares in n, then in P, as PEMPIs-Het has it",
    )
    command.add_argument(
        "-o",
        dest="output",
        metavar="MODEL.yaml",
        help="with a pattern: write the model, for clue model show and predict, and for comparisons",
    )
    command.add_argument("--dot", metavar="FILE", help="write the graph for Graphviz")
    add_json(command)
    add_plots(command, "draw the graph into this folder")
    add_volume(command)
    command.set_defaults(run=run)
