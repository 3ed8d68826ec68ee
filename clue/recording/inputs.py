"""The standard input of a program that is recorded several times: each recording reads all of it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias

from clue.children import running, standard_input

#: A standard input for one recording: a file descriptor as for :class:`subprocess.Popen`, or ``None`` for this
#: process's own.
Input: TypeAlias = AbstractContextManager[int | None]


@contextmanager
def repeatable_input(times: int) -> Iterator[Callable[[], Input]]:
    """Yield a function that returns the standard input for the next recording, with all that the first one could read.

    A file is read from the same place again. What comes through a pipe is kept while the first recording reads it: it
    need not have ended by then, as recordings of programs that read nothing do not wait for it.

    Args:
        times: Number of recordings.
    """
    own = standard_input()
    kind = 0 if own is not None or times == 1 else os.fstat(0).st_mode
    if stat.S_ISREG(kind):
        begin = os.lseek(0, 0, os.SEEK_CUR)
        yield lambda: _reread(begin)
    elif stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        with tempfile.TemporaryDirectory(prefix="clue-input-") as folder:
            kept = Path(folder) / "input"
            yield lambda: _read(kept) if kept.exists() else _keeping(kept)
    else:
        yield lambda: nullcontext(own)


@contextmanager
def _reread(begin: int) -> Iterator[int | None]:
    """Open the file anew, unless this user may not: recordings side by side would share one position in it."""
    try:
        own = os.open("/dev/fd/0", os.O_RDONLY)
    except OSError:
        os.lseek(0, begin, os.SEEK_SET)
        yield None
        return
    try:
        os.lseek(own, begin, os.SEEK_SET)
        yield own
    finally:
        os.close(own)


@contextmanager
def _keeping(kept: Path) -> Iterator[int]:
    with ExitStack() as stack:
        file = stack.enter_context(kept.open("wb"))
        reader, writer = os.pipe()
        stack.callback(os.close, reader)
        with os.fdopen(writer, "wb"):
            # tee writes to its standard output first: what the program has read is kept, even if it ends at once.
            stack.enter_context(running(["tee", f"/dev/fd/{writer}"], stdout=file, pass_fds=(writer,)))
        yield reader


@contextmanager
def _read(kept: Path) -> Iterator[int]:
    with kept.open("rb") as file:
        yield file.fileno()
