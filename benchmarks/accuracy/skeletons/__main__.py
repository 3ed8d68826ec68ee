"""Run the study of skeletons, and write its table and page; see the package. Needs root.

``python -m benchmarks.accuracy.skeletons --measured FOLDER [-o benchmarks/accuracy/skeletons.csv]``

Takes about half an hour on two otherwise idle cores. The folder keeps recordings, skeletons and runs: an interrupted
study continues, and nothing is measured twice.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.accuracy.skeletons import plotting, tables
from benchmarks.accuracy.skeletons.cases import PROGRAMS, SCENARIOS, SECONDS
from benchmarks.accuracy.skeletons.experiment import Study
from benchmarks.accuracy.skeletons.figures import predictions
from benchmarks.accuracy.skeletons.making import SUFFIXES
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.command import with_status
from benchmarks.page import notes_beside, typed_command
from benchmarks.progress import tell
from benchmarks.testbed import cluster
from clue.errors import UsageError


@with_status
def main() -> None:
    """Run the study."""
    asked = _arguments()
    if lack := cluster.missing():
        raise UsageError(lack)
    # A trial's measurements would otherwise be taken for those of the study.
    folder = asked.measured / f"{asked.iterations}-iterations" if asked.iterations else asked.measured
    folder.mkdir(parents=True, exist_ok=True)
    study = Study(
        [each for each in PROGRAMS if each.name in asked.programs],
        [each for each in SCENARIOS if each.name in asked.scenarios],
        asked.seconds, MeasurementFolder(folder), asked.abreast, tell, iterations=asked.iterations,
        language=asked.language,
    )  # fmt: skip
    study.prepare()
    study.measure(lambda: _write(study, asked.output))
    _write(study, asked.output)


def _write(study: Study, output: Path) -> None:
    """Write the results so far: the table, its page, and the figure."""
    runs, skeletons = study.runs(), study.skeletons()
    results = tables.Results(
        runs, skeletons, predictions(runs, skeletons), study.recordings(), study.million(), study.language
    )
    tables.write_csv(output, results)
    plot = output.with_suffix(".svg")
    plotting.draw(plot, results)
    command = typed_command("benchmarks.accuracy.skeletons")
    output.with_suffix(".md").write_text(tables.page(results, command, plot.name, notes_beside(output)))


def _some_of(names: list[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        found = text.split(",")
        if not set(found) <= set(names):
            raise argparse.ArgumentTypeError(f"must be some of {','.join(names)}, got {text}")
        return found

    return read


def _lengths(text: str) -> list[float]:
    found = sorted(map(float, text.split(",")), reverse=True)
    if found[-1] <= 0:
        raise argparse.ArgumentTypeError(f"must be above 0, got {text}")
    return found


def _arguments() -> argparse.Namespace:
    programs, scenarios = [each.name for each in PROGRAMS], [each.name for each in SCENARIOS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.skeletons", description=__doc__)
    parser.add_argument("--programs", type=_some_of(programs), default=programs, help="only these (default: all)")
    parser.add_argument("--scenarios", type=_some_of(scenarios), default=scenarios, help="only these (default: all)")
    parser.add_argument(
        "--seconds", type=_lengths, default=SECONDS, help="lengths of skeletons (default: 10,5,2,1,0.5)"
    )
    parser.add_argument(
        "--abreast", type=int, default=2, metavar="N", help="programs measured at once, each on a cluster of its own "
        "(default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--language", choices=sorted(SUFFIXES), default="c", help="what skeletons are written in (default: %(default)s)"
    )
    parser.add_argument(
        "--iterations", type=int, default=0, metavar="N", help="of applications, for a shorter trial, "
        "which keeps its measurements in a folder of its own within that of --measured",
    )  # fmt: skip
    parser.add_argument(
        "--measured", type=Path, metavar="FOLDER", default=Path("measured-skeletons"),
        help="keep what was recorded, made and run there (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("skeletons.csv"), help="the table; its page is written beside it"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
