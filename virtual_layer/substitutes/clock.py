"""Virtual time as the program sees it: ``MPI.Wtime``, and by option Python's clocks and ``time.sleep``.

Only functions of the module ``time`` are replaced, as a program finds them there once it runs: what other modules
took from there before, ``datetime``, and waiting with a timeout stay real.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from clue.trace.calls import LiveOp
from virtual_layer.substitutes.factories import of_layer

if TYPE_CHECKING:
    from virtual_layer.substitutes.port import Port

_WTIME, _SLEEP = int(LiveOp.WTIME), int(LiveOp.SLEEP)
#: What ``time.time`` says at virtual time 0: when the process began that ranks are forked from, alike for all.
_BEGAN = time.time()


def take_over(port: Port) -> None:
    """Make Python's clocks virtual, and let a sleep cost virtual time only."""
    for name, offset in (("time", _BEGAN), ("perf_counter", 0.0), ("monotonic", 0.0)):
        _replace(port, name, lambda offset=offset: offset + port.ask(_WTIME))
        _replace(port, f"{name}_ns", lambda offset=offset: round((offset + port.ask(_WTIME)) * 1e9))
    real = time.sleep

    def sleep(seconds: float, /) -> None:
        if seconds < 0:
            real(seconds)
        port.tell(_SLEEP, nbytes=round(seconds * 1e9))

    _replace(port, "sleep", sleep)


def _replace(port: Port, name: str, function: Callable[..., Any]) -> None:
    @wraps(getattr(time, name))
    def called(*args: Any) -> Any:
        with port:
            return function(*args)

    setattr(time, name, called)


CALLS = {("", "Wtime"): of_layer(lambda layer: layer.port.ask(_WTIME))}
