"""The WIEN 97 case study beside the tables of the CLUE paper: prints, as Markdown, every figure of scenarios/wien97.md.

    python -m benchmarks.accuracy.wien97                             reduced sizes, shipped traces: some minutes
    python -m benchmarks.accuracy.wien97 --full                      the paper's sizes; records what is not cached
    python -m benchmarks.accuracy.wien97 --ranking wien97.json       Table 3 from `clue simulate wien97 --json`

Pictures go to scenarios/figures, or to the folder given by ``--figures``. This script checks nothing; the checks are in
tests/scenarios.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import yaml

import clue
from clue.analysis.scaling import Series
from clue.cli.traces import Traces
from clue.machine import FactorTable, Machine, NoContention
from clue.machine.machine import Waiting
from clue.predict.application import Application
from clue.predict.replaying import TraceSource
from clue.progress import silent
from clue.purchase import Scenario
from clue.report.ranking.document import ranking_document
from clue.report.ranking.scaling import draw_performance
from clue.report.ranking.scores import draw_ranking
from clue.report.shared.style import save
from clue.trace import Trace

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
#: Our kernels: name in the paper's tables, and operations of a matrix of order n as a multiple of n³.
KERNELS = {"cholesky": ("kernel_1", 1 / 3), "tridiagonalisation": ("kernel_2", 4 / 3)}
#: Performance factor that makes computation outside the kernels free; a factor of 0 would leave it as recorded.
NOTHING = 1e-9
FIGURE_5 = (2000, (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16))
FIGURE_5_NETWORKS = {"Fast Ethernet": "wien97-cheapest", "gigabit class (SCI)": "wien97-fine"}

Row = Mapping[str, Any]
Document = Mapping[str, Any]


# --- simulations ---


def kernels_alone(machine: Machine) -> Machine:
    """Return the machine on which only kernels take time; above all, making the matrix takes none."""
    types = {name: replace(node, performance_factor=NOTHING) for name, node in machine.node_types().items()}
    return replace(machine, nodes=tuple(types[node.name] for node in machine.nodes))


def scenario_alone(scenario: Scenario) -> Scenario:
    """Return the scenario on machines where only the kernels take time."""
    options = tuple(replace(option, machine=kernels_alone(option.machine)) for option in scenario.options)
    return replace(scenario, options=options)


def order(application: Application) -> int:
    """Return n of a program's ``--n N``."""
    return int(application.arguments[application.arguments.index("--n") + 1])


@dataclass(frozen=True, slots=True)
class PaperCase:
    """A row of the paper's Table 2, with the data needed to simulate it."""

    row: Row
    machine: Machine
    programs: Mapping[str, Application]

    def speeds(self) -> dict[str, float]:
        """Return the flop/s of all instances together, by kernel, over the kernels' time alone."""
        traces = Traces(silent)
        side_by_side, ranks = self.row["high_level"], self.row["low_level"]
        found = {}
        for name, program in self.programs.items():
            result = clue.simulate(traces(program, ranks), self.machine, "block", instances=side_by_side)
            found[name] = side_by_side * KERNELS[name][1] * order(program) ** 3 / result.makespan
        return found


#: A function that simulates cases; it returns the speed of their splits, flop/s.
Simulate = Callable[[Sequence[PaperCase]], Sequence[Mapping[str, float]]]


def _tell(what: str, done: int = 0, total: int = 0) -> None:
    print(f"{what} ({done} of {total})" if total else what, file=sys.stderr)


def _speeds(split: PaperCase) -> dict[str, float]:
    return split.speeds()


def splits(scenario: Scenario, paper: Document) -> list[PaperCase]:
    """Return the rows of Table 2, ready to simulate."""
    machines = {option.name: option.machine for option in scenario_alone(scenario).options}
    large = next(workload for workload in scenario.workloads if workload.name == "large")
    programs = {each.name: each.application for each in large.components}
    return [PaperCase(row, machines[row["name"]], programs) for row in paper["large_case"]]


def cluster_of(machine: Machine, nodes: int) -> Machine:
    """Return a cluster of this many nodes, with the contention of the shipped machines: messages / nodes."""
    level = ((1, 1.0), (nodes, 1.0)) if nodes > 1 else ((1, 1.0),)
    network = replace(machine.network, contention=FactorTable((*level, (4 * nodes, 4.0))))
    return replace(machine, nodes=machine.nodes[:1] * nodes, network=network)


def performance_by_processors(
    machine: Machine, program: Application, ranks: Sequence[int], traces: TraceSource
) -> Series:
    """Return the flop/s of one instance of Cholesky by number of processors, one rank per node."""
    flops = KERNELS["cholesky"][1] * order(program) ** 3
    points = [(p, flops / clue.simulate(traces(program, p), cluster_of(machine, p)).makespan) for p in ranks]
    return Series(machine.name, tuple(points))


def figure_5(traces: TraceSource) -> list[Series]:
    """Return the performance of Cholesky with n = 2000 by number of processors, on both networks."""
    n, ranks = FIGURE_5
    shipped = str(SCENARIOS / "traces" / f"cholesky-{n}-{{ranks}}.clue.zip")
    program = Application(SCENARIOS / "programs" / "cholesky.py", ("--n", str(n)), shipped)
    machines = {name: kernels_alone(clue.load_machine(machine)) for name, machine in FIGURE_5_NETWORKS.items()}
    return [
        replace(performance_by_processors(machine, program, ranks, traces), name=name)
        for name, machine in machines.items()
    ]


def without_contention(machine: Machine) -> Machine:
    """Return the machine on which simultaneous messages do not slow each other."""
    return replace(machine, network=replace(machine.network, contention=NoContention()))


def sleeping(machine: Machine) -> Machine:
    """Return the machine on which a waiting rank leaves its processor, and its share of the memory bus, to others."""
    return replace(machine, nodes=tuple(replace(node, waiting=Waiting.YIELD) for node in machine.nodes))


# --- tables ---


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with the first column aligned left and the others right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def table_2(found: Sequence[tuple[PaperCase, Mapping[str, float]]]) -> str:
    """Return Table 2, ours beside the paper's, in Mflop/s."""
    names = [f"{name}: {column}" for name in KERNELS for column in ("ours", "paper", "ratio")]
    rows = [[s.row["name"], f"{s.row['high_level']} × {s.row['low_level']}", *_speed_cells(s, v)] for s, v in found]
    return table(["configuration", "instances × ranks", *names], rows)


def _speed_cells(split: PaperCase, speeds: Mapping[str, float]) -> Iterator[str]:
    for name, (column, _) in KERNELS.items():
        ours, printed = speeds[name] / 1e6, split.row[column]
        yield from (f"{ours:.0f}", f"{printed}", f"{ours / printed:.2f}")


def other_assumptions(wanted: Sequence[PaperCase], simulate: Simulate) -> str:
    """Return a table of Cholesky without contention, and of the tridiagonalisation with sleeping waiting ranks."""
    cholesky = [replace(split, programs={"cholesky": split.programs["cholesky"]}) for split in wanted]
    polled = [
        replace(split, programs={"tridiagonalisation": split.programs["tridiagonalisation"]})
        for split in wanted
        if split.machine.nodes[0].waiting is Waiting.POLL and split.machine.nodes[0].processors > 1
    ]
    rows = _changed_rows(cholesky, without_contention, "no contention", simulate)
    rows += _changed_rows(polled, sleeping, "waiting ranks sleep", simulate)
    return table(["configuration", "split", "kernel", "changed", "as shipped", "changed to", "paper"], rows)


def _changed_rows(
    wanted: Sequence[PaperCase], change: Callable[[Machine], Machine], what: str, simulate: Simulate
) -> list[list[str]]:
    before, after = simulate(wanted), simulate([replace(split, machine=change(split.machine)) for split in wanted])
    return [
        [split.row["name"], f"{split.row['high_level']} × {split.row['low_level']}", kernel, what]
        + [f"{speeds[kernel] / 1e6:.0f}" for speeds in (old, new)]
        + [str(split.row[KERNELS[kernel][0]])]
        for split, old, new in zip(wanted, before, after, strict=True)
        for kernel in split.programs
    ]


def table_3(ranking: Document, alone: Document, paper: Document) -> str:
    """Return Table 3: points with everything the programs do, points with the kernels alone, and the paper's points."""
    printed = {row["name"]: row for row in paper["points"]}
    kernels_only = {entry["option"]: entry for entry in alone["ranking"]}
    head = ["configuration", "split", "small: ours", "paper", "cholesky: ours", "paper", "tridiag.: ours", "paper",
            "sum: ours", "kernels alone", "paper"]  # fmt: skip
    rows = [_points_row(entry, kernels_only[entry["option"]], printed[entry["option"]]) for entry in ranking["ranking"]]
    return table(head, rows)


def _points_row(entry: Document, alone: Document, printed: Row) -> list[str]:
    small, large = entry["workloads"]["small"], entry["workloads"]["large"]
    points = {"small": small["points"], **{KERNELS[k][0]: v["points"] for k, v in large["kernels"].items()}}
    cells = [cell for name, value in points.items() for cell in (f"{value:.0f}", str(printed[name]))]
    turns = f" in {large['turns']} turns" if large["turns"] > 1 else ""
    split = f"{large['side_by_side']} × {large['ranks']}{turns}"
    return [entry["option"], split, *cells, f"{entry['score']:.1f}", f"{alone['score']:.1f}", str(printed["sum"])]


def setup_table(ranking: Document) -> str:
    """Return the share of each makespan that making the matrix takes, in per cent."""
    rows = []
    for entry in ranking["ranking"]:
        shares = [_setup_share(outcome, kernel) for outcome in entry["workloads"].values() for kernel in KERNELS]
        rows.append([entry["option"], *(f"{100 * share:.1f}" for share in shares)])
    head = [f"{size}: {kernel}" for size in ("small", "large") for kernel in KERNELS]
    return table(["configuration", *head], rows)


def _setup_share(outcome: Document, kernel: str) -> float:
    found = outcome["kernels"][kernel]
    setup = found["compute_by_region"]["setup"] / (outcome["side_by_side"] * outcome["ranks"])
    return float(setup / found["turn"])


def performance_table(series: Sequence[Series]) -> str:
    """Return Mflop/s by number of processors, in total and per processor."""
    columns = [dict(each.points) for each in series]
    rows = [
        [str(p), grid(p), *(f"{share:.0f}" for column in columns for share in (column[p] / 1e6, column[p] / p / 1e6))]
        for p in columns[0]
    ]
    head = ["processors", "grid", *(name for each in series for name in (each.name, "per processor"))]
    return table(head, rows)


def grid(processes: int) -> str:
    """Return the most square P×Q grid with P ≤ Q, in the form that scenarios/programs/block_cyclic.py takes."""
    rows = max(p for p in range(1, processes + 1) if processes % p == 0 and p * p <= processes)
    return f"{rows}×{processes // rows}"


def origins(traces: Sequence[Trace]) -> str:
    """Return the computers on which the traces were recorded, and the times."""
    heads = [trace.head for trace in traces]
    places = sorted(
        {f"- {head.processor}; {' '.join(head.mpi.splitlines()[0].split())}; Python {head.python}" for head in heads}
    )
    days = sorted({head.recorded[:10] for head in heads})
    span = " to ".join(dict.fromkeys((days[0], days[-1])))
    return "\n".join([*places, f"- {len(heads)} traces, recorded {span}; clock: {heads[0].clock}"])


def all_traces(scenario: Scenario, traces: Traces) -> list[Trace]:
    """Return every trace of the scenario."""
    wanted = [
        (component.application, ranks)
        for workload in scenario.workloads
        for component in workload.components
        for ranks in workload.ranks
    ]
    named = traces.record(wanted)
    return [traces(program, ranks) for program, (_, ranks) in zip(named, wanted, strict=True)]


# --- command ---


def rank(scenario: Scenario, traces: Traces, workers: int) -> clue.Ranking:
    """Rank the options as ``clue simulate`` does."""
    return clue.rank_options(scenario, clue.ReplayPredictor(traces, traces.record, workers=workers), _tell)


def compare(scenario: Scenario, arguments: argparse.Namespace, write: Callable[[str], None]) -> None:
    """Print the comparison with Tables 2 and 3."""
    paper = yaml.safe_load((SCENARIOS / "reference" / "wien97-paper.yaml").read_text())
    traces = Traces(_tell)
    write(f"Recorded on\n\n{origins(all_traces(scenario, traces))}")
    if arguments.ranking is not None:
        ranking: Document = json.loads(arguments.ranking.read_text())
    else:
        ranked = rank(scenario, traces, arguments.workers)
        save(draw_ranking(ranked), arguments.figures, "ranking.png")
        ranking = ranking_document(ranked)
    alone = ranking_document(rank(scenario_alone(scenario), traces, arguments.workers))
    write("### Table 3: points\n\n" + table_3(ranking, alone, paper))
    write("### Making the matrix: its share of the makespan, in per cent\n\n" + setup_table(ranking))
    wanted = splits(scenario, paper)
    with ProcessPoolExecutor(arguments.workers, get_context("spawn")) as processes:

        def simulate(wanted: Sequence[PaperCase]) -> list[dict[str, float]]:
            return list(processes.map(_speeds, wanted))

        write("### Table 2: Mflop/s, kernels alone\n\n" + table_2(list(zip(wanted, simulate(wanted), strict=True))))
        write("### Other assumptions: Mflop/s, kernels alone\n\n" + other_assumptions(wanted, simulate))


def scale(figures: Path, write: Callable[[str], None]) -> None:
    """Print and draw Figure 5."""
    series = figure_5(Traces(silent))
    n, _ = FIGURE_5
    drawn = draw_performance(series, f"Cholesky factorisation, n = {n}, over processors")
    for processors, speed in max(series, key=lambda each: each.points[-1][1]).points:
        # A single row of processes is slower than its neighbours; a label above it would overlap the line.
        place, side = ((4, -14), "left") if grid(processors) == f"1×{processors}" else ((0, 8), "right")
        drawn.axes[0].annotate(grid(processors), (processors, speed), place, textcoords="offset points", ha=side)
    save(drawn, figures, "figure5.png")
    write(f"### Figure 5: Cholesky n = {n}, Mflop/s\n\n" + performance_table(series))


def main(argv: Sequence[str] | None = None) -> None:
    """Print all tables and draw all pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the paper's sizes; records what is not cached")
    parser.add_argument("--ranking", type=Path, metavar="FILE", help="output of `clue simulate wien97 [--full] --json`")
    parser.add_argument("--figures", type=Path, metavar="DIR", default=SCENARIOS / "figures", help="for pictures")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")
    arguments = parser.parse_args(argv)
    scenario = clue.load_config("wien97", full=arguments.full)
    assert isinstance(scenario, Scenario)
    write = partial(print, end="\n\n", flush=True)
    compare(scenario, arguments, write)
    scale(arguments.figures, write)


if __name__ == "__main__":
    main()
