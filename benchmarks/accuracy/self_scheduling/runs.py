"""Runs of the lines: live on a machine, and replayed from a trace of another machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import clue
from benchmarks.accuracy.self_scheduling.lines import (
    FOLDER,
    LINES,
    ON_EQUAL_NODES,
    PROGRAM,
    RANKS,
    SS,
    VRP_SS,
    Line,
    placement,
)
from benchmarks.accuracy.self_scheduling.times import Time
from clue.execution import run
from clue.execution.bursts import Declared
from clue.machine import Machine
from clue.trace import Trace

#: Speed of an intel node in this product, flop/s: fitted so that VRP-SS takes the paper's time at n = 2500.
SPEED = 235e6
#: Rows of a unit of work, which the paper does not state, and other numbers of rows to test their effect.
UNIT, UNITS = 4, (1, 2, 4, 10, 25)
STEADY, LOADED, EQUAL = "cluster", "loaded", "equal"
#: The order of matrices at which traces are recorded and replayed, and units compared.
REPLAYED_AT = 1000

Tell = Callable[[str], None]


def machine_of(name: str) -> Machine:
    """Return a machine of the study."""
    return clue.load_machine(FOLDER / f"{name}.yaml")


def live(line: Line, n: int, rows: int, machine: Machine, record: bool = False) -> tuple[float, Trace | None]:
    """Run a line live; return its makespan and, if requested, its trace."""
    command = [str(PROGRAM), *line.arguments(n, rows, machine)]
    outcome = run(command, RANKS, machine, placement(machine), bursts=Declared(SPEED), record=record, stdout=2)
    return outcome.result.makespan, outcome.trace


def over_sizes(name: str, sizes: Sequence[int], tell: Tell) -> list[Time]:
    """Run the lines at all sizes on a machine."""
    machine, found = machine_of(name), []
    for n in sizes:
        for line in LINES:
            tell(f"{name}: {line.name}, n = {n}")
            found.append(Time("live", name, line.name, n, UNIT, live(line, n, UNIT, machine)[0]))
    return found


def over_units(n: int, tell: Tell) -> list[Time]:
    """Run the strategies that divide work into units with several sizes of units, at one size on the steady cluster."""
    machine, found = machine_of(STEADY), []
    for line in (SS, VRP_SS):
        for rows in UNITS:
            tell(f"{STEADY}: {line.name}, n = {n}, units of {rows} rows")
            found.append(Time("live", STEADY, line.name, n, rows, live(line, n, rows, machine)[0]))
    return found


def replayed(n: int, tell: Tell) -> list[Time]:
    """Record the lines on identical nodes and replay them on the steady cluster; also run them live there."""
    equal, steady, found = machine_of(EQUAL), machine_of(STEADY), []
    for line in ON_EQUAL_NODES:
        tell(f"{line.name}, n = {n}, recorded on equal nodes and live")
        on_equal, trace = live(line, n, UNIT, equal, record=True)
        assert trace is not None
        again = clue.simulate(trace, steady, placement(steady)).makespan
        found += [
            Time("live", EQUAL, line.name, n, UNIT, on_equal),
            Time("replay", STEADY, line.name, n, UNIT, again),
            Time("live", STEADY, line.name, n, UNIT, live(line, n, UNIT, steady)[0]),
        ]
    return found
