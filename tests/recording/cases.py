"""Fast recordings: a stand-in for mpiexec and the virtual layer."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from clue.recording import Launch, Request
from clue.trace import PROC_NULL, Trace, TraceBuilder
from clue.trace.place import IMPORTS, numbered, remove_further


@dataclass
class Recorder:
    """Makes traces of one burst per rank, each time a different one, and lists what it recorded.

    Attributes:
        wall: Wall-clock time of each rank, seconds, by program.
        delayed: Time for which others delay each rank in the first, second, … recording, seconds.
        modules: Imported modules: path and digest.
        packages: Imported packages that are installed: name and path.
        computing: Burst of each rank in the first recording, seconds.
        longer: Difference between the bursts of successive recordings, seconds.
        more_calls: Whether each recording makes one call more than the one before.
        meanwhile: A function that is called during each recording.
        recorded: The recorded programs, in order.

    Attributes:
        wall: What each rank takes, seconds, by program.
        delayed: How long others delay each rank in the first, second, … recording, seconds.
        modules: What is imported: path and digest.
        packages: The same of what is installed.
        computing: What the bursts of a rank take in the first recording, seconds.
        longer: How much longer each recording's bursts are than those of the one before, seconds.
        more_calls: Whether each recording makes a call more than the one before.
        meanwhile: What happens while it records.
        recorded: The programs that were recorded, in order.
    """

    wall: Mapping[str, float] = field(default_factory=dict)
    delayed: tuple[float, ...] = ()
    modules: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    computing: float = 3.0
    longer: float = 0.01
    more_calls: bool = False
    meanwhile: Callable[[], object] = lambda: None
    recorded: list[str] = field(default_factory=list)

    def __call__(
        self,
        program: Path,
        arguments: tuple[str, ...],
        ranks: int,
        target: Path,
        *,
        first: bool = True,
        **_options: object,
    ) -> Trace:
        """Replace :func:`clue.recording.record` in tests; as there, repeats of an earlier trace are removed."""
        count = len(self.recorded)
        self.recorded.append(" ".join((program.name, *arguments, str(ranks))))
        self.meanwhile()
        builder = TraceBuilder(ranks, program=str(program))
        for rank in range(ranks):
            builder[rank].compute(self.computing + self.longer * count)
            for _ in range(count if self.more_calls else 0):
                builder[rank].send(PROC_NULL, 0)
        trace = builder.build()
        delayed = dict(zip(itertools.count(), self.delayed, strict=False)).get(count, 0.0)
        heads = [
            replace(head, wall=self.wall.get(program.name, 3.0), delayed=delayed) for head in trace.head.rank_heads
        ]
        replace(trace, head=replace(trace.head, rank_heads=tuple(heads))).save(target)
        (target / IMPORTS).write_text(json.dumps({"modules": self.modules, "packages": self.packages}))
        if first:
            remove_further(1, partial(numbered, target))
        return Trace.open(target)


def request(program: Path, *arguments: str, ranks: int = 1, inputs: tuple[Path, ...] = ()) -> Request:
    """Return a request for recordings of a program."""
    return Request(Launch(program, arguments, ranks), inputs)


@contextmanager
def standard_input_from(descriptor: int) -> Iterator[None]:
    """Let this process have another standard input."""
    own = os.dup(0)
    os.dup2(descriptor, 0)
    try:
        yield
    finally:
        os.dup2(own, 0)
        os.close(own)
