"""Calls that live execution does not cover: an error that names the call and the reason, never a wrong answer.

As in mpi4py itself, missing calls raise ``NotImplementedError``. On a communicator of one process the real library
serves even these, because they need no other rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from virtual_layer.substitutes.factories import Factory, of_layer
from virtual_layer.substitutes.meeting import alone

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer


_CONNECTING = "connecting to other programs"
_FAULTS = "tolerance of failed processes"
_FILES = "files opened by several ranks"


def _refuse(name: str, what: str) -> Factory:
    def call(*_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError(f"{name}: a live run does not support {what}")

    return of_layer(call)


def _refuse_to_several(name: str, what: str, place: int = 0) -> Factory:
    """Make the factory of a call that one process alone may make; its communicator stands at a place."""
    refuse = _refuse(name, what)

    def make(layer: Layer, original: Any) -> Any:
        refused = refuse(layer, original)

        def call(*args: Any, **kwargs: Any) -> Any:
            comm = args[place] if len(args) > place else kwargs["comm"]
            known = layer.comms.get(comm.handle)
            return (original if known is None or alone(known) else refused)(*args, **kwargs)

        return call

    return make


_FAULT_CALLS = "Revoke Get_failed Ack_failed Agree Iagree Shrink Ishrink"
_NAMES = "Publish_name Unpublish_name Lookup_name"

CALLS: dict[tuple[str, str], Factory] = {
    ("Comm", "Join"): _refuse("Join", _CONNECTING),
    **{("", name): _refuse(name, _CONNECTING) for name in _NAMES.split()},
    **{("Comm", name): _refuse_to_several(name, _FAULTS) for name in _FAULT_CALLS.split()},
    ("File", "Open"): _refuse_to_several("File.Open", _FILES, 1),
}
