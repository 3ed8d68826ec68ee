"""Calibrations as text and as JSON documents: data beside fit, and assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from clue.calibration.contention import Judged, PairMeasurement, explained
from clue.calibration.kernels import KERNELS, speeds_document
from clue.calibration.measurement import Estimate
from clue.calibration.network import Calibration
from clue.calibration.processor import NodeCalibration
from clue.calibration.residuals import Residual, summary
from clue.machine import Curve, Progress, Rendezvous
from clue.report.machine.document import cold_start_document
from clue.report.machine.text import cold_start_words
from clue.report.shared.document import fields
from clue.report.shared.table import NONE, add_row, bullets, facts, heading, stack, table
from clue.units import format_share, format_size, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType

_PLACES = ("between nodes", "within a node")
_RENDEZVOUS = {Rendezvous.READ: "data are read by the receiver", Rendezvous.WRITE: "data are sent by the sender"}


def network_text(between: Calibration | None, within: Calibration | None) -> RenderableType:
    """Return tables of residuals, the parameters, and the assumptions."""
    found = [(place, each) for place, each in zip(_PLACES, (between, within), strict=True) if each is not None]
    return stack(*(part for place, each in found for part in _link_text(place, each)))


def _link_text(place: str, calibration: Calibration) -> Iterator[RenderableType]:
    measurement, link, copied = calibration.measurement, calibration.fitted.link, calibration.fitted.copy_bandwidth
    limit = (
        "all messages" if link.eager_limit is None else f"{format_size(link.eager_limit)} ({link.eager_limit:.0f} B)"
    )
    yield heading(f"Link {place}")
    yield facts(
        [
            ("source", measurement.source),
            ("hosts", " and ".join(measurement.hosts)),
            ("MPI", measurement.mpi),
            ("date", measurement.date),
            ("send delay", _curve(link.send_delay)),
            ("transmission delay", _curve(link.transmission_delay)),
            ("receive delay", format_time(link.receive_delay)),
            ("receive overhead", "" if link.receive_overhead is None else format_time(link.receive_overhead)),
            ("call of a send", "" if link.send_overhead is None else _curve(link.send_overhead)),
            ("eager limit", limit),
            ("acknowledged", "" if link.acknowledged_from is None else f"from {format_size(link.acknowledged_from)}"),
            ("rendezvous", _RENDEZVOUS[link.rendezvous] if link.eager_limit is not None else ""),
            ("progress", "only within calls" if calibration.fitted.progress is Progress.CALLS else ""),
            ("token bucket", f"{format_size(link.bucket)} at once after idle time" if link.bucket else ""),
            ("copies at once", f"{format_size(copied)}/s together" if copied is not None else ""),
            ("reduction delay", _per_byte(measurement.reduction)),
        ]
    )
    yield _residuals(calibration)
    yield bullets([*_quality(calibration), *calibration.fitted.assumptions, *measurement.notes])


def _per_byte(combined: Estimate | None) -> str:
    return "" if combined is None else f"{combined.value * 1e9:.3g} ns/B"


def _curve(curve: Curve) -> str:
    slope = curve.slopes[-1]
    far = f", {format_size(1 / slope)}/s for large messages" if slope > 0 else ""
    return f"{format_time(curve.times[0])} for an empty message{far}; {len(curve.sizes)} points"


def _residuals(calibration: Calibration) -> RenderableType:
    columns = (
        "size",
        "half round trip",
        "+/-",
        "simulated",
        "error",
        "per message of a stream",
        "simulated ",
        "error ",
    )
    shown = table(*columns, numbers=columns)
    rows = {row.size: row for row in calibration.measurement.rows}
    halves = {each.size: each for each in calibration.residuals.one_way}
    gaps = {each.size: each for each in calibration.residuals.gap}
    for size in sorted({*halves, *gaps}):
        known = rows[size].one_way if size in halves else None
        spread = f"{known.spread:.1%}" if known is not None and (known.repetitions or known.spread) else NONE
        half, *further = _cells(halves.get(size))
        add_row(shown, format_size(size), half, spread, *further, *_cells(gaps.get(size)))
    return shown


def _cells(each: Residual | None) -> tuple[str, ...]:
    """Return the measured and the simulated time, and the error."""
    if each is None:
        return (NONE,) * 3
    return format_time(each.measured), format_time(each.fitted), format_share(each.error, 1, "+")


def _quality(calibration: Calibration) -> Iterator[str]:
    for what, parts in (
        ("half round trips", calibration.residuals.one_way),
        ("times per message of a stream", calibration.residuals.gap),
    ):
        if parts:
            median, most, worst = summary(parts)
            yield (
                f"{what}, simulated: off by {format_share(median, 1)} in the median, "
                f"{format_share(most, 1)} at the 90th percentile, {format_share(worst, 1)} at most"
            )
    if (both := calibration.residuals.exchange) is not None:
        times = f"{format_time(both.measured)}, simulated {format_time(both.fitted)}"
        yield f"two ranks that send a short message at once, then receive: {times} ({format_share(both.error, 1, '+')})"


def network_document(between: Calibration | None, within: Calibration | None, path: str) -> dict[str, object]:
    """Describe calibrated links as a JSON document; sizes in bytes, times in seconds."""
    links = {
        name: _link_document(each)
        for name, each in (("between_nodes", between), ("within_node", within))
        if each is not None
    }
    return {"machine": path, **links}


def _link_document(calibration: Calibration) -> dict[str, object]:
    measurement, fitted = calibration.measurement, calibration.fitted
    found = calibration.residuals
    exchanges = () if found.exchange is None else (found.exchange,)
    residuals = {"one_way": found.one_way, "gap": found.gap, "exchange": exchanges}
    return {
        "source": measurement.source,
        "hosts": list(measurement.hosts),
        **fields(measurement, "mpi", "date"),
        "send_delay": _points(fitted.link.send_delay),
        "transmission_delay": _points(fitted.link.transmission_delay),
        "send_overhead": None if fitted.link.send_overhead is None else _points(fitted.link.send_overhead),
        **fields(fitted.link, "receive_delay", "receive_overhead", "eager_limit", "acknowledged_from"),
        "rendezvous": fitted.link.rendezvous.value,
        "progress": fitted.progress.value,
        "copy_time": None if fitted.link.copy_time is None else _points(fitted.link.copy_time),
        "copy_bandwidth": fitted.copy_bandwidth,
        "reduction_delay": None if measurement.reduction is None else asdict(measurement.reduction),
        "port_busy": None if fitted.link.busy is None else _points(fitted.link.busy),
        "bucket": fitted.link.bucket,
        "residuals": {
            name: [fields(each, "size", "measured", "fitted") for each in parts] for name, parts in residuals.items()
        },
        "median_error": {name: summary(parts)[0] for name, parts in residuals.items() if parts},
        "assumptions": list(fitted.assumptions),
        "notes": list(measurement.notes),
    }


def _points(curve: Curve) -> list[list[float]]:
    return [[size, time] for size, time in zip(curve.sizes, curve.times, strict=True)]


# --- contention ---


def contention_text(measurement: PairMeasurement, judged: Sequence[Judged]) -> RenderableType:
    """Return measured slowdowns, and the errors of each model."""
    sizes = sorted({row.size for row in measurement.rows})
    slowdowns = measurement.slowdowns()
    columns = ("pairs at once", *(format_size(size) for size in sizes))
    measured = table(*columns, title="Slowdown by number of pairs and size of message", numbers=columns)
    for pairs in sorted({row.pairs for row in measurement.rows}):
        add_row(measured, pairs, *(f"{slowdowns.get((pairs, size), 1.0):.2f}" for size in sizes))
    models = table(
        *("model", "parameters", "error, not seen", "error, fitted"),
        title="Models of contention, by mean error of slowdowns",
        numbers=("parameters", "error, not seen", "error, fitted"),
    )
    for each in judged:
        add_row(
            models, each.model.name, each.model.parameters, format_share(each.held_out, 1), format_share(each.fitted, 1)
        )
    known = [("hosts", ", ".join(measurement.hosts)), ("MPI", measurement.mpi), ("date", measurement.date)]
    return stack(facts(known), measured, models, bullets([f"taken: {explained(judged)}", *measurement.notes]))


def contention_document(measurement: PairMeasurement, judged: Sequence[Judged], path: str) -> dict[str, object]:
    """Describe contention as a JSON document; sizes in bytes, times in seconds."""
    return {
        "machine": path,
        "hosts": list(measurement.hosts),
        **fields(measurement, "mpi", "date"),
        "rows": [
            {**fields(row, "pairs", "size"), "one_way": row.one_way.value, **fields(row.one_way, "low", "high")}
            for row in measurement.rows
        ],
        "notes": list(measurement.notes),
        "taken": judged[0].model.name,
        "models": [
            {"model": each.model.name, "parameters": each.model.parameters, "held_out_error": each.held_out,
             "fitted_error": each.fitted}
            for each in judged
        ],
    }  # fmt: skip


# --- processors ---


def processor_text(node: NodeCalibration) -> RenderableType:
    """Return factors by region, shares beside busy processors, and speeds of kernels."""
    known = [
        ("source", node.source),
        ("processors", str(node.processors)),
        ("compared with", node.compared_with),
        ("time slice", "" if node.time_slice is None else format_time(node.time_slice.value)),
        ("cold start", cold_start_words(node.cold_start) if node.cold_start.is_stated else ""),
        ("reduction delay", _per_byte(node.reduction)),
    ]
    parts: list[RenderableType | None] = [facts(known)]
    for title, shown in (
        ("Speed of kernels", _speeds(node)),
        ("Performance factors: smaller is faster", _factors(node)),
        ("Share of its speed that a processor keeps beside busy ones", _shares(node)),
    ):
        parts += [heading(title), shown] if shown is not None else []
    return stack(*parts, bullets(node.notes) if node.notes else None)


def _speeds(node: NodeCalibration) -> RenderableType | None:
    if node.speeds is None:
        return None
    columns = ("copies at once", "speed of each", "+/-")
    shown = table("kernel", *columns, numbers=columns)
    for kernel, by_copies in node.speeds.kernels.items():
        for copies, speed in by_copies.items():
            text = f"{speed.value / 1e6:.5g} M{KERNELS[kernel]}"
            add_row(shown, kernel, copies, text, f"{speed.spread:.1%}")
    return shown


def _factors(node: NodeCalibration) -> RenderableType | None:
    if not node.factors:
        return None
    columns = ("factor", "low", "high")
    shown = table("region", *columns, numbers=columns)
    for region, factor in node.factors.items():
        add_row(shown, region, *(f"{value:.4f}" for value in (factor.value, factor.low, factor.high)))
    return shown


def _shares(node: NodeCalibration) -> RenderableType | None:
    if not node.shares:
        return None
    numbers = sorted(node.shares)
    columns = tuple(f"{n} busy" for n in numbers)
    shown = table("region", *columns, numbers=columns)
    for region in dict.fromkeys(region for shares in node.shares.values() for region in shares):
        add_row(shown, region, *(f"{node.shares[n].get(region, 1.0):.3f}" for n in numbers))
    return shown


def processor_document(node: NodeCalibration, path: str) -> dict[str, object]:
    """Describe a calibrated node type as a JSON document."""
    return {
        "node_type": path,
        **fields(node, "name", "processors", "compared_with"),
        "performance_factor": {
            region: fields(factor, "value", "low", "high") for region, factor in node.factors.items()
        },
        "memory_contention_factor": {str(n): dict(shares) for n, shares in sorted(node.shares.items())},
        "time_slice": None if node.time_slice is None else asdict(node.time_slice),
        "cold_start": cold_start_document(node.cold_start),
        "reduction_delay": None if node.reduction is None else asdict(node.reduction),
        "speeds": None if node.speeds is None else speeds_document(node.speeds),
        "source": node.source,
        "notes": list(node.notes),
    }
