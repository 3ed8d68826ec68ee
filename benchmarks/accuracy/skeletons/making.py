"""Make skeletons of recordings with the command that a user would run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.accuracy.skeletons.figures import SkeletonFacts
from benchmarks.page import ROOT
from benchmarks.processes import FailedRunError, run
from benchmarks.speed.workloads import halo
from clue.errors import RecordError

#: A synthetic trace of about 10^6 ops, and the scale of its skeleton.
_RANKS, _MESSAGES, _SCALE = 16, 500_000, 100.0
#: Languages of skeletons, with the suffix of their files.
SUFFIXES = {"c": ".c", "python": ".py"}


def made(trace: Path, application: float, seconds: float, target: Path) -> dict[str, Any]:
    """Make the skeleton of a recording; return facts about it as in :class:`SkeletonFacts`.

    The scale is relative to the application's time without recording: processors this slow multiply the cost of
    recording, too.

    Args:
        trace: The recording.
        application: Time of the application on the dedicated cluster, seconds.
        seconds: Requested length of its skeleton.
        target: File of the skeleton; the suffix determines the language. A program in C is compiled.

    Raises:
        RecordError: If the skeleton cannot be made.
    """
    said = _made(trace, target, "--scale", f"{application / seconds:.6g}")
    if target.suffix == SUFFIXES["c"]:
        _compile(target)
    return said | {"seconds": seconds, "shortest": said["shortest"] * application / said["application"]}


def program_of(skeleton: Path) -> list[str]:
    """Return the command that each rank of a skeleton runs."""
    return [str(_compiled(skeleton))] if skeleton.suffix == SUFFIXES["c"] else [sys.executable, str(skeleton)]


def _compiled(source: Path) -> Path:
    return source.with_suffix(".program")


def _compile(source: Path) -> None:
    # If mpi4py's MPI came from PyPI, its compiler is beside the interpreter.
    compiler = shutil.which("mpicc", path=str(Path(sys.executable).parent)) or shutil.which("mpicc")
    if compiler is None:
        raise RecordError(f"{source}: mpicc must be there to compile it, got none: take --language python")
    words = [compiler, "-O2", str(source), "-o", str(_compiled(source))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RecordError(f"{source}: must compile, got {done.stderr.strip()}")


def facts(said: dict[str, Any]) -> SkeletonFacts:
    """Return the facts from a stored document."""
    return SkeletonFacts(**{name: said[name] for name in SkeletonFacts.__dataclass_fields__})


def making_of_a_million(folder: Path) -> dict[str, float]:
    """Make the skeleton of a trace of about 10^6 ops; return their number, and the time and memory of the command.

    Raises:
        RecordError: If the skeleton cannot be made.
    """
    program, trace = halo(_RANKS, _MESSAGES), folder / "million.clue"
    program.trace.save(trace)
    said = _made(trace, folder / "million.py", "--scale", f"{_SCALE:g}")
    return {"ops": program.ops, "seconds": said["making"], "wall": said["wall"]}


def _made(trace: Path, target: Path, *length: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "clue", "skeleton", str(trace.resolve()), *length, "-o", str(target.resolve())]
    try:
        used = run([*words, "--json", "-q"], ROOT)
    except FailedRunError as error:
        raise RecordError(str(error)) from None
    said = document(used.output)
    dominant = said.get("dominant") or {}
    return {
        "scale": said["scale"], "application": said["application"],
        "threshold": said["threshold"], "ratio": said["ratio"], "good": said["good"],
        "shortest": said["shortest"], "dominant": dominant.get("name", ""), "making": used.seconds, "wall": used.wall,
        "warnings": said.get("warnings", []),
    }  # fmt: skip


def document(output: str) -> dict[str, Any]:
    """Return the JSON document that a command printed; warnings may be printed before and after it.

    Raises:
        RecordError: If there is no document.
    """
    for at, line in enumerate(lines := output.splitlines(keepends=True)):
        if line.startswith("{"):
            try:
                found, _ = json.JSONDecoder().raw_decode("".join(lines[at:]))
            except ValueError:
                continue
            if isinstance(found, dict):
                return found
    raise RecordError(f"program must print a JSON document, got {output[-2000:]}")
