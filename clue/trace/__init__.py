"""Traces: what a program did, as columns of ops. Records, stores, opens and checks them; simulates nothing."""

from typing import TYPE_CHECKING

from clue.trace.ops import (
    ANY,
    COLLECTIVES,
    NO_REQUEST,
    PROC_NULL,
    ROOTED,
    TRACE_FORMAT,
    TRACE_VERSION,
    Flag,
    Op,
)

if TYPE_CHECKING:
    from clue.trace.builder import TraceBuilder
    from clue.trace.head import Communicator, Head, RankHead
    from clue.trace.store import Ops, Trace

__all__ = [
    "ANY",
    "COLLECTIVES",
    "NO_REQUEST",
    "PROC_NULL",
    "ROOTED",
    "TRACE_FORMAT",
    "TRACE_VERSION",
    "Communicator",
    "Flag",
    "Head",
    "Op",
    "Ops",
    "RankHead",
    "Trace",
    "TraceBuilder",
]


def __getattr__(name: str) -> object:
    # numpy is loaded only by those who read traces: the recorder inside the user's program does not.
    if name in {"Communicator", "Head", "RankHead"}:
        from clue.trace import head  # noqa: PLC0415

        return getattr(head, name)
    if name in {"Ops", "Trace"}:
        from clue.trace import store  # noqa: PLC0415

        return getattr(store, name)
    if name == "TraceBuilder":
        from clue.trace.builder import TraceBuilder  # noqa: PLC0415

        return TraceBuilder
    raise AttributeError(name)
