"""``clue calibrate`` from the command line: measurements in, a machine file out that the simulator accepts."""

from __future__ import annotations

import json
import math
import os
from functools import partial
from pathlib import Path

import pytest

from clue.calibration.cold_start import measure_cold_start
from clue.calibration.residuals import ping_pong
from clue.calibration.time_slice import measure_time_slice
from clue.config import load_machine
from clue.errors import UsageError
from clue.machine import ColdStart, Ports
from clue.trace import Trace, TraceBuilder
from tests.cli.commands import run
from tests.recording.cases import standard_input_from

pytestmark = pytest.mark.usefixtures("folder")

LATENCY = "# OSU MPI Latency Test v5.9\n# Size  Latency (us)\n" + "".join(
    f"{size} {10 + size * 1e-3 + (20 if size > 8192 else 0)}\n" for size in (0, *(1 << k for k in range(23)))
)
BANDWIDTH = "# OSU MPI Bandwidth Test v5.9\n# Size  Bandwidth (MB/s)\n" + "".join(
    f"{size} {size / (1 + size * 1e-3 + (20 + size * 1e-3) / 64)}\n" for size in (1 << k for k in range(23))
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in that holds the results of two benchmarks."""
    monkeypatch.chdir(tmp_path)
    Path("latency.txt").write_text(LATENCY)
    Path("bw.txt").write_text(BANDWIDTH)
    return tmp_path


def test_imported_results_become_a_machine_that_the_simulator_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """From 10 us and 1 ns/B one way, a ping-pong of 1024 B takes 22.05 us on the machine, within the fit's 2 %."""
    status, out, err = run(capsys, "calibrate", "network", "latency.txt", "bw.txt", "-o", "net.yaml", "--nodes", "4")
    assert status == 0
    assert "half round trip" in out and "off by" in out
    assert "wrote net.yaml" in err
    machine = load_machine("net.yaml")
    assert (machine.name, len(machine.nodes)) == ("net", 4)
    assert machine.network.between_nodes.eager_limit == 8192
    assert machine.network.contention == Ports()
    assert machine.network.between_nodes.busy is not None
    assert any("eager limit: a guess" in note for note in machine.notes)
    ping_pong(1024).save("pp.clue")
    Path("run.yaml").write_text("program: {trace: pp.clue}\nmachine: net.yaml\nplacement: [0, 1]\n")
    status, out, _ = run(capsys, "simulate", "run.yaml", "--json")
    assert json.loads(out)["makespan"] == pytest.approx(2 * 11.024e-6, rel=0.02)


def test_the_file_says_where_it_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    """The machine file states the source, the residuals by message size and the assumptions."""
    run(capsys, "calibrate", "network", "latency.txt", "--name", "only-latency")
    text = Path("only-latency.yaml").read_text()
    assert "OSU MPI Latency Test v5.9 (latency.txt)" in text
    assert "1 KiB" in text and "off by" in text
    assert "only half round trips are known" in text


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output is one JSON document, with residuals in seconds."""
    status, out, _ = run(capsys, "calibrate", "network", "latency.txt", "--json", "--eager-limit", "none")
    link = json.loads(out)["between_nodes"]
    assert status == 0
    assert link["eager_limit"] is None
    assert len(link["residuals"]["one_way"]) == 24
    assert link["median_error"]["one_way"] < 0.05


def test_pictures_show_data_and_fit(capsys: pytest.CaptureFixture[str]) -> None:
    """``--plots`` writes a PNG of data and fit to the given folder, also for a link within a node."""
    _, _, err = run(capsys, "calibrate", "network", "latency.txt", "--within-node", "--plots", "pictures")
    assert "calibration-within-node.png" in err
    assert Path("pictures/calibration-within-node.png").read_bytes()[:4] == b"\x89PNG"
    machine = load_machine("calibrated.yaml")
    assert machine.network.within_node.eager_limit == 8192
    assert [node.processors for node in machine.nodes] == [2]  # or no two ranks could use the link


def test_folders_on_the_way_to_the_output_are_made(capsys: pytest.CaptureFixture[str]) -> None:
    """Missing folders on the path of the output are created, as for pictures, traces and conversions."""
    status, _, err = run(capsys, "calibrate", "network", "latency.txt", "-o", "new/folder/x.yaml")
    assert (status, err) == (0, "wrote new/folder/x.yaml\n")
    assert load_machine("new/folder/x.yaml").name == "x"


WRONG = {
    "a file that is not there": (("none.txt",), "none.txt: file must be readable"),
    "an output below a file": (("latency.txt", "-o", "bw.txt/x.yaml"), "output must be a file that can be made"),
    "an output that is a folder": (("latency.txt", "-o", "."), "output must be a file, got a folder"),
    "an eager limit without a unit": (("latency.txt", "--eager-limit", "64"), "--eager-limit must be a size"),
    "a condition without a pattern": (("latency.txt", "--where", "nodes"), "COLUMN=PATTERN"),
    "two conditions on a column": (
        ("latency.txt", "--where", "a=b", "--where", "a=c"),
        "--where must have the form COLUMN=PATTERN, each COLUMN once, got 'a=c'",
    ),
    "conditions without files": (("--where", "a=b"), "must go with files"),
    "three hosts": (("--hosts", "a,b,c"), "two computers"),
    "no launcher": (("--mpiexec", "no-such-mpiexec"), "mpiexec must be a command"),
    "several nodes and no link between": (("latency.txt", "--within-node", "--nodes", "4"), "nodes must be 1"),
    "one processor and no link between": (("latency.txt", "--within-node", "--processors", "1"), "must be 2 or more"),
    "bandwidths alone": (("bw.txt",), "bandwidths alone do not give"),
    "words that no shell takes": (("--mpiexec", "mpiexec 'x"), "--mpiexec must be a command line in shell syntax"),
    "hosts of files": (("latency.txt", "--hosts", "a,b"), "must go without files"),
    "plots into a file": (("latency.txt", "--plots", "bw.txt"), "plots must go to a folder"),
    "a device": (("latency.txt", "-o", "/dev/full"), "got: a device, which is no ordinary file"),
}


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_bad_usage_is_a_short_message_with_exit_status_2(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each mistake has exit status 2 and a message; standard output stays empty, and no machine file is written."""
    arguments, told = WRONG[case]
    status, out, err = run(capsys, "calibrate", "network", *arguments)
    assert (status, out) == (2, "")
    assert told in err
    assert not list(Path().glob("*.yaml"))


def test_a_link_to_a_file_is_written_through(capsys: pytest.CaptureFixture[str]) -> None:
    """If the output is a symbolic link, the machine is written to the link's target and the link stays."""
    Path("link.yaml").symlink_to("real.yaml")
    assert run(capsys, "calibrate", "network", "latency.txt", "-o", "link.yaml")[0] == 0
    assert Path("link.yaml").is_symlink()
    assert len(load_machine("real.yaml").nodes) == 2


def test_a_network_measured_here_is_a_node_with_a_link_within(capsys: pytest.CaptureFixture[str]) -> None:
    """Both ranks run on this computer, so the machine is one node; its file states host, date, MPI and residuals."""
    arguments = ("--time", "2", "--largest", "64 KiB", "--name", "here")
    status, _, err = run(capsys, "calibrate", "network", *arguments)
    assert status == 0, err
    machine = load_machine("here.yaml")
    assert len(machine.nodes) == 1
    assert machine.network.within_node.send_delay(0) > 0
    text = Path("here.yaml").read_text()
    for what in ("measured by clue between", "MPI:", "64 KiB", "half round trip"):
        assert what in text
    ping_pong(1024).save("pp.clue")
    Path("run.yaml").write_text("program: {trace: pp.clue}\nmachine: here.yaml\nplacement: [0, 0]\n")
    assert run(capsys, "simulate", "run.yaml")[0] == 0


def test_contention_of_a_known_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Two pairs run at once on this computer, a node per rank: the result is a contention model and a plot."""
    run(capsys, "calibrate", "network", "latency.txt", "bw.txt", "-o", "net.yaml")
    arguments = ("--machine", "net.yaml", "--pairs", "2", "--node-per-rank", "--time", "0.2", "--sizes", "1 KiB,8 KiB")
    status, out, err = run(capsys, "calibrate", "contention", *arguments, "-o", "both.yaml", "--json", "--plots", "p")
    assert status == 0, err
    document = json.loads(out)
    assert document["taken"] == document["models"][0]["model"]
    assert len(document["models"]) == 5
    assert Path("p/contention.png").exists()
    machine = load_machine("both.yaml")
    assert machine.network.between_nodes.eager_limit == 8192
    assert any("contention: " in note for note in machine.notes)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--pairs", "1", "simultaneous pairs must be at least 2, got 1"),
        ("--sizes", "1 KB,1000 B", "sizes must differ, got 1 KB, 1 KB"),
    ],
)
def test_nothing_to_compare_is_refused_before_a_link_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str, value: str, said: str
) -> None:
    """Without a machine, the link is measured first, which takes a minute; what is refused does not wait for it."""

    def measure(*_: object, **_more: object) -> None:
        raise AssertionError("measured")

    monkeypatch.setattr("clue.cli.calibrate.measure_link", measure)
    status, out, err = run(capsys, "calibrate", "contention", option, value)
    assert (status, out, err) == (2, "", f"clue: {said}\n")


@pytest.mark.parametrize(
    ("options", "apart"),
    [((), ""), (("--nodes", "1"), ""), (("--nodes", "4"), "--nodes 4"), (("--processors", "1"), "--processors 1")],
)
def test_what_needs_a_link_between_nodes_is_told_to_the_measurement(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], apart: str
) -> None:
    """Several nodes, or nodes of one processor, need a link between nodes: on one computer, nothing is measured."""

    def measure(*_: object, apart: str, **_more: object) -> None:
        raise UsageError(f"apart for {apart!r}")

    monkeypatch.setattr("clue.cli.calibrate.measure_link", measure)
    status, out, err = run(capsys, "calibrate", "network", *options, "-o", "net.yaml")
    assert (status, out, err) == (2, "", f"clue: apart for {apart!r}\n")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "'contention (--hosts names them)' on []"),
        (("--hosts", "a,a,b,b"), "'contention (--hosts names them)' on ['a', 'b']"),
        (("--node-per-rank",), "'' on []"),
    ],
)
def test_contention_needs_a_link_between_nodes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], told: str
) -> None:
    """Without a machine, a link between two different computers is measured, unless each rank counts as one."""

    def measure(_mpiexec: object, hosts: list[str], *, apart: str, **_more: object) -> None:
        raise UsageError(f"apart for {apart!r} on {hosts}")

    monkeypatch.setattr("clue.cli.calibrate.measure_link", measure)
    status, out, err = run(capsys, "calibrate", "contention", *options, "-o", "both.yaml")
    assert (status, out, err) == (2, "", f"clue: apart for {told}\n")


TWO_KINDS = """\
name: two-kinds
nodes: [{count: 1, type: a}, {count: 1, type: b}]
node_types: {a: {processors: 1}, b: {processors: 1}}
network: {between_nodes: {send_delay: 1 us, transmission_delay: 1 us}}
"""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--pairs", "2", "--sizes", "1 KB"),
            "simultaneous pairs must be at least 3, or sizes at least 2, to choose a model, got 2 pairs and 1 KB",
        ),
        (
            ("--machine", "two-kinds.yaml"),
            "two-kinds: machine must have one kind of nodes, one link between them and no changes, got more: write its "
            "contention into its own file",
        ),
    ],
)
def test_a_model_that_cannot_be_chosen_or_written_is_refused_before_pairs_are_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    """One slowdown decides nothing, and the file of a machine with several kinds of nodes cannot be rewritten."""

    def measure(*_: object, **_more: object) -> None:
        raise AssertionError("measured")

    for name in ("measure_link", "measure_pairs"):
        monkeypatch.setattr(f"clue.cli.calibrate.{name}", measure)
    Path("two-kinds.yaml").write_text(TWO_KINDS)
    status, out, err = run(capsys, "calibrate", "contention", *options)
    assert (status, out, err) == (2, "", f"clue: {said}\n")


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the measurements that every calibration of a processor ends with, 2.5 s together."""
    monkeypatch.setattr("clue.cli.calibrate.measure_time_slice", partial(measure_time_slice, 0.2))
    monkeypatch.setattr("clue.cli.calibrate.measure_cold_start", partial(measure_cold_start, 0.01))


PROGRAM = """\
from mpi4py import MPI
import virtual_layer
with virtual_layer.region("sums"):
    sum(range(2_000_000))
MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.usefixtures("briefly")
def test_a_processor_is_compared_with_that_of_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """The trace's program is recorded here, alone and in two copies; on the same computer the factor is near 1."""
    Path("sums.py").write_text(PROGRAM)
    assert run(capsys, "record", "--repeats", "1", "-n", "1", "sums.py")[0] == 0
    arguments = ("--trace", "sums.clue", "--repeats", "1", "--busy", "2", "--name", "here")
    status, out, err = run(capsys, "calibrate", "processor", *arguments, "--json")
    assert status == 0, err
    document = json.loads(out)
    assert set(document["performance_factor"]) == {"default", "sums"}
    assert 0.2 < document["performance_factor"]["sums"]["value"] < 5
    assert "here:" in Path("here.yaml").read_text()


def test_all_recordings_of_a_program_read_the_same_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two recordings alone, and two times two copies at once, get all that the standard input had."""
    built = TraceBuilder(1, "prog.py")
    built[0].compute(1.0)
    built.build().save("t.clue")
    Path("prog.py").touch()
    Path("input").write_text("100\n")
    read: list[bytes] = []

    def record(*_: object, stdin: int | None = None, **_more: object) -> Trace:
        assert stdin is not None
        read.append(os.read(stdin, 100))
        return Trace.open("t.clue")

    monkeypatch.setattr("clue.cli.calibrate.record", record)
    monkeypatch.setattr("clue.cli.calibrate.usable_processors", lambda: 2)
    monkeypatch.setattr("clue.cli.calibrate.measure_time_slice", lambda **_: None)
    monkeypatch.setattr("clue.cli.calibrate.measure_cold_start", ColdStart)
    with Path("input").open("rb") as file, standard_input_from(file.fileno()):
        status, _, err = run(capsys, "calibrate", "processor", "--trace", "t.clue", "--repeats", "2", "--name", "here")
    assert status == 0, err
    assert read == [b"100\n"] * 6


@pytest.mark.usefixtures("briefly")
def test_a_processor_is_compared_by_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    """The second run compares kernel speeds with the file that the first run wrote."""
    kernel = ("--kernels", "dgemm", "--time", "0.05", "--busy", "1")
    status, out, _ = run(capsys, "calibrate", "processor", *kernel, "--name", "there")
    assert status == 0
    assert "Speed of kernels" in out and "--reference" in out
    status, out, _ = run(
        capsys, "calibrate", "processor", *kernel, "--name", "here", "--reference", "there.yaml",
        "--region", "cholesky=dgemm", "--json",
    )  # fmt: skip
    assert status == 0
    assert set(json.loads(out)["performance_factor"]) == {"default", "cholesky"}


def test_a_processor_that_is_not_at_hand_is_compared_by_stated_speeds(capsys: pytest.CaptureFixture[str]) -> None:
    """Kernels 2 and 5 times as fast as the reference give factors 1/2 and 1/5, and elsewhere their geometric mean."""
    Path("there.yaml").write_text(
        '# speeds: {"processor": "old", "host": "a", "kernels": {"dgemm": {"1": 1e9}, "triad": {"1": 2e9}}}'
    )
    stated = ("--target", "dgemm=2e9", "--target", "triad=1e10", "--reference", "there.yaml", "--name", "new")
    status, out, err = run(capsys, "calibrate", "processor", *stated, "--json")
    assert status == 0, err
    factors = {region: each["value"] for region, each in json.loads(out)["performance_factor"].items()}
    assert factors == pytest.approx({"default": math.sqrt(0.1), "dgemm": 0.5, "triad": 0.2})
    assert "reference_processor: old" in Path("new.yaml").read_text()


def test_without_a_reference_stated_speeds_are_compared_with_this_computer(capsys: pytest.CaptureFixture[str]) -> None:
    """A stated speed far beyond this computer's gives a factor near 0."""
    status, out, err = run(capsys, "calibrate", "processor", "--target", "core=1e15", "--time", "0.05", "--json")
    assert status == 0, err
    assert 0 < json.loads(out)["performance_factor"]["core"]["value"] < 1e-6


def test_a_processor_does_not_replace_the_file_of_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    """Without -o and --name, a node type is written to node.yaml, under the name of the nodes of calibrated.yaml."""
    assert run(capsys, "calibrate", "network", "latency.txt")[0] == 0
    network = Path("calibrated.yaml").read_text()
    Path("there.yaml").write_text(
        '# speeds: {"processor": "old", "host": "a", "kernels": {"dgemm": {"1": 1e9}, "triad": {"1": 2e9}}}'
    )
    stated = ("--target", "dgemm=2e9", "--target", "triad=1e10", "--reference", "there.yaml")
    status, _, err = run(capsys, "calibrate", "processor", *stated)
    assert (status, err) == (0, "wrote node.yaml\n")
    assert Path("calibrated.yaml").read_text() == network
    assert [node.name for node in load_machine("calibrated.yaml").nodes] == ["node", "node"]
    assert "node_types:\n  node:\n" in Path("node.yaml").read_text()


WRONG_PROCESSORS = {
    "a stated speed of an unknown kernel": (("--target", "fft=1e9"), "--target must be among"),
    "a stated speed that is none": (("--target", "dgemm=fast"), "--target dgemm must be a number of flop/s > 0"),
    "a stated speed without a kernel": (("--target", "1e9"), "--target must have the form KERNEL=SPEED"),
    "two speeds of a kernel": (("--target", "core=1", "--target", "core=2"), "each KERNEL once, got 'core=2'"),
    "two kernels of a region": (("--region", "a=core", "--region", "a=dgemm"), "each REGION once, got 'a=dgemm'"),
    "two kernels of a region beside stated speeds": (
        ("--target", "core=1", "--region", "a=core", "--region", "a=core"),
        "each REGION once, got 'a=core'",
    ),
    "a time in which nothing is measured": (
        ("--target", "core=1", "--reference", "there.yaml", "--time", "1"),
        "--time must go without --target or without --reference, as nothing is measured, got both",
    ),
    "stated speeds beside kernels": (("--target", "core=1", "--kernels", "core"), "must go without --target"),
    "an unknown kernel": (("--kernels", "fft"), "--kernels must be among"),
    "an unknown kernel of a region": (("--region", "a=fft"), "must be like one of"),
    "a reference of another kind": (("--reference", "latency.txt"), "reference must be a node type"),
    "a trace that is not there": (("--trace", "none.clue"), "none.clue: trace must exist"),
    "more busy processors than there are": (("--busy", "100000"), "--busy must be at most the number of processors"),
    "a program without its trace": (("--program", "x.py"), "must go with the --trace"),
    "two things to compare with": (("--trace", "x.clue", "--reference", "y.yaml"), "must go without --trace"),
}


@pytest.mark.parametrize("case", WRONG_PROCESSORS, ids=str)
def test_bad_usage_of_processor_is_told_before_anything_runs(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each mistake has exit status 2 and a message; standard output stays empty."""
    arguments, told = WRONG_PROCESSORS[case]
    status, out, err = run(capsys, "calibrate", "processor", *arguments)
    assert (status, out) == (2, "")
    assert told in err


def test_processors_that_a_job_may_not_use_do_not_count(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a process may use two of a computer's processors, no more can be kept busy."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: {3, 5})
    status, _, err = run(capsys, "calibrate", "processor", "--busy", "3")
    assert (status, "--busy must be at most the number of processors, 2, got 3" in err) == (2, True)


def test_a_trace_whose_program_is_gone_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the option that states where the program is."""
    ping_pong(8).save("pp.clue")
    status, _, err = run(capsys, "calibrate", "processor", "--trace", "pp.clue")
    assert status == 2
    assert "name it by --program" in err


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("network latency.txt bw.txt -o bw.txt", "bw.txt"),
        ("contention --machine calibrated.yaml", "calibrated.yaml"),
        ("processor --reference there.yaml -o there.yaml", "there.yaml"),
        ("processor --target-part there.yaml -o there.yaml", "there.yaml"),
        ("processor --target-part amd-epyc-9654 --part there.yaml -o there.yaml", "there.yaml"),
        ("processor --trace pp.clue --program there.yaml -o there.yaml", "there.yaml"),
    ],
)
def test_no_input_is_overwritten(capsys: pytest.CaptureFixture[str], line: str, file: str) -> None:
    """Results to import, a known machine, a reference, parts and a program are refused as outputs before any work."""
    Path(file).touch()
    before = Path(file).read_text()
    status, out, err = run(capsys, "calibrate", *line.split())
    assert (status, out) == (2, "")
    assert err == f"clue: {file}: output must not be a file that the command reads, got {file}\n"
    assert Path(file).read_text() == before
