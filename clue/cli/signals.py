"""One policy for the signals that end a program: INT, TERM and HUP all unwind it, so that nothing is left behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Exit status of an interrupted command that has shown partial results: that of shells after Ctrl-C.
INTERRUPTED = 128 + signal.SIGINT
#: Signals treated like INT, which Python itself turns into a KeyboardInterrupt.
_ALIKE = (signal.SIGTERM, signal.SIGHUP)


class Ended(KeyboardInterrupt):
    """Act like Ctrl-C: every block that cleans up after that cleans up after this.

    It is a class of its own because Python treats a plain KeyboardInterrupt that passes through some C code as Ctrl-C,
    and then ends with that status.
    """


class Heard:
    """The signal that ended a command.

    Attributes:
        number: Its number; SIGINT unless another signal came.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        self.number = number

    @property
    def status(self) -> int:
        """The exit status that shells report for a program ended by it."""
        return 128 + self.number

    def __str__(self) -> str:
        return "interrupted" if self.number == signal.SIGINT else f"ended by {signal.Signals(self.number).name}"

    def take(self, number: int, _frame: FrameType | None) -> None:
        """Note the signal, and end the current work."""
        self.number = number
        raise Ended


def _may_handle() -> bool:
    """Tell whether Python lets this thread set signal handlers."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Let signals end the process at once: while modules load, there is nothing to clean up.

    Otherwise a signal's exception may be raised anywhere within the import machinery, which turns it into another one,
    swallows it, or hangs afterwards.
    """
    if not _may_handle() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    # Handlers that the system sets, or signals ignored on purpose, stay.
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ALIKE)}
    before = {number: handler for number, handler in before.items() if callable(handler)}
    for number in before:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    heard = Heard(number)
    os.write(2, f"clue: {heard}\n".encode())
    os._exit(heard.status)


@contextmanager
def unwinding() -> Iterator[Heard]:
    """Let TERM and HUP act like INT within a block; yield the signal that came.

    A signal that is ignored on purpose (by ``nohup``) stays ignored.
    """
    heard = Heard()
    if not _may_handle():
        yield heard
        return
    taken = [number for number in _ALIKE if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, heard.take)
    try:
        yield heard
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
