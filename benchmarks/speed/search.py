"""The search over 10^5 generated clusters: ``python -m benchmarks.speed.search [-o benchmarks/speed/search.md]``.

Three kinds of nodes with four processors and three sizes of memory, alone or any two mixed, on three networks with two
topologies each, for two programs whose ranks may be placed in any way: some 10^5 clusters that the budget covers, held
to limits of power, room and memory, to deadlines and runs a month. The page shows how long each step takes, and what
bounds ruled out; of random subsets of 500 clusters all are simulated in all splits, and the first twenty and the Pareto
front are compared with those.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import clue
from clue.cli.traces import Traces
from clue.config import load_config
from clue.predict.replaying import ReplayPredictor
from clue.progress import Progress, silent
from clue.purchase import Ranking, Scenario, rank_options
from clue.trace import Op, TraceBuilder

#: Iterations of the programs, and the numbers of ranks on which they are recorded.
ROUNDS, RANKS = 200, (8, 16, 32)
TOP, SUBSET = 20, 500
SCENARIO = """\
name: search
budget: 100000 EUR
criterion: total_cost
pareto: [total_cost, makespan]
service_life: 5 years
discount_rate: 0.03
limits: {power: 8 kW, rack_units: 20, nodes: 24, memory_per_core: 2 GB}
costs:
  site:
    parts:
      box: {per_node: 1, type: box, rack_units: 1, power: {idle: 60 W, busy: 80 W}}
      blade: {per_node: 1, type: blade, rack_units: 0.5, power: {idle: 50 W, busy: 70 W}}
      dense: {per_node: 1, type: dense, rack_units: 0.25, power: {idle: 45 W, busy: 65 W}}
      c8: {per_node: 1, type: c8, power: {idle: 30 W, busy: 120 W}}
      c16: {per_node: 1, type: c16, power: {idle: 50 W, busy: 200 W}}
      f8: {per_node: 1, type: f8, power: {idle: 40 W, busy: 180 W}}
      f16: {per_node: 1, type: f16, power: {idle: 60 W, busy: 300 W}}
    electricity: {price: 0.24 EUR/kWh, carbon: 350 g/kWh, pue: 1.3}
    staff: 20000 EUR/year
workloads:
  stencil:
    program: {trace: "stencil-{ranks}.clue"}
    ranks: [8, 16, 32]
    placement: search
    deadline: 5 s
    runs_a_month: 150000
  sums:
    program: {trace: "sums-{ranks}.clue"}
    ranks: [8, 16, 32]
    instances: 2
    placement: [block, cyclic, {ranks_per_node: 4}]
    deadline: 3 s
    runs_a_month: 300000
generate:
  cost: site
  nodes: {COUNTS}
  mixed: [[box, blade], [box, dense], [blade, dense]]
  price: 5000 EUR
  node_types:
    box: {price: 1500 EUR}
    blade: {price: 1900 EUR}
    dense: {price: 2400 EUR}
  processors:
    c8: {processors: 8, performance_factor: 0.8, price: 900 EUR}
    c16: {processors: 16, performance_factor: 0.85, price: 1900 EUR}
    f8: {processors: 8, performance_factor: 0.5, price: 2100 EUR}
    f16: {processors: 16, performance_factor: 0.55, price: 4500 EUR}
  memory: [{size: 16 GB, price: 100 EUR}, {size: 32 GB, price: 190 EUR}, {size: 64 GB, price: 370 EUR}]
  networks:
    ethernet:
      between_nodes: {send_delay: {latency: 5 us, bandwidth: 1.2 GB/s}, transmission_delay: 25 us, eager_limit: 64 KB}
      switch: {ports: 24, price: 1500 EUR}
    fast-ethernet:
      between_nodes: {send_delay: {latency: 3 us, bandwidth: 3 GB/s}, transmission_delay: 12 us, eager_limit: 64 KB}
      price_per_node: 250 EUR
      switch: {ports: 24, price: 6000 EUR}
    infiniband:
      between_nodes: {send_delay: {latency: 0.6 us, bandwidth: 12 GB/s}, transmission_delay: 1.2 us, eager_limit: 16 KB}
      price_per_node: 700 EUR
      switch: {ports: 36, price: 12000 EUR}
  topologies:
    flat: {contention: ports}
    switched: {contention: {flows: {topology: switch, bandwidth: 3 GB/s}}, price_per_node: 60 EUR}
"""
#: Numbers of nodes of each kind, chosen so that 10^5 clusters are generated.
COUNTS = "[1, 2, 3, 4, 6, 8, 12, 16, 24]"


def stencil(trace: TraceBuilder, ranks: int) -> None:
    """Add a burst for a rank's part of the domain, and messages to both neighbours."""
    for rank in range(ranks):
        trace[rank].compute((1 + (rank % 3) / 20) * 0.4 / ranks)
        trace[rank].sendrecv((rank + 1) % ranks, 60_000, (rank - 1) % ranks)
        trace[rank].sendrecv((rank - 1) % ranks, 60_000, (rank + 1) % ranks)


def sums(trace: TraceBuilder, ranks: int) -> None:
    """Add a burst and a sum over all ranks."""
    for rank in range(ranks):
        trace[rank].compute(0.1 / ranks)
        trace[rank].collective(Op.ALLREDUCE, 80_000)


PROGRAMS = {"stencil": stencil, "sums": sums}


def write(folder: Path, rounds: int = ROUNDS, counts: str = COUNTS) -> Path:
    """Write the comparison and its traces; return its path."""
    for name, program in PROGRAMS.items():
        for ranks in RANKS:
            built = TraceBuilder(ranks, name)
            for _ in range(rounds):
                program(built, ranks)
            built.build().save(folder / f"{name}-{ranks}.clue")
    path = folder / "search.yaml"
    path.write_text(SCENARIO.replace("{COUNTS}", counts))
    return path


def subset(scenario: Scenario, number: int, seed: int) -> Scenario:
    """Return the comparison with some of its options, drawn at random."""
    return replace(scenario, options=tuple(random.Random(seed).sample(scenario.options, number)))


@dataclass(slots=True)
class Stages:
    """Duration of each step, by its progress messages: a step lasts until the next message."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)
    _what: str = "reading"

    def tell(self, what: str, _done: int, _total: int) -> None:
        """Note the time at which the previous step ended."""
        what = "searching" if "simulations" in what else (what.split() or [""])[0]
        now = time.perf_counter()
        self.seconds[self._what] = self.seconds.get(self._what, 0.0) + now - self._since
        self._since, self._what = now, what


def ranked(scenario: Scenario, top: int, tell: Progress = silent) -> Ranking:
    """Rank the options on all cores of this computer."""
    traces = Traces(silent, None)
    return rank_options(scenario, ReplayPredictor(traces, traces.record, engine="fast", workers=2), tell, top=top)


def agrees(scenario: Scenario) -> bool:
    """Tell whether the first options and the Pareto front equal those of simulating all options one by one."""
    found, whole = ranked(scenario, TOP), ranked(scenario, len(scenario.options))
    first = [(each.option, each.score) for each in found.entries if each.position is not None]
    every = [(each.option, each.score) for each in whole.entries if each.position is not None]
    return first == every[: len(first)] and set(found.pareto or ()) == set(whole.pareto or ())


def worked() -> float | None:
    """Return the busy time of this computer's processors, for all users, seconds; ``None`` if unknown."""
    try:
        user, nice, system, _, _, interrupts, soft = map(int, Path("/proc/stat").read_text().split()[1:8])
    except OSError:
        return None
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


def measured(folder: Path) -> dict[str, object]:
    """Run the whole search; return its figures."""
    started, before, own = time.perf_counter(), worked(), sum(os.times()[:4])
    scenario = load_config(write(folder))
    assert isinstance(scenario, Scenario)
    stages = Stages()
    read = time.perf_counter() - started
    ranking = ranked(scenario, TOP, stages.tell)
    stages.tell("", 0, 0)
    after, processor = worked(), sum(os.times()[:4])
    return {
        "options": len(scenario.options),
        "left_out": scenario.left_out,
        "barred": sum(each.reason.startswith(("power", "rack", "nodes", "memory")) for each in ranking.entries),
        "simulations": ranking.simulations,
        "front": len(ranking.pareto or ()),
        "first": ranking.entries[0].option,
        "reading": read,
        "stages": stages.seconds,
        "seconds": time.perf_counter() - started,
        "processor": processor,
        "others": None if before is None or after is None else after - before - (processor - own),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def page(figures: dict[str, object], agreed: Callable[[], Iterator[bool]]) -> Iterator[str]:
    """Yield the lines of the page."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    day = time.strftime("%Y-%m-%d")
    yield "# A search over 10^5 clusters\n"
    version = f"clue {clue.__version__} {commit.stdout.strip()}"
    yield f"Written by `python -m benchmarks.speed.search` on {day}, {version}; two cores.\n"
    yield f"{' '.join((__doc__ or '').split(chr(10) * 2, maxsplit=1)[1].split())}\n"
    yield "| figure | |\n| --- | ---: |"
    yield f"| clusters that the budget covers | {figures['options']:,} |"
    yield f"| clusters that it does not | {figures['left_out']:,} |"
    yield f"| of the former, ruled out by power, room or memory alone | {figures['barred']:,} |"
    yield f"| simulations | {figures['simulations']:,} |"
    yield f"| clusters on the Pareto front | {figures['front']} |"
    yield f"| time in all | {figures['seconds']:.1f} s |"
    yield f"| processor time, that of all processes together | {figures['processor']:.1f} s |"
    if figures["others"] is not None:
        yield f"| processor time that other programs took meanwhile | {figures['others']:.1f} s |"
    stages = figures["stages"]
    assert isinstance(stages, dict)
    for what, seconds in {"reading the file and putting machines together": figures["reading"], **stages}.items():
        yield f"| – {what} | {seconds:.1f} s |"
    assert isinstance(figures["memory"], int)
    yield f"| memory of the main process, without the two that simulate | {figures['memory'] / 2**20:,.0f} MiB |"
    every = list(agreed())
    yield f"| random subsets of {SUBSET} that agree with all simulated | {sum(every)} of {len(every)} |"


def main() -> None:
    """Measure, and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="the page; left out: it is printed")
    parser.add_argument("--subsets", type=int, default=3, help="how many are simulated in full (default: 3)")
    parser.add_argument("--json", action="store_true", help="print the figures alone")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        figures = measured(Path(name))
        if asked.json:
            sys.stdout.write(f"{json.dumps(figures)}\n")
            return

        def agreed() -> Iterator[bool]:
            scenario = load_config(Path(name) / "search.yaml")
            assert isinstance(scenario, Scenario)
            yield from (agrees(subset(scenario, SUBSET, seed)) for seed in range(asked.subsets))

        text = "\n".join(page(figures, agreed)) + "\n"
    if asked.output is None:
        sys.stdout.write(text)
    else:
        asked.output.write_text(text)


if __name__ == "__main__":
    main()
