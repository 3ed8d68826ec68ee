"""Each option of each command: where it has no effect, it is refused with status 2 before any work."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from clue.cli import main
from clue.cli.arguments import command_line
from tests.cli.commands import edit

pytestmark = pytest.mark.usefixtures("folder")

#: For options that have an effect whenever they are given.
ALWAYS: tuple[tuple[str, str], ...] = ()

#: By command and option: command lines on which the option has no effect, and the message.
WITHOUT_EFFECT: Mapping[str, Mapping[str, Sequence[tuple[str, str]]]] = {
    "record": dict.fromkeys(("-n", "-o", "--mpiexec", "--repeats", "--limit", "--json"), ALWAYS),
    "simulate": {
        "--engine": ALWAYS,
        "--explain": ALWAYS,
        "--full": (
            ("run.yaml --full", "full size must be described under 'full', got no such key"),
            ("which.yaml --full", "full size must be described under 'full', got no such key"),
        ),
        "--json": ALWAYS,
        "--plots": ALWAYS,
        "--workers": (
            ("run.yaml --workers 2", "run: --workers must go with a comparison or --samples, got one simulation"),
            ("run.yaml --workers 2 --explain", "run: --workers must go with a comparison or --samples, got one sim"),
            ("which.yaml --workers 2 --executor mpi", "which: --workers must go with --executor processes, got mpi"),
        ),
        "--top": (("run.yaml --top 3", "run: --top must go with a comparison, got one program on one machine"),),
        "--next": (("run.yaml --next 9", "run: --next must go with a comparison, got one program on one machine"),),
        "--answers": (
            ("run.yaml --answers a.csv", "run: --answers must go with a comparison, got one program on one machine"),
        ),
        "--samples": ALWAYS,
        "--sampled": (
            ("which.yaml --sampled --explain",
             "which: --sampled must go without options that need a whole replay, got --explain"),
            ("run.yaml --sampled --samples 9 --explain",
             "run: --sampled must go without options that need a whole replay, got --samples and --explain"),
        ),
        "--trace-out": (
            ("run.yaml --trace-out t.txt", "t.txt: timeline must end in .json (Trace Event Format: Perfetto, chrome://"),
            ("run.yaml --trace-out trace", "trace: timeline must end in .json"),
            ("which.yaml --trace-out t.json",
             "which: --trace-out must go with one program on one machine, got a comparison"),
            ("run.yaml --sampled --trace-out t.prv",
             "run: --sampled must go without options that need a whole replay, got --trace-out"),
        ),
        "--csv": (
            ("run.yaml --csv a.csv --latex ./a.csv", "a.csv: files must differ, got one for --csv and --latex"),
            ("run.yaml --csv out --plots out", "out: --csv must name a file, got a folder of --plots"),
            ("which.yaml --csv out --plots out/two", "out: --csv must name a file, got a folder of --plots"),
            ("run.yaml --csv out --trace-out out/t.json", "out: --csv must name a file, got a folder of --trace-out"),
        ),
        "--latex": (("run.yaml --trace-out t.json --latex t.json", "t.json: files must differ, got one for --latex"),),
        "--markdown": (("which.yaml --markdown x --csv x", "x: files must differ, got one for --csv and --markdown"),),
        "--html": (
            ("run.yaml --sampled --html r.html",
             "run: --sampled must go without options that need a whole replay, got --html"),
        ),
        "--colour-by": (
            ("run.yaml --colour-by site", "--colour-by must go with --plots, got no folder for plots"),
            ("which.yaml --plots plots --colour-by site",
             "which: --colour-by must go with one program on one machine, got a comparison"),
            ("run.yaml --plots plots --colour-by site",
             "run: --colour-by must go with a trace that has call sites, got none: record it again"),
        ),
        "--window": (
            ("run.yaml --window 1s:2s", "--window must go with --plots, got no folder for plots"),
            ("which.yaml --plots p --window 1s:2s", "which: --window must go with one program on one machine, got a"),
        ),
        "--repeats": (
            ("run.yaml --repeats 2", "--repeats must go with a script to record, got traces only"),
            ("which.yaml --repeats 1", "--repeats must go with a script to record, got traces only"),
        ),
        "--seed": (
            ("run.yaml --seed 0", "run: --seed must go with --samples, got none"),
            ("which.yaml --seed 1", "which: --seed must go with --samples, got none"),
        ),
        "--executor": (
            ("run.yaml --executor processes", "run: --executor must go with a comparison, got one program on one"),
            ("run.yaml --executor mpi --top 3", "run: --executor and --top must go with a comparison, got one program"),
        ),
    },
    "inspect": {
        "--loops": tuple(
            (f"{subject} --loops", f"{subject}: --loops must go with a trace, got {what}")
            for subject, what in (
                *(("pair.yaml", "a machine"), ("run.yaml", "a simulation"), ("which.yaml", "a comparison")),
            )
        ),
        "--json": ALWAYS,
        "--sites": tuple(
            (f"{subject} --sites", f"{subject}: --sites must go with a trace, got {what}")
            for subject, what in (
                *(("pair.yaml", "a machine"), ("run.yaml", "a simulation"), ("which.yaml", "a comparison")),
            )
        ),
        "--plots": tuple(
            (f"{subject} --plots p", f"{subject}: --plots must go with a machine, got {what}")
            for subject, what in (
                *(("pingpong.clue", "a trace"), ("run.yaml", "a simulation"), ("which.yaml", "a comparison")),
            )
        ),
    },
    "convert": {
        "--from": (
            ("pair.yaml x.xml --from clue", "pair.yaml: --from must go with a trace, got a machine"),
            ("t.csv x.jsonl --from clue", "t.csv: --from must go with a trace, got measurements"),
        ),
        "--to": ALWAYS,
        "--flops-per-second": (
            ("pingpong.clue x.clue.zip --flops-per-second 1e9",
             "--flops-per-second must go with a source of form ti or a target of form ti or simgrid, got clue to clue"),
            ("pingpong.clue x.goal --flops-per-second 1e9",
             "--flops-per-second must go with a source of form ti or a target of form ti or simgrid, got clue to goal"),
        ),
        "--lower": (
            ("pingpong.clue x.clue.zip --lower", "--lower must go with a target of form ti or goal, got clue to clue"),
            ("pair.yaml x.xml --lower", "--lower must go with a target of form ti or goal, got simgrid"),
        ),
        "--collectives": (
            ("pingpong.clue x.clue.zip --collectives openmpi",
             "--collectives must go with a target of form ti or goal, got clue"),
        ),
    },
    "extrapolate": {
        **{
            option: (
                (f"x-{{size}}-{{ranks}}.clue --size 8 --ranks 4 -o x.clue {option} {value}",
                 f"{option} must go with --plan or --run, got neither"),
            )
            for option, value in (("--traces", "y"), ("--repeats", "2"), ("--admissible", "ranks=k"))
        },
        "--plots": (
            ("--plan --size 8 --ranks 4 --plots p pingpong.py", "--plots must go with -o, as models are fitted for"),
            ("--run --size 8 --ranks 4 --plots p pingpong.py", "--plots must go with -o, as models are fitted for"),
            ("x-{size}-{ranks}.clue --size 8 --ranks 4 -o out --plots out",
             "out: -o must name a file, got a folder of --plots"),
        ),
        "-o": (("--plan --size 8 --ranks 4 -o x.clue pingpong.py", "-o must go with --run, or a pattern, got --plan"),),
        **dict.fromkeys(("--size", "--ranks", "--plan", "--run", "--json", "--distribution"), ALWAYS),
    },
    "forecast benchmark": dict.fromkeys(("--range", "--error", "--points", "--seconds", "--json", "--store"), ALWAYS),
    **{
        f"forecast {question}": dict.fromkeys(
            ("--m", "--n", "--k", "--size", "--host", "--token-file", "--timeout", "--json", "--store"), ALWAYS
        )
        for question in ("time", "need")
    },
    "forecast available": dict.fromkeys(("--host", "--token-file", "--timeout", "--json", "--store"), ALWAYS),
    "forecast best": {
        **{
            option: (
                (f"pdgemm --m 8 --n 8 --k 8 --machine pair.yaml {option} {value}",
                 f"{option} must go without --machine, got pair.yaml"),
            )
            for option, value in (("--host", "a"), ("--token-file", "t"), ("--timeout", "1"))
        },
        **dict.fromkeys(("--m", "--n", "--k", "--size", "--block", "--processes"), ALWAYS),
        **dict.fromkeys(("--machine", "--json", "--store"), ALWAYS),
    },
    "forecast sequence": dict.fromkeys(("--token-file", "--timeout", "--json", "--store"), ALWAYS),
    "forecast serve": dict.fromkeys(("--address", "--port", "--peer", "--token-file", "--timeout", "--store"), ALWAYS),
    "model fit": {
        "--machine": (("t.csv -o m.yaml --machine pair.yaml", "t.csv: --machine must go with a pattern"),),
        "--memory": (("t.csv -o m.yaml --memory n", "--memory must go with --limit, got none"),),
        "--limit": (("t.csv -o m.yaml --limit any=1GB", "--limit must go with --memory, got none"),),
        **dict.fromkeys(("-o", "--form", "--plain", "--compose", "--adjust", "--json"), ALWAYS),
    },
    "model graph": {
        **{
            option: ((f"run.clue {option} {value}", f"{option} must go with a pattern such as cg-"),)
            for option, value in (("--size", 5), ("--ranks", 5), ("--fit", "in-turn"), ("-o", "m.yaml"))
        },
        "--dot": (("run.clue --dot g --plots g", "g: --dot must name a file, got a folder of --plots"),),
        **dict.fromkeys(("--machine", "--plots", "--json"), ALWAYS),
    },
    "model show": dict.fromkeys(("--plots", "--json"), ALWAYS),
    "model predict": {
        "--ranks": (("line.yaml --size 9 --use any=1 --ranks 2", "--ranks must go without --use, got both"),),
        **dict.fromkeys(("--size", "--use", "--json"), ALWAYS),
    },
    "model best": dict.fromkeys(("--machine", "--size", "--processes", "--top", "--replay", "--json"), ALWAYS),
    "skeleton make": {
        **dict.fromkeys(("--seconds", "--scale", "--shortest", "-o", "--language", "--trace"), ALWAYS),
        **dict.fromkeys(("--memory", "--work", "--machine", "--json"), ALWAYS),
    },
    "skeleton predict": {
        "--application": (("--here none.json --application 3", "--application must go with --dedicated, got none"),),
        **dict.fromkeys(("--here", "--dedicated", "--json"), ALWAYS),
    },
    "schema": {
        "-o": (("machine --path -o x.json", "-o must go without --path, got both"),),
        "--path": (("all --path -o schemas", "-o must go without --path, got both"),),
    },
    "init": {
        **dict.fromkeys(
            ("--program", "--processors", "--memory", "--latency", "--bandwidth", "--nodes", "--price", "--other",
             "--yes", "-y"),
            ALWAYS,
        ),
        "--args": (
            ("x.yaml --yes --program pingpong.clue --args n",
             "init: --args must go with a program, got the recording pingpong.clue"),
        ),
        "--ranks": (
            ("x.yaml --yes --program pingpong.clue --ranks 2 --args n",
             "init: --args and --ranks must go with a program, got the recording pingpong.clue"),
        ),
        "--budget": (("x.yaml --yes --budget 9EUR", "init: --budget must go with --price, got none"),),
    },
    "completion": {},
    "cache": {"--clear": ALWAYS, "--json": ALWAYS},
    "calibrate network": {
        **{
            f"{option}": ((f"osu.txt {option} {value}", f"{option} must go without files, which have been measured"),)
            for option, value in (
                *(("--hosts", "a,b"), ("--mpiexec", "mpiexec"), ("--time", "9"), ("--precision", "0.1")),
                *(("--confidence", "0.9"), ("--largest", "1MiB")),
            )
        },
        **{
            f"{option}": ((f"{option} {value}".strip(), f"{option} must go with files to import, got none"),)
            for option, value in (("--form", "osu"), ("--where", "a=b"), ("--within-node", ""))
        },
        "--plots": (("osu.txt -o cal --plots cal", "cal: -o must name a file, got a folder of --plots"),),
        **dict.fromkeys(("--eager-limit", "-o", "--name", "--nodes", "--processors", "--json"), ALWAYS),
    },
    "calibrate contention": {
        "--precision": (
            ("--machine pair.yaml --precision 0.1",
             "--precision must go without --machine, whose link is known, got pair.yaml"),
        ),
        **dict.fromkeys(("--machine", "--pairs", "--sizes", "--node-per-rank", "--mpiexec", "--hosts"), ALWAYS),
        "--plots": (("--machine pair.yaml -o cal --plots cal", "cal: -o must name a file, got a folder of --plots"),),
        **dict.fromkeys(("--time", "--confidence", "-o", "--name", "--json"), ALWAYS),
    },
    "calibrate processor": {
        **{
            option: ((f"--trace pingpong.clue {option} {value}", f"{option} must go without --trace, whose program"),)
            for option, value in (
                *(("--reference", "x"), ("--region", "a=b"), ("--kernels", "dgemm"), ("--time", "1")),
                ("--target", "dgemm=1e9"),
            )
        },
        **{
            option: ((f"{option} {value}", f"{option} must go with the --trace of a program, got none"),)
            for option, value in (("--program", "x.py"), ("--repeats", "2"))
        },
        "--mpiexec": (
            ("--mpiexec mpiexec", "--mpiexec must go with the --trace of a program or --hosts, got neither"),
        ),
        "--hosts": (
            ("--hosts a", "--hosts must name an even number of computers, got a"),
            ("--hosts a,b --target dgemm=1e9", "--hosts must go without --target, whose kernels are used, got both"),
        ),
        "--busy": (
            ("--trace pingpong.clue --program pingpong.py --busy 1",
             "pingpong.clue: --busy must go with a trace of one rank, got one of 2"),
        ),
        "--target-part": (
            ("--target-part amd-epyc-9654 --busy 1 --kernels dgemm",
             "--kernels and --busy must go without --target-part, for which nothing runs, got both"),
        ),
        "--part": (("--part amd-epyc-9654", "--part must go with --target-part, got none"),),
        "--sockets": (("--sockets 2", "--sockets must go with --target-part, got none"),),
        "--work": (
            ("--work core", "--work must go with --target-part, got none"),
            ("--target-part amd-epyc-9654 --work core", "--work must go with a --trace that has regions, got none"),
        ),
        "--confidence": (
            ("--target-part amd-epyc-9654 --confidence 0.9",
             "--confidence must go without --target-part, for which nothing runs, got both"),
            ("--target dgemm=1e9 --reference x --confidence 0.9",
             "--confidence must go without --target or without --reference, as nothing is measured, got both"),
        ),
        **dict.fromkeys(("--trace", "-o", "--name", "--json"), ALWAYS),
    },
    "parts": {
        "--kind": (("parts/amd-epyc-9654 --kind switch",
                    "--kind must go without parts, which have one each, got parts/amd-epyc-9654"),),
        "--json": ALWAYS,
    },
    "run": {
        **{
            option: ((f"which.yaml {option} {value}", f"which: {option} must go with one program on one machine, got"),)
            for option, value in (("-n", "2"), ("--machine", "m.yaml"), ("--placement", "block"), ("--record", "x"))
        },
        "--full": (
            ("--full -n 2 --machine pair.yaml pingpong.py", "--full must go with a configuration, got pingpong.py"),
            ("which.yaml --full", "full size must be described under 'full', got no such key"),
        ),
        "--window": (
            ("-n 2 --machine pair.yaml --window 1s:2s pingpong.py", "--window must go with --plots, got no folder"),
            ("which.yaml --plots p --window 1s:2s", "which: --window must go with one program on one machine, got a"),
        ),
        "--plots": (
            ("-n 2 --machine pair.yaml --record out --plots out pingpong.py",
             "out: --record must name a file, got a folder of --plots"),
        ),
        **dict.fromkeys(("--bursts", "--virtual-clock", "--limit", "--json"), ALWAYS),
    },
    "serve": {
        "--seed": (("which.yaml --seed 3", "which: --seed must go with --samples, got none"),),
        "--full": (("which.yaml --full", "full size must be described under 'full', got no such key"),),
        "--repeats": (
            ("which.yaml --port 0 --repeats 2", "--repeats must go with a script to record, got traces only"),
        ),
        **dict.fromkeys(("--address", "--port", "--token-file", "--top", "--samples", "--sampled"), ALWAYS),
        **dict.fromkeys(("--engine", "--workers"), ALWAYS),
    },
    "validate": {
        "--seed": (("v.yaml --samples 0 --seed 3", "v: --seed must go with --samples of 1 or more, got 0"),),
        "--repeats": (("v.yaml --repeats 3", "--repeats must go with a script to record, got traces only"),),
        **dict.fromkeys(("--engine", "--learn", "--samples", "--json", "--plots", "--workers"), ALWAYS),
    },
}  # fmt: skip


def commands(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the commands that have no subcommands, with their names."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield name, parser
    for action in below:
        for key, each in action.choices.items():
            yield from commands(each, f"{name} {key}".strip())


def test_every_option_is_in_the_table() -> None:
    """Each option must be listed here; the options for verbosity belong to every command."""
    options = {
        name: {option for action in parser._actions for option in action.option_strings} for name, parser in
        commands(command_line())
    }  # fmt: skip
    volume = {"-h", "--help", "-v", "--verbose", "-q", "--quiet"}
    assert {name: found - volume for name, found in options.items()} == {
        name: set(known) for name, known in WITHOUT_EFFECT.items()
    }
    assert all(found >= volume for found in options.values())


CASES = [
    (f"{command} {words}", said)
    for command, options in WITHOUT_EFFECT.items()
    for lines in options.values()
    for words, said in lines
]


@pytest.mark.parametrize(("line", "said"), CASES, ids=[line for line, _ in CASES])
def test_an_option_without_effect_is_refused(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what the option must go with; standard output stays empty, and nothing is written."""
    Path("pingpong.py").write_text("")
    Path("osu.txt").write_text("# OSU MPI Latency Test\n# Size  Latency (us)\n0 1\n")
    Path("v.yaml").write_text("program: {trace: pingpong.clue}\nmachine: pair.yaml\nmeasured: 1\n")
    before = set(Path().iterdir())
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err and len(captured.err.splitlines()) == 1
    assert set(Path().iterdir()) == before


@pytest.mark.parametrize("line", ["simulate run.yaml -v -q", "record -q -v -n 1 x.py", "schema machine -vq"])
def test_loud_and_quiet_exclude_each_other(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Using both is a usage error."""
    with pytest.raises(SystemExit) as caught:
        main(line.split())
    assert caught.value.code == 2
    assert "not allowed with argument" in capsys.readouterr().err


def test_full_is_refused_only_where_there_is_no_full_size(capsys: pytest.CaptureFixture[str]) -> None:
    """``--full`` is accepted by a comparison that describes a full size."""
    edit("which.yaml", "name: which\n", "name: which\nfull: {criterion: makespan}\n")()
    assert main(["simulate", "which.yaml", "--full", "--json"]) == 0
    assert '"criterion": "makespan"' in capsys.readouterr().out


@pytest.mark.parametrize("command", ["record -n 1 --mpiexec", "calibrate network --mpiexec",
                                     "calibrate contention --mpiexec"])  # fmt: skip
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("no-such-mpiexec", "--mpiexec must be a command that can be run, got no-such-mpiexec"),
        ("", "--mpiexec must be a command that can be run, got nothing"),
        ("mpiexec 'x", "--mpiexec must be a command line in shell syntax, got mpiexec 'x"),
    ],
)
def test_one_rule_for_a_launcher(command: str, words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that takes a launcher gives the same message and status."""
    Path("x.py").write_text("")
    program = ["x.py"] if command.startswith("record") else []
    assert main([*command.split(), words, *program]) == 2
    assert capsys.readouterr().err.startswith(f"clue: {said}")


def test_a_launcher_of_a_processor_is_checked_too(capsys: pytest.CaptureFixture[str]) -> None:
    """The launcher is checked before the program is recorded."""
    Path("pingpong.py").write_text("")
    line = "calibrate processor --trace pingpong.clue --mpiexec no-such-mpiexec"
    assert main(line.split()) == 2
    assert "--mpiexec must be a command that can be run, got no-such-mpiexec" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    ["convert pingpong.clue new/one/x.ti", "convert pingpong.clue new/one/x.clue", "convert pair.yaml new/one/x.xml",
     "convert pingpong.clue new/one/x.clue.zip", "calibrate network osu.txt -o new/one/x.yaml",
     "simulate run.yaml --plots new/one/plots"],
)  # fmt: skip
def test_folders_on_the_way_to_an_output_are_made(line: str) -> None:
    """All outputs follow one rule: files, traces and pictures."""
    Path("osu.txt").write_text("# OSU MPI Latency Test\n# Size  Latency (us)\n0 1\n8 1\n")
    assert main(line.split()) == 0
    assert list(Path("new/one").iterdir())


@pytest.mark.parametrize("command", ["simulate run.yaml", "simulate which.yaml", "run run.yaml", "run which.yaml",
                                     "validate v.yaml"])  # fmt: skip
@pytest.mark.parametrize("plots", ["pair.yaml", "pair.yaml/plots", "nowhere"])
def test_plots_that_cannot_be_drawn_are_refused_before_long_work(
    command: str, plots: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A file in place of the folder or of its parent, and a dangling link, are refused before any program runs."""
    Path("prog.py").write_text("from pathlib import Path\nPath('ran').touch()\nfrom mpi4py import MPI\n")
    Path("nowhere").symlink_to("none")
    edit("run.yaml", "{trace: pingpong.clue}", "{script: prog.py, ranks: 2}")()
    edit("which.yaml", "{trace: pingpong.clue}", "{script: prog.py}")()
    Path("v.yaml").write_text("program: {script: prog.py}\nmachine: pair.yaml\nranks: 2\nmeasured: 1\n")
    assert main([*command.split(), "--plots", plots]) == 2
    assert f"{plots}: plots must go to a folder, got a file" in capfd.readouterr().err
    assert not Path("ran").exists()


@pytest.mark.parametrize("plots", ["n" * 256, "new/" + "n" * 256 + "/plots"])
def test_plots_whose_name_is_too_long_are_refused_before_long_work(
    plots: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A folder that cannot be made is refused before any program runs, and nothing on the way to it is made."""
    Path("prog.py").write_text("from pathlib import Path\nPath('ran').touch()\nfrom mpi4py import MPI\n")
    edit("run.yaml", "{trace: pingpong.clue}", "{script: prog.py, ranks: 2}")()
    assert main(["simulate", "run.yaml", "--plots", plots]) == 2
    assert "plots must go to a folder that can be made, got File name too long" in capfd.readouterr().err
    assert not Path("ran").exists() and not Path("new").exists()


def test_a_machine_is_not_shown_if_it_cannot_be_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    """A file in place of the folder is refused, and standard output stays empty."""
    assert main(["inspect", "pair.yaml", "--json", "--plots", "run.yaml"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "clue: run.yaml: plots must go to a folder, got a file\n")


def test_repeats_do_not_hide_that_nothing_can_be_bought(capsys: pytest.CaptureFixture[str]) -> None:
    """If no option has a price within the budget, no script is recorded, and the message gives the reason."""
    Path("prog.py").write_text("")
    edit("which.yaml", "{trace: pingpong.clue}", "{script: prog.py}")()
    edit("pair.yaml", ", price: 900 EUR", "")()
    assert main(["simulate", "which.yaml", "--repeats", "2"]) == 1
    assert "clue: which.yaml:4:1: at least one option must be ranked, got none" in capsys.readouterr().err
