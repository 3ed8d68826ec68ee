"""``calibrate contention``: how communicating pairs slow each other, and which contention model predicts that best.

All models are compared by the same experiment, which simulates the measured pairs on the same nodes. The quantity
compared is the slowdown: the time of a message alongside other pairs over its time alone, so that errors of the link
cancel. Models are judged by cross-validation: each is fitted without one number of pairs, or without one size, and
then predicts the measurements left out.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from clue.calibration.launching import launcher, run_program
from clue.calibration.machine_file import MachineFile, ports_lines, rewritten, stated_notes
from clue.calibration.measurement import Estimate
from clue.errors import UsageError
from clue.kernel import Program, compile_program, simulate
from clue.kernel.model.costs import occupation
from clue.machine import (
    Contention,
    Curve,
    FactorTable,
    Flows,
    Link,
    Machine,
    Network,
    NoContention,
    NodeType,
    Ports,
    Progress,
)
from clue.progress import Reporter, silent
from clue.trace import TraceBuilder
from clue.units import format_size

if TYPE_CHECKING:
    from clue.machine.contention.topology import Topology

#: Default message sizes, bytes.
SIZES = (1 << 10, 1 << 14, 1 << 17, 1 << 20)
#: Number of simulated round trips of each pair.
_ROUNDS = 10
#: A model with more parameters is preferred if its error is at most this share of the simpler model's error.
_WORTH = 0.8
#: An error surely exceeds another if it is larger by this factor, which rounding cannot explain.
_ROUNDING = 1 + 1e-9
#: No model explains the data well if the mean error is at least this.
_POOR = 0.15


@dataclass(frozen=True, slots=True)
class PairRow:
    """A measurement of simultaneous pairs.

    Attributes:
        pairs: Number of pairs.
        size: Size of their messages, bytes.
        one_way: Half a round trip of one of them.
    """

    pairs: int
    size: int
    one_way: Estimate


@dataclass(frozen=True, slots=True)
class PairMeasurement:
    """Round trips of 1, 2, 4, … simultaneous pairs of ranks.

    Attributes:
        rows: Measurements by number of pairs and size; every size was also measured with one pair.
        nodes: The two nodes of each pair, in the order in which pairs were added; counted from 0, the first of all
            pairs before the second.
        hosts: Names of the nodes.
        mpi: The MPI library's version, if known.
        date: Date of the measurement, ISO 8601, if known.
        notes: What a reader of the figures should know.
    """

    rows: tuple[PairRow, ...]
    nodes: tuple[tuple[int, int], ...]
    hosts: tuple[str, ...] = ()
    mpi: str = ""
    date: str = ""
    notes: tuple[str, ...] = ()

    def slowdowns(self) -> dict[tuple[int, int], float]:
        """Return the slowdowns: time of a message over its time alone, by number of pairs (from 2) and size."""
        alone = {row.size: row.one_way.value for row in self.rows if row.pairs == 1}
        return {(row.pairs, row.size): row.one_way.value / alone[row.size] for row in self.rows if row.pairs > 1}


def check_pairs(ranks: int, sizes: Sequence[int]) -> None:
    """Check what is to be measured.

    Args:
        ranks: Twice the largest number of pairs.
        sizes: Message sizes, bytes.

    Raises:
        UsageError: If there is nothing to compare.
    """
    if ranks < 4:
        raise UsageError(f"simultaneous pairs must be at least 2, got {ranks // 2}")
    if len(set(sizes)) < len(sizes):
        raise UsageError(f"sizes must differ, got {', '.join(format_size(size) for size in sizes)}")


def check_choice(pairs: int, sizes: Sequence[int]) -> None:
    """Check that a model can be judged by data that are left out of its fit.

    Args:
        pairs: Largest number of pairs.
        sizes: Message sizes, bytes.

    Raises:
        UsageError: If only two pairs and one size are to be measured.
    """
    if pairs < 3 and len(sizes) < 2:
        raise UsageError(
            f"simultaneous pairs must be at least 3, or sizes at least 2, to choose a model, got {pairs} pairs and "
            f"{format_size(sizes[0])}"
        )


def measure_pairs(
    mpiexec: Sequence[str],
    ranks: int,
    hosts: Sequence[str] = (),
    *,
    sizes: Sequence[int] = SIZES,
    seconds: float = 60.0,
    confidence: float = 0.95,
    node_per_rank: bool = False,
    report: Reporter = silent,
) -> PairMeasurement:
    """Measure simultaneous pairs of ranks.

    Args:
        mpiexec: Command line of the launcher of MPI programs, without the number of ranks.
        ranks: Twice the largest number of pairs.
        hosts: Computers for the ranks, round-robin; none: the launcher decides.
        sizes: Message sizes, bytes.
        seconds: Longest duration of the measurement.
        confidence: Confidence of the intervals of medians.
        node_per_rank: Whether to treat each rank as if it ran on a separate computer, whatever the host name.
        report: Called with the progress.

    Raises:
        UsageError: If the launcher cannot be run, or there is nothing to compare.
        ClueError: If the measurement fails.
    """
    check_pairs(ranks, sizes)
    settings = {"sizes": list(sizes), "time": seconds, "confidence": confidence, "apart": node_per_rank}
    result = run_program(launcher(mpiexec, ranks, hosts), "measure_pairs", settings, seconds, report)
    return _measurement(result)


def _measurement(result: dict[str, Any]) -> PairMeasurement:
    names: list[str] = result["hosts"]
    pairs: list[tuple[int, int]] = result["pairs"]
    order = list(dict.fromkeys([names[a] for a, _ in pairs] + [names[b] for _, b in pairs]))
    return PairMeasurement(
        tuple(PairRow(row["pairs"], row["size"], Estimate(*row["one_way"])) for row in result["rows"]),
        tuple((order.index(names[a]), order.index(names[b])) for a, b in pairs),
        tuple(order),
        result["mpi"],
        datetime.date.today().isoformat(),
        tuple(
            f"contention: {host} has {processors} processors for {ranks} ranks: pairs slow each other down there "
            "as well as on the network"
            for host, (ranks, processors) in result["crowded"].items()
        ),
    )


# --- models ---


@dataclass(frozen=True, slots=True)
class Model:
    """A fitted contention model.

    Attributes:
        name: Its name in words.
        contention: Its value in a machine.
        lines: Its lines in a machine's file.
        parameters: Number of fitted parameters. The absence of contention counts as one, so that ports, which real
            computers have, are preferred where the data do not decide.
    """

    name: str
    contention: Contention
    lines: tuple[str, ...]
    parameters: int


@dataclass(frozen=True, slots=True)
class Judged:
    """A model with its errors.

    Attributes:
        model: The model, fitted to all data.
        held_out: Mean absolute error on held-out data, of the logarithm of slowdowns, so that 0.05 is 5 % in either
            direction.
        fitted: The same for the data to which it was fitted.
    """

    model: Model
    held_out: float
    fitted: float


Data = dict[tuple[int, int], float]


class Experiment:
    """A simulation of the measured pairs that gives the slowdowns of a contention model.

    Args:
        link: Link between the nodes.
        nodes: The two nodes of each pair.
        ports: The ports of a node, if known.
        progress: When the MPI library progresses messages.
    """

    def __init__(
        self, link: Link, nodes: Sequence[tuple[int, int]], ports: Ports, progress: Progress = Progress.ASYNCHRONOUS
    ) -> None:
        self._nodes = tuple(nodes)
        node = NodeType("node", processors=2 * len(nodes))
        count = 1 + max(max(pair) for pair in nodes)
        self._machine = Machine("pairs", (node,) * count, Network(link, link, progress=progress))
        self._known: dict[tuple[Contention, int, int], float] = {}
        self.half = 1 + max(first for first, _ in nodes)
        self.link = link
        self.ports = ports

    def slowdown(self, contention: Contention, pairs: int, size: int) -> float:
        """Return the time of a message among ``pairs`` simultaneous pairs over its time alone."""
        return self._time(contention, pairs, size) / self._time(contention, 1, size)

    def error(self, contention: Contention, data: Data) -> float:
        """Return the mean absolute logarithm of simulated over measured slowdowns."""
        if not data:
            return 0.0
        return sum(abs(math.log(self.slowdown(contention, *case) / found)) for case, found in data.items()) / len(data)

    def exceeds(self, contention: Contention, data: Data, error: float) -> bool:
        """Tell whether the mean error surely exceeds another, often without a simulation of all cases."""
        most, sum_so_far = error * len(data) * _ROUNDING, 0.0
        # Contention is strongest among many pairs and in large messages, so a wrong model errs most there.
        for case in sorted(data, reverse=True):
            sum_so_far += abs(math.log(self.slowdown(contention, *case) / data[case]))
            if sum_so_far > most:
                return True
        return False

    def _time(self, contention: Contention, pairs: int, size: int) -> float:
        key = (contention, pairs, size)
        if key not in self._known:
            machine = replace(self._machine, network=replace(self._machine.network, contention=contention))
            placement = [node for pair in self._nodes[:pairs] for node in pair]
            result = simulate(_trips(pairs, size), machine, placement, "fast")
            self._known[key] = sum(rank.finish for rank in result.ranks[::2]) / pairs / (2 * _ROUNDS)
        return self._known[key]


@cache
def _trips(pairs: int, size: int) -> Program:
    """Return a program in which ranks 2k and 2k + 1 make round trips, all pairs at once."""
    trace = TraceBuilder(2 * pairs, "pairs")
    for k in range(pairs):
        for _ in range(_ROUNDS):
            for source, dest in ((2 * k, 2 * k + 1), (2 * k + 1, 2 * k)):
                trace[source].send(dest, size)
                trace[dest].recv(source)
    return compile_program(trace.build())


_Shape = TypeVar("_Shape", bound="Topology")
#: Fits a model to slowdowns.
_Fit = Callable[[Experiment, Data], Model]


def _fit_none(_: Experiment, __: Data) -> Model:
    return Model("none", NoContention(), ("none",), 1)


def _fit_factor(experiment: Experiment, data: Data) -> Model:
    """Fit the paper's table: one factor for each number of pairs, from small numbers to large ones, by bisection."""
    factors: list[tuple[int, float]] = [(1, 1.0)]
    for pairs in sorted({n for n, _ in data}):
        level = {case: found for case, found in data.items() if case[0] == pairs}
        factors.append((pairs, _bisected(experiment, tuple(factors), pairs, level)))
    table = FactorTable(tuple(factors))
    entries = ", ".join(f"{n}: {factor:.4g}" for n, factor in factors)
    return Model("factor", table, (f"factor: {{{entries}}}",), len(factors) - 1)


def _bisected(experiment: Experiment, below: tuple[tuple[int, float], ...], pairs: int, level: Data) -> float:
    target = sum(math.log(found) for found in level.values())

    def excess(factor: float) -> float:
        table = FactorTable((*below, (pairs, factor)))
        return sum(math.log(experiment.slowdown(table, *case)) for case in level) - target

    low, high = 1.0, 2.0 * pairs
    if excess(low) >= 0:
        return low
    for _ in range(14):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return math.sqrt(low * high)


def _fit_ports(experiment: Experiment, data: Data) -> Model:
    """Fit the rate of ports: the time for which a message occupies one, as a multiple of its size-dependent delay."""
    known, *others = _port_scales(experiment)
    scale, ports = min(others, key=lambda scaled: experiment.error(scaled[1], data))
    if experiment.error(ports, data) >= _WORTH * experiment.error(known[1], data):
        scale, ports = known
    lines = ("ports",) if ports.busy is None else ports_lines(ports.busy)
    return Model("ports" if scale == 1 else f"ports, {scale:.2g} times as slow", ports, lines, 0 if scale == 1 else 1)


def _port_scales(experiment: Experiment) -> list[tuple[float, Ports]]:
    """Return the known ports, and slower and faster ones."""
    link, known = experiment.link, experiment.ports
    stated = (busy.sizes for busy in (link.busy, known.busy) if busy is not None)
    corners = (link.send_delay.sizes, link.transmission_delay.sizes, *stated)
    sizes = sorted({0.0, 1e6, *(size for sizes in corners for size in sizes)})
    busy = [occupation(known, link, int(size)) for size in sizes]
    scaled = [
        (scale, Ports(Curve.through([(size, time * scale) for size, time in zip(sizes, busy, strict=True)])))
        for scale in (2 ** (k / 4) for k in range(-8, 13) if k)
    ]
    return [(1.0, known), *scaled]


def _fit_switch(experiment: Experiment, data: Data) -> Model:
    """Fit the bandwidth of the node links that flows share."""
    from clue.machine.contention.topology import Switch  # noqa: PLC0415 - numpy

    best = _best(experiment, data, [Switch(bandwidth) for bandwidth in _bandwidths(experiment, data, 6)])
    lines = ("flows:", f"  {{topology: switch, bandwidth: {_bandwidth(best.bandwidth)}}}")
    return Model("flows, one switch", Flows(best), lines, 1)


def _fit_uplink(experiment: Experiment, data: Data) -> Model:
    """Fit two switches that share an uplink: the first nodes of all pairs are on one, the second nodes on the other."""
    from clue.machine.contention.topology import Switches  # noqa: PLC0415 - numpy

    shapes = [
        Switches(experiment.half, bandwidth, experiment.half * bandwidth / uplink)
        for bandwidth, uplink in product(_bandwidths(experiment, data, 3), _bandwidths(experiment, data, 4))
    ]
    best = _best(experiment, data, shapes)
    lines = (
        "flows:",
        f"  {{topology: switches, nodes_per_switch: {best.per_switch}, "
        f"bandwidth: {_bandwidth(best.bandwidth)}, oversubscription: {best.oversubscription:.4g}}}",
    )
    return Model("flows, a shared uplink", Flows(best), lines, 2)


def _best(experiment: Experiment, data: Data, topologies: Sequence[_Shape]) -> _Shape:
    """Return the topology with the least error; of several, the first."""
    flows = [Flows(topology) for topology in topologies]
    strongest = {case: data[case] for case in sorted(data)[-1:]}
    # Promising topologies come first: once a good one is known, bad ones are excluded early.
    promising = sorted(range(len(flows)), key=lambda i: experiment.error(flows[i], strongest))
    least, best = math.inf, 0
    for i in promising:
        if not experiment.exceeds(flows[i], data, least):
            least, best = min((least, best), (experiment.error(flows[i], data), i))
    return topologies[best]


def _bandwidths(experiment: Experiment, data: Data, per_octave: int) -> list[float]:
    """Return bandwidths around that of a single message, from a quarter of it to a large multiple."""
    size = max((size for _, size in data), default=0) or SIZES[-1]  # empty messages show no bandwidth
    link = experiment.link
    alone = size / max(
        link.send_delay(size) - link.send_delay(0),
        link.transmission_delay(size) - link.transmission_delay(0),
        1e-12,
    )
    return [alone * 2 ** (k / per_octave) for k in range(-per_octave, 4 * per_octave + 1)]


def _bandwidth(value: float) -> str:
    return f"{value / 1e6:.5g} MB/s"


#: Fits of the models, by rising number of parameters: of two equally good models, the first is chosen.
_FITS: tuple[_Fit, ...] = (_fit_ports, _fit_none, _fit_switch, _fit_uplink, _fit_factor)


# --- model selection ---


def known_ports(machine: Machine) -> Ports:
    """Return the ports that a machine states; otherwise ports whose times follow from the delays of its links."""
    contention = machine.network.contention
    return contention if isinstance(contention, Ports) else Ports()


def judge(
    measurement: PairMeasurement,
    link: Link,
    ports: Ports | None = None,
    report: Reporter = silent,
    *,
    progress: Progress = Progress.ASYNCHRONOUS,
) -> list[Judged]:
    """Fit every model and judge it by cross-validation; the chosen one comes first.

    Args:
        measurement: Measurement of simultaneous pairs.
        link: Link between the nodes, which gives the time of a message alone.
        ports: The known ports of a node; default: their times follow from the link's delays.
        report: Called with the progress.
        progress: When the MPI library progresses messages.

    Raises:
        UsageError: If nothing can be held out: only one size, and fewer than two numbers of pairs above 1.
    """
    data = measurement.slowdowns()
    folds = _folds(data)
    if not folds:
        got = f"{', '.join(str(pairs) for pairs in sorted({row.pairs for row in measurement.rows}))} pairs"
        raise UsageError(f"pairs must have been measured at two or more sizes, or in three or more numbers, got {got}")
    experiment = Experiment(link, measurement.nodes, ports or Ports(), progress)
    judged = []
    for i, fit in enumerate(_FITS):
        report("fitting contention models", i, len(_FITS))
        model = fit(experiment, data)
        errors = [_predicted(experiment, fit, data, held_out) for held_out in folds]
        judged.append(Judged(model, sum(errors) / len(errors), experiment.error(model.contention, data)))
    return _ordered(judged)


def _folds(data: Data) -> list[set[tuple[int, int]]]:
    """Return the folds of the cross-validation: each number of pairs, and each size, if others remain."""
    folds = []
    for axis in (0, 1):
        values = sorted({case[axis] for case in data})
        if len(values) > 1:
            folds += [{case for case in data if case[axis] == value} for value in values]
    return folds


def _predicted(experiment: Experiment, fit: _Fit, data: Data, held_out: set[tuple[int, int]]) -> float:
    seen = {case: found for case, found in data.items() if case not in held_out}
    unseen = {case: found for case, found in data.items() if case in held_out}
    return experiment.error(fit(experiment, seen).contention, unseen)


def contention_file(
    machine: Machine, measurement: PairMeasurement, judged: Sequence[Judged], name: str = ""
) -> MachineFile:
    """Return the file of a machine with the best contention model.

    Raises:
        UsageError: If the machine has several kinds of nodes, or links that differ by kind.
    """
    best = judged[0]
    lines = [f"{each.held_out:>10.1%} {each.fitted:>10.1%}  {each.model.name}" for each in judged]
    return rewritten(
        machine,
        best.model.lines,
        name=name or machine.name,
        nodes=max(len(machine.nodes), len(measurement.hosts)),
        title=f"Contention calibrated by clue: {best.model.name}"
        + (f", {measurement.date}." if measurement.date else "."),
        comments=(
            f"Measured: round trips of up to {len(measurement.nodes)} simultaneous pairs of ranks on "
            f"{', '.join(measurement.hosts)}" + (f"; MPI: {measurement.mpi}" if measurement.mpi else "") + ".",
            "Mean error of slowdowns, held out and fitted:\n" + "\n".join(lines),
        ),
        notes=(*stated_notes(machine), f"contention: {explained(judged)}", *measurement.notes),
    )


def explained(judged: Sequence[Judged]) -> str:
    """Return a sentence about the chosen model and the reason for it."""
    best = judged[0]
    text = f"{best.model.name} predicts held-out slowdowns with a mean error of {best.held_out:.1%}"
    others = as_good(judged)
    if others:
        names = ", ".join(each.model.name for each in others)
        text += f"; the data do not distinguish it from {names}, so the simplest or most usual is chosen"
    elif len(judged) > 1:
        text += ", better than every other model"
    return f"{text}; no model explains the data well" if best.held_out > _POOR else text


def as_good(judged: Sequence[Judged]) -> list[Judged]:
    """Return the other models that explain the data about as well as the first."""
    best = judged[0].held_out
    return [each for each in judged[1:] if _WORTH * each.held_out <= best]


def _ordered(judged: Sequence[Judged]) -> list[Judged]:
    """Put the chosen model first: one with more parameters only if it predicts clearly better."""
    best = judged[0]
    for each in sorted(judged, key=lambda one: one.model.parameters):
        if each.held_out < _WORTH * best.held_out:
            best = each
    return [best, *sorted((each for each in judged if each is not best), key=lambda one: one.held_out)]
