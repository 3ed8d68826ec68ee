"""The arguments of ``clue serve``."""

from __future__ import annotations

from clue.cli.options import (
    Command,
    Commands,
    add_engine,
    add_full,
    add_repeats,
    add_seed,
    add_volume,
    add_workers,
    port,
    positive,
)

#: Default port: the one after that of ``clue forecast serve``.
PORT = 8458


def add_serve(commands: Commands, run: Command) -> None:
    """Add the command."""
    command = commands.add_parser(
        "serve",
        help="show a ranking as a page on which prices, budgets and rates can be changed",
        description="Rank what a budget can buy, and serve the report to browsers on this computer, until it is ended "
        "(Ctrl-C). Figures of money, limits and power can be changed on the page; simulations are not repeated, and "
        "the file is not changed. At any address but loopback it requires a token, which is sent without TLS: use it "
        "in networks that you trust, or through ssh.",
    )
    command.add_argument("config", metavar="CONFIG.yaml", help="a comparison, or the name of one shipped with clue")
    command.add_argument("--address", metavar="IP", help="where to listen (default: 127.0.0.1)")
    command.add_argument("--port", type=port, metavar="PORT", help=f"default: {PORT}; 0: any that is free")
    command.add_argument(
        "--token-file", metavar="FILE", help="file with the token that requests must carry (default: CLUE_SERVE_TOKEN)"
    )
    command.add_argument(
        "--top",
        type=positive,
        metavar="K",
        help="rank the first K options (default: all of up to 100 options, else 20)",
    )
    command.add_argument(
        "--samples",
        type=positive,
        metavar="N",
        help="number of samples of the uncertainty: gives probabilities of being best",
    )
    add_seed(command)
    command.add_argument("--sampled", action="store_true", help="replay a part of long programs, as clue simulate does")
    add_engine(command)
    add_full(command)
    add_workers(command, "processes that simulate options at the same time")
    add_repeats(command)
    add_volume(command)
    command.set_defaults(run=run)
