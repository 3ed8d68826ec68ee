"""MPI below Python in a live rank: an error, because C code calls the real library, in which the rank is alone.

A lookup or a request for a handle raises an exception in the program. A linked object can call MPI once it is loaded,
so it ends the run, even if the program would catch an exception: right after Python or ``ctypes`` has loaded it, or at
the end of the program if something else has. A run of a single rank may use all of this.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from clue.trace.calls import LiveOp
from virtual_layer.below import name_objects, on_load, on_lookup

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer

_REFUSED = int(LiveOp.REFUSED)
_COVERED = "a live run does not support MPI called from C or Fortran"


def guard(layer: Layer) -> None:
    """Examine loaded objects, and from now on every object that is loaded and every lookup."""
    layer.objects.look()
    on_load(lambda: refuse_objects(layer))

    def refuse(name: str) -> None:
        if len(layer.world) > 1:
            raise NotImplementedError(f"{name}: {_COVERED}")

    on_lookup(refuse)


def refuse_objects(layer: Layer) -> None:
    """End the run if an object that can call MPI is loaded."""
    layer.objects.look()
    if layer.objects.found and len(layer.world) > 1:
        _end(layer, layer.objects.found)


def _end(layer: Layer, objects: list[str]) -> NoReturn:
    place = _place()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    got = name_objects(objects) + (f" at {place}" if place else "")
    why = (
        f"must call MPI by mpi4py alone in a live run, got {got}, linked to MPI: calls from C or Fortran would find "
        f"one rank instead of {len(layer.world)}; leave it out, or let mpi4py do what it does"
    )
    with layer.port:
        layer.port.part(_REFUSED, payload=why)
    os._exit(1)


def _place() -> str:
    """Return the file and line that the program is executing, or ``""`` at its end."""
    frame = sys._getframe()
    while frame.f_globals.get("__name__") != "__main__":
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    # The process itself began as a module of this name, too.
    name = Path(frame.f_code.co_filename).name
    return "" if frame.f_globals.get("__package__") == "virtual_layer.substitutes" else f"{name}:{frame.f_lineno}"


def _refuse_handles(name: str) -> Callable[[Layer, Any], Any]:
    def make(layer: Layer, original: Any) -> Any:
        def give(arg: Any) -> Any:
            known = layer.comms.get(arg.handle) if isinstance(arg, layer.mpi.Comm) else None
            if known is not None and (len(known.group) > 1 or known.remote is not None):
                raise NotImplementedError(f"{name}: {_COVERED}")
            return original(arg)

        return give

    return make


CALLS = {("", name): _refuse_handles(name) for name in ("_addressof", "_handleof")}
