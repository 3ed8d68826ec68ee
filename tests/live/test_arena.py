"""Shared memory for payloads: blocks do not overlap, and a block is reused after its last reader."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from virtual_layer.substitutes.arena import Arena

SIZES = st.lists(st.tuples(st.integers(0, 200_000), st.integers(1, 3)), min_size=1, max_size=20)


@given(SIZES)
def test_blocks_keep_what_was_written(sizes: list[tuple[int, int]]) -> None:
    """Blocks that are in use at the same time never overlap."""
    arena = Arena(1 << 26)
    offsets = [arena.take(size, readers) for size, readers in sizes]
    for i, (offset, (size, _)) in enumerate(zip(offsets, sizes, strict=True)):
        arena.view(offset, size)[:] = bytes([i]) * size
    for i, (offset, (size, _)) in enumerate(zip(offsets, sizes, strict=True)):
        assert arena.view(offset, size) == bytes([i]) * size


@given(SIZES)
def test_a_block_is_free_after_its_last_reader(sizes: list[tuple[int, int]]) -> None:
    """When all readers are done, no memory is in use, and the same sizes get the same blocks again."""
    arena = Arena(1 << 26)
    offsets = [arena.take(size, readers) for size, readers in sizes]
    for offset, (_, readers) in zip(offsets, sizes, strict=True):
        for _ in range(readers):
            assert arena.used > 0
            arena.release(offset)
    assert arena.used == 0
    assert {arena.take(size) for size, _ in reversed(sizes)} == set(offsets)


def test_a_full_arena_says_so() -> None:
    """A block that does not fit is refused with a message that states its size."""
    arena = Arena(1 << 24)
    try:
        arena.take(1 << 24)
    except MemoryError as error:
        assert "16777216 B" in str(error)
    else:
        raise AssertionError
