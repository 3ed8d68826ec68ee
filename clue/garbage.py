"""Garbage collection switched off where there is no garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_garbage() -> Iterator[None]:
    """Disable Python's cyclic garbage collector: where nearly all objects are kept, scanning them takes long."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def search_no_more() -> None:
    """Take all objects that there are out of the search for garbage: they stay for as long as the process does."""
    gc.collect()
    gc.freeze()
