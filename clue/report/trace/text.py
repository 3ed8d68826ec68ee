"""A trace as text: the recorded calls and computation of the program, and what the simulator does not model."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from clue.report.shared.call_sites import labels
from clue.report.shared.table import NONE, add_row, facts, heading, stack, table, words
from clue.report.shared.warnings import warnings_text
from clue.report.trace.document import site_notes
from clue.units import format_number, format_size, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clue.analysis.trace import CallProfile
    from clue.recording import Repeated
    from clue.trace import Trace

#: Largest number of listed communicators or ranks; longer tables are cut, with a remark.
MOST_ROWS = 32


def trace_text(trace: Trace) -> RenderableType:
    """Show a trace: its origin, calls, regions, communicators, ranks, and the calls that are not modelled."""
    from clue.analysis.trace import profile_calls  # noqa: PLC0415 - numpy

    calls = profile_calls(trace)
    return stack(
        heading(trace.name),
        _making(trace),
        _calls(calls),
        _unmodelled(calls),
        _regions(trace),
        _communicators(trace),
        _ranks(trace),
        warnings_text(trace.head.notes, "Notes"),
    )


def sites_text(trace: Trace) -> RenderableType:
    """Show the call sites of a trace, and the computation before their calls."""
    from clue.analysis.trace import profile_sites  # noqa: PLC0415 - numpy

    profiles = profile_sites(trace)
    more = f" (the first {MOST_ROWS} of {len(profiles)})" if len(profiles) > MOST_ROWS else ""
    numbers = ("count", "bytes sent", "computing before", "time inside")
    title = f"Call sites, all ranks, as recorded{more}"
    shown = table("site", "function", "called from", "call", *numbers, title=title, numbers=numbers)
    names = labels(trace.head.sites)
    for each in profiles[:MOST_ROWS]:
        add_row(
            shown,
            names[each.number].name,
            each.site.function,
            each.site.callers,
            ", ".join(each.calls) or NONE,
            f"{each.count:,}",
            format_size(each.nbytes) if each.nbytes else "",
            format_time(each.compute),
            format_time(each.seconds),
        )
    return stack(heading(trace.name), shown, warnings_text(site_notes(trace), "Notes"))


def recordings_text(recorded: Repeated) -> RenderableType:
    """Show a trace and, if it was recorded several times, how much these recordings differ."""
    if not recorded.repeats:
        return trace_text(recorded.trace)
    least, most = format_time(min(recorded.computing)), format_time(max(recorded.computing))
    said = (
        f"Recorded {len(recorded.computing)} times: computation took {least} to {most} of CPU time at the host's best "
        f"(± {recorded.spread:.1%}). The least disturbed recording is the trace."
    )
    return stack(trace_text(recorded.trace), words(said))


def _making(trace: Trace) -> Table:
    head = trace.head
    hosts = list(dict.fromkeys(each.host for each in head.rank_heads if each.host))
    return facts(
        (
            ("program", " ".join((head.program, *head.arguments))),
            ("ranks", str(trace.ranks)),
            ("ops", f"{len(trace.ops):,}"),
            ("recorded", head.recorded),
            ("host", ", ".join(hosts[:4]) + (f" and {len(hosts) - 4} more" if len(hosts) > 4 else "")),
            ("processor", head.processor),
            ("MPI", " ".join(head.mpi.split())[:100]),
            ("Python", head.python),
            ("clock", head.clock),
            ("settings", ", ".join(f"{name}={value}" for name, value in head.settings.items())),
            ("overhead", _overhead(trace)),
            ("host speed", _host_speed(trace)),
            ("bursts", _bursts(trace)),
        )
    )


def _host_speed(trace: Trace) -> str:
    """State the speed of the host during bursts, as shares of its best speed."""
    from clue.trace.speed import speeds  # noqa: PLC0415 - numpy

    ranges = (f"{low:.2f}–{high:.2f} of its best ({piece})" for piece, (low, high) in speeds(trace).items())
    said = ", ".join(ranges)
    return f"{said} while this was recorded" if said else ""


def _bursts(trace: Trace) -> str:
    """State how much computation simulations replay, if that differs from the recorded amount."""
    if trace.head.typical is None and trace.head.probe is None:
        return ""
    raw, counted = (float(each.sum()) * 1e-9 for each in (trace.ops.cpu, trace.bursts))
    typical = trace.head.typical
    how = "" if typical is None else f", typical of {typical.recordings} recordings (± {typical.spread:.1%})"
    return f"normalised to the host's best{how}: {format_time(raw)} recorded, {format_time(counted)} replayed"


def _overhead(trace: Trace) -> str:
    """State the cost of recording: measured per call, and from that the largest share of a rank's time."""
    head = trace.head
    if not head.overhead:
        return ""
    walls = [each.wall for each in head.rank_heads]
    ops = [after - before for before, after in pairwise(head.offsets)]
    share = max((n * head.overhead / wall for n, wall in zip(ops, walls, strict=True) if wall > 0), default=0.0)
    return f"{format_time(head.overhead)} a call, at most {share:.2%} of the run time"


def _calls(calls: tuple[CallProfile, ...]) -> Table | None:
    if not calls:
        return None
    numbers = ("count", "bytes sent", "time inside")
    shown = table("call", *numbers, "", title="MPI calls of all ranks, as recorded", numbers=numbers)
    for each in calls:
        size = format_size(each.nbytes) if each.nbytes else ""
        add_row(
            shown,
            each.call,
            f"{each.count:,}",
            size,
            format_time(each.seconds),
            _remark(each),
        )
    return shown


def _remark(each: CallProfile) -> str:
    if each.left_out is None:
        return ""
    return "not modelled" if each.left_out.count == each.count else f"{each.left_out.count:,} not modelled"


def _unmodelled(calls: tuple[CallProfile, ...]) -> RenderableType | None:
    left_out = [each.left_out for each in calls if each.left_out is not None]
    return warnings_text(
        [f"{each.call}: {each.extent}" for each in sorted(left_out, key=lambda each: -each.seconds)],
        "Not modelled: a simulation leaves these calls out",
    )


def _regions(trace: Trace) -> Table:
    from clue.analysis.trace import profile_regions  # noqa: PLC0415 - numpy

    numbers = ("bursts", "CPU time", "operations", "speed")
    shown = table("region", *numbers, title="Computation of all ranks, as recorded", numbers=numbers)
    for each in profile_regions(trace):
        speed = f"{format_number(each.flops / each.seconds / 1e6)} Mflop/s" if each.flops and each.seconds else NONE
        flops = f"{each.flops:.4g}" if each.flops else NONE
        add_row(shown, each.region or "(no region)", f"{each.bursts:,}", format_time(each.seconds), flops, speed)
    return shown


def _communicators(trace: Trace) -> Table:
    from clue.analysis.trace import profile_communicators  # noqa: PLC0415 - numpy

    profiles = profile_communicators(trace)
    more = f" (the first {MOST_ROWS} of {len(profiles)})" if len(profiles) > MOST_ROWS else ""
    shown = table("communicator", "ranks", "ops", title=f"Communicators{more}", numbers=("ranks", "ops"))
    for each in profiles[:MOST_ROWS]:
        size = f"{each.size}" if each.remote is None else f"{each.size} + {each.remote}"
        add_row(shown, each.name, size, f"{each.ops:,}")
    return shown


def _ranks(trace: Trace) -> Table:
    from clue.analysis.trace import rank_spans  # noqa: PLC0415 - numpy

    more = f" (the first {MOST_ROWS} of {trace.ranks})" if trace.ranks > MOST_ROWS else ""
    numbers = ("rank", "ops", "CPU time", "in MPI", "peak memory")
    shown = table(*numbers, "host", title=f"Ranks{more}", numbers=numbers)
    for rank, (head, (ops, compute, inside)) in enumerate(zip(trace.head.rank_heads, rank_spans(trace), strict=True)):
        if rank == MOST_ROWS:
            break
        memory = format_size(head.peak_memory) if head.peak_memory else NONE
        add_row(shown, rank, f"{ops:,}", format_time(compute), format_time(inside), memory, head.host)
    return shown
