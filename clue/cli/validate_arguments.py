"""The arguments of ``clue validate``."""

from __future__ import annotations

import argparse
from collections.abc import Callable

_Command = Callable[[argparse.Namespace], int]


def add_validate(commands: argparse._SubParsersAction[argparse.ArgumentParser], run: _Command) -> None:
    """Add the command."""
    command = commands.add_parser(
        "validate",
        help="hold predictions against run times that were measured, and tell where their errors come from",
        description="Predict programs that were run for real, tell the errors and whether machines come in the right "
        "order, and refit computation, latency, bandwidth and contention one at a time: which of them explains the "
        "errors?",
    )
    command.add_argument("config", metavar="CONFIG.yaml", help="what was run where, and the measured times")
    command.add_argument(
        "--engine",
        choices=("auto", "reference", "fast"),
        default="auto",
        help="which engine simulates; all give the same figures (default: auto, whichever is done first)",
    )
    command.add_argument(
        "--samples",
        type=_at_least(0),
        default=100,
        metavar="N",
        help="draws of the noise for intervals, where machines or recordings state noise (default: 100; 0: none)",
    )
    command.add_argument(
        "--seed",
        type=_at_least(0),
        default=0,
        metavar="S",
        help="what samples are drawn from; the same give the same figures",
    )
    command.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    command.add_argument("--plots", metavar="DIR", help="draw pictures into this folder")
    command.add_argument(
        "--workers", type=_at_least(1), metavar="N", help="threads that simulate (default: one per core)"
    )
    command.set_defaults(run=run)


def _at_least(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        number = int(text) if text.isdecimal() and text.isascii() else -1
        if number < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got {text!r}")
        return number

    return whole
