"""Compare clue with SimGrid and write the tables: ``python -m tests.peers [RESULTS.md]``."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from clue.trace import Trace
from tests.peers import cases, machines
from tests.peers.simgrid import Setting, difference, is_here

_PROGRAMS = 100
_ON_EACH_WIRING = 10
_HEAD = """\
# clue beside SimGrid

`python -m tests.peers` runs `clue.simulate` (the reference engine) and SimGrid's `smpirun -replay` on the same programs
and machines, and compares when each rank finishes: the largest difference of any rank, as a share of the makespan, may
be 1e-6. Both replay the same time-independent traces, which clue writes and reads back; collectives are made of
messages by clue, as MPICH does. Bursts differ by rank and time. SimGrid 3.32.

Random programs have two to eight ranks, messages of 0 B to 1 MB, nonblocking ones waited for in any order,
sub-communicators, all collectives; W1 to W4 are the workloads of `benchmarks/speed`, of some 2,000 messages.
"""
_EAGER = """
## Eager messages

*constant*: every message takes 0.1 s (computation is stretched a thousandfold). *switch*: every node has a link up and
one down, shared max-min fairly (SimGrid's CM02 without cross traffic and TCP window).

| programs | constant | switch, 1 GB/s | switch, 12.5 GB/s |
| --- | --- | --- | --- |
"""
_TOPOLOGIES = """
## Topologies

Ten random programs on all nodes of a topology with links of 1 GB/s. Where both route alike SimGrid's own topology is
taken (its `topo_parameters` in the name), else its links with clue's routes written out.

| topology | nodes | routes | largest | median |
| --- | --- | --- | --- | --- |
"""
_RENDEZVOUS = """
## Rendezvous

Every message is one. *In turn*: random programs whose ranks send one message after the other (blocking sends,
collectives by trees), on the constant network, on which senders are held for the whole transfer. *Exchanges*: ranks
start all their messages before they wait, on a switch of 1 GB/s without latency.

| programs | setting | difference |
| --- | --- | --- |
"""
_TAIL = """
## What differs, and why

- SimGrid adds 16 B to every message. Where sizes matter, the traces that clue replays here have them too.
- With its default, `network/optim:Lazy`, SimGrid 3.32 can miss that a message slows another one, and lets a link carry
  more than its bandwidth. Four hosts at a switch of 12.5 GB/s, 1 us, suffice: host 0 sends 1 MB to host 1 at 0; host 2
  sends 1 MB to host 3 and then 1 MB to host 1, both at 13 us. The links from host 2 and to host 1 have two messages
  each from 14 us on, so the first one arrives at 148 us; with Lazy at 81 us, as if it were alone, though not if host 2
  sends in the other order. `network/optim:Full` gives 148 us, and clue does. So the comparison uses Full; with Lazy one
  random program in 100 was 5.4 % off at 12.5 GB/s, and an allreduce of 1 MB on 64 ranks 2.3 %.
- SimGrid's constant model ends a message when its bytes, counted down in floating point, come to 0 within
  maxmin/precision × surf/precision (1e-14 B by default). Some never do, and last until the next event: a W1 on 16 ranks
  takes 2 % longer then. The comparison sets these to 1e-2 and 1e-7.
- Latency: SimGrid adds up that of the links on the way, and gives a message the smaller a share of a full link the more
  latency is on its way. In clue it is the same between all nodes of a type, and shares are equal. On topologies it is
  therefore the sender's here, and SimGrid's links have none; the platforms that clue writes put it on one more link
  that all ways have in common.
- Fat trees with several cables between two switches: on the way down SimGrid takes the cable by the number of the
  source, clue by that of the destination (D-mod-k both ways). With one cable the routes are the same.
- Tori of even size: where both ways round are as long, clue goes towards rising coordinates; so does SimGrid, except
  from the middle (coordinate d/2) to 0.
- Dragonflies: SimGrid has the link of a group to group j at its router j, clue takes the routers in turn. With as many
  routers in a group as groups that is a matter of numbering, which the list of hosts makes up for.
- A rendezvous: SimGrid charges the answer nothing and holds the sender until the data have arrived; in clue the data
  start after the answer's travel, and the sender is free when they have left, s(m) after their start. So both agree
  where there is no latency and either s(m) is the whole time, or nobody waits for a send alone. A pipeline of 1 KiB
  sends on a switch of 1 GB/s is 1.4 % shorter in clue. An Isend costs s(m) at its call in clue, and nothing in SimGrid.
- Eager messages set out at once only with `smpi/async-small-thresh`, which is 0 by default: the sender goes on, but
  the data wait for the receive.
- The receiver's time (`smpi/or`) is paid at the end of the wait in SimGrid, at the Irecv in clue. It is 0 here.
- `test` and probes cost SimGrid a sleep of 0.1 ms by default; programs here have none.
"""
Row = tuple[str, Sequence[float]]


def main() -> int:
    """Write the tables; return 1 if a difference is too large, and 2 without SimGrid."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("target", nargs="?", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    parser.add_argument("--programs", type=int, default=_PROGRAMS)
    asked = parser.parse_args()
    if not is_here():
        sys.stderr.write("SimGrid's smpirun is not installed\n")
        return 2
    with tempfile.TemporaryDirectory() as name:
        comparison = _Comparison(Path(name), asked.programs)
        lines = list(_shown(comparison.lines()))
    asked.target.write_text("".join(lines))
    return int(comparison.unequal)


def _shown(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        sys.stdout.write(line)
        sys.stdout.flush()
        yield line


class _Comparison:
    """All comparisons, in the order of the report.

    Attributes:
        unequal: Whether a difference was too large.
    """

    def __init__(self, folder: Path, programs: int) -> None:
        self.unequal = False
        self._folder, self._programs = folder, programs

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        yield _HEAD
        yield _EAGER
        yield from self._eager()
        yield _TOPOLOGIES
        yield from self._topologies()
        yield _RENDEZVOUS
        yield from self._rendezvous()
        yield _TAIL

    def _difference(self, trace: Trace, setting: Setting) -> float:
        found = difference(trace, setting, self._folder)
        self.unequal |= found > setting.tolerance
        return found

    def _each(self, program: Callable[[int], Trace], *settings: Callable[[int], Setting]) -> list[list[float]]:
        """Return the differences for all random programs, by setting."""
        columns: list[list[float]] = [[] for _ in settings]
        for seed in range(self._programs):
            trace = program(seed)
            for column, setting in zip(columns, settings, strict=True):
                column.append(self._difference(trace, setting(trace.ranks)))
        return columns

    def _eager(self) -> Iterator[str]:
        settings = (machines.constant, machines.switch, lambda ranks: machines.switch(ranks, 12.5e9, 1e-6))
        columns = self._each(cases.program, *settings)
        yield _row(f"{self._programs} random, largest", *map(max, columns))
        yield _row(f"{self._programs} random, median", *map(statistics.median, columns))
        for workload in cases.timed():
            trace = workload.trace
            yield _row(workload.name, *(self._difference(trace, setting(trace.ranks)) for setting in settings))

    def _topologies(self) -> Iterator[str]:
        for wiring in machines.WIRINGS:
            setting = machines.wired(wiring)
            found = [self._difference(cases.program_of(wiring.nodes, seed), setting) for seed in range(_ON_EACH_WIRING)]
            routes = "SimGrid's" if wiring.alike else "clue's"
            yield _row(wiring.name, str(wiring.nodes), routes, max(found), statistics.median(found))

    def _rendezvous(self) -> Iterator[str]:
        (column,) = self._each(cases.program_in_turn, machines.constant_rendezvous)
        yield _row(f"{self._programs} random, in turn, largest", "constant", max(column))
        for workload in cases.exchanges(16):
            setting = machines.switch_rendezvous(workload.trace.ranks)
            yield _row(f"{workload.name}, exchanges", "switch", self._difference(workload.trace, setting))


def _row(*cells: str | float) -> str:
    return f"| {' | '.join(cell if isinstance(cell, str) else f'{cell:.1e}' for cell in cells)} |\n"


if __name__ == "__main__":
    sys.exit(main())
