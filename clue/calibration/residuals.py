"""Residuals of a fitted link: the benchmarks are simulated on it and compared with the measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from clue.calibration.link import FittedLink
from clue.calibration.measurement import Measurement
from clue.kernel import Program, compile_program, simulate
from clue.machine import Link, Machine, Network, NodeType, Ports, Progress
from clue.trace import Trace, TraceBuilder

#: Number of messages of a stream before its receiver answers, as in osu_bw.
WINDOW = 64


@dataclass(frozen=True, slots=True)
class Residual:
    """One measured time and the simulated one.

    Attributes:
        size: Message size, bytes.
        measured: Measured time, seconds.
        fitted: Time simulated on the fitted link, seconds.
    """

    size: int
    measured: float
    fitted: float

    @property
    def error(self) -> float:
        """The relative error of the fitted time, positive if it is too long."""
        return self.fitted / self.measured - 1


@dataclass(frozen=True, slots=True)
class Residuals:
    """Residuals of a link by benchmark, each by rising size.

    Attributes:
        one_way: Residuals of half round trips.
        gap: Residuals of times per message of a stream.
        exchange: That of two ranks that send at once, then receive; ``None`` if not measured.
    """

    one_way: tuple[Residual, ...]
    gap: tuple[Residual, ...]
    exchange: Residual | None = None


def residuals(measurement: Measurement, machine: Machine) -> Residuals:
    """Simulate the measurement on a machine with the fitted link: a :func:`pair` of nodes, or :func:`one_node`."""
    one_way = [(row.size, row.one_way.value) for row in measurement.rows if row.one_way and row.one_way.value > 0]
    gaps = [(row, row.gap.value) for row in measurement.rows if row.gap and row.gap.value > 0]
    both = measurement.exchange
    return Residuals(
        tuple(Residual(size, time, simulated_one_way(machine, size)) for size, time in one_way),
        tuple(Residual(row.size, time, simulated_gap(machine, row.size, row.window)) for row, time in gaps),
        None if both is None else Residual(0, both.value, simulate(_exchange(), machine, engine="reference").makespan),
    )


def pair(link: Link, progress: Progress = Progress.ASYNCHRONOUS) -> Machine:
    """Return two nodes with a link between their ports."""
    node = NodeType("node")
    network = Network(link, link, contention=Ports(), progress=progress)
    return Machine("pair", (node, node), network)


def one_node(fitted: FittedLink) -> Machine:
    """Return a node of two processors with the link within it.

    Its memory copies messages at the fitted ``copy_bandwidth``, which a single message may exceed.
    """
    node = NodeType("node", processors=2, copy_bandwidth=fitted.copy_bandwidth)
    return Machine("node", (node,), Network(fitted.link, fitted.link, progress=fitted.progress))


def simulated_one_way(machine: Machine, size: int) -> float:
    """Return half the time of a ping-pong's round trip, in seconds."""
    # The clock is that of the rank that began: the other one may still wait to hear that its data were taken.
    return simulate(_ping_pong(size), machine, engine="reference").ranks[0].finish / 2


def simulated_gap(machine: Machine, size: int, window: int = 0) -> float:
    """Return the time per message of a stream, seconds, with an answer to each window (window 0: none)."""
    link = machine.network.between_nodes

    def time(messages: int) -> float:
        """Return the time from the message that all receives are posted to the answer."""
        heard = messages * link.receive_delay + link.one_way(0)
        return simulate(_stream(size, messages), machine, engine="reference").ranks[0].finish - heard

    return time(window) / window if window else (time(2 * WINDOW) - time(WINDOW)) / WINDOW


@cache
def _ping_pong(size: int) -> Program:
    """Return a round trip, which is simulated on many machines."""
    return compile_program(ping_pong(size))


@cache
def _exchange() -> Program:
    """Return an exchange of empty messages, which are always eager: no rank waits for the other's receive."""
    trace = TraceBuilder(2, "exchange")
    for rank in (0, 1):
        trace[rank].send(1 - rank, 0)
        trace[rank].recv(1 - rank)
    return compile_program(trace.build())


@cache
def _stream(size: int, messages: int) -> Program:
    return compile_program(stream(size, messages))


def ping_pong(size: int, rounds: int = 1) -> Trace:
    """Return a number of round trips of a message between two ranks."""
    trace = TraceBuilder(2, "ping-pong")
    for _ in range(rounds):
        for source, dest in ((0, 1), (1, 0)):
            trace[source].send(dest, size)
            trace[dest].recv(source)
    return trace.build()


def stream(size: int, messages: int) -> Trace:
    """Return a window of nonblocking sends: begun when the receiver is ready, answered when all have arrived."""
    trace = TraceBuilder(2, "stream")
    receives = [trace[1].irecv(0) for _ in range(messages)]
    trace[1].send(0, 0)
    trace[0].recv(1)
    trace[0].wait(*[trace[0].isend(1, size) for _ in range(messages)])
    trace[1].wait(*receives)
    trace[1].send(0, 0)
    trace[0].recv(1)
    return trace.build()


def summary(parts: Sequence[Residual]) -> tuple[float, float, float]:
    """Return median, 90th percentile and largest of the absolute relative errors; all 0 if there are none."""
    if not parts:
        return 0.0, 0.0, 0.0
    errors = [abs(part.error) for part in parts]
    most = np.quantile(errors, 0.9, method="inverted_cdf")  # the smallest that 90 % do not exceed
    return float(np.median(errors)), float(most), max(errors)
