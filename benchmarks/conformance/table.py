"""Outcomes of mpi4py's tests, as Markdown and as CSV."""

from __future__ import annotations

import csv
import importlib.metadata
import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchmarks.conformance.demos import Demo
from benchmarks.conformance.files import Verdict

#: Test files that cover the core: point-to-point, collective and communicator code.
_CORE = re.compile(r"test_(p2p|cco|comm|request|status|cart|graph|topo|pack$|op$|msgspec)")
_CORE_GOAL, _WHOLE_GOAL = 0.95, 0.80
_DEMOS = "## Demos and pools"
_PLACE = re.compile(r" \(\w+\.py:\d+\)$|^rank \d+: ")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcomes of one file on one number of ranks, both ways."""

    module: str
    ranks: int
    real: tuple[Verdict, ...]
    live: tuple[Verdict, ...]

    @property
    def pairs(self) -> list[tuple[Verdict, Verdict]]:
        """The outcomes of each test with the real library and live; a missing test counts as ended."""
        live = {outcome.test: outcome for outcome in self.live}
        why = next((each.why for each in self.live if each.outcome == "ended"), "not found")
        return [(real, live.get(real.test) or Verdict(real.test, "ended", why)) for real in self.real]

    @property
    def counting(self) -> list[Verdict]:
        """The live outcomes of the tests that pass with the real library."""
        return [live for real, live in self.pairs if real.outcome == "passed"]

    @property
    def faults(self) -> list[Verdict]:
        """The live failures among these."""
        return [outcome for outcome in self.counting if outcome.outcome != "passed"]

    @property
    def passed(self) -> tuple[int, int]:
        """The number of tests that passed live, and the number that pass with the real library."""
        return len(self.counting) - len(self.faults), len(self.counting)

    @property
    def line(self) -> str:
        """The outcome in a line."""
        passed, of = self.passed
        reasons = "; ".join(f"{count} × {why}" for why, count in _reasons(self.faults).most_common(3))
        return f"{self.module}, {self.ranks} ranks: {passed} of {of}" + (f": {reasons}" if reasons else "")


def _reasons(faults: Iterable[Verdict]) -> Counter[str]:
    """Count the reasons, ignoring the rank and the line that they came from."""
    return Counter(_PLACE.sub("", _PLACE.sub("", fault.why or fault.outcome))[:120] for fault in faults)


def report(compared: Sequence[Comparison], demos: Sequence[str], command: str) -> str:
    """Return the whole report; ``demos`` is its last section."""
    lines = [
        "# mpi4py's own tests and demos under `clue run`",
        "",
        f"`{command}`: mpi4py {importlib.metadata.version('mpi4py')}, {libraries()}; {date.today()}.",
        "",
        "Each file of mpi4py's test suite (fetched from PyPI) runs under `mpiexec` and under `clue run`. The "
        "tables show how many of the tests that pass under the real library (without skipped tests) also pass on every "
        "virtual rank.",
        "",
        *_goals(compared),
        "",
        *_files(compared),
        "",
        *_failing(compared),
        *demos,
    ]
    return "\n".join(lines).rstrip() + "\n"


def libraries() -> str:
    """Return the MPI library and the Python, on which outcomes by mpiexec depend."""
    return f"MPICH {_version('mpich')}, Python {platform.python_version()}"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of this computer"


def _sum(compared: Iterable[Comparison]) -> tuple[int, int]:
    each = [comparison.passed for comparison in compared]
    return sum(passed for passed, _ in each), sum(of for _, of in each)


def _share(compared: Iterable[Comparison]) -> str:
    passed, of = _sum(compared)
    return f"{passed:,} of {of:,} ({_percent(passed, of)})" if of else "–"


def _percent(passed: int, of: int) -> str:
    # Rounded down: 100 % means all of them.
    return f"{int(1000 * passed / of) / 10:.1f} %" if of else "–"


def _goals(compared: Sequence[Comparison]) -> Iterator[str]:
    ranks = sorted({each.ranks for each in compared})
    yield from _head("", "goal", "all", *(f"{n} rank{'s' * (n > 1)}" for n in ranks))
    core = [each for each in compared if _CORE.match(each.module)]
    about = "point to point, collectives, communicators, requests, statuses, topologies, packing, operations"
    for name, goal, part in ((about, _CORE_GOAL, core), ("the whole suite", _WHOLE_GOAL, compared)):
        shares = [_share(each for each in part if each.ranks == n) for n in ranks]
        yield f"| {name} | {goal:.0%} | {_share(part)} | {' | '.join(shares)} |"


def _files(compared: Sequence[Comparison]) -> Iterator[str]:
    ranks = sorted({each.ranks for each in compared})
    yield from ["## By file", "", "An empty cell: not run at this number of ranks.", ""]
    yield from _head("file", *(f"{n} rank{'s' * (n > 1)}" for n in ranks), "share", "why not")
    for module in dict.fromkeys(each.module for each in compared):
        of_file = {each.ranks: each for each in compared if each.module == module}
        cells = [f"{of_file[n].passed[0]}/{of_file[n].passed[1]}" if n in of_file else "" for n in ranks]
        reasons = _reasons(fault for each in of_file.values() for fault in each.faults)
        why = "; ".join(f"{count} × {_cell(reason)}" for reason, count in reasons.most_common(3))
        yield f"| {module} | {' | '.join(cells)} | {_percent(*_sum(of_file.values()))} | {why} |"


def _failing(compared: Sequence[Comparison]) -> Iterator[str]:
    found: dict[str, dict[str, list[str]]] = {}
    for each in compared:
        for fault in each.faults:
            by_reason = found.setdefault(each.module, {})
            reason = next(iter(_reasons([fault])))
            by_reason.setdefault(reason, []).append(fault.test.removeprefix(f"{each.module}."))
    if not found:
        return
    yield from ["## Tests that pass only under the real library", ""]
    for module, by_reason in found.items():
        yield from [f"### {module}", ""]
        for reason, tests in by_reason.items():
            names = list(dict.fromkeys(tests))
            more = f" and {len(names) - 12} more" if len(names) > 12 else ""
            yield f"- {_cell(reason)}: {', '.join(f'`{name}`' for name in names[:12])}{more}"
        yield ""


def demos_section(demos: Sequence[Demo]) -> Iterator[str]:
    """Yield the lines on demos and pools."""
    yield from [_DEMOS, ""]
    yield from _head("program", "ranks", "ends well by mpiexec", "ends well live", "same output", "remark")
    for each in demos:
        cells = [_tick(each.real), _tick(each.live), _tick(each.same)]
        yield f"| {each.name} | {each.ranks} | {' | '.join(cells)} | {_cell(each.remark)} |"


def old_demos(path: Path) -> list[str]:
    """Return the lines on demos and pools from an earlier report."""
    text = path.read_text() if path.exists() else ""
    return [_DEMOS + text.partition(_DEMOS)[2].rstrip()] if _DEMOS in text else []


def _tick(what: bool | None) -> str:
    return {True: "yes", False: "**no**", None: "–"}[what]


def _head(*columns: str) -> list[str]:
    return [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


_COLUMNS = ("file", "test", "ranks", "real", "live", "why", "tests")


def write_csv(path: Path, compared: Iterable[Comparison]) -> None:
    """Write the outcomes of the tests, with the numbers of ranks at which they occurred.

    Tests with the same outcome with the real library and live are counted per file; each of the other tests has a line.
    """
    found: dict[tuple[str, str, str, str, str, int], list[int]] = {}
    for each in compared:
        alike = Counter(real.outcome for real, live in each.pairs if real.outcome == live.outcome)
        lines = [(each.module, "", outcome, outcome, "", tests) for outcome, tests in alike.items()]
        lines += [
            (each.module, real.test, real.outcome, live.outcome, live.why, 1)
            for real, live in each.pairs
            if real.outcome != live.outcome
        ]
        for line in lines:
            found.setdefault(line, []).append(each.ranks)
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(_COLUMNS)
        for (module, test, real_outcome, live_outcome, why, tests), ranks in sorted(found.items()):
            table.writerow([module, test, " ".join(map(str, sorted(ranks))), real_outcome, live_outcome, why, tests])


def read_csv(path: Path) -> dict[tuple[str, int], Comparison]:
    """Read the file that :func:`write_csv` wrote, by file and ranks; return nothing if there is no such file.

    Tests that were only counted get numbers for names.
    """
    found: dict[tuple[str, int], list[tuple[Verdict, Verdict]]] = {}
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                for ranks in row["ranks"].split():
                    found.setdefault((row["file"], int(ranks)), []).extend(_verdicts(row))
    return {
        (module, ranks): Comparison(module, ranks, tuple(real for real, _ in pairs), tuple(live for _, live in pairs))
        for (module, ranks), pairs in found.items()
    }


def _verdicts(row: Mapping[str, str]) -> Iterator[tuple[Verdict, Verdict]]:
    for number in range(int(row["tests"])):
        test = row["test"] or f"{row['file']}.{row['real']}.{number}"
        yield Verdict(test, row["real"]), Verdict(test, row["live"], row["why"])
