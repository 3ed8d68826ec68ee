"""The form of a comparison and of a single simulation, key by key.

The machine's form is in :mod:`clue.config.schema`. Pydantic models only, as there: what several keys say
together is checked where the values are built.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from clue.config.contention import AnyContentionForm
from clue.config.cost_schema import CostForm, LimitsForm, RateForm, UpToOne
from clue.config.forms import Form, Name, OneOrList, OneOrTable, shape
from clue.config.quantities import Budget, Duration, MoreMoney, Number, PositiveInt, Price, RunTime, Size
from clue.config.queue_schema import JobClassForm, PlainCriterionName, QueueForm, SsiForm, SspForm
from clue.config.schema import NetworkForm, NodeTypeForm, Notes, Ranks
from clue.purchase.scenario import SERVICE_LIFE

# --- programs and their placement ---


def _as_text(value: object) -> object:
    # A whole number comes out as it was meant; a fraction might not (1.50, 1e9), so it has to be quoted.
    if isinstance(value, float):
        raise ValueError(f"must be text or a whole number, got {value!r}: put it in quotes")
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Argument = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int)]


class ExtrapolateForm(Form):
    """Recordings at small sizes and numbers of ranks, of which the trace of a large one is made."""

    traces: Name = Field(
        description="Names of the recordings, relative to the file that names it; {size} and {ranks} stand for theirs."
    )
    size: PositiveInt | None = Field(None, description="The size that is wanted; in a validation that of the case.")
    ranks: Ranks | None = Field(
        None, description="The number of ranks that is wanted; left out: that of the program or the workload."
    )
    distributions: list[Name] = Field(
        default=[],
        description="Call sites, as cg.py:72, at which sizes of messages that follow no rule are drawn from those that "
        "were recorded.",
    )


class ProgramForm(Form):
    """A program: a script to record, a trace that was recorded or is made of others; a trace is preferred."""

    script: str | None = Field(
        None, min_length=1, description="Python program with mpi4py; relative to the file that names it."
    )
    args: list[Argument] = Field(
        default=[], description="Arguments of the script; {ranks} stands for the number of ranks."
    )
    inputs: list[Name] = Field(
        default=[],
        description="Files that the script reads, relative to the file that names it: when one changes, the script is "
        "recorded again. {ranks} stands for the number of ranks.",
    )
    environment: list[Name] = Field(
        default=[],
        description="Environment variables that the script reads: when one changes, the script is recorded again, as "
        "for those of OpenMP, BLAS and Python.",
    )
    trace: str | None = Field(
        None,
        min_length=1,
        description="Recorded trace; relative to the file that names it, {ranks} stands for their number.",
    )
    repeats: list[Name] = Field(
        default=[],
        description="Further recordings of the same run beside the trace: each burst then takes the median of all, and "
        "--samples draws bursts as they differ.",
    )
    extrapolate: ExtrapolateForm | None = Field(
        None, description="Make the trace of recordings of smaller sizes on fewer ranks (clue extrapolate --plan)."
    )
    model: Name | None = Field(
        None,
        description="In a comparison: a model that was fitted to run times (clue model fit) or composed of a program's "
        "parts (clue model graph), relative to the file that names it; instead of a script or a trace. {machine} in it "
        "stands for the name of the machine, as composed models hold for one each.",
    )
    size: PositiveInt | None = Field(None, description="With a model: the size of the problem.")


class RunForm(ProgramForm):
    """A program at one number of ranks."""

    ranks: Ranks | None = Field(
        None, description="Number of ranks; may be left out if a trace is given, which knows it."
    )


Order = Literal["block", "cyclic"]


class OrderForm(Form):
    """Where ranks run: node after node, or dealt out to the nodes in turn."""

    order: Order = Field("block", description="block: node after node; cyclic: dealt out to the nodes in turn.")
    ranks_per_processor: PositiveInt = Field(1, description="How many ranks may share a processor.")


class LayoutForm(OrderForm):
    """Where ranks run in a comparison."""

    ranks_per_node: PositiveInt | None = Field(
        None, description="How many ranks a node takes at most; left out: as many as its processors do."
    )
    nodes: Literal["first", "last"] = Field(
        "first", description="Which nodes are filled first; of a machine of two kinds of nodes: which kind."
    )


WorkloadPlacement = Annotated[
    Annotated[Literal["block", "cyclic", "search"], Tag("<one>")]
    | Annotated[LayoutForm, Tag("<table>")]
    | Annotated[list[OneOrTable[Order, LayoutForm]], Field(min_length=1), Tag("<list>")],
    Discriminator(shape),
]
NodeIndex = Annotated[int, Field(ge=0)]
RunPlacement = Annotated[
    Annotated[Order, Tag("<one>")]
    | Annotated[OrderForm, Tag("<table>")]
    | Annotated[list[NodeIndex], Field(min_length=1), Tag("<list>")],
    Discriminator(shape),
]
MachineSource = OneOrTable[Name, dict[str, Any]]


# --- one program on one machine ---


class SimulationForm(Form):
    """One program on one machine."""

    name: str | None = Field(None, min_length=1, description="Its name; left out: that of the file.")
    program: RunForm = Field(description="What runs.")
    machine: MachineSource = Field(description="A path, the name of a shipped machine, or the machine itself.")
    placement: RunPlacement = Field(
        "block",
        description="block, cyclic, one of them with ranks_per_processor, or a list of a node for each rank.",
    )
    instances: PositiveInt = Field(1, description="Independent copies that run side by side.")


# --- a comparison ---

Cost = Annotated[
    Annotated[Name, Tag("<one>")]
    | Annotated[CostForm, Tag("<table>")]
    | Annotated[list[OneOrTable[Name, CostForm]], Field(min_length=1), Tag("<list>")],
    Discriminator(shape),
]
CriterionName = Literal[PlainCriterionName, "weighted"]

Weight = Number


class KernelForm(Form):
    """One of several programs of a workload, which run one after the other."""

    program: ProgramForm = Field(description="What runs.")
    share: Weight = Field(1.0, description="Its share of the workload's points, relative to those of the others.")


def _is_fill(value: object) -> object:
    if isinstance(value, str) and value != "fill":
        raise ValueError(f'must be a whole number or fill, got "{value}"')
    return value


Instances = Annotated[
    Annotated[PositiveInt, Tag("<one>")] | Annotated[Literal["fill"], Tag("<fill>")],
    Discriminator(lambda value: "<fill>" if value == "fill" else "<one>"),
    BeforeValidator(_is_fill),
]


class WorkloadForm(Form):
    """What has to be run, and how it may be split; either one program or several kernels."""

    program: ProgramForm | None = Field(None, description="The one program.")
    kernels: Annotated[dict[str, KernelForm], Field(min_length=1)] | None = Field(
        None, description="Several programs, by name."
    )
    instances: Instances = Field(1, description="Independent copies to run; fill: as many as the machine takes.")
    weight: Weight = Field(1.0, description="Share of the whole score.")
    ranks: OneOrList[Ranks, Ranks] | None = Field(
        None, description="Allowed numbers of ranks of an instance; left out: 1."
    )
    memory: OneOrTable[Size, dict[PositiveInt, Size]] | None = Field(
        None, description="Memory of one rank, or by number of ranks; left out: the peak that the traces measured."
    )
    placement: WorkloadPlacement = Field(
        "block",
        description="block, cyclic, or one with ranks_per_processor, ranks_per_node and nodes; a list of such, of "
        "which the best counts on each option; or search: block and cyclic with 1, 2, 4, … ranks on a node, from the "
        "first node or from the last one.",
    )
    deadline: Duration | None = Field(None, description="Time within which a run has to end; left out: any.")
    runs_a_month: Annotated[Number, Field(gt=0)] | None = Field(
        None, description="Runs that have to be done, on average; of all workloads or of none. Left out beside jobs."
    )


class MeasuredSkeletonForm(Form):
    """Runs of a program's skeleton (clue skeleton), which tell what the program takes."""

    here: Name = Field(description="What the skeleton printed with --json on this machine, as a file.")
    dedicated: Name | None = Field(
        None,
        description="What it printed where the application was recorded, and nothing else ran; left out: the skeleton "
        "is taken to be as short as it was built for.",
    )
    application: RunTime | None = Field(
        None, description="What the application takes there; left out: what it took when it was recorded."
    )


MeasuredSkeleton = OneOrTable[Name, MeasuredSkeletonForm]


class OptionForm(Form):
    """A machine that could be bought."""

    machine: MachineSource = Field(description="A path, the name of a shipped machine, or the machine itself.")
    nodes: OneOrTable[PositiveInt, dict[str, PositiveInt]] | None = Field(
        None, description="Number of nodes instead of the machine's; by node type if it has several groups."
    )
    price: Price | None = Field(
        None,
        description="What has to be paid; left out: the machine's price, or the sum over its nodes. Prices of the "
        "parts of its cost come on top: 0 EUR where they have all.",
    )
    cost: Cost | None = Field(
        None,
        description="What else it costs: a block, the name of one of the costs, or a list of both, each laid "
        "over those before.",
    )
    changed: dict[str, Any] = Field(
        default={}, alias="with", description="Keys of the machine that differ in this option."
    )
    measured_skeleton: dict[Name, MeasuredSkeleton] = Field(
        default={},
        description="By workload: what its skeleton printed with --json on this very machine, as a file; or that with "
        "further runs. It is taken instead of a prediction.",
    )


# --- options that are generated ---


class CountsForm(Form):
    """Numbers from one to another."""

    first: PositiveInt = Field(1, alias="from", description="The first; left out: 1.")
    to: Annotated[int, Field(ge=1, le=100_000)] = Field(description="The last, if the steps meet it.")
    step: PositiveInt = Field(1, description="From one to the next.")


Counts = Annotated[
    Annotated[PositiveInt, Tag("<one>")]
    | Annotated[list[PositiveInt], Field(min_length=1), Tag("<list>")]
    | Annotated[CountsForm, Tag("<table>")],
    Discriminator(shape),
]


class OfferedNodeForm(NodeTypeForm):
    """A kind of node on offer: written out, or taken from a machine with what differs."""

    machine: Name | None = Field(
        None, description="A path or the name of a shipped machine that it is taken from; keys beside it differ."
    )
    type: str | None = Field(None, description="Which node type of that machine; left out: the only one.")


class OfferedProcessorForm(NodeTypeForm):
    """A processor on offer, for any kind of node: keys of a node type, laid over those of the node."""

    price: Price | None = Field(None, description="In each node, on top of the node's price.")


class OfferedMemoryForm(Form):
    """Memory on offer, for any kind of node."""

    size: Size = Field(description="Of each node.")
    price: Price | None = Field(None, description="In each node, on top of the node's price.")


class SwitchPriceForm(Form):
    """Switches, of which there are as many as the nodes fill."""

    ports: PositiveInt = Field(description="Nodes that one takes.")
    price: Price = Field(description="Price of one.")


class OfferedNetworkForm(NetworkForm):
    """A network on offer: written out, or taken from a machine with what differs; and what it costs."""

    machine: Name | None = Field(
        None,
        description="A path or the name of a shipped machine that it is taken from; keys beside it differ. "
        "Links of particular node types are not taken along.",
    )
    price: Price | None = Field(None, description="Once, however many nodes there are.")
    price_per_node: Price | None = Field(None, description="For each node: adapter, cable, port.")
    switch: SwitchPriceForm | None = Field(None, description="Switches, of which there are as many as the nodes fill.")
    most_nodes: PositiveInt | None = Field(
        None, description="Most nodes that it takes; left out: what its topology has room for, or any number."
    )


class OfferedTopologyForm(Form):
    """How a network may be built: its contention, and what that costs."""

    contention: AnyContentionForm = Field(description="How messages slow each other down, with the topology.")
    price: Price | None = Field(None, description="Once, however many nodes there are.")
    price_per_node: Price | None = Field(None, description="For each node: cable, port.")
    switch: SwitchPriceForm | None = Field(None, description="Switches, of which there are as many as the nodes fill.")
    most_nodes: PositiveInt | None = Field(
        None, description="Most nodes that it takes; left out: what it has room for, or any number."
    )


NodeTypePair = Annotated[list[str], Field(min_length=2, max_length=2)]


class GenerateForm(Form):
    """Clusters to choose from: every number of every kind of node with every network."""

    nodes: Counts = Field(description="Numbers of nodes: one, a list, or {from, to, step}.")
    node_types: Annotated[dict[str, OfferedNodeForm], Field(min_length=1)] = Field(
        description="Kinds of nodes on offer, by name."
    )
    networks: Annotated[dict[str, OfferedNetworkForm], Field(min_length=1)] = Field(
        description="Networks on offer, by name."
    )
    processors: dict[Name, OfferedProcessorForm] = Field(
        default={},
        description="Processors on offer, by name: every kind of node comes with each of them; left out: with its own.",
    )
    memory: list[OfferedMemoryForm] = Field(
        default=[], description="Memory on offer: every kind of node comes with each; left out: with its own."
    )
    topologies: dict[Name, OfferedTopologyForm] = Field(
        default={},
        description="How networks may be built, by name: every network comes with each; left out: as it says itself.",
    )
    mixed: Annotated[
        Annotated[bool, Tag("<one>")] | Annotated[list[NodeTypePair], Tag("<list>")], Discriminator(shape)
    ] = Field(
        False,
        description="Clusters of two kinds of nodes too: true for any two, or a list of pairs. Each kind comes in "
        "the numbers given, both together in no more nodes than the largest of them.",
    )
    price: Price | None = Field(None, description="What every cluster needs besides: rack, console, installation.")
    cost: Cost | None = Field(
        None, description="What else each costs: a block, the name of one of the costs, or a list of both."
    )
    reference_processor: str = Field(
        "", description="Processor that the performance factors are relative to, as a trace names it."
    )


def _each_once(criteria: list[str]) -> list[str]:
    if len(set(criteria)) < len(criteria):
        raise ValueError(f"must have each criterion once, got {' and '.join(criteria)}")
    return criteria


def _currency(name: str) -> str:
    if not re.fullmatch("[A-Z]{3}", name):
        raise ValueError(f'must be three capital letters of a currency, got "{name}"')
    return name


CurrencyName = Annotated[str, AfterValidator(_currency)]


class NextForm(Form):
    """More money, of which is asked what it gains."""

    amount: MoreMoney = Field(description="How much.")
    option: Name | None = Field(
        None, alias="from", description="The option that it is spent on; left out: the first of the ranking."
    )


class ScenarioForm(Form):
    """A comparison of machines that could be bought."""

    name: str | None = Field(None, min_length=1, description="Its name; left out: that of the file.")
    budget: Budget = Field(None, description="What may be spent; none, or left out: no limit.")
    workloads: Annotated[dict[str, WorkloadForm], Field(min_length=1)] = Field(description="What has to run.")
    options: Annotated[dict[str, OptionForm], Field(min_length=1)] | None = Field(
        None, description="What could be bought; may be left out where options are generated."
    )
    generate: (
        Annotated[
            Annotated[GenerateForm, Tag("<table>")] | Annotated[list[GenerateForm], Field(min_length=1), Tag("<list>")],
            Discriminator(shape),
        ]
        | None
    ) = Field(None, description="What could be bought besides: all clusters of some parts, or a list of such.")
    costs: dict[Name, CostForm] = Field(default={}, description="Blocks of costs that options name.")
    currencies: dict[CurrencyName, RateForm] = Field(
        default={}, description="What other currencies are worth in the one of the comparison."
    )
    limits: LimitsForm | None = Field(None, description="What an option has to keep beside the budget.")
    criterion: CriterionName = Field("points", description="What the ranking is by.")
    pareto: Annotated[list[CriterionName], Field(min_length=2, max_length=3), AfterValidator(_each_once)] | None = (
        Field(None, description="Two or three criteria: which options are beaten by none in all of them at once.")
    )
    weighted: dict[PlainCriterionName, Weight] = Field(
        default={},
        description="With the criterion weighted: how much each criterion counts. Each gives its weight to the best "
        "option, to others "
        "in proportion to the best.",
    )
    jobs: dict[Name, JobClassForm] = Field(
        default={}, description="What is submitted to the queue, by class: runs of the workloads."
    )
    queue: QueueForm | None = Field(None, description="How jobs are queued, and how that is simulated.")
    ssp: SspForm | None = Field(None, description="What the sustained system performance counts.")
    ssi: SsiForm | None = Field(
        None, description="The reference system that the scalable system improvement is relative to."
    )
    next: OneOrTable[MoreMoney, NextForm] | None = Field(
        None,
        description="More money: where it goes, by what each step gains for it (one node more, another network, more "
        "memory).",
    )
    service_life: Duration = Field(
        SERVICE_LIFE, description="How long a purchase is used; costs are counted over it; left out: 3 years."
    )
    discount_rate: UpToOne = Field(0.0, description="What money costs a year, as a share: 0.03 for 3 %.")
    notes: Notes = Field(default=[], description="What a reader of the ranking should know.")
    full: dict[str, Any] | None = Field(
        None, description="Keys that differ in the full-size variant of this comparison."
    )
