"""Data down and up a tree in segments, as in Open MPI: one segment is forwarded while the next arrives."""

from __future__ import annotations

from collections.abc import Sequence

from clue.collectives.rounds import at_once, receive, send
from clue.collectives.schedule import Schedule
from clue.collectives.trees import Node


def downwards(node: Node, segments: Sequence[int]) -> Schedule:
    """Return a rank's rounds for data from the root to all. Each segment goes to all children at once."""

    def passed_on(segment: int) -> tuple[tuple[int, int], ...]:
        return tuple((child, segment) for child in node.children)

    if node.parent is None:
        return tuple(at_once(passed_on(segment)) for segment in segments) if node.children else ()
    if not node.children:
        return (receive(node.parent),) * len(segments)
    overlapped = (at_once(passed_on(segment), (node.parent,)) for segment in segments[:-1])
    return (receive(node.parent), *overlapped, at_once(passed_on(segments[-1])))


def upwards(node: Node, segments: Sequence[int]) -> Schedule:
    """Return a rank's rounds for a reduction from all to the root.

    A rank receives from one child after the other. It sends a finished segment while the first part of
    the next one arrives.
    """
    if not node.children:
        return () if node.parent is None else tuple(send(node.parent, segment) for segment in segments)
    rounds = []
    finished: tuple[tuple[int, int], ...] = ()
    for segment in segments:
        for child in node.children:
            rounds.append(at_once(finished, (child,), segment))
            finished = ()
        finished = () if node.parent is None else ((node.parent, segment),)
    return (*rounds, *(send(*message) for message in finished))
