"""The programs of a comparison, ready to replay at every number of ranks that an option has processors for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from clue.errors import UsageError
from clue.kernel import Program as Compiled
from clue.kernel import compile_program
from clue.progress import Progress
from clue.purchase.scenario import PLACEHOLDER, Kernel, Option, Program, Scenario, Workload
from clue.trace import Trace
from clue.uncertainty import BurstNoise, noise_of_recordings, typical_recording
from clue.units import count_of

#: Gives the trace of a program at a number of ranks; recording it, if need be, is the caller's business.
TraceSource = Callable[[Program, int], Trace]

#: A program at a number of ranks.
Key = tuple[Program, int]
#: Names the traces of programs, each at a number of ranks; it may know them all before it makes those that are missing.
Recorder = Callable[[Sequence[Key]], Sequence[Program]]


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A program ready to replay at one number of ranks.

    Attributes:
        program: What to replay.
        memory: Peak memory of each rank when recorded, bytes.
        noise: How much its recordings differ, if there are several.
    """

    program: Compiled
    memory: tuple[float, ...]
    noise: BurstNoise | None = None


Library = Mapping[Key, Recorded]


def as_named(wanted: Sequence[Key]) -> Sequence[Program]:
    """Take the traces that programs name themselves."""
    return [program for program, _ in wanted]


def recording(program: Program, ranks: int, traces: TraceSource) -> tuple[Trace, BurstNoise | None]:
    """Get the typical recording of a program, and how much its recordings differ if there are several.

    Raises:
        UsageError: If recordings are not for this number of ranks.
        TraceError: If one is unusable.
    """
    paths = [program.trace, *program.repeats]
    found = [traces(replace(program, trace=path, repeats=()), ranks) for path in paths]
    for trace in found:
        if trace.ranks != ranks:
            raise UsageError(
                f"{trace.name}: trace must have {count_of(ranks)}, got {trace.ranks}. Ask for ranks: {trace.ranks}, as "
                f"a recording serves one number of ranks; or name traces with {PLACEHOLDER} and {record_on(ranks)}"
            )
    return typical_recording(found), noise_of_recordings(found)


def kernel_name(workload: Workload, kernel: Kernel) -> str:
    """Return what a reader calls a program: its workload, and its own name where there are several."""
    return workload.name if len(workload.kernels) == 1 else f"{workload.name}, {kernel.name}"


def record_on(ranks: int, trace: str = "") -> str:
    """Return the advice to record a program on so many ranks."""
    output = f" -o {trace}" if trace else ""
    return (
        f"record the program on {count_of(ranks)} (clue record -n {ranks}{output}): this computer will do, more ranks "
        "than cores are fine as long as memory lasts"
    )


def record_all(
    scenario: Scenario,
    options: Sequence[Option],
    traces: TraceSource,
    progress: Progress,
    recorder: Recorder = as_named,
) -> Library:
    """Get the traces that any option has processors for.

    Raises:
        UsageError: If a trace is for another number of ranks.
        TraceError: If a trace is unusable.
    """
    processors = max((option.machine.processors for option in options), default=0)
    wanted = {
        (kernel.program, ranks): f"{kernel_name(workload, kernel)} on {count_of(ranks)}"
        for workload in scenario.workloads
        for kernel in workload.kernels
        for ranks in workload.ranks
        if ranks <= processors * workload.ranks_per_processor
    }
    library = {}
    recorded = recorder(list(wanted))
    for i, ((key, what), program) in enumerate(zip(wanted.items(), recorded, strict=True)):
        progress(f"reading {what}", i, len(wanted))
        library[key] = _recorded(*recording(program, key[1], traces))
    return library


def _recorded(trace: Trace, noise: BurstNoise | None) -> Recorded:
    program = compile_program(trace)
    # A split is tried only where the memory suffices, so that its simulation need not ask.
    return Recorded(replace(program, memory=()), program.memory, noise)


def memory_needed(workload: Workload, ranks: int, library: Library) -> list[float]:
    """Return bytes needed by each rank: as stated, or the largest peak measured over the kernels."""
    if ranks in workload.memory:
        return [workload.memory[ranks]] * ranks
    peaks = [library[k.program, ranks].memory for k in workload.kernels if (k.program, ranks) in library]
    return [max(of_rank) for of_rank in zip(*peaks, strict=True)]
