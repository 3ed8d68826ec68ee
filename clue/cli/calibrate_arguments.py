"""The arguments of ``clue calibrate`` and its three subjects."""

from __future__ import annotations

from clue.cli.options import (
    Command,
    Commands,
    Parser,
    above_zero,
    add_json,
    add_mpiexec,
    add_plots,
    add_volume,
    positive,
    share,
)


def add_calibrate(commands: Commands, run: Command) -> None:
    """Add the command; ``subject`` in its arguments names what it calibrates."""
    command = commands.add_parser(
        "calibrate",
        help="measure or import a network, its contention, or a processor, and write a machine's YAML",
        description="Measure this network or processor, or import results of other benchmarks, and write a machine's "
        "YAML for the simulator.",
    )
    subjects = command.add_subparsers(dest="subject", metavar="SUBJECT", required=True)
    for add in (_add_network, _add_contention, _add_processor):
        add(subjects).set_defaults(run=run)


def _add_network(subjects: Commands) -> Parser:
    subject = subjects.add_parser(
        "network",
        help="delays of messages by size, and the eager limit",
        description="Fit send, transmission and receive delay and the eager limit to measurements of two ranks "
        "started here by mpiexec, or to results in FILEs: osu_latency, osu_bw, osu_mbw_mr, osu_multi_lat, osu_bibw, "
        "IMB (PingPong, Multi-PingPong, Uniband, Biband, Sendrecv), NetPIPE, or CSV.",
    )
    subject.add_argument("files", nargs="*", metavar="FILE", help="results to import; none: measure now")
    subject.add_argument(
        "--form", choices=("osu", "imb", "netpipe", "csv"), help="format of the FILEs (default: detected)"
    )
    subject.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=PATTERN",
        help="use only these rows of a CSV file, such as nodes=32 (may be repeated; * and ? match anything)",
    )
    subject.add_argument(
        "--within-node", action="store_true", help="the FILEs were measured within a node (default: between two)"
    )
    subject.add_argument("--eager-limit", metavar="SIZE", help='eager limit, if you know it, such as "64 KiB", or none')
    _add_measuring(subject)
    subject.add_argument("--largest", metavar="SIZE", help="largest message measured (default: 16 MiB)")
    _add_output(subject)
    subject.add_argument("--nodes", type=positive, metavar="N", help="nodes of the machine (default: as measured)")
    subject.add_argument(
        "--processors",
        type=positive,
        metavar="N",
        help="processors of a node (default: as here; with FILEs 1, or 2 within a node)",
    )
    return subject


def _add_contention(subjects: Commands) -> Parser:
    subject = subjects.add_parser(
        "contention",
        help="how simultaneous messages slow each other down",
        description="Let 1, 2, 4, … pairs of ranks communicate at once, and choose the contention model that best "
        "predicts data that it was not fitted to: a table of factors, ports of nodes, or flows that share links.",
    )
    subject.add_argument(
        "--machine", metavar="MACHINE", help="machine whose link between nodes is known (default: it is measured first)"
    )
    subject.add_argument(
        "--pairs", type=positive, default=4, metavar="N", help="largest number of simultaneous pairs (default: 4)"
    )
    subject.add_argument(
        "--sizes", metavar="A,B", default="1 KiB,16 KiB,128 KiB,1 MiB", help="sizes of messages, separated by commas"
    )
    subject.add_argument(
        "--node-per-rank",
        action="store_true",
        help="treat every rank as on a computer of its own (containers may share a name)",
    )
    _add_measuring(subject)
    _add_output(subject)
    return subject


def _add_processor(subjects: Commands) -> Parser:
    subject = subjects.add_parser(
        "processor",
        help="performance factors by region, and memory contention",
        description="Compare this computer's processors with those of a trace, by recording its program here, or by "
        "kernels run on both; and measure the share of its speed that a processor keeps beside busy ones.",
    )
    subject.add_argument("--trace", metavar="TRACE", help="a recording made on the computer to compare with")
    subject.add_argument("--program", metavar="PROGRAM.py", help="the program of the trace, if its path differs here")
    subject.add_argument(
        "--reference", metavar="NODE.yaml", help="this command's output on the computer to compare with, by kernels"
    )
    subject.add_argument(
        "--kernels",
        metavar="A,B",
        help="kernels to run (default: those of the reference, else core,dgemm,cache,triad,chase)",
    )
    subject.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="KERNEL=SPEED",
        help="the speed of a kernel on one core of a computer that is not at hand, as published or measured there, in "
        "flop/s (dgemm), B/s (triad, cache), products/s (core) or steps/s (chase), to compare with this computer or "
        "with that of the reference (may be repeated)",
    )
    subject.add_argument(
        "--target-part",
        metavar="PART",
        help="a processor of the hardware library (clue parts), or a file with one, that is not at hand: compare it by "
        "published figures with the processor of the recording",
    )
    subject.add_argument(
        "--part",
        metavar="PART",
        help="with --target-part: the processor of the recording (default: the one that the trace or this computer "
        "names)",
    )
    subject.add_argument(
        "--sockets", type=positive, metavar="N", help="with --target-part: processors of a node (default: 1)"
    )
    subject.add_argument(
        "--work",
        action="append",
        default=[],
        metavar="[REGION=]MIX",
        help="with --target-part and --trace: what bounds computation, in one region or in all: core, cache, memory, "
        "or two of them, such as core:memory=0.6 for 60 %% core (default: by declared flops, else by the response of "
        "bursts in several recordings, else 44 %% core and 56 %% memory); may be repeated",
    )
    subject.add_argument(
        "--region",
        action="append",
        default=[],
        metavar="REGION=KERNEL",
        help="the kernel that resembles a region of your program (may be repeated; default stands for any other "
        "region)",
    )
    subject.add_argument("--busy", type=positive, metavar="N", help="largest number of busy processors (default: all)")
    subject.add_argument("--repeats", type=positive, metavar="N", help="recordings of the program (default: 3)")
    subject.add_argument("--time", type=above_zero, metavar="SECONDS", help="time for each kernel (default: 2)")
    subject.add_argument("--confidence", type=share, metavar="SHARE", help="confidence of intervals (default: 0.95)")
    add_mpiexec(subject)
    subject.add_argument(
        "--hosts",
        metavar="A,B,…",
        help="an even number of computers of this kind: to measure what waits cost the next burst, a rank on "
        "each waits for messages of another, as programs do (default: a process sleeps here)",
    )
    subject.add_argument("-o", dest="output", metavar="FILE", help="the YAML to write (default: NAME.yaml)")
    subject.add_argument("--name", help="name of the node type (default: that of FILE, or node)")
    add_json(subject)
    add_volume(subject)
    return subject


def _add_measuring(subject: Parser) -> None:
    add_mpiexec(
        subject,
        "launcher of MPI programs, with options; {ranks} stands for the number of ranks (default: added as -n)",
    )
    subject.add_argument(
        "--hosts", metavar="A,B", help="computers to measure between (default: where mpiexec puts the ranks)"
    )
    subject.add_argument(
        "--time", type=above_zero, metavar="SECONDS", help="longest time of a measurement (default: 60)"
    )
    subject.add_argument(
        "--precision",
        type=share,
        metavar="SHARE",
        help="measure until medians are known within this share (default: 0.02)",
    )
    subject.add_argument("--confidence", type=share, metavar="SHARE", help="confidence of medians (default: 0.95)")


def _add_output(subject: Parser) -> None:
    subject.add_argument("-o", dest="output", metavar="FILE", help="the YAML to write (default: NAME.yaml)")
    subject.add_argument("--name", help="name in the YAML (default: that of FILE, or calibrated)")
    add_plots(subject, "plot data and fit into this folder")
    add_json(subject)
    add_volume(subject)
