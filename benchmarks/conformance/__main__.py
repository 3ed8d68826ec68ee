"""Run mpi4py's tests and demos with a real MPI library and live, and write the results.

python -m benchmarks.conformance [--ranks 1 2 3 5] [--files p2p cco …] [-o benchmarks/conformance/README.md]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import astuple
from itertools import product
from pathlib import Path

from benchmarks.conformance import demos
from benchmarks.conformance.files import LIVE, REAL, Verdict, Way, run_file
from benchmarks.conformance.table import Comparison, demos_section, libraries, old_demos, read_csv, report, write_csv
from clue.cache import home
from tests.conformance.suite import fetch


def main() -> None:
    """Run the tests and write the page; earlier results of other files and numbers of ranks are kept."""
    asked = _arguments()
    tests = fetch()
    figures = asked.output.with_name("results.csv") if asked.output is not None else None
    compared = read_csv(figures) if figures is not None else {}
    modules = [file.stem for file in sorted(tests.glob("test_*.py")) if _wanted(file.stem, asked.files)]
    for ranks, module in product(asked.ranks, modules):
        real = _kept(REAL, ranks, tests, module)
        if asked.real_only:
            continue
        begin = time.perf_counter()
        new = Comparison(module, ranks, tuple(real), tuple(run_file(LIVE, ranks, tests, module)))
        compared[module, ranks] = new
        _say(f"{new.line}, {time.perf_counter() - begin:.0f} s")
        if figures is not None:
            write_csv(figures, _sorted(compared))
    if asked.output is not None:
        shown = list(demos_section(list(demos.run_all(tests.parent / "demo", _say)))) if asked.demos else []
        asked.output.write_text(report(_sorted(compared), shown or old_demos(asked.output), _command(asked)))


def _sorted(compared: Mapping[tuple[str, int], Comparison]) -> list[Comparison]:
    return [compared[key] for key in sorted(compared)]


def _command(asked: argparse.Namespace) -> str:
    return f"python -m benchmarks.conformance --demos -o {asked.output}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conformance", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 5])
    parser.add_argument("--files", nargs="*", default=[""], help="parts of the names of files; left out: all")
    parser.add_argument("--real-only", action="store_true", help="run by the real library only, which is kept")
    parser.add_argument("--demos", action="store_true", help="run mpi4py's demos and two pools, too")
    parser.add_argument("-o", dest="output", type=Path, help="the page, beside which results.csv goes")
    return parser.parse_args()


def _wanted(module: str, parts: list[str]) -> bool:
    return any(part in module for part in parts)


def _kept(way: Way, ranks: int, tests: Path, module: str) -> list[Verdict]:
    """Return the outcomes of a file, which only other versions change, from the cache if they are there."""
    words = "-".join([tests.parent.name, *libraries().replace(",", "").split(), str(ranks), module])
    kept = home() / "conformance" / f"{words}.json"
    if not kept.exists():
        outcomes = run_file(way, ranks, tests, module)
        kept.write_text(json.dumps([astuple(outcome) for outcome in outcomes]))
        _say(f"{module}, {ranks} ranks by {way.name}: {_counted(outcomes)}")
    return [Verdict(*each) for each in json.loads(kept.read_text())]


def _counted(outcomes: list[Verdict]) -> str:
    names = [outcome.outcome for outcome in outcomes]
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
