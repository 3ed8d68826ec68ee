"""The arguments of ``clue model`` fit, show, predict and best."""

from __future__ import annotations

import argparse

from clue.cli.options import Command, Commands, Parser, above_zero, add_json, add_plots, add_volume, positive

_FIT = """\
TABLE.csv has a line for each run: size and measured (seconds); if known, ranks, processor (its kind), processes
(on each processor), processors, compute and communicate (seconds of measured), and region:NAME (seconds of compute, or
of measured if that is unknown; each region is a part of the model). A line for several runs of the same case has runs
(seconds, separated by blanks) in place of measured. A run on several kinds joins them by +:
processor athlon+pentium-ii, processors 1+8, processes 3+1.

examples:
  clue model fit runs.csv -o hpl.yaml
  clue model fit runs.csv -o hpl.yaml --compose athlon=pentium-ii:0.27:0.85 --adjust athlon"""


def add_fit(commands: Commands, run: Command) -> None:
    """Add ``fit``."""
    command = commands.add_parser(
        "fit",
        help="fit a model to measured run times",
        description="Fit a model to a table of run times: over the size for each number of ranks (N-T), and over "
        "both if three or more numbers of ranks were measured (P-T), for each kind of processor and each number of "
        "processes on it.",
        epilog=_FIT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "table", metavar="TABLE.csv | PATTERN", help="measured run times; or recordings such as cg-{size}-{ranks}.clue"
    )
    command.add_argument(
        "--machine", metavar="MACHINE", help="with recordings: fit their replays on it (default: their recorded times)"
    )
    command.add_argument("-o", dest="output", metavar="MODEL.yaml", required=True, help="file of the model")
    command.add_argument(
        "--form",
        choices=("auto", "nt", "pt"),
        default="auto",
        help="nt: for each number of ranks by itself; pt: for any number of ranks; auto: pt if the table has three "
        "numbers of ranks above the processes of a processor, else nt (default: auto)",
    )
    command.add_argument(
        "--plain",
        action="store_true",
        help="least squares in seconds with coefficients of either sign, as by Kishimoto and Ichikawa (default: "
        "relative least squares with coefficients of at least 0)",
    )
    command.add_argument(
        "--compose",
        action="append",
        default=[],
        metavar="KIND=OTHER[:COMPUTE[:COMMUNICATE]]",
        help="for a kind of processor with too few measurements, use the models of another, scaled by these factors; "
        "a factor that is left out is the ratio of their times on one processor",
    )
    command.add_argument(
        "--adjust",
        metavar="KIND",
        help="adjust whole times by lines fitted to runs on several kinds, one for each number of processes of KIND",
    )
    command.add_argument(
        "--memory",
        metavar="BYTES",
        help='memory of a process, such as "8 n^2/P": runs that need more than --limit have models of their own',
    )
    command.add_argument(
        "--limit", action="append", default=[], metavar="KIND=SIZE", help="the memory of a processor of a kind: 768MB"
    )
    _finish(command, run, "print the model as JSON")


def add_show(commands: Commands, run: Command) -> None:
    """Add ``show``."""
    command = commands.add_parser(
        "show",
        help="show a model: formulas, errors, where it holds",
        description="Show the formulas of a model, their errors at fitted runs and at runs left out of the fit, "
        "outliers, and the range of sizes and numbers of ranks to which it was fitted.",
    )
    _add_file(command)
    add_plots(command, "plot measured and fitted times into this folder")
    _finish(command, run)


def add_predict(commands: Commands, run: Command) -> None:
    """Add ``predict``."""
    command = commands.add_parser(
        "predict",
        help="predict the time of a run by a model",
        description="Predict the time of a run, with an 80 % prediction interval; outside the fitted range of sizes "
        "and numbers of ranks the answer says so.",
    )
    _add_file(command)
    _add_size(command)
    command.add_argument("--ranks", type=positive, metavar="P", help="ranks, on processors of the only kind")
    command.add_argument(
        "--use",
        action="append",
        default=[],
        metavar="KIND=PROCESSORS[xPROCESSES]",
        help="which processors, and how many processes each: athlon=1x3 (default: --ranks, one each)",
    )
    _finish(command, run)


def add_best(commands: Commands, run: Command) -> None:
    """Add ``best``."""
    command = commands.add_parser(
        "best",
        help="the best set of processors, and processes on each, by a model",
        description="Find which processors of a machine to use, and how many processes to start on each: the "
        "fastest configuration, and those after it with their losses. If there are many, bounds exclude most of them.",
    )
    _add_file(command)
    command.add_argument("--machine", required=True, metavar="MACHINE", help="whose processors may be used")
    _add_size(command)
    command.add_argument(
        "--processes",
        action="append",
        default=[],
        metavar="KIND=M[,M…]",
        help="numbers of processes that a processor of a kind may have (default: all that were fitted)",
    )
    command.add_argument("--top", type=positive, metavar="K", help="show the first K (default: 20)")
    command.add_argument(
        "--replay",
        metavar="PATTERN",
        help="also replay the configurations shown, and find the best by replays among all configurations with a "
        "trace; "
        'traces are named by a pattern such as "hpl-{size}-{ranks}.clue"',
    )
    _finish(command, run)


def _add_file(command: Parser) -> None:
    command.add_argument("model", metavar="MODEL.yaml", help="a model written by clue model fit")


def _add_size(command: Parser) -> None:
    command.add_argument("--size", type=above_zero, required=True, metavar="N", help="the size of the problem")


def _finish(command: Parser, run: Command, what: str = "print one JSON document and nothing else") -> None:
    add_json(command, what)
    add_volume(command)
    command.set_defaults(run=run, subject=command.prog.rsplit(" ", 1)[1])
