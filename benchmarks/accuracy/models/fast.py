"""Forecasts compared with measurements, and with the FAST paper.

``python -m benchmarks.accuracy.models.fast [-o TABLE.md]``

On this computer: BLAS routines at sizes that were not used for the fit, unloaded and beside other processes; the cost
of an answer. On the i-cluster, which exists only as YAML: the paper's equations of pdgemm against clue's replay of
the same product, on all grids of up to 32 processors. Times under load are meaningful only on an otherwise idle
computer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from random import Random
from statistics import fmean, median

import clue
from benchmarks.accuracy.validate.figures import regret, tau_text
from clue.children import end, running
from clue.forecasting import Forecaster, open_store
from clue.forecasting.adaptive import Goal
from clue.forecasting.asking import Address, Peer
from clue.forecasting.benchmarking import benchmark
from clue.forecasting.measuring import bench
from clue.forecasting.parallel import ELEMENT, Grid, Pdgemm, Sequential, grids, on_rate
from clue.forecasting.routes import Route
from clue.forecasting.routines import Routine
from clue.forecasting.server import Server, serving
from clue.machine import AlgorithmChoice, Machine, NoContention
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.computer import processor_name
from clue.validation.figures import kendall_tau

#: The paper's three routines over its sizes: mean and largest error, each for two processors.
PAPER = {"dgeadd": "4–6.5 %, 6–35 %", "dgemm": "0.1 %, 0.3–4 %", "dtrsm": "5–7 %, 10–16 %"}
SIZES = (128, 1152)
#: Numbers of computing processes beside a loaded dgemm.
LOADS = (1, 2, 3)
_SPIN = "while True: pass"
#: Number of measurements of each case.
_TURNS = 3


_NOTES = """
Sizes are drawn, not measured for the fit, half of them of square matrices; of each the best of three turns counts. The
paper has no time from which a model could be fitted again, so its column is what it says of its own computers. Replays
of pdgemm are clue's, not runs: broadcasts by binomial trees, no contention. Equations add up both broadcasts of a step;
in a replay those of rows and columns overlap where ranks are out of step. What a busy neighbour does to the speed of a
core is not in a forecast under load. Where the computer was busy before, times and loads tell little: what is forecast
has changed by the time that it is measured.
"""


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors of forecasts.

    Attributes:
        shares: Error of each case, with its sign.
    """

    shares: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean absolute error."""
        return fmean(map(abs, self.shares))

    @property
    def largest(self) -> float:
        """The largest absolute error."""
        return max(map(abs, self.shares))

    def __str__(self) -> str:
        return f"{self.mean:.1%}, {self.largest:.1%}"


def main() -> None:
    """Measure, and print or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.models.fast", description=__doc__)
    parser.add_argument("-o", dest="output", type=Path, help="where the page goes (default: standard output)")
    parser.add_argument("--seconds", type=float, default=60.0, help="for measuring each routine (default: 60)")
    parser.add_argument("--cases", type=int, default=20, help="sizes that are forecast of each (default: 20)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = "\n".join(_page(Path(folder), arguments.seconds, arguments.cases)) + "\n"
    if arguments.output:
        arguments.output.write_text(page)
    else:
        print(page)


def _page(folder: Path, seconds: float, cases: int) -> Iterator[str]:
    begin = os.getloadavg()[0]
    with open_store(folder / "store.sqlite", make=True) as store:
        forecaster = Forecaster(store)
        sequential = {name: _sequential(name, forecaster, seconds, cases) for name in PAPER}
        hit, host, network = response(forecaster)
        loaded, parts = map(Errors, zip(*under_load(forecaster, max(1, cases // len(LOADS))), strict=True))
    differences, tau, best, loss = replayed(32)
    yield from ("# Forecasts beside measurements and the FAST paper", "")
    command = "python -m benchmarks.accuracy.models.fast -o benchmarks/accuracy/models/fast.md"
    load = f"load {begin:.1f} before, {os.getloadavg()[0]:.1f} after, where 0 is a quiet computer"
    yield f"`{command}` on {os.cpu_count()} cores of {processor_name()} ({load}); mean and largest error."
    yield from ("", "| figure | paper | goal | here |", "| --- | --- | --- | --- |")
    for name, (errors, memory, points) in sequential.items():
        what = f"{name}, {cases} cases of sizes {SIZES[0]} to {SIZES[1]}, by {points} points"
        yield f"| {what} | {PAPER[name]} | – | {errors} |"
        yield f"| its memory, largest error | 0 B | 0 B | {memory} B |"
    yield f"| dgemm beside {LOADS[0]} to {LOADS[-1]} processes | 10 %, 22 % | mean ≤ 8 % | {loaded} |"
    yield f"| of that: the part of a core that it got | – | – | {parts} |"
    yield f"| cached answer | – | ≤ 20 us | {hit * 1e6:.2f} us |"
    yield f"| probe of a host against it | 4000 × | ≥ 4000 × | {host / hit:,.0f} × ({host * 1e3:.0f} ms) |"
    yield f"| probe of a link (loopback) against it | – | – | {network / hit:,.0f} × ({network * 1e3:.0f} ms) |"
    what = f"pdgemm, equations against clue's replay, i-cluster, {len(differences.shares)} grids"
    yield f"| {what} | 4 %, 15 % against runs | – | {differences} |"
    yield f"| order of these grids, Kendall's tau-b | – | ≥ 0.9 | {tau_text(tau)} |"
    yield f"| best grid, by equations and by replay | right | right | {best}: a loss of {loss:.1%} |"
    yield _NOTES.rstrip()


# --- routines here ---


def _sequential(name: str, forecaster: Forecaster, seconds: float, cases: int) -> tuple[Errors, int, int]:
    """Return the errors of a routine's forecasts at other sizes, of its memory, and the number of fitted points."""
    with bench(name) as running:
        ranges = dict.fromkeys(running.routine.parameters, SIZES)
        measured = benchmark(name, forecaster.store, ranges, Goal(seconds=seconds)).measured
        random = Random(name)
        drawn = [_drawn(running.routine, random) for _ in range(cases)]
        # The minimum of several turns: other load varies, and only adds time.
        turns = [[running.point(sizes, 0.1).seconds for sizes in drawn] for _ in range(_TURNS)]
        shares, memory = [], 0
        for sizes, *taken in zip(drawn, *turns, strict=True):
            need, nbytes, _ = forecaster.need(name, dict(zip(running.routine.parameters, sizes, strict=True)))
            shares.append(need.seconds / min(taken) - 1)
            memory = max(memory, abs(nbytes - running.memory(sizes)))
    return Errors(tuple(shares)), memory, len(measured.points)


def _drawn(routine: Routine, random: Random) -> tuple[int, ...]:
    """Return random sizes for a routine: square matrices, as in the paper, half of the time, otherwise any shape."""
    low, high = SIZES
    if random.random() < 0.5:
        return (random.randint(low, high),) * len(routine.parameters)
    return tuple(random.randint(low, high) for _ in routine.parameters)


def under_load(forecaster: Forecaster, cases: int) -> Iterator[tuple[float, float]]:
    """Yield the relative errors of forecasts of dgemm beside computing processes, and of its share of a core."""
    random = Random(7)
    with bench("dgemm") as running, ExitStack() as stack:
        for _ in LOADS:
            stack.enter_context(_spinning())
            for _ in range(cases):
                n = random.randint(SIZES[1] // 2, SIZES[1])
                need, _, _ = forecaster.need("dgemm", {"m": n, "n": n, "k": n})
                # Refresh the figure: the load has just changed, and it may be 30 s old.
                part = forecaster.look(forecaster.host).cpu
                cpu, wall = running.elapsed((n, n, n), 2.0)
                yield need.seconds / part / wall - 1, part / (cpu / wall) - 1


@contextmanager
def _spinning() -> Iterator[None]:
    with running([sys.executable, "-c", _SPIN], stdin=subprocess.DEVNULL) as process:
        time.sleep(0.3)
        yield
        end(process)


def response(forecaster: Forecaster) -> tuple[float, float, float]:
    """Return the times of a cached answer, a probe of this computer, and a probe of a loopback link, seconds."""
    sizes = {"m": 500, "n": 500, "k": 500}
    forecaster.time("dgemm", sizes)
    hits = []
    for _ in range(30):
        begin = time.perf_counter()
        for _ in range(100):
            forecaster.time("dgemm", sizes)
        hits.append((time.perf_counter() - begin) / 100)
    probes = [_timed(lambda: forecaster.look("here")) for _ in range(30)]
    with serving(Server(Forecaster(forecaster.store))) as server:
        peer = Peer(Address("127.0.0.1", server.port), None, 10.0)
        links = [_timed(peer.probe) for _ in range(10)]
    return median(hits), median(probes), median(links)


def _timed(what: Callable[[], object]) -> float:
    begin = time.perf_counter()
    what()
    return time.perf_counter() - begin


# --- grids on a machine that exists on paper ---


def replayed(processors: int, n: int = 2048, block: int = 64) -> tuple[Errors, float | None, str, float]:
    """Return the errors of the equations relative to replays of pdgemm on all grids, and Kendall's tau-b of the order.

    Also return the best grids of both, and the loss, by replays, of the grid that the equations choose.
    """
    machine = by_trees(clue.load_machine("i-cluster"))
    rate = machine.nodes[0].speeds["dgemm"]
    assert isinstance(rate, float), "it is stated as a number"
    routine, take = Pdgemm(n, n, n, block), on_rate(rate)
    pairs: list[tuple[float, float, Grid]] = []
    for grid in grids(processors):
        # A message is a block of the local part: half of it goes along rows, half along columns.
        nbytes = ELEMENT * block * (n / grid.rows + n / grid.columns) / 2
        said = routine.on(grid, take, Route.over(machine.network.between_nodes, nbytes)).seconds
        pairs.append((said, clue.simulate(product_trace(routine, grid, take), machine).makespan, grid))
    tau = kendall_tau([(said, replay) for said, replay, _ in pairs])
    best = f"{min(pairs, key=lambda each: each[0])[2]} and {min(pairs, key=lambda each: each[1])[2]}"
    loss = regret([(said, replay) for said, replay, _ in pairs])
    return Errors(tuple(said / replay - 1 for said, replay, _ in pairs)), tau, best, loss


def product_trace(routine: Pdgemm, grid: Grid, take: Sequential) -> Trace:
    """Return pdgemm as a trace: each step broadcasts along each row and each column, then multiplies."""
    trace = TraceBuilder(grid.processors, "pdgemm")
    rows = [trace.communicator([p * grid.columns + q for q in range(grid.columns)]) for p in range(grid.rows)]
    columns = [trace.communicator([p * grid.columns + q for p in range(grid.rows)]) for q in range(grid.columns)]
    m, n, steps = -(-routine.m // grid.rows), -(-routine.n // grid.columns), -(-routine.k // routine.block)
    product = take("dgemm", m=m, n=n, k=routine.block)
    for step in range(steps):
        for rank in range(grid.processors):
            p, q = divmod(rank, grid.columns)
            if grid.columns > 1:
                trace[rank].collective(Op.BCAST, ELEMENT * m * routine.block, step % grid.columns, rows[p])
            if grid.rows > 1:
                trace[rank].collective(Op.BCAST, ELEMENT * n * routine.block, step % grid.rows, columns[q])
            trace[rank].compute(product)
    return trace.build()


def by_trees(machine: Machine) -> Machine:
    """Return the machine as the paper's model assumes it: broadcasts by trees, computation at the stated speed."""
    nodes = tuple(replace(node, performance_factor=1.0) for node in machine.nodes)
    tree = {**machine.network.collectives, "bcast": AlgorithmChoice(((inf, "binomial"),))}
    return replace(machine, nodes=nodes, network=replace(machine.network, collectives=tree, contention=NoContention()))


if __name__ == "__main__":
    main()
