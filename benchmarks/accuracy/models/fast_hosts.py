"""Forecasts of the FAST paper's experiments, compared with real runs on emulated hosts and with clue's replays.

``python -m benchmarks.accuracy.models.fast_hosts FOLDER [-o FILE.md] [--smoke]`` (root; some 20 minutes)

Three experiments, each on a testbed: ``clue forecast`` on one host asks ``clue forecast serve`` on another host, which
also runs computing processes; the product of two complex matrices on a client and two servers; and pdgemm and pdtrsm on
all grids of up to 16 hosts. Results that are already in FOLDER are not measured again. ``--smoke`` does everything with
a few small runs, whose figures are meaningless, and which stay in a folder of their own (FOLDER/smoke).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any

import clue
from benchmarks.accuracy.models.fast import Errors, by_trees, product_trace
from benchmarks.accuracy.validate.cases import MACHINES
from benchmarks.accuracy.validate.figures import regret, tau_text
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.accuracy.validate.predicting import said_by
from benchmarks.command import with_status
from benchmarks.page import ROOT, markdown_table, notes_beside, processor, revision, write_page
from benchmarks.progress import tell
from benchmarks.testbed import cluster, launch
from benchmarks.testbed.description import Host
from clue.children import running
from clue.config import load_machine
from clue.errors import RecordError
from clue.forecasting import Forecaster, open_store
from clue.forecasting.adaptive import Goal
from clue.forecasting.asking import PORT
from clue.forecasting.benchmarking import benchmark
from clue.forecasting.parallel import ELEMENT, Grid, Pdgemm, Pdtrsm, Sequential, grids
from clue.forecasting.routes import Route
from clue.forecasting.sequence import Data, Plan, Step, forecast_sequence
from clue.forecasting.server import FRESH
from clue.machine import Curve, Link, Machine, Ports
from clue.trace import Trace, TraceBuilder
from clue.validation.figures import kendall_tau

PROGRAMS = Path(__file__).parent / "programs"
CLIENT, ONE, TWO = "client", "one", "two"
BLOCK = 64
#: A program that computes for ever, and one that repeats products for some seconds and prints their CPU and wall times.
_SPIN = "while True: pass"
_ELAPSED = """\
import json, sys
from clue.forecasting.measuring import bench
n, seconds = int(sys.argv[1]), float(sys.argv[2])
with bench("dgemm") as running:
    running.elapsed((n, n, n), 0.3)
    print(json.dumps(running.elapsed((n, n, n), seconds)))
"""


@dataclass(frozen=True, slots=True)
class Plans:
    """What is measured.

    Attributes:
        seconds: Time for measuring each routine.
        loads: Numbers of processes that compute beside a product, at least 1.
        products: Sizes of the product beside these processes.
        complex: Sizes of the complex product.
        hosts: Number of hosts for the grids.
        sizes: Size of each routine on grids, a multiple of a block for each host.
        repeats: Number of runs, of which the median counts.
    """

    seconds: float
    loads: tuple[int, ...]
    products: tuple[int, ...]
    complex: tuple[int, ...]
    hosts: int
    sizes: Mapping[str, int]
    repeats: int


FULL = Plans(
    40.0, (1, 2, 3), (512, 768, 1024), (256, 384, 512, 640, 768, 896, 1024), 16, {"pdgemm": 1024, "pdtrsm": 2048}, 3
)
SMOKE = Plans(3.0, (1,), (256,), (128,), 2, {"pdgemm": 128, "pdtrsm": 128}, 1)
#: The hosts of the first two experiments have half a core each and Gigabit Ethernet. Those of the grids have a tenth of
#: a core each and the paper's Fast Ethernet.
FEW_FACTOR, MANY_FACTOR = 2.0, 10.0
FEW_BANDWIDTH, MANY_BANDWIDTH = 125e6, 12.5e6


def hosts_of(count: int, factor: float, bandwidth: float) -> list[Host]:
    """Return equal hosts."""
    return [Host(i, factor, 1, 0, bandwidth) for i in range(count)]


# --- clue forecast between two hosts ---


@dataclass(frozen=True, slots=True)
class Asked:
    """A forecast for another host, and the real run there.

    Attributes:
        load: Number of processes that compute on that host.
        n: Size of the product.
        said: Output of ``clue forecast time --json``.
        wall: Mean wall time of a run there, seconds.
        cpu: Mean CPU time of a run there, seconds.
    """

    load: int
    n: int
    said: Mapping[str, Any]
    wall: float
    cpu: float

    @property
    def error(self) -> float:
        """Relative error of the forecast."""
        return float(self.said["seconds"]) / self.wall - 1


class Two:
    """Two hosts: ``clue forecast serve`` runs on the second; commands run on either.

    Args:
        name: Name of the testbed.
        hosts: Its hosts.
        folder: Folder for stores and the token.
    """

    def __init__(self, name: str, hosts: Sequence[Host], folder: Path) -> None:
        self._name, self._hosts, self._folder = name, hosts, folder
        self.address = hosts[1].address
        (folder / "token").write_text("a token of this testbed alone\n")

    def words(self, host: int, *words: str) -> list[str]:
        """Return the command that runs a command on a host."""
        return [*cluster.entry_command(self._name), self._hosts[host].name, "--exec", *words]

    def forecast(self, host: int, *words: str, store: str) -> list[str]:
        """Return the command that runs ``clue forecast`` on a host, with a store of its own."""
        question, *rest = words
        own = ["--store", str(self._folder / store)]
        return self.words(host, sys.executable, "-m", "clue", "forecast", question, *rest, *own)

    @property
    def token(self) -> list[str]:
        """The option that names the token."""
        return ["--token-file", str(self._folder / "token")]

    def call(self, words: Sequence[str]) -> Any:
        """Return the JSON that a command prints.

        Raises:
            RecordError: If the command fails.
        """
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise RecordError(f"testbed: command must end well, got {done.returncode}: {done.stderr[-500:]}")
        return json.loads(done.stdout)

    def asked(self, what: Sequence[str], store: str) -> Any:
        """Return the answer to a question about the second host, asked from the first one."""
        to = ["--host", self.address, "--timeout", "20", "--json", *self.token]
        return self.call(self.forecast(0, *what, *to, store=store))


def between_hosts(plan: Plans, folder: Path) -> dict[str, Any]:
    """Return forecasts asked from another host, the runs there, and the link between both hosts as probed."""
    # A host that is never idle has a core by itself, and nothing else keeps that awake.
    hosts = [Host(0, FEW_FACTOR, 1, 0, FEW_BANDWIDTH), Host(1, 1.0, 1, 1, FEW_BANDWIDTH)]
    found: list[dict[str, Any]] = []
    with launch.standing("forecasts", hosts) as name, ExitStack() as stack:
        two = Two(name, hosts, folder)
        tell("measuring dgemm on the second host")
        spans = ["--range", "m=64:1152", "--range", "n=64:1152", "--range", "k=64:1152"]
        two.call(two.forecast(1, "benchmark", "dgemm", *spans, "--seconds", f"{plan.seconds}", "--json", store="there"))
        serve = two.forecast(1, "serve", "--address", two.address, *two.token, store="there")
        stack.enter_context(
            running(serve, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        time.sleep(2.0)
        way = two.asked(["available"], "link")["network"][0]
        spinning = 1
        for load in plan.loads:
            while spinning < load:
                spin = two.words(1, sys.executable, "-c", _SPIN)
                stack.enter_context(running(spin, stdin=subprocess.DEVNULL))
                spinning += 1
            # By then, the server's earlier knowledge is out of date.
            time.sleep(FRESH + 1.0)
            for n in plan.products:
                tell(f"dgemm of {n} beside {load} processes, as another host forecasts it")
                sizes = [word for size in "mnk" for word in (f"--{size}", f"{n}")]
                said = two.asked(["time", "dgemm", *sizes], f"asking-{load}")
                cpu, wall = two.call(two.words(1, sys.executable, "-c", _ELAPSED, f"{n}", "4"))
                found.append({"load": load, "n": n, "said": said, "wall": wall, "cpu": cpu})
    return {"asked": found, "way": {key: way[key] for key in ("latency", "bandwidth")}, "port": PORT}


# --- the complex product ---


def plan_of(n: int) -> Plan:
    """Return the paper's sequence of six operations and as many exchanges, placed on the same hosts as in the paper."""
    nbytes, square = float(ELEMENT * n * n), {"m": n, "n": n}
    steps = [
        Step(makes, "dgemm", {**square, "k": n}, reads, nbytes, host)
        for makes, reads, host in (
            ("Cr1", ("Ar", "Br"), ONE),
            ("Ci2", ("Ai", "Br"), ONE),
            ("Cr2", ("Ai", "Bi"), TWO),
            ("Ci1", ("Ar", "Bi"), TWO),
        )
    ]
    steps += [
        Step("Cr", "dgeadd", square, ("Cr1", "Cr2"), nbytes, ONE),
        Step("Ci", "dgeadd", square, ("Ci1", "Ci2"), nbytes, TWO),
    ]
    data = {name: Data(nbytes, CLIENT) for name in ("Ar", "Br", "Ai", "Bi")}
    return Plan(data, tuple(steps), {"Cr": CLIENT, "Ci": CLIENT})


def complex_trace(n: int, take: Sequential) -> Trace:
    """Return the sequence as a trace, in which rank 0 is the client."""
    nbytes, product, addition = ELEMENT * n * n, take("dgemm", m=n, n=n, k=n), take("dgeadd", m=n, n=n)
    trace = TraceBuilder(3, "complex product")
    pending = [trace[0].irecv(1), trace[0].irecv(2)]
    for server in (1, 2):
        for _ in range(3):
            trace[0].send(server, nbytes)
    trace[0].wait(*pending)
    for server, other in ((1, 2), (2, 1)):
        rank = trace[server]
        got = [rank.irecv(0) for _ in range(3)]
        theirs = rank.irecv(other)
        rank.wait(*got[:2])
        rank.compute(product)
        leaving = rank.isend(other, nbytes) if server == 2 else None
        rank.wait(got[2])
        rank.compute(product)
        leaving = leaving if leaving is not None else rank.isend(other, nbytes)
        rank.wait(theirs)
        rank.compute(addition)
        rank.send(0, nbytes)
        rank.wait(leaving)
    return trace.build()


def complex_products(plan: Plans, kept: MeasurementFolder) -> dict[str, Any]:
    """Return the measured times of products by size, and the times of messages between two hosts by message size."""

    def measure() -> dict[str, Any]:
        hosts = hosts_of(3, FEW_FACTOR, FEW_BANDWIDTH)
        with launch.standing("complex_product", hosts) as name:
            times = {}
            for n in plan.complex:
                tell(f"complex product of {n}")
                words = [sys.executable, str(PROGRAMS / "complex_product.py"), f"{n}", f"{plan.repeats + 2}"]
                times[f"{n}"] = said_by(launch.run(name, hosts, words, timeout=300))["seconds"]
            # A token bucket lets short messages pass at once, so bandwidth is of messages as long as the program's.
            largest = ELEMENT * max(plan.complex) ** 2
            words = [sys.executable, str(PROGRAMS / "grids.py"), "pdgemm", f"{2 * BLOCK}", "1", f"{largest}"]
            return {"times": times, "messages": said_by(launch.run(name, hosts[:2], words, timeout=300))["messages"]}

    return dict(kept.get("complex", measure))


# --- grids ---


def solve_trace(routine: Pdtrsm, grid: Grid, take: Sequential) -> Trace:
    """Return a trace of pdtrsm for one block row; the real program is ``programs/grids.py``."""
    trace, block = TraceBuilder(grid.processors, "pdtrsm"), routine.block
    p, q, steps = grid.rows, grid.columns, -(-routine.n // block)
    seconds = cache(lambda name, width: take(name, m=block, n=width, **({"k": block} if name == "dgemm" else {})))

    def compute(rank: int, name: str, width: int) -> None:
        if width:
            trace[rank].compute(seconds(name, width))

    for i in range(steps):
        row, root = i % p, i % q
        for place in range(q):
            rank, column = row * q + (root + place) % q, (root + place) % q
            left = block * len(range(i + 1 + (column - i - 1) % q, steps, q))
            first = left if p == 1 else min((p - 1) * block, left)
            if place == 0:
                compute(rank, "dtrsm", block)
            elif q > 1:
                trace[rank].recv(row * q + (column - 1) % q)
            if place < q - 1:
                trace[rank].send(row * q + (column + 1) % q, ELEMENT * block * block)
            compute(rank, "dgemm", first)
            if p > 1:
                below = (row + 1) % p * q + column
                trace[rank].send(below, ELEMENT * block * first)
                compute(rank, "dgemm", left - first)
                trace[below].recv(rank)
                compute(below, "dgeadd", first)
    return trace.build()


def on_grids(plan: Plans, routine: str, kept: MeasurementFolder) -> dict[str, Any]:
    """Return the measured times by grid, and the times of messages between two hosts by message size."""

    def measure() -> dict[str, Any]:
        hosts = hosts_of(plan.hosts, MANY_FACTOR, MANY_BANDWIDTH)
        tell(f"{routine} on all grids of {plan.hosts} hosts")
        n = plan.sizes[routine]
        program, largest = str(PROGRAMS / "grids.py"), ELEMENT * BLOCK * n
        words = [sys.executable, program, routine, f"{n}", f"{plan.repeats}", f"{largest}"]
        tree = {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial"}
        with launch.standing("grids", hosts) as name:
            return said_by(launch.run(name, hosts, words, environment=tree, timeout=1200))

    return dict(kept.get(routine, measure))


def route_of(messages: Mapping[str, float]) -> Route:
    """Return the route with the latency and bandwidth that messages of several sizes show."""
    sizes = sorted((int(size), seconds) for size, seconds in messages.items())
    (small, least), (large, most) = sizes[0], sizes[-1]
    return Route(least, (large - small) / max(most - least, 1e-9))


def machine_like(route: Route, hosts: int) -> Machine:
    """Return a machine of hosts with such a network, whose computation is stated in the hosts' own seconds."""
    shipped = by_trees(load_machine(MACHINES / "8x100m.yaml"))
    # A host sends its messages one after the other, and likewise receives them.
    link = Link(Curve.line(0.0, 1 / route.bandwidth), Curve.line(route.latency))
    network = replace(shipped.network, between_nodes=link, contention=Ports())
    return replace(shipped, nodes=(shipped.nodes[0],) * hosts, network=network)


# --- the page ---


def page(plan: Plans, folder: Path, command: str, notes: Sequence[str] = ()) -> str:
    """Measure what is missing, and return the page, which ends with notes."""
    kept = MeasurementFolder(folder)
    remote = kept.get("between", partial(between_hosts, plan, folder))
    real = complex_products(plan, kept)
    on = {name: on_grids(plan, name, kept) for name in ("pdgemm", "pdtrsm")}
    with open_store(folder / "here.sqlite", make=True) as store:
        take = _routines(plan, Forecaster(store))
        lines = [
            "# Forecasts beside real runs on emulated hosts",
            "",
            f"`{command}` wrote this page on {date.today().isoformat()}: {processor()}, clue {revision()}.",
            "",
            *_HEAD.format(hosts=plan.hosts, repeats=plan.repeats, **plan.sizes).splitlines(),
            "",
        ]
        tables = [_complex(real, partial(_slowed, take, FEW_FACTOR))]
        tables += [_grids(plan, name, each, partial(_slowed, take, MANY_FACTOR)) for name, each in on.items()]
    asked = [Asked(**each) for each in remote["asked"]]
    figures = [("dgemm on another host under load", "10 %, 22 %", "mean ≤ 8 %", f"{Errors(_errors(asked))}", "–")]
    figures += [row for rows, _ in tables for row in rows]
    lines += [*markdown_table(("figure", "paper", "goal", "mean, largest error", "clue's replay"), figures), ""]
    lines += ["## `clue forecast` between two hosts under load", "", *_remote(remote, asked)]
    for _, more in tables:
        lines += ["", *more]
    return "\n".join([*lines, *(["", *notes] if notes else [""])])


def _errors(asked: Sequence[Asked]) -> tuple[float, ...]:
    return tuple(each.error for each in asked)


def _routines(plan: Plans, forecaster: Forecaster) -> Sequential:
    """Measure the sequential routines here, unless they were, and return their times."""
    for name in ("dgemm", "dtrsm", "dgeadd"):
        if forecaster.store.find(platform.node(), name) is not None:
            continue
        tell(f"measuring {name}")
        spans = dict.fromkeys("mnk" if name == "dgemm" else "mn", (BLOCK, 2048))
        benchmark(name, forecaster.store, spans, Goal(seconds=plan.seconds))

    def take(routine: str, /, **sizes: int) -> float:
        return forecaster.need(routine, sizes)[0].seconds

    return take


def _slowed(take: Sequential, factor: float, routine: str, /, **sizes: int) -> float:
    return factor * take(routine, **sizes)


_Tables = tuple[list[tuple[str, str, str, str, str]], list[str]]


def _complex(real: Mapping[str, Any], take: Sequential) -> _Tables:
    route = route_of(real["messages"])
    machine, rows, shares, replays = machine_like(route, 3), [], [], []

    def seconds(routine: str, sizes: Mapping[str, int], _: str) -> float:
        return take(routine, **sizes)

    for size, measured in real["times"].items():
        n = int(size)
        said = forecast_sequence(plan_of(n), seconds, lambda _, __: route).seconds
        replayed = clue.simulate(complex_trace(n, take), machine).makespan
        shares.append(said / measured - 1)
        replays.append(replayed / measured - 1)
        rows.append((size, f"{measured:.3f} s", f"{said:.3f} s", f"{shares[-1]:+.1%}", f"{replays[-1]:+.1%}"))
    figure = ("complex product, six operations", "12 %, 25 %", "mean ≤ 10 %", f"{Errors(tuple(shares))}")
    head = ("n", "takes", "forecast", "error", "error of the replay")
    return [(*figure, f"{Errors(tuple(replays))}")], ["## The complex product", "", *markdown_table(head, rows)]


def _grids(plan: Plans, name: str, real: Mapping[str, Any], take: Sequential) -> _Tables:
    route, once = route_of(real["messages"]), _once(take)
    machine, n = machine_like(route, plan.hosts), plan.sizes[name]
    said: list[tuple[float, float, float, Grid]] = []
    for grid in grids(plan.hosts):
        measured = real["grids"][str(grid)]
        if name == "pdgemm":
            product = Pdgemm(n, n, n, BLOCK)
            estimate, trace = product.on(grid, once, route), product_trace(product, grid, once)
        else:
            solve = Pdtrsm(BLOCK, n, BLOCK)
            estimate, trace = solve.on(grid, once, route), solve_trace(solve, grid, once)
        said.append((estimate.seconds, clue.simulate(trace, machine).makespan, measured, grid))
    errors = Errors(tuple(equation / measured - 1 for equation, _, measured, _ in said))
    replays = Errors(tuple(replay / measured - 1 for _, replay, measured, _ in said))
    pairs = [(equation, measured) for equation, _, measured, _ in said]
    again = [(replay, measured) for _, replay, measured, _ in said]
    order = tau_text(kendall_tau(pairs)), tau_text(kendall_tau(again))
    best = [min((each[0], str(each[3])) for each in said)[1], min((each[2], str(each[3])) for each in said)[1]]
    paper, goal = {"pdgemm": ("4 %, 15 %", "mean ≤ 4 %"), "pdtrsm": ("12 %", "mean ≤ 8 %")}[name]
    figures = [
        (f"{name} on {len(said)} grids", paper, goal, f"{errors}", f"{replays}"),
        (f"order of these grids (tau-b): {name}", "–", "≥ 0.9", *order),
        (
            f"best grid, and the real one: {name}", "right", "right",
            f"{best[0]} and {best[1]}: a loss of {regret(pairs):.1%}", f"a loss of {regret(again):.1%}",
        ),
    ]  # fmt: skip
    head = ("grid", "takes", "equations", "error", "error of the replay")
    rows = [
        (
            str(grid),
            f"{measured:.3f} s",
            f"{equation:.3f} s",
            f"{equation / measured - 1:+.1%}",
            f"{r / measured - 1:+.1%}",
        )
        for equation, r, measured, grid in said
    ]
    return figures, [f"## {name}", "", *markdown_table(head, rows)]


def _once(take: Sequential) -> Sequential:
    ask: Callable[[str, tuple[tuple[str, int], ...]], float] = cache(lambda name, sizes: take(name, **dict(sizes)))

    def once(routine: str, /, **sizes: int) -> float:
        return ask(routine, tuple(sizes.items()))

    return once


def _remote(remote: Mapping[str, Any], asked: Sequence[Asked]) -> Iterator[str]:
    way = remote["way"]
    bandwidth = f"{8e-6 * way['bandwidth']:.0f} Mbit/s"
    yield f"The link was probed at {way['latency'] * 1e3:.2f} ms and {bandwidth} (1 Gbit/s on the wire)."
    yield ""
    yield from markdown_table(
        ("processes beside it", "n", "share of a core, as told", "as it was", "forecast", "takes", "error"),
        [
            (
                str(each.load), str(each.n), f"{each.said['available']['cpu']:.2f}", f"{each.cpu / each.wall:.2f}",
                f"{each.said['seconds'] * 1e3:.1f} ms", f"{each.wall * 1e3:.1f} ms", f"{each.error:+.1%}",
            )
            for each in asked
        ],
    )  # fmt: skip


_HEAD = """\
Hosts are network namespaces of this computer, on a switch. First: `clue forecast time dgemm --host` on one host asks
`clue forecast serve` on another one, by HTTP with a token, how loaded it is and what it measured; then products run
there, beside the same processes. That host is a core of this computer by itself. Second: a client and two
servers, half a core each on Gigabit Ethernet, multiply complex matrices by MPI as in the paper's figure 11; the
forecast is that of `clue forecast sequence`. Third: pdgemm (n = {pdgemm}) and pdtrsm (a block row, n = {pdtrsm}) by
the paper's algorithms on all grids of up to {hosts} hosts, a tenth of a core each on Fast Ethernet, without any load;
medians of {repeats} runs. Forecasts know CPU times of the sequential routines as measured on this computer, times the
hosts' factor, and latency and bandwidth of messages as a ping-pong tells them; replays know the same. The paper's
figures are those of its own computers and of ScaLAPACK."""


@with_status
def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.models.fast_hosts", description=__doc__)
    parser.add_argument("folder", type=Path, help="keep measurements there")
    parser.add_argument("-o", "--output", type=Path, help="the Markdown file (default: standard output)")
    parser.add_argument("--smoke", action="store_true", help="few and small runs, to see that it works")
    asked = parser.parse_args()
    folder = asked.folder / "smoke" if asked.smoke else asked.folder
    folder.mkdir(parents=True, exist_ok=True)
    command = f"python -m benchmarks.accuracy.models.fast_hosts FOLDER{' --smoke' * asked.smoke}"
    notes = notes_beside(asked.output) if asked.output is not None else ()
    text = page(SMOKE if asked.smoke else FULL, folder.resolve(), command, notes)
    write_page(text, asked.output)


if __name__ == "__main__":
    sys.exit(main())
