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
  clue forecast benchmark dgemm dtrsm --range m=64:2048
      measure routines here; any function of yours as well: mine:solve
  clue forecast time dgemm --m 2000 --n 2000 --k 2000
      what it takes now, under the load of this computer; with --host h under that of h
  clue forecast best pdgemm --m 4096 --n 4096 --k 4096 --processes 32 --machine i-cluster
      which grid of processors is the best, and the order of all
  clue forecast serve
      tell others (on loopback; elsewhere with a token) what is available here"""


def add_forecast(commands: Commands, run: Command) -> None:
    """Add the command, of which ``question`` says what is asked."""
    command = commands.add_parser(
        "forecast",
        help="measure routines, and forecast what they take under the load of computers",
        description="Forecast what routines take on computers that others use, too: by what was measured once of each "
        "routine, and by the load, the free memory and the network of the moment.",
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
        description="Measure routines on this computer, in one thread, at sizes that are chosen while it goes on: "
        "wherever the fit knows least. Times are CPU times, so that other load disturbs them little; memory is that "
        "of the routine's data. A function of your own takes its sizes by name; if it is a generator, what stands "
        "before its yield is preparation, and is not timed.",
    )
    question.add_argument("routines", nargs="+", metavar="ROUTINE", help="dgemm and others shipped, or MODULE:FUNCTION")
    question.add_argument(
        "--range",
        type=_range,
        action="append",
        default=[],
        metavar="NAME=FROM:TO",
        help="of a size (may be repeated; default: 64:1024)",
    )
    question.add_argument(
        "--error", type=share, metavar="SHARE", help="enough is known when new points are off by less (default: 0.03)"
    )
    question.add_argument("--points", type=positive, metavar="N", help="the most points of a routine (default: 60)")
    question.add_argument("--seconds", type=above_zero, metavar="S", help="the most time for a routine (default: 60)")
    add_json(question)
    return question


def _add_time(questions: Commands) -> Parser:
    question = questions.add_parser(
        "time",
        help="what a routine will take on a host now",
        description="Forecast what a routine takes on a host under its load. Too little free memory is a refusal.",
    )
    return _add_routine_there(question)


def _add_need(questions: Commands) -> Parser:
    question = questions.add_parser(
        "need",
        help="what a routine needs of an unloaded host: time and memory",
        description="Tell what a routine needs of an unloaded host, whatever its load is now.",
    )
    return _add_routine_there(question)


def _add_available(questions: Commands) -> Parser:
    question = questions.add_parser(
        "available",
        help="what of hosts is available now, and what lies between them",
        description="Tell the share of a core that one more process would get, free memory, and latency and bandwidth "
        "of the way to each host. Of hosts nothing older than 30 s is told, of the network nothing older than 120 s, "
        "unless a host does not answer: then the last figure and its age.",
    )
    question.add_argument("--host", action="append", default=[], metavar="HOST", help="NAME or NAME:PORT "
                          "of a host that serves (may be repeated; default: here)")  # fmt: skip
    _add_asking(question)
    add_json(question)
    return question


def _add_best(questions: Commands) -> Parser:
    question = questions.add_parser(
        "best",
        help="the best grid of processors for pdgemm or pdtrsm, and the order of all",
        description="Order all grids of processors by what a parallel routine takes on them. Processors and links are "
        "those of a machine, whose speed of dgemm counts if it states one, else what was measured here times its "
        "factor; or those of hosts that serve, under their load.",
    )
    _add_routine(question, "pdgemm (sizes m, n, k) or pdtrsm (m, n)")
    question.add_argument("--block", type=positive, metavar="R", help="rows and columns of a block (default: 64)")
    question.add_argument(
        "--processes",
        type=positive,
        metavar="P",
        help="the most processors (default: those of the machine, or the hosts)",
    )
    question.add_argument(
        "--machine", metavar="MACHINE.yaml", help="a file, or the name of a machine shipped with clue"
    )
    question.add_argument("--host", action="append", default=[], metavar="HOST", help="one of several "
                          "hosts (may be repeated; the first two tell the network)")  # fmt: skip
    _add_asking(question)
    add_json(question)
    return question


def _add_sequence(questions: Commands) -> Parser:
    question = questions.add_parser(
        "sequence",
        help="what a sequence of operations takes on several hosts, with transfers, and where each should run",
        description="Forecast a sequence of operations, each on a host, and the transfers of data between them. "
        "Operations that name no host go where the whole ends first.",
    )
    question.add_argument("sequence", metavar="SEQUENCE.yaml", help="data, steps and results")
    _add_asking(question)
    add_json(question)
    return question


def _add_serve(questions: Commands) -> Parser:
    question = questions.add_parser(
        "serve",
        help="tell other hosts what is available here",
        description="Tell other hosts over HTTP what of this one is available, which links it has measured, and what "
        "routines take here, until it is ended. At any address but loopback it asks for a token, which travels without "
        "TLS: use it in networks that you trust, or through ssh.",
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
        help="NAME or NAME:PORT of a host that serves: where it is to run (default: here)",
    )
    _add_asking(to)
    add_json(to)
    return to


def _add_asking(to: Parser) -> None:
    to.add_argument(
        "--token-file", metavar="FILE", help="holds the token of hosts that ask for one (default: CLUE_FORECAST_TOKEN)"
    )
    to.add_argument(
        "--timeout", type=above_zero, metavar="S", help="seconds that another host may take to answer (default: 2)"
    )


def _range(text: str) -> tuple[str, tuple[int, int]]:
    name, _, ends = text.partition("=")
    low, _, high = ends.partition(":")
    first, last = counted(low), counted(high)
    if not name.isidentifier() or not first or not last or first >= last:
        raise argparse.ArgumentTypeError(f"must be a size and a range that rises, such as m=64:2048, got {text!r}")
    return name, (first, last)


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    size = counted(number)
    if not name.isidentifier() or not size:
        raise argparse.ArgumentTypeError(
            f"must be a size and a whole number of at least 1, such as m=2000, got {text!r}"
        )
    return name, size
