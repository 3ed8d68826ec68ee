"""The form of a comparison and of a single simulation, key by key.

The machine's form is in :mod:`clue.config.schema`. Pydantic models only, as there: rules over several keys are checked
where the values are built.
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
from clue.config.schema import LinkBetweenNodesForm, NetworkForm, NodeTypeForm, Notes, Ranks, no_loggops
from clue.purchase.scenario import SERVICE_LIFE

# --- programs and their placement ---


def _as_text(value: object) -> object:
    # A whole number keeps its text; a fraction might not (1.50, 1e9), so it has to be quoted.
    if isinstance(value, float):
        raise ValueError(f"must be text or a whole number, got {value!r}: put it in quotes")
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Argument = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int)]


class ExtrapolateForm(Form):
    """Recordings at small sizes and numbers of ranks, from which the trace of a large run is extrapolated."""

    traces: Name = Field(
        description="Names of the recordings, relative to the file that names it; {size} and {ranks} stand for theirs."
    )
    size: PositiveInt | None = Field(None, description="The size to predict; in a validation that of the case.")
    ranks: Ranks | None = Field(
        None, description="The number of ranks to predict; default: that of the program or the workload."
    )
    distributions: list[Name] = Field(
        default=[],
        description="Call sites, such as cg.py:72, whose message sizes follow no rule: they are drawn from the "
        "recorded ones.",
    )


class ProgramForm(Form):
    """A program: a script to record, or a trace, recorded or extrapolated; a trace takes precedence."""

    script: str | None = Field(
        None, min_length=1, description="Python program that uses mpi4py; relative to the file that names it."
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
        description="Recorded trace; relative to the file that names it, {ranks} stands for the number of ranks.",
    )
    repeats: list[Name] = Field(
        default=[],
        description="Further recordings of the same run: each burst then takes the median of all recordings, and "
        "--samples draws bursts from their distribution.",
    )
    extrapolate: ExtrapolateForm | None = Field(
        None,
        description="Extrapolate the trace from recordings of smaller sizes on fewer ranks (clue extrapolate --plan).",
    )
    model: Name | None = Field(
        None,
        description="In a comparison, instead of a script or a trace: a model fitted to run times (clue model fit) or "
        "composed of a program's parts (clue model graph), relative to the file that names it. {machine} stands for "
        "the name of the machine, as each composed model holds for one machine.",
    )
    size: PositiveInt | None = Field(None, description="With a model: the size of the problem.")


class RunForm(ProgramForm):
    """A program at one number of ranks."""

    ranks: Ranks | None = Field(None, description="Number of ranks; default: that of the trace, if one is given.")


Order = Literal["block", "cyclic"]


class OrderForm(Form):
    """Placement of ranks: node after node, or round-robin over the nodes."""

    order: Order = Field("block", description="block: node after node; cyclic: round-robin over the nodes.")
    ranks_per_processor: PositiveInt = Field(1, description="Largest number of ranks that share a processor.")


class LayoutForm(OrderForm):
    """Placement of ranks in a comparison."""

    ranks_per_node: PositiveInt | None = Field(
        None, description="Largest number of ranks on a node; default: as many as its processors take."
    )
    nodes: Literal["first", "last"] = Field(
        "first", description="Which nodes are filled first; with two kinds of nodes: which kind."
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

    name: str | None = Field(None, min_length=1, description="Its name; default: that of the file.")
    program: RunForm = Field(description="What runs.")
    machine: MachineSource = Field(description="A path, the name of a shipped machine, or the machine itself.")
    placement: RunPlacement = Field(
        "block",
        description="block, cyclic, one of them with ranks_per_processor, or a list with the node of each rank.",
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
    share: Weight = Field(1.0, description="Its share of the workload's points, relative to the other kernels.")


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
    """A program, or several kernels, to be run, and how they may be split."""

    program: ProgramForm | None = Field(None, description="The one program.")
    kernels: Annotated[dict[str, KernelForm], Field(min_length=1)] | None = Field(
        None, description="Several programs, by name."
    )
    instances: Instances = Field(
        1, description="Number of independent copies to run; fill: as many as fit on the machine."
    )
    weight: Weight = Field(1.0, description="Share of the whole score.")
    ranks: OneOrList[Ranks, Ranks] | None = Field(
        None, description="Allowed numbers of ranks of an instance; default: 1."
    )
    memory: OneOrTable[Size, dict[PositiveInt, Size]] | None = Field(
        None, description="Memory of one rank, or by number of ranks; default: the peak recorded in the traces."
    )
    placement: WorkloadPlacement = Field(
        "block",
        description="block, cyclic, or one with ranks_per_processor, ranks_per_node and nodes; a list of these: "
        "each option uses the best; or search: block and cyclic with 1, 2, 4, … ranks per node, from the first "
        "node or from the last.",
    )
    deadline: Duration | None = Field(None, description="Largest allowed run time; default: no limit.")
    runs_a_month: Annotated[Number, Field(gt=0)] | None = Field(
        None, description="Runs that have to be done, on average; of all workloads or of none. Left out with jobs."
    )


class MeasuredSkeletonForm(Form):
    """Runs of a program's skeleton (clue skeleton), from which the program's run time is estimated."""

    here: Name = Field(description="File with the skeleton's output (--json) on this machine.")
    dedicated: Name | None = Field(
        None,
        description="File with its output where the application was recorded, on an otherwise idle computer; default: "
        "the skeleton is assumed to be as short as it was built to be.",
    )
    application: RunTime | None = Field(
        None, description="Run time of the application there; default: its recorded run time."
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
        description="Price of the option; default: the machine's price, or the sum over its nodes. Prices of the parts "
        "under cost are added: state 0 EUR if they cover everything.",
    )
    cost: Cost | None = Field(
        None,
        description="Further costs: a block, the name of one of the costs, or a list of both, each overlaid on those "
        "before, whose keys it need not repeat.",
    )
    changed: dict[str, Any] = Field(
        default={}, alias="with", description="Keys of the machine that differ in this option."
    )
    measured_skeleton: dict[Name, MeasuredSkeleton] = Field(
        default={},
        description="By workload, instead of a prediction: a file with its skeleton's output (--json) on this very "
        "machine, or that with further runs.",
    )


# --- options that are generated ---


NodeCount = Annotated[int, Field(ge=1, le=100_000)]


class CountsForm(Form):
    """A range of numbers."""

    first: NodeCount = Field(1, alias="from", description="The first number; default: 1.")
    to: NodeCount = Field(description="Upper bound; the last number if a step reaches it.")
    step: PositiveInt = Field(1, description="Difference between successive numbers.")


Counts = Annotated[
    Annotated[NodeCount, Tag("<one>")]
    | Annotated[list[NodeCount], Field(min_length=1), Tag("<list>")]
    | Annotated[CountsForm, Tag("<table>")],
    Discriminator(shape),
]


class OfferedNodeForm(NodeTypeForm):
    """A kind of node on offer: written out, or taken from a machine, with the keys that differ."""

    machine: Name | None = Field(
        None, description="Path or shipped name of a machine from which it is taken; other keys override it."
    )
    type: str | None = Field(None, description="Node type of that machine; default: the only one.")


class OfferedProcessorForm(NodeTypeForm):
    """A processor on offer, for any kind of node: keys of a node type, which override those of the node."""

    price: Price | None = Field(None, description="Price per node, added to the node's price.")


class OfferedMemoryForm(Form):
    """Memory on offer, for any kind of node."""

    size: Size = Field(description="Memory of each node.")
    price: Price | None = Field(None, description="Price per node, added to the node's price.")


class SwitchPriceForm(Form):
    """Switches, as many as the nodes need."""

    ports: PositiveInt = Field(description="Nodes per switch.")
    price: Price = Field(description="Price of one switch.")


class OfferedNetworkForm(NetworkForm):
    """A network on offer: written out, or taken from a machine, with the keys that differ; and its price."""

    machine: Name | None = Field(
        None,
        description="Path or shipped name of a machine from which it is taken; other keys override it. "
        "Links of particular node types are not taken over.",
    )
    between_nodes: Annotated[LinkBetweenNodesForm | None, BeforeValidator(no_loggops)] = Field(
        None,
        description="Link between ranks on different nodes; keys of the part or machine that differ, if one is given.",
    )
    price: Price | None = Field(None, description="Fixed price, whatever the number of nodes.")
    price_per_node: Price | None = Field(None, description="Price per node: adapter, cable, port.")
    switch: SwitchPriceForm | None = Field(None, description="Switches, as many as the nodes need.")
    most_nodes: PositiveInt | None = Field(
        None, description="Largest number of nodes; default: the room of its topology, or no limit."
    )


class OfferedTopologyForm(Form):
    """How a network may be built: its contention, and its price."""

    contention: AnyContentionForm = Field(description="How messages slow each other down, with the topology.")
    price: Price | None = Field(None, description="Fixed price, whatever the number of nodes.")
    price_per_node: Price | None = Field(None, description="Price per node: cable, port.")
    switch: SwitchPriceForm | None = Field(None, description="Switches, as many as the nodes need.")
    most_nodes: PositiveInt | None = Field(None, description="Largest number of nodes; default: its room, or no limit.")


NodeTypePair = Annotated[list[str], Field(min_length=2, max_length=2)]


class GenerateForm(Form):
    """Generated clusters: every number of every kind of node with every network."""

    nodes: Counts = Field(description="Numbers of nodes: one, a list, or {from, to, step}.")
    node_types: Annotated[dict[str, OfferedNodeForm], Field(min_length=1)] = Field(
        description="Kinds of nodes on offer, by name."
    )
    networks: Annotated[dict[str, OfferedNetworkForm], Field(min_length=1)] = Field(
        description="Networks on offer, by name."
    )
    processors: dict[Name, OfferedProcessorForm] = Field(
        default={},
        description="Processors on offer, by name: every kind of node comes with each; default: with its own.",
    )
    memory: list[OfferedMemoryForm] = Field(
        default=[], description="Memory on offer: every kind of node comes with each; default: with its own."
    )
    topologies: dict[Name, OfferedTopologyForm] = Field(
        default={},
        description="Topologies on offer, by name: every network comes with each; default: with its own.",
    )
    mixed: Annotated[
        Annotated[bool, Tag("<one>")] | Annotated[list[NodeTypePair], Tag("<list>")], Discriminator(shape)
    ] = Field(
        False,
        description="Also clusters of two kinds of nodes: true for any two, or a list of pairs. Each kind comes in "
        "the given numbers; the largest of these limits the sum of both.",
    )
    price: Price | None = Field(
        None, description="Fixed price of what every cluster needs: rack, console, installation."
    )
    cost: Cost | None = Field(
        None, description="Further costs of each: a block, the name of one of the costs, or a list of both."
    )
    reference_processor: str = Field(
        "", description="Processor to which the performance factors are relative, as a trace names it."
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
    """Additional money, whose best use is asked for."""

    amount: MoreMoney = Field(description="How much.")
    option: Name | None = Field(
        None, alias="from", description="The option on which it is spent; default: the first of the ranking."
    )


class ScenarioForm(Form):
    """A comparison of machines that could be bought."""

    name: str | None = Field(None, min_length=1, description="Its name; default: that of the file.")
    budget: Budget = Field(None, description="Largest price of an option; none (the default): no limit.")
    workloads: Annotated[dict[str, WorkloadForm], Field(min_length=1)] = Field(
        description="The programs to be run, by name."
    )
    options: Annotated[dict[str, OptionForm], Field(min_length=1)] | None = Field(
        None, description="Machines that could be bought, by name; may be left out if options are generated."
    )
    generate: (
        Annotated[
            Annotated[GenerateForm, Tag("<table>")] | Annotated[list[GenerateForm], Field(min_length=1), Tag("<list>")],
            Discriminator(shape),
        ]
        | None
    ) = Field(None, description="Further options: all clusters built from some parts, or a list of such families.")
    costs: dict[Name, CostForm] = Field(default={}, description="Blocks of costs, to which options refer by name.")
    currencies: dict[CurrencyName, RateForm] = Field(
        default={}, description="Exchange rates of other currencies into that of the comparison."
    )
    limits: LimitsForm | None = Field(None, description="Limits for options besides the budget.")
    criterion: CriterionName = Field("points", description="Criterion of the ranking.")
    pareto: Annotated[list[CriterionName], Field(min_length=2, max_length=3), AfterValidator(_each_once)] | None = (
        Field(
            None,
            description="Two or three criteria whose Pareto front is wanted: options that no other option dominates.",
        )
    )
    weighted: dict[PlainCriterionName, Weight] = Field(
        default={},
        description="With the criterion weighted: weights of criteria. The best option by a criterion gets its whole "
        "weight, others a part in proportion to the best.",
    )
    jobs: dict[Name, JobClassForm] = Field(
        default={}, description="Classes of jobs submitted to the queue, by name: runs of the workloads."
    )
    queue: QueueForm | None = Field(None, description="The policy of the queue, and its simulation.")
    ssp: SspForm | None = Field(None, description="The operations that the sustained system performance counts.")
    ssi: SsiForm | None = Field(None, description="The reference system of the scalable system improvement.")
    next: OneOrTable[MoreMoney, NextForm] | None = Field(
        None,
        description="Additional money: how to spend it best, step by step (one more node, another network, more "
        "memory), judged by gain per price.",
    )
    service_life: Duration = Field(
        SERVICE_LIFE, description="How long a purchase is used; costs are summed over it; default: 3 years."
    )
    discount_rate: UpToOne = Field(0.0, description="Discount rate per year, as a share: 0.03 for 3 %.")
    notes: Notes = Field(default=[], description="What a reader of the ranking should know.")
    full: dict[str, Any] | None = Field(
        None,
        description="Keys that differ in the full-size variant of this comparison; null removes a key. Below with of "
        "an option it removes the key of its machine, also if the option changes it; with: null removes all changes.",
    )
