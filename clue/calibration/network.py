"""``calibrate network``: a link measured here or imported, fitted, compared with the data, written as a machine."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from clue.calibration.contention import measure_pairs
from clue.calibration.copies import LARGE, copy_bandwidth
from clue.calibration.launching import launcher, run_program
from clue.calibration.link import FittedLink, fit_link, progress_of
from clue.calibration.machine_file import CalibratedNetwork, MachineFile, node_lines, size_text
from clue.calibration.measurement import EagerLimit, Estimate, Measurement, SizeRow
from clue.calibration.residuals import Residual, Residuals, one_node, pair, residuals, summary
from clue.errors import UsageError
from clue.machine import LinkNoise, Machine, Network, NodeType, Ports
from clue.progress import Reporter, silent
from clue.units import count_of, format_size, format_time

#: Default message sizes, bytes: 0, and powers of two up to 16 MiB.
SIZES = (0, *(1 << k for k in range(25)))
#: Default duration of the measurement of one link, seconds.
TIME = 60.0
CONFIDENCE, PRECISION = 0.95, 0.02
#: Largest simultaneous copies, bytes, and smallest number of processors for them: two pairs, one processor per rank.
_COPIED, _LEAST_PROCESSORS = 1 << 20, 4
#: Note on a link whose messages progress at any time, beside one whose messages do not.
_OTHER_PROGRESS = (
    "progress: messages of this link progressed outside of calls, those of the other link within calls only; a machine "
    "states one of these, so within calls is assumed for both"
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted link with its data.

    Attributes:
        measurement: The measured or imported data.
        fitted: The link.
        machine: The machine on which the measurement is simulated.
        residuals: Differences between the measurement and its simulation.
    """

    measurement: Measurement
    fitted: FittedLink
    machine: Machine
    residuals: Residuals


def calibrate_within(measurement: Measurement, eager_limit: float | None = None) -> Calibration:
    """Calibrate the link within a node, where simultaneous pairs share memory but no ports."""
    alone = fit_link(replace(measurement, shared=()), eager_limit, within=True)
    bandwidth, said = copy_bandwidth(measurement, alone.link)
    fitted = replace(alone, copy_bandwidth=bandwidth, assumptions=(*alone.assumptions, *said))
    return _compared(measurement, fitted, one_node(fitted))


def with_copies(
    measurement: Measurement,
    mpiexec: Sequence[str],
    processors: int,
    hosts: Sequence[str] = (),
    *,
    seconds: float = TIME,
    confidence: float = CONFIDENCE,
    report: Reporter = silent,
) -> Measurement:
    """Extend a measurement within a node by several simultaneous pairs, with a processor for each rank.

    Args:
        measurement: Measurement of one pair.
        mpiexec: Command line of the launcher of MPI programs, without the number of ranks.
        processors: Processors of the node.
        hosts: Its name; none: the launcher decides.
        seconds: Longest duration of the measurement.
        confidence: Confidence of the intervals of medians.
        report: Called with the progress.

    Raises:
        UsageError: If the launcher cannot be run.
        ClueError: If the measurement fails.
    """
    sizes = [row.size for row in measurement.rows if row.one_way is not None and LARGE <= row.size <= _COPIED]
    if processors < _LEAST_PROCESSORS or not sizes:
        why = f"{count_of(processors, 'processor')}" if sizes else "no large messages"
        note = f"copies: the bandwidth of simultaneous copies within a node was not measured ({why})"
        return replace(measurement, notes=(*measurement.notes, note))
    pairs = measure_pairs(
        mpiexec, processors // 2 * 2, hosts, sizes=[max(sizes)], seconds=seconds, confidence=confidence,
        node_per_rank=True, report=report,
    )  # fmt: skip
    together = tuple(SizeRow(each.size, each.one_way, pairs=each.pairs) for each in pairs.rows)
    return replace(measurement, shared=together, notes=(*measurement.notes, *pairs.notes))


def with_one_progress(*links: Measurement) -> tuple[Measurement, ...]:
    """Return the measurements of a machine's links as of one library: within calls only if a link showed that.

    A machine states one progress, with which messages over all of its links are simulated.
    """
    if not any(each.in_calls for each in links):
        return links
    return tuple(
        replace(each, in_calls=True, notes=(*each.notes, *([_OTHER_PROGRESS] if each.in_calls is False else [])))
        for each in links
    )


def calibrate_link(measurement: Measurement, eager_limit: float | None = None) -> Calibration:
    """Fit a link between nodes to a measurement and simulate the measurement on it."""
    fitted = fit_link(measurement, eager_limit)
    return _compared(measurement, fitted, pair(fitted.link, fitted.progress))


def _compared(measurement: Measurement, fitted: FittedLink, machine: Machine) -> Calibration:
    """Simulate a measurement on a machine with the fitted link, whose noise follows from the comparison."""
    found = residuals(measurement, machine)
    deviation = _deviation(measurement, found)
    link = replace(fitted.link, noise=LinkNoise(deviation, deviation))
    return Calibration(measurement, replace(fitted, link=link), machine, found)


def _deviation(measurement: Measurement, found: Residuals) -> float:
    """Return the uncertainty of delays as a relative standard deviation, from the fit and from repetition.

    Half the width of an interval is a number of standard deviations of a normal distribution: 1.96 at 95 %.
    """
    left = [each.error for each in found.one_way]
    spreads = [row.one_way.spread / measurement.half_width for row in measurement.rows if row.one_way is not None]
    mean_square = sum(error**2 for error in left) / len(left) + sum(spread**2 for spread in spreads) / len(spreads)
    return float(f"{min(1.0, math.sqrt(mean_square)):.2g}")


def measure_link(
    mpiexec: Sequence[str],
    hosts: Sequence[str] = (),
    *,
    sizes: Sequence[int] = SIZES,
    seconds: float = TIME,
    confidence: float = CONFIDENCE,
    precision: float = PRECISION,
    apart: str = "",
    report: Reporter = silent,
) -> Measurement:
    """Measure the link between two ranks.

    Args:
        mpiexec: Command line of the launcher of MPI programs, without the number of ranks.
        hosts: Names of the computers for the two ranks; none: the launcher decides.
        sizes: Message sizes, bytes. Those too large for the available time are left out, and a note says so.
        seconds: Longest duration of the measurement.
        confidence: Confidence of the intervals of medians.
        precision: Requested half width of an interval, relative to the median.
        apart: What needs a link between two computers, in words: ranks on one are refused before anything is measured.
        report: Called with the progress.

    Raises:
        UsageError: If the launcher cannot be run.
        ClueError: If the measurement fails.
    """
    settings = {
        "sizes": list(sizes), "time": seconds, "confidence": confidence, "precision": precision, "apart": apart,
    }  # fmt: skip
    result = run_program(launcher(mpiexec, 2, hosts), "measure_link", settings, seconds, report)
    return replace(_measurement(result, precision), confidence=confidence)


def _measurement(result: dict[str, Any], precision: float) -> Measurement:
    rows = tuple(
        SizeRow(
            each["size"],
            _estimate(each, "one_way"),
            _estimate(each, "blocked"),
            _estimate(each, "gap"),
            each.get("window", 0),
            _estimate(each, "call"),
        )
        for each in result["rows"]
    )
    hosts = tuple(result["hosts"])
    return Measurement(
        rows,
        receive=None if result["receive"] is None else Estimate(*result["receive"]),
        exchange=None if result["exchange"] is None else Estimate(*result["exchange"]),
        reduction=Estimate(*result["reduction"]),
        shared=tuple(
            SizeRow(each["size"], gap=_estimate(each, "gap"), window=each["window"], both_ways=True)
            for each in result["both"]
        ),
        eager=_eager(result),
        acknowledged_from=result["waits"] if result["taken"] is not None else None,
        in_calls=result["in_calls"],
        reads=result["reads"],
        hosts=hosts,
        mpi=result["mpi"],
        date=datetime.date.today().isoformat(),
        source=f"measured by clue between {' and '.join(hosts)}",
        notes=tuple(_notes(rows, result, precision)),
    )


def _estimate(row: dict[str, Any], name: str) -> Estimate | None:
    return Estimate(*row[name]) if name in row else None


def _eager(result: dict[str, Any]) -> EagerLimit:
    """Return the eager limit; senders may also wait for acknowledgements below it."""
    how = "found by late receives"
    if result["taken"] is not None:
        return EagerLimit(result["taken"], result["refused"], how)
    return EagerLimit(result["eager"], result["waits"], how)


def _notes(rows: Sequence[SizeRow], result: dict[str, Any], precision: float) -> list[str]:
    notes = []
    left_out = result["left_out"]
    if result["in_calls"] is None:
        notes.append(
            "progress: no sender waited, so it is unknown whether the library progresses messages outside of calls"
        )
    if left_out:
        notes.append(
            f"messages from {format_size(left_out[0])} on were left out: they take too long for the available time"
        )
    loose = [row for row in rows if row.one_way is not None and row.one_way.spread > precision]
    if loose:
        sizes = ", ".join(format_size(row.size) for row in loose)
        worst = max(row.one_way.spread for row in loose if row.one_way is not None)
        notes.append(
            f"half round trips vary too much for a precision of {precision:.0%}, at worst {worst:.0%}: {sizes}"
        )
    return notes


def machine_file(
    between: Calibration | None,
    within: Calibration | None = None,
    *,
    name: str = "",
    nodes: int | None = None,
    processors: int | None = None,
) -> MachineFile:
    """Return a machine with calibrated links; at least one link must be given.

    A node has one processor if their number is not given; two if only the link within a node is known, which is one
    between two ranks.

    Raises:
        UsageError: If several nodes or one processor are requested, and only the link within a node is known.
    """
    if between is None and (nodes or 1) > 1:
        raise UsageError(f"nodes must be 1 if only the link within a node is known, got {nodes}")
    processors = processors or (2 if between is None else 1)
    if between is None and processors < 2:
        raise UsageError(f"processors must be 2 or more if only the link within a node is known, got {processors}")
    calibrations = [each for each in (between, within) if each is not None]
    network = CalibratedNetwork(
        between.fitted.link if between else None,
        within.fitted.link if within else None,
        progress=progress_of(each.fitted for each in calibrations),
    )
    first = calibrations[0].measurement
    sources = dict.fromkeys(each.measurement.source for each in calibrations)
    return MachineFile(
        name=name or "calibrated",
        network=network,
        nodes=nodes or (2 if between else 1),
        processors=processors,
        node_lines=tuple(node_lines(_node(calibrations, within.fitted.copy_bandwidth if within else None))),
        title=f"A network calibrated by clue{f' on {first.date}' if first.date else ''}.",
        comments=tuple(
            paragraph
            for title, each in (("Between nodes", between), ("Within a node", within))
            if each is not None
            for paragraph in _paragraphs(title, each)
        ),
        source=", ".join(sources) + (f", {first.date}" if first.date else "") + (f", {first.mpi}" if first.mpi else ""),
        notes=tuple(
            f"{where}: {text}"
            for where, each in (("between nodes", between), ("within a node", within))
            if each is not None
            for text in (*each.fitted.assumptions, *each.measurement.notes)
        ),
    )


def machine_of(calibration: Calibration, name: str) -> Machine:
    """Return two nodes with a calibrated link between them."""
    node = _node([calibration])
    link = calibration.fitted.link
    network = Network(link, link, contention=Ports(), progress=calibration.fitted.progress)
    notes = (*calibration.fitted.assumptions, *calibration.measurement.notes)
    return Machine(name, (node, node), network, source=calibration.measurement.source, notes=notes)


def _node(calibrations: Sequence[Calibration], copy_bandwidth: float | None = None) -> NodeType:
    """Return the node type of a machine, as far as calibrations of its links show it."""
    measured = (each.measurement.reduction for each in calibrations)
    combined = next((each.value for each in measured if each is not None), 0.0)
    return NodeType("node", copy_bandwidth=copy_bandwidth, reduction_delay=combined)


def _paragraphs(title: str, calibration: Calibration) -> list[str]:
    measurement = calibration.measurement
    facts = [
        f"{title}: {measurement.source}",
        *([f"hosts {' and '.join(measurement.hosts)}"] if measurement.hosts else []),
        *([measurement.date] if measurement.date else []),
        *([f"MPI: {measurement.mpi}"] if measurement.mpi else []),
    ]
    return ["; ".join(facts) + ".", f"There {_quality(calibration.residuals)}.", _residual_lines(calibration.residuals)]


def _quality(found: Residuals) -> str:
    median, most, worst = summary(found.one_way)
    text = f"simulated half round trips are off by {median:.1%} in the median, {most:.1%} at the 90th percentile"
    text += f", {worst:.1%} at most"
    if found.gap:
        text += f"; times per message of a stream by {summary(found.gap)[0]:.1%} in the median"
    return text


def _residual_lines(found: Residuals) -> str:
    gaps = {each.size: each for each in found.gap}
    lines = ["    size       half round trip   simulated              per message of a stream   simulated"]
    for each in found.one_way:
        gap = gaps.get(each.size)
        lines.append(f"{size_text(each.size):>12} {_pair(each)}" + (f"       {_pair(gap)}" if gap else ""))
    return "\n".join(lines)


def _pair(each: Residual) -> str:
    return f"{format_time(each.measured):>12} {format_time(each.fitted):>14} {each.error:>+8.1%}"
