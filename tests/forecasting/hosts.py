"""Routines with invented measurements, and hosts with a constant load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from clue.forecasting.availability import Availability
from clue.forecasting.forecaster import Forecaster
from clue.forecasting.measuring import Point
from clue.forecasting.memory import Memory
from clue.forecasting.routines import Routine
from clue.forecasting.store import Measured, open_store
from clue.trace.computer import processor_name

#: Seconds of a multiplication and an addition.
PER_PRODUCT = 1e-9
SIZES = (64, 128, 256, 512, 1024)


def dgemm(host: str = "here", per_product: float = PER_PRODUCT, library: str = "scipy 0, blas 0") -> Measured:
    """Return a measured routine that takes m n k ns (by default) and needs 8 (m k + k n + m n) bytes."""
    points = tuple(Point((m, n, k), per_product * m * n * k, 3) for m in SIZES[::2] for n in SIZES[::2] for k in SIZES)
    memory = Memory({("m", "k"): Fraction(8), ("k", "n"): Fraction(8), ("m", "n"): Fraction(8)})
    return Measured(Routine("dgemm", ("m", "n", "k"), library), host, processor_name(), memory, points, None, 0.01, 1e9)


def idle(host: str, cpu: float = 1.0, memory: int = 10**9) -> Availability:
    """Return the availability of a host with this share of a core and free memory."""
    return Availability(host, 4, 0.0, 0.0, cpu, memory)


@contextmanager
def forecasting(path: Path, **settings: object) -> Iterator[Forecaster]:
    """Yield a forecaster of the host "here", whose store contains measurements of dgemm."""
    with open_store(path / "store.sqlite", make=True) as store:
        store.keep(dgemm())
        forecaster = Forecaster(store, host="here", look=idle)
        for name, value in settings.items():
            setattr(forecaster, name, value)
        yield forecaster
