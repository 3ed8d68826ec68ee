"""Virtual time as the program sees it: ``MPI.Wtime``, and by option Python's clocks and ``time.sleep``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clue.trace.calls import LiveOp

if TYPE_CHECKING:
    from virtual_layer.live.layer import Layer

_WTIME = int(LiveOp.WTIME)


def wtime(layer: Layer, _original: Callable[..., Any]) -> Callable[..., Any]:
    """Make ``Wtime`` return virtual time."""
    port = layer.port

    def substitute() -> float:
        return port.ask(_WTIME)  # type: ignore[no-any-return]

    return substitute


CALLS = {("", "Wtime"): wtime}
