"""Traces: what a program did, as columns of ops. This package stores, opens and checks them; it does not simulate."""

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use
from clue.trace.ops import (
    ANY,
    COLLECTIVES,
    COMPLETED,
    LOCKING,
    NO_REQUEST,
    POSTED,
    PROC_NULL,
    REDUCTIONS,
    ROOTED,
    TRACE_FORMAT,
    TRACE_VERSION,
    Access,
    Flag,
    Op,
)

if TYPE_CHECKING:
    from clue.trace.builder import TraceBuilder
    from clue.trace.columns import Ops
    from clue.trace.head import Communicator, Head, RankHead
    from clue.trace.store import Trace

__all__ = [
    "ANY",
    "COLLECTIVES",
    "COMPLETED",
    "LOCKING",
    "NO_REQUEST",
    "POSTED",
    "PROC_NULL",
    "REDUCTIONS",
    "ROOTED",
    "TRACE_FORMAT",
    "TRACE_VERSION",
    "Access",
    "Communicator",
    "Flag",
    "Head",
    "Op",
    "Ops",
    "RankHead",
    "Trace",
    "TraceBuilder",
]

#: Names that are loaded on first use, by module: only code that reads traces needs numpy, the recorder does not.
_HOMES = {
    "builder": ("TraceBuilder",),
    "columns": ("Ops",),
    "head": ("Communicator", "Head", "RankHead"),
    "store": ("Trace",),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)
