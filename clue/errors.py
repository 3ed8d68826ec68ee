"""The exception tree of clue: one class per mistake, one line per message.

::

    ClueError
    ├── UsageError          a command or an argument that makes no sense            exit status 2
    ├── ConfigError         YAML that breaks a rule; carries every fault found      exit status 2
    ├── TraceError          a trace that is missing, damaged or incomplete          exit status 2
    ├── ModelError          measured times from which nothing can be fitted         exit status 2
    ├── StoreError          a store of measured routines that cannot be read        exit status 2
    ├── SkeletonError       a program of which no skeleton can be made              exit status 2
    ├── CacheError          a cache that others could change, or that is not usable exit status 1
    ├── RecordError         a program that could not be recorded                    exit status 1
    ├── LiveError           a program that failed while it ran in virtual time      exit status 1
    ├── ForecastError       a routine, host or memory that a forecast needs fails   exit status 1
    ├── ServeError          an address that cannot be listened at                   exit status 1
    ├── OutputError         a file that could not be written                        exit status 1
    └── ReplayError         a simulation that cannot go on                          exit status 1
        └── DeadlockError   every unfinished rank waits                             exit status 3

Messages have the form *place: subject must rule, got value*. Only :mod:`clue.cli` turns an error into text and
an exit status.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

#: Exit status by which the virtual layer reports that the program never called MPI; and that it cannot record, after it
#: has said why.
NEVER_CALLED_MPI, CANNOT_RECORD = 71, 72


class ClueError(Exception):
    """Any error that clue reports without a traceback.

    Args:
        faults: The fault, one line; or all faults of a file, one line each.
    """

    exit_status = 1

    def __init__(self, faults: Sequence[str] | str) -> None:
        self.faults: tuple[str, ...] = (faults,) if isinstance(faults, str) else tuple(faults)
        super().__init__("\n".join(self.faults))


class UsageError(ClueError):
    """Report a command or an argument that makes no sense."""

    exit_status = 2


@contextmanager
def written_at(place: str) -> Iterator[None]:
    """Prefix usage errors with the place in a file that caused them; add nothing if the place is unknown."""
    try:
        yield
    except UsageError as error:
        if not place:
            raise
        raise UsageError([f"{place}: {fault}" for fault in error.faults]) from None


def no_such_program(word: str) -> UsageError:
    """Return the error for a command line that names no program, perhaps the interpreter, as for other launchers."""
    interpreter = word.rpartition("/")[2].startswith("python")
    return UsageError(
        f"{word}: program must be a Python script, got the interpreter, which is started anyway: leave it out"
        if interpreter
        else f"{word}: program must exist, got no such file"
    )


class ConfigError(ClueError):
    """Report all faults of an input file, as ``FILE:LINE:COLUMN: PATH subject must rule, got value``."""

    exit_status = 2


class TraceError(ClueError):
    """Report a trace that is missing, of another version, damaged or incomplete."""

    exit_status = 2


class ModelError(ClueError):
    """Report measured times from which no model can be fitted, or a question that a model cannot answer."""

    exit_status = 2


class StoreError(ClueError):
    """Report a store of measured routines that is damaged, of another version, or not a store."""

    exit_status = 2


class ForecastError(ClueError):
    """Report why a forecast is impossible: a routine that fails, a host that does not answer, too little memory."""


class SkeletonError(ClueError):
    """Report why no skeleton of a program can be made, or an impossible length."""

    exit_status = 2


class CacheError(ClueError):
    """Report a cache that another user could change, or that cannot be written."""


class RecordError(ClueError):
    """Report a program that could not be recorded.

    Args:
        faults: The faults, one line each.
        refused: Whether the program ended by itself, with an exit status of its own, before it did anything: it does
            not accept the size, the number of ranks or another argument.
    """

    def __init__(self, faults: Sequence[str] | str, refused: bool = False) -> None:
        super().__init__(faults)
        self.refused = refused


class LiveError(ClueError):
    """Report a program that failed while it ran in virtual time, with the rank.

    Args:
        message: What happened, one line.
        rank: The rank it happened to; ``None`` if it was not a single rank.
        status: The program's own exit status, or ``None``.
    """

    def __init__(self, message: str, rank: int | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.rank = rank
        self.status = status


class ServeError(ClueError):
    """Report an address that cannot be listened at, or a server that was ended meanwhile."""


class OutputError(ClueError):
    """Report a file that could not be written, for instance on a full disk; no partial file is left."""


class ReplayError(ClueError):
    """Report a simulation that cannot go on."""


@dataclass(frozen=True)
class Blocked:
    """What an unfinished rank waits for in a deadlock.

    Attributes:
        rank: Rank in the trace.
        time: Its virtual time in seconds.
        waits_for: The operation and its partner, in words.
    """

    rank: int
    time: float
    waits_for: str


class DeadlockError(ReplayError):
    """Report that every unfinished rank waits for something that cannot happen.

    Args:
        blocked: The unfinished ranks, in rank order.
        notes: Notes on the recording, which may be the reason.
    """

    exit_status = 3

    def __init__(self, blocked: Sequence[Blocked], notes: Sequence[str] = ()) -> None:
        self.blocked, self.notes = tuple(blocked), tuple(notes)
        shown = [f"rank {b.rank} at {b.time:.9g} s waits for {b.waits_for}" for b in self.blocked[:16]]
        if len(self.blocked) > len(shown):
            shown.append(f"and {len(self.blocked) - len(shown)} more ranks")
        shown += [f"note on its recording: {note}" for note in self.notes]
        super().__init__("the simulated program deadlocks: " + "; ".join(shown))

    def __reduce__(self) -> tuple[type[DeadlockError], tuple[tuple[Blocked, ...], tuple[str, ...]]]:
        return DeadlockError, (self.blocked, self.notes)  # so that it can come from another process
