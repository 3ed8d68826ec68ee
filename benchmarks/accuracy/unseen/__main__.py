"""Run unseen programs, and write their table and page; see the package. Needs root.

``python -m benchmarks.accuracy.unseen --measured FOLDER [--rehearsal] [-o benchmarks/accuracy/unseen.csv]``

Without ``--rehearsal`` the frozen programs run on the frozen machines, from a commit without uncommitted changes. Each
commit that is compared with them is logged as a look. With ``--rehearsal``, neither the frozen programs nor the frozen
machines are touched.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.accuracy.unseen import cases, looks, tables
from benchmarks.accuracy.unseen.buying import Buyer
from benchmarks.accuracy.unseen.experiment import Experiment
from benchmarks.accuracy.unseen.figures import UnseenCase
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.command import with_status
from benchmarks.page import notes_beside, typed_command
from benchmarks.progress import tell
from benchmarks.testbed import cluster
from clue.errors import UsageError


@with_status
def main() -> None:
    """Run the command."""
    asked = _arguments()
    if asked.looks:
        print("\n".join(f"{date} {commit}" for date, commit in looks.looks()) or "no looks yet")
        return
    if lack := cluster.missing():
        raise UsageError(lack)
    _measure(asked)


def _measure(asked: argparse.Namespace) -> None:
    page = asked.output.with_suffix(".md")
    programs, machines = cases.chosen(cases.Set.REHEARSAL if asked.rehearsal else cases.Set.FROZEN)
    programs = [each for each in programs if asked.programs is None or each.name in asked.programs]
    machines = [each for each in machines if asked.machines is None or each.name in asked.machines]
    if not programs or not machines:
        which = "for rehearsal" if asked.rehearsal else "frozen"
        raise UsageError(
            f"unseen: programs and machines {which} must be chosen, got {len(programs)} on {len(machines)}"
        )
    if asked.rehearsal:
        commit = looks.commit()
    else:
        commit = looks.frozen_commit([asked.output, page, asked.measured])
        tell(f"look number {looks.look(commit)} at frozen cases")
    asked.measured.mkdir(parents=True, exist_ok=True)
    buyer = Buyer(asked.measured, asked.link_seconds, tell)
    folder = MeasurementFolder(asked.measured)
    experiment = Experiment(programs, asked.runs, folder, buyer, commit, tell, asked.dilation)
    known = {_key(case): case for case in tables.read_csv(asked.output)}
    if any(case.frozen is asked.rehearsal for case in known.values()):
        raise UsageError(f"{asked.output}: a table must be of frozen cases alone, or of those for rehearsal")
    for machine in machines:
        known |= {_key(case): case for case in experiment.on(machine)}
        found = list(known.values())
        tables.write_csv(asked.output, found)  # Each machine takes minutes: keep partial results.
        page.write_text(tables.page(found, _command(), looks.looks(), notes_beside(asked.output)))


def _key(case: UnseenCase) -> tuple[str, str, int]:
    return case.program, case.machine, case.dilation


def _command() -> str:
    return typed_command("benchmarks.accuracy.unseen")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.unseen", description=__doc__)
    parser.add_argument("--rehearsal", action="store_true", help="programs and machines that may be looked at")
    parser.add_argument("--looks", action="store_true", help="tell how often frozen cases were looked at, and end")
    parser.add_argument("--programs", type=lambda text: text.split(","), help="only these (default: all)")
    parser.add_argument("--machines", type=lambda text: text.split(","), help="only these (default: all)")
    parser.add_argument("--runs", type=int, default=4, help="real runs of each case (default: %(default)s)")
    parser.add_argument(
        "--dilation",
        type=int,
        default=4,
        help="late cases are measured again on clusters so many times slower; 1: never (default: %(default)s)",
    )
    parser.add_argument(
        "--link-seconds", type=float, default=15.0, help="for each measurement of a link (default: %(default)s)"
    )
    parser.add_argument(
        "--measured",
        type=Path,
        metavar="FOLDER",
        default=Path("measured-unseen"),
        help="keep recordings and measurements there; what it has is not measured again (default: %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("unseen.csv"), help="the table; its page is written beside it"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
