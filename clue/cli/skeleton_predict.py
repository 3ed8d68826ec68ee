"""``clue skeleton predict``: estimate the time of an application where its skeleton was run."""

from __future__ import annotations

import argparse

from clue.cli.effects import refuse
from clue.cli.terminal import show, show_json
from clue.config.skeleton_runs import load_skeleton_run
from clue.report.skeleton.document import measured_document
from clue.report.skeleton.text import measured_text
from clue.skeleton.prediction import predict


def run(arguments: argparse.Namespace) -> int:
    """Predict."""
    if arguments.dedicated is None:
        refuse(arguments, ["--application"], "with --dedicated", "none")
    here = load_skeleton_run(arguments.here)
    dedicated = None if arguments.dedicated is None else load_skeleton_run(arguments.dedicated)
    measured = predict(here, dedicated, arguments.application)
    if arguments.json:
        show_json(measured_document(measured, here))
    else:
        show(measured_text(measured, here))
    return 0
