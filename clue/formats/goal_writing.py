"""Writing GOAL schedules, the input of LogGOPSim and ATLAHS: operations of each rank and their dependencies.

The text format is that of LogGOPSim's ``txt2bin``. Computation is in nanoseconds. Operations after a nonblocking one
require only its start (``irequires``); operations after a wait require the awaited operation. If two waits follow each
other, ``calc 0`` separates them, so that a reader finds both.

Source: Hoefler, Siebert, Lumsdaine 2009, Group Operation Assembly Language, doi:10.1109/ICPP.2009.70.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from clue.formats.plain import Branch, Compute, Plain, Sleep, Step, Transfer, Wait, plain
from clue.formats.remarks import Remarks, Written
from clue.trace import Trace


def write_goal(
    trace: Trace,
    name: str,
    *,
    lower: bool = True,  # noqa: ARG001 - the same signature as for other formats
    library: str = "mpich",
) -> Written:
    """Write a trace as a GOAL schedule.

    Args:
        trace: The trace.
        name: File name of the schedule.
        lower: Whether to write all collectives as messages; a schedule always does.
        library: MPI library whose default algorithms lower the collectives.

    Raises:
        UsageError: If a schedule cannot represent the program.
    """
    remarks = Remarks()
    program = plain(trace, library, remarks)
    lines = [f"num_ranks {len(program.steps)}"]
    for rank, steps in enumerate(program.steps):
        lines += ["", f"rank {rank} {{", *_Schedule(program, rank, remarks).lines(steps), "}"]
    return Written({name: "\n".join(lines) + "\n"}, remarks.lines)


@dataclass
class _Front:
    """Dependencies of the next operation.

    Attributes:
        completed: Operations that must have ended.
        started: The last operation that must have started, unless it has already ended.
        implied: Whether that operation already requires ``completed``.
        joined: Whether a wait or a blocking message created this front, and no operation has been added since.
    """

    completed: tuple[int, ...] = ()
    started: int | None = None
    implied: bool = False
    joined: bool = False


class _Schedule:
    """Translates the steps of one rank to operations, numbered from 1."""

    def __init__(self, program: Plain, rank: int, remarks: Remarks) -> None:
        self._program, self._rank, self._remarks = program, rank, remarks
        self._count = 0
        #: The last operation of each open request, and the requests that began after the front was created.
        self._ends: dict[int, tuple[int, ...]] = {}
        self._recent: set[int] = set()

    def lines(self, steps: Sequence[Step]) -> list[str]:
        """Return the rank's operations and dependencies."""
        front = _Front()
        lines = [line for step in steps for line in self._step(step, front)]
        self._remarks.count(
            "request is never waited for; in a schedule the rank ends after it|"
            "requests are never waited for; in a schedule the rank ends after them",
            times=len(self._ends),
        )
        return lines

    def _step(self, step: Step, front: _Front) -> Iterator[str]:
        if isinstance(step, Compute):
            yield from self._blocking(f"calc {step.nanoseconds}", front)
        elif isinstance(step, Transfer):
            yield from self._message(step, front)
        elif isinstance(step, Wait):
            yield from self._wait(step.requests, front)
        elif isinstance(step, Branch):
            yield from self._branch(step, front)
        elif isinstance(step, Sleep):
            self._remarks.count("sleep is|sleeps are", "left out")
        else:
            self._remarks.count(
                "Test or probe that found nothing is|Tests or probes that found nothing are", "left out"
            )

    def _message(self, message: Transfer, front: _Front) -> Iterator[str]:
        nbytes = self._program.nbytes(self._rank, message)
        verb, preposition = ("send", "to") if message.sends else ("recv", "from")
        text = f"{verb} {nbytes}b {preposition} {message.peer} tag {message.tag}"
        if message.blocking:
            yield from self._blocking(text, front)
            front.joined = True
            return
        yield from self._operation(text, front)
        front.started, front.implied, front.joined = self._count, True, False
        self._ends[message.request] = (self._count,)
        self._recent.add(message.request)

    def _blocking(self, text: str, front: _Front) -> Iterator[str]:
        """Yield an operation that all following operations require."""
        yield from self._operation(text, front)
        front.completed, front.started, front.implied, front.joined = (self._count,), None, False, False
        self._recent.clear()

    def _wait(self, requests: Iterable[int], front: _Front) -> Iterator[str]:
        if front.joined:
            yield from self._blocking("calc 0", front)
        known = [request for request in requests if request in self._ends]
        ends = tuple(end for request in known for end in self._ends.pop(request))
        # Operations that began after the front was created require it.
        implied = any(request in self._recent for request in known)
        front.completed = ends if implied else (*front.completed, *ends)
        if front.started in ends:
            front.started = None
        front.implied, front.joined = False, bool(ends)
        self._recent.clear()

    def _branch(self, branch: Branch, front: _Front) -> Iterator[str]:
        """Yield the operations that run concurrently with the rank."""
        beside = replace(front, joined=False)
        recent, self._recent = self._recent, set()
        for step in branch.steps:
            yield from self._step(step, beside)
        self._recent = recent
        self._ends[branch.request] = beside.completed if branch.steps else ()

    def _operation(self, text: str, front: _Front) -> Iterator[str]:
        self._count += 1
        label = f"l{self._count}"
        yield f"{label}: {text}"
        if front.started is not None:
            yield f"{label} irequires l{front.started}"
        if not front.implied:
            yield from (f"{label} requires l{end}" for end in front.completed)
