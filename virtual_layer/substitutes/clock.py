"""Virtual time for the program: ``MPI.Wtime`` and, optionally, Python's clocks and ``time.sleep``.

Only functions of the module ``time`` are replaced, before the program starts: functions that other modules imported
from it earlier, ``datetime``, and waits with a timeout stay real.
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
#: Value of ``time.time`` at virtual time 0: the start of the process from which ranks are forked, the same for all.
_BEGAN = time.time()


def take_over(port: Port) -> None:
    """Make Python's clocks virtual, and make a sleep take virtual time only."""
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
