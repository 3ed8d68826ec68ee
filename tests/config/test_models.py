"""Models and the tables that they are fitted to: a round trip through files, and faults with their places."""

from pathlib import Path

import numpy as np
import pytest

from clue.config.models import load_model
from clue.config.run_tables import load_runs
from clue.errors import ConfigError
from clue.models import Composition, Footprint, Method, Run, Term, Use, fit_cluster
from clue.models.model import Model
from clue.report.model.document import model_document, model_yaml

SIZES = (400.0, 800.0, 1600.0, 3200.0, 6400.0)


def a_model(*, plain: bool) -> Model:
    """Return a model with everything that a file can hold."""
    runs = [
        Run(n, {kind: Use(p, m)}, n**3 / speed / (p * m) * m + 0.01 * p, {})
        for kind, speed, most in (("slow", 1e9, 5), ("fast", 4e9, 1))
        for n in SIZES
        for p in range(1, most + 1)
        for m in (1, 2)
    ]
    mixed = [Run(n, {"fast": Use(1, 2), "slow": Use(3)}, n**3 / 1e9 / 4) for n in SIZES]
    cluster = fit_cluster(
        [*runs, *mixed],
        Method(plain=plain),
        footprint=Footprint(8.0, Term.parse("n^2/P")),
        memory={"slow": 1e12},
        compositions={"fast": Composition("slow")},
        adjusted="fast",
    )
    return Model("hpl", "pt", plain, "runs.csv", "2026-01-31", (*runs, *mixed), cluster)


@pytest.mark.parametrize("plain", [True, False])
def test_what_is_written_is_read_back(tmp_path: Path, plain: bool) -> None:
    """Runs, errors, domain, adjustments and predictions of the model are the same to the last bit after reading."""
    model = a_model(plain=plain)
    (tmp_path / "hpl.yaml").write_text(model_yaml(model))
    read = load_model(tmp_path / "hpl.yaml")
    assert (read.name, read.form, read.plain, read.source, read.made) == ("hpl", "pt", plain, "runs.csv", "2026-01-31")
    assert read.runs == model.runs
    assert read.errors() == model.errors()
    assert read.cluster.domain == model.cluster.domain
    assert read.cluster.adjustments == model.cluster.adjustments
    for uses in ({"fast": Use(1, 2), "slow": Use(3)}, {"slow": Use(4, 2)}, {"fast": Use(1, 1)}):
        assert read.cluster.predict(5000.0, uses) == model.cluster.predict(5000.0, uses)


TABLE = """\
# HPL on our cluster
processor,processors,processes,size,measured,compute,communicate,remark
slow,2,3,1600,12.5,10,2.5,first
fast+slow,1+8,3+1,1600,4.5,,,both
slow,,,800,1 min,60,0,one
"""


def test_a_table(tmp_path: Path) -> None:
    """Each line is a run on one or several kinds of processors; parts are optional, and other columns are ignored."""
    (tmp_path / "runs.csv").write_text(TABLE)
    assert load_runs(tmp_path / "runs.csv") == (
        Run(1600.0, {"slow": Use(2, 3)}, 12.5, {"compute": 10.0, "communicate": 2.5}),
        Run(1600.0, {"fast": Use(1, 3), "slow": Use(8, 1)}, 4.5),
        Run(800.0, {"slow": Use(1)}, 60.0, {"compute": 60.0, "communicate": 0.0}),
    )


def test_a_table_as_clue_validate_has_it(tmp_path: Path) -> None:
    """Machines become kinds of processors, ranks their number (one process each), and a cell of runs several runs."""
    (tmp_path / "runs.csv").write_text("machine,ranks,size,runs\nbox,4,100,1.5 2.5\n")
    assert load_runs(tmp_path / "runs.csv") == (Run(100.0, {"box": Use(4)}, 1.5), Run(100.0, {"box": Use(4)}, 2.5))
    (tmp_path / "runs.csv").write_text("size,measured\n100,1.5\n")
    assert load_runs(tmp_path / "runs.csv") == (Run(100.0, {"any": Use(1)}, 1.5),)
    (tmp_path / "runs.csv").write_text("size,measured,ranks,per_processor\n100,1.5,6,3\n")
    assert load_runs(tmp_path / "runs.csv") == (Run(100.0, {"any": Use(2, 3)}, 1.5),)


def test_columns_that_are_not_read_are_named_where_runs_of_one_case_differ_in_them(tmp_path: Path) -> None:
    """A column np is none of ranks: times on 1 and 2 ranks count as repeats. One that says nothing more is fine."""
    said: list[str] = []
    (tmp_path / "runs.csv").write_text("size,np,cpu,measured,region:lu\n100,1,x,2,1\n100,2,x,1,0\n200,2,y,1,0\n")
    assert [run.seconds for run in load_runs(tmp_path / "runs.csv", said.append)] == [2, 1, 1]
    why = "is not read, so runs that differ in it alone count as repeats of one case"
    assert said == [f"{tmp_path / 'runs.csv'}: column np {why}"]
    (tmp_path / "runs.csv").write_text("size,np,ranks,measured\n100,1,1,2\n100,2,2,1\n100,2,2,1.1\n")
    load_runs(tmp_path / "runs.csv", said.append)
    assert len(said) == 1


def test_parts_that_miss_the_time_of_a_run_are_told(tmp_path: Path) -> None:
    """Parts sum to 8 of 10 s, to 4.8 of 5 s (the medians of two runs), and to 2 of 1 s, which is the farthest off."""
    table = "size,processors,processor,measured,compute,communicate\n"
    table += (
        "100,1,slow,10,8,0\n200,2,slow,4.9,4,0.7\n200,2,slow,5.1,4,0.9\n300,4,slow,1,1,1\n400,1+1,slow+fast,9,1,1\n"
    )
    (tmp_path / "runs.csv").write_text(table)
    said: list[str] = []
    load_runs(tmp_path / "runs.csv", said.append)
    why = "compute and communicate sum to 200% of measured at n = 300 on 4 ranks, and miss it by more than 5% in 2 of 3"
    assert said == [f"{tmp_path / 'runs.csv'}: {why} cases: the model predicts their sum"]
    (tmp_path / "runs.csv").write_text("size,runs,compute,communicate\n100,1 2 30,1.5,0.5\n")
    load_runs(tmp_path / "runs.csv", said.append)
    assert len(said) == 1


def test_parts_that_some_runs_lack_are_told(tmp_path: Path) -> None:
    """A model has only the parts that all runs on one kind have; computation needs communication, too."""
    said: list[str] = []
    why = f"{tmp_path / 'runs.csv'}: {{}} is not a part of the model, "
    why += "because not all runs on one kind of processor have {}"
    both = "compute and communicate"
    (tmp_path / "runs.csv").write_text("size,measured,compute,region:lu\n100,2,1,1\n200,2,1,\n")
    load_runs(tmp_path / "runs.csv", said.append)
    assert said == [why.format("compute", both), why.format("region:lu", "it")]
    said.clear()
    (tmp_path / "runs.csv").write_text("size,measured,compute,communicate\n100,2,1,1\n200,2,2,\n")
    load_runs(tmp_path / "runs.csv", said.append)
    assert said == [why.format("compute", both), why.format("communicate", both)]


def test_parts_of_no_time_may_have_a_unit(tmp_path: Path) -> None:
    """A part of 0 s is the same as a part of 0; a whole run takes time."""
    (tmp_path / "runs.csv").write_text("size,measured,compute,communicate,region:lu\n100,1 min,60 s,0 s,0 ms\n")
    parts = {"compute": 60.0, "communicate": 0.0, "region:lu": 0.0}
    assert load_runs(tmp_path / "runs.csv") == (Run(100.0, {"any": Use(1)}, 60.0, parts),)
    (tmp_path / "runs.csv").write_text("size,measured\n100,0 s\n")
    with pytest.raises(ConfigError, match="measured must be a run time above 0, got '0 s'"):
        load_runs(tmp_path / "runs.csv")


def test_several_runs_in_a_cell_have_the_parts_of_their_row(tmp_path: Path) -> None:
    """Each run has the parts; regions are compared with the median, 2 s, as repeats count by it."""
    (tmp_path / "runs.csv").write_text("size,runs,compute,communicate,region:lu\n100,1.5 2 4,1.25,0.75,1\n")
    parts = {"compute": 1.25, "communicate": 0.75, "region:lu": 1.0}
    assert load_runs(tmp_path / "runs.csv") == tuple(Run(100.0, {"any": Use(1)}, s, parts) for s in (1.5, 2.0, 4.0))
    (tmp_path / "runs.csv").write_text("size,runs,region:lu\n100,1 2 4,2\n100,1 2 4,3\n")
    with pytest.raises(ConfigError, match=r"3:1: regions must sum to at most the median of runs, 2 s, got 3 s"):
        load_runs(tmp_path / "runs.csv")


@pytest.mark.parametrize(
    ("table", "faults"),
    [
        ("size,measured\n100,-2\nlarge,3\n-5,1\n", [
            "2:5: measured must be a run time above 0, got -2",
            "3:1: size must be a number, got \"large\"",
            "4:1: size must be above 0, got -5.0",
        ]),
        (f"size,measured\n100,{10**310}\n{10**310},1\n", [
            "2:5: measured must be a run time below 1e308 s, got 1000",
            "3:1: size must be a number, got 1000",
        ]),
        ("size,measured\n100,\n", ["2:5: measured must be given, got nothing"]),
        ("size,measured,ranks,processes\n100,2,4,3\n", [
            "2:7: ranks must be a multiple of the processes of each processor (3), got 4"
        ]),
        ("size,measured,ranks,processors,processes\n100,2,4,3,2\n", [
            "2:7: ranks must be 6, all processes of all processors, got 4"
        ]),
        ("size,measured,processor,processors,processes\n100,2,a+b,3,2+0\n", [
            '2:11: processors must be 2 whole numbers above 0, joined by +, got "3"',
            '2:13: processes must be 2 whole numbers above 0, joined by +, got "2+0"',
        ]),
        ("size,measured,ranks,processors\n100,2,4,\n100,2,,\n100,2,,3\n", [
            "3:7: ranks must be given if other runs have them, or processors in their place, got nothing"
        ]),
        ("size,measured,ranks,processor\n100,2,4,a\n100,2,,a+b\n", [
            "3:1: processors must be given for each of 2 kinds, got nothing"
        ]),
        ("size,measured,processor\n100,2,a+b\n", ["2:1: processors must be given for each of 2 kinds, got nothing"]),
        ("size,measured,program\n100,2,hpl\n100,2,cg\n", ["1:1: file must be of one program, got cg, hpl"]),
        ("size,measured,processor,processors,processes\n100,2,a+a,1+2,3+1\n", [
            '2:7: processor must name each kind of processor once, got "a+a"'
        ]),
        ("size,measured\n", ["1:1: file must have rows, got none"]),
        ("hours\n1\n", ["1:1: first line must name columns among"]),
    ],
)  # fmt: skip
def test_bad_tables(tmp_path: Path, table: str, faults: list[str]) -> None:
    """Each fault has its line and the column where the cell begins."""
    (tmp_path / "runs.csv").write_text(table)
    with pytest.raises(ConfigError) as error:
        load_runs(tmp_path / "runs.csv")
    said = [fault.replace(f"{tmp_path}/runs.csv:", "").replace("rows[", "[") for fault in error.value.faults]
    assert len(said) == len(faults)
    for got, wanted in zip(said, faults, strict=True):
        place, rule = wanted.split(": ", 1)
        assert got.startswith(place)
        assert rule in got


def broken(tmp_path: Path, old: str, new: str) -> list[str]:
    """Return the faults of a model's file in which a text is replaced."""
    text = model_yaml(a_model(plain=False))
    assert old in text
    (tmp_path / "hpl.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        load_model(tmp_path / "hpl.yaml")
    return [fault.replace(f"{tmp_path}/", "") for fault in error.value.faults]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("model: 1", "model: 2", "hpl.yaml:1:8: model must be 1, got 2"),
        ('"n^3"', '"n^3 +"', 'must be a product such as n^2, m log m or n^(3/2)/P, got \'n^3 +\''),
        ('"covariance": [[', '"covariance": [[1.0], [', "must have 4 rows of 4, got others"),
        ('"n": [400.0, 6400.0]', '"n": [6400.0, 400.0]', "domain.n must rise, got 6400 to 400"),
        ('"n": [400.0, 6400.0]', '"m": [400.0, 6400.0]', "must have every feature of the terms, got none for n"),
        ('adjustment: {"processor": "fast"', 'adjustment: {"processor": "gpu"',
         'adjustment.processor must be a kind that has models (slow, fast), got "gpu"'),
        ("models:", "modells:", "did you mean"),
    ],
)  # fmt: skip
def test_bad_models(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """Another version, invalid terms, tables of the wrong shape and unknown names are faults."""
    assert any(fault in each for each in broken(tmp_path, old, new))


def test_the_document_has_the_memory_that_the_text_tells() -> None:
    """A model with bins by memory has its footprint in the document; one without has null."""
    assert model_document(a_model(plain=False))["footprint"] == {"bytes": 8.0, "term": "n^2/P"}
    runs = tuple(Run(n, {"any": Use(1)}, n**3) for n in SIZES)
    without = Model("cubic", "nt", True, "", "", runs, fit_cluster(runs, Method("nt", plain=True)))
    assert model_document(without)["footprint"] is None


def test_what_is_unknown_is_null(tmp_path: Path) -> None:
    """A cubic through four points has an unknown error elsewhere: null in the file, and an unbounded interval."""
    runs = tuple(Run(n, {"any": Use(1)}, n**3 * (1 + 0.1 * np.sin(n))) for n in SIZES[:4])
    model = Model("cubic", "nt", True, "", "", runs, fit_cluster(runs, Method("nt", plain=True)))
    (tmp_path / "cubic.yaml").write_text(model_yaml(model))
    assert '"leave_one_out": null' in model_yaml(model)
    read = load_model(tmp_path / "cubic.yaml")
    assert read.cluster.predict(1e4, {"any": Use(1)}).high == np.inf
