"""Named phases of a program: ``with virtual_layer.region("cholesky"):``. Nothing happens unless it is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class RegionSink(Protocol):
    """Whoever wants to know of regions: the recorder."""

    def enter_region(self, name: str) -> None:
        """Begin a region inside the present one."""

    def leave_region(self, flops: float) -> None:
        """End the present region, whose floating-point operations are known or 0."""


_sinks: list[RegionSink] = []


@contextmanager
def region(name: str, flops: float = 0.0) -> Iterator[None]:
    """Name the phase that runs inside ``with``; phases may nest, the innermost counts.

    Args:
        name: Name of the phase: performance factors of a machine may differ by it.
        flops: Floating-point operations that this rank does in it, if known.
    """
    sinks = tuple(_sinks)
    for sink in sinks:
        sink.enter_region(name)
    try:
        yield
    finally:
        for sink in sinks:
            sink.leave_region(flops)


def listen(sink: RegionSink) -> None:
    """Tell ``sink`` of every region from now on."""
    _sinks.append(sink)


def ignore(sink: RegionSink) -> None:
    """Tell ``sink`` no more."""
    if sink in _sinks:
        _sinks.remove(sink)
