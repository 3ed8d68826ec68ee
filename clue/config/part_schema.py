"""The form of a part of the hardware library, key by key: every figure with its source and its date.

Pydantic models only, as in :mod:`clue.config.schema`; :mod:`clue.config.parts` checks rules over several keys.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from clue.config.forms import Form, Name, shape
from clue.config.quantities import (
    Bandwidth,
    Date,
    Frequency,
    Number,
    PositiveInt,
    Power,
    Price,
    Speed,
    Time,
    TransferRate,
)
from clue.config.schema import BetweenNodesForm, Notes

Benchmark = Literal["stream_triad", "spec_fp_rate", "spec_int_rate", "spec_fp_one", "spec_int_one", "hpl", "dgemm"]


class FigureForm(Form):
    """A figure with its source and date."""

    how: Literal["measured", "published"] = Field(
        "published", description="measured by the source, or published by the maker or the benchmark's organisation."
    )
    source: Name = Field(description="Where the figure is published.")
    date: Date = Field(description="Date of publication or retrieval, as 2026-11-02.")
    note: str = Field("", description="What a reader should know.")


class BenchmarkForm(FigureForm):
    """The result of a benchmark on some processors together."""

    sockets: PositiveInt = Field(1, description="Number of processors.")
    cores: PositiveInt | None = Field(None, description="Number of their cores in use; default: all.")


class ScoreForm(BenchmarkForm):
    """A score."""

    value: Annotated[Number, Field(gt=0)] = Field(description="The benchmark's score.")


class OneCopyForm(FigureForm):
    """A score of one copy, while all other cores are idle."""

    value: Annotated[Number, Field(gt=0)] = Field(description="The benchmark's score.")


class BandwidthBenchmarkForm(BenchmarkForm):
    """A measured bandwidth."""

    value: Bandwidth = Field(description="Bytes per second, as the benchmark counts them.")


class SpeedBenchmarkForm(BenchmarkForm):
    """A measured speed."""

    value: Speed = Field(description="Operations per second.")


class BandwidthFigureForm(FigureForm):
    """A bandwidth."""

    value: Bandwidth = Field(description="Bandwidth between two nodes.")


class TimeFigureForm(FigureForm):
    """A time."""

    value: Time = Field(description="One-way time between MPI ranks on two nodes.")


class ClockForm(Form):
    """Clock frequencies of a core."""

    base: Frequency | None = Field(None, description="Base clock, which all cores sustain.")
    boost: Frequency | None = Field(None, description="Largest clock of one core.")


class MemoryChannelsForm(Form):
    """How memory is attached to a processor."""

    channels: PositiveInt = Field(description="Number of channels; each moves 8 bytes per transfer.")
    rate: TransferRate = Field(description="Transfers per second of each channel.")


class BenchmarksForm(Form):
    """Results of benchmarks on a processor."""

    stream_triad: BandwidthBenchmarkForm | None = Field(None, description="Memory bandwidth by STREAM triad.")
    spec_fp_rate: ScoreForm | None = Field(None, description="SPECrate 2017 floating point, base, all cores busy.")
    spec_int_rate: ScoreForm | None = Field(None, description="SPECrate 2017 integer, base, all cores busy.")
    spec_fp_one: OneCopyForm | None = Field(None, description="SPECrate 2017 floating point, base, of one copy.")
    spec_int_one: OneCopyForm | None = Field(None, description="SPECrate 2017 integer, base, of one copy.")
    hpl: SpeedBenchmarkForm | None = Field(None, description="Speed of HPL.")
    dgemm: SpeedBenchmarkForm | None = Field(None, description="Speed of a matrix product.")


class PartFileForm(Form):
    """Keys common to all parts."""

    name: Name = Field(description="Product name.")
    source: Name = Field(description="Source of its specifications.")
    date: Date = Field(description="Date of publication or retrieval, as 2026-11-02.")
    notes: Notes = Field(default=[], description="What a reader should know.")


class ProcessorPartForm(PartFileForm):
    """A processor as it is sold: all cores of one socket."""

    kind: Literal["processor"] = Field(description="Kind of part: a processor.")
    names: list[Name] = Field(default=[], description="Other names that operating systems and traces have for it.")
    cores: PositiveInt = Field(description="How many.")
    clock: ClockForm = Field(
        default_factory=lambda: ClockForm.model_validate({}), description="Clock frequencies of its cores."
    )
    memory: MemoryChannelsForm | None = Field(None, description="Its memory channels; default: unknown.")
    flops_per_cycle: PositiveInt | None = Field(
        None, description="Double-precision operations of a core per cycle; default: unknown."
    )
    power: Power | None = Field(None, description="Thermal design power; default: unknown.")
    price: Price | None = Field(None, description="Its maker's list price; default: not published.")
    figures: BenchmarksForm = Field(
        default_factory=lambda: BenchmarksForm.model_validate({}), description="Results of benchmarks."
    )
    missing: dict[Benchmark, Name] = Field(default={}, description="The reason for each benchmark without a figure.")


class NetworkPartForm(PartFileForm):
    """A network: how messages travel between two nodes."""

    kind: Literal["network"] = Field(description="Kind of part: a network.")
    rate: Bandwidth = Field(description="Nominal rate of a port, as its name states it.")
    latency: TimeFigureForm | None = Field(None, description="Latency of an empty message.")
    bandwidth: BandwidthFigureForm | None = Field(None, description="Bandwidth of large messages.")
    between_nodes: BetweenNodesForm | None = Field(None, description="The link, from a published curve.")
    machine: Name | None = Field(None, description="Instead: a shipped machine whose link between nodes it has.")


class SwitchPartForm(PartFileForm):
    """A switch."""

    kind: Literal["switch"] = Field(description="Kind of part: a switch.")
    ports: PositiveInt = Field(description="How many.")
    rate: Bandwidth = Field(description="Rate of a port.")
    rack_units: Number = Field(1.0, description="Its height in rack units.")
    power: Power | None = Field(None, description="Typical power.")
    price: Price | None = Field(None, description="As listed.")
    missing: dict[Literal["power", "price"], Name] = Field(
        default={}, description="The reason for each figure that is unknown."
    )


def _kind(value: object) -> str:
    return str(value.get("kind")) if shape(value) == "<table>" and isinstance(value, dict) else ""


#: Form of each kind of part.
PART_FORMS: dict[str, type[ProcessorPartForm | NetworkPartForm | SwitchPartForm]] = {
    "processor": ProcessorPartForm,
    "network": NetworkPartForm,
    "switch": SwitchPartForm,
}
AnyPartForm = Annotated[
    Annotated[ProcessorPartForm, Tag("processor")]
    | Annotated[NetworkPartForm, Tag("network")]
    | Annotated[SwitchPartForm, Tag("switch")],
    Discriminator(_kind),
]
