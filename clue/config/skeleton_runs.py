"""Load runs of skeletons: the JSON that a skeleton prints with ``--json``, and a file's statements about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Annotated

from pydantic import Field

from clue.config.document import Path, format_value
from clue.config.forms import Form, Name
from clue.config.quantities import PositiveInt
from clue.config.reading import Reading
from clue.config.run_schema import MeasuredSkeletonForm
from clue.config.sources import read_file
from clue.errors import ConfigError, SkeletonError, TraceError
from clue.files import exists, is_file
from clue.predict.application import PLACEHOLDER
from clue.skeleton.prediction import Measured, SkeletonRun, predict

_Seconds = Annotated[float, Field(gt=0, strict=False)]
_Share = Annotated[float, Field(ge=0, le=1, strict=False)]


class SkeletonRunForm(Form):
    """The output of a skeleton's run."""

    skeleton: Name = Field(description="Which skeleton.")
    recording: Name | None = Field(None, description="From which recording it was made.")
    ranks: PositiveInt = Field(description="Number of ranks.")
    seconds: _Seconds = Field(description="Median time of its runs, seconds.")
    scale: _Seconds = Field(description="Ratio of the application's run time to the skeleton's, by construction.")
    application: _Seconds = Field(description="Run time of the application when it was recorded, seconds.")
    runs: list[_Seconds] = Field(default=[], description="Time of each run, seconds.")
    dedicated: _Seconds | None = Field(
        None, description="Time of the skeleton where the application was recorded, seconds."
    )
    dedicated_compute: _Share | None = Field(None, description="Share of that time in which ranks computed.")
    host: list[Name] = Field(default=[], description="Names of the computers on which it ran.")
    compute: _Share | None = Field(None, description="Share of the time in which ranks computed.")


def load_skeleton_run(path: FilePath | str) -> SkeletonRun:
    """Load the output of a skeleton.

    Raises:
        ConfigError: With all faults of the file.
    """
    form = Reading(read_file(FilePath(path))).checked(SkeletonRunForm)
    return SkeletonRun(
        str(path),
        form.skeleton,
        form.ranks,
        form.seconds,
        form.scale,
        form.application,
        tuple(form.runs),
        form.dedicated or 0.0,
        form.compute,
        form.dedicated_compute,
        form.recording or "",
    )


def measured_by(reading: Reading, path: Path, form: str | MeasuredSkeletonForm) -> Measured | None:
    """Return a skeleton's runs from the form at a path; ``None`` if they have faults."""
    if isinstance(form, str):
        return _predicted(reading, path, _run(reading, path, form))
    here = _run(reading, (*path, "here"), form.here)
    if form.dedicated is None:
        if form.application is not None:
            reading.fault((*path, "application"), "must be given with dedicated, got none", of_key=True)
        return _predicted(reading, path, here)
    dedicated = _run(reading, (*path, "dedicated"), form.dedicated)
    return None if dedicated is None else _predicted(reading, path, here, dedicated, form.application)


def check_recording(reading: Reading, path: Path, measured: Measured, traces: Iterable[str]) -> Measured:
    """Check that a skeleton was made from one of a program's recordings; add a fault if it was not.

    Recordings that do not exist are ignored. Of a skeleton that does not state its recording, the number of ranks is
    all that can be checked; the result then has a caveat.

    Args:
        reading: The document that names the skeleton's run.
        path: Where it names it.
        measured: The run.
        traces: Paths of the program's recordings; ``{ranks}`` stands for the number of ranks.
    """
    files = [FilePath(each.replace(PLACEHOLDER, str(measured.ranks))) for each in traces]
    try:
        known = [(file, *_recording(reading, file)) for file in files if exists(file)]
    except TraceError as error:
        for fault in error.faults:
            reading.fault(path, fault)
        return measured
    if not known:
        return measured
    file, ranks, recording = known[0]
    if measured.ranks != ranks:
        reading.fault(path, f"{measured.place}: ranks must be {ranks} as in {file}, got {measured.ranks}")
    elif not measured.recording:
        return replace(measured, is_unchecked=True)
    elif all(measured.recording != each for _, _, each in known):
        rule = f"recording must be {recording} of {file}, got {measured.recording}"
        reading.fault(path, f"{measured.place}: {rule}")
    return measured


def _recording(reading: Reading, file: FilePath) -> tuple[int, str]:
    """Return number of ranks and identity of a recording."""
    from clue.skeleton.construction import recording_of  # noqa: PLC0415 - only recordings need numpy
    from clue.trace import Trace  # noqa: PLC0415 - likewise

    def opened() -> tuple[int, str]:
        trace = Trace.open(file)
        return trace.ranks, recording_of(trace)

    return reading.made(("recording", file), None, opened)


def _predicted(
    reading: Reading,
    path: Path,
    here: SkeletonRun | None,
    dedicated: SkeletonRun | None = None,
    application: float | None = None,
) -> Measured | None:
    if here is None:
        return None
    try:
        return predict(here, dedicated, application)
    except SkeletonError as error:
        for fault in error.faults:
            reading.fault(path, fault)
        return None


def _run(reading: Reading, path: Path, name: str) -> SkeletonRun | None:
    file = reading.base / name
    if not is_file(file):
        reading.fault(path, f"must be a file that exists, got {format_value(name)}")
        return None
    try:
        return load_skeleton_run(file)
    except ConfigError as error:
        reading.faults.take(error)
        return None
