"""``clue model`` from the command line: fit, show, predict and best."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clue.cli import main
from clue.trace import Op, TraceBuilder
from tests.cli.commands import run as run_clue

SIZES = (400, 800, 1600, 3200, 6400)
MACHINE = """\
nodes: [{count: 1, type: fast}, {count: 2, type: slow}]
node_types:
  fast: {processors: 1, performance_factor: 0.25}
  slow: {processors: 2, performance_factor: 1}
network: {between_nodes: {send_delay: 1 us, transmission_delay: 1 us, receive_delay: 1 us}}
"""


def seconds(size: int, ranks: int, processes: int, speed: float) -> tuple[float, float]:
    """Return the seconds of computation, n^3 operations shared by all ranks, and of communication."""
    return processes * (size**3 / 1e9 + 0.1) / ranks / speed, (2e-8 * size**2 + 0.001) * ranks if ranks > 1 else 0.0


def table(path: str = "runs.csv") -> None:
    """Write runs on one to four slow processors and on one fast one, with one to four processes each."""
    lines = ["processor,processors,processes,size,measured,compute,communicate"]
    for kind, speed, most in (("slow", 1.0, 4), ("fast", 4.0, 1)):
        for p in range(1, most + 1):
            for m in range(1, 5):
                for n in SIZES:
                    compute, communicate = seconds(n, p * m, m, speed)
                    lines.append(f"{kind},{p},{m},{n},{compute + communicate!r},{compute!r},{communicate!r}")
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in that holds a table of runs and a machine."""
    monkeypatch.chdir(tmp_path)
    table()
    Path("box.yaml").write_text(MACHINE)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    """Run a command and return its exit status, standard output and standard error."""
    return run_clue(capsys, *line.split())


def document(capsys: pytest.CaptureFixture[str], line: str) -> Any:
    """Return the JSON document that a command prints."""
    status, out, _ = run(capsys, f"{line} --json")
    assert status == 0
    return json.loads(out)


FIT = "model fit runs.csv -o hpl.yaml --compose fast=slow:0.25:1"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the file that ``FIT`` writes."""
    folder = tmp_path_factory.mktemp("fitted")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        table()
        assert main(FIT.split()) == 0
    return (folder / "hpl.yaml").read_text()


@pytest.fixture
def fitted(folder: Path, models: str) -> None:
    """Put that file into the folder."""
    (folder / "hpl.yaml").write_text(models)


def test_from_a_table_to_the_best_processors(capsys: pytest.CaptureFixture[str]) -> None:
    """The best use is 8 ranks: four processes on the fast processor and one on each slow one share the work evenly."""
    status, out, err = run(capsys, FIT)
    assert status == 0
    assert "hpl: 24 fits to 100 runs" in out
    assert "wrote hpl.yaml" in err
    found = document(capsys, "model best hpl.yaml --machine box.yaml --size 6400")
    assert found["best"]["processors"] == {"fast": 1, "slow": 4}
    assert found["best"]["processes"] == {"fast": 4, "slow": 1}
    assert found["best"]["seconds"] == pytest.approx(sum(seconds(6400, 8, 1, 1.0)), rel=1e-4)
    assert found["candidates"][0] == found["best"]
    assert [each["loss"] for each in found["candidates"]] == sorted(each["loss"] for each in found["candidates"])
    assert found["total"] == (1 + 4) * (1 + 4 * 4) - 1
    assert found["exhaustive"]
    status, out, _ = run(capsys, "model best hpl.yaml --machine box.yaml --size 6400 --processes slow=1 --top 3")
    assert status == 0
    assert "1 fast × 4 processes + 4 slow" in out
    assert "24 candidates, all looked at." in out


@pytest.mark.usefixtures("fitted")
def test_the_document_has_the_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes without a model are left out; with -q only the document says so."""
    new = MACHINE.replace("[{count: 1, type: fast}", "[{count: 1, type: new}, {count: 1, type: fast}")
    Path("box.yaml").write_text(new.replace("node_types:\n", "node_types:\n  new: {processors: 1}\n"))
    status, out, err = run(capsys, "model best hpl.yaml --machine box.yaml --size 6400 --json -q")
    assert (status, err) == (0, "")
    assert json.loads(out)["warnings"] == ["box: no models of new: left out"]


@pytest.mark.usefixtures("fitted")
def test_a_prediction_with_its_interval_and_domain(capsys: pytest.CaptureFixture[str]) -> None:
    """A prediction outside the fitted range has a wider interval and says which variables are outside."""
    inside = document(capsys, "model predict hpl.yaml --size 2000 --use slow=3")
    assert inside["seconds"] == pytest.approx(sum(seconds(2000, 3, 1, 1.0)), rel=1e-4)
    assert inside["low"] <= inside["seconds"] <= inside["high"]
    assert (inside["inside"], inside["outside"]) == (True, [])
    outside = document(capsys, "model predict hpl.yaml --size 9600 --use fast=1x2 --use slow=4x1")
    assert not outside["inside"]
    assert outside["outside"] == [
        "fast, 2 per processor: n must be 400 to 6400 to be inside what was fitted, got 9600",
        "slow, 1 per processor: n must be 400 to 6400 to be inside what was fitted, got 9600",
        "slow, 1 per processor: P must be 2 to 4 to be inside what was fitted, got 6",
    ]
    assert outside["high"] / outside["seconds"] > inside["high"] / inside["seconds"]
    assert "Outside of what was fitted" in run(capsys, "model predict hpl.yaml --size 9600 --use slow=2")[1]


@pytest.mark.long
@pytest.mark.usefixtures("fitted")
def test_show_has_what_others_rely_on(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """The document has the form, terms with coefficients, errors and domain; ``--plots`` writes a picture."""
    shown = document(capsys, "model show hpl.yaml")
    assert shown["form"] == "pt"
    assert set(shown["error"]) == {"mean", "largest", "leave_one_out"}
    assert shown["error"]["largest"] < 0.01
    assert shown["domain"] == {"n": [400, 6400], "P": [1, 16]}
    terms = {
        each["term"]: each["coefficient"]
        for each in shown["terms"]
        if (each["processor"], each["processes"], each["ranks"], each["part"]) == ("slow", 1, None, "compute")
    }
    assert terms["n^3/P"] == pytest.approx(1e-9)
    status, out, err = run(capsys, "model show hpl.yaml --plots pictures")
    assert status == 0
    assert "n^3/P" in out
    assert "wrote pictures/model.png" in err
    assert (folder / "pictures" / "model.png").stat().st_size > 10_000


def test_a_table_of_sizes_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes and times alone give a cubic in n, which ``predict`` evaluates by size; ``show`` names the outlier."""
    lines = [
        f"{n},{2 + n**3 * 1e-9 * (1.5 if n == 500 else 1 + 0.002 * (-1) ** (n // 100))}" for n in range(100, 1100, 100)
    ]
    Path("t.csv").write_text("size,measured\n" + "\n".join(lines) + "\n")
    fitted = document(capsys, "model fit t.csv -o t.yaml --form nt")
    assert fitted["form"] == "nt"
    assert {each["processor"] for each in fitted["terms"]} == {"any"}
    assert "time on any, 1 per processor, at P = 1, n = 500" in run(capsys, "model show t.yaml")[1]
    said = document(capsys, "model predict t.yaml --size 800")
    assert said["seconds"] == pytest.approx(2.5, rel=0.02)
    assert said["inside"]


def test_ranks_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A table of sizes and ranks gives a model in both, with which any machine can be searched."""
    rows = [f"{n},{p},{sum(seconds(n, p, 1, 1.0))!r}" for p in range(1, 6) for n in SIZES]
    Path("t.csv").write_text("size,ranks,measured\n" + "\n".join(rows) + "\n")
    assert run(capsys, "model fit t.csv -o t.yaml")[0] == 0
    said = document(capsys, "model predict t.yaml --size 2000 --ranks 4")
    assert said["seconds"] == pytest.approx(sum(seconds(2000, 4, 1, 1.0)), rel=1e-3)
    found = document(capsys, "model best t.yaml --machine box.yaml --size 2000")
    assert found["best"]["processors"] == {"any": 5}


def test_times_of_0_have_no_losses(capsys: pytest.CaptureFixture[str]) -> None:
    """(n - 10)^3 + 1 s by a plain cubic is below 0 at n = 5: 0 s, with a warning, and no loss for the others."""
    rows = [
        f"{kind},{n},{(n - 10) ** 3 * slower + 1}" for kind, slower in (("fast", 1), ("slow", 0)) for n in range(10, 18)
    ]
    Path("t.csv").write_text("processor,size,measured\n" + "\n".join(rows) + "\n")
    assert run(capsys, "model fit t.csv -o t.yaml --plain")[0] == 0
    line = "model best t.yaml --machine box.yaml --size 5"
    found = document(capsys, line)
    assert [(each["processors"], each["loss"]) for each in found["candidates"]] == [
        ({"fast": 1}, None),
        ({"slow": 1}, None),
    ]
    assert [each["seconds"] for each in found["candidates"]] == pytest.approx([0, 1])
    _, out, err = run(capsys, line)
    assert "t.yaml: the best times are predicted to be 0 s, so it is unknown how much longer others take" in err
    assert "0.0 %" not in out
    out = run(capsys, "model predict t.yaml --size 5 --use fast=1")[1]
    assert "unknown: too few points, or below 0" in " ".join(out.split())


def test_repeating_a_fit_gives_the_same_file(capsys: pytest.CaptureFixture[str]) -> None:
    """Fits draw no random numbers, so a repeated fit writes an identical file."""
    run(capsys, FIT)
    first = Path("hpl.yaml").read_text()
    run(capsys, FIT)
    assert Path("hpl.yaml").read_text() == first


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("model fit few.csv -o m.yaml",
         "few.csv: any, 1 per processor: points: at least 4 must be measured for the terms n^3, n^2, n, 1, got 2"),
        ("model fit equal.csv -o m.yaml",
         "equal.csv: any, 1 per processor: points: at least 4 must be measured for the terms n^3, n^2, n, 1, got 1"),
        ("model fit negative.csv -o m.yaml", "negative.csv:2:5: measured must be a run time above 0, got -1"),
        ("model fit none.csv -o m.yaml", "none.csv: file must be readable, got: No such file or directory"),
        ("model fit nt.csv -o m.yaml --form pt",
         "nt.csv: runs must have 3 or more numbers of ranks above the processes of a processor for pt, got ranks 1"),
        ("model fit runs.csv -o m.yaml --compose gpu=slow", "runs.csv: kind must be one that was measured (slow"),
        ("model fit runs.csv -o m.yaml --compose fast", '--compose must be a kind of processor, once, "="'),
        ("model fit no-{size}-{ranks}.clue -o m.yaml --compose fast", "--compose must be a kind of processor, once"),
        ("model fit runs.csv -o m.yaml --compose fast=slow:-1", "--compose must be a kind and up to two factors"),
        ("model fit runs.csv -o m.yaml --adjust fast",
         "runs.csv: fast: runs on several kinds of processors must be measured to adjust by, got none"),
        ("model fit runs.csv -o m.yaml --limit slow=1GB --memory x", '--memory must be bytes and a term in n and P'),
        ("model fit both.csv -o m.yaml", "both.csv: runs: at least one must be on one kind of processor, got none"),
        ("model fit whole.csv -o m.yaml --compose fast=slow:0.25:1",
         "whole.csv: composition: factors must be of parts that all runs have (time), got one of communicate"),
        ("model predict hpl.yaml --size 9", "--use must state which processors to use (slow, fast), got none"),
        ("model predict hpl.yaml --size 9 --use gpu=1", "processors must be of a kind that was fitted (slow, fast)"),
        ("model predict hpl.yaml --size 9 --use slow=1 --use slow=2", "--use must be a kind of processor, once"),
        ("model predict hpl.yaml --size 9 --use slow=0", "--use must be a number of processors, optionally x and"),
        ("model predict hpl.yaml --size 9 --use slow=2x9",
         "slow: processes per processor must be among those fitted (1, 2, 3, 4), got 9"),
        ("model best hpl.yaml --machine two-hosts --size 9",
         "hpl.yaml on two-hosts: processors must be of kinds that were fitted (slow, fast), got host"),
        ("model best hpl.yaml --machine box.yaml --size 9 --processes gpu=1",
         "--processes must be of node types of box (fast, slow), got gpu"),
        ("model best hpl.yaml --machine box.yaml --size 9 --processes slow=x",
         "--processes must be whole numbers above 0 with commas between, got x"),
        ("model show box.yaml", "box.yaml:1:1: nodes must be a known key"),
        ("model show nowhere.yaml", "nowhere.yaml: model must be a file that exists"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("fitted")
def test_bad_input(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, one line with the reason, nothing on standard output, and no file."""
    Path("few.csv").write_text("size,measured\n100,1\n200,2\n")
    Path("equal.csv").write_text("size,measured\n100,1\n100,2\n100,3\n100,4\n")
    Path("negative.csv").write_text("size,measured\n100,-1\n")
    Path("nt.csv").write_text("size,measured\n100,1\n200,2\n300,3\n400,4\n")
    Path("both.csv").write_text("size,measured,processor,processors\n100,1,fast+slow,1+2\n")
    whole = [f"{n},{n},{kind}" for kind in ("slow", "fast") for n in SIZES]
    Path("whole.csv").write_text("\n".join(["size,measured,processor", *whole]) + "\n")
    status, out, err = run(capsys, line)
    assert (status, out) == (2, "")
    assert said in err
    assert not Path("m.yaml").exists()


def regions(speed: float, kind: str, most: int, *, compute: bool = True) -> list[str]:
    """Return lines of runs with regions of n^3/P ns and n^2/P us, and 0.1 s elsewhere."""
    lines = []
    for p in range(1, most + 1):
        for n in SIZES:
            product, setup, rest = (each / speed for each in (1e-9 * n**3 / p, 1e-6 * n**2 / p, 0.1))
            whole = product + setup + rest + 0.01 * p
            spent = f"{product + setup + rest!r},{0.01 * p!r}" if compute else ","
            lines.append(f"{kind},{p},{n},{whole!r},{spent},{product!r},{setup!r}")
    return lines


REGIONS = "processor,processors,size,measured,compute,communicate,region:product,region:setup"


@pytest.mark.parametrize("compute", [True, False])
def test_regions_have_parts_of_their_own(compute: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Each region has its own formula; what computation, or the whole time, has beyond regions is a part as well."""
    lines = regions(1.0, "slow", 5, compute=compute)
    Path("t.csv").write_text("\n".join([REGIONS, *lines]) + "\n")
    shown = document(capsys, "model fit t.csv -o t.yaml")
    terms = {(each["part"], each["term"]): each["coefficient"] for each in shown["terms"] if each["ranks"] is None}
    assert {part for part, _ in terms} == {"region:product", "region:setup"} | (
        {"compute", "communicate"} if compute else {"time"}
    )
    assert terms["region:product", "n^3/P"] == pytest.approx(1e-9)
    assert terms["region:setup", "n^2/P"] == pytest.approx(1e-6)
    assert terms["compute" if compute else "time", "1"] == pytest.approx(0.1)
    said = document(capsys, "model predict t.yaml --size 2000 --use slow=4")["seconds"]
    assert said == pytest.approx(8 / 4 + 4 / 4 + 0.1 + 0.04, rel=1e-3)
    assert "region:product" in run(capsys, "model show t.yaml")[1]


def test_regions_of_a_composed_kind(capsys: pytest.CaptureFixture[str]) -> None:
    """The factor of a composed kind scales computation and its regions alike."""
    lines = [*regions(1.0, "slow", 5), *regions(4.0, "fast", 1)]
    Path("t.csv").write_text("\n".join([REGIONS, *lines]) + "\n")
    assert run(capsys, "model fit t.csv -o t.yaml --compose fast=slow:0.25:1")[0] == 0
    said = document(capsys, "model predict t.yaml --size 2000 --use fast=4")["seconds"]
    assert said == pytest.approx((8 / 4 + 4 / 4 + 0.1) / 4 + 0.04, rel=1e-3)


def test_a_region_that_not_all_runs_have_is_no_part(capsys: pytest.CaptureFixture[str]) -> None:
    """If one run lacks a region, the region's time counts as ordinary computation."""
    lines = regions(1.0, "slow", 5)
    lines[0] = lines[0].rpartition(",")[0] + ","
    Path("t.csv").write_text("\n".join([REGIONS, *lines]) + "\n")
    shown = document(capsys, "model fit t.csv -o t.yaml")
    assert {each["part"] for each in shown["terms"]} == {"compute", "communicate", "region:product"}
    said = document(capsys, "model predict t.yaml --size 2000 --use slow=4")["seconds"]
    assert said == pytest.approx(8 / 4 + 4 / 4 + 0.1 + 0.04, rel=1e-3)


def test_faults_of_regions(capsys: pytest.CaptureFixture[str]) -> None:
    """Regions longer than the whole, and times below 0, are refused."""
    for line, said in (
        ("slow,1,100,9,5,4,4,2", "t.csv:2:1: regions must sum to at most compute, 5 s, got 6 s"),
        ("slow,1,100,9,,,9,2", "t.csv:2:1: regions must sum to at most measured, 9 s, got 11 s"),
        ("slow,1,100,9,5,4,-4,2", "regions.product must be a run time above 0, got -4"),
    ):
        Path("t.csv").write_text(f"{REGIONS}\n{line}\n")
        status, _, err = run(capsys, "model fit t.csv -o m.yaml")
        assert status == 2
        assert said in err


def test_recordings_are_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Recordings at four sizes on one to four ranks, n^3/P ns each, are replayed on a machine or taken as recorded."""
    for n in (100, 200, 300, 400):
        for p in (1, 2, 3, 4):
            built = TraceBuilder(p, "cube.py")
            for rank in range(p):
                built[rank].compute(1e-9 * n**3 / p)
            trace = built.build()
            ranks = tuple(replace(each, wall=1e-9 * n**3 / p + 1e-7 * n**2) for each in trace.head.rank_heads)
            replace(trace, head=replace(trace.head, rank_heads=ranks, arguments=(str(n),))).save(f"cube-{n}-{p}.clue")
    Path("slow.yaml").write_text(MACHINE.replace("{count: 1, type: fast}, ", ""))
    status, _, err = run(capsys, "model fit cube-{size}-{ranks}.clue --machine slow.yaml -o m.yaml")
    assert status == 0, err
    said = document(capsys, "model predict m.yaml --size 300 --use slow=3")
    assert said["seconds"] == pytest.approx(1e-9 * 300**3 / 3, rel=1e-3)
    assert run(capsys, "model fit cube-{size}-{ranks}.clue -o m.yaml")[0] == 0
    recorded = document(capsys, "model predict m.yaml --size 300 --ranks 3")["seconds"]
    assert recorded == pytest.approx(1e-9 * 300**3 / 3 + 1e-7 * 300**2, rel=1e-3)
    assert "recordings must exist, got none" in run(capsys, "model fit no-{size}-{ranks}.clue -o m.yaml")[2]


def test_a_model_that_is_far_off_at_its_own_runs_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Times that grow as n⁴ follow no term up to n³; those that grow as n³, but for one run, are no reason."""
    sizes = (100, 200, 400, 800, 1600)
    why = "on average at the runs that it was fitted to and must not be used: their times do not follow its terms"
    for power, expected in ((4, 1), (3, 0)):
        times = "\n".join(f"{n},{n**power}" for n in sizes)
        Path("t.csv").write_text(f"size,measured\n{times}\n100,{3 * 100**power}\n")
        for line in ("fit t.csv -o m.yaml", "show m.yaml", "predict m.yaml --size 300"):
            status, out, err = run(capsys, f"model {line} --json")
            said = json.loads(out)["warnings"]
            assert (status, len(said), err.count(why)) == (0, expected, expected)
            assert all(why in each for each in said)


def test_the_document_of_a_fit_has_the_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    """Columns that are not read, and what replays of recordings leave out, are told as text and as JSON."""
    times = "\n".join(f"{n},{np},{n**3 / np}" for n in (100, 200, 300, 400) for np in (1, 2))
    Path("t.csv").write_text(f"size,np,measured\n{times}\n")
    status, out, err = run(capsys, "model fit t.csv -o m.yaml --json")
    why = "t.csv: column np is not read, so runs that differ in it alone count as repeats of one case"
    first, off = json.loads(out)["warnings"]
    assert (status, first) == (0, why)
    # The median of n³ and n³ / 2 is off by a quarter and by a half.
    assert json.loads(out)["error"]["mean"] == pytest.approx(0.375)
    assert "on average at the runs that it was fitted to" in off
    assert f"clue: warning: {why}" in err
    for n in (100, 200, 300, 400):
        built = TraceBuilder(1)
        built[0].compute(1e-9 * n**3)
        built[0].add(Op.OTHER, call="Win.Put")
        built.build().save(f"put-{n}-1.clue")
    Path("slow.yaml").write_text(MACHINE.replace("{count: 1, type: fast}, ", ""))
    status, out, err = run(capsys, "model fit put-{size}-{ranks}.clue --machine slow.yaml -o m.yaml --json")
    assert status == 0, err
    said = json.loads(out)["warnings"]
    assert sum("Win.Put" in each for each in said) == 1
    assert all(f"clue: warning: {each}" in err for each in said)


def save_computing(file: str) -> None:
    """Write the trace of a program that computes for 2 s on each of four ranks."""
    built = TraceBuilder(4)
    for rank in range(4):
        built[rank].compute(2.0)
    built.build().save(file)


@pytest.mark.usefixtures("fitted")
def test_replays_beside_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    """Candidates with as many ranks as the trace are replayed: 2 s of computation for each of four ranks."""
    save_computing("lu-800-4.clue")
    line = "model best hpl.yaml --machine box.yaml --size 800 --top 80 --replay lu-{size}-{ranks}.clue"
    found = document(capsys, line)["candidates"]
    replayed = {str(each["processors"]): each["replayed"] for each in found if each["replayed"] is not None}
    assert replayed["{'slow': 4}"] == pytest.approx(2.0)
    assert all(
        (each["replayed"] is None) == (sum(p * each["processes"][k] for k, p in each["processors"].items()) != 4)
        for each in found
    )
    # Four processes on the fast processor share it: four times 2 s, at a quarter of the time.
    assert any(each["processes"] == {"fast": 4} and each["replayed"] == pytest.approx(2.0) for each in found)
    assert "replayed" in run(capsys, line)[1]
    status, _, err = run(capsys, line.replace("lu-", "none-"))
    assert status == 2
    assert (
        "--replay must match a trace with a number of ranks that processors can have, got none by none-{size}-{ranks}"
        in err
    )


@pytest.mark.usefixtures("fitted")
def test_sizes_are_named_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    """A size of seven digits names its trace, and is shown with all of them, as are the ends of the domain."""
    save_computing("lu-1234567-4.clue")
    line = "model best hpl.yaml --machine box.yaml --size 1234567 --replay lu-{size}-{ranks}.clue"
    status, out, err = run(capsys, line)
    text = " ".join(out.split())
    assert status == 0, err
    assert "hpl on box, size 1234567" in text
    assert "n must be 400 to 6400 to be inside what was fitted, got 1234567" in text
    lines = [f"{n},{n * 1e-6}" for n in (1_000_001, 2_000_002, 3_000_003, 4_000_004)]
    Path("t.csv").write_text("size,measured\n" + "\n".join(lines) + "\n")
    assert "n 1000001 to 4000004" in " ".join(run(capsys, "model fit t.csv -o t.yaml --form nt")[1].split())


def test_processors_of_unknown_kinds_count_as_equal(capsys: pytest.CaptureFixture[str]) -> None:
    """Runs without a column processor say nothing of fast and slow ones; on nodes of one type there is no doubt."""
    times = "\n".join(f"{n},{ranks},{n**3 / ranks}" for n in (100, 200, 300, 400) for ranks in range(1, 6))
    Path("t.csv").write_text(f"size,ranks,measured\n{times}\n")
    assert run(capsys, "model fit t.csv -o any.yaml")[0] == 0
    Path("one.yaml").write_text(MACHINE.replace("{count: 1, type: fast}, ", ""))
    why = "any.yaml: processors of box (fast, slow) count as equal, because the table of runs does not tell on which"
    (said,) = document(capsys, "model best any.yaml --machine box.yaml --size 200")["warnings"]
    assert said.startswith(why)
    assert document(capsys, "model best any.yaml --machine one.yaml --size 200")["warnings"] == []


@pytest.mark.usefixtures("fitted")
def test_the_best_by_replays_beside_the_best_by_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    """For 8 s of work on 1 to 5 ranks, the best replay has 5: one on the fast processor, four on slow ones."""
    for ranks in range(1, 6):
        built = TraceBuilder(ranks)
        for rank in range(ranks):
            built[rank].compute(8.0 / ranks)
        built.build().save(f"lu-800-{ranks}.clue")
    line = "model best hpl.yaml --machine box.yaml --size 800 --top 3 --replay lu-{size}-{ranks}.clue"
    found = document(capsys, line)
    replay = found["replay"]
    assert replay["best"]["seconds"] == pytest.approx(8 / 5)
    assert replay["candidates"][0] == replay["best"]
    assert [each["loss"] for each in replay["candidates"]] == sorted(each["loss"] for each in replay["candidates"])
    assert len(replay["candidates"]) == 3
    assert 3 <= replay["replayed"] < replay["total"]
    for each in replay["candidates"]:
        uses = " ".join(f"--use {k}={p}x{each['processes'][k]}" for k, p in each["processors"].items())
        assert each["model"] == document(capsys, f"model predict hpl.yaml --size 800 {uses}")["seconds"]
    chosen = found["candidates"][0]["replayed"]
    assert replay["loss"] == (None if chosen is None else pytest.approx(chosen / (8 / 5) - 1))
    status, out, _ = run(capsys, line)
    assert "bounds show that the others take longer" in " ".join(out.split())
    all_of_them = " ".join(run(capsys, line.replace("--top 3", "--top 80"))[1].split())
    assert "replayed. By replays" in all_of_them and "the others take longer" not in all_of_them
    assert status == 0
    assert "By replays" in out
    twice = document(capsys, f"{line} --processes slow=2,1,2")
    assert twice == document(capsys, f"{line} --processes slow=1,2")
    shutil.rmtree("lu-800-2.clue")
    built.build().save("lu-800-2.clue")
    assert "lu-800-2.clue: trace must have 2 ranks, as its name says, got 5" in run(capsys, line)[2]


COMPARISON = """\
name: which
workloads: {hpl: {program: {model: hpl.yaml, size: SIZE}, ranks: [5]}}
options:
  small: {machine: box.yaml}
  wide: {machine: box.yaml, nodes: {slow: 4, fast: 1}}
criterion: makespan
"""


@pytest.mark.usefixtures("fitted")
def test_a_model_in_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    """Options are ranked by the model's predictions; beyond the fitted range the result warns."""
    Path("which.yaml").write_text(COMPARISON.replace("SIZE", "3200"))
    ranking = document(capsys, "simulate which.yaml")
    first = ranking["ranking"][0]["workloads"]["hpl"]
    assert first["makespan"] == pytest.approx(sum(seconds(3200, 5, 1, 1.0)), rel=1e-3)
    Path("which.yaml").write_text(COMPARISON.replace("SIZE", "64000"))
    assert any(
        "outside the range to which its model was fitted" in each
        for each in document(capsys, "simulate which.yaml")["warnings"]
    )


@pytest.mark.parametrize("command", ["simulate which.yaml", "serve which.yaml --port 0"])
@pytest.mark.usefixtures("fitted")
def test_repeats_have_no_effect_on_models(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs with models are not recorded, so a number of recordings is refused."""
    Path("which.yaml").write_text(COMPARISON.replace("SIZE", "3200"))
    status, out, err = run(capsys, f"{command} --repeats 2")
    assert (status, out) == (2, "")
    assert err == "clue: which: --repeats must go with a script to record, got models only\n"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("{model: none.yaml, size: 9}", 'workloads.hpl.program.model must be a file that exists, got "none.yaml"'),
        ("{model: box.yaml, size: 9}", "box.yaml:1:1: nodes must be a known key"),
        ("{model: hpl.yaml}", "workloads.hpl.program.size must be given with a model, got nothing"),
        (
            "{model: hpl.yaml, size: 9, trace: x.clue}",
            "workloads.hpl.program.trace must be given without a model, got both",
        ),
        ("{size: 9, trace: x.clue}", "workloads.hpl.program.size must be given with a model, got none"),
    ],
)
@pytest.mark.usefixtures("fitted")
def test_bad_models_in_a_comparison(program: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The model of a comparison is checked before anything is predicted."""
    Path("which.yaml").write_text(COMPARISON.replace("{model: hpl.yaml, size: SIZE}", program))
    status, _, err = run(capsys, "simulate which.yaml")
    assert status == 2
    assert said in err


@pytest.mark.usefixtures("fitted")
def test_a_single_simulation_needs_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    """A simulation needs ranks and their times, which a model does not have."""
    Path("run.yaml").write_text("program: {model: hpl.yaml, size: 9, ranks: 2}\nmachine: box.yaml\n")
    status, _, err = run(capsys, "simulate run.yaml")
    assert status == 2
    assert "got a model: use clue model predict" in err


def test_no_input_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    """The table of runs stays as it is, under another name, too; a model may be fitted again."""
    before = Path("runs.csv").read_text()
    Path("same.csv").symlink_to("runs.csv")
    for name in ("runs.csv", "same.csv"):
        status, out, err = run(capsys, f"model fit runs.csv -o {name}")
        assert (status, out) == (2, "")
        assert err == f"clue: {name}: output must not be a file that the command reads, got runs.csv\n"
    assert Path("runs.csv").read_text() == before
    assert [run(capsys, FIT)[0] for _ in range(2)] == [0, 0]
