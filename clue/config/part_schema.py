"""The form of a part of the hardware library, key by key: every figure with its source and its date.

Pydantic models only, as in :mod:`clue.config.schema`; what several keys say together is checked in
:mod:`clue.config.parts`.
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
    """A figure with where it comes from."""

    how: Literal["measured", "published"] = Field(
        "published", description="measured by the source, or published by the maker or the benchmark's organisation."
    )
    source: Name = Field(description="Where it stands.")
    date: Date = Field(description="When it was published, or read, as 2026-11-02.")
    note: str = Field("", description="What a reader should know.")


class BenchmarkForm(FigureForm):
    """What a benchmark said of some processors together."""

    sockets: PositiveInt = Field(1, description="Of how many processors.")
    cores: PositiveInt | None = Field(None, description="Of how many of their cores; left out: all.")


class ScoreForm(BenchmarkForm):
    """A score."""

    value: Annotated[Number, Field(gt=0)] = Field(description="As the benchmark has it.")


class OneCopyForm(FigureForm):
    """A score of one copy, while all other cores are idle."""

    value: Annotated[Number, Field(gt=0)] = Field(description="As the benchmark has it.")


class BandwidthBenchmarkForm(BenchmarkForm):
    """A measured bandwidth."""

    value: Bandwidth = Field(description="Bytes per second, as the benchmark counts them.")


class SpeedBenchmarkForm(BenchmarkForm):
    """A measured speed."""

    value: Speed = Field(description="Operations per second.")


class BandwidthFigureForm(FigureForm):
    """A bandwidth."""

    value: Bandwidth = Field(description="Between two nodes.")


class TimeFigureForm(FigureForm):
    """A time."""

    value: Time = Field(description="One way, between MPI ranks of two nodes.")


class ClockForm(Form):
    """Clocks of a core."""

    base: Frequency | None = Field(None, description="That all cores keep.")
    boost: Frequency | None = Field(None, description="At most, of one core.")


class MemoryChannelsForm(Form):
    """How memory is attached to a processor."""

    channels: PositiveInt = Field(description="How many; each moves 8 bytes by a transfer.")
    rate: TransferRate = Field(description="Transfers per second of each.")


class BenchmarksForm(Form):
    """What benchmarks said of a processor."""

    stream_triad: BandwidthBenchmarkForm | None = Field(None, description="Memory bandwidth by STREAM triad.")
    spec_fp_rate: ScoreForm | None = Field(None, description="SPECrate 2017 floating point, base, all cores busy.")
    spec_int_rate: ScoreForm | None = Field(None, description="SPECrate 2017 integer, base, all cores busy.")
    spec_fp_one: OneCopyForm | None = Field(None, description="SPECrate 2017 floating point, base, of one copy.")
    spec_int_one: OneCopyForm | None = Field(None, description="SPECrate 2017 integer, base, of one copy.")
    hpl: SpeedBenchmarkForm | None = Field(None, description="Speed of HPL.")
    dgemm: SpeedBenchmarkForm | None = Field(None, description="Speed of a matrix product.")


class PartFileForm(Form):
    """What all parts say."""

    name: Name = Field(description="What it is called.")
    source: Name = Field(description="Where its specifications come from.")
    date: Date = Field(description="When they were published, or read, as 2026-11-02.")
    notes: Notes = Field(default=[], description="What a reader should know.")


class ProcessorPartForm(PartFileForm):
    """A processor as it is sold: all cores of one socket."""

    kind: Literal["processor"] = Field(description="That it is a processor.")
    names: list[Name] = Field(default=[], description="How operating systems and traces name it besides.")
    cores: PositiveInt = Field(description="How many.")
    clock: ClockForm = Field(default_factory=lambda: ClockForm.model_validate({}), description="Clocks of its cores.")
    memory: MemoryChannelsForm | None = Field(None, description="Its channels of memory; left out: not known.")
    flops_per_cycle: PositiveInt | None = Field(
        None, description="Operations in double precision that a core does in a cycle; left out: not known."
    )
    power: Power | None = Field(None, description="Thermal design power; left out: not known.")
    price: Price | None = Field(None, description="As its maker lists it; left out: not published.")
    figures: BenchmarksForm = Field(
        default_factory=lambda: BenchmarksForm.model_validate({}), description="What benchmarks said of it."
    )
    missing: dict[Benchmark, Name] = Field(default={}, description="Of each benchmark that has no figure, the reason.")


class NetworkPartForm(PartFileForm):
    """A network: how messages travel between two nodes."""

    kind: Literal["network"] = Field(description="That it is a network.")
    rate: Bandwidth = Field(description="Of a port, by its name.")
    latency: TimeFigureForm | None = Field(None, description="Of an empty message.")
    bandwidth: BandwidthFigureForm | None = Field(None, description="Of large messages.")
    between_nodes: BetweenNodesForm | None = Field(None, description="The link, from a published curve.")
    machine: Name | None = Field(None, description="A shipped machine whose link between nodes it is, instead.")


class SwitchPartForm(PartFileForm):
    """A switch."""

    kind: Literal["switch"] = Field(description="That it is a switch.")
    ports: PositiveInt = Field(description="How many.")
    rate: Bandwidth = Field(description="Of a port.")
    rack_units: Number = Field(1.0, description="That it takes.")
    power: Power | None = Field(None, description="That it takes typically.")
    price: Price | None = Field(None, description="As listed.")
    missing: dict[Literal["power", "price"], Name] = Field(default={}, description="Of what is not known, the reason.")


def _kind(value: object) -> str:
    return str(value.get("kind")) if shape(value) == "<table>" and isinstance(value, dict) else ""


#: By kind, its form.
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
