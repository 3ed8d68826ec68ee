"""The runs to which a model is fitted: from a table, or from recordings, as recorded or replayed on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from clue.caveats import Said, gathered
from clue.cli.terminal import progress
from clue.config import load_machine
from clue.config.run_tables import load_runs
from clue.errors import UsageError
from clue.extrapolation.pattern import RANKS, SIZE, Pattern
from clue.kernel import Candidate, compile_program, simulate
from clue.machine import Placement
from clue.models import Run, Use
from clue.models.cluster_fit import COMMUNICATE, COMPUTE, REGION
from clue.models.model import ANY
from clue.predict.modelling import uses_of
from clue.result import Result
from clue.trace import Trace
from clue.uncertainty import typical_recording
from clue.units import count_of


def is_pattern(text: str) -> bool:
    """Tell whether a text names recordings rather than a table."""
    return SIZE in text or RANKS in text


def read_by(text: str, machine: str | None) -> list[str | Path]:
    """Return the files and folders read for a table, a recording or a pattern, and for a machine."""
    pattern = Pattern(text)
    found = pattern.found() if is_pattern(text) and not pattern.fault() else {}
    return [text, *(path for paths in found.values() for path in paths), *([] if machine is None else [machine])]


def runs_of(text: str, machine: str | None) -> tuple[tuple[Run, ...], list[str]]:
    """Return the runs of a table, or of the recordings that a pattern names; and what a reader must know of them.

    Args:
        text: A path, or a pattern such as ``cg-{size}-{ranks}.clue``.
        machine: The machine on which recordings are replayed; ``None``: use their recorded times.

    Raises:
        ClueError: If they have faults.
    """
    if not is_pattern(text):
        warnings: list[str] = []
        return load_runs(Path(text), warnings.append), warnings
    where = None if machine is None else load_machine(machine)
    pattern = Pattern(text)
    pattern.check()
    found = pattern.found()
    if not found:
        raise UsageError(f"{text}: recordings must exist, got none")
    runs: list[Run] = []
    said: list[Said] = []
    with progress() as tell:
        for i, ((size, ranks), paths) in enumerate(found.items()):
            tell(f"reading {text}", i, len(found))
            traces = [_opened(path, ranks) for path in paths]
            if where is None:
                runs += [_recorded(size, trace) for trace in traces]
            else:
                trace = typical_recording(traces)
                candidate = Candidate(where, Placement.block(where, trace.ranks))
                result = simulate(compile_program(trace), where, candidate.placement)
                said += [Said(each, where.name, trace.name) for each in result.warnings]
                runs.append(_replayed(size, candidate, result))
    return tuple(runs), list(gathered(said, {where.name} if where else (), "machines"))


def _opened(path: Path, ranks: int) -> Trace:
    trace = Trace.open(path)
    if trace.ranks != ranks:
        raise UsageError(f"{path}: trace must have {count_of(ranks)}, as its name says, got {trace.ranks}")
    return trace


def _recorded(size: int, trace: Trace) -> Run:
    """Return a recording as a run: its elapsed time, and the mean computation of all ranks as a part."""
    seconds = trace.elapsed
    spent = np.bincount(trace.ops.region, weights=trace.bursts, minlength=len(trace.head.regions)) * 1e-9
    parts = _parts(seconds, dict(zip(trace.head.regions, spent.tolist(), strict=True)), trace.ranks)
    return Run(size, {ANY: Use(trace.ranks)}, seconds, parts)


def _replayed(size: int, candidate: Candidate, result: Result) -> Run:
    parts = _parts(result.makespan, result.compute_by_region, len(result.ranks))
    return Run(size, uses_of(candidate), result.makespan, parts)


def _parts(seconds: float, by_region: Mapping[str, float], ranks: int) -> dict[str, float]:
    """Return the parts of a time: mean computation over ranks, in total and in named regions, and the rest."""
    compute = min(sum(by_region.values()) / ranks, seconds)
    regions = {f"{REGION}{name}": each / ranks for name, each in by_region.items() if name and each}
    return {COMPUTE: compute, COMMUNICATE: seconds - compute, **regions}
