"""The lines that are compared: strategies of the program, and the sources of their performance vectors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from clue.balance import factors_on, relative_performance
from clue.machine import Machine, Placement

FOLDER = Path(__file__).resolve().parents[3] / "scenarios" / "self-scheduling"
PROGRAM = FOLDER / "matrix_product.py"
#: A master and thirteen workers, one on each node.
RANKS = 14
SIZES = (250, 500, 750, 1000, 1250, 1500, 2000, 2500)
#: The order at which the paper's static VRP is measured once: the smallest of its experiments.
MEASURED_AT = 500


class Performance(Enum):
    """The source of the workers' performance."""

    NONE = "not used"
    ONCE = f"models at n = {MEASURED_AT}"
    AT_HAND = "models at the n at hand"
    PROBED = "measured at the start"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the figures.

    Attributes:
        name: Its name in the figures.
        strategy: The program's name of its strategy.
        performance: Source of its performance vector.
        tasks: Number of units of work into which the rows are divided; ``None``: units have a given number of rows.
        paper: Coefficients of the paper's model of it, seconds as a polynomial in n, lowest first (equations 15 to 17).
    """

    name: str
    strategy: str
    performance: Performance = Performance.NONE
    tasks: int | None = None
    paper: tuple[float, ...] = ()

    def arguments(self, n: int, rows: int, machine: Machine) -> list[str]:
        """Return the program's arguments for matrices of order n in units of some rows, on a machine."""
        unit = n // self.tasks if self.tasks else rows
        given = [self.strategy, "--n", str(n), "--rows", str(unit)]
        if self.performance in (Performance.NONE, Performance.PROBED):
            return given
        order = MEASURED_AT if self.performance is Performance.ONCE else n
        return [*given, "--performance", ",".join(f"{phi:.6f}" for phi in vector(machine, order))]

    def by_paper(self, n: float) -> float:
        """Return the time by the paper's model, seconds."""
        return sum(coefficient * n**power for power, coefficient in enumerate(self.paper))


SS = Line("SS", "ss", paper=(2.42258, -6.5303e-3, 4.5e-6, 2.29e-9))
#: Units that grow with the matrices, as the paper's SS seems to have.
SS_TASKS = Line("SS, 50 tasks", "ss", tasks=50)
GSS, TSS = Line("GSS", "gss"), Line("TSS", "tss")
VRP_STATIC = Line("VRP static", "vrp", Performance.ONCE)
VRP_DYNAMIC = Line("VRP dynamic", "vrp", Performance.AT_HAND, paper=(-4.48182, 1.64541e-2, -1.61e-5, 7.38e-9))
VRP_REMEASURED = Line("VRP re-measured", "vrp-live", Performance.AT_HAND)
VRP_SS = Line("VRP-SS", "vrp-ss", Performance.AT_HAND, paper=(-2.14494, 7.445e-3, -5.2e-6, 3.008e-9))
LINES = (SS, SS_TASKS, GSS, TSS, VRP_STATIC, VRP_DYNAMIC, VRP_REMEASURED, VRP_SS)

#: Lines as recorded by a user who has only identical nodes, on which the performance vector is measured.
ON_EQUAL_NODES = (
    SS,
    GSS,
    TSS,
    Line("VRP probed", "vrp", Performance.PROBED),
    Line("VRP re-measured, probed", "vrp-live", Performance.PROBED),
    Line("VRP-SS probed", "vrp-ss", Performance.PROBED),
)


def placement(machine: Machine) -> Placement:
    """Place one rank on each node."""
    return Placement.cyclic(machine, RANKS)


def vector(machine: Machine, n: int) -> tuple[float, ...]:
    """Return the performance of the workers at order n in the machine's initial state (PEMPIs-Het, equation 2)."""
    return relative_performance(factors_on(machine, placement(machine).nodes[1:], f"product-{n}"))
