"""Runs the study of scenarios/self-scheduling, draws its figures and prints its tables as Markdown.

    python -m benchmarks.accuracy.self_scheduling              all of it: some minutes, a few GB of memory
    python -m benchmarks.accuracy.self_scheduling --sizes 250 500
    python -m benchmarks.accuracy.self_scheduling --again      pictures and tables from the times that are kept

Every run has declared bursts, so that its times are the same on any computer under any load.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.accuracy.self_scheduling.comparing import Curves, crossings, curves, fastest
from benchmarks.accuracy.self_scheduling.figures import draw_replay, draw_times
from benchmarks.accuracy.self_scheduling.lines import FOLDER, LINES, ON_EQUAL_NODES, SIZES
from benchmarks.accuracy.self_scheduling.runs import (
    LOADED,
    REPLAYED_AT,
    STEADY,
    UNIT,
    UNITS,
    over_sizes,
    over_units,
    replayed,
)
from benchmarks.accuracy.self_scheduling.times import Time, read, write
from clue.report.shared.style import save

RESULTS = FOLDER / "results.json"
_NAMES = [line.name for line in LINES]


def main() -> None:
    """Run, draw and print."""
    args = _arguments()
    times = read(args.results) if args.again else _measure(sorted(set(args.sizes)))
    if not args.again:
        write(times, args.results)
    sys.stdout.writelines(f"{line}\n" for line in (*tables(times), *_draw(times, args.figures)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="orders of the matrices")
    parser.add_argument("--again", action="store_true", help="run nothing")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where times are kept")
    parser.add_argument("--figures", type=Path, default=FOLDER / "figures", help="where pictures go")
    return parser.parse_args()


def _measure(sizes: Sequence[int]) -> list[Time]:
    def tell(what: str) -> None:
        print(what, file=sys.stderr)

    n = REPLAYED_AT if REPLAYED_AT in sizes else sizes[-1]
    steady, loaded = over_sizes(STEADY, sizes, tell), over_sizes(LOADED, sizes, tell)
    return [*steady, *loaded, *over_units(sizes[-1], tell), *replayed(n, tell)]


def split(times: Sequence[Time]) -> tuple[Curves, Curves]:
    """Return the lines over all sizes on the steady cluster and on the loaded one."""
    usual = [each for each in times if each.line in _NAMES and each.rows == UNIT]
    steady, loaded = curves(usual, STEADY), curves(usual, LOADED)
    return {name: steady[name] for name in _NAMES}, {name: loaded[name] for name in _NAMES}


def tables(times: Sequence[Time]) -> Iterator[str]:
    """Yield the tables of the study."""
    for title, of in zip(("Steady", "Loaded"), split(times), strict=True):
        yield f"## {title}\n"
        yield from _times(of)
        yield ""
    yield "## Crossings\n"
    yield from _crossings(times)
    yield "\n## Units\n"
    yield from _units(times)
    yield "\n## Replay\n"
    yield from _replay(times)


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _head(*cells: object) -> Iterator[str]:
    yield _row(*cells)
    yield _row("---", *("---:" for _ in cells[1:]))


def _times(of: Curves) -> Iterator[str]:
    sizes = sorted(next(iter(of.values())))
    yield from _head("n", *sizes)
    for name, line in of.items():
        yield _row(name, *(f"**{line[n]:.2f}**" if fastest(of, n) == name else f"{line[n]:.2f}" for n in sizes))


def _crossings(times: Sequence[Time]) -> Iterator[str]:
    steady, loaded = split(times)
    pairs = [(one, other) for one in ("SS", "SS, 50 tasks") for other in ("VRP-SS", "VRP static", "VRP dynamic")]
    yield from _head("", "steady", "loaded")
    for one, other in pairs:
        yield _row(f"{one} and {other}", *(_found(of[one], of[other]) for of in (steady, loaded)))


def _found(one: Mapping[int, float], other: Mapping[int, float]) -> str:
    return ", ".join(f"{n:.0f}" for n in crossings(one, other)) or "none"


def _units(times: Sequence[Time]) -> Iterator[str]:
    n = max(each.n for each in times)
    by_unit = {(each.line, each.rows): each.seconds for each in times if (each.machine, each.n) == (STEADY, n)}
    yield from _head(f"rows of a unit, n = {n}", *UNITS)
    for name in ("SS", "VRP-SS"):
        yield _row(name, *(f"{by_unit[name, rows]:.2f}" for rows in UNITS))


def _replay(times: Sequence[Time]) -> Iterator[str]:
    live, replay, n = beside(times)
    yield from _head(f"n = {n}", "live", "replayed", "replayed ÷ live")
    for name in live:
        yield _row(name, f"{live[name]:.2f}", f"{replay[name]:.2f}", f"{replay[name] / live[name]:.2f}")


def beside(times: Sequence[Time]) -> tuple[dict[str, float], dict[str, float], int]:
    """Return the times of the lines, live and replayed, and the order of the matrices."""
    n = next(each.n for each in times if each.kind == "replay")
    live, replay = (
        {each.line: each.seconds for each in times if (each.kind, each.machine, each.n) == (kind, STEADY, n)}
        for kind in ("live", "replay")
    )
    return {line.name: live[line.name] for line in ON_EQUAL_NODES}, replay, n


def _draw(times: Sequence[Time], folder: Path) -> Iterator[str]:
    steady, loaded = split(times)
    live, replay, n = beside(times)
    pictures = {
        "steady.png": draw_times(steady, "Matrix product on 4 intel, 4 bio and 6 taurus nodes", paper=True),
        "loaded.png": draw_times(loaded, "The same, with two intel nodes busy for others from 3 s on"),
        "replay.png": draw_replay(live, replay, f"What a replay makes of self-scheduling (n = {n})"),
    }
    for name, picture in pictures.items():
        yield f"\n{save(picture, folder, name)}"


if __name__ == "__main__":
    main()
