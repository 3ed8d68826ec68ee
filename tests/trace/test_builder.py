"""Traces built in memory: what their heads say of worlds and communicators."""

from __future__ import annotations

from clue.trace import Op, TraceBuilder


def test_spawned_ranks_have_a_world_of_their_own() -> None:
    """Four ranks, of which the first spawns the last two: the first world is 0 and 1, and ends there."""
    builder = TraceBuilder(4)
    world, comm = builder.spawned((2, 3))
    builder[0].add(Op.SPAWN, nbytes=2, extras=(world,))
    head = builder.build().head
    assert [each.world for each in head.rank_heads] == [0, 0, 1, 1]
    assert head.communicators[0].group == (0, 1)
    assert (head.communicators[comm].name, head.communicators[comm].group) == ("WORLD", (2, 3))
    assert head.communicators[comm].context != head.communicators[0].context


def test_worlds_are_numbered_in_the_order_in_which_they_are_taken_out() -> None:
    """A second world is another one, and what is left of the first shrinks again."""
    builder = TraceBuilder(3)
    assert [builder.spawned((2,))[0], builder.spawned((1,))[0]] == [1, 2]
    head = builder.build().head
    assert [each.world for each in head.rank_heads] == [0, 2, 1]
    assert head.communicators[0].group == (0,)


def test_both_sides_of_an_intercommunicator_share_a_context() -> None:
    """Each side is a communicator of its own with the other as its remote group; no other has their context."""
    builder = TraceBuilder(3)
    near, far = builder.intercommunicator((0, 2), (1,))
    other = builder.communicator((0, 1))
    here, there = (builder.build().head.communicators[index] for index in (near, far))
    assert (here.group, here.remote) == ((0, 2), (1,))
    assert (there.group, there.remote) == ((1,), (0, 2))
    contexts = [each.context for each in builder.build().head.communicators]
    assert here.context == there.context
    assert contexts.count(here.context) == 2
    assert contexts[other] != here.context
