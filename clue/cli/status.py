"""Exit statuses that no error of clue carries, and an end before anything has begun."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

#: What shells report for a program ended by Ctrl-C; a comparison that was interrupted still prints what it found.
INTERRUPTED = 130


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process on the spot: while modules load nothing has begun that would have to be put in order.

    The exception that Ctrl-C is otherwise may come up anywhere within the machinery of imports, which passes it on as
    another one, swallows it, or stands still afterwards.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    os.write(2, b"clue: interrupted\n")
    os._exit(INTERRUPTED)
