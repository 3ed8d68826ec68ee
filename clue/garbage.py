"""Garbage collection, switched off where there is no garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_garbage() -> Iterator[None]:
    """Disable Python's cyclic garbage collector, which takes long to scan objects if nearly all of them are kept."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def search_no_more() -> None:
    """Exclude all existing objects from garbage collection: they stay for as long as the process runs."""
    gc.collect()
    gc.freeze()
