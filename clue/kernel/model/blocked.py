"""Descriptions of what a rank of a deadlocked program waits for; all engines use them."""

from __future__ import annotations

from clue.kernel.model.program import ANY_TAG, Row
from clue.trace import ANY, COLLECTIVES, Op

NEVER_BEGUN = "its start: the Spawn that begins its world is never reached"


def channel_context(row: Row) -> int:
    """Return the context in which a collective is counted: neighbourhood collectives count apart from the others."""
    return ~row.context if row.op == Op.NEIGHBOR else row.context


def describe_wait(row: Row, offset: int, pending: int, serial: int) -> str:
    """Say in words what a rank is blocked on.

    Args:
        row: The op it is in.
        offset: First rank of its instance.
        pending: Number of requests that a wait is still waiting for.
        serial: For a collective, its number among the rank's collectives on that context, counted from 1.
    """
    op = Op(row.op)
    name = op.name.replace("_", " ").lower()
    if op in COLLECTIVES:
        return f"{name} number {serial} on communicator {row.context}"
    if op is Op.WAIT:
        return f"requests, {pending} of them open" if len(row.entries) > 1 else "a request"
    if op is Op.SPAWN:
        return f"spawn by rank {row.peer + offset} on communicator {row.context}"
    partner = "to" if op in {Op.SEND, Op.ISEND} else "from"
    whom = "any rank" if row.peer == ANY else f"rank {row.peer + offset}"
    tag = "any tag" if row.tag == ANY_TAG else f"tag {row.tag}"
    return f"{name} {partner} {whom}, {tag}, on communicator {row.context}"
