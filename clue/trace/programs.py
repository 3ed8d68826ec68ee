"""Whether traces record one program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def other_programs(traces: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a fault for each trace that records another program than the first; each is given by name and program."""
    first: tuple[str, str] | None = None
    for name, program in traces:
        if first is None:
            first = name, program
        elif program != first[1]:
            yield f"{name}: program must be that of {first[0]} ({first[1] or 'none'}), got {program or 'none'}"
