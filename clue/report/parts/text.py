"""Parts of the hardware library as text, with the kind and the source of each figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from clue.machine.curve import SHOWN_SIZES
from clue.machine.parts import BENCHMARKS, Figure, NetworkPart, Processor, Switch
from clue.report.parts.document import AnyPart
from clue.report.shared.table import NONE, add_row, bullets, facts, heading, stack, table
from clue.units import format_power, format_size, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType

#: How figures that follow from specifications are computed.
PEAK_BANDWIDTH, PEAK_SPEED = "channels × rate × 8 B", "cores × base clock × operations a cycle"
_SPEEDS = ("hpl", "dgemm")


# --- all of them ---


def parts_text(parts: Sequence[AnyPart]) -> RenderableType:
    """List parts by kind, and state for how many of them each figure is known."""
    processors = [part for part in parts if isinstance(part, Processor)]
    networks = [part for part in parts if isinstance(part, NetworkPart)]
    switches = [part for part in parts if isinstance(part, Switch)]
    return stack(
        _processors(processors) if processors else None,
        bullets(_counts(processors)) if processors else None,
        _networks(networks) if networks else None,
        _switches(switches) if switches else None,
    )


def _processors(parts: Sequence[Processor]) -> RenderableType:
    numbers = ("cores", "clock", "peak memory", "STREAM/core", "fp rate/core", "one copy", "TDP")
    shown = table("processor", *numbers, numbers=numbers, title="Processors")
    for part in parts:
        peak, stream = part.peak_bandwidth, part.figures.get("stream_triad")
        add_row(
            shown,
            part.key,
            part.cores,
            _clocks(part),
            NONE if peak is None else _bandwidth(peak),
            NONE if stream is None else _bandwidth(stream.per_core),
            _per_core(part.figures.get("spec_fp_rate")),
            _one(part),
            NONE if part.power is None else format_power(part.power),
        )
    return shown


def _clocks(part: Processor) -> str:
    known = [f"{clock / 1e9:g}" for clock in (part.base_clock, part.boost_clock) if clock is not None]
    return f"{'–'.join(known)} GHz" if known else NONE


def _per_core(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.per_core:.3g}"


def _one(part: Processor) -> str:
    fp, integer = part.figures.get("spec_fp_one"), part.figures.get("spec_int_one")
    known = [f"{title} {each.value:g}" for title, each in (("fp", fp), ("int", integer)) if each is not None]
    return ", ".join(known) or NONE


def _counts(parts: Sequence[Processor]) -> Iterator[str]:
    counts = {title: sum(name in part.figures for part in parts) for name, title in BENCHMARKS.items()}
    counts["TDP"] = sum(part.power is not None for part in parts)
    counts["list price"] = sum(part.price is not None for part in parts)
    known = ", ".join(f"{title} of {count}" for title, count in counts.items())
    yield f"of {len(parts)} processors: {known}"
    yield f"peak memory bandwidth is computed: {PEAK_BANDWIDTH}; clue parts PART shows the source of each figure"


def _networks(parts: Sequence[NetworkPart]) -> RenderableType:
    numbers = ("port", *map(format_size, SHOWN_SIZES))
    shown = table("network", *numbers, "link", numbers=numbers, title="Networks: one way between two nodes")
    for part in parts:
        times = [_one_way(part, size) for size in SHOWN_SIZES]
        add_row(shown, part.key, _bits(part.rate), *times, part.link_from)
    return shown


def _one_way(part: NetworkPart, size: float) -> str:
    return NONE if part.link is None else format_time(part.link.one_way(size))


def _switches(parts: Sequence[Switch]) -> RenderableType:
    numbers = ("ports", "port", "rack units", "power")
    shown = table("switch", *numbers, numbers=numbers, title="Switches")
    for part in parts:
        power = NONE if part.power is None else format_power(part.power)
        add_row(shown, part.key, part.ports, _bits(part.rate), f"{part.rack_units:g}", power)
    return shown


def _bits(rate: float) -> str:
    return f"{rate * 8 / 1e9:g} Gbit/s"


def _bandwidth(rate: float) -> str:
    return f"{rate / 1e9:.4g} GB/s"


# --- one of them ---


def part_text(part: AnyPart) -> RenderableType:
    """Show a part with the source of every figure."""
    figures = list(_figures(part))
    shown = table("figure", "value", "of", "known as", "source", "date", numbers=("value", "date"), title="Figures")
    for name, value, of, how, source, date in figures:
        add_row(shown, name, value, of, how, source, date)
    return stack(
        heading(f"{part.name} ({part.key})"),
        facts(_facts(part)),
        shown if figures else None,
        bullets(f"{_title(name)}: not known: {reason}" for name, reason in part.missing.items())
        if part.missing
        else None,
        bullets(part.notes) if part.notes else None,
    )


def _title(name: str) -> str:
    return BENCHMARKS.get(name, name)


def _facts(part: AnyPart) -> Iterable[tuple[str, str]]:
    if isinstance(part, Processor):
        yield "cores", str(part.cores)
        yield "clock", "" if part.base_clock is None and part.boost_clock is None else _clocks(part)
        memory = part.channels is not None and part.memory_rate is not None
        yield (
            "memory",
            f"{part.channels} channels of {part.memory_rate / 1e6:g} MT/s" if memory and part.memory_rate else "",
        )
        yield "thermal design power", "" if part.power is None else format_power(part.power)
        yield "list price", str(part.price or "")
        yield "also called", ", ".join(part.names)
    elif isinstance(part, NetworkPart):
        yield "port", _bits(part.rate)
        yield "link", part.link_from
        for size in SHOWN_SIZES:
            yield f"one way, {format_size(size)}", _one_way(part, size)
    else:
        yield "ports", f"{part.ports} of {_bits(part.rate)}"
        yield "rack units", f"{part.rack_units:g}"
        yield "power", "" if part.power is None else format_power(part.power)
        yield "list price", str(part.price or "")
    yield "specifications", f"{part.source}, {part.date}"


def _figures(part: AnyPart) -> Iterator[tuple[str, str, str, str, str, str]]:
    if isinstance(part, Processor):
        for name, figure in part.figures.items():
            of = "one copy" if name.endswith("_one") else f"{figure.cores} cores"
            yield _row(BENCHMARKS[name], _value(name, figure), of, figure)
        if part.peak_bandwidth is not None:
            yield (
                "peak memory bandwidth",
                _bandwidth(part.peak_bandwidth),
                "the processor",
                "computed",
                PEAK_BANDWIDTH,
                "",
            )
        if part.peak_speed is not None:
            yield "peak speed", f"{part.peak_speed / 1e12:.3g} Tflop/s", "the processor", "computed", PEAK_SPEED, ""
    elif isinstance(part, NetworkPart):
        if part.latency is not None:
            yield _row("latency", format_time(part.latency.value), "an empty message", part.latency)
        if part.bandwidth is not None:
            yield _row("bandwidth", _bandwidth(part.bandwidth.value), "large messages", part.bandwidth)


def _row(name: str, value: str, of: str, figure: Figure) -> tuple[str, str, str, str, str, str]:
    source = f"{figure.source} ({figure.note})" if figure.note else figure.source
    return name, value, of, figure.how, source, figure.date


def _value(name: str, figure: Figure) -> str:
    if name == "stream_triad":
        return _bandwidth(figure.value)
    return f"{figure.value / 1e12:.4g} Tflop/s" if name in _SPEEDS else f"{figure.value:g}"


def sockets_words(part: Processor, number: int) -> str:
    """State the processors of a node."""
    known = [f"{number} × {part.name}"]
    if part.peak_bandwidth is not None:
        known.append(f"peak memory bandwidth {_bandwidth(number * part.peak_bandwidth)} ({PEAK_BANDWIDTH})")
    if part.power is not None:
        known.append(f"thermal design power {format_power(number * part.power)}")
    return ", ".join(known)
