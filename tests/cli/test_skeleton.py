"""``clue skeleton`` from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from clue.cli import main
from clue.skeleton.calibration import Pieces
from clue.skeleton.construction import recording_of
from clue.trace import Op, Trace, TraceBuilder, disturbance
from clue.trace.builder import RankBuilder
from tests.cli.commands import MACHINE
from tests.cli.commands import run as run_clue
from tests.steady.programs import looped


def body(own: RankBuilder, rank: int, _i: int) -> None:
    """Compute, exchange messages and reduce."""
    own.compute(1.0, "solve")
    own.sendrecv(1 - rank, 800, 1 - rank)
    own.collective(Op.ALLREDUCE, 8, element=8)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in that holds a recording of 100 s; calibrated speeds are constants."""
    monkeypatch.chdir(tmp_path)
    pieces = Pieces({"core": 1e3, "memory": 1e3, "cache": 1e3}, 10.0, "nowhere")
    for name in ("calibrated", "calibrated_c"):
        monkeypatch.setattr(f"clue.cli.skeleton.{name}", lambda _trace: pieces)
    trace = looped(2, 100, body)
    heads = tuple(replace(each, wall=100.25, peak_memory=10**8) for each in trace.head.rank_heads)
    replace(trace, head=replace(trace.head, rank_heads=heads)).save("loop.clue")
    Path("pair.yaml").write_text(MACHINE)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run ``clue skeleton`` and return its exit status, standard output and standard error."""
    return run_clue(capsys, "skeleton", *arguments)


def test_a_skeleton_is_written_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The text has what the skeleton represents, its folding, its shortest length and the command to run it."""
    status, said, err = run(capsys, "loop.clue", "--seconds", "10.025", "-o", "short.py")
    assert status == 0
    for each in (
        "10.03 s on 2 ranks",
        "100.2 s when recorded, 10 times as long",
        "Q = ",
        "loop.py:10: 100 iterations of 1 s",
        "1.002 s",
    ):
        assert each in said
    assert "Next: mpiexec -n 2 python short.py" in said
    assert "wrote short.py" in err
    assert "SCALE = 10.0" in Path("short.py").read_text()


def test_json_has_the_keys_of_the_interface(capsys: pytest.CaptureFixture[str]) -> None:
    """The document has the documented keys, and the predicted times of replays on the machine."""
    status, said, _ = run(
        capsys,
        "loop.clue",
        "--scale",
        "10",
        "-o",
        "short.py",
        "--json",
        "--machine",
        "pair.yaml",
        "--trace",
        "short.clue",
    )
    document = json.loads(said)
    assert status == 0
    assert [document[key] for key in ("ranks", "seconds", "scale", "application", "threshold", "good", "warnings")] == [
        2, pytest.approx(10.025), 10.0, 100.25, 0.0, True, []
    ]  # fmt: skip
    assert document["dominant"]["name"] == "loop.py:10"
    assert document["shortest"] == pytest.approx(1.0025)
    assert document["ratio"] > 5
    assert len(document["skeleton"]) == 16
    (replayed,) = document["replayed"].values()
    assert replayed["predicted"] == pytest.approx(replayed["application"], rel=0.01)
    assert replayed["skeleton"] == pytest.approx(replayed["predicted"] / 10)
    assert Trace.open("short.clue").ranks == 2


def test_polls_are_no_error_of_scaling(capsys: pytest.CaptureFixture[str]) -> None:
    """An iteration takes the 0.5 ms that a rank computes and the 55.8 us of a message, however often it polled.

    Each of the 100 polls of an iteration costs 5 us in a replay; the skeleton leaves all of them out.
    """

    def polling(own: RankBuilder, rank: int, _i: int) -> None:
        own.compute(1e-3)
        request = own.irecv(1 - rank)
        own.send(1 - rank, 800)
        for _ in range(100):
            own.add(Op.POLL)
        own.wait(request)

    looped(2, 100, polling).save("polls.clue")
    _, said, _ = run(capsys, "polls.clue", "--scale", "10", "-o", "p.py", "--json", "--machine", "pair.yaml")
    (replayed,) = json.loads(said)["replayed"].values()
    assert replayed["application"] == pytest.approx(100 * 555.8e-6 + 0.125, rel=1e-9)
    assert replayed["error"] == pytest.approx(0, abs=1e-9)


def test_the_shortest_is_good_and_a_shorter_one_warns(capsys: pytest.CaptureFixture[str]) -> None:
    """A skeleton below the shortest good one is written, with a warning that names the loop that does not fit."""
    assert json.loads(run(capsys, "loop.clue", "--shortest", "-o", "s.py", "--json")[1])["scale"] == 100.0
    status, said, err = run(capsys, "loop.clue", "--scale", "1000", "-o", "s.py", "--json")
    document = json.loads(said)
    assert (status, document["good"]) == (0, False)
    assert any("loop.py:10" in each for each in document["warnings"])
    assert "clue: warning: " in err


def test_a_disturbed_recording_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A rank was kept from computing for half of the time that the skeleton stands for: all outputs say so, once."""
    trace = Trace.open("loop.clue")
    heads = tuple(replace(each, delayed=each.wall / 2) for each in trace.head.rank_heads)
    notes = tuple(disturbance.about(heads))
    replace(trace, head=replace(trace.head, rank_heads=heads, notes=notes)).save("busy.clue")
    _, said, err = run(capsys, "busy.clue", "--scale", "10", "-o", "s.py", "--trace", "s.clue", "--json")
    told = f"busy.clue: {notes[0]}"
    assert "other processes kept a rank from computing for 50% of its time" in told
    assert json.loads(said)["warnings"] == [told]
    assert f"clue: warning: {told}" in err
    assert "kept a rank from computing" in run(capsys, "busy.clue", "--scale", "10", "-o", "s.py")[1]
    assert Trace.open("s.clue").head.notes.count(notes[0]) == 1


def test_the_language_is_that_of_the_file_unless_it_is_stated(capsys: pytest.CaptureFixture[str]) -> None:
    """The file name decides the language unless ``--language`` does; each variant has its own skeleton name."""
    names = set()
    for file, *options in (
        ("s.py",), ("s.c",), ("s.txt", "--language", "c"), ("s.py", "--memory"), ("s.py", "--work", "solve=cache"),
    ):  # fmt: skip
        status, said, _ = run(capsys, "loop.clue", "--scale", "10", "-o", file, "--json", *options)
        assert status == 0
        names.add(json.loads(said)["skeleton"])
        is_c = file != "s.py"
        assert ("#include <mpi.h>" in Path(file).read_text()) == is_c
        assert recording_of(Trace.open("loop.clue")) in Path(file).read_text()
    assert len(names) == 4
    text = Path("s.py").read_text()
    assert '"solve": {cache: 1}' in text
    assert "region solve: cache 100% (as stated)" in text


@pytest.mark.parametrize(
    ("file", "compiling", "compiled"),
    [
        ("s.c", "mpicc -O2 s.c", "s"),
        ("s.txt", "mpicc -O2 -x c s.txt", "s"),
        ("s", "mpicc -O2 -x c s", "s.out"),
        ("skeleton", "mpicc -O2 -x c skeleton", "skeleton.out"),
    ],
)
def test_a_program_in_c_of_any_name_is_compiled_as_c(
    capsys: pytest.CaptureFixture[str], file: str, compiling: str, compiled: str
) -> None:
    """Where the name does not tell a compiler the language, the commands do; the program never replaces its source."""
    status, said, _ = run(capsys, "loop.clue", "--scale", "10", "-o", file, "--language", "c")
    assert status == 0
    shown = [line.strip() for line in said.splitlines()]
    assert f"Next: {compiling} -o {compiled}; mpiexec -n 2 ./{compiled}" in shown
    own = "skeleton.out" if file == "skeleton" else "skeleton"
    assert f"{compiling} -o {own} && mpiexec -n 2 ./{own}\n" in Path(file).read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["loop.clue", "-o", "s.py"], "one of the arguments --seconds --scale --shortest is required"),
        (["loop.clue", "--scale", "2", "--shortest", "-o", "s.py"], "not allowed with argument"),
        (["loop.clue", "--scale", "2"], "-o"),
        (["loop.clue", "--scale", "0.5", "-o", "s.py"], "scale of a skeleton must be a number from 1 on, got 0.5"),
        (
            ["loop.clue", "--seconds", "200", "-o", "s.py"],
            "seconds of a skeleton must be above 0 and at most those of the application, 100 s, got 200 s",
        ),
        (["none.clue", "--scale", "2", "-o", "s.py"], "none.clue"),
        (["loop.clue", "--scale", "2", "-o", "."], "output must be a file, got a folder"),
        (
            ["loop.clue", "--scale", "2", "-o", "s.py", "--trace", "s.py"],
            "s.py: files must differ, got one for -o and --trace",
        ),
        (
            ["loop.clue", "--scale", "2", "-o", "s.clue/s.py", "--trace", "s.clue"],
            "s.clue: --trace must name a file, got a folder of -o",
        ),
        (["loop.clue", "--scale", "2", "-o", "s.py", "--trace", "pair.yaml"], "pair.yaml: trace must be a new folder"),
        (["loop.clue", "--scale", "2", "-o", "s.py", "--work", "disk"], "--work must be core, cache or memory"),
        (["loop.clue", "--scale", "2", "-o", "s.py", "--machine", "nowhere"], "machine must be a file"),
        (
            ["loop.clue", "--scale", "2", "-o", "s.py", "--machine", "pair.yaml", "--machine", "pair.yaml"],
            "--machine must name machines with different names, got pair, pair",
        ),
    ],
)
def test_bad_input_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    """The status is 2, and no skeleton is written."""
    try:
        status = main(("skeleton", *arguments))
    except SystemExit as error:
        status = int(str(error.code))
    assert status == 2
    assert said in capsys.readouterr().err
    assert not Path("s.py").exists()


def test_what_no_skeleton_repeats_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the call that a skeleton cannot repeat."""
    built = TraceBuilder(1, "app.py")
    built[0].compute(1.0)
    built[0].add(Op.OTHER, call="Win.Put")
    built.build().save("odd.clue")
    status, _, err = run(capsys, "odd.clue", "--scale", "2", "-o", "s.py")
    assert status == 2
    assert "Win.Put" in err


def test_a_skeleton_replaces_a_skeleton_only(capsys: pytest.CaptureFixture[str]) -> None:
    """A skeleton of either language may be made again, and an empty file be filled; any other file is kept."""
    Path("empty.py").touch()
    for name in ("short.py", "short.py", "short.c", "short.c", "empty.py"):
        assert run(capsys, "loop.clue", "--scale", "10", "-o", name)[0] == 0
    own = "from mpi4py import MPI\n"
    Path("loop.py").write_text(own)
    status, out, err = run(capsys, "loop.clue", "--scale", "10", "-o", "loop.py")
    assert (status, out) == (2, "")
    assert err == "clue: loop.py: skeleton must be a new file or replace a skeleton, got another file\n"
    assert Path("loop.py").read_text() == own


@pytest.mark.parametrize(("option", "file"), [("-o", "pair.yaml"), ("--trace", "loop.clue")])
def test_no_input_of_a_skeleton_is_overwritten(capsys: pytest.CaptureFixture[str], option: str, file: str) -> None:
    """The recording, and a machine on which it is replayed, are refused as outputs."""
    target = [] if option == "-o" else ["-o", "s.py"]
    arguments = ["loop.clue", "--scale", "10", "--machine", "pair.yaml", *target, option, file]
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert err == f"clue: {file}: output must not be a file that the command reads, got {file}\n"
    assert not Path("s.py").exists()
