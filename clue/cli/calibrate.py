"""``clue calibrate``: write a machine's YAML from measurements or imported results."""

from __future__ import annotations

import argparse
import datetime
import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from clue.calibration.cold_start import measure_cold_start
from clue.calibration.contention import check_choice, check_pairs, contention_file, judge, known_ports, measure_pairs
from clue.calibration.importing import read_benchmark
from clue.calibration.kernels import (
    KERNELS,
    busy_numbers,
    measure_kernels,
    speeds_in,
    stated_speeds,
)
from clue.calibration.machine_file import rewritten
from clue.calibration.measurement import Measurement, merged
from clue.calibration.network import (
    SIZES,
    Calibration,
    calibrate_link,
    calibrate_within,
    machine_file,
    machine_of,
    measure_link,
    with_copies,
    with_one_progress,
)
from clue.calibration.parts import characters_of, node_by_parts
from clue.calibration.processor import CountedRun, NodeCalibration, node_by_kernels, node_by_program, regions_like
from clue.calibration.reduction import measure_reduction
from clue.calibration.time_slice import measure_time_slice
from clue.children import side_by_side
from clue.cli.effects import fill, mpiexec_words, refuse
from clue.cli.options import pairs
from clue.cli.terminal import check_different, output_file, plots_folder, progress, say, show, show_json
from clue.config import load_machine, load_part, load_parts
from clue.config.yaml12 import parse_yaml
from clue.errors import UsageError
from clue.files import is_file, read_text, write_texts
from clue.machine import ColdStart, Machine, Processor, Sockets
from clue.progress import Reporter
from clue.recording import find_mpiexec, record, repeats_beside
from clue.recording.inputs import repeatable_input
from clue.report.calibration.text import (
    contention_document,
    contention_text,
    network_document,
    network_text,
    processor_document,
    processor_text,
)
from clue.trace import Trace
from clue.trace.computer import processor_name, usable_processors
from clue.units import Quantity, count_of, parse_quantity


def run(arguments: argparse.Namespace) -> int:
    """Calibrate one subject and write the result."""
    return _SUBJECTS[arguments.subject](arguments)


def _network(arguments: argparse.Namespace) -> int:
    if arguments.files:
        measuring = ["--hosts", "--mpiexec", "--time", "--precision", "--confidence", "--largest"]
        refuse(arguments, measuring, "without files, which have been measured already", " and ".join(arguments.files))
    else:
        refuse(arguments, ["--form", "--where", "--within-node"], "with files to import", "none")
    fill(arguments, time=60.0, precision=0.02, confidence=0.95, largest="16 MiB")
    output, name = _output(arguments, arguments.files)
    folder = None if arguments.plots is None else plots_folder(arguments.plots)
    with progress() as tell:
        between, within = _links(arguments, tell)
    here = None if arguments.files else max(usable_processors(), 2 if between is None else 1)
    file = machine_file(
        between,
        within,
        name=name,
        nodes=arguments.nodes,
        processors=arguments.processors or here,
    )
    _write(output, file.text())
    if arguments.json:
        show_json(network_document(between, within, str(output)))
    else:
        show(network_text(between, within))
    say([f"wrote {output}"])
    if folder is not None:
        from clue.report.calibration.plot import plot_calibration  # noqa: PLC0415 - matplotlib takes a second

        for each, place in ((between, "between-nodes"), (within, "within-node")):
            if each is not None:
                say([f"wrote {plot_calibration(each, folder, name, place)}"])
    return 0


def _links(arguments: argparse.Namespace, tell: Reporter) -> tuple[Calibration | None, Calibration | None]:
    """Return the links between nodes and within a node, each ``None`` if neither files nor measurements give it."""
    limit = _eager_limit(arguments.eager_limit)
    if arguments.files:
        imported = _imported(arguments)
        if arguments.within_node:
            return None, calibrate_within(imported, limit)
        return calibrate_link(imported, limit), None
    hosts = _hosts(arguments)
    if len(hosts) > 2:
        raise UsageError(f"--hosts must name two computers, or one to measure within it, got {len(hosts)}")
    first = _measured(arguments, hosts, tell, _only_between_nodes(arguments))
    if first.same_host:
        return None, calibrate_within(_with_copies(arguments, first, hosts, tell), limit)
    if not hosts:
        return calibrate_link(first, limit), None
    second = _with_copies(arguments, _measured(arguments, hosts[:1], tell), hosts[:1], tell)
    first, second = with_one_progress(first, second)
    return calibrate_link(first, limit), calibrate_within(second, limit)


def _with_copies(arguments: argparse.Namespace, found: Measurement, hosts: list[str], tell: Reporter) -> Measurement:
    processors = arguments.processors or usable_processors()
    seconds, confidence = arguments.time / 4, arguments.confidence
    return with_copies(
        found, _mpiexec(arguments), processors, hosts, seconds=seconds, confidence=confidence, report=tell
    )


def _only_between_nodes(arguments: argparse.Namespace) -> str:
    """Return the option that is refused if only a link within a node can be measured, as typed; empty if none is."""
    if (arguments.nodes or 1) > 1:
        return f"--nodes {arguments.nodes}"
    return "--processors 1" if arguments.processors == 1 else ""


def _measured(arguments: argparse.Namespace, hosts: list[str], tell: Reporter, apart: str = "") -> Measurement:
    largest = _size(arguments.largest, "--largest")
    return measure_link(
        _mpiexec(arguments),
        hosts,
        sizes=[size for size in SIZES if size <= largest],
        seconds=arguments.time,
        confidence=arguments.confidence,
        precision=arguments.precision,
        apart=apart,
        report=tell,
    )


def _imported(arguments: argparse.Namespace) -> Measurement:
    where = _pairs("--where", arguments.where, "COLUMN=PATTERN")
    return merged([read_benchmark(_text(name), name, arguments.form, where) for name in arguments.files])


def _pairs(option: str, texts: Sequence[str], form: str) -> dict[str, str]:
    what = form.partition("=")[0]
    return pairs(option, texts, f"must have the form {form}, each {what} once", str.strip)


def _text(name: str) -> str:
    try:
        return read_text(Path(name), errors="replace")
    except OSError as error:
        raise UsageError(f"{name}: file must be readable, got {error.strerror or error}") from None


def _eager_limit(text: str | None) -> float | None:
    if text is None:
        return None
    return float("inf") if text == "none" else _size(text, "--eager-limit")


def _size(text: str, option: str) -> float:
    try:
        return parse_quantity(text, Quantity.SIZE)
    except ValueError as error:
        raise UsageError(f"{option} {error}") from None


def _hosts(arguments: argparse.Namespace) -> list[str]:
    return [host for host in (arguments.hosts or "").split(",") if host]


def _mpiexec(arguments: argparse.Namespace) -> list[str]:
    return [find_mpiexec()] if arguments.mpiexec is None else mpiexec_words(arguments.mpiexec)


def _output(arguments: argparse.Namespace, read: Iterable[str | None], unnamed: str = "calibrated") -> tuple[Path, str]:
    """Return the file to write, which is none of those that are read, and the name of its contents."""
    name = arguments.name or (Path(arguments.output).stem if arguments.output else unnamed)
    output = Path(arguments.output or f"{name}.yaml")
    check_different([("-o", output)], getattr(arguments, "plots", None))
    return output_file(output, filter(None, read)), name


def _write(path: Path, text: str) -> None:
    """Write a machine, if the simulator can read it; write all of it or nothing."""
    machine = parse_yaml(text, str(path)).value
    assert isinstance(machine, dict)
    load_machine(machine)
    write_texts({path: text})


def _contention(arguments: argparse.Namespace) -> int:
    if arguments.machine is not None:
        refuse(arguments, ["--precision"], "without --machine, whose link is known", arguments.machine)
    fill(arguments, time=60.0, precision=0.02, confidence=0.95)
    output, name = _output(arguments, [arguments.machine])
    folder = None if arguments.plots is None else plots_folder(arguments.plots)
    sizes = [int(_size(text.strip(), "--sizes")) for text in arguments.sizes.split(",")]
    check_pairs(2 * arguments.pairs, sizes)  # before a link is measured
    check_choice(arguments.pairs, sizes)
    hosts = _hosts(arguments)
    with progress() as tell:
        machine = _known_machine(arguments, hosts, name, tell)
        measurement = measure_pairs(
            _mpiexec(arguments),
            2 * arguments.pairs,
            hosts,
            sizes=sizes,
            seconds=arguments.time,
            confidence=arguments.confidence,
            node_per_rank=arguments.node_per_rank,
            report=tell,
        )
        network = machine.network
        judged = judge(measurement, network.between_nodes, known_ports(machine), tell, progress=network.progress)
    _write(output, contention_file(machine, measurement, judged, name if arguments.name else "").text())
    if arguments.json:
        show_json(contention_document(measurement, judged, str(output)))
    else:
        show(contention_text(measurement, judged))
    say([f"wrote {output}"])
    if folder is not None:
        from clue.report.calibration.plot import plot_contention  # noqa: PLC0415 - matplotlib takes a second

        say([f"wrote {plot_contention(measurement, judged, machine, folder, name)}"])
    return 0


def _known_machine(arguments: argparse.Namespace, hosts: list[str], name: str, tell: Reporter) -> Machine:
    """Return the machine whose contention is calibrated; measure its link if no machine is named."""
    if arguments.machine is not None:
        known = load_machine(arguments.machine)
        rewritten(known, ())  # a machine whose contention cannot be written is refused before pairs are measured
        return known
    measured = measure_link(
        _mpiexec(arguments),
        list(dict.fromkeys(hosts))[:2],  # one may be named several times, for several ranks
        seconds=arguments.time,
        confidence=arguments.confidence,
        precision=arguments.precision,
        apart="" if arguments.node_per_rank else "contention (--hosts names them)",
        report=tell,
    )
    link = calibrate_link(measured)
    return machine_of(link, name)


# --- processors ---


def _processor(arguments: argparse.Namespace) -> int:
    read = [arguments.trace, arguments.program, arguments.reference, arguments.part, arguments.target_part]
    # Nodes of a machine that clue calibrate network writes are of this type, and its file must stay.
    output, name = _output(arguments, read, "node")
    processors = usable_processors()
    if arguments.target_part:
        return _by_parts(arguments, output, name)
    refuse(arguments, ["--part", "--sockets", "--work"], "with --target-part", "none")
    if (arguments.busy or 0) > processors:
        raise UsageError(f"--busy must be at most the number of processors, {processors}, got {arguments.busy}")
    if arguments.trace:
        by_kernels = ["--reference", "--region", "--kernels", "--time", "--target"]
        refuse(arguments, by_kernels, "without --trace, whose program is recorded instead", arguments.trace)
    else:
        refuse(arguments, ["--program", "--repeats"], "with the --trace of a program", "none")
        if not arguments.hosts:
            refuse(arguments, ["--mpiexec"], "with the --trace of a program or --hosts", "neither")
    if len(_hosts(arguments)) % 2:
        raise UsageError(f"--hosts must name an even number of computers, got {arguments.hosts}")
    if arguments.target:
        refuse(arguments, ["--kernels", "--busy", "--hosts"], "without --target, whose kernels are used", "both")
        if arguments.reference:
            rule = "without --target or without --reference, as nothing is measured"
            refuse(arguments, ["--time", "--confidence"], rule, "both")
    fill(arguments, time=2.0, repeats=3, confidence=0.95)
    busy = busy_numbers(arguments.busy or processors)
    with progress() as tell:
        if arguments.target:
            node = _as_stated(arguments, name, tell)
        else:
            measure = _by_program if arguments.trace else _by_kernels
            node = measure(arguments, name, busy, tell)
            tell("measuring the time slice of two busy processes on one processor")
            node = replace(node, time_slice=measure_time_slice(confidence=arguments.confidence))
            node = replace(node, cold_start=_cold_start(arguments, tell))
            tell("measuring how fast MPI combines data")
            node = replace(node, reduction=measure_reduction(arguments.confidence))
    return _done(arguments, node, output)


def _done(arguments: argparse.Namespace, node: NodeCalibration, output: Path) -> int:
    """Write a node type, and show it."""
    text = node.text()
    _check_node(text, str(output), node)
    write_texts({output: text})
    if arguments.json:
        show_json(processor_document(node, str(output)))
    else:
        show(processor_text(node))
    say([f"wrote {output}"])
    return 0


def _by_parts(arguments: argparse.Namespace, output: Path, name: str) -> int:
    """Compare a processor of the library with that of the recording, by published figures of both."""
    measuring = ["--program", "--reference", "--kernels", "--target", "--region", "--busy", "--repeats", "--time"]
    measuring += ["--confidence", "--mpiexec", "--hosts"]
    refuse(arguments, measuring, "without --target-part, for which nothing runs", "both")
    traces = _recordings(arguments.trace) if arguments.trace else []
    if not traces:
        refuse(arguments, ["--work"], "with a --trace that has regions", "none")
    library = [part for part in load_parts().values() if isinstance(part, Processor)]
    recorder = (traces[0].head.processor if traces else "") or processor_name()
    here = _processor_part(arguments.part, "--part") if arguments.part else _known_processor(recorder, library)
    there = Sockets(_processor_part(arguments.target_part, "--target-part"), arguments.sockets or 1)
    node = node_by_parts(
        name,
        here,
        there,
        characters_of(traces, arguments.work) if traces else {},
        library,
        compared_with=recorder if traces else here.name,
    )
    if arguments.sockets is None:
        node = replace(node, notes=(*node.notes, "sockets of a node were not stated (--sockets): 1 is assumed"))
    return _done(arguments, node, output)


def _recordings(name: str) -> list[Trace]:
    """Return a trace, and the repeated recordings of the same run beside it."""
    trace = Trace.open(name)
    others = map(Trace.open, repeats_beside(Path(name)))
    return [trace, *(each for each in others if _run_of(each) == _run_of(trace))]


def _run_of(trace: Trace) -> tuple[object, ...]:
    """Return what recordings of one run have in common: an earlier run may have left others beside a trace."""
    head = trace.head
    work = None if head.probe is None else head.probe.work
    return Path(head.program).name, head.arguments, head.regions, trace.ranks, head.processor, work


def _processor_part(name: str, option: str) -> Processor:
    part = load_part(name)
    if not isinstance(part, Processor):
        raise UsageError(f"{option} must be a processor, got {part.name}")
    return part


def _known_processor(model: str, library: Iterable[Processor]) -> Processor:
    for part in library:
        if part.is_called(model):
            return part
    raise UsageError(f"--part must be given if no part has the name of the recording processor, got {model!r}")


def _cold_start(arguments: argparse.Namespace, tell: Reporter) -> ColdStart:
    """Measure bursts after waits: for messages between hosts if some are named, otherwise asleep."""
    hosts = _hosts(arguments)
    if not hosts:
        tell("measuring bursts after sleep")
        return measure_cold_start()
    tell("measuring bursts after waits for messages")
    return measure_cold_start(mpiexec=_mpiexec(arguments), hosts=hosts, ranks=len(hosts))


def _check_node(text: str, place: str, node: NodeCalibration) -> None:
    """Check that the simulator can read the text, as part of a machine with one such node."""
    link = {"send_delay": "1 us", "transmission_delay": "1 us"}
    written = parse_yaml(text, place).value
    assert isinstance(written, dict)
    load_machine({"nodes": [{"type": node.name}], "network": {"between_nodes": link}, **written})


def _by_kernels(arguments: argparse.Namespace, name: str, busy: list[int], tell: Reporter) -> NodeCalibration:
    there = speeds_in(_text(arguments.reference), arguments.reference) if arguments.reference else None
    kernels, regions = _kernels(arguments, KERNELS if there is None else there.kernels)
    here = measure_kernels(kernels, busy, seconds=arguments.time, confidence=arguments.confidence, report=tell)
    return node_by_kernels(name, usable_processors(), here, there, regions)


def _as_stated(arguments: argparse.Namespace, name: str, tell: Reporter) -> NodeCalibration:
    """Compare the stated speeds of a computer that is not at hand with this computer's or a reference's."""
    stated = _pairs("--target", arguments.target, "KERNEL=SPEED")
    _check_kernels("--target", stated)
    _, regions = _kernels(arguments, stated)
    target = stated_speeds(name, {kernel: _speed(kernel, text) for kernel, text in stated.items()})
    if arguments.reference:
        recorder = speeds_in(_text(arguments.reference), arguments.reference)
    else:
        seconds, confidence = arguments.time, arguments.confidence
        recorder = measure_kernels(list(stated), [1], seconds=seconds, confidence=confidence, report=tell)
    node = node_by_kernels(name, 1, target, recorder, regions)
    note = "processors of a node were not stated: 1 is assumed"
    source = f"speeds of kernels as stated, {datetime.date.today().isoformat()}"
    return replace(node, source=source, notes=(*node.notes, note))


def _speed(kernel: str, text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0.0 < speed < math.inf:
        raise UsageError(f"--target {kernel} must be a number of {KERNELS[kernel]} > 0, got {text!r}")
    return speed


def _kernels(arguments: argparse.Namespace, usual: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return the kernels to run, the usual ones if none are named, and the kernel that stands for each region."""
    kernels = [kernel.strip() for kernel in (arguments.kernels or ",".join(usual)).split(",")]
    _check_kernels("--kernels", kernels)
    stated = _pairs("--region", arguments.region, "REGION=KERNEL")
    return kernels, regions_like(kernels, stated)


def _check_kernels(option: str, kernels: Iterable[str]) -> None:
    for kernel in kernels:
        if kernel not in KERNELS:
            raise UsageError(f"{option} must be among {', '.join(KERNELS)}, got {kernel!r}")


def _by_program(arguments: argparse.Namespace, name: str, busy: list[int], tell: Reporter) -> NodeCalibration:
    """Record the program of a trace here, alone and, if it has one rank, in simultaneous copies."""
    there = Trace.open(arguments.trace)
    program = _program(arguments, there)
    if there.ranks > 1:
        refuse(arguments, ["--busy"], "with a trace of one rank", f"one of {there.ranks}", there.name)
    mpiexec = None if arguments.mpiexec is None else mpiexec_words(arguments.mpiexec)

    def recorded(copies: int, repeat: int) -> list[CountedRun]:
        what = f"{program.name} on {count_of(there.ranks)}" if copies == 1 else f"{copies} copies of {program.name}"
        tell(f"recording {what} ({repeat + 1} of {arguments.repeats})")
        return side_by_side([partial(one, f"{copies}-{repeat}-{k}") for k in range(copies)])

    def one(label: str) -> CountedRun:
        target = Path(folder) / f"{label}.clue"
        with next_input() as stdin:
            return CountedRun.of(
                record(program, there.head.arguments, there.ranks, target, mpiexec=mpiexec, stdin=stdin)
            )

    # The author of the trace chose the program that is run here.
    command = shlex.join([str(program), *there.head.arguments])
    say([f"running {command} on {count_of(there.ranks)}, as {there.name} was recorded"])
    numbers = busy if there.ranks == 1 else [1]
    with TemporaryDirectory() as folder, repeatable_input(arguments.repeats * sum(numbers)) as next_input:
        recordings = {n: [run for repeat in range(arguments.repeats) for run in recorded(n, repeat)] for n in numbers}
    return node_by_program(name, usable_processors(), there, recordings, arguments.confidence)


def _program(arguments: argparse.Namespace, there: Trace) -> Path:
    named = Path(arguments.program or there.head.program)
    beside = Path(arguments.trace).parent / named.name
    for path in (named, beside):
        if is_file(path):
            return path
    raise UsageError(f"{named}: program of {there.name} must be here, got no such file: name it by --program")


_SUBJECTS = {"network": _network, "contention": _contention, "processor": _processor}
