"""``clue extrapolate`` from the command line, and configurations whose traces are extrapolated from recordings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.accuracy.extrapolate.scale import stencil
from clue.cli import main
from clue.cli.arguments import parse_arguments
from clue.extrapolation import Family, Refusal, RefusedError, infer, loops, making, plan, recordings
from clue.extrapolation.plan import Role, Wanted
from clue.kernel.fast.library import ENGINE, LOOPED
from clue.native import NoLibraryError
from clue.structure import rules
from clue.trace import Trace
from tests.cli.commands import MACHINE, run
from tests.extrapolation.families import NAME, Ring, parcels, ring, saved

PATTERN = "ring-{size}-{ranks}.clue"
RUN = """\
program: {extrapolate: {traces: "ring-{size}-{ranks}.clue", size: 40, ranks: 8}}
machine: pair.yaml
"""
RANKING = """\
name: which
workloads: {heat: {program: {extrapolate: {traces: "ring-{size}-{ranks}.clue", size: 40}}, ranks: [8, 16]}}
options: {four: {machine: pair.yaml, nodes: 16, price: 1 EUR}, eight: {machine: pair.yaml, nodes: 32, price: 2 EUR}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in with recordings of a ring, whose rules inference knows in advance, and a machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(making, "infer", Ring)
    saved(Path(), [(8, 2), (8, 4), (16, 2), (16, 4)])
    Path("pair.yaml").write_text(MACHINE)
    Path("many.yaml").write_text(MACHINE.replace("count: 2", "count: 16"))
    Path("run.yaml").write_text(RUN.replace("pair", "many"))
    Path("which.yaml").write_text(RANKING)
    return tmp_path


def extrapolated(capsys: pytest.CaptureFixture[str], *more: str, size: str = "40") -> tuple[int, str, str]:
    """Run ``clue extrapolate`` on the recordings of the ring."""
    return run(capsys, "extrapolate", PATTERN, "--size", size, "--ranks", "8", *more)


def refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make inference refuse a call."""

    def infer(family: Family, *_: object) -> Ring:
        why = "sizes must follow a rule, got 3, 1, 4"
        raise RefusedError((Refusal("ring.py:3 Sendrecv", why, (12, 3)),), family.name)

    monkeypatch.setattr(making, "infer", infer)


def test_json_has_the_keys_of_the_interface(capsys: pytest.CaptureFixture[str]) -> None:
    """The document has the documented keys, and the trace is written to the given file."""
    status, out, err = extrapolated(capsys, "-o", "new/large.clue", "--json")
    document = json.loads(out)
    assert status == 0
    assert (document["trace"], document["size"], document["ranks"]) == ("new/large.clue", 40, 8)
    assert document["refused"] == []
    assert document["warnings"][0].startswith("extrapolated to size 40 on 8 ranks from 4 recordings")
    assert document["factor"] == {"size": 2.5, "ranks": 2.0}
    assert document["local"][0] == {"dimension": 1, "target": 5.0, "low": 2.0, "high": 8.0, "inside": True}
    assert [each["size"] for each in document["recordings"]] == [8, 8, 16, 16]
    assert Trace.open("new/large.clue").ranks == 8
    assert "clue: warning: extrapolated to size 40" in err and "wrote new/large.clue" in err


def test_a_summary_tells_what_was_used_and_what_is_next(capsys: pytest.CaptureFixture[str]) -> None:
    """The summary has recordings, factors, local sizes inside and outside of them, warnings and the next command."""
    status, out, _ = extrapolated(capsys, "-o", "large.clue")
    text = " ".join(out.split())
    assert status == 0
    for said in (
        "large.clue: size 40 on 8 ranks",
        "program ring.py --n 40",
        "recordings 4: sizes 8, 16; ranks 2, 4",
        "2.5 times the largest size, 2 times the most ranks",
        "size / ranks 5 2 8 recorded, or between such",
        "size^2 / ranks 200 16 128 outside of what was recorded",
        "bursts of ring.py:3 differ by 3 %",
        "Next: program: {trace: large.clue} in a configuration",
    ):
        assert said in text


def test_what_is_refused_leaves_no_trace(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The status is 1; JSON and standard error name call site and reason; an earlier trace stays."""
    assert extrapolated(capsys, "-o", "large.clue")[0] == 0
    before = Trace.open("large.clue").head
    refuse(monkeypatch)
    status, out, err = extrapolated(capsys, "-o", "large.clue", "--json")
    document = json.loads(out)
    assert status == 1
    assert document["record"] == [{"size": 12, "ranks": 3}]
    assert document["refused"] == [{"site": "ring.py:3 Sendrecv", "why": "sizes must follow a rule, got 3, 1, 4"}]
    assert (document["trace"], document["size"], document["ranks"]) == (None, 40, 8)
    assert err == (
        f"clue: {PATTERN}: site ring.py:3 Sendrecv sizes must follow a rule, got 3, 1, 4: record size 12 on 3 ranks to "
        "decide\n"
    )
    assert Trace.open("large.clue").head == before
    assert extrapolated(capsys, "-o", "other.clue")[:2] == (1, "")
    assert not Path("other.clue").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-o x.clue", 'extrapolate must have a pattern such as "cg-{size}-{ranks}.clue", got none'),
        (
            "-o x a-8-2.clue",
            "a-8-2.clue: pattern must have {size} and {ranks} once",
        ),
        ("ring-{size}-{ranks}.clue", "ring-{size}-{ranks}.clue: -o must name the file of the trace, got none"),
        (f"{PATTERN} -o ring-40-8.clue", f"ring-40-8.clue: -o must not be a name that matches {PATTERN}"),
        (
            f"{PATTERN} -o ./ring-40-8.clue",
            f"./ring-40-8.clue: -o must not be a name that matches {PATTERN}",
        ),
        ("ring-{size}.clue -o x.clue", "ring-{size}.clue: pattern must have {size} and {ranks} once"),
        ("{size}/ring-{size}-{ranks}.clue -o x.clue", "{size}/ring-{size}-{ranks}.clue: pattern must have {size} and"),
        ("--run -o x-40-8.clue x.py {size}", "x-40-8.clue: -o must not be a name that matches x-{size}-{ranks}.clue"),
        ("--run -o x.clue --plots x.py x.py {size}", "x.py: plots must go to a folder, got a file"),
        ("--run -o pair.yaml x.py {size}", "pair.yaml: trace must be a new folder or replace a trace, got a file"),
        ("x.py -o x.clue", "x.py: program must follow --plan or --run, got neither"),
        ("other-{size}-{ranks}.clue -o x.clue", "other-{size}-{ranks}.clue: recordings must exist, got none"),
        ("--plan", "extrapolate must have a program after --plan or --run, got none"),
        ("--plan no.py {size}", "no.py: program must exist, got no such file"),
        ("--plan x.py 100", "x.py: arguments must have {size} in the place of the problem's size, got 100"),
        ("--plan x.py -- 100", "x.py: arguments must have {size} in the place of the problem's size, got -- 100"),
        ("--plan -- x.py", "x.py: arguments must have {size} in the place of the problem's size, got none"),
        ("--plan x.py", "x.py: arguments must have {size} in the place of the problem's size, got none"),
        ("--run --traces y.clue x.py {size}", "y.clue: pattern must have {size} and {ranks} once"),
        ("--plan --admissible n=2 x.py {size}", "--admissible must be such as ranks=2^k, size=20*k, size=ranks*k"),
        (
            "--run --admissible ranks=k^2 x.py {size}",
            "--admissible ranks=k^2 must hold at the target, got 40 on",
        ),
    ],
)
def test_bad_usage(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 2, with one line of message and nothing on standard output."""
    Path("x.py").write_text("")
    status, out, err = run(capsys, "extrapolate", "--size", "40", "--ranks", "8", *line.split())
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith(f"clue: {said}")


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("--run -o x.clue --plots p x.py {size}", "--plots"),
        ("--run --distribution x.py:3 x.py {size}", "--distribution"),
    ],
)
def test_a_target_that_would_be_recorded_needs_no_models(
    line: str, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recordings for size 40 on 4 ranks include the target, so options for models are refused at once."""
    Path("x.py").write_text("raise SystemExit('recorded')")
    status, out, err = run(capsys, "extrapolate", "--size", "40", "--ranks", "4", *line.split())
    assert (status, out) == (2, "")
    assert err == (
        f"clue: x-{{size}}-{{ranks}}.clue: {given} must go with a target that was not recorded, got one that is among "
        "the recordings to make\n"
    )


def test_a_recording_is_not_replaced_by_any_of_its_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output may be absolute and the pattern relative, or the other way round, or lead elsewhere, or be a link."""
    names = [(PATTERN, f"{folder}/ring-40-8.clue"), (f"{folder}/{PATTERN}", "ring-40-8.clue")]
    for pattern, output in (*names, (f"../{folder.name}/{PATTERN}", "ring-40-8.clue")):
        status, out, err = run(capsys, "extrapolate", pattern, "--size", "40", "--ranks", "8", "-o", output)
        assert (status, out) == (2, "")
        assert err == f"clue: {output}: -o must not be a name that matches {pattern}, got one\n"
    Path("latest.clue").symlink_to("ring-16-4.clue")
    status, out, err = extrapolated(capsys, "-o", "latest.clue")
    assert (status, out) == (2, "")
    assert err == "clue: latest.clue: output must not be a file that the command reads, got ring-16-4.clue\n"


def test_a_plan_is_shown_or_carried_out(capsys: pytest.CaptureFixture[str]) -> None:
    """``--plan`` and ``--run`` exclude each other."""
    with pytest.raises(SystemExit) as caught:
        main(["extrapolate", "--plan", "--run", "--size", "40", "--ranks", "8", "x.py", "{size}"])
    assert caught.value.code == 2
    assert "--run: not allowed with argument --plan" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["cg-{size}-{ranks}.clue", "--size", "8", "--ranks", "2", "-o", "x"], ["cg-{size}-{ranks}.clue"]),
        (["--plan", "--size", "8", "--ranks=2", "cg.py", "--size", "{size}", "-o", "x"],
         ["cg.py", "--size", "{size}", "-o", "x"]),
    ],
)  # fmt: skip
def test_options_stand_before_or_behind_a_pattern_but_not_behind_a_program(
    words: Sequence[str], program: Sequence[str]
) -> None:
    """Options after a pattern belong to clue; words after a program belong to the program."""
    found = parse_arguments(["extrapolate", *words])
    assert (found.size, found.ranks) == (8, 2)
    assert [word for word in found.words if word != "--"] == program


def test_what_was_extrapolated_is_no_recording(capsys: pytest.CaptureFixture[str]) -> None:
    """A pattern that matches an extrapolated trace is refused."""
    assert extrapolated(capsys, "-o", "large.clue")[0] == 0
    Path("large.clue").rename("ring-40-8.clue")
    status, _, err = extrapolated(capsys, "-o", "larger.clue", size="80")
    assert status == 2
    assert err == "clue: ring-40-8.clue: trace must be a recording, got one that was extrapolated itself\n"


def test_a_configuration_is_simulated_by_a_trace_that_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    """The makespan equals that of a ring recorded at this size on 8 ranks; a warning states the extrapolation."""
    status, out, _ = run(capsys, "simulate", "run.yaml", "--json")
    document = json.loads(out)
    assert status == 0
    assert any(each.startswith("ring.py: extrapolated to size 40 on 8 ranks") for each in document["warnings"])
    ring(40, 8).save("true.clue")
    Path("true.yaml").write_text("program: {trace: true.clue}\nmachine: many.yaml\n")
    _, out, _ = run(capsys, "simulate", "true.yaml", "--json")
    assert json.loads(out)["makespan"] == document["makespan"]
    assert "extrapolated" in run(capsys, "inspect", "run.yaml")[1]
    named = json.loads(run(capsys, "inspect", "run.yaml", "--json")[1])["program"]
    assert (named["extrapolate"]["size"], named["repeats"], named["model"]) == (40, [], None)


def test_a_comparison_is_ranked_by_traces_that_are_made(capsys: pytest.CaptureFixture[str]) -> None:
    """A trace is extrapolated for each number of ranks, and only one warning states the extrapolation."""
    status, out, _ = run(capsys, "simulate", "which.yaml", "--json")
    document = json.loads(out)
    assert status == 0
    assert {each["workloads"]["heat"]["ranks"] for each in document["ranking"]} == {16}
    assert len([each for each in document["warnings"] if "extrapolated to size 40" in each]) == 1
    assert run(capsys, "cache")[1].count("ring-40-") == 2
    assert len(json.loads(run(capsys, "cache", "--json")[1])["extrapolated"]) == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (", size: 40", "", "run.yaml:1:24: program.extrapolate.size must be given, got nothing"),
        (", ranks: 8", "", "program.ranks must be given if no trace states it, got nothing"),
        (
            "ring-{size}",
            "x-{size}",
            'program.extrapolate.traces must name recordings that exist, got "x-{size}-{ranks}',
        ),
        ("-{ranks}", "", "program.extrapolate.traces must have {size} and {ranks} once"),
        ("}}", "}, trace: x.clue}", "program.extrapolate must be given without a trace, got both"),
        ("}}", "}, ranks: 4}", "program.extrapolate.ranks must be 4, as stated elsewhere, or left out, got 8"),
        ("size: 40", "size: 0", "program.extrapolate.size must be at least 1, got 0"),
        ("size: 40", "sise: 40", "program.extrapolate.sise must be a key of"),
    ],
)
def test_faults_of_a_configuration(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each fault is reported with its place."""
    Path("run.yaml").write_text(RUN.replace(old, new, 1))
    status, out, err = run(capsys, "simulate", "run.yaml")
    assert (status, out) == (2, "")
    assert said in err


def test_ranks_of_a_comparison_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The number of ranks is stated by the workload or by its program; if both state one, they must agree."""
    Path("which.yaml").write_text(RANKING.replace("size: 40", "size: 40, ranks: 8").replace(", ranks: [8, 16]", ""))
    document = json.loads(run(capsys, "simulate", "which.yaml", "--json")[1])
    assert {each["workloads"]["heat"]["ranks"] for each in document["ranking"]} == {8}
    Path("which.yaml").write_text(RANKING.replace("size: 40", "size: 40, ranks: 8"))
    status, _, err = run(capsys, "simulate", "which.yaml")
    assert status == 2
    assert "workloads.heat.program.extrapolate.ranks must be 16, as stated elsewhere, or left out, got 8" in err


def test_a_validation_takes_size_and_ranks_of_its_cases(capsys: pytest.CaptureFixture[str]) -> None:
    """One program serves cases of several sizes and numbers of ranks."""
    Path("v.yaml").write_text(
        "programs: {heat: {extrapolate: {traces: 'ring-{size}-{ranks}.clue'}}}\nmachine: many.yaml\n"
        "cases:\n  - {program: heat, size: 40, ranks: 8, measured: 1}\n"
        "  - {program: heat, size: 80, ranks: 16, measured: 1}\n"
    )
    status, out, _ = run(capsys, "validate", "v.yaml", "--json", "--samples", "0")
    assert status == 0
    assert [each["ranks"] for each in json.loads(out)["cases"]] == [8, 16]


def ask_for(monkeypatch: pytest.MonkeyPatch, *places: tuple[int, int]) -> None:
    """Make plans want these sizes and numbers of ranks, whatever the program accepts."""
    roles = {Role(ranks, size): Wanted(size, ranks) for size, ranks in places}
    monkeypatch.setattr(recordings, "wanted", lambda *_: roles)


def test_a_plan_is_made_and_carried_out(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """``--plan`` keeps no recordings; ``--run`` keeps all but those on 3 ranks, which the program refuses."""
    ask_for(monkeypatch, *((n, p) for n in (8, 16) for p in (1, 2, 3)))
    Path("prog.py").write_text(
        "import sys\nfrom mpi4py import MPI\nc = MPI.COMM_WORLD\nif c.size == 3: sys.exit('no')\n"
        "x = sum(i * i for i in range(1000 * int(sys.argv[1])))\nc.allreduce(x)\n"
    )
    options = ("--size", "40", "--ranks", "8", "--repeats", "1")
    assert main(("extrapolate", "--plan", *options, "--json", "prog.py", "{size}")) == 0
    document = json.loads(capfd.readouterr().out)
    assert [(each["size"], each["ranks"]) for each in document["recordings"]] == [
        (n, p) for n in (8, 16) for p in (1, 2, 3)
    ]
    assert all(each["seconds"] > 0 and each["memory"] > 1e6 for each in document["recordings"])
    assert document["repeats"] == 1 and document["left_out"] == []
    assert not list(Path().glob("prog-*"))
    assert main(("extrapolate", "--run", *options, "-o", "large.clue", "--json", "prog.py", "{size}")) == 0
    captured = capfd.readouterr()
    document = json.loads(captured.out)
    assert document["trace"] == "large.clue"
    assert sorted(path.name for path in Path().glob("prog-*")) == [
        f"prog-{n}-{p}.clue" for n in (16, 8) for p in (1, 2)
    ]
    said = "size 8 on 3 ranks could not be recorded: prog.py: program must end well, got exit status"
    assert said in captured.err and any(each.startswith(said) for each in document["warnings"])
    assert Family.open("prog-{size}-{ranks}.clue").arguments == ("{size}",)


def test_what_a_program_refuses_gives_way_to_what_it_takes(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program runs only at multiples of 5: the document has the refused sizes and what is recorded instead."""
    monkeypatch.setattr(plan, "_SMALL_POWERS", (2, 3))
    monkeypatch.setattr(plan, "_SMALL_OTHERS", ())
    Path("prog.py").write_text(
        "import sys\nfrom mpi4py import MPI\nc, n = MPI.COMM_WORLD, int(sys.argv[1])\n"
        "if n % 5: sys.exit(f'no {n} on {c.size}')\nc.allreduce(sum(i * i for i in range(1000 * n)))\n"
    )
    options = ("--size", "40", "--ranks", "4", "--repeats", "1", "--json")
    assert main(("extrapolate", "--run", *options, "prog.py", "{size}")) == 0
    captured = capfd.readouterr()
    document = json.loads(captured.out)
    made = {(each["size"], each["ranks"]) for each in document["recordings"]}
    assert made == {(each.size, each.ranks) for each in Family.open("prog-{size}-{ranks}.clue").recordings}
    assert all(size % 5 == 0 for size, _ in made) and {ranks for _, ranks in made} == {2, 3, 4}
    assert document["refused"] and all(each["size"] % 5 for each in document["refused"])
    assert all((each["instead"]["size"], each["instead"]["ranks"]) in made for each in document["refused"])
    assert (document["admissible"], document["learned"]) == ([], ["size=5*k"])
    first = document["refused"][0]
    said = f"size {first['size']} on {first['ranks']} ranks could not be recorded: prog.py: program must end well, got"
    assert any(each.startswith(said) for each in document["warnings"]) and said in captured.err
    assert f"the program is assumed to require {' and '.join(document['learned'])}" in captured.err


def test_a_plan_says_what_it_assumes(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan states what sizes and ranks the program is assumed to take, and so does the command it recommends."""
    ask_for(monkeypatch, (8, 1), (8, 2))
    Path("prog.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.barrier()\n")
    line = ("extrapolate", "--plan", "--size", "40", "--ranks", "8")
    assert main((*line, "prog.py", "{size}")) == 0
    text = " ".join(capfd.readouterr().out.split())
    assert "Assumed: the program takes any size on any number of ranks. If it demands something else, --adm" in text
    assert "1 size and 2 numbers of ranks are left to record, of 3 and 4 that rules with cases need" in text
    said = ("--admissible", "ranks=2^k", "--admissible", "size=ranks*k")
    assert main((*line, *said, "prog.py", "{size}")) == 0
    text = " ".join(capfd.readouterr().out.split())
    assert "Assumed: the program takes ranks=2^k and size=ranks*k." in text
    assert "--ranks 8 --admissible 'ranks=2^k' --admissible 'size=ranks*k' -o TRACE prog.py '{size}'" in text
    assert main((*line, *said, "--json", "prog.py", "{size}")) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["admissible"], document["learned"], document["refused"]) == (["ranks=2^k", "size=ranks*k"], [], [])


def test_a_plan_has_what_decides_a_refusal(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Given recordings, a plan has those that decide a refusal; the recommended command repeats ``--traces``."""
    ask_for(monkeypatch, (8, 1))
    Path("ring.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.barrier()\n")
    options = ("--plan", "--size", "40", "--ranks", "8", "--traces", PATTERN)
    assert main(("extrapolate", *options, "--json", "ring.py", "{size}")) == 0
    assert [each["size"] for each in json.loads(capfd.readouterr().out)["recordings"]] == [8]
    refuse(monkeypatch)
    assert main(("extrapolate", *options, "ring.py", "{size}")) == 0
    text = " ".join(capfd.readouterr().out.split())
    assert "12 3" in text
    assert f"Next: clue extrapolate --run --size 40 --ranks 8 --traces '{PATTERN}' -o TRACE ring.py '{{size}}'" in text
    assert main(("extrapolate", *options, "--distribution", "ring.py:3", "ring.py", "{size}")) == 0
    text = " ".join(capfd.readouterr().out.split())
    assert f"--traces '{PATTERN}' --distribution ring.py:3 -o TRACE ring.py '{{size}}'" in text


def test_a_plan_that_does_not_fit_says_so(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings that need too much memory are left out; the text says what is not bracketed then."""
    ask_for(monkeypatch, (8, 1), (8, 64), (16, 1))
    monkeypatch.setattr(recordings, "free_memory", lambda: 2 * 10**9)
    Path("prog.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.barrier()\n")
    assert main(("extrapolate", "--plan", "--size", "40", "--ranks", "8", "prog.py", "{size}")) == 0
    text = " ".join(capfd.readouterr().out.split())
    assert "size 8 on 64 ranks would need more memory than this computer has free, and are left out" in text
    assert "where they grow with size / ranks or size^3 / ranks" in text
    assert "Next: clue extrapolate --run --size 40 --ranks 8 -o TRACE prog.py '{size}'" in text


@pytest.fixture
def by_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepare recordings of a program whose message sizes depend on data, and shorten the search for rules."""
    monkeypatch.setattr(making, "infer", infer)
    monkeypatch.setattr(rules, "_MOST_SUMS", 4)
    for size in (6, 8):
        for ranks in (2, 3, 4):
            parcels(size, ranks).save(Path(f"sort-{size}-{ranks}.clue"))


@pytest.mark.long
@pytest.mark.usefixtures("by_data")
def test_sizes_without_a_rule_are_drawn_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Command line and configuration draw the sizes alike, and a warning says which sizes are drawn."""
    line = ("extrapolate", "sort-{size}-{ranks}.clue", "--size", "40", "--ranks", "8", "-o", "large.clue")
    said = "sizes at sort.py:7 Sendrecv are drawn from 108 recorded (mean 56 B, 0.5 to 1.5 times that): no rule"
    status, out, _ = run(capsys, *line, "--distribution", NAME, "--json")
    assert status == 0
    assert said in json.loads(out)["warnings"]
    assert said in Trace.open("large.clue").head.notes
    drawn = RUN.replace("pair", "many").replace("ring-", "sort-").replace("40", f"40, distributions: [{NAME}]")
    Path("run.yaml").write_text(drawn)
    Path("made.yaml").write_text("program: {trace: large.clue}\nmachine: many.yaml\n")
    first, second = (json.loads(run(capsys, "simulate", each, "--json")[1]) for each in ("run.yaml", "made.yaml"))
    assert first["makespan"] == second["makespan"]
    assert any(each.endswith(said) for each in first["warnings"])


@pytest.mark.usefixtures("by_data")
def test_a_place_at_which_nothing_is_to_be_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown call site, a target that was recorded, and a value that is not a list are refused with status 2."""
    line = ("extrapolate", "sort-{size}-{ranks}.clue", "--ranks", "4", "-o", "large.clue", "--size")
    status, out, err = run(capsys, *line, "40", "--distribution", "sort.py:8")
    assert (status, out) == (2, "")
    assert err == (
        "clue: sort-{size}-{ranks}.clue: distributions must name call sites of the program, got sort.py:8: did you "
        "mean sort.py:7?\n"
    )
    status, out, err = run(capsys, *line, "8", "--distribution", NAME)
    assert (status, out) == (2, "")
    assert "--distribution must go with a target that was not recorded, got one that was" in err
    Path("run.yaml").write_text(RUN.replace("40", "40, distributions: sort.py:7"))
    status, out, err = run(capsys, "simulate", "run.yaml")
    assert (status, out) == (2, "")
    assert "program.extrapolate.distributions must be a list" in err


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepare recordings of a stencil whose extrapolated trace would be too long to be written out."""
    try:
        ENGINE.load()
        LOOPED.load()
    except NoLibraryError as error:
        pytest.skip(f"no fast engine here: {error}")
    monkeypatch.setattr(making, "infer", infer)
    monkeypatch.setattr(loops, "LONGEST", 2000)
    for steps in (6, 8, 12, 16):
        for ranks in (2, 3, 4, 6):
            stencil(steps, ranks, agrees=True).save(Path(f"ring-{steps}-{ranks}.clue"))


@pytest.mark.usefixtures("long")
def test_what_is_too_long_to_be_written_is_simulated_by_its_loops(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result equals that of the written trace, and the cache holds no trace."""
    text = RUN.replace("pair", "many").replace("40", "50")
    Path("run.yaml").write_text(text)
    status, out, said = run(capsys, "simulate", "run.yaml", "--json")
    assert status == 0, said
    assert not list(Path("cache").rglob("*.clue"))
    monkeypatch.setattr(loops, "LONGEST", 10_000)
    assert json.loads(out) == json.loads(run(capsys, "simulate", "run.yaml", "--json", "--engine", "fast")[1])
    assert list(Path("cache").rglob("*.clue"))


@pytest.mark.long
@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("option", ["--explain", "--samples 4", "--plots .", "--sampled", "--engine reference"])
def test_what_needs_all_ops_says_so_of_a_program_that_is_too_long(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """If only loops can be replayed, an option that needs all ops is refused by name, in one line."""
    Path("run.yaml").write_text(RUN.replace("pair", "many").replace("40", "50"))
    status, out, said = run(capsys, "simulate", "run.yaml", *option.split())
    name = option if "engine" in option else option.split(maxsplit=1)[0]
    assert (status, out) == (2, "")
    assert f"{name} must go with an expanded trace, got about 2,400 ops, whose loops are replayed" in said


@pytest.mark.usefixtures("long")
def test_repeats_have_no_effect_on_what_is_extrapolated(capsys: pytest.CaptureFixture[str]) -> None:
    """``--repeats`` is refused as for other traces, also if only loops are replayed."""
    Path("run.yaml").write_text(RUN.replace("pair", "many").replace("40", "50"))
    status, out, said = run(capsys, "simulate", "run.yaml", "--repeats", "2")
    assert (status, out) == (2, "")
    assert "--repeats must go with a script to record, got traces only" in said


@pytest.mark.usefixtures("long")
def test_a_trace_that_is_too_long_is_not_made(capsys: pytest.CaptureFixture[str]) -> None:
    """The trace is refused in favour of ``clue simulate``, which replays its loops; a comparison is refused too."""
    status, out, said = extrapolated(capsys, "-o", "large.clue", size="50")
    assert (status, out) == (2, "")
    assert "It need not be written: clue simulate replays its loops, by program: {extrapolate:" in said
    assert not Path("large.clue").exists()
    Path("which.yaml").write_text(RANKING.replace("size: 40", "size: 90"))
    status, _, said = run(capsys, "simulate", "which.yaml")
    assert status == 2
    assert "must have at most 2,000 ops to be written out" in said
