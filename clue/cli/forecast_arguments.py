"""The arguments of ``clue forecast`` and its questions."""

from __future__ import annotations

import argparse

from clue.cli.options import (
    Command,
    Commands,
    Parser,
    above_zero,
    add_json,
    add_volume,
    counted,
    port,
    positive,
    share,
)

_EXAMPLES = """\
examples:
  clue forecast benchmark dgemm --range m=64:2048 --range n=64:2048 --range k=64:2048
            measure a routine here; any function of yours as well: mine:solve
  clue forecast time dgemm --m 2000 --n 2000 --k 2000
            forecast its time now, under the load of this computer; with --host h under that of h
  clue forecast best pdgemm --m 4096 --n 4096 --k 4096 --processes 32 --machine i-cluster
            find the best grid of processors, and the order of all
  clue forecast serve --address 0.0.0.0 --token-file token
            tell other hosts that have the token what is available here; without --address, only this host"""


def add_forecast(commands: Commands, run: Command) -> None:
    """Add the command; ``question`` in its arguments names the request."""
    command = commands.add_parser(
        "forecast",
        help="measure routines, and forecast their run times under the load of computers",
        description="Forecast run times of routines on shared computers: from one set of measurements of each routine, "
        "and from the current load, free memory and network.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    questions = command.add_subparsers(dest="question", metavar="QUESTION", required=True)
    for add in (_add_benchmark, _add_time, _add_need, _add_available, _add_best, _add_sequence, _add_serve):
        question = add(questions)
        question.add_argument(
            "--store", metavar="FILE", help="where measured routines are kept (default: in the user's data folder)"
        )
        add_volume(question)
        question.set_defaults(run=run)


def _add_benchmark(questions: Commands) -> Parser:
    question = questions.add_parser(
        "benchmark",
        help="measure routines here, over ranges of their sizes",
        description="Measure routines on this computer, in one thread, at sizes chosen adaptively where the fit is "
        "least certain. Times are CPU times, and what a routine waits for besides, such as files, so that other load "
        "disturbs them little; memory is that of the routine's data. A function of your own takes its sizes by name; "
        "if it is a generator, the code before its yield is preparation, and is not timed.",
    )
    question.add_argument("routines", nargs="+", metavar="ROUTINE", help="dgemm and others shipped, or MODULE:FUNCTION")
    question.add_argument(
        "--range",
        type=_range,
        action="append",
        default=[],
        metavar="NAME=FROM:TO",
        help="range of a size (may be repeated; default: 64:1024)",
    )
    question.add_argument(
        "--error", type=share, metavar="SHARE", help="stop when the error at new points is below this (default: 0.03)"
    )
    question.add_argument(
        "--points", type=positive, metavar="N", help="largest number of points per routine (default: 60)"
    )
    question.add_argument("--seconds", type=above_zero, metavar="S", help="largest time per routine (default: 60)")
    add_json(question)
    return question


def _add_time(questions: Commands) -> Parser:
    question = questions.add_parser(
        "time",
        help="forecast the run time of a routine on a host now",
        description="Forecast the run time of a routine on a host under its load. It is refused if too little "
        "memory is free.",
    )
    return _add_routine_there(question)


def _add_need(questions: Commands) -> Parser:
    question = questions.add_parser(
        "need",
        help="show the time and memory that a routine needs on an unloaded host",
        description="Show the time and memory that a routine needs on an unloaded host, whatever its current load.",
    )
    return _add_routine_there(question)


def _add_available(questions: Commands) -> Parser:
    question = questions.add_parser(
        "available",
        help="show what is available on hosts now, and the network between them",
        description="Show the share of a core that one more process would get, free memory, and latency and bandwidth "
        "to each host. Figures of hosts are at most 30 s old, those of the network at most 120 s, unless a host does "
        "not answer: then the last figure is shown with its age.",
    )
    question.add_argument("--host", action="append", default=[], metavar="HOST", help="NAME or NAME:PORT "
                          "of a host that serves (may be repeated; default: here)")  # fmt: skip
    _add_asking(question)
    add_json(question)
    return question


def _add_best(questions: Commands) -> Parser:
    question = questions.add_parser(
        "best",
        help="find the best grid of processors for pdgemm or pdtrsm, and rank all",
        description="Rank all grids of processors by the run time of a parallel routine on them. Processors and links "
        "are those of a machine, at its stated speed of dgemm or else at the speed measured here times its factor; or "
        "those of hosts that serve, under their load.",
    )
    _add_routine(question, "pdgemm (sizes m, n, k) or pdtrsm (m, n)")
    question.add_argument("--block", type=positive, metavar="R", help="rows and columns of a block (default: 64)")
    question.add_argument(
        "--processes",
        type=positive,
        metavar="P",
        help="largest number of processors (default and at most: those of the machine, or the hosts)",
    )
    question.add_argument("--machine", metavar="MACHINE", help="a file, or the name of a machine shipped with clue")
    question.add_argument("--host", action="append", default=[], metavar="HOST", help="one of several "
                          "hosts (may be repeated; the network is that between the first two)")  # fmt: skip
    _add_asking(question)
    add_json(question)
    return question


def _add_sequence(questions: Commands) -> Parser:
    question = questions.add_parser(
        "sequence",
        help="forecast a sequence of operations on several hosts, with transfers, and where each should run",
        description="Forecast a sequence of operations, each on a host, and the transfers of data between them. "
        "Operations that name no host are placed so that the whole sequence ends first.",
    )
    question.add_argument("sequence", metavar="SEQUENCE.yaml", help="data, steps and results")
    _add_asking(question)
    add_json(question)
    return question


def _add_serve(questions: Commands) -> Parser:
    question = questions.add_parser(
        "serve",
        help="tell other hosts what is available here",
        description="Serve to other hosts over HTTP, until it is ended, what is available on this one, the links that "
        "it has measured, and the run times of routines here. At any address but loopback it requires a token, which "
        "is sent without TLS: use it in networks that you trust, or through ssh.",
    )
    question.add_argument("--address", metavar="IP", help="where to listen (default: 127.0.0.1)")
    question.add_argument("--port", type=port, metavar="PORT", help="default: 8457; 0: any that is free")
    question.add_argument("--peer", action="append", default=[], metavar="HOST", help="a host whose link "
                          "to this one is measured for others (may be repeated)")  # fmt: skip
    _add_asking(question)
    return question


def _add_routine(to: Parser, what: str = "dgemm and others shipped, or MODULE:FUNCTION") -> None:
    to.add_argument("routine", metavar="ROUTINE", help=what)
    for name in ("m", "n", "k"):
        to.add_argument(f"--{name}", type=positive, metavar=name.upper(), help=f"the size {name}")
    to.add_argument(
        "--size", type=_size, action="append", default=[], metavar="NAME=N",
        help="a size of any other name (may be repeated)",
    )  # fmt: skip


def _add_routine_there(to: Parser) -> Parser:
    _add_routine(to)
    to.add_argument(
        "--host",
        metavar="HOST",
        help="NAME or NAME:PORT of the serving host on which it is to run (default: here)",
    )
    _add_asking(to)
    add_json(to)
    return to


def _add_asking(to: Parser) -> None:
    to.add_argument(
        "--token-file", metavar="FILE", help="file with the token that hosts require (default: CLUE_FORECAST_TOKEN)"
    )
    to.add_argument(
        "--timeout", type=above_zero, metavar="S", help="seconds to wait for another host's answer (default: 2)"
    )


def _range(text: str) -> tuple[str, tuple[int, int]]:
    name, _, ends = text.partition("=")
    low, _, high = ends.partition(":")
    first, last = counted(low), counted(high)
    if not name.isidentifier() or not first or not last or first >= last:
        raise argparse.ArgumentTypeError(f"must be a size and a rising range, such as m=64:2048, got {text!r}")
    return name, (first, last)


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    size = counted(number)
    if not name.isidentifier() or not size:
        raise argparse.ArgumentTypeError(
            f"must be a size and a whole number of at least 1, such as m=2000, got {text!r}"
        )
    return name, size
