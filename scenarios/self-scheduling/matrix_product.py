"""A matrix product shared between unequal processors by a choice of strategies, after PEMPIs-Het.

    mpiexec -n 4 python matrix_product.py vrp-ss --n 800             run it: a master and three workers
    clue run -n 14 --machine cluster.yaml … matrix_product.py ss     run it in virtual time

Rank 0 is the master: it hands rows of the left factor to the workers, who have the right factor, and collects rows of
the product. How many rows, to whom and when is the strategy's:

======== =============================================================================================================
ss       self-scheduling: ``--rows`` to whoever is idle
gss      guided: an even share of what is left
tss      trapezoidal: chunks that shrink evenly
vrp      by relative performance, all at once; the paper calls it static or dynamic by where ``--performance`` is from
vrp-live by relative performance, measured anew with every chunk: half of what is left at a time
vrp-ss   ``--rows`` × relative performance to whoever is idle: the paper's algorithm
======== =============================================================================================================

The multiplication is a region ``product-N`` that declares its operations, so that a machine's file may say how fast its
nodes are at each order N, and so that a run in virtual time may take declared operations for computing time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from mpi4py import MPI

import virtual_layer
from clue.balance import guided, portion, relative_performance, remeasured, self_scheduled, shares, trapezoidal

MASTER, STOP = 0, 0  # STOP as a tag; rows that begin at row i travel with tag i + 1


# --- strategies: how many rows a worker gets next ---


class InTurn:
    """Chunks of given sizes, whoever asks."""

    def __init__(self, sizes: Iterator[int]) -> None:
        self._sizes = sizes

    def rows(self, _worker: int, _left: int) -> int:
        """Return the next size, 0 after the last."""
        return next(self._sizes, 0)

    def took(self, worker: int, rows: int, seconds: float) -> None:
        """Take no notice."""


class Once(InTurn):
    """Each worker's share, once."""

    def __init__(self, by_worker: Sequence[int]) -> None:
        self._shares = list(by_worker)

    def rows(self, worker: int, _left: int) -> int:
        """Return a worker's share, 0 if it has had it."""
        share, self._shares[worker] = self._shares[worker], 0
        return share


class Portions(InTurn):
    """So many rows for a worker of performance 1, and for others in proportion."""

    def __init__(self, unit: int, performance: Sequence[float]) -> None:
        self._unit, self._performance = unit, performance

    def rows(self, worker: int, left: int) -> int:
        """Return what suits the worker."""
        return portion(left, self._unit, self._performance[worker])


class Remeasured(InTurn):
    """A worker's share of half of what is left, by performance as last measured."""

    def __init__(self, performance: Sequence[float]) -> None:
        self._performance = tuple(performance)
        self._done, self._seconds = [0] * len(performance), [0.0] * len(performance)

    def rows(self, worker: int, left: int) -> int:
        """Return a worker's share of half of the rest."""
        return portion(left, left / 2 / sum(self._performance), self._performance[worker])

    def took(self, worker: int, rows: int, seconds: float) -> None:
        """Measure the performance of all by their last chunks."""
        self._done[worker], self._seconds[worker] = rows, seconds
        self._performance = remeasured(self._performance, self._done, self._seconds)


def strategy(name: str, total: int, rows: int, performance: Sequence[float]) -> InTurn:
    """Return the strategy of a name for so many rows and workers of this performance."""
    workers = len(performance)
    return {
        "ss": lambda: InTurn(self_scheduled(total, rows)),
        "gss": lambda: InTurn(guided(total, workers)),
        "tss": lambda: InTurn(trapezoidal(total, workers)),
        "vrp": lambda: Once(shares(total, performance)),
        "vrp-live": lambda: Remeasured(performance),
        "vrp-ss": lambda: Portions(rows, performance),
    }[name]()


STRATEGIES = ("ss", "gss", "tss", "vrp", "vrp-live", "vrp-ss")
BY_PERFORMANCE = ("vrp", "vrp-live", "vrp-ss")


# --- master and workers ---


@dataclass
class Master:
    """Hands out rows of the left factor, and puts the product together."""

    comm: MPI.Intracomm
    left: np.ndarray
    plan: InTurn
    product: np.ndarray = field(init=False)
    done: list[list[int]] = field(init=False)
    given: int = 0

    def __post_init__(self) -> None:
        self.product = np.empty_like(self.left)
        self.done = [[] for _ in range(1, self.comm.size)]
        self._since = [0.0] * (self.comm.size - 1)

    def serve(self) -> np.ndarray:
        """Return the product once all rows are back."""
        busy = sum([self.hand_out(worker) for worker in range(1, self.comm.size)])
        status = MPI.Status()
        while busy:
            self.comm.Probe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
            worker = status.source
            self.collect(worker, status.tag - 1, status.Get_count(MPI.DOUBLE) // self.left.shape[1])
            busy += self.hand_out(worker) - 1
        return self.product

    def hand_out(self, worker: int) -> bool:
        """Send a worker its next rows, or let it go; return whether there were any."""
        rows = self.plan.rows(worker - 1, len(self.left) - self.given)
        self._since[worker - 1] = MPI.Wtime()
        part = self.left[self.given : self.given + rows]
        self.comm.Send(part, worker, self.given + 1 if rows else STOP)
        self.given += rows
        return rows > 0

    def collect(self, worker: int, begin: int, rows: int) -> None:
        """Receive rows of the product."""
        self.comm.Recv(self.product[begin : begin + rows], worker, begin + 1)
        self.done[worker - 1].append(rows)
        self.plan.took(worker - 1, rows, MPI.Wtime() - self._since[worker - 1])


def multiply(part: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return some rows times the right factor."""
    n = len(right)
    with virtual_layer.region(f"product-{n}", flops=2.0 * len(part) * n * n):
        return part @ right


def work(comm: MPI.Intracomm, right: np.ndarray) -> None:
    """Multiply what the master sends until let go."""
    status = MPI.Status()
    while True:
        comm.Probe(MASTER, MPI.ANY_TAG, status)
        part = np.empty((status.Get_count(MPI.DOUBLE) // len(right), len(right)))
        comm.Recv(part, MASTER, status.tag)
        if status.tag == STOP:
            return
        comm.Send(multiply(part, right), MASTER, status.tag)


def measure(comm: MPI.Intracomm, right: np.ndarray, rows: int) -> list[float]:
    """Return, on the master, the relative performance of the workers from multiplying a few rows on each."""
    seconds = 0.0
    if comm.rank != MASTER:
        begin = MPI.Wtime()
        multiply(right[:rows], right)
        seconds = MPI.Wtime() - begin
    times = comm.gather(seconds, MASTER)
    return list(relative_performance(times[1:])) if times else []


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strategy", choices=STRATEGIES)
    parser.add_argument("--n", type=int, default=500, help="order of the matrices (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=4, help="rows of a unit of work (default: %(default)s)")
    parser.add_argument(
        "--performance",
        type=lambda text: [float(each) for each in text.split(",")],
        help="relative performance of each worker, as 1,2.5,…; left out: measured at the start, where it is needed",
    )
    parser.add_argument("--probe", type=int, default=2, help="rows to measure it with (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="compare with the product in one piece")
    return parser.parse_args()


def performance_of(args: argparse.Namespace, comm: MPI.Intracomm, right: np.ndarray) -> list[float]:
    """Return the workers' relative performance as given or measured; all 1 for strategies that do without."""
    if args.strategy not in BY_PERFORMANCE:
        return [1.0] * (comm.size - 1)
    return args.performance or measure(comm, right, args.probe)


def main() -> None:
    """Multiply two random matrices and say who did how much."""
    args, comm = arguments(), MPI.COMM_WORLD
    if comm.size < 2:
        sys.exit("matrix_product.py needs at least 2 ranks: a master and a worker")
    if args.performance and len(args.performance) != comm.size - 1:
        sys.exit(f"matrix_product.py: --performance must name {comm.size - 1} workers, got {len(args.performance)}")
    left, right = np.empty((2, args.n, args.n))
    if comm.rank == MASTER:
        left, right = np.random.default_rng(0).random((2, args.n, args.n))
    begin = MPI.Wtime()
    comm.Bcast(right, MASTER)
    performance = performance_of(args, comm, right)
    if comm.rank != MASTER:
        work(comm, right)
        return
    master = Master(comm, left, strategy(args.strategy, args.n, args.rows, performance))
    product = master.serve()
    seconds = MPI.Wtime() - begin
    chunks, rows = sum(map(len, master.done)), [sum(each) for each in master.done]
    error = f" error={np.abs(product - left @ right).max():.1e}" if args.check else ""
    what = f"strategy={args.strategy} n={args.n} chunks={chunks} rows={rows}"
    print(f"matrix_product {what} seconds={seconds:.6f}{error}")


if __name__ == "__main__":
    main()
