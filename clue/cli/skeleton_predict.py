"""``clue skeleton predict``: what an application takes where its skeleton was run."""

from __future__ import annotations

import argparse

from clue.cli.effects import refuse
from clue.cli.options import Parser, above_zero, add_json, add_volume
from clue.cli.terminal import show, show_json
from clue.config.skeleton_runs import load_skeleton_run
from clue.report.skeleton_run import measured_document, measured_text
from clue.skeleton.prediction import predict

DESCRIPTION = (
    "Tell what an application takes where its skeleton was run: the skeleton's time there × (application / skeleton, "
    "both where the application was recorded and nothing else ran)."
)


def add_arguments(command: Parser) -> None:
    """Add what it is asked with."""
    command.add_argument(
        "--here",
        metavar="HERE.json",
        required=True,
        help="what the skeleton printed with --json where you want to know",
    )
    command.add_argument(
        "--dedicated",
        metavar="ALONE.json",
        help="what it printed where the application was recorded, alone (default: it is taken to be as short as it "
        "was built for)",
    )
    command.add_argument(
        "--application",
        type=above_zero,
        metavar="SECONDS",
        help="with --dedicated: what the application takes there (default: what it took when it was recorded)",
    )
    add_json(command)
    add_volume(command)


def run(arguments: argparse.Namespace) -> int:
    """Predict."""
    if arguments.dedicated is None:
        refuse(arguments, ["--application"], "with --dedicated", "none")
    here = load_skeleton_run(arguments.here)
    dedicated = None if arguments.dedicated is None else load_skeleton_run(arguments.dedicated)
    measured = predict(here, dedicated, arguments.application)
    if arguments.json:
        show_json(measured_document(measured))
    else:
        show(measured_text(measured, here))
    return 0
