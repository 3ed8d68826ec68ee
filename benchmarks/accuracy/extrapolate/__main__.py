"""``python -m benchmarks.accuracy.extrapolate FOLDER [--programs jacobi,cg] [-o extrapolate.csv]``: see the package."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.accuracy.extrapolate import tables
from benchmarks.accuracy.extrapolate.cases import RANKS, TARGETS
from benchmarks.accuracy.extrapolate.experiment import Recorder, predicted
from benchmarks.command import with_status
from benchmarks.page import notes_beside, typed_command
from benchmarks.progress import tell
from clue.errors import ClueError, UsageError


@with_status
def main() -> None:
    """Run the study."""
    asked = _arguments()
    targets = [each for each in TARGETS if asked.programs is None or each.name in asked.programs]
    if not targets:
        raise UsageError(f"extrapolate: programs must be among {', '.join(each.name for each in TARGETS)}, got others")
    targets = [replace(each, ranks=asked.ranks, size=each.size // asked.smaller) for each in targets]
    recorder = Recorder(_folder(asked), tell)
    for target in targets:
        recorder.tell(f"small recordings of {target.name}")
        try:
            recorder.family(target)
        except ClueError as error:
            recorder.tell(str(error))
    recorder.truths(targets)
    known = {(each.program, each.machine): each for each in tables.read_csv(asked.output)}
    for target in targets:
        known = {key: case for key, case in known.items() if key[0] != target.name}
        known |= {(each.program, each.machine): each for each in predicted(target, recorder)}
        tables.write_csv(asked.output, list(known.values()))
    command = typed_command("benchmarks.accuracy.extrapolate")
    page = tables.page(list(known.values()), command, notes_beside(asked.output))
    asked.output.with_suffix(".md").write_text(page)


def _folder(asked: argparse.Namespace) -> Path:
    """Return the folder of recordings: targets of other ranks or sizes have one of their own, as they need others."""
    if (asked.ranks, asked.smaller) == (RANKS, 1):
        return Path(asked.folder)
    return Path(asked.folder, f"{asked.ranks}-ranks-{asked.smaller}-times-smaller")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.extrapolate", description=__doc__)
    parser.add_argument(
        "folder", type=Path, help="keep recordings there, those for other --ranks or "
        "--smaller in folders of their own; what it has is not recorded again",
    )  # fmt: skip
    parser.add_argument("--programs", type=lambda text: text.split(","), help="only these (default: all)")
    parser.add_argument("--ranks", type=int, default=RANKS, help="of targets (default: %(default)s)")
    parser.add_argument("--smaller", type=int, default=1, metavar="TIMES", help="targets of sizes so much smaller")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("extrapolate.csv"), help="the table; its page is written beside it"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
