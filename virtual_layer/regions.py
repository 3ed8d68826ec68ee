"""Named phases of a program: ``with virtual_layer.region("cholesky"):``. They have no effect without a recorder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class RegionSink(Protocol):
    """A listener to regions: the recorder."""

    def enter_region(self, name: str) -> None:
        """Begin a region inside the present one."""

    def leave_region(self, flops: float) -> None:
        """End the present region; ``flops`` are its floating-point operations, 0 if unknown."""


_sinks: list[RegionSink] = []


@contextmanager
def region(name: str, flops: float = 0.0) -> Iterator[None]:
    """Name the phase that runs inside ``with``; phases may nest, the innermost counts.

    A recording counts neither phases within an MPI call, as in the function of a reduction, nor their operations.
    A live run counts these operations only if its computation takes the time of declared ones (``--bursts SPEED``).

    Args:
        name: Name of the phase: a machine may have a separate performance factor for it.
        flops: Floating-point operations that this rank does in it, if known.

    Raises:
        TypeError: If the name is not a string.
        ValueError: If the number of operations is negative or not finite.
    """
    if not isinstance(name, str):
        raise TypeError(f"region {name!r}: name must be text, got {type(name).__name__}")
    if not 0 <= (flops := float(flops)) < math.inf:
        raise ValueError(f"region {name!r}: flops must be finite and not negative, got {flops:g}")
    sinks = tuple(_sinks)
    for sink in sinks:
        sink.enter_region(name)
    try:
        yield
    finally:
        for sink in sinks:
            sink.leave_region(flops)


def listen(sink: RegionSink) -> None:
    """Report every region to ``sink`` from now on."""
    _sinks.append(sink)


def ignore(sink: RegionSink) -> None:
    """Stop reporting to ``sink``."""
    if sink in _sinks:
        _sinks.remove(sink)
