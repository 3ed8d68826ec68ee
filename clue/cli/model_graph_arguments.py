"""The arguments of ``clue model graph``."""

from __future__ import annotations

import argparse

from clue.cli.options import Command, Commands, add_json, add_plots, add_volume, positive

_EXAMPLES = """\
examples:
  clue model graph heat.clue --plots plots
            draw the program's computation and communication, in their loops
  clue model graph "heat-{size}-{ranks}.clue" --machine pempis-het --size 4000 --ranks 12
            fit a model to each node on that machine, and compose the program's time at a size that was not recorded"""


def add_graph(commands: Commands, run: Command) -> None:
    """Add the command, run by a function."""
    command = commands.add_parser(
        "graph",
        help="draw a program's structure, and compose a model of it from models of its parts",
        description="Draw the structure of a recorded program: sequences, loops with their counts, parallel branches "
        "of ranks, computation and communication, each with its time. From recordings at several sizes and numbers of "
        "ranks, a model of its time on a machine is fitted to each node, and the program's model is composed of these.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "trace", metavar="TRACE | PATTERN", help="a trace, or a pattern such as heat-{size}-{ranks}.clue"
    )
    command.add_argument(
        "--machine",
        metavar="MACHINE",
        help="show each node's time on the critical path of a replay there (default, for a trace: its recorded times)",
    )
    command.add_argument("--size", type=positive, metavar="N", help="with a pattern: the size to predict")
    command.add_argument("--ranks", type=positive, metavar="P", help="with a pattern: the number of ranks to predict")
    command.add_argument(
        "--fit",
        choices=("plausible", "in-turn"),
        help="with a pattern: all plausible models, with positive coefficients and relative errors (the default), or "
        "plain least squares in n, then in P, as in PEMPIs-Het",
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
