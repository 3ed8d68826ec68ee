"""Jobs and their queue from YAML, criteria with keys of their own, and each fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from clue.purchase.queue.mix import JobClass, Mix, OfficeHours, Policy, Sharing
from clue.purchase.scenario import Criterion, Limits, Scenario
from clue.purchase.sustained import Reference, ReferenceSystem
from clue.units import MONTH
from tests.config.documents import SCENARIO, changed
from tests.config.test_scenarios import faults_in
from tests.config.test_scenarios import scenario as load

HOUR = 3600.0
#: Every key of a drawn mix of jobs and of the criteria.
QUEUED = f"""\
criterion: weighted
weighted: {{waiting: 2, ssp: 1, ssi: 1, points: 0}}
limits: {{waiting: 4 h}}
jobs:
  short: {{workload: large, per_month: 730, ranks: 2, time_limit: 8 h}}
  large: {{per_month: 7.3, ranks: {{2: 1.5}}, overestimate: 3, variation: 0.4, weight: 0.5}}
queue:
  policy: fcfs
  office_hours: {{from: 8 h, to: 18 h, share: 0.8}}
  sharing: copies
  jobs: 1000
  warm_up: 0.2
  replications: 3
  seed: 7
ssp: {{operations: {{large: 3.2 Tflop}}}}
ssi: {{nodes: 100, workloads: {{large: {{nodes: 8, time: 10 min, capability: 4}}}}}}
{SCENARIO}"""
ACCOUNTED = f"""\
jobs:
  large: {{names: [lar*, big]}}
queue: {{accounting: sacct.txt, others: as recorded}}
{SCENARIO}"""
LOG = """\
JobID|JobName|Submit|Elapsed|NNodes|Timelimit|State
1|large|2026-01-05T09:00:00|01:00:00|2|04:00:00|COMPLETED
1.batch|batch|2026-01-05T09:00:00|01:00:00|2||COMPLETED
2|bash|2026-01-05T08:00:00|00:00:30|1|UNLIMITED|FAILED
3|big|2026-01-05T09:00:10|1-00:00:00|4|10:00:00|TIMEOUT
4|large|2026-01-05T09:30:00|00:00:00|2|04:00:00|CANCELLED
"""


def loaded(path: Path, old: str = "", new: str = "", text: str = QUEUED) -> Scenario:
    """Load the comparison with one change."""
    (path / "sacct.txt").write_text(LOG)
    return load(path, changed(text, old, new) if old else text)


def faults(path: Path, old: str, new: str, text: str = QUEUED) -> list[str]:
    """Return the faults of the comparison with one change, without their places."""
    (path / "sacct.txt").write_text(LOG)
    return [each.split(" ", 1)[1] for each in faults_in(path, changed(text, old, new))]


def test_every_figure_arrives(tmp_path: Path) -> None:
    """Figures are read in seconds, jobs a second and operations."""
    found = loaded(tmp_path)
    assert found.queue == Mix(
        (
            JobClass("short", "large", 730 / MONTH, {2: 1.0}, 8 * HOUR),
            JobClass("large", "large", 7.3 / MONTH, {2: 1.5}, None, 3.0, 0.4, 0.5),
        ),
        Policy.FCFS,
        OfficeHours(8 * HOUR, 18 * HOUR, 0.8),
        jobs=1000,
        warm_up=0.2,
        replications=3,
        seed=7,
        sharing=Sharing.COPIES,
    )
    assert found.criterion is Criterion.WEIGHTED
    assert found.weighted == {Criterion.WAITING: 2.0, Criterion.SSP: 1.0, Criterion.SSI: 1.0}
    assert found.limits == Limits(waiting=4 * HOUR)
    assert found.operations == {"large": 3.2e12}
    assert found.reference == ReferenceSystem(100, {"large": Reference(8, 600.0, 4.0)})


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    """Defaults are backfilling, submissions at any time of day, and time limits equal to run times."""
    found = load(tmp_path, f"jobs: {{large: {{per_month: 730}}}}\n{SCENARIO}").queue
    assert found is not None
    (of,) = found.classes
    assert (of.workload, dict(of.ranks), of.limit, of.overestimate, of.weight) == ("large", {}, None, 1.0, 1.0)
    assert (found.policy, found.office_hours, found.jobs, found.warm_up) == (Policy.BACKFILL, None, 5000, 0.1)
    assert (found.replications, found.seed, found.sharing, found.recorded) == (10, 0, Sharing.NONE, None)
    assert load(tmp_path).queue is None


def test_listed_jobs_are_sorted(tmp_path: Path) -> None:
    """Listed jobs are sorted by the time of submission."""
    found = load(tmp_path, f"jobs: {{large: {{submitted: [2 h, 0 s, 30 min]}}}}\n{SCENARIO}").queue
    assert found is not None and not found.is_drawn
    assert found.classes[0].submitted == (0.0, 1800.0, 7200.0)


def test_accounting_tells_when_jobs_were_submitted(tmp_path: Path) -> None:
    """Times count from the first submission; job steps and jobs that never ran are left out.

    A job that ran longer than its limit has its run time as limit.
    """
    found = loaded(tmp_path, text=ACCOUNTED).queue
    assert found is not None and found.recorded is not None
    of = found.recorded
    assert (of.submit.tolist(), of.kind.tolist()) == ([0, 3600, 3610], [-1, 0, 0])
    assert (of.nodes.tolist(), of.run.tolist()) == ([1, 2, 4], [30, 3600, 86400])
    assert of.limit.tolist() == [30, 14400, 86400]
    assert of.notes == (
        "sacct.txt: 1 job that never ran is left out",
        "sacct.txt: 1 job step is left out",
        "sacct.txt: 1 job has no time limit: the run time counts as the limit",
        "sacct.txt: 1 of 3 jobs belong to no class and run as recorded on every option",
    )


def test_recorded_waits_are_told(tmp_path: Path) -> None:
    """Recorded waits of 20 and 0 minutes are reported as their mean, 10 minutes."""
    head = "JobName|Submit|NNodes|Timelimit|Elapsed|Start\n"
    lines = [f"large|2026-01-05T09:00:00|2|10:00|05:00|2026-01-05T09:{minute}:00\n" for minute in ("20", "00")]
    (tmp_path / "sacct.txt").write_text(head + "".join(lines))
    found = load(tmp_path, changed(ACCOUNTED, ", others: as recorded", "")).queue
    assert found is not None and found.recorded is not None
    assert found.recorded.notes == ("sacct.txt: jobs waited 10 min on average where they were recorded",)


def test_a_class_without_a_job_is_told(tmp_path: Path) -> None:
    """A class whose names match no recorded job is named: they may be misspelt."""
    found = loaded(
        tmp_path, "names: [lar*, big]}", "names: [lar*, big]}\n  small: {workload: large, names: smal}", ACCOUNTED
    ).queue
    assert found is not None and found.recorded is not None
    assert found.recorded.notes[-1] == "sacct.txt: no job belongs to class small"


def test_jobs_of_no_class_may_be_left_out(tmp_path: Path) -> None:
    """If jobs that belong to no class are left out, times count from the first job of a class."""
    found = loaded(tmp_path, "as recorded", "left out", ACCOUNTED).queue
    assert found is not None and found.recorded is not None
    assert (found.recorded.submit.tolist(), found.recorded.kind.tolist()) == ([0, 10], [0, 0])
    alone = load(tmp_path, f"queue: {{accounting: sacct.txt, others: as recorded}}\n{SCENARIO}").queue
    assert alone is not None and alone.recorded is not None and alone.recorded.kind.tolist() == [-1, -1, -1]


def test_without_classes_all_jobs_run_as_recorded(tmp_path: Path) -> None:
    """Without ``jobs`` nothing else can be meant: the three recorded jobs keep their nodes and run times."""
    (tmp_path / "sacct.txt").write_text(LOG)
    found = load(tmp_path, f"queue: {{accounting: sacct.txt}}\n{SCENARIO}").queue
    assert found is not None and found.recorded is not None
    assert (found.recorded.kind.tolist(), found.recorded.nodes.tolist()) == ([-1, -1, -1], [1, 2, 4])
    assert found.recorded.notes[-1] == "sacct.txt: 3 of 3 jobs belong to no class and run as recorded on every option"


FAULTS = [
    # jobs
    ("per_month: 730,", "per_month: 0,", "jobs.short.per_month must be above 0, got 0"),
    ("per_month: 730,", "per_month: -4,", "jobs.short.per_month must be at least 0, got -4"),
    ("per_month: 730, ", "", "jobs.short.per_month must be given (or submitted), got nothing"),
    (
        "per_month: 730,",
        "per_month: 730, submitted: [1 h],",
        "jobs.short.submitted must be given without per_month, got",
    ),
    ("workload: large,", "workload: lage,", 'jobs.short.workload must be a workload (large), got "lage": did you mean'),
    ("  large: {per_month", "  larg: {per_month", 'jobs.larg must be a workload (large), got "larg": did you mean'),
    ("ranks: 2,", "ranks: 4,", "jobs.short.ranks must be numbers of ranks that large has (2), got 4"),
    ("{2: 1.5}", "{2: 0}", "jobs.large.ranks[2] must be above 0, got 0"),
    ("{2: 1.5}", "{}", "jobs.large.ranks must have at least 1 entries, got an empty mapping"),
    ("overestimate: 3", "overestimate: 0.5", "jobs.large.overestimate must be at least 1, got 0.5"),
    ("time_limit: 8 h", "time_limit: 8", "jobs.short.time_limit must be a duration with a unit, got 8: did you mean"),
    ("8 h}", "8 h, overestimate: 2}", "jobs.short.overestimate must be given without time_limit, got both"),
    ("8 h}", "8 h, names: a}", "jobs.short.names must be given with an accounting file, got none"),
    ("variation: 0.4", "variation: -1", "jobs.large.variation must be at least 0, got -1"),
    ("8 h}", "8 h, name: a}", 'jobs.short.name must be a known key, got "name"'),
    # queue
    ("policy: fcfs", "policy: fifo", "queue.policy must be 'fcfs' or 'backfill', got \"fifo\""),
    ("from: 8 h,", "from: 18 h,", "queue.office_hours.to must be after from (18 h) on the same day, got 18 h"),
    ("to: 18 h", "to: 25 h", "queue.office_hours.to must be after from (8 h) on the same day, got 25 h"),
    (
        "jobs: 1000",
        "jobs: 600",
        "queue.jobs must be at least 679, so that a replication has 4 weeks with office hours, got 600",
    ),
    # 169.68 jobs a week; the last tenth of thirty weeks are three.
    (
        "warm_up: 0.2",
        "warm_up: 0.9",
        "queue.jobs must be at least 5091, so that a replication has 30 weeks with office hours, 3 of them after the "
        "warm-up, got 1000",
    ),
    ("share: 0.8", "share: 1.8", "queue.office_hours.share must be at most 1, got 1.8"),
    ("jobs: 1000", "jobs: 0", "queue.jobs must be at least 10, got 0"),
    ("warm_up: 0.2", "warm_up: 1", "queue.warm_up must be below 1, got 1"),
    ("replications: 3", "replications: 0", "queue.replications must be at least 1, got 0"),
    ("seed: 7", "seed: -7", "queue.seed must be at least 0, got -7"),
    ("seed: 7", "others: left out", "queue.others must be given with an accounting file, got none"),
    ("limits: {waiting: 4 h}", "limits: {waiting: 0 h}", 'limits.waiting must be a duration above 0, got "0 h"'),
    # criteria
    ("weighted: {waiting: 2,", "weighted: {speed: 2,", "weighted.speed must be 'points', 'makespan'"),
    ("ssp: 1, ssi: 1, points: 0}", "ssp: -1, ssi: 1}", "weighted.ssp must be at least 0, got -1"),
    ("{waiting: 2, ssp: 1, ssi: 1, points: 0}", "{ssp: 0}", "weighted must have weights that sum to more than 0, got"),
    ("criterion: weighted\n", "", "weighted must be given with the criterion weighted, got another one"),
    ("{large: 3.2 Tflop}", "{}", "ssp.operations must have at least 1 entries, got an empty mapping"),
    ("{large: 3.2 Tflop}", "{large: 0 flop}", "ssp.operations.large must be a number of operations above 0, got"),
    ("{large: 3.2 Tflop}", "{other: 1 flop}", 'ssp.operations.other must be a workload (large), got "other"'),
    ("ssi: {nodes: 100", "ssi: {nodes: 7", "ssi.workloads.large.nodes must be at most those of the system (7), got 8"),
    ("time: 10 min", "time: 0", "ssi.workloads.large.time must be a run time above 0, got 0"),
    ("capability: 4", "capability: 0", "ssi.workloads.large.capability must be above 0, got 0"),
]


@pytest.mark.parametrize(("old", "new", "fault"), FAULTS)
def test_a_fault_is_named(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """The fault has the key, the rule and the value."""
    found = faults(tmp_path, old, new)
    assert any(each.startswith(fault) for each in found), found


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            ", others: as recorded",
            "",
            "queue.others must be given (as recorded, or left out) if jobs belong to no class, got nothing: 1 of 3 "
            "belong to none (bash)",
        ),
        ("sacct.txt,", "other.txt,", "other.txt: file must be readable, got: No such file or directory"),
        ("names: [lar*, big]", "names: none, per_month: 4", "jobs.large.per_month must not be given with an account"),
        ("names: [lar*, big]", "names: []", "jobs.large.names must have at least 1 entries, got an empty list"),
        ("names: [lar*, big]", "overestimate: 2", "jobs.large.overestimate must not be given with an accounting file"),
        ("as recorded", "as recorded, office_hours: {from: 8 h, to: 18 h, share: 1}",
         "queue.office_hours must not be given with submission times, got both"),
        ("names: [lar*, big]}\nqueue: {accounting: sacct.txt, others: as recorded",
         "names: x}\nqueue: {accounting: sacct.txt, others: left out",
         "queue.accounting must have jobs of a class, got none of 3"),
    ],
)  # fmt: skip
def test_a_fault_beside_accounting_is_named(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """Faults of an accounting file and of the keys next to it are reported like any other."""
    (tmp_path / "sacct.txt").write_text(LOG)
    found = faults_in(tmp_path, changed(ACCOUNTED, old, new))
    assert any(fault in each for each in found), found


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("criterion: waiting\n", "jobs must be given for the criterion waiting, got nothing"),
        ("pareto: [points, unused_nodes]\n", "jobs must be given for the criterion unused_nodes, got nothing"),
        ("limits: {waiting: 1 h}\n", "jobs must be given for a limit on waiting, got nothing"),
        ("criterion: ssp\n", "ssp.operations.large must be given, got nothing"),
        ("criterion: ssi\n", "ssi.workloads.large must be given, got nothing"),
        ("criterion: weighted\n", "weighted must be given for the criterion weighted, got nothing"),
        ("queue: {policy: fcfs}\n", "queue must be given with jobs, or have an accounting file, got neither"),
        ("jobs: {large: {submitted: []}}\n", "jobs.large.submitted must have at least 1 entries, got an empty list"),
        ("jobs: {large: {submitted: [-1 s]}}\n", "jobs.large.submitted[0] must be a time not below 0"),
        ("jobs: {large: {per_month: 1, weight: 0}}\n", "jobs.large.weight must be above 0, got 0"),
        (
            "jobs: {large: {submitted: [1 s]}, more: {workload: large, per_month: 1}}\n",
            "jobs.more.submitted must be given if another class has it, got nothing",
        ),
    ],
)
def test_what_a_criterion_takes_must_be_there(tmp_path: Path, text: str, fault: str) -> None:
    """A key that the criterion needs is reported by its name."""
    found = faults_in(tmp_path, text + SCENARIO)
    assert any(fault in each for each in found), found


def test_jobs_beside_copies_are_runs_of_one_instance(tmp_path: Path) -> None:
    """With ``sharing: copies``, jobs need a stated number of ranks and one instance."""
    several = changed(SCENARIO, "    ranks: [2]\n", "    ranks: [1, 2]\n    instances: fill\n")
    found = faults_in(tmp_path, f"jobs: {{large: {{per_month: 1}}}}\nqueue: {{sharing: copies}}\n{several}")
    assert [each.split(" ", 1)[1] for each in found] == [
        "jobs.large.ranks must be given if jobs run beside copies, got nothing",
        "jobs.large.workload must be of 1 instance if jobs run beside copies, got fill",
    ]
    found = faults_in(tmp_path, f"ssp: {{operations: {{large: 1 flop}}}}\n{several}")
    assert found[0].endswith("ssp.operations.large must be of a workload with a number of instances, got fill")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "    ranks: [2]\n",
            "    ranks: [2]\n    runs_a_month: 4\n",
            "workloads.large.runs_a_month must be left out with jobs, which determine how many runs there are, "
            "got both",
        ),
        (
            "price: 900 EUR}",
            "price: 900 EUR, cost: {utilisation: 0.5}}",
            "options.A.cost.utilisation must be left out with jobs, whose queue determines how busy nodes are, "
            "got both",
        ),
    ],
)
def test_use_is_stated_once(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """The use of nodes is stated either by jobs, or by a utilisation or runs a month."""
    assert faults(tmp_path, old, new) == [fault]


def test_what_jobs_slow_each_other_may_be_left_out(tmp_path: Path) -> None:
    """``sharing`` is none, copies or mix; with mix, classes may have several ranks and instances."""
    for text, sharing in (("none", Sharing.NONE), ("mix", Sharing.MIX)):
        found = loaded(tmp_path, "sharing: copies", f"sharing: {text}").queue
        assert found is not None and found.sharing is sharing
    got = faults(tmp_path, "sharing: copies", "sharing: all")
    assert got == ["queue.sharing must be 'none', 'copies' or 'mix', got \"all\""]
