"""The harness that runs mpi4py's tests: passes, failures, skips, and runs that end early."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.conformance import __main__ as command
from benchmarks.conformance.files import REAL, Verdict, run_file
from benchmarks.conformance.table import Comparison, read_csv, report, write_csv

TESTS = """\
import os, unittest
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank

class TestAll(unittest.TestCase):
    def test1Passes(self):
        self.assertTrue(True)

    def test2FailsOnOneRank(self):
        self.assertEqual(rank, 0)

    @unittest.skipIf(rank == 1, "by one rank")
    def test3SkippedOnOneRank(self):
        pass

    @unittest.skip("by all")
    def test4Skipped(self):
        pass

    def test5EndsTheRun(self):
        MPI.COMM_WORLD.Barrier()
        if rank == 1:
            os._exit(3)
        MPI.COMM_WORLD.Barrier()

    def test6StillHasItsChance(self):
        self.assertEqual(MPI.COMM_WORLD.allreduce(1), 2)
"""


def test_every_test_has_its_chance_and_is_judged_on_all_ranks(tmp_path: Path) -> None:
    """A test that ends the run does not prevent later tests, and each test is judged on all ranks."""
    (tmp_path / "test_small.py").write_text(TESTS)
    outcomes = run_file(REAL, 2, tmp_path, "test_small")
    assert [(each.test.rpartition(".")[2], each.outcome) for each in outcomes] == [
        ("test1Passes", "passed"),
        ("test2FailsOnOneRank", "failed"),
        ("test3SkippedOnOneRank", "passed"),
        ("test4Skipped", "skipped"),
        ("test5EndsTheRun", "ended"),
        ("test6StillHasItsChance", "passed"),
    ]
    assert outcomes[1].why == "rank 1: AssertionError: 1 != 0 (test_small.py:10)"


def test_a_file_that_cannot_be_imported_is_one_test_that_did_not_pass(tmp_path: Path) -> None:
    """A file that cannot be imported counts as one failed test."""
    (tmp_path / "test_broken.py").write_text("import no_such_module")
    (outcome,) = run_file(REAL, 1, tmp_path, "test_broken")
    assert outcome.outcome in {"failed", "ended"}


def test_shares_count_what_the_real_library_passes() -> None:
    """Only tests that pass with the real library count: of three, one passes live."""
    real = tuple(Verdict(f"test_p2p.T.{name}", "passed") for name in "abc")
    live = (Verdict("test_p2p.T.a", "passed"), Verdict("test_p2p.T.b", "failed", "rank 1: ValueError: odd (t.py:3)"))
    compared = Comparison("test_p2p", 2, (*real, Verdict("test_p2p.T.d", "skipped")), live)
    assert compared.passed == (1, 3)
    text = report([compared], [], "command")
    assert "| test_p2p | 1/3 | 33.3 % | 1 × ValueError: odd; 1 × not found |" in text


def test_the_table_names_the_tests_that_differ_and_counts_the_others(tmp_path: Path) -> None:
    """The table lists tests that differ and has one line for the 40 others; the page made from it is the same."""
    table = tmp_path / "results.csv"
    alike = tuple(Verdict(f"test_rma.T.{number}", "passed") for number in range(40))
    real = (*alike, Verdict("test_rma.T.odd", "passed"), Verdict("test_rma.T.none", "skipped"))
    live = (*alike, Verdict("test_rma.T.odd", "failed", "rank 0: OSError: no"), Verdict("test_rma.T.none", "skipped"))
    compared = [Comparison("test_rma", ranks, real, live) for ranks in (1, 2)]
    write_csv(table, compared)
    assert table.read_text().splitlines()[1:] == [
        "test_rma,,1 2,passed,passed,,40",
        "test_rma,,1 2,skipped,skipped,,1",
        "test_rma,test_rma.T.odd,1 2,passed,failed,rank 0: OSError: no,1",
    ]
    assert report(list(read_csv(table).values()), [], "command") == report(compared, [], "command")


def test_the_import_of_the_package_is_not_packing() -> None:
    """Tests of Pack are part of the core, those of the import of the package are not: one of one, and of two in all."""
    passed, failed = Verdict("T.a", "passed"), Verdict("T.a", "failed")
    compared = [Comparison("test_pack", 1, (passed,), (passed,)), Comparison("test_package", 1, (passed,), (failed,))]
    text = report(compared, [], "command")
    assert "operations | 95% | 1 of 1 (100.0 %) | 1 of 1 (100.0 %) |" in text
    assert "| the whole suite | 80% | 1 of 2 (50.0 %) | 1 of 2 (50.0 %) |" in text


def test_outcomes_by_another_library_are_not_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file runs once with each version of the real library."""
    outcomes = iter(["passed", "failed"])
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path))
    monkeypatch.setattr(command, "run_file", lambda *_: [Verdict("test_p2p.T.a", next(outcomes))])
    (tmp_path / "conformance").mkdir()

    def kept(version: str) -> str:
        monkeypatch.setattr("benchmarks.conformance.table._version", lambda _: version)
        (verdict,) = command._kept(REAL, 2, Path("mpi4py-4.1.2", "test"), "test_p2p")
        return verdict.outcome

    assert [kept(version) for version in ("4.3.2", "5.0.2", "4.3.2")] == ["passed", "failed", "passed"]
