"""One policy for the signals that end a program: INT, TERM and HUP alike unwind it, so that nothing is left behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: What a command returns that was interrupted and has shown what it found by then: what shells report after Ctrl-C.
INTERRUPTED = 128 + signal.SIGINT
#: Of INT, Python itself makes a KeyboardInterrupt.
_ALIKE = (signal.SIGTERM, signal.SIGHUP)


class Ended(KeyboardInterrupt):
    """Do what Ctrl-C does: every block that cleans up after that cleans up after this.

    A class of its own, as Python takes a plain KeyboardInterrupt that passes some C code for Ctrl-C, and then ends with
    the status of that.
    """


class Heard:
    """The signal that ended a command.

    Attributes:
        number: It; SIGINT unless another one came.
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
        """Note the signal, and end what is being done."""
        self.number = number
        raise Ended


def _may_handle() -> bool:
    """Tell whether Python lets this thread say what a signal does."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Let signals end the process on the spot: while modules load nothing has begun that would have to be put in order.

    The exception that a signal is otherwise may come up anywhere within the machinery of imports, which passes it on as
    another one, swallows it, or stands still afterwards.
    """
    if not _may_handle() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    # What the system does of itself, or ignores on purpose, stays.
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
    """Let TERM and HUP do what INT does for the length of a block; tells which came.

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
