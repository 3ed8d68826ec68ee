"""The commands and their arguments. Each command's module is imported only when it runs."""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from collections.abc import Sequence
from functools import cache

from clue import __version__
from clue.cli import extrapolate_arguments, run_arguments
from clue.cli.calibrate_arguments import add_calibrate
from clue.cli.extrapolate_arguments import add_extrapolate
from clue.cli.forecast_arguments import add_forecast
from clue.cli.init_arguments import add_init
from clue.cli.model_arguments import add_best, add_fit, add_predict, add_show
from clue.cli.model_graph_arguments import add_graph
from clue.cli.options import (
    ALL_FORMS,
    Command,
    Commands,
    Parser,
    above_zero,
    add_engine,
    add_full,
    add_json,
    add_mpiexec,
    add_plots,
    add_repeats,
    add_seed,
    add_volume,
    add_window,
    add_workers,
    positive,
)
from clue.cli.programs import options_first
from clue.cli.run_arguments import add_run
from clue.cli.serve_arguments import add_serve
from clue.cli.signals import ending_at_once
from clue.cli.skeleton_arguments import add_make, add_skeleton_predict, skeletons_first
from clue.cli.validate_arguments import add_validate
from clue.formats import FORMATS, Kind

_DESCRIPTION = """\
Which cluster should I buy for my programs? Record an MPI program once, simulate it on clusters
described in YAML, rank what a budget can buy. Start with: clue simulate wien97"""
_STATUSES = """\
exit status: 0 success; 1 failure; 2 a mistake in the command or in a file that it reads; 3 deadlock of the simulated
program; 128 + N ended by signal N (130: Ctrl-C)"""
_COMPLETION = """\
~/.bashrc:
  eval "$(clue completion bash)"
~/.zshrc, after compinit:
  eval "$(clue completion zsh)"
~/.config/fish/config.fish:
  clue completion fish | source"""
#: Options that take a value, of each command whose line may end with a program.
_VALUED = {
    "record": ("-n", "-o", "--mpiexec", "--repeats", "--limit"),
    "run": run_arguments.VALUED,
    "extrapolate": extrapolate_arguments.VALUED,
}


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; in the result, ``run`` is the command's function and ``typed`` the words as typed."""
    words = sys.argv[1:] if argv is None else list(argv)
    parsed = command_line().parse_args(options_first(skeletons_first(words), _VALUED))
    parsed.typed = shlex.join(["clue", *words])
    return parsed


@cache
def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands; building it takes some milliseconds, which a Python program pays only once."""
    parser = Parser(
        prog="clue",
        description=_DESCRIPTION,
        epilog=_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"clue {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_init(commands, _command("init"))
    for add in (
        _add_record, _add_simulate, _add_inspect, _add_convert, _add_schema, _add_parts, _add_cache, _add_completion,
    ):  # fmt: skip
        add(commands)
    add_calibrate(commands, _command("calibrate"))
    add_run(commands, _command("run"))
    add_extrapolate(commands, _command("extrapolate"))
    add_forecast(commands, _command("forecast"))
    add_validate(commands, _command("validate"))
    add_serve(commands, _command("serve"))
    _add_model(commands)
    _add_skeleton(commands)
    return parser


def _command(module: str) -> Command:
    def run(arguments: argparse.Namespace) -> int:
        with ending_at_once():
            loaded = importlib.import_module(f"clue.cli.{module}")
        return int(loaded.run(arguments))

    return run


def _add_model(commands: Commands) -> None:
    command = commands.add_parser("model", help="model run times by formulas fitted to measurements")
    kinds = command.add_subparsers(metavar="WHAT", required=True)
    for add in (add_fit, add_show, add_predict, add_best):
        add(kinds, _command("model"))
    add_graph(kinds, _command("model_graph"))


def _add_skeleton(commands: Commands) -> None:
    command = commands.add_parser("skeleton", help="make a short program whose run time predicts that of a long one")
    kinds = command.add_subparsers(metavar="TRACE | WHAT", required=True)
    add_make(kinds, _command("skeleton"))
    add_skeleton_predict(kinds, _command("skeleton_predict"))


def _add_record(commands: Commands) -> None:
    command = commands.add_parser(
        "record",
        help="record an unmodified mpi4py program",
        description="Record an unmodified mpi4py program: start it under mpiexec and record every computation burst "
        "and every MPI call of every rank. A recording that other processes disturbed says so. As for python, "
        "-m MODULE or -c CODE may replace the file.",
        allow_abbrev=False,  # for options_first must know which option takes a value
    )
    command.add_argument("-n", dest="ranks", type=positive, required=True, metavar="RANKS", help="MPI ranks to start")
    command.add_argument("-o", dest="output", metavar="TRACE", help="where the trace goes (default: PROGRAM.clue here)")
    add_mpiexec(command, "launcher of MPI programs, with options (default: mpiexec beside Python, then in PATH)")
    command.add_argument(
        "--repeats",
        type=positive,
        metavar="N",
        help="number of recordings: the least disturbed one becomes TRACE.clue, with the median of each burst over "
        "all; the others become TRACE.2.clue and so on, to be named under repeats: in a configuration (default: 3 if "
        "one takes less than a minute, else 1)",
    )
    command.add_argument(
        "--limit",
        type=above_zero,
        metavar="SECONDS",
        help="end the program when no rank has completed an MPI call for this time, for example because one waits for "
        "another that has left; the message says where each rank was (default: no limit)",
    )
    add_json(command, "print a summary of the recording as JSON")
    add_volume(command)
    command.add_argument("program", metavar="PROGRAM.py | -m MODULE")
    command.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS", help="arguments of the program")
    command.set_defaults(run=_command("record"))


def _add_simulate(commands: Commands) -> None:
    command = commands.add_parser(
        "simulate",
        help="simulate a program on a machine, or rank what a budget can buy",
        description="Simulate a program on a machine, or compare options to buy, as the file describes. "
        "Scripts are recorded on first use, three times if a recording takes less than a minute, all "
        "programs in turn; clue cache shows the kept recordings.",
    )
    command.add_argument("config", metavar="CONFIG.yaml", help="a file, or the name of a scenario shipped with clue")
    add_engine(command)
    command.add_argument(
        "--explain",
        action="store_true",
        help="explain the makespan: its parts along the critical path, where time is lost, and its sensitivity to each "
        "parameter of the machine; in a comparison, which parameters would put another option first",
    )
    add_full(command)
    add_json(command)
    add_plots(command)
    add_window(command)
    command.add_argument(
        "--colour-by",
        choices=("region", "site"),
        help="with --plots: colour the timeline by region and activity, or by call site (default: region)",
    )
    command.add_argument(
        "--trace-out",
        metavar="FILE",
        help="write the timeline of all ranks for other tools: .json is the Trace Event Format (Perfetto, "
        "chrome://tracing), .prv is Paraver's, with .pcf and .row beside it; for runs of up to 500,000 ops",
    )
    command.add_argument(
        "--csv",
        metavar="FILE",
        help="write the ranking, or the figures of each rank, as CSV with units in column names",
    )
    command.add_argument("--latex", metavar="FILE", help="write the table shown for LaTeX, with booktabs")
    command.add_argument("--markdown", metavar="FILE", help="write the table shown as Markdown, with warnings")
    command.add_argument(
        "--html",
        metavar="FILE",
        help="write the ranking, or one run with a zoomable timeline, as a web page: one self-contained file",
    )
    command.add_argument(
        "--next",
        metavar="AMOUNT",
        help='show the best use of additional money, such as "10000 EUR": the gain of each step from the first option '
        "(one more node, another network, more memory)",
    )
    command.add_argument(
        "--answers",
        metavar="FILE",
        help="write the further answers as CSV: the cheapest option that meets every deadline, the best use of more "
        "money, the utilisation above which owning is cheaper than renting",
    )
    add_workers(command, "processes that simulate options at the same time, or threads that simulate samples")
    command.add_argument(
        "--top",
        type=positive,
        metavar="K",
        help="rank the first K options exactly, and only prove that the others come later "
        "(default: all of up to 100 options, else 20)",
    )
    command.add_argument(
        "--samples",
        type=positive,
        metavar="N",
        help="number of samples of the noise of machines and repeated recordings, and of the errors of predictions in "
        "validated cases: gives intervals, and each option's probability of being the best",
    )
    add_seed(command)
    command.add_argument(
        "--sampled",
        action="store_true",
        help="replay up to 15 %% of a long program: a sample of the iterations of long, steady loops, from which the "
        "rest is extrapolated; gives an interval. A program for which this fails is replayed whole, and the result "
        "says why",
    )
    add_repeats(command)
    command.add_argument(
        "--executor",
        metavar="processes|mpi|dask://HOST:PORT",
        help="where to simulate: in processes here; in the MPI processes of mpiexec -n N python -m mpi4py.futures -m "
        "clue simulate …; or in the workers of a Dask scheduler (default: processes)",
    )
    add_volume(command)
    command.set_defaults(run=_command("simulate"))


def _add_inspect(commands: Commands) -> None:
    command = commands.add_parser(
        "inspect",
        help="show the contents of a trace, a machine or a configuration",
        description="Show the contents of a trace, a machine or a configuration, and what the simulator would ignore.",
    )
    command.add_argument("subject", metavar="TRACE|MACHINE|CONFIG", help="a path, or the name of something shipped")
    command.add_argument(
        "--loops", action="store_true", help="show a trace as loops: the program as executed, merged over ranks"
    )
    command.add_argument(
        "--sites",
        action="store_true",
        help="show the call sites of a trace: calls, bytes, time in the calls, and computation before them, by call "
        "path",
    )
    add_json(command)
    add_plots(command, "draw a machine's delay curves into this folder")
    add_volume(command)
    command.set_defaults(run=_command("inspect"))


def _add_convert(commands: Commands) -> None:
    command = commands.add_parser(
        "convert",
        help="convert a trace to or from another simulator's format, a machine to a SimGrid platform, or measurements "
        "at several sizes to Extra-P's format",
        description=f"Convert a trace between these formats: {_titles(Kind.TRACE)}. Or write a machine as "
        f"{_titles(Kind.MACHINE)}. Or write the measurements of several recordings (SOURCE is a pattern such as "
        '"cg-{size}-{ranks}.clue"), or a table of run times (.csv with size, ranks and measured), as '
        f"{_titles(Kind.MEASUREMENTS)}. A warning names what a format cannot hold.",
    )
    command.add_argument("source", metavar="SOURCE")
    command.add_argument("target", metavar="TARGET")
    command.add_argument(
        "--from",
        dest="source_format",
        choices=[form.name for form in FORMATS if form.reader],
        help="format of SOURCE (default: by its name)",
    )
    command.add_argument(
        "--to",
        dest="target_format",
        choices=[form.name for form in FORMATS],
        help="format of TARGET (default: by its name)",
    )
    command.add_argument(
        "--flops-per-second",
        type=above_zero,
        metavar="SPEED",
        help="speed by which CPU seconds are converted to SimGrid's flops, and back (default: 1e9)",
    )
    command.add_argument(
        "--lower", action="store_true", help="write all collectives as messages, even those that the format has"
    )
    command.add_argument(
        "--collectives",
        choices=("mpich", "openmpi"),
        help="MPI library whose default algorithms turn collectives into messages (default: mpich)",
    )
    add_volume(command)
    command.set_defaults(run=_command("convert"))


def _titles(what: Kind) -> str:
    return ", ".join(form.title for form in FORMATS if form.kind is what)


def _add_schema(commands: Commands) -> None:
    command = commands.add_parser(
        "schema",
        help="print the JSON Schema of a kind of file",
        description="Print the JSON Schema of a kind of file, with which editors complete and check YAML. If an "
        "editor uses yaml-language-server, the first line of a file names its schema: "
        "# yaml-language-server: $schema=PATH, with the path that --path prints.",
    )
    command.add_argument(
        "form",
        choices=("machine", "scenario", "simulation", "validation", "sequence", "part", ALL_FORMS),
        help="kind of file; scenario is a comparison of options to buy",
    )
    command.add_argument(
        "-o", dest="output", metavar="FILE", help="write it to this file; with all, each to a file in this folder"
    )
    command.add_argument("--path", action="store_true", help="print the path of the schema file that clue ships")
    add_volume(command)
    command.set_defaults(run=_command("schema"))


def _add_parts(commands: Commands) -> None:
    command = commands.add_parser(
        "parts",
        help="show the hardware library: processors, networks and switches, with their published figures",
        description="List the parts of the hardware library, or show some with the source and date of every figure. "
        "Machines and costs refer to parts by these names.",
    )
    command.add_argument(
        "parts", nargs="*", metavar="PART", help="parts to show, as parts/amd-epyc-9654, or files; none: list all"
    )
    command.add_argument(
        "--kind", choices=("processor", "network", "switch"), help="list parts of this kind only (default: all)"
    )
    add_json(command)
    add_volume(command)
    command.set_defaults(run=_command("parts"))


def _add_cache(commands: Commands) -> None:
    command = commands.add_parser(
        "cache",
        help="show or remove the files that clue keeps",
        description="Show where clue keeps recordings of scripts, extrapolated traces, compiled code and the best "
        "speed of this computer, and their sizes. The folder is CLUE_CACHE, else clue in XDG_CACHE_HOME or ~/.cache.",
    )
    command.add_argument(
        "--clear",
        action="store_true",
        help="remove all of it, except what is in use; the next recording then defines the best speed of this computer "
        "anew",
    )
    add_json(command)
    add_volume(command)
    command.set_defaults(run=_command("cache"))


def _add_completion(commands: Commands) -> None:
    command = commands.add_parser(
        "completion",
        help="print the shell code that enables completion by Tab",
        description="Print the shell code that enables completion by Tab of commands, options, shipped names and "
        "files. To enable it permanently, put the line into the shell's start file.",
        epilog=_COMPLETION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"))
    add_volume(command)
    command.set_defaults(run=_command("completion"))
